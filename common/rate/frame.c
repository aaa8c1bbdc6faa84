/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frame.h"

#include "common/runtime/error.h"
#include "strides.h"

#include <math.h>
#include <string.h>

#define HT_MAX_PLANES 24 /* planes measured at once */

void cj2k_rate_encoder_init(Cj2kRateEncoder *encoder, Cj2kPlan *plan, Cj2kBlockCoder coder,
                            Cj2kThreads *threads)
{
  *encoder = (Cj2kRateEncoder){.plan = plan,
                               .coder = coder,
                               .threads = threads,
                               .estimate_stride = cj2k_estimate_stride(plan->num_coefficients),
                               .least_visual = 1};
  cj2k_history_init(&encoder->history,
                    coder == CJ2K_CODER_HT ? CJ2K_RATE_LAG_HT : CJ2K_RATE_LAG_MQ);
  cj2k_bucket_init(&encoder->bucket, &encoder->history);
}

void cj2k_rate_encoder_set_visual(Cj2kRateEncoder *encoder, Cj2kSeenAs seen_as,
                                  double pixels_per_degree)
{
  const Cj2kPlan *plan = encoder->plan;

  encoder->visual = g_new(double, plan->num_bands + 1);
  cj2k_visual_weights(plan, seen_as, pixels_per_degree, encoder->visual);
  for (uint32_t b = 0; b < plan->num_bands; b++)
    encoder->least_visual = MIN(encoder->least_visual, encoder->visual[b]);
  encoder->finest = cj2k_finest_base(plan->header);
}

void cj2k_rate_encoder_clear(Cj2kRateEncoder *encoder)
{
  cj2k_least_bytes_clear(&encoder->least);
  cj2k_history_clear(&encoder->history);
  cj2k_bucket_clear(&encoder->bucket);
  g_free(encoder->visual);
}

Cj2kStatus cj2k_rate_frame_init(Cj2kRateFrame *frame, Cj2kRateEncoder *encoder,
                                const Cj2kWriteOptions *options, Cj2kError *error)
{
  uint32_t blocks = encoder->plan->num_blocks;

  *frame = (Cj2kRateFrame){.encoder = encoder};
  cj2k_frame_steps_init(&frame->steps, encoder->plan, encoder->visual, encoder->finest);
  frame->rules = g_new0(Cj2kStepRule, encoder->plan->num_bands + 1);
  cj2k_selection_init(&frame->retained, blocks);
  cj2k_selection_init(&frame->cut, blocks);
  if (encoder->coder == CJ2K_CODER_HT)
    cj2k_ht_blocks_init(&frame->ht, encoder->plan);
  return cj2k_layout_init(&frame->layout, encoder->plan, &encoder->layers, options, error);
}

void cj2k_rate_frame_clear(Cj2kRateFrame *frame)
{
  cj2k_frame_steps_clear(&frame->steps);
  g_free(frame->rules);
  cj2k_hulls_clear(&frame->hulls);
  cj2k_selection_clear(&frame->retained);
  cj2k_selection_clear(&frame->cut);
  cj2k_layout_clear(&frame->layout);
  cj2k_ht_blocks_clear(&frame->ht);
  g_free(frame->own_visual);
  g_free(frame->block_weights);
}

double cj2k_rate_samples(const Cj2kRateEncoder *encoder)
{
  const Cj2kHeader *header = encoder->plan->header;
  double n = 0;

  for (uint32_t c = 0; c < header->num_components; c++) {
    const Cj2kComponent *component = &header->components[c];
    n += (double)(component->x1 - component->x0) * (component->y1 - component->y0);
  }
  return n;
}

bool cj2k_rate_searches_steps(const Cj2kRateFrame *frame)
{
  bool budget = frame->target.mode == CJ2K_RATE_CBR && !(frame->pace > 0);

  return (budget || frame->limited) && !frame->encoder->reversible;
}

/* Limits the frame to its place in the bucket. A frame with a budget, and without an earlier one,
 * gets the average. */
