/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encoder parameters made complete: what the caller left open and what the profile dictates is
 * filled in, everything is checked, and a Header follows.
 */
#ifndef CJ2K_PARAMS_H
#define CJ2K_PARAMS_H

#include "common/codestream/header.h"

typedef struct {
  Cj2kEncoderParams params; /* complete; comment and cuda_context still belong to the caller */
  Cj2kEncoderImage image;   /* a copy with components of its own */
  Cj2kChannel *channels;    /* of its own, NULL when the image has none */
  Cj2kComponent *components;
  bool mct;      /* decided */
  uint16_t rsiz; /* without the HT bit */
  /* Ceilings of the profile, 0: none. */
  uint64_t profile_frame_bytes, profile_component_bytes;
  char warning[480]; /* sentences with "; " between; empty: none */
} Cj2kEncoderSetup;

/* CJ2K_ERROR_ARGUMENT names the parameters that contradict each other, the image, the layout or the
 * profile. */
Cj2kStatus cj2k_setup_init(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                           const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                           Cj2kError *error);
void cj2k_setup_clear(Cj2kEncoderSetup *setup);

/* Checks a change of the rate parameters of a setup, and makes it; unchanged on error. */
Cj2kStatus cj2k_setup_change_rate(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                                  Cj2kError *error);

/* The header of codestreams with this setup; step sizes are those of quantiser 1/2048 of full
 * range. */
Cj2kHeader *cj2k_setup_header(const Cj2kEncoderSetup *setup);

/* Adds a sentence to the warnings. */
void cj2k_setup_warn(Cj2kEncoderSetup *setup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills in what the profile dictates and checks what it limits (profiles.c). */
Cj2kStatus cj2k_profile_apply(Cj2kEncoderSetup *setup, Cj2kError *error);
/* Checks the budgets of parameters against those of the profile. */
Cj2kStatus cj2k_profile_check_budget(const Cj2kEncoderSetup *setup, Cj2kError *error);
const char *cj2k_profile_name(Cj2kProfile profile);
bool cj2k_profile_is_cinema(Cj2kProfile profile);
bool cj2k_profile_is_reversible(Cj2kProfile profile);
bool cj2k_profile_has_levels(Cj2kProfile profile);

/* Decides AUTO, fills in quality and psnr, and checks that the values of rate parameters go
 * together (encoder/rate_mode.c). The profile must be a valid one. */
Cj2kStatus cj2k_setup_rate_mode(Cj2kEncoderSetup *setup, Cj2kError *error);
/* A number of bytes rounded down; 0 for what is negative or none, UINT64_MAX for what is too large.
 */
uint64_t cj2k_whole_bytes(double bytes);
/* Ceiling for the codestream in bytes from parameters alone, UINT64_MAX: none. */
uint64_t cj2k_setup_user_bytes(const Cj2kEncoderSetup *setup);
/* Ceiling for the codestream in bytes from parameters and profile, UINT64_MAX: none. */
uint64_t cj2k_setup_frame_bytes(const Cj2kEncoderSetup *setup);
/* Ceiling for the packets of each component, UINT64_MAX: none. */
uint64_t cj2k_setup_component_bytes(const Cj2kEncoderSetup *setup);

#endif
