/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Upload of a picture in host memory: whole planes, or slice by slice. */
#include "encode.h"

#include "common/runtime/stream_copy.h"
#include "common/samples/layout.h"

#include <string.h>

#define PITCH_ALIGNMENT 256
#define COPY_ROWS       64 /* rows of a plane that a thread copies at a time */
/* Bytes of a plane's rows from which on they are copied past the caches: a picture with such planes
 * would not stay there. */
#define STREAM_BYTES ((uint64_t)1 << 19)

static bool is_empty(const Cj2kRect *rect)
{
  return rect->x0 >= rect->x1 || rect->y0 >= rect->y1;
}

/* The part of a plane that holds samples, and its place on the device. */
struct Cj2kCudaPlaneArea {
  uint64_t offset, pitch, row_bytes;
  uint32_t rows;
};
/* The queue on which a picture is uploaded: one that all slots share, or with one frame in flight
 * in a quiet codec the slot's own. The streams of a process share a few hardware queues, and
 * one that waits for another holds up what is behind it in its queue. */
static const Cj2kCudaQueue *upload_queue(const Cj2kEncodeSlot *slot)
{
  return slot->latency.quiet && !slot->encoder->blocking ? &slot->queue : &slot->upload.queue;
}

typedef Cj2kCudaPlaneArea PlaneArea;

static PlaneArea plane_area(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t index)
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
  /* With the same pitch on both sides the plane is one contiguous copy. */
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
  bool streams; /* past the caches */
} RowCopy;

static void copy_rows(void *ctx, uint32_t index, uint32_t lane)
{
  const RowCopy *copy = ctx;
  uint32_t end = MIN((index + 1) * COPY_ROWS, copy->rows);

  (void)lane;
  for (uint32_t y = index * COPY_ROWS; y < end; y++) {
    uint8_t *to = copy->to + y * copy->area->pitch;
    const uint8_t *from = copy->from + y * copy->pitch;
    if (copy->streams)
      cj2k_stream_copy(to, from, copy->area->row_bytes);
    else
      memcpy(to, from, copy->area->row_bytes);
  }
  cj2k_stream_end();
}

/* Rows of one plane, or slices: [first, end). */
typedef struct {
  uint32_t first, end;
} Range;

static Range rows_of(const Cj2kEncodeSlot *slot, Range range, uint32_t rows)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;

  return (Range){range.first ? cj2k_cuda_slice_rows(slices, range.first - 1, rows) : 0,
                 cj2k_cuda_slice_rows(slices, range.end - 1, rows)};
}

/* Copies rows of pageable memory to the staging memory, with all threads; the driver would use only
 * one. */
static void stage_rows(Cj2kEncodeSlot *slot, const Cj2kPlane *from, const PlaneArea *area,
                       Range rows)
{
  RowCopy copy = {.from = (const uint8_t *)from->data + rows.first * from->pitch,
                  .pitch = from->pitch,
                  .area = area,
                  .rows = rows.end - rows.first,
                  .to = (uint8_t *)slot->upload.staging.data + area->offset +
                        rows.first * area->pitch};

  copy.streams = copy.rows * area->row_bytes >= STREAM_BYTES;
  cj2k_parallel_for(slot->encoder->threads, (copy.rows + COPY_ROWS - 1) / COPY_ROWS, copy_rows,
                    &copy);
}

/* The address from which the first row of a plane is uploaded, and its pitch. */
static const uint8_t *source(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                             uint32_t index, const PlaneArea *areas, uint64_t *pitch)
{
  bool staged = job->picture->memory == CJ2K_MEMORY_HOST;
  const Cj2kPlane *plane = &job->picture->planes[index];

  *pitch = staged ? areas[index].pitch : plane->pitch;
  return staged ? (const uint8_t *)slot->upload.staging.data + areas[index].offset : plane->data;
}

static void upload_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t index,
                        const PlaneArea *areas, Range rows)
{
  const PlaneArea *area = &areas[index];
  uint8_t *to = slot->upload.picture + area->offset + rows.first * area->pitch;
  uint64_t pitch;
  const uint8_t *from = source(slot, job, index, areas, &pitch);
  const Cj2kCudaQueue *queue = upload_queue(slot);

  if (rows.first >= rows.end)
    return;
  from += rows.first * pitch;
  if (pitch == area->pitch)
    CJ2K_CUDA_DO(queue,
                 cudaMemcpyAsync(to, from, pitch * (rows.end - rows.first - 1) + area->row_bytes,
                                 cudaMemcpyHostToDevice, queue->stream));
  else
    CJ2K_CUDA_DO(queue,
                 cudaMemcpy2DAsync(to, area->pitch, from, pitch, area->row_bytes,
                                   rows.end - rows.first, cudaMemcpyHostToDevice, queue->stream));
}

