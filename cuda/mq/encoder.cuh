// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ encoder (T.800 C.2) and the writer of raw bits (D.6) of one thread, in registers, and the
 * lengths at which their codeword segments may be cut. The bytes are those of
 * common/cpu/mq/encoder.h.
 *
 * Segments are written one behind the other, each as if it were alone, at whole words and uncut:
 * what is cut off the end of one is not known before all its bytes are. Which bytes stay, and so
 * where the next segment really begins, follows from marks that the passes leave.
 */
#pragma once

#include "encode_kernels.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

/* Bytes of a block on their way to its room, which is words; the first of them no segment uses. */
struct ByteRoom {
  uint32_t *words, *next, *end; /* nothing is written at or behind end */
  uint32_t low, high;           /* bytes that wait, the last one on top */
  uint32_t bits;                /* of them */

  __device__ __forceinline__ void start(uint32_t *room, uint32_t *room_end)
  {
    words = next = room;
    end = room_end;
    low = high = bits = 0;
  }

  /* One more byte when count is 8, none when it is 0; no more than eight before a flush. */
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

  /* Leaves at most three waiting, where there were no more than seven. */
  __device__ __forceinline__ void flush()
  {
    if (bits >= 32) {
      store(__funnelshift_rc(low, high, 64 - bits));
      bits -= 32;
    }
  }

  /* A segment begins at the next word but one; the bytes that wait go before it. */
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

  /* Bytes put since the segment at `start` began. */
  __device__ __forceinline__ int32_t position(uint32_t start) const
  {
    return (int32_t)((uint32_t)(next - words) * 4 + bits / 8 - start);
  }
};

/* Of a number that is not zero. */
__device__ __forceinline__ uint32_t leading_zeros(uint32_t number)
{
  uint32_t zeros;
  asm("bfind.shiftamt.u32 %0, %1;"
      : "=r"(zeros)
      : "r"(number)); /* one instruction; __clz has two */
  return zeros;
}

struct MqEncoder {
  /* What a symbol does to C: an addition, then a shift of up to 15 (RENORME, C.2.6). Shifts with
   * kFar fill a byte, and may fill two. */
  struct Delta {
    uint32_t add, shift;
  };
  static constexpr uint32_t kFar = 8;

  uint32_t a; /* in bits 31..16 */
  uint32_t c; /* 28 bits, the uppermost a carry */
  int32_t ct;
  uint32_t byte; /* B: a carry may still change it */

  /* INITENC (C.2.8); where the segment begins. The B that is there before the first byte goes to
   * the word that is left free before a segment. */
  __device__ __forceinline__ uint32_t start(ByteRoom &room)
  {
    a = 0x80000000u;
    c = byte = 0;
    ct = 12;
    return room.start_segment(1);
  }

  /* BYTEOUT (C.2.7). */
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

  /* ENCODE (C.2.2..C.2.6) but for C, with a context of this Qe; lps: not zero for the LPS. A does
   * not wait for C: what C is to become is the result. */
  __device__ __forceinline__ Delta encode(uint32_t qe, uint32_t lps, bool &renormalised)
  {
    Delta delta;
    uint32_t top = qe << 16, upper = a - top;
    choose(upper, top, lps, qe, delta.add);
    renormalised = (int32_t)a >= 0;
    delta.shift = leading_zeros(a);
    a <<= delta.shift;
    return delta;
  }

  /* The lower sub-interval is the LPS's, unless it is the larger one: conditional exchange. As the
   * machine can do it; compilers make numbers of such conditions, which takes twice as long. */
  __device__ __forceinline__ void choose(uint32_t upper, uint32_t top, uint32_t lps, uint32_t qe,
                                         uint32_t &add)
  {
    asm("{\n"
        ".reg .pred l, lower;\n"
        "setp.ne.u32 l, %4, 0;\n"
        "setp.lt.xor.u32 lower, %2, %3, l;\n"
        "selp.u32 %0, %3, %2, lower;\n"
        "selp.u32 %1, 0, %5, lower;\n"
        "}"
        : "=r"(a), "=r"(add)
        : "r"(upper), "r"(top), "r"(lps), "r"(qe));
  }

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

  /* The same where no more than one byte is filled. What BYTEOUT does is done in any case and taken
   * where it is due, so that no branch parts the lanes. */
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

  /* At the end of a pass, in the segment at `start`. */
  __device__ __forceinline__ Cj2kCudaMqMark mark(const ByteRoom &room, uint32_t start) const
  {
    Cj2kCudaMqMark mark = {start, room.position(start), a | byte << 8 | (uint32_t)ct << 4, c};
    return mark;
  }

