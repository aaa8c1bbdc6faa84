/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparison of steps by the error that results after the cut, which depends on where passes end.
 * It is made for small frames that do not start from the result of an earlier one.
 */
#ifndef CJ2K_RATE_COMPARE_H
#define CJ2K_RATE_COMPARE_H

#include "frame.h"

#define CJ2K_COMPARE_PHASES 8 /* number of steps compared within an octave */
/* Octaves of coarser steps that are compared. They must be better by the factor SURELY, because the
 * error of quantising to zero is known less precisely. */
#define CJ2K_COMPARE_COARSER 3
#define CJ2K_COMPARE_SURELY  0.5
/* Errors are known to about one percent. */
#define CJ2K_COMPARE_ABOUT 0.99

/* True if steps are compared for the frame. recalled: it started from the result of an earlier
 * one. */
bool cj2k_compares_steps(const Cj2kRateFrame *frame, bool recalled);
/* True if the frame is so small that steps whose passes just fill the budget are searched, too. */
bool cj2k_searches_whole(const Cj2kRateFrame *frame, bool recalled);

/*
 * The error after a cut; only differences between cuts of one frame are meaningful. `quantising`:
 * the error if everything is retained. *energy: the error if nothing is retained, the same for all
 * steps (0: unknown; the first call sets it). lowest: what the cut drops includes all planes.
 * Slopes are known to some tenths of a percent. The result is therefore computed from the smaller
 * sum: the gain of the dropped options is added to the error of quantising, or the gain of the
 * retained ones is subtracted from the energy.
 */
double cj2k_error_of_cut(Cj2kHullGains gains, double quantising, bool lowest, double *energy);

#endif
