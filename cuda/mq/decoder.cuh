// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ decoder (T.800 C.3) and the reader of raw bits (D.6) of one thread, in registers. They do
 * what common/cpu/mq/decoder.h does with any bytes: also how far they got behind the end of a
 * segment is the same.
 *
 * Reading bytes is apart from decoding, so that the threads of a warp do it together: a symbol can
 * be decoded while `bits` is not negative, else it takes a fill () first.
 */
#pragma once

#include "cuda/shared/bytes.cuh"

extern "C" {
#include "common/shared/mq_blocks.h"
}

/*
 * A context is a word: the MPS on top, Qe in the rest of its upper half, in the lower one the byte
 * offset of its row in the table of states, whose two words are the contexts after an MPS and after
 * an LPS that renormalise. One state more makes raw bits of decisions: an interval cut into halves
 * each time, of which the upper one is the MPS, 1.
 */
#define QE(state, qe, nmps, nlps, change) QE_##state = qe,
enum { CJ2K_MQ_STATES(QE) QE_47 = 0x4000 };
#define MQ_WORD(state, mps)                                                                        \
  ((uint32_t)(mps) << 31 | (uint32_t)QE_##state << 16 | (uint32_t)(16 * (state) + 8 * (mps)))
#define MQ_NEXT(state, qe, nmps, nlps, change)                                                     \
  MQ_WORD(nmps, 0), MQ_WORD(nlps, (change)), MQ_WORD(nmps, 1), MQ_WORD(nlps, 1 - (change)),

#define MQ_RAW MQ_WORD(47, 1)

constexpr uint32_t kMqStateWords = 4 * (CJ2K_MQ_NUM_STATES + 1);

/* Leading zeros of what is not zero; __clz thinks of that as well. */
__device__ __forceinline__ uint32_t leading_zeros(uint32_t word)
{
  uint32_t count;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(count) : "r"(word));
  return count;
}

/* Shared memory by addresses that are computed once: of pointers into it the compiler keeps
 * nothing, but finds out thread and block number again each time. */
