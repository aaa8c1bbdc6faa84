/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coding_ht.h"

#include "budget.h"
#include "fit.h"

/* Lays out frame->retained of the layout's blocks. */
static Cj2kStatus lay_out(Cj2kRateFrame *frame)
{
  cj2k_layout_divide(&frame->layout, &frame->retained, &frame->hulls, frame->target.ceilings.frame,
                     &frame->cut);
  return cj2k_layout_run(&frame->layout, frame->steps.components, frame->encoder->threads,
                         frame->error);
}

/* Codes all blocks at plane 0, or as `choices` says. `likely`: as in Cj2kCodeJob. */
static Cj2kStatus code(Cj2kRateFrame *frame, const Cj2kHtChoice *choices,
                       const Cj2kMeasureJob *likely)
{
  const Cj2kCodeJob job = {
      .quantisers = frame->steps.quantisers, .stride = 1, .choices = choices, .likely = likely};
  Cj2kCodedBlocks coded;
  uint64_t saturated;

  frame->ht.all_coded = false;
  Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, &coded, &saturated, frame->error);
  if (status == CJ2K_OK)
    status = cj2k_rate_check_saturated(frame, saturated);
  if (status == CJ2K_OK)
    cj2k_layout_set_source(&frame->layout, coded.blocks, coded.passes, coded.bytes,
                           &frame->retained);
  frame->ht.bytes = status == CJ2K_OK ? coded.bytes : NULL;
  return status;
}

/* --- plane 0 --- */

/* True if the frame is so far above its budget that an exact layout is not worth its time. *coded
 * then becomes an estimate. */
static bool is_far_above(const Cj2kRateFrame *frame, uint64_t bodies, Cj2kHtCoded *coded)
{
  if (!cj2k_rate_searches_steps(frame) || frame->encoder->layers.count > 1 ||
      frame->target.ceilings.component != UINT64_MAX)
    return false;
  Cj2kHeaderEstimate headers = cj2k_frame_headers(frame, NULL, frame->ht.at_plane_0, 1);
  coded->header_bytes = headers.expected;
  coded->total = coded->useful = bodies + headers.expected;
  return bodies + headers.least > frame->target.ceilings.frame;
}

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

Cj2kStatus cj2k_ht_code_all(Cj2kRateFrame *frame, bool cut_is_likely, Cj2kHtCoded *coded)
{
  const Cj2kMeasureJob likely = measure_job(frame, CJ2K_HT_CUT_STRIDE, 0, CJ2K_HT_CUT_PLANES);
  uint32_t num_blocks = frame->encoder->plan->num_blocks;
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  Cj2kMeasured measured;
  Cj2kStatus status;

  *coded = (Cj2kHtCoded){0};
  /* Layers consist of whole blocks, in the order of their slopes. */
  if (frame->encoder->layers.count > 1 &&
      (status = cj2k_ht_measure(frame, 1, 0, 1, &measured)) != CJ2K_OK)
    return status;
  if ((status = code(frame, NULL, cut_is_likely ? &likely : NULL)) != CJ2K_OK)
    return status;
  const Cj2kEncodedBlock *blocks = frame->layout.source.blocks;
  uint64_t bodies =
      cj2k_ht_blocks_coded(&frame->ht, frame->encoder->plan, frame->steps.quantisers, blocks);
  if (is_far_above(frame, bodies, coded))
    return CJ2K_OK;
  cj2k_selection_retain_all(&frame->retained, blocks, num_blocks);
  if ((status = lay_out(frame)) != CJ2K_OK)
    return status;
  coded->total = frame->layout.size.total;
  coded->useful = cj2k_ceilings_useful(ceilings, &frame->layout.size);
  coded->header_bytes = coded->total - bodies;
  coded->fits = cj2k_ceilings_fit(ceilings, &frame->layout.size);
  return CJ2K_OK;
}

/* --- chosen planes --- */

Cj2kStatus cj2k_ht_measure_lengths(Cj2kRateFrame *frame, uint32_t stride, uint8_t count,
                                   Cj2kMeasured *measured)
{
  const Cj2kMeasureJob job = {
      .quantisers = frame->steps.quantisers, .stride = stride, .num_planes = count};

  return cj2k_coder_measure(&frame->coder, &job, measured, frame->error);
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

/* The parameters for fit.c to lay out blocks that are not coded yet. */
typedef struct {
  Cj2kRateFrame *frame;
  const Cj2kMeasured *measured;
} Described;

static Cj2kStatus lay_out_described(void *ctx, const Cj2kSelection *selection,
                                    Cj2kCodestreamSize *size)
{
  const Described *described = ctx;
  Cj2kRateFrame *frame = described->frame;

  cj2k_ht_blocks_describe(&frame->ht, frame->encoder->plan, frame->steps.quantisers,
                          described->measured->first_plane, described->measured->num_planes,
                          selection);
  Cj2kStatus status = lay_out(frame);
  *size = frame->layout.size;
  return status;
}

Cj2kStatus cj2k_ht_choose_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured,
                                 uint64_t *header_bytes)
{
  Described described = {frame, measured};
  const Cj2kFitTask task = {.ceilings = &frame->target.ceilings,
                            .least_bytes = frame->encoder->least.frame,
                            .ht = true,
                            .lay_out = lay_out_described,
                            .ctx = &described};
  Cj2kFit fit = {.header_bytes = *header_bytes};

  cj2k_layout_set_source(&frame->layout, frame->ht.blocks, frame->ht.passes, NULL,
                         &frame->retained);
  Cj2kStatus status = cj2k_fit_frame(&task, &frame->hulls, &frame->retained, &fit);
  if (status == CJ2K_OK)
    status = cj2k_fit_components(&task, &frame->hulls, &frame->retained, &fit, frame->error);
  *header_bytes = fit.header_bytes;
  return status;
}

Cj2kStatus cj2k_ht_code_planes(Cj2kRateFrame *frame)
{
  if (frame->coder.keeps_room &&
      cj2k_ht_blocks_have_room(&frame->ht, frame->encoder->plan, frame->steps.quantisers)) {
    frame->ht.again = (Cj2kAgainJob){frame->ht.choices, frame->retained.lengths};
    frame->coder.again = &frame->ht.again;
    frame->layout.source.bytes = frame->ht.bytes;
    return CJ2K_OK;
  }
  Cj2kStatus status = code(frame, frame->ht.choices, NULL);
  if (status != CJ2K_OK || cj2k_ht_blocks_match(&frame->ht, frame->layout.source.blocks,
                                                frame->encoder->plan->num_blocks))
    return status; /* the layout is still valid */
  return cj2k_coder_unlike(frame->error);
}