static void begin_average(Cj2kRateFrame *frame)
{
  Cj2kRateTarget *target = &frame->target;
  const Cj2kCeilings *ceilings = &target->ceilings;
  Cj2kPlanned plan =
      cj2k_bucket_plan(&frame->encoder->bucket, frame->number, &frame->coder.interrupted);
  uint64_t ceiling = plan.ceiling;

  if (frame->coder.interrupted)
    return;

  if (target->mode == CJ2K_RATE_CBR) {
    frame->pace = plan.base;
    if (!(plan.base > 0))
      ceiling = MIN(ceiling, target->average.rate);
  }
  target->ceilings = cj2k_ceilings(MIN(ceilings->frame, ceiling), ceilings->component,
                                   ceilings->num_components, ceilings->without_highest);
}

/* Computes the weights of blocks, unless the frame before in this place had the same regions. */
static void begin_regions(Cj2kRateFrame *frame)
{
  const Cj2kRegions *regions = &frame->target.regions;
  const Cj2kPlan *plan = frame->encoder->plan;
  double range;

  if (!regions->count) {
    frame->region_planes = 0;
    frame->regions.count = 0;
    return;
  }
  if (frame->regions.count == regions->count &&
      !memcmp(frame->regions.list, regions->list, regions->count * sizeof *regions->list))
    return;
  if (!frame->block_weights)
    frame->block_weights = g_new(double, plan->num_blocks + 1);
  frame->regions = *regions;
  cj2k_region_weights(plan, regions, frame->block_weights, &range);
  /* Steps are as the root of weights. */
  frame->region_planes = (uint8_t)ceil(log2(range) / 2 - 1e-9);
}

static const double *block_weights(const Cj2kRateFrame *frame)
{
  return frame->regions.count ? frame->block_weights : NULL;
}

void cj2k_rate_begin(Cj2kRateFrame *frame)
{
  const Cj2kRateEncoder *encoder = frame->encoder;
  bool visible = frame->target.weights == CJ2K_VISUAL_CSF;

  frame->limited = false;
  frame->ht.all_coded = frame->ht.ahead = false;
  frame->foreseen = true;
  frame->pace = 0;
  frame->layout.expected = (Cj2kExpectedSize){0};
  frame->outcome = (Cj2kOutcome){0};
  if (frame->target.average.rate)
    begin_average(frame);
  begin_regions(frame);
  frame->steps.visual = visible ? encoder->visual : NULL;
  frame->steps.finest = encoder->finest;
  frame->least_visual = visible ? encoder->least_visual : 1;
}

/* The weights of a quality factor become those of the errors as well. */
static void limit_quality(Cj2kRateFrame *frame)
{
  const Cj2kPlan *plan = frame->encoder->plan;

  if (!frame->own_visual)
    frame->own_visual = g_new(double, plan->num_bands + 1);
  cj2k_frame_steps_quality_weights(
      &frame->steps, plan, frame->target.quality,
      &(Cj2kQualityWeights){frame->target.weights, frame->encoder->colour_difference},
      frame->own_visual);
  frame->steps.visual = frame->own_visual;
  frame->steps.finest = cj2k_finest_base(plan->header);
  frame->least_visual = 1;
  for (uint32_t b = 0; b < plan->num_bands; b++)
    frame->least_visual = MIN(frame->least_visual, frame->own_visual[b]);
}

/* The frame becomes no larger than it would be if only the components above their ceilings lost
 * bytes: the others have what the target asks for. */
static void limit_to_useful(Cj2kRateFrame *frame)
{
  Cj2kCeilings *ceilings = &frame->target.ceilings;
  uint64_t useful =
      MAX(cj2k_ceilings_useful(ceilings, &frame->layout.size), frame->encoder->least.frame);

  ceilings->frame = MIN(ceilings->frame, useful);
  ceilings->useful_frame = MIN(ceilings->useful_frame, useful);
}

