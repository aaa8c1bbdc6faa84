/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bits of packet headers (T.800 B.10.1): most significant first, after a byte 0xFF the next byte
 * holds only 7 bits. Past the end zeros are read, and cj2k_bits_finish tells.
 */
#ifndef CJ2K_BITREADER_H
#define CJ2K_BITREADER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  const uint8_t *data;
  size_t size;
  size_t next;     /* byte that the next refill takes; runs past size when zeros are fed */
  uint64_t window; /* unread bits, left aligned, zeros behind them */
  uint32_t count;  /* unread bits in window */
  bool stuffed;    /* data[next - 1] is 0xFF */
} Cj2kBitReader;

static inline void cj2k_bits_init(Cj2kBitReader *bits, const uint8_t *data, size_t size)
{
  *bits = (Cj2kBitReader){.data = data, .size = size};
}

/* Whole bytes up to 64 bits, when eight bytes are there and none of them is 0xFF. */
static inline bool cj2k_bits_refill_bytes(Cj2kBitReader *bits)
{
  uint64_t bytes, nots;
  uint32_t n = (64 - bits->count) / 8;

  if (bits->stuffed || bits->size < 8 || bits->next > bits->size - 8)
    return false;
  memcpy(&bytes, bits->data + bits->next, sizeof bytes);
  nots = ~bytes;
  if ((nots - G_GUINT64_CONSTANT(0x0101010101010101)) & bytes &
      G_GUINT64_CONSTANT(0x8080808080808080))
    return false;
  bytes = GUINT64_FROM_BE(bytes) >> (64 - 8 * n) << (64 - 8 * n);
  bits->window |= bytes >> bits->count;
  bits->count += 8 * n;
  bits->next += n;
  return true;
}

/* Makes at least 56 bits available; called with fewer. */
static inline void cj2k_bits_refill(Cj2kBitReader *bits)
{
  if (cj2k_bits_refill_bytes(bits))
    return;
  while (bits->count <= 56) {
    uint64_t byte = bits->next < bits->size ? bits->data[bits->next] : 0;
    uint32_t n = bits->stuffed ? 7 : 8;

    bits->window |= (byte & (0xff >> (8 - n))) << (64 - n - bits->count);
    bits->stuffed = byte == 0xff;
    bits->count += n;
    bits->next++;
  }
}

/* The next n bits, 0 <= n <= 32. */
static inline uint32_t cj2k_bits_get(Cj2kBitReader *bits, uint32_t n)
{
  uint32_t value;

  if (bits->count < n)
    cj2k_bits_refill(bits);
  value = (uint32_t)(bits->window >> 32 >> (32 - n));
  bits->window <<= n;
  bits->count -= n;
  return value;
}

static inline uint32_t cj2k_bits_get1(Cj2kBitReader *bits)
{
  uint32_t value;

  if (bits->count == 0)
    cj2k_bits_refill(bits);
  value = (uint32_t)(bits->window >> 63);
  bits->window <<= 1;
  bits->count--;
  return value;
}

/* Takes bits of value `bit` up to the next one of the other value, but not more than `most`.
 * Returns how many. */
static inline uint32_t cj2k_bits_take_run(Cj2kBitReader *bits, bool bit, uint32_t most)
{
  uint32_t taken = 0;

  do {
    uint64_t others;
    uint32_t n;

    if (bits->count == 0)
      cj2k_bits_refill(bits);
    others = bit ? ~bits->window : bits->window;
    n = others ? (uint32_t)__builtin_clzll(others) : 64;
    n = n < bits->count ? n : bits->count;
    n = n < most - taken ? n : most - taken;
    bits->window = n < 64 ? bits->window << n : 0;
    bits->count -= n;
    taken += n;
  } while (bits->count == 0 && taken < most);
  return taken;
}

/* True when more bits were taken than there are: loops that wait for a bit must ask. */
bool cj2k_bits_overrun(const Cj2kBitReader *bits);

/* Ends a header: skips to the byte boundary, and the stuffed byte when the last byte is 0xFF.
 * Returns bytes used, size + 1 or more when the data ended before the header did. */
size_t cj2k_bits_finish(const Cj2kBitReader *bits);

#endif
