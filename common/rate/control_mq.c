/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rate control of an MQ frame: all passes are coded with steps that are fine enough, then the best
 * ones that fit are retained. For a small frame other steps are compared. The retained bytes are
 * gathered at the end, or during the layout. The back end may make the packets of one layer. If all
 * passes are retained, the host gets nothing of the blocks but the sizes of packets; else the first
 * selection is left to it, which mostly fits. If the frame knows enough of an earlier one, the back
 * end may make that selection itself, and the host then gets nothing of the blocks, either.
 */
#include "control_mq.h"

#include "base.h"
#include "compare.h"
#include "fit.h"
#include "headers.h"
#include "leave.h"
#include "leave_mq.h"
#include "search_mq.h"

#include <math.h>

/* Bisections of an octave in the search for the coarsest steps that fill the budget; and a base
 * with which all coefficients become zero. */
#define HALVINGS       10
#define MAX_WHOLE_BASE 16.0

/* State of the gathered bytes, which are those of the retained passes. */
typedef enum {
  AT_BACK_END = 0,
  COMING,       /* requested, for the current selection */
  COMING_WRONG, /* the selection has changed since they were requested */
} Bytes;

typedef struct {
  Cj2kRateFrame *frame;
  Cj2kCodedBlocks coded; /* with the current steps */
  bool hulls;            /* the hulls of the passes are known, so that some passes can be dropped */
  uint64_t least;        /* if the back end has cut them: bytes that the codestream must have */
  Bytes bytes;
} Mq;

/* --- coding --- */

/* True if blocks may have several codeword segments. */
static bool has_segments(const Cj2kRateFrame *frame)
{
  return frame->encoder->block_style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL);
}

/* Codes all passes with the current steps, without the lowest `uncoded` planes. ahead: as in
 * Cj2kCodeJob. */
static Cj2kStatus code_passes(Mq *mq, uint8_t uncoded, const Cj2kAheadJob *ahead)
{
  Cj2kRateFrame *frame = mq->frame;
  const Cj2kRateEncoder *encoder = frame->encoder;
  bool layers = encoder->layers.count > 1;
  bool decides = frame->target.mode == CJ2K_RATE_CBR || frame->limited;
  bool segments = has_segments(frame);
  const Cj2kCodeJob job = {.quantisers = frame->steps.quantisers,
                           .stride = 1,
                           .lowest_plane = uncoded,
                           .weights = decides || layers ? frame->steps.weights : NULL,
                           .pass_lengths = layers || segments,
                           .header_bits = segments && !layers && !decides,
                           .packet_sizes = cj2k_may_leave(frame),
                           .ahead = ahead};
  uint64_t saturated;

  mq->bytes = AT_BACK_END;
  Cj2kStatus status = cj2k_coder_code(&frame->coder, &job, &mq->coded, &saturated, frame->error);
  if (status == CJ2K_OK)
    status = cj2k_rate_check_saturated(frame, saturated);
  if (status != CJ2K_OK)
    return status;
  cj2k_layout_set_source(&frame->layout, mq->coded.blocks, mq->coded.passes, mq->coded.bytes,
                         &frame->retained);
  frame->layout.source.header_bits = mq->coded.header_bits;
  mq->hulls = job.weights && !mq->coded.cut;
  if (mq->hulls)
    cj2k_rate_hulls_of_passes(frame, &mq->coded);
  return CJ2K_OK;
}

static Cj2kStatus code_with_steps(Mq *mq, const Cj2kMqSteps *steps)
{
  return code_passes(mq, cj2k_mq_set_steps(mq->frame, steps), NULL);
}

/* The same with those of an earlier frame, whose headers took so many bytes (0: unknown). */
static Cj2kStatus code_with_recalled(Mq *mq, const Cj2kMqSteps *steps, uint64_t header_bytes)
{
  uint8_t uncoded = cj2k_mq_set_steps(mq->frame, steps);
  Cj2kPacketSteps packets;
  Cj2kAheadJob ahead;
  bool known = cj2k_mq_foresee(mq->frame, header_bytes, &packets, &ahead);

  mq->least = ahead.least;
  return code_passes(mq, uncoded, known ? &ahead : NULL);
}

