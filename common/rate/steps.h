/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Step sizes: from a quality, a step or a search to the values in QCD, and from these to the
 * quantiser of each band. The (exponent, mantissa) in the header is authoritative: encoder and
 * decoder derive the same step from it.
 */
#ifndef CJ2K_RATE_STEPS_H
#define CJ2K_RATE_STEPS_H

#include "common/backend.h"

/* Quantisation of component c with default step sizes; style and number of steps follow from the
 * coding style, which must be filled in. */
void cj2k_quantisation_init(Cj2kQuantisation *quantisation, const Cj2kHeader *header, uint32_t c,
                            uint8_t guard_bits);

/* The quantisation of one frame. */
typedef struct {
  Cj2kQuantisation *components;   /* per component, as in QCD and QCC */
  Cj2kFrameQuantiser *quantisers; /* per band of the plan */
  /* Per band: the squared error in the image, relative to the square of the component's range, of
   * one unit of a block's distortion, (step/16)^2. */
  double *weights;
} Cj2kFrameSteps;

void cj2k_frame_steps_init(Cj2kFrameSteps *steps, const Cj2kPlan *plan);
void cj2k_frame_steps_clear(Cj2kFrameSteps *steps);

/* How steps differ between bands. */
typedef enum {
  CJ2K_WEIGHT_ERROR,  /* the same error in all bands: least squared error of the image */
  CJ2K_WEIGHT_VISUAL, /* weighted by visibility in luminance and colour difference */
} Cj2kStepWeighting;

/* Factors of the steps of bands, equal in all tiles: by component, with one entry for all from the
 * fourth on, and by index in QCD (LL, then HL LH HH of r = 1, 2 ...). */
#define CJ2K_FACTOR_COMPONENTS 4
typedef struct {
  float of[CJ2K_FACTOR_COMPONENTS * CJ2K_MAX_BANDS];
} Cj2kStepFactors;
Cj2kStepFactors cj2k_no_factors(void); /* all are 1 */
/* The index of band b of the plan in Cj2kStepFactors. */
uint32_t cj2k_step_factor_index(const Cj2kPlan *plan, uint32_t b);

/*
 * Sets the steps of all irreversible bands: base / norm of the band, where base is a fraction of
 * the component's range; with CJ2K_WEIGHT_VISUAL also divided by the band's visual weight to the
 * power `visual_power` (0..1); times `factors` (NULL: all are 1). false: QCD has no step as fine as
 * a band needs; that band got the finest one.
 */
bool cj2k_frame_steps_set(Cj2kFrameSteps *steps, const Cj2kPlan *plan, double base,
                          Cj2kStepWeighting weighting, bool colour_difference, double visual_power,
                          const Cj2kStepFactors *factors);

/* The step base and the power of visual weights for a quality factor 1..100. */
void cj2k_quality_to_steps(uint32_t quality, double *base, double *visual_power);

#endif
