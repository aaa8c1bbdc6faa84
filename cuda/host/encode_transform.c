/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/samples/layout.h"

#include <string.h>

#define PITCH_ALIGNMENT 256
#define COPY_ROWS       64 /* of a plane, by one thread at a time */

/* ------------------------------------------------------------------------------- levels --- */

/* The division of resolution r of a tile-component, or at r = 0 the component as it is. */
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
    group.count++;
    group.width = MAX(group.width, level.rect.x1 - level.rect.x0);
    group.height = MAX(group.height, level.rect.y1 - level.rect.y0);
  }
  if (group.count)
    g_array_append_val(encoder->groups, group);
}

cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder)
{
  GArray *levels = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaForwardLevel));

  for (uint32_t depth = 1; depth < CJ2K_MAX_LEVELS; depth++)
    for (int reversible = 0; reversible < 2; reversible++)
      list_depth(encoder, levels, depth, reversible);
  size_t size = levels->len * sizeof(Cj2kCudaForwardLevel);
  cudaError_t result = cj2k_cuda_reserve(&encoder->levels, size);
  if (result == cudaSuccess && size)
    result = cudaMemcpy(encoder->levels.data, levels->data, size, cudaMemcpyHostToDevice);
  g_array_unref(levels);
  return result;
}

/* --------------------------------------------------------------------------------- tops --- */

/* Which load a component's samples allow. */
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

static void describe_input(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
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

/* The top of `count` components from tile_comp on. */
static Cj2kCudaTopGroup describe_top(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                     uint32_t tile_comp, uint32_t count, Cj2kCudaTop *top)
{
  const Cj2kPlanTileComp *tcs = &slot->encoder->plan->tile_comps[tile_comp];
  const Cj2kCudaInputPlane *planes = slot->host_planes.data;
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

static void append_top(GArray *groups, GArray *tops, const Cj2kCudaTopGroup *kind,
                       const Cj2kCudaTop *top)
{
  Cj2kCudaTopGroup *last =
      groups->len ? &g_array_index(groups, Cj2kCudaTopGroup, groups->len - 1) : NULL;

  if (!last || !same_kind(last, kind)) {
    g_array_append_val(groups, *kind);
    last = &g_array_index(groups, Cj2kCudaTopGroup, groups->len - 1);
    last->first = tops->len;
  }
  last->launch.count++;
  last->launch.width = MAX(last->launch.width, kind->launch.width);
  last->launch.height = MAX(last->launch.height, kind->launch.height);
  g_array_append_val(tops, *top);
}

/* Lists the tops of all tiles and copies them to the device. Runs of one kind become a group. */
static cudaError_t list_tops(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  GArray *tops = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaTop));
  uint32_t count = 1;

  g_array_set_size(slot->top_groups, 0);
  for (uint32_t pass = 0; pass < 2; pass++) /* components together first, then the others */
    for (uint32_t t = 0; t < plan->num_tiles; t++) {
      bool together = (plan->tiles[t].mct || job->rgb_to_xyz) && plan->num_components >= 3;
      for (uint32_t c = 0; c < plan->num_components; c += count) {
        uint32_t tile_comp = plan->tiles[t].first_tile_comp + c;
        count = together && c == 0 ? 3 : 1;
        if ((count == 3) != (pass == 0) || is_empty(&plan->tile_comps[tile_comp].rect))
          continue;
        Cj2kCudaTop top;
        Cj2kCudaTopGroup kind = describe_top(slot, job, tile_comp, count, &top);
        append_top(slot->top_groups, tops, &kind, &top);
      }
    }
  size_t size = tops->len * sizeof(Cj2kCudaTop);
  cudaError_t result = cj2k_cuda_reserve(&slot->tops, size);
  if (result == cudaSuccess && size) /* pageable memory: returns when it has been read */
    result =
        cudaMemcpyAsync(slot->tops.data, tops->data, size, cudaMemcpyHostToDevice, slot->stream);
  g_array_unref(tops);
  return result;
}

