/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames of one tile whose packets come in parts: code-blocks are decoded precinct by precinct, and
 * rows of each level of the inverse DWT follow as soon as the rows that they need are there. The
 * samples are those of a whole frame, because no filter depends on the division into rows.
 */
#include "decode.h"

/* Rows of a level on which its rows depend, upwards and downwards (common/cpu/dwt/rows.c). */
#define HALO 4
/* Smaller strips cost much: each one filters rows of its neighbours again. */
#define MIN_STRIP_ROWS 16

static const Cj2kPlanResolution *resolution_of(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc,
                                               uint32_t r)
{
  return &plan->resolutions[tc->first_resolution + r];
}

static bool is_empty(const Cj2kRect *rect)
{
  return rect->x0 == rect->x1 || rect->y0 == rect->y1;
}

void cj2k_decode_parts_clear(Cj2kDecodeSlot *slot)
{
  Cj2kDecodeParts *parts = &slot->parts;
  g_free(parts->row_first);
  g_free(parts->row_missing);
  g_free(parts->rows_whole);
  g_free(parts->rows_done);
  g_free(parts->group_done);
  if (parts->blocks)
    g_array_unref(parts->blocks);
  if (parts->strips)
    g_array_unref(parts->strips);
  *parts = (Cj2kDecodeParts){0};
}

void cj2k_decode_parts_begin(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  const Cj2kPlan *plan = slot->plan;
  Cj2kDecodeParts *parts = &slot->parts;
  uint32_t rows = 0;

  cj2k_decode_parts_clear(slot);
  parts->row_first = g_new(uint32_t, plan->num_resolutions + 1);
  parts->rows_whole = g_new0(uint32_t, plan->num_resolutions + 1);
  parts->rows_done = g_new0(uint32_t, plan->num_resolutions + 1);
  parts->group_done = g_new0(uint32_t, slot->finish.num_groups + 1);
  parts->blocks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  parts->strips = g_array_new(FALSE, FALSE, MAX(sizeof(Cj2kDecodeStrip), sizeof(Cj2kFinishStrip)));
  G_STATIC_ASSERT(sizeof(Cj2kDecodeStrip) == sizeof(Cj2kFinishStrip));
  for (uint32_t i = 0; i < plan->num_resolutions; i++) {
    parts->row_first[i] = rows;
    parts->rows_done[i] = plan->resolutions[i].rect.y0;
    rows += plan->resolutions[i].precincts_y;
  }
  parts->row_missing = g_new(uint32_t, rows + 1);
  for (uint32_t i = 0; i < plan->num_resolutions; i++)
    for (uint32_t p = 0; p < plan->resolutions[i].precincts_y; p++)
      parts->row_missing[parts->row_first[i] + p] = plan->resolutions[i].precincts_x;
  cj2k_decode_fill(slot, picture);
}

/* ------------------------------------------------------------------------ code-blocks --- */

/* Notes that a precinct is there, and lists its code-blocks. */
static void add_precinct(Cj2kDecodeSlot *slot, const Cj2kPacketId *packet)
{
  const Cj2kPlanResolution *resolution = &slot->plan->resolutions[packet->resolution_index];
  const Cj2kPlanPrecinct *precinct = &slot->plan->precincts[packet->precinct_index];
  Cj2kDecodeParts *parts = &slot->parts;
  uint32_t first = parts->row_first[packet->resolution_index];
  uint32_t *whole = &parts->rows_whole[packet->resolution_index];

  parts->row_missing[first + (packet->precinct_index - resolution->first_precinct) /
                                 resolution->precincts_x]--;
  while (*whole < resolution->precincts_y && !parts->row_missing[first + *whole])
    (*whole)++;
  for (uint32_t b = 0; b < resolution->num_bands; b++) {
    uint32_t count = precinct->band[b].blocks_x * precinct->band[b].blocks_y;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t block = precinct->band[b].first_block + i;
      g_array_append_val(parts->blocks, block);
    }
  }
}

uint32_t cj2k_decode_parts_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  const Cj2kPacketId *precincts, uint32_t count)
{
  GArray *blocks = slot->parts.blocks;

  g_array_set_size(blocks, 0);
  for (uint32_t i = 0; i < count; i++)
    add_precinct(slot, &precincts[i]);
  return cj2k_decode_some_blocks(slot, coded, (const uint32_t *)(void *)blocks->data, blocks->len);
}

/* ----------------------------------------------------------------- rows that are ready --- */

/* The row of resolution r, absolute, up to which its precincts are there. */
static uint64_t rows_coded(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kPlanResolution *resolution = resolution_of(slot->plan, tc, r);
  uint64_t whole = slot->parts.rows_whole[tc->first_resolution + r];

  if (whole == resolution->precincts_y || is_empty(&resolution->rect))
    return UINT64_MAX;
  return ((resolution->rect.y0 >> resolution->log2_precinct_height) + whole)
         << resolution->log2_precinct_height;
}

