/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Step sizes by quality, step or PSNR, and the error of quantising with step sizes. */
#ifndef CJ2K_RATE_BASE_H
#define CJ2K_RATE_BASE_H

#include "frame.h"

/* Sets the steps that the target determines without a budget. The frame must have been
 * transformed. */
Cj2kStatus cj2k_steps_for_target(Cj2kRateFrame *frame);
/* Sets the steps with the least squared error for a base, which is a fraction of the full range. */
void cj2k_set_base(Cj2kRateFrame *frame, double base);
/* Finds the squared error of quantising with the steps in force, summed over all samples, as a
 * fraction of the square of full range. */
Cj2kStatus cj2k_quantising_error(Cj2kRateFrame *frame, double *error);

#endif
