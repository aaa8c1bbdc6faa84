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

#define BLOCK_HEADER 2.5 /* bytes in packet headers, before anything is coded */
#define MQ_SAMPLES   6   /* trials with a sample of the blocks */
#define MEAN_POINTS  16  /* slopes that a mean is taken of */
#define HT_SAMPLES   8   /* trials with a sample of the blocks */
#define HT_TRIALS    24  /* with all blocks, at most */
/* Slope of error over bytes where the bit-planes of steps `base` end: 8 * 2 ln 2 / 12 * base^2. */
#define SLOPE_PER_BASE2 0.924
/* Steps of an earlier frame are kept within so much of it, in octaves. */
#define MQ_PHASE_SLACK 0.16
/* Bit-planes that are quantised, but not coded: distortions are less rough, for nothing. */
#define MQ_UNCODED 2
/* MQ: bytes of a budget for each component with which steps may differ between them as they like.
 */
#define QCC_ROOM 256
/* MQ: what all passes together must have for the steps to be fine enough, in budgets. */
#define MQ_LEAST  1.02
#define MQ_HARDLY 1.2 /* with less they must not become larger */
#define MQ_FAR    8   /* with so much less they must become much finer */
/* HT: size of the codestream that steps aim at and that is accepted, in budgets. What is above is
 * cut off block by block, where it costs least; what is below stays unused. */
#define HT_AIM   1.006
#define HT_LEAST 0.985
#define HT_MOST  1.03
/* The same for a frame without an earlier one, which those after it begin with. */
#define HT_FIRST_LEAST 0.999
#define HT_FIRST_MOST  1.012
/* The same for a search below the budget, when nothing can be cut off that is small enough. */
#define HT_BELOW_AIM   0.998
#define HT_BELOW_LEAST 0.995
/* And when there is time for many trials. */
#define HT_WHOLE_AIM   0.9999
#define HT_WHOLE_LEAST 0.9998
/* HT: bytes grow as base^-power, before anything else is known. */
#define HT_POWER 0.8
/* HT: so far off the steps of the earlier frame are worth nothing, and samples are. */
#define HT_FAR 1.5
/* HT: what is less off may go on that way. */
#define HT_DRIFT 0.05

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

Cj2kHeaderEstimate cj2k_encoder_frame_headers(const Cj2kEncoderFrame *frame, const uint8_t *passes,
                                              const uint32_t *lengths, uint32_t stride)
{
  return cj2k_headers_estimate(frame->encoder->least_bytes, passes, lengths,
                               frame->encoder->plan->num_blocks, stride);
}

/* Bytes of the budget for code-blocks, when their headers take `headers`. */
static double body_bytes(const Cj2kEncoderFrame *frame, double headers)
{
  double budget = (double)frame->ceilings.useful_frame;
  return MAX(budget - headers, 1);
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
  double headers =
      (double)frame->encoder->least_bytes + frame->encoder->plan->num_blocks * BLOCK_HEADER;
  double bytes = MAX(body_bytes(frame, headers), (double)frame->ceilings.useful_frame / 4);
  double bits = bytes * 8 / cj2k_encoder_num_samples(frame->encoder);
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

/* Codes samples of the blocks until they have more than enough passes; *base is what they were
 * coded with. */
static Cj2kStatus sample_mq(Cj2kEncoderFrame *frame, uint32_t stride, double *base)
{
  double target = body_bytes(frame, (double)frame->encoder->least_bytes);

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
    if (all >= target * 1.3 || *base <= least_base(frame) || trial == MQ_SAMPLES)
      return CJ2K_OK;
    *base = clamp_base(frame, *base / 4);
  }
}

/* The base that goes with a slope. */
static double base_of_slope(uint32_t slope)
{
  return cj2k_clamp_base(sqrt(cj2k_slope_value(slope) / SLOPE_PER_BASE2) * CJ2K_PHASE_LOW);
}

/* Bytes of the frame with what sampled blocks have above slopes of class `slope`, and headers. */
static double sampled_bytes(Cj2kEncoderFrame *frame, uint32_t slope, uint32_t stride)
{
  cj2k_hulls_apply(&frame->hulls, slope, frame->layer_options, frame->cut_lengths);
  Cj2kHeaderEstimate headers =
      cj2k_encoder_frame_headers(frame, frame->layer_options, frame->cut_lengths, stride);

  return mean_bytes(&frame->hulls, slope) * stride + (double)headers.expected;
}

