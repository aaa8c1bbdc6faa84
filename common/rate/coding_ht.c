/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coding_ht.h"

#include "base.h"
#include "fit.h"
#include "leave.h"

#include <math.h>

#define BYTE (16 * 8) /* in the unit of estimates, sixteenths of a bit */

/* Lays out frame->retained of the layout's blocks. */
static Cj2kStatus lay_out(Cj2kRateFrame *frame)
{
  cj2k_layout_divide(&frame->layout, &frame->retained, &frame->hulls, frame->target.ceilings.frame,
                     &frame->cut);
  return cj2k_layout_run(&frame->layout, frame->steps.components, frame->encoder->threads,
                         frame->error);
}

/* The same with all of the blocks that were coded last. */
static Cj2kStatus lay_out_all(Cj2kRateFrame *frame)
{
  cj2k_selection_retain_all(&frame->retained, frame->layout.source.blocks,
                            frame->encoder->plan->num_blocks);
  return lay_out(frame);
}

/* Codes all blocks at plane 0, or as `choices` says. more: `range`, `rules`, `likely` and `ahead`
 * of the job. Out of range nothing is coded. */
static Cj2kStatus code(Cj2kRateFrame *frame, const Cj2kHtChoice *choices, const Cj2kCodeJob *more,
                       Cj2kCodedBlocks *coded)
{
  const Cj2kCodeJob job = {.quantisers = frame->steps.quantisers,
                           .stride = 1,
                           .choices = choices,
                           .range = more->range,
                           .rules = more->rules,
                           .likely = more->likely,
                           .ahead = more->ahead,
                           .packet_sizes = !choices && frame->encoder->layers.count == 1};
  uint64_t saturated;

  frame->ht.all_coded = frame->ht.ahead = false;
  Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, coded, &saturated, frame->error);
  if (status == CJ2K_OK && job.range &&
      cj2k_estimate_follow(job.range, coded->estimates).verdict == CJ2K_ESTIMATE_OUT)
    return CJ2K_OK;
  if (status == CJ2K_OK)
    status = cj2k_rate_check_saturated(frame, saturated);
  if (status == CJ2K_OK)
    cj2k_layout_set_source(&frame->layout, coded->blocks, coded->passes, coded->bytes,
                           &frame->retained);
  frame->ht.bytes = status == CJ2K_OK ? coded->bytes : NULL;
  return status;
}

/* --- plane 0 --- */

/* Measuring for a cut of planes. */
static Cj2kMeasureJob measure_job(const Cj2kRateFrame *frame, uint32_t stride, uint8_t first,
                                  uint8_t count)
{
  return (Cj2kMeasureJob){.quantisers = frame->steps.quantisers,
                          .stride = stride,
                          .first_plane = first,
                          .num_planes = count,
                          .distortions = true};
}

/* The sizes of frames that stay as they are, or are cut, and how. false: another way is gone with
 * such a budget. */
static bool foresee_cut(const Cj2kRateFrame *frame, Cj2kAheadJob *job)
{
  const Cj2kFitTask task = {.ceilings = &frame->target.ceilings, .ht = true};
  double budget = (double)frame->target.ceilings.frame;

  job->least = (uint64_t)ceil(budget * CJ2K_HT_USED);
  job->budget = frame->target.ceilings.frame;
  job->most = job->budget + (uint64_t)(budget * CJ2K_HT_CUT_PART) - 1;
  return cj2k_fit_margin(&task, &job->margin);
}

/* What is likely to follow code(), up to the packets. false: nothing is known. */
static bool foresee(Cj2kRateFrame *frame, Cj2kHtOutlook outlook, Cj2kPacketSteps *packets,
                    Cj2kAheadJob *job)
{
  *job = (Cj2kAheadJob){0};
  job->budget = job->most = MIN(frame->coder.target.size, frame->target.ceilings.frame);
  bool known =
      outlook == CJ2K_HT_STAYS || (outlook == CJ2K_HT_SMALL_CUT && foresee_cut(frame, job));
  return known && cj2k_leave_ahead(frame, job->budget, packets, &job->place);
}

/* What all rows of quads take, by an estimate from some, in bytes. */
static double bytes_of(uint64_t estimate, uint32_t quad_rows)
{
  return (double)estimate * quad_rows / BYTE;
}

