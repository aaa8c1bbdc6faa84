/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packets of a tile with a single layer, most of which are of a plain kind: each code-block is in
 * one packet, whose header has one length for it, or those of selective arithmetic coding bypass.
 * The records of code-blocks are written while headers are read, without the pieces that
 * packets_read.c collects. What is not plain, or damaged, is left to that file, which reads the
 * tile again.
 */
#include "common/runtime/deadline.h"
#include "packets_internal.h"
#include "read_lengths.h"
#include "read_single.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>

#define LZCNT (1u << 5) /* in ecx of leaf 0x80000001 */
#endif

/* More segments of a block than there are pairs of passes. */
#define MOST_SEGMENTS UINT8_MAX

/* The code-blocks of a precinct that are in one band. */
typedef struct {
  const Cj2kPlanPrecinctBand *range;
  uint32_t style;
  uint32_t bitplanes; /* of the band, with those of its region of interest */
} Blocks;

/* ------------------------------------------------------------------------------ one block --- */

/* HT: one cleanup pass. false: it is not plain. */
static inline bool read_cleanup(uint32_t *length, Cj2kBitReader *bits)
{
  uint32_t lblock;

  if (cj2k_take_cleanup(bits, &lblock, length)) /* nearly always the window has all bits */
    return true;
  cj2k_bits_refill(bits);
  return cj2k_take_cleanup(bits, &lblock, length);
}

/* HT: all that the header says of a leaf that is not the first one below its parent, `above`, from
 * a window of at least 56 bits. Most code-blocks are such. false: it is something else, and nothing
 * is taken. */
static inline bool take_leaf(Cj2kTagNode above, uint8_t *zeros, uint32_t *length,
                             Cj2kBitReader *bits)
{
  uint64_t window = bits->window << 1, cleanup;
  uint32_t run = (uint32_t)__builtin_clzll(window | 1), low = above.low + run;

  cleanup = window << run << 1;
  uint32_t more = (uint32_t)__builtin_clzll(~(cleanup << 1)), used = 7 + run + 2 * more;
  if (!(bits->window >> 63) || above.known != CJ2K_NODE_IN || low > CJ2K_MOST_ZERO_BITPLANES ||
      cleanup >> 63 || used > bits->count)
    return false;
  *length = (uint32_t)(cleanup << (2 + more) >> (61 - more));
  if (!*length)
    return false;
  *zeros = (uint8_t)low;
  bits->window <<= used;
  bits->count -= used;
  return true;
}

/* MQ: passes of one segment, or with bypass of several. The window has at least 32 bits. false: it
 * is not plain. */
static inline bool read_passes(Cj2kCodedBlock *block, const Blocks *blocks, Cj2kSegment *segments,
                               Cj2kBitReader *bits)
{
  uint32_t used, passes = cj2k_passes_of(bits->window, &used), first = passes;
  uint32_t more = (uint32_t)__builtin_clzll(~(bits->window << used)), lblock = 3 + more;

  used += more + 1;
  if (used > bits->count || lblock > CJ2K_MAX_RUN_LBLOCK ||
      passes > 3 * (blocks->bitplanes - block->zero_bitplanes) - 2)
    return false;
  bits->window <<= used;
  bits->count -= used;
  if (blocks->style & CJ2K_STYLE_BYPASS && passes > CJ2K_BYPASS_START)
    first = CJ2K_BYPASS_START;
  uint32_t length = cj2k_bits_get(bits, lblock + CJ2K_LOG2(first));
  Cj2kSegment *next = segments;
  *next++ = cj2k_segment(length, first);
  if (first < passes) {
    Cj2kBitReader copy = *bits; /* lets `bits` stay in registers */
    next = cj2k_read_bypass(&copy, next, lblock, passes - first, &length);
    *bits = copy;
  }
  block->length = length;
  block->num_segments = (uint16_t)(next - segments);
  block->num_passes = (uint8_t)passes;
  return true;
}

/* --------------------------------------------------------------------- the blocks of a band --- */

static void init_tree(const Cj2kDirect *direct, const Cj2kPlanPrecinctBand *range,
                      Cj2kSingleTree *single)
{
  const Cj2kTileReader *reader = direct->walk->reader;
  cj2k_single_tree_init(single, reader->zero_bitplanes + (range->first_node - reader->first_node),
                        range->blocks_x, range->blocks_y);
}

/* MQ: reads the code-blocks of a band in the precinct. Their bytes begin at *body behind the
 * header, and it is moved to their end. */