bool cj2k_rate_limit(Cj2kRateFrame *frame)
{
  Cj2kRateControl mode = frame->target.mode;

  if (frame->limited || frame->encoder->reversible || mode == CJ2K_RATE_LOSSLESS ||
      cj2k_rate_searches_steps(frame))
    return false;
  frame->limited = true;
  if (frame->target.ceilings.component != UINT64_MAX)
    limit_to_useful(frame);
  if (mode == CJ2K_RATE_QUALITY && frame->target.weights != CJ2K_VISUAL_NONE)
    limit_quality(frame);
  return true;
}

bool cj2k_rate_recall(Cj2kRateFrame *frame, Cj2kRateMemory *memory)
{
  return !frame->limited && cj2k_history_recall(&frame->encoder->history, frame->number, memory,
                                                &frame->coder.interrupted);
}

void cj2k_rate_interrupt(Cj2kRateEncoder *encoder, uint64_t number)
{
  cj2k_history_interrupt(&encoder->history, number);
  cj2k_bucket_interrupt(&encoder->bucket, number);
}

void cj2k_rate_withdraw(Cj2kRateEncoder *encoder, uint64_t number)
{
  cj2k_history_withdraw(&encoder->history, number);
  cj2k_bucket_withdraw(&encoder->bucket, number);
}

void cj2k_rate_record(Cj2kRateFrame *frame, const Cj2kRateMemory *memory)
{
  const Cj2kRateMemory nothing = {0};

  cj2k_history_record(&frame->encoder->history, frame->number, frame->limited ? &nothing : memory);
}

static void make_hulls(Cj2kRateFrame *frame)
{
  const Cj2kRateEncoder *encoder = frame->encoder;

  if (!frame->hulls.plan)
    cj2k_hulls_init(&frame->hulls, encoder->plan,
                    encoder->coder == CJ2K_CODER_HT ? HT_MAX_PLANES : 0, encoder->threads);
}

void cj2k_rate_hulls_of_passes(Cj2kRateFrame *frame, const Cj2kCodedBlocks *coded)
{
  make_hulls(frame);
  frame->hulls.block_weights = block_weights(frame);
  cj2k_hulls_set_points(&frame->hulls, coded->blocks, coded->points,
                        coded->slopes.bytes ? &coded->slopes : NULL);
}

void cj2k_rate_hulls_of_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured)
{
  make_hulls(frame);
  frame->hulls.block_weights = block_weights(frame);
  cj2k_hulls_set_planes(&frame->hulls, measured->lengths, measured->distortions,
                        measured->num_planes, frame->steps.weights, measured->stride,
                        frame->ht.at_plane_0);
}

Cj2kStatus cj2k_rate_check_saturated(Cj2kRateFrame *frame, uint64_t saturated)
{
  if (!saturated || !frame->encoder->reversible)
    return CJ2K_OK;
  return cj2k_error_set(frame->error, CJ2K_ERROR_ARGUMENT,
                        "guard-bits %u is too few: %" G_GUINT64_FORMAT
                        " coefficients of this frame do not fit",
                        frame->encoder->guard_bits, saturated);
}

Cj2kStatus cj2k_rate_refuse_lossless(Cj2kRateFrame *frame)
{
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  const Cj2kCodestreamSize *size = &frame->layout.size;
  uint32_t c = cj2k_ceilings_first_above(ceilings, size);

  if (size->total <= ceilings->frame)
    return cj2k_error_set(frame->error, CJ2K_ERROR_LIMIT,
                          "component %u of the lossless frame needs %" G_GUINT64_FORMAT
                          " bytes, more than the %" G_GUINT64_FORMAT " that are allowed",
                          c, cj2k_ceilings_counted(ceilings, size, c), ceilings->component);
  return cj2k_error_set(frame->error, CJ2K_ERROR_LIMIT,
                        "the lossless frame needs %" G_GUINT64_FORMAT
                        " bytes, more than the %" G_GUINT64_FORMAT " that are allowed",
                        size->total, ceilings->frame);
}
