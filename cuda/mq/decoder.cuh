// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ decoder (T.800 C.3) and the reader of raw bits (T.800 D.6) of one thread, in registers.
 * With any bytes, also damaged ones, they give the decisions of common/cpu/mq/decoder.h and read
 * equally far past the end of a segment.
 *
 * Reading bytes is separate from decoding, so that the threads of a warp can do it together: a
 * symbol can be decoded while `bits` is not negative, else fill () comes first.
 */
#pragma once

#include "cuda/mq/instructions.cuh"
#include "cuda/shared/bytes.cuh"

extern "C" {
#include "common/shared/mq_blocks.h"
}

/*
 * A context is a word: bits 15 to 0 are Qe, and bits 31 to 16 are the byte offset of a row in the
 * table of states; bit 3 of the offset is the MPS. The row has two words: the contexts after an MPS
 * and after an LPS that renormalise. One state more than in table C.2 lets raw bits be decoded like
 * symbols: it halves the interval each time, and the upper half is the MPS, 1.
 */
#define QE(state, qe, nmps, nlps, change) QE_##state = qe,
enum { CJ2K_MQ_STATES(QE) QE_47 = 0x4000 };
#define MQ_WORD(state, mps) ((uint32_t)(16 * (state) + 8 * (mps)) << 16 | (uint32_t)QE_##state)
#define MQ_NEXT(state, qe, nmps, nlps, change)                                                     \
  MQ_WORD(nmps, 0), MQ_WORD(nlps, (change)), MQ_WORD(nmps, 1), MQ_WORD(nlps, 1 - (change)),

#define MQ_RAW MQ_WORD(47, 1)

constexpr uint32_t kMqStateWords = 4 * (CJ2K_MQ_NUM_STATES + 1);

/* The register C has 64 bits with Chigh on top, held in two words: comparisons need only the upper
 * one. Up to 48 bits below Chigh are read ahead. Raw bits begin at bit 62 of C. */
struct MqDecoder {
  static constexpr int32_t kMaxBits = 48;
  static constexpr uint32_t kMaxRaw = 30; /* zeros that raw_zeros () takes at once, at most */

  uint32_t a; /* in bits 31..16 */
  uint32_t high, low;
  int32_t bits; /* bits of C below Chigh that have been read; negative: that many are missing. Raw:
                   bits that are available, less one */
  int32_t padding; /* bits appended since the end of the segment */
  uint32_t after_ff;
  uint32_t is_raw;
  const uint8_t *next, *end;
  uint32_t words[3]; /* the aligned words from `next` on, loaded before they are needed */

  __device__ __forceinline__ void add(uint64_t value)
  {
    value += (uint64_t)high << 32 | low;
    high = (uint32_t)(value >> 32);
    low = (uint32_t)value;
  }

  __device__ __forceinline__ void load_words()
  {
    const uint32_t *from =
        reinterpret_cast<const uint32_t *>(reinterpret_cast<uintptr_t>(next) & ~(uintptr_t)3);
    words[0] = __ldg(from);
    words[1] = __ldg(from + 1);
    words[2] = __ldg(from + 2);
  }

