// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An octet is eight columns of a stripe: 32 samples, one bit each of a word, in the order in which
 * passes visit them. Sample r of column c is bit 4c + r, so the next sample that a pass codes is
 * the lowest bit of a set.
 *
 * With what lies around it an octet is a stream of 42 bits: bit b of the octet is at b + 5, the
 * columns to the left and to the right come before and after it. A sample's neighbours are at fixed
 * places from bit b on, but for those in other stripes: there are three streams, which differ in
 * what stands in row 3 (Rows::kAbove: the last row of the stripe above, a row further down in the
 * order) and in row 0 (kBelow: the first row of the stripe below, a row further up).
 */
#pragma once

#include "decoder.cuh"

constexpr uint32_t kRow0 = 0x11111111u, kRow3 = 0x88888888u;

struct Stream {
  uint32_t low, high;

  __device__ __forceinline__ uint32_t from(uint32_t at) const
  {
    return __funnelshift_r(low, high, at);
  }

  /* Three octets side by side, the middle one from bit `at` on, 1 <= at <= 9. */
  __device__ __forceinline__ void set(uint32_t left, uint32_t middle, uint32_t right, uint32_t at)
  {
    low = __funnelshift_l(left, middle, at);
    high = __funnelshift_l(middle, right, at);
  }

  /* With `mask` of `other` in place of what is in `without`. */
  __device__ __forceinline__ Stream replaced(uint32_t without, const Stream &other,
                                             uint32_t mask) const
  {
    return {(low & ~without) | (other.low & mask), (high & ~without) | (other.high & mask)};
  }

  __device__ __forceinline__ void insert(uint32_t low_bit, uint32_t high_bit)
  {
    low |= low_bit;
    high |= high_bit;
  }
};

/* Significance in and around an octet. */
struct Surroundings {
  Stream own, above, below;

  /* What the neighbours of sample `at` say, as bits of kWindow:
   *    0 4 8        NW N NE
   *    1 5 9   =    W  .  E
   *    2 6 10       SW S SE  */
  __device__ __forceinline__ uint32_t window(uint32_t at) const
  {
    return (above.from(at) & 0x111) | (below.from(at) & 0x444) | (own.from(at) & 0x202);
  }

  /* Nothing is to the left of the octet, or to the right. */
  __device__ __forceinline__ void cut_left()
  {
    own.low &= ~0x1Fu;
    above.low &= ~0xFu;
    below.low &= ~0x3Fu;
  }

  __device__ __forceinline__ void cut_right()
  {
    own.high &= 0x1Fu;
    above.high &= 0xFu;
    below.high &= 0x3Fu;
  }

  __device__ __forceinline__ uint32_t significant() const
  {
    return own.from(5);
  }

  /* Samples with a significant neighbour. */
  __device__ __forceinline__ uint32_t near() const
  {
    return above.low | above.from(4) | above.from(8) | below.from(2) | below.from(6) |
           below.from(10) | own.from(1) | own.from(9);
  }

  __device__ __forceinline__ void insert(uint32_t at)
  {
    /* In `above` row 3 is of another stripe, in `below` row 0. */
    uint32_t low = 1u << 5 << at, high = 1u << at >> 27;
    own.insert(low, high);
    above.insert(low & ~kRow0, high & ~kRow0);
    below.insert(low & ~(kRow0 << 1), high & ~(kRow0 << 1));
  }
};

/* The bits that Surroundings::window () may set. */
constexpr uint32_t kWindow = 0x757, kWindowSize = 2048;

/* In a sign window bits 1 4 6 9 are the significance of W N S E, those below whether they are
 * negative. */
constexpr uint32_t kSignWindow = 0x252, kSignWindowSize = 1024;

/* Later samples of an octet, by row of the sample they are neighbours of: bits of a byte that
 * begins with the sample itself. */
__device__ __forceinline__ uint32_t later_neighbours(uint32_t at)
{
  return (0x183A3A32u >> 8 * (at & 3) & 0xFF) << at;
}

/* `count` bits, the first on top, in the places of the bits of `set`, of which there are `count`;
 * the lowest first. */
__device__ __forceinline__ uint32_t spread(uint32_t bits, uint32_t count, uint32_t set)
{
  /* Each bit moves up by the number of places below its own that `set` lacks: by one, two, four ...
   * of them where that number has this binary digit. */
  uint32_t moved[5], places = set, missing = ~set << 1;
#pragma unroll
  for (uint32_t i = 0; i < 5; i++) {
    uint32_t odd = missing ^ missing << 1;
    odd ^= odd << 2;
    odd ^= odd << 4;
    odd ^= odd << 8;
    odd ^= odd << 16; /* is the number of missing ones below odd? */
    moved[i] = odd & places;
    places = (places ^ moved[i]) | moved[i] >> (1u << i);
    missing &= ~odd;
  }
  uint32_t result = __brev(bits) >> (32 - count);
#pragma unroll
  for (uint32_t i = 5; i-- > 0;)
    result = (result & ~moved[i]) | (result << (1u << i) & moved[i]);
  return result & set;
}