/* The conversion tables, for the depth that the pictures have; shared by all slots. */
static cudaError_t reserve_xyz(Cj2kCudaEncoder *encoder, const Cj2kEncodeJob *job)
{
  cudaError_t result = cudaSuccess;

  g_mutex_lock(&encoder->lock);
  if (!encoder->xyz.data) {
    Cj2kXyzTables *tables = g_new0(Cj2kXyzTables, 1);
    cj2k_xyz_tables_init(tables, MIN(job->layout->samples[0].depth, CJ2K_XYZ_MAX_DEPTH),
                         job->xyz_transfer);
    result = cj2k_cuda_reserve(&encoder->xyz, sizeof *tables);
    if (result == cudaSuccess)
      result = cudaMemcpy(encoder->xyz.data, tables, sizeof *tables, cudaMemcpyHostToDevice);
    g_free(tables);
  }
  g_mutex_unlock(&encoder->lock);
  return result;
}

/* ------------------------------------------------------------------------------- upload --- */

/* The part of a plane that holds samples, and where it goes on the device. */
typedef struct {
  uint64_t offset, pitch, row_bytes;
  uint32_t rows;
} PlaneArea;

static PlaneArea plane_area(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, uint32_t index)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  uint64_t pitch = job->picture->planes[index].pitch;
  PlaneArea area = {0};

  for (uint32_t c = 0; c < plan->num_components && c < job->layout->num_components; c++) {
    const Cj2kRect *rect = &plan->component_out[c];
    if (job->layout->samples[c].plane != index || is_empty(rect))
      continue;
    area.row_bytes =
        MAX(area.row_bytes, cj2k_layout_row_bytes(&job->layout->samples[c], rect->x1 - rect->x0));
    area.rows = MAX(area.rows, rect->y1 - rect->y0);
  }
  area.row_bytes = MIN(area.row_bytes, cj2k_plane_row_bytes(&job->picture->planes[index]));
  /* With the same pitch on both sides it is one run of bytes. */
  bool keep = pitch % 16 == 0 && pitch <= area.row_bytes + PITCH_ALIGNMENT;
  area.pitch =
      keep ? pitch : (area.row_bytes + PITCH_ALIGNMENT - 1) & ~(uint64_t)(PITCH_ALIGNMENT - 1);
  return area;
}

typedef struct {
  const uint8_t *from;
  uint64_t pitch;
  const PlaneArea *area; /* of the destination */
  uint32_t rows;
  uint8_t *to;
} RowCopy;

static void copy_rows(void *ctx, uint32_t index, uint32_t lane)
{
  const RowCopy *copy = ctx;
  uint32_t end = MIN((index + 1) * COPY_ROWS, copy->rows);

  (void)lane;
  for (uint32_t y = index * COPY_ROWS; y < end; y++)
    memcpy(copy->to + y * copy->area->pitch, copy->from + y * copy->pitch, copy->area->row_bytes);
}

/* Rows of one plane. */
typedef struct {
  uint32_t first, end;
} Rows;

static Rows slice_rows(const Cj2kEncodeSlot *slot, uint32_t slice, uint32_t rows)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;

  return (Rows){slice ? cj2k_cuda_slice_rows(slices, slice - 1, rows) : 0,
                cj2k_cuda_slice_rows(slices, slice, rows)};
}

/* Pageable memory goes through staging, copied by all threads, since the driver would do it with
 * one. */
static void stage_rows(Cj2kEncodeSlot *slot, const Cj2kPlane *from, const PlaneArea *area,
                       Rows rows)
{
  RowCopy copy = {(const uint8_t *)from->data + rows.first * from->pitch, from->pitch, area,
                  rows.end - rows.first,
                  (uint8_t *)slot->staging.data + area->offset + rows.first * area->pitch};

  cj2k_parallel_for(slot->encoder->threads, (copy.rows + COPY_ROWS - 1) / COPY_ROWS, copy_rows,
                    &copy);
}

/* Where the first row of a plane is read. */
static const uint8_t *source(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, uint32_t index,
                             const PlaneArea *areas, uint64_t *pitch)
{
  bool staged = job->picture->memory == CJ2K_MEMORY_HOST;
  const Cj2kPlane *plane = &job->picture->planes[index];

  *pitch = staged ? areas[index].pitch : plane->pitch;
  return staged ? (const uint8_t *)slot->staging.data + areas[index].offset : plane->data;
}

