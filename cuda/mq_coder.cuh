// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ decoder (T.800 C.3) and the reader of raw bits (D.6) of one thread, in registers. They do
 * what common/cpu/mq_decoder.h does with any bytes: also how far they got behind the end of a
 * segment is the same.
 */
#pragma once

#include "bytes.cuh"

extern "C" {
#include "../common/cpu/mq_blocks.h"
}

/* C is 64 bits, Chigh on top, as two registers: only its upper one takes part in comparisons. Up to
 * 48 bits are read ahead. */
struct MqDecoder {
  static constexpr int32_t kTop = 48;

  uint32_t a; /* in bits 31..16 */
  uint32_t high, low;
  int32_t bits;   /* of C below Chigh that have been read; negative while they are owed */
  int32_t filled; /* bits made up since the end of the segment */
  uint32_t after_ff;
  const uint8_t *next, *end;

  __device__ __forceinline__ uint64_t c() const
  {
    return (uint64_t)high << 32 | low;
  }

  __device__ __forceinline__ void add(uint64_t value)
  {
    value += c();
    high = (uint32_t)(value >> 32);
    low = (uint32_t)value;
  }

  /* INITDEC (C.3.5). An empty segment is all ones. */
  __device__ __forceinline__ void start(const uint8_t *data, const uint8_t *data_end)
  {
    next = data;
    end = data_end;
    uint32_t first = next < end ? *next++ : 0xFF;
    a = 0x80000000u;
    high = first << 23;
    low = 0;
    bits = -7;
    filled = 0;
    after_ff = first == 0xFF;
    byte_in();
  }

  /* BYTEIN (C.3.4) when no bit is left: six bytes, none of them 0xFF, at once, or byte by byte. */
  __device__ __forceinline__ void byte_in()
  {
    uint32_t first, second;
    load_bytes(next, first, second);
    uint32_t tail = second & 0xFFFF0000u;
    /* A byte is 0xFF when its complement is zero: that shows as a borrow. */
    uint32_t any_ff = ((~first - 0x01010101u) & first & 0x80808080u) |
                      ((~tail - 0x01010101u) & tail & 0x80808080u);
    if (end - next >= 6 && !(any_ff | after_ff)) {
      add(((uint64_t)first << 16 | second >> 16) << -bits);
      bits += 48;
      next += 6;
      return;
    }
    byte_in_slow((uint64_t)first << 32 | second);
  }

  /* `queue` has the next eight bytes: as many as this may need. */
  __device__ __forceinline__ void byte_in_slow(uint64_t queue)
  {
    while (bits <= kTop - 8) {
      uint32_t byte = (uint32_t)(queue >> 56);
      bool at_end = next >= end;
      if (at_end || (after_ff && byte > 0x8F)) { /* the end, or a marker: ones for ever */
        add(((uint64_t)1 << (kTop - bits)) - 1);
        filled += kTop - bits;
        bits = kTop;
        break;
      }
      if (after_ff && bits >= 0 && byte >= 0x80) /* a carry: not before its time */
        break;
      bits += after_ff ? 7 : 8;
      add((uint64_t)byte << (kTop - bits));
      after_ff = byte == 0xFF;
      queue <<= 8;
      next++;
    }
  }

  /* DECODE (C.3.2) with the context `state`, which it changes. `states` is cj2k_mq_next. */
  __device__ __forceinline__ uint32_t decode(uint32_t &state, const uint32_t *states)
  {
    uint32_t qe = state << 16, upper = a - qe;
    bool lower = high < qe;
    uint32_t lps = lower != (upper < qe); /* conditional exchange */
    uint32_t bit = (state >> CJ2K_MQ_MPS_SHIFT ^ lps) & 1;
    high -= lower ? 0 : qe;
    a = lower ? qe : upper;
    if (!(a >> 31)) { /* RENORMD (C.3.3) */
      uint32_t shift = __clz(a);
      state = states[2 * (state >> CJ2K_MQ_MPS_SHIFT) + lps];
      a <<= shift;
      high = __funnelshift_l(low, high, shift);
      low <<= shift;
      bits -= shift;
      if (bits < 0)
        byte_in();
    }
    return bit;
  }

  /* Has anything been decoded from bits that were made up? */
  __device__ __forceinline__ bool made_up() const
  {
    return filled > bits;
  }
};

/* After an 0xFF a byte has seven bits (D.6); ones after the end. */
struct RawDecoder {
  uint32_t byte;
  int32_t bits; /* left in byte */
  int32_t filled;
  const uint8_t *next, *end;

  __device__ __forceinline__ void start(const uint8_t *data, const uint8_t *data_end)
  {
    byte = 0;
    bits = filled = 0;
    next = data;
    end = data_end;
  }

  __device__ __forceinline__ uint32_t decode()
  {
    if (bits == 0) {
      bool after_ff = byte == 0xFF;
      uint32_t read = *next; /* one byte behind the end can be read */
      if (next >= end || (after_ff && read > 0x8F)) {
        byte = 0xFF;
        bits = 8;
        filled += 8;
      } else {
        byte = read;
        bits = after_ff ? 7 : 8;
        next++;
      }
    }
    return byte >> --bits & 1;
  }
};
