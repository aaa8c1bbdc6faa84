/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How DPX files pack samples into words of 32 bits. */
#include "image_dpx.h"

static uint32_t get_word(const uint8_t *in, bool big_endian)
{
  return big_endian ? (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3]
                    : (uint32_t)in[3] << 24 | (uint32_t)in[2] << 16 | (uint32_t)in[1] << 8 | in[0];
}

static uint64_t bytes_8(uint64_t n)
{
  return n;
}

static void unpack_8(const DpxElement *element, bool big_endian, const uint8_t *in, size_t n,
                     uint16_t *out)
{
  (void)element;
  (void)big_endian;
  for (size_t i = 0; i < n; i++)
    out[i] = in[i];
}

static uint64_t bytes_16(uint64_t n)
{
  return 2 * n;
}

static void unpack_16(const DpxElement *element, bool big_endian, const uint8_t *in, size_t n,
                      uint16_t *out)
{
  const uint16_t mask = (uint16_t)(0xFFFFu >> (16 - element->packing->bits));

  for (size_t i = 0; i < n; i++, in += 2) {
    unsigned word = big_endian ? (unsigned)in[0] << 8 | in[1] : (unsigned)in[1] << 8 | in[0];
    out[i] = (uint16_t)(word >> element->packing->shift) & mask;
  }
}

/* Three samples of 10 bits in a word, with two bits of padding. */
static uint64_t bytes_filled(uint64_t n)
{
  return (n + 2) / 3 * 4;
}

static void unpack_filled(const DpxElement *element, bool big_endian, const uint8_t *in, size_t n,
                          uint16_t *out)
{
  const unsigned pad = element->packing->shift;

  for (size_t i = 0; i < n; i += 3, in += 4) {
    uint32_t word = get_word(in, big_endian) >> pad;
    for (size_t k = 0; k < 3 && i + k < n; k++)
      out[i + k] = (uint16_t)(word >> 10 * (element->msb_first ? 2 - k : k) & 0x3FF);
  }
}

/* Samples without gaps, from the lowest bit of each word on; they may cross words. */
static void unpack_bits(const DpxElement *element, bool big_endian, const uint8_t *in, size_t n,
                        uint16_t *out)
{
  const unsigned bits = element->packing->bits;
  uint64_t have = 0;
  unsigned count = 0;

  for (size_t i = 0; i < n; i++) {
    if (count < bits) {
      have |= (uint64_t)get_word(in, big_endian) << count;
      count += 32;
      in += 4;
    }
    out[i] = (uint16_t)(have & ((1u << bits) - 1));
    have >>= bits;
    count -= bits;
  }
}

static uint64_t bytes_packed_10(uint64_t n)
{
  return (n * 10 + 31) / 32 * 4;
}

static uint64_t bytes_packed_12(uint64_t n)
{
  return (n * 12 + 31) / 32 * 4;
}

const DpxPacking *dpx_packing(uint8_t bits, uint16_t packing)
{
  /* clang-format off */
  static const DpxPacking packings[] = {
      {8, DPX_PACKED, bytes_8, unpack_8, 1, 0, false},
      {8, DPX_FILLED_A, bytes_8, unpack_8, 1, 0, false},
      {8, DPX_FILLED_B, bytes_8, unpack_8, 1, 0, false},
      {10, DPX_PACKED, bytes_packed_10, unpack_bits, 0, 0, false},
      {10, DPX_FILLED_A, bytes_filled, unpack_filled, 4, 2, true},
      {10, DPX_FILLED_B, bytes_filled, unpack_filled, 4, 0, true},
      {12, DPX_PACKED, bytes_packed_12, unpack_bits, 0, 0, false},
      {12, DPX_FILLED_A, bytes_16, unpack_16, 2, 4, false},
      {12, DPX_FILLED_B, bytes_16, unpack_16, 2, 0, false},
      {16, DPX_PACKED, bytes_16, unpack_16, 2, 0, false},
      {16, DPX_FILLED_A, bytes_16, unpack_16, 2, 0, false},
      {16, DPX_FILLED_B, bytes_16, unpack_16, 2, 0, false},
  };
  /* clang-format on */
  for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
    if (packings[i].bits == bits && packings[i].packing == packing)
      return &packings[i];
  return NULL;
}