static cudaError_t upload_rows(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, uint32_t index,
                               const PlaneArea *areas, Rows rows)
{
  const PlaneArea *area = &areas[index];
  uint8_t *to = (uint8_t *)slot->picture.data + area->offset + rows.first * area->pitch;
  uint64_t pitch;
  const uint8_t *from = source(slot, job, index, areas, &pitch);
  cudaStream_t stream = slot->encoder->upload;

  if (rows.first >= rows.end)
    return cudaSuccess;
  from += rows.first * pitch;
  if (pitch == area->pitch)
    return cudaMemcpyAsync(to, from, pitch * (rows.end - rows.first - 1) + area->row_bytes,
                           cudaMemcpyHostToDevice, stream);
  return cudaMemcpy2DAsync(to, area->pitch, from, pitch, area->row_bytes, rows.end - rows.first,
                           cudaMemcpyHostToDevice, stream);
}

/* Bytes of all planes when they lie one behind the other, here and on the device, with nothing
 * between: else 0. */
static uint64_t adjoining(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                          const PlaneArea *areas)
{
  uint64_t size = 0, pitch;
  const uint8_t *first = source(slot, job, 0, areas, &pitch);

  for (uint32_t i = 0; i < job->layout->num_planes; i++) {
    const uint8_t *from = source(slot, job, i, areas, &pitch);
    if (pitch != areas[i].pitch || pitch != areas[i].row_bytes || areas[i].offset != size ||
        from != first + size)
      return 0;
    size += pitch * areas[i].rows;
  }
  return size;
}

/* The same rows of all planes in one copy, where planes are alike: rows of a plane are then one row
 * of the copy. cudaErrorInvalidValue: not possible. */
static cudaError_t upload_alike(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                const PlaneArea *areas, Rows rows)
{
  uint32_t n = job->layout->num_planes;
  uint64_t pitch, next_pitch;
  const uint8_t *from = source(slot, job, 0, areas, &pitch);

  if (n < 2 || pitch != areas[0].pitch || rows.first >= rows.end)
    return cudaErrorInvalidValue;
  const uint8_t *second = source(slot, job, 1, areas, &next_pitch);
  uint64_t to_next = areas[1].offset, from_next = (uint64_t)(second - from);
  for (uint32_t i = 1; i < n; i++) {
    const uint8_t *next = source(slot, job, i, areas, &next_pitch);
    if (next_pitch != pitch || areas[i].pitch != pitch || areas[i].rows != areas[0].rows ||
        areas[i].row_bytes != areas[0].row_bytes || areas[i].offset != i * to_next || next < from ||
        (uint64_t)(next - from) != i * from_next)
      return cudaErrorInvalidValue;
  }
  uint64_t width = pitch * (rows.end - rows.first - 1) + areas[0].row_bytes;
  if (width > from_next || width > to_next || from_next > INT32_MAX || to_next > INT32_MAX)
    return cudaErrorInvalidValue;
  cudaError_t result = cudaMemcpy2DAsync((uint8_t *)slot->picture.data + rows.first * pitch,
                                         to_next, from + rows.first * pitch, from_next, width, n,
                                         cudaMemcpyHostToDevice, slot->encoder->upload);
  if (result == cudaErrorInvalidValue)
    (void)cudaGetLastError(); /* neighbours by chance, in several allocations */
  return result;
}

/* Whole planes, in one copy where that is possible: each copy costs the bus some microseconds. */
static cudaError_t upload_planes(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                 const PlaneArea *areas)
{
  uint64_t pitch, size = adjoining(slot, job, areas);
  cudaError_t result = cudaErrorInvalidValue;

  if (size)
    result = cudaMemcpyAsync(slot->picture.data, source(slot, job, 0, areas, &pitch), size,
                             cudaMemcpyHostToDevice, slot->encoder->upload);
  if (result != cudaErrorInvalidValue)
    return result;
  (void)cudaGetLastError(); /* neighbours by chance, in several allocations */
  result = cudaSuccess;
  for (uint32_t i = 0; i < job->layout->num_planes && result == cudaSuccess; i++)
    result = upload_rows(slot, job, i, areas, (Rows){0, areas[i].rows});
  return result;
}

/* One slice of all planes. */
static cudaError_t upload_part(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                               const PlaneArea *areas, uint32_t slice)
{
  cudaError_t result = upload_alike(slot, job, areas, slice_rows(slot, slice, areas[0].rows));

  if (result != cudaErrorInvalidValue)
    return result;
  result = cudaSuccess;
  for (uint32_t i = 0; i < job->layout->num_planes && result == cudaSuccess; i++)
    result = upload_rows(slot, job, i, areas, slice_rows(slot, slice, areas[i].rows));
  return result;
}

