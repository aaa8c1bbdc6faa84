/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/runtime/error.h"
#include "common/samples/layout_words.h"

#include <string.h>

#define ALIGNMENT 256 /* of planes, bytes */

/* ----------------------------------------------------------------------------- picture --- */

static size_t plane_extent(const Cj2kDecodeSlot *slot, uint32_t p, size_t pitch)
{
  return slot->output.plane_rows[p]
             ? pitch * (slot->output.plane_rows[p] - 1) + slot->output.plane_bytes[p]
             : 0;
}

/* Bytes of a row of plane p: whole units, or fewer if the picture's rows end inside the last one.
 */
static size_t row_bytes(const Cj2kDecodeSlot *slot, uint32_t p, const Cj2kPlane *plane)
{
  return MIN(slot->output.plane_bytes[p], cj2k_plane_row_bytes(plane));
}

static size_t round_up(size_t size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Are words aligned? Samples that have words of their own are stored word by word, and a GPU stores
 * words only at multiples of their size. */
static bool words_fit(const Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  for (uint32_t c = 0; c < slot->output.num_outputs - slot->output.layout.num_planes; c++) {
    const Cj2kSampleLayout *samples = &slot->output.layout.samples[c];
    const Cj2kPlane *plane = &picture->planes[samples->plane];
    uint64_t places = picture->memory == CJ2K_MEMORY_CUDA ? (uintptr_t)plane->data : 0;
    places |= plane->pitch | samples->at[0].offset | cj2k_layout_regular_stride(samples);
    if (!slot->output.samples[c].data && (places & (samples->word_bytes - 1u)))
      return false;
  }
  return true;
}

/* Chooses the memory for the planes: the picture itself if it is on the device, else the slot's
 * memory with the same pitches, so that each plane is downloaded in one copy. */
static Cj2kStatus place_picture(Cj2kDecodeSlot *slot, const Cj2kPicture *picture, Cj2kError *error)
{
  bool on_device = picture->memory == CJ2K_MEMORY_CUDA;
  uint32_t planes = slot->output.layout.num_planes;
  size_t size = 0;
  if (!words_fit(slot, picture))
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                          "CUDA: words that are not aligned to their size");
  for (uint32_t p = 0; p < planes && !on_device; p++)
    size += round_up(plane_extent(slot, p, picture->planes[p].pitch));
  slot->frame.copy_out = picture->memory == CJ2K_MEMORY_HOST;
  cudaError_t result = cj2k_cuda_reserve(&slot->frame.picture, size);
  if (slot->frame.copy_out)
    CJ2K_CUDA_TRY(result, cj2k_cuda_reserve(&slot->frame.h_picture, size));
  if (result != cudaSuccess)
    return cj2k_cuda_check(result, "memory for the picture", error);
  size = 0;
  for (uint32_t p = 0; p < planes; p++) {
    const Cj2kPlane *plane = &picture->planes[p];
    slot->output.outputs[p].data =
        on_device ? plane->data : (uint8_t *)slot->frame.picture.data + size;
    slot->output.outputs[p].pitch = plane->pitch;
    size += round_up(plane_extent(slot, p, plane->pitch));
  }
  for (uint32_t p = planes; p < slot->output.num_outputs; p++)
    slot->output.outputs[p] = slot->output.samples[p - planes];
  return CJ2K_OK;
}

/* The bytes of the whole picture, if its planes follow each other without gaps in host memory as
 * they do on the device; 0: they do not. */
static size_t adjoining(const Cj2kDecodeSlot *slot)
{
  const Cj2kPlane *planes = slot->frame.target->planes;
  size_t size = 0;
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++) {
    const uint8_t *on_device = (const uint8_t *)slot->frame.picture.data + size;
    if (!planes[p].data || row_bytes(slot, p, &planes[p]) != planes[p].pitch ||
        (const uint8_t *)planes[p].data != (const uint8_t *)planes[0].data + size ||
        slot->output.outputs[p].data != on_device)
      return 0;
    size += planes[p].pitch * slot->output.plane_rows[p];
  }
  return size;
}

