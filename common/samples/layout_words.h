/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a Cj2kSampleLayout is interpreted, for packing and unpacking. */
#ifndef CJ2K_SAMPLES_LAYOUT_WORDS_H
#define CJ2K_SAMPLES_LAYOUT_WORDS_H

#include <string.h>

#include "common/cj2k.h"

/* Samples are converted and moved in pieces of this many, on the stack. */
#define CJ2K_PACK_PIECE 1024

/* Distance between neighbouring samples in bytes, if it is the same for all of them and they have
 * the same shift (planar, UYVY, packed RGB; not v210); 0 otherwise. */
static inline size_t cj2k_layout_regular_stride(const Cj2kSampleLayout *layout)
{
  size_t stride = layout->unit_bytes / layout->unit_samples;
  if (stride * layout->unit_samples != layout->unit_bytes)
    return 0;
  for (unsigned j = 1; j < layout->unit_samples; j++)
    if (layout->at[j].offset != layout->at[0].offset + j * stride ||
        layout->at[j].shift != layout->at[0].shift)
      return 0;
  return stride;
}

static inline uint32_t cj2k_low_bits(unsigned count)
{
  return count >= 32 ? UINT32_MAX : ((uint32_t)1 << count) - 1;
}

/* How samples of a component become bits of a layout (docs/arithmetic.md, layout depth). */
typedef struct {
  uint32_t offset; /* added first, to convert between signed and unsigned */
  uint32_t round;  /* added before shifting right */
  unsigned down;   /* shift to the right */
  int32_t maximum; /* limit of the values after a shift to the right */
  unsigned up;     /* shift to the left; only one of both shifts is not 0 */
  uint32_t mask;   /* bits of a sample, before its shift in the word */
} Cj2kConversion;

static inline Cj2kConversion cj2k_layout_conversion(const Cj2kSampleLayout *layout, uint8_t depth,
                                                    bool is_signed)
{
  Cj2kConversion c = {0};
  if (layout->is_signed != is_signed)
    c.offset = is_signed ? (uint32_t)1 << (depth - 1) : 0u - ((uint32_t)1 << (depth - 1));
  if (layout->depth < depth) {
    c.down = depth - layout->depth;
    c.round = (uint32_t)1 << (c.down - 1);
  }
  c.up = layout->depth > depth ? layout->depth - depth : 0;
  c.maximum = (int32_t)cj2k_low_bits(layout->depth - layout->is_signed);
  c.mask = cj2k_low_bits(layout->is_signed ? 8u * layout->word_bytes : layout->depth);
  return c;
}

/* True if the byte order of the layout's words is not that of this machine. */
static inline bool cj2k_layout_is_swapped(const Cj2kSampleLayout *layout)
{
  return layout->big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) &&
         layout->word_bytes > 1;
}

/* Swaps the bytes of a word of word_bytes; a sum of swapped bits is the swapped sum. */
static inline uint32_t cj2k_swap_word(uint32_t word, unsigned word_bytes)
{
  return word_bytes == 2 ? __builtin_bswap16((uint16_t)word) : __builtin_bswap32(word);
}

static inline uint32_t cj2k_load_word(const uint8_t *at, unsigned word_bytes)
{
  uint16_t half;
  uint32_t word;
  switch (word_bytes) {
  case 1: return *at;
  case 2: memcpy(&half, at, 2); return half;
  default: memcpy(&word, at, 4); return word;
  }
}

static inline void cj2k_store_word(uint8_t *at, unsigned word_bytes, uint32_t word)
{
  uint16_t half = (uint16_t)word;
  switch (word_bytes) {
  case 1: *at = (uint8_t)word; break;
  case 2: memcpy(at, &half, 2); break;
  default: memcpy(at, &word, 4); break;
  }
}

/* Layouts without a regular stride that have code of their own for speed: Y, Cb and Cr of v210, and
 * Y of UYVP. */
#define CJ2K_KNOWN_LAYOUTS 4
static const Cj2kSampleLayout cj2k_known_layouts[CJ2K_KNOWN_LAYOUTS] = {
    {0, 16, 6, 4, false, false, 10, {{0, 10}, {4, 0}, {4, 20}, {8, 10}, {12, 0}, {12, 20}}},
    {0, 16, 3, 4, false, false, 10, {{0, 0}, {4, 10}, {8, 20}}},
    {0, 16, 3, 4, false, false, 10, {{0, 20}, {8, 0}, {12, 10}}},
    {0, 5, 2, 2, true, false, 10, {{1, 4}, {3, 0}}},
};

/* Index of the layout among the known ones, or CJ2K_KNOWN_LAYOUTS. */
static inline unsigned cj2k_layout_find(const Cj2kSampleLayout *layout)
{
  unsigned i = 0;
  for (; i < CJ2K_KNOWN_LAYOUTS; i++) {
    const Cj2kSampleLayout *k = &cj2k_known_layouts[i];
    if (k->unit_bytes == layout->unit_bytes && k->unit_samples == layout->unit_samples &&
        k->word_bytes == layout->word_bytes && k->big_endian == layout->big_endian &&
        k->is_signed == layout->is_signed && k->depth == layout->depth &&
        !memcmp(k->at, layout->at, k->unit_samples * sizeof k->at[0]))
      break;
  }
  return i;
}

#endif
