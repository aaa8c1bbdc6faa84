/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "estimate_ht.h"

#include "base.h"
#include "budget.h"
#include "coding_ht.h"

#include <math.h>

#define TRIALS 4
/* Logarithms. No estimate is surer than CLOSE. If one is off by more than DISTANT, it is made again
 * for the corrected base, because it is not known well enough how bytes depend on that. */
#define CLOSE   0.005
#define DISTANT 0.06
/* Bases from which a frame chooses by its estimate: OCTAVE in each octave, as far as the bytes that
 * they take differ from those of the middle one by the logarithm FAR at most. */
#define OCTAVE 128
#define FAR    0.1
/* If its bytes differ by more than that, it makes another estimate for the chosen base. */
#define SURE 0.04
/* Further away are the bases whose bytes differ from the middle one's by the logarithms PART, 2
 * PART, and so on, as far as there are entries. No base is finer by more than FINER octaves: it
 * would need more bit-planes, and room for these. Half of PART is less than what lies
 * on either side of the bases close by, which is 0.0495 if bytes depend little on the base. */
#define PART       0.08
#define FINER      2
#define MOST_FINER 20 /* of the entries */

Cj2kStatus cj2k_ht_estimate(Cj2kRateFrame *frame, double base, Cj2kHtEstimate *estimate)
{
  if (estimate->base == base && !estimate->derived)
    return CJ2K_OK;
  *estimate = (Cj2kHtEstimate){0};
  cj2k_set_base(frame, base);
  Cj2kStatus status = cj2k_ht_estimate_bytes(frame, &estimate->bytes);
  if (status == CJ2K_OK)
    estimate->base = base;
  return status;
}

Cj2kStatus cj2k_ht_correct_base(Cj2kRateFrame *frame, double scale, double target,
                                Cj2kBaseSearch *search, double *base, Cj2kHtEstimate *estimate)
{
  Cj2kStatus status = CJ2K_OK;

  cj2k_base_search_forget(search);
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    if ((status = cj2k_ht_estimate(frame, *base, estimate)) != CJ2K_OK || !(estimate->bytes > 0))
      break;
    double off = fabs(log(estimate->bytes * scale / target));
    double next = cj2k_base_search_secant(search, *base, estimate->bytes * scale, target);
    if (off < CLOSE || next == *base)
      break;
    *base = next;
    *estimate = (Cj2kHtEstimate){next, target / scale, true};
    if (off < DISTANT)
      break;
  }
  cj2k_base_search_forget(search);
  return status;
}

static const double fine = M_LN2 / OCTAVE; /* logarithm of the ratio of neighbours */

/* How many ratios there are on either side of the middle one. */
static uint32_t near_each(double power)
{
  return (uint32_t)MIN(FAR / (power * fine), (CJ2K_MOST_RATIOS - 1) / 2.0);
}

/* The greatest estimate that stands for so many bytes. */
static uint64_t end_of(const Cj2kRateFrame *frame, double bytes)
{
  return cj2k_ht_estimate_range(frame, 0, bytes).most;
}

static Cj2kBaseRatios near_ratios(const Cj2kRateFrame *frame, double power, double target)
{
  uint32_t each = near_each(power);
  const double ratio = exp(fine), bytes_ratio = exp(power * fine);
  double next = exp(-fine * each), end = target * exp(power * fine * (0.5 - each));
  Cj2kBaseRatios ratios = {.count = 2 * each + 1};

  for (uint32_t i = 0; i < ratios.count; i++) {
    ratios.ratios[i] = i == each ? 1 : next;
    ratios.ends[i] = end_of(frame, end);
    next *= ratio;
    end *= bytes_ratio;
  }
  return ratios;
}

static Cj2kBaseRatios far_ratios(const Cj2kRateFrame *frame, double power, double target)
{
  double least = -MIN(ceil(M_LN2 * FINER * power / PART), MOST_FINER) * PART;
  const double ratio = exp(PART / power), bytes_ratio = exp(PART);
  double next = exp(least / power), end = target * exp(least + PART / 2);
  Cj2kBaseRatios ratios = {.count = CJ2K_MOST_RATIOS};

  for (uint32_t i = 0; i < ratios.count; i++) {
    ratios.ratios[i] = next;
    ratios.ends[i] = end_of(frame, end);
    next *= ratio;
    end *= bytes_ratio;
  }
  return ratios;
}

Cj2kEstimateRange cj2k_ht_bases_around(const Cj2kRateFrame *frame, double base, double power,
                                       double target)
{
  const double far = exp(power * fine * (near_each(power) + 0.5)), least = cj2k_least_base(frame);
  Cj2kEstimateRange range = cj2k_ht_estimate_range(frame, target / far, target * far);

  range.sure_least = end_of(frame, target * exp(-SURE));
  range.sure_most = end_of(frame, target * exp(SURE));
  range.base = base;
  range.least_base = MAX(least, ldexp(base, -FINER));
  range.finest = range.least_base <= least;
  range.most_base = cj2k_clamp_base(INFINITY);
  range.near = near_ratios(frame, power, target);
  range.far = far_ratios(frame, power, target);
  return range;
}

Cj2kEstimateRange cj2k_ht_range_of_all(const Cj2kRateFrame *frame, double base)
{
  Cj2kEstimateRange range = cj2k_ht_estimate_range(frame, 0, INFINITY);

  range.sure_most = range.most;
  range.base = range.least_base = range.most_base = base;
  range.near = (Cj2kBaseRatios){.count = 1, .ratios = {1}, .ends = {range.most}};
  return range;
}
