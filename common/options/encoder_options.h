/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parameters of an encoder, as a table. */
#ifndef CJ2K_OPTIONS_ENCODER_OPTIONS_H
#define CJ2K_OPTIONS_ENCODER_OPTIONS_H

#include "option.h"

/* Offsets are those of Cj2kEncoderParams. */
extern const Cj2kOptionTable cj2k_encoder_options;

/* Name of a rate control, such as "cbr". */
const char *cj2k_rate_control_name(Cj2kRateControl rate_control);

#endif