/* Downloads the planes; all at once if possible, because each copy is a call into the driver. */
static cudaError_t download(Cj2kDecodeSlot *slot)
{
  const Cj2kPicture *picture = slot->frame.target;
  size_t size = slot->frame.copy_out ? 0 : adjoining(slot);
  cudaError_t result = cudaSuccess;
  if (size) {
    result = cudaMemcpyAsync(picture->planes[0].data, slot->frame.picture.data, size,
                             cudaMemcpyDeviceToHost, slot->stream);
    if (result != cudaErrorInvalidValue)
      return result;
    (void)cudaGetLastError(); /* the planes are adjacent by chance, of different allocations */
    result = cudaSuccess;
    size = 0;
  }
  for (uint32_t p = 0; p < slot->output.layout.num_planes && result == cudaSuccess; p++) {
    const Cj2kPlane *plane = &picture->planes[p];
    size_t bytes = plane_extent(slot, p, plane->pitch);
    void *to = slot->frame.copy_out ? (uint8_t *)slot->frame.h_picture.data + size : plane->data;
    if (bytes && to)
      result = cudaMemcpy2DAsync(to, plane->pitch, slot->output.outputs[p].data, plane->pitch,
                                 row_bytes(slot, p, plane), slot->output.plane_rows[p],
                                 cudaMemcpyDeviceToHost, slot->stream);
    size += round_up(bytes);
  }
  return result;
}

/* Copies from pinned memory to the picture in pageable memory, only the bytes of samples. */
static void copy_out(Cj2kDecodeSlot *slot)
{
  const uint8_t *from = slot->frame.h_picture.data;
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++) {
    const Cj2kPlane *plane = &slot->frame.target->planes[p];
    for (uint32_t y = 0; y < slot->output.plane_rows[p] && plane->data; y++)
      memcpy((uint8_t *)plane->data + y * plane->pitch, from + y * plane->pitch,
             row_bytes(slot, p, plane));
    from += round_up(plane_extent(slot, p, plane->pitch));
  }
}

/* ------------------------------------------------------------------------------ launch --- */

static cudaError_t decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frame)
{
  static const struct {
    cudaError_t (*launch)(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
    const char *stage;
  } kernels[] = {{cj2k_cuda_ht_decode_quads, "quads"},
                 {cj2k_cuda_ht_decode_magsgn, "magsgn"}, /* also zeroes blocks without data */
                 {cj2k_cuda_ht_decode_refine, "refine"},
                 {cj2k_cuda_mq_decode, "mq"}};
  cudaError_t result = cudaSuccess;
  for (size_t i = 0; i < G_N_ELEMENTS(kernels) && result == cudaSuccess; i++) {
    result = kernels[i].launch(frame, slot->stream);
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, kernels[i].stage, slot->stream));
  }
  return result;
}

/* Launches the last level of all tiles. */
static cudaError_t finish(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;
  Cj2kCudaDirect direct;
  if (slot->output.is_only &&
      cj2k_cuda_finish_is_direct(&slot->output.only, slot->output.outputs, &direct))
    return cj2k_cuda_finish_direct(&slot->output.only, &direct,
                                   g_array_index(slot->output.finishes, Cj2kCudaLaunch, 0).rows,
                                   slot->stream);
  const Cj2kCudaOutput *outputs =
      (const Cj2kCudaOutput *)((const uint8_t *)slot->upload.records.data +
                               slot->upload.parts.outputs);
  bool aligned = cj2k_cuda_finish_is_aligned(slot->output.outputs, slot->output.num_outputs);
  for (uint32_t i = 0; i < slot->output.finishes->len && result == cudaSuccess; i++) {
    const Cj2kCudaLaunch *l = &g_array_index(slot->output.finishes, Cj2kCudaLaunch, i);
    const Cj2kCudaFinish *entries =
        (const Cj2kCudaFinish *)slot->output.finish_table.data + l->first;
    if (l->words && aligned)
      result = cj2k_cuda_finish_words(entries, l->count, l->reversible, l->width, l->height,
                                      l->rows, outputs, slot->stream);
    else
      result = cj2k_cuda_finish(entries, l->count, l->three, l->reversible, l->is_plane, l->width,
                                l->height, l->rows, outputs, slot->stream);
  }
  return result;
}

