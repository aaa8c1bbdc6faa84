/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Upload of a frame: the codestream, whose copy begins while the host reads its packets, and the
 * records and lists of its code-blocks.
 */
#include "cuda/shared/copy_small.h"
#include "decode.h"

#include "common/runtime/error.h"
#include "common/runtime/spin.h"

#include <string.h>

#define DATA_PAD   16  /* bytes that kernels may read behind the data */
#define MAX_PLANES 30  /* of a code-block in 32-bit samples */
#define ALIGNMENT  256 /* of the parts, bytes */
/* Larger parts of a frame are copied by the copy engine. */
#define MAX_SMALL ((size_t)256 * 1024)

static size_t place(size_t *size, size_t bytes)
{
  size_t at = *size;
  *size = (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return at;
}

/* Blocks are sorted into classes so that the threads of a warp have similar work: HT blocks by the
 * length of their data, MQ blocks by their estimated work, in both cases those with most first. HT
 * blocks are listed before MQ blocks. */
#define LENGTH_CLASSES 256
#define NOT_DECODED    UINT16_MAX

typedef struct {
  uint32_t ends[2 * LENGTH_CLASSES + 1]; /* while counting: size of the class before; then the place
                                            of the next block of each class in the list */
  uint32_t num_refined;
} BlockClasses;

/* The class of an amount of work; each power of two has 16 classes. */
static uint32_t class_of_work(uint32_t work)
{
  uint32_t octave = g_bit_storage(work | 16) - 5;
  return octave * 16 + (work >> octave & 15);
}

/* All blocks that are decoded: their count, and the number of block i in the frame. */
static uint32_t count_blocks(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part)
{
  return part ? part->count : slot->tables.plan->num_blocks;
}

static uint32_t number_of(const Cj2kCudaDecodePart *part, uint32_t i)
{
  return part ? part->numbers[i] : i;
}

static uint16_t class_of(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, uint32_t i)
{
  const Cj2kCodedBlock *block = &coded->blocks[i];
  uint32_t length =
      block->is_ht ? block->length / 32 : class_of_work(cj2k_cuda_decode_mq_work(slot, coded, i));
  length = MIN(length, LENGTH_CLASSES - 1);
  return (uint16_t)((block->is_ht ? 0 : LENGTH_CLASSES) + LENGTH_CLASSES - 1 - length);
}

static Cj2kStatus refuse_block(uint32_t planes, Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                        "CUDA: code-block of %u bit-planes, more than %d", planes, MAX_PLANES);
}

/* Mb plus the ROI shift, at most 255. */
static uint32_t num_bitplanes(const Cj2kPlanBand *band)
{
  return MIN((uint32_t)band->num_bitplanes + band->roi_shift, UINT8_MAX);
}

/* A group of blocks: its range of all blocks. */
typedef struct {
  uint32_t first, end;
} Group;

static uint32_t count_groups(const Cj2kCudaDecodePart *part)
{
  return part && part->num_groups ? part->num_groups : 1;
}

static Group group_of(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part, uint32_t g)
{
  if (!part || !part->num_groups)
    return (Group){0, count_blocks(slot, part)};
  return (Group){g ? part->group_ends[g - 1] : 0, part->group_ends[g]};
}

/* Finds the class of each block of a group and counts the blocks of each kind. */
static Cj2kStatus classify_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  const Cj2kCudaDecodePart *part, Group group,
                                  BlockClasses *classes, Cj2kCudaDecodeBlocks *frame,
                                  Cj2kError *error)
{
  const Cj2kPlan *plan = slot->tables.plan;
  memset(classes, 0, sizeof *classes);
  for (uint32_t i = group.first; i < group.end; i++) {
    uint32_t number = number_of(part, i);
    const Cj2kCodedBlock *block = &coded->blocks[number];
    slot->tables.classes[i] = NOT_DECODED;
    if (!block->num_passes || block->corrupt || !slot->tables.has_place[number])
      continue;
    uint32_t planes = num_bitplanes(&plan->bands[plan->blocks[number].band]);
    if (!block->is_ht)
      planes -= MIN(planes, block->zero_bitplanes);
    if (planes > MAX_PLANES)
      return refuse_block(planes, error);
    slot->tables.classes[i] = class_of(slot, coded, number);
    classes->ends[slot->tables.classes[i] + 1]++;
    classes->num_refined += block->is_ht && block->num_passes > 1;
  }
  for (uint32_t k = 1; k <= 2 * LENGTH_CLASSES; k++) {
    if (k == LENGTH_CLASSES + 1)
      frame->ht.count = classes->ends[k - 1];
    classes->ends[k] += classes->ends[k - 1];
  }
  frame->mq.count = classes->ends[2 * LENGTH_CLASSES] - frame->ht.count;
  frame->ht.num_refined = classes->num_refined;
  return CJ2K_OK;
}

