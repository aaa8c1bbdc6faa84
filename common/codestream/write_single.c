/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_single.h"

#include "tagtree.h"
#include "write_lengths.h"

#define NEVER 0x7f /* value of a node with no block in the layer; P of B.10.5 is at most 74 */
#define SENT  0x80 /* flag of a node whose zero bit-planes were sent */
#define AHEAD 8    /* blocks whose passes are prefetched */

/* A band of a precinct. */
typedef struct {
  Cj2kTagTree tree;
  uint32_t root_bit; /* 1 << level of the root */
  uint32_t last;     /* number of the last block */
  uint8_t *nodes;    /* least number of zero bit-planes, or NEVER */
  uint8_t style;     /* where its segments may end: bits of CJ2K_STYLE_ENDS */
  bool whole;        /* all blocks are in the layer */
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

  if (source->header_bits) {
    cj2k_send_header_bits(bits, source->header_bits + source->blocks[b].first_pass);
    return;
  }
  cj2k_send_num_passes(bits, passes);
  if (style == CJ2K_STYLE_BYPASS && passes > 10)
    cj2k_send_bypass(bits, source->passes + source->blocks[b].first_pass, passes, &lblock);
  else if (style)
    cj2k_send_lengths(bits, source, b, 0, passes, style == CJ2K_STYLE_BYPASS, &lblock);
  else
    cj2k_send_length(bits, length, passes, &lblock);
}

/* Prefetches the passes of a block, or its bits: blocks have theirs anywhere, and a GPU has written
 * them. */
static inline void prefetch_passes(const Cj2kPacketSource *source, uint32_t b)
{
  uint32_t first = source->blocks[b].first_pass;

  if (source->header_bits) {
    __builtin_prefetch(source->header_bits + first);
    return;
  }
  __builtin_prefetch(source->passes + first);
  __builtin_prefetch(source->passes + first + 16);
}

/* One block whose tree bits cannot be told from its parent alone, or which has several passes.
 * Returns its bytes. */
static uint32_t put_block(const Cj2kSingleLayer *single, const Band *band, uint32_t x, uint32_t y,
                          uint32_t b, Cj2kPlainBits *bits)
{
  const Cj2kPacketSource *source = single->source;
  uint32_t passes = source->retained[b], length = 0;
  BlockBits block = {0};

  if (band->whole)
    add_trees(band, x, y, &block, bits);
  else
    add_inclusion(band, x, y, &block, bits);
  if (!band->whole && passes)
    add_zero_bitplanes(band, x, y, &block, bits);
  if (passes) {
    length = cj2k_layer_bytes_of(source, b, 0, passes);
    if (passes == 1) {
      add_pass(&block, length, bits);
    } else {
      append(&block, bits);
      put_passes(source, b, passes, band->style, length, bits);
    }
  }
  append(&block, bits);
  return length;
}

/* A row of blocks, and the nodes above it. */
typedef struct {
  const Band *band;
  uint32_t y, b;                        /* its first block */
  uint8_t *nodes[CJ2K_TAG_TREE_LEVELS]; /* of each level */
} Row;

/* The bits of a block of one pass whose nearest ancestor that is not sent with it has been sent: a
 * one for itself and for each node that is sent with it, their zero bit-planes from the top on, and
 * what add_pass() adds. Returns their number; 0: more than fit into a word. */
static inline uint32_t simple_bits(const Row *row, uint32_t x, uint32_t top, uint32_t known,
                                   uint32_t length, uint64_t *word)
{
  uint32_t size = 32u - (uint32_t)__builtin_clz(length | 4), n = top + 1;
  uint64_t trees = (UINT64_C(2) << top) - 1;

  for (uint32_t level = top + 1; level-- > 0;) {
    uint32_t value = row->nodes[level][x >> level], zeros = value - known;
    if (G_UNLIKELY(n + zeros >= MOST_BITS))
      return 0;
    trees = trees << (zeros + 1) | 1;
    n += zeros + 1;
    known = value;
  }
  n += 2 * size - 1;
  *word = (trees << (size - 1) | ((UINT64_C(1) << (size - 2)) - 2)) << size | length;
  return n <= MOST_BITS ? n : 0;
}

/* Cj2kPlainBits in registers, for bits of which at most MOST_BITS are appended at a time. */
typedef struct {
  uint8_t *at;     /* NULL: they are in Cj2kPlainBits */
  uint64_t window; /* the lowest `count` bits wait, fewer than eight */
  uint32_t count;
} Words;

