/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What each slice of a frame is expected to take of a budget, and what is remembered of it for
 * later frames. */
#ifndef CJ2K_RATE_SLICE_SHARES_H
#define CJ2K_RATE_SLICE_SHARES_H

#include "history.h"

#define CJ2K_SLICE_PLANES 24 /* bit-planes for which sizes are noted */

typedef struct {
  uint32_t count;                       /* slices */
  double *expected;                     /* per slice: bytes */
  double (*at_plane)[CJ2K_RATE_SLICES]; /* [CJ2K_SLICE_PLANES]: bytes of the slices noted, in parts
                                         */
} Cj2kSliceShares;

void cj2k_slice_shares_init(Cj2kSliceShares *shares, uint32_t count);
void cj2k_slice_shares_clear(Cj2kSliceShares *shares);

/* Expects `bytes` for all slices, divided as in an earlier frame. */
void cj2k_slice_shares_recall(Cj2kSliceShares *shares, const Cj2kRateMemory *memory, double bytes);
/* What the slices behind `slice` are expected to take. */
double cj2k_slice_shares_behind(const Cj2kSliceShares *shares, uint32_t slice);

/* Notes the bytes of a slice with all blocks at each plane. */
void cj2k_slice_shares_note(Cj2kSliceShares *shares, uint32_t slice,
                            const double bytes[CJ2K_SLICE_PLANES]);
/* Fills in base, total and slices of *memory. A frame that takes more than `aim` with `base` is
 * remembered as if it had been coded with the base, found between two planes, with which it takes
 * `aim`: over many octaves the power would be no guide for the next frame. */
void cj2k_slice_shares_remember(const Cj2kSliceShares *shares, double base, double aim,
                                Cj2kRateMemory *memory);

#endif