/* Kernels from the coefficients to the picture. */
static cudaError_t launch_transform(void *ctx)
{
  Cj2kDecodeSlot *slot = ctx;
  cudaError_t result = cudaSuccess;
  for (uint32_t i = 0; i < slot->tables.levels->len && result == cudaSuccess; i++) {
    const Cj2kCudaLaunch *l = &g_array_index(slot->tables.levels, Cj2kCudaLaunch, i);
    result = cj2k_cuda_idwt((const Cj2kCudaLevel *)slot->tables.level_table.data + l->first,
                            l->count, l->reversible, l->width, l->height, l->rows, slot->stream);
  }
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "idwt", slot->stream));
  for (uint32_t pass = 0; pass < 2; pass++) {
    /* Packs without components only fill, before samples are stored; the others come after. */
    for (uint32_t i = 0; i < slot->output.packs->len && result == cudaSuccess; i++) {
      const Cj2kCudaPack *pack = &g_array_index(slot->output.packs, Cj2kCudaPack, i);
      uint32_t p = g_array_index(slot->output.plane_of_pack, uint32_t, i);
      if ((pack->count > 0) == (pass > 0))
        result = cj2k_cuda_pack(pack, &slot->output.outputs[p],
                                row_bytes(slot, p, &slot->frame.target->planes[p]), slot->stream);
    }
    if (pass == 0 && result == cudaSuccess)
      result = finish(slot);
  }
  return result;
}

/* What the launches depend on, beside the tables. */
static void follow_picture(Cj2kDecodeSlot *slot)
{
  uint32_t planes = slot->output.layout.num_planes, outputs = slot->output.num_outputs, n = 0;
  uint64_t *key = g_new(uint64_t, 1 + planes + 2 * outputs);
  key[n++] = (uintptr_t)slot->upload.records.data;
  for (uint32_t p = 0; p < planes; p++)
    key[n++] = row_bytes(slot, p, &slot->frame.target->planes[p]);
  for (uint32_t i = 0; i < outputs; i++) {
    key[n++] = (uintptr_t)slot->output.outputs[i].data;
    key[n++] = slot->output.outputs[i].pitch;
  }
  cj2k_cuda_graph_follow(&slot->frame.transform, key, n);
  g_free(key);
}

/* A picture on the device mostly has another place in each frame. A timeline has marks between the
 * kernels. */
static cudaError_t transform(Cj2kDecodeSlot *slot)
{
  if (slot->frame.target->memory == CJ2K_MEMORY_CUDA || slot->backend->timeline.trace)
    return launch_transform(slot);
  follow_picture(slot);
  return cj2k_cuda_graph_run(&slot->frame.transform, slot->stream, launch_transform, slot);
}

static cudaError_t enqueue(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                           Cj2kCudaDecodeBlocks *frame)
{
  cudaStream_t stream = slot->stream;
  cudaError_t result = cj2k_cuda_decode_upload(slot, coded, frame);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, NULL, stream));
  slot->frame.timed = cj2k_cuda_times_next(&slot->backend->timeline, &slot->frame.frames);
  if (slot->frame.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.uploaded, stream));
  CJ2K_CUDA_TRY(result, decode_blocks(slot, frame));
  if (slot->frame.timed || slot->frame.target->cuda_stream)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.decoded, stream));
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_follow_picture(stream, slot->frame.target, slot->frame.picture_free));
  CJ2K_CUDA_TRY(result, transform(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "finish", stream));
  if (result == cudaSuccess && slot->frame.target->memory != CJ2K_MEMORY_CUDA) {
    result = download(slot);
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "download", stream));
  }
  CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.done, stream));
  if (slot->frame.target->cuda_stream)
    CJ2K_CUDA_TRY(result,
                  cudaStreamWaitEvent(slot->frame.target->cuda_stream, slot->frame.done, 0));
  return result;
}

/* Waits for a frame that was handed out unfinished: its kernels may still read tables and records.
 */
static Cj2kStatus finish_last(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  if (!slot->frame.unfinished)
    return CJ2K_OK;
  slot->frame.unfinished = false;
  return cj2k_cuda_check(
      cj2k_cuda_wait(&slot->backend->device, slot->frame.done, slot->backend->one_in_flight),
      "finishing the frame before", error);
}

