/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The MQ decoder (T.800 C.3) and the reader of raw bits (D.6), for a local variable that the
 * compiler keeps in registers.
 *
 * C is 64 bits wide, Chigh on top: up to 48 bits are read ahead, so that BYTEIN runs once in six
 * bytes. A byte that follows an 0xFF may carry into what was read before it (C.3.4); when it does
 * it is added at the very moment the standard adds it, so that any bytes decode as the standard
 * says.
 *
 * An MPS that needs no renormalisation has Chigh >= Qe and A - Qe >= 0x8000. `d` is the smaller of
 * C and A - 0x8000, which both lose Qe then, so one comparison and one subtraction are all there is
 * to do. `a` and `c` hold what A and C have above d.
 */
#ifndef CJ2K_CPU_MQ_DECODER_H
#define CJ2K_CPU_MQ_DECODER_H

#include "mq_blocks.h"

#include <string.h>

#define MQ_INLINE      static inline __attribute__((always_inline))
#define MQ_LIKELY(x)   __builtin_expect(!!(x), 1)
#define MQ_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MQ_TOP         48 /* shift of Chigh, A and Qe */
#define MQ_HALF        (UINT64_C(0x8000) << MQ_TOP)

typedef struct {
  uint64_t a, c, d;
  int bits; /* of C below Chigh that have been read */
  const uint8_t *next, *end;
  int filled; /* bits made up since the end of the segment */
} MqDecoder;

/* BYTEIN (C.3.4) when no bit is left below Chigh, byte by byte: near an 0xFF or the end. */
static __attribute__((noinline, unused)) MqDecoder mq_byte_in_slow(MqDecoder mq)
{
  int bits = 0;

  while (bits <= MQ_TOP - 8) {
    bool at_end = mq.next >= mq.end;
    bool after_ff = !at_end && mq.next[-1] == 0xff;

    if (at_end || (after_ff && *mq.next > 0x8f)) { /* the end, or a marker: ones for ever */
      mq.c += (UINT64_C(1) << (MQ_TOP - bits)) - 1;
      mq.filled += MQ_TOP - bits;
      bits = MQ_TOP;
      break;
    }
    if (after_ff && bits > 0 && *mq.next >= 0x80) /* a carry: not before its time */
      break;
    bits += after_ff ? 7 : 8;
    mq.c += (uint64_t)*mq.next++ << (MQ_TOP - bits);
  }
  mq.bits = bits;
  return mq;
}

MQ_INLINE void mq_byte_in(MqDecoder *mq)
{
  if (MQ_LIKELY(mq->end - mq->next >= 8 && mq->next[-1] != 0xff)) {
    uint64_t bytes;
    memcpy(&bytes, mq->next, sizeof bytes);
    bytes = __builtin_bswap64(bytes) >> 16;
    /* A byte is 0xFF when its complement is zero: borrows show in bit 7 of the lowest such one. */
    uint64_t inverse = ~bytes;
    if (MQ_LIKELY(!((inverse - UINT64_C(0x010101010101)) & bytes & UINT64_C(0x808080808080)))) {
      mq->c += bytes;
      mq->bits = MQ_TOP;
      mq->next += 6;
      return;
    }
  }
  *mq = mq_byte_in_slow(*mq);
}

/* RENORMD (C.3.3) for the whole shift at once, of A and C themselves. */
MQ_INLINE void mq_renormalise(MqDecoder *mq, int shift)
{
  mq->a <<= shift;
  while (MQ_UNLIKELY(shift > mq->bits)) {
    mq->c <<= mq->bits;
    shift -= mq->bits;
    mq_byte_in(mq);
  }
  mq->c <<= shift;
  mq->bits -= shift;
}

MQ_INLINE void mq_split(MqDecoder *mq)
{
  uint64_t room = mq->a - MQ_HALF;

  mq->d = room < mq->c ? room : mq->c;
  mq->a -= mq->d;
  mq->c -= mq->d;
}

MQ_INLINE void mq_join(MqDecoder *mq)
{
  mq->a += mq->d;
  mq->c += mq->d;
}

/* INITDEC (C.3.5). An empty segment is all ones. */
static inline void mq_start(MqDecoder *mq, const uint8_t *data, const uint8_t *end)
{
  *mq = (MqDecoder){.a = MQ_HALF, .next = data, .end = end};
  if (data < end)
    mq->c = (uint64_t)*mq->next++ << MQ_TOP;
  else
    mq->c = UINT64_C(0xff) << MQ_TOP;
  *mq = mq_byte_in_slow(*mq);
  mq->c <<= 7;
  mq->bits -= 7;
  mq_split(mq);
}

/* DECODE (C.3.2) on A and C, without a branch on what is decoded: for symbols nobody can guess. */
MQ_INLINE unsigned mq_decode_joined(MqDecoder *mq, uint32_t *context)
{
  uint32_t word = *context;
  uint64_t qe = (uint64_t)word << MQ_TOP;
  uint64_t upper = mq->a - qe;
  bool lower = mq->c < qe;
  unsigned lps = lower ^ (upper < qe); /* conditional exchange */
  uint64_t rest = mq->c - qe;
  uint32_t after = cj2k_mq_next[word >> CJ2K_MQ_MPS_SHIFT][lps];

  mq->a = lower ? qe : upper;
  mq->c = lower ? mq->c : rest;
  *context = mq->a & MQ_HALF ? word : after;
  mq_renormalise(mq, __builtin_clzll(mq->a));
  return ((word >> CJ2K_MQ_MPS_SHIFT) ^ lps) & 1;
}

/* DECODE when the symbol is often the MPS. */
MQ_INLINE unsigned mq_decode(MqDecoder *mq, uint32_t *context)
{
  uint32_t word = *context;
  uint64_t qe = (uint64_t)word << MQ_TOP;

  if (MQ_LIKELY(mq->d >= qe)) {
    mq->d -= qe;
    return (word >> CJ2K_MQ_MPS_SHIFT) & 1;
  }
  mq_join(mq);
  unsigned symbol = mq_decode_joined(mq, context);
  mq_split(mq);
  return symbol;
}

/* Bits of a raw segment: after an 0xFF a byte has seven (D.6); ones after the end. */
typedef struct {
  uint32_t byte;
  int bits; /* left in byte */
  const uint8_t *next, *end;
  int filled;
} RawDecoder;

static inline void raw_start(RawDecoder *raw, const uint8_t *data, const uint8_t *end)
{
  *raw = (RawDecoder){.next = data, .end = end};
}

static inline unsigned raw_decode(RawDecoder *raw)
{
  if (raw->bits == 0) {
    bool after_ff = raw->byte == 0xff;
    if (raw->next >= raw->end || (after_ff && *raw->next > 0x8f)) {
      raw->byte = 0xff;
      raw->bits = 8;
      raw->filled += 8;
    } else {
      raw->byte = *raw->next++;
      raw->bits = after_ff ? 7 : 8;
    }
  }
  return (raw->byte >> --raw->bits) & 1;
}

#endif
