/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/encoder/encoder.h"

#include "common/runtime/error.h"

#include <string.h>

#define MQ_TRIALS 5  /* of step sizes */
#define HT_PLANES 4  /* bit-planes that are measured when much has to be cut off */
#define HT_FEW    2  /* when it is little */
#define HT_MANY   8  /* and when one component may have to give up more than the others */
#define HT_SEARCH 24 /* bit-planes of the search for the first of those */
/* A frame that is above its budget by less than this gives up planes of some of its blocks. */
#define HT_LITTLE 0.12
/* Bits that the two tag trees take for a block, and how well headers are guessed with that: a
 * budget of which so many-th part more is needed is surely too small. */
#define TREE_BITS 3
#define SURELY    512

static bool has_ceiling(const Cj2kEncoderFrame *frame)
{
  return frame->frame_bytes != UINT64_MAX || frame->component_bytes != UINT64_MAX;
}

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
                        frame->size.total, frame->frame_bytes);
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

/* Codes all blocks as frame->job says. */
static Cj2kStatus code(Cj2kEncoderFrame *frame)
{
  frame->job.stride = 1;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->code);

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

static Cj2kStatus end_gather(Cj2kEncoderFrame *frame)
{
  frame->gather = CJ2K_GATHER_NONE;
  return cj2k_encoder_frame_end_step(frame);
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
  bool decides = has_ceiling(frame) && p->rate_control != CJ2K_RATE_LOSSLESS;

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
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t trial = 0; trial < MQ_TRIALS && status == CJ2K_OK; trial++) {
    if ((status = cj2k_encoder_frame_search_mq(frame, trial)) == CJ2K_OK)
      status = code_passes(frame);
    if (status == CJ2K_OK && cj2k_encoder_frame_mq_is_fine(frame))
      break;
  }
  return status;
}

/* All passes together take more than the ceiling, even without headers. */
static bool is_above(const Cj2kEncoderFrame *frame)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++)
    sum += frame->source.blocks[b].length;
  return sum > frame->frame_bytes;
}

/* What is kept of coded passes, and the layout of it. */
static Cj2kStatus choose_passes(Cj2kEncoderFrame *frame)
{
  bool lossless = frame->params.rate_control == CJ2K_RATE_LOSSLESS;
  Cj2kStatus status;

  if (!lossless && is_above(frame))
    return cj2k_encoder_frame_select(frame);
  if ((status = keep_all(frame)) != CJ2K_OK)
    return status;
  if (!cj2k_encoder_frame_fits(frame))
    return lossless ? refuse_size(frame) : cj2k_encoder_frame_select(frame);
  cj2k_encoder_frame_note_slope(frame, 0);
  return CJ2K_OK;
}

static Cj2kStatus code_mq(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = searches_steps(frame) ? code_mq_budget(frame) : code_passes(frame);

  if (status == CJ2K_OK)
    status = choose_passes(frame);
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

/* What headers will take when all HT blocks are kept: all but the tag trees is known. */
static uint64_t guess_headers(const Cj2kEncoderFrame *frame)
{
  uint64_t bits = 0;

  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++) {
    uint32_t length = frame->coded_lengths[b];
    uint32_t size = length ? 32u - (uint32_t)__builtin_clz(length) : 0;
    if (length) /* number of passes, Lblock and its increment (B.10.6, B.10.7) */
      bits += TREE_BITS + 2 + (size > 3 ? 2 * size - 3 : 3);
  }
  return bits / 8 + 200;
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
      frame->component_bytes == UINT64_MAX) {
    frame->header_bytes = guess_headers(frame);
    frame->size.total = bodies + frame->header_bytes;
    if (frame->size.total > frame->frame_bytes + frame->frame_bytes / SURELY)
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
  uint64_t budget = frame->frame_bytes;

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
         cj2k_encoder_frame_sampled_bytes(frame, *first + 1u) > budget)
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

/* Measures what is needed to come down to the ceilings: some of the blocks when it is little, all
 * when it is much. */