/* The row, absolute, up to which the image of resolution r can be made. */
static uint32_t rows_ready(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kRect *rect = &resolution_of(slot->plan, tc, r)->rect;
  uint64_t coded = rows_coded(slot, tc, r), missing = UINT64_MAX;

  if (r == 0)
    return (uint32_t)CLAMP(coded, rect->y0, rect->y1);
  const Cj2kRect *below = &resolution_of(slot->plan, tc, r - 1)->rect;
  uint32_t low =
      r == 1 ? rows_ready(slot, tc, 0) : slot->parts.rows_done[tc->first_resolution + r - 1];
  /* Even rows need the resolution below; all rows need bands of this one. */
  if (low < below->y1 && !is_empty(below))
    missing = 2 * (uint64_t)low;
  if (coded != UINT64_MAX)
    missing = MIN(missing, coded);
  if (missing >= rect->y1)
    return rect->y1;
  return (uint32_t)(missing > (uint64_t)rect->y0 + HALO ? missing - HALO : rect->y0);
}

/* Height of the strips for `rows` rows. */
static uint32_t strip_rows(const Cj2kDecodeSlot *slot, uint32_t rows)
{
  uint32_t threads = cj2k_threads_count(slot->threads);
  return MAX((rows + threads - 1) / threads, MIN_STRIP_ROWS);
}

/* Makes the rows of resolution r that have become possible. Returns false if no tile-component has
 * levels above it. */
static bool make_level(Cj2kDecodeSlot *slot, uint32_t r)
{
  const Cj2kPlan *plan = slot->plan;
  GArray *strips = slot->parts.strips;
  bool deeper = false;

  g_array_set_size(strips, 0);
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
    if (r >= tc->reduced_levels)
      continue;
    deeper = true;
    uint32_t *done = &slot->parts.rows_done[tc->first_resolution + r];
    uint32_t ready = rows_ready(slot, tc, r), step = strip_rows(slot, ready - *done);
    for (uint32_t y = *done; y < ready; y += MIN(step, ready - y)) {
      Cj2kDecodeStrip strip = {i, r, y, y + MIN(step, ready - y)};
      if (!is_empty(&resolution_of(plan, tc, r)->rect))
        g_array_append_val(strips, strip);
    }
    *done = MAX(*done, ready);
  }
  cj2k_decode_level_strips(slot, strips);
  return deeper;
}

/* ----------------------------------------------------------------- rows of the picture --- */

/* Rows of the group's components, from the top of the picture, that can be written; *all: rows that
 * it has. */
static uint32_t group_ready(const Cj2kDecodeSlot *slot, const Cj2kComponentGroup *group,
                            uint32_t *all)
{
  const Cj2kPlan *plan = slot->plan;
  uint32_t ready = UINT32_MAX;

  *all = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t c = slot->finish.group_components[group->first + i];
    const Cj2kPlanTileComp *tc = &plan->tile_comps[plan->tiles[0].first_tile_comp + c];
    if (is_empty(&tc->out))
      continue;
    uint32_t rows = rows_ready(slot, tc, tc->reduced_levels);
    *all = MAX(*all, tc->out.y1 - tc->out.y0);
    if (rows < tc->out.y1)
      ready = MIN(ready, rows - tc->out.y0);
  }
  return MIN(ready, *all);
}

/* Rows of the reference grid, from the top of the image, for which the group's components are
 * complete if `done` rows of them were written. */
static uint32_t group_rows(const Cj2kDecodeSlot *slot, const Cj2kComponentGroup *group,
                           uint32_t done)
{
  const Cj2kHeader *header = slot->plan->header;
  uint64_t top = (header->y0 + ((uint64_t)1 << slot->plan->reduce) - 1) >> slot->plan->reduce;
  uint64_t rows = UINT32_MAX;

  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t c = slot->finish.group_components[group->first + i];
    const Cj2kRect *out = &slot->plan->component_out[c];
    if (is_empty(out) || done >= out->y1 - out->y0)
      continue;
    uint64_t end = ((uint64_t)out->y0 + done) * header->components[c].dy;
    rows = MIN(rows, end > top ? end - top : 0);
  }
  return (uint32_t)rows;
}

uint32_t cj2k_decode_parts_rows(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  GArray *strips = slot->parts.strips;
  uint32_t rows = UINT32_MAX;

  for (uint32_t r = 1; r <= CJ2K_MAX_LEVELS && make_level(slot, r); r++)
    continue;
  g_array_set_size(strips, 0);
  for (uint32_t g = 0; g < slot->finish.num_groups; g++) {
    uint32_t all, *done = &slot->parts.group_done[g];
    uint32_t ready = group_ready(slot, &slot->finish.groups[g], &all);
    uint32_t step = strip_rows(slot, ready - *done);
    for (uint32_t y = *done; y < ready; y += MIN(step, ready - y)) {
      Cj2kFinishStrip strip = {0, g, y, y + MIN(step, ready - y)};
      g_array_append_val(strips, strip);
    }
    *done = MAX(*done, ready);
    rows = MIN(rows, group_rows(slot, &slot->finish.groups[g], *done));
  }
  cj2k_decode_finish_strips(slot, picture, strips);
  return rows;
}
