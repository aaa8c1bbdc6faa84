/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What packet headers say of a code-block's passes (T.800 B.10.6, B.10.7), for the two readers of
 * headers: their number, and the lengths of segments where one word or a few hold them all.
 * write_lengths.h writes them.
 */
#ifndef CJ2K_CODESTREAM_READ_LENGTHS_H
#define CJ2K_CODESTREAM_READ_LENGTHS_H

#include "tile_reader.h"

#define CJ2K_LOG2(n) (31u - (uint32_t)__builtin_clz(n))
/* The first ten passes are always MQ coded with BYPASS (table D.9). */
#define CJ2K_BYPASS_START 10u

/* The number of passes with which a window of at least 16 bits begins (table B.4); *used: its bits.
 * Most code-blocks have six or more, which are tested first. */
static inline uint32_t cj2k_passes_of(uint64_t window, uint32_t *used)
{
  uint32_t two = (uint32_t)(window >> 60) & 3, five = (uint32_t)(window >> 55) & 31;

  if (window >> 60 == 15 && five < 31) {
    *used = 9;
    return 6 + five;
  }
  if (!(window >> 63)) {
    *used = 1;
    return 1;
  }
  if (!(window >> 62 & 1)) {
    *used = 2;
    return 2;
  }
  if (two < 3) {
    *used = 4;
    return 3 + two;
  }
  *used = 16;
  return 37 + ((uint32_t)(window >> 48) & 127);
}

/* Takes what the header says of an HT code-block with one pass: a zero for the number of passes, a
 * one for each step of Lblock, a zero, and the length, which is not zero. The window has at least
 * 32 bits. false: that is not what it says, and nothing is taken. */
static inline bool cj2k_take_cleanup(Cj2kBitReader *bits, uint32_t *lblock, uint32_t *length)
{
  uint32_t more = (uint32_t)__builtin_clzll(~(bits->window << 1)), n = 2 + more + 3 + more;

  if (bits->window >> 63 || n > bits->count)
    return false;
  *lblock = 3 + more;
  *length = (uint32_t)(bits->window << (2 + more) >> (61 - more));
  if (!*length)
    return false;
  bits->window <<= n;
  bits->count -= n;
  return true;
}

#define CJ2K_MAX_RUN_LBLOCK 13u /* with it, two pairs of lengths fit in a window */
#define CJ2K_MAX_LBLOCK_3   8u  /* with it, three do */
G_STATIC_ASSERT(2 * (2 * CJ2K_MAX_RUN_LBLOCK + 1) <= 56 && CJ2K_MAX_RUN_LBLOCK + 3 <= 24);
G_STATIC_ASSERT(3 * (2 * CJ2K_MAX_LBLOCK_3 + 1) <= 56);

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
  if (lblock <= CJ2K_MAX_LBLOCK_3)
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
