// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What packet headers say of the passes of a code-block (common/codestream/header_bits.h). A warp
 * makes the bits of a block where it has found the lengths of the segments. The host would have to
 * read all these lengths from memory, because the GPU has written them, and to write each by
 * itself.
 */
#pragma once

#include "warp_bits.cuh"

#include <cstdint>

extern "C" {
#include "common/shared/mq_blocks.h"
}

namespace {

/* All lanes call the functions. */
struct HeaderBits : WarpBits {
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
    for (uint32_t i = lane; i < cj2k_header_words(count); i += kWarp)
      out[i] = i ? words[i - 1] : count;
  }
};

} // namespace
