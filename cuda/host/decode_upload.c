/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Upload of a frame: the codestream, whose copy begins while the host reads its packets, and the
 * records and lists of its code-blocks.
 */
#include "decode_records.h"

#include "common/runtime/error.h"

#include <string.h>

#define DATA_PAD   16 /* bytes that kernels may read behind the data */
#define MAX_PLANES 30 /* of a code-block in 32-bit samples */
/* Larger parts of a frame are copied by the copy engine. */
#define MAX_SMALL ((size_t)256 * 1024)

static uint32_t count_groups(const Cj2kCudaDecodePart *part)
{
  return part && part->num_groups ? part->num_groups : 1;
}

/* Are the bytes of the blocks uploaded with their records? */
static bool has_bytes(const Cj2kCudaDecodePart *part)
{
  return part && !part->in_codestream;
}

void *cj2k_cuda_decode_host_record(const Cj2kDecodeSlot *slot, const void *device)
{
  return (uint8_t *)slot->upload.h_records.data +
         ((const uint8_t *)device - (const uint8_t *)slot->upload.records.data);
}

const Cj2kCudaBandStep *cj2k_cuda_decode_steps(const Cj2kDecodeSlot *slot)
{
  const uint8_t *device = slot->upload.records.data;

  return (const Cj2kCudaBandStep *)(device + slot->upload.parts.steps);
}

/* ----------------------------------------------------------------------------- codestream --- */

static bool is_pinned(const void *memory)
{
  struct cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

/* Makes room for bytes of codestreams. What is likely, a sum over all tiles, is only asked for
 * where memory grows. */
static cudaError_t reserve(const Cj2kDecodeSlot *slot, Cj2kCudaMemory *memory, size_t size)
{
  const Cj2kPlan *plan = slot->tables.plan; /* NULL before the first frame */

  if (size <= memory->size)
    return cudaSuccess;
  return cj2k_cuda_reserve_bytes(&slot->backend->device, memory, size,
                                 plan ? cj2k_plan_likely_bytes(plan) : 0);
}

/* Starts the upload of the codestream and leaves room behind it for the side buffer (bytes of
 * blocks that are not contiguous in the codestream). */
static cudaError_t upload_codestream(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size,
                                     size_t side_size)
{
  bool pinned = is_pinned(codestream);
  cudaError_t result = reserve(slot, &slot->upload.data, size + side_size + DATA_PAD);
  if (!pinned)
    CJ2K_CUDA_TRY(result, reserve(slot, &slot->upload.h_data, size));
  if (result != cudaSuccess)
    return result;
  if (!pinned)
    codestream = memcpy(slot->upload.h_data.data, codestream, size);
  cudaStream_t stream =
      slot->backend->device.one_in_flight && cj2k_cuda_is_quiet(&slot->backend->device)
          ? slot->stream
          : slot->backend->upload;
  slot->upload.stream = stream;
  slot->upload.fetched = size;
  slot->marks.count = 0;
  result = cj2k_cuda_mark(&slot->marks, NULL, stream);
  CJ2K_CUDA_TRY(result, cj2k_cuda_copy_against(&slot->backend->device, slot->upload.data.data,
                                               codestream, size, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "upload", stream));
  if (stream != slot->stream)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->upload.arrived, stream));
  return result;
}

void cj2k_cuda_decode_prefetch(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size)
{
  if (size <= MAX_SMALL && (slot->frame.may_once || !slot->tables.plan))
    return; /* as of the last frame, it is uploaded with the records; likely of the first, too */
  if (upload_codestream(slot, codestream, size, 0) != cudaSuccess) {
    cj2k_cuda_decode_abandon(slot); /* start() tries again and reports the error */
    (void)cudaGetLastError();
  }
}

void cj2k_cuda_decode_abandon(Cj2kDecodeSlot *slot)
{
  if (slot->upload.fetched)
    cudaStreamSynchronize(slot->upload.stream); /* the codestream goes back to its owner */
  slot->upload.fetched = 0;
}

/* Uploads the bytes that prefetch did not: all, or only those behind the codestream, which are in
 * the slot's pinned memory. */