/* --- gathering --- */

static Cj2kStatus begin_gather(Mq *mq)
{
  Cj2kRateFrame *frame = mq->frame;
  const Cj2kGatherJob job = {.retained_lengths = mq->hulls ? frame->retained.lengths : NULL};
  Cj2kStatus status = cj2k_coder_begin_gather(&frame->coder, &job, frame->error);

  mq->bytes = status == CJ2K_OK ? COMING : AT_BACK_END;
  return status;
}

/* Starts to gather the retained bytes if the selection is probably final. A wrong guess costs other
 * frames time. */
static Cj2kStatus gather_ahead(Mq *mq)
{
  if (!cj2k_coder_gathers(&mq->frame->coder))
    return CJ2K_OK;
  if (mq->bytes == AT_BACK_END && (!mq->hulls || mq->frame->encoder->alone))
    return begin_gather(mq);
  if (mq->bytes == COMING)
    mq->bytes = COMING_WRONG;
  return CJ2K_OK;
}

/* Waits until all bytes are there. */
static Cj2kStatus gather(Mq *mq)
{
  Cj2kRateFrame *frame = mq->frame;
  Cj2kStatus status = CJ2K_OK;

  if (!cj2k_coder_gathers(&frame->coder))
    return CJ2K_OK;
  if (mq->bytes != COMING)
    status = begin_gather(mq);
  return status == CJ2K_OK
             ? cj2k_coder_end_gather(&frame->coder, &frame->layout.source.bytes, frame->error)
             : status;
}

/* --- retained passes --- */

/* Lays out a selection; also called by fit.c. */
static Cj2kStatus lay_out(void *ctx, const Cj2kSelection *selection, Cj2kCodestreamSize *size)
{
  Mq *mq = ctx;
  Cj2kRateFrame *frame = mq->frame;

  cj2k_layout_divide(&frame->layout, selection, &frame->hulls, frame->target.ceilings.frame,
                     &frame->cut);
  Cj2kStatus status = gather_ahead(mq);
  if (status == CJ2K_OK)
    status = cj2k_layout_run(&frame->layout, frame->steps.components, frame->encoder->threads,
                             frame->error);
  *size = frame->layout.size;
  return status;
}

/* The bytes of the headers of a selection; called by fit.c. The array of retained passes, which is
 * set when the selection is laid out, is its workspace. */
static uint64_t count_headers(void *ctx, const Cj2kSelection *selection)
{
  const Mq *mq = ctx;
  const Cj2kRateFrame *frame = mq->frame;
  const Cj2kHeaderSource source = {.plan = frame->encoder->plan,
                                   .blocks = mq->coded.blocks,
                                   .passes = selection->options,
                                   .lengths = selection->lengths,
                                   .ends = has_segments(frame) ? mq->coded.passes : NULL,
                                   .plt = frame->layout.plt,
                                   .markers = cj2k_codestream_packet_markers(frame->layout.writer)};

  return cj2k_mq_empty_bytes(frame) + cj2k_headers_count(&source, frame->layout.retained);
}

/* Lays out everything that was coded: from the sizes of packets, if the back end has told them. */
static Cj2kStatus lay_out_all(Mq *mq)
{
  Cj2kRateFrame *frame = mq->frame;
  Cj2kCodestreamSize size;

  if (mq->coded.packet_sizes)
    return cj2k_layout_run_sizes(&frame->layout, frame->steps.components, mq->coded.packet_sizes,
                                 frame->error);
  cj2k_selection_retain_all(&frame->retained, mq->coded.blocks, frame->encoder->plan->num_blocks);
  return lay_out(mq, &frame->retained, &size);
}

/* True if no layout is needed, because all passes together exceed the ceiling of the frame even
 * without headers. With ceilings of components the size of each is needed. */
