// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bit strings of an HT block that is being encoded. Each lane of a warp puts bits at its own
 * positions; the warp turns them into bytes with stuffing, 128 bytes at a time. The bytes are those
 * of cj2k_ht_stuff_forward and cj2k_ht_stuff_backward.
 */
#pragma once

#include "cuda/shared/encode_samples.cuh"

namespace {

constexpr uint32_t kFlushBytes = 128; /* that a warp stuffs at once */

/* A ring of bits that are not stuffed yet. Bits and words behind `end` are zero. */
struct BitRing {
  uint32_t *words;     /* in shared memory */
  uint32_t mask;       /* number of words less one */
  uint32_t begin, end; /* positions since the start of the block */

  /* Puts up to 32 bits at a position; bits above their length must be zero. */
  __device__ void put(uint32_t position, uint32_t bits)
  {
    uint32_t index = position >> 5, above = __funnelshift_l(bits, 0, position & 31);
    atomicOr(&words[index & mask], bits << (position & 31));
    if (above)
      atomicOr(&words[(index + 1) & mask], above);
  }

  __device__ void put_long(uint32_t position, uint64_t bits)
  {
    put(position, (uint32_t)bits);
    if (bits >> 32)
      put(position + 32, (uint32_t)(bits >> 32));
  }

  __device__ uint32_t read(uint32_t position) const
  {
    uint32_t index = position >> 5;
    return __funnelshift_r(words[index & mask], words[(index + 1) & mask], position & 31);
  }

  /* Removes up to 1024 bits. */
  __device__ void consume(uint32_t bits, uint32_t lane)
  {
    __syncwarp(); /* all lanes have read their bits */
    uint32_t index = (begin >> 5) + lane;
    begin += bits;
    if (index < begin >> 5)
      words[index & mask] = 0;
    __syncwarp();
  }
};

/* Bit 0 of each byte: that byte of `word` is FF. */
__device__ __forceinline__ uint32_t bytes_ff(uint32_t word)
{
  uint32_t others = ~word, low = (others & 0x7F7F7F7Fu) + 0x7F7F7F7Fu;
  return (~(low | others) & 0x80808080u) >> 7;
}

/* Stores this lane's four bytes, from 4 * lane on, as far as they are below `count`. */
template <bool kBackward>
__device__ __forceinline__ void store_bytes(uint8_t *out, uint32_t word, uint32_t count,
                                            uint32_t lane)
{
#pragma unroll
  for (uint32_t k = 0; k < 4; k++)
    if (4 * lane + k < count)
      out[kBackward ? -(int32_t)(4 * lane + k) - 1 : (int32_t)(4 * lane + k)] =
          (uint8_t)(word >> 8 * k);
}

/* Stuffing of MagSgn (T.814 7.1.2) and MEL (T.814 7.1.1): after a byte FF the next byte has 7 bits.
 * kMel: the first bit of a byte is its highest. */
template <bool kStore, bool kMel> struct ForwardStuffer {
  BitRing bits;
  uint8_t *out; /* where the first byte goes */
  uint32_t length;
  uint32_t after_ff;

  /* Makes up to `limit` bytes as if none were FF, and commits those up to the first FF. */
  __device__ void round(uint32_t limit, uint32_t lane)
  {
    uint32_t word = bits.read(bits.begin + 32 * lane - (lane ? after_ff : 0));
    if (lane == 0 && after_ff)
      word = kMel ? word << 1 : (word & 0x7F) | (word & ~0x7Fu) << 1;
    uint32_t valid = 4 * lane < limit ? min(limit - 4 * lane, 4u) : 0;
    uint32_t found = bytes_ff(word) & (valid == 4 ? kAll : (1u << 8 * valid) - 1);
    uint32_t lanes = __ballot_sync(kAll, found != 0), count = limit;
    if (lanes) {
      uint32_t first = __ffs(lanes) - 1;
      count = 4 * first + (__shfl_sync(kAll, __ffs(found) - 1, first) >> 3) + 1;
    }
    if (kStore)
      store_bytes<false>(out + length, kMel ? __byte_perm(__brev(word), 0, 0x0123) : word, count,
                         lane);
    bits.consume(8 * count - after_ff, lane);
    length += count;
    after_ff = lanes != 0;
  }

  __device__ void flush(uint32_t least_bytes, uint32_t lane)
  {
    for (;;) {
      uint32_t whole = (bits.end - bits.begin + after_ff) >> 3;
      if (whole < least_bytes)
        return;
      round(min(whole, kFlushBytes), lane);
    }
  }

  /* Fills the last byte with ones and omits it if it is FF (docs/ht-coder.md). */
  __device__ void finish(uint32_t lane)
  {
    flush(1, lane);
    uint32_t rest = bits.end - bits.begin;
    if (rest == 0) {
      length -= after_ff;
      return;
    }
    uint32_t byte = (bits.read(bits.begin) | 0xFFu << rest) & (0xFFu >> after_ff);
    if (kStore && lane == 0)
      out[length] = (uint8_t)byte;
    length += byte != 0xFF;
  }
};

/* Stuffing of VLC (T.814 7.1.3), towards lower addresses: after a byte above 8F, a byte whose low
 * seven bits are ones holds seven bits. */
template <bool kStore> struct BackwardStuffer {
  BitRing bits;
  uint8_t *out; /* one behind the place of the first byte */
  uint32_t length;
  bool after_large;

  /* Makes up to 128 bytes as if none were stuffed, and commits those up to the first stuffed one.
   * false: less than a byte is left. */
  __device__ bool round(uint32_t lane)
  {
    uint32_t available = bits.end - bits.begin, word = bits.read(bits.begin + 32 * lane);
    uint32_t before = __shfl_up_sync(kAll, word >> 24, 1), found = 4;
    bool large = lane ? before > 0x8F : after_large;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      uint32_t byte = word >> 8 * k & 0xFF;
      if (found == 4 && large && (byte & 0x7F) == 0x7F && 8 * (4 * lane + k) + 7 <= available)
        found = k;
      large = byte > 0x8F;
    }
    uint32_t lanes = __ballot_sync(kAll, found < 4), count, taken;
    if (lanes) {
      uint32_t first = __ffs(lanes) - 1, k = __shfl_sync(kAll, found, first);
      count = 4 * first + k + 1;
      taken = 8 * count - 1;
      if (lane == first)
        word &= ~(0x80u << 8 * k);
      after_large = false;
    } else {
      count = min(available >> 3, kFlushBytes);
      if (count == 0)
        return false;
      taken = 8 * count;
      after_large =
          (__shfl_sync(kAll, word, (count - 1) >> 2) >> 8 * ((count - 1) & 3) & 0xFF) > 0x8F;
    }
    if (kStore)
      store_bytes<true>(out - length, word, count, lane);
    bits.consume(taken, lane);
    length += count;
    return true;
  }

