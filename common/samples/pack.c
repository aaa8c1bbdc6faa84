/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack.h"

#include "common/runtime/simd.h"
#include "layout_words.h"

CJ2K_SIMD
static void convert(Cj2kConversion c, const int32_t *restrict in, uint32_t *restrict bits, size_t n)
{
  if (c.down > 0) {
    for (size_t i = 0; i < n; i++) {
      int32_t v = (int32_t)((uint32_t)in[i] + c.offset + c.round) >> c.down;
      bits[i] = (uint32_t)(v < c.maximum ? v : c.maximum) & c.mask;
    }
  } else {
    for (size_t i = 0; i < n; i++)
      bits[i] = (((uint32_t)in[i] + c.offset) << c.up) & c.mask;
  }
}

/* Shifts bits to their position in a word, in the byte order of the layout. */
CJ2K_SIMD
static void shift_words(uint32_t *bits, size_t n, unsigned shift, bool swapped, unsigned word_bytes)
{
  if (swapped && word_bytes == 2)
    for (size_t i = 0; i < n; i++)
      bits[i] = __builtin_bswap16((uint16_t)(bits[i] << shift));
  else if (swapped)
    for (size_t i = 0; i < n; i++)
      bits[i] = __builtin_bswap32(bits[i] << shift);
  else
    for (size_t i = 0; i < n; i++)
      bits[i] <<= shift;
}

/* Writes bits into words `stride` bytes apart; the bits in `keep` stay as they are. */
static inline __attribute__((always_inline)) void store_words(uint8_t *out, unsigned word_bytes,
                                                              size_t stride, uint32_t keep,
                                                              const uint32_t *restrict bits,
                                                              size_t n)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    uint8_t *at = out + i * stride;
    cj2k_store_word(at, word_bytes, (cj2k_load_word(at, word_bytes) & keep) | bits[i]);
  }
}

static inline __attribute__((always_inline)) void store_strides(uint8_t *out, unsigned word_bytes,
                                                                size_t stride, uint32_t keep,
                                                                const uint32_t *restrict bits,
                                                                size_t n)
{
  if (stride == word_bytes)
    store_words(out, word_bytes, word_bytes, keep, bits, n);
  else if (stride == 2 * word_bytes)
    store_words(out, word_bytes, 2 * word_bytes, keep, bits, n);
  else if (stride == 4 * word_bytes)
    store_words(out, word_bytes, 4 * word_bytes, keep, bits, n);
  else
    store_words(out, word_bytes, stride, keep, bits, n);
}

CJ2K_SIMD
static void store_regular(uint8_t *out, unsigned word_bytes, size_t stride, uint32_t keep,
                          const uint32_t *restrict bits, size_t n)
{
  switch (word_bytes) {
  case 1: store_strides(out, 1, stride, keep, bits, n); break;
  case 2: store_strides(out, 2, stride, keep, bits, n); break;
  default: store_strides(out, 4, stride, keep, bits, n); break;
  }
}

/* The same for words without other bits: they are written without being read. */
CJ2K_SIMD
static void store_regular_whole(uint8_t *out, unsigned word_bytes, size_t stride,
                                const uint32_t *restrict bits, size_t n)
{
  switch (word_bytes) {
  case 1: store_strides(out, 1, stride, 0, bits, n); break;
  case 2: store_strides(out, 2, stride, 0, bits, n); break;
  default: store_strides(out, 4, stride, 0, bits, n); break;
  }
}

/* Writes one sample into its word. */
static inline __attribute__((always_inline)) void
store_one(const Cj2kSampleLayout *layout, uint32_t mask, uint8_t *unit, unsigned j, uint32_t value)
{
  uint8_t *at = unit + layout->at[j].offset;
  uint32_t own = mask == UINT32_MAX ? mask : mask << layout->at[j].shift;
  value <<= layout->at[j].shift;
  if (cj2k_layout_is_swapped(layout)) {
    own = cj2k_swap_word(own, layout->word_bytes);
    value = cj2k_swap_word(value, layout->word_bytes);
  }
  uint32_t word = cj2k_load_word(at, layout->word_bytes);
  cj2k_store_word(at, layout->word_bytes, (word & ~own) | value);
}

/* Writes whole units. `layout` is a compile-time constant, so that the compiler unrolls the loop
 * and merges the writes to a word. */
static inline __attribute__((always_inline)) void store_units(const Cj2kSampleLayout *layout,
                                                              uint8_t *restrict unit,
                                                              const uint32_t *restrict bits,
                                                              size_t units)
{
  for (; units > 0; units--) {
    for (unsigned j = 0; j < layout->unit_samples; j++)
      /* The callers fill `bits` for all units. */
      // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
      store_one(layout, cj2k_low_bits(layout->depth), unit, j, bits[j]);
    unit += layout->unit_bytes;
    bits += layout->unit_samples;
  }
}

