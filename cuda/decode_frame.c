/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "../common/error.h"

#include <string.h>

#define DATA_PAD   16 /* bytes that kernels may read behind the data */
#define MAX_PLANES 30 /* of a code-block in 32-bit samples */
#define ALIGNMENT  256

/* ------------------------------------------------------------------------------ upload --- */

static size_t place(size_t *size, size_t bytes)
{
  size_t at = *size;
  *size = (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return at;
}

static void place_parts(Cj2kCudaUpload *parts, const Cj2kDecodeSlot *slot,
                        const Cj2kCodedFrame *coded)
{
  uint32_t blocks = slot->plan->num_blocks;
  parts->size = 0;
  parts->flags = place(&parts->size, blocks);
  parts->coded = place(&parts->size, blocks * sizeof(Cj2kCodedBlock));
  parts->segments = place(&parts->size, coded->num_segments * sizeof(Cj2kSegment));
  parts->order = place(&parts->size, blocks * sizeof(uint32_t));
  parts->refined = place(&parts->size, blocks * sizeof(uint32_t));
  parts->mq = place(&parts->size, blocks * sizeof(uint32_t));
  parts->mq_offsets = place(&parts->size, blocks * sizeof(uint32_t));
  parts->mq_warps = place(&parts->size, (blocks + 1) * sizeof(uint32_t));
  parts->outputs = place(&parts->size, slot->num_outputs * sizeof(Cj2kCudaOutput));
  parts->data = place(&parts->size, coded->codestream_size + coded->side_size + DATA_PAD);
}

/* Blocks by the length of their data, so that the threads of a warp have alike work; long ones
 * first. */
#define LENGTH_CLASSES 256

static uint32_t length_class(const Cj2kCodedBlock *block)
{
  return LENGTH_CLASSES - 1 - MIN(block->length / 32, LENGTH_CLASSES - 1);
}

static bool is_decoded(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t i)
{
  const Cj2kPlanBand *band = &slot->plan->bands[slot->plan->blocks[i].band];
  return coded->blocks[i].num_passes && !coded->blocks[i].corrupt && band->offset != UINT64_MAX;
}

static Cj2kStatus check_block(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t i,
                              Cj2kError *error)
{
  const Cj2kPlanBand *band = &slot->plan->bands[slot->plan->blocks[i].band];
  const Cj2kCodedBlock *block = &coded->blocks[i];
  uint32_t planes = (uint32_t)band->num_bitplanes + band->roi_shift;
  if (!block->is_ht)
    planes -= MIN(planes, block->zero_bitplanes);
  return planes <= MAX_PLANES ? CJ2K_OK
                              : cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                                               "CUDA: code-block of %u bit-planes, more than %d",
                                               planes, MAX_PLANES);
}

/* Lists the blocks by what has to be done with them. */
static Cj2kStatus list_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              Cj2kCudaDecodeBlocks *frame, Cj2kError *error)
{
  uint8_t *upload = slot->h_upload.data;
  uint32_t *order = (uint32_t *)(upload + slot->parts.order);
  uint32_t *refined = (uint32_t *)(upload + slot->parts.refined);
  uint32_t *lists[] = {(uint32_t *)(upload + slot->parts.mq), order};
  uint32_t ends[2][LENGTH_CLASSES + 1] = {{0}};
  for (uint32_t i = 0; i < slot->plan->num_blocks; i++) {
    if (!is_decoded(slot, coded, i))
      continue;
    Cj2kStatus status = check_block(slot, coded, i, error);
    if (status != CJ2K_OK)
      return status;
    bool is_ht = coded->blocks[i].is_ht;
    ends[is_ht][length_class(&coded->blocks[i]) + 1]++;
    frame->num_ht += is_ht;
    frame->num_mq += !is_ht;
    frame->mq_bytes += is_ht ? 0 : coded->blocks[i].length;
    if (is_ht && coded->blocks[i].num_passes > 1)
      refined[frame->num_refined++] = i;
  }
  for (uint32_t k = 1; k <= LENGTH_CLASSES; k++)
    for (uint32_t is_ht = 0; is_ht < 2; is_ht++)
      ends[is_ht][k] += ends[is_ht][k - 1];
  for (uint32_t i = 0; i < slot->plan->num_blocks; i++) {
    bool is_ht = coded->blocks[i].is_ht;
    if (is_decoded(slot, coded, i))
      lists[is_ht][ends[is_ht][length_class(&coded->blocks[i])]++] = i;
  }
  return CJ2K_OK;
}

