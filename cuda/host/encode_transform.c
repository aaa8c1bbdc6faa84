/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include <string.h>

#define ALIGNMENT 256 /* of the picture behind the low-pass workspace */

static bool on_device(const Cj2kTransformJob *job)
{
  return job->picture->memory == CJ2K_MEMORY_CUDA;
}

/* ------------------------------------------------------------------------------- levels --- */

/* Describes the level that decomposes resolution r of a tile-component; at r = 0 there is no
 * decomposition, and LL is the tile-component. */
static Cj2kCudaForwardLevel describe_level(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc,
                                           uint32_t r)
{
  const Cj2kPlanResolution *res = &plan->resolutions[tc->first_resolution + r];
  Cj2kCudaForwardLevel level = {.rect = res->rect,
                                .in = res->offset,
                                .in_stride = res->stride,
                                .reversible = tc->reversible,
                                .ll_is_band = r <= 1};
  if (r <= 1) {
    const Cj2kPlanBand *ll = &plan->bands[plan->resolutions[tc->first_resolution].first_band];
    level.band[CJ2K_LL] = ll->offset;
    level.stride[CJ2K_LL] = ll->stride;
  } else {
    level.band[CJ2K_LL] = res[-1].offset;
    level.stride[CJ2K_LL] = res[-1].stride;
  }
  for (uint32_t b = 0; b < 3 && r > 0; b++) {
    const Cj2kPlanBand *band = &plan->bands[res->first_band + b];
    level.band[CJ2K_HL + b] = band->offset;
    level.stride[CJ2K_HL + b] = band->stride;
  }
  return level;
}

static bool is_empty(const Cj2kRect *rect)
{
  return rect->x0 >= rect->x1 || rect->y0 >= rect->y1;
}

/* Appends the levels at `depth` below the top of all components of one kind, as one group. */
static void list_depth(Cj2kCudaEncoder *encoder, GArray *levels, uint32_t depth, bool reversible)
{
  const Cj2kPlan *plan = encoder->plan;
  Cj2kCudaLevelGroup group = {.depth = depth, .first = levels->len, .reversible = reversible};

  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
    if (depth >= tc->num_levels || tc->reversible != reversible)
      continue;
    Cj2kCudaForwardLevel level = describe_level(plan, tc, tc->num_levels - depth);
    if (is_empty(&level.rect))
      continue;
    g_array_append_val(levels, level);
    g_array_append_val(encoder->lists.level_comps, i);
    group.count++;
    group.width = MAX(group.width, level.rect.x1 - level.rect.x0);
    group.height = MAX(group.height, level.rect.y1 - level.rect.y0);
  }
  if (group.count)
    g_array_append_val(encoder->lists.groups, group);
}

cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder)
{
  GArray *levels = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaForwardLevel));

  for (uint32_t depth = 1; depth < CJ2K_MAX_LEVELS; depth++)
    for (int reversible = 0; reversible < 2; reversible++)
      list_depth(encoder, levels, depth, reversible);
  cudaError_t result = cj2k_cuda_table_set(&encoder->device, &encoder->lists.levels, levels->data,
                                           levels->len * sizeof(Cj2kCudaForwardLevel));
  g_array_unref(levels);
  return result;
}

/* --------------------------------------------------------------------------------- tops --- */

/* The fastest way to load a component's samples. */
static Cj2kCudaLoad best_load(const Cj2kCudaInput *input, const Cj2kCudaInputPlane *plane)
{
  const Cj2kSampleLayout *l = &input->layout;
  uint32_t bytes = l->word_bytes;
  uint64_t first = (uint64_t)(uintptr_t)plane->data + (uint64_t)input->x * bytes;

  if (l->is_signed || l->depth != input->depth || l->unit_bytes != bytes || l->unit_samples != 1 ||
      l->at[0].shift || bytes > 2 || (bytes == 2 && l->big_endian) ||
      ((first | plane->pitch) & (4 * bytes - 1)))
    return CJ2K_CUDA_LOAD_ANY;
  return bytes == 2 ? CJ2K_CUDA_LOAD_16 : CJ2K_CUDA_LOAD_8;
}

