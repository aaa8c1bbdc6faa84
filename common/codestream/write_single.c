/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_single.h"

#include "tagtree.h"
#include "write_lengths.h"

#define NEVER 0x7f /* value of a node with no block in the layer; P of B.10.5 is at most 74 */
#define SENT  0x80 /* flag of a node whose zero bit-planes were sent */
#define AHEAD 8    /* blocks whose passes are prefetched */

/* A band of a precinct, and the bits of a block that wait to be appended. */
typedef struct {
  Cj2kTagTree tree;
  uint32_t root_bit; /* 1 << level of the root */
  uint8_t *nodes;    /* least number of zero bit-planes, or NEVER */
} Band;

/* The bits of one code-block, which are appended together. */
typedef struct {
  uint64_t word; /* the lowest n bits */
  uint32_t n;
} BlockBits;

#define MOST_BITS 56 /* that a word can take */

static inline void append(BlockBits *block, Cj2kPlainBits *bits)
{
  cj2k_plain_put(bits, block->word, block->n);
  *block = (BlockBits){0};
}

/* The n lowest bits of value, n <= 32. */
static inline void add(BlockBits *block, uint32_t value, uint32_t n, Cj2kPlainBits *bits)
{
  if (G_UNLIKELY(block->n + n > MOST_BITS))
    append(block, bits);
  block->word =
      block->word << (n & 63) | value; /* & 63 for the static analyser: it costs nothing */
  block->n += n;
}

/* ---------------------------------------------------------------------------- the tree --- */

/* Sets the leaves. Returns the number of blocks in the layer. */
static uint32_t set_leaves(const Cj2kSingleLayer *single, const Cj2kPlanPrecinctBand *range,
                           uint8_t *leaves)
{
  const Cj2kEncodedBlock *blocks = single->source->blocks + range->first_block;
  const uint8_t *retained = single->source->retained + range->first_block;
  uint32_t size = range->blocks_x * range->blocks_y, count = 0;

  for (uint32_t i = 0; i < size; i++) {
    count += retained[i] > 0;
    leaves[i] = retained[i] ? blocks[i].zero_bitplanes : NEVER;
  }
  return count;
}

/* Fills each inner node with the least value below it. */
static void fill_tree(const Band *band, uint32_t height)
{
  const Cj2kTagTree *tree = &band->tree;

  for (uint32_t level = 1; level < tree->num_levels; level++) {
    uint32_t below = tree->width[level - 1], width = tree->width[level];
    uint8_t *above = band->nodes + tree->offset[level];
    const uint8_t *row = band->nodes + tree->offset[level - 1];
    for (uint32_t y = 0; y < height; y += 2, row += 2 * (size_t)below, above += width) {
      const uint8_t *row2 = y + 1 < height ? row + below : row;
      for (uint32_t x = 0; x < below / 2; x++)
        above[x] = MIN(MIN(row[2 * x], row[2 * x + 1]), MIN(row2[2 * x], row2[2 * x + 1]));
      if (below & 1)
        above[width - 1] = MIN(row[below - 1], row2[below - 1]);
    }
    height = (height + 1) / 2;
  }
}

/* The highest level whose node has leaf (x, y) as its first one in raster order. */
static inline uint32_t top_level(const Band *band, uint32_t x, uint32_t y)
{
  return (uint32_t)__builtin_ctz(x | y | band->root_bit);
}

static inline uint8_t *node_of(const Band *band, uint32_t level, uint32_t x, uint32_t y)
{
  return &band->nodes[cj2k_tag_tree_node(&band->tree, level, x, y)];
}

/* Zeros up to a node's value, and a one. */
static inline void add_value(BlockBits *block, uint32_t zeros, Cj2kPlainBits *bits)
{
  for (; zeros > 30; zeros -= 30)
    add(block, 0, 30, bits);
  add(block, 1, zeros + 1, bits);
}

/* All blocks are in the layer: the nodes that begin with this leaf are sent with it. */
static inline void add_trees(const Band *band, uint32_t x, uint32_t y, BlockBits *block,
                             Cj2kPlainBits *bits)
{
  uint32_t top = top_level(band, x, y), known = 0;

  add(block, (2u << top) - 1, top + 1, bits);
  if (top + 1 < band->tree.num_levels)
    known = *node_of(band, top + 1, x, y);
  for (uint32_t level = top + 1; level-- > 0;) {
    uint32_t value = *node_of(band, level, x, y);
    add_value(block, value - known, bits);
    known = value;
  }
}

/* Says which of leaf (x, y) and the nodes that begin with it are in the layer. */
static void add_inclusion(const Band *band, uint32_t x, uint32_t y, BlockBits *block,
                          Cj2kPlainBits *bits)
{
  uint32_t top = top_level(band, x, y);

  if (top + 1 < band->tree.num_levels && *node_of(band, top + 1, x, y) == NEVER)
    return;
  for (uint32_t level = top + 1; level-- > 0;) {
    bool is_in = *node_of(band, level, x, y) != NEVER;
    add(block, is_in, 1, bits);
    if (!is_in)
      return;
  }
}

