/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The phase of a band's steps. The best points to cut a block are the end of a bit-plane or of its
 * significance propagation pass, so the slope of the frame's cut should be that of such an end.
 * Multiplying a step by a power of two does not change this; the phase is the remaining factor, and
 * the best one depends on the share of significant samples in the band. A phase that is wrong by
 * half a bit-plane costs 0.1 dB.
 */
#ifndef CJ2K_RATE_PHASES_H
#define CJ2K_RATE_PHASES_H

#include "steps.h"

/* The factor of the steps of bands with few bits, relative to steps whose bit-planes end at the
 * slope of the cut. */
#define CJ2K_PHASE_LOW 0.7

/* Computes the factors for steps that are CJ2K_PHASE_LOW in all bands, from the bytes that a cut
 * gives to each stride-th block. */
void cj2k_phase_factors(const Cj2kPlan *plan, const uint32_t *lengths, uint32_t stride,
                        Cj2kStepFactors *factors);
/* The same from the bytes that it gives to all blocks of each band. */
void cj2k_phase_factors_of_bands(const Cj2kPlan *plan, const uint64_t *bands,
                                 Cj2kStepFactors *factors);

#endif