static void describe_input(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                           const Cj2kPlanTileComp *tc, Cj2kCudaInput *input)
{
  const Cj2kRect *all = &slot->encoder->plan->component_out[tc->component];
  uint8_t depth = tc->depth;

  if (job->rgb_to_xyz)
    depth = MIN(job->layout->samples[0].depth, CJ2K_XYZ_MAX_DEPTH);
  *input = (Cj2kCudaInput){.layout = job->layout->samples[tc->component],
                           .x = tc->rect.x0 - all->x0,
                           .y = tc->rect.y0 - all->y0,
                           .depth = depth,
                           .offset = tc->is_signed ? 0 : (int32_t)((uint32_t)1 << (tc->depth - 1))};
}

/* Describes the top level of `count` components from tile_comp on. Returns the group that it would
 * form alone. */
static Cj2kCudaTopGroup describe_top(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                     uint32_t tile_comp, uint32_t count, Cj2kCudaTop *top)
{
  const Cj2kPlanTileComp *tcs = &slot->encoder->plan->tile_comps[tile_comp];
  const Cj2kCudaInputPlane *planes = slot->transform.planes.host.data;
  Cj2kCudaTopGroup kind = {.no_levels = tcs->num_levels == 0,
                           .launch = {.num_components = (uint8_t)count,
                                      .reversible = tcs->reversible,
                                      .load = CJ2K_CUDA_LOAD_ANY}};

  memset(top, 0, sizeof *top);
  top->mct = tcs->mct;
  for (uint32_t c = 0; c < count; c++) {
    top->level[c] = describe_level(slot->encoder->plan, &tcs[c], tcs[c].num_levels);
    describe_input(slot, job, &tcs[c], &top->input[c]);
    Cj2kCudaLoad load = best_load(&top->input[c], &planes[top->input[c].layout.plane]);
    if (job->rgb_to_xyz || (c > 0 && load != kind.launch.load))
      load = CJ2K_CUDA_LOAD_ANY;
    kind.launch.load = load;
  }
  const Cj2kRect *rect = &top->level[0].rect;
  kind.launch.first = *top;
  kind.launch.width = rect->x1 - rect->x0;
  kind.launch.height = rect->y1 - rect->y0;
  return kind;
}

static bool same_kind(const Cj2kCudaTopGroup *a, const Cj2kCudaTopGroup *b)
{
  return a->no_levels == b->no_levels && a->launch.load == b->launch.load &&
         a->launch.num_components == b->launch.num_components &&
         a->launch.reversible == b->launch.reversible;
}

static void append_top(Cj2kCudaTransformStage *stage, const Cj2kCudaTopGroup *kind,
                       const Cj2kCudaTop *top, uint32_t tile_comp)
{
  GArray *groups = stage->top_groups;
  Cj2kCudaTopGroup *last =
      groups->len ? &g_array_index(groups, Cj2kCudaTopGroup, groups->len - 1) : NULL;

  if (!last || !same_kind(last, kind)) {
    g_array_append_val(groups, *kind);
    last = &g_array_index(groups, Cj2kCudaTopGroup, groups->len - 1);
    last->first = stage->top_list->len;
  }
  last->launch.count++;
  last->launch.width = MAX(last->launch.width, kind->launch.width);
  last->launch.height = MAX(last->launch.height, kind->launch.height);
  g_array_append_val(stage->top_list, *top);
  g_array_append_val(stage->top_comps, tile_comp);
}

/* Lists the top levels of all tiles and copies them to the device. Consecutive ones of one kind
 * form a group. */