static bool is_above(const Mq *mq)
{
  uint64_t sum = 0;

  if (mq->frame->target.ceilings.component != UINT64_MAX)
    return false;
  for (uint32_t b = 0; mq->coded.blocks && b < mq->frame->encoder->plan->num_blocks; b++)
    sum += mq->coded.blocks[b].length;
  return sum > mq->frame->target.ceilings.frame;
}

typedef struct {
  bool less;             /* fewer passes than were coded */
  uint32_t slope;        /* slope of the cut; 0: only passes without gain were dropped */
  uint32_t floor;        /* slope that all passes must exceed, as they do in the hulls; 0: none */
  uint64_t header_bytes; /* on input an estimate, 0: unknown; on output the size of headers */
  bool leaves; /* the packets may be left to the back end: no other selection is compared */
  Cj2kRateMemory memory; /* for later frames, if the steps are for a budget */
} Retained;

static Cj2kRateMemory remember(const Mq *mq, const Cj2kMqSteps *steps, uint32_t slope,
                               uint64_t header_bytes)
{
  return steps ? cj2k_mq_memory(mq->frame, steps, slope, header_bytes) : (Cj2kRateMemory){0};
}

/* If headers are counted, the first selection is mostly the result, and tells later frames enough.
 * It must not depend on whether the back end makes packets of it, before their size is known. */
static Cj2kRateMemory remember_fit(const Mq *mq, const Cj2kMqSteps *steps, const Retained *retained,
                                   const Cj2kFit *fit)
{
  if (retained->header_bytes && cj2k_mq_counts_headers(mq->frame))
    return remember(mq, steps, MAX(fit->first_slope, retained->floor), fit->first_header_bytes);
  return remember(mq, steps, MAX(fit->slope, retained->floor), fit->header_bytes);
}

/* Retains everything that was coded. *fits: it is within the ceilings. */
static Cj2kStatus retain_all(Mq *mq, bool *fits)
{
  Cj2kRateFrame *frame = mq->frame;
  bool lossless = frame->target.mode == CJ2K_RATE_LOSSLESS;

  *fits = false;
  if (!lossless && is_above(mq))
    return CJ2K_OK;
  Cj2kStatus status = lay_out_all(mq);
  *fits = status == CJ2K_OK && cj2k_ceilings_fit(&frame->target.ceilings, &frame->layout.size);
  return status == CJ2K_OK && lossless && !*fits ? cj2k_rate_refuse_lossless(frame) : status;
}

/* Leaves packets of the first selection to the back end, if their headers can be counted, so that
 * it surely fits. */
static bool leave_passes(Mq *mq, const Cj2kFitTask *task, const Cj2kMqSteps *steps,
                         Retained *retained)
{
  Cj2kRateFrame *frame = mq->frame;
  Cj2kFit fit = {.header_bytes = retained->header_bytes};
  uint64_t least;

  if (!retained->leaves || !retained->header_bytes || !task->count_headers ||
      !cj2k_can_leave(frame) || frame->target.average.rate ||
      !cj2k_fit_first(task, &frame->hulls, &frame->retained, &fit, &least))
    return false;
  retained->less = true;
  retained->slope = fit.first_slope;
  retained->memory = remember_fit(mq, steps, retained, &fit);
  frame->retain = (Cj2kRetainJob){frame->retained.options, frame->retained.lengths};
  frame->coder.retain = &frame->retain;
  frame->layout.expected =
      (Cj2kExpectedSize){.to_backend = true, .least = least, .most = frame->target.ceilings.frame};
  return true;
}

/* Leaves what the back end has cut to it. */
static void leave_cut(Mq *mq, const Cj2kMqSteps *steps, Retained *retained)
{
  const Cj2kPassCut *cut = mq->coded.cut;

  retained->less = true;
  retained->slope = cut->slope;
  retained->memory = cj2k_mq_memory_of_cut(mq->frame, steps, cut);
  cj2k_leave_cut(mq->frame, mq->least);
}

