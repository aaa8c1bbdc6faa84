/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Analysis of a row of quads for the HT cleanup pass (T.814 7.3.4, 7.3.5, 7.3.7, 7.3.8). Plain C.
 */
#include "ht_encode.h"

#include <glib.h>
#include <string.h>

/* The value of one sample at the plane, and its exponent: the bits of 2 mu - 1, 0 when
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
      const uint8_t *near =
          above->lower + 2 + 2 * q; /* from the right sample of the quad before on */
      uint32_t exponent = max4(near[-1], near[0], near[1], near[2]);
      kappa = MAX(exponent, 2) - 1;
    }
    uint32_t bound = MAX(largest, kappa);
    if (bound > kappa)
      for (uint32_t n = 0; n < 4; n++)
        eps |= (e[n] == largest) << n;
    row->rho[1 + q] = (uint8_t)rho;
    row->eps[q] = (uint8_t)eps;
    row->u[q] = (uint8_t)(bound - kappa);
    row->bound[q] = (uint8_t)bound;
    row->lower[2 + 2 * q] = (uint8_t)e[1];
    row->lower[3 + 2 * q] = (uint8_t)e[3];
  }
  /* A pair may have no second quad; and what the row below sees to the right of the block. */
  row->rho[1 + cols] = row->rho[2 + cols] = 0;
  row->eps[cols] = row->u[cols] = row->bound[cols] = 0;
  row->lower[2 + 2 * cols] = row->lower[3 + 2 * cols] = 0;
}