/* A number that is not negative, as far as it fits. */
static uint64_t to_integer(double number)
{
  return number < (double)UINT64_MAX ? (uint64_t)number : UINT64_MAX;
}

Cj2kEstimateRange cj2k_ht_estimate_range(const Cj2kRateFrame *frame, double least, double most)
{
  uint32_t quad_rows = frame->encoder->estimate_stride;
  double unit = (double)quad_rows / BYTE;

  return (Cj2kEstimateRange){.quad_rows = quad_rows,
                             .least = to_integer(ceil(least / unit)),
                             .most = to_integer(most / unit)};
}

/* Makes an estimate with the current steps. */
static Cj2kStatus make_estimate(Cj2kRateFrame *frame, uint64_t *estimate)
{
  const Cj2kMeasureJob job = {.quantisers = frame->steps.quantisers,
                              .stride = 1,
                              .quad_rows = frame->encoder->estimate_stride};
  Cj2kMeasured measured = {0};
  Cj2kStatus status = cj2k_coder_measure(&frame->coder, &job, &measured, frame->error);

  *estimate = measured.estimate;
  return status;
}

/* Notes the estimates, and sets the steps that follow from them. */
static void take_estimates(Cj2kRateFrame *frame, const Cj2kEstimateRange *range,
                           const uint64_t *estimates, Cj2kHtCoded *coded)
{
  const Cj2kEstimateOutcome outcome = cj2k_estimate_follow(range, estimates);

  coded->estimate = bytes_of(estimates[0], range->quad_rows);
  coded->last = bytes_of(estimates[outcome.last], range->quad_rows);
  coded->last_base = outcome.last_base;
  coded->left_out = outcome.verdict == CJ2K_ESTIMATE_OUT;
  if (coded->left_out || !range->near.count)
    return;
  coded->base = outcome.base;
  cj2k_set_base(frame, outcome.base);
}

/* Makes the estimates of a range, as code() does. */
static Cj2kStatus make_estimates(Cj2kRateFrame *frame, const Cj2kEstimateRange *range,
                                 uint64_t *estimates)
{
  Cj2kEstimateVerdict verdict = CJ2K_ESTIMATE_AGAIN;
  double base = range->base;
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t i = 0; verdict == CJ2K_ESTIMATE_AGAIN && status == CJ2K_OK; i++) {
    cj2k_set_base(frame, base);
    status = make_estimate(frame, &estimates[i]);
    if (status == CJ2K_OK)
      verdict = cj2k_estimate_judge(range, i, estimates[i], &base);
  }
  return status;
}

/* Layers consist of whole blocks, in the order of their slopes. They are measured before they are
 * coded, unless the estimate is out of range. */
static Cj2kStatus measure_for_layers(Cj2kRateFrame *frame, const Cj2kEstimateRange *range,
                                     Cj2kHtCoded *coded)
{
  Cj2kMeasured measured;
  uint64_t estimates[CJ2K_MOST_ESTIMATES] = {0};
  Cj2kStatus status = range ? make_estimates(frame, range, estimates) : CJ2K_OK;

  if (status != CJ2K_OK)
    return status;
  if (range)
    take_estimates(frame, range, estimates, coded);
  return coded->left_out ? CJ2K_OK : cj2k_ht_measure(frame, 1, 0, 1, &measured);
}