void *cj2k_cuda_decode_host_record(const Cj2kDecodeSlot *slot, const void *device)
{
  return (uint8_t *)slot->upload.h_records.data +
         ((const uint8_t *)device - (const uint8_t *)slot->upload.records.data);
}

/* Lists the blocks of a group by class, and those with refinement passes. */
static void list_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                        const Cj2kCudaDecodePart *part, Group group, BlockClasses *classes,
                        const Cj2kCudaDecodeBlocks *frame)
{
  uint32_t *order = cj2k_cuda_decode_host_record(slot, frame->ht.order);
  uint32_t *refined = cj2k_cuda_decode_host_record(slot, frame->ht.refined);
  uint32_t num_refined = 0;
  for (uint32_t i = group.first; i < group.end; i++) {
    if (slot->tables.classes[i] == NOT_DECODED)
      continue;
    const Cj2kCodedBlock *block = &coded->blocks[number_of(part, i)];
    order[classes->ends[slot->tables.classes[i]]++] = i - group.first;
    if (classes->num_refined && block->is_ht && block->num_passes > 1)
      refined[num_refined++] = i - group.first;
  }
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

/* Starts the upload of the codestream and leaves room behind it for the side buffer (bytes of
 * blocks that are not contiguous in the codestream). */
static cudaError_t upload_codestream(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size,
                                     size_t side_size)
{
  bool pinned = is_pinned(codestream);
  cudaError_t result = cj2k_cuda_reserve_more(&slot->upload.data, size + side_size + DATA_PAD);
  if (!pinned)
    CJ2K_CUDA_TRY(result, cj2k_cuda_reserve_more(&slot->upload.h_data, size));
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

/* Uploads the bytes that prefetch did not: all, or only those behind the codestream. */
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

cudaError_t cj2k_cuda_decode_upload(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                    Cj2kCudaDecodeBlocks *frames, uint32_t count)
{
  cudaError_t result = upload_bytes(slot, coded);
  for (uint32_t g = 0; g < count; g++)
    frames[g].data = slot->upload.data.data;
  /* By a kernel, so that records do not wait for the codestreams of other frames. */
  CJ2K_CUDA_TRY(result, cj2k_cuda_copy_small(slot->upload.records.data, slot->upload.h_records.data,
                                             slot->upload.parts.side, slot->stream));
  if (slot->upload.stream != slot->stream)
    CJ2K_CUDA_TRY(result, cudaStreamWaitEvent(slot->stream, slot->upload.arrived, 0));
  if (result == cudaSuccess)
    slot->upload.fetched = 0; /* from now on the slot's stream waits for it */
  return result;
}

cudaError_t cj2k_cuda_decode_upload_part(Cj2kDecodeSlot *slot)
{
  return cj2k_cuda_copy_up_to(&slot->backend->device, slot->upload.records.data,
                              slot->upload.h_records.data, slot->upload.parts.size, MAX_SMALL,
                              slot->stream);
}

/* The bytes of the blocks of a part that are decoded. */
static size_t count_bytes(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                          const Cj2kCudaDecodePart *part)
{
  size_t size = 0;
  for (uint32_t i = 0; i < part->count; i++)
    if (slot->tables.classes[i] != NOT_DECODED)
      size += coded->blocks[part->numbers[i]].length;
  return size;
}

/* Are the bytes of the blocks uploaded with their records? */
static bool has_bytes(const Cj2kCudaDecodePart *part)
{
  return part && !part->in_codestream;
}

static void place_parts(Cj2kCudaUpload *parts, const Cj2kDecodeSlot *slot,
                        const Cj2kCodedFrame *coded, const Cj2kCudaDecodePart *part,
                        const Cj2kCudaDecodeBlocks *frames)
{
  uint32_t blocks = count_blocks(slot, part), groups = count_groups(part);
  size_t ht = 0, mq = 0, refined = 0;
  for (uint32_t g = 0; g < groups; g++) {
    ht += frames[g].ht.count;
    mq += frames[g].mq.count;
    refined += frames[g].ht.num_refined;
  }
  parts->size = 0;
  /* First, so that their place is the same for all frames (the graph in decode_frame.c). */
  parts->outputs = place(&parts->size, slot->output.num_outputs * sizeof(Cj2kCudaOutput));
  parts->flags = place(&parts->size, blocks);
  parts->steps = place(&parts->size, slot->tables.plan->num_bands * sizeof(Cj2kCudaBandStep));
  parts->coded = place(&parts->size, blocks * sizeof(Cj2kCodedBlock));
  parts->segments = place(&parts->size, coded->num_segments * sizeof(Cj2kSegment));
  parts->order = place(&parts->size, (ht + mq) * sizeof(uint32_t));
  parts->refined = place(&parts->size, refined * sizeof(uint32_t));
  parts->mq_offsets = place(&parts->size, mq * sizeof(uint32_t));
  parts->mq_warps = place(&parts->size, (mq + groups) * sizeof(uint32_t));
  parts->numbers =
      place(&parts->size, part && !part->d_numbers ? part->count * sizeof(uint32_t) : 0);
  parts->ranges = place(&parts->size, part ? part->num_ranges * sizeof(Cj2kCudaRows) : 0);
  parts->side = place(&parts->size, has_bytes(part) ? count_bytes(slot, coded, part) + DATA_PAD
                                                    : coded->side_size);
}

static void fill_steps(const Cj2kDecodeSlot *slot)
{
  const Cj2kPlan *plan = slot->tables.plan;
  Cj2kCudaBandStep *steps =
      (Cj2kCudaBandStep *)((uint8_t *)slot->upload.h_records.data + slot->upload.parts.steps);
  for (uint32_t b = 0; b < plan->num_bands; b++)
    steps[b] = (Cj2kCudaBandStep){plan->bands[b].scale, num_bitplanes(&plan->bands[b])};
}

/* Sets the lists of a group, which follow those of the group `before` (NULL: it is the first one).
 */
static void describe_lists(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *before,
                           Cj2kCudaDecodeBlocks *frame)
{
  const uint8_t *device = slot->upload.records.data;
  const Cj2kCudaUpload *parts = &slot->upload.parts;
  frame->ht.order =
      before ? before->mq.order + before->mq.count : (const uint32_t *)(device + parts->order);
  frame->mq.order = frame->ht.order + frame->ht.count;
  frame->ht.refined = before ? before->ht.refined + before->ht.num_refined
                             : (const uint32_t *)(device + parts->refined);
  frame->mq.offsets = before ? before->mq.offsets + before->mq.count
                             : (const uint32_t *)(device + parts->mq_offsets);
  frame->mq.warps = before ? before->mq.warps + before->mq.count + 1
                           : (const uint32_t *)(device + parts->mq_warps);
}

/* Sets the pointers to uploaded parts and to tables of the slot. */
static void describe_frame(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part, Group group,
                           Cj2kCudaDecodeBlocks *frame)
{
  uint8_t *device = slot->upload.records.data;
  frame->blocks = slot->tables.blocks.data;
  frame->numbers = part ? (const uint32_t *)(device + slot->upload.parts.numbers) : NULL;
  if (part && part->d_numbers)
    frame->numbers = part->d_numbers;
  if (frame->numbers)
    frame->numbers += group.first;
  frame->data =
      has_bytes(part) ? device + slot->upload.parts.side : NULL; /* else known at the upload */
  frame->steps = (const Cj2kCudaBandStep *)(device + slot->upload.parts.steps);
  frame->coded = (const Cj2kCodedBlock *)(device + slot->upload.parts.coded) + group.first;
  frame->segments = (const Cj2kSegment *)(device + slot->upload.parts.segments);
  frame->num_blocks = group.end - group.first;
  frame->max_width = slot->tables.max_width;
  frame->width_bits = slot->tables.width_bits;
  frame->aim = part || slot->backend->device.one_in_flight ? CJ2K_CUDA_AIM_LATENCY
                                                           : CJ2K_CUDA_AIM_THROUGHPUT;
  frame->ht.quads = slot->tables.quads.data;
  frame->coefficients = slot->tables.coefficients.data;
  frame->zeros = slot->tables.zeros.data;
  frame->corrupt = slot->frame.h_corrupt.data; /* host memory: rare enough to count over the bus */
  frame->corrupt_flags = device + slot->upload.parts.flags + group.first;
}

/* Copies the records of all blocks of a frame, in the order of `part`, and the side buffer. */
static void fill_frame(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                       const Cj2kCudaDecodePart *part)
{
  uint8_t *upload = slot->upload.h_records.data;
  Cj2kCodedBlock *records = (Cj2kCodedBlock *)(upload + slot->upload.parts.coded);
  if (!part)
    memcpy(records, coded->blocks, slot->tables.plan->num_blocks * sizeof *records);
  for (uint32_t i = 0; part && i < part->count; i++)
    records[i] = coded->blocks[part->numbers[i]];
  if (coded->side_size)
    memcpy(upload + slot->upload.parts.side, coded->side, coded->side_size);
}

/* Copies the records of the blocks of a part, and their bytes, one block's after the other's. */
static void fill_part(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                      const Cj2kCudaDecodePart *part)
{
  const Cj2kCudaUpload *parts = &slot->upload.parts;
  uint8_t *upload = slot->upload.h_records.data, *bytes = upload + parts->side;
  Cj2kCodedBlock *records = (Cj2kCodedBlock *)(upload + parts->coded);
  size_t at = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    const Cj2kCodedBlock *block = &coded->blocks[part->numbers[i]];
    records[i] = *block;
    records[i].offset = at;
    if (slot->tables.classes[i] == NOT_DECODED || !block->length)
      continue;
    memcpy(bytes + at, cj2k_coded_data(coded, block), block->length);
    at += block->length;
  }
  if (part->count)
    memcpy(upload + parts->numbers, part->numbers, part->count * sizeof *part->numbers);
  if (part->num_ranges)
    memcpy(upload + parts->ranges, part->ranges, part->num_ranges * sizeof *part->ranges);
}

/* Fills in the lists of all groups. */
static Cj2kStatus fill_groups(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              const Cj2kCudaDecodePart *part, BlockClasses *classes,
                              Cj2kCudaDecodeBlocks *frames, Cj2kError *error)
{
  uint32_t groups = count_groups(part);
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t g = 0; g < groups && status == CJ2K_OK; g++) {
    Group group = group_of(slot, part, g);
    describe_lists(slot, g ? &frames[g - 1] : NULL, &frames[g]);
    describe_frame(slot, part, group, &frames[g]);
    list_blocks(slot, coded, part, group, &classes[g], &frames[g]);
    status = cj2k_cuda_decode_place_mq(slot, coded, part ? part->numbers + group.first : NULL,
                                       &frames[g], error);
  }
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_reserve_mq(slot, frames, groups, error);
  return status;
}

