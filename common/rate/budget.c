/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Step sizes for a budget in bytes. They are searched with the frame's own coefficients: some of
 * its blocks are really coded or measured with trial steps, and the bytes they took say where to go
 * next. Where an earlier frame is known, its result replaces the search. That frame is always the
 * same number of frames back, so that what is coded does not depend on how many frames are in
 * flight.
 */
#include "common/encoder/encoder.h"

#include "common/runtime/error.h"
#include "phases.h"

#include <math.h>
#include <string.h>

#define SAMPLED_BLOCKS 640 /* blocks that a trial codes, at least */
#define MQ_TRIALS      5
#define MEAN_POINTS    16 /* slopes that a mean is taken of */
#define HT_TRIALS      8
#define HT_FULL_TRIALS 6
/* Slope of error over bytes where the bit-planes of steps `base` end: 8 * 2 ln 2 / 12 * base^2. */
#define SLOPE_PER_BASE2 0.924
/* Steps of an earlier frame are kept within so much of it, in octaves. */
#define MQ_PHASE_SLACK 0.16
/* Bit-planes that are quantised, but not coded: distortions are less rough, for nothing. */
#define MQ_UNCODED 2
/* MQ: what all passes together must have for the steps to be fine enough, in budgets. */
#define MQ_LEAST  1.02
#define MQ_HARDLY 1.2 /* with less they must not become larger */
/* HT: size of the codestream that steps aim at and that is accepted, in budgets. What is above is
 * cut off block by block, where it costs least; what is below stays unused. */
#define HT_AIM   1.006
#define HT_LEAST 0.985
#define HT_MOST  1.03
/* The same for a frame without an earlier one, which those after it begin with. */
#define HT_FIRST_LEAST 0.999
#define HT_FIRST_MOST  1.012
/* HT: so far off the steps of the earlier frame are worth nothing, and samples are. */
#define HT_FAR 1.5
/* HT: what is less off may go on that way. */
#define HT_DRIFT 0.05

uint32_t cj2k_sample_stride(uint32_t num_blocks)
{
  /* Primes, so that samples do not fall into the same column of blocks again and again. */
  static const uint32_t strides[] = {1, 2, 3, 5, 7, 11, 13, 17, 23, 29, 37, 47, 61, 79, 97, 127};
  uint32_t i = 0;
  while (i + 1 < G_N_ELEMENTS(strides) && num_blocks / strides[i + 1] >= SAMPLED_BLOCKS)
    i++;
  return strides[i];
}

/* --- memory of earlier frames --- */

/* The first frames have only the very first to learn from, and wait for it. */
static bool recall(Cj2kEncoderFrame *frame, Cj2kRateMemory *memory)
{
  Cj2kEncoder *encoder = frame->encoder;

  if (frame->number == 1)
    return false;
  uint64_t number = frame->number > CJ2K_RATE_LAG ? frame->number - CJ2K_RATE_LAG : 1;
  const Cj2kRateMemory *entry = &encoder->memory[number % CJ2K_RATE_MEMORY];
  g_mutex_lock(&encoder->lock);
  while (entry->number != number)
    g_cond_wait(&encoder->changed, &encoder->lock);
  *memory = *entry;
  g_mutex_unlock(&encoder->lock);
  return memory->base > 0;
}

void cj2k_encoder_frame_remember(Cj2kEncoderFrame *frame)
{
  Cj2kEncoder *encoder = frame->encoder;

  if (frame->memory.number == frame->number)
    return;
  frame->memory.number = frame->number;
  g_mutex_lock(&encoder->lock);
  encoder->memory[frame->number % CJ2K_RATE_MEMORY] = frame->memory;
  g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
}

/* --- bases --- */

/* Bytes for code-blocks: the budget less what headers may take. */
static double body_bytes(const Cj2kEncoderFrame *frame)
{
  double headers = frame->encoder->plan->num_blocks * 2.5 + 200,
         budget = (double)frame->useful_budget;
  return MAX(budget - headers, budget / 4);
}

/* Steps below an eighth of a sample's are of no use: the samples come back exactly. */
static double least_base(const Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderImage *image = &frame->encoder->setup.image;
  int depth = 1;

  for (uint32_t c = 0; c < image->num_components; c++)
    depth = MAX(depth, image->components[c].depth);
  return ldexp(1, -depth - 3);
}

