/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What MQ decoder and encoder share: the states of columns of four samples, coding passes and
 * codeword segments (T.800 annexes C, D).
 *
 * A block is cut into stripes of four rows, a stripe into columns. One 64-bit word holds all that
 * coding a column needs, so that contexts and membership of passes are found with a few shifts:
 *
 *   bits 3r+c, r = 0..5, c = 0..2   significance of the row above the column, its four rows and the
 *                                   row below (r); of the column to the left, itself, to the right
 *   bits 18+3i                      sample i was coded in the significance propagation pass
 *   bits 19+3i                      sample i has been refined before
 *   bits 32+3r+c                    the sample is significant and negative
 *
 * So the window of sample i (tables/mq_contexts.h) is at bit 3i, and what belongs to its samples
 * can be compared for the four at once, three bits apart. Words are in rows of width + 2, with a
 * row above and below: neighbours outside the block are never significant (D.3).
 */
#ifndef CJ2K_CPU_MQ_BLOCKS_H
#define CJ2K_CPU_MQ_BLOCKS_H

#include "common/codestream/coded.h"
#include "common/shared/tables/mq_contexts.h"
#include "common/shared/tables/mq_states.h"

#define CJ2K_MQ_MAX_SAMPLES 4096
/* (stripes + 2) * (width + 2) is largest for 1024 x 4. */
#define CJ2K_MQ_MAX_WORDS (3 * (1024 + 2))

#define CJ2K_MQ_ROWS       0x249u /* one bit for each sample of a column */
#define CJ2K_MQ_WINDOWS    0x3ffffu
#define CJ2K_MQ_SELF       4  /* significance of sample 0 */
#define CJ2K_MQ_CODED      18 /* in the significance propagation pass */
#define CJ2K_MQ_REFINED    19
#define CJ2K_MQ_SIGN       32
#define CJ2K_MQ_CODED_BITS ((uint64_t)CJ2K_MQ_ROWS << CJ2K_MQ_CODED)

/*
 * A context is one word: Qe in bits 15..0, the MPS in bit 16, and in bits 23..16 the index of its
 * row in cj2k_mq_next, whose entries are the words after an MPS and after an LPS that renormalise.
 */
#define CJ2K_MQ_MPS_SHIFT 16
extern const uint32_t cj2k_mq_next[2 * CJ2K_MQ_NUM_STATES][2];

/* Labels of zero coding by orientation and window (table D.1), of sign coding (tables D.2, D.3). */
extern const uint8_t cj2k_mq_zero_contexts[4][512];
extern const uint8_t cj2k_mq_sign_contexts[256];

typedef struct {
  uint32_t words[CJ2K_CX_COUNT]; /* by label */
} Cj2kMqContexts;

/* Initial states (table D.7). */
void cj2k_mq_reset_contexts(Cj2kMqContexts *contexts);

/* The CUDA back end uses the rules for passes as well. */
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

/* How many bit-planes below the first one a pass is. */
CJ2K_MQ_RULE unsigned cj2k_pass_depth(unsigned pass)
{
  return (pass + 2) / 3;
}

#define CJ2K_FIRST_RAW_PASS 10 /* the fifth bit-plane's significance propagation (D.6) */

/* Table D.9: does a codeword segment end with this pass, apart from the last one? */
CJ2K_MQ_RULE bool cj2k_pass_ends_segment(unsigned pass, uint8_t style)
{
  if (style & CJ2K_STYLE_TERMALL)
    return true;
  return (style & CJ2K_STYLE_BYPASS) && pass + 1 >= CJ2K_FIRST_RAW_PASS &&
         cj2k_pass_type(pass) != CJ2K_PASS_SIGNIFICANCE;
}

/* D.6: is the pass written as bits, without arithmetic coding? */
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

/* Samples, as bits of CJ2K_MQ_ROWS among others, that have a significant neighbour. */
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
 * Makes the sample at `at` of the column `word` (kept in a register by the caller, stored at
 * `column` later) significant with a sign, for all neighbours. With CAUSAL (D.7) the stripe above
 * does not learn of it.
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
