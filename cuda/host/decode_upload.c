/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Upload of a frame: the codestream, whose copy begins while the host reads its packets, and the
 * records and lists of its code-blocks.
 */
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

/* All blocks that are decoded: their count, and the number of block i in the frame. */
static uint32_t count_blocks(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part)
{
  return part ? part->count : slot->tables.plan->num_blocks;
}

static uint32_t number_of(const Cj2kCudaDecodePart *part, uint32_t i)
{
  return part ? part->numbers[i] : i;
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

/* Starts the upload of the codestream and leaves room behind it for the side buffer (bytes of
 * blocks that are not contiguous in the codestream). */
static cudaError_t upload_codestream(Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size,
                                     size_t side_size)
{
  bool pinned = is_pinned(codestream);
  cudaError_t result = cj2k_cuda_reserve_more(&slot->backend->device, &slot->upload.data,
                                              size + side_size + DATA_PAD);
  if (!pinned)
    CJ2K_CUDA_TRY(result,
                  cj2k_cuda_reserve_more(&slot->backend->device, &slot->upload.h_data, size));
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

/* Is a block decoded? Else its coefficients are zeros, or it belongs to a resolution that is not
 * decoded. */
static inline bool is_decoded(const Cj2kCodedBlock *block, const uint8_t *has_place,
                              uint32_t number)
{
  return block->num_passes && !block->corrupt && has_place[number];
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
  uint32_t count = has_deep_bands(plan) ? count_blocks(slot, part) : 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t number = number_of(part, i);
    const Cj2kCodedBlock *block = &coded->blocks[number];
    if (!is_decoded(block, slot->tables.has_place, number))
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
static size_t group_bound(Group group)
{
  size_t blocks = group.end - group.first, size = 0;
  place(&size, blocks);
  place(&size, blocks * sizeof(Cj2kCodedBlock));
  for (int list = 0; list < 4; list++) /* order, refined, mq.offsets, mq.warps */
    place(&size, (blocks + 1) * sizeof(uint32_t));
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
  parts->length = place(&parts->filled, sizeof(uint64_t));
  parts->outputs = place(&parts->filled, cj2k_cuda_decode_num_sets(slot) *
                                             slot->output.num_outputs * sizeof(Cj2kCudaOutput));
  parts->steps = place(&parts->filled, slot->tables.plan->num_bands * sizeof(Cj2kCudaBandStep));
  parts->segments = place(&parts->filled, MAX(coded->num_segments, segments) * sizeof(Cj2kSegment));
  parts->numbers =
      place(&parts->filled, part && !part->d_numbers ? part->count * sizeof(uint32_t) : 0);
  parts->ranges = place(&parts->filled, part ? part->num_ranges * sizeof(Cj2kCudaRows) : 0);
  size_t size = parts->filled;
  for (uint32_t g = 0; g < count_groups(part); g++)
    size += group_bound(group_of(slot, part, g));
  size_t side = coded->side_size;
  if (has_bytes(part))
    side = count_bytes(coded, part) + DATA_PAD;
  else if (slot->upload.in_records)
    side = coded->codestream_size + DATA_PAD;
  parts->side = place(&size, side);
  return size;
}

static void copy_part(void *records, size_t at, const void *from, size_t size)
{
  if (size)
    memcpy((uint8_t *)records + at, from, size);
}

/* Fills in what all groups use. */
static void fill_parts(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                       const Cj2kCudaDecodePart *part)
{
  const Cj2kPlan *plan = slot->tables.plan;
  const Cj2kCudaUpload *parts = &slot->upload.parts;
  uint8_t *records = slot->upload.h_records.data;
  Cj2kCudaBandStep *steps = (Cj2kCudaBandStep *)(records + parts->steps);

  for (uint32_t b = 0; b < plan->num_bands; b++)
    steps[b] = (Cj2kCudaBandStep){plan->bands[b].scale, num_bitplanes(&plan->bands[b])};
  copy_part(records, parts->segments, coded->segments, coded->num_segments * sizeof(Cj2kSegment));
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

/* -------------------------------------------------------------------------------- groups --- */

/* Blocks are sorted into classes so that the threads of a warp have similar work: HT blocks by the
 * length of their data, MQ blocks by their estimated work, in both cases those with most first. HT
 * blocks are listed before MQ blocks, and those that are not decoded not at all. */
#define LENGTH_CLASSES 256
#define NOT_DECODED    (2 * LENGTH_CLASSES)

typedef struct {
  uint32_t ends[NOT_DECODED + 2]; /* while counting: size of the class before; then the place of the
                                     next block of each class in the list */
  uint32_t num_refined;
} BlockClasses;

/* The class of an amount of work; each power of two has 16 classes. */
static uint32_t class_of_work(uint32_t work)
{
  uint32_t octave = g_bit_storage(work | 16) - 5;
  return octave * 16 + (work >> octave & 15);
}

static inline uint16_t class_of(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                const Cj2kCodedBlock *block, uint32_t number)
{
  uint32_t length = block->is_ht ? block->length / 32
                                 : class_of_work(cj2k_cuda_decode_mq_work(slot, coded, number));
  length = MIN(length, LENGTH_CLASSES - 1);
  return (uint16_t)((block->is_ht ? 0 : LENGTH_CLASSES) + LENGTH_CLASSES - 1 - length);
}

/* Copies the records of a group's blocks, and finds the class of each: one walk, because in the
 * frame the records are far apart. */
static void copy_records(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                         const Cj2kCudaDecodePart *part, Group group, Cj2kCodedBlock *records,
                         BlockClasses *classes)
{
  const uint8_t *has_place = slot->tables.has_place;
  uint16_t *class = slot->tables.classes;
  uint32_t num_refined = 0;

  memset(classes, 0, sizeof *classes);
  for (uint32_t i = group.first; i < group.end; i++) {
    uint32_t number = number_of(part, i);
    const Cj2kCodedBlock *block = &coded->blocks[number];
    uint16_t k =
        is_decoded(block, has_place, number) ? class_of(slot, coded, block, number) : NOT_DECODED;
    records[i - group.first] = *block;
    class[i] = k;
    classes->ends[k + 1]++;
    num_refined += k != NOT_DECODED && block->is_ht && block->num_passes > 1;
  }
  classes->num_refined = num_refined;
}

/* Turns the sizes of the classes into places. */
static void count_classes(BlockClasses *classes, Cj2kCudaDecodeBlocks *frame)
{
  for (uint32_t k = 1; k <= NOT_DECODED; k++)
    classes->ends[k] += classes->ends[k - 1];
  frame->ht.count = classes->ends[LENGTH_CLASSES];
  frame->mq.count = classes->ends[NOT_DECODED] - frame->ht.count;
  frame->ht.num_refined = classes->num_refined;
}

/* Lists the blocks of a group by class, and those with refinement passes. */
static void list_blocks(const Cj2kDecodeSlot *slot, const Cj2kCodedBlock *records, Group group,
                        BlockClasses *classes, const Cj2kCudaDecodeBlocks *frame)
{
  const uint16_t *class = slot->tables.classes + group.first;
  uint32_t *order = cj2k_cuda_decode_host_record(slot, frame->ht.order);
  uint32_t *refined = cj2k_cuda_decode_host_record(slot, frame->ht.refined);
  uint32_t count = group.end - group.first, num_refined = 0;

  for (uint32_t i = 0; i < count; i++)
    if (class[i] != NOT_DECODED)
      order[classes->ends[class[i]]++] = i;
  for (uint32_t i = 0; i < count && num_refined < classes->num_refined; i++)
    if (class[i] != NOT_DECODED && records[i].is_ht && records[i].num_passes > 1)
      refined[num_refined++] = i;
}

/* Places the lists of a group behind its records: the first one with room for all blocks, so that
 * the place of what follows does not depend on their kinds in frames that have one kind. */
static void place_lists(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frame)
{
  const uint8_t *device = slot->upload.records.data;
  size_t *filled = &slot->upload.parts.filled;
  uint32_t ht = frame->ht.count, mq = frame->mq.count;

  frame->ht.order =
      (const uint32_t *)(device + place(filled, frame->num_blocks * sizeof(uint32_t)));
  frame->mq.order = frame->ht.order + ht;
  frame->ht.refined =
      (const uint32_t *)(device + place(filled, frame->ht.num_refined * sizeof(uint32_t)));
  frame->mq.offsets = (const uint32_t *)(device + place(filled, mq * sizeof(uint32_t)));
  frame->mq.warps = (const uint32_t *)(device + place(filled, (mq + !!mq) * sizeof(uint32_t)));
}

/* Sets the pointers to what all groups use, and to tables of the slot. */
static void describe_frame(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part, Group group,
                           Cj2kCudaDecodeBlocks *frame)
{
  uint8_t *device = slot->upload.records.data;
  frame->blocks = cj2k_cuda_table_data(slot->tables.blocks);
  frame->numbers = part ? (const uint32_t *)(device + slot->upload.parts.numbers) : NULL;
  if (part && part->d_numbers)
    frame->numbers = part->d_numbers;
  if (frame->numbers)
    frame->numbers += group.first;
  frame->data = slot->upload.data.data; /* or fill_bytes() says it */
  frame->steps = cj2k_cuda_decode_steps(slot);
  frame->segments = (const Cj2kSegment *)(device + slot->upload.parts.segments);
  frame->num_blocks = group.end - group.first;
  frame->max_width = slot->tables.max_width;
  frame->width_bits = slot->tables.width_bits;
  frame->aim = (part || slot->backend->device.one_in_flight) && !cj2k_spin_crowded()
                   ? CJ2K_CUDA_AIM_LATENCY
                   : CJ2K_CUDA_AIM_THROUGHPUT;
  frame->ht.quads = slot->frame.quads;
  frame->coefficients = slot->tables.coefficients.data;
  frame->zeros = slot->frame.is_over ? NULL : slot->tables.zeros.data;
  frame->corrupt = slot->frame.h_corrupt.data; /* host memory: rare enough to count over the bus */
}

void cj2k_cuda_decode_fill_group(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, uint32_t g,
                                 Cj2kCudaDecodeBlocks *frame)
{
  Group group = group_of(slot, part, g);
  size_t *filled = &slot->upload.parts.filled, blocks = group.end - group.first;
  uint8_t *device = slot->upload.records.data;
  BlockClasses classes;

  describe_frame(slot, part, group, frame);
  frame->corrupt_flags = device + place(filled, blocks);
  memset(cj2k_cuda_decode_host_record(slot, frame->corrupt_flags), 0, blocks);
  frame->coded = (const Cj2kCodedBlock *)(device + place(filled, blocks * sizeof(Cj2kCodedBlock)));
  Cj2kCodedBlock *records = cj2k_cuda_decode_host_record(slot, frame->coded);
  copy_records(slot, coded, part, group, records, &classes);
  count_classes(&classes, frame);
  place_lists(slot, frame);
  list_blocks(slot, records, group, &classes, frame);
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
    const Cj2kCodedBlock *block = &coded->blocks[part->numbers[i]];
    records[i].offset = at;
    if (slot->tables.classes[i] == NOT_DECODED || !block->length)
      continue;
    memcpy(bytes + at, cj2k_coded_data(coded, block), block->length);
    at += block->length;
  }
  parts->side = place(&parts->filled, at + DATA_PAD);
  frame->data = (const uint8_t *)slot->upload.records.data + parts->side;
}

/* Copies a small codestream behind the records. */
static void fill_codestream(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                            Cj2kCudaDecodeBlocks *frame)
{
  Cj2kCudaUpload *parts = &slot->upload.parts;

  parts->side = place(&parts->filled, coded->codestream_size + DATA_PAD);
  copy_part(slot->upload.h_records.data, parts->side, coded->codestream, coded->codestream_size);
  frame->data = (const uint8_t *)slot->upload.records.data + parts->side;
}

Cj2kStatus cj2k_cuda_decode_fill(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *part, Cj2kCudaDecodeBlocks *frames,
                                 Cj2kError *error)
{
  uint32_t groups = count_groups(part);
  Cj2kStatus status = CJ2K_OK;
  for (uint32_t g = 0; g < groups && status == CJ2K_OK; g++) {
    cj2k_cuda_decode_fill_group(slot, coded, part, g, &frames[g]);
    status = cj2k_cuda_decode_place_mq(slot, coded,
                                       part ? part->numbers + group_of(slot, part, g).first : NULL,
                                       &frames[g], error);
  }
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_reserve_mq(slot, frames, groups, error);
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
