// SPDX-License-Identifier: LGPL-2.1-or-later
/* The estimate of what HT cleanup passes take (Cj2kEncodeResult.estimates): one warp for each
 * code-block, one lane for each quad of a row. The last thread block chooses the frame's steps. */
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

/* Adds the sum of a thread block. true: it is the last one, and `total` the sum of all. */
__device__ bool add(Cj2kCudaEncodeCounts *counts, uint32_t number, unsigned long long *total)
{
  unsigned long long *estimate = reinterpret_cast<unsigned long long *>(&counts->estimates[number]);

  atomicAdd(estimate, *total);
  __threadfence();
  if (atomicAdd(&counts->estimated[number], 1u) != gridDim.x - 1)
    return false;
  __threadfence();
  *total = atomicAdd(estimate, 0ull);
  return true;
}

/* Has blocks left out if the estimate is out of range, or chooses the steps with which they are
 * coded or the next estimate is made. */
__device__ void choose(Cj2kCudaEncodeCounts *counts, const Cj2kCudaEstimate &estimate,
                       uint32_t number, uint64_t total)
{
  uint32_t thread = threadIdx.y * 32 + threadIdx.x;
  double base = estimate.range->base;

  for (uint32_t i = 0; i < number; i++)
    (void)cj2k_estimate_judge(estimate.range, i, counts->estimates[i], &base);
  Cj2kEstimateVerdict verdict = cj2k_estimate_judge(estimate.range, number, total, &base);
  if (thread == 0) {
    counts->settled = verdict != CJ2K_ESTIMATE_AGAIN;
    counts->left_out = verdict == CJ2K_ESTIMATE_OUT;
  }
  if (verdict == CJ2K_ESTIMATE_OUT || !estimate.rules)
    return;
  for (uint32_t b = thread; b < estimate.num_bands; b += 32 * kWarps)
    cj2k_step_choose(&estimate.rules[b], base, &estimate.quantisers[b], &estimate.weights[b]);
}

/* number: which of the frame's estimates; others than the first one may not be needed. */
__global__ void __launch_bounds__(32 * kWarps)
    estimate_kernel(Cj2kCudaEncodeBlocks frame, Cj2kCudaEstimate estimate, uint32_t number)
{
  __shared__ unsigned long long total;
  __shared__ bool last;
  uint32_t b = blockIdx.x * kWarps + threadIdx.y;
  uint64_t sum = 0;
  bool first = threadIdx.x == 0 && threadIdx.y == 0;

  if (number && frame.counts->settled)
    return;
  if (first)
    total = 0;
  __syncthreads();
  if (b < frame.num_blocks) {
    const Cj2kCudaEncodeBlock block = frame.blocks[b];
    QuadSamples samples(frame, block);
    for (uint32_t row = cj2k_ht_estimate_first_row(b, estimate.quad_rows); 2 * row < block.height;
         row += estimate.quad_rows)
      sum += estimate_row(samples, row);
    sum = sum_warp(sum);
    if (threadIdx.x == 0)
      atomicAdd(&total, (unsigned long long)sum);
  }
  __syncthreads();
  if (first)
    last = add(frame.counts, number, &total);
  __syncthreads();
  if (last && estimate.range)
    choose(frame.counts, estimate, number, total);
}

} // namespace

cudaError_t cj2k_cuda_ht_estimate(const Cj2kCudaEncodeBlocks *frame,
                                  const Cj2kCudaEstimate *estimate, cudaStream_t stream)
{
  uint32_t groups = (frame->num_blocks + kWarps - 1) / kWarps;
  uint32_t count = estimate->rules ? CJ2K_MOST_ESTIMATES : 1;
  cudaError_t result = cudaSuccess;

  for (uint32_t i = 0; groups && i < count && result == cudaSuccess; i++) {
    estimate_kernel<<<groups, dim3(32, kWarps), 0, stream>>>(*frame, *estimate, i);
    result = cudaGetLastError();
  }
  return result;
}
