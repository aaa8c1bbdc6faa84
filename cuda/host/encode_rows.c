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

/* The first entries of [first, end) that have the same new pairs. */
static Cj2kCudaLevelRun next_run(const Cj2kPlan *plan, const uint32_t *tile_comps, uint32_t first,
                                 uint32_t end, uint32_t depth, Pairs rows)
{
  Pairs pairs = new_pairs(plan, tile_comps[first], depth, rows);
  Cj2kCudaLevelRun run = {
      .first = first, .count = 1, .first_pair = pairs.first, .end_pair = pairs.end};

  for (; first + run.count < end; run.count++) {
    Pairs next = new_pairs(plan, tile_comps[first + run.count], depth, rows);
    if (next.first != pairs.first || next.end != pairs.end)
      break;
  }
  return run;
}

static void transform_tops(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, Pairs rows)
{
  const Cj2kCudaTransformStage *stage = &slot->transform;
  const uint32_t *comps = (const uint32_t *)(const void *)stage->top_comps->data;
  Cj2kCudaLevelRun run;

  for (guint i = 0; i < stage->top_groups->len; i++) {
    const Cj2kCudaTopGroup *group = &g_array_index(stage->top_groups, Cj2kCudaTopGroup, i);
    uint32_t end = group->first + group->launch.count;
    for (uint32_t top = group->first; top < end; top += run.count) {
      run = next_run(slot->encoder->plan, comps, top, end, 0, rows);
      /* Without levels rows that are not there yet are made as well, and again when they are. */
      if (run.first_pair < run.end_pair)
        cj2k_cuda_launch_tops(slot, job, group, run, &slot->queue);
    }
  }
  cj2k_cuda_queue_mark(&slot->queue, "top");
}

static void transform_levels(Cj2kEncodeSlot *slot, Pairs rows)
{
  const Cj2kCudaEncodeLists *lists = &slot->encoder->lists;
  const uint32_t *comps = (const uint32_t *)(const void *)lists->level_comps->data;
  Cj2kCudaLevelRun run;

  for (guint i = 0; i < lists->groups->len; i++) {
    const Cj2kCudaLevelGroup *group = &g_array_index(lists->groups, Cj2kCudaLevelGroup, i);
    uint32_t end = group->first + group->count;
    for (uint32_t level = group->first; level < end; level += run.count) {
      run = next_run(slot->encoder->plan, comps, level, end, group->depth, rows);
      if (run.first_pair < run.end_pair)
        cj2k_cuda_launch_levels(slot, group, run, &slot->queue);
    }
  }
}

void cj2k_cuda_encode_transform_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                     uint32_t done, uint32_t rows)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  if (!done)
    cj2k_cuda_transform_frame(slot);
  slot->latency.quiet = slot->transform.in_rows = true;
  slot->latency.in_slices = false;
  Cj2kCudaPlaneArea *areas = cj2k_cuda_transform_begin(slot, job);
  cj2k_cuda_transform_send_planes(slot);
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
