/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The MQ encoder (T.800 C.2) and the writer of raw bits (D.6), with their terminations and the
 * lengths at which a codeword segment may be cut.
 */
#ifndef CJ2K_CPU_MQ_ENCODER_H
#define CJ2K_CPU_MQ_ENCODER_H

#include "common/shared/mq_blocks.h"

/*
 * The registers of C.2. A and C are shifted left by 16, so that A needs renormalisation when its
 * top bit is zero. `byte` is B, which a carry may still change; it belongs at out[at]. Until the
 * first byte is complete `at` is one less than the segment's start. It may run past the capacity,
 * where nothing is stored.
 */
typedef struct {
  uint32_t a;
  uint64_t c;
  int ct;
  uint32_t byte;
  ptrdiff_t at;
  uint8_t *out;
  ptrdiff_t capacity;
} MqEncoder;

#define MQ_C_BITS 43 /* of C below the carry bit */

/* State of the encoder at the end of a pass: all numbers in [base, limit) decode the symbols up to
 * here. In these numbers `byte` has the weight 2^MQ_C_BITS. */
typedef struct {
  ptrdiff_t at;
  uint64_t base, limit;
} MqMark;

/* INITENC (C.2.8). */
static inline void mq_encoder_start(MqEncoder *mq, uint8_t *out, uint32_t start, uint32_t capacity)
{
  *mq = (MqEncoder){.a = 0x80000000,
                    .ct = 12,
                    .byte = start ? out[start - 1] : 0, /* written back unchanged */
                    .at = (ptrdiff_t)start - 1,
                    .out = out,
                    .capacity = capacity};
}

/* BYTEOUT (C.2.7) when CT is zero, or was -CT shifts ago. */
static inline void mq_byte_out(MqEncoder *mq)
{
  int late = -mq->ct, carry = MQ_C_BITS + late;

  if (mq->byte != 0xff && mq->c >> carry) {
    mq->byte++;
    mq->c -= UINT64_C(1) << carry;
  }
  if ((size_t)mq->at < (size_t)mq->capacity)
    mq->out[mq->at] = (uint8_t)mq->byte;
  mq->at++;
  mq->ct = mq->byte == 0xff ? 7 : 8; /* bit stuffing */
  mq->byte = (uint32_t)(mq->c >> (carry - mq->ct));
  mq->c &= (UINT64_C(1) << (carry - mq->ct)) - 1;
  mq->ct -= late;
}

/*
 * ENCODE (C.2.2 to C.2.6) of `count` symbols, each 2 * label + decision. Only the output of bytes
 * branches on the data; the empty asm keeps the compiler from turning the mask into a branch.
 */
static inline void mq_encode(MqEncoder *state, Cj2kMqContexts *contexts, const uint8_t *symbols,
                             size_t count)
{
  MqEncoder mq = *state;

  for (size_t i = 0; i < count; i++) {
    uint32_t *context = &contexts->words[symbols[i] >> 1];
    uint32_t word = *context, qe = word << 16;
    uint32_t lps = ((word >> CJ2K_MQ_MPS_SHIFT) ^ symbols[i]) & 1;
    uint32_t upper = mq.a - qe;
    uint32_t lower = -(lps ^ (upper < qe)); /* all ones: the lower sub-interval */
    __asm__("" : "+r"(lower));
    uint32_t after = cj2k_mq_next[word >> CJ2K_MQ_MPS_SHIFT][lps];

    mq.a = upper ^ ((upper ^ qe) & lower);
    mq.c += qe & ~lower;
    *context = mq.a & 0x80000000 ? word : after;
    int shift = __builtin_clz(mq.a); /* RENORME */
    mq.a <<= shift;
    mq.c <<= shift;
    mq.ct -= shift;
    while (__builtin_expect(mq.ct <= 0, 0))
      mq_byte_out(&mq);
  }
  *state = mq;
}

static inline MqMark mq_encoder_mark(const MqEncoder *mq, uint32_t start)
{
  uint64_t byte = mq->at >= (ptrdiff_t)start ? mq->byte : 0;
  uint64_t base = (byte << MQ_C_BITS) + (mq->c << mq->ct);

  return (MqMark){.at = mq->at, .base = base, .limit = base + ((uint64_t)mq->a << mq->ct)};
}

/* Outputs the next byte regardless of CT. */
static inline void mq_push_byte(MqEncoder *mq)
{
  mq->c <<= mq->ct;
  mq->ct = 0;
  mq_byte_out(mq);
}