/* Retains as much of the coded passes as fits. steps: those for a budget, else NULL. */
static Cj2kStatus retain_passes(Mq *mq, const Cj2kMqSteps *steps, Retained *retained)
{
  Cj2kRateFrame *frame = mq->frame;
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  const Cj2kFitTask task = {.ceilings = ceilings,
                            .least_bytes = frame->encoder->least.frame,
                            .lay_out = lay_out,
                            .count_headers = cj2k_mq_counts_headers(frame) ? count_headers : NULL,
                            .ctx = mq};
  Cj2kFit fit = {.header_bytes = retained->header_bytes};
  bool fits = false;
  Cj2kStatus status = CJ2K_OK;

  retained->less = false;
  retained->slope = 0;
  if (!retained->floor)
    status = retain_all(mq, &fits);
  if (fits)
    retained->memory = remember(mq, steps, retained->slope, retained->header_bytes);
  bool left = status == CJ2K_OK && !fits && leave_passes(mq, &task, steps, retained);
  if (retained->header_bytes) /* the frame has learnt from an earlier one */
    frame->foreseen = left;
  if (status != CJ2K_OK || fits || left)
    return status;
  status = cj2k_fit_frame(&task, &frame->hulls, &frame->retained, &fit);
  retained->less = true;
  retained->slope = MAX(fit.slope, retained->floor);
  if (status != CJ2K_OK)
    return status;
  retained->memory = remember_fit(mq, steps, retained, &fit); /* before components get floors */
  status = cj2k_fit_components(&task, &frame->hulls, &frame->retained, &fit, frame->error);
  retained->header_bytes = fit.header_bytes;
  return status;
}

/* --- other steps --- */

/* Steps, and the resulting error. */
typedef struct {
  Cj2kMqSteps steps;
  double error;
} Attempt;

/* The state that all attempts of a frame share. */
typedef struct {
  Mq *mq;
  double energy;     /* see cj2k_error_of_cut */
  Retained retained; /* result of the last attempt that was coded */
  Attempt best;
} Comparison;

/* Codes and selects passes with some steps, unless quantising alone costs more than the best
 * attempt. *less: passes had to be dropped; false if nothing was coded. */
static Cj2kStatus attempt(Comparison *c, Attempt *attempt, bool *less)
{
  Cj2kRateFrame *frame = c->mq->frame;
  Cj2kStatus status = cj2k_mq_quantising_error(frame, &attempt->steps, &attempt->error);

  *less = false;
  if (status != CJ2K_OK || attempt->error >= c->best.error)
    return status;
  if ((status = code_with_steps(c->mq, &attempt->steps)) == CJ2K_OK)
    status = retain_passes(c->mq, &attempt->steps, &c->retained);
  if (status != CJ2K_OK || !c->retained.less)
    return status;
  *less = true;
  const Cj2kSelection *cut = &frame->retained;
  /* Without the passes that only fill up the budget, which are arbitrary. */
  if (c->retained.slope) {
    cj2k_hulls_apply(&frame->hulls, c->retained.slope, &frame->cut);
    cut = &frame->cut;
  }
  attempt->error =
      cj2k_error_of_cut(cj2k_hulls_gains(&frame->hulls, cut), attempt->error, true, &c->energy);
  return CJ2K_OK;
}

/* Compares `steps`, finer ones within an octave, whose passes end elsewhere, and coarser ones.
 * *less: with the first ones passes had to be dropped. */
static Cj2kStatus compare_phases(Comparison *c, const Cj2kMqSteps *steps, bool *less,
                                 Cj2kRateMemory *memory)
{
  const int finer = CJ2K_COMPARE_PHASES, all = (1 + CJ2K_COMPARE_COARSER) * CJ2K_COMPARE_PHASES;
  Cj2kStatus status = CJ2K_OK;

  for (int i = 0; i < all && status == CJ2K_OK; i++) {
    double octaves = (double)(i < finer ? -i : i + 1 - finer) / CJ2K_COMPARE_PHASES;
    Attempt next = {
        .steps = cj2k_mq_steps_of(c->mq->frame, steps->base * exp2(octaves), &steps->factors)};
    bool next_less;
    status = attempt(c, &next, &next_less);
    if (next.error < (i < finer ? c->best.error : c->best.error * CJ2K_COMPARE_SURELY))
      c->best = next;
    if (!i) { /* later frames continue from the result of the search, whose steps are fine */
      *less = next_less;
      *memory = c->retained.memory;
    }
  }
  return status;
}