static void list_tops(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kPlan *plan = slot->encoder->plan;
  Cj2kCudaTransformStage *stage = &slot->transform;
  uint32_t count = 1;

  cj2k_cuda_graph_forget(&stage->whole);
  g_array_set_size(stage->top_groups, 0);
  g_array_set_size(stage->top_list, 0);
  g_array_set_size(stage->top_comps, 0);
  for (uint32_t pass = 0; pass < 2; pass++) /* first three components together, then single ones */
    for (uint32_t t = 0; t < plan->num_tiles; t++) {
      bool together = (plan->tiles[t].mct || job->rgb_to_xyz) && plan->num_components >= 3;
      for (uint32_t c = 0; c < plan->num_components; c += count) {
        uint32_t tile_comp = plan->tiles[t].first_tile_comp + c;
        count = together && c == 0 ? 3 : 1;
        if ((count == 3) != (pass == 0) || is_empty(&plan->tile_comps[tile_comp].rect))
          continue;
        Cj2kCudaTop top;
        Cj2kCudaTopGroup kind = describe_top(slot, job, tile_comp, count, &top);
        append_top(stage, &kind, &top, tile_comp);
      }
    }
  size_t size = stage->top_list->len * sizeof(Cj2kCudaTop);
  cj2k_cuda_queue_reserve(queue, &stage->tops, size);
  if (size) /* pageable memory: the call returns only after it has been read */
    CJ2K_CUDA_DO(queue, cudaMemcpyAsync(stage->tops.data, stage->top_list->data, size,
                                        cudaMemcpyHostToDevice, queue->stream));
}

/* Makes the X'Y'Z' conversion tables for the pictures' depth; all slots share them. */
static cudaError_t reserve_xyz(Cj2kCudaEncoder *encoder, const Cj2kTransformJob *job)
{
  cudaError_t result = cudaSuccess;

  g_mutex_lock(&encoder->lock);
  if (!encoder->xyz) {
    Cj2kXyzTables *tables = g_new0(Cj2kXyzTables, 1);
    cj2k_xyz_tables_init(tables, MIN(job->layout->samples[0].depth, CJ2K_XYZ_MAX_DEPTH),
                         job->xyz_transfer, job->xyz_primaries);
    /* After an error the next frame tries again. */
    result = cj2k_cuda_table_set(&encoder->device, &encoder->xyz, tables, sizeof *tables);
    g_free(tables);
  }
  g_mutex_unlock(&encoder->lock);
  return result;
}

/* Notes the addresses of planes, and makes the groups again if a different alignment allows other
 * ways to load. */
static void set_planes(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                       const Cj2kCudaInputPlane *planes)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaTransformStage *stage = &slot->transform;
  uint32_t n = job->layout->num_planes;
  size_t size = n * sizeof *planes;
  bool first = stage->num_planes != n, realigned = first;

  if (first) {
    cj2k_cuda_queue_reserve_pair(queue, &stage->planes, size);
    stage->alignments = g_renew(uint8_t, stage->alignments, n);
  }
  if (!cj2k_cuda_queue_ok(queue) || (!first && !memcmp(stage->planes.host.data, planes, size)))
    return;
  stage->num_planes = n;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t alignment = (uint8_t)(((uintptr_t)planes[i].data | planes[i].pitch) & 15);
    realigned |= alignment != stage->alignments[i];
    stage->alignments[i] = alignment;
  }
  memcpy(stage->planes.host.data, planes, size);
  stage->planes_sent = false;
  if (realigned)
    list_tops(slot, job);
  if (!cj2k_cuda_queue_ok(queue))
    stage->num_planes = 0; /* the groups are made again with the next picture */
}

void cj2k_cuda_transform_send_planes(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaTransformStage *stage = &slot->transform;
  const Cj2kCudaPair *planes = &stage->planes;

  if (!cj2k_cuda_queue_ok(queue) || stage->planes_sent)
    return;
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_copy_small(planes->device.data, planes->host.data,
                                    stage->num_planes * sizeof(Cj2kCudaInputPlane), queue->stream));
  stage->planes_sent = cj2k_cuda_queue_ok(queue);
}

/* --------------------------------------------------------------------------- all levels --- */

