/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures whose rows come one after the other: rows that are new are uploaded, and each level of
 * the DWT makes the pairs of rows that have become possible, with the kernels of whole pictures.
 * Everything is on the slot's own stream, so that code-blocks can be coded in between.
 */
#include "encode.h"

/* Pairs of rows of a kernel. */
typedef struct {
  uint32_t first, end; /* end UINT32_MAX: all */
} Pairs;

/* Pairs of rows of resolution r of a tile-component that so many rows of the picture determine. */
static uint32_t pairs_made(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc, uint32_t r,
                           uint32_t rows)
{
  const Cj2kRect *rect = &plan->resolutions[tc->first_resolution + r].rect;
  uint32_t made = cj2k_plan_rows_made(plan, tc, r, rows);

  return made == rect->y1 ? UINT32_MAX : (made - (rect->y0 & ~1U)) / 2;
}

/* The pairs that become possible with rows [rows.first, rows.end) of the picture. */
static Pairs new_pairs(const Cj2kPlan *plan, uint32_t tile_comp, uint32_t depth, Pairs rows)
{
  const Cj2kPlanTileComp *tc = &plan->tile_comps[tile_comp];
  uint32_t r = tc->num_levels - depth;
  uint32_t first = rows.first ? pairs_made(plan, tc, r, rows.first) : 0;

  return (Pairs){first, pairs_made(plan, tc, r, rows.end)};
}

/* How many of `count` tile-components, from the first on, have the same new pairs. */
static uint32_t same_pairs(const Cj2kPlan *plan, const uint32_t *tile_comps, uint32_t count,
                           uint32_t depth, Pairs rows, Pairs *pairs)
{
  uint32_t n = 1;

  *pairs = new_pairs(plan, tile_comps[0], depth, rows);
  for (; n < count; n++) {
    Pairs next = new_pairs(plan, tile_comps[n], depth, rows);
    if (next.first != pairs->first || next.end != pairs->end)
      break;
  }
  return n;
}

static void transform_tops(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, Pairs rows)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaTransformStage *stage = &slot->transform;
  const uint32_t *comps = (const uint32_t *)(const void *)stage->top_comps->data;
  Cj2kCudaCoefficients arrays = {stage->coefficients.data, stage->lowpass.data};
  Pairs pairs;

  for (guint i = 0; i < stage->top_groups->len; i++) {
    const Cj2kCudaTopGroup *group = &g_array_index(stage->top_groups, Cj2kCudaTopGroup, i);
    uint32_t end = group->first + group->launch.count, n;
    for (uint32_t top = group->first; top < end; top += n) {
      n = same_pairs(slot->encoder->plan, comps + top, end - top, 0, rows, &pairs);
      if (pairs.first >= pairs.end)
        continue;
      Cj2kCudaTopLevel launch = group->launch;
      launch.tops = (const Cj2kCudaTop *)stage->tops.data + top;
      launch.first = g_array_index(stage->top_list, Cj2kCudaTop, top);
      launch.count = n;
      launch.planes = stage->planes.device.data;
      launch.xyz = job->rgb_to_xyz ? slot->encoder->xyz.data : NULL;
      launch.first_pair = pairs.first;
      launch.end_pair = pairs.end;
      /* Without levels rows that are not there yet are made as well, and again when they are. */
      CJ2K_CUDA_DO(queue, group->no_levels ? cj2k_cuda_unpack(&launch, &arrays, queue->stream)
                                           : cj2k_cuda_fdwt_top(&launch, &arrays, queue->stream));
    }
  }
  cj2k_cuda_queue_mark(queue, "top");
}

static void transform_levels(Cj2kEncodeSlot *slot, Pairs rows)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaEncodeLists *lists = &slot->encoder->lists;
  const uint32_t *comps = (const uint32_t *)(const void *)lists->level_comps->data;
  Cj2kCudaCoefficients arrays = {slot->transform.coefficients.data, slot->transform.lowpass.data};
  Pairs pairs;

  for (guint i = 0; i < lists->groups->len; i++) {
    const Cj2kCudaLevelGroup *group = &g_array_index(lists->groups, Cj2kCudaLevelGroup, i);
    uint32_t end = group->first + group->count, n;
    for (uint32_t level = group->first; level < end; level += n) {
      n = same_pairs(slot->encoder->plan, comps + level, end - level, group->depth, rows, &pairs);
      Cj2kCudaLevels launch = {.levels = (const Cj2kCudaForwardLevel *)lists->levels.data + level,
                               .count = n,
                               .width = group->width,
                               .height = group->height,
                               .first_pair = pairs.first,
                               .end_pair = pairs.end,
                               .reversible = group->reversible};
      if (pairs.first < pairs.end)
        CJ2K_CUDA_DO(queue, cj2k_cuda_fdwt(&launch, &arrays, queue->stream));
    }
  }
}

void cj2k_cuda_encode_transform_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                     uint32_t done, uint32_t rows)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  if (!done)
    cj2k_cuda_transform_frame(slot);
  slot->latency.quiet = true;
  slot->latency.in_slices = false;
  Cj2kCudaPlaneArea *areas = cj2k_cuda_transform_begin(slot, job);
  cj2k_cuda_queue_mark(queue, NULL);
  if (areas && cj2k_cuda_queue_ok(queue))
    cj2k_cuda_upload_rows(slot, job, areas, done, rows);
  if (cj2k_cuda_queue_ok(queue)) {
    transform_tops(slot, job, (Pairs){done, rows});
    transform_levels(slot, (Pairs){done, rows});
  }
  g_free(areas);
  cj2k_cuda_transform_end(slot);
}
