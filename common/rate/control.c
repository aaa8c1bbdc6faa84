/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/encoder/encoder.h"

#include "common/runtime/error.h"

#include <math.h>
#include <string.h>

#define HT_PLANES 4  /* bit-planes that are measured when much has to be cut off */
#define HT_FEW    2  /* when it is little */
#define HT_MANY   8  /* and when one component may have to give up more than the others */
#define HT_SEARCH 24 /* bit-planes of the search for the first of those */
/* Frames of so few samples compare PHASES steps in an octave, when nothing is known of them. */
#define FEW_SAMPLES 2000000
#define PHASES      8
/* And so many octaves of coarser steps, which have to be better by this factor: what quantising to
 * zero costs is known less well. */
#define COARSER 3
#define SURELY  0.5
/* Frames of so few samples also search the coarsest steps that the budget allows when everything is
 * kept, in so many halvings of an octave. */
#define VERY_FEW_SAMPLES 524288
#define HALVINGS         10
/* They have to be better by this factor: errors are known to about one percent. */
#define ABOUT          0.99
#define MAX_WHOLE_BASE 16.0 /* coarser steps make all of a picture zero */
/* Parts of a budget that are used well enough; of a frame without an earlier one. */
#define HT_USED       0.985
#define HT_FIRST_USED 0.995
/* Part of a budget that is much for headers. */
#define HT_HEADERS 0.2
/* A frame that is above its budget by less than this gives up planes of some of its blocks. */
#define HT_LITTLE 0.12

/* Step sizes follow from a budget. */
static bool searches_steps(const Cj2kEncoderFrame *frame)
{
  return frame->params.rate_control == CJ2K_RATE_CBR && !frame->params.reversible_transform;
}

static Cj2kStatus refuse_size(Cj2kEncoderFrame *frame)
{
  return cj2k_error_set(&frame->error, CJ2K_ERROR_LIMIT,
                        "the lossless frame needs %" G_GUINT64_FORMAT
                        " bytes, more than the %" G_GUINT64_FORMAT " that are allowed",
                        frame->size.total, frame->ceilings.frame);
}

/* For packets of one layer. */
static const uint32_t *kept_lengths(const Cj2kEncoderFrame *frame)
{
  return frame->params.num_layers == 1 ? frame->kept_lengths : NULL;
}

static void set_source(Cj2kEncoderFrame *frame)
{
  frame->source = (Cj2kPacketSource){.blocks = frame->result.blocks,
                                     .passes = frame->result.passes,
                                     .bytes = frame->result.bytes,
                                     .num_layers = frame->params.num_layers,
                                     .kept = frame->kept,
                                     .lengths = kept_lengths(frame)};
}

static Cj2kStatus end_gather(Cj2kEncoderFrame *frame)
{
  frame->gather = CJ2K_GATHER_NONE;
  return cj2k_encoder_frame_end_step(frame);
}

/* Codes all blocks as frame->job says. */
static Cj2kStatus code(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = frame->gather == CJ2K_GATHER_NONE ? CJ2K_OK : end_gather(frame);

  frame->job.stride = 1;
  if (status == CJ2K_OK)
    status = cj2k_encoder_frame_step(frame, frame->backend->code);
  if (status != CJ2K_OK)
    return status;
  if (frame->result.saturated && frame->params.reversible_transform)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_ARGUMENT,
                          "guard-bits %u is too few: %" G_GUINT64_FORMAT
                          " coefficients of this frame do not fit",
                          frame->params.guard_bits, frame->result.saturated);
  set_source(frame);
  return CJ2K_OK;
}

void cj2k_encoder_frame_make_hulls(Cj2kEncoderFrame *frame)
{
  uint32_t planes = frame->params.block_coder == CJ2K_CODER_HT ? HT_SEARCH : 0;

  if (!frame->hulls.plan)
    cj2k_hulls_init(&frame->hulls, frame->encoder->plan, planes, frame->encoder->threads);
}

