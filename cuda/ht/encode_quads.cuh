// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup encoder, the work of one lane: samples to quads (T.814 7.3.4, 7.3.5), and the bits of
 * quads and pairs of quads (T.814 7.3.3, 7.3.6, 7.3.7). The bits are those of
 * common/cpu/ht/encode_quads.c.
 */
#pragma once

#include "encode_bits.cuh"

namespace {

__device__ __forceinline__ uint32_t lower_left(uint32_t quad)
{
  return quad >> 4 & 63;
}

__device__ __forceinline__ uint32_t lower_right(uint32_t quad)
{
  return quad >> 10;
}

/* ------------------------------------------------------------------------------ samples --- */

/* The context of quad i (T.814 7.3.5); *above: the largest exponent of its neighbours in the row
 * above. `quads`: what Quad::analyse() keeps of each, `row_quads` of them in a row; `cols` quads of
 * a row are in the block. */
__device__ __forceinline__ uint32_t context_of(const uint16_t *quads, uint32_t i, uint32_t col,
                                               uint32_t cols, uint32_t row_quads, bool first_row,
                                               uint32_t *above)
{
  quads += i;
  uint32_t left = col ? quads[-1] & 15 : 0;
  *above = 0;
  if (first_row)
    return ((left | left >> 1) & 1) | (left >> 1 & 6);
  const uint16_t *row = quads - row_quads;
  uint32_t n = row[0], nw = col ? row[-1] : 0, ne = col + 1 < cols ? row[1] : 0;
  *above = max(max(lower_right(nw), lower_left(n)), max(lower_right(n), lower_left(ne)));
  return ((nw >> 3 | n >> 1) & 1) | (left > 3) << 1 | ((n >> 3 | ne >> 1) & 1) << 2;
}

/* The samples of a block, read by quads. */
struct QuadSamples : Samples {
  bool pairs; /* aligned, so that two neighbours can be read at once */

  __device__ QuadSamples(const Cj2kCudaEncodeBlocks &frame, const Cj2kCudaEncodeBlock &block)
      : Samples(frame.coefficients, frame.quantisers[block.band], block),
        pairs((block.offset & 1) == 0)
  {
  }

  using Samples::quantise;

  /* Are the magnitudes of all four indices below `bound`, a power of two? */
  __device__ bool all_below(const uint32_t raw[4], uint32_t bound) const
  {
    if (reversible)
      return max(max(magnitude(raw[0]), magnitude(raw[1])),
                 max(magnitude(raw[2]), magnitude(raw[3]))) < bound;
    float largest = fmaxf(fmaxf(fabsf(__uint_as_float(raw[0])), fabsf(__uint_as_float(raw[1]))),
                          fmaxf(fabsf(__uint_as_float(raw[2])), fabsf(__uint_as_float(raw[3]))));
    return largest * inv_scale < (float)bound;
  }

  static __device__ uint32_t magnitude(uint32_t bits)
  {
    return (uint32_t)abs((int32_t)bits);
  }

  /* Quantises four samples to the magnitudes of their indices. */
  __device__ void quantise(const uint32_t raw[4], uint32_t magnitudes[4])
  {
    if (all_below(raw, limit + 1)) {
#pragma unroll
      for (int n = 0; n < 4; n++)
        magnitudes[n] =
            reversible ? magnitude(raw[n]) : (uint32_t)(fabsf(__uint_as_float(raw[n])) * inv_scale);
      return;
    }
    for (int n = 0; n < 4; n++)
      magnitudes[n] = limited(quantise(raw[n])) & 0x7FFFFFFF;
  }

  /* Reads the samples of a quad: top left, bottom left, top right, bottom right. Samples outside
   * the block are zero, except for the right ones, which clip() clears: here nothing may depend on
   * what is read, so that the lane need not wait for it. */
  __device__ void fetch(const uint32_t *top, uint32_t col, uint32_t row, bool inside,
                        uint32_t raw[4]) const
  {
    bool bottom = inside && 2 * row + 1 < height;
    raw[0] = raw[1] = raw[2] = raw[3] = 0;
    if (pairs) { /* may read one sample past the row: rows are padded to their stride */
      uint2 upper = make_uint2(0, 0), lower = make_uint2(0, 0);
      if (inside)
        upper = *reinterpret_cast<const uint2 *>(top);
      if (bottom)
        lower = *reinterpret_cast<const uint2 *>(top + stride);
      raw[0] = upper.x;
      raw[1] = lower.x;
      raw[2] = upper.y;
      raw[3] = lower.y;
      return;
    }
    bool right = inside && 2 * col + 1 < width;
    if (inside)
      raw[0] = top[0];
    if (bottom)
      raw[1] = top[stride];
    if (right)
      raw[2] = top[1];
    if (right && bottom)
      raw[3] = top[stride + 1];
  }

  /* Clears the right samples of a quad that has none in the block. */
  __device__ void clip(uint32_t col, uint32_t raw[4]) const
  {
    if (2 * col + 1 >= width)
      raw[2] = raw[3] = 0;
  }
};

/* Squared error that is saved by coding the samples of a block down to a plane, in squared half
 * units (cj2k_ht_cleanup_gain), as a sum of 128 bits. */
struct Gain {
  uint32_t plane, half; /* half: the middle of an index, 0 when reversible */
  bool small;           /* products, and their sum over a block, fit into 64 bits */
  uint64_t low, high;

  __device__ void add(uint64_t more_low, uint64_t more_high)
  {
    low += more_low;
    high += more_high + (low < more_low);
  }

