// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An octet is eight columns of a stripe: 32 samples, of which a word has one bit each, in the order
 * in which passes visit them. The sample in row r of column c is bit 4c + r, so that the next
 * sample that a pass codes is the lowest bit of a set.
 *
 * A stream is an octet with the columns to its left and right: 42 bits, with bit b of the octet at
 * b + 5. The neighbours of a sample are at fixed distances from its bit, except for those in other
 * stripes. Hence there are three streams (Surroundings), which begin as copies of one. In `above`,
 * the bit of each column's row 3, which lies before row 0 of the next column, holds the sample
 * above that row 0 instead. In `below`, the bit of each column's row 0, which lies behind row 3 of
 * the column before, holds the sample below that row 3 instead.
 */
#pragma once

#include "decoder.cuh"

constexpr uint32_t kRow0 = 0x11111111u, kRow3 = 0x88888888u;

struct Stream {
  uint32_t low, high;

  /* 32 bits from bit `at` on. */
  __device__ __forceinline__ uint32_t from(uint32_t at) const
  {
    return __funnelshift_r(low, high, at);
  }

  /* Takes three octets side by side, the middle one from bit `at` on, 1 <= at <= 9. */
  __device__ __forceinline__ void set(uint32_t left, uint32_t middle, uint32_t right, uint32_t at)
  {
    low = __funnelshift_l(left, middle, at);
    high = __funnelshift_l(middle, right, at);
  }

  /* The stream without the bits in `without` and with the bits of `other` in `mask`. Masks repeat
   * every 32 bits. */
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

  /* The significance of the neighbours of sample `at`, as bits of kWindow:
   *    0 4 8        NW N NE
   *    1 5 9   =    W  .  E
   *    2 6 10       SW S SE  */
  __device__ __forceinline__ uint32_t window(uint32_t at) const
  {
    return (above.from(at) & 0x111) | (below.from(at) & 0x444) | (own.from(at) & 0x202);
  }

  /* Nothing is significant to the left of the first octet of a stripe, and to the right of the
   * last. */
  __device__ __forceinline__ void cut(bool left, bool right)
  {
    if (left) {
      own.low &= ~0x1Fu;
      above.low &= ~0xFu;
      below.low &= ~0x3Fu;
    }
    if (right) {
      own.high &= 0x1Fu;
      above.high &= 0xFu;
      below.high &= 0x3Fu;
    }
  }

  /* The significant samples of the octet. */
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

  /* `sample`, one bit, becomes significant. */
  __device__ __forceinline__ void insert(uint32_t sample)
  {
    /* The bits of row 3 in `above` and of row 0 in `below` belong to other stripes. */
    uint32_t low = sample * 32, high = sample >> 27;
    own.insert(low, high);
    above.insert(low & ~kRow0, high & ~kRow0);
    below.insert(low & ~(kRow0 << 1), high & ~(kRow0 << 1));
  }
};

/* The bits that Surroundings::window () may set. */
constexpr uint32_t kWindow = 0x757, kWindowSize = 2048;

/* In a sign window bits 1, 4, 6 and 9 are the significance of W, N, S and E, and the bit below each
 * is the neighbour's sign. */
constexpr uint32_t kSignWindow = 0x252, kSignWindowSize = 1024;

/* The number of the lowest one of a set; 32 if there is none. */
__device__ __forceinline__ uint32_t place_of_first(uint32_t set)
{
  return (uint32_t)__popc(~set & (set - 1));
}

/* A set without its lowest one. */
__device__ __forceinline__ uint32_t without_first(uint32_t set)
{
  return set & (set - 1);
}

/* Byte `n` of a word, the lowest being 0, in one instruction. */
__device__ __forceinline__ uint32_t byte_of(uint32_t word, uint32_t n)
{
  return __byte_perm(word, 0, n + 0x4440);
}

/* The neighbours of `sample`, one bit in row `row`, in the octet that are visited after it. The
 * constant has a byte for each row; bit 0 of the byte stands for the sample itself. */
__device__ __forceinline__ uint32_t later_neighbours(uint32_t sample, uint32_t row)
{
  return sample * byte_of(0x183A3A32, row);
}

/* Moves the lowest bits to the places of the ones of `set`. Each bit moves up by the number of
 * zeros in `set` below its place. It does so in a step for each of the DIGITS binary digits of that
 * number. */
template <uint32_t DIGITS> __device__ __forceinline__ uint32_t move_up(uint32_t bits, uint32_t set)
{
  uint32_t moved[DIGITS], places = set, missing = ~set << 1;
#pragma unroll
  for (uint32_t i = 0; i < DIGITS; i++) {
    uint32_t odd = missing ^ missing << 1;
    odd ^= odd << 2;
    odd ^= odd << 4;
    odd ^= odd << 8;
    odd ^= odd << 16; /* ones where the number of zeros below is odd */
    moved[i] = odd & places;
    places = (places ^ moved[i]) | moved[i] >> (1u << i);
    missing &= ~odd;
  }
#pragma unroll
  for (uint32_t i = DIGITS; i-- > 0;)
    bits = (bits & ~moved[i]) | (bits << (1u << i) & moved[i]);
  return bits & set;
}

/* Moves `count` bits, of which the first is highest, to the places of the `count` ones of `set`, of
 * which the lowest comes first. */
__device__ __forceinline__ uint32_t spread(uint32_t bits, uint32_t count, uint32_t set)
{
  bits = __brev(bits) >> (32 - count);
  return count > 28 ? move_up<2>(bits, set) : move_up<5>(bits, set);
}
