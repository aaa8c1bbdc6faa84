// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Instructions of the GPU that the MQ decoder names itself. Where kernels run on the CPU
 * (tests/cuda/fibers) there are others in their place.
 */
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

/* Leading zeros of a number that is not zero. One instruction; __clz has two, because it also
 * handles zero. */
__device__ __forceinline__ uint32_t leading_zeros(uint32_t word)
{
  uint32_t count;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(count) : "r"(word));
  return count;
}

/* Access to shared memory by 32-bit addresses. They are computed once and kept in registers;
 * pointers into shared memory the compiler computes again at each use, from the thread's number. */
__device__ __forceinline__ uint32_t shared_byte(uint32_t address)
{
  uint32_t byte;
  asm("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address));
  return byte;
}

__device__ __forceinline__ uint32_t shared_word(uint32_t address)
{
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

__device__ __forceinline__ void set_shared_word(uint32_t address, uint32_t word)
{
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(address), "r"(word));
}

/* Atomic operations without a result: the thread does not wait for the old value. */
__device__ __forceinline__ void add_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.or.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

__device__ __forceinline__ void keep_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.and.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

/* Two words of a table, which nothing writes to: hence not volatile. */
__device__ __forceinline__ uint2 shared_pair(uint32_t address)
{
  uint2 pair;
  asm("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "r"(address));
  return pair;
}
