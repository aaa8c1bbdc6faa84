// SPDX-License-Identifier: LGPL-2.1-or-later
/* The input of both block coders: the samples of a block as quantiser indices. */
#pragma once

#include "encode_kernels.h"
#include "warp.cuh"

namespace {

/* Quantises the coefficients of a block (docs/arithmetic.md). */
struct Samples {
  const uint32_t *data;
  uint32_t stride, width, height;
  bool reversible;
  float inv_scale;
  uint32_t limit;
  uint32_t saturated;

  __device__ Samples(const uint32_t *coefficients, const Cj2kFrameQuantiser &quantiser,
                     const Cj2kCudaEncodeBlock &block)
  {
    data = coefficients + block.offset;
    stride = block.stride;
    width = block.width;
    height = block.height;
    reversible = block.reversible;
    inv_scale = quantiser.inv_scale;
    limit = (1u << quantiser.num_bitplanes) - 1;
    saturated = 0;
  }

  __device__ uint32_t quantise(uint32_t bits)
  {
    uint32_t index, sign;
    if (reversible) {
      uint32_t negative = (uint32_t)((int32_t)bits >> 31);
      index = (bits ^ negative) - negative;
      sign = (bits | index) & 0x80000000u;
      index &= 0x7FFFFFFF;
    } else {
      float q = fminf(fabsf(__uint_as_float(bits)) * inv_scale, 2147483520.0f);
      index = (uint32_t)q;
      sign = index ? bits & 0x80000000u : 0;
    }
    return sign | index;
  }

  /* Limits the magnitude of an index to Mb bit-planes. */
  __device__ uint32_t limited(uint32_t index)
  {
    constexpr uint32_t sign = 0x80000000u;
    if ((index & ~sign) <= limit)
      return index;
    saturated++;
    return (index & sign) | limit;
  }
};

/* Is the estimate out of range? */
__device__ inline bool is_left_out(const Cj2kCudaEncodeBlocks &frame)
{
  return frame.counts->left_out;
}

} // namespace