void cj2k_cuda_launch_tops(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                           const Cj2kCudaTopGroup *group, Cj2kCudaLevelRun run,
                           const Cj2kCudaQueue *queue)
{
  const Cj2kCudaTransformStage *stage = &slot->transform;
  Cj2kCudaCoefficients arrays = {stage->coefficients.data, stage->lowpass};
  Cj2kCudaTopLevel launch = group->launch;

  launch.tops = (const Cj2kCudaTop *)stage->tops.data + run.first;
  launch.first = g_array_index(stage->top_list, Cj2kCudaTop, run.first);
  launch.count = run.count;
  launch.planes = stage->planes.device.data;
  launch.xyz = job->rgb_to_xyz ? cj2k_cuda_table_data(slot->encoder->xyz) : NULL;
  launch.first_pair = run.first_pair;
  launch.end_pair = run.end_pair;
  CJ2K_CUDA_DO(queue, group->no_levels ? cj2k_cuda_unpack(&launch, &arrays, queue->stream)
                                       : cj2k_cuda_fdwt_top(&launch, &arrays, queue->stream));
}

void cj2k_cuda_launch_levels(const Cj2kEncodeSlot *slot, const Cj2kCudaLevelGroup *group,
                             Cj2kCudaLevelRun run, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaForwardLevel *levels = cj2k_cuda_table_data(slot->encoder->lists.levels);
  Cj2kCudaCoefficients arrays = {slot->transform.coefficients.data, slot->transform.lowpass};
  Cj2kCudaLevels launch = {.levels = levels + run.first,
                           .count = run.count,
                           .width = group->width,
                           .height = group->height,
                           .first_pair = run.first_pair,
                           .end_pair = run.end_pair,
                           .reversible = group->reversible};

  CJ2K_CUDA_DO(queue, cj2k_cuda_fdwt(&launch, &arrays, queue->stream));
}

/* Does the top level of slices [first, end). */
static void transform_tops(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t first,
                           uint32_t end)
{
  const GArray *groups = slot->transform.top_groups;
  const uint32_t *end_pair = slot->encoder->slices.end_pair[0];

  cj2k_cuda_queue_mark(&slot->queue, NULL);
  for (guint i = 0; i < groups->len; i++) {
    const Cj2kCudaTopGroup *group = &g_array_index(groups, Cj2kCudaTopGroup, i);
    Cj2kCudaLevelRun run = {.first = group->first,
                            .count = group->launch.count,
                            .first_pair = first ? end_pair[first - 1] : 0,
                            .end_pair = end_pair[end - 1]};
    cj2k_cuda_launch_tops(slot, job, group, run, &slot->queue);
  }
  cj2k_cuda_queue_mark(&slot->queue, "top");
}

/* Does pairs of rows [first, end) of the levels at depths [from, to). */
static void transform_levels(Cj2kEncodeSlot *slot, uint32_t from, uint32_t to, uint32_t first,
                             uint32_t end)
{
  const GArray *groups = slot->encoder->lists.groups;

  for (guint i = 0; i < groups->len && first < end; i++) {
    const Cj2kCudaLevelGroup *group = &g_array_index(groups, Cj2kCudaLevelGroup, i);
    Cj2kCudaLevelRun run = {group->first, group->count, first, end};
    if (group->depth >= from && group->depth < to)
      cj2k_cuda_launch_levels(slot, group, run, &slot->queue);
  }
}

/* Does the levels that are divided into slices, of slices [first, end). */
static void transform_slices(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t first,
                             uint32_t end)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;

  transform_tops(slot, job, first, end);
  transform_levels(slot, 1, slices->levels, first ? slices->end_pair[1][first - 1] : 0,
                   slices->end_pair[1][end - 1]);
  if (slices->levels > 1)
    cj2k_cuda_queue_mark(&slot->queue, "levels");
  if (cj2k_cuda_encode_coder(slot))
    cj2k_cuda_queue_record(&slot->queue, slot->latency.tops_done[end - 1]);
}

/* All kernels of a picture. */
typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kTransformJob *job;
  bool send_planes; /* even if the device has them */
} WholePicture;