  /* The next eight bytes, big-endian. */
  __device__ __forceinline__ void peek(uint32_t &first, uint32_t &second) const
  {
    uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(next) & 3);
    first = __byte_perm(__funnelshift_r(words[0], words[1], shift), 0, 0x0123);
    second = __byte_perm(__funnelshift_r(words[1], words[2], shift), 0, 0x0123);
  }

  /* INITDEC (T.800 C.3.5) without the bytes that fill () reads. An empty segment is read as ones.
   */
  __device__ __forceinline__ void start(const uint8_t *data, const uint8_t *data_end, bool raw)
  {
    next = data;
    end = data_end;
    is_raw = raw;
    high = low = padding = after_ff = 0;
    bits = -1;
    a = 0x80000000u;
    if (!raw) {
      uint32_t first = next < end ? *next++ : 0xFF;
      high = first << 23;
      bits = -7;
      after_ff = first == 0xFF;
    }
    load_words();
  }

  /* Could the next symbol but one be without bits? A symbol takes up to 15. */
  __device__ __forceinline__ bool wants_bytes() const
  {
    return bits < 15;
  }

  /* BYTEIN (T.800 C.3.4), when few bits are left or fewer raw bits than needed. It takes four bytes
   * at once if none of them is 0xFF, else it goes byte by byte. */
  __device__ __forceinline__ void fill()
  {
    uint32_t first, second;
    peek(first, second);
    /* A byte is 0xFF if its complement is zero; subtracting 1 from that gives a borrow. */
    uint32_t any_ff = (~first - 0x01010101u) & first & 0x80808080u;
    if (end - next >= 4 && wants_bytes() && !(any_ff | after_ff)) {
      add((uint64_t)first << (is_raw ? 30 - bits : 16 - bits));
      bits += 32;
      next += 4;
    } else if (is_raw) {
      fill_raw((uint64_t)first << 32 | second);
    } else {
      fill_slow((uint64_t)first << 32 | second);
    }
    load_words();
  }

  /* `queue` has the next eight bytes; no more are needed. */
  __device__ __forceinline__ void fill_slow(uint64_t queue)
  {
    while (bits <= kMaxBits - 8) {
      uint32_t byte = (uint32_t)(queue >> 56);
      bool at_end = next >= end;
      if (at_end || (after_ff && byte > 0x8F)) { /* the end or a marker: only ones follow */
        add(((uint64_t)1 << (kMaxBits - bits)) - 1);
        padding += kMaxBits - bits;
        bits = kMaxBits;
        break;
      }
      /* The top bit of a byte after 0xFF is added to the byte before, and the carry may reach
       * Chigh. The standard's decoder adds it when no bits are left, not earlier. */
      if (after_ff && bits >= 0 && byte >= 0x80)
        break;
      bits += after_ff ? 7 : 8;
      add((uint64_t)byte << (kMaxBits - bits));
      after_ff = byte == 0xFF;
      queue <<= 8;
      next++;
    }
  }

  /* Raw bits (T.800 D.6): a byte after 0xFF has seven of them. Ones follow after the end. */
  __device__ __forceinline__ void fill_raw(uint64_t queue)
  {
    while (bits < 55) {
      uint32_t byte = (uint32_t)(queue >> 56), count = after_ff ? 7 : 8;
      if (next >= end || (after_ff && byte > 0x8F)) {
        byte = 0xFF;
        count = 8;
        padding += 8;
      } else {
        queue <<= 8;
        next++;
      }
      after_ff = byte == 0xFF;
      bits += (int32_t)count;
      add((uint64_t)(byte & ((1u << count) - 1)) << (62 - bits));
    }
  }

  /* DECODE (T.800 C.3.2) with a context whose word is `state`, and RENORMD (C.3.3). If it
   * renormalises, `changed` becomes after.y after an LPS, else after.x; if not, it becomes `state`.
   * Returns if_one or if_zero, as the decision is; bit 31 of `flip` negates the decision. */
  __device__ __forceinline__ uint32_t decode(uint32_t state, uint2 after, uint32_t &changed,
                                             uint32_t if_one, uint32_t if_zero, uint32_t flip)
  {
    uint32_t qe = state << 16;
    Choice choice = choose(high, qe, a - qe, state << 12 ^ flip, after, if_one, if_zero);
    uint32_t shift = leading_zeros(choice.a);
    changed = (int32_t)choice.a < 0 ? state : choice.after;
    a = choice.a << shift;
    /* If C is in the lower sub-interval, C - Qe wraps and is the larger number. */
    high = __funnelshift_l(low, min(high, high - qe), shift);
    low <<= shift;
    bits -= (int32_t)shift;
    return choice.value;
  }

  /* The same with the states after it from the table at the address `states`. */
  __device__ __forceinline__ uint32_t decode(uint32_t state, uint32_t states, uint32_t &changed,
                                             uint32_t if_one, uint32_t if_zero, uint32_t flip)
  {
    return decode(state, shared_pair(states + (state >> 16)), changed, if_one, if_zero, flip);
  }

  /* DECODE with the UNIFORM context, which never changes. Returns the decision. */
  __device__ __forceinline__ uint32_t decode_uniform()
  {
    uint32_t changed;
    return decode(MQ_WORD(46, 0), uint2{0, 0}, changed, 1, 0, 0);
  }

  /* Takes raw bits up to the first 1, but no more than `count` zeros. Behind a 1 it takes one bit
   * more, *behind. Returns the number of zeros. */
  __device__ __forceinline__ uint32_t raw_zeros(uint32_t count, bool *behind)
  {
    if (bits < (int32_t)count)
      fill();
    uint32_t next_bits = __funnelshift_l(low, high, 1);
    uint32_t zeros = min((uint32_t)__clz((int32_t)next_bits), count);
    uint32_t taken = zeros + (zeros < count ? 2 : 0);
    *behind = next_bits << (zeros + 1) >> 31;
    high = __funnelshift_l(low, high, taken) & 0x7FFFFFFFu;
    low <<= taken;
    bits -= (int32_t)taken;
    return zeros;
  }

  /* Returns whether padding bits have moved into Chigh, or raw ones been taken. */
  __device__ __forceinline__ bool has_used_padding() const
  {
    return padding > bits + (int32_t)is_raw;
  }
};
