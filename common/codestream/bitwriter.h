/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes the bits of packet headers (T.800 B.10.1): most significant bit first; after a byte 0xFF
 * the next byte holds only 7 bits. The buffer grows as needed.
 */
#ifndef CJ2K_CODESTREAM_BITWRITER_H
#define CJ2K_CODESTREAM_BITWRITER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A byte array that keeps its memory from frame to frame. */
typedef struct {
  uint8_t *data;
  size_t size, capacity;
} Cj2kByteBuffer;

static inline void cj2k_bytes_reserve(Cj2kByteBuffer *buffer, size_t more)
{
  if (buffer->capacity - buffer->size < more) {
    buffer->capacity = (buffer->size + more) * 2;
    buffer->data = g_realloc(buffer->data, buffer->capacity);
  }
}

/* Writes the bits of a part of a header, without bit stuffing. */
typedef struct {
  Cj2kByteBuffer *out;
  size_t begin;    /* in `out` */
  uint64_t window; /* the lowest `count` bits wait to be written */
  uint32_t count;
} Cj2kPlainBits;

static inline void cj2k_plain_begin(Cj2kPlainBits *bits, Cj2kByteBuffer *out)
{
  *bits = (Cj2kPlainBits){.out = out, .begin = out->size};
}

static inline void cj2k_plain_drain(Cj2kPlainBits *bits)
{
  uint64_t bytes = GUINT64_TO_BE(bits->count ? bits->window << (64 - bits->count) : 0);

  cj2k_bytes_reserve(bits->out, 16);
  memcpy(bits->out->data + bits->out->size, &bytes, sizeof bytes);
  bits->out->size += bits->count / 8;
  bits->count %= 8;
}

/* The n lowest bits of value, n <= 56; the others must be zero. */
static inline void cj2k_plain_put(Cj2kPlainBits *bits, uint64_t value, uint32_t n)
{
  if (G_UNLIKELY(bits->count + n > 64))
    cj2k_plain_drain(bits);
  bits->window = bits->window << n | value;
  bits->count += n;
}

/* Writes n bits 1 and a bit 0, for any n. */
static inline void cj2k_plain_put_ones(Cj2kPlainBits *bits, uint32_t n)
{
  for (; n > 30; n -= 30)
    cj2k_plain_put(bits, 0x3fffffff, 30);
  cj2k_plain_put(bits, (1u << (n + 1)) - 2, n + 1);
}

/* Pads the last byte. Returns the number of bits without the padding. */
static inline uint64_t cj2k_plain_end(Cj2kPlainBits *bits)
{
  cj2k_plain_drain(bits);
  uint64_t whole = (uint64_t)(bits->out->size - bits->begin) * 8;
  bits->out->size += bits->count > 0;
  return whole + bits->count;
}

/* Writes the bits of a whole header, with bit stuffing. */
typedef struct {
  Cj2kByteBuffer *out;
  uint64_t window; /* the lowest `count` bits wait to be written */
  uint32_t count;
  uint32_t room; /* bits that the next byte holds: 8, or 7 after 0xFF */
} Cj2kBitWriter;

static inline void cj2k_bits_begin(Cj2kBitWriter *bits, Cj2kByteBuffer *out)
{
  *bits = (Cj2kBitWriter){.out = out, .room = 8};
}

/* Writes all whole bytes at once if none of them is 0xFF, which is nearly always so. */
static inline bool cj2k_bits_drain_word(Cj2kBitWriter *bits)
{
  uint32_t whole = bits->count & ~7u;
  uint64_t bytes = bits->window << (64 - bits->count), after = ~(~UINT64_C(0) >> whole);
  uint64_t holes = ~(bytes & after); /* a byte 0xFF becomes 0 */

  if ((holes - UINT64_C(0x0101010101010101)) & ~holes & UINT64_C(0x8080808080808080))
    return false;
  bytes = GUINT64_TO_BE(bytes);
  memcpy(bits->out->data + bits->out->size, &bytes, sizeof bytes);
  bits->out->size += whole / 8;
  bits->count -= whole;
  return true;
}