static bool read_mq_blocks(Cj2kDirect *direct, const Blocks *blocks, uint64_t *body,
                           Cj2kBitReader *packet_bits)
{
  const Cj2kPlanPrecinctBand *range = blocks->range;
  Cj2kCodedFrame *frame = &direct->store->frame;
  Cj2kCodedBlock *block = frame->blocks + range->first_block;
  Cj2kBitReader bits = *packet_bits; /* in registers */
  uint64_t at = *body;
  Cj2kSingleTree tree;

  init_tree(direct, range, &tree);
  for (uint32_t y = 0; y < range->blocks_y; y++) {
    for (uint32_t x = 0; x < range->blocks_x; x++, block++) {
      uint8_t zeros;
      *block = (Cj2kCodedBlock){0};
      Cj2kInclusion inclusion = cj2k_single_read(&tree, x, y, &zeros, &bits);
      if (inclusion == CJ2K_BLOCK_OUT)
        continue;
      if (inclusion == CJ2K_BLOCK_BROKEN || zeros >= blocks->bitplanes)
        return false;
      if (bits.count < 32)
        cj2k_bits_refill(&bits);
      Cj2kSegment *segments = cj2k_store_reserve_segments(direct->store, MOST_SEGMENTS);
      block->zero_bitplanes = zeros;
      block->first_segment = frame->num_segments;
      if (!read_passes(block, blocks, segments, &bits) || block->length > CJ2K_SEGMENT_MAX_LENGTH)
        return false;
      frame->num_segments += block->num_segments;
      block->offset = at;
      at += block->length;
    }
    *packet_bits = bits;
    if (cj2k_bits_overrun(packet_bits))
      return false;
  }
  *body = at;
  return true;
}

/* HT: the same. */
static inline __attribute__((always_inline)) bool
read_ht_blocks(Cj2kDirect *direct, const Blocks *blocks, uint64_t *body, Cj2kBitReader *packet_bits)
{
  const Cj2kPlanPrecinctBand *range = blocks->range;
  Cj2kCodedFrame *frame = &direct->store->frame;
  Cj2kCodedBlock *block = frame->blocks + range->first_block;
  Cj2kBitReader bits = *packet_bits; /* in registers */
  uint64_t at = *body;
  uint32_t first = frame->num_segments;
  Cj2kSegment *segments =
      cj2k_store_reserve_segments(direct->store, range->blocks_x * range->blocks_y);
  Cj2kSegment *next = segments;
  Cj2kSingleTree single;

  init_tree(direct, range, &single);
  for (uint32_t y = 0; y < range->blocks_y; y++) {
    const Cj2kTagNode *above = NULL; /* parents of this row's leaves, if they have any */
    if (single.tree.num_levels > 1)
      above = single.nodes + cj2k_tag_tree_node(&single.tree, 1, 0, y);
    for (uint32_t x = 0; x < range->blocks_x; x++, block++) {
      uint32_t length;
      uint8_t zeros;
      if (bits.count < 57)
        cj2k_bits_refill(&bits);
      if (!((x | y) & 1) || !above || !take_leaf(above[x / 2], &zeros, &length, &bits)) {
        Cj2kInclusion inclusion = cj2k_single_read(&single, x, y, &zeros, &bits);
        if (inclusion == CJ2K_BLOCK_OUT) {
          *block = (Cj2kCodedBlock){0};
          continue;
        }
        if (inclusion == CJ2K_BLOCK_BROKEN || !read_cleanup(&length, &bits))
          return false;
      }
      if (zeros >= blocks->bitplanes || length > CJ2K_SEGMENT_MAX_LENGTH)
        return false;
      *block = (Cj2kCodedBlock){.offset = at,
                                .length = length,
                                .first_segment = first + (uint32_t)(next - segments),
                                .num_segments = 1,
                                .num_passes = 1,
                                .zero_bitplanes = zeros,
                                .is_ht = 1};
      *next++ = cj2k_segment(length, 1);
      at += length;
    }
    *packet_bits = bits;
    if (cj2k_bits_overrun(packet_bits))
      return false;
  }
  frame->num_segments = first + (uint32_t)(next - segments);
  *body = at;
  return true;
}

static bool read_ht_plain(Cj2kDirect *direct, const Blocks *blocks, uint64_t *body,
                          Cj2kBitReader *bits)
{
  return read_ht_blocks(direct, blocks, body, bits);
}

#ifdef __x86_64__
/* With the instructions that count leading zeros and shift in one step, a sixth faster. */
static __attribute__((target("lzcnt,bmi2"))) bool
read_ht_bmi2(Cj2kDirect *direct, const Blocks *blocks, uint64_t *body, Cj2kBitReader *bits)
{
  return read_ht_blocks(direct, blocks, body, bits);
}

/* Does the processor have them? Not all compilers know the name of the first. */
static bool has_bmi2(void)
{
  static gsize answer; /* 1: no, 2: yes */

  if (g_once_init_enter(&answer)) {
    unsigned a, b, c = 0, d;
    bool lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & LZCNT);
    g_once_init_leave(&answer, lzcnt && __builtin_cpu_supports("bmi2") ? 2 : 1);
  }
  return answer == 2;
}
#endif

