/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records of the code-blocks of a group, and the lists in whose order they are decoded. */
#include "decode_records.h"

#include "common/runtime/spin.h"
#include "common/shared/mq_blocks.h"

#include <string.h>

/* ----------------------------------------------------------------- what an MQ block needs --- */

/* The number of raw magnitude refinement passes, which another kernel decodes. */
static inline uint32_t raw_planes(const Cj2kCodedBlock *block, const Cj2kCudaBlockFacts *facts)
{
  return facts->bypass ? CJ2K_CUDA_MQ_RAW_PLANES(block->num_passes) : 0;
}

/* Estimated work, with an error of about 5 % at any rate: one byte equals 72 samples of a pass.
 * With raw passes that error is about 8 %: bytes count as if all passes had the same length and
 * only eight were read, and one of them equals 50 samples of a pass. */
static inline uint32_t work_of(const Cj2kCodedBlock *block, uint32_t octets, uint32_t raw)
{
  uint32_t length = MIN(block->length, 1u << 24), samples = octets * 32u;

  if (!raw)
    return length + samples * block->num_passes / 72u;
  return length * 8 / block->num_passes + samples * (block->num_passes - raw) / 50u;
}

/* Words of its bit-planes. */
static inline uint32_t words_of(const Cj2kCodedBlock *block, uint32_t octets, uint32_t raw,
                                bool has_large)
{
  return CJ2K_CUDA_MQ_PLANE_WORDS(octets, block->num_passes, has_large) +
         raw * (uint32_t)(sizeof(Cj2kCudaRawBits) / sizeof(uint32_t));
}

/* ------------------------------------------------------------------------------- classes --- */

/* Blocks are sorted into classes so that the threads of a warp have similar work: HT blocks by the
 * length of their data, MQ blocks by their estimated work, in both cases those with most first. HT
 * blocks are listed before MQ blocks, and those that are not decoded not at all. */
#define NOT_DECODED (2 * CJ2K_CUDA_CLASSES)

typedef struct {
  uint32_t ends[NOT_DECODED + 2]; /* while counting: size of the class before; then the place of the
                                     next block of each class in the list; at last, its end */
  uint32_t most_work;             /* of an MQ block */
  uint32_t num_refined;
} BlockClasses;

/* The class of an amount of work: from 16 on each power of two has 16 classes. */
static inline uint32_t class_of_work(uint32_t work)
{
  work = MAX(work, 16);
  uint32_t octave = g_bit_storage(work) - 5;
  return octave * 16 + (work >> octave & 15);
}

/* The middle of the work that is in such a class. */
static uint32_t work_of_class(uint32_t class)
{
  uint32_t octave = class / 16;
  return ((16 + class % 16) << octave) + (1u << octave >> 1);
}

/* Classes are listed backwards, so that those with more come first: the number of a class in the
 * list, or the class of such a number. The last one also has all that is more. */
static inline uint32_t list_number(uint32_t class)
{
  return CJ2K_CUDA_CLASSES - 1 - MIN(class, CJ2K_CUDA_CLASSES - 1);
}

/* Copies the records of a group's blocks, and finds the class of each, and the words of MQ blocks:
 * one walk, because in the frame the records are far apart. */
static void copy_records(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                         const Cj2kCudaDecodePart *part, Cj2kCudaGroup group,
                         Cj2kCodedBlock *records, BlockClasses *classes,
                         Cj2kCudaDecodeBlocks *frame)
{
  const Cj2kCudaBlockFacts *all_facts = slot->tables.facts;
  const bool has_large = cj2k_cuda_decode_has_large(slot);
  uint16_t *class = slot->tables.classes;
  uint32_t *words = slot->tables.words, num_refined = 0, most_raw = 0, most_work = 0;

  memset(classes, 0, sizeof *classes);
  for (uint32_t i = 0; i < group.end - group.first; i++) {
    uint32_t number = cj2k_cuda_decode_number(part, group.first + i), k = NOT_DECODED;
    const Cj2kCodedBlock *block = &coded->blocks[number];
    const Cj2kCudaBlockFacts *facts = &all_facts[number];
    bool decoded = cj2k_cuda_decode_is_decoded(block, facts);

    records[i] = *block;
    if (decoded && block->is_ht) {
      k = list_number(block->length / 32);
      num_refined += block->num_passes > 1;
    } else if (decoded) {
      uint32_t raw = raw_planes(block, facts), work = work_of(block, facts->octets, raw);
      most_work = MAX(most_work, work);
      most_raw = MAX(most_raw, raw);
      words[i] = words_of(block, facts->octets, raw, has_large);
      k = CJ2K_CUDA_CLASSES + list_number(class_of_work(work));
    }
    class[i] = (uint16_t)k;
    classes->ends[k + 1]++;
  }
  classes->num_refined = num_refined;
  classes->most_work = most_work;
  frame->mq.raw_planes = most_raw;
}

