/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MQ: finds steps that are fine enough for a budget but no finer, because every pass below the cut
 * costs time. A sample of the blocks is coded with fine steps and cut to its share of the budget;
 * the slope of that cut determines the steps.
 */
#ifndef CJ2K_RATE_SEARCH_MQ_H
#define CJ2K_RATE_SEARCH_MQ_H

#include "frame.h"

typedef struct {
  double base;             /* a fraction of full range */
  Cj2kStepFactors factors; /* factors of the base in each band */
} Cj2kMqSteps;

/* The steps for another base, which is limited to useful ones. */
Cj2kMqSteps cj2k_mq_steps_of(const Cj2kRateFrame *frame, double base,
                             const Cj2kStepFactors *factors);
/* Sets the current steps. Returns the number of additional planes that are quantised but must not
 * be coded; they make distortions more precise without costing bytes. */
uint8_t cj2k_mq_set_steps(Cj2kRateFrame *frame, const Cj2kMqSteps *steps);
/* Finds the error if all passes are retained; see cj2k_quantising_error. Changes the current
 * steps. */
Cj2kStatus cj2k_mq_quantising_error(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, double *error);

/* Searches steps with samples. The resulting base is less than three quarters of `below`. */
Cj2kStatus cj2k_mq_search(Cj2kRateFrame *frame, double below, Cj2kMqSteps *steps);
/* True if all passes coded with these steps, as in `cut` or, if that is NULL, in frame->hulls, are
 * well above the budget, or if no finer steps exist. */
bool cj2k_mq_is_fine(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps, const Cj2kPassCut *cut);
/* Finer steps, for use if these are not fine enough. */
Cj2kMqSteps cj2k_mq_finer(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps);

/* The base of steps that suit a cut at `slope`, and the slope of the cut that suits a base. */
double cj2k_mq_base_of_slope(uint32_t slope);
uint32_t cj2k_mq_slope_of_base(double base);

/* What later frames learn from a frame whose cut through frame->hulls was at `slope`. */
Cj2kRateMemory cj2k_mq_memory(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, uint32_t slope,
                              uint64_t header_bytes);
/* The same of a cut that the back end has made. */
Cj2kRateMemory cj2k_mq_memory_of_cut(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps,
                                     const Cj2kPassCut *cut);

#endif