void cj2k_encoder_frame_take_hulls(Cj2kEncoderFrame *frame)
{
  const Cj2kEncodeResult *result = &frame->result;

  cj2k_encoder_frame_make_hulls(frame);
  cj2k_hulls_set_points(&frame->hulls, result->blocks, result->points,
                        result->slopes.bytes ? &result->slopes : NULL);
}

/* --- MQ: the bytes of what is kept --- */

static bool gathers(const Cj2kEncoderFrame *frame)
{
  return frame->params.block_coder == CJ2K_CODER_MQ && frame->backend->gather;
}

static Cj2kStatus begin_gather(Cj2kEncoderFrame *frame)
{
  frame->job.kept_lengths = frame->job.weights ? frame->kept_lengths : NULL;
  Cj2kStatus status = cj2k_encoder_frame_begin_step(frame, frame->backend->gather);
  frame->gather = status == CJ2K_OK ? CJ2K_GATHER_BEGUN : CJ2K_GATHER_NONE;
  return status;
}

Cj2kStatus cj2k_encoder_frame_begin_gather(Cj2kEncoderFrame *frame)
{
  /* What turns out to be wrong costs other frames time. */
  bool sure = !frame->job.weights, alone = frame->encoder->setup.params.frames_in_flight == 1;

  if (!gathers(frame))
    return CJ2K_OK;
  if (frame->gather == CJ2K_GATHER_NONE && (sure || alone))
    return begin_gather(frame);
  if (frame->gather == CJ2K_GATHER_BEGUN)
    frame->gather = CJ2K_GATHER_STALE;
  return CJ2K_OK;
}

/* All bytes are there when it returns. */
static Cj2kStatus gather(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = CJ2K_OK;

  if (!gathers(frame))
    return CJ2K_OK;
  if (frame->gather == CJ2K_GATHER_STALE)
    status = end_gather(frame);
  if (status == CJ2K_OK && frame->gather == CJ2K_GATHER_NONE)
    status = begin_gather(frame);
  if (status == CJ2K_OK)
    status = end_gather(frame);
  if (status == CJ2K_OK)
    set_source(frame);
  return status;
}

/* Everything that was coded goes into the codestream. */
static Cj2kStatus keep_all(Cj2kEncoderFrame *frame)
{
  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++) {
    frame->options[b] = frame->source.blocks[b].num_passes;
    frame->kept_lengths[b] = frame->source.blocks[b].length;
  }
  return cj2k_encoder_frame_keep(frame);
}

/* --- MQ: all passes are coded, and some are kept --- */

/* Codes all passes with the steps in force, and knows what each is worth where some may be left
 * out. */
static Cj2kStatus code_passes(Cj2kEncoderFrame *frame)
{
  const Cj2kEncoderParams *p = &frame->params;
  bool decides = cj2k_ceilings_exist(&frame->ceilings) && p->rate_control != CJ2K_RATE_LOSSLESS;

  frame->job.weights = decides || p->num_layers > 1 ? frame->steps.weights : NULL;
  frame->job.pass_lengths =
      p->num_layers > 1 || p->codeblock_style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL);
  Cj2kStatus status = code(frame);
  if (status == CJ2K_OK && frame->job.weights)
    cj2k_encoder_frame_take_hulls(frame);
  return status;
}

/* With steps for a budget: those that earlier frames suggest, or a search when these were not fine
 * enough. */
static Cj2kStatus code_mq_budget(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status;

  /* Ends at the latest with the finest steps that there are. */
  for (uint32_t trial = 0;; trial++) {
    if ((status = cj2k_encoder_frame_search_mq(frame, trial)) == CJ2K_OK)
      status = code_passes(frame);
    if (status != CJ2K_OK || cj2k_encoder_frame_mq_is_fine(frame))
      return status;
  }
}

/* All passes together take more than the ceiling, even without headers. */
static bool is_above(const Cj2kEncoderFrame *frame)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++)
    sum += frame->source.blocks[b].length;
  return sum > frame->ceilings.frame;
}

