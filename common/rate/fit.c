/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The selection that fits: what a cut through the hulls costs is not guessed but laid out, with
 * every packet header, marker segment and tile-part, until the largest is found that keeps to the
 * ceilings.
 */
#include "common/encoder/encoder.h"

#include "common/runtime/error.h"

#include <math.h>
#include <string.h>

/* Layouts of a search. Up to FIT_ROUNDS, less than the LEAST_ROOM-th part of the budget may stay
 * unused; then, up to MOST_ROUNDS, less than the MUCH_ROOM-th part. */
#define FIT_ROUNDS  8
#define MOST_ROUNDS 48
#define LEAST_ROOM  8192
#define MUCH_ROOM   512
/* Steps of the search for bytes that leave room for the headers, by estimates. */
#define HEADER_ROUNDS 6
/* Bytes that are added to blocks need a part of that more in headers, at most. */
#define HEADER_PART 32

/* --- layers --- */

/* Bytes that layers 0..layer may have together. */
static uint64_t layer_bytes(const Cj2kEncoderFrame *frame, uint32_t layer)
{
  const Cj2kEncoderParams *p = &frame->params;
  const Cj2kEncoderImage *image = &frame->encoder->setup.image;
  double rate = p->layer_rates[layer], all = (double)cj2k_hulls_bytes(&frame->hulls, 0);

  if (rate > 0)
    return (uint64_t)(rate * image->width * image->height / 8);
  return (uint64_t)ldexp(MIN(all, (double)frame->ceilings.frame), (int)layer + 1 - p->num_layers);
}

/* HT: what each block will be, known before it is coded. */
static void describe_ht_blocks(Cj2kEncoderFrame *frame)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  const Cj2kEncodeJob *job = &frame->job;

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    uint32_t n = frame->options[b], i = n ? job->num_planes - n : 0, plane = job->first_plane + i;
    uint32_t planes = job->quantisers[plan->blocks[b].band].num_bitplanes;
    uint32_t length = frame->kept_lengths[b];
    frame->choices[b] = (Cj2kHtChoice){.plane = (uint8_t)plane, .passes = n > 0};
    frame->ht_blocks[b] = (Cj2kEncodedBlock){.length = length,
                                             .first_pass = b,
                                             .num_passes = n > 0,
                                             .zero_bitplanes = (uint8_t)(planes - 1 - plane),
                                             .is_ht = 1};
    frame->ht_passes[b] = (Cj2kPassLength){length, 1};
  }
}

/* Sets frame->kept from frame->options and, with several layers, frame->hulls. */
static void set_kept(Cj2kEncoderFrame *frame)
{
  size_t blocks = frame->encoder->plan->num_blocks;
  uint32_t last = frame->params.num_layers - 1u;
  bool ht = frame->params.block_coder == CJ2K_CODER_HT;
  uint8_t *kept = frame->kept + last * blocks;

  for (size_t b = 0; b < blocks; b++)
    kept[b] = ht && frame->options[b] ? frame->source.blocks[b].num_passes : frame->options[b];
  for (uint32_t layer = last; layer-- > 0;) {
    /* Packet headers take about the thirtieth part. */
    uint32_t slope = cj2k_hulls_cut(&frame->hulls, layer_bytes(frame, layer) / 30 * 29);
    cj2k_hulls_apply(&frame->hulls, slope, frame->layer_options, frame->cut_lengths);
    const uint8_t *above = kept;
    kept -= blocks;
    for (size_t b = 0; b < blocks; b++)
      kept[b] = MIN(frame->layer_options[b], above[b]);
  }
}

Cj2kStatus cj2k_encoder_frame_keep(Cj2kEncoderFrame *frame)
{
  set_kept(frame);
  Cj2kStatus status = cj2k_encoder_frame_begin_gather(frame);
  return status == CJ2K_OK ? cj2k_encoder_frame_layout(frame) : status;
}

/* --- ceilings --- */

uint64_t cj2k_encoder_frame_useful_bytes(const Cj2kEncoderFrame *frame)
{
  return cj2k_ceilings_useful(&frame->ceilings, &frame->size);
}

static Cj2kStatus refuse_budget(uint64_t budget, uint64_t needed, Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes is too small: headers need %" G_GUINT64_FORMAT " bytes",
                        budget, needed);
}

