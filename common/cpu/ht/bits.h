/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bit strings of HT coding passes without stuffing bits (T.814 7.1), so that any bit can be read at
 * its position. The first bit of the stream is bit 0 of byte 0.
 */
#ifndef CJ2K_CPU_HT_BITS_H
#define CJ2K_CPU_HT_BITS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t cj2k_load_le64(const uint8_t *p)
{
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return GUINT64_FROM_LE(v);
}

static inline void cj2k_store_le64(uint8_t *p, uint64_t v)
{
  v = GUINT64_TO_LE(v);
  memcpy(p, &v, sizeof v);
}

/* At least 57 bits from bit position pos on; reads 8 bytes. */
static inline uint64_t cj2k_bits_at(const uint8_t *bits, size_t pos)
{
  return cj2k_load_le64(bits + (pos >> 3)) >> (pos & 7);
}

/* 64 bits from bit position pos on; reads 16 bytes. */
static inline uint64_t cj2k_bits64_at(const uint8_t *bits, size_t pos)
{
  uint64_t low = cj2k_bits_at(bits, pos), high = cj2k_load_le64(bits + (pos >> 3) + 8);
  return low | (high << 1) << (63 - (pos & 7));
}

/*
 * MagSgn and SigProp (T.814 7.1.2, 7.1.4): reads in[length] forwards and skips the top bit of a
 * byte behind FF. Writes up to length + 8 bytes to out and returns the number of bits; the rest of
 * the last byte is zero.
 */
size_t cj2k_ht_destuff_forward(const uint8_t *in, size_t length, uint8_t *out);

/*
 * VLC and MagRef (T.814 7.1.3, 7.1.5): reads backwards from in[length - 1] to in[0]. The top bit of
 * a byte is skipped when its other bits are ones and the byte read before is above 8F; the first
 * byte counts as if one above 8F came before. With vlc the first byte holds the lower four bits of
 * Scup, and only its upper four bits are taken.
 */
size_t cj2k_ht_destuff_backward(const uint8_t *in, size_t length, bool vlc, uint8_t *out);

/* Sets the bits from position `bits` on to one, up to `pad` bytes behind the byte that holds the
 * last bit. */
void cj2k_ht_pad_ones(uint8_t *out, size_t bits, size_t pad);

/* A writer that appends bits; the first bit of the stream is the lowest. */
typedef struct {
  uint8_t *out;
  uint64_t pending;
  uint32_t count; /* bits in pending, fewer than 8 between calls */
} Cj2kHtBits;

/* Appends up to 56 bits; those from `length` on must be zero. Always writes 8 bytes. */
static inline void cj2k_put_bits(Cj2kHtBits *b, uint64_t bits, uint32_t length)
{
  b->pending |= bits << b->count;
  b->count += length;
  cj2k_store_le64(b->out, b->pending);
  b->out += b->count >> 3;
  b->pending >>= b->count & 56;
  b->count &= 7;
}

static inline size_t cj2k_bits_put(const Cj2kHtBits *b, const uint8_t *start)
{
  return 8 * (size_t)(b->out - start) + b->count;
}

/* The rest of a bit string behind its last whole byte. */
typedef struct {
  uint32_t bits, count; /* of the unfinished byte */
  bool stuffed; /* the last whole byte was FF (forward) or above 8F (backward; also without any
                   whole byte) */
} Cj2kHtRest;

/*
 * The inverses of destuffing: write a bit string to bytes from out upwards, or from out_end - 1
 * downwards. They return the number of whole bytes, at most count / 7, and read up to 15 bytes
 * behind the end of the string.
 */
size_t cj2k_ht_stuff_forward(const uint8_t *bits, size_t count, uint8_t *out, Cj2kHtRest *rest);
size_t cj2k_ht_stuff_backward(const uint8_t *bits, size_t count, uint8_t *out_end,
                              Cj2kHtRest *rest);

#endif