static cudaError_t upload_bytes(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded)
{
  cudaError_t result = cudaSuccess;
  if (slot->upload.fetched + coded->side_size + DATA_PAD > slot->upload.data.size)
    cj2k_cuda_decode_abandon(slot); /* no room for the side buffer: uploads all again */
  if (!slot->upload.fetched)
    result = upload_codestream(slot, coded->codestream, coded->codestream_size, coded->side_size);
  if (coded->side_size)
    CJ2K_CUDA_TRY(result,
                  cudaMemcpyAsync((uint8_t *)slot->upload.data.data + coded->codestream_size,
                                  (uint8_t *)slot->upload.h_records.data + slot->upload.parts.side,
                                  coded->side_size, cudaMemcpyHostToDevice, slot->stream));
  return result;
}

/* ----------------------------------------------------------------------- a frame or a part --- */

/* Mb plus the ROI shift, at most 255. */
static uint32_t num_bitplanes(const Cj2kPlanBand *band)
{
  return MIN((uint32_t)band->num_bitplanes + band->roi_shift, UINT8_MAX);
}

static bool has_deep_bands(const Cj2kPlan *plan)
{
  bool deep = false;
  for (uint32_t b = 0; b < plan->num_bands; b++)
    deep |= num_bitplanes(&plan->bands[b]) > MAX_PLANES;
  return deep;
}

/* Refuses blocks with more bit-planes than samples can hold, which bands rarely have. */
static Cj2kStatus check_planes(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                               const Cj2kCudaDecodePart *part, Cj2kError *error)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t count = has_deep_bands(plan) ? cj2k_cuda_decode_count(slot, part) : 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t number = cj2k_cuda_decode_number(part, i);
    const Cj2kCodedBlock *block = &coded->blocks[number];
    if (!cj2k_cuda_decode_is_decoded(block, &slot->tables.facts[number]))
      continue;
    uint32_t planes = num_bitplanes(&plan->bands[plan->blocks[number].band]);
    if (!block->is_ht)
      planes -= MIN(planes, block->zero_bitplanes);
    if (planes > MAX_PLANES)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "CUDA: code-block of %u bit-planes, more than %d", planes, MAX_PLANES);
  }
  return CJ2K_OK;
}

/* The most that the records and lists of a group take. */
static size_t group_bound(Cj2kCudaGroup group)
{
  size_t blocks = group.end - group.first, size = 0;
  cj2k_cuda_decode_place(&size, blocks);
  cj2k_cuda_decode_place(&size, blocks * sizeof(Cj2kCodedBlock));
  for (int list = 0; list < 4; list++) /* order, refined, mq.offsets, mq.warps */
    cj2k_cuda_decode_place(&size, (blocks + 1) * sizeof(uint32_t));
  return size;
}

/* The bytes of all blocks of a part. */
static size_t count_bytes(const Cj2kCodedFrame *coded, const Cj2kCudaDecodePart *part)
{
  size_t size = 0;
  for (uint32_t i = 0; i < part->count; i++)
    size += coded->blocks[part->numbers[i]].length;
  return size;
}

/* Places what all groups use, and the side buffer behind what the groups may take. Returns the size
 * of all. */
