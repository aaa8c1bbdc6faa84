/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the coded code-blocks of the lowest resolutions of the last frame, and gives them to a
 * frame of which these are missing. They are supplied as coded blocks, before the back end sees the
 * frame, so that both back ends decode the same.
 */
#ifndef CJ2K_DECODER_CONCEAL_H
#define CJ2K_DECODER_CONCEAL_H

#include "common/codestream/coded.h"

#include <glib.h>

/* What was kept of the frames so far. */
typedef struct {
  GArray *blocks, *blocks_before; /* Kept, in the order of the plan; those of the frame before */
  GArray *segments, *segments_before; /* Cj2kSegment */
  GByteArray *bytes, *bytes_before;
} Cj2kConceal;

void cj2k_conceal_init(Cj2kConceal *conceal);
void cj2k_conceal_clear(Cj2kConceal *conceal);

/*
 * Supplies code-blocks that are missing in the frame that `packets` read last, if most of the
 * others are like those of the frame before, and keeps the frame's blocks. Call it for all frames
 * in order. A code-block is missing if it has no data and a packet of its precinct is missing or,
 * if `damaged` is set, all packets of its precinct are empty. Returns the number of code-blocks
 * supplied.
 */
uint64_t cj2k_conceal_frame(Cj2kConceal *conceal, const Cj2kPlan *plan, Cj2kPacketReader *packets,
                            const Cj2kCodedFrame *frame, bool damaged);

#endif
