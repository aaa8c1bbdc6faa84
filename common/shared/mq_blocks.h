/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parts of the MQ coder that decoder and encoder share: the states of columns of four samples,
 * coding passes and codeword segments (T.800 annexes C, D).
 *
 * A block is divided into stripes of four rows, a stripe into columns. One 64-bit word holds the
 * state of a column and of its neighbours, so that a few shifts give contexts and membership of
 * passes:
 *
 *   bits 3r+c, r = 0..5, c = 0..2   significance of the row above the column, its four rows and the
 *                                   row below (r); of the column to the left, itself, to the right
 *   bits 18+3i                      sample i was coded in the significance propagation pass
 *   bits 19+3i                      sample i has been refined before
 *   bits 32+3r+c                    the sample is significant and negative
 *
 * The window of sample i (tables/mq_contexts.h) thus begins at bit 3i, and operations on the four
 * samples at once use bits that are three apart. Words are in rows of width + 2, with a
 * row above and below: neighbours outside the block are never significant (D.3).
 */
#ifndef CJ2K_SHARED_MQ_BLOCKS_H
#define CJ2K_SHARED_MQ_BLOCKS_H

#include "common/codestream/coded.h"
#include "common/codestream/header_bits.h"
#include "common/shared/tables/mq_contexts.h"
#include "common/shared/tables/mq_states.h"

#define CJ2K_MQ_MAX_SAMPLES 4096
/* (stripes + 2) * (width + 2) is largest for 1024 x 4. */
#define CJ2K_MQ_MAX_WORDS (3 * (1024 + 2))

#define CJ2K_MQ_ROWS       0x249u /* one bit for each sample of a column */
#define CJ2K_MQ_WINDOWS    0x3ffffu
#define CJ2K_MQ_SELF       4  /* significance of sample 0 */
#define CJ2K_MQ_CODED      18 /* coded in the significance propagation pass */
#define CJ2K_MQ_REFINED    19
#define CJ2K_MQ_SIGN       32
#define CJ2K_MQ_CODED_BITS ((uint64_t)CJ2K_MQ_ROWS << CJ2K_MQ_CODED)

/*
 * A context is one word: Qe in bits 15..0, the MPS in bit 16, and in bits 23..16 the index of its
 * row in cj2k_mq_next, whose entries are the words after an MPS and after an LPS that renormalise.
 */
#define CJ2K_MQ_MPS_SHIFT 16
extern const uint32_t cj2k_mq_next[2 * CJ2K_MQ_NUM_STATES][2];

/* Context labels: of zero coding by orientation and window (table D.1); of sign coding by
 * cj2k_mq_sign_index() (tables D.2, D.3), with the bit to flip the sign by in bit 7. */
extern const uint8_t cj2k_mq_zero_contexts[4][512];
extern const uint8_t cj2k_mq_sign_contexts[256];

typedef struct {
  uint32_t words[CJ2K_CX_COUNT]; /* by label */
} Cj2kMqContexts;

/* Initial states (table D.7). */
void cj2k_mq_reset_contexts(Cj2kMqContexts *contexts);

/* The CUDA back end uses these functions on the device, too. */
#ifdef __CUDACC__
#define CJ2K_MQ_RULE static inline __host__ __device__
#else
#define CJ2K_MQ_RULE static inline
#endif

/* Coding passes in their order: the first bit-plane has a cleanup pass only (D.3). */
enum { CJ2K_PASS_SIGNIFICANCE, CJ2K_PASS_REFINEMENT, CJ2K_PASS_CLEANUP };

CJ2K_MQ_RULE unsigned cj2k_pass_type(unsigned pass)
{
  return (pass + 2) % 3;
}

/* The bit-plane of a pass, counted downwards from the first coded one. */
CJ2K_MQ_RULE unsigned cj2k_pass_depth(unsigned pass)
{
  return (pass + 2) / 3;
}

#define CJ2K_FIRST_RAW_PASS 10 /* the fifth bit-plane's significance propagation (D.6) */

/* Whether a codeword segment ends with this pass (table D.9). The last pass always ends one. */
CJ2K_MQ_RULE bool cj2k_pass_ends_segment(unsigned pass, uint8_t style)
{
  if (style & CJ2K_STYLE_TERMALL)
    return true;
  return (style & CJ2K_STYLE_BYPASS) && pass + 1 >= CJ2K_FIRST_RAW_PASS &&
         cj2k_pass_type(pass) != CJ2K_PASS_SIGNIFICANCE;
}

/* The number of passes of the codeword segment that ends with this pass: those behind the end of
 * the segment before (table D.9). */
CJ2K_MQ_RULE unsigned cj2k_segment_passes(unsigned pass, uint8_t style)
{
  if (style & CJ2K_STYLE_TERMALL)
    return 1;
  if (!(style & CJ2K_STYLE_BYPASS) || pass < CJ2K_FIRST_RAW_PASS)
    return pass + 1;
  return cj2k_pass_type(pass) == CJ2K_PASS_REFINEMENT ? 2 : 1;
}

/* Whether the pass is written as raw bits, without arithmetic coding (D.6). */
CJ2K_MQ_RULE bool cj2k_pass_is_raw(unsigned pass, uint8_t style)
{
  return (style & CJ2K_STYLE_BYPASS) && pass >= CJ2K_FIRST_RAW_PASS &&
         cj2k_pass_type(pass) != CJ2K_PASS_CLEANUP;
}

/* Index of the sign table for the sample whose window is at bit `at` (three times its row). */
static inline unsigned cj2k_mq_sign_index(uint64_t word, unsigned at)
{
  return ((word >> at) & 0xaa) | ((word >> (CJ2K_MQ_SIGN + at + 1)) & 0x55);
}

/* Samples, as bits of CJ2K_MQ_ROWS, that are insignificant and have a significant neighbour. */
static inline unsigned cj2k_mq_candidates(uint32_t word)
{
  uint32_t rows = word | word >> 1 | word >> 2;

  return (rows | rows >> 3 | rows >> 6) & ~(word >> CJ2K_MQ_SELF) & CJ2K_MQ_ROWS;
}

/* Samples that have a significant neighbour, as bits of CJ2K_MQ_ROWS; other bits are undefined. */
static inline uint32_t cj2k_mq_neighbours(uint32_t word)
{
  uint32_t sides = word | word >> 2, row = sides | word >> 1;

  return row | sides >> 3 | row >> 6;
}

/* Row 0..3 of the sample whose window is at bit `at`. */
static inline unsigned cj2k_mq_row(unsigned at)
{
  return (at * 11) >> 5;
}

/*
 * Makes a sample significant, with its sign, in its own column and in all neighbouring ones. `at`
 * is the bit of its window. `word` is the column's state, which the caller keeps in a register and
 * stores at `column` later; the new state is returned. With CAUSAL (D.7) the stripe above is left
 * as it is.
 */
static inline uint64_t cj2k_mq_set_significant(uint64_t *column, uint64_t word, ptrdiff_t pitch,
                                               unsigned at, unsigned negative, bool causal)
{
  uint64_t bit = 1 | (uint64_t)negative << CJ2K_MQ_SIGN;

  column[-1] |= bit << (at + 5);
  column[1] |= bit << (at + 3);
  if (at == 0 && !causal) {
    uint64_t *above = column - pitch;
    above[-1] |= bit << 17;
    above[0] |= bit << 16;
    above[1] |= bit << 15;
  } else if (at == 9) {
    uint64_t *below = column + pitch;
    below[-1] |= bit << 2;
    below[0] |= bit << 1;
    below[1] |= bit;
  }
  return word | bit << (at + 4);
}

#endif
