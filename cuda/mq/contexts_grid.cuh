// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The octets of a code-block in shared memory. A grid has a word for each octet, in rows of
 * stripes, with an empty stripe above and below and an empty column between the rows, so that
 * neighbours can be read at the edges, too. There are four: three of significance, between which
 * the bit-planes rotate, and the signs. The quantised samples are bit-planes, a word for each octet
 * and plane.
 */
#pragma once

#include "contexts.cuh"
#include "contexts_team.cuh"
#include "symbols.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

namespace {

template <uint32_t WARPS> struct BlockGrid {
  static constexpr uint32_t kPlanePitch = TeamMemory<WARPS>::kPitch;

  uint32_t width, height; /* in samples */
  uint32_t across;        /* octets in a stripe */
  uint32_t num_octets;
  uint32_t *grids, *planes;
  uint32_t grid_words, pitch; /* of a grid: its size, and the distance of its rows */

  /* The octet of this thread. */
  uint32_t at, below; /* its place in a grid, and the place below it */
  uint32_t valid;     /* samples that exist */
  uint32_t whole;     /* samples in row 0 of columns that have four */

  __device__ __forceinline__ uint32_t *grid(uint32_t i) const
  {
    return grids + i * grid_words;
  }

  __device__ __forceinline__ void set(const Cj2kCudaEncodeBlock &block, uint32_t style,
                                      const Team<WARPS> &team)
  {
    width = block.width;
    height = block.height;
    across = (width + 7) / 8;
    uint32_t stripes = (height + 3) / 4;
    num_octets = across * stripes;
    pitch = across + 1;
    grid_words = (stripes + 2) * pitch + 1;
    grids = team.exchange + TeamMemory<WARPS>::kExchange + TeamMemory<WARPS>::kState;
    planes = grids + 4 * grid_words;
    for (uint32_t i = team.thread; i < 4 * grid_words; i += 32 * WARPS)
      grids[i] = 0;

    uint32_t stripe = team.thread / across, column = team.thread - stripe * across;
    bool exists = team.thread < num_octets;
    stripe = exists ? stripe : 0;
    column = exists ? column : 0;
    at = (stripe + 1) * pitch + column + 1;
    /* Stripe-causal contexts see nothing below: the empty stripe at the top stands for that. */
    below = style & CJ2K_STYLE_CAUSAL ? column + 1 : at + pitch;
    uint32_t cols = min(width - 8 * column, 8u), rows = min(height - 4 * stripe, 4u);
    whole = exists ? mq_words::kTop >> (32 - 4 * cols) : 0;
    valid = whole * ((1u << rows) - 1);
    whole = rows == 4 ? whole : 0;
  }

  /* The signs of the octet, and of the neighbours of its samples. */
  __device__ __forceinline__ uint32_t negative() const
  {
    return grid(3)[at];
  }

  __device__ __forceinline__ mq_words::Signs signs_around(uint32_t negative) const
  {
    using namespace mq_words;
    const uint32_t *signs = grid(3) + at;
    return {from_left(negative, signs[-1]), from_right(negative, signs[1]),
            from_above(negative, *(signs - pitch)), from_below(negative, grid(3)[below])};
  }

  /* Quantises the samples and stores bit-planes and signs, and in grid 0 the number of bit-planes
   * of each octet. A warp does its 32 octets one by one, with a lane for each sample. */
  __device__ __forceinline__ void load(Samples &samples, uint32_t max_planes,
                                       const Team<WARPS> &team)
  {
    constexpr uint32_t kBatch = 4;
    uint32_t lane = team.lane, first = 32 * team.warp, end = min(num_octets, first + 32);
    uint32_t stripe = first / across, column = first - stripe * across;
    uint32_t raw[kBatch], index[kBatch];
    for (uint32_t octet = first; octet < end; octet += kBatch) {
#pragma unroll
      for (uint32_t i = 0; i < kBatch; i++) {
        uint32_t x = 8 * column + (lane >> 2), y = 4 * stripe + (lane & 3);
        raw[i] = 0;
        if (octet + i < end && x < width && y < height)
          raw[i] = samples.data[(uint64_t)y * samples.stride + x];
        index[i] = (stripe + 1) * pitch + column + 1;
        if (++column == across) {
          column = 0;
          stripe++;
        }
      }
#pragma unroll
      for (uint32_t i = 0; i < kBatch; i++) {
        if (octet + i >= end)
          break;
        /* Lane p gets bit-plane p, lane 31 the signs. */
        uint32_t plane = mq_words::transpose(samples.limited(samples.quantise(raw[i])), lane);
        uint32_t top = __ballot_sync(kAll, plane != 0) & 0x7FFFFFFF;
        if (lane < max_planes)
          planes[lane * kPlanePitch + octet + i] = plane;
        if (lane == 31) {
          grid(3)[index[i]] = plane;
          grid(0)[index[i]] = 32 - __clz(top);
        }
      }
    }
  }

  /* The most symbols that the thread's octet can have, from the numbers of bit-planes in grid 0. In
   * bit-planes in which nothing is significant yet in this octet and those around it, only the
   * run-length symbols of columns count. */
  __device__ __forceinline__ uint32_t most_symbols(uint32_t lowest_plane, uint32_t num_planes) const
  {
    if (valid == 0)
      return 0;
    const uint32_t *tops = grid(0) + at;
    uint32_t top = 0;
    for (uint32_t i = 0; i < 3; i++) {
      const uint32_t *row = tops + i * pitch - pitch;
      top = max(top, max(row[-1], max(row[0], row[1])));
    }
    uint32_t samples = __popc(valid), columns = __popc(whole);
    uint32_t active = max(top, lowest_plane) - lowest_plane;
    uint32_t idle = num_planes - lowest_plane - active;
    return active * samples + idle * (whole ? columns : samples) +
           (tops[0] > lowest_plane ? samples + 2 * columns : 0);
  }
};

} // namespace
