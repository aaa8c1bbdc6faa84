/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT: what all blocks take at plane 0, estimated from some of their quads without coding them. An
 * estimate is in proportion to bytes: what one coding took beside its estimate tells what others
 * take, of the same frame with other steps, or of a later frame of the film.
 */
#ifndef CJ2K_RATE_ESTIMATE_HT_H
#define CJ2K_RATE_ESTIMATE_HT_H

#include "base_search.h"
#include "frame.h"

typedef struct {
  double base;  /* of the steps; 0: nothing is known */
  double bytes; /* in proportion to those of the codestream */
  bool derived; /* it was not made, but follows from one for another base */
} Cj2kHtEstimate;

/* Sets the steps of a base and makes the estimate for them, unless *estimate is that. */
Cj2kStatus cj2k_ht_estimate(Cj2kRateFrame *frame, double base, Cj2kHtEstimate *estimate);
/* Changes *base until the frame takes `target` bytes by its estimate, if the truth is `scale` times
 * that. *search: knows how bytes depend on the base, and learns it better; its last trial is
 * forgotten. *estimate: on input one that may be for *base, on output the one for *base. */
Cj2kStatus cj2k_ht_correct_base(Cj2kRateFrame *frame, double scale, double target,
                                Cj2kBaseSearch *search, double *base, Cj2kHtEstimate *estimate);
/* The range of estimates, made with the steps of `base`, for which a frame can take about `target`
 * bytes (in proportion, as estimates are) with a base close to that one; and these bases. power: as
 * in Cj2kBaseSearch. */
Cj2kEstimateRange cj2k_ht_bases_around(const Cj2kRateFrame *frame, double base, double power,
                                       double target);
/* The range of all estimates, with `base` as the only one. */
Cj2kEstimateRange cj2k_ht_range_of_all(const Cj2kRateFrame *frame, double base);

#endif
