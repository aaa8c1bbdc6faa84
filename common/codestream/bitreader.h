/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the bits of packet headers (T.800 B.10.1): most significant bit first; after a byte 0xFF
 * the next byte holds only 7 bits. Past the end zeros are read, which cj2k_bits_overrun and
 * cj2k_bits_finish report.
 */
#ifndef CJ2K_CODESTREAM_BITREADER_H
#define CJ2K_CODESTREAM_BITREADER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  const uint8_t *data;
  size_t size;
  size_t next;     /* byte that the next refill takes; grows beyond size while zeros are fed */
  uint64_t window; /* unread bits, left aligned, followed by zeros */
  uint32_t count;  /* unread bits in window */
  bool stuffed;    /* data[next - 1] is 0xFF */
} Cj2kBitReader;

static inline void cj2k_bits_init(Cj2kBitReader *bits, const uint8_t *data, size_t size)
{
  *bits = (Cj2kBitReader){.data = data, .size = size};
}

/* Refills whole bytes up to 56 bits or more, if eight bytes are left and none of those taken is
 * 0xFF. The window may be full already. */
static inline bool cj2k_bits_refill_bytes(Cj2kBitReader *bits)
{
  uint32_t n = (63 - (bits->count & 63)) / 8;
  uint64_t bytes;

  if (bits->stuffed || bits->size < 8 || bits->next > bits->size - 8)
    return false;
  memcpy(&bytes, bits->data + bits->next, sizeof bytes);
  bytes = GUINT64_FROM_BE(bytes) & ~(~UINT64_C(0) >> (8 * n));
  if ((~bytes - G_GUINT64_CONSTANT(0x0101010101010101)) & bytes &
      G_GUINT64_CONSTANT(0x8080808080808080))
    return false;
  bits->window |= bytes >> (bits->count & 63);
  bits->count += 8 * n;
  bits->next += n;
  return true;
}

/* Makes at least 56 bits available. Call it with fewer than 64. */
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

/* Reads n bits, 0 <= n <= 32. */
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

/* Takes a run of bits of value `bit`, of at most `max_length` bits. Returns its length. */
static inline uint32_t cj2k_bits_take_run(Cj2kBitReader *bits, bool bit, uint32_t max_length)
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
    n = n < max_length - taken ? n : max_length - taken;
    bits->window = n < 64 ? bits->window << n : 0;
    bits->count -= n;
    taken += n;
  } while (bits->count == 0 && taken < max_length);
  return taken;
}

/* True if more bits were taken than there are. Loops that wait for a bit must call it. */
bool cj2k_bits_overrun(const Cj2kBitReader *bits);

/* Ends a header: skips to the byte boundary, and past the stuffed byte if the last byte is 0xFF.
 * Returns the number of bytes used, which is above size if the data ended before the header. */
size_t cj2k_bits_finish(const Cj2kBitReader *bits);

#endif