static bool is_pinned(const void *memory)
{
  struct cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

/* Block records and bytes, in one copy, or in three when the codestream is in pinned memory. */
static cudaError_t upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded)
{
  uint8_t *to = slot->upload.data;
  const uint8_t *from = slot->h_upload.data;
  size_t data = slot->parts.data, end = data + coded->codestream_size;
  if (!is_pinned(coded->codestream))
    return cudaMemcpyAsync(to, from, slot->parts.size, cudaMemcpyHostToDevice, slot->stream);
  cudaError_t result = cudaMemcpyAsync(to, from, data, cudaMemcpyHostToDevice, slot->stream);
  if (result == cudaSuccess)
    result = cudaMemcpyAsync(to + data, coded->codestream, coded->codestream_size,
                             cudaMemcpyHostToDevice, slot->stream);
  if (result == cudaSuccess && coded->side_size)
    result = cudaMemcpyAsync(to + end, from + end, coded->side_size + DATA_PAD,
                             cudaMemcpyHostToDevice, slot->stream);
  return result;
}

static Cj2kStatus fill_upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              Cj2kCudaDecodeBlocks *frame, Cj2kError *error)
{
  place_parts(&slot->parts, slot, coded);
  cudaError_t result = cj2k_cuda_reserve(&slot->h_upload, slot->parts.size);
  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->upload, slot->h_upload.size);
  if (result != cudaSuccess)
    return cj2k_cuda_check(result, "memory for the codestream", error);
  Cj2kStatus status = list_blocks(slot, coded, frame, error);
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_place_mq(slot, coded, frame, error);
  if (status != CJ2K_OK)
    return status;
  uint8_t *upload = slot->h_upload.data;
  memcpy(upload + slot->parts.coded, coded->blocks,
         slot->plan->num_blocks * sizeof(Cj2kCodedBlock));
  if (coded->num_segments)
    memcpy(upload + slot->parts.segments, coded->segments,
           coded->num_segments * sizeof(Cj2kSegment));
  memcpy(upload + slot->parts.outputs, slot->outputs, slot->num_outputs * sizeof(Cj2kCudaOutput));
  memset(upload + slot->parts.flags, 0, slot->plan->num_blocks);
  *(uint32_t *)slot->h_corrupt.data = 0;
  uint8_t *data = upload + slot->parts.data;
  if (!is_pinned(coded->codestream)) /* else it is uploaded from where it lies */
    memcpy(data, coded->codestream, coded->codestream_size);
  if (coded->side_size)
    memcpy(data + coded->codestream_size, coded->side, coded->side_size);
  memset(data + coded->codestream_size + coded->side_size, 0, DATA_PAD);

  uint8_t *device = slot->upload.data;
  frame->blocks = slot->blocks.data;
  frame->coded = (const Cj2kCodedBlock *)(device + slot->parts.coded);
  frame->segments = (const Cj2kSegment *)(device + slot->parts.segments);
  frame->data = device + slot->parts.data;
  frame->order = (const uint32_t *)(device + slot->parts.order);
  frame->refined = (const uint32_t *)(device + slot->parts.refined);
  frame->mq = (const uint32_t *)(device + slot->parts.mq);
  frame->mq_offsets = (const uint32_t *)(device + slot->parts.mq_offsets);
  frame->mq_warps = (const uint32_t *)(device + slot->parts.mq_warps);
  frame->num_blocks = slot->plan->num_blocks;
  frame->max_width = slot->max_width;
  frame->alone = slot->backend->one_in_flight;
  frame->quads = slot->quads.data;
  frame->coefficients = slot->coefficients.data;
  frame->corrupt = slot->h_corrupt.data; /* so rare that the GPU may count over the bus */
  frame->corrupt_flags = device + slot->parts.flags;
  return CJ2K_OK;
}

/* ----------------------------------------------------------------------------- picture --- */

