/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tag trees, and the reader of bits under them, against a plain implementation of T.800 B.10.2 that
 * takes bit by bit. Input: width, height, number of questions, questions (x, y, threshold), bits.
 */
#include "common/codestream/tagtree.h"
#include "fuzz.h"

#define MAX_SIDE 24

/* One bit at a time, with the stuffing of B.10.1. */
typedef struct {
  const uint8_t *data;
  size_t size, at;
  unsigned bit, left; /* the current byte, and its unread bits */
} PlainBits;

static unsigned plain_bit(PlainBits *bits)
{
  if (!bits->left) {
    bits->left = bits->bit == 0xff ? 7 : 8;
    bits->bit = bits->at < bits->size ? bits->data[bits->at] : 0;
    bits->at++;
  }
  return bits->bit >> --bits->left & 1;
}

typedef struct {
  unsigned low, known;
} PlainNode;

/* From the root down, as the standard describes it. */
static void plain_decode(const Cj2kTagTree *tree, PlainNode *nodes, uint32_t x, uint32_t y,
                         unsigned threshold, PlainBits *bits)
{
  unsigned low = 0;
  for (uint32_t level = tree->num_levels; level-- > 0;) {
    PlainNode *node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
    node->low = MAX(node->low, low);
    while (!node->known && node->low < threshold) {
      if (plain_bit(bits))
        node->known = 1;
      else
        node->low++;
    }
    low = node->low;
  }
}

static void compare(const uint8_t *questions, uint32_t count, const Cj2kTagTree *tree,
                    uint32_t width, uint32_t height, FuzzInput in)
{
  static Cj2kTagNode nodes[2 * MAX_SIDE * MAX_SIDE];
  static PlainNode plain_nodes[2 * MAX_SIDE * MAX_SIDE];
  PlainBits plain = {.data = in.at, .size = fuzz_left(&in)};
  Cj2kBitReader bits;

  memset(nodes, 0, sizeof nodes);
  memset(plain_nodes, 0, sizeof plain_nodes);
  cj2k_bits_init(&bits, in.at, fuzz_left(&in));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t x = questions[3 * i] % width, y = questions[3 * i + 1] % height;
    unsigned threshold = questions[3 * i + 2];
    bool below = cj2k_tag_tree_decode(tree, nodes, x, y, threshold, &bits);
    plain_decode(tree, plain_nodes, x, y, threshold, &plain);
    const PlainNode *leaf = &plain_nodes[y * width + x];
    FUZZ_CHECK(below == (leaf->known && leaf->low < threshold), "question %u", i);
    FUZZ_CHECK(!below || nodes[y * width + x].low == leaf->low, "question %u: %u, not %u", i,
               nodes[y * width + x].low, leaf->low);
    FUZZ_CHECK(cj2k_bits_overrun(&bits) == (plain.at > plain.size), "question %u: overrun", i);
    if (i % 5 == 4)
      for (uint32_t n = threshold % 33, value = cj2k_bits_get(&bits, n); n-- > 0;)
        FUZZ_CHECK((value >> n & 1) == plain_bit(&plain), "question %u: bit %u", i, n);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  FuzzInput in = fuzz_input(data, size);
  uint32_t width = fuzz_range(&in, 1, MAX_SIDE), height = fuzz_range(&in, 1, MAX_SIDE);
  uint32_t count = fuzz_range(&in, 0, 255);
  const uint8_t *questions = in.at;
  Cj2kTagTree tree;

  count = MIN(count, (uint32_t)(fuzz_left(&in) / 3));
  in.at += (size_t)3 * count;
  cj2k_tag_tree_init(&tree, width, height);
  FUZZ_CHECK(cj2k_tag_tree_num_nodes(width, height) ==
                 (uint64_t)tree.offset[tree.num_levels - 1] + 1,
             "%u x %u", width, height);
  compare(questions, count, &tree, width, height, in);
  return 0;
}
