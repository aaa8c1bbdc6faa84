/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames of one tile whose packets come in parts: code-blocks are decoded precinct by precinct, and
 * rows of each level of the inverse DWT follow as soon as the rows that they need are there. The
 * samples are those of a whole frame, because no filter depends on the division into rows.
 */
#include "decode.h"

/* Smaller strips cost much: each one filters rows of its neighbours again. */
#define MIN_STRIP_ROWS 16

static bool is_empty(const Cj2kRect *rect)
{
  return rect->x0 == rect->x1 || rect->y0 == rect->y1;
}

void cj2k_decode_parts_clear(Cj2kDecodeSlot *slot)
{
  Cj2kDecodeParts *parts = &slot->parts;
  cj2k_plan_parts_clear(&parts->rows);
  g_free(parts->group_done);
  if (parts->blocks)
    g_array_unref(parts->blocks);
  if (parts->strips)
    g_array_unref(parts->strips);
  *parts = (Cj2kDecodeParts){0};
}

void cj2k_decode_parts_begin(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  Cj2kDecodeParts *parts = &slot->parts;

  cj2k_decode_parts_clear(slot);
  cj2k_plan_parts_begin(&parts->rows, slot->plan);
  parts->group_done = g_new0(uint32_t, slot->finish.num_groups + 1);
  parts->blocks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  parts->strips = g_array_new(FALSE, FALSE, MAX(sizeof(Cj2kDecodeStrip), sizeof(Cj2kFinishStrip)));
  G_STATIC_ASSERT(sizeof(Cj2kDecodeStrip) == sizeof(Cj2kFinishStrip));
  cj2k_decode_fill(slot, picture);
}

uint32_t cj2k_decode_parts_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  const Cj2kPacketId *precincts, uint32_t count)
{
  GArray *blocks = slot->parts.blocks;

  g_array_set_size(blocks, 0);
  for (uint32_t i = 0; i < count; i++)
    cj2k_plan_parts_add(&slot->parts.rows, &precincts[i], blocks);
  return cj2k_decode_some_blocks(slot, coded, (const uint32_t *)(void *)blocks->data, blocks->len);
}

/* ------------------------------------------------------------------- rows of a level --- */

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
    uint32_t first, end;
    if (!cj2k_plan_parts_take(&slot->parts.rows, tc, r, &first, &end))
      continue;
    uint32_t step = strip_rows(slot, end - first);
    for (uint32_t y = first; y < end; y += MIN(step, end - y)) {
      Cj2kDecodeStrip strip = {i, r, y, y + MIN(step, end - y)};
      g_array_append_val(strips, strip);
    }
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
    uint32_t rows = cj2k_plan_parts_ready(&slot->parts.rows, tc, tc->reduced_levels);
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
  uint32_t rows = UINT32_MAX;

  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t c = slot->finish.group_components[group->first + i];
    rows = MIN(rows, cj2k_plan_parts_rows(slot->plan, c, done));
  }
  return rows;
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