/* FLUSH (C.2.9); a last 0xFF is kept. Returns the segment's end. */
static inline uint32_t mq_encoder_flush(MqEncoder *mq)
{
  uint64_t limit = mq->c + mq->a;

  mq->c |= 0xffff0000;
  if (mq->c >= limit)
    mq->c -= 0x80000000;
  for (int i = 0; i < 3; i++) /* B, then two bytes of C */
    mq_push_byte(mq);
  return (uint32_t)mq->at;
}

/* Predictable termination (D.4.2): returns the segment's end. */
static inline uint32_t mq_encoder_terminate_predictably(MqEncoder *mq)
{
  for (int bits = 12 - mq->ct; bits > 0; bits -= mq->ct)
    mq_push_byte(mq);
  bool drop = mq->byte == 0xff;
  mq_push_byte(mq);
  return (uint32_t)(drop ? mq->at - 1 : mq->at);
}

/* Drops 0xFF at the end of a segment: the decoder reads ones there anyway. */
static inline uint32_t mq_drop_ff(const uint8_t *out, uint32_t start, uint32_t end)
{
  while (end > start && out[end - 1] == 0xff)
    end--;
  return end;
}

/*
 * The smallest end of the segment out[start..end) with which all symbols up to `mark` decode; it is
 * not before the byte that was pending. The decoder reads ones behind the end, which makes the
 * bytes plus almost one unit of the last; this number must lie in the interval of the mark. (It may
 * also be below the interval, where a byte behind an 0xFF carries.)
 */
static inline uint32_t mq_cut(const uint8_t *out, uint32_t start, uint32_t end, MqMark mark)
{
  ptrdiff_t at = mark.at;
  uint64_t sum = 0;
  int weight = MQ_C_BITS; /* the bytes that follow add less than 2^weight */

  if (at < (ptrdiff_t)start)
    at = start;
  else
    weight += at > (ptrdiff_t)start && out[at - 1] == 0xff ? 7 : 8;
  while (at < (ptrdiff_t)end) {
    uint64_t seen = sum + (UINT64_C(1) << weight);
    if (seen > mark.base && seen <= mark.limit)
      break;
    weight -= at > (ptrdiff_t)start && out[at - 1] == 0xff ? 7 : 8;
    sum += (uint64_t)out[at++] << weight;
  }
  return mq_drop_ff(out, start, (uint32_t)(at < (ptrdiff_t)end ? at : end));
}

/* Writes raw bits; behind an 0xFF a byte has seven. */
typedef struct {
  uint32_t byte;
  int free; /* bits of byte not yet used */
  bool after_ff;
  uint32_t at;
  uint8_t *out;
  uint32_t capacity;
} RawEncoder;

static inline void raw_encoder_start(RawEncoder *raw, uint8_t *out, uint32_t start,
                                     uint32_t capacity)
{
  *raw = (RawEncoder){.free = 8, .at = start, .out = out, .capacity = capacity};
}

static inline void raw_byte_out(RawEncoder *raw)
{
  if (raw->at < raw->capacity)
    raw->out[raw->at] = (uint8_t)raw->byte;
  raw->at++;
  raw->after_ff = raw->byte == 0xff;
  raw->free = raw->after_ff ? 7 : 8;
  raw->byte = 0;
}

static inline void raw_encode(RawEncoder *raw, const uint8_t *symbols, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    raw->byte |= (uint32_t)(symbols[i] & 1) << --raw->free;
    if (raw->free == 0)
      raw_byte_out(raw);
  }
}

/* The end that includes all bits so far, once the last byte is written. */
static inline uint32_t raw_encoder_mark(const RawEncoder *raw)
{
  return raw->at + (raw->free < (raw->after_ff ? 7 : 8));
}

/*
 * Ends a raw segment: the last byte is filled with 0101..., which D.4.2 requires with PTERM. With
 * PTERM a byte of padding follows a last 0xFF; otherwise the caller drops the 0xFF.
 */
static inline uint32_t raw_encoder_terminate(RawEncoder *raw, bool predictable)
{
  if (raw->free < (raw->after_ff ? 7 : 8) || (raw->after_ff && predictable)) {
    raw->byte |= 0x55u >> (8 - raw->free);
    raw_byte_out(raw);
  }
  return raw->at;
}

#endif
