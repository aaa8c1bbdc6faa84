/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tagtree.h"

uint64_t cj2k_tag_tree_num_nodes(uint32_t width, uint32_t height)
{
  uint64_t nodes = (uint64_t)width * height;

  if (nodes == 0)
    return 0;
  while (width > 1 || height > 1) {
    width = (width >> 1) + (width & 1);
    height = (height >> 1) + (height & 1);
    nodes += (uint64_t)width * height;
  }
  return nodes;
}

void cj2k_tag_tree_init(Cj2kTagTree *tree, uint32_t width, uint32_t height)
{
  uint32_t offset = 0, level = 0;

  tree->num_levels = 0;
  if (width == 0 || height == 0)
    return;
  for (;;) {
    tree->width[level] = width;
    tree->offset[level] = offset;
    offset += width * height;
    level++;
    if ((width == 1 && height == 1) || level == CJ2K_TAG_TREE_LEVELS)
      break;
    width = (width + 1) >> 1;
    height = (height + 1) >> 1;
  }
  tree->num_levels = level;
}

void cj2k_tag_tree_descend(const Cj2kTagTree *tree, Cj2kTagNode *nodes, uint32_t x, uint32_t y,
                           uint32_t threshold, Cj2kBitReader *bits)
{
  Cj2kTagNode *node;
  uint32_t level = 1;

  /* Everything above a node that needs no bits has been refined at least as far. */
  while (level + 1 < tree->num_levels) {
    node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
    if (node->known || node->low >= threshold)
      break;
    level++;
  }
  node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
  cj2k_tag_node_refine(node, threshold, bits);
  while (level > 1) {
    uint16_t low = node->low;

    node = &nodes[cj2k_tag_tree_node(tree, --level, x, y)];
    if (node->low < low)
      node->low = low;
    cj2k_tag_node_refine(node, threshold, bits);
  }
}
