// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sums over the lanes of a warp, all of which call these functions. */
#pragma once

#include <cstdint>

namespace {

constexpr uint32_t kAll = 0xFFFFFFFFu, kWarp = 32;

/* The sum, for all lanes. */
__device__ __forceinline__ uint64_t sum_warp(uint64_t value)
{
  for (uint32_t d = kWarp / 2; d; d >>= 1)
    value += __shfl_xor_sync(kAll, value, d);
  return value;
}

struct Add {
  template <typename T> __device__ T operator()(T a, T b) const
  {
    return a + b;
  }
};

/* What an operation gives over this lane's value and those before it. */
template <typename T, typename Op> __device__ T scan_warp(T value, Op op)
{
  uint32_t lane = threadIdx.x % kWarp;

  for (uint32_t d = 1; d < kWarp; d *= 2) {
    T other = __shfl_up_sync(kAll, value, d);
    if (lane >= d)
      value = op(other, value);
  }
  return value;
}

} // namespace
