// SPDX-License-Identifier: LGPL-2.1-or-later
/* Access to shared memory by 32-bit addresses, and copies to it that a thread does not wait for.
 * tests/cuda/quad-readers.cpp defines the guard and has functions of its own. */
#ifndef CJ2K_CUDA_HT_SHARED_MEMORY
#define CJ2K_CUDA_HT_SHARED_MEMORY

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

/* Copies 16 aligned bytes, of which the last ones become zeros where `size` is less, to shared
 * memory, without waiting for them. */
__device__ __forceinline__ void copy_chunk(uint32_t to, const uint8_t *from, uint32_t size)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size)
               : "memory");
#else
  uint32_t words[4];
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t bytes = (uint32_t)max((int32_t)size - 4 * (int32_t)i, 0);
    words[i] = bytes ? __ldg(reinterpret_cast<const uint32_t *>(from) + i) : 0;
    words[i] &= __funnelshift_rc(0xFFFFFFFFu, 0, (uint32_t)max(32 - 8 * (int32_t)bytes, 0));
  }
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3])
               : "memory");
#endif
}

/* Ends a group of copies, and waits for all groups but the last N. */
template <uint32_t N> __device__ __forceinline__ void end_copies()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif
