/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search_ht.h"

#include "base.h"
#include "budget.h"
#include "strides.h"

#include <math.h>

#define SAMPLES 8   /* trials with a sample of the blocks */
#define TRIALS  24  /* maximum number of trials with all blocks */
#define POWER   0.8 /* bytes are proportional to base^-POWER, unless more is known */
#define FAR     1.5 /* ratio to the budget from which on samples give a better base */

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
                                 Cj2kHtCoded *coded)
{
  cj2k_set_base(frame, base);
  Cj2kStatus status = cj2k_ht_code_all(frame, outlook, coded);
  coded->base = base;
  return status;
}

/* The result of a search. */
typedef struct {
  bool found;         /* the size is in the window, or fits with the finest possible steps */
  double first_total; /* bytes of the first trial */
} Found;

/*
 * Codes with different bases until the frame's size is in the window or no base is left. Returns
 * early if the first base is far off, because samples are better then.
 */
static Cj2kStatus search_base(Cj2kRateFrame *frame, const Window *window, double base,
                              bool may_be_far, Cj2kHtSearch *state, Found *found)
{
  Cj2kBaseSearch *search = &state->search;
  double budget = (double)frame->target.ceilings.useful_frame;
  /* A frame that learnt from an earlier one mostly needs one trial and a small cut. */
  Cj2kHtOutlook outlook = may_be_far ? CJ2K_HT_SMALL_CUT : CJ2K_HT_NOT_KNOWN;
  Cj2kStatus status = CJ2K_OK;

  *found = (Found){0};
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    status = code_with_base(frame, base, trial ? CJ2K_HT_NOT_KNOWN : outlook, &state->coded);
    if (status != CJ2K_OK)
      return status;
    double total = (double)state->coded.useful;
    if (!trial)
      found->first_total = total;
    found->found = (total >= budget * window->least && total <= budget * window->most) ||
                   (total <= budget && base <= cj2k_least_base(frame));
    if (found->found)
      return CJ2K_OK;
    cj2k_base_search_bound(search, base, total <= budget);
    double next = cj2k_base_search_next(search, base, total, budget * window->aim, trial);
    bool far = total > budget * FAR || total * FAR < budget;
    if (!trial && may_be_far && far &&
        (status = sample_base(frame, &search->power, &next)) != CJ2K_OK)
      return status;
    if (next == base || cj2k_base_search_is_closed(search))
      break;
    base = next;
  }
  return status;
}

/* The base to start with: from an earlier frame, else from a search with samples. */
static Cj2kStatus first_base(Cj2kRateFrame *frame, const Cj2kRateMemory *memory,
                             Cj2kHtSearch *state, double *base)
{
  double least = cj2k_least_base(frame);
  double wanted = (double)frame->target.ceilings.useful_frame * later.aim * exp(-memory->drift);

  if (state->recalled) {
    state->search = cj2k_base_search(least, memory->power);
    *base = cj2k_base_search_secant(&state->search, memory->base, memory->total, wanted);
    cj2k_base_search_forget(&state->search);
    return CJ2K_OK;
  }
  state->search = cj2k_base_search(least, POWER);
  *base = cj2k_guess_base(frame);
  return sample_base(frame, &state->search.power, base);
}

Cj2kStatus cj2k_ht_search(Cj2kRateFrame *frame, Cj2kHtSearch *state)
{
  Cj2kRateMemory memory = {0};
  double budget = (double)frame->target.ceilings.useful_frame, base;
  Cj2kStatus status;
  Found found;

  *state = (Cj2kHtSearch){0};
  state->recalled = cj2k_rate_recall(frame, &memory);
  if ((status = first_base(frame, &memory, state, &base)) != CJ2K_OK ||
      (status = search_base(frame, state->recalled ? &later : &first, base, state->recalled, state,
                            &found)) != CJ2K_OK)
    return status;
  /* Sizes jump at the budget: cutting the excess is better than leaving bytes unused. */
  if (!found.found && (double)state->coded.useful < budget && state->search.over > 0)
    status = code_with_base(frame, state->search.over, CJ2K_HT_NOT_KNOWN, &state->coded);
  state->memory = (Cj2kRateMemory){.base = state->coded.base,
                                   .total = (double)state->coded.useful,
                                   .power = state->search.power};
  if (state->recalled)
    state->memory.drift =
        cj2k_history_drift(memory.drift, found.first_total / (budget * later.aim));
  return status;
}

Cj2kStatus cj2k_ht_search_below(Cj2kRateFrame *frame, bool whole, Cj2kHtSearch *state)
{
  const Window *window = whole ? &filled : &below;
  Cj2kBaseSearch *search = &state->search;
  double budget = (double)frame->target.ceilings.useful_frame, total = (double)state->coded.useful;
  double base = state->coded.base;
  Cj2kStatus status = CJ2K_OK;
  Found found = {0};

  cj2k_base_search_bound(search, base, total <= budget);
  if (total > budget || (total < budget * window->least && base > cj2k_least_base(frame))) {
    base = cj2k_base_search_next(search, base, total, budget * window->aim, 0);
    status = search_base(frame, window, base, false, state, &found);
  }
  if (status == CJ2K_OK && !found.found && search->fits > 0 && state->coded.base != search->fits)
    status = code_with_base(frame, search->fits, CJ2K_HT_NOT_KNOWN, &state->coded);
  return status;
}
