/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rate control of an HT frame: all blocks are coded at plane 0 with steps that take a little more
 * than the budget; if that is too much, some blocks are coded again at higher planes. For a small
 * frame, or one that uses its budget badly, other steps are compared afterwards.
 */
#include "control_ht.h"

#include "base.h"
#include "budget.h"
#include "compare.h"
#include "search_ht.h"
#include "strides.h"

#include <math.h>

#define PLANES 4  /* bit-planes measured if a large part must be cut */
#define MANY   8  /* bit-planes measured if one component may have to give up more than others */
#define SEARCH 24 /* bit-planes of the search for the first of those */
/* A frame that exceeds its budget by less than this part gives up planes of only some blocks. */
#define LITTLE 0.12
/* Part of a budget that counts as well used; the second for a frame that starts without an earlier
 * one. */
#define USED       0.985
#define FIRST_USED 0.995
/* Part of a budget that is a lot for headers. */
#define MUCH_HEADERS 0.2

/* --- chosen planes: what is measured --- */

/* The highest bit-plane at which all blocks together exceed the budget; lower planes need not be
 * measured. A sample of the blocks stands for all. */
static Cj2kStatus find_first_plane(Cj2kRateFrame *frame, uint8_t *first)
{
  uint64_t budget = frame->target.ceilings.useful_frame;
  Cj2kMeasured measured;
  Cj2kStatus status = cj2k_ht_measure_lengths(
      frame, cj2k_sample_stride(frame->encoder->plan->num_blocks), SEARCH, &measured);

  *first = 0;
  while (status == CJ2K_OK && *first < SEARCH - PLANES &&
         cj2k_measured_bytes(frame, &measured, *first + 1u, false) > budget)
    (*first)++;
  return status;
}

/* The bytes that measured blocks save at the highest measured plane. */
static uint64_t can_save(const Cj2kMeasured *measured, uint32_t num_blocks)
{
  uint64_t sum = 0;

  for (uint32_t b = 0; b < num_blocks; b += measured->stride) {
    const uint32_t *lengths = measured->lengths + (size_t)b * measured->num_planes;
    sum += lengths[0] - MIN(lengths[measured->num_planes - 1], lengths[0]);
  }
  return sum;
}

/* Measures all blocks at `count` planes from `first` on, and continues with lower or higher planes
 * until all blocks at the lowest plane exceed the budget, and those at the highest do not, nor a
 * component's own its ceiling: it would lose whole blocks. apart: blocks may need planes that are
 * far apart, so that those measured before are kept. */
static Cj2kStatus measure_around(Cj2kRateFrame *frame, uint8_t first, uint8_t count, bool apart,
                                 Cj2kMeasured *measured)
{
  uint64_t budget = frame->target.ceilings.useful_frame;
  Cj2kStatus status;

  for (bool lowered = false, raised = false;;) {
    uint8_t n = MIN(count, (uint8_t)(SEARCH - first)), more = (uint8_t)(n - 1);
    if ((status = cj2k_ht_measure(frame, 1, first, n, measured)) != CJ2K_OK)
      return status;
    bool low = cj2k_measured_bytes(frame, measured, 0, true) > budget,
         high = cj2k_measured_bytes(frame, measured, n - 1u, true) <= budget &&
                !cj2k_measured_exceeds(frame, measured, n - 1u);
    if (!low && first && !raised) {
      more = MIN(more, first);
      first = (uint8_t)(first - more);
      lowered = !apart;
    } else if (!high && first + n < SEARCH && !lowered) {
      first = (uint8_t)(first + (apart ? 0 : more));
      raised = true;
    } else {
      return CJ2K_OK;
    }
    if (apart)
      count = (uint8_t)(n + more);
  }
}

/* Bit-planes by which some blocks should be finer than others. Bands of the 9/7 filter have steps
 * with which their errors weigh alike; those of the 5/3 filter have steps of 1, and the lowest
 * resolutions weigh most. So do blocks in regions. */
