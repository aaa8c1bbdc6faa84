/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MQ: steps that are fine enough for a budget, and no finer: every pass below the cut costs time. A
 * sample of the blocks is coded with fine steps and cut down to its share of the budget; the slope
 * of that cut gives the steps.
 */
#ifndef CJ2K_RATE_SEARCH_MQ_H
#define CJ2K_RATE_SEARCH_MQ_H

#include "frame.h"

typedef struct {
  double base;             /* a fraction of full range */
  Cj2kStepFactors factors; /* what the base is multiplied with in each band */
} Cj2kMqSteps;

/* The steps for another base, which has to be useful. */
Cj2kMqSteps cj2k_mq_steps_of(const Cj2kRateFrame *frame, double base,
                             const Cj2kStepFactors *factors);
/* Puts steps in force. Returns how many planes below those of the steps are quantised, but must not
 * be coded: distortions are less rough then, for nothing. */
uint8_t cj2k_mq_set_steps(Cj2kRateFrame *frame, const Cj2kMqSteps *steps);
/* Finds the error of keeping all passes; see cj2k_quantising_error. Other steps are in force then.
 */
Cj2kStatus cj2k_mq_quantising_error(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, double *error);

/* Searches steps with samples. The base becomes less than three quarters of `below`. */
Cj2kStatus cj2k_mq_search(Cj2kRateFrame *frame, double below, Cj2kMqSteps *steps);
/* True if all passes that were coded with these steps, by frame->hulls, are well above the budget,
 * or if there are no finer steps. */
bool cj2k_mq_is_fine(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps);
/* Finer steps, for when they are not fine. */
Cj2kMqSteps cj2k_mq_finer(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps);

/* What later frames learn from one whose cut through frame->hulls was at `slope`. */
Cj2kRateMemory cj2k_mq_memory(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, uint32_t slope,
                              uint64_t header_bytes);

#endif
