/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Step sizes of a frame. A quality or a step gives them directly. A target (bytes, PSNR) is
 * searched with the frame's own coefficients: some of its blocks are really coded or measured with
 * trial steps, the bytes they took say where to go next.
 */
#include "encoder.h"

#include "error.h"

#include <math.h>

#define SAMPLED_BLOCKS 320 /* blocks that a trial codes, at least */
#define MQ_TRIALS      5
#define HT_TRIALS      8
#define PSNR_TRIALS    24
#define MIN_BASE       1e-7 /* of full range */
#define MAX_BASE       0.5
/* Slope of error over bytes where bit-plane after bit-plane of steps `base` ends: 8 * 2 ln 2 / 12 *
 * base^2. */
#define SLOPE_PER_BASE2 0.924
/* MQ steps against those that the slope asks for: passes below make up for blocks that differ. */
#define MQ_FINER 0.5
/* HT steps aim at a little more than the budget, planes of some blocks are then dropped to meet it.
 */
#define HT_AIM   1.012
#define HT_LEAST 1.0
#define HT_MOST  1.05

uint32_t cj2k_sample_stride(uint32_t num_blocks)
{
  /* Primes, so that samples do not fall into the same column of blocks again and again. */
  static const uint32_t strides[] = {1, 2, 3, 5, 7, 11, 13, 17, 23, 29, 37, 47, 61, 79, 97, 127};
  uint32_t i = 0;
  while (i + 1 < G_N_ELEMENTS(strides) && num_blocks / strides[i + 1] >= SAMPLED_BLOCKS)
    i++;
  return strides[i];
}

static void set_base(Cj2kEncoderFrame *frame, double base)
{
  cj2k_frame_steps_set(&frame->steps, frame->encoder->plan, base, CJ2K_WEIGHT_ERROR, false, 0);
  frame->measured = false;
}

static double clamp_base(double base)
{
  return CLAMP(base, MIN_BASE, MAX_BASE);
}

/* Samples of all components. */
static double num_samples(const Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderImage *image = &frame->encoder->setup.image;
  double n = 0;
  for (uint32_t c = 0; c < image->num_components; c++) {
    const Cj2kComponent *component = &image->components[c];
    n += (double)(component->x1 - component->x0) * (component->y1 - component->y0);
  }
  return n;
}

/* Bytes for code-blocks: the budget less what headers may take. */
static double body_bytes(const Cj2kEncoderFrame *frame)
{
  double headers = frame->encoder->plan->num_blocks * 2.5 + 200,
         budget = (double)frame->frame_bytes;
  return MAX(budget - headers, budget / 4);
}

/* Where to begin: natural pictures of so many bits a sample. */
static double guess_base(const Cj2kEncoderFrame *frame)
{
  return clamp_base(exp2(-4.5 - 1.6 * body_bytes(frame) * 8 / num_samples(frame)));
}

/* --- bytes, MQ --- */

static Cj2kStatus search_mq(Cj2kEncoderFrame *frame)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  double target = body_bytes(frame), base = guess_base(frame) / 4;
  uint32_t stride = cj2k_sample_stride(plan->num_blocks);

  if (!frame->hulls.points)
    cj2k_hulls_init(&frame->hulls, frame->encoder->plan, CJ2K_MAX_PASSES);
  for (uint32_t trial = 0; trial < MQ_TRIALS; trial++) {
    set_base(frame, base);
    frame->job.stride = stride;
    Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->code);
    if (status != CJ2K_OK)
      return status;
    cj2k_hulls_set_passes(&frame->hulls, frame->result.blocks, frame->result.passes,
                          frame->steps.weights, stride, frame->encoder->threads);
    if ((double)cj2k_hulls_bytes(&frame->hulls, 0) * stride >= target * 1.3 || base <= MIN_BASE)
      break;
    base = clamp_base(base / 4);
  }
  Cj2kCut cut = cj2k_hulls_cut(&frame->hulls, (uint64_t)(target / stride));
  double wanted = sqrt(cj2k_slope_value(cut.slope) / SLOPE_PER_BASE2) * MQ_FINER;
  set_base(frame, clamp_base(cut.slope ? MAX(wanted, base) : base));
  return CJ2K_OK;
}

/* --- bytes, HT --- */

/* Measures each stride-th block at `planes` planes; *bytes is what all would take at plane 0. */
static Cj2kStatus measure(Cj2kEncoderFrame *frame, uint32_t stride, uint8_t planes, double *bytes)
{
  uint64_t sum = 0;

  frame->job.stride = stride;
  frame->job.first_plane = 0;
  frame->job.num_planes = planes;
  frame->job.band_errors = false;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status != CJ2K_OK)
    return status;
  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b += stride)
    sum += frame->result.ht_lengths[(size_t)b * planes];
  *bytes = (double)sum * stride;
  frame->measured = stride == 1;
  return CJ2K_OK;
}

