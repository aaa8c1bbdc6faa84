/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parameters of a decoder, as a table. */
#ifndef CJ2K_OPTIONS_DECODER_OPTIONS_H
#define CJ2K_OPTIONS_DECODER_OPTIONS_H

#include "option.h"

/* Offsets are those of Cj2kDecoderParams. */
extern const Cj2kOptionTable cj2k_decoder_options;

#endif
