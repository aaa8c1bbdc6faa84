/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Quantisation for the HT coder by rate and distortion (rate-effort=best), one quad. A decoder puts
 * a sample in the middle of the interval that its magnitude names, but nothing obliges the encoder
 * to name the interval that the sample lies in. All significant samples of a quad take as many
 * MagSgn bits as its largest one, so a largest sample a little above a power of two makes all of
 * them longer; and a sample a little below 1 costs few bits in a quad that has others. Quad by quad
 * the magnitudes with the least squared error + LAMBDA * bits are chosen. Bits are those of the
 * real code tables, with the quads above and to the left as they were chosen before. Both back ends
 * compile this header, with the same single operations in fp32 (docs/arithmetic.md).
 */
#ifndef CJ2K_SHARED_HT_QUANTISE_H
#define CJ2K_SHARED_HT_QUANTISE_H

#include "ht_tables.h"

#include <stdint.h>

#ifdef __CUDACC__
#define CJ2K_HT_RULE static inline __host__ __device__
#else
#define CJ2K_HT_RULE static inline
#endif

/* Squared error, in squares of the step, that a bit is worth. 0.1155 (2 ln 2 / 12) would be right
 * for evenly spread values; with many samples near 0 a bit saves more. */
#define CJ2K_HT_LAMBDA 0.2f
/* Bits of a MEL event that says that a quad without significant neighbours has significant samples,
 * and that it has none. */
#define CJ2K_HT_EVENT_BITS 4.0f
#define CJ2K_HT_CALM_BITS  0.3f
/* Below this no sample of a quad can become significant: 1 would stand for 1.5. */
#define CJ2K_HT_NEVER_SIGNIFICANT 0.75f
/* The last fp32 below 2^31. */
#define CJ2K_HT_MOST_STEPS 2147483520.0f

/* A quad and what is known around it. */
typedef struct {
  float t[4];          /* magnitudes in steps, at most CJ2K_HT_MOST_STEPS; 0 outside the block */
  uint32_t context;    /* as table index */
  uint32_t kappa;      /* the least bound if there are several significant samples */
  const uint16_t *vlc; /* the row's table of Cj2kHtTables.encode */
} Cj2kHtQuad;

typedef struct {
  uint32_t mu[4]; /* magnitudes */
  float cost;
} Cj2kHtQuadChoice;

/* The exponent of a magnitude (T.814 7.3.4). */
CJ2K_HT_RULE uint32_t cj2k_ht_exponent(uint32_t mu)
{
#ifdef __CUDA_ARCH__
  return mu ? 32 - (uint32_t)__clz((int32_t)(2 * mu - 1)) : 0;
#else
  return mu ? 32 - (uint32_t)__builtin_clz(2 * mu - 1) : 0;
#endif
}

/* Bits of the code of residual u, which pairs share only in the first row (T.814 table 3). */
CJ2K_HT_RULE float cj2k_ht_residual_bits(uint32_t u)
{
  return (float)(u < 3 ? u : u < 5 ? 4 : 8);
}

CJ2K_HT_RULE float cj2k_ht_quad_bits(const Cj2kHtQuad *quad, const uint32_t mu[4])
{
  uint32_t e[4], rho = 0, eps = 0, largest = 0, magsgn = 0;

  for (uint32_t n = 0; n < 4; n++) {
    e[n] = cj2k_ht_exponent(mu[n]);
    rho |= (uint32_t)(mu[n] != 0) << n;
    largest = largest > e[n] ? largest : e[n];
  }
  if (!rho)
    return quad->context ? (float)CJ2K_HT_ENC_LENGTH(quad->vlc[quad->context]) : CJ2K_HT_CALM_BITS;
  uint32_t kappa = rho & (rho - 1) ? quad->kappa : 1, bound = largest > kappa ? largest : kappa;
  for (uint32_t n = 0; n < 4; n++)
    eps |= (uint32_t)(bound > kappa && e[n] == largest) << n;
  uint32_t entry = quad->vlc[quad->context | rho << 4 | eps];
  for (uint32_t n = 0; n < 4; n++)
    magsgn += rho >> n & 1 ? bound - (CJ2K_HT_ENC_EK(entry) >> n & 1) : 0;
  return (float)(magsgn + CJ2K_HT_ENC_LENGTH(entry)) + (quad->context ? 0 : CJ2K_HT_EVENT_BITS) +
         cj2k_ht_residual_bits(bound - kappa);
}

