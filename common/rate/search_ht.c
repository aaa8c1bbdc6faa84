/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search_ht.h"

#include "base.h"
#include "budget.h"
#include "strides.h"

#include <math.h>

#define SAMPLES 8    /* trials with a sample of the blocks */
#define TRIALS  24   /* maximum number of trials with all blocks */
#define APART   0.04 /* logarithm of the ratio of bases whose bytes tell how they depend on them */
#define BESIDE                                                                                     \
  0.1             /* the same, of a base whose estimate is compared with that of the first frame   \
                   */
#define POWER 0.8 /* bytes are proportional to base^-POWER, unless more is known */

/* The aim of a search and the accepted range, relative to the budget. Bytes above the budget are
 * cut block by block where it costs least; bytes below stay unused. */
typedef struct {
  double aim, least, most;
} Window;

static const Window later = {1.006, CJ2K_HT_USED, 1.03};
/* For a frame without an earlier one, from which later frames start. */
static const Window first = {1.006, 0.999, 1.012};
/* For a search below the budget, if nothing small enough can be cut. */
static const Window below = {0.998, 0.995, 1};
/* The same, if there is time for many trials. */
static const Window filled = {0.9999, 0.9998, 1};

/* Finds the base with which the sampled blocks take their share of the budget, starting at *base;
 * *power: how their bytes depend on it. */
static Cj2kStatus sample_base(Cj2kRateFrame *frame, double *power, double *base)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double target = (double)frame->target.ceilings.useful_frame * first.aim;
  /* A separate search, because the bytes of a sample and of all blocks are not comparable. */
  Cj2kBaseSearch search = cj2k_base_search(cj2k_least_base(frame), *power);
  Cj2kMeasured measured;

  for (uint32_t trial = 0; trial < SAMPLES; trial++) {
    cj2k_set_base(frame, *base);
    Cj2kStatus status = cj2k_ht_measure_lengths(frame, stride, 1, &measured);
    if (status != CJ2K_OK)
      return status;
    double bytes = (double)cj2k_measured_bytes(frame, &measured, 0, false);
    cj2k_base_search_bound(&search, *base, bytes <= target);
    double next = cj2k_base_search_next(&search, *base, bytes, target, trial);
    if (fabs(bytes / target - 1) < 0.01 || next == *base)
      break;
    *base = next;
  }
  *power = search.power;
  return CJ2K_OK;
}

static Cj2kStatus code_with_base(Cj2kRateFrame *frame, double base, Cj2kHtOutlook outlook,
                                 const Cj2kEstimateRange *range, Cj2kHtCoded *coded)
{
  cj2k_set_base(frame, base);
  Cj2kStatus status = cj2k_ht_code_all(frame, outlook, range, coded);
  if (!(coded->base > 0))
    coded->base = base;
  return status;
}

/* --- a frame that learnt from an earlier one --- */

/* Learns from the first and the last estimate of a frame how bytes depend on the base. Both are of
 * the same quads, so that it is what these say. Beyond the largest base steps stay as they are. */
static void learn_from_estimates(const Cj2kHtCoded *coded, double base, Cj2kBaseSearch *search)
{
  if (coded->last_base >= cj2k_clamp_base(INFINITY))
    return;
  cj2k_base_search_secant(search, base, coded->estimate, coded->estimate);
  cj2k_base_search_secant(search, coded->last_base, coded->last, coded->last);
  cj2k_base_search_forget(search);
}

/* The same from the only estimate, for `base`, and the bytes that a frame took with a base that was
 * not far from it: half of that, because how many times its estimate a frame takes varies, too. */
static void learn_from_bytes(const Cj2kHtCoded *coded, double base, double scale,
                             Cj2kBaseSearch *search)
{
  double ratio = log(coded->base / base), power = search->power;

  if (coded->left_out || !coded->useful || fabs(ratio) <= APART)
    return;
  double found = log(coded->estimate * scale / (double)coded->useful) / ratio;
  search->power = cj2k_clamp_power((power + CLAMP(found, power / 1.5, power * 1.5)) / 2);
}

/* Learns from a frame whose first estimate was made for `base`, and which may have been coded with
 * another one: how bytes depend on the base, and the estimate that it would have had. */
