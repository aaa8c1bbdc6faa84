/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "estimate_ht.h"

#include "base.h"
#include "coding_ht.h"

#include <math.h>

#define TRIALS 4
/* Logarithms. No estimate is surer than CLOSE. If one is off by more than DISTANT, it is made again
 * for the corrected base, because it is not known well enough how bytes depend on that. */
#define CLOSE   0.005
#define DISTANT 0.06

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
