/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bits.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Bits so far: whole bytes are at out, the rest (count < 8) is in pending. */
typedef struct {
  uint8_t *out;
  uint64_t pending;
  uint32_t count;
} Packer;

static inline void put_word(Packer *p, uint64_t word)
{
  cj2k_store_le64(p->out, p->pending | word << p->count);
  p->pending = (word >> 1) >> (63 - p->count);
  p->out += 8;
}

static inline void put_byte(Packer *p, uint32_t byte, uint32_t bits)
{
  p->pending |= (uint64_t)byte << p->count;
  p->count += bits;
  if (p->count >= 8) {
    *p->out++ = (uint8_t)p->pending;
    p->pending >>= 8;
    p->count -= 8;
  }
}

static size_t finish(Packer *p, const uint8_t *start)
{
  *p->out = (uint8_t)p->pending;
  return 8 * (size_t)(p->out - start) + p->count;
}

/* Whether some byte of x is zero. */
static inline bool has_zero_byte(uint64_t x)
{
  return ((x - EACH_BYTE(0x01)) & ~x & EACH_BYTE(0x80)) != 0;
}

size_t cj2k_ht_destuff_forward(const uint8_t *in, size_t length, uint8_t *out)
{
  Packer p = {.out = out};
  const uint8_t *end = in + length;
  uint32_t skip = 0; /* 1 after a byte FF */
  while (in < end) {
    if (!skip && end - in >= 8) {
      uint64_t word = cj2k_load_le64(in);
      if (!has_zero_byte(~word)) {
        put_word(&p, word);
        in += 8;
        continue;
      }
    }
    for (int i = 0; i < 8 && in < end; i++, in++) {
      put_byte(&p, *in & (0xFFu >> skip), 8 - skip);
      skip = *in == 0xFF;
    }
  }
  return finish(&p, out);
}

size_t cj2k_ht_destuff_backward(const uint8_t *in, size_t length, bool vlc, uint8_t *out)
{
  Packer p = {.out = out};
  const uint8_t *at = in + length; /* one after the next byte */
  bool after_large = true;         /* the byte before is above 8F */
  if (vlc && at > in) {
    uint32_t nibble = *--at >> 4;
    uint32_t skip = (nibble & 7) == 7;
    put_byte(&p, nibble & (15u >> skip), 4 - skip);
    after_large = nibble > 8;
  }
  while (at > in) {
    if (at - in >= 8) {
      uint64_t word = GUINT64_SWAP_LE_BE(cj2k_load_le64(at - 8));
      if (!has_zero_byte(~(word | EACH_BYTE(0x80)))) { /* no byte has seven ones */
        put_word(&p, word);
        after_large = word >> 56 > 0x8F;
        at -= 8;
        continue;
      }
    }
    for (int i = 0; i < 8 && at > in; i++) {
      uint32_t byte = *--at, skip = after_large && (byte & 0x7F) == 0x7F;
      put_byte(&p, byte & (0xFFu >> skip), 8 - skip);
      after_large = byte > 0x8F;
    }
  }
  return finish(&p, out);
}

void cj2k_ht_pad_ones(uint8_t *out, size_t bits, size_t pad)
{
  uint8_t *last = out + (bits >> 3);
  *last = (uint8_t)(*last | 0xFFu << (bits & 7));
  memset(last + 1, 0xFF, pad);
}

size_t cj2k_ht_stuff_forward(const uint8_t *bits, size_t count, uint8_t *out, Cj2kHtRest *rest)
{
  const uint8_t *start = out;
  size_t pos = 0;
  bool after_ff = false;
  for (;;) {
    if (!after_ff && count - pos >= 64) {
      uint64_t word = cj2k_bits64_at(bits, pos);
      if (!has_zero_byte(~word)) {
        cj2k_store_le64(out, word);
        out += 8;
        pos += 64;
        continue;
      }
    }
    uint32_t length = 8 - after_ff;
    if (count - pos < length)
      break;
    *out = (uint8_t)(cj2k_bits_at(bits, pos) & (0xFFu >> after_ff));
    after_ff = *out++ == 0xFF;
    pos += length;
  }
  rest->count = (uint32_t)(count - pos);
  rest->bits = (uint32_t)cj2k_bits_at(bits, pos) & ((1u << rest->count) - 1);
  rest->stuffed = after_ff;
  return (size_t)(out - start);
}

size_t cj2k_ht_stuff_backward(const uint8_t *bits, size_t count, uint8_t *out_end, Cj2kHtRest *rest)
{
  uint8_t *out = out_end;
  size_t pos = 0;
  bool after_large = true;
  for (;;) {
    if (count - pos >= 64) {
      uint64_t word = cj2k_bits64_at(bits, pos);
      if (!has_zero_byte(~(word | EACH_BYTE(0x80)))) { /* no byte has seven ones */
        out -= 8;
        cj2k_store_le64(out, GUINT64_SWAP_LE_BE(word));
        after_large = word >> 56 > 0x8F;
        pos += 64;
        continue;
      }
    }
    uint32_t left = (uint32_t)MIN(count - pos, 8), byte = (uint32_t)cj2k_bits_at(bits, pos) & 0xFF;
    bool stuff = after_large && (byte & 0x7F) == 0x7F;
    if (left + stuff < 8)
      break;
    byte &= 0xFFu >> stuff;
    *--out = (uint8_t)byte;
    after_large = byte > 0x8F;
    pos += 8 - stuff;
  }
  rest->count = (uint32_t)(count - pos);
  rest->bits = (uint32_t)cj2k_bits_at(bits, pos) & ((1u << rest->count) - 1);
  rest->stuffed = after_large;
  return (size_t)(out_end - out);
}
