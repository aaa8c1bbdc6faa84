/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tag trees (T.800 B.10.2): geometry for both directions, and decoding. Nodes lie level by level,
 * leaves first, in raster order; a tree of width x height leaves has cj2k_tag_tree_num_nodes of
 * them, the root is the last.
 */
#ifndef CJ2K_CODESTREAM_TAGTREE_H
#define CJ2K_CODESTREAM_TAGTREE_H

#include "bitreader.h"

#include <stdbool.h>
#include <stdint.h>

/* Code-blocks of one precinct and band: at most 2^13 x 2^13, so 14 levels. */
#define CJ2K_TAG_TREE_LEVELS 16

typedef struct {
  uint32_t num_levels;                   /* 0 for an empty tree */
  uint32_t width[CJ2K_TAG_TREE_LEVELS];  /* nodes in a row of each level */
  uint32_t offset[CJ2K_TAG_TREE_LEVELS]; /* first node of each level */
} Cj2kTagTree;

/* Nodes of a tree over width x height leaves; 0 when either is 0. */
uint64_t cj2k_tag_tree_num_nodes(uint32_t width, uint32_t height);
/* Geometry; width and height at most 2^15. */
void cj2k_tag_tree_init(Cj2kTagTree *tree, uint32_t width, uint32_t height);

/* Node of leaf (x, y)'s ancestor at `level`, 0 being the leaf itself. */
static inline uint32_t cj2k_tag_tree_node(const Cj2kTagTree *tree, uint32_t level, uint32_t x,
                                          uint32_t y)
{
  return tree->offset[level] + (y >> level) * tree->width[level] + (x >> level);
}

/* What the reader knows of a node; all zero at the start of a tile. */
typedef struct {
  uint16_t low;   /* the value is at least this */
  uint16_t known; /* the value is `low` */
} Cj2kTagNode;

/* Reads bits of one node until its value is known or at least `threshold`. */
static inline void cj2k_tag_node_refine(Cj2kTagNode *node, uint32_t threshold, Cj2kBitReader *bits)
{
  uint32_t max_zeros, zeros;

  if (node->known || node->low >= threshold)
    return;
  max_zeros = threshold - node->low;
  if (bits->count < 32)
    cj2k_bits_refill(bits);
  zeros = (uint32_t)__builtin_clzll(bits->window | 1);
  if (zeros < max_zeros &&
      zeros + 1 < bits->count) { /* nearly always: all bits are in the window */
    node->low = (uint16_t)(node->low + zeros);
    node->known = 1;
    bits->window <<= zeros + 1;
    bits->count -= zeros + 1;
    return;
  }
  node->low = (uint16_t)(node->low + cj2k_bits_take_run(bits, false, max_zeros));
  if (node->low < threshold)
    node->known = (uint16_t)cj2k_bits_get1(bits);
}

/* Refines the ancestors of leaf (x, y), from the nearest one that needs no bits down to the leaf's
 * parent. */
void cj2k_tag_tree_descend(const Cj2kTagTree *tree, Cj2kTagNode *nodes, uint32_t x, uint32_t y,
                           uint32_t threshold, Cj2kBitReader *bits);

/*
 * Reads as many bits as are needed to tell whether leaf (x, y)'s value is below `threshold`
 * (B.10.2: partial threshold). true: it is, and nodes[leaf].low is the value.
 */
static inline bool cj2k_tag_tree_decode(const Cj2kTagTree *tree, Cj2kTagNode *nodes, uint32_t x,
                                        uint32_t y, uint32_t threshold, Cj2kBitReader *bits)
{
  Cj2kTagNode *leaf = &nodes[y * tree->width[0] + x];

  if (leaf->known || leaf->low >= threshold)
    return leaf->low < threshold;
  if (tree->num_levels > 1) {
    const Cj2kTagNode *parent = &nodes[cj2k_tag_tree_node(tree, 1, x, y)];

    if (!parent->known && parent->low < threshold) { /* one leaf in four, or less */
      Cj2kBitReader copy = *bits;                    /* lets `bits` stay in registers */
      cj2k_tag_tree_descend(tree, nodes, x, y, threshold, &copy);
      *bits = copy;
    }
    leaf->low = MAX(leaf->low, parent->low);
  }
  cj2k_tag_node_refine(leaf, threshold, bits);
  return leaf->known && leaf->low < threshold;
}

#endif
