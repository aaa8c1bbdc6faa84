/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Visual weights: how visible an error of each sub-band is, from models of the contrast sensitivity
 * of the eye. Pure functions; docs/rate-control.md has the formulas and their sources.
 */
#ifndef CJ2K_RATE_VISUAL_H
#define CJ2K_RATE_VISUAL_H

#include "common/codestream/plan.h"

/* What the first three components are, before the component transform of JPEG 2000. All others are
 * weighted as luma. */
typedef enum {
  CJ2K_SEEN_AS_LUMA, /* each component by itself: grey, or colours without a known meaning */
  CJ2K_SEEN_AS_RGB,
  CJ2K_SEEN_AS_YCC, /* luma and two colour differences */
  CJ2K_SEEN_AS_XYZ, /* X'Y'Z' of digital cinema */
} Cj2kSeenAs;

/* Fills `weights`, one for each band of the plan: the visibility of an error in the image, relative
 * to the same squared error of luma at the frequencies at which the eye is most sensitive; at most
 * about 1. pixels_per_degree: of the reference grid, which the viewing distance determines. */
void cj2k_visual_weights(const Cj2kPlan *plan, Cj2kSeenAs seen_as, double pixels_per_degree,
                         double *weights);

#endif
