/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of cuda/mq/instructions.cuh. An address counts from the begin of the shared memory. */
#ifndef TESTS_CUDA_FIBERS_INSTRUCTIONS_H
#define TESTS_CUDA_FIBERS_INSTRUCTIONS_H

#include "fibers.h"

inline uint32_t leading_zeros(uint32_t word)
{
  return (uint32_t)__builtin_clz(word);
}

struct Choice {
  uint32_t a, after, value;
};

inline Choice choose(uint32_t high, uint32_t qe, uint32_t upper, uint32_t sign, uint2 after,
                     uint32_t if_one, uint32_t if_zero)
{
  bool lower = high < qe, lps = lower != (upper < qe), one = lps != ((int32_t)sign < 0);

  return {lower ? qe : upper, lps ? after.y : after.x, one ? if_one : if_zero};
}

struct Interval {
  uint32_t a, add;
};

inline Interval choose_interval(uint32_t upper, uint32_t top, uint32_t lps, uint32_t qe)
{
  bool lower = (upper < top) != (lps != 0);

  return {lower ? top : upper, lower ? 0 : qe};
}

inline uint32_t shared_byte(uint32_t address)
{
  return *fibers::shared_at(address, 1);
}

inline uint32_t shared_signed_byte(uint32_t address)
{
  return (uint32_t)(int8_t)shared_byte(address);
}

inline uint32_t shared_word(uint32_t address)
{
  uint32_t word;
  memcpy(&word, fibers::shared_at(address, sizeof word), sizeof word);
  return word;
}

inline void set_shared_word(uint32_t address, uint32_t word)
{
  memcpy(fibers::shared_at(address, sizeof word), &word, sizeof word);
}

inline void add_shared_bits(uint32_t address, uint32_t bits)
{
  set_shared_word(address, shared_word(address) | bits);
}

inline void keep_shared_bits(uint32_t address, uint32_t bits)
{
  set_shared_word(address, shared_word(address) & bits);
}

inline uint2 shared_pair(uint32_t address)
{
  return {shared_word(address), shared_word(address + 4)};
}

#endif
