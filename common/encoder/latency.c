/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of parameters for latency below a frame: docs/rate-control.md. */
#include "common/runtime/error.h"
#include "params.h"

#include <glib.h>

#define WIDEST 15 /* log2 of the width of maximal precincts */

/* What each latency profile sets. Precincts are as wide as the picture, and half as high from level
 * to level, so that all precincts of a slice cover the same rows. Code-blocks are wide, because
 * those of the lower resolutions are cut to the few rows of their precincts. */
static const struct {
  const char *name;
  uint8_t rows;            /* log2 of the rows of a slice */
  uint8_t num_resolutions; /* 0: the default */
  uint16_t codeblock_width, codeblock_height;
} profiles[] = {
    [CJ2K_LATENCY_FRAME] = {"frame", 0, 0, 0, 0},
    [CJ2K_LATENCY_LOW] = {"low", 6, 0, 256, 16},
    [CJ2K_LATENCY_ULTRA] = {"ultra", 5, 4, 256, 16},
};

static void set_precincts(Cj2kEncoderParams *p, uint8_t rows)
{
  p->num_precincts = (uint8_t)MIN(p->num_resolutions, rows);
  for (uint8_t i = 0; i < p->num_precincts; i++) {
    p->precinct_width[i] = WIDEST;
    p->precinct_height[i] = (uint8_t)(rows - i);
  }
}

Cj2kStatus cj2k_setup_latency(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params, defaults;

  if (p->latency_profile == CJ2K_LATENCY_FRAME)
    return CJ2K_OK;
  if (p->profile != CJ2K_PROFILE_NONE)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "latency-profile %s and profile %s contradict each other",
                          profiles[p->latency_profile].name, cj2k_profile_name(p->profile));
  cj2k_encoder_params_init(&defaults);
  p->slices = true;
  if (p->progression == defaults.progression)
    p->progression = CJ2K_PCRL;
  if (p->num_resolutions == defaults.num_resolutions &&
      profiles[p->latency_profile].num_resolutions)
    p->num_resolutions = profiles[p->latency_profile].num_resolutions;
  if (!p->num_precincts)
    set_precincts(p, profiles[p->latency_profile].rows);
  if (p->codeblock_width == defaults.codeblock_width &&
      p->codeblock_height == defaults.codeblock_height) {
    p->codeblock_width = profiles[p->latency_profile].codeblock_width;
    p->codeblock_height = profiles[p->latency_profile].codeblock_height;
  }
  return CJ2K_OK;
}
