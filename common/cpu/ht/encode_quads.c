/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Analysis of a row of quads for the HT cleanup pass in plain C (T.814 7.3.4, 7.3.5, 7.3.7,
 * 7.3.8). */
#include "encode.h"

#include <glib.h>
#include <string.h>

/* The value v of one sample at the plane, and its exponent: the bit length of 2 mu - 1, 0 when
 * insignificant. */
static inline uint32_t sample_value(uint32_t sample, uint32_t plane, uint32_t *exponent)
{
  uint32_t mu = (sample & 0x7FFFFFFF) >> plane;
  *exponent = mu ? 32 - (uint32_t)__builtin_clz(2 * mu - 1) : 0;
  return mu ? 2 * (mu - 1) + (sample >> 31) : 0;
}

static inline uint32_t max4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
  return MAX(MAX(a, b), MAX(c, d));
}

void cj2k_ht_analyse_row(const Cj2kBlockSource *source, uint32_t plane, uint32_t y, bool first,
                         const Cj2kHtQuadRow *above, Cj2kHtQuadRow *row)
{
  uint32_t cols = (source->width + 1u) / 2;
  const uint32_t *top = source->samples + y * source->stride;
  const uint32_t *bottom = y + 1 < source->height ? top + source->stride : NULL;
  uint32_t *quad = row->quad + CJ2K_HT_ENC_PAD;
  uint8_t *lower = row->lower + CJ2K_HT_ENC_PAD;
  for (uint32_t q = 0; q < cols; q++) {
    bool right = 2 * q + 1 < source->width;
    uint32_t samples[4] = {top[2 * q], bottom ? bottom[2 * q] : 0, right ? top[2 * q + 1] : 0,
                           right && bottom ? bottom[2 * q + 1] : 0};
    uint32_t e[4], rho = 0, eps = 0;
    for (uint32_t n = 0; n < 4; n++) {
      row->v[4 * q + n] = sample_value(samples[n], plane, &e[n]);
      rho |= (e[n] != 0) << n;
    }
    uint32_t largest = max4(e[0], e[1], e[2], e[3]), kappa = 1;
    if (!first && (rho & (rho - 1))) {
      const uint8_t *near = above->lower + CJ2K_HT_ENC_PAD + 2 * q;
      uint32_t exponent = max4(near[-1], near[0], near[1], near[2]);
      kappa = MAX(exponent, 2) - 1;
    }
    uint32_t bound = MAX(largest, kappa);
    if (bound > kappa)
      for (uint32_t n = 0; n < 4; n++)
        eps |= (e[n] == largest) << n;
    uint32_t c = cj2k_ht_context(first, above->quad + CJ2K_HT_ENC_PAD + q, quad[(ptrdiff_t)q - 1]);
    quad[q] = eps | rho << 4 | c << 8 | bound << 16 | (bound - kappa) << 24;
    lower[2 * q] = (uint8_t)e[1];
    lower[2 * q + 1] = (uint8_t)e[3];
  }
  quad[cols] = quad[cols + 1] = 0;
  lower[2 * cols] = lower[2 * cols + 1] = 0;
}

/* Writes m_n bits for each significant sample: the bound, minus one where e_k implies the highest
 * bit. */
void cj2k_ht_put_magsgn(const Cj2kHtQuadRow *row, uint32_t cols, Cj2kHtBits *out)
{
  const uint32_t *quad = row->quad + CJ2K_HT_ENC_PAD;
  Cj2kHtBits b = *out;
  for (uint32_t q = 0; q < cols; q++) {
    uint32_t rho = CJ2K_HT_ENC_RHO(quad[q]), bound = CJ2K_HT_ENC_BOUND(quad[q]), m[4];
    uint64_t v[4];
    if (rho == 0)
      continue;
    for (uint32_t n = 0; n < 4; n++) {
      m[n] = rho >> n & 1 ? bound - (row->known[q] >> n & 1) : 0;
      v[n] = row->v[4 * q + n] & ((UINT64_C(1) << m[n]) - 1);
    }
    if (bound <= 14) { /* at most 56 bits */
      cj2k_put_bits(&b, v[0] | v[1] << m[0] | (v[2] | v[3] << m[2]) << (m[0] + m[1]),
                    m[0] + m[1] + m[2] + m[3]);
    } else {
      for (uint32_t n = 0; n < 4; n++)
        cj2k_put_bits(&b, v[n], m[n]);
    }
  }
  *out = b;
}
