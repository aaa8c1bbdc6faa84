/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rate control of a frame whose slices leave one by one: steps are fixed before the first slice,
 * from what an earlier frame found. A slice that takes more than is left for it, beside what the
 * slices behind it are expected to take, gives up bit-planes of its HT blocks, or passes of its MQ
 * blocks.
 */
#ifndef CJ2K_RATE_CONTROL_SLICES_H
#define CJ2K_RATE_CONTROL_SLICES_H

#include "frame.h"

/* prepare: makes the coefficients of all slices of layout->writer up to number `slice`; called
 * before they are coded. made: the end of the slices, from `first` on, whose coefficients have been
 * made. take: takes slice number `slice`, which was laid out with layout->source and has `size`
 * bytes, in order from 0 on. */
typedef struct {
  Cj2kStatus (*prepare)(void *ctx, uint32_t slice);
  uint32_t (*made)(void *ctx, uint32_t first);
  void (*take)(void *ctx, uint32_t slice, uint64_t size);
  void *ctx;
} Cj2kSliceSink;

/* Takes the place of cj2k_rate_control. A budget is possible with CJ2K_RATE_CBR only. */
Cj2kStatus cj2k_rate_control_slices(Cj2kRateFrame *frame, const Cj2kSliceSink *sink,
                                    Cj2kError *error);

#endif
