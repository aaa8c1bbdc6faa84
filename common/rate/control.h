/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rate control of a frame: from transformed coefficients to coded blocks and a layout within the
 * ceilings. Each block coder has its own strategy. */
#ifndef CJ2K_RATE_CONTROL_H
#define CJ2K_RATE_CONTROL_H

#include "frame.h"

/* Runs rate control; the result is frame->layout. Records what later frames learn before it
 * returns, unless memory ran out: in that case the frame may be coded again, in another slot. With
 * frame->may_leave the result may be frame->layout.expected: the back end makes the packets, and
 * from their sizes comes frame->layout.size. Then, if cj2k_rate_accepts() that size,
 * cj2k_rate_settle() ends the frame; else this runs again, without may_leave. */
Cj2kStatus cj2k_rate_control(Cj2kRateFrame *frame, Cj2kError *error);
bool cj2k_rate_accepts(const Cj2kRateFrame *frame);
void cj2k_rate_settle(Cj2kRateFrame *frame);
/* Records that later frames cannot learn from this one. Only needed if cj2k_rate_control did not
 * run for the frame, or ran out of memory. */
void cj2k_rate_give_up(Cj2kRateFrame *frame);

#endif
