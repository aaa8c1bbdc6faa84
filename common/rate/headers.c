/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "headers.h"

/* Average bits of the two tag trees: for a block that is in the packet, and for one that is not. Of
 * the latter only a few next to each of the former count. */
#define PRESENT_BITS 3
#define ABSENT_BITS  0.4
#define NEIGHBOURS   4

static uint32_t floor_log2(uint32_t n)
{
  return 31u - (uint32_t)__builtin_clz(n);
}

/* The codeword for the number of passes (table B.4). */
static uint32_t pass_bits(uint32_t passes)
{
  return passes <= 2 ? passes : passes <= 5 ? 4 : passes <= 36 ? 9 : 16;
}

uint32_t cj2k_header_block_bits(uint32_t passes, uint32_t length)
{
  if (!passes)
    return 0;
  /* The length has Lblock + floor(log2(passes)) bits. Lblock starts at 3; a one for each increment
   * and a zero precede (B.10.7.1). */
  uint32_t size = length ? floor_log2(length) + 1 : 0, saved = floor_log2(passes);
  uint32_t lblock = size > 3 + saved ? size - saved : 3;
  return pass_bits(passes) + (lblock - 3) + 1 + lblock + saved;
}

/* The same for one pass, or none if there are no bytes. */
static inline uint32_t single_pass_bits(uint32_t length)
{
  uint32_t lblock = floor_log2(length | 4) + 1;
  return length ? 2 * lblock - 1 : 0;
}

Cj2kHeaderEstimate cj2k_headers_estimate(uint64_t empty, const uint8_t *passes,
                                         const uint32_t *lengths, uint32_t num_blocks,
                                         uint32_t stride)
{
  uint64_t bits = 0, present = 0, count = 0;

  for (uint32_t b = 0; b < num_blocks; b += stride, count++) {
    bits += passes ? cj2k_header_block_bits(passes[b], lengths[b]) : single_pass_bits(lengths[b]);
    present += lengths[b] > 0;
  }
  uint64_t absent = count - present < NEIGHBOURS * present ? count - present : NEIGHBOURS * present;
  uint64_t trees = PRESENT_BITS * present + (uint64_t)(ABSENT_BITS * (double)absent);
  return (Cj2kHeaderEstimate){.least = bits * stride / 8,
                              .expected = empty + (bits + trees) * stride / 8};
}