static size_t place_parts(Cj2kCudaUpload *parts, const Cj2kDecodeSlot *slot,
                          const Cj2kCodedFrame *coded, const Cj2kCudaDecodePart *part)
{
  parts->filled = parts->sent = 0;
  /* First, so that their place is the same for all frames (the graphs in decode_frame.c and
   * decode_once.c); HT blocks without refinement passes have a segment each. */
  uint32_t segments = part ? 0 : slot->tables.plan->num_blocks;
  parts->length = cj2k_cuda_decode_place(&parts->filled, sizeof(uint64_t));
  parts->outputs =
      cj2k_cuda_decode_place(&parts->filled, cj2k_cuda_decode_num_sets(slot) *
                                                 slot->output.num_outputs * sizeof(Cj2kCudaOutput));
  parts->steps = cj2k_cuda_decode_place(&parts->filled,
                                        slot->tables.plan->num_bands * sizeof(Cj2kCudaBandStep));
  parts->segments = cj2k_cuda_decode_place(&parts->filled, MAX(coded->num_segments, segments) *
                                                               sizeof(Cj2kSegment));
  parts->numbers = cj2k_cuda_decode_place(
      &parts->filled, part && !part->d_numbers ? part->count * sizeof(uint32_t) : 0);
  parts->ranges =
      cj2k_cuda_decode_place(&parts->filled, part ? part->num_ranges * sizeof(Cj2kCudaRows) : 0);
  size_t size = parts->filled;
  for (uint32_t g = 0; g < count_groups(part); g++)
    size += group_bound(cj2k_cuda_decode_group(slot, part, g));
  size_t side = coded->side_size;
  if (has_bytes(part))
    side = count_bytes(coded, part) + DATA_PAD;
  else if (slot->upload.in_records)
    side = coded->codestream_size + DATA_PAD;
  parts->side = cj2k_cuda_decode_place(&size, side);
  return size;
}

static void copy_part(void *records, size_t at, const void *from, size_t size)
{
  if (size)
    memcpy((uint8_t *)records + at, from, size);
}

/* Fills in what all groups use but the segments, which the first group does (decode_lists.c). */
static void fill_parts(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                       const Cj2kCudaDecodePart *part)
{
  const Cj2kPlan *plan = slot->tables.plan;
  const Cj2kCudaUpload *parts = &slot->upload.parts;
  uint8_t *records = slot->upload.h_records.data;
  Cj2kCudaBandStep *steps = (Cj2kCudaBandStep *)(records + parts->steps);

  for (uint32_t b = 0; b < plan->num_bands; b++)
    steps[b] = (Cj2kCudaBandStep){plan->bands[b].scale, num_bitplanes(&plan->bands[b])};
  if (part && !part->d_numbers)
    copy_part(records, parts->numbers, part->numbers, part->count * sizeof *part->numbers);
  if (part)
    copy_part(records, parts->ranges, part->ranges, part->num_ranges * sizeof *part->ranges);
  if (!has_bytes(part))
    copy_part(records, parts->side, coded->side, coded->side_size);
}

Cj2kStatus cj2k_cuda_decode_begin_upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                         const Cj2kCudaDecodePart *part, Cj2kError *error)
{
  Cj2kStatus status = check_planes(slot, coded, part, error);
  if (status != CJ2K_OK)
    return status;
  slot->upload.in_records = slot->frame.may_once && !part && !slot->upload.fetched &&
                            !coded->side_size && coded->codestream_size <= MAX_SMALL;
  size_t size = place_parts(&slot->upload.parts, slot, coded, part);
  cudaError_t result =
      cj2k_cuda_reserve_more(&slot->backend->device, &slot->upload.h_records, size);
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_reserve_more(&slot->backend->device, &slot->upload.records, size));
  if (result != cudaSuccess)
    return cj2k_cuda_check(&slot->backend->device, result, "memory for the code-blocks' records",
                           error);
  fill_parts(slot, coded, part);
  if (slot->upload.in_records)
    slot->upload.stream = slot->stream;
  else if (!has_bytes(part))
    result = upload_bytes(slot, coded);
  return cj2k_cuda_check(&slot->backend->device, result, "uploading a codestream", error);
}

/* Copies the bytes of the blocks of a part behind its records, one block's after the other's. */
static void fill_bytes(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                       const Cj2kCudaDecodePart *part, Cj2kCudaDecodeBlocks *frame)
{
  Cj2kCudaUpload *parts = &slot->upload.parts;
  uint8_t *bytes = (uint8_t *)slot->upload.h_records.data + parts->filled;
  Cj2kCodedBlock *records = cj2k_cuda_decode_host_record(slot, frame->coded);
  size_t at = 0;

  for (uint32_t i = 0; i < part->count; i++) {
    uint32_t number = part->numbers[i];
    const Cj2kCodedBlock *block = &coded->blocks[number];
    records[i].offset = at;
    if (!cj2k_cuda_decode_is_decoded(block, &slot->tables.facts[number]) || !block->length)
      continue;
    memcpy(bytes + at, cj2k_coded_data(coded, block), block->length);
    at += block->length;
  }
  parts->side = cj2k_cuda_decode_place(&parts->filled, at + DATA_PAD);
  frame->data = (const uint8_t *)slot->upload.records.data + parts->side;
}

