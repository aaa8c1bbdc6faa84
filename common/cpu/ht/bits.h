/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bit strings of HT coding passes with their stuffing bits taken out (T.814 7.1), so that any bit
 * can be read at its position. First bit of the stream is bit 0 of byte 0.
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
 * MagSgn and SigProp (T.814 7.1.2, 7.1.4): in[length] forwards; after a byte FF the top bit of the
 * next is skipped. Writes up to length + 8 bytes to out and returns the number of bits; bits of the
 * last byte after them are zero.
 */
size_t cj2k_ht_destuff_forward(const uint8_t *in, size_t length, uint8_t *out);

/*
 * VLC and MagRef (T.814 7.1.3, 7.1.5): backwards from in[length - 1] to in[0]; a top bit is skipped
 * when the seven others are ones and the byte read before is above 8F, which it counts as at the
 * start. With vlc the first byte is the one that holds the lower four bits of Scup: only its upper
 * four bits count.
 */
size_t cj2k_ht_destuff_backward(const uint8_t *in, size_t length, bool vlc, uint8_t *out);

/* Bits from `bits` on to one, up to `pad` bytes after the byte that holds the last bit. */
void cj2k_ht_pad_ones(uint8_t *out, size_t bits, size_t pad);

/* Appends bits, the first of the stream lowest. */
typedef struct {
  uint8_t *out;
  uint64_t pending;
  uint32_t count; /* of pending, < 8 between calls */
} Cj2kHtBits;

/* Up to 56 bits; bits above `length` must be zero. Writes 8 bytes. */
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

/* What remains when whole bytes have been made of a bit string. */
typedef struct {
  uint32_t bits, count; /* of the unfinished byte */
  bool stuffed; /* the last whole byte was FF (forward) or above 8F (backward; so it counts at the
                   start) */
} Cj2kHtRest;

/*
 * The inverses of destuffing: bits of a string to bytes at out upwards, or at out_end - 1
 * downwards. Return the number of whole bytes, at most count / 7. The string is read up to 15 bytes
 * behind its end.
 */
size_t cj2k_ht_stuff_forward(const uint8_t *bits, size_t count, uint8_t *out, Cj2kHtRest *rest);
size_t cj2k_ht_stuff_backward(const uint8_t *bits, size_t count, uint8_t *out_end,
                              Cj2kHtRest *rest);

#endif