/* The class of slopes at which the frame has its budget, by sampled blocks. */
static uint32_t sampled_slope(Cj2kEncoderFrame *frame, uint32_t stride)
{
  uint32_t low = CJ2K_SLOPE_OCTAVE, high = CJ2K_SLOPE_CLASSES - 1 - CJ2K_SLOPE_OCTAVE;

  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (sampled_bytes(frame, middle, stride) <= (double)frame->ceilings.useful_frame)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Components whose steps differ need a marker segment each. */
static bool has_room_for_factors(const Cj2kEncoderFrame *frame)
{
  uint32_t n = frame->encoder->plan->num_components;

  return n == 1 ||
         frame->ceilings.useful_frame > frame->encoder->least_bytes + n * (uint64_t)QCC_ROOM;
}

/* Phases for a cut at `slope`. */
static void find_factors(Cj2kEncoderFrame *frame, uint32_t slope, uint32_t stride,
                         Cj2kStepFactors *factors)
{
  cj2k_hulls_apply(&frame->hulls, slope, frame->layer_options, frame->cut_lengths);
  if (has_room_for_factors(frame))
    cj2k_phase_factors(frame->encoder->plan, frame->cut_lengths, stride, factors);
  else
    *factors = cj2k_no_factors();
}

/* Bytes of all passes, of each component no more than it may have times `more`. */
static double useful_passes(const Cj2kEncoderFrame *frame, double more)
{
  const Cj2kHulls *hulls = &frame->hulls;
  double most = (double)frame->ceilings.useful_component * more, sum = 0;

  if (frame->ceilings.useful_component == UINT64_MAX)
    return (double)cj2k_hulls_bytes(hulls, 0);
  for (uint32_t c = 0; c < hulls->plan->num_components; c++)
    sum += MIN((double)cj2k_hulls_component_bytes(hulls, c, 0), most);
  return sum;
}

Cj2kStatus cj2k_encoder_frame_search_mq(Cj2kEncoderFrame *frame, uint32_t trial)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double base = guess_base(frame) / 4, tried = frame->base;
  Cj2kRateMemory memory;

  if (trial > (frame->recalled ? 1 : 0)) { /* the search was not fine enough */
    bool far = useful_passes(frame, MQ_LEAST) * MQ_FAR < (double)frame->ceilings.useful_frame;
    set_mq_base(frame, clamp_base(frame, tried / (far ? 4 : 2)), &frame->factors);
    return CJ2K_OK;
  }
  if (!trial && recall(frame, &memory) && memory.budget == frame->ceilings.frame) {
    frame->recalled = true;
    frame->header_bytes = memory.headers;
    frame->factors = memory.factors;
    set_mq_base(frame, memory.base, &frame->factors);
    return CJ2K_OK;
  }
  Cj2kStatus status = sample_mq(frame, stride, &base);
  if (status != CJ2K_OK)
    return status;
  uint32_t slope = 0; /* all */
  if ((double)frame->hulls.total * stride > body_bytes(frame, (double)frame->encoder->least_bytes))
    base = base_of_slope(slope = sampled_slope(frame, stride));
  find_factors(frame, slope, stride, &frame->factors);
  while (trial && base > tried * 0.75)
    base /= 2;
  set_mq_base(frame, clamp_base(frame, base), &frame->factors);
  return CJ2K_OK;
}

void cj2k_encoder_frame_set_mq_base(Cj2kEncoderFrame *frame, double base)
{
  set_mq_base(frame, clamp_base(frame, base), &frame->factors);
}

Cj2kStatus cj2k_encoder_frame_mq_quantising(Cj2kEncoderFrame *frame, double *error)
{
  double base = frame->base;

  set_mq_steps(frame, base, 0, &frame->factors);
  Cj2kStatus status = cj2k_encoder_frame_quantising(frame, 1, error);
  set_mq_base(frame, base, &frame->factors);
  return status;
}

bool cj2k_encoder_frame_mq_is_fine(const Cj2kEncoderFrame *frame)
{
  return frame->base <= least_base(frame) ||
         useful_passes(frame, MQ_LEAST) >= (double)frame->ceilings.useful_frame * MQ_LEAST;
}

