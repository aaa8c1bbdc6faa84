/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Second step of the HT cleanup pass in plain C: MagSgn bits become samples (T.814 7.3.7, 7.3.8).
 */
#include "bits.h"
#include "common/shared/ht_tables.h"
#include "decode.h"

/* The two rows of samples of one row of quads. */
typedef struct {
  void *top, *bottom;
  uint32_t width;
} Target;

/* Stores a sample: v is 2 (mu - 1) + sign; the magnitude in half units is (2 mu + 1) << p. */
static inline void put_sample(void *row, uint32_t x, uint64_t v, uint32_t significant,
                              uint32_t plane, bool wide)
{
  uint64_t magnitude = ((v | 1) + 2) << plane & -(uint64_t)significant;
  uint64_t sign = v & significant;
  if (wide)
    ((uint64_t *)row)[x] = magnitude | sign << 63;
  else
    ((uint32_t *)row)[x] = (uint32_t)(magnitude | sign << 31);
}

static inline void put_quad(const Target *t, uint32_t x, const uint64_t v[4], uint32_t rho,
                            uint32_t plane, bool wide)
{
  put_sample(t->top, x, v[0], rho & 1, plane, wide);
  put_sample(t->bottom, x, v[1], rho >> 1 & 1, plane, wide);
  if (x + 1 >= t->width)
    return;
  put_sample(t->top, x + 1, v[2], rho >> 2 & 1, plane, wide);
  put_sample(t->bottom, x + 1, v[3], rho >> 3 & 1, plane, wide);
}

/* Reads the values v of a quad whose exponent bound U_q is `bound`. Returns the number of bits. */
static inline uint32_t quad_values(const uint8_t *bits, size_t pos, uint32_t record, uint32_t bound,
                                   uint64_t v[4], bool wide)
{
  uint32_t used = 0;
  uint64_t word = cj2k_bits_at(bits, pos);
  for (uint32_t n = 0; n < 4; n++) {
    uint32_t significant = record >> (CJ2K_HT_RHO_SHIFT + n) & 1;
    uint32_t known = record >> (CJ2K_HT_EK_SHIFT + n) & 1;
    uint64_t one = record >> (CJ2K_HT_E1_SHIFT + n) & 1;
    uint32_t m = (bound - known) & -significant;
    if (wide)
      word = cj2k_bits64_at(bits, pos + used);
    else if (bound > 14) /* four samples may need more than the 57 bits of `word` */
      word = cj2k_bits_at(bits, pos + used);
    v[n] = (word & ((UINT64_C(1) << m) - 1)) | one << m;
    word >>= m;
    used += m;
  }
  return used;
}

/* The bit length of v, at least 1. v has the sign in bit 0, which makes no difference here
 * (T.814 7.3.7: kappa_q = max(1, E - 1)). */
static inline uint32_t exponent_of(uint64_t v)
{
  return 64 - (uint32_t)__builtin_clzll(v | 1);
}

/*
 * Decodes one row of quads. line[q] comes from the row above: v of the bottom right sample of quad
 * q - 1 or-ed with v of the bottom left sample of quad q. Its highest bit gives the larger of both
 * exponents.
 */
static inline __attribute__((always_inline)) bool decode_row(const uint8_t *bits, size_t *position,
                                                             const uint32_t *row, uint32_t cols,
                                                             uint64_t *line, const Cj2kHtSet *set,
                                                             const Target *target, bool wide)
{
  size_t pos = *position;
  uint64_t bottom_right = 0;
  for (uint32_t q = 0; q < cols; q++) {
    uint32_t record = row[q], rho = record >> CJ2K_HT_RHO_SHIFT & 15;
    uint64_t v[4] = {0, 0, 0, 0};
    if (rho != 0) {
      uint32_t kappa = 1;
      if (rho & (rho - 1)) {
        uint32_t above = exponent_of(line[q] | line[q + 1]);
        kappa = above > 2 ? above - 1 : 1;
      }
      uint32_t bound = kappa + (record >> CJ2K_HT_U_SHIFT & 127);
      if (bound > set->max_exponent)
        return false;
      pos += quad_values(bits, pos, record, bound, v, wide);
    }
    put_quad(target, 2 * q, v, rho, set->plane, wide);
    line[q] = bottom_right | v[1];
    bottom_right = v[3];
  }
  line[cols] = bottom_right;
  *position = pos;
  return true;
}

size_t cj2k_ht_load_magsgn(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t quad_cols)
{
  size_t length = MIN(set->cleanup_length - set->suffix_length, CJ2K_HT_MAGSGN_BYTES);
  size_t end = cj2k_ht_destuff_forward(set->cleanup, length, scratch->magsgn);
  cj2k_ht_pad_ones(scratch->magsgn, end, quad_cols * 4 * set->max_exponent / 8 + 32);
  return end;
}

static inline __attribute__((always_inline)) bool
decode_magsgn(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width, uint32_t height,
              void *samples, size_t stride, bool wide)
{
  uint32_t cols = cj2k_ht_quad_cols(width), quad_stride = cj2k_ht_quad_stride(width);
  size_t end = cj2k_ht_load_magsgn(scratch, set, cols), pos = 0;
  memset(scratch->line, 0, (cols + 1) * sizeof *scratch->line);
  size_t row_bytes = stride * (wide ? sizeof(uint64_t) : sizeof(uint32_t));
  uint8_t *out = samples;
  const uint32_t *row = scratch->quads + CJ2K_HT_QUAD_PAD;
  for (uint32_t y = 0; y < height; y += 2, row += quad_stride, out += 2 * row_bytes) {
    Target target = {out, y + 1 < height ? (void *)(out + row_bytes) : scratch->beyond, width};
    pos = MIN(pos, end); /* all bits behind the end are ones */
    if (!decode_row(scratch->magsgn, &pos, row, cols, scratch->line, set, &target, wide))
      return false;
  }
  return true;
}

bool cj2k_ht_decode_magsgn(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                           uint32_t height, void *samples, size_t stride, bool wide)
{
  return wide ? decode_magsgn(scratch, set, width, height, samples, stride, true)
              : decode_magsgn(scratch, set, width, height, samples, stride, false);
}
