// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ encoder (T.800 C.2) of one thread, in registers, and the lengths at which codeword
 * segments may be cut. The bytes are those of common/cpu/mq/encoder.h.
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
  uint32_t *words, *next, *end; /* nothing is written at or behind end */
  uint32_t low, high;           /* bytes that are not stored yet, the last one highest */
  uint32_t bits;                /* the number of their bits */

  __device__ __forceinline__ void start(uint32_t *room, uint32_t *room_end)
  {
    words = next = room;
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

  __device__ __forceinline__ void store(uint32_t word)
  {
    if (next < end)
      *next = word;
    next++;
  }

  /* Stores a word if there is one. Of up to seven bytes at most three are left. */
  __device__ __forceinline__ void flush()
  {
    if (bits >= 32) {
      store(__funnelshift_rc(low, high, 64 - bits));
      bits -= 32;
    }
  }

  /* Starts a segment behind the next word, of which it uses the last `bytes_before` bytes: what is
   * put first goes there. Returns the place of the segment in bytes. */
  __device__ __forceinline__ uint32_t start_segment(uint32_t bytes_before)
  {
    bits = 8 * (4 - bytes_before);
    return (uint32_t)(next - words + 1) * 4;
  }

  __device__ __forceinline__ void end_segment()
  {
    flush();
    if (bits)
      store(high >> (32 - bits));
    bits = 0;
  }

  /* The number of bytes that the segment at `start` has so far. */
  __device__ __forceinline__ int32_t position(uint32_t start) const
  {
    return (int32_t)((uint32_t)(next - words) * 4 + bits / 8 - start);
  }
};

struct MqEncoder {
  /* What a symbol does to C: an addition, then a shift of up to 15 (RENORME, T.800 C.2.6). Shifts
   * with the bit kFar may fill two bytes. */
  struct Delta {
    uint32_t add, shift;
  };
  static constexpr uint32_t kFar = 8;
  static constexpr uint32_t kWholeInterval = 0x80000000u; /* A at the begin of a segment */

  uint32_t a; /* in bits 31..16 */
  uint32_t c; /* 28 bits, of which the highest is a carry */
  int32_t ct;
  uint32_t byte; /* B, the last byte, which a carry may still change */

  /* INITENC (T.800 C.2.8). Returns the place of the segment. B before the first byte is not a byte
   * of the segment: it goes to the word before it. */
  __device__ __forceinline__ uint32_t start(ByteRoom &room)
  {
    a = kWholeInterval;
    c = byte = 0;
    ct = 12;
    return room.start_segment(1);
  }

  /* BYTEOUT (T.800 C.2.7). */
  __device__ __forceinline__ void byte_out(ByteRoom &room)
  {
    if (byte != 0xFF) {
      byte += c >> 27;
      c &= 0x7FFFFFF;
    }
    room.put(byte, 8);
    room.flush();
    ct = byte == 0xFF ? 7 : 8; /* bit stuffing */
    byte = c >> (27 - ct);
    c &= (1u << (27 - ct)) - 1;
  }

  /* ENCODE (T.800 C.2.2 to C.2.6) without C, with a context of this Qe; `lps` is not zero for the
   * LPS. A does not depend on C: what happens to C is returned and applied later. */
  __device__ __forceinline__ Delta encode(uint32_t qe, uint32_t lps, bool &renormalised)
  {
    Delta delta;
    uint32_t top = qe << 16;
    Interval chosen = choose_interval(a - top, top, lps, qe);
    a = chosen.a;
    delta.add = chosen.add;
    renormalised = (int32_t)a >= 0;
    delta.shift = leading_zeros(a);
    a <<= delta.shift;
    return delta;
  }

  /* Applies a delta to C, with any shift. */
  __device__ __forceinline__ void apply(const Delta &delta, ByteRoom &room)
  {
    int32_t shift = (int32_t)delta.shift;
    c += delta.add;
    while (shift >= ct) {
      c <<= ct;
      shift -= ct;
      byte_out(room);
    }
    c <<= shift;
    ct -= shift;
  }

  /* Applies a delta that fills at most one byte. BYTEOUT is computed in any case and its results
   * are used if a byte is due, so that lanes do not diverge. */
  __device__ __forceinline__ void apply_near(const Delta &delta, ByteRoom &room)
  {
    uint32_t shift = delta.shift;
    bool due = (int32_t)shift >= ct, stuffed = byte == 0xFF;
    uint32_t before = min(shift, (uint32_t)ct), behind = shift - before;
    uint32_t full = (c + delta.add) << before;
    uint32_t last = byte + (stuffed ? 0 : full >> 27), rest = stuffed ? full : full & 0x7FFFFFF;
    uint32_t fresh = last == 0xFF ? 7 : 8; /* bit stuffing */
    uint32_t first = rest >> (27 - fresh);
    rest -= first << (27 - fresh);
    room.put(last, due ? 8 : 0);
    byte = due ? first : byte;
    c = due ? rest << behind : full;
    ct = (due ? (int32_t)fresh : ct) - (int32_t)(due ? behind : shift);
  }

  /* The mark of the end of a pass in the segment at `start`. */
  __device__ __forceinline__ Cj2kCudaMqMark mark(const ByteRoom &room, uint32_t start) const
  {
    Cj2kCudaMqMark mark = {start, room.position(start), a | byte << 8 | (uint32_t)ct << 4, c};
    return mark;
  }

  /* Puts out the next byte, whatever CT is. */
  __device__ __forceinline__ void push_byte(ByteRoom &room)
  {
    c <<= ct;
    byte_out(room);
  }

  /* FLUSH (T.800 C.2.9); a last FF is not dropped here. */
  __device__ __forceinline__ void flush(ByteRoom &room)
  {
    uint32_t limit = c + (a >> 16);
    c |= 0xFFFF;
    if (c >= limit)
      c -= 0x8000;
    for (int32_t i = 0; i < 3; i++) /* two bytes of C, and B */
      push_byte(room);
  }

  /* Predictable termination (T.800 D.4.2). Returns whether the last byte is to be dropped. */
  __device__ __forceinline__ bool terminate_predictably(ByteRoom &room)
  {
    for (int32_t bits = 12 - ct; bits > 0; bits -= ct)
      push_byte(room);
    bool drop = byte == 0xFF;
    push_byte(room);
    return drop;
  }
};

/* Does a segment of a block of so many passes end with this one? */
__device__ __forceinline__ bool ends_segment(uint32_t pass, uint32_t num_passes, uint32_t style)
{
  return pass + 1 == num_passes || cj2k_pass_ends_segment(pass, (uint8_t)style);
}

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
