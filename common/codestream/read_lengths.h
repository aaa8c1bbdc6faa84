/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lengths of codeword segments in packet headers with selective arithmetic coding bypass (T.800
 * B.10.7.2, table D.9), as write_lengths.h writes them.
 */
#ifndef CJ2K_CODESTREAM_READ_LENGTHS_H
#define CJ2K_CODESTREAM_READ_LENGTHS_H

#include "tile_reader.h"

#define CJ2K_BYPASS_START 10u /* passes that are always MQ coded */

#define CJ2K_MAX_RUN_LBLOCK 13u /* with it, two pairs of lengths fit in a window */
#define MAX_LBLOCK_3        8u  /* with it, three do */
G_STATIC_ASSERT(2 * (2 * CJ2K_MAX_RUN_LBLOCK + 1) <= 56 && CJ2K_MAX_RUN_LBLOCK + 3 <= 24);
G_STATIC_ASSERT(3 * (2 * MAX_LBLOCK_3 + 1) <= 56);

/* Reads `pairs` pairs of lengths with BYPASS: a segment of raw SigProp and MagRef, and one of a
 * cleanup pass. `at_once` of them are taken apart in each round, even if fewer are left, because
 * what depends on the number cannot be predicted. Returns the end of the segments, and adds their
 * bytes to *sum. */
static inline __attribute__((always_inline)) Cj2kSegment *
cj2k_read_pairs(Cj2kBitReader *bits, Cj2kSegment *next, uint32_t lblock, uint32_t pairs,
                uint32_t at_once, uint32_t *sum)
{
  uint32_t both = 2 * lblock + 1, cleanup_mask = (1u << lblock) - 1;
  uint32_t raw_mask = cleanup_mask << 1 | 1, length = 0;

  while (pairs > 0) {
    uint32_t n = MIN(pairs, at_once);

    cj2k_bits_refill(bits); /* whether it is needed cannot be predicted, either */
    uint64_t window = bits->window;
    for (uint32_t i = 0; i < at_once; i++) {
      window = window << both | window >> (64 - both);
      uint32_t cleanup = (uint32_t)window & cleanup_mask;
      uint32_t raw = (uint32_t)window >> lblock & raw_mask;
      next[2 * i] = cj2k_segment(raw, 2);
      next[2 * i + 1] = cj2k_segment(cleanup, 1);
      length += (raw + cleanup) & -(uint32_t)(i < n);
    }
    next += 2 * n;
    bits->window <<= n * both;
    bits->count -= n * both;
    pairs -= n;
  }
  *sum += length;
  return next;
}

/* Reads the lengths of `passes` passes after the start of selective arithmetic coding bypass, or
 * after a cleanup pass. The last pair may be incomplete. */
static inline __attribute__((always_inline)) Cj2kSegment *
cj2k_read_bypass(Cj2kBitReader *bits, Cj2kSegment *next, uint32_t lblock, uint32_t passes,
                 uint32_t *sum)
{
  if (lblock <= MAX_LBLOCK_3)
    next = cj2k_read_pairs(bits, next, lblock, passes / 3, 3, sum);
  else
    next = cj2k_read_pairs(bits, next, lblock, passes / 3, 2, sum);
  if (passes % 3 > 0) {
    uint32_t raw = cj2k_bits_get(bits, lblock + passes % 3 - 1);
    *next++ = cj2k_segment(raw, passes % 3);
    *sum += raw;
  }
  return next;
}

#endif
