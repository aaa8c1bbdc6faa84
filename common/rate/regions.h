/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions of interest: the weight of each code-block's errors. It is the mean of the weights of the
 * samples that the block stands for, so that a block which a region covers in part counts in part.
 * Pure functions.
 */
#ifndef CJ2K_RATE_REGIONS_H
#define CJ2K_RATE_REGIONS_H

#include "common/codestream/plan.h"

typedef struct {
  uint32_t count; /* 0: all weights are 1 */
  Cj2kRegion list[CJ2K_MAX_REGIONS];
} Cj2kRegions;

/* Sets the weight of each block of the plan. *range: the greatest weight, or 1, divided by the
 * least, or 1. */
void cj2k_region_weights(const Cj2kPlan *plan, const Cj2kRegions *regions, double *weights,
                         double *range);

#endif