static Cj2kStatus measure_choices(Cj2kEncoderFrame *frame)
{
  uint64_t budget = frame->frame_bytes, size = frame->size.total;
  uint64_t over = size > budget ? size - budget : 0;
  double part = (double)over / (double)budget;
  uint8_t first = 0;
  Cj2kStatus status;

  if (part > 0 && part < HT_LITTLE && frame->component_bytes == UINT64_MAX) {
    /* A block gives a quarter of its bytes with its lowest plane; offer three times what is needed,
     * and more choice where it costs time only once. */
    double most = frame->recalled ? 0.1 : 0.02;
    static const uint8_t strides[] = {61, 37, 23, 17, 11, 7, 5, 3, 2, 1};
    uint32_t i = 0;
    while (strides[i] > 1 && strides[i] * part > most)
      i++;
    status = measure(frame, strides[i], 0, HT_FEW);
    if (status != CJ2K_OK || can_save(frame) > over + over / 4)
      return status;
  }
  int planes = frame->component_bytes == UINT64_MAX ? HT_PLANES : HT_MANY;
  status = find_first_plane(frame, &first);
  return status == CJ2K_OK ? measure(frame, 1, first, (uint8_t)MIN(planes, HT_SEARCH - first))
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

/* Chooses planes under the ceilings, codes them, and makes sure that it is as it was measured. */
static Cj2kStatus reduce_ht(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = measure_choices(frame);

  if (status != CJ2K_OK)
    return status;
  frame->source = (Cj2kPacketSource){.blocks = frame->ht_blocks,
                                     .passes = frame->ht_passes,
                                     .num_layers = frame->params.num_layers,
                                     .kept = frame->kept,
                                     .lengths = kept_lengths(frame)};
  if ((status = cj2k_encoder_frame_select(frame)) != CJ2K_OK)
    return status;
  frame->job.choices = frame->choices;
  status = code(frame);
  frame->job.choices = NULL;
  if (status != CJ2K_OK || is_as_described(frame))
    return status; /* the layout stands */
  return cj2k_error_set(&frame->error, CJ2K_ERROR_LIMIT,
                        "HT code-blocks are not what was measured");
}

static Cj2kStatus code_ht(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status = searches_steps(frame) ? cj2k_encoder_frame_search_ht(frame)
                                            : cj2k_encoder_frame_code_all(frame);

  if (status == CJ2K_OK)
    cj2k_encoder_frame_remember(frame); /* before the rest is done: others wait for it */
  if (status != CJ2K_OK || cj2k_encoder_frame_fits(frame))
    return status;
  return frame->params.rate_control == CJ2K_RATE_LOSSLESS ? refuse_size(frame) : reduce_ht(frame);
}

static void set_useful(Cj2kEncoderFrame *frame)
{
  bool apply = frame->params.profile != CJ2K_PROFILE_CINEMA_4K;
  uint64_t component = apply ? frame->component_bytes : UINT64_MAX;
  uint32_t n = frame->encoder->plan->num_components;

  frame->useful_component = component;
  frame->useful_budget =
      component > UINT64_MAX / n ? frame->frame_bytes : MIN(frame->frame_bytes, component * n);
}

Cj2kStatus cj2k_encoder_frame_code(Cj2kEncoderFrame *frame)
{
  set_useful(frame);
  frame->memory = (Cj2kRateMemory){0};
  frame->recalled = false;
  frame->gather = CJ2K_GATHER_NONE;
  frame->header_bytes = frame->encoder->plan->num_blocks * (uint64_t)3 + 200;
  Cj2kStatus status = cj2k_encoder_frame_steps(frame);
  if (status == CJ2K_OK)
    status = frame->params.block_coder == CJ2K_CODER_HT ? code_ht(frame) : code_mq(frame);
  if (status != CJ2K_ERROR_MEMORY) /* the frame may be coded once more, in another slot */
    cj2k_encoder_frame_remember(frame);
  return status;
}
