// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Magnitude refinement passes of raw bits (T.800 D.3.3, D.6). They refine the samples that are
 * significant in the bit-planes above, a bit for each, and the next pass, which begins a codeword
 * segment, depends on none of these bits. So the thread that decodes a code-block only notes where
 * they begin, and refine.cu reads those of all code-blocks at once.
 */
#pragma once

#include "cuda/shared/decode_kernels.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

/* Where the bits of a code-block's raw refinement passes begin, by bit-plane from the first of
 * these on. planes: what the code-block has there; passes: those that it has, also if not all are
 * decoded; large: the frame has large code-blocks. */
__device__ __forceinline__ Cj2kCudaRawBits *raw_bits_of(uint32_t *planes, uint32_t num_octets,
                                                        uint32_t passes, bool large)
{
  return reinterpret_cast<Cj2kCudaRawBits *>(planes +
                                             CJ2K_CUDA_MQ_PLANE_WORDS(num_octets, passes, large));
}
