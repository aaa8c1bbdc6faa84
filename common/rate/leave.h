/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packets that rate control leaves to the back end, of frames of one layer. */
#ifndef CJ2K_RATE_LEAVE_H
#define CJ2K_RATE_LEAVE_H

#include "frame.h"

/* May the packets be left to the back end? Ceilings of components need the host's own layout. */
bool cj2k_may_leave(const Cj2kRateFrame *frame);
/* The same, and the back end can make packets of the blocks that it has coded last. */
bool cj2k_can_leave(const Cj2kRateFrame *frame);
/* Ends the decision: leaves the packets to the back end if the last layout was from its sizes, so
 * that the codestream's size is known. false: it cannot make them, and the host has no layout of
 * its own yet. */
bool cj2k_leave_finish(Cj2kRateFrame *frame);
/* Leaves the packets of a frame that the back end has cut to it; of at least so many bytes. */
void cj2k_leave_cut(Cj2kRateFrame *frame, uint64_t least);

/* Sets the job of placing a codestream of up to `size` bytes before it is known, for Cj2kAheadJob.
 * A frame of regions or of an average goes other ways, and so may one whose packets the back end
 * does not make. *packets: the job's. false: it is not known. */
bool cj2k_leave_ahead(Cj2kRateFrame *frame, uint64_t size, Cj2kPacketSteps *packets,
                      Cj2kPlaceJob *place);

#endif
