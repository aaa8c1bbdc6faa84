/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tag trees in packet headers of codestreams with a single layer, read as write_single.h writes
 * them: inclusion takes one bit a node, zero bit-planes are read completely with the first block
 * below a node that is in the layer, and nodes begin with their first leaf in raster order. So one
 * tree does for both, its leaves need not be kept, and no node is read before it was set.
 */
#ifndef CJ2K_CODESTREAM_READ_SINGLE_H
#define CJ2K_CODESTREAM_READ_SINGLE_H

#include "tagtree.h"

#define CJ2K_MOST_ZERO_BITPLANES 255u

typedef enum { CJ2K_BLOCK_IN, CJ2K_BLOCK_OUT, CJ2K_BLOCK_BROKEN } Cj2kInclusion;

/* `known` of a node: */
enum {
  CJ2K_NODE_OUT,  /* no block below it is in the layer */
  CJ2K_NODE_IN,   /* zero bit-planes of the blocks below it are at least `low` */
  CJ2K_NODE_OPEN, /* it is in the layer, zero bit-planes are not read yet */
};

typedef struct {
  Cj2kTagTree tree;
  uint32_t root_bit;  /* 1 << level of the root */
  Cj2kTagNode *nodes; /* need not be cleared */
} Cj2kSingleTree;

static inline void cj2k_single_tree_init(Cj2kSingleTree *single, Cj2kTagNode *nodes, uint32_t width,
                                         uint32_t height)
{
  cj2k_tag_tree_init(&single->tree, width, height);
  single->root_bit = 1u << (single->tree.num_levels - 1);
  single->nodes = nodes;
}

/* Any case of cj2k_single_read, bit by bit. `top`: the highest node that begins with the leaf;
 * `above`: the one above that. */
Cj2kInclusion cj2k_single_read_any(const Cj2kSingleTree *single, uint32_t x, uint32_t y,
                                   uint32_t top, Cj2kTagNode above, uint8_t *zero_bitplanes,
                                   Cj2kBitReader *bits);

/* Reads what the trees say of leaf (x, y), in raster order. */
static inline Cj2kInclusion cj2k_single_read(const Cj2kSingleTree *single, uint32_t x, uint32_t y,
                                             uint8_t *zero_bitplanes, Cj2kBitReader *bits)
{
  uint32_t top = (uint32_t)__builtin_ctz(x | y | single->root_bit), used = top + 1, low, zeros;
  Cj2kTagNode above = {0, CJ2K_NODE_IN};

  if (top + 1 < single->tree.num_levels)
    above = single->nodes[cj2k_tag_tree_node(&single->tree, top + 1, x, y)];
  if (bits->count < 57)
    cj2k_bits_refill(bits);
  /* nearly always: everything is in the layer, and a word has all bits */
  if (above.known == CJ2K_NODE_IN && !(~bits->window >> (63 - top))) {
    uint64_t window = bits->window << used;
    low = above.low;
    for (uint32_t level = top;; level--) {
      zeros = (uint32_t)__builtin_clzll(window | 1);
      low += zeros;
      used += zeros + 1;
      if (!level)
        break;
      window = window << zeros << 1;
      single->nodes[cj2k_tag_tree_node(&single->tree, level, x, y)] =
          (Cj2kTagNode){(uint16_t)low, CJ2K_NODE_IN};
    }
    if (used <= bits->count && used < 64 && low <= CJ2K_MOST_ZERO_BITPLANES) {
      bits->window <<= used;
      bits->count -= used;
      *zero_bitplanes = (uint8_t)low;
      return CJ2K_BLOCK_IN;
    }
  }
  Cj2kBitReader copy = *bits; /* lets `bits` stay in registers */
  Cj2kInclusion inclusion = cj2k_single_read_any(single, x, y, top, above, zero_bitplanes, &copy);
  *bits = copy;
  return inclusion;
}

#endif
