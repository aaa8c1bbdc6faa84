/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "phases.h"

#include <glib.h>
#include <math.h>

/* The phase is CJ2K_PHASE_LOW up to BITS_LOW bits per sample, PHASE_HIGH from BITS_HIGH on, and
 * falls with the logarithm in between; measured with natural pictures. */
#define BITS_LOW     1.0
#define BITS_HIGH    4.0
#define PHASE_HIGH   0.5
#define BITS_UNKNOWN 2.0 /* for bands without a sampled block */

#define PLACES (CJ2K_FACTOR_COMPONENTS * CJ2K_MAX_BANDS)

static float factor_of(double bits)
{
  double high = bits > 0 ? log2(bits / BITS_LOW) / log2(BITS_HIGH / BITS_LOW) : 0;

  return (float)(1 + CLAMP(high, 0, 1) * (PHASE_HIGH / CJ2K_PHASE_LOW - 1));
}

/* What a cut gives to bands that have a factor together. All sums are whole numbers. */
typedef struct {
  double bytes[PLACES], samples[PLACES];
} Sums;

static void find_factors(const Sums *sums, Cj2kStepFactors *factors)
{
  for (uint32_t i = 0; i < PLACES; i++)
    factors->of[i] =
        factor_of(sums->samples[i] > 0 ? sums->bytes[i] * 8 / sums->samples[i] : BITS_UNKNOWN);
}

void cj2k_phase_factors(const Cj2kPlan *plan, const uint32_t *lengths, uint32_t stride,
                        Cj2kStepFactors *factors)
{
  uint32_t band = UINT32_MAX, i = 0;
  Sums sums = {0};

  for (uint32_t b = 0; b < plan->num_blocks; b += stride) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    if (block->band != band)
      i = cj2k_step_factor_index(plan, band = block->band);
    sums.bytes[i] += lengths[b];
    sums.samples[i] += (double)block->width * block->height;
  }
  find_factors(&sums, factors);
}

void cj2k_phase_factors_of_bands(const Cj2kPlan *plan, const uint64_t *bands,
                                 Cj2kStepFactors *factors)
{
  Sums sums = {0};

  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kRect *rect = &plan->bands[b].rect;
    uint32_t i = cj2k_step_factor_index(plan, b);
    sums.bytes[i] += (double)bands[b];
    sums.samples[i] += (double)(rect->x1 - rect->x0) * (rect->y1 - rect->y0);
  }
  find_factors(&sums, factors);
}
