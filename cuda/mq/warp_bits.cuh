// SPDX-License-Identifier: LGPL-2.1-or-later
/* A string of bits in shared memory, which the lanes of a warp put there together. */
#pragma once

#include "cuda/shared/warp.cuh"

#include <cstdint>

namespace {

/* All lanes call the functions. */
struct WarpBits {
  uint32_t *words; /* the first bit highest */
  uint32_t lane;
  uint32_t count; /* bits so far, the same in all lanes */

  __device__ void begin(uint32_t num_words)
  {
    for (uint32_t i = lane; i < num_words; i += kWarp)
      words[i] = 0;
    count = 0;
    __syncwarp();
  }

  /* Puts one value of each lane, in the order of lanes, as `size` bits, up to 32: zeros and the
   * value. A value that is not 0 has at least one bit. */
  __device__ void put(uint32_t value, uint32_t size)
  {
    uint32_t sum = scan_warp(size, Add());
    if (value) {
      uint32_t last = count + sum - 1, word = last / 32;
      uint64_t bits = (uint64_t)value << (31 - last % 32);
      atomicOr(&words[word], (uint32_t)bits);
      if (bits >> 32)
        atomicOr(&words[word - 1], (uint32_t)(bits >> 32));
    }
    count += __shfl_sync(kAll, sum, kWarp - 1);
  }
};

} // namespace
