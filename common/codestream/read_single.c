/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read_single.h"

/* The node of leaf (x, y) at a level; leaves are not kept. */
static void set_node(const Cj2kSingleTree *single, uint32_t level, uint32_t x, uint32_t y,
                     Cj2kTagNode node)
{
  if (level)
    single->nodes[cj2k_tag_tree_node(&single->tree, level, x, y)] = node;
}

/* Zero bit-planes of leaf (x, y), which is in the layer, and of nodes above it. */
static Cj2kInclusion read_zero_bitplanes(const Cj2kSingleTree *single, uint32_t x, uint32_t y,
                                         uint8_t *zero_bitplanes, Cj2kBitReader *bits)
{
  uint32_t level = 1, low = 0;

  for (; level < single->tree.num_levels; level++) {
    Cj2kTagNode node = single->nodes[cj2k_tag_tree_node(&single->tree, level, x, y)];
    if (node.known == CJ2K_NODE_IN) {
      low = node.low;
      break;
    }
  }
  while (level-- > 0) {
    low += cj2k_bits_take_run(bits, false, CJ2K_MOST_ZERO_BITPLANES + 1 - low);
    if (low > CJ2K_MOST_ZERO_BITPLANES)
      return CJ2K_BLOCK_BROKEN;
    cj2k_bits_get1(bits); /* the one that ends the run */
    set_node(single, level, x, y, (Cj2kTagNode){(uint16_t)low, CJ2K_NODE_IN});
  }
  *zero_bitplanes = (uint8_t)low;
  return CJ2K_BLOCK_IN;
}

Cj2kInclusion cj2k_single_read_any(const Cj2kSingleTree *single, uint32_t x, uint32_t y,
                                   uint32_t top, Cj2kTagNode above, uint8_t *zero_bitplanes,
                                   Cj2kBitReader *bits)
{
  bool is_in = above.known != CJ2K_NODE_OUT;

  for (uint32_t level = top + 1; level-- > 0;) {
    is_in = is_in && cj2k_bits_get1(bits);
    set_node(single, level, x, y, (Cj2kTagNode){0, is_in ? CJ2K_NODE_OPEN : CJ2K_NODE_OUT});
  }
  return is_in ? read_zero_bitplanes(single, x, y, zero_bitplanes, bits) : CJ2K_BLOCK_OUT;
}
