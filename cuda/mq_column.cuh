// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The state of a column of four samples in one 32-bit word, so that the states of many blocks fit
 * into shared memory. As in common/cpu/mq_blocks.h the window of sample i is at bit 3i and what
 * belongs to samples is three bits apart:
 *
 *   bits 3r+c, r = 0..5, c = 0..2   significance of row r - 1, in the column to the left, this one
 *                                   and the one to the right
 *   bit 18+3i   sample i was coded in this bit-plane's significance propagation pass
 *   bit 19+3i   sample i has been refined before
 *   bit 20+3i   sample i is significant and negative
 *   bit 30, 31  the sample above the column, the one below it, is significant and negative
 *
 * The signs of the columns to the left and to the right are read from their own words.
 */
#pragma once

#include <cstdint>

extern "C" {
#include "../common/cpu/mq_blocks.h"
}

constexpr uint32_t kColumnSign = 20, kColumnSignAbove = 30, kColumnSignBelow = 31;
constexpr uint32_t kColumnCodedBits = CJ2K_MQ_ROWS << CJ2K_MQ_CODED;

/* Samples, as bits of CJ2K_MQ_ROWS, by what is known of them. */
__device__ __forceinline__ uint32_t column_significant(uint32_t word)
{
  return word >> CJ2K_MQ_SELF & CJ2K_MQ_ROWS;
}

__device__ __forceinline__ uint32_t column_coded(uint32_t word)
{
  return word >> CJ2K_MQ_CODED & CJ2K_MQ_ROWS;
}

/* Insignificant ones with a significant neighbour. */
__device__ __forceinline__ uint32_t column_candidates(uint32_t word)
{
  uint32_t window = word & CJ2K_MQ_WINDOWS, rows = window | window >> 1 | window >> 2;
  return (rows | rows >> 3 | rows >> 6) & ~(word >> CJ2K_MQ_SELF) & CJ2K_MQ_ROWS;
}

/* Row 0..3 of the sample whose window is at bit `at`. */
__device__ __forceinline__ uint32_t column_row(uint32_t at)
{
  return at * 11 >> 5;
}

/* Label of the magnitude refinement context (table D.4). */
__device__ __forceinline__ uint32_t refinement_label(uint32_t word, uint32_t at)
{
  if (word >> (CJ2K_MQ_REFINED + at) & 1)
    return CJ2K_CX_MAG + 2;
  return CJ2K_CX_MAG + ((word >> at & 0x1EF) != 0);
}

/* Index of the sign table (tables/mq_contexts.h): significance of N W E S in bits 1 3 5 7, whether
 * they are negative in the bits below. */
__device__ __forceinline__ uint32_t sign_index(uint32_t word, uint32_t left, uint32_t right,
                                               uint32_t at)
{
  uint32_t rows = (word >> (kColumnSign - 3) & CJ2K_MQ_ROWS << 3) | (word >> kColumnSignAbove & 1) |
                  word >> kColumnSignBelow << 15;
  return (word >> at & 0xAA) | (rows >> at & 0x41) | (left >> (kColumnSign + at) & 1) << 2 |
         (right >> (kColumnSign + at) & 1) << 4;
}