static size_t plane_extent(const Cj2kDecodeSlot *slot, uint32_t p, size_t pitch)
{
  return slot->plane_rows[p] ? pitch * (slot->plane_rows[p] - 1) + slot->plane_bytes[p] : 0;
}

static size_t round_up(size_t size)
{
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where the planes are made: in the picture itself when it is on the device, else in memory of the
 * same shape, so that each comes back in one copy. */
static Cj2kStatus place_picture(Cj2kDecodeSlot *slot, const Cj2kPicture *picture, Cj2kError *error)
{
  bool on_device = picture->memory == CJ2K_MEMORY_CUDA;
  uint32_t planes = slot->layout.num_planes;
  size_t size = 0;
  for (uint32_t p = 0; p < planes && !on_device; p++)
    size += round_up(plane_extent(slot, p, picture->planes[p].pitch));
  slot->copy_out = picture->memory == CJ2K_MEMORY_HOST;
  cudaError_t result = cj2k_cuda_reserve(&slot->picture, size);
  if (result == cudaSuccess && slot->copy_out)
    result = cj2k_cuda_reserve(&slot->h_picture, size);
  if (result != cudaSuccess)
    return cj2k_cuda_check(result, "memory for the picture", error);
  size = 0;
  for (uint32_t p = 0; p < planes; p++) {
    const Cj2kPlane *plane = &picture->planes[p];
    slot->outputs[p].data = on_device ? plane->data : (uint8_t *)slot->picture.data + size;
    slot->outputs[p].pitch = plane->pitch;
    size += round_up(plane_extent(slot, p, plane->pitch));
  }
  for (uint32_t p = planes; p < slot->num_outputs; p++)
    slot->outputs[p] = slot->samples[p - planes];
  return CJ2K_OK;
}

static cudaError_t download(Cj2kDecodeSlot *slot)
{
  const Cj2kPicture *picture = slot->target;
  size_t size = 0;
  cudaError_t result = cudaSuccess;
  for (uint32_t p = 0; p < slot->layout.num_planes && result == cudaSuccess; p++) {
    const Cj2kPlane *plane = &picture->planes[p];
    size_t bytes = plane_extent(slot, p, plane->pitch);
    void *to = slot->copy_out ? (uint8_t *)slot->h_picture.data + size : plane->data;
    if (bytes && to)
      result = cudaMemcpy2DAsync(to, plane->pitch, slot->outputs[p].data, plane->pitch,
                                 slot->plane_bytes[p], slot->plane_rows[p], cudaMemcpyDeviceToHost,
                                 slot->stream);
    size += round_up(bytes);
  }
  return result;
}

/* From pinned memory to the picture in pageable memory, only the samples' bytes of each row. */
static void copy_out(Cj2kDecodeSlot *slot)
{
  const uint8_t *from = slot->h_picture.data;
  for (uint32_t p = 0; p < slot->layout.num_planes; p++) {
    const Cj2kPlane *plane = &slot->target->planes[p];
    for (uint32_t y = 0; y < slot->plane_rows[p] && plane->data; y++)
      memcpy((uint8_t *)plane->data + y * plane->pitch, from + y * plane->pitch,
             slot->plane_bytes[p]);
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
                 {cj2k_cuda_ht_decode_magsgn, "magsgn"}, /* zeroes blocks without data as well */
                 {cj2k_cuda_ht_decode_refine, "refine"},
                 {cj2k_cuda_mq_decode, "mq"}};
  cudaError_t result = cudaSuccess;
  for (size_t i = 0; i < G_N_ELEMENTS(kernels) && result == cudaSuccess; i++) {
    result = kernels[i].launch(frame, slot->stream);
    if (result == cudaSuccess)
      result = cj2k_cuda_mark(&slot->marks, kernels[i].stage, slot->stream);
  }
  return result;
}

static cudaError_t transform(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;
  for (uint32_t i = 0; i < slot->levels->len && result == cudaSuccess; i++) {
    const Cj2kCudaLaunch *l = &g_array_index(slot->levels, Cj2kCudaLaunch, i);
    result = cj2k_cuda_idwt((const Cj2kCudaLevel *)slot->level_table.data + l->first, l->count,
                            l->reversible, l->width, l->height, l->rows, slot->stream);
  }
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "idwt", slot->stream);
  const Cj2kCudaOutput *outputs =
      (const Cj2kCudaOutput *)((const uint8_t *)slot->upload.data + slot->parts.outputs);
  for (uint32_t pass = 0; pass < 2; pass++) {
    /* Fills come before samples are stored, packing after. */
    for (uint32_t i = 0; i < slot->packs->len && result == cudaSuccess; i++) {
      const Cj2kCudaPack *pack = &g_array_index(slot->packs, Cj2kCudaPack, i);
      uint32_t p = g_array_index(slot->plane_of_pack, uint32_t, i);
      if ((pack->count > 0) == (pass > 0))
        result = cj2k_cuda_pack(pack, &slot->outputs[p], slot->stream);
    }
    for (uint32_t i = 0; pass == 0 && i < slot->finishes->len && result == cudaSuccess; i++) {
      const Cj2kCudaLaunch *l = &g_array_index(slot->finishes, Cj2kCudaLaunch, i);
      result = cj2k_cuda_finish((const Cj2kCudaFinish *)slot->finish_table.data + l->first,
                                l->count, l->three, l->reversible, l->is_plane, l->width, l->height,
                                l->rows, outputs, slot->stream);
    }
  }
  return result;
}