static Cj2kStatus refuse_component(uint64_t budget, uint32_t c, uint64_t needed, Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes for a component is too small: headers of component %u need "
                        "%" G_GUINT64_FORMAT " bytes",
                        budget, c, needed);
}

Cj2kStatus cj2k_encoder_check_ceilings(const Cj2kEncoder *encoder, uint64_t frame_bytes,
                                       uint64_t part_bytes, Cj2kError *error)
{
  if (frame_bytes < encoder->least_bytes)
    return refuse_budget(frame_bytes, encoder->least_bytes, error);
  for (uint32_t c = 0; c < encoder->plan->num_components; c++)
    if (part_bytes < encoder->least_components[c])
      return refuse_component(part_bytes, c, encoder->least_components[c], error);
  return CJ2K_OK;
}

bool cj2k_encoder_frame_fits(const Cj2kEncoderFrame *frame)
{
  return cj2k_ceilings_fit(&frame->ceilings, &frame->size);
}

static Cj2kStatus try_options(Cj2kEncoderFrame *frame)
{
  if (frame->params.block_coder == CJ2K_CODER_HT)
    describe_ht_blocks(frame);
  return cj2k_encoder_frame_keep(frame);
}

static Cj2kStatus try_cut(Cj2kEncoderFrame *frame, uint32_t slope)
{
  cj2k_hulls_apply(&frame->hulls, slope, frame->options, frame->kept_lengths);
  return try_options(frame);
}

/* Options that fill up a number of bytes, what they have of them, and the codestream with them. */
typedef struct {
  uint64_t bytes, bodies, total;
  uint32_t slope; /* of the cut */
} Fit;

static Cj2kStatus try_fit(Cj2kEncoderFrame *frame, uint64_t bytes, Fit *fit)
{
  fit->bytes = bytes;
  fit->slope =
      cj2k_hulls_take(&frame->hulls, bytes, frame->options, frame->kept_lengths, &fit->bodies);
  Cj2kStatus status = try_options(frame);
  fit->total = frame->size.total;
  return status;
}

/* Bytes for blocks that leave room for headers: by what these were in another layout of the frame
 * or of an earlier one, else by an estimate for what the cut keeps. */
static uint64_t first_bytes(Cj2kEncoderFrame *frame)
{
  uint64_t budget = frame->ceilings.frame, low = 0, high = budget - frame->encoder->least_bytes;

  if (frame->header_bytes)
    return budget - MIN(frame->header_bytes, budget);
  for (uint32_t round = 0; round < HEADER_ROUNDS && low < high; round++) {
    uint64_t bytes = low + (high - low + 1) / 2, bodies;
    cj2k_hulls_take(&frame->hulls, bytes, frame->options, frame->kept_lengths, &bodies);
    const uint8_t *passes = frame->params.block_coder == CJ2K_CODER_MQ ? frame->options : NULL;
    uint64_t headers = cj2k_encoder_frame_headers(frame, passes, frame->kept_lengths, 1).expected;
    if (bodies + headers > budget) {
      high = bytes - 1;
    } else {
      low = bytes;
      high = MIN(high, budget - headers); /* more bytes need no fewer headers */
    }
  }
  return low;
}

/* Bytes for blocks in the next round, between `low`, which fit, and `high`, which do not. */
static uint64_t next_bytes(const Cj2kEncoderFrame *frame, const Fit *last, uint64_t low,
                           uint64_t high)
{
  uint64_t budget = frame->ceilings.frame, bytes;

  if (last->total <= budget) { /* what is added needs headers, too */
    uint64_t room = budget - last->total;
    bytes = last->bodies + room - room / HEADER_PART;
  } else {
    uint64_t over = last->total - budget;
    over += over / HEADER_PART + 1;
    bytes = last->bodies > over ? last->bodies - over : 0;
  }
  if (bytes <= low || bytes >= high)
    bytes = low + (high - low) / 2;
  return bytes;
}

/* So little of the budget is unused that another round is not worth its time. */
static bool is_used(const Cj2kEncoderFrame *frame, const Fit *fit, uint32_t round)
{
  uint64_t budget = frame->ceilings.frame;

  return budget - fit->total <= budget / (round < FIT_ROUNDS ? LEAST_ROOM : MUCH_ROOM);
}