static uint8_t planes_between_blocks(const Cj2kRateFrame *frame)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  double least = INFINITY, most = 0;

  for (uint32_t b = 0; b < plan->num_bands; b++) {
    least = MIN(least, frame->steps.weights[b]);
    most = MAX(most, frame->steps.weights[b]);
  }
  double bands = most > least ? log2(most / least) / 2 + 0.5 : 0;
  return (uint8_t)MIN(bands + frame->region_planes, SEARCH - PLANES);
}

/* Measures as many blocks as are needed to get within the ceilings: a sample if the excess is
 * small, else all. *header_bytes: estimate of the size of headers; 0: unknown. */
static Cj2kStatus measure_choices(Cj2kRateFrame *frame, const Cj2kHtCoded *coded, bool recalled,
                                  Cj2kMeasured *measured, uint64_t *header_bytes)
{
  const Cj2kCeilings *ceilings = &frame->target.ceilings;
  uint64_t budget = ceilings->frame, over = coded->total > budget ? coded->total - budget : 0;
  double part = (double)over / (double)budget;
  uint8_t first;
  Cj2kStatus status;

  *header_bytes = coded->header_bytes;
  if (part > 0 && part < LITTLE && ceilings->component == UINT64_MAX) {
    /* A block saves a quarter of its bytes with its lowest plane. Measure blocks for three times
     * the excess, and more if the frame started without an earlier one, which costs time only
     * once. What has been measured while the frame was coded will do for a smaller excess. */
    double most = recalled ? 0.1 : 0.02;
    bool small = recalled && part < CJ2K_HT_CUT_PART;
    uint32_t stride = small ? CJ2K_HT_CUT_STRIDE : cj2k_stride_at_most(most / part);
    status = cj2k_ht_measure(frame, stride, 0, CJ2K_HT_CUT_PLANES, measured);
    if (status != CJ2K_OK || can_save(measured, frame->encoder->plan->num_blocks) > over + over / 4)
      return status;
  }
  *header_bytes = 0; /* many blocks become shorter */
  status = find_first_plane(frame, &first);
  if (status != CJ2K_OK)
    return status;
  /* Components below their ceilings keep the lowest planes. */
  bool components = ceilings->component != UINT64_MAX;
  uint8_t finer = planes_between_blocks(frame), lower = MIN(first, components ? first : finer);
  return measure_around(frame, (uint8_t)(first - lower),
                        (uint8_t)((components ? MANY : PLANES) + lower), components || finer,
                        measured);
}

/* Gets within the ceilings, starting from all blocks at plane 0. */
static Cj2kStatus reduce(Cj2kRateFrame *frame, const Cj2kHtCoded *coded, bool recalled,
                         uint64_t *header_bytes)
{
  Cj2kMeasured measured;
  Cj2kStatus status = measure_choices(frame, coded, recalled, &measured, header_bytes);

  if (status == CJ2K_OK && recalled && cj2k_ht_leave_planes(frame, &measured, *header_bytes))
    return CJ2K_OK;
  if (status == CJ2K_OK)
    status = cj2k_ht_choose_planes(frame, &measured, header_bytes);
  return status == CJ2K_OK ? cj2k_ht_code_planes(frame) : status;
}

/* The same for a frame with regions of interest: with finer steps, so that the blocks of regions
 * can be at lower planes than the others, which keep the steps that were searched. */
static Cj2kStatus choose_in_regions(Cj2kRateFrame *frame, double base)
{
  uint64_t header_bytes = 0;
  Cj2kMeasured measured;

  cj2k_set_base(frame, cj2k_useful_base(frame, ldexp(base, -frame->region_planes)));
  Cj2kStatus status =
      measure_around(frame, 0, (uint8_t)(PLANES + frame->region_planes), false, &measured);
  if (status == CJ2K_OK)
    status = cj2k_ht_choose_planes(frame, &measured, &header_bytes);
  return status == CJ2K_OK ? cj2k_ht_code_planes(frame) : status;
}

/* --- other steps --- */

