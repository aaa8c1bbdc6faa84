/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Completes encoder parameters: fills in what the caller left open and what the profile dictates,
 * checks everything, and makes a Header from the result.
 */
#ifndef CJ2K_ENCODER_PARAMS_H
#define CJ2K_ENCODER_PARAMS_H

#include "common/codestream/header.h"

typedef struct {
  Cj2kEncoderParams params; /* complete; texts and cuda_context still belong to the caller */
  Cj2kEncoderImage image;   /* a copy with components of its own */
  Cj2kChannel *channels;    /* a copy, NULL if the image has none */
  Cj2kComponent *components;
  bool mct;      /* whether the component transform is used */
  uint16_t rsiz; /* without the HT bit */
  /* Ceilings of the profile; 0: none. */
  uint64_t profile_frame_bytes, profile_component_bytes;
  char warning[480]; /* sentences separated by "; "; empty: none */
} Cj2kEncoderSetup;

/* CJ2K_ERROR_ARGUMENT names the parameters that contradict each other, the image, the layout or the
 * profile. */
Cj2kStatus cj2k_setup_init(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                           const Cj2kEncoderImage *image, const Cj2kLayout *layout,
                           Cj2kError *error);
void cj2k_setup_clear(Cj2kEncoderSetup *setup);

/* Checks new rate parameters and sets them. On error the setup is unchanged. */
Cj2kStatus cj2k_setup_change_rate(Cj2kEncoderSetup *setup, const Cj2kEncoderParams *params,
                                  Cj2kError *error);

/* Creates the header of codestreams with this setup. Its step sizes are those of base 1/2048. */
Cj2kHeader *cj2k_setup_header(const Cj2kEncoderSetup *setup);

#define CJ2K_DEFAULT_WINDOW 120 /* average_window; frames */

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

/* Applies the latency profile to parameters that have their defaults. */
Cj2kStatus cj2k_setup_latency(Cj2kEncoderSetup *setup, Cj2kError *error);

/* Replaces AUTO by a rate control, fills in quality and psnr, and checks that the rate parameters
 * are consistent (encoder/rate_mode.c). The profile must be valid. */
Cj2kStatus cj2k_setup_rate_mode(Cj2kEncoderSetup *setup, Cj2kError *error);
/* Whether rate_effort=best changes how these frames are quantised. */
bool cj2k_quantises_best(const Cj2kEncoderParams *params);
/* Rounds a number of bytes down; 0 for a negative value or NaN, UINT64_MAX for one that is too
 * large. */
uint64_t cj2k_whole_bytes(double bytes);
/* Ceiling for the codestream in bytes, from parameters alone; UINT64_MAX: none. */
uint64_t cj2k_setup_user_bytes(const Cj2kEncoderSetup *setup);
/* Ceiling for the codestream in bytes, from parameters and profile; UINT64_MAX: none. */
uint64_t cj2k_setup_frame_bytes(const Cj2kEncoderSetup *setup);
/* Bytes of a frame's codestream at average_bitrate; 0: there is none. */
uint64_t cj2k_setup_average_bytes(const Cj2kEncoderSetup *setup);
/* Ceiling for the packets of each component in bytes; UINT64_MAX: none. */
uint64_t cj2k_setup_component_bytes(const Cj2kEncoderSetup *setup);

#endif