/* A search for the base that gives a number of bytes: secant in logarithms. */
typedef struct {
  double base, bytes, power; /* bytes grow as base^-power here */
} Trial;

static double next_base(Trial *last, double base, double bytes, double target)
{
  if (last->base > 0 && last->bytes > 0 && bytes > 0 && fabs(log(base / last->base)) > 1e-3) {
    double power = -log(bytes / last->bytes) / log(base / last->base);
    last->power = CLAMP(power, 0.3, 3.0);
  }
  last->base = base;
  last->bytes = bytes;
  if (bytes <= 0)
    return clamp_base(base / 4);
  return clamp_base(base * CLAMP(pow(bytes / target, 1 / last->power), 1.0 / 32, 32.0));
}

/* Measures everything at the base, and says what the codestream would take with all of plane 0. */
static Cj2kStatus measure_all(Cj2kEncoderFrame *frame, double *total)
{
  double ignored;
  Cj2kStatus status = measure(frame, 1, CJ2K_HT_PLANES, &ignored);

  if (status == CJ2K_OK)
    status = cj2k_encoder_frame_ht_total(frame);
  *total = (double)frame->size.total;
  return status;
}

static Cj2kStatus search_ht(Cj2kEncoderFrame *frame)
{
  double budget = (double)frame->frame_bytes, base = guess_base(frame), bytes = 0;
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  Trial last = {.power = 0.8};
  Cj2kStatus status;

  for (uint32_t trial = 0; trial < HT_TRIALS && stride > 1; trial++) {
    double target = body_bytes(frame) * HT_AIM;
    set_base(frame, base);
    if ((status = measure(frame, stride, 1, &bytes)) != CJ2K_OK)
      return status;
    if (fabs(bytes / target - 1) < 0.01)
      break;
    base = next_base(&last, base, bytes, target);
  }
  last.base = 0;
  for (uint32_t trial = 0; trial < HT_TRIALS; trial++) {
    set_base(frame, base);
    if ((status = measure_all(frame, &bytes)) != CJ2K_OK)
      return status;
    if ((bytes >= budget * HT_LEAST && bytes <= budget * HT_MOST) ||
        (bytes < budget && base <= MIN_BASE))
      break;
    base = next_base(&last, base, bytes, budget * HT_AIM);
  }
  return CJ2K_OK;
}

/* --- PSNR --- */

/* Mean squared error of all samples over the square of their range, by what quantising does to the
 * coefficients. */
static Cj2kStatus mean_error(Cj2kEncoderFrame *frame, double *error)
{
  double sum = 0;

  frame->job.stride = 1;
  frame->job.first_plane = 0;
  frame->job.num_planes = 0;
  frame->job.band_errors = true;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  frame->job.band_errors = false;
  if (status != CJ2K_OK)
    return status;
  for (uint32_t b = 0; b < frame->encoder->plan->num_bands; b++)
    sum += (double)frame->result.band_errors[b] * frame->steps.weights[b];
  *error = sum / num_samples(frame);
  return CJ2K_OK;
}

/* Bisection over the logarithm of the step: the largest whose error is small enough. */
static Cj2kStatus search_psnr(Cj2kEncoderFrame *frame)
{
  double target = pow(10, -frame->params.psnr / 10), low = log(MIN_BASE), high = log(MAX_BASE);
  double base = sqrt(12 * target);

  for (uint32_t trial = 0; trial < PSNR_TRIALS && high - low > 0.002; trial++) {
    double error;
    set_base(frame, base);
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
  set_base(frame, exp(low));
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
  case CJ2K_RATE_CBR:
    return frame->params.block_coder == CJ2K_CODER_HT ? search_ht(frame) : search_mq(frame);
  case CJ2K_RATE_PSNR: return search_psnr(frame);
  case CJ2K_RATE_QSTEP: set_base(frame, frame->params.quant_step); break;
  default:
    cj2k_quality_to_steps(frame->params.quality, &base, &power);
    /* Norms include the luminance's share in RGB; the quality factor is meant without. */
    cj2k_frame_steps_set(&frame->steps, encoder->plan, encoder->setup.mct ? base * 1.7320508 : base,
                         CJ2K_WEIGHT_VISUAL, has_colour_difference(encoder), power);
    break;
  }
  return CJ2K_OK;
}