/* A base, and whether planes of blocks are chosen with it or all blocks are at plane 0. */
typedef struct {
  double base, error;
  bool chosen;
} Attempt;

/* Chooses planes for a base from all blocks. *error: the resulting error. */
static Cj2kStatus choose_with_base(Cj2kRateFrame *frame, double base, double *energy, double *error)
{
  uint64_t header_bytes = 0;
  Cj2kMeasured measured;

  cj2k_set_base(frame, base);
  Cj2kStatus status = cj2k_quantising_error(frame, error);
  if (status == CJ2K_OK)
    status = measure_around(frame, 0, PLANES, false, &measured);
  if (status == CJ2K_OK)
    status = cj2k_ht_choose_planes(frame, &measured, &header_bytes);
  if (status == CJ2K_OK)
    *error = cj2k_error_of_cut(cj2k_hulls_gains(&frame->hulls, &frame->retained), *error,
                               !measured.first_plane, energy);
  return status;
}

/* Compares `count` steps per octave from `base` to finer ones, with chosen planes. */
static Cj2kStatus compare_finer(Cj2kRateFrame *frame, double base, int count, double *energy,
                                Attempt *best)
{
  Cj2kStatus status = CJ2K_OK;

  for (int i = 0; i < count && status == CJ2K_OK; i++) {
    Attempt attempt = {.base = base * exp2(-(double)i / count), .chosen = true};
    status = choose_with_base(frame, attempt.base, energy, &attempt.error);
    if (attempt.error < best->error)
      *best = attempt;
  }
  return status;
}

/* The error of all blocks at plane 0 with the current steps. If most coefficients are zero, it is
 * computed from the gain of the others, which is known more precisely. */
static Cj2kStatus error_at_plane_0(Cj2kRateFrame *frame, double energy, double *error)
{
  Cj2kStatus status = cj2k_quantising_error(frame, error);
  Cj2kMeasured measured;

  if (status != CJ2K_OK || *error < energy / 4)
    return status;
  if ((status = cj2k_ht_measure(frame, 1, 0, 1, &measured)) != CJ2K_OK)
    return status;
  cj2k_hulls_apply(&frame->hulls, 0, &frame->cut);
  *error = energy - cj2k_hulls_gains(&frame->hulls, &frame->cut).taken;
  return CJ2K_OK;
}

/* Compares `count` steps per octave, with all blocks at plane 0, from `base`, with which everything
 * fits, to coarser ones, which are seldom better. */
static Cj2kStatus compare_coarser(Cj2kRateFrame *frame, double base, int count, double energy,
                                  Attempt *best)
{
  Cj2kStatus status = CJ2K_OK;

  for (int i = 0; i < count && status == CJ2K_OK; i++) {
    Attempt attempt = {.base = base * exp2((double)i / CJ2K_COMPARE_PHASES)};
    cj2k_set_base(frame, attempt.base);
    status = i ? cj2k_quantising_error(frame, &attempt.error)
               : error_at_plane_0(frame, energy, &attempt.error);
    if (attempt.error < (i ? best->error * CJ2K_COMPARE_SURELY : best->error))
      *best = attempt;
  }
  return status;
}

/* Codes with the best steps. */
static Cj2kStatus code_best(Cj2kRateFrame *frame, const Attempt *best, double *energy)
{
  Cj2kHtCoded coded;
  double error;
  Cj2kStatus status;

  if (!best->chosen) {
    cj2k_set_base(frame, best->base);
    status = cj2k_ht_code_all(frame, CJ2K_HT_NOT_KNOWN, NULL, &coded);
    if (status != CJ2K_OK || coded.fits)
      return status; /* coarser steps seldom take more bytes */
  }
  status = choose_with_base(frame, best->base, energy, &error);
  return status == CJ2K_OK ? cj2k_ht_code_planes(frame) : status;
}

/* With few blocks, cutting planes may leave too much unused or drop the wrong ones. Compares steps
 * with chosen planes and steps with which all blocks fit at plane 0 by the resulting error, and
 * codes with the best. */
