/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The MQ decoder (T.800 C.3) and the reader of raw bits (D.6). The structs are meant for local
 * variables, which the compiler keeps in registers.
 *
 * C has 64 bits with Chigh on top: up to 48 bits are read ahead, so that BYTEIN runs once in six
 * bytes. A byte behind an 0xFF may carry into the bits before it (C.3.4). Such a byte is not read
 * ahead but added exactly when the standard adds it, so that any bytes decode as the standard
 * says.
 */
#ifndef CJ2K_CPU_MQ_DECODER_H
#define CJ2K_CPU_MQ_DECODER_H

#include "common/shared/mq_blocks.h"

#include <string.h>

#define MQ_INLINE      static inline __attribute__((always_inline))
#define MQ_LIKELY(x)   __builtin_expect(!!(x), 1)
#define MQ_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MQ_TOP         48 /* shift of Chigh, A and Qe */
#define MQ_HALF        (UINT64_C(0x8000) << MQ_TOP)

typedef struct {
  uint64_t a, c;
  int bits; /* bits of C below Chigh that are valid; negative: as many must be read first */
  const uint8_t *next, *end;
  int filled; /* ones supplied behind the end of the segment, in bits */
} MqDecoder;

/* BYTEIN (C.3.4) byte by byte: near an 0xFF or the end. */
static __attribute__((noinline, unused)) MqDecoder mq_byte_in_slow(MqDecoder mq)
{
  while (mq.bits <= MQ_TOP - 8) {
    bool at_end = mq.next >= mq.end;
    bool after_ff = !at_end && mq.next[-1] == 0xff;

    if (at_end || (after_ff && *mq.next > 0x8f)) { /* only ones follow */
      mq.c += (UINT64_C(1) << (MQ_TOP - mq.bits)) - 1;
      mq.filled += MQ_TOP - mq.bits;
      mq.bits = MQ_TOP;
      break;
    }
    if (after_ff && mq.bits >= 0 && *mq.next >= 0x80) /* may carry: must not be read ahead */
      break;
    mq.bits += after_ff ? 7 : 8;
    mq.c += (uint64_t)*mq.next++ << (MQ_TOP - mq.bits);
  }
  return mq;
}

MQ_INLINE void mq_byte_in(MqDecoder *mq)
{
  if (MQ_LIKELY(mq->end - mq->next >= 8 && mq->next[-1] != 0xff)) {
    uint64_t bytes;
    memcpy(&bytes, mq->next, sizeof bytes);
    bytes = __builtin_bswap64(bytes) >> 16;
    /* A byte is 0xFF when its complement is zero; the subtraction sets bit 7 of the lowest such
     * one. */
    uint64_t inverse = ~bytes;
    if (MQ_LIKELY(!((inverse - UINT64_C(0x010101010101)) & bytes & UINT64_C(0x808080808080)))) {
      mq->c += bytes << -mq->bits;
      mq->bits += MQ_TOP;
      mq->next += 6;
      return;
    }
  }
  *mq = mq_byte_in_slow(*mq);
}

/* RENORMD (C.3.3), the whole shift at once. */
MQ_INLINE void mq_renormalise(MqDecoder *mq, int shift)
{
  mq->a <<= shift;
  mq->c <<= shift;
  mq->bits -= shift;
  if (MQ_UNLIKELY(mq->bits < 0))
    mq_byte_in(mq);
}

/* INITDEC (C.3.5). An empty segment is all ones. */
static inline void mq_start(MqDecoder *mq, const uint8_t *data, const uint8_t *end)
{
  uint64_t first = data < end ? *data++ : 0xff;

  *mq = (MqDecoder){.a = MQ_HALF, .c = first << (MQ_TOP + 7), .bits = -7, .next = data, .end = end};
  *mq = mq_byte_in_slow(*mq);
}

/*
 * DECODE (C.3.2), without a branch on the decoded symbol, since branch prediction fails on it. The
 * empty asm keeps the compiler from turning the mask into a branch.
 */
MQ_INLINE unsigned mq_decode(MqDecoder *mq, uint32_t *context)
{
  uint32_t word = *context;
  uint64_t qe = (uint64_t)word << MQ_TOP;
  uint64_t upper = mq->a - qe;
  uint64_t lower = -(uint64_t)(mq->c < qe); /* all ones: the lower sub-interval */
  __asm__("" : "+r"(lower));
  unsigned lps = (unsigned)(lower & 1) ^ (upper < qe); /* conditional exchange */
  uint32_t after = cj2k_mq_next[word >> CJ2K_MQ_MPS_SHIFT][lps];

  mq->c -= qe & ~lower;
  mq->a = upper ^ ((upper ^ qe) & lower);
  *context = mq->a & MQ_HALF ? word : after;
  mq_renormalise(mq, __builtin_clzll(mq->a));
  return ((word >> CJ2K_MQ_MPS_SHIFT) ^ lps) & 1;
}

/* DECODE for contexts in which an MPS without renormalisation is so frequent that a branch is
 * cheaper. */
MQ_INLINE unsigned mq_decode_likely(MqDecoder *mq, uint32_t *context)
{
  uint32_t word = *context;
  uint64_t qe = (uint64_t)word << MQ_TOP;
  uint64_t upper = mq->a - qe;

  if (MQ_LIKELY(mq->c >= qe && (upper & MQ_HALF))) {
    mq->a = upper;
    mq->c -= qe;
    return (word >> CJ2K_MQ_MPS_SHIFT) & 1;
  }
  return mq_decode(mq, context);
}

/* Reads a raw segment: behind an 0xFF a byte has seven bits (D.6); behind the end are ones. */
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