static bool read_blocks(Cj2kDirect *direct, const Blocks *blocks, uint64_t *body,
                        Cj2kBitReader *bits)
{
  if (!(blocks->style & CJ2K_STYLE_HT))
    return read_mq_blocks(direct, blocks, body, bits);
#ifdef __x86_64__
  if (has_bmi2())
    return read_ht_bmi2(direct, blocks, body, bits);
#endif
  return read_ht_plain(direct, blocks, body, bits);
}

/* ------------------------------------------------------------------------------- a packet --- */

static bool is_plain(uint32_t style)
{
  return style & CJ2K_STYLE_HT ? !(style & CJ2K_STYLE_HT_MIXED) : !(style & CJ2K_STYLE_TERMALL);
}

/* Reads the code-blocks of all bands. *body: the bytes of the packet's body. */
static bool read_header(Cj2kDirect *direct, const Cj2kPacketId *packet, uint64_t *body,
                        Cj2kBitReader *bits)
{
  const Cj2kPlan *plan = direct->walk->reader->plan;
  const Cj2kPlanResolution *resolution = &plan->resolutions[packet->resolution_index];
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];
  bool is_empty = !cj2k_bits_get1(bits); /* B.10.3 */

  for (uint32_t b = 0; b < resolution->num_bands; b++) {
    const Cj2kPlanBand *band = &plan->bands[resolution->first_band + b];
    const Blocks blocks = {&precinct->band[b], band->block_style,
                           (uint32_t)band->num_bitplanes + band->roi_shift};
    uint32_t count = blocks.range->blocks_x * blocks.range->blocks_y;
    direct->read += count;
    if (is_empty)
      memset(direct->store->frame.blocks + blocks.range->first_block, 0,
             count * sizeof(Cj2kCodedBlock));
    if (is_empty || !count)
      continue;
    direct->looked += count;
    if (!is_plain(blocks.style) || !read_blocks(direct, &blocks, body, bits))
      return false;
  }
  return true;
}

/* What follows when a packet was read: the offsets of its code-blocks, or that they are not used.
 */
static void place_blocks(Cj2kDirect *direct, const Cj2kPacketId *packet, uint32_t segments,
                         uint64_t body)
{
  const Cj2kPlan *plan = direct->walk->reader->plan;
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];
  Cj2kCodedFrame *frame = &direct->store->frame;
  bool wanted = cj2k_walk_wants(direct->walk, packet);

  for (uint32_t b = 0; b < plan->resolutions[packet->resolution_index].num_bands; b++) {
    const Cj2kPlanPrecinctBand *range = &precinct->band[b];
    Cj2kCodedBlock *blocks = frame->blocks + range->first_block;
    uint32_t count = range->blocks_x * range->blocks_y;
    for (uint32_t i = 0; i < count && wanted; i++)
      blocks[i].offset = blocks[i].length ? blocks[i].offset + body : 0;
    if (!wanted)
      memset(blocks, 0, count * sizeof *blocks);
  }
  if (!wanted)
    frame->num_segments = segments;
}

bool cj2k_direct_packet(Cj2kDirect *direct, const Cj2kPacketId *packet)
{
  Cj2kPacketWalk *walk = direct->walk;
  uint32_t segments = direct->store->frame.num_segments;
  uint64_t body = 0;
  Cj2kBitReader bits;

  if (!cj2k_walk_begin_packet(walk) || walk->at == walk->end)
    return false;
  const uint8_t *data = walk->reader->data + walk->at;
  size_t size = (size_t)(walk->end - walk->at);
  cj2k_bits_init(&bits, data, size);
  if (!read_header(direct, packet, &body, &bits))
    return false;
  size_t used;
  if (!cj2k_walk_end_header(walk, &bits, &used))
    return false;
  if (body > size - used)
    return false;
  walk->at += used;
  walk->header_end = walk->at;
  place_blocks(direct, packet, segments, walk->at);
  walk->at += body;
  return true;
}

bool cj2k_walk_read_direct(Cj2kPacketWalk *walk, Cj2kFrameStore *store)
{
  Cj2kTileReader *reader = walk->reader;
  Cj2kDirect direct = {.walk = walk, .store = store};
  uint32_t segments = store->frame.num_segments;
  Cj2kPacketId packet;

  if (reader->plan->tiles[reader->tile].num_layers != 1 || walk->headers || walk->observer)
    return false;
  while (cj2k_packet_iterator_next(&reader->iterator, &packet)) {
    if (!cj2k_direct_packet(&direct, &packet)) {
      store->frame.num_segments = segments;
      return false;
    }
    if (cj2k_deadline_check(1, NULL) != CJ2K_OK)
      return true; /* the caller's own check says so */
  }
  (void)cj2k_deadline_count_items(direct.looked, NULL); /* the same */
  if (direct.read != reader->num_blocks)
    store->frame.num_segments = segments;
  return direct.read == reader->num_blocks;
}
