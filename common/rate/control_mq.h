/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_RATE_CONTROL_MQ_H
#define CJ2K_RATE_CONTROL_MQ_H

#include "frame.h"

/* Rate control of an MQ frame; see cj2k_rate_control. */
Cj2kStatus cj2k_control_mq(Cj2kRateFrame *frame);

#endif