__device__ __forceinline__ uint32_t shared_byte(uint32_t address)
{
  uint32_t byte;
  asm("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address));
  return byte;
}

__device__ __forceinline__ uint32_t shared_word(uint32_t address)
{
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

__device__ __forceinline__ void set_shared_word(uint32_t address, uint32_t word)
{
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(address), "r"(word));
}

/* Without waiting for what is there. */
__device__ __forceinline__ void add_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.or.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

__device__ __forceinline__ void keep_shared_bits(uint32_t address, uint32_t bits)
{
  asm volatile("red.shared.and.b32 [%0], %1;" : : "r"(address), "r"(bits));
}

/* Of a table: nothing writes there. */
__device__ __forceinline__ uint2 shared_pair(uint32_t address)
{
  uint2 pair;
  asm("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "r"(address));
  return pair;
}

/* C is 64 bits, Chigh on top, as two registers: only its upper one takes part in comparisons. Up to
 * 48 bits are read ahead. Raw bits begin at the second highest one. */
struct MqDecoder {
  static constexpr int32_t kTop = 48;

  uint32_t a; /* in bits 31..16 */
  uint32_t high, low;
  int32_t bits;   /* of C below Chigh that have been read; negative while they are owed. Raw: that
                     there are, less one */
  int32_t filled; /* bits made up since the end of the segment */
  uint32_t after_ff;
  uint32_t is_raw;
  const uint8_t *next, *end;
  uint32_t ahead[3]; /* words from next's on, so that nothing waits for them */

  __device__ __forceinline__ void add(uint64_t value)
  {
    value += (uint64_t)high << 32 | low;
    high = (uint32_t)(value >> 32);
    low = (uint32_t)value;
  }

  __device__ __forceinline__ void look_ahead()
  {
    const uint32_t *words =
        reinterpret_cast<const uint32_t *>(reinterpret_cast<uintptr_t>(next) & ~(uintptr_t)3);
    ahead[0] = __ldg(words);
    ahead[1] = __ldg(words + 1);
    ahead[2] = __ldg(words + 2);
  }

  /* The next eight bytes. */
  __device__ __forceinline__ void peek(uint32_t &first, uint32_t &second) const
  {
    uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(next) & 3);
    first = __byte_perm(__funnelshift_r(ahead[0], ahead[1], shift), 0, 0x0123);
    second = __byte_perm(__funnelshift_r(ahead[1], ahead[2], shift), 0, 0x0123);
  }

  /* INITDEC (C.3.5), but for the bytes that fill () reads. An empty segment is all ones. */
  __device__ __forceinline__ void start(const uint8_t *data, const uint8_t *data_end, bool raw)
  {
    next = data;
    end = data_end;
    is_raw = raw;
    high = low = filled = after_ff = 0;
    bits = -1;
    a = 0x80000000u;
    if (!raw) {
      uint32_t first = next < end ? *next++ : 0xFF;
      high = first << 23;
      bits = -7;
      after_ff = first == 0xFF;
    }
    look_ahead();
  }

  /* BYTEIN (C.3.4) when no bit is left, or not enough raw ones: six bytes, none of them 0xFF, at
   * once, or byte by byte. */
  __device__ __forceinline__ void fill()
  {
    uint32_t first, second;
    peek(first, second);
    uint32_t tail = second & 0xFFFF0000u;
    /* A byte is 0xFF when its complement is zero: that shows as a borrow. */
    uint32_t any_ff = ((~first - 0x01010101u) & first & 0x80808080u) |
                      ((~tail - 0x01010101u) & tail & 0x80808080u);
    if (end - next >= 6 && bits <= 14 && !(any_ff | after_ff)) {
      add(((uint64_t)first << 16 | second >> 16) << (is_raw ? 14 - bits : -bits));
      bits += 48;
      next += 6;
    } else if (is_raw) {
      fill_raw((uint64_t)first << 32 | second);
    } else {
      fill_slow((uint64_t)first << 32 | second);
    }
    look_ahead();
  }

  /* `queue` has the next eight bytes: as many as this may need. */
  __device__ __forceinline__ void fill_slow(uint64_t queue)
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

  /* After an 0xFF a byte has seven bits (D.6); ones after the end. */
  __device__ __forceinline__ void fill_raw(uint64_t queue)
  {
    while (bits < 55) {
      uint32_t byte = (uint32_t)(queue >> 56), count = after_ff ? 7 : 8;
      if (next >= end || (after_ff && byte > 0x8F)) {
        byte = 0xFF;
        count = 8;
        filled += 8;
      } else {
        queue <<= 8;
        next++;
      }
      after_ff = byte == 0xFF;
      bits += (int32_t)count;
      add((uint64_t)(byte & ((1u << count) - 1)) << (62 - bits));
    }
  }

  /* Takes the part of the interval that C is in (C.3.2), and renormalises it by `shift` bits
   * (C.3.3). Is it the LPS's? */
  __device__ __forceinline__ bool divide(uint32_t state, uint32_t &shift)
  {
    uint32_t qe = state & 0x7FFF0000u, upper = a - qe;
    bool lower = high < qe;
    bool lps = lower != (upper < qe); /* conditional exchange */
    high -= lower ? 0 : qe;
    a = lower ? qe : upper;
    shift = leading_zeros(a);
    a <<= shift;
    high = __funnelshift_l(low, high, shift);
    low <<= shift;
    bits -= (int32_t)shift;
    return lps;
  }

  /* DECODE with a context that is `state` and becomes `changed`, and the table of states at
   * `states`. */
  __device__ __forceinline__ bool decode(uint32_t state, uint32_t states, uint32_t &changed)
  {
    uint2 next = shared_pair(states + (state & 0xFFFF));
    uint32_t shift;
    bool lps = divide(state, shift);
    changed = lps ? next.y : next.x;
    changed = shift ? changed : state;
    return lps != ((int32_t)state < 0);
  }

  /* With the UNIFORM context, which never changes. */
  __device__ __forceinline__ bool decode_uniform()
  {
    uint32_t shift;
    return divide(MQ_WORD(46, 0), shift);
  }

  /* The same with the context at `context`. */
  __device__ __forceinline__ bool decode_at(uint32_t context, uint32_t states)
  {
    uint32_t changed;
    bool decision = decode(shared_word(context), states, changed);
    set_shared_word(context, changed);
    return decision;
  }

  /* The next `count` raw bits, 1..32, the first on top of them. */
  __device__ __forceinline__ uint32_t take_raw(uint32_t count)
  {
    if (bits + 1 < (int32_t)count)
      fill();
    uint32_t value = __funnelshift_l(low, high, 1) >> (32 - count);
    uint64_t rest = ((uint64_t)high << 32 | low) << count;
    high = (uint32_t)(rest >> 32) & 0x7FFFFFFFu;
    low = (uint32_t)rest;
    bits -= (int32_t)count;
    return value;
  }

  /* How many zeros the next `count` raw bits, up to 32, begin with. */
  __device__ __forceinline__ uint32_t raw_zeros(uint32_t count) const
  {
    return min((uint32_t)__clz((int32_t)__funnelshift_l(low, high, 1)), count);
  }

  /* Up to 31 raw bits that are there. */
  __device__ __forceinline__ void skip_raw(uint32_t count)
  {
    high = __funnelshift_l(low, high, count) & 0x7FFFFFFFu;
    low <<= count;
    bits -= (int32_t)count;
  }

  /* Has anything been decoded from bits that were made up? */
  __device__ __forceinline__ bool made_up() const
  {
    return filled > bits + (int32_t)is_raw;
  }
};
