/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rate control of a frame: from transformed coefficients to coded blocks and a layout under the
 * ceilings. There is one way through for each block coder. */
#ifndef CJ2K_RATE_CONTROL_H
#define CJ2K_RATE_CONTROL_H

#include "frame.h"

/* Does all of it; the result is frame->layout. Before it ends, other frames may learn from this
 * one, unless memory ran out: then the frame may be coded once more, in another slot. */
Cj2kStatus cj2k_rate_control(Cj2kRateFrame *frame, Cj2kError *error);
/* Tells later frames that this one has nothing to learn from. Only needed for a frame for which
 * cj2k_rate_control did not run, or ran out of memory. */
void cj2k_rate_give_up(Cj2kRateFrame *frame);

#endif
