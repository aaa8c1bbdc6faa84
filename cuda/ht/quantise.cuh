// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Quantisation for the HT coder by rate and distortion (common/shared/ht_quantise.h), one warp for
 * each code-block. What is chosen for a quad depends on the quad to its left and on three above it.
 * So a lane does a row of quads, two quads behind the lane that does the row above. The indices are
 * left in memory like reversible coefficients.
 */
#pragma once

#include "encode_quads.cuh"

extern "C" {
#include "common/shared/ht_quantise.h"
}

namespace {

constexpr uint32_t kBlockQuads = 1024, kLag = 2;

struct Quantiser {
  const Cj2kCudaEncodeBlocks &frame;
  const Cj2kCudaEncodeBlock &block;
  uint16_t *quads; /* as in BlockMemory; `cols` in a row */
  uint32_t cols, rows;

  /* Sample n of a quad: its place from the block's first one, and whether it is in the block. */
  __device__ bool place(uint32_t col, uint32_t row, uint32_t n, uint64_t *at) const
  {
    uint32_t x = 2 * col + n / 2, y = 2 * row + n % 2;
    *at = block.offset + (uint64_t)y * block.stride + x;
    return x < block.width && y < block.height;
  }

  __device__ void quantise(uint32_t col, uint32_t row, float inv_scale)
  {
    Cj2kHtQuad quad;
    uint32_t raw[4], mu[4], above, rho = 0, i = row * cols + col;
    uint64_t at;
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      raw[n] = place(col, row, n, &at) ? frame.coefficients[at] : 0;
      quad.t[n] = fminf(fabsf(__uint_as_float(raw[n])) * inv_scale, CJ2K_HT_MOST_STEPS);
    }
    quad.context = context_of(quads, i, col, cols, cols, row == 0, &above) << 8;
    quad.kappa = max(above, 2u) - 1;
    quad.vlc = frame.tables->encode[row != 0];
    cj2k_ht_choose(&quad, mu);
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      rho |= (uint32_t)(mu[n] != 0) << n;
      if (place(col, row, n, &at))
        frame.indices[at] = raw[n] >> 31 ? -(int32_t)mu[n] : (int32_t)mu[n];
    }
    quads[i] = (uint16_t)(rho | cj2k_ht_exponent(mu[1]) << 4 | cj2k_ht_exponent(mu[3]) << 10);
  }
};

__global__ void __launch_bounds__(32) quantise_kernel(Cj2kCudaEncodeBlocks frame)
{
  __shared__ uint16_t quads[kBlockQuads];
  uint64_t task = (uint64_t)blockIdx.x * frame.stride;
  if (task >= frame.num_blocks || is_left_out(frame))
    return;
  uint32_t b = frame.order ? frame.order[task] : (uint32_t)task, lane = threadIdx.x;
  const Cj2kCudaEncodeBlock block = frame.blocks[b];
  const float inv_scale = frame.quantisers[block.band].inv_scale;
  Quantiser quantiser = {frame, block, quads, (block.width + 1u) / 2, (block.height + 1u) / 2};
  for (uint32_t first = 0; first < quantiser.rows; first += 32) {
    uint32_t lanes = min(quantiser.rows - first, 32u);
    uint32_t steps = quantiser.cols + kLag * (lanes - 1);
    for (uint32_t step = 0; step < steps; step++) {
      uint32_t col = step - kLag * lane; /* huge before the lane begins */
      if (lane < lanes && col < quantiser.cols)
        quantiser.quantise(col, first + lane, inv_scale);
      __syncwarp();
    }
  }
}

} // namespace