Cj2kStatus cj2k_ht_code_all(Cj2kRateFrame *frame, Cj2kHtOutlook outlook,
                            const Cj2kEstimateRange *range, Cj2kHtCoded *coded)
{
  const Cj2kMeasureJob likely = measure_job(frame, CJ2K_HT_CUT_STRIDE, 0, CJ2K_HT_CUT_PLANES);
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  Cj2kPacketSteps packets;
  Cj2kAheadJob ahead;
  Cj2kCodedBlocks blocks;
  Cj2kStatus status;

  *coded = (Cj2kHtCoded){0};
  if (frame->encoder->layers.count > 1) {
    if ((status = measure_for_layers(frame, range, coded)) != CJ2K_OK || coded->left_out)
      return status;
    range = NULL;
  }
  bool known = foresee(frame, outlook, &packets, &ahead);
  if (range && range->near.count)
    cj2k_frame_steps_rules(&frame->steps, frame->encoder->plan, frame->rules);
  const Cj2kCodeJob more = {.range = range,
                            .rules = frame->rules,
                            .likely = outlook == CJ2K_HT_SMALL_CUT ? &likely : NULL,
                            .ahead = known ? &ahead : NULL};
  if ((status = code(frame, NULL, &more, &blocks)) != CJ2K_OK)
    return status;
  if (range)
    take_estimates(frame, range, blocks.estimates, coded);
  if (coded->left_out)
    return CJ2K_OK;
  if (blocks.packet_sizes)
    status = cj2k_layout_run_sizes(&frame->layout, frame->steps.components, blocks.packet_sizes,
                                   frame->error);
  else
    status = lay_out_all(frame);
  if (status != CJ2K_OK)
    return status;
  coded->total = frame->layout.size.total;
  coded->cut = blocks.cut_ahead && cj2k_can_leave(frame) && coded->total > ahead.budget &&
               coded->total <= ahead.most;
  uint64_t bodies =
      coded->cut ? 0
                 : cj2k_ht_blocks_coded(&frame->ht, frame->encoder->plan, frame->steps.quantisers,
                                        blocks.blocks, blocks.lengths);
  coded->useful = cj2k_ceilings_useful(ceilings, &frame->layout.size);
  coded->header_bytes = coded->total - bodies;
  coded->fits = cj2k_ceilings_fit(ceilings, &frame->layout.size);
  if (outlook == CJ2K_HT_SMALL_CUT)
    frame->foreseen = coded->total >= ahead.least && coded->total <= ahead.most;
  return CJ2K_OK;
}

Cj2kStatus cj2k_ht_finish_layout(Cj2kRateFrame *frame)
{
  return cj2k_leave_finish(frame) ? CJ2K_OK : lay_out_all(frame);
}

/* --- chosen planes --- */

Cj2kStatus cj2k_ht_measure_lengths(Cj2kRateFrame *frame, uint32_t stride, uint8_t count,
                                   Cj2kMeasured *measured)
{
  const Cj2kMeasureJob job = {
      .quantisers = frame->steps.quantisers, .stride = stride, .num_planes = count};

  return cj2k_coder_measure(&frame->coder, &job, measured, frame->error);
}

Cj2kStatus cj2k_ht_estimate_bytes(Cj2kRateFrame *frame, double *bytes)
{
  uint64_t estimate = 0;
  Cj2kStatus status = make_estimate(frame, &estimate);

  *bytes = bytes_of(estimate, frame->encoder->estimate_stride);
  return status;
}

Cj2kStatus cj2k_ht_measure(Cj2kRateFrame *frame, uint32_t stride, uint8_t first, uint8_t count,
                           Cj2kMeasured *measured)
{
  const Cj2kMeasureJob job = measure_job(frame, stride, first, count);
  Cj2kStatus status = cj2k_coder_measure(&frame->coder, &job, measured, frame->error);

  if (status == CJ2K_OK)
    cj2k_rate_hulls_of_planes(frame, measured);
  return status;
}

/* Has place() code the chosen planes, each block into the room that it has. false: there is none.
 */
static bool code_in_place(Cj2kRateFrame *frame)
{
  if (!frame->coder.keeps_room ||
      !cj2k_ht_blocks_have_room(&frame->ht, frame->encoder->plan, frame->steps.quantisers,
                                frame->retained.lengths))
    return false;
  frame->ht.again = (Cj2kAgainJob){frame->ht.choices, frame->retained.lengths};
  frame->coder.again = &frame->ht.again;
  return true;
}

/* The parameters for fit.c to lay out blocks that are not coded yet. */
typedef struct {
  Cj2kRateFrame *frame;
  const Cj2kMeasured *measured;
  bool ahead; /* the first layout is mostly the last one */
  uint32_t layouts;
} Described;

/* Lets the back end code the chosen planes while the host lays them out. */
static Cj2kStatus code_ahead(Cj2kRateFrame *frame)
{
  const Cj2kPlaceJob again = {.out = NULL};

  if (!code_in_place(frame))
    return CJ2K_OK;
  Cj2kStatus status = cj2k_coder_begin_place(&frame->coder, &again, frame->error);
  frame->ht.ahead = status == CJ2K_OK;
  return status;
}

