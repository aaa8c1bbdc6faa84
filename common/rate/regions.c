/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "regions.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

/* Samples of a band beyond a region's edge on which samples inside depend: half the filter. */
#define SUPPORT 2

/* A region on the grid of a band. */
typedef struct {
  double x0, y0, x1, y1, weight;
} Area;

/* The region in the coordinates of a band: the reference grid divided by sub-sampling and by two
 * for each level, widened by the support of the filter. */
static Area area_in_band(const Cj2kPlan *plan, uint32_t b, const Cj2kRegion *region)
{
  const Cj2kHeader *header = plan->header;
  const Cj2kPlanBand *band = &plan->bands[b];
  const Cj2kPlanTileComp *tc = &plan->tile_comps[band->tile_comp];
  const Cj2kComponent *component = &header->components[tc->component];
  int levels = band->resolution ? tc->num_levels - band->resolution + 1 : tc->num_levels;
  double dx = ldexp(component->dx, levels), dy = ldexp(component->dy, levels);
  double x0 = (double)header->x0 + region->x, y0 = (double)header->y0 + region->y;

  return (Area){.x0 = x0 / dx - SUPPORT,
                .y0 = y0 / dy - SUPPORT,
                .x1 = (x0 + region->width) / dx + SUPPORT,
                .y1 = (y0 + region->height) / dy + SUPPORT,
                .weight = region->weight};
}

static int compare_numbers(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The weight at a point: that of the last area that has it. */
static double weight_at(const Area *areas, uint32_t count, double x, double y)
{
  while (count--)
    if (x >= areas[count].x0 && x < areas[count].x1 && y >= areas[count].y0 && y < areas[count].y1)
      return areas[count].weight;
  return 1;
}

/* The mean of the weights over a block: a sum over the rectangles between all edges. */
static double mean_weight(const Area *block, const Area *areas, uint32_t count)
{
  double xs[2 * CJ2K_MAX_REGIONS + 2] = {block->x0, block->x1},
                                   ys[2 * CJ2K_MAX_REGIONS + 2] = {block->y0, block->y1}, sum = 0;
  uint32_t n = 2;

  if (!count)
    return 1;
  for (uint32_t i = 0; i < count; i++, n += 2) {
    xs[n] = CLAMP(areas[i].x0, block->x0, block->x1);
    xs[n + 1] = CLAMP(areas[i].x1, block->x0, block->x1);
    ys[n] = CLAMP(areas[i].y0, block->y0, block->y1);
    ys[n + 1] = CLAMP(areas[i].y1, block->y0, block->y1);
  }
  qsort(xs, n, sizeof *xs, compare_numbers);
  qsort(ys, n, sizeof *ys, compare_numbers);
  for (uint32_t i = 0; i + 1 < n; i++)
    for (uint32_t j = 0; j + 1 < n; j++)
      if (xs[i + 1] > xs[i] && ys[j + 1] > ys[j])
        sum += (xs[i + 1] - xs[i]) * (ys[j + 1] - ys[j]) *
               weight_at(areas, count, (xs[i] + xs[i + 1]) / 2, (ys[j] + ys[j + 1]) / 2);
  return sum / ((block->x1 - block->x0) * (block->y1 - block->y0));
}

static double block_weight(const Cj2kPlan *plan, const Cj2kPlanBlock *block,
                           const Cj2kRegions *regions)
{
  const Cj2kRect *rect = &plan->bands[block->band].rect;
  double x = (double)rect->x0 + block->x, y = (double)rect->y0 + block->y;
  const Area own = {.x0 = x, .y0 = y, .x1 = x + block->width, .y1 = y + block->height};
  Area areas[CJ2K_MAX_REGIONS];
  uint32_t count = 0;

  for (uint32_t i = 0; i < regions->count; i++) {
    areas[count] = area_in_band(plan, block->band, &regions->list[i]);
    if (areas[count].x0 < own.x1 && areas[count].x1 > own.x0 && areas[count].y0 < own.y1 &&
        areas[count].y1 > own.y0)
      count++;
  }
  return mean_weight(&own, areas, count);
}

void cj2k_region_weights(const Cj2kPlan *plan, const Cj2kRegions *regions, double *weights,
                         double *range)
{
  double least = 1, greatest = 1;

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    weights[b] = block_weight(plan, &plan->blocks[b], regions);
    least = MIN(least, weights[b]);
    greatest = MAX(greatest, weights[b]);
  }
  *range = greatest / least;
}
