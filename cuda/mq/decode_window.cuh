// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The stripes of a large code-block (WIDE) that are in shared memory: a pass needs its present
 * stripe and those above and below it. Device memory has the words of all octets, so that more
 * code-blocks fit on a multiprocessor. Stripe s is at place s % 4 of shared memory. As a pass comes
 * to a stripe, the one below it is put there, which was loaded when the pass came to the stripe
 * before: meanwhile the others of the warp decode.
 */
#pragma once

#include "decode_memory.cuh"

namespace {

template <uint32_t LANES, bool WIDE> struct StripeWindow {
  using Memory = OctetMemory<LANES, WIDE>;

  static constexpr uint32_t kAcross = 8; /* octets of a stripe that are loaded ahead */

  uint32_t *significance, *signs; /* in device memory, by octet */
  uint32_t end;                   /* the stripes before this one are held */
  bool with_signs;                /* the pass needs signs */
  uint32_t ahead;                 /* the stripe that is in these words, if any */
  uint4 significant[2], negative[2];

  /* `block_signs` has a word for each octet; behind these are the bit-planes of all passes, and
   * then the significance. */
  __device__ __forceinline__ void start(uint32_t *block_signs, uint32_t passes,
                                        const BlockShape &shape)
  {
    if (!Memory::kHasWindow)
      return;
    signs = block_signs;
    significance = signs + (2 + cj2k_pass_depth(passes - 1)) * shape.num_octets;
    end = shape.stripes;
  }

  __device__ __forceinline__ void begin_pass(uint32_t type, const BlockShape &shape)
  {
    with_signs = type != CJ2K_PASS_REFINEMENT;
    if (Memory::kHasWindow && shape.stripes > CJ2K_CUDA_MQ_WINDOW) {
      end = 0;
      ahead = shape.stripes;
    }
  }

  /* Before a visit of an octet. `octets` is the address of the first octet's words. */
  __device__ __forceinline__ void hold(uint32_t octets, uint32_t stripe, const BlockShape &shape)
  {
    uint32_t last = min(stripe + 2, shape.stripes);
    if (Memory::kHasWindow && last > end)
      load_until(last, octets, stripe, shape);
  }

  /* Brings the stripes up to `last` to shared memory, and loads the one behind them ahead. */
  __device__ __forceinline__ void load_until(uint32_t last, uint32_t octets, uint32_t stripe,
                                             const BlockShape &shape)
  {
    for (end = max(end, stripe - (stripe > 0)); end < last; end++) {
      uint32_t to = octets + Memory::stripe_at(end, shape);
      if (shape.across == kAcross) {
        if (end != ahead)
          load(end);
        put(to);
      } else {
        copy(to, end * shape.across, shape.across);
      }
    }
    if (shape.across == kAcross && end < shape.stripes)
      load(end);
  }

  /* Loads a stripe to registers. */
  __device__ __forceinline__ void load(uint32_t stripe)
  {
    ahead = stripe;
    const uint4 *from = reinterpret_cast<const uint4 *>(significance + stripe * kAcross);
    significant[0] = from[0];
    significant[1] = from[1];
    if (!with_signs)
      return;
    from = reinterpret_cast<const uint4 *>(signs + stripe * kAcross);
    negative[0] = from[0];
    negative[1] = from[1];
  }

  /* Stores what load() has loaded. */
  __device__ __forceinline__ void put(uint32_t to)
  {
    put_four(to + kSignificant * Memory::kWord, significant[0]);
    put_four(to + kSignificant * Memory::kWord + 4 * Memory::kOctet, significant[1]);
    if (with_signs) {
      put_four(to + kNegative * Memory::kWord, negative[0]);
      put_four(to + kNegative * Memory::kWord + 4 * Memory::kOctet, negative[1]);
    }
  }

  static __device__ __forceinline__ void put_four(uint32_t to, uint4 words)
  {
    set_shared_word(to, words.x);
    set_shared_word(to + Memory::kOctet, words.y);
    set_shared_word(to + 2 * Memory::kOctet, words.z);
    set_shared_word(to + 3 * Memory::kOctet, words.w);
  }

  /* A stripe of any width, which begins with octet `first`. */
  __device__ __forceinline__ void copy(uint32_t to, uint32_t first, uint32_t across)
  {
    for (uint32_t i = first; i < first + across; i++, to += Memory::kOctet) {
      set_shared_word(to + kSignificant * Memory::kWord, significance[i]);
      set_shared_word(to + kNegative * Memory::kWord, signs[i]);
    }
  }

  /* Behind a visit in which samples of the octet have become significant. */
  __device__ __forceinline__ void store(uint32_t octet, uint32_t words, uint32_t changed)
  {
    if (!Memory::kHasWindow)
      return;
    significance[octet] = changed;
    signs[octet] = shared_word(words + kNegative * Memory::kWord);
  }
};

} // namespace