/* Room for all planes on the device; planes[] says where they will be. */
static cudaError_t place_planes(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, PlaneArea *areas,
                                Cj2kCudaInputPlane *planes)
{
  uint32_t n = job->layout->num_planes;
  uint64_t size = 0;

  for (uint32_t i = 0; i < n; i++) {
    areas[i] = plane_area(slot, job, i);
    areas[i].offset = size;
    size +=
        (areas[i].pitch * areas[i].rows + PITCH_ALIGNMENT - 1) & ~(uint64_t)(PITCH_ALIGNMENT - 1);
  }
  cudaError_t result = cj2k_cuda_reserve(&slot->picture, size);
  if (result == cudaSuccess && job->picture->memory == CJ2K_MEMORY_HOST)
    result = cj2k_cuda_reserve(&slot->staging, size);
  for (uint32_t i = 0; i < n && result == cudaSuccess; i++)
    planes[i] = (Cj2kCudaInputPlane){(uint8_t *)slot->picture.data + areas[i].offset,
                                     (uint32_t)areas[i].pitch};
  return result;
}

/* One slice of all planes; the slot's stream goes on when it is there. */
static cudaError_t upload_slice(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                const PlaneArea *areas, uint32_t slice)
{
  Cj2kCudaEncoder *encoder = slot->encoder;
  uint32_t n = job->layout->num_planes;

  for (uint32_t i = 0; i < n && job->picture->memory == CJ2K_MEMORY_HOST; i++)
    stage_rows(slot, &job->picture->planes[i], &areas[i], slice_rows(slot, slice, areas[i].rows));
  g_mutex_lock(&encoder->upload_lock);
  cudaError_t result = cj2k_cuda_mark(&slot->marks, NULL, encoder->upload);
  if (result == cudaSuccess && encoder->slices.count == 1)
    result = upload_planes(slot, job, areas);
  if (result == cudaSuccess && encoder->slices.count > 1)
    result = upload_part(slot, job, areas, slice);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "upload", encoder->upload);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->uploaded, encoder->upload);
  g_mutex_unlock(&encoder->upload_lock);
  /* A stream that waits with several kernels behind it slows uploads by some percent. */
  if (result == cudaSuccess && encoder->launches_late)
    return cudaEventSynchronize(slot->uploaded);
  return result == cudaSuccess ? cudaStreamWaitEvent(slot->stream, slot->uploaded, 0) : result;
}

/* Tells the device where planes are, and makes the groups of tops anew when other loads are
 * possible. */
static cudaError_t set_planes(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                              const Cj2kCudaInputPlane *planes)
{
  uint32_t n = job->layout->num_planes;
  size_t size = n * sizeof *planes;
  bool first = slot->num_planes != n, realigned = first;
  cudaError_t result = cudaSuccess;

  if (!first && !memcmp(slot->host_planes.data, planes, size))
    return cudaSuccess;
  if (first) {
    result = cj2k_cuda_reserve(&slot->planes, size);
    if (result == cudaSuccess)
      result = cj2k_cuda_reserve(&slot->host_planes, size);
    if (result != cudaSuccess)
      return result;
    slot->alignments = g_renew(uint8_t, slot->alignments, n);
    slot->num_planes = n;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint8_t alignment = (uint8_t)(((uintptr_t)planes[i].data | planes[i].pitch) & 15);
    realigned |= alignment != slot->alignments[i];
    slot->alignments[i] = alignment;
  }
  memcpy(slot->host_planes.data, planes, size);
  result = cj2k_cuda_copy_small(slot->planes.data, slot->host_planes.data, size, slot->stream);
  return result == cudaSuccess && realigned ? list_tops(slot, job) : result;
}

/* --------------------------------------------------------------------------- all levels --- */

/* The top level of slices [first, end). */
static cudaError_t launch_tops(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, uint32_t first,
                               uint32_t end)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  const Cj2kCudaSlices *slices = &encoder->slices;
  Cj2kCudaCoefficients arrays = {slot->coefficients.data, slot->lowpass.data};
  cudaError_t result = cj2k_cuda_mark(&slot->marks, NULL, slot->stream);

  for (guint i = 0; i < slot->top_groups->len && result == cudaSuccess; i++) {
    const Cj2kCudaTopGroup *group = &g_array_index(slot->top_groups, Cj2kCudaTopGroup, i);
    Cj2kCudaTopLevel launch = group->launch;
    launch.tops = (const Cj2kCudaTop *)slot->tops.data + group->first;
    launch.planes = slot->planes.data;
    launch.xyz = job->rgb_to_xyz ? encoder->xyz.data : NULL;
    launch.first_pair = first ? slices->end_pair[0][first - 1] : 0;
    launch.end_pair = slices->end_pair[0][end - 1];
    result = group->no_levels ? cj2k_cuda_unpack(&launch, &arrays, slot->stream)
                              : cj2k_cuda_fdwt_top(&launch, &arrays, slot->stream);
  }
  return result == cudaSuccess ? cj2k_cuda_mark(&slot->marks, "top", slot->stream) : result;
}

