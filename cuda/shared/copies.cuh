// SPDX-License-Identifier: LGPL-2.1-or-later
/* Copies to shared memory that a thread does not wait for. */
#pragma once

#include <cstdint>

/* Copies 16 aligned bytes, of which the last ones become zeros where `size` is less, to shared
 * memory, without waiting for them. Before compute capability 8.0 the thread does wait. */
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