/* Replaces *best if these magnitudes cost less. */
CJ2K_HT_RULE void cj2k_ht_consider(const Cj2kHtQuad *quad, const uint32_t mu[4],
                                   Cj2kHtQuadChoice *best)
{
  float error = 0;

  for (uint32_t n = 0; n < 4; n++) {
    float d = mu[n] ? quad->t[n] - (float)mu[n] - 0.5f : quad->t[n];
    error += d * d;
  }
  float cost = error + CJ2K_HT_LAMBDA * cj2k_ht_quad_bits(quad, mu);
  if (cost < best->cost) {
    for (uint32_t n = 0; n < 4; n++)
      best->mu[n] = mu[n];
    best->cost = cost;
  }
}

/* Considers magnitudes with exponents up to `most`, each the best one by itself. */
CJ2K_HT_RULE void cj2k_ht_try_exponent(const Cj2kHtQuad *quad, uint32_t most,
                                       Cj2kHtQuadChoice *best)
{
  uint32_t limit = 1u << (most - 1), mu[4];
  float per_sample = CJ2K_HT_LAMBDA * (float)(most > quad->kappa ? most : quad->kappa);

  for (uint32_t n = 0; n < 4; n++) {
    float t = quad->t[n];
    uint32_t whole = (uint32_t)t;
    mu[n] = whole < 1 ? 1 : whole;
    mu[n] = mu[n] < limit ? mu[n] : limit;
    float d = t - (float)mu[n] - 0.5f;
    if (d * d + per_sample >= t * t)
      mu[n] = 0;
  }
  cj2k_ht_consider(quad, mu, best);
}

/* Considers 0 in place of 1 and 1 in place of 0, sample by sample: codewords differ in length,
 * which cj2k_ht_try_exponent() does not know. */
CJ2K_HT_RULE void cj2k_ht_try_others(const Cj2kHtQuad *quad, Cj2kHtQuadChoice *best)
{
  for (uint32_t n = 0; n < 4; n++)
    if (quad->t[n] >= CJ2K_HT_NEVER_SIGNIFICANT && best->mu[n] <= 1) {
      uint32_t mu[4];
      for (uint32_t i = 0; i < 4; i++)
        mu[i] = best->mu[i] ^ (i == n);
      cj2k_ht_consider(quad, mu, best);
    }
}

/* Chooses the magnitudes of a quad. */
CJ2K_HT_RULE void cj2k_ht_choose(const Cj2kHtQuad *quad, uint32_t mu[4])
{
  const uint32_t none[4] = {0, 0, 0, 0};
  Cj2kHtQuadChoice best = {{0, 0, 0, 0}, 3.402823466e38f};
  float largest = 0;

  for (uint32_t n = 0; n < 4; n++)
    largest = quad->t[n] > largest ? quad->t[n] : largest;
  if (largest >= CJ2K_HT_NEVER_SIGNIFICANT) {
    uint32_t most = cj2k_ht_exponent((uint32_t)largest);
    cj2k_ht_consider(quad, none, &best);
    if (most > 1)
      cj2k_ht_try_exponent(quad, most - 1, &best);
    cj2k_ht_try_exponent(quad, most > 1 ? most : 1, &best);
    cj2k_ht_try_others(quad, &best);
  }
  for (uint32_t n = 0; n < 4; n++)
    mu[n] = best.mu[n];
}

#endif