/* What is kept of coded passes, and the layout of it. */
static Cj2kStatus choose_passes(Cj2kEncoderFrame *frame)
{
  bool lossless = frame->params.rate_control == CJ2K_RATE_LOSSLESS;
  Cj2kStatus status;

  frame->keeps_less = true;
  if (!lossless && is_above(frame))
    return cj2k_encoder_frame_select(frame);
  if ((status = keep_all(frame)) != CJ2K_OK)
    return status;
  if (!cj2k_encoder_frame_fits(frame))
    return lossless ? refuse_size(frame) : cj2k_encoder_frame_select(frame);
  frame->keeps_less = false;
  cj2k_encoder_frame_note_slope(frame, 0);
  return CJ2K_OK;
}

/* A small frame that nothing is known of: there is time to compare steps by what they really give,
 * which depends on where passes happen to end. */
static bool compares_steps(const Cj2kEncoderFrame *frame)
{
  return searches_steps(frame) && !frame->recalled &&
         frame->encoder->plan->num_coefficients <= FEW_SAMPLES &&
         frame->ceilings.component == UINT64_MAX;
}

/* Few blocks: there is time to search steps with which all of them fill the budget as they are. */
static bool searches_whole(const Cj2kEncoderFrame *frame)
{
  return compares_steps(frame) && frame->encoder->plan->num_coefficients <= VERY_FEW_SAMPLES;
}

/* The error that a cut leaves, of which only differences between cuts of the frame count. Slopes
 * are known to some tenths of a percent: what is left is added to the error of quantising where
 * that is less, what is taken is subtracted from the error of nothing, which is the same for all
 * steps. */
static double error_of_cut(Cj2kEncoderFrame *frame, double quantising)
{
  Cj2kHullGains gains = cj2k_hulls_gains(&frame->hulls);

  if (frame->energy == 0)
    frame->energy = quantising + gains.taken + gains.left;
  bool ht = frame->params.block_coder == CJ2K_CODER_HT;
  bool above = ht && frame->job.first_plane; /* lower planes are not among what is left */
  return above || gains.taken < gains.left ? MAX(frame->energy - gains.taken, quantising)
                                           : quantising + gains.left;
}

/* Codes and chooses with the steps in force, where quantising alone does not cost more than *least;
 * *error is what is left. */
static Cj2kStatus attempt_mq(Cj2kEncoderFrame *frame, double least, double *error)
{
  Cj2kStatus status = cj2k_encoder_frame_mq_quantising(frame, error);

  if (status != CJ2K_OK || *error >= least)
    return status;
  if ((status = code_passes(frame)) == CJ2K_OK)
    status = choose_passes(frame);
  if (status == CJ2K_OK && frame->keeps_less)
    *error = error_of_cut(frame, *error);
  return status;
}

/* Steps, and the error that they leave. */
typedef struct {
  double base, error;
  Cj2kStepFactors factors;
} MqAttempt;

/* Compares the best with steps that are the same for all bands, from frame->base on, with which all
 * passes just fill the budget: what rate control by step gives for that size. A frame of few blocks
 * has few ends of passes near its cut, and these may be worse. */
static Cj2kStatus compare_whole_mq(Cj2kEncoderFrame *frame, MqAttempt *best)
{
  double over = frame->base, octaves = 1;
  Cj2kStatus status = CJ2K_OK;
  bool fits = false;

  frame->factors = cj2k_no_factors();
  while (octaves > 1.0 / (1 << HALVINGS) && over * exp2(octaves) < MAX_WHOLE_BASE) {
    MqAttempt attempt = {.base = over * exp2(octaves), .factors = frame->factors};
    cj2k_encoder_frame_set_mq_base(frame, attempt.base);
    frame->keeps_less = false; /* stays so with steps that are too coarse to be of use */
    if ((status = attempt_mq(frame, best->error, &attempt.error)) != CJ2K_OK)
      return status;
    if (attempt.error < best->error * ABOUT)
      *best = attempt;
    fits |= !frame->keeps_less;
    if (frame->keeps_less)
      over = attempt.base;
    if (fits)
      octaves /= 2;
  }
  return CJ2K_OK;
}

