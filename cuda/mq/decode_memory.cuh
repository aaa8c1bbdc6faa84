// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Shared memory of the MQ decoder: first the tables, which all warps of a thread block use, then
 * the state of each warp's code-blocks. That is, for each code-block: its contexts, two words for
 * every octet (octet.cuh), one octet that is read but never used, and with more than 32 octets the
 * sets of decode_octets.cuh. With a window (decode_window.cuh) the octets of some stripes are there
 * at a time.
 *
 * The state of a warp's LANES code-blocks is interleaved: two words of the same code-block are
 * LANES words apart. Lanes access different words at any time, but never the same bank.
 */
#pragma once

#include "octet.cuh"

#include <cstddef>

namespace {

/* Raw bits are decoded like symbols, with a context of their own. */
constexpr uint32_t kRawLabel = CJ2K_CX_COUNT, kContexts = CJ2K_CX_COUNT + 1;

/* make-tables.c defines the entries of labels and signs. */
struct alignas(16) Tables {
  /* Context labels by window: zero coding in LH and LL, HL, HH; refinement; raw bits. Bits 3, 5
   * and 7 of a window belong to no neighbour; they select the table. */
  uint8_t labels[kWindowSize];
  uint8_t signs[kSignWindowSize]; /* context label and XOR bit by sign window */
  uint32_t states[kMqStateWords];

  static constexpr uint32_t kZeroHl = 8, kRaw = 32, kZeroHh = 128, kRefinement = 136;
};

/* The words of an octet, one bit for each sample. */
enum { kSignificant, kNegative, kOctetWords };

/* Words of a code-block that do not depend on its size: contexts and the unused octet. */
constexpr uint32_t kFixedWords = kContexts + kOctetWords;

/* The size of a code-block in octets. */
struct BlockShape {
  uint32_t across, stripes, num_octets; /* octets in a stripe, stripes, octets */
  uint32_t reciprocal;                  /* 2^16 / across, rounded up */
  uint32_t last_columns; /* samples that exist in the last octet of a stripe, by their columns */
  uint32_t last_rows;    /* samples that exist in octets of the last stripe, by their rows */

  __device__ __forceinline__ void set(const Cj2kCudaBlock &block)
  {
    across = (block.width + 7u) / 8;
    stripes = (block.height + 3u) / 4;
    num_octets = across * stripes;
    reciprocal = 65536 / across + 1;
    last_columns = 0xFFFFFFFFu >> 4 * (0u - block.width & 7);
    last_rows = 0xFu >> (0u - block.height & 3);
    last_rows *= kRow0;
  }

  __device__ __forceinline__ uint32_t stripe_of(uint32_t octet) const
  {
    return octet * reciprocal >> 16;
  }

  /* The samples of an octet that exist; `column` counts octets. */
  __device__ __forceinline__ uint32_t samples_at(uint32_t column, uint32_t stripe) const
  {
    return (column + 1 == across ? last_columns : 0xFFFFFFFFu) &
           (stripe + 1 == stripes ? last_rows : 0xFFFFFFFFu);
  }
};

/* Access to the words of octets, by shared memory addresses. WIDE: there are code-blocks with more
 * than 32 octets. */
template <uint32_t LANES, bool WIDE> struct OctetMemory {
  static constexpr bool kHasWindow = CJ2K_CUDA_MQ_HAS_WINDOW(WIDE ? 33u : 32u, LANES);
  static constexpr uint32_t kWord = 4 * LANES; /* bytes from a word of a code-block to the next */
  static constexpr uint32_t kOctet = kOctetWords * kWord;

  /* A word of an octet and of its neighbours to the left and right as a stream, with the octet from
   * bit `place` on. The neighbours are read even where the code-block ends: contexts lie before the
   * first octet and the unused octet or the sets behind the last one, in the same lane's memory. */
  static __device__ __forceinline__ Stream row_at(uint32_t address, uint32_t place)
  {
    Stream stream;
    stream.set(shared_word(address - kOctet), shared_word(address), shared_word(address + kOctet),
               place);
    return stream;
  }

  /* The number of octets that are in shared memory. */
  static __device__ __forceinline__ uint32_t num_held(const BlockShape &shape)
  {
    return kHasWindow ? shape.across * min(shape.stripes, CJ2K_CUDA_MQ_WINDOW) : shape.num_octets;
  }

  /* Where a stripe of octets begins, from the first octet's address on. */
  static __device__ __forceinline__ uint32_t stripe_at(uint32_t stripe, const BlockShape &shape)
  {
    return kOctet * shape.across * (kHasWindow ? stripe % CJ2K_CUDA_MQ_WINDOW : stripe);
  }

  /* Distances to the octets above and below one of this stripe. There are none above the first
   * stripe and below the last; stripe-causal contexts (CAUSAL) take the stripe below as not
   * significant. Then it is 0: what is read there has no effect. */
  static __device__ __forceinline__ uint32_t to_above(uint32_t stripe, const BlockShape &shape)
  {
    if (stripe == 0)
      return 0;
    return kHasWindow ? stripe_at(stripe - 1, shape) - stripe_at(stripe, shape)
                      : 0 - kOctet * shape.across;
  }

  static __device__ __forceinline__ uint32_t to_below(uint32_t stripe, const BlockShape &shape,
                                                      uint32_t style)
  {
    if (stripe + 1 == shape.stripes || (style & CJ2K_STYLE_CAUSAL))
      return 0;
    return kHasWindow ? stripe_at(stripe + 1, shape) - stripe_at(stripe, shape)
                      : kOctet * shape.across;
  }

  /* Significance in and around the octet at `words`, in the stripes at these distances. */
  static __device__ __forceinline__ void look_around(Surroundings &around, uint32_t words,
                                                     uint32_t above, uint32_t below)
  {
    around.own = row_at(words, 5);
    around.above = around.own.replaced(kRow0, row_at(words + above, 1), above ? kRow0 : 0);
    around.below =
        around.own.replaced(kRow0 << 1, row_at(words + below, 9), below ? kRow0 << 1 : 0);
  }
};

} // namespace
