/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_RATE_CONTROL_HT_H
#define CJ2K_RATE_CONTROL_HT_H

#include "frame.h"

/* Rate control of an HT frame; see cj2k_rate_control. */
Cj2kStatus cj2k_control_ht(Cj2kRateFrame *frame);

#endif