/* Chooses passes with the steps in force, with finer ones within an octave, whose passes end
 * elsewhere, and with coarser ones; stays with the best. */
static Cj2kStatus compare_mq(Cj2kEncoderFrame *frame)
{
  double base = frame->base, error = 0;
  MqAttempt best = {.base = base, .error = INFINITY, .factors = frame->factors};
  Cj2kRateMemory memory = {0}; /* later frames go on from what the search found, which is fine */
  Cj2kStatus status = CJ2K_OK;
  bool keeps_less = false;

  for (int i = 0; i < (1 + COARSER) * PHASES && status == CJ2K_OK; i++) {
    double octaves = (double)(i < PHASES ? -i : i + 1 - PHASES) / PHASES;
    cj2k_encoder_frame_set_mq_base(frame, base * exp2(octaves));
    status = attempt_mq(frame, best.error, &error);
    if (error < (i < PHASES ? best.error : best.error * SURELY)) {
      best.error = error;
      best.base = frame->base;
    }
    if (!i) {
      memory = frame->memory;
      keeps_less = frame->keeps_less;
    }
  }
  if (status == CJ2K_OK && keeps_less && searches_whole(frame)) {
    frame->base = base;
    status = compare_whole_mq(frame, &best);
  }
  if (status != CJ2K_OK)
    return status;
  frame->factors = best.factors;
  cj2k_encoder_frame_set_mq_base(frame, best.base);
  if ((status = code_passes(frame)) == CJ2K_OK)
    status = choose_passes(frame);
  frame->memory = memory;
  return status;
}

static Cj2kStatus code_mq(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = searches_steps(frame) ? code_mq_budget(frame) : code_passes(frame);

  if (status == CJ2K_OK)
    status = compares_steps(frame) ? compare_mq(frame) : choose_passes(frame);
  if (status != CJ2K_OK && frame->gather != CJ2K_GATHER_NONE) {
    Cj2kError reason = frame->error;
    end_gather(frame);
    frame->error = reason;
  }
  if (status != CJ2K_OK)
    return status;
  cj2k_encoder_frame_remember(frame); /* before the rest is done: others wait for it */
  return gather(frame);
}

/* --- HT: plane 0 is coded, and where that is too much higher planes of some blocks --- */

/* Measures each stride-th block at planes first .. first + n - 1, and makes hulls of it; others
 * stay as coded. */
static Cj2kStatus measure(Cj2kEncoderFrame *frame, uint32_t stride, uint8_t first, uint8_t n)
{
  frame->job.stride = stride;
  frame->job.first_plane = first;
  frame->job.num_planes = n;
  frame->job.distortions = true;
  frame->job.band_errors = false;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status != CJ2K_OK)
    return status;
  cj2k_encoder_frame_make_hulls(frame);
  cj2k_hulls_set_planes(&frame->hulls, frame->result.ht_lengths, frame->result.ht_distortions, n,
                        frame->steps.weights, stride, frame->coded_lengths);
  return CJ2K_OK;
}

Cj2kStatus cj2k_encoder_frame_code_all(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status;

  /* Layers are made of whole blocks, in the order of what they are worth. */
  if (frame->params.num_layers > 1 && (status = measure(frame, 1, 0, 1)) != CJ2K_OK)
    return status;
  if ((status = code(frame)) != CJ2K_OK)
    return status;
  uint64_t bodies = 0;
  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++)
    bodies += frame->coded_lengths[b] = frame->source.blocks[b].length;
  if (searches_steps(frame) && frame->params.num_layers == 1 &&
      frame->ceilings.component == UINT64_MAX) {
    Cj2kHeaderEstimate headers = cj2k_encoder_frame_headers(frame, NULL, frame->coded_lengths, 1);
    frame->header_bytes = headers.expected;
    frame->size.total = bodies + headers.expected;
    if (bodies + headers.least > frame->ceilings.frame)
      return CJ2K_OK; /* a layout would only say by how much it is too large */
  }
  if ((status = keep_all(frame)) == CJ2K_OK)
    frame->header_bytes = frame->size.total - bodies;
  return status;
}

