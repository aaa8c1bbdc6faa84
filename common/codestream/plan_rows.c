/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_rows.h"

#include <glib.h>

/* How far below an odd row the rows lie on which it depends (T.800 F.4.8); for an even row it is
 * one more. */
#define REACH_97 3
#define REACH_53 1

static const Cj2kRect *rect_of(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc, uint32_t r)
{
  return &plan->resolutions[tc->first_resolution + r].rect;
}

/* The row of the image of resolution r up to which it is there. */
static uint32_t rows_there(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc, uint32_t r,
                           uint32_t rows)
{
  const Cj2kRect *rect = rect_of(plan, tc, r);
  uint64_t end;

  if (r == tc->num_levels) {
    uint32_t dy = plan->header->components[tc->component].dy;
    end = ((uint64_t)plan->header->y0 + rows + dy - 1) / dy;
  } else {
    /* Even rows of the resolution above are its low-pass rows. */
    end = ((uint64_t)cj2k_plan_rows_made(plan, tc, r + 1, rows) + 1) / 2;
  }
  return (uint32_t)CLAMP(end, rect->y0, rect->y1);
}

uint32_t cj2k_plan_rows_made(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc, uint32_t r,
                             uint32_t rows)
{
  const Cj2kRect *rect = rect_of(plan, tc, r);
  uint32_t there = rows_there(plan, tc, r, rows), reach = tc->reversible ? REACH_53 : REACH_97;

  if (r == 0 || there == rect->y1)
    return there;
  /* The last row is an odd one. */
  uint32_t end = there > reach ? (there - reach) & ~1U : 0;
  return MAX(end, rect->y0);
}

uint32_t cj2k_plan_rows_all(const Cj2kPlan *plan)
{
  return plan->header->y1 - plan->header->y0;
}

/* The row of its resolution up to which a precinct reaches. */
static uint32_t precinct_end(const Cj2kPlan *plan, const Cj2kPacketId *packet)
{
  const Cj2kPlanResolution *resolution = &plan->resolutions[packet->resolution_index];
  uint64_t row = (packet->precinct_index - resolution->first_precinct) / resolution->precincts_x;

  row += (resolution->rect.y0 >> resolution->log2_precinct_height) + 1;
  return (uint32_t)MIN(row << resolution->log2_precinct_height, resolution->rect.y1);
}

uint32_t cj2k_plan_rows_needed(const Cj2kPlan *plan, const Cj2kPacketId *packet, uint32_t least)
{
  uint32_t resolution = packet->resolution, end = precinct_end(plan, packet);
  uint32_t low = least, high = cj2k_plan_rows_all(plan);
  const Cj2kPlanTileComp *tc =
      &plan->tile_comps[plan->tiles[0].first_tile_comp + packet->component];

  if (cj2k_plan_rows_made(plan, tc, resolution, low) >= end)
    return low;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cj2k_plan_rows_made(plan, tc, resolution, middle) >= end)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