/* Compares the best steps with steps that are equal for all bands, from `base` on, with which all
 * passes just fill the budget, as rate control by step would. A frame of few blocks has few ends of
 * passes near its cut, which may be worse. */
static Cj2kStatus compare_whole(Comparison *c, double base)
{
  const Cj2kStepFactors factors = cj2k_no_factors();
  double over = base, octaves = 1;
  bool fits = false;

  while (octaves > 1.0 / (1 << HALVINGS) && over * exp2(octaves) < MAX_WHOLE_BASE) {
    double next_base = over * exp2(octaves);
    Attempt next = {.steps = cj2k_mq_steps_of(c->mq->frame, next_base, &factors)};
    bool less;
    Cj2kStatus status = attempt(c, &next, &less);
    if (status != CJ2K_OK)
      return status;
    if (next.error < c->best.error * CJ2K_COMPARE_ABOUT)
      c->best = next;
    fits |= !less;
    if (less)
      over = next_base;
    if (fits)
      octaves /= 2;
  }
  return CJ2K_OK;
}

/* Selects passes with different steps and keeps the best result. */
static Cj2kStatus compare(Mq *mq, const Cj2kMqSteps *steps, bool whole, Retained *retained)
{
  Comparison c = {.mq = mq, .retained = *retained, .best = {.steps = *steps, .error = INFINITY}};
  Cj2kRateMemory memory;
  bool less = false;
  Cj2kStatus status = compare_phases(&c, steps, &less, &memory);

  if (status == CJ2K_OK && less && whole)
    status = compare_whole(&c, steps->base);
  if (status == CJ2K_OK)
    status = code_with_steps(mq, &c.best.steps);
  if (status == CJ2K_OK)
    status = retain_passes(mq, &c.best.steps, &c.retained);
  *retained = c.retained;
  retained->memory = memory;
  return status;
}

/* --- the whole frame --- */

/* Leaves the packets to the back end if it has told their sizes. If it cannot put them together,
 * the blocks are coded once more, for the host. */
static Cj2kStatus finish_layout(Mq *mq)
{
  Cj2kRateFrame *frame = mq->frame;
  bool fits;

  if (cj2k_leave_finish(frame))
    return CJ2K_OK;
  frame->may_leave = false;
  Cj2kStatus status = code_passes(mq, 0, NULL);
  return status == CJ2K_OK ? retain_all(mq, &fits) : status;
}

/* Codes with steps for a budget: those of an earlier frame, or new ones if there are none or they
 * were not fine enough. *recalled: those of an earlier frame were tried. *header_bytes: estimate of
 * the size of headers; 0: unknown. */
static Cj2kStatus code_for_budget(Mq *mq, Cj2kMqSteps *steps, bool *recalled,
                                  uint64_t *header_bytes)
{
  Cj2kRateFrame *frame = mq->frame;
  Cj2kRateMemory memory;
  Cj2kStatus status;

  *recalled = cj2k_rate_recall(frame, &memory) && memory.budget == frame->target.ceilings.frame;
  *header_bytes = *recalled ? memory.headers : 0;
  if (*recalled) {
    *steps = (Cj2kMqSteps){memory.base, memory.factors};
    status = code_with_recalled(mq, steps, *header_bytes);
    if (status != CJ2K_OK || cj2k_mq_is_fine(frame, steps, mq->coded.cut))
      return status;
  }
  if ((status = cj2k_mq_search(frame, *recalled ? steps->base : INFINITY, steps)) == CJ2K_OK)
    status = code_with_steps(mq, steps);
  /* Ends at the latest with the finest possible steps. */
  while (status == CJ2K_OK && !cj2k_mq_is_fine(frame, steps, NULL)) {
    *steps = cj2k_mq_finer(frame, steps);
    status = code_with_steps(mq, steps);
  }
  return status;
}