/* For later frames: steps change only for a reason, since the slope is not sharp. */
static double next_mq_base(const Cj2kEncoderFrame *frame, uint32_t slope)
{
  double base = base_of_slope(slope);

  if (useful_passes(frame, MQ_HARDLY) < (double)frame->ceilings.useful_frame * MQ_HARDLY)
    base = MIN(base, frame->base); /* larger ones would not be fine enough */
  return fabs(log2(base / frame->base)) < MQ_PHASE_SLACK ? frame->base : base;
}

void cj2k_encoder_frame_note_slope(Cj2kEncoderFrame *frame, uint32_t slope)
{
  if (frame->params.block_coder != CJ2K_CODER_MQ || frame->params.rate_control != CJ2K_RATE_CBR)
    return;
  frame->memory = (Cj2kRateMemory){.base = slope ? next_mq_base(frame, slope) : frame->base,
                                   .budget = frame->ceilings.frame,
                                   .headers = frame->header_bytes,
                                   .factors = frame->factors};
  if (slope)
    find_factors(frame, slope, 1, &frame->memory.factors);
}

/* --- HT --- */

uint64_t cj2k_encoder_frame_sampled_bytes(const Cj2kEncoderFrame *frame, uint32_t plane, bool least)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  const Cj2kEncodeJob *job = &frame->job;
  uint32_t *lengths = frame->cut_lengths;
  uint64_t sum = 0, *components = frame->component_sums;

  memset(components, 0, plan->num_components * sizeof *components);
  for (uint32_t b = 0; b < plan->num_blocks; b += job->stride) {
    uint32_t tile_comp = plan->bands[plan->blocks[b].band].tile_comp;
    lengths[b] = frame->result.ht_lengths[(size_t)b * job->num_planes + plane];
    components[plan->tile_comps[tile_comp].component] += lengths[b];
  }
  for (uint32_t c = 0; c < plan->num_components; c++)
    sum += MIN(components[c], frame->ceilings.useful_component / job->stride);
  Cj2kHeaderEstimate headers = cj2k_encoder_frame_headers(frame, NULL, lengths, job->stride);
  return sum * job->stride +
         (least ? headers.least + frame->encoder->least_bytes : headers.expected);
}

/* Bytes of the frame with all blocks at plane 0, by a sample of them. */
static Cj2kStatus sample_ht(Cj2kEncoderFrame *frame, uint32_t stride, double *bytes)
{
  frame->job.stride = stride;
  frame->job.first_plane = 0;
  frame->job.num_planes = 1;
  frame->job.distortions = frame->job.band_errors = false;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status == CJ2K_OK)
    *bytes = (double)cj2k_encoder_frame_sampled_bytes(frame, 0, false);
  return status;
}

/* A base whose sampled blocks take what all may, searched from *base on; *power: how their bytes
 * grow with it. */
static Cj2kStatus sampled_base_ht(Cj2kEncoderFrame *frame, double *power, double *base)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double target = (double)frame->ceilings.useful_frame * HT_AIM, bytes = 0;
  /* A search of its own: a sample's bytes and those of all do not mix. */
  Cj2kBaseSearch search = cj2k_base_search(least_base(frame), *power);

  for (uint32_t trial = 0; trial < HT_SAMPLES; trial++) {
    cj2k_encoder_frame_set_base(frame, *base);
    Cj2kStatus status = sample_ht(frame, stride, &bytes);
    if (status != CJ2K_OK)
      return status;
    cj2k_base_search_bound(&search, *base, bytes <= target);
    double next = cj2k_base_search_next(&search, *base, bytes, target, trial);
    if (fabs(bytes / target - 1) < 0.01 || next == *base)
      break;
    *base = next;
  }
  *power = search.power;
  return CJ2K_OK;
}

/* Codes everything at plane 0 with the base; *total is exact where it fits. */
static Cj2kStatus code_with_base(Cj2kEncoderFrame *frame, double base, double *total)
{
  cj2k_encoder_frame_set_base(frame, base);
  Cj2kStatus status = cj2k_encoder_frame_code_all(frame);
  *total = (double)cj2k_encoder_frame_useful_bytes(frame);
  frame->memory.base = base;
  frame->memory.total = *total;
  return status;
}

/* By how much frames are expected to grow until the next one that learns from this one, in
 * logarithms, from what was expected and how far off that was. */
