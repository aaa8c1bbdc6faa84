/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MQ frames of which the back end may do all behind code(): it selects passes as well. */
#ifndef CJ2K_RATE_LEAVE_MQ_H
#define CJ2K_RATE_LEAVE_MQ_H

#include "frame.h"

/* Can packet headers be counted? Each block must have one segment, and no markers depend on them.
 */
bool cj2k_mq_counts_headers(const Cj2kRateFrame *frame);
/* The bytes of markers and empty packets with the current steps. */
uint64_t cj2k_mq_empty_bytes(const Cj2kRateFrame *frame);
/* What follows code() in the usual case, of a frame that knows the headers of an earlier one. A
 * frame of regions, of an average or of a small budget goes other ways, and so may one whose
 * packets the back end does not make. *packets: the job's. false: nothing is known. */
bool cj2k_mq_foresee(Cj2kRateFrame *frame, uint64_t header_bytes, Cj2kPacketSteps *packets,
                     Cj2kAheadJob *job);

#endif