static inline Words begin_words(Cj2kPlainBits *bits, uint32_t blocks)
{
  cj2k_plain_drain(bits);
  cj2k_bytes_reserve(bits->out, (size_t)blocks * sizeof(uint64_t) + 16);
  return (Words){bits->out->data + bits->out->size, bits->window, bits->count};
}

static inline void end_words(Words *words, Cj2kPlainBits *bits)
{
  if (words->at) {
    bits->out->size = (size_t)(words->at - bits->out->data);
    bits->window = words->window;
    bits->count = words->count;
    words->at = NULL;
  }
}

/* Without a branch, because how many bytes become whole is hard to foresee. */
static inline void put_word(Words *words, uint64_t word, uint32_t n)
{
  uint32_t count = words->count + n;

  words->window = words->window << n | word;
  uint64_t bytes = GUINT64_TO_BE(words->window << (64 - count));
  memcpy(words->at, &bytes, sizeof bytes);
  words->at += count / 8;
  words->count = count % 8;
}

/* Writes a row whose first block begins at `body` in that of the band. Returns where its last one
 * ends. Most blocks have one pass, and bits that fit into a word. */
static uint64_t put_row(const Cj2kSingleLayer *single, const Row *row, uint64_t body,
                        Cj2kPlainBits *bits)
{
  const Cj2kPacketSource *source = single->source;
  const Band *band = row->band;
  uint32_t width = band->tree.width[0], levels = band->tree.num_levels, b = row->b, n;
  bool whole = band->whole, prefetches = band->style && !(band->style & CJ2K_STYLE_HT);
  Words words = {0};
  uint64_t word;

  for (uint32_t x = 0; x < width; x++, b++) {
    uint32_t top = (uint32_t)__builtin_ctz(x | row->y | band->root_bit);
    uint32_t above = top + 1 < levels ? row->nodes[top + 1][x >> (top + 1)] : SENT;
    if (prefetches)
      prefetch_passes(source, MIN(b + AHEAD, band->last));
    single->starts[b] = body;
    if (G_LIKELY(source->retained[b] == 1 && (whole || above & SENT))) {
      uint32_t length = cj2k_layer_bytes_of(source, b, 0, 1);
      n = simple_bits(row, x, top, above & ~SENT & 0xff, length, &word);
      if (G_LIKELY(n)) {
        if (!words.at)
          words = begin_words(bits, width - x);
        for (uint32_t level = top; level > 0 && !whole; level--)
          /* root_bit makes `top` a level. NOLINTNEXTLINE(clang-analyzer-core.*) */
          row->nodes[level][x >> level] |= SENT;
        put_word(&words, word, n);
        body += length;
        continue;
      }
    }
    end_words(&words, bits);
    body += put_block(single, band, x, row->y, b, bits);
  }
  end_words(&words, bits);
  return body;
}

/* Writes all blocks. Returns their bytes. */
static uint64_t put_rows(const Cj2kSingleLayer *single, const Band *band, uint32_t first,
                         uint32_t height, Cj2kPlainBits *bits)
{
  uint32_t width = band->tree.width[0];
  uint64_t body = 0;
  Row row = {.band = band};

  for (uint32_t y = 0; y < height; y++) {
    row.y = y;
    row.b = first + y * width;
    for (uint32_t level = 0; level < band->tree.num_levels; level++)
      row.nodes[level] = node_of(band, level, 0, y);
    body = put_row(single, &row, body, bits);
  }
  return body;
}

bool cj2k_single_write(const Cj2kSingleLayer *single, const Cj2kPlanPrecinctBand *range,
                       uint8_t style, Cj2kPlainBits *bits, uint64_t *body_size)
{
  uint32_t size = range->blocks_x * range->blocks_y;
  Band band = {.nodes = single->nodes + range->first_node, .last = range->first_block + size - 1};
  uint32_t count = set_leaves(single, range, band.nodes);

  if (!count)
    return false;
  band.style = style & CJ2K_STYLE_ENDS;
  band.whole = count == size;
  cj2k_tag_tree_init(&band.tree, range->blocks_x, range->blocks_y);
  /* there is a leaf. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
  band.root_bit = 1u << (band.tree.num_levels - 1);
  fill_tree(&band, range->blocks_y);
  *body_size = put_rows(single, &band, range->first_block, range->blocks_y, bits);
  return true;
}
