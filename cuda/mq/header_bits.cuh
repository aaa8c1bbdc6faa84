// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What packet headers say of the passes of a code-block (common/codestream/header_bits.h). A warp
 * makes the bits of a block where it has found the lengths of the segments. The host would have to
 * read all these lengths from memory, because the GPU has written them, and to write each by
 * itself.
 */
#pragma once

#include "cuda/shared/warp.cuh"

#include <cstdint>

extern "C" {
#include "common/shared/mq_blocks.h"
}

namespace {

/* Bits in shared memory that the lanes of a warp put there together, first bit highest. */
struct HeaderBits {
  uint32_t *words;
  uint32_t lane;
  uint32_t count; /* bits so far, the same in all lanes */

  __device__ void begin(uint32_t num_words)
  {
    for (uint32_t i = lane; i < num_words; i += 32)
      words[i] = 0;
    count = 0;
    __syncwarp();
  }

  /* Puts one value of each lane, in the order of lanes, as `size` bits: zeros and the value. A
   * value that is not 0 has at least one bit. */
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

  /* The number of passes, more than 0, and what makes Lblock 3 to `lblock`, up to 32. */
  __device__ void put_passes(uint32_t passes, uint32_t lblock)
  {
    uint32_t size = 0, value = 0;
    if (lane == 0)
      value = cj2k_passes_codeword(passes, &size);
    else if (lane == 1) { /* lblock - 3 ones and a zero */
      size = lblock - 2;
      value = (1u << size) - 2;
    }
    put(value, size);
  }

  __device__ void store(uint32_t *out) const
  {
    __syncwarp();
    for (uint32_t i = lane; i < cj2k_header_words(count); i += 32)
      out[i] = i ? words[i - 1] : count;
  }
};

} // namespace