/* Codes and selects passes, with steps for a budget. */
static Cj2kStatus run_budget(Mq *mq, Retained *retained)
{
  Cj2kMqSteps steps;
  bool recalled;
  Cj2kStatus status = code_for_budget(mq, &steps, &recalled, &retained->header_bytes);

  if (status != CJ2K_OK)
    return status;
  retained->leaves = !cj2k_compares_steps(mq->frame, recalled);
  if (mq->coded.cut) {
    leave_cut(mq, &steps, retained);
    return CJ2K_OK;
  }
  return !retained->leaves ? compare(mq, &steps, cj2k_searches_whole(mq->frame, recalled), retained)
                           : retain_passes(mq, &steps, retained);
}

/* The same with a budget that is no more than the average; reports how the frame turned out. */
static Cj2kStatus run_cbr(Mq *mq, Retained *retained)
{
  Cj2kStatus status = run_budget(mq, retained);

  if (status == CJ2K_OK && retained->slope) {
    mq->frame->outcome.base = cj2k_mq_base_of_slope(retained->slope);
    mq->frame->outcome.demand = mq->frame->layout.size.total;
  }
  return status;
}

/* The same with the base that keeps the average: all passes above the slope that belongs to it are
 * retained, or as many as fit. */
static Cj2kStatus run_pace(Mq *mq, Retained *retained)
{
  Cj2kRateFrame *frame = mq->frame;
  Cj2kRateMemory memory = {.factors = cj2k_no_factors()};
  bool recalled = cj2k_rate_recall(frame, &memory);
  const Cj2kStepFactors none = cj2k_no_factors();
  const Cj2kMqSteps steps =
      cj2k_mq_steps_of(frame, frame->pace, recalled ? &memory.factors : &none);
  Cj2kStatus status = code_with_steps(mq, &steps);

  if (status != CJ2K_OK)
    return status;
  retained->floor = MAX(cj2k_mq_slope_of_base(steps.base), 1);
  cj2k_hulls_set_floors(&frame->hulls, retained->floor);
  uint64_t bodies = cj2k_hulls_bytes(&frame->hulls, 0);
  status = retain_passes(mq, &steps, retained);
  frame->outcome.base = steps.base;
  frame->outcome.demand = bodies + retained->header_bytes;
  return status;
}

/* The same with the steps that the target determines. If they exceed a ceiling, that becomes the
 * budget. */
static Cj2kStatus run_target(Mq *mq, Retained *retained)
{
  Cj2kStatus status = cj2k_steps_for_target(mq->frame);
  bool fits;

  if (status == CJ2K_OK)
    status = code_passes(mq, 0, NULL);
  if (status != CJ2K_OK)
    return status;
  if (mq->frame->encoder->reversible)
    return retain_passes(mq, NULL, retained);
  status = retain_all(mq, &fits);
  return status == CJ2K_OK && !fits && cj2k_rate_limit(mq->frame) ? run_budget(mq, retained)
                                                                  : status;
}

Cj2kStatus cj2k_control_mq(Cj2kRateFrame *frame)
{
  Mq mq = {.frame = frame};
  Retained retained = {0};
  Cj2kStatus status = frame->pace > 0                   ? run_pace(&mq, &retained)
                      : cj2k_rate_searches_steps(frame) ? run_cbr(&mq, &retained)
                                                        : run_target(&mq, &retained);

  if (status != CJ2K_OK) {
    cj2k_coder_finish(&frame->coder);
    return status;
  }
  /* Recorded early, because other frames wait for it. */
  cj2k_rate_record(frame, &retained.memory);
  frame->limited |= retained.floor && retained.slope > retained.floor;
  status = finish_layout(&mq);
  return status == CJ2K_OK ? gather(&mq) : status;
}
