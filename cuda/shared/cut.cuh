// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the cuts of HT and MQ frames have in common: sums over threads, and filling up the rest of a
 * budget as common/rate/selection.c does it. */
#pragma once

#include "warp.cuh"

#include "common/shared/hull.h"

#include <cstdint>

namespace {

/* The sum over all threads of a block, for all of them. */
template <uint32_t kThreads> __device__ uint64_t sum_all(uint64_t value)
{
  constexpr uint32_t kWarps = kThreads / kWarp;
  __shared__ uint64_t sums[kWarps];

  value = sum_warp(value);
  __syncthreads(); /* before `sums` is used again */
  if (threadIdx.x % kWarp == 0)
    sums[threadIdx.x / kWarp] = value;
  __syncthreads();
  uint32_t lane = threadIdx.x % kWarp;
  return sum_warp(lane < kWarps ? sums[lane] : 0);
}

/* Fills up what is left of `bytes` like cj2k_hulls_take. fill(slope, room) adds options that are
 * not taken, down to a slope, and returns the room that is left; so does this. */
template <typename Fill>
__device__ uint64_t fill_up(uint32_t slope, uint64_t bytes, uint64_t room, Fill fill)
{
  uint64_t left = fill(slope, room);

  for (uint32_t reach = 1; reach <= CJ2K_CUT_FAR; reach *= reach < CJ2K_CUT_NEAR ? 8 : 2) {
    if (left <= bytes / (reach <= CJ2K_CUT_NEAR ? CJ2K_CUT_FILLED : CJ2K_CUT_NEARLY_FILLED))
      break;
    left = fill(slope > reach ? slope - reach : 1, left);
  }
  return left;
}

} // namespace