static cudaError_t launch_whole(void *ctx)
{
  const WholePicture *whole = ctx;
  Cj2kEncodeSlot *slot = whole->slot;

  slot->status = cudaSuccess;
  slot->transform.planes_sent &= !whole->send_planes;
  cj2k_cuda_transform_send_planes(slot);
  transform_slices(slot, whole->job, 0, slot->encoder->slices.count);
  transform_levels(slot, slot->encoder->slices.levels, CJ2K_MAX_LEVELS, 0, UINT32_MAX);
  return slot->status;
}

/* With one call, if nothing has to be done in between. Pictures in device memory mostly come from a
 * pool, so that their planes are others in each frame: the graph always sends those. */
static void transform_whole(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  WholePicture whole = {slot, job, false};
  const uint64_t key[] = {slot->encoder->slices.count, job->rgb_to_xyz, on_device(job),
                          (uintptr_t)slot->transform.lowpass};

  if (!on_device(job))
    cj2k_cuda_transform_send_planes(slot);
  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  if (slot->marks.timeline->trace || cj2k_cuda_encode_coder(slot)) {
    launch_whole(&whole);
    return;
  }
  whole.send_planes = on_device(job);
  cj2k_cuda_graph_follow(&slot->transform.whole, key, G_N_ELEMENTS(key));
  slot->status =
      cj2k_cuda_graph_run(&slot->transform.whole, slot->queue.stream, launch_whole, &whole);
  slot->transform.planes_sent = cj2k_cuda_queue_ok(&slot->queue);
}

/* Uploads the picture and does the levels that are divided into slices, slice by slice; then the
 * other levels. In a quiet codec all slices are one, and so are all blocks: that takes a third
 * of the calls, and calls of all threads into the driver are what bounds many streams, while the
 * bus and the GPU are busy with other frames anyway. So is a picture in device memory, which has no
 * upload that coding could overlap: the GPU then makes its packets, too. */
static void transform_picture(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                              const Cj2kCudaPlaneArea *areas)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  bool upload = !on_device(job);

  slot->latency.quiet = !upload || cj2k_cuda_is_quiet(&slot->encoder->device);
  slot->latency.in_slices = upload && !slot->latency.quiet;
  if (!slot->latency.in_slices || slices->count == 1) {
    if (upload)
      cj2k_cuda_upload_slices(slot, job, areas, 0, slices->count);
    transform_whole(slot, job);
    return;
  }
  cj2k_cuda_transform_send_planes(slot);
  for (uint32_t i = 0; i < slices->count; i++) {
    cj2k_cuda_upload_slices(slot, job, areas, i, i + 1);
    transform_slices(slot, job, i, i + 1);
  }
  transform_levels(slot, slices->levels, CJ2K_MAX_LEVELS, 0, UINT32_MAX);
}

/*
 * The memory of picture and low-pass workspace: the workspace of code(), because they are not used
 * any more when blocks are coded, and it is not when the slot gets its next picture; together they
 * were a third of a slot. Where blocks are coded while the rest of the picture is transformed, they
 * have memory of their own.
 */
static Cj2kCudaMemory *room_of(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  bool beside = slot->transform.in_rows || (encoder->ht && encoder->device.low_latency);

  return beside ? &slot->transform.own : encoder->ht ? &slot->ht.scratch : &slot->mq.symbols;
}

