/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare.h"

#include <glib.h>

#define FEW_SAMPLES      2000000
#define VERY_FEW_SAMPLES 524288
/* Frames that a ceiling limits may follow each other, so that comparing must not take long. */
#define FEW_LIMITED_SAMPLES 131072

bool cj2k_compares_steps(const Cj2kRateFrame *frame, bool recalled)
{
  return cj2k_rate_searches_steps(frame) && !recalled && !frame->regions.count &&
         frame->encoder->plan->num_coefficients <=
             (frame->limited ? FEW_LIMITED_SAMPLES : FEW_SAMPLES) &&
         frame->target.ceilings.component == UINT64_MAX;
}

bool cj2k_searches_whole(const Cj2kRateFrame *frame, bool recalled)
{
  return cj2k_compares_steps(frame, recalled) &&
         frame->encoder->plan->num_coefficients <= VERY_FEW_SAMPLES;
}

double cj2k_error_of_cut(Cj2kHullGains gains, double quantising, bool lowest, double *energy)
{
  if (*energy == 0)
    *energy = quantising + gains.taken + gains.left;
  return !lowest || gains.taken < gains.left ? MAX(*energy - gains.taken, quantising)
                                             : quantising + gains.left;
}