/* The highest bit-plane at which all blocks together take more than the budget: lower ones are not
 * needed. Sizes of some of the blocks stand for all. */
static Cj2kStatus find_first_plane(Cj2kEncoderFrame *frame, uint8_t *first)
{
  uint64_t budget = frame->ceilings.frame;

  *first = 0;
  if (budget == UINT64_MAX)
    return CJ2K_OK;
  frame->job.stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  frame->job.first_plane = 0;
  frame->job.num_planes = HT_SEARCH;
  frame->job.distortions = frame->job.band_errors = false;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status != CJ2K_OK)
    return status;
  while (*first < HT_SEARCH - HT_PLANES &&
         cj2k_encoder_frame_sampled_bytes(frame, *first + 1u, false) > budget)
    (*first)++;
  return CJ2K_OK;
}

/* What measured blocks can give back with all planes but their highest that was measured. */
static uint64_t can_save(const Cj2kEncoderFrame *frame)
{
  const Cj2kEncodeJob *job = &frame->job;
  uint64_t sum = 0;

  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b += job->stride) {
    const uint32_t *lengths = frame->result.ht_lengths + (size_t)b * job->num_planes;
    sum += lengths[0] - MIN(lengths[job->num_planes - 1], lengths[0]);
  }
  return sum;
}

/* Measures all blocks at `count` planes from *first on; goes on to lower or higher planes until all
 * blocks at the lowest take more than the budget, and those at the highest do not. */
static Cj2kStatus measure_around(Cj2kEncoderFrame *frame, uint8_t first, uint8_t count)
{
  uint64_t budget = frame->ceilings.frame;
  Cj2kStatus status;

  for (bool lowered = false, raised = false;;) {
    uint8_t n = MIN(count, (uint8_t)(HT_SEARCH - first));
    if ((status = measure(frame, 1, first, n)) != CJ2K_OK)
      return status;
    bool low = cj2k_encoder_frame_sampled_bytes(frame, 0, true) > budget,
         high = cj2k_encoder_frame_sampled_bytes(frame, n - 1u, true) <= budget;
    if (!low && first && !raised) {
      first = (uint8_t)(first - MIN(first, n - 1));
      lowered = true;
    } else if (!high && first + n < HT_SEARCH && !lowered) {
      first = (uint8_t)(first + n - 1);
      raised = true;
    } else {
      return CJ2K_OK;
    }
  }
}

/* Measures what is needed to come down to the ceilings: some of the blocks when it is little, all
 * when it is much. */
static Cj2kStatus measure_choices(Cj2kEncoderFrame *frame)
{
  uint64_t budget = frame->ceilings.frame, size = frame->size.total;
  uint64_t over = size > budget ? size - budget : 0;
  double part = (double)over / (double)budget;
  uint8_t first = 0;
  Cj2kStatus status;

  if (part > 0 && part < HT_LITTLE && frame->ceilings.component == UINT64_MAX) {
    /* A block gives a quarter of its bytes with its lowest plane; offer three times what is needed,
     * and more choice where it costs time only once. */
    double most = frame->recalled ? 0.1 : 0.02;
    status = measure(frame, cj2k_stride_at_most(most / part), 0, HT_FEW);
    if (status != CJ2K_OK || can_save(frame) > over + over / 4)
      return status;
  }
  frame->header_bytes = 0; /* many blocks become shorter */
  if (budget == UINT64_MAX)
    return measure(frame, 1, 0, HT_MANY);
  status = find_first_plane(frame, &first);
  return status == CJ2K_OK
             ? measure_around(frame, first,
                              frame->ceilings.component == UINT64_MAX ? HT_PLANES : HT_MANY)
             : status;
}