static void learn_choice(const Cj2kHtCoded *coded, double base, double scale, Cj2kHtSearch *state)
{
  if (coded->last_base != base)
    learn_from_estimates(coded, base, &state->search);
  else
    learn_from_bytes(coded, base, scale, &state->search);
  state->estimate = (Cj2kHtEstimate){.base = coded->last_base, .bytes = coded->last};
  if (coded->left_out || coded->base == coded->last_base || !coded->useful)
    return;
  double ratio = log(coded->base / coded->last_base);
  state->estimate =
      (Cj2kHtEstimate){coded->base, coded->last * exp(-ratio * state->search.power), true};
}

/* Codes with the base that the earlier frame suggests, or one close to it that fits the estimate.
 * If the picture has changed too much for that, codes with a corrected one. Such a frame mostly
 * needs one trial and a small cut. */
static Cj2kStatus code_recalled(Cj2kRateFrame *frame, const Cj2kRateMemory *memory,
                                Cj2kHtSearch *state)
{
  double target = (double)frame->target.ceilings.useful_frame * later.aim;
  Cj2kHtCoded *coded = &state->coded;
  Cj2kEstimateRange range;

  state->search = cj2k_base_search(cj2k_least_base(frame), memory->power);
  double base = cj2k_base_search_secant(&state->search, memory->base, memory->total,
                                        target * exp(-memory->drift));
  cj2k_base_search_forget(&state->search);
  if (memory->scale > 0)
    range = cj2k_ht_bases_around(frame, base, memory->power, target / memory->scale);
  else
    range = cj2k_ht_range_of_all(frame, base);
  Cj2kStatus status = code_with_base(frame, base, CJ2K_HT_SMALL_CUT, &range, coded);
  if (status != CJ2K_OK)
    return status;
  learn_choice(coded, base, memory->scale, state);
  state->first_total = coded->base == base && !coded->left_out ? (double)coded->useful
                                                               : coded->estimate * memory->scale;
  if (!coded->left_out)
    return CJ2K_OK;
  base = state->estimate.base;
  status =
      cj2k_ht_correct_base(frame, memory->scale, target, &state->search, &base, &state->estimate);
  if (status != CJ2K_OK)
    return status;
  range = cj2k_ht_range_of_all(frame, base);
  status = code_with_base(frame, base, CJ2K_HT_SMALL_CUT, &range, coded);
  state->estimate = (Cj2kHtEstimate){.base = base, .bytes = coded->estimate};
  return status;
}

/* Corrects by estimates the base that follows one whose frame missed the window, unless that leaves
 * the bounds. */
static Cj2kStatus correct_next(Cj2kRateFrame *frame, Cj2kHtSearch *state, double *next)
{
  const Cj2kHtCoded *coded = &state->coded;
  double target = (double)frame->target.ceilings.useful_frame * later.aim, base = *next;
  Cj2kBaseSearch search = state->search;
  Cj2kStatus status = cj2k_ht_estimate(frame, coded->base, &state->estimate);

  if (status != CJ2K_OK || !(state->estimate.bytes > 0) || !coded->useful)
    return status;
  status = cj2k_ht_correct_base(frame, (double)coded->useful / state->estimate.bytes, target,
                                &search, &base, &state->estimate);
  if (status == CJ2K_OK && base > search.over && (base < search.fits || !(search.fits > 0))) {
    state->search.power = search.power;
    *next = base;
  }
  return status;
}

/* --- the search --- */

/* Is what was coded last in the window, or does it fit with the finest possible steps? */
static bool is_found(const Cj2kRateFrame *frame, const Window *window, const Cj2kHtCoded *coded)
{
  double budget = (double)frame->target.ceilings.useful_frame, total = (double)coded->useful;

  return (total >= budget * window->least && total <= budget * window->most) ||
         (total <= budget && coded->base <= cj2k_least_base(frame));
}

/* Codes with other bases, beginning with what has been coded, until the frame's size is in the
 * window or no base is left. */
static Cj2kStatus search_base(Cj2kRateFrame *frame, const Window *window, bool recalled,
                              Cj2kHtSearch *state)
{
  Cj2kBaseSearch *search = &state->search;
  Cj2kHtCoded *coded = &state->coded;
  double budget = (double)frame->target.ceilings.useful_frame;
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t trial = 0; trial < TRIALS && !is_found(frame, window, coded); trial++) {
    double total = (double)coded->useful;
    cj2k_base_search_bound(search, coded->base, total <= budget);
    double next = cj2k_base_search_next(search, coded->base, total, budget * window->aim, trial);
    if (next == coded->base || cj2k_base_search_is_closed(search))
      break;
    if (recalled && !trial)
      status = correct_next(frame, state, &next);
    if (status == CJ2K_OK)
      status = code_with_base(frame, next, CJ2K_HT_NOT_KNOWN, NULL, coded);
    if (status != CJ2K_OK)
      break;
  }
  state->found = is_found(frame, window, coded);
  return status;
}