static double clamp_base(const Cj2kEncoderFrame *frame, double base)
{
  return MAX(cj2k_clamp_base(base), least_base(frame));
}

/* Where to begin: natural pictures of so many bits a sample. */
static double guess_base(const Cj2kEncoderFrame *frame)
{
  double bits = body_bytes(frame) * 8 / cj2k_encoder_num_samples(frame->encoder);
  return clamp_base(frame, exp2(-4.5 - 1.6 * bits));
}

/* --- MQ --- */

static bool set_mq_steps(Cj2kEncoderFrame *frame, double base, uint8_t uncoded,
                         const Cj2kStepFactors *factors)
{
  frame->base = base;
  frame->job.lowest_plane = uncoded;
  return cj2k_frame_steps_set(&frame->steps, frame->encoder->plan, ldexp(base, -uncoded),
                              CJ2K_WEIGHT_ERROR, false, 0, factors);
}

/* Steps whose lowest coded bit-plane is that of `base` times the bands' factors. */
static void set_mq_base(Cj2kEncoderFrame *frame, double base, const Cj2kStepFactors *factors)
{
  if (!set_mq_steps(frame, base, MQ_UNCODED, factors))
    set_mq_steps(frame, base, 0, factors);
}

/* Bytes above slopes of class `slope`, as if passes ended anywhere: the mean over the slopes of a
 * bit-plane, which is a factor of 4. */
static double mean_bytes(const Cj2kHulls *hulls, uint32_t slope)
{
  double sum = 0;
  for (uint32_t i = 0; i < MEAN_POINTS; i++)
    sum += (double)cj2k_hulls_bytes(hulls, slope - CJ2K_SLOPE_OCTAVE +
                                               (2 * i + 1) * CJ2K_SLOPE_OCTAVE / MEAN_POINTS);
  return sum / MEAN_POINTS;
}

/* The class of slopes at which all passes together have so many bytes. */
static uint32_t mean_slope(const Cj2kHulls *hulls, double bytes)
{
  uint32_t low = CJ2K_SLOPE_OCTAVE, high = CJ2K_SLOPE_CLASSES - 1 - CJ2K_SLOPE_OCTAVE;

  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (mean_bytes(hulls, middle) <= bytes)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Codes samples of the blocks until they have more than enough passes; *base is what they were
 * coded with. */
static Cj2kStatus sample_mq(Cj2kEncoderFrame *frame, uint32_t stride, double *base)
{
  double target = body_bytes(frame);

  for (uint32_t trial = 0;; trial++) {
    set_mq_base(frame, *base, NULL);
    frame->job.stride = stride;
    frame->job.weights = frame->steps.weights;
    frame->job.pass_lengths = false;
    Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->code);
    if (status != CJ2K_OK)
      return status;
    cj2k_encoder_frame_take_hulls(frame);
    double all = (double)cj2k_hulls_bytes(&frame->hulls, 0) * stride;
    if (all >= target * 1.3 || *base <= least_base(frame) || trial == MQ_TRIALS)
      return CJ2K_OK;
    *base = clamp_base(frame, *base / 4);
  }
}

/* The base that goes with a slope. */
static double base_of_slope(uint32_t slope)
{
  return cj2k_clamp_base(sqrt(cj2k_slope_value(slope) / SLOPE_PER_BASE2) * CJ2K_PHASE_LOW);
}

/* Phases for a cut at `slope`. */
static void find_factors(Cj2kEncoderFrame *frame, uint32_t slope, uint32_t stride,
                         Cj2kStepFactors *factors)
{
  cj2k_hulls_apply(&frame->hulls, slope, frame->layer_options, frame->cut_lengths);
  cj2k_phase_factors(frame->encoder->plan, frame->cut_lengths, stride, factors);
}