static cudaError_t enqueue(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                           const Cj2kCudaDecodeBlocks *frame)
{
  cudaStream_t stream = slot->stream;
  slot->marks.count = 0;
  cudaError_t result = cj2k_cuda_mark(&slot->marks, NULL, stream);
  if (result == cudaSuccess)
    result = upload(slot, coded);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "upload", stream);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->uploaded, stream);
  if (result == cudaSuccess)
    result = decode_blocks(slot, frame);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->decoded, stream);
  if (result == cudaSuccess)
    result = transform(slot);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "finish", stream);
  if (result == cudaSuccess && slot->target->memory != CJ2K_MEMORY_CUDA) {
    result = download(slot);
    if (result == cudaSuccess)
      result = cj2k_cuda_mark(&slot->marks, "download", stream);
  }
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->done, stream);
  return result;
}

static Cj2kStatus prepare(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  bool same_plan = slot->plan == job->plan;
  Cj2kStatus status = CJ2K_OK;
  if (!same_plan)
    status = cj2k_cuda_decode_set_plan(slot, job->plan, error);
  if (status == CJ2K_OK &&
      (!same_plan || !slot->layout.samples || !cj2k_layout_equal(&slot->layout, job->layout)))
    status = cj2k_cuda_decode_set_layout(slot, job->layout, error);
  if (status == CJ2K_OK)
    status = place_picture(slot, job->picture, error);
  return status;
}

Cj2kStatus cj2k_cuda_decode_start(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  slot->target = job->picture;
  slot->corrupt_before = job->coded->corrupt_blocks;
  Cj2kStatus status = prepare(slot, job, error);
  Cj2kCudaDecodeBlocks frame = {0};
  if (status == CJ2K_OK)
    status = fill_upload(slot, job->coded, &frame, error);
  if (status != CJ2K_OK)
    return status;
  cudaError_t result = enqueue(slot, job->coded, &frame);
  if (result != cudaSuccess)
    cudaStreamSynchronize(slot->stream); /* what was enqueued still uses the slot */
  return cj2k_cuda_check(result, "decoding a frame", error);
}

Cj2kStatus cj2k_cuda_decode_wait(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error)
{
  memset(result, 0, sizeof *result);
  Cj2kStatus status =
      cj2k_cuda_check(cudaEventSynchronize(slot->done), "waiting for a frame", error);
  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_marks_report(&slot->marks);
  if (slot->copy_out)
    copy_out(slot);
  float blocks = 0, rest = 0;
  cudaEventElapsedTime(&blocks, slot->uploaded, slot->decoded);
  cudaEventElapsedTime(&rest, slot->decoded, slot->done);
  result->ms_block_coder = blocks;
  result->ms_transform = rest;
  result->corrupt_blocks = slot->corrupt_before + *(const uint32_t *)slot->h_corrupt.data;
  return CJ2K_OK;
}