static inline void cj2k_bits_drain(Cj2kBitWriter *bits)
{
  cj2k_bytes_reserve(bits->out, 16);
  if (bits->room == 8 && bits->count >= 8 && bits->count < 64 && cj2k_bits_drain_word(bits))
    return;
  while (bits->count >= bits->room) {
    bits->count -= bits->room;
    uint8_t byte = (uint8_t)(bits->window >> bits->count & ((1u << bits->room) - 1));
    bits->out->data[bits->out->size++] = byte;
    bits->room = byte == 0xff ? 7 : 8;
  }
}

/* The n lowest bits of value, n <= 32; the others must be zero. */
static inline void cj2k_bits_put(Cj2kBitWriter *bits, uint32_t value, uint32_t n)
{
  if (G_UNLIKELY(bits->count + n > 56))
    cj2k_bits_drain(bits);
  bits->window = bits->window << n | value;
  bits->count += n;
}

/* Reads n bits, 1..32, that Cj2kPlainBits has written, from bit `at` on. */
static inline uint32_t cj2k_plain_get(const uint8_t *plain, uint64_t at, uint32_t n)
{
  uint64_t word;

  memcpy(&word, plain + at / 8, sizeof word);
  return (uint32_t)(GUINT64_FROM_BE(word) << at % 8 >> (64 - n));
}

/* Writes `count` bits that Cj2kPlainBits has written. Up to seven bytes after them are read. */
static inline void cj2k_bits_put_plain(Cj2kBitWriter *bits, const uint8_t *plain, uint64_t count)
{
  const uint64_t ones = UINT64_C(0x0101010101010101);
  uint64_t at = 0, word;

  cj2k_bits_drain(bits);
  if (count >= 64 && bits->room == 7) { /* rounds begin with a whole byte */
    uint32_t n = 7 - bits->count;
    cj2k_bits_put(bits, cj2k_plain_get(plain, 0, n), n);
    cj2k_bits_drain(bits);
    at = n;
  }
  while (count - at >= 64) {
    uint32_t n = 56 - bits->count; /* together with the waiting bits, seven bytes */
    memcpy(&word, plain + at / 8, sizeof word);
    word = (GUINT64_FROM_BE(word) << at % 8 >> (64 - n) | bits->window << n) << 8;
    uint64_t holes = ~word; /* a byte 0xFF becomes 0; the eighth byte does not */
    uint64_t full = (holes - ones) & ~holes & ones << 7;
    uint64_t bytes = GUINT64_TO_BE(word);
    cj2k_bytes_reserve(bits->out, 16);
    uint8_t *out = bits->out->data + bits->out->size;
    memcpy(out, &bytes, sizeof bytes);
    if (!full) {
      bits->out->size += 7;
      at += n;
    } else { /* up to the first 0xFF, and seven bits that follow it */
      uint32_t before = 0;
      while (out[before] != 0xff)
        before++;
      at += 8 * (before + 1) - bits->count;
      out[before + 1] = (uint8_t)cj2k_plain_get(plain, at, 7);
      bits->out->size += before + 2;
      at += 7;
    }
    bits->count = 0;
  }
  for (uint32_t n; at < count; at += n) {
    n = (uint32_t)MIN(count - at, 32);
    cj2k_bits_put(bits, cj2k_plain_get(plain, at, n), n);
  }
}

/* Pads with zeros to a byte boundary; a header never ends in 0xFF (B.10.1). */
static inline void cj2k_bits_end(Cj2kBitWriter *bits)
{
  cj2k_bits_drain(bits);
  if (bits->count)
    cj2k_bits_put(bits, 0, bits->room - bits->count);
  cj2k_bits_drain(bits);
  if (bits->room == 7)
    cj2k_bits_put(bits, 0, 7);
  cj2k_bits_drain(bits);
}

#endif
