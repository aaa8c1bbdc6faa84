/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Quantisation for the HT coder by rate and distortion (common/shared/ht_quantise.h): a block, quad
 * by quad in raster order. */
#include "common/shared/ht_quantise.h"

#include "encode.h"

#include <glib.h>
#include <math.h>

/* Fills *quad for quad q of a row. The records of rows have rho and the exponents of lower samples.
 */
static void look_around(const Cj2kHtTables *tables, const Cj2kHtQuadRow *above,
                        const Cj2kHtQuadRow *row, uint32_t q, bool first, Cj2kHtQuad *quad)
{
  const uint32_t *left = row->quad + CJ2K_HT_ENC_PAD + q - 1;
  const uint8_t *near = above->lower + CJ2K_HT_ENC_PAD + 2 * q;
  uint32_t largest = first ? 0 : MAX(MAX(near[-1], near[0]), MAX(near[1], near[2]));

  quad->kappa = MAX(largest, 2) - 1;
  quad->context = cj2k_ht_context(first, above->quad + CJ2K_HT_ENC_PAD + q, *left) << 8;
  quad->vlc = tables->encode[first ? 0 : 1];
}

static void store(const uint32_t mu[4], uint32_t q, Cj2kHtQuadRow *row)
{
  uint32_t rho = 0;

  for (uint32_t n = 0; n < 4; n++)
    rho |= (mu[n] != 0) << n;
  row->quad[CJ2K_HT_ENC_PAD + q] = rho << 4;
  row->lower[CJ2K_HT_ENC_PAD + 2 * q] = (uint8_t)cj2k_ht_exponent(mu[1]);
  row->lower[CJ2K_HT_ENC_PAD + 2 * q + 1] = (uint8_t)cj2k_ht_exponent(mu[3]);
}

void cj2k_ht_quantise(Cj2kBlockScratch *scratch, const float *in, size_t in_stride, uint32_t width,
                      uint32_t height, float inv_scale, uint32_t *out, size_t out_stride)
{
  const Cj2kHtTables *tables = cj2k_ht_tables();
  Cj2kHtEncodeScratch *ht = scratch->ht_encode;
  uint32_t cols = (width + 1) / 2;

  for (uint32_t y = 0; y < height; y += 2) {
    Cj2kHtQuadRow *row = &ht->row[y / 2 & 1], *above = &ht->row[~(y / 2) & 1];
    /* In front of [PAD] there are always zeros. */
    row->quad[CJ2K_HT_ENC_PAD + cols] = 0;
    row->lower[CJ2K_HT_ENC_PAD + 2 * cols] = 0;
    for (uint32_t q = 0; q < cols; q++) {
      Cj2kHtQuad quad;
      uint32_t mu[4];
      for (uint32_t n = 0; n < 4; n++) {
        uint32_t at_x = 2 * q + n / 2, at_y = y + n % 2;
        bool inside = at_x < width && at_y < height;
        float t = inside ? fabsf(in[at_y * in_stride + at_x]) * inv_scale : 0;
        quad.t[n] = MIN(t, CJ2K_HT_MOST_STEPS);
      }
      look_around(tables, above, row, q, y == 0, &quad);
      cj2k_ht_choose(&quad, mu);
      store(mu, q, row);
      for (uint32_t n = 0; n < 4; n++) {
        uint32_t at_x = 2 * q + n / 2, at_y = y + n % 2;
        if (at_x < width && at_y < height)
          out[at_y * out_stride + at_x] =
              mu[n] ? mu[n] | (uint32_t)(in[at_y * in_stride + at_x] < 0) << 31 : 0;
      }
    }
  }
}