uint8_t *cj2k_cuda_transform_reserve(Cj2kEncodeSlot *slot, uint64_t size)
{
  uint64_t lowpass = (slot->encoder->plan->num_lowpass * 4 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  uint64_t all = lowpass + size;
  Cj2kCudaMemory *room = room_of(slot);

  /* At once as much as code() needs, which else would have to free it and allocate more. */
  if (room == &slot->mq.symbols)
    all = MAX(all, cj2k_cuda_mq_first_symbols(slot));
  if (room->data && all > room->size) /* an earlier step may still use it */
    CJ2K_CUDA_DO(&slot->queue, cudaStreamSynchronize(slot->queue.stream));
  cj2k_cuda_queue_reserve(&slot->queue, room, all);
  slot->transform.lowpass = room->data;
  return cj2k_cuda_queue_ok(&slot->queue) ? (uint8_t *)room->data + lowpass : NULL;
}

void cj2k_cuda_transform_frame(Cj2kEncodeSlot *slot)
{
  slot->marks.count = 0;
  slot->ht.all_coded = slot->latency.behind = false;
  slot->ht.ahead = (Cj2kMeasureJob){0};
  slot->timed = cj2k_cuda_times_next(slot->marks.timeline, false, &slot->frames);
}

Cj2kCudaPlaneArea *cj2k_cuda_transform_begin(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  uint32_t n = job->layout->num_planes;
  Cj2kCudaInputPlane *planes = g_new0(Cj2kCudaInputPlane, n);
  Cj2kCudaPlaneArea *areas = NULL;

  if (slot->timed)
    cj2k_cuda_queue_record(queue, slot->transform.begin);
  if (job->rgb_to_xyz)
    CJ2K_CUDA_DO(queue, reserve_xyz(slot->encoder, job));
  if (on_device(job))
    (void)cj2k_cuda_transform_reserve(slot, 0);
  else
    areas = cj2k_cuda_upload_place(slot, job, planes);
  for (uint32_t i = 0; i < n && on_device(job); i++)
    planes[i] =
        (Cj2kCudaInputPlane){job->picture->planes[i].data, (uint32_t)job->picture->planes[i].pitch};
  set_planes(slot, job, planes);
  CJ2K_CUDA_DO(
      queue, cj2k_cuda_follow_picture(queue->stream, job->picture, slot->transform.picture_ready));
  g_free(planes);
  return areas;
}

void cj2k_cuda_transform_end(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  cj2k_cuda_queue_mark(queue, "levels");
  if (slot->timed)
    cj2k_cuda_queue_record(queue, slot->transform.done);
  slot->transform.timed = cj2k_cuda_queue_ok(queue);
}

void cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  cj2k_cuda_transform_frame(slot);
  Cj2kCudaPlaneArea *areas = cj2k_cuda_transform_begin(slot, job);
  if (slot->encoder->component_streams) {
    slot->latency.quiet = true;
    slot->latency.in_slices = false;
  }
  if (slot->encoder->component_streams)
    cj2k_cuda_transform_send_planes(slot);
  if (cj2k_cuda_queue_ok(&slot->queue) && slot->encoder->component_streams)
    cj2k_cuda_encode_components(slot, job, areas);
  else if (cj2k_cuda_queue_ok(&slot->queue))
    transform_picture(slot, job, areas);
  g_free(areas);
  cj2k_cuda_transform_end(slot);
}

void cj2k_cuda_transform_init(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kPlan *plan = slot->encoder->plan;
  unsigned flags = cj2k_cuda_encode_event_flags(slot);

  slot->transform.top_groups = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaTopGroup));
  slot->transform.top_list = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaTop));
  slot->transform.top_comps = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&slot->transform.begin, flags));
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&slot->transform.done, flags));
  CJ2K_CUDA_DO(queue,
               cudaEventCreateWithFlags(&slot->transform.picture_ready, cudaEventDisableTiming));
  cj2k_cuda_queue_reserve(queue, &slot->transform.coefficients, plan->num_coefficients * 4);
}

void cj2k_cuda_transform_free(Cj2kEncodeSlot *slot)
{
  Cj2kCudaTransformStage *stage = &slot->transform;

  cj2k_cuda_graph_free(&stage->whole);
  cj2k_cuda_release_pair(&stage->planes);
  cj2k_cuda_release(&stage->tops);
  cj2k_cuda_release(&stage->coefficients);
  cj2k_cuda_release(&stage->own);
  cj2k_cuda_destroy_event(stage->begin);
  cj2k_cuda_destroy_event(stage->done);
  cj2k_cuda_destroy_event(stage->picture_ready);
}

void cj2k_cuda_transform_forget(Cj2kEncodeSlot *slot)
{
  g_clear_pointer(&slot->transform.top_groups, g_array_unref);
  g_clear_pointer(&slot->transform.top_list, g_array_unref);
  g_clear_pointer(&slot->transform.top_comps, g_array_unref);
  g_free(slot->transform.alignments);
}
