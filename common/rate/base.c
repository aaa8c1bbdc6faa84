/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Step sizes of a frame. A quality or a step gives them directly. A target (bytes, PSNR) is
 * searched with the frame's own coefficients: some of its blocks are really coded or measured with
 * trial steps, the bytes they took say where to go next.
 */
#include "common/encoder/encoder.h"

#include "common/runtime/error.h"

#include <math.h>

#define PSNR_TRIALS 24
#define PSNR_MAX    4.0 /* base of the search for a PSNR, at most */

void cj2k_encoder_frame_set_base(Cj2kEncoderFrame *frame, double base)
{
  frame->base = base;
  cj2k_frame_steps_set(&frame->steps, frame->encoder->plan, base, CJ2K_WEIGHT_ERROR, false, 0,
                       NULL);
}

double cj2k_encoder_num_samples(const Cj2kEncoder *encoder)
{
  const Cj2kEncoderImage *image = &encoder->setup.image;
  double n = 0;

  for (uint32_t c = 0; c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    n += (double)(component->x1 - component->x0) * (component->y1 - component->y0);
  }
  return n;
}

/* --- PSNR --- */

Cj2kStatus cj2k_encoder_frame_quantising(Cj2kEncoderFrame *frame, uint32_t stride, double *error)
{
  double sum = 0;

  frame->job.stride = stride;
  frame->job.first_plane = 0;
  frame->job.num_planes = 0;
  frame->job.distortions = false;
  frame->job.band_errors = true;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  frame->job.band_errors = false;
  if (status != CJ2K_OK)
    return status;
  for (uint32_t b = 0; b < frame->encoder->plan->num_bands; b++)
    sum += (double)frame->result.band_errors[b] * frame->steps.weights[b];
  *error = sum / (64 * 64); /* weights are of (step/16)^2 */
  return CJ2K_OK;
}

/* Mean squared error of all samples over the square of their range, by what quantising does to the
 * coefficients. */
static Cj2kStatus mean_error(Cj2kEncoderFrame *frame, double *error)
{
  double sum = 0;
  Cj2kStatus status = cj2k_encoder_frame_quantising(frame, 1, &sum);

  *error = sum / cj2k_encoder_num_samples(frame->encoder);
  return status;
}

/* Bisection over the logarithm of the step: the largest whose error is small enough. */
static Cj2kStatus search_psnr(Cj2kEncoderFrame *frame)
{
  double target = pow(10, -frame->params.psnr / 10), low = log(CJ2K_MIN_BASE), high = log(PSNR_MAX);
  double base = sqrt(12 * target);

  for (uint32_t trial = 0; trial < PSNR_TRIALS && high - low > 0.002; trial++) {
    double error;
    cj2k_encoder_frame_set_base(frame, base);
    Cj2kStatus status = mean_error(frame, &error);
    if (status != CJ2K_OK)
      return status;
    if (error <= target)
      low = log(base);
    else
      high = log(base);
    /* In fine steps the error goes with their square; else halve the interval. */
    double guess = error > 0 ? log(base) + 0.5 * log(target / error) : high;
    if (!(guess > low && guess < high) || trial > 6)
      guess = (low + high) / 2;
    base = exp(guess);
  }
  cj2k_encoder_frame_set_base(frame, exp(low));
  return CJ2K_OK;
}

/* --- what the parameters ask for --- */

/* Components 1 and 2 are colour differences: of the component transform, or of the image itself. */
static bool has_colour_difference(const Cj2kEncoder *encoder)
{
  return encoder->setup.image.num_components >= 3 &&
         (encoder->setup.mct || encoder->setup.image.colour == CJ2K_COLOUR_SYCC);
}

Cj2kStatus cj2k_encoder_frame_steps(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoder *encoder = frame->encoder;
  double base, power;

  if (frame->params.reversible_transform)
    return CJ2K_OK;
  switch (frame->params.rate_control) {
  case CJ2K_RATE_PSNR: return search_psnr(frame);
  case CJ2K_RATE_QSTEP: cj2k_encoder_frame_set_base(frame, frame->params.quant_step); break;
  default:
    cj2k_quality_to_steps(frame->params.quality, &base, &power);
    /* Norms include the luminance's share in RGB; the quality factor is meant without. */
    cj2k_frame_steps_set(&frame->steps, encoder->plan, encoder->setup.mct ? base * 1.7320508 : base,
                         CJ2K_WEIGHT_VISUAL, has_colour_difference(encoder), power, NULL);
    break;
  }
  return CJ2K_OK;
}
