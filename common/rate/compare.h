/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparing steps by the error that they really leave, which depends on where passes happen to end.
 * There is time for it where a frame is small and nothing is known of an earlier one.
 */
#ifndef CJ2K_RATE_COMPARE_H
#define CJ2K_RATE_COMPARE_H

#include "frame.h"

#define CJ2K_COMPARE_PHASES 8 /* steps in an octave */
/* Octaves of coarser steps that are compared. They have to be better by the factor SURELY: what
 * quantising to zero costs is known less well. */
#define CJ2K_COMPARE_COARSER 3
#define CJ2K_COMPARE_SURELY  0.5
/* Errors are known to about one percent. */
#define CJ2K_COMPARE_ABOUT 0.99

/* Is the frame compared? recalled: it began at the result of an earlier one. */
bool cj2k_compares_steps(const Cj2kRateFrame *frame, bool recalled);
/* Is it so small that steps are searched too with which all that is coded just fills the budget? */
bool cj2k_searches_whole(const Cj2kRateFrame *frame, bool recalled);

/*
 * The error that a cut leaves, of which only differences between cuts of the frame count.
 * `quantising` is that of keeping everything. *energy: of keeping nothing, the same for all steps
 * (0: unknown; the first call sets it). lowest: what the cut leaves out has all planes. Slopes are
 * known to some tenths of a percent: what is left is added to the error of quantising where that
 * is less, else what is taken is subtracted from the energy.
 */
double cj2k_error_of_cut(Cj2kHullGains gains, double quantising, bool lowest, double *energy);

#endif