static Cj2kStatus prepare(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  bool is_new = false;
  Cj2kStatus status = CJ2K_OK;
  if (slot->tables.plan != job->plan)
    status = cj2k_cuda_decode_set_plan(slot, job->plan, &is_new, error);
  if (status == CJ2K_OK && (is_new || !slot->output.layout.samples ||
                            !cj2k_layout_equal(&slot->output.layout, job->layout))) {
    cj2k_cuda_graph_forget(&slot->frame.transform);
    status = cj2k_cuda_decode_set_layout(slot, job->layout, error);
  }
  if (status == CJ2K_OK)
    status = place_picture(slot, job->picture, error);
  return status;
}

Cj2kStatus cj2k_cuda_decode_start(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  slot->frame.target = job->picture;
  slot->frame.corrupt_before = job->coded->corrupt_blocks;
  Cj2kStatus status = finish_last(slot, error);
  if (status == CJ2K_OK)
    status = prepare(slot, job, error);
  Cj2kCudaDecodeBlocks frame = {0};
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_fill(slot, job->coded, &frame, error);
  if (status != CJ2K_OK) {
    cj2k_cuda_decode_abandon(slot);
    return status;
  }
  cudaError_t result = enqueue(slot, job->coded, &frame);
  if (result != cudaSuccess) { /* enqueued work still uses the slot */
    cj2k_cuda_decode_abandon(slot);
    cudaStreamSynchronize(slot->stream);
  }
  return cj2k_cuda_check(result, "decoding a frame", error);
}

Cj2kStatus cj2k_cuda_decode_wait(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error)
{
  memset(result, 0, sizeof *result);
  /* After the code-blocks are decoded the result is known, and samples are used on the picture's
   * stream, which waits for them. But a trace needs the times of the rest. */
  slot->frame.unfinished = slot->frame.target->cuda_stream && !slot->backend->timeline.trace;
  cudaEvent_t known = slot->frame.unfinished ? slot->frame.decoded : slot->frame.done;
  Cj2kStatus status =
      cj2k_cuda_check(cj2k_cuda_wait(&slot->backend->device, known, slot->backend->one_in_flight),
                      "waiting for a frame", error);
  if (status != CJ2K_OK) { /* the picture is the caller's again: no work may still write to it */
    slot->frame.unfinished = false;
    cudaStreamSynchronize(slot->stream);
    return status;
  }
  cj2k_cuda_marks_report(&slot->marks);
  if (slot->frame.copy_out)
    copy_out(slot);
  if (slot->frame.timed)
    cudaEventElapsedTime(&slot->frame.ms_blocks, slot->frame.uploaded, slot->frame.decoded);
  if (slot->frame.timed && !slot->frame.unfinished)
    cudaEventElapsedTime(&slot->frame.ms_rest, slot->frame.decoded, slot->frame.done);
  result->ms_block_coder = slot->frame.ms_blocks;
  result->ms_transform = slot->frame.unfinished ? 0 : slot->frame.ms_rest;
  result->corrupt_blocks =
      slot->frame.corrupt_before + *(const uint32_t *)slot->frame.h_corrupt.data;
  return CJ2K_OK;
}

cudaError_t cj2k_cuda_decode_frame_init(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeFrame *frame = &slot->frame;
  unsigned flags = slot->backend->one_in_flight ? cudaEventDefault : cudaEventBlockingSync;
  cudaError_t result = cudaEventCreateWithFlags(&frame->uploaded, flags);

  frame->h_picture.host = frame->h_corrupt.host = true;
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->decoded, flags));
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->done, flags));
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->picture_free, cudaEventDisableTiming));
  CJ2K_CUDA_TRY(result, cj2k_cuda_reserve(&frame->h_corrupt, sizeof(uint32_t)));
  return result;
}

void cj2k_cuda_decode_frame_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeFrame *frame = &slot->frame;

  cj2k_cuda_graph_free(&frame->transform);
  cj2k_cuda_release(&frame->picture);
  cj2k_cuda_release(&frame->h_picture);
  cj2k_cuda_release(&frame->h_corrupt);
  cj2k_cuda_destroy_event(frame->uploaded);
  cj2k_cuda_destroy_event(frame->decoded);
  cj2k_cuda_destroy_event(frame->done);
  cj2k_cuda_destroy_event(frame->picture_free);
}