Cj2kStatus cj2k_encoder_frame_search_mq(Cj2kEncoderFrame *frame, uint32_t trial)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double base = guess_base(frame) / 4, tried = frame->base;
  Cj2kRateMemory memory;

  if (trial > (frame->recalled ? 1 : 0)) { /* the search was not fine enough */
    set_mq_base(frame, clamp_base(frame, tried / 2), &frame->factors);
    return CJ2K_OK;
  }
  if (!trial && recall(frame, &memory) && memory.budget == frame->frame_bytes) {
    frame->recalled = true;
    frame->header_bytes = memory.headers;
    frame->factors = memory.factors;
    set_mq_base(frame, memory.base, &frame->factors);
    return CJ2K_OK;
  }
  Cj2kStatus status = sample_mq(frame, stride, &base);
  if (status != CJ2K_OK)
    return status;
  double bytes = body_bytes(frame) / stride;
  uint32_t slope = 0; /* all */
  if ((double)cj2k_hulls_bytes(&frame->hulls, 0) > bytes)
    base = base_of_slope(slope = mean_slope(&frame->hulls, bytes));
  find_factors(frame, slope, stride, &frame->factors);
  while (trial && base > tried * 0.75)
    base /= 2;
  set_mq_base(frame, clamp_base(frame, base), &frame->factors);
  return CJ2K_OK;
}

/* Bytes of all passes, of each component no more than it may have times `more`. */
static double useful_passes(const Cj2kEncoderFrame *frame, double more)
{
  const Cj2kHulls *hulls = &frame->hulls;
  double most = (double)frame->useful_component * more, sum = 0;

  if (frame->useful_component == UINT64_MAX)
    return (double)cj2k_hulls_bytes(hulls, 0);
  for (uint32_t c = 0; c < hulls->plan->num_components; c++)
    sum += MIN((double)cj2k_hulls_component_bytes(hulls, c, 0), most);
  return sum;
}

bool cj2k_encoder_frame_mq_is_fine(const Cj2kEncoderFrame *frame)
{
  return frame->base <= least_base(frame) ||
         useful_passes(frame, MQ_LEAST) >= (double)frame->useful_budget * MQ_LEAST;
}

/* For later frames: steps change only for a reason, since the slope is not sharp. */
static double next_mq_base(const Cj2kEncoderFrame *frame, uint32_t slope)
{
  double base = base_of_slope(slope);

  if (useful_passes(frame, MQ_HARDLY) < (double)frame->useful_budget * MQ_HARDLY)
    base = MIN(base, frame->base); /* larger ones would not be fine enough */
  return fabs(log2(base / frame->base)) < MQ_PHASE_SLACK ? frame->base : base;
}

void cj2k_encoder_frame_note_slope(Cj2kEncoderFrame *frame, uint32_t slope)
{
  if (frame->params.block_coder != CJ2K_CODER_MQ || frame->params.rate_control != CJ2K_RATE_CBR)
    return;
  frame->memory = (Cj2kRateMemory){.base = slope ? next_mq_base(frame, slope) : frame->base,
                                   .budget = frame->frame_bytes,
                                   .headers = frame->header_bytes,
                                   .factors = frame->factors};
  if (slope)
    find_factors(frame, slope, 1, &frame->memory.factors);
}

/* --- HT --- */

/* A search for the base that gives a number of bytes: secant in logarithms. */
typedef struct {
  double base, bytes;
  double power; /* bytes grow as base^-power here */
} Trial;

static double next_base(const Cj2kEncoderFrame *frame, Trial *last, double base, double bytes,
                        double target)
{
  if (last->base > 0 && last->bytes > 0 && bytes > 0 && fabs(log(base / last->base)) > 1e-3) {
    double power = -log(bytes / last->bytes) / log(base / last->base);
    last->power = CLAMP(power, 0.3, 3.0);
  }
  last->base = base;
  last->bytes = bytes;
  if (bytes <= 0)
    return clamp_base(frame, base / 4);
  return clamp_base(frame, base * CLAMP(pow(bytes / target, 1 / last->power), 1.0 / 32, 32.0));
}

uint64_t cj2k_encoder_frame_sampled_bytes(const Cj2kEncoderFrame *frame, uint32_t plane)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  const Cj2kEncodeJob *job = &frame->job;
  uint64_t sum = 0, *components = frame->component_sums;

  memset(components, 0, plan->num_components * sizeof *components);
  for (uint32_t b = 0; b < plan->num_blocks; b += job->stride) {
    uint32_t tile_comp = plan->bands[plan->blocks[b].band].tile_comp;
    components[plan->tile_comps[tile_comp].component] +=
        frame->result.ht_lengths[(size_t)b * job->num_planes + plane];
  }
  for (uint32_t c = 0; c < plan->num_components; c++)
    sum += MIN(components[c], frame->useful_component / job->stride);
  return sum * job->stride;
}

