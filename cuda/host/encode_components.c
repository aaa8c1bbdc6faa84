/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * component-streams=on: each component has a stream, on which all levels of its DWT are made as
 * soon as its plane has been uploaded, while the planes of the others are still being uploaded. A
 * component transform waits for its three planes and is on the stream of the last one. From the
 * fourth component on they share a stream. Pictures are not divided into slices then, and blocks
 * are coded on the slot's stream, which waits for all components.
 */
#include "encode.h"

#include "streams.h"

/* The share of a component, which is also the number of its stream. */
static uint32_t share_of(uint32_t c)
{
  return MIN(c, CJ2K_CUDA_ENCODE_SHARES - 1);
}

static uint32_t count_shares(const Cj2kEncodeSlot *slot)
{
  return MIN(slot->encoder->plan->num_components, CJ2K_CUDA_ENCODE_SHARES);
}

/* The first run of entries of [first, end) that are of share k; empty if none is. An entry makes a
 * tile-component, or `together` from it on, and is of the last one's share. */
static Cj2kCudaLevelRun own_run(const Cj2kEncodeSlot *slot, const GArray *comps, uint32_t together,
                                uint32_t first, uint32_t end, uint32_t k)
{
  const Cj2kPlanTileComp *tile_comps = slot->encoder->plan->tile_comps;
  Cj2kCudaLevelRun run = {.end_pair = UINT32_MAX};

  for (; first < end; first++) {
    uint32_t c = tile_comps[g_array_index(comps, uint32_t, first)].component;
    if (share_of(c + together - 1) == k)
      run.count++;
    else if (run.count)
      break;
  }
  run.first = first - run.count;
  return run;
}

/* -------------------------------------------------------------------------------- upload --- */

/* The components that have a plane. */
static uint32_t count_inputs(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  return MIN(slot->encoder->plan->num_components, job->layout->num_components);
}

/* Uploads each plane with the first of the components that need it. The event of a share then means
 * that its planes and those of the shares before it are there. */
static void upload(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                   const Cj2kCudaPlaneArea *areas)
{
  uint32_t n = job->layout->num_planes, shares = count_shares(slot);
  uint8_t *share = g_new0(uint8_t, (size_t)n + 1);

  for (uint32_t c = count_inputs(slot, job); c-- > 0;)
    share[job->layout->samples[c].plane] = (uint8_t)share_of(c);
  cj2k_cuda_upload_shares(slot, job, areas, share, shares, slot->components.uploaded);
  g_free(share);
}

/* The share with whose planes those of all components of share k are there. */
static uint32_t last_upload(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t k)
{
  uint32_t last = 0, n = count_inputs(slot, job);

  for (uint32_t c = 0; c < n; c++) {
    uint32_t first = 0;
    while (job->layout->samples[first].plane != job->layout->samples[c].plane)
      first++;
    if (share_of(c) == k)
      last = MAX(last, share_of(first));
  }
  return last;
}

/* ----------------------------------------------------------------------------- transform --- */

/* The top levels of a share. */
static void transform_tops(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t k)
{
  const Cj2kCudaQueue *queue = &slot->components.queues[k];
  const Cj2kCudaTransformStage *stage = &slot->transform;

  for (guint i = 0; i < stage->top_groups->len; i++) {
    const Cj2kCudaTopGroup *group = &g_array_index(stage->top_groups, Cj2kCudaTopGroup, i);
    uint32_t together = group->launch.num_components, end = group->first + group->launch.count;
    Cj2kCudaLevelRun run = own_run(slot, stage->top_comps, together, group->first, end, k);
    for (; run.count;
         run = own_run(slot, stage->top_comps, together, run.first + run.count, end, k))
      cj2k_cuda_launch_tops(slot, job, group, run, queue);
  }
  cj2k_cuda_queue_mark(queue, "top");
}

