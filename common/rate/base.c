/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base.h"

#include "base_search.h"

#include <math.h>

#define PSNR_TRIALS 24
#define PSNR_MAX    4.0 /* upper limit of the base in the search for a PSNR */

void cj2k_set_base(Cj2kRateFrame *frame, double base)
{
  cj2k_frame_steps_set(&frame->steps, frame->encoder->plan, base, NULL);
}

Cj2kStatus cj2k_quantising_error(Cj2kRateFrame *frame, double *error)
{
  const Cj2kMeasureJob job = {
      .quantisers = frame->steps.quantisers, .stride = 1, .band_errors = true};
  double sum = 0;
  Cj2kMeasured measured;
  Cj2kStatus status = cj2k_coder_measure(&frame->coder, &job, &measured, frame->error);

  if (status != CJ2K_OK)
    return status;
  for (uint32_t b = 0; b < frame->encoder->plan->num_bands; b++)
    sum += (double)measured.band_errors[b] * frame->steps.weights[b];
  *error = sum / (64 * 64); /* weights are in units of (step/16)^2 */
  return CJ2K_OK;
}

/* Bisects the logarithm of the base for the largest one whose error is small enough. The mean
 * squared error of the samples is that of the coefficients. */
static Cj2kStatus search_psnr(Cj2kRateFrame *frame)
{
  double target = pow(10, -frame->target.psnr / 10), low = log(CJ2K_MIN_BASE), high = log(PSNR_MAX);
  double base = sqrt(12 * target), samples = cj2k_rate_samples(frame->encoder);

  for (uint32_t trial = 0; trial < PSNR_TRIALS && high - low > 0.002; trial++) {
    double error = 0;
    cj2k_set_base(frame, base);
    Cj2kStatus status = cj2k_quantising_error(frame, &error);
    if (status != CJ2K_OK)
      return status;
    error /= samples;
    if (error <= target)
      low = log(base);
    else
      high = log(base);
    /* With fine steps the error is proportional to their square; otherwise halve the interval. */
    double guess = error > 0 ? log(base) + 0.5 * log(target / error) : high;
    if (!(guess > low && guess < high) || trial > 6)
      guess = (low + high) / 2;
    base = exp(guess);
  }
  cj2k_set_base(frame, exp(low));
  return CJ2K_OK;
}

Cj2kStatus cj2k_steps_for_target(Cj2kRateFrame *frame)
{
  if (frame->encoder->reversible)
    return CJ2K_OK;
  if (frame->pace > 0) {
    cj2k_set_base(frame, frame->pace);
    return CJ2K_OK;
  }
  switch (frame->target.mode) {
  case CJ2K_RATE_PSNR: return search_psnr(frame);
  case CJ2K_RATE_QSTEP: cj2k_set_base(frame, frame->target.quant_step); break;
  default:
    cj2k_frame_steps_set_quality(
        &frame->steps, frame->encoder->plan, frame->target.quality,
        &(Cj2kQualityWeights){frame->target.weights, frame->encoder->colour_difference});
    break;
  }
  return CJ2K_OK;
}