/* Pairs of rows [first, end) of the levels from one depth to another. */
static cudaError_t launch_levels(Cj2kEncodeSlot *slot, uint32_t from, uint32_t to, uint32_t first,
                                 uint32_t end)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  Cj2kCudaCoefficients arrays = {slot->coefficients.data, slot->lowpass.data};
  cudaError_t result = cudaSuccess;

  for (guint i = 0; i < encoder->groups->len && result == cudaSuccess && first < end; i++) {
    const Cj2kCudaLevelGroup *group = &g_array_index(encoder->groups, Cj2kCudaLevelGroup, i);
    Cj2kCudaLevels launch = {.levels =
                                 (const Cj2kCudaForwardLevel *)encoder->levels.data + group->first,
                             .count = group->count,
                             .width = group->width,
                             .height = group->height,
                             .first_pair = first,
                             .end_pair = end,
                             .reversible = group->reversible};
    if (group->depth >= from && group->depth < to)
      result = cj2k_cuda_fdwt(&launch, &arrays, slot->stream);
  }
  return result;
}

/* The levels that are cut, of slices [first, end). */
static cudaError_t launch_slices(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, uint32_t first,
                                 uint32_t end)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  cudaError_t result = launch_tops(slot, job, first, end);

  if (result == cudaSuccess)
    result = launch_levels(slot, 1, slices->levels, first ? slices->end_pair[1][first - 1] : 0,
                           slices->end_pair[1][end - 1]);
  if (result == cudaSuccess && slices->levels > 1)
    result = cj2k_cuda_mark(&slot->marks, "levels", slot->stream);
  if (result == cudaSuccess && slot->coder)
    result = cudaEventRecord(slot->tops_done[end - 1], slot->stream);
  return result;
}

/* Upload and top levels, slice by slice, then the others. */
static cudaError_t transform_slices(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                    const PlaneArea *areas)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  cudaError_t result = cudaSuccess;

  slot->in_slices = job->picture->memory != CJ2K_MEMORY_CUDA;
  if (!slot->in_slices)
    result = launch_slices(slot, job, 0, slices->count);
  for (uint32_t i = 0; i < slices->count && slot->in_slices && result == cudaSuccess; i++) {
    result = upload_slice(slot, job, areas, i);
    if (result == cudaSuccess)
      result = launch_slices(slot, job, i, i + 1);
  }
  return result == cudaSuccess ? launch_levels(slot, slices->levels, CJ2K_MAX_LEVELS, 0, UINT32_MAX)
                               : result;
}

cudaError_t cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  uint32_t n = job->layout->num_planes;
  Cj2kCudaInputPlane *planes = g_new0(Cj2kCudaInputPlane, n);
  PlaneArea *areas = g_new0(PlaneArea, n);
  cudaError_t result = cudaEventRecord(slot->begin, slot->stream);

  slot->marks.count = 0;
  slot->all_coded = false;
  if (result == cudaSuccess && job->rgb_to_xyz)
    result = reserve_xyz(slot->encoder, job);
  if (result == cudaSuccess && job->picture->memory != CJ2K_MEMORY_CUDA)
    result = place_planes(slot, job, areas, planes);
  for (uint32_t i = 0; i < n && job->picture->memory == CJ2K_MEMORY_CUDA; i++)
    planes[i] =
        (Cj2kCudaInputPlane){job->picture->planes[i].data, (uint32_t)job->picture->planes[i].pitch};
  if (result == cudaSuccess)
    result = set_planes(slot, job, planes);
  if (result == cudaSuccess)
    result = cj2k_cuda_follow_picture(slot->stream, job->picture, slot->picture_ready);
  if (result == cudaSuccess)
    result = transform_slices(slot, job, areas);
  g_free(areas);
  g_free(planes);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "levels", slot->stream);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->transformed, slot->stream);
  slot->transform_timed = result == cudaSuccess;
  return result;
}
