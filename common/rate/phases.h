/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The phase of a band's steps. A block is best cut off where a bit-plane is whole, or where only
 * its significance propagation pass is: so the slope at which the frame is cut off should be that
 * of such an end. Steps times a power of two do, whose phase depends on how much of the band's
 * samples is significant; half a bit-plane beside it costs 0.1 dB.
 */
#ifndef CJ2K_RATE_PHASES_H
#define CJ2K_RATE_PHASES_H

#include "steps.h"

/* Steps of bands of few bits over those whose whole bit-planes end at the slope of the cut. */
#define CJ2K_PHASE_LOW 0.7

/* What steps that are CJ2K_PHASE_LOW for all bands have to be multiplied with, by the bytes that a
 * cut gives each stride-th block. */
void cj2k_phase_factors(const Cj2kPlan *plan, const uint32_t *lengths, uint32_t stride,
                        Cj2kStepFactors *factors);

#endif
