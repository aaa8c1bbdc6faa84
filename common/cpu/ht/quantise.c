/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Quantisation for the HT coder by rate and distortion (rate-effort=best). A decoder puts a sample
 * in the middle of the interval that its magnitude names, but nothing obliges the encoder to name
 * the interval that the sample lies in. All significant samples of a quad take as many MagSgn bits
 * as its largest one, so a largest sample a little above a power of two makes all of them longer;
 * and a sample a little below 1 costs few bits in a quad that has others. Quad by quad the
 * magnitudes with the least squared error + LAMBDA * bits are chosen. Bits are those of the real
 * code tables, with the quads above and to the left as they were chosen before.
 */
#include "encode.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Squared error, in squares of the step, that a bit is worth. 0.1155 (2 ln 2 / 12) would be right
 * for evenly spread values; with many samples near 0 a bit saves more. */
#define LAMBDA 0.2f
/* Bits of a MEL event that says that a quad without significant neighbours has significant samples,
 * and that it has none. */
#define EVENT_BITS 4.0f
#define CALM_BITS  0.3f
/* Below this no sample of a quad can become significant: 1 would stand for 1.5. */
#define NEVER_SIGNIFICANT 0.75f

/* A quad and what is known around it. */
typedef struct {
  float t[4];          /* magnitudes in steps; 0 outside the block */
  uint32_t context;    /* as table index */
  uint32_t kappa;      /* the least bound if there are several significant samples */
  const uint16_t *vlc; /* the row's table of Cj2kHtTables.encode */
} Quad;

typedef struct {
  uint32_t mu[4];
  float cost;
} Choice;

static inline uint32_t exponent(uint32_t mu)
{
  return mu ? 32 - (uint32_t)__builtin_clz(2 * mu - 1) : 0;
}

/* Bits of the code of residual u, which pairs share only in the first row (T.814 table 3). */
static inline float residual_bits(uint32_t u)
{
  static const uint8_t bits[] = {0, 1, 2, 4, 4};

  return u < G_N_ELEMENTS(bits) ? bits[u] : 8;
}

static float bits_of(const Quad *quad, const uint32_t mu[4])
{
  uint32_t e[4], rho = 0, eps = 0, largest = 0, magsgn = 0;

  for (uint32_t n = 0; n < 4; n++) {
    e[n] = exponent(mu[n]);
    rho |= (mu[n] != 0) << n;
    largest = MAX(largest, e[n]);
  }
  if (!rho)
    return quad->context ? (float)CJ2K_HT_ENC_LENGTH(quad->vlc[quad->context]) : CALM_BITS;
  uint32_t kappa = rho & (rho - 1) ? quad->kappa : 1, bound = MAX(largest, kappa);
  for (uint32_t n = 0; n < 4 && bound > kappa; n++)
    eps |= (e[n] == largest) << n;
  uint32_t entry = quad->vlc[quad->context | rho << 4 | eps];
  for (uint32_t n = 0; n < 4; n++)
    magsgn += rho >> n & 1 ? bound - (CJ2K_HT_ENC_EK(entry) >> n & 1) : 0;
  return (float)(magsgn + CJ2K_HT_ENC_LENGTH(entry)) + (quad->context ? 0 : EVENT_BITS) +
         residual_bits(bound - kappa);
}

/* Replaces *best if these magnitudes cost less. */
static void consider(const Quad *quad, const uint32_t mu[4], Choice *best)
{
  float error = 0;

  for (uint32_t n = 0; n < 4; n++) {
    float d = mu[n] ? quad->t[n] - (float)mu[n] - 0.5f : quad->t[n];
    error += d * d;
  }
  float cost = error + LAMBDA * bits_of(quad, mu);
  if (cost < best->cost) {
    memcpy(best->mu, mu, sizeof best->mu);
    best->cost = cost;
  }
}

/* Considers magnitudes with exponents up to `most`, each the best one by itself. */
static void try_exponent(const Quad *quad, uint32_t most, Choice *best)
{
  uint32_t limit = 1u << (most - 1), mu[4];
  float per_sample = LAMBDA * (float)MAX(most, quad->kappa);

  for (uint32_t n = 0; n < 4; n++) {
    float t = quad->t[n];
    mu[n] = MIN(MAX((uint32_t)t, 1), limit);
    float d = t - (float)mu[n] - 0.5f;
    if (d * d + per_sample >= t * t)
      mu[n] = 0;
  }
  consider(quad, mu, best);
}

/* Considers 0 in place of 1 and 1 in place of 0, sample by sample: codewords differ in length,
 * which try_exponent() does not know. */
static void try_others(const Quad *quad, Choice *best)
{
  for (uint32_t n = 0; n < 4; n++)
    if (quad->t[n] >= NEVER_SIGNIFICANT && best->mu[n] <= 1) {
      uint32_t mu[4];
      memcpy(mu, best->mu, sizeof mu);
      mu[n] ^= 1;
      consider(quad, mu, best);
    }
}

static void choose(const Quad *quad, uint32_t mu[4])
{
  Choice best = {{0}, INFINITY};
  float largest = MAX(MAX(quad->t[0], quad->t[1]), MAX(quad->t[2], quad->t[3]));
  uint32_t most = exponent((uint32_t)largest);

  if (largest >= NEVER_SIGNIFICANT) {
    consider(quad, (const uint32_t[4]){0}, &best);
    if (most > 1)
      try_exponent(quad, most - 1, &best);
    try_exponent(quad, MAX(most, 1), &best);
    try_others(quad, &best);
  }
  memcpy(mu, best.mu, sizeof best.mu);
}

/* Fills *quad for quad q of a row. The records of rows have rho and the exponents of lower samples.
 */
static void look_around(const Cj2kHtTables *tables, const Cj2kHtQuadRow *above,
                        const Cj2kHtQuadRow *row, uint32_t q, bool first, Quad *quad)
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
  row->lower[CJ2K_HT_ENC_PAD + 2 * q] = (uint8_t)exponent(mu[1]);
  row->lower[CJ2K_HT_ENC_PAD + 2 * q + 1] = (uint8_t)exponent(mu[3]);
}

void cj2k_ht_quantise(Cj2kBlockScratch *scratch, const float *in, size_t in_stride, uint32_t width,
                      uint32_t height, float inv_scale, uint32_t *out, size_t out_stride)
{
  const float max_index = 2147483520.0f; /* the last fp32 below 2^31 */
  const Cj2kHtTables *tables = cj2k_ht_tables();
  Cj2kHtEncodeScratch *ht = scratch->ht_encode;
  uint32_t cols = (width + 1) / 2;

  for (uint32_t y = 0; y < height; y += 2) {
    Cj2kHtQuadRow *row = &ht->row[y / 2 & 1], *above = &ht->row[~(y / 2) & 1];
    /* In front of [PAD] there are always zeros. */
    row->quad[CJ2K_HT_ENC_PAD + cols] = 0;
    row->lower[CJ2K_HT_ENC_PAD + 2 * cols] = 0;
    for (uint32_t q = 0; q < cols; q++) {
      Quad quad;
      uint32_t mu[4];
      for (uint32_t n = 0; n < 4; n++) {
        uint32_t at_x = 2 * q + n / 2, at_y = y + n % 2;
        bool inside = at_x < width && at_y < height;
        float t = inside ? fabsf(in[at_y * in_stride + at_x]) * inv_scale : 0;
        quad.t[n] = MIN(t, max_index);
      }
      look_around(tables, above, row, q, y == 0, &quad);
      choose(&quad, mu);
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
