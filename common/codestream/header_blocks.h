/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one code-block has in the packet header of a single layer (T.800 B.10), without the state of
 * a writer, so that the bits of all blocks can be made at the same time. They are those that
 * write_single.c writes one after the other.
 *
 * An inclusion value is 0 or "never". A node of the inclusion tree is sent with the first leaf
 * below it, in raster order, and only if its parent is in the layer; this follows from the leaf's
 * place. The zero bit-planes of a node are sent with the first leaf below it that is in the layer.
 * Which one that is, a minimum tells like that of the zero bit-planes, and both are in one tree.
 *
 * A packet's header is a bit 1 and the bits of its blocks, bands in order, blocks in raster order;
 * a band without blocks in the layer has the bit of its root, which its first block sends. If no
 * band has blocks in the layer, the header is one bit 0. Bits are stuffed by header_stuffing.h.
 */
#ifndef CJ2K_CODESTREAM_HEADER_BLOCKS_H
#define CJ2K_CODESTREAM_HEADER_BLOCKS_H

#include "coded.h"
#include "header_bits.h"

#include <stdbool.h>

#ifdef __CUDA_ARCH__
#define CJ2K_TRAILING_ZEROS(n)     ((uint32_t)__ffs((int)(n)) - 1u)
#define CJ2K_LEADING_ZEROS(n)      ((uint32_t)__clz((int)(n)))
#define CJ2K_HEADER_OR(word, bits) ((void)atomicOr(word, bits))
#else
#define CJ2K_TRAILING_ZEROS(n)     ((uint32_t)__builtin_ctz(n))
#define CJ2K_LEADING_ZEROS(n)      ((uint32_t)__builtin_clz(n))
#define CJ2K_HEADER_OR(word, bits) ((void)(*(word) |= (bits)))
#endif

/* ---------------------------------------------------------------------------- the tree --- */

/* Up to 2^13 x 2^13 leaves, as CJ2K_TAG_TREE_LEVELS. */
#define CJ2K_HEADER_LEVELS 16

/* The tree of a band of a precinct. Nodes lie as in tagtree.h. */
typedef struct {
  uint32_t width, height;              /* code-blocks, neither is 0 */
  uint32_t num_levels;                 /* at least 1 */
  uint32_t offset[CJ2K_HEADER_LEVELS]; /* first node of each level */
} Cj2kHeaderTree;

#define CJ2K_HEADER_NONE UINT32_MAX

/* Minima over the leaves below a node that are in the layer; both are CJ2K_HEADER_NONE if there is
 * no such leaf. */
typedef struct {
  uint32_t first; /* number of a leaf in raster order */
  uint32_t least; /* zero bit-planes */
} Cj2kHeaderNode;

/* Nodes in a row or column of a level, of `size` leaves. */
CJ2K_HEADER_RULE uint32_t cj2k_header_level_size(uint32_t size, uint32_t level)
{
  return ((size - 1) >> level) + 1;
}

CJ2K_HEADER_RULE void cj2k_header_tree_init(Cj2kHeaderTree *tree, uint32_t width, uint32_t height)
{
  uint32_t offset = 0, level = 0, w, h;

  tree->width = width;
  tree->height = height;
  do {
    w = cj2k_header_level_size(width, level);
    h = cj2k_header_level_size(height, level);
    tree->offset[level++] = offset;
    offset += w * h;
  } while (w > 1 || h > 1);
  tree->num_levels = level;
}

CJ2K_HEADER_RULE Cj2kHeaderNode cj2k_header_node(const Cj2kHeaderTree *tree,
                                                 const Cj2kHeaderNode *nodes, uint32_t level,
                                                 uint32_t x, uint32_t y)
{
  uint32_t width = cj2k_header_level_size(tree->width, level);

  return nodes[tree->offset[level] + (y >> level) * width + (x >> level)];
}

/* Leaf number `index`. */
CJ2K_HEADER_RULE Cj2kHeaderNode cj2k_header_leaf(bool is_in, uint32_t index,
                                                 uint32_t zero_bitplanes)
{
  Cj2kHeaderNode node;

  node.first = is_in ? index : CJ2K_HEADER_NONE;
  node.least = is_in ? zero_bitplanes : CJ2K_HEADER_NONE;
  return node;
}

CJ2K_HEADER_RULE Cj2kHeaderNode cj2k_header_join(Cj2kHeaderNode a, Cj2kHeaderNode b)
{
  a.first = a.first < b.first ? a.first : b.first;
  a.least = a.least < b.least ? a.least : b.least;
  return a;
}

