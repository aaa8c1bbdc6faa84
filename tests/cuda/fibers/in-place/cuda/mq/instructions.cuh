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

struct Coded {
  uint32_t a, add, context;
};

inline Coded encode_symbol(uint32_t a, uint32_t context, uint32_t lps, uint2 after)
{
  uint32_t top = context << 16, upper = a - top;
  bool lower = (upper < top) != (lps != 0), renormalised = lps || (int32_t)upper >= 0;

  return {lower ? top : upper, lower ? 0 : top, renormalised ? lps ? after.y : after.x : context};
}

inline uint32_t alone(uint32_t number)
{
  return number;
}

inline uint32_t differing(uint32_t first, uint32_t second, uint32_t mask)
{
  return (first ^ second) & mask;
}

inline uint32_t shared_address(const void *memory)
{
  return (uint32_t)__cvta_generic_to_shared(memory);
}

inline uint32_t shared_byte(uint32_t address)
{
  return *fibers::shared_at(address, 1);
}

inline uint32_t shared_signed_byte(uint32_t address)
{
  return (uint32_t)(int8_t)shared_byte(address);
}

template <typename T> inline T shared_value(uint32_t address)
{
  T value;
  memcpy(&value, fibers::shared_at(address, sizeof value), sizeof value);
  return value;
}

template <typename T> inline void set_shared_value(uint32_t address, T value)
{
  memcpy(fibers::shared_at(address, sizeof value), &value, sizeof value);
}

inline uint32_t shared_word(uint32_t address)
{
  return shared_value<uint32_t>(address);
}

inline void set_shared_word(uint32_t address, uint32_t word)
{
  set_shared_value(address, word);
}

inline uint4 shared_four(uint32_t address)
{
  return shared_value<uint4>(address);
}

inline void set_shared_four(uint32_t address, uint4 four)
{
  set_shared_value(address, four);
}

inline void copy_chunk(uint32_t to, const uint8_t *from, uint32_t size)
{
  fibers::begin_copy(to, from, size);
}

template <uint32_t N> inline void end_copies()
{
  fibers::end_copies(N);
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