/* Blocks are in every byte of the packets' headers what the layout took them for. */
static bool is_as_described(const Cj2kEncoderFrame *frame)
{
  const Cj2kEncodedBlock *now = frame->source.blocks, *then = frame->ht_blocks;

  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++)
    if (now[b].num_passes != then[b].num_passes ||
        (then[b].num_passes &&
         (now[b].length != then[b].length || now[b].zero_bitplanes != then[b].zero_bitplanes)))
      return false;
  return true;
}

/* Chooses planes under the ceilings, of what was measured, and lays them out. */
static Cj2kStatus choose_planes(Cj2kEncoderFrame *frame)
{
  frame->source = (Cj2kPacketSource){.blocks = frame->ht_blocks,
                                     .passes = frame->ht_passes,
                                     .num_layers = frame->params.num_layers,
                                     .kept = frame->kept,
                                     .lengths = kept_lengths(frame)};
  return cj2k_encoder_frame_select(frame);
}

/* Codes the chosen planes, and makes sure that it is as it was measured. */
static Cj2kStatus code_planes(Cj2kEncoderFrame *frame)
{
  frame->job.choices = frame->choices;
  Cj2kStatus status = code(frame);
  frame->job.choices = NULL;
  if (status != CJ2K_OK || is_as_described(frame))
    return status; /* the layout stands */
  return cj2k_error_set(&frame->error, CJ2K_ERROR_LIMIT,
                        "HT code-blocks are not what was measured");
}

static Cj2kStatus reduce_ht(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = measure_choices(frame);

  if (status == CJ2K_OK)
    status = choose_planes(frame);
  return status == CJ2K_OK ? code_planes(frame) : status;
}

/* The frame uses so little of its budget, or needs so much of it for headers, that other steps may
 * be better. */
static bool is_badly_used(const Cj2kEncoderFrame *frame)
{
  double used = frame->recalled ? HT_USED : HT_FIRST_USED, budget = (double)frame->ceilings.frame;
  bool little = frame->keeps_less && (double)frame->size.total < used * budget;
  bool headers = !frame->recalled && (double)frame->header_bytes > HT_HEADERS * budget;

  return searches_steps(frame) && frame->ceilings.component == UINT64_MAX && (little || headers);
}

/* Steps, and whether planes of blocks are chosen with them or all are at plane 0. */
typedef struct {
  double base, error;
  bool chosen;
} Attempt;

/* Chooses planes with the base, of all blocks. *error: what is left. */
static Cj2kStatus choose_with_base(Cj2kEncoderFrame *frame, double base, double *error)
{
  cj2k_encoder_frame_set_base(frame, base);
  Cj2kStatus status = cj2k_encoder_frame_quantising(frame, 1, error);

  frame->header_bytes = 0;
  if (status == CJ2K_OK)
    status = measure_around(frame, 0, HT_PLANES);
  if (status == CJ2K_OK)
    status = choose_planes(frame);
  if (status == CJ2K_OK)
    *error = error_of_cut(frame, *error);
  return status;
}

/* Compares finer steps than `base`, within an octave, with planes chosen. */
static Cj2kStatus compare_finer(Cj2kEncoderFrame *frame, double base, Attempt *best)
{
  int count = compares_steps(frame) ? PHASES : 2;
  Cj2kStatus status = CJ2K_OK;

  for (int i = 0; i < count && status == CJ2K_OK; i++) {
    Attempt attempt = {.base = base * exp2(-(double)i / count), .chosen = true};
    status = choose_with_base(frame, attempt.base, &attempt.error);
    if (attempt.error < best->error)
      *best = attempt;
  }
  return status;
}

/* The error of all blocks at plane 0, with the steps in force. Where most of them are zero it is by
 * what the others save, which is known better. */
static Cj2kStatus error_at_plane_0(Cj2kEncoderFrame *frame, double *error)
{
  Cj2kStatus status = cj2k_encoder_frame_quantising(frame, 1, error);

  if (status != CJ2K_OK || *error < frame->energy / 4)
    return status;
  if ((status = measure(frame, 1, 0, 1)) != CJ2K_OK)
    return status;
  cj2k_hulls_apply(&frame->hulls, 0, frame->layer_options, frame->cut_lengths);
  *error = frame->energy - cj2k_hulls_gains(&frame->hulls).taken;
  return CJ2K_OK;
}

