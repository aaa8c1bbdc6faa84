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
   * one unit of a block's distortion, (step/16)^2; times the square of `visual`. */
  double *weights;
  /* Per band: how visible an error is (visual.h); NULL: 1 in all bands. Not owned. */
  const double *visual;
  double finest; /* base that no band's step falls below because it is visible; 0: none */
} Cj2kFrameSteps;

/* visual, finest: see above. */
void cj2k_frame_steps_init(Cj2kFrameSteps *steps, const Cj2kPlan *plan, const double *visual,
                           double finest);
void cj2k_frame_steps_clear(Cj2kFrameSteps *steps);

/* The largest base that restores samples exactly: steps of an eighth of a sample value. */
double cj2k_exact_base(const Cj2kHeader *header);
/* Cj2kFrameSteps.finest of frames with visual weights: MQ quantises two more bit-planes than it
 * codes. */
double cj2k_finest_base(const Cj2kHeader *header);

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
 * Sets the steps of all irreversible bands: base / (norm * visual weight of the band), where base
 * is a fraction of the component's range; times `factors` (NULL: all are 1). Each band then adds
 * the same visible error. With visual weights no step becomes finer than that of base `finest`
 * without them. false: QCD has no step as fine as a band needs; that band got the finest one.
 */
bool cj2k_frame_steps_set(Cj2kFrameSteps *steps, const Cj2kPlan *plan, double base,
                          const Cj2kStepFactors *factors);

/* How steps depend on the base, without factors. rules: per band of the plan. */
void cj2k_frame_steps_rules(const Cj2kFrameSteps *steps, const Cj2kPlan *plan, Cj2kStepRule *rules);

/* The weights of a quality factor: none or those of steps->visual, or (auto) its own, those of the
 * viewing distance of JPEG's quantisation tables. */
typedef struct {
  Cj2kVisualWeights weights;
  bool colour_difference; /* components 1 and 2 are colour differences */
} Cj2kQualityWeights;

/* Sets the steps for a quality factor 1..100. Towards 100 the visual weights fade out. */
void cj2k_frame_steps_set_quality(Cj2kFrameSteps *steps, const Cj2kPlan *plan, uint32_t quality,
                                  const Cj2kQualityWeights *weights);
/* The visual weights with which it sets them; `result` has an entry for each band of the plan. */
void cj2k_frame_steps_quality_weights(const Cj2kFrameSteps *steps, const Cj2kPlan *plan,
                                      uint32_t quality, const Cj2kQualityWeights *weights,
                                      double *result);

#endif
