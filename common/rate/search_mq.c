/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search_mq.h"

#include "base.h"
#include "base_search.h"
#include "budget.h"
#include "phases.h"
#include "strides.h"

#include <math.h>

#define SAMPLES     6  /* trials with a sample of the blocks */
#define MEAN_POINTS 16 /* number of slopes of which the mean is taken */
/* Slope of error over bytes at the end of the bit-planes of steps `base`: 8 * 2 ln 2 / 12 *
 * base^2. */
#define SLOPE_PER_BASE2 0.924
/* A base within this range of an earlier frame's, in octaves, leaves its steps unchanged. */
#define PHASE_SLACK 0.16
#define UNCODED     2 /* bit-planes that are quantised, but not coded */
/* Bytes per component, besides headers, from which steps may differ between components. */
#define QCC_ROOM 256
/* Steps are fine enough if all passes together have this multiple of the budget. */
#define LEAST  1.02
#define HARDLY 1.2 /* with less the steps must not become larger */
#define FAR    8   /* with less than 1/FAR they must become much finer */

/* --- steps --- */

Cj2kMqSteps cj2k_mq_steps_of(const Cj2kRateFrame *frame, double base,
                             const Cj2kStepFactors *factors)
{
  return (Cj2kMqSteps){.base = cj2k_useful_base(frame, base), .factors = *factors};
}

static bool set_steps(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, uint8_t uncoded)
{
  return cj2k_frame_steps_set(&frame->steps, frame->encoder->plan, ldexp(steps->base, -uncoded),
                              &steps->factors);
}

uint8_t cj2k_mq_set_steps(Cj2kRateFrame *frame, const Cj2kMqSteps *steps)
{
  Cj2kMqSteps finer = *steps;

  /* Regions may need passes below those of the other blocks. */
  if (frame->region_planes)
    finer = cj2k_mq_steps_of(frame, ldexp(steps->base, -frame->region_planes), &steps->factors);
  if (set_steps(frame, &finer, UNCODED))
    return UNCODED;
  set_steps(frame, &finer, 0);
  return 0;
}

Cj2kStatus cj2k_mq_quantising_error(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, double *error)
{
  set_steps(frame, steps, 0);
  return cj2k_quantising_error(frame, error);
}

/* --- samples --- */

/* Codes samples of the blocks until they have more than enough passes; *base: the base they were
 * coded with. */
static Cj2kStatus code_samples(Cj2kRateFrame *frame, uint32_t stride, double *base)
{
  double target = cj2k_body_bytes(frame, (double)frame->encoder->least.frame);

  for (uint32_t trial = 0;; trial++) {
    const Cj2kMqSteps steps = {.base = *base, .factors = cj2k_no_factors()};
    const Cj2kCodeJob job = {.lowest_plane = cj2k_mq_set_steps(frame, &steps),
                             .quantisers = frame->steps.quantisers,
                             .stride = stride,
                             .weights = frame->steps.weights};
    Cj2kCodedBlocks coded;
    uint64_t saturated;
    Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, &coded, &saturated, frame->error);
    if (status != CJ2K_OK)
      return status;
    cj2k_rate_hulls_of_passes(frame, &coded);
    double all = (double)cj2k_hulls_bytes(&frame->hulls, 0) * stride;
    if (all >= target * 1.3 || *base <= cj2k_least_base(frame) || trial == SAMPLES)
      return CJ2K_OK;
    *base = cj2k_useful_base(frame, *base / 4);
  }
}

/* Bytes above slopes of class `slope` if passes could end anywhere: the mean over the slopes of one
 * bit-plane, which span a factor of 4. */
static double mean_bytes(const Cj2kHulls *hulls, uint32_t slope)
{
  double sum = 0;
  for (uint32_t i = 0; i < MEAN_POINTS; i++)
    sum += (double)cj2k_hulls_bytes(hulls, slope - CJ2K_SLOPE_OCTAVE +
                                               (2 * i + 1) * CJ2K_SLOPE_OCTAVE / MEAN_POINTS);
  return sum / MEAN_POINTS;
}

/* Estimated bytes of the frame, with headers, if blocks are cut at slopes of class `slope`. */
static double sampled_bytes(Cj2kRateFrame *frame, uint32_t slope, uint32_t stride)
{
  const Cj2kSelection *cut = &frame->cut;

  cj2k_hulls_apply(&frame->hulls, slope, &frame->cut);
  Cj2kHeaderEstimate headers = cj2k_frame_headers(frame, cut->options, cut->lengths, stride);
  return mean_bytes(&frame->hulls, slope) * stride + (double)headers.expected;
}

