// SPDX-License-Identifier: LGPL-2.1-or-later
/* Access to shared memory by 32-bit addresses, with the copies of copies.cuh.
 * tests/cuda/quad-readers.cpp defines the guard and has functions of its own. */
#ifndef CJ2K_CUDA_HT_SHARED_MEMORY
#define CJ2K_CUDA_HT_SHARED_MEMORY

#include "cuda/shared/copies.cuh"

#include <cstdint>

/* The word OFFSET bytes behind `address`. */
template <uint32_t OFFSET = 0> __device__ __forceinline__ uint32_t load_shared(uint32_t address)
{
  uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(value) : "r"(address), "n"(OFFSET));
  return value;
}

/* Two words there; aligned. */
template <uint32_t OFFSET> __device__ __forceinline__ uint2 load_shared_pair(uint32_t address)
{
  uint2 value;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2+%3];"
               : "=r"(value.x), "=r"(value.y)
               : "r"(address), "n"(OFFSET));
  return value;
}

#endif
