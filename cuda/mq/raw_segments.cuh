// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Raw codeword segments (T.800 D.6) of a block, written by a warp. Their bits do not depend on each
 * other, as those of the MQ coder do, but for bit stuffing: after a byte FF seven bits follow in
 * the next one. Bytes are made 32 at a time, a lane for each, up to the first FF.
 */
#pragma once

#include "passes.cuh"

#include "cuda/shared/warp.cuh"

namespace {

/* Symbols that a lane turns into bits at a time, and words of bits that a warp has then: one for
 * bits that came before them, and one behind them that is read, but not used. */
constexpr uint32_t kRawSymbols = 16, kRawWords = 1 + kRawSymbols + 1;

/* Writes a segment. All members are the same in all lanes but for `lane`. */
struct RawWriter {
  uint32_t lane;
  uint32_t *words;         /* kRawWords, in shared memory */
  uint8_t *out;            /* of the segment */
  uint32_t length;         /* bytes so far */
  uint32_t rest, num_rest; /* up to seven bits that do not fill a byte yet */
  bool after_ff;

  __device__ __forceinline__ void start(uint8_t *segment)
  {
    out = segment;
    length = rest = num_rest = 0;
    after_ff = false;
  }

  /* Writes the bits of `count` symbols. */
  __device__ __forceinline__ void put(const uint8_t *symbols, uint32_t count)
  {
    constexpr uint32_t kMost = kWarp * kRawSymbols;
    for (uint32_t first = 0; first < count; first += kMost) {
      uint32_t some = min(count - first, kMost);
      put_words(symbols + first, some);
      put_bytes(32 - num_rest, 32 + some);
    }
  }

  /* The length with the byte that the rest begins. */
  __device__ __forceinline__ uint32_t begun() const
  {
    return length + (num_rest != 0);
  }

  /* Ends the segment: the last byte is filled with 0101... */
  __device__ __forceinline__ void terminate(bool predictable)
  {
    if (!num_rest && !(after_ff && predictable))
      return;
    uint32_t free = (after_ff ? 7 : 8) - num_rest;
    if (lane == 0)
      out[length] = (uint8_t)(rest << free | 0x55u >> (8 - free));
    length++;
  }

private:
  /* Collects the decisions of four symbols, the first one highest. */
  static __device__ __forceinline__ uint32_t decisions(uint32_t symbols)
  {
    return (symbols >> 5 & 0x01010101u) * 0x08040201u >> 24;
  }

  /* Puts the rest and the bits of up to 512 symbols into the words, the first bit highest. */
  __device__ __forceinline__ void put_words(const uint8_t *symbols, uint32_t count)
  {
    uint32_t bits = 0;
    if (kRawSymbols * lane < count) {
      const uint32_t *from = reinterpret_cast<const uint32_t *>(symbols + kRawSymbols * lane);
#pragma unroll
      for (uint32_t i = 0; i < kRawSymbols / 4; i++)
        bits = bits << 4 | decisions(from[i]);
    }
    uint32_t next = __shfl_down_sync(kAll, bits, 1);
    if (lane % 2 == 0)
      words[1 + lane / 2] = bits << 16 | next;
    if (lane == 0)
      words[0] = rest;
    __syncwarp();
  }

  /* 32 bits of the words. */
  __device__ __forceinline__ uint32_t bits_at(uint32_t at) const
  {
    return __funnelshift_l(words[at / 32 + 1], words[at / 32], at);
  }

  /* Writes the whole bytes of bits [at, end) of the words. What is left becomes the rest. */
  __device__ __forceinline__ void put_bytes(uint32_t at, uint32_t end)
  {
    for (;;) {
      uint32_t first = after_ff ? 7 : 8; /* bits of the first byte */
      if (end - at < first)
        break;
      uint32_t count = min(1 + (end - at - first) / 8, kWarp), byte = 0;
      if (lane < count)
        byte = lane ? bits_at(at + first + 8 * (lane - 1)) >> 24 : bits_at(at) >> (32 - first);
      uint32_t all_ones = __ballot_sync(kAll, byte == 0xFF);
      if (all_ones)
        count = (uint32_t)__ffs((int)all_ones);
      if (lane < count)
        out[length + lane] = (uint8_t)byte;
      length += count;
      at += first + 8 * (count - 1);
      after_ff = all_ones != 0;
    }
    num_rest = end - at;
    rest = num_rest ? bits_at(at) >> (32 - num_rest) : 0;
    __syncwarp();
  }
};

/* The raw segments of a block: bytes behind those of the MQ coder in the block's room, and marks.
 */
struct RawSegments {
  RawWriter writer;
  Cj2kCudaMqMark *marks;
  uint8_t *room;
  uint32_t from;           /* of the next segment, in bytes from the start of the room */
  const uint8_t *bits_end; /* behind the symbols of the next pass (symbols.h) */

  /* Writes all of them. `words` is shared memory; all lanes call it. */
  __device__ void write(uint32_t num_passes, uint32_t style)
  {
    uint32_t start = 0;
    for (uint32_t pass = CJ2K_FIRST_RAW_PASS; pass < num_passes; pass++) {
      if (!cj2k_pass_is_raw(pass, (uint8_t)style))
        continue;
      bool begins = cj2k_pass_ends_segment(pass - 1, (uint8_t)style);
      if (begins) {
        start = from;
        writer.start(room + from);
      }
      put_pass();
      uint32_t at = writer.begun();
      bool ends = ends_segment(pass, num_passes, style);
      if (ends) {
        writer.terminate(style & CJ2K_STYLE_PTERM);
        from += (writer.length + 3) & ~3u;
      }
      if (writer.lane == 0)
        marks[pass] = {start, (int32_t)at, ends ? writer.length - at : 0, 0};
    }
    __syncwarp();
  }

private:
  __device__ __forceinline__ void put_pass()
  {
    uint32_t count = *reinterpret_cast<const uint32_t *>(bits_end - 4);
    bits_end -= CJ2K_CUDA_MQ_RAW_PASS(count);
    writer.put(bits_end, count);
  }
};

} // namespace
