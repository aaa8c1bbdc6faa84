// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The threads that model the contexts of one code-block: WARPS warps with a lane for each octet.
 * Sums and votes over all of them, and the layout of their shared memory.
 */
#pragma once

#include "cuda/shared/encode_samples.cuh"

namespace {

__host__ __device__ constexpr uint32_t round_up(uint32_t value, uint32_t to)
{
  return (value + to - 1) / to * to;
}

/* Shared memory of a team, in 32-bit words: symbols and records of each warp
 * (contexts_symbols.cuh), words that the warps exchange, state that only one thread changes, four
 * grids, and the bit-planes (contexts_grid.cuh). */
template <uint32_t WARPS> struct TeamMemory {
  static constexpr uint32_t kSymbols = 4 * 33 * 4; /* of a warp: the symbols of 32 octets */
  static constexpr uint32_t kRecords = 2 * 32 * 4; /* of a warp: what to write of 32 octets */
  static constexpr uint32_t kExchange = 8 * WARPS, kState = 6;
  static constexpr uint32_t kPitch = 32 * WARPS + 1; /* of bit-planes */

  static __host__ __device__ uint32_t total(uint32_t grid_words, uint32_t planes)
  {
    return WARPS * (kSymbols + kRecords) +
           round_up(kExchange + kState + 4 * grid_words + planes * kPitch, 4);
  }
};

/* The sum over a warp, in 32 bits. */
__device__ __forceinline__ uint32_t warp_sum_small(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAll, value);
#else
  for (uint32_t d = 16; d; d >>= 1)
    value += __shfl_xor_sync(kAll, value, d);
  return value;
#endif
}

/* Numbers of symbols of the three passes of a bit-plane, or places of their first symbols. */
struct PassCounts {
  uint32_t propagation, refinement, cleanup;
};

template <uint32_t WARPS> struct Team {
  uint32_t lane, warp, thread;
  uint32_t *exchange; /* shared memory, TeamMemory::kExchange words */

  __device__ __forceinline__ void sync() const
  {
    if (WARPS == 1)
      __syncwarp();
    else
      __syncthreads();
  }

  /* Returns whether the condition is true in any thread, and synchronises like sync (). */
  __device__ __forceinline__ bool any(bool condition) const
  {
    if (WARPS > 1)
      return __syncthreads_or(condition);
    __syncwarp(); /* a vote alone does not order accesses to memory */
    return __any_sync(kAll, condition);
  }

  /* The largest of all threads' values. */
  __device__ __forceinline__ uint32_t largest(uint32_t value) const
  {
    for (uint32_t d = 16; d; d >>= 1)
      value = max(value, __shfl_xor_sync(kAll, value, d));
    if (WARPS == 1)
      return value;
    if (lane == 0)
      exchange[warp] = value;
    __syncthreads();
    for (uint32_t i = 0; i < WARPS; i++)
      value = max(value, exchange[i]);
    __syncthreads();
    return value;
  }

  /* Replaces three values by their sums over all threads. */
  __device__ __forceinline__ void add_up(uint64_t sums[3]) const
  {
    for (uint32_t i = 0; i < 3; i++)
      sums[i] = sum_warp(sums[i]);
    if (WARPS == 1)
      return;
    uint64_t *all = reinterpret_cast<uint64_t *>(exchange);
    if (lane < 3)
      all[3 * warp + lane] = lane == 0 ? sums[0] : lane == 1 ? sums[1] : sums[2];
    __syncthreads();
    for (uint32_t i = 0; i < 3; i++) {
      sums[i] = 0;
      for (uint32_t other = 0; other < WARPS; other++)
        sums[i] += all[3 * other + i];
    }
    __syncthreads();
  }

  /* Replaces counts by their sums over the threads before this one; `totals` are the sums over all
   * threads. Propagation and cleanup share a word, because both are less than 2^16: at most two
   * symbols for each of 4096 samples, and two for each column of four. */
  __device__ __forceinline__ void scan(PassCounts &counts, PassCounts &totals) const
  {
    uint32_t both = counts.propagation | counts.cleanup << 16, single = counts.refinement;
    uint32_t own_both = both, own_single = single;
#pragma unroll
    for (uint32_t d = 1; d < 32; d <<= 1) {
      uint32_t other_both = __shfl_up_sync(kAll, both, d),
               other_single = __shfl_up_sync(kAll, single, d);
      both += lane >= d ? other_both : 0;
      single += lane >= d ? other_single : 0;
    }
    uint32_t last_both = __shfl_sync(kAll, both, 31), last_single = __shfl_sync(kAll, single, 31);
    both -= own_both;
    counts = {both & 0xFFFF, single - own_single, both >> 16};
    totals = {last_both & 0xFFFF, last_single, last_both >> 16};
    if (WARPS > 1)
      scan_warps(counts, totals, last_both, last_single);
  }

  /* The second half of scan (): adds what the warps before this one have. */
  __device__ __forceinline__ void scan_warps(PassCounts &counts, PassCounts &totals,
                                             uint32_t last_both, uint32_t last_single) const
  {
    if (lane == 0) {
      exchange[2 * warp] = last_both;
      exchange[2 * warp + 1] = last_single;
    }
    __syncthreads();
    totals = {0, 0, 0};
    for (uint32_t i = 0; i < WARPS; i++) {
      PassCounts other = {exchange[2 * i] & 0xFFFF, exchange[2 * i + 1], exchange[2 * i] >> 16};
      if (i < warp)
        counts = {counts.propagation + other.propagation, counts.refinement + other.refinement,
                  counts.cleanup + other.cleanup};
      totals = {totals.propagation + other.propagation, totals.refinement + other.refinement,
                totals.cleanup + other.cleanup};
    }
    __syncthreads();
  }
};

} // namespace