  /* Puts out the next byte, whether or not CT says so. */
  __device__ __forceinline__ void push_byte(ByteRoom &room)
  {
    c <<= ct;
    byte_out(room);
  }

  /* FLUSH (C.2.9), nothing dropped. */
  __device__ __forceinline__ void flush(ByteRoom &room)
  {
    uint32_t limit = c + (a >> 16);
    c |= 0xFFFF;
    if (c >= limit)
      c -= 0x8000;
    for (int32_t i = 0; i < 3; i++) /* two bytes of C, and B */
      push_byte(room);
  }

  /* Predictable termination (D.4.2); true: the last byte is to be dropped. */
  __device__ __forceinline__ bool terminate_predictably(ByteRoom &room)
  {
    for (int32_t bits = 12 - ct; bits > 0; bits -= ct)
      push_byte(room);
    bool drop = byte == 0xFF;
    push_byte(room);
    return drop;
  }
};

struct RawEncoder {
  uint32_t byte;
  int32_t free; /* bits of byte not yet used */
  bool after_ff;

  /* Where the segment begins. */
  __device__ __forceinline__ uint32_t start(ByteRoom &room)
  {
    byte = 0;
    free = 8;
    after_ff = false;
    uint32_t first = room.start_segment(4);
    room.next++;
    return first;
  }

  __device__ __forceinline__ void byte_out(ByteRoom &room)
  {
    room.put(byte, 8);
    room.flush();
    after_ff = byte == 0xFF;
    free = after_ff ? 7 : 8;
    byte = 0;
  }

  __device__ __forceinline__ void encode(uint32_t bit, ByteRoom &room)
  {
    byte |= bit << --free;
    if (free == 0)
      byte_out(room);
  }

  /* Four of them, the first one on top. */
  __device__ __forceinline__ void encode_four(uint32_t bits, ByteRoom &room)
  {
    free -= 4;
    if (free > 0) {
      byte |= bits << free;
      return;
    }
    uint32_t left = (uint32_t)-free;
    byte |= bits >> left;
    byte_out(room);
    free -= (int32_t)left;
    byte = (bits & ((1u << left) - 1)) << free;
  }

  /* Sixteen of them, the first one on top. Two bytes become full, mostly without stuffing. */
  __device__ __forceinline__ void encode_sixteen(uint32_t bits, ByteRoom &room)
  {
    uint32_t bytes = byte << 16 | bits << free, first = bytes >> 16, second = bytes >> 8 & 0xFF;
    if (after_ff || first == 0xFF || second == 0xFF) {
#pragma unroll 1
      for (int32_t at = 12; at >= 0; at -= 4)
        encode_four(bits >> at & 15, room);
      return;
    }
    room.put(first, 8);
    room.put(second, 8);
    room.flush();
    byte = bytes & 0xFF;
  }

  __device__ __forceinline__ bool is_begun() const
  {
    return free < (after_ff ? 7 : 8);
  }

  __device__ __forceinline__ Cj2kCudaMqMark mark(const ByteRoom &room, uint32_t start) const
  {
    Cj2kCudaMqMark mark = {start, room.position(start) + is_begun(), 0, 0};
    return mark;
  }

  /* The last byte is filled with 0101... */
  __device__ __forceinline__ void terminate(bool predictable, ByteRoom &room)
  {
    if (is_begun() || (after_ff && predictable)) {
      byte |= 0x55u >> (8 - free);
      byte_out(room);
    }
  }
};

/* What is left of a segment's first `length` bytes without bytes FF at the end. */
__device__ __forceinline__ int32_t drop_ff(const uint8_t *segment, int32_t length)
{
  while (length > 0 && segment[length - 1] == 0xFF)
    length--;
  return length;
}

/*
 * The least number of bytes of an MQ segment of `length`, not before B, that decode all symbols up
 * to `mark` (docs/mq-coder.md).
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

/* How long a segment is that ends with `mark`. */
__device__ __forceinline__ int32_t segment_length(const uint8_t *segment,
                                                  const Cj2kCudaMqMark &mark, bool is_raw,
                                                  bool predictable)
{
  int32_t length = mark.at + (int32_t)(mark.state & 15);
  if (predictable)
    return length;
  return is_raw ? drop_ff(segment, length) : cut_segment(segment, length, mark);
}

/* How many of them a pass needs that ends before the segment does. */
__device__ __forceinline__ int32_t pass_length(const uint8_t *segment, int32_t length,
                                               const Cj2kCudaMqMark &mark, bool is_raw)
{
  if (is_raw)
    return drop_ff(segment, mark.at < length ? mark.at : length);
  return cut_segment(segment, length, mark);
}