static Cj2kStatus compare(Cj2kRateFrame *frame, Cj2kHtSearch *search)
{
  bool small = cj2k_compares_steps(frame, search->recalled);
  bool whole = cj2k_searches_whole(frame, search->recalled);
  double base = search->coded.base, energy = 0;
  Attempt best = {.error = INFINITY};
  Cj2kStatus status = CJ2K_OK;

  if (!search->coded.fits || whole)
    status = cj2k_ht_search_below(frame, whole, search);
  if (status == CJ2K_OK)
    status = compare_finer(frame, base, small ? CJ2K_COMPARE_PHASES : 2, &energy, &best);
  if (status == CJ2K_OK && search->coded.fits)
    status = compare_coarser(frame, search->coded.base,
                             small ? CJ2K_COMPARE_COARSER * CJ2K_COMPARE_PHASES : 1, energy, &best);
  return status == CJ2K_OK ? code_best(frame, &best, &energy) : status;
}

/* True if the frame uses so little of its budget, or needs so much of it for headers, that other
 * steps may be better. reduced: planes were chosen. */
static bool is_badly_used(const Cj2kRateFrame *frame, bool recalled, bool reduced,
                          uint64_t header_bytes)
{
  double used = recalled ? USED : FIRST_USED, budget = (double)frame->target.ceilings.frame;
  bool little = reduced && (double)frame->layout.size.total < used * budget;
  bool headers = !recalled && (double)header_bytes > MUCH_HEADERS * budget;

  return cj2k_rate_searches_steps(frame) && frame->target.ceilings.component == UINT64_MAX &&
         (little || headers);
}

/* --- the whole frame --- */

/* Codes all blocks at plane 0 with steps for the target. */
static Cj2kStatus code_at_plane_0(Cj2kRateFrame *frame, Cj2kHtSearch *search)
{
  *search = (Cj2kHtSearch){0};
  if (cj2k_rate_searches_steps(frame)) {
    Cj2kStatus status = cj2k_ht_search(frame, search);
    frame->outcome.base = search->memory.base;
    frame->outcome.demand = (uint64_t)search->memory.total;
    return status;
  }
  Cj2kStatus status = cj2k_steps_for_target(frame);
  if (status == CJ2K_OK)
    status = cj2k_ht_code_all(frame, CJ2K_HT_STAYS, NULL, &search->coded);
  frame->outcome.base = frame->pace;
  frame->outcome.demand = search->coded.total;
  if (status != CJ2K_OK || search->coded.fits || !cj2k_rate_limit(frame))
    return status;
  return cj2k_ht_search(frame, search);
}

static Cj2kStatus control(Cj2kRateFrame *frame)
{
  Cj2kHtSearch search;
  Cj2kStatus status = code_at_plane_0(frame, &search);

  if (status != CJ2K_OK)
    return status;
  /* Recorded early, because other frames wait for it. */
  cj2k_rate_record(frame, &search.memory);
  if (search.coded.cut) {
    cj2k_ht_leave_cut(frame);
    return CJ2K_OK;
  }
  bool reduced = !search.coded.fits;
  uint64_t header_bytes = search.coded.header_bytes;
  if (reduced && frame->target.mode == CJ2K_RATE_LOSSLESS)
    return cj2k_rate_refuse_lossless(frame);
  if (frame->regions.count && cj2k_rate_searches_steps(frame))
    return choose_in_regions(frame, search.coded.base);
  if (reduced)
    status = reduce(frame, &search.coded, search.recalled, &header_bytes);
  if (status == CJ2K_OK && !frame->layout.expected.to_backend &&
      (cj2k_compares_steps(frame, search.recalled) ||
       is_badly_used(frame, search.recalled, reduced, header_bytes)))
    status = compare(frame, &search);
  return status;
}

Cj2kStatus cj2k_control_ht(Cj2kRateFrame *frame)
{
  Cj2kStatus status = control(frame);

  return status == CJ2K_OK ? cj2k_ht_finish_layout(frame) : status;
}