  __device__ void flush(uint32_t lane)
  {
    while (bits.end - bits.begin >= 8 * kFlushBytes)
      round(lane);
  }

  /* Leaves less than a byte in `bits`. */
  __device__ void finish(uint32_t lane)
  {
    while (round(lane))
      ;
  }
};

/* Codes MEL events to bits (T.814 7.3.3), by one lane: each step depends on the state that the one
 * before left. */
struct MelCoder {
  const uint32_t *table; /* Cj2kCudaEncodeTables.mel */
  uint32_t *words;       /* the output */
  uint64_t pending;      /* bits that are not in `words` yet */
  uint32_t count;        /* number of bits put in total */
  uint32_t state;

  __device__ void put(uint32_t bits, uint32_t length)
  {
    uint32_t used = count & 31;
    pending |= (uint64_t)bits << used;
    count += length;
    if (used + length >= 32) {
      words[(count >> 5) - 1] = (uint32_t)pending;
      pending >>= 32;
    }
  }

  /* Codes whole runs of zeros while more than `max_rest` zeros are left; returns the rest. */
  __device__ uint32_t put_runs(uint32_t zeros, uint32_t max_rest)
  {
    while (zeros > max_rest) {
      uint32_t run = 1u << ((uint32_t)(0x5433222111000ull >> 4 * state) & 15); /* table 2 */
      if (zeros < run)
        break;
      zeros -= run;
      put(1, 1);
      state += state < CJ2K_HT_MEL_STATES - 1;
    }
    return zeros;
  }

  /* Codes all events. A run that is incomplete at the end is coded as a whole one. */
  __device__ void code(const uint32_t *events, uint32_t num_events)
  {
    uint32_t zeros = 0;
    pending = count = state = 0;
    for (uint32_t i = 0; i < num_events; i += 32) {
      uint32_t word = events[i >> 5], left = min(num_events - i, 32u);
      while (word) {
        uint32_t before = __ffs(word) - 1;
        zeros = put_runs(zeros + before, CJ2K_CUDA_MEL_ZEROS - 1);
        uint32_t entry = table[state * CJ2K_CUDA_MEL_ZEROS + zeros];
        put(CJ2K_CUDA_MEL_BITS(entry), CJ2K_CUDA_MEL_LENGTH(entry));
        state = CJ2K_CUDA_MEL_STATE(entry);
        zeros = 0;
        word = word >> before >> 1;
        left -= before + 1;
      }
      zeros += left;
    }
    if (put_runs(zeros, 0))
      put(1, 1);
    words[count >> 5] = (uint32_t)pending;
  }
};

} // namespace
