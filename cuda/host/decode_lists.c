/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records of the code-blocks of a group, and the lists in whose order they are decoded. */
#include "decode_records.h"

#include "common/runtime/spin.h"
#include "common/runtime/threads.h"
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

/* A group's blocks are listed in strips, by several threads if they are awake: it would be done
 * before a thread has woken. */
#define MOST_STRIPS  4u
#define STRIP_BLOCKS 1024u

/* What is known of a strip, or of the whole group. */
typedef struct {
  uint32_t ends[NOT_DECODED + 1]; /* by class: while counting, its blocks; then the place of its
                                     next one in the list; at last, its end */
  uint32_t most_work, most_raw;   /* of an MQ block */
  uint32_t num_refined;
  uint64_t words; /* of bit-planes: of the strip; then where those of its next block begin */
} Strip;

typedef struct {
  const Cj2kDecodeSlot *slot;
  const Cj2kCodedFrame *coded;
  const Cj2kCudaDecodePart *part;
  Cj2kCudaGroup group;
  Cj2kCodedBlock *records;
  Cj2kSegment *segments; /* of all groups; NULL: the first group has copied them */
  Cj2kCudaDecodeBlocks *frame;
  uint32_t num_strips;
  Strip strips[MOST_STRIPS];
} Lists;

/* The share of a strip in `count` of anything. */
static Cj2kCudaGroup share_of(const Lists *lists, uint32_t strip, uint64_t count)
{
  return (Cj2kCudaGroup){(uint32_t)(count * strip / lists->num_strips),
                         (uint32_t)(count * (strip + 1) / lists->num_strips)};
}

/* The blocks of a strip, counted in the group. */
static Cj2kCudaGroup strip_of(const Lists *lists, uint32_t strip)
{
  return share_of(lists, strip, lists->group.end - lists->group.first);
}

static void for_strips(Lists *lists, void (*fn)(void *ctx, uint32_t strip, uint32_t lane))
{
  cj2k_parallel_for_short(lists->slot->backend->threads, lists->num_strips, fn, lists);
}

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

/* Copies a strip's share of the segments, whosever they are. */
static void copy_segments(const Lists *lists, uint32_t strip)
{
  Cj2kCudaGroup share = share_of(lists, strip, lists->coded->num_segments);

  if (lists->segments && share.end > share.first)
    memcpy(lists->segments + share.first, lists->coded->segments + share.first,
           (share.end - share.first) * sizeof *lists->segments);
}

/* Copies the records of a strip's blocks, and finds the class of each, and the words of MQ blocks:
 * one walk, because in the frame the records are far apart. */
static void copy_records(void *ctx, uint32_t index, uint32_t lane)
{
  Lists *lists = ctx;
  const Cj2kDecodeSlot *slot = lists->slot;
  const Cj2kCudaDecodePart *part = lists->part;
  const Cj2kCodedBlock *all_blocks = lists->coded->blocks;
  const Cj2kCudaBlockFacts *all_facts = slot->tables.facts;
  const Cj2kCudaGroup range = strip_of(lists, index);
  const bool has_large = cj2k_cuda_decode_has_large(slot);
  Cj2kCodedBlock *records = lists->records;
  Strip *strip = &lists->strips[index];
  uint16_t *class = slot->tables.classes;
  uint32_t *words = slot->tables.words, num_refined = 0, most_raw = 0, most_work = 0;
  uint64_t all_words = 0;
  (void)lane;

  copy_segments(lists, index);
  memset(strip, 0, sizeof *strip);
  for (uint32_t i = range.first; i < range.end; i++) {
    uint32_t number = cj2k_cuda_decode_number(part, lists->group.first + i), k = NOT_DECODED;
    const Cj2kCodedBlock *block = &all_blocks[number];
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
      all_words += words[i];
      k = CJ2K_CUDA_CLASSES + list_number(class_of_work(work));
    }
    class[i] = (uint16_t)k;
    strip->ends[k]++;
  }
  strip->num_refined = num_refined;
  strip->most_work = most_work;
  strip->most_raw = most_raw;
  strip->words = all_words;
}

/* Turns the numbers of blocks by class and strip, and of words, into places. In a class blocks have
 * the order that they have in the group. Returns what is known of the whole group. */