/* The slope class at which the frame meets its budget, estimated from sampled blocks. */
static uint32_t sampled_slope(Cj2kRateFrame *frame, uint32_t stride)
{
  uint32_t low = CJ2K_SLOPE_OCTAVE, high = CJ2K_SLOPE_CLASSES - 1 - CJ2K_SLOPE_OCTAVE;

  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (sampled_bytes(frame, middle, stride) <= (double)frame->target.ceilings.useful_frame)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* --- the steps of a slope --- */

double cj2k_mq_base_of_slope(uint32_t slope)
{
  return cj2k_clamp_base(sqrt(cj2k_slope_value(slope) / SLOPE_PER_BASE2) * CJ2K_PHASE_LOW);
}

uint32_t cj2k_mq_slope_of_base(double base)
{
  double root = base / CJ2K_PHASE_LOW;

  return cj2k_slope_class(SLOPE_PER_BASE2 * root * root);
}

/* Components with different steps need a marker segment each. */
static bool has_room_for_factors(const Cj2kRateFrame *frame)
{
  uint32_t n = frame->encoder->plan->num_components;

  return n == 1 ||
         frame->target.ceilings.useful_frame > frame->encoder->least.frame + n * (uint64_t)QCC_ROOM;
}

/* The phases for a cut at `slope`. */
static Cj2kStepFactors find_factors(Cj2kRateFrame *frame, uint32_t slope, uint32_t stride)
{
  Cj2kStepFactors factors = cj2k_no_factors();

  cj2k_hulls_apply(&frame->hulls, slope, &frame->cut);
  if (has_room_for_factors(frame))
    cj2k_phase_factors(frame->encoder->plan, frame->cut.lengths, stride, &factors);
  return factors;
}

Cj2kStatus cj2k_mq_search(Cj2kRateFrame *frame, double below, Cj2kMqSteps *steps)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks), slope = 0; /* all */
  double base = cj2k_guess_base(frame) / 4;
  Cj2kStatus status = code_samples(frame, stride, &base);

  if (status != CJ2K_OK)
    return status;
  if ((double)frame->hulls.total * stride >
      cj2k_body_bytes(frame, (double)frame->encoder->least.frame))
    base = cj2k_mq_base_of_slope(slope = sampled_slope(frame, stride));
  const Cj2kStepFactors factors = find_factors(frame, slope, stride);
  while (base > below * 0.75)
    base /= 2;
  *steps = cj2k_mq_steps_of(frame, base, &factors);
  return CJ2K_OK;
}

/* --- fine enough? --- */

/* Bytes of all passes, those of a cut if it is not NULL; a component counts at most `more` times
 * its limit. */
static double useful_passes(const Cj2kRateFrame *frame, const Cj2kPassCut *cut, double more)
{
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  double most = (double)ceilings->useful_component * more, sum = 0;

  if (cut)
    return (double)cut->all;
  if (ceilings->useful_component == UINT64_MAX)
    return (double)cj2k_hulls_bytes(&frame->hulls, 0);
  for (uint32_t c = 0; c < ceilings->num_components; c++)
    sum += MIN((double)cj2k_hulls_component_bytes(&frame->hulls, c, 0), most);
  return sum;
}

/* Bytes that passes should have. Below a target with ceilings of components they may have no more
 * than the ceilings: headers are not passes. */
static double needed_passes(const Cj2kRateFrame *frame)
{
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  bool only = frame->limited && ceilings->useful_component != UINT64_MAX;

  return only ? cj2k_body_bytes(frame, (double)frame->encoder->least.frame)
              : (double)ceilings->useful_frame;
}

bool cj2k_mq_is_fine(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps, const Cj2kPassCut *cut)
{
  return steps->base <= cj2k_least_base(frame) ||
         useful_passes(frame, cut, LEAST) >= needed_passes(frame) * LEAST;
}

Cj2kMqSteps cj2k_mq_finer(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps)
{
  bool far = useful_passes(frame, NULL, LEAST) * FAR < (double)frame->target.ceilings.useful_frame;

  return cj2k_mq_steps_of(frame, steps->base / (far ? 4 : 2), &steps->factors);
}

/* --- later frames --- */

/* Steps change only by more than PHASE_SLACK, since the slope is not precise. */
static double next_base(const Cj2kRateFrame *frame, double now, uint32_t slope,
                        const Cj2kPassCut *cut)
{
  double base = cj2k_mq_base_of_slope(slope);

  if (useful_passes(frame, cut, HARDLY) < (double)frame->target.ceilings.useful_frame * HARDLY)
    base = MIN(base, now); /* larger steps would not be fine enough */
  return fabs(log2(base / now)) < PHASE_SLACK ? now : base;
}

Cj2kRateMemory cj2k_mq_memory(Cj2kRateFrame *frame, const Cj2kMqSteps *steps, uint32_t slope,
                              uint64_t header_bytes)
{
  return (Cj2kRateMemory){.base = slope ? next_base(frame, steps->base, slope, NULL) : steps->base,
                          .budget = frame->target.ceilings.frame,
                          .headers = header_bytes,
                          .factors = slope ? find_factors(frame, slope, 1) : steps->factors};
}

Cj2kRateMemory cj2k_mq_memory_of_cut(const Cj2kRateFrame *frame, const Cj2kMqSteps *steps,
                                     const Cj2kPassCut *cut)
{
  Cj2kRateMemory memory = {.base = next_base(frame, steps->base, cut->slope, cut),
                           .budget = frame->target.ceilings.frame,
                           .headers = cut->header_bytes,
                           .factors = cj2k_no_factors()};

  if (has_room_for_factors(frame))
    cj2k_phase_factors_of_bands(frame->encoder->plan, cut->bands, &memory.factors);
  return memory;
}
