// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The second half of the MQ encoder (T.800 C.2), C and the bytes, in the registers of a thread, and
 * the lengths at which codeword segments may be cut. The bytes are those of
 * common/cpu/mq/encoder.h.
 *
 * The segments of a block are written one behind the other at full length, each as if it were alone
 * and from a whole word on; raw ones (raw_segments.cuh) come behind the others. How many bytes are
 * cut off the end of a segment is not known before all of them are written. Passes leave marks,
 * from which a later kernel finds which bytes are needed, and so where the next segment begins in
 * the output.
 */
#pragma once

#include "cuda/mq/instructions.cuh"
#include "encode_kernels.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

/* Writes the bytes of a block to its room, as words. The word before each segment is not part of
 * it. */
struct ByteRoom {
  uint32_t *words;
  uint32_t next, end; /* numbers of words; nothing is written at or behind end */
  uint32_t low, high; /* bytes that are not stored yet, the last one highest */
  uint32_t bits;      /* the number of their bits */

  __device__ __forceinline__ void start(uint32_t *room, uint32_t room_end)
  {
    words = room;
    next = 0;
    end = room_end;
    low = high = bits = 0;
  }

  /* Puts a byte if count is 8, nothing if it is 0. At most eight bytes may wait for flush (). */
  __device__ __forceinline__ void put(uint32_t byte, uint32_t count)
  {
    low = __funnelshift_r(low, high, count);
    high = __funnelshift_r(high, byte, count);
    bits += count;
  }

  /* Stores a word if there is one. Of up to seven bytes at most three are left. */
  __device__ __forceinline__ void flush()
  {
    uint32_t word = __funnelshift_l(low, high, bits); /* by the bits of the bytes behind it */
    if (bits >= 32 && next < end)
      words[next] = word;
    next += bits / 32;
    bits %= 32;
  }

  /* Starts a segment behind the next word, of which it uses the last `bytes_before` bytes: what is
   * put first goes there. Returns the place of the segment in bytes. */
  __device__ __forceinline__ uint32_t start_segment(uint32_t bytes_before)
  {
    bits = 8 * (4 - bytes_before);
    return 4 * (next + 1);
  }

  __device__ __forceinline__ void end_segment()
  {
    flush();
    if (bits) {
      if (next < end)
        words[next] = high >> (32 - bits);
      next++;
    }
    bits = 0;
  }

  /* The number of bytes that the segment at `start` has so far. */
  __device__ __forceinline__ int32_t position(uint32_t start) const
  {
    return (int32_t)(4 * next + bits / 8 - start);
  }
};

/*
 * The registers of T.800 C.2. B and C are one number, so that a carry out of C is added to B by
 * itself. Shifts do not move this number: they make what is added next weigh less. Below C are
 * zeros for as many shifts as CT, and kSpare more, which may be done before B is put out.
 */
struct MqEncoder {
  /* What four symbols do to C together: the shift, then the addition. */
  struct Sum {
    uint32_t add, shift;
  };

  static constexpr uint32_t kSpare = 15, kByte = 27 + kSpare; /* B's last bit weighs 2^kByte */

  uint32_t a;    /* A at the end of a pass, in bits 31..16 */
  uint64_t code; /* B and C */
  uint32_t left; /* CT + kSpare: what is added to C weighs 2^left */

  /* INITENC (T.800 C.2.8). Returns the place of the segment. B before the first byte is not a byte
   * of the segment: it goes to the word before it. */
  __device__ __forceinline__ uint32_t start(ByteRoom &room)
  {
    code = 0;
    left = 12 + kSpare;
    return room.start_segment(1);
  }

  /* B. If it is FF a carry does not change it but is the first bit of the next byte, which has a
   * bit for it (bit stuffing). */
  __device__ __forceinline__ uint32_t byte() const
  {
    return min((uint32_t)(code >> kByte), 0xFFu);
  }

  /* BYTEOUT (T.800 C.2.7). */
  __device__ __forceinline__ void byte_out(ByteRoom &room)
  {
    uint32_t last = byte(), fresh = last == 0xFF ? 7 : 8;
    room.put(last, 8);
    room.flush();
    code = (code - ((uint64_t)last << kByte)) << fresh;
    left += fresh;
  }

  /* Applies a delta (deltas.cuh) to C. */
  __device__ __forceinline__ void apply(uint32_t delta, ByteRoom &room)
  {
    code += (uint64_t)(delta >> 16) << left;
    left -= delta & 31;
    while (left <= kSpare)
      byte_out(room);
  }

  static __device__ __forceinline__ Sum sum_of(uint4 deltas)
  {
    uint32_t add = deltas.x >> 16; /* the shifts are taken modulo 32 */
    add = __funnelshift_l(0, add, deltas.x) + (deltas.y >> 16);
    add = __funnelshift_l(0, add, deltas.y) + (deltas.z >> 16);
    add = __funnelshift_l(0, add, deltas.z) + (deltas.w >> 16);
    return {__funnelshift_l(0, add, deltas.w),
            (deltas.x + deltas.y + deltas.z + deltas.w) & 0xFFFF};
  }