Cj2kStatus cj2k_cuda_decode_fill(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, Cj2kCudaDecodeBlocks *frames,
                                 Cj2kError *error)
{
  BlockClasses classes[CJ2K_CUDA_DECODE_SHARES];
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t g = 0; g < count_groups(part) && status == CJ2K_OK; g++)
    status =
        classify_blocks(slot, coded, part, group_of(slot, part, g), &classes[g], &frames[g], error);
  if (status != CJ2K_OK)
    return status;
  place_parts(&slot->upload.parts, slot, coded, part, frames);
  cudaError_t result = cj2k_cuda_reserve_more(&slot->upload.h_records, slot->upload.parts.size);
  CJ2K_CUDA_TRY(result, cj2k_cuda_reserve_more(&slot->upload.records, slot->upload.parts.size));
  if (result != cudaSuccess)
    return cj2k_cuda_check(result, "memory for the code-blocks' records", error);
  status = fill_groups(slot, coded, part, classes, frames, error);
  if (status != CJ2K_OK)
    return status;
  fill_steps(slot);
  uint8_t *upload = slot->upload.h_records.data;
  if (has_bytes(part))
    fill_part(slot, coded, part);
  else
    fill_frame(slot, coded, part);
  if (coded->num_segments)
    memcpy(upload + slot->upload.parts.segments, coded->segments,
           coded->num_segments * sizeof(Cj2kSegment));
  memcpy(upload + slot->upload.parts.outputs, slot->output.outputs,
         slot->output.num_outputs * sizeof(Cj2kCudaOutput));
  memset(upload + slot->upload.parts.flags, 0, count_blocks(slot, part));
  return CJ2K_OK;
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