static double next_drift(double drift, double ratio)
{
  double error = ratio > 0 ? log(ratio) : -1;

  return fabs(error) < HT_DRIFT ? CLAMP(drift + error / 2, -HT_DRIFT, HT_DRIFT) : 0;
}

/* What a search wants, in budgets. */
typedef struct {
  double aim, least, most;
} Window;

/* What a search came to. */
typedef struct {
  bool found;         /* a size in the window, or one that fits with the finest steps there are */
  double first_total; /* bytes of its first trial */
} Found;

/*
 * Codes with one base after the other until the frame's size is found, or no other base is
 * left; frame->search has the bounds. A first base that is far off is worth nothing, and samples
 * are.
 */
static Cj2kStatus search_base(Cj2kEncoderFrame *frame, const Window *window, double base,
                              bool may_be_far, Found *found)
{
  Cj2kBaseSearch *search = &frame->search;
  double budget = (double)frame->ceilings.useful_frame, total;
  Cj2kStatus status = CJ2K_OK;

  *found = (Found){0};
  for (uint32_t trial = 0; trial < HT_TRIALS; trial++) {
    if ((status = code_with_base(frame, base, &total)) != CJ2K_OK)
      return status;
    if (!trial)
      found->first_total = total;
    found->found = (total >= budget * window->least && total <= budget * window->most) ||
                   (total <= budget && base <= least_base(frame));
    if (found->found)
      return CJ2K_OK;
    cj2k_base_search_bound(search, base, total <= budget);
    double next = cj2k_base_search_next(search, base, total, budget * window->aim, trial);
    bool far = total > budget * HT_FAR || total * HT_FAR < budget;
    if (!trial && may_be_far && far &&
        (status = sampled_base_ht(frame, &search->power, &next)) != CJ2K_OK)
      return status;
    if (next == base || cj2k_base_search_is_closed(search))
      break;
    base = next;
  }
  return status;
}

Cj2kStatus cj2k_encoder_frame_search_ht(Cj2kEncoderFrame *frame)
{
  Cj2kBaseSearch *search = &frame->search;
  Cj2kRateMemory memory = {0};
  double budget = (double)frame->ceilings.useful_frame, base, total;
  Cj2kStatus status;
  Found found;
  bool recalled = frame->recalled = recall(frame, &memory);
  Window window = recalled ? (Window){HT_AIM, HT_LEAST, HT_MOST}
                           : (Window){HT_AIM, HT_FIRST_LEAST, HT_FIRST_MOST};

  *search = cj2k_base_search(least_base(frame), recalled ? memory.power : HT_POWER);
  if (recalled) {
    base = cj2k_base_search_secant(search, memory.base, memory.total,
                                   budget * HT_AIM * exp(-memory.drift));
    cj2k_base_search_forget(search);
  } else {
    base = guess_base(frame);
    if ((status = sampled_base_ht(frame, &search->power, &base)) != CJ2K_OK)
      return status;
  }
  if ((status = search_base(frame, &window, base, recalled, &found)) != CJ2K_OK)
    return status;
  frame->memory.power = search->power;
  if (recalled)
    frame->memory.drift = next_drift(memory.drift, found.first_total / (budget * HT_AIM));
  /* Sizes jump around the budget: better cut off what is too much than leave bytes unused. */
  if (!found.found && frame->memory.total < budget && search->over > 0)
    return code_with_base(frame, search->over, &total);
  return CJ2K_OK;
}

Cj2kStatus cj2k_encoder_frame_search_below(Cj2kEncoderFrame *frame, bool whole)
{
  Window window =
      whole ? (Window){HT_WHOLE_AIM, HT_WHOLE_LEAST, 1} : (Window){HT_BELOW_AIM, HT_BELOW_LEAST, 1};
  Cj2kBaseSearch *search = &frame->search;
  double budget = (double)frame->ceilings.useful_frame, total = frame->memory.total;
  double base = frame->base;
  Cj2kStatus status = CJ2K_OK;
  Found found = {0};

  cj2k_base_search_bound(search, base, total <= budget);
  if (total > budget || (total < budget * window.least && base > least_base(frame))) {
    base = cj2k_base_search_next(search, base, total, budget * window.aim, 0);
    status = search_base(frame, &window, base, false, &found);
  }
  if (status == CJ2K_OK && !found.found && search->fits > 0 && frame->base != search->fits)
    status = code_with_base(frame, search->fits, &total);
  return status;
}
