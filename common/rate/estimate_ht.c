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
#define OCTAVE 64
#define FAR    0.2

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

Cj2kEstimateRange cj2k_ht_bases_around(const Cj2kRateFrame *frame, double base, double power,
                                       double target)
{
  const double part = M_LN2 / OCTAVE; /* logarithm of neighbours' ratio */
  const uint32_t each = (uint32_t)MIN(FAR / (power * part), (CJ2K_MOST_BASES - 1) / 2.0);
  const double ratio = exp(part), bytes_ratio = exp(power * part);
  const double far = exp(power * part * (each + 0.5)), least = cj2k_least_base(frame);
  double next = base * exp(-part * each), end = target / far * bytes_ratio;
  Cj2kEstimateRange range = cj2k_ht_estimate_range(frame, target / far, target * far);

  range.num_bases = 2 * each + 1;
  for (uint32_t i = 0; i < range.num_bases; i++) {
    range.bases[i] = i == each ? base : MAX(cj2k_clamp_base(next), least);
    range.ends[i] = cj2k_ht_estimate_range(frame, 0, end).most;
    next *= ratio;
    end *= bytes_ratio;
  }
  if (range.bases[0] <= least)
    range.least = 0; /* nothing takes more */
  return range;
}

Cj2kEstimateRange cj2k_ht_range_of_all(const Cj2kRateFrame *frame, double base)
{
  Cj2kEstimateRange range = cj2k_ht_estimate_range(frame, 0, INFINITY);

  range.num_bases = 1;
  range.bases[0] = base;
  range.ends[0] = range.most;
  return range;
}