static bool store_known_units(unsigned known, uint8_t *unit, const uint32_t *bits, size_t units)
{
  switch (known) {
  case 0: store_units(&cj2k_known_layouts[0], unit, bits, units); return true;
  case 1: store_units(&cj2k_known_layouts[1], unit, bits, units); return true;
  case 2: store_units(&cj2k_known_layouts[2], unit, bits, units); return true;
  case 3: store_units(&cj2k_known_layouts[3], unit, bits, units); return true;
  default: return false;
  }
}

/* Writes any layout: whole units of known layouts at once, everything else sample by sample. */
static void store_any(const Cj2kSampleLayout *layout, uint32_t mask, uint8_t *row, uint32_t x,
                      const uint32_t *bits, size_t n)
{
  unsigned known = cj2k_layout_find(layout), j = x % layout->unit_samples;
  uint8_t *unit = row + (size_t)(x / layout->unit_samples) * layout->unit_bytes;
  size_t i = 0;
  while (i < n) {
    size_t units = j == 0 ? (n - i) / layout->unit_samples : 0;
    if (units > 0 && store_known_units(known, unit, bits + i, units)) {
      unit += units * layout->unit_bytes;
      i += units * layout->unit_samples;
      continue;
    }
    store_one(layout, mask, unit, j, bits[i++]);
    if (++j == layout->unit_samples) {
      j = 0;
      unit += layout->unit_bytes;
    }
  }
}

static void pack_row(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed,
                     const int32_t *in, uint32_t x, uint32_t n, uint8_t *row, bool whole)
{
  Cj2kConversion conversion = cj2k_layout_conversion(layout, depth, is_signed);
  size_t stride = cj2k_layout_regular_stride(layout);
  bool swapped = cj2k_layout_is_swapped(layout);
  uint32_t own = conversion.mask << layout->at[0].shift;
  if (swapped)
    own = cj2k_swap_word(own, layout->word_bytes);
  uint32_t bits[CJ2K_PACK_PIECE];
  for (uint32_t done = 0; done < n;) {
    uint32_t piece = n - done < CJ2K_PACK_PIECE ? n - done : CJ2K_PACK_PIECE;
    uint8_t *out = row + layout->at[0].offset + (size_t)(x + done) * stride;
    convert(conversion, in + done, bits, piece);
    if (stride && (swapped || layout->at[0].shift))
      shift_words(bits, piece, layout->at[0].shift, swapped, layout->word_bytes);
    if (stride && whole)
      store_regular_whole(out, layout->word_bytes, stride, bits, piece);
    else if (stride)
      store_regular(out, layout->word_bytes, stride, ~own, bits, piece);
    else
      store_any(layout, whole ? UINT32_MAX : conversion.mask, row, x + done, bits, piece);
    done += piece;
  }
}

void cj2k_pack_row(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed, const int32_t *in,
                   uint32_t x, uint32_t n, uint8_t *row)
{
  pack_row(layout, depth, is_signed, in, x, n, row, false);
}

void cj2k_pack_row_whole(const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed,
                         const int32_t *in, uint32_t x, uint32_t n, uint8_t *row)
{
  pack_row(layout, depth, is_signed, in, x, n, row, true);
}

/* Finds the bits of a unit of the plane that belong to components. Returns the bytes of the unit.
 */
static unsigned unit_mask(const Cj2kLayout *layout, uint32_t plane, uint8_t mask[256],
                          unsigned *unit_samples)
{
  unsigned unit_bytes = 0;
  memset(mask, 0, 256);
  *unit_samples = 1;
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const Cj2kSampleLayout *s = &layout->samples[c];
    if (s->plane != plane)
      continue;
    unit_bytes = s->unit_bytes;
    if (s->unit_samples > *unit_samples)
      *unit_samples = s->unit_samples;
    uint32_t own = cj2k_low_bits(s->is_signed ? 8u * s->word_bytes : s->depth);
    for (unsigned j = 0; j < s->unit_samples; j++) {
      uint32_t word = own << s->at[j].shift;
      for (unsigned k = 0; k < s->word_bytes; k++) {
        unsigned byte = s->big_endian ? s->word_bytes - 1u - k : k;
        mask[(s->at[j].offset + byte) & 255] |= (uint8_t)(word >> (8 * k));
      }
    }
  }
  return unit_bytes;
}

void cj2k_pack_begin_row(const Cj2kLayout *layout, uint32_t plane, uint8_t *row, uint32_t width,
                         size_t row_bytes)
{
  uint8_t mask[256], fill[256];
  unsigned unit_samples, unit_bytes = unit_mask(layout, plane, mask, &unit_samples);
  bool all_owned = true;
  for (unsigned i = 0; i < unit_bytes; i++) {
    fill[i] = (uint8_t)(layout->fill >> (8 * (i % 4))) & (uint8_t)~mask[i];
    all_owned = all_owned && mask[i] == 0xff;
  }
  if (all_owned)
    return;
  size_t units = (size_t)width / unit_samples + (width % unit_samples != 0);
  size_t end = units * unit_bytes < row_bytes ? units * unit_bytes : row_bytes;
  for (size_t at = 0; at < end; at += unit_bytes)
    memcpy(row + at, fill, unit_bytes < end - at ? unit_bytes : end - at);
}