/* The bytes of all planes, if planes follow each other without gaps, on the host and on the device;
 * else 0. */
static uint64_t adjoining(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
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

/* Checks the result of a copy of several planes at once. false: they are adjacent by chance but
 * belong to different allocations, and must be copied one by one. */
static bool took_together(const Cj2kCudaQueue *queue, cudaError_t result)
{
  if (result == cudaErrorInvalidValue) {
    (void)cudaGetLastError();
    return false;
  }
  CJ2K_CUDA_DO(queue, result);
  return true;
}

/* Uploads the same rows of all planes in one two-dimensional copy: the rows of a plane form one row
 * of it. false: the planes differ in shape or are not evenly spaced. */
static bool upload_alike(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, const PlaneArea *areas,
                         Range rows)
{
  uint32_t n = job->layout->num_planes;
  uint64_t pitch, next_pitch;
  const uint8_t *from = source(slot, job, 0, areas, &pitch);

  if (n < 2 || pitch != areas[0].pitch || rows.first >= rows.end)
    return false;
  const uint8_t *second = source(slot, job, 1, areas, &next_pitch);
  uint64_t to_next = areas[1].offset, from_next = (uint64_t)(second - from);
  for (uint32_t i = 1; i < n; i++) {
    const uint8_t *next = source(slot, job, i, areas, &next_pitch);
    if (next_pitch != pitch || areas[i].pitch != pitch || areas[i].rows != areas[0].rows ||
        areas[i].row_bytes != areas[0].row_bytes || areas[i].offset != i * to_next || next < from ||
        (uint64_t)(next - from) != i * from_next)
      return false;
  }
  uint64_t width = pitch * (rows.end - rows.first - 1) + areas[0].row_bytes;
  if (width > from_next || width > to_next || from_next > INT32_MAX || to_next > INT32_MAX)
    return false;
  const Cj2kCudaQueue *queue = upload_queue(slot);
  return took_together(queue, cudaMemcpy2DAsync(slot->upload.picture + rows.first * pitch, to_next,
                                                from + rows.first * pitch, from_next, width, n,
                                                cudaMemcpyHostToDevice, queue->stream));
}

/* Uploads whole planes, in one copy if possible: each copy costs the bus some microseconds. */
static void upload_planes(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, const PlaneArea *areas)
{
  const Cj2kCudaQueue *queue = upload_queue(slot);
  uint64_t pitch, size = adjoining(slot, job, areas);

  if (size && took_together(queue, cudaMemcpyAsync(slot->upload.picture,
                                                   source(slot, job, 0, areas, &pitch), size,
                                                   cudaMemcpyHostToDevice, queue->stream)))
    return;
  for (uint32_t i = 0; i < job->layout->num_planes; i++)
    upload_rows(slot, job, i, areas, (Range){0, areas[i].rows});
}

/* Uploads some slices of all planes. */
static void upload_part(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, const PlaneArea *areas,
                        Range range)
{
  if (upload_alike(slot, job, areas, rows_of(slot, range, areas[0].rows)))
    return;
  for (uint32_t i = 0; i < job->layout->num_planes; i++)
    upload_rows(slot, job, i, areas, rows_of(slot, range, areas[i].rows));
}

Cj2kCudaPlaneArea *cj2k_cuda_upload_place(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                          Cj2kCudaInputPlane *planes)
{
  uint32_t n = job->layout->num_planes;
  PlaneArea *areas = g_new0(PlaneArea, n);
  uint64_t size = 0;

  for (uint32_t i = 0; i < n; i++) {
    areas[i] = plane_area(slot, job, i);
    areas[i].offset = size;
    size +=
        (areas[i].pitch * areas[i].rows + PITCH_ALIGNMENT - 1) & ~(uint64_t)(PITCH_ALIGNMENT - 1);
  }
  slot->upload.picture = cj2k_cuda_transform_reserve(slot, size);
  slot->upload.picture_size = size;
  if (job->picture->memory == CJ2K_MEMORY_HOST)
    cj2k_cuda_queue_reserve(&slot->queue, &slot->upload.staging, size);
  for (uint32_t i = 0; i < n && cj2k_cuda_queue_ok(&slot->queue); i++)
    planes[i] =
        (Cj2kCudaInputPlane){slot->upload.picture + areas[i].offset, (uint32_t)areas[i].pitch};
  return areas;
}

/* Begins copies that stay together in their queue. */
static const Cj2kCudaQueue *begin_copies(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = upload_queue(slot);

  g_mutex_lock(&slot->encoder->upload_lock);
  cj2k_cuda_queue_mark(queue, NULL);
  return queue;
}

/* Ends them; later work on the slot's queue waits for them. */
static void end_copies(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  Cj2kCudaEncoder *encoder = slot->encoder;

  cj2k_cuda_queue_mark(queue, "upload");
  if (queue != &slot->queue)
    cj2k_cuda_queue_record(queue, slot->upload.uploaded);
  g_mutex_unlock(&encoder->upload_lock);
  if (queue == &slot->queue)
    return;
  /* A stream that waits with several kernels queued behind it slows uploads by some percent. */
  if (encoder->many)
    CJ2K_CUDA_DO(queue, cudaEventSynchronize(slot->upload.uploaded));
  else
    cj2k_cuda_queue_wait(&slot->queue, slot->upload.uploaded);
}

void cj2k_cuda_upload_slices(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                             const Cj2kCudaPlaneArea *areas, uint32_t first, uint32_t end)
{
  Range range = {first, end};
  uint32_t n = job->layout->num_planes;

  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  for (uint32_t i = 0; i < n && job->picture->memory == CJ2K_MEMORY_HOST; i++)
    stage_rows(slot, &job->picture->planes[i], &areas[i], rows_of(slot, range, areas[i].rows));
  const Cj2kCudaQueue *queue = begin_copies(slot);
  if (end - first == slot->encoder->slices.count)
    upload_planes(slot, job, areas);
  else
    upload_part(slot, job, areas, range);
  end_copies(slot, queue);
}

void cj2k_cuda_upload_shares(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                             const Cj2kCudaPlaneArea *areas, const uint8_t *share, uint32_t shares,
                             const cudaEvent_t *uploaded)
{
  uint32_t n = job->layout->num_planes;

  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  for (uint32_t i = 0; i < n && job->picture->memory == CJ2K_MEMORY_HOST; i++)
    stage_rows(slot, &job->picture->planes[i], &areas[i], (Range){0, areas[i].rows});
  const Cj2kCudaQueue *queue = begin_copies(slot);
  for (uint32_t k = 0; k < shares; k++) {
    for (uint32_t i = 0; i < n; i++)
      if (share[i] == k)
        upload_rows(slot, job, i, areas, (Range){0, areas[i].rows});
    cj2k_cuda_queue_record(queue, uploaded[k]);
  }
  end_copies(slot, queue);
}

/* Rows of a plane that are there with so many rows of the picture: all of its components'. */
static uint32_t rows_there(const Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t index,
                           uint32_t rows, uint32_t all)
{
  const Cj2kPlan *plan = slot->encoder->plan;

  if (rows >= cj2k_plan_rows_all(plan))
    return all;
  for (uint32_t c = 0; c < plan->num_components && c < job->layout->num_components; c++) {
    uint64_t dy = plan->header->components[c].dy, y0 = plan->component_out[c].y0;
    uint64_t end = (plan->header->y0 + (uint64_t)rows + dy - 1) / dy;
    if (job->layout->samples[c].plane == index)
      all = (uint32_t)MIN(all, end - MIN(y0, end));
  }
  return all;
}

void cj2k_cuda_upload_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                           const Cj2kCudaPlaneArea *areas, uint32_t done, uint32_t rows)
{
  uint32_t n = job->layout->num_planes;
  bool whole = !done && rows >= cj2k_plan_rows_all(slot->encoder->plan);
  Range *ranges = g_new(Range, n);

  for (uint32_t i = 0; i < n; i++) {
    ranges[i].first = done ? rows_there(slot, job, i, done, areas[i].rows) : 0;
    ranges[i].end = rows_there(slot, job, i, rows, areas[i].rows);
    if (job->picture->memory == CJ2K_MEMORY_HOST && ranges[i].first < ranges[i].end)
      stage_rows(slot, &job->picture->planes[i], &areas[i], ranges[i]);
  }
  const Cj2kCudaQueue *queue = begin_copies(slot);
  if (whole)
    upload_planes(slot, job, areas);
  for (uint32_t i = 0; i < n && !whole; i++)
    upload_rows(slot, job, i, areas, ranges[i]);
  end_copies(slot, queue);
  g_free(ranges);
}

void cj2k_cuda_upload_init(Cj2kEncodeSlot *slot)
{
  slot->upload.queue = cj2k_cuda_encode_queue(slot, slot->encoder->upload);
  slot->upload.staging.host = true;
  CJ2K_CUDA_DO(&slot->queue,
               cudaEventCreateWithFlags(&slot->upload.uploaded, cj2k_cuda_encode_event_flags(slot) |
                                                                    cudaEventDisableTiming));
}

void cj2k_cuda_upload_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_release(&slot->upload.staging);
  cj2k_cuda_destroy_event(slot->upload.uploaded);
}