/* Node number `index` of a level above 0, from those of the level below. */
CJ2K_HEADER_RULE Cj2kHeaderNode cj2k_header_inner(const Cj2kHeaderTree *tree,
                                                  const Cj2kHeaderNode *nodes, uint32_t level,
                                                  uint32_t index)
{
  uint32_t above = cj2k_header_level_size(tree->width, level);
  uint32_t width = cj2k_header_level_size(tree->width, level - 1);
  uint32_t height = cj2k_header_level_size(tree->height, level - 1);
  /* no level is empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
  uint32_t x = 2 * (index % above), y = 2 * (index / above);
  uint32_t right = x + 1 < width, down = y + 1 < height ? width : 0;
  const Cj2kHeaderNode *below = nodes + tree->offset[level - 1] + y * width + x;

  return cj2k_header_join(cj2k_header_join(below[0], below[right]),
                          cj2k_header_join(below[down], below[down + right]));
}

/* The number of inner nodes of a level. */
CJ2K_HEADER_RULE uint32_t cj2k_header_level_nodes(const Cj2kHeaderTree *tree, uint32_t level)
{
  return cj2k_header_level_size(tree->width, level) * cj2k_header_level_size(tree->height, level);
}

/* What a leaf sends of the trees. */
typedef struct {
  uint32_t ones;  /* inclusion: so many bits 1, */
  uint32_t zeros; /* and so many bits 0 behind them, 0 or 1 */
  uint32_t nodes; /* zero bit-planes of so many levels, from the leaf on; 0: it is not in the layer
                   */
  uint32_t known; /* zero bit-planes of the node above these, which the reader knows */
  uint32_t least; /* zero bit-planes of the leaf */
} Cj2kHeaderTrees;

/* A leaf that is not in the layer. It says so, or which node above it is not, unless a leaf before
 * it has said that. */
CJ2K_HEADER_RULE void cj2k_header_leave_out(const Cj2kHeaderTree *tree, const Cj2kHeaderNode *nodes,
                                            uint32_t x, uint32_t y, uint32_t top,
                                            Cj2kHeaderTrees *trees)
{
  if (top + 1 < tree->num_levels &&
      cj2k_header_node(tree, nodes, top + 1, x, y).first == CJ2K_HEADER_NONE)
    return;
  while (cj2k_header_node(tree, nodes, top - trees->ones, x, y).first != CJ2K_HEADER_NONE)
    trees->ones++; /* ends at the leaf */
  trees->zeros = 1;
}

/* `nodes` are those of the tree. */
CJ2K_HEADER_RULE Cj2kHeaderTrees cj2k_header_trees(const Cj2kHeaderTree *tree,
                                                   const Cj2kHeaderNode *nodes, uint32_t x,
                                                   uint32_t y)
{
  uint32_t index = y * tree->width + x;
  /* The highest level whose node has the leaf as its first one in raster order. */
  uint32_t top = CJ2K_TRAILING_ZEROS(x | y | 1u << (tree->num_levels - 1));
  Cj2kHeaderTrees trees = {0, 0, 0, 0, 0};

  if (nodes[index].first == CJ2K_HEADER_NONE) {
    cj2k_header_leave_out(tree, nodes, x, y, top, &trees);
    return trees;
  }
  trees.ones = top + 1;
  trees.least = nodes[index].least;
  for (trees.nodes = 1; trees.nodes < tree->num_levels; trees.nodes++) {
    Cj2kHeaderNode node = cj2k_header_node(tree, nodes, trees.nodes, x, y);
    if (node.first != index) {
      trees.known = node.least;
      break;
    }
  }
  return trees;
}

/* --------------------------------------------------------------------------- the block --- */

/* A block of the layer. */
typedef struct {
  uint32_t passes;       /* 0: it is not in the layer */
  uint32_t first_passes; /* of them, those in the first codeword segment; there are one or two */
  uint32_t lengths[2];   /* bytes of the segments */
  /* In place of the above but `passes`; each may be NULL. */
  const Cj2kPassLength *ends; /* lengths of all passes, and where segments end, any number of them;
                                 the last pass always ends one */
  const uint32_t *words;      /* what header_bits.h has of the passes */
} Cj2kHeaderBlock;

/* Bits of n without leading zeros. */
CJ2K_HEADER_RULE uint32_t cj2k_header_width(uint32_t n)
{
  return n ? 32u - CJ2K_LEADING_ZEROS(n) : 0;
}

CJ2K_HEADER_RULE uint32_t cj2k_header_log2(uint32_t n)
{
  return 31u - CJ2K_LEADING_ZEROS(n);
}

/* Of `count` passes, the end of the segment that begins with pass `from`. */
CJ2K_HEADER_RULE uint32_t cj2k_header_segment_end(const Cj2kPassLength *ends, uint32_t from,
                                                  uint32_t count)
{
  uint32_t end = from + 1;

  while (end < count && !ends[end - 1].terminated)
    end++;
  return end;
}

/* What all segments of a block need. */
typedef struct {
  uint32_t lblock; /* behind its increment */
  uint32_t size;   /* bits of all lengths */
} Cj2kHeaderSegments;

CJ2K_HEADER_RULE Cj2kHeaderSegments cj2k_header_segments(const Cj2kPassLength *ends, uint32_t count)
{
  uint32_t all = 4, before = 0, more = 0, n = 0; /* Lblock is at least 3 */
  Cj2kHeaderSegments segments;

  for (uint32_t from = 0, end; from < count; from = end, n++) {
    uint32_t length, saved;
    end = cj2k_header_segment_end(ends, from, count);
    length = ends[end - 1].length;
    saved = cj2k_header_log2(end - from);
    all |= (length - before) >> saved;
    more += saved;
    before = length;
  }
  segments.lblock = cj2k_header_width(all);
  segments.size = n * segments.lblock + more;
  return segments;
}

/* Lblock behind its increment (B.10.7.1), of one or two segments. */
CJ2K_HEADER_RULE uint32_t cj2k_header_lblock(const Cj2kHeaderBlock *block)
{
  uint32_t lblock = 3, second = block->passes - block->first_passes;
  uint32_t width = cj2k_header_width(block->lengths[0] >> cj2k_header_log2(block->first_passes));

  lblock = width > lblock ? width : lblock;
  if (!second)
    return lblock;
  width = cj2k_header_width(block->lengths[1] >> cj2k_header_log2(second));
  return width > lblock ? width : lblock;
}

/* Bits for the passes and the lengths of a block that is in the layer. */
CJ2K_HEADER_RULE uint32_t cj2k_header_passes_size(const Cj2kHeaderBlock *block)
{
  uint32_t size, second = block->passes - block->first_passes, lblock;

  if (block->words)
    return block->words[0];
  (void)cj2k_passes_codeword(block->passes, &size);
  if (block->ends) {
    Cj2kHeaderSegments segments = cj2k_header_segments(block->ends, block->passes);
    return size + segments.lblock - 3 + 1 + segments.size;
  }
  lblock = cj2k_header_lblock(block);
  size += lblock - 3 + 1 + lblock + cj2k_header_log2(block->first_passes);
  return second ? size + lblock + cj2k_header_log2(second) : size;
}

/* All bits of a block. */
CJ2K_HEADER_RULE uint32_t cj2k_header_block_size(const Cj2kHeaderTrees *trees,
                                                 const Cj2kHeaderBlock *block)
{
  uint32_t inclusion = trees->ones + trees->zeros;

  if (!trees->nodes)
    return inclusion;
  /* Each node has as many zeros as it is above its parent, and a one. */
  return inclusion + (trees->least - trees->known) + trees->nodes + cj2k_header_passes_size(block);
}

/* Where bits go. Blocks share words, in which each has other bits; before, all bits are zero. */
typedef struct {
  uint32_t *words;
  uint64_t window; /* its lowest `count` bits are the first of *words */
  uint32_t count;  /* less than 32 */
} Cj2kHeaderCursor;

CJ2K_HEADER_RULE Cj2kHeaderCursor cj2k_header_begin(uint32_t *words, uint32_t at)
{
  Cj2kHeaderCursor cursor;

  cursor.words = words + at / 32;
  cursor.window = 0;
  cursor.count = at % 32;
  return cursor;
}

/* The n lowest bits of value, n <= 32; the others must be zero. */
CJ2K_HEADER_RULE void cj2k_header_put(Cj2kHeaderCursor *cursor, uint32_t value, uint32_t n)
{
  cursor->window = cursor->window << n | value;
  cursor->count += n;
  if (cursor->count >= 32) {
    cursor->count -= 32;
    CJ2K_HEADER_OR(cursor->words, (uint32_t)(cursor->window >> cursor->count));
    cursor->words++;
  }
}

CJ2K_HEADER_RULE void cj2k_header_end(const Cj2kHeaderCursor *cursor)
{
  if (cursor->count)
    CJ2K_HEADER_OR(cursor->words, (uint32_t)(cursor->window << (32 - cursor->count)));
}

/* n bits 1, n <= 32. */
CJ2K_HEADER_RULE uint32_t cj2k_header_ones(uint32_t n)
{
  return n ? UINT32_MAX >> (32 - n) : 0;
}

/* n bits 0, for any n. */
CJ2K_HEADER_RULE void cj2k_header_put_zeros(Cj2kHeaderCursor *cursor, uint32_t n)
{
  for (; n > 32; n -= 32)
    cj2k_header_put(cursor, 0, 32);
  cj2k_header_put(cursor, 0, n);
}

CJ2K_HEADER_RULE void cj2k_header_put_words(Cj2kHeaderCursor *cursor, const uint32_t *words)
{
  uint32_t n = *words++;

  for (; n >= 32; n -= 32)
    cj2k_header_put(cursor, *words++, 32);
  if (n)
    cj2k_header_put(cursor, *words >> (32 - n), n);
}

/* The number of passes, and Lblock's increment. */
CJ2K_HEADER_RULE void cj2k_header_put_lblock(Cj2kHeaderCursor *cursor, uint32_t passes,
                                             uint32_t lblock)
{
  uint32_t size, codeword = cj2k_passes_codeword(passes, &size);

  cj2k_header_put(cursor, codeword, size);
  cj2k_header_put(cursor, cj2k_header_ones(lblock - 3) << 1, lblock - 3 + 1);
}

/* The same and the lengths of all segments. */
CJ2K_HEADER_RULE void cj2k_header_put_segments(Cj2kHeaderCursor *cursor, const Cj2kPassLength *ends,
                                               uint32_t count)
{
  uint32_t lblock = cj2k_header_segments(ends, count).lblock, before = 0;

  cj2k_header_put_lblock(cursor, count, lblock);
  for (uint32_t from = 0, end; from < count; from = end) {
    uint32_t length;
    end = cj2k_header_segment_end(ends, from, count);
    length = ends[end - 1].length;
    cj2k_header_put(cursor, length - before, lblock + cj2k_header_log2(end - from));
    before = length;
  }
}

/* The number of passes, Lblock's increment and the lengths. */
CJ2K_HEADER_RULE void cj2k_header_put_passes(Cj2kHeaderCursor *cursor, const Cj2kHeaderBlock *block)
{
  uint32_t second = block->passes - block->first_passes, lblock;

  if (block->words) {
    cj2k_header_put_words(cursor, block->words);
    return;
  }
  if (block->ends) {
    cj2k_header_put_segments(cursor, block->ends, block->passes);
    return;
  }
  lblock = cj2k_header_lblock(block);
  cj2k_header_put_lblock(cursor, block->passes, lblock);
  cj2k_header_put(cursor, block->lengths[0], lblock + cj2k_header_log2(block->first_passes));
  if (second)
    cj2k_header_put(cursor, block->lengths[1], lblock + cj2k_header_log2(second));
}

/* Writes the bits of block (x, y) from bit `at` of `words` on. */
CJ2K_HEADER_RULE void cj2k_header_put_block(const Cj2kHeaderTree *tree, const Cj2kHeaderNode *nodes,
                                            uint32_t x, uint32_t y, const Cj2kHeaderBlock *block,
                                            uint32_t *words, uint32_t at)
{
  Cj2kHeaderTrees trees = cj2k_header_trees(tree, nodes, x, y);
  Cj2kHeaderCursor cursor = cj2k_header_begin(words, at);
  uint32_t known = trees.known;

  cj2k_header_put(&cursor, cj2k_header_ones(trees.ones) << trees.zeros, trees.ones + trees.zeros);
  for (uint32_t level = trees.nodes; level-- > 0;) {
    uint32_t least = cj2k_header_node(tree, nodes, level, x, y).least;
    cj2k_header_put_zeros(&cursor, least - known);
    cj2k_header_put(&cursor, 1, 1);
    known = least;
  }
  if (trees.nodes)
    cj2k_header_put_passes(&cursor, block);
  cj2k_header_end(&cursor);
}

#endif