static void count_classes(Lists *lists, Strip *group)
{
  uint32_t place = 0;

  *group = (Strip){0};
  for (uint32_t k = 0; k <= NOT_DECODED; k++) {
    for (uint32_t s = 0; s < lists->num_strips; s++) {
      uint32_t count = lists->strips[s].ends[k];
      lists->strips[s].ends[k] = place;
      place += count;
    }
    group->ends[k] = place;
  }
  for (uint32_t s = 0; s < lists->num_strips; s++) {
    Strip *strip = &lists->strips[s];
    uint64_t words = strip->words;
    group->most_work = MAX(group->most_work, strip->most_work);
    group->most_raw = MAX(group->most_raw, strip->most_raw);
    group->num_refined += strip->num_refined;
    strip->words = group->words;
    group->words += words;
  }
  Cj2kCudaDecodeBlocks *frame = lists->frame;
  frame->ht.count = group->ends[CJ2K_CUDA_CLASSES - 1];
  frame->mq.count = group->ends[NOT_DECODED - 1] - frame->ht.count;
  frame->ht.num_refined = group->num_refined;
  frame->mq.raw_planes = group->most_raw;
  frame->mq.plane_words = group->words;
}

/* Lists the blocks of a strip by class, with the places of the bit-planes of MQ blocks. */
static void list_blocks(void *ctx, uint32_t index, uint32_t lane)
{
  Lists *lists = ctx;
  const Cj2kDecodeSlot *slot = lists->slot;
  const Cj2kCudaDecodeBlocks *frame = lists->frame;
  const Cj2kCudaGroup range = strip_of(lists, index);
  Strip *strip = &lists->strips[index];
  const uint16_t *class = slot->tables.classes;
  const uint32_t *words = slot->tables.words;
  const uint32_t ht = frame->ht.count;
  uint32_t *order = cj2k_cuda_decode_host_record(slot, frame->ht.order);
  uint32_t *offsets = cj2k_cuda_decode_host_record(slot, frame->mq.offsets);
  uint64_t place = strip->words;
  (void)lane;

  for (uint32_t i = range.first; i < range.end; i++) {
    if (class[i] == NOT_DECODED)
      continue;
    uint32_t n = strip->ends[class[i]]++;
    order[n] = i;
    if (class[i] < CJ2K_CUDA_CLASSES)
      continue;
    offsets[n - ht] = (uint32_t)place;
    place += words[i];
  }
}

/* Lists the blocks with refinement passes. */
static void list_refined(const Lists *lists)
{
  const Cj2kDecodeSlot *slot = lists->slot;
  const uint16_t *class = slot->tables.classes;
  uint32_t *refined = cj2k_cuda_decode_host_record(slot, lists->frame->ht.refined);
  uint32_t count = 0;

  for (uint32_t i = 0; count < lists->frame->ht.num_refined; i++)
    if (class[i] < CJ2K_CUDA_CLASSES && lists->records[i].num_passes > 1)
      refined[count++] = i;
}

/* Has the MQ blocks of a group assigned to warps, after they are listed. */
static void describe_classes(const Cj2kDecodeSlot *slot, const Strip *group,
                             Cj2kCudaDecodeBlocks *frame)
{
  Cj2kCudaMqClass mq[CJ2K_CUDA_CLASSES];
  if (!frame->mq.count)
    return;
  for (uint32_t c = 0; c < CJ2K_CUDA_CLASSES; c++)
    mq[c] = (Cj2kCudaMqClass){group->ends[CJ2K_CUDA_CLASSES + c] - frame->ht.count,
                              work_of_class(list_number(c))};
  /* The first class has no upper end; codestreams that are not valid may have blocks beyond it. */
  mq[0].work = MAX(mq[0].work, group->most_work);
  cj2k_cuda_decode_set_warps(slot, mq, group->most_work, frame);
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
  Lists lists = {.slot = slot,
                 .coded = coded,
                 .part = part,
                 .group = cj2k_cuda_decode_group(slot, part, g),
                 .frame = frame};
  uint32_t blocks = lists.group.end - lists.group.first;
  Strip group;

  describe_frame(slot, part, lists.group, frame);
  frame->corrupt_flags = place_next(slot, blocks);
  memset(cj2k_cuda_decode_host_record(slot, frame->corrupt_flags), 0, blocks);
  frame->coded = place_next(slot, blocks * sizeof(Cj2kCodedBlock));
  lists.records = cj2k_cuda_decode_host_record(slot, frame->coded);
  if (g == 0)
    lists.segments = cj2k_cuda_decode_host_record(slot, frame->segments);
  lists.num_strips = CLAMP(blocks / STRIP_BLOCKS, 1, MOST_STRIPS);
  for_strips(&lists, copy_records);
  count_classes(&lists, &group);
  place_lists(slot, frame);
  for_strips(&lists, list_blocks);
  list_refined(&lists);
  describe_classes(slot, &group, frame);
}