/* Bytes of all blocks at plane 0, by a sample of them. */
static Cj2kStatus sample_ht(Cj2kEncoderFrame *frame, uint32_t stride, double *bytes)
{
  frame->job.stride = stride;
  frame->job.first_plane = 0;
  frame->job.num_planes = 1;
  frame->job.distortions = frame->job.band_errors = false;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status == CJ2K_OK)
    *bytes = (double)cj2k_encoder_frame_sampled_bytes(frame, 0);
  return status;
}

/* A base whose sampled blocks take what all may, searched from *base on. */
static Cj2kStatus sampled_base_ht(Cj2kEncoderFrame *frame, Trial *last, double *base)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double target = body_bytes(frame) * HT_AIM, bytes = 0;

  last->base = 0; /* a sample's bytes and those of all do not mix */
  for (uint32_t trial = 0; trial < HT_TRIALS; trial++) {
    cj2k_encoder_frame_set_base(frame, *base);
    Cj2kStatus status = sample_ht(frame, stride, &bytes);
    if (status != CJ2K_OK)
      return status;
    double next = next_base(frame, last, *base, bytes, target);
    if (fabs(bytes / target - 1) < 0.01 || next == *base)
      break;
    *base = next;
  }
  last->base = 0;
  return CJ2K_OK;
}

/* Codes everything at plane 0 with the base; frame->size is exact. */
static Cj2kStatus code_with_base(Cj2kEncoderFrame *frame, double base)
{
  cj2k_encoder_frame_set_base(frame, base);
  return cj2k_encoder_frame_code_all(frame);
}

/* By how much frames are expected to grow until the next one that learns from this one, in
 * logarithms, from what was expected and how far off that was. */
static double next_drift(double drift, double ratio)
{
  double error = ratio > 0 ? log(ratio) : -1;

  return fabs(error) < HT_DRIFT ? CLAMP(drift + error / 2, -HT_DRIFT, HT_DRIFT) : 0;
}

Cj2kStatus cj2k_encoder_frame_search_ht(Cj2kEncoderFrame *frame)
{
  double budget = (double)frame->useful_budget, base = 0, total = 0, over_base = 0, drift = 0;
  Trial last = {.power = 0.8};
  Cj2kRateMemory memory = {0};
  Cj2kStatus status;
  bool recalled = frame->recalled = recall(frame, &memory);
  double least = recalled ? HT_LEAST : HT_FIRST_LEAST, most = recalled ? HT_MOST : HT_FIRST_MOST;

  if (recalled) {
    last = (Trial){.power = memory.power};
    base = next_base(frame, &last, memory.base, memory.total, budget * HT_AIM * exp(-memory.drift));
    last.base = 0;
  } else {
    base = guess_base(frame);
    if ((status = sampled_base_ht(frame, &last, &base)) != CJ2K_OK)
      return status;
  }
  for (uint32_t trial = 0; trial < HT_FULL_TRIALS; trial++) {
    if ((status = code_with_base(frame, base)) != CJ2K_OK)
      return status;
    total = (double)cj2k_encoder_frame_useful_bytes(frame);
    if (!trial && recalled)
      drift = next_drift(memory.drift, total / (budget * HT_AIM));
    frame->memory =
        (Cj2kRateMemory){.base = base, .total = total, .power = last.power, .drift = drift};
    if (total > budget)
      over_base = MAX(over_base, base);
    if ((total >= budget * least && total <= budget * most) ||
        (total < budget && base <= least_base(frame)))
      return CJ2K_OK;
    base = next_base(frame, &last, base, total, budget * HT_AIM);
    bool other_scene = total > budget * HT_FAR || total * HT_FAR < budget;
    if (!trial && recalled && other_scene &&
        (status = sampled_base_ht(frame, &last, &base)) != CJ2K_OK)
      return status;
  }
  /* Sizes jump around the budget: better cut off what is too much than leave bytes unused. */
  return total < budget && over_base > 0 ? code_with_base(frame, over_base) : CJ2K_OK;
}