/* The most of the hulls whose codestream fits; it is laid out. Each round knows what headers took
 * in the one before, which changes little from cut to cut. Where not even nothing at all fits, that
 * is laid out. */
static Cj2kStatus find_cut(Cj2kEncoderFrame *frame, Fit *best)
{
  uint64_t budget = frame->ceilings.frame, low = 0, high = UINT64_MAX, bytes = first_bytes(frame);
  bool is_best = false; /* the last try */
  Cj2kStatus status;
  Fit last;

  *best = (Fit){.slope = CJ2K_SLOPE_CLASSES - 1, .total = frame->encoder->least_bytes};
  for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
    if ((status = try_fit(frame, bytes, &last)) != CJ2K_OK)
      return status;
    is_best = last.total <= budget && last.bodies >= best->bodies;
    if (is_best)
      *best = last;
    if (last.total <= budget)
      low = MAX(low, bytes);
    else
      high = MIN(high, last.bodies);
    if (!best->slope || high <= low + 1 || is_used(frame, best, round))
      break;
    bytes = next_bytes(frame, &last, low, high);
  }
  frame->header_bytes = best->total - best->bodies;
  return is_best ? CJ2K_OK : try_fit(frame, best->bytes, best);
}

/* Raises the slope that component c's options must be above until it keeps to its ceiling. */
static Cj2kStatus raise_floor(Cj2kEncoderFrame *frame, uint32_t c, uint32_t cut)
{
  uint64_t ceiling = frame->ceilings.component,
           size = cj2k_ceilings_counted(&frame->ceilings, &frame->size, c), slack = 0;
  uint32_t low = MAX(cut, frame->hulls.floors[c]), top = 0;
  Cj2kStatus status;

  while (size > ceiling && top < CJ2K_SLOPE_CLASSES - 1) {
    uint64_t bodies = cj2k_hulls_component_bytes(&frame->hulls, c, MAX(low, top));
    uint64_t less = size - ceiling + slack, limit = bodies > less ? bodies - less : 0;
    uint32_t bottom = MAX(low, top);
    for (top = CJ2K_SLOPE_CLASSES - 1; top - bottom > 1;) {
      uint32_t middle = bottom + (top - bottom) / 2;
      if (cj2k_hulls_component_bytes(&frame->hulls, c, middle) <= limit)
        top = middle;
      else
        bottom = middle;
    }
    cj2k_hulls_set_floor(&frame->hulls, c, top);
    if ((status = try_cut(frame, cut)) != CJ2K_OK)
      return status;
    size = cj2k_ceilings_counted(&frame->ceilings, &frame->size, c);
    slack = slack * 2 + 1;
  }
  return CJ2K_OK;
}

/* The lowest cut under the ceiling of the frame, with the floors that components have. */
static Cj2kStatus fit_frame(Cj2kEncoderFrame *frame, uint32_t *cut)
{
  Fit best = {0};
  Cj2kStatus status =
      frame->ceilings.frame == UINT64_MAX ? try_cut(frame, 0) : find_cut(frame, &best);

  *cut = best.slope;
  return status;
}

Cj2kStatus cj2k_encoder_frame_select(Cj2kEncoderFrame *frame)
{
  uint32_t n = frame->encoder->plan->num_components;
  uint32_t cut;
  Cj2kStatus status = fit_frame(frame, &cut);

  cj2k_encoder_frame_note_slope(frame, cut);
  for (uint32_t round = 0; round < n && status == CJ2K_OK && !cj2k_encoder_frame_fits(frame);
       round++) {
    for (uint32_t c = 0; c < n && status == CJ2K_OK; c++)
      if (cj2k_ceilings_counted(&frame->ceilings, &frame->size, c) > frame->ceilings.component)
        status = raise_floor(frame, c, cut);
    if (status == CJ2K_OK) /* the others may have what these give back */
      status = fit_frame(frame, &cut);
  }
  if (status != CJ2K_OK)
    return status;
  const Cj2kCeilings *ceilings = &frame->ceilings;
  if (frame->size.total > ceilings->frame)
    return refuse_budget(ceilings->frame, frame->size.total, &frame->error);
  uint32_t c = cj2k_ceilings_first_above(ceilings, &frame->size);
  if (c < n)
    return refuse_component(ceilings->component, c,
                            cj2k_ceilings_counted(ceilings, &frame->size, c), &frame->error);
  return CJ2K_OK;
}
