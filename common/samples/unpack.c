/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/runtime/simd.h"
#include "layout_words.h"
#include "pack.h"

static inline __attribute__((always_inline)) void load_words(const uint8_t *restrict in,
                                                             unsigned word_bytes, size_t stride,
                                                             uint32_t *restrict words, size_t n)
{
  for (size_t i = 0; i < n; i++)
    words[i] = cj2k_load_word(in + i * stride, word_bytes);
}

static inline __attribute__((always_inline)) void
load_strides(const uint8_t *in, unsigned word_bytes, size_t stride, uint32_t *words, size_t n)
{
  if (stride == word_bytes)
    load_words(in, word_bytes, word_bytes, words, n);
  else if (stride == 2 * word_bytes)
    load_words(in, word_bytes, 2 * word_bytes, words, n);
  else if (stride == 4 * word_bytes)
    load_words(in, word_bytes, 4 * word_bytes, words, n);
  else
    load_words(in, word_bytes, stride, words, n);
}

CJ2K_SIMD
static void load_regular(const uint8_t *in, unsigned word_bytes, size_t stride, uint32_t *words,
                         size_t n)
{
  switch (word_bytes) {
  case 1: load_strides(in, 1, stride, words, n); break;
  case 2: load_strides(in, 2, stride, words, n); break;
  default: load_strides(in, 4, stride, words, n); break;
  }
}

/* Reads the word of one sample and shifts the sample to the lowest bits. */
static inline __attribute__((always_inline)) uint32_t load_one(const Cj2kSampleLayout *layout,
                                                               const uint8_t *unit, unsigned j)
{
  uint32_t word = cj2k_load_word(unit + layout->at[j].offset, layout->word_bytes);
  if (cj2k_layout_is_swapped(layout))
    word = cj2k_swap_word(word, layout->word_bytes);
  return word >> layout->at[j].shift;
}

/* Reads whole units. `layout` is a compile-time constant, so that the compiler unrolls the loop and
 * merges the reads of a word. */
static inline __attribute__((always_inline)) void load_units(const Cj2kSampleLayout *layout,
                                                             const uint8_t *restrict unit,
                                                             uint32_t *restrict words, size_t units)
{
  for (; units > 0; units--) {
    for (unsigned j = 0; j < layout->unit_samples; j++)
      words[j] = load_one(layout, unit, j);
    unit += layout->unit_bytes;
    words += layout->unit_samples;
  }
}

static bool load_known_units(unsigned known, const uint8_t *unit, uint32_t *words, size_t units)
{
  switch (known) {
  case 0: load_units(&cj2k_known_layouts[0], unit, words, units); return true;
  case 1: load_units(&cj2k_known_layouts[1], unit, words, units); return true;
  case 2: load_units(&cj2k_known_layouts[2], unit, words, units); return true;
  case 3: load_units(&cj2k_known_layouts[3], unit, words, units); return true;
  default: return false;
  }
}

/* Reads any layout: whole units of known layouts at once, everything else sample by sample. */
static void load_any(const Cj2kSampleLayout *layout, const uint8_t *row, uint32_t x,
                     uint32_t *words, size_t n)
{
  unsigned known = cj2k_layout_find(layout), j = x % layout->unit_samples;
  const uint8_t *unit = row + (size_t)(x / layout->unit_samples) * layout->unit_bytes;
  size_t i = 0;
  while (i < n) {
    size_t units = j == 0 ? (n - i) / layout->unit_samples : 0;
    if (units > 0 && load_known_units(known, unit, words + i, units)) {
      unit += units * layout->unit_bytes;
      i += units * layout->unit_samples;
      continue;
    }
    words[i++] = load_one(layout, unit, j);
    if (++j == layout->unit_samples) {
      j = 0;
      unit += layout->unit_bytes;
    }
  }
}

CJ2K_SIMD
static void swap(uint32_t *words, size_t n, unsigned word_bytes)
{
  if (word_bytes == 2)
    for (size_t i = 0; i < n; i++)
      words[i] = __builtin_bswap16((uint16_t)words[i]);
  else
    for (size_t i = 0; i < n; i++)
      words[i] = __builtin_bswap32(words[i]);
}

/* Turns words that hold a sample at `shift` into samples of `depth` bits. */
CJ2K_SIMD
static void convert(const uint32_t *words, int32_t *out, size_t n, unsigned shift,
                    unsigned layout_depth, bool is_signed, unsigned depth)
{
  const unsigned top = 32 - layout_depth; /* shifting up to the highest bits and down again removes
                                             other bits and extends the sign */
  const unsigned down = layout_depth > depth ? layout_depth - depth : 0;
  const unsigned up = depth > layout_depth ? depth - layout_depth : 0;
  if (is_signed) {
    CJ2K_IVDEP
    for (size_t i = 0; i < n; i++)
      out[i] = (int32_t)((uint32_t)((int32_t)(words[i] >> shift << top) >> top >> down) << up);
  } else {
    const uint32_t mask = cj2k_low_bits(layout_depth);
    CJ2K_IVDEP
    for (size_t i = 0; i < n; i++)
      out[i] = (int32_t)(((words[i] >> shift) & mask) >> down << up);
  }
}

void cj2k_unpack_row(const Cj2kSampleLayout *layout, uint8_t depth, const uint8_t *row, uint32_t x,
                     uint32_t n, int32_t *out)
{
  size_t stride = cj2k_layout_regular_stride(layout);
  unsigned shift = stride ? layout->at[0].shift : 0;
  uint32_t words[CJ2K_PACK_PIECE];
  for (uint32_t done = 0; done < n;) {
    uint32_t piece = n - done < CJ2K_PACK_PIECE ? n - done : CJ2K_PACK_PIECE;
    if (stride) {
      load_regular(row + layout->at[0].offset + (size_t)(x + done) * stride, layout->word_bytes,
                   stride, words, piece);
      if (cj2k_layout_is_swapped(layout))
        swap(words, piece, layout->word_bytes);
    } else {
      load_any(layout, row, x + done, words, piece);
    }
    convert(words, out + done, piece, shift, layout->depth, layout->is_signed, depth);
    done += piece;
  }
}
