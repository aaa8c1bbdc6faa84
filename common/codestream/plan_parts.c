/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_parts.h"

/* Rows of a level on which its rows depend, upwards and downwards (T.800 F.3.8). */
#define HALO 4

static const Cj2kPlanResolution *resolution_of(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc,
                                               uint32_t r)
{
  return &plan->resolutions[tc->first_resolution + r];
}

static bool is_empty(const Cj2kRect *rect)
{
  return rect->x0 == rect->x1 || rect->y0 == rect->y1;
}

/* --------------------------------------------------------------------------- precincts --- */

void cj2k_plan_parts_clear(Cj2kPlanParts *parts)
{
  g_free(parts->row_first);
  g_free(parts->row_missing);
  g_free(parts->rows_whole);
  g_free(parts->rows_done);
  *parts = (Cj2kPlanParts){0};
}

void cj2k_plan_parts_begin(Cj2kPlanParts *parts, const Cj2kPlan *plan)
{
  uint32_t rows = 0;

  cj2k_plan_parts_clear(parts);
  parts->plan = plan;
  parts->row_first = g_new(uint32_t, plan->num_resolutions + 1);
  parts->rows_whole = g_new0(uint32_t, plan->num_resolutions + 1);
  parts->rows_done = g_new0(uint32_t, plan->num_resolutions + 1);
  for (uint32_t i = 0; i < plan->num_resolutions; i++) {
    parts->row_first[i] = rows;
    parts->rows_done[i] = plan->resolutions[i].rect.y0;
    rows += plan->resolutions[i].precincts_y;
  }
  parts->row_missing = g_new(uint32_t, rows + 1);
  for (uint32_t i = 0; i < plan->num_resolutions; i++)
    for (uint32_t p = 0; p < plan->resolutions[i].precincts_y; p++)
      parts->row_missing[parts->row_first[i] + p] = plan->resolutions[i].precincts_x;
}

void cj2k_plan_parts_add(Cj2kPlanParts *parts, const Cj2kPacketId *packet, GArray *blocks)
{
  const Cj2kPlanResolution *resolution = &parts->plan->resolutions[packet->resolution_index];
  const Cj2kPlanPrecinct *precinct = &parts->plan->precincts[packet->precinct_index];
  uint32_t first = parts->row_first[packet->resolution_index];
  uint32_t *whole = &parts->rows_whole[packet->resolution_index];

  parts->row_missing[first + (packet->precinct_index - resolution->first_precinct) /
                                 resolution->precincts_x]--;
  while (*whole < resolution->precincts_y && !parts->row_missing[first + *whole])
    (*whole)++;
  for (uint32_t b = 0; b < resolution->num_bands && blocks; b++) {
    uint32_t count = precinct->band[b].blocks_x * precinct->band[b].blocks_y;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t block = precinct->band[b].first_block + i;
      g_array_append_val(blocks, block);
    }
  }
}

/* -------------------------------------------------------------------------------- rows --- */

/* The row of resolution r, absolute, up to which its precincts are there. */
static uint64_t rows_coded(const Cj2kPlanParts *parts, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kPlanResolution *resolution = resolution_of(parts->plan, tc, r);
  uint64_t whole = parts->rows_whole[tc->first_resolution + r];

  if (whole == resolution->precincts_y || is_empty(&resolution->rect))
    return UINT64_MAX;
  return ((resolution->rect.y0 >> resolution->log2_precinct_height) + whole)
         << resolution->log2_precinct_height;
}

uint32_t cj2k_plan_parts_ready(const Cj2kPlanParts *parts, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kRect *rect = &resolution_of(parts->plan, tc, r)->rect;
  uint64_t coded = rows_coded(parts, tc, r), missing = UINT64_MAX;

  if (r == 0)
    return (uint32_t)CLAMP(coded, rect->y0, rect->y1);
  const Cj2kRect *below = &resolution_of(parts->plan, tc, r - 1)->rect;
  uint32_t low =
      r == 1 ? cj2k_plan_parts_ready(parts, tc, 0) : parts->rows_done[tc->first_resolution + r - 1];
  /* Even rows need the resolution below; all rows need bands of this one. */
  if (low < below->y1 && !is_empty(below))
    missing = 2 * (uint64_t)low;
  if (coded != UINT64_MAX)
    missing = MIN(missing, coded);
  if (missing >= rect->y1)
    return rect->y1;
  return (uint32_t)(missing > (uint64_t)rect->y0 + HALO ? missing - HALO : rect->y0);
}

bool cj2k_plan_parts_take(Cj2kPlanParts *parts, const Cj2kPlanTileComp *tc, uint32_t r,
                          uint32_t *first, uint32_t *end)
{
  uint32_t *done = &parts->rows_done[tc->first_resolution + r];

  *first = *done;
  *end = cj2k_plan_parts_ready(parts, tc, r);
  *done = MAX(*first, *end);
  return *end > *first && !is_empty(&resolution_of(parts->plan, tc, r)->rect);
}

uint32_t cj2k_plan_parts_rows(const Cj2kPlan *plan, uint32_t c, uint32_t done)
{
  const Cj2kHeader *header = plan->header;
  const Cj2kRect *out = &plan->component_out[c];
  uint64_t top = (header->y0 + ((uint64_t)1 << plan->reduce) - 1) >> plan->reduce;

  if (is_empty(out) || done >= out->y1 - out->y0)
    return UINT32_MAX;
  uint64_t end = ((uint64_t)out->y0 + done) * header->components[c].dy;
  return (uint32_t)MIN(end > top ? end - top : 0, UINT32_MAX);
}

uint32_t cj2k_plan_parts_take_all(Cj2kPlanParts *parts)
{
  const Cj2kPlan *plan = parts->plan;
  uint32_t rows = UINT32_MAX, first, end;

  for (uint32_t c = 0; c < plan->num_components; c++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[c];
    for (uint32_t r = 1; r <= tc->reduced_levels; r++)
      cj2k_plan_parts_take(parts, tc, r, &first, &end);
    uint32_t ready = MIN(cj2k_plan_parts_ready(parts, tc, tc->reduced_levels), tc->out.y1);
    uint32_t done = cj2k_plan_parts_rows(plan, c, ready - tc->out.y0);
    rows = MIN(rows, done);
  }
  return rows;
}
