/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search_ht.h"

#include "base.h"
#include "budget.h"
#include "strides.h"

#include <math.h>

#define SAMPLES 8   /* trials with a sample of the blocks */
#define TRIALS  24  /* with all blocks, at most */
#define POWER   0.8 /* bytes grow as base^-POWER, before anything else is known */
#define FAR     1.5 /* so far off the steps of an earlier frame are worth nothing, and samples are */

/* What a search wants, in budgets: the size to aim at, and what is accepted. What is above the
 * budget is cut off block by block, where it costs least; what is below stays unused. */
typedef struct {
  double aim, least, most;
} Window;

static const Window later = {1.006, 0.985, 1.03};
/* For a frame without an earlier one, which those after it begin with. */
static const Window first = {1.006, 0.999, 1.012};
/* For a search below the budget, when nothing can be cut off that is small enough. */
static const Window below = {0.998, 0.995, 1};
/* And when there is time for many trials. */
static const Window filled = {0.9999, 0.9998, 1};

/* A base whose sampled blocks take what all may, searched from *base on; *power: how their bytes
 * grow with it. */
static Cj2kStatus sample_base(Cj2kRateFrame *frame, double *power, double *base)
{
  uint32_t stride = cj2k_sample_stride(frame->encoder->plan->num_blocks);
  double target = (double)frame->target.ceilings.useful_frame * first.aim;
  /* A search of its own: a sample's bytes and those of all do not mix. */
  Cj2kBaseSearch search = cj2k_base_search(cj2k_least_base(frame->encoder), *power);
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

static Cj2kStatus code_with_base(Cj2kRateFrame *frame, double base, Cj2kHtCoded *coded)
{
  cj2k_set_base(frame, base);
  Cj2kStatus status = cj2k_ht_code_all(frame, coded);
  coded->base = base;
  return status;
}

/* What a search came to. */
typedef struct {
  bool found;         /* a size in the window, or one that fits with the finest steps there are */
  double first_total; /* bytes of its first trial */
} Found;

/*
 * Codes with one base after the other until the frame's size is found, or no other base is left. A
 * first base that is far off is worth nothing, and samples are.
 */
static Cj2kStatus search_base(Cj2kRateFrame *frame, const Window *window, double base,
                              bool may_be_far, Cj2kHtSearch *state, Found *found)
{
  Cj2kBaseSearch *search = &state->search;
  double budget = (double)frame->target.ceilings.useful_frame;
  Cj2kStatus status = CJ2K_OK;

  *found = (Found){0};
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    if ((status = code_with_base(frame, base, &state->coded)) != CJ2K_OK)
      return status;
    double total = (double)state->coded.useful;
    if (!trial)
      found->first_total = total;
    found->found = (total >= budget * window->least && total <= budget * window->most) ||
                   (total <= budget && base <= cj2k_least_base(frame->encoder));
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

/* Where to begin: at the result of an earlier frame, else of a search with samples. */
static Cj2kStatus first_base(Cj2kRateFrame *frame, const Cj2kRateMemory *memory,
                             Cj2kHtSearch *state, double *base)
{
  double least = cj2k_least_base(frame->encoder);
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
  state->recalled = cj2k_history_recall(&frame->encoder->history, frame->number, &memory);
  if ((status = first_base(frame, &memory, state, &base)) != CJ2K_OK ||
      (status = search_base(frame, state->recalled ? &later : &first, base, state->recalled, state,
                            &found)) != CJ2K_OK)
    return status;
  /* Sizes jump around the budget: better cut off what is too much than leave bytes unused. */
  if (!found.found && (double)state->coded.useful < budget && state->search.over > 0)
    status = code_with_base(frame, state->search.over, &state->coded);
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
  if (total > budget ||
      (total < budget * window->least && base > cj2k_least_base(frame->encoder))) {
    base = cj2k_base_search_next(search, base, total, budget * window->aim, 0);
    status = search_base(frame, window, base, false, state, &found);
  }
  if (status == CJ2K_OK && !found.found && search->fits > 0 && state->coded.base != search->fits)
    status = code_with_base(frame, search->fits, &state->coded);
  return status;
}