/* Codes with a base from a search with samples. */
static Cj2kStatus code_sampled(Cj2kRateFrame *frame, Cj2kHtSearch *state)
{
  double base = cj2k_guess_base(frame);

  state->search = cj2k_base_search(cj2k_least_base(frame), POWER);
  Cj2kStatus status = sample_base(frame, &state->search.power, &base);
  return status == CJ2K_OK ? code_with_base(frame, base, CJ2K_HT_NOT_KNOWN, NULL, &state->coded)
                           : status;
}

/* Makes the estimate for the base that was found, and one for a base beside it, which tell how
 * bytes depend on the base. */
static Cj2kStatus learn_power(Cj2kRateFrame *frame, Cj2kHtSearch *state)
{
  Cj2kHtEstimate other = {0};
  Cj2kStatus status = cj2k_ht_estimate(frame, state->coded.base * exp(BESIDE), &other);

  if (status == CJ2K_OK)
    status = cj2k_ht_estimate(frame, state->coded.base, &state->estimate);
  if (status != CJ2K_OK || !(other.bytes > 0) || !(state->estimate.bytes > 0))
    return status;
  cj2k_base_search_forget(&state->search);
  cj2k_base_search_secant(&state->search, other.base, other.bytes, other.bytes);
  cj2k_base_search_secant(&state->search, state->estimate.base, state->estimate.bytes,
                          state->estimate.bytes);
  cj2k_base_search_forget(&state->search);
  return CJ2K_OK;
}

/* What later frames learn from this one, which has learnt `earlier`. */
static Cj2kRateMemory remember(const Cj2kRateFrame *frame, const Cj2kRateMemory *earlier,
                               const Cj2kHtSearch *state)
{
  double target = (double)frame->target.ceilings.useful_frame * later.aim;
  Cj2kRateMemory memory = {.base = state->coded.base,
                           .total = (double)state->coded.useful,
                           .power = state->search.power};

  if (state->recalled)
    memory.drift = cj2k_history_drift(earlier->drift, state->first_total / target);
  if (state->estimate.base == state->coded.base && state->estimate.bytes > 0)
    memory.scale = memory.total / state->estimate.bytes;
  return memory;
}

Cj2kStatus cj2k_ht_search(Cj2kRateFrame *frame, Cj2kHtSearch *state)
{
  double budget = (double)frame->target.ceilings.useful_frame;
  Cj2kRateMemory earlier = {0};

  *state = (Cj2kHtSearch){0};
  state->recalled = cj2k_rate_recall(frame, &earlier);
  Cj2kStatus status =
      state->recalled ? code_recalled(frame, &earlier, state) : code_sampled(frame, state);
  if (status == CJ2K_OK)
    status = search_base(frame, state->recalled ? &later : &first, state->recalled, state);
  if (status != CJ2K_OK)
    return status;
  /* Sizes jump at the budget: cutting the excess is better than leaving bytes unused. */
  if (!state->found && (double)state->coded.useful < budget && state->search.over > 0)
    status = code_with_base(frame, state->search.over, CJ2K_HT_NOT_KNOWN, NULL, &state->coded);
  if (status == CJ2K_OK && !state->recalled && !frame->limited) /* else nobody learns from it */
    status = learn_power(frame, state);
  if (status == CJ2K_OK)
    state->memory = remember(frame, &earlier, state);
  return status;
}

Cj2kStatus cj2k_ht_search_below(Cj2kRateFrame *frame, bool whole, Cj2kHtSearch *state)
{
  const Cj2kBaseSearch *search = &state->search;
  Cj2kStatus status = search_base(frame, whole ? &filled : &below, false, state);

  if (status == CJ2K_OK && !state->found && search->fits > 0 && state->coded.base != search->fits)
    status = code_with_base(frame, search->fits, CJ2K_HT_NOT_KNOWN, NULL, &state->coded);
  return status;
}