static Cj2kStatus lay_out_described(void *ctx, const Cj2kSelection *selection,
                                    Cj2kCodestreamSize *size)
{
  Described *described = ctx;
  Cj2kRateFrame *frame = described->frame;
  Cj2kStatus status = CJ2K_OK;

  cj2k_ht_blocks_describe(&frame->ht, frame->encoder->plan, frame->steps.quantisers,
                          described->measured->first_plane, described->measured->num_planes,
                          selection);
  if (!described->layouts++ && described->ahead)
    status = code_ahead(frame);
  if (status == CJ2K_OK)
    status = lay_out(frame);
  *size = frame->layout.size;
  return status;
}

/* Can blocks be coded before they are laid out? Only if the size of headers is known, so that the
 * first layout mostly fits, and if the back end does not put the codestream together, which it does
 * in the same call. */
static bool may_code_ahead(const Cj2kRateFrame *frame, uint64_t header_bytes)
{
  return header_bytes && !frame->coder.placed && frame->target.ceilings.component == UINT64_MAX;
}

/* Blocks that were coded ahead, but not as they are chosen now, are not at plane 0 any more: all
 * have to be coded. */
static void forget_ahead(Cj2kRateFrame *frame)
{
  if (!frame->ht.ahead)
    return;
  frame->ht.ahead = frame->ht.all_coded = false;
  frame->coder.again = NULL;
}

Cj2kStatus cj2k_ht_choose_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured,
                                 uint64_t *header_bytes)
{
  Described described = {frame, measured, may_code_ahead(frame, *header_bytes), 0};
  const Cj2kFitTask task = {.ceilings = &frame->target.ceilings,
                            .least_bytes = frame->encoder->least.frame,
                            .ht = true,
                            .lay_out = lay_out_described,
                            .ctx = &described};
  Cj2kFit fit = {.header_bytes = *header_bytes};

  forget_ahead(frame);
  cj2k_layout_set_source(&frame->layout, frame->ht.blocks, frame->ht.passes, NULL,
                         &frame->retained);
  Cj2kStatus status = cj2k_fit_frame(&task, &frame->hulls, &frame->retained, &fit);
  if (status == CJ2K_OK)
    status = cj2k_fit_components(&task, &frame->hulls, &frame->retained, &fit, frame->error);
  if (described.layouts > 1)
    forget_ahead(frame);
  *header_bytes = fit.header_bytes;
  return status;
}

void cj2k_ht_leave_cut(Cj2kRateFrame *frame)
{
  const Cj2kFitTask task = {.ceilings = &frame->target.ceilings, .ht = true};

  cj2k_leave_cut(frame, cj2k_fit_least(&task));
}

bool cj2k_ht_leave_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint64_t header_bytes)
{
  const Cj2kFitTask task = {
      .ceilings = &frame->target.ceilings, .least_bytes = frame->encoder->least.frame, .ht = true};
  Cj2kFit fit = {.header_bytes = header_bytes};
  uint64_t least;

  if (!header_bytes || !cj2k_can_leave(frame) || frame->target.average.rate ||
      !cj2k_fit_first(&task, &frame->hulls, &frame->retained, &fit, &least))
    return false;
  cj2k_ht_blocks_choose(&frame->ht, frame->encoder->plan, measured->first_plane,
                        measured->num_planes, &frame->retained);
  frame->layout.expected = (Cj2kExpectedSize){
      .to_backend = code_in_place(frame), .least = least, .most = frame->target.ceilings.frame};
  return frame->layout.expected.to_backend;
}

Cj2kStatus cj2k_ht_code_planes(Cj2kRateFrame *frame)
{
  if (frame->ht.ahead || code_in_place(frame)) {
    frame->layout.source.bytes = frame->ht.bytes;
    return CJ2K_OK;
  }
  Cj2kCodedBlocks coded;
  const Cj2kCodeJob no_more = {0};
  Cj2kStatus status = code(frame, frame->ht.choices, &no_more, &coded);
  if (status != CJ2K_OK || cj2k_ht_blocks_match(&frame->ht, frame->layout.source.blocks,
                                                frame->encoder->plan->num_blocks))
    return status; /* the layout is still valid */
  return cj2k_coder_unlike(frame->error);
}