/* Copies a small codestream behind the records. */
static void fill_codestream(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                            Cj2kCudaDecodeBlocks *frame)
{
  Cj2kCudaUpload *parts = &slot->upload.parts;

  parts->side = cj2k_cuda_decode_place(&parts->filled, coded->codestream_size + DATA_PAD);
  copy_part(slot->upload.h_records.data, parts->side, coded->codestream, coded->codestream_size);
  frame->data = (const uint8_t *)slot->upload.records.data + parts->side;
}

Cj2kStatus cj2k_cuda_decode_fill(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, Cj2kCudaDecodeBlocks *frames,
                                 Cj2kError *error)
{
  uint32_t groups = count_groups(part);
  for (uint32_t g = 0; g < groups; g++)
    cj2k_cuda_decode_fill_group(slot, coded, part, g, &frames[g]);
  Cj2kStatus status = cj2k_cuda_decode_reserve_mq(slot, frames, groups, error);
  if (status == CJ2K_OK && has_bytes(part))
    fill_bytes(slot, coded, part, frames);
  if (status == CJ2K_OK && slot->upload.in_records)
    fill_codestream(slot, coded, frames);
  return status;
}

static void fill_outputs(Cj2kDecodeSlot *slot)
{
  copy_part(slot->upload.h_records.data, slot->upload.parts.outputs, slot->output.outputs,
            cj2k_cuda_decode_num_sets(slot) * slot->output.num_outputs * sizeof(Cj2kCudaOutput));
}

void cj2k_cuda_decode_end_records(Cj2kDecodeSlot *slot)
{
  uint64_t length = slot->upload.parts.filled;

  fill_outputs(slot);
  copy_part(slot->upload.h_records.data, slot->upload.parts.length, &length, sizeof length);
}

cudaError_t cj2k_cuda_decode_send(Cj2kDecodeSlot *slot, size_t most, cudaStream_t stream)
{
  Cj2kCudaUpload *parts = &slot->upload.parts;
  size_t from = parts->sent;

  if (!from)
    fill_outputs(slot);
  parts->sent = parts->filled;
  return cj2k_cuda_copy_up_to(&slot->backend->device, (uint8_t *)slot->upload.records.data + from,
                              (const uint8_t *)slot->upload.h_records.data + from,
                              parts->filled - from, most, stream);
}

cudaError_t cj2k_cuda_decode_wait_upload(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;
  if (slot->upload.stream != slot->stream)
    result = cudaStreamWaitEvent(slot->stream, slot->upload.arrived, 0);
  if (result == cudaSuccess)
    slot->upload.fetched = 0; /* from now on the slot's stream waits for it */
  return result;
}

/* Records go by a kernel, so that they do not wait for the codestreams of other frames. */
cudaError_t cj2k_cuda_decode_upload(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cj2k_cuda_decode_send(slot, SIZE_MAX, slot->stream);
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_wait_upload(slot));
  return result;
}

cudaError_t cj2k_cuda_decode_upload_part(Cj2kDecodeSlot *slot)
{
  return cj2k_cuda_decode_send(slot, MAX_SMALL, slot->stream);
}

cudaError_t cj2k_cuda_decode_upload_init(Cj2kDecodeSlot *slot)
{
  slot->upload.h_data.host = slot->upload.h_records.host = true;
  return cudaEventCreateWithFlags(&slot->upload.arrived, cudaEventDisableTiming);
}

void cj2k_cuda_decode_upload_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeUpload *upload = &slot->upload;
  Cj2kCudaMemory *memory[] = {&upload->data, &upload->h_data, &upload->records, &upload->h_records,
                              &upload->mq_planes};

  for (size_t i = 0; i < G_N_ELEMENTS(memory); i++)
    cj2k_cuda_release(memory[i]);
  cj2k_cuda_destroy_event(upload->arrived);
}