  /*
   * Applies four deltas to C as one, whose byte, if one is due, is put out behind the last: it is
   * computed in any case, so that lanes do not diverge. That is not the same as one after the other
   * if the next byte was FF when it began and had a carry since: it is 00 then, and the carry is in
   * B. Returns whether the deltas were applied: not if this may be so, two bytes are due, or there
   * are too many shifts, together in one of 400 cases.
   */
  __device__ __forceinline__ bool apply_sum(Sum sum, ByteRoom &room)
  {
    constexpr uint32_t kHighByte = kByte - 32; /* of B in the upper word of the code */
    MqEncoder next = *this;
    next.left -= sum.shift;
    uint32_t high = __funnelshift_l(sum.add, 0, next.left);
    uint32_t low = __funnelshift_l(0, sum.add, next.left);
    next.code += (uint64_t)high << 32 | low;
    bool due = next.left <= kSpare, carry = (next.code ^ code) >> kByte;
    uint32_t last = next.byte(), behind = due ? (last == 0xFF ? 7 : 8) : 0;
    low = (uint32_t)next.code;
    high = (uint32_t)(next.code >> 32) - (due ? last << kHighByte : 0);
    high = __funnelshift_l(low, high, behind);
    low <<= behind;
    next.left += behind;
    bool ambiguous = due && carry && !(high >> kHighByte);
    bool applied = sum.shift <= kSpare && next.left > kSpare && !ambiguous;
    room.put(last, due && applied ? 8 : 0);
    low = alone(applied ? low : (uint32_t)code);
    high = alone(applied ? high : (uint32_t)(code >> 32));
    code = (uint64_t)high << 32 | low;
    left = alone(applied ? next.left : left);
    return applied;
  }

  /* Applies four deltas one after the other. */
  __device__ void apply_each(uint4 deltas, ByteRoom &room)
  {
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++) {
      apply(deltas.x, room);
      deltas = make_uint4(deltas.y, deltas.z, deltas.w, 0);
    }
  }

  /* The mark of the end of a pass in the segment at `start`. */
  __device__ __forceinline__ Cj2kCudaMqMark mark(const ByteRoom &room, uint32_t start) const
  {
    uint32_t last = byte(), c = (uint32_t)((code - ((uint64_t)last << kByte)) >> left);
    Cj2kCudaMqMark mark = {start, room.position(start), a | last << 8 | (uint32_t)ct() << 4, c};
    return mark;
  }

  __device__ __forceinline__ int32_t ct() const
  {
    return (int32_t)(left - kSpare);
  }

  /* Puts out the next byte, whatever CT is. */
  __device__ __forceinline__ void push_byte(ByteRoom &room)
  {
    left = kSpare;
    byte_out(room);
  }

  /* FLUSH (T.800 C.2.9); a last FF is not dropped here. */
  __device__ __forceinline__ void flush(ByteRoom &room)
  {
    uint64_t value = code >> left, limit = value + (a >> 16);
    value |= 0xFFFF;
    if (value >= limit)
      value -= 0x8000;
    code = value << left;
    for (int32_t i = 0; i < 3; i++) /* two bytes of C, and B */
      push_byte(room);
  }

  /* Predictable termination (T.800 D.4.2). Returns whether the last byte is to be dropped. */
  __device__ __forceinline__ bool terminate_predictably(ByteRoom &room)
  {
    for (int32_t bits = 12 - ct(); bits > 0; bits -= ct())
      push_byte(room);
    bool drop = byte() == 0xFF;
    push_byte(room);
    return drop;
  }
};

/* The length of a segment's first `length` bytes without bytes FF at the end. */
__device__ __forceinline__ int32_t drop_ff(const uint8_t *segment, int32_t length)
{
  while (length > 0 && segment[length - 1] == 0xFF)
    length--;
  return length;
}

/*
 * The smallest number of bytes of an MQ segment of `length` bytes, not less than those before B,
 * from which all symbols up to `mark` can be decoded (docs/mq-coder.md).
 */
__device__ __forceinline__ int32_t cut_segment(const uint8_t *segment, int32_t length,
                                               const Cj2kCudaMqMark &mark)
{
  constexpr int32_t kBits = 43; /* B's last bit weighs 2^kBits, CT shifts before it is full */
  int32_t at = mark.at < 0 ? 0 : mark.at, ct = mark.state >> 4 & 15, weight = kBits;
  uint64_t byte = mark.state >> 8 & 0xFF;
  uint64_t base = (byte << kBits) + ((uint64_t)mark.c << (16 + ct)), sum = 0;
  uint64_t limit = base + ((uint64_t)(mark.state & 0xFFFF0000u) << ct);

  uint32_t before = at > 0 ? segment[at - 1] : 0;
  if (mark.at >= 0)
    weight += before == 0xFF ? 7 : 8;
  while (at < length) {
    uint64_t seen = sum + ((uint64_t)1 << weight);
    if (seen > base && seen <= limit)
      break;
    weight -= before == 0xFF ? 7 : 8;
    before = segment[at++];
    sum += (uint64_t)before << weight;
  }
  return drop_ff(segment, at < length ? at : length);
}

/* The length of a segment whose last pass left `mark`. */
__device__ __forceinline__ int32_t segment_length(const uint8_t *segment,
                                                  const Cj2kCudaMqMark &mark, bool is_raw,
                                                  bool predictable)
{
  int32_t length = mark.at + (int32_t)(mark.state & 15);
  if (predictable)
    return length;
  return is_raw ? drop_ff(segment, length) : cut_segment(segment, length, mark);
}

/* How many of a segment's bytes a pass needs that is not its last one and left `mark`. */
__device__ __forceinline__ int32_t pass_length(const uint8_t *segment, int32_t length,
                                               const Cj2kCudaMqMark &mark, bool is_raw)
{
  if (is_raw)
    return drop_ff(segment, mark.at < length ? mark.at : length);
  return cut_segment(segment, length, mark);
}