/* The zero bit-planes of leaf (x, y), which is in the layer, and of nodes above it. */
static void add_zero_bitplanes(const Band *band, uint32_t x, uint32_t y, BlockBits *block,
                               Cj2kPlainBits *bits)
{
  uint32_t level = 1, known = 0;

  for (; level < band->tree.num_levels; level++) {
    uint8_t node = *node_of(band, level, x, y);
    if (node & SENT) {
      known = node & ~SENT & 0xff;
      break;
    }
  }
  while (level-- > 0) {
    uint8_t *node = node_of(band, level, x, y);
    add_value(block, *node - known, bits);
    known = *node;
    *node |= SENT;
  }
}

/* ------------------------------------------------------------------------------ blocks --- */

/* One pass: a zero for the number of passes, Lblock's increment, the length. */
static inline void add_pass(BlockBits *block, uint32_t length, Cj2kPlainBits *bits)
{
  uint32_t size = cj2k_length_bits(length, 1, 3);

  if (G_UNLIKELY(size > 19)) { /* two words */
    add(block, 0, 1, bits);
    append(block, bits);
    cj2k_plain_put_ones(bits, size - 3);
    cj2k_plain_put(bits, length, size);
    return;
  }
  add(block, (1u << (size - 2)) - 2, size - 1, bits); /* a zero, size - 3 ones, a zero */
  add(block, length, size, bits);
}

/* Several passes, or what may have several segments. */
static void put_passes(const Cj2kPacketSource *source, uint32_t b, uint32_t passes, uint8_t style,
                       uint32_t length, Cj2kPlainBits *bits)
{
  uint8_t lblock = 3;

  cj2k_send_num_passes(bits, passes);
  if (style == CJ2K_STYLE_BYPASS && passes > 10)
    cj2k_send_bypass(bits, source->passes + source->blocks[b].first_pass, passes, &lblock);
  else if (style)
    cj2k_send_lengths(bits, source, b, 0, passes, style == CJ2K_STYLE_BYPASS, &lblock);
  else
    cj2k_send_length(bits, length, passes, &lblock);
}

/* Prefetches the passes of a block: blocks have theirs anywhere, and a GPU has written them. */
static inline void prefetch_passes(const Cj2kPacketSource *source, uint32_t b)
{
  const Cj2kPassLength *passes = source->passes + source->blocks[b].first_pass;

  __builtin_prefetch(passes);
  __builtin_prefetch(passes + 16);
}

/* Writes all blocks. `whole`: all are in the layer. */
static inline uint64_t put_blocks(const Cj2kSingleLayer *single, const Cj2kPlanPrecinctBand *range,
                                  const Band *band, uint8_t style, bool whole, Cj2kPlainBits *out)
{
  const Cj2kPacketSource *source = single->source;
  uint32_t b = range->first_block, last = b + range->blocks_x * range->blocks_y - 1;
  bool prefetches = style && !(style & CJ2K_STYLE_HT);
  Cj2kPlainBits bits = *out; /* in registers */
  BlockBits block = {0};
  uint64_t body = 0;

  for (uint32_t y = 0; y < range->blocks_y; y++)
    for (uint32_t x = 0; x < range->blocks_x; x++, b++) {
      uint32_t passes = source->retained[b];
      if (prefetches)
        prefetch_passes(source, MIN(b + AHEAD, last));
      single->starts[b] = body;
      if (whole)
        add_trees(band, x, y, &block, &bits);
      else
        add_inclusion(band, x, y, &block, &bits);
      if (!whole && passes)
        add_zero_bitplanes(band, x, y, &block, &bits);
      if (passes) {
        uint32_t length = cj2k_layer_bytes_of(source, b, 0, passes);
        if (passes == 1) {
          add_pass(&block, length, &bits);
        } else {
          append(&block, &bits);
          put_passes(source, b, passes, style, length, &bits);
        }
        body += length;
      }
      append(&block, &bits);
    }
  *out = bits;
  return body;
}

bool cj2k_single_write(const Cj2kSingleLayer *single, const Cj2kPlanPrecinctBand *range,
                       uint8_t style, Cj2kPlainBits *bits, uint64_t *body_size)
{
  Band band = {.nodes = single->nodes + range->first_node};
  uint32_t count = set_leaves(single, range, band.nodes);

  if (!count)
    return false;
  style &= CJ2K_STYLE_ENDS;
  cj2k_tag_tree_init(&band.tree, range->blocks_x, range->blocks_y);
  /* there is a leaf. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
  band.root_bit = 1u << (band.tree.num_levels - 1);
  fill_tree(&band, range->blocks_y);
  if (count == range->blocks_x * range->blocks_y)
    *body_size = put_blocks(single, range, &band, style, true, bits);
  else
    *body_size = put_blocks(single, range, &band, style, false, bits);
  return true;
}