/* The levels below, of a share. */
static void transform_levels(Cj2kEncodeSlot *slot, uint32_t k)
{
  const Cj2kCudaQueue *queue = &slot->components.queues[k];
  const Cj2kCudaEncodeLists *lists = &slot->encoder->lists;

  for (guint i = 0; i < lists->groups->len; i++) {
    const Cj2kCudaLevelGroup *group = &g_array_index(lists->groups, Cj2kCudaLevelGroup, i);
    uint32_t end = group->first + group->count;
    Cj2kCudaLevelRun run = own_run(slot, lists->level_comps, 1, group->first, end, k);
    for (; run.count; run = own_run(slot, lists->level_comps, 1, run.first + run.count, end, k))
      cj2k_cuda_launch_levels(slot, group, run, queue);
  }
  cj2k_cuda_queue_mark(queue, "levels");
}

/* Do the first three components wait for each other? */
static bool is_joined(const Cj2kEncodeSlot *slot)
{
  bool joined = false;
  for (guint i = 0; i < slot->transform.top_groups->len; i++)
    joined |=
        g_array_index(slot->transform.top_groups, Cj2kCudaTopGroup, i).launch.num_components > 1;
  return joined;
}

void cj2k_cuda_encode_components(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                 const Cj2kCudaPlaneArea *areas)
{
  Cj2kCudaComponentStage *stage = &slot->components;
  uint32_t shares = count_shares(slot);
  bool joined = is_joined(slot);

  cj2k_cuda_queue_record(&slot->queue, stage->begun);
  if (areas)
    upload(slot, job, areas);
  for (uint32_t k = 0; k < shares; k++) {
    const Cj2kCudaQueue *queue = &stage->queues[k];
    uint32_t last = last_upload(slot, job, k);
    for (uint32_t j = 0; j < k && joined && k == 2; j++)
      last = MAX(last, last_upload(slot, job, j));
    cj2k_cuda_queue_wait(queue, stage->begun);
    if (areas)
      cj2k_cuda_queue_wait(queue, stage->uploaded[last]);
    transform_tops(slot, job, k);
    cj2k_cuda_queue_record(queue, stage->tops_done[k]);
  }
  for (uint32_t k = 0; k < shares; k++) {
    const Cj2kCudaQueue *queue = &stage->queues[k];
    if (joined && k < 2)
      cj2k_cuda_queue_wait(queue, stage->tops_done[2]);
    transform_levels(slot, k);
    cj2k_cuda_queue_follow(&slot->queue, queue, stage->done[k]);
  }
}

void cj2k_cuda_components_init(Cj2kEncodeSlot *slot)
{
  Cj2kCudaComponentStage *stage = &slot->components;
  const Cj2kCudaQueue *queue = &slot->queue;

  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&stage->begun, cudaEventDisableTiming));
  for (uint32_t k = 0; k < CJ2K_CUDA_ENCODE_SHARES; k++) {
    cudaEvent_t *events[] = {&stage->uploaded[k], &stage->tops_done[k], &stage->done[k]};
    cudaStream_t stream = NULL;
    CJ2K_CUDA_DO(queue, cj2k_cuda_take_stream(queue->device->engine, 0, &stream));
    stage->queues[k] = cj2k_cuda_encode_queue(slot, stream);
    for (guint i = 0; i < G_N_ELEMENTS(events); i++)
      CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
  }
}

void cj2k_cuda_components_free(Cj2kEncodeSlot *slot)
{
  Cj2kCudaComponentStage *stage = &slot->components;

  cj2k_cuda_destroy_event(stage->begun);
  for (uint32_t k = 0; k < CJ2K_CUDA_ENCODE_SHARES; k++) {
    cj2k_cuda_destroy_event(stage->uploaded[k]);
    cj2k_cuda_destroy_event(stage->tops_done[k]);
    cj2k_cuda_destroy_event(stage->done[k]);
    cj2k_cuda_give_stream(slot->encoder->device.engine, stage->queues[k].stream);
  }
}