/* Compares steps from `base` on, with which everything fits, with coarser ones, which seldom leave
 * less, with all blocks at plane 0. */
static Cj2kStatus compare_coarser(Cj2kEncoderFrame *frame, double base, Attempt *best)
{
  int count = compares_steps(frame) ? COARSER * PHASES : 1;
  Cj2kStatus status = CJ2K_OK;

  for (int i = 0; i < count && status == CJ2K_OK; i++) {
    Attempt attempt = {.base = base * exp2((double)i / PHASES)};
    cj2k_encoder_frame_set_base(frame, attempt.base);
    status = i ? cj2k_encoder_frame_quantising(frame, 1, &attempt.error)
               : error_at_plane_0(frame, &attempt.error);
    if (attempt.error < (i ? best->error * SURELY : best->error))
      *best = attempt;
  }
  return status;
}

/* With few blocks, planes cut off may leave too much unused, or be the wrong ones: compares steps
 * with planes chosen and steps with which all blocks fit at plane 0, by the error that they leave,
 * and codes with the best. */
static Cj2kStatus compare_ht(Cj2kEncoderFrame *frame)
{
  Attempt best = {.error = INFINITY};
  double base = frame->base, fits = base;
  Cj2kStatus status = CJ2K_OK;

  bool whole = searches_whole(frame);
  if (frame->keeps_less || whole) {
    status = cj2k_encoder_frame_search_below(frame, whole);
    fits = cj2k_encoder_frame_fits(frame) ? frame->base : 0;
  }
  if (status == CJ2K_OK)
    status = compare_finer(frame, base, &best);
  if (status == CJ2K_OK && fits > 0)
    status = compare_coarser(frame, fits, &best);
  if (status != CJ2K_OK)
    return status;
  if (!best.chosen) {
    cj2k_encoder_frame_set_base(frame, best.base);
    status = cj2k_encoder_frame_code_all(frame);
    if (status != CJ2K_OK || cj2k_encoder_frame_fits(frame))
      return status; /* coarser steps seldom take more bytes */
  }
  status = choose_with_base(frame, best.base, &best.error);
  return status == CJ2K_OK ? code_planes(frame) : status;
}

static Cj2kStatus code_ht(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = searches_steps(frame) ? cj2k_encoder_frame_search_ht(frame)
                                            : cj2k_encoder_frame_code_all(frame);

  if (status == CJ2K_OK)
    cj2k_encoder_frame_remember(frame); /* before the rest is done: others wait for it */
  if (status != CJ2K_OK)
    return status;
  frame->keeps_less = !cj2k_encoder_frame_fits(frame);
  if (status == CJ2K_OK && frame->keeps_less)
    status =
        frame->params.rate_control == CJ2K_RATE_LOSSLESS ? refuse_size(frame) : reduce_ht(frame);
  if (status == CJ2K_OK && (compares_steps(frame) || is_badly_used(frame)))
    status = compare_ht(frame);
  return status;
}

Cj2kStatus cj2k_encoder_frame_code(Cj2kEncoderFrame *frame)
{
  frame->memory = (Cj2kRateMemory){0};
  frame->recalled = false;
  frame->gather = CJ2K_GATHER_NONE;
  frame->header_bytes = 0;
  frame->energy = 0;
  Cj2kStatus status = cj2k_encoder_check_ceilings(frame->encoder, frame->ceilings.frame,
                                                  frame->ceilings.component, &frame->error);
  if (status == CJ2K_OK)
    status = cj2k_encoder_frame_steps(frame);
  if (status == CJ2K_OK)
    status = frame->params.block_coder == CJ2K_CODER_HT ? code_ht(frame) : code_mq(frame);
  if (status != CJ2K_ERROR_MEMORY) /* the frame may be coded once more, in another slot */
    cj2k_encoder_frame_remember(frame);
  return status;
}