/* Turns the sizes of the classes into places. */
static void count_classes(BlockClasses *classes, Cj2kCudaDecodeBlocks *frame)
{
  for (uint32_t k = 1; k <= NOT_DECODED; k++)
    classes->ends[k] += classes->ends[k - 1];
  frame->ht.count = classes->ends[CJ2K_CUDA_CLASSES];
  frame->mq.count = classes->ends[NOT_DECODED] - frame->ht.count;
  frame->ht.num_refined = classes->num_refined;
}

/* Lists the blocks of a group by class, with the places of the bit-planes of MQ blocks, and those
 * with refinement passes. */
static void list_blocks(const Cj2kDecodeSlot *slot, const Cj2kCodedBlock *records,
                        BlockClasses *classes, Cj2kCudaDecodeBlocks *frame)
{
  const uint16_t *class = slot->tables.classes;
  const uint32_t *words = slot->tables.words;
  const uint32_t count = frame->num_blocks, ht = frame->ht.count;
  uint32_t *order = cj2k_cuda_decode_host_record(slot, frame->ht.order);
  uint32_t *offsets = cj2k_cuda_decode_host_record(slot, frame->mq.offsets);
  uint32_t *refined = cj2k_cuda_decode_host_record(slot, frame->ht.refined);
  uint32_t num_refined = 0;
  uint64_t place = 0;

  for (uint32_t i = 0; i < count; i++) {
    if (class[i] == NOT_DECODED)
      continue;
    uint32_t n = classes->ends[class[i]]++;
    order[n] = i;
    if (class[i] < CJ2K_CUDA_CLASSES)
      continue;
    offsets[n - ht] = (uint32_t)place;
    place += words[i];
  }
  frame->mq.plane_words = place;
  for (uint32_t i = 0; num_refined < classes->num_refined; i++)
    if (class[i] < CJ2K_CUDA_CLASSES && records[i].num_passes > 1)
      refined[num_refined++] = i;
}

/* Has the MQ blocks assigned to warps, after they are listed. */
static void describe_classes(const Cj2kDecodeSlot *slot, const BlockClasses *classes,
                             Cj2kCudaDecodeBlocks *frame)
{
  Cj2kCudaMqClass mq[CJ2K_CUDA_CLASSES];
  if (!frame->mq.count)
    return;
  for (uint32_t c = 0; c < CJ2K_CUDA_CLASSES; c++)
    mq[c] = (Cj2kCudaMqClass){classes->ends[CJ2K_CUDA_CLASSES + c] - frame->ht.count,
                              work_of_class(list_number(c))};
  /* The first class has no upper end; codestreams that are not valid may have blocks beyond it. */
  mq[0].work = MAX(mq[0].work, classes->most_work);
  cj2k_cuda_decode_set_warps(slot, mq, classes->most_work, frame);
}

/* Finds room behind what has been filled in so far. Returns its place on the device. */
static void *place_next(Cj2kDecodeSlot *slot, size_t bytes)
{
  uint8_t *device = slot->upload.records.data;
  return device + cj2k_cuda_decode_place(&slot->upload.parts.filled, bytes);
}

/* Places the lists of a group behind its records: the first one with room for all blocks, so that
 * the place of what follows does not depend on their kinds in frames that have one kind. */
static void place_lists(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frame)
{
  uint32_t ht = frame->ht.count, mq = frame->mq.count;

  frame->ht.order = place_next(slot, frame->num_blocks * sizeof(uint32_t));
  frame->mq.order = frame->ht.order + ht;
  frame->ht.refined = place_next(slot, frame->ht.num_refined * sizeof(uint32_t));
  frame->mq.offsets = place_next(slot, mq * sizeof(uint32_t));
  frame->mq.warps = place_next(slot, (mq + !!mq) * sizeof(uint32_t));
}

/* Sets the pointers to what all groups use, and to tables of the slot. */
static void describe_frame(const Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part,
                           Cj2kCudaGroup group, Cj2kCudaDecodeBlocks *frame)
{
  uint8_t *device = slot->upload.records.data;
  frame->blocks = cj2k_cuda_table_data(slot->tables.blocks);
  frame->numbers = part ? (const uint32_t *)(device + slot->upload.parts.numbers) : NULL;
  if (part && part->d_numbers)
    frame->numbers = part->d_numbers;
  if (frame->numbers)
    frame->numbers += group.first;
  frame->data = slot->upload.data.data; /* or cj2k_cuda_decode_fill() sets it */
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
  Cj2kCudaGroup group = cj2k_cuda_decode_group(slot, part, g);
  size_t blocks = group.end - group.first;
  BlockClasses classes;

  describe_frame(slot, part, group, frame);
  frame->corrupt_flags = place_next(slot, blocks);
  memset(cj2k_cuda_decode_host_record(slot, frame->corrupt_flags), 0, blocks);
  frame->coded = place_next(slot, blocks * sizeof(Cj2kCodedBlock));
  Cj2kCodedBlock *records = cj2k_cuda_decode_host_record(slot, frame->coded);
  copy_records(slot, coded, part, group, records, &classes, frame);
  count_classes(&classes, frame);
  place_lists(slot, frame);
  list_blocks(slot, records, &classes, frame);
  describe_classes(slot, &classes, frame);
}
