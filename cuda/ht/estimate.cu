// SPDX-License-Identifier: LGPL-2.1-or-later
/* The estimate of what HT cleanup passes take (Cj2kEncodeResult.estimate): one warp for each
 * code-block, one lane for each quad of a row. */
#include "common/shared/ht_estimate.h"
#include "encode_quads.cuh"

namespace {

constexpr uint32_t kWarps = 8;

/* A lane's quad of a row: its number of significant samples and its exponent. */
struct Outline {
  uint32_t significant, exponent;

  __device__ Outline(QuadSamples &samples, uint32_t col, uint32_t row)
  {
    const uint32_t *top = samples.data + (uint64_t)(2 * row) * samples.stride + 2 * col;
    uint32_t raw[4], largest = 0;

    samples.fetch(top, col, row, 2 * col < samples.width, raw);
    samples.clip(col, raw);
    significant = 0;
#pragma unroll
    for (int n = 0; n < 4; n++) {
      uint32_t mu = samples.quantise(raw[n]) & 0x7FFFFFFF;
      significant += mu != 0;
      largest = max(largest, mu);
    }
    exponent = cj2k_ht_exponent(largest);
  }
};

/* A lane's part of a row of quads. */
__device__ uint32_t estimate_row(QuadSamples &samples, uint32_t row)
{
  uint32_t lane = threadIdx.x, sum = 0, last = 0;

  for (uint32_t from = 0; 2 * from < samples.width; from += 32) {
    const Outline quad(samples, from + lane, row);
    uint32_t left = __shfl_up_sync(kAll, quad.exponent, 1);
    if (lane == 0)
      left = last;
    last = __shfl_sync(kAll, quad.exponent, 31);
    if (2 * (from + lane) < samples.width)
      sum += cj2k_ht_estimate_quad(quad.significant, quad.exponent, left);
  }
  return sum;
}

/* Adds the sum of a thread block. The last one tells whether all is in range. */
__device__ void add(Cj2kCudaEncodeCounts *counts, unsigned long long total,
                    const Cj2kEstimateRange *range)
{
  unsigned long long *estimate = reinterpret_cast<unsigned long long *>(&counts->estimate);

  atomicAdd(estimate, total);
  __threadfence();
  if (atomicAdd(&counts->estimated, 1u) != gridDim.x - 1 || !range)
    return;
  __threadfence();
  uint64_t all = atomicAdd(estimate, 0ull);
  if (all < range->least || all > range->most)
    *static_cast<volatile uint32_t *>(&counts->left_out) = 1;
}

__global__ void __launch_bounds__(32 * kWarps)
    estimate_kernel(Cj2kCudaEncodeBlocks frame, uint32_t quad_rows, const Cj2kEstimateRange *range)
{
  __shared__ unsigned long long total;
  uint32_t b = blockIdx.x * kWarps + threadIdx.y;
  uint64_t sum = 0;
  bool first = threadIdx.x == 0 && threadIdx.y == 0;

  if (first)
    total = 0;
  __syncthreads();
  if (b < frame.num_blocks) {
    const Cj2kCudaEncodeBlock block = frame.blocks[b];
    QuadSamples samples(frame, block);
    for (uint32_t row = cj2k_ht_estimate_first_row(b, quad_rows); 2 * row < block.height;
         row += quad_rows)
      sum += estimate_row(samples, row);
    sum = sum_warp(sum);
    if (threadIdx.x == 0)
      atomicAdd(&total, (unsigned long long)sum);
  }
  __syncthreads();
  if (first)
    add(frame.counts, total, range);
}

} // namespace

cudaError_t cj2k_cuda_ht_estimate(const Cj2kCudaEncodeBlocks *frame, uint32_t quad_rows,
                                  const Cj2kEstimateRange *range, cudaStream_t stream)
{
  uint32_t groups = (frame->num_blocks + kWarps - 1) / kWarps;

  if (!groups)
    return cudaSuccess;
  estimate_kernel<<<groups, dim3(32, kWarps), 0, stream>>>(*frame, quad_rows, range);
  return cudaGetLastError();
}