  __device__ void add_sample(uint32_t magnitude)
  {
    uint32_t mu = magnitude >> plane;
    if (mu == 0)
      return;
    uint32_t middle = plane == 0 ? half : 1u << plane;
    if (small) {
      uint32_t decoded = 2 * (mu << plane) + middle;
      low += (uint64_t)decoded * (2 * (2 * magnitude + half) - decoded);
      return;
    }
    uint64_t decoded = 2 * ((uint64_t)mu << plane) + middle,
             rest = 2 * (2 * (uint64_t)magnitude + half) - decoded;
    add(decoded * rest, __umul64hi(decoded, rest));
  }

  /* The sum over all lanes, in (step/16)^2, saturated. */
  __device__ uint64_t distortion()
  {
    for (uint32_t d = 16; d; d >>= 1) {
      uint64_t other_low = __shfl_xor_sync(kAll, low, d),
               other_high = __shfl_xor_sync(kAll, high, d);
      add(other_low, other_high);
    }
    return high || low >> 58 ? UINT64_MAX : low * 64;
  }
};

/* -------------------------------------------------------------------------------- quads --- */

/* A lane's quad. */
struct Quad {
  uint32_t v[4]; /* 2 (mu - 1) + sign where significant */
  uint32_t rho, eps, u, bound, info;

  /* The bit length of a number that is not 0. */
  static __device__ uint32_t bit_length(uint32_t number)
  {
    uint32_t highest;
    asm("bfind.u32 %0, %1;" : "=r"(highest) : "r"(number));
    return highest + 1;
  }

  /* Computes significance and exponents at the plane (T.814 7.3.4); the signs are those of raw. */
  __device__ void analyse(const uint32_t magnitudes[4], const uint32_t raw[4], uint32_t plane,
                          uint32_t e[4])
  {
    rho = 0;
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      uint32_t mu = magnitudes[n] >> plane;
      uint32_t length = bit_length(2 * mu - 1); /* unconditional: avoids a branch */
      e[n] = mu ? length : 0;
      v[n] = 2 * mu - 2 + (raw[n] >> 31);
      rho |= (mu != 0) << n;
    }
    info = rho | e[1] << 4 | e[3] << 10;
  }

  /* Computes the exponent bound and the residual (T.814 7.3.5, 7.3.7). */
  __device__ void bound_by(const uint32_t e[4], uint32_t above)
  {
    uint32_t largest = max(max(e[0], e[1]), max(e[2], e[3]));
    uint32_t kappa = rho & (rho - 1) ? max(above, 2u) - 1 : 1;
    bound = max(largest, kappa);
    u = bound - kappa;
    eps = 0;
#pragma unroll
    for (uint32_t n = 0; n < 4; n++)
      eps |= (u && e[n] == largest) << n;
  }

  /* The number of MagSgn bits, m[n] of each sample, when e_k is known. Returns their sum. */
  __device__ uint32_t magsgn_lengths(uint32_t known, uint32_t m[4]) const
  {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      m[n] = rho >> n & 1 ? bound - (known >> n & 1) : 0;
      sum += m[n];
    }
    return sum;
  }

  __device__ void put_magsgn(BitRing &ring, uint32_t position, const uint32_t m[4]) const
  {
    if (bound <= 16) {
      uint32_t low = masked(0, m) | masked(1, m) << m[0], high = masked(2, m) | masked(3, m)
                                                                                    << m[2];
      ring.put_long(position, low | (uint64_t)high << (m[0] + m[1]));
      return;
    }
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      ring.put(position, m[n] < 32 ? masked(n, m) : v[n]);
      position += m[n];
    }
  }

  __device__ uint32_t masked(uint32_t n, const uint32_t m[4]) const
  {
    return v[n] & ~(~0u << (m[n] & 31));
  }
};

/* The VLC bits and the MEL events of a pair of quads; made by the lane of the first quad. */
struct Pair {
  uint64_t code;
  uint32_t length;
  uint32_t events, num_events;

  __device__ void append(uint32_t bits, uint32_t count)
  {
    code |= (uint64_t)bits << length;
    length += count;
  }

  __device__ void append_event(uint32_t event)
  {
    events |= event << num_events++;
  }

  /* u-VLC (T.814 7.3.6): prefixes, suffixes, extensions. */
  __device__ void append_residuals(const uint32_t *codes, uint32_t u0, uint32_t u1, bool first_row)
  {
    bool both = first_row && u0 && u1, joint = both && min(u0, u1) > 2;
    if (both)
      append_event(joint);
    uint32_t a = codes[joint ? u0 - 2 : u0], b = codes[joint ? u1 - 2 : u1];
    append(CJ2K_CUDA_UVLC_PREFIX(a), CJ2K_CUDA_UVLC_PREFIX_BITS(a));
    if (both && !joint && u0 > 2) {
      append(u1 - 1, 1); /* the second residual is 1 or 2 */
      b = 0;
    } else {
      append(CJ2K_CUDA_UVLC_PREFIX(b), CJ2K_CUDA_UVLC_PREFIX_BITS(b));
    }
    append(CJ2K_CUDA_UVLC_SUFFIX(a), CJ2K_CUDA_UVLC_SUFFIX_BITS(a));
    append(CJ2K_CUDA_UVLC_SUFFIX(b), CJ2K_CUDA_UVLC_SUFFIX_BITS(b));
    append(CJ2K_CUDA_UVLC_EXT(a), CJ2K_CUDA_UVLC_EXT_BITS(a));
    append(CJ2K_CUDA_UVLC_EXT(b), CJ2K_CUDA_UVLC_EXT_BITS(b));
  }
};

} // namespace
