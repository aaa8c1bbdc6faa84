/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The selection that fits: what a cut through the hulls costs is not guessed but laid out, with
 * every packet header, marker segment and tile-part, until the largest is found that keeps to the
 * ceilings.
 */
#include "encoder.h"

#include "error.h"

#include <math.h>
#include <string.h>

#define CUT_ROUNDS  8
#define FILL_ROUNDS 12

/* --- layers --- */

/* Bytes that layers 0..layer may have together. */
static uint64_t layer_bytes(const Cj2kEncoderFrame *frame, uint32_t layer)
{
  const Cj2kEncoderParams *p = &frame->params;
  const Cj2kEncoderImage *image = &frame->encoder->setup.image;
  double rate = p->layer_rates[layer], all = (double)cj2k_hulls_bytes(&frame->hulls, 0);

  if (rate > 0)
    return (uint64_t)(rate * image->width * image->height / 8);
  return (uint64_t)ldexp(MIN(all, (double)frame->frame_bytes), (int)layer + 1 - p->num_layers);
}

/* HT: what each block will be, known before it is coded. */
static void describe_ht_blocks(Cj2kEncoderFrame *frame)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  const Cj2kEncodeJob *job = &frame->job;

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    uint32_t n = frame->options[b], i = n ? job->num_planes - n : 0, plane = job->first_plane + i;
    uint32_t planes = job->quantisers[plan->blocks[b].band].num_bitplanes, length = 0;
    if (n)
      length = b % job->stride ? frame->coded_lengths[b]
                               : frame->result.ht_lengths[(size_t)b * job->num_planes + i];
    frame->choices[b] = (Cj2kHtChoice){.plane = (uint8_t)plane, .passes = n > 0};
    frame->ht_blocks[b] = (Cj2kEncodedBlock){.length = length,
                                             .first_pass = b,
                                             .num_passes = n > 0,
                                             .zero_bitplanes = (uint8_t)(planes - 1 - plane),
                                             .is_ht = 1};
    frame->ht_passes[b] = (Cj2kPassEnd){.length = length, .terminated = 1};
  }
}

void cj2k_encoder_frame_keep(Cj2kEncoderFrame *frame)
{
  size_t blocks = frame->encoder->plan->num_blocks;
  uint32_t last = frame->params.num_layers - 1u;
  bool ht = frame->params.block_coder == CJ2K_CODER_HT;
  uint8_t *kept = frame->kept + last * blocks;

  for (size_t b = 0; b < blocks; b++)
    kept[b] = ht ? frame->options[b] > 0 : frame->options[b];
  for (uint32_t layer = last; layer-- > 0;) {
    /* Packet headers take about the thirtieth part. */
    Cj2kCut cut = cj2k_hulls_cut(&frame->hulls, layer_bytes(frame, layer) / 30 * 29);
    cj2k_hulls_apply(&frame->hulls, cut, frame->layer_options);
    const uint8_t *above = kept;
    kept -= blocks;
    for (size_t b = 0; b < blocks; b++)
      kept[b] = MIN(frame->layer_options[b], above[b]);
  }
}

/* --- ceilings --- */

/* Bytes of a component that its ceiling counts: in 4K cinema only those of the 2K image. */
static uint64_t component_bytes(const Cj2kEncoderFrame *frame, uint32_t c)
{
  uint32_t n = frame->size.num_resolutions;
  uint32_t counted = frame->params.profile == CJ2K_PROFILE_CINEMA_4K ? n - 1 : n;
  uint64_t sum = 0;

  for (uint32_t r = 0; r < counted; r++)
    sum += frame->size.components[(size_t)c * n + r];
  return sum;
}

bool cj2k_encoder_frame_fits(const Cj2kEncoderFrame *frame)
{
  if (frame->size.total > frame->frame_bytes)
    return false;
  for (uint32_t c = 0; c < frame->encoder->plan->num_components; c++)
    if (component_bytes(frame, c) > frame->component_bytes)
      return false;
  return true;
}

Cj2kStatus cj2k_encoder_frame_try_cut(Cj2kEncoderFrame *frame, Cj2kCut cut)
{
  cj2k_hulls_apply(&frame->hulls, cut, frame->options);
  if (frame->params.block_coder == CJ2K_CODER_HT)
    describe_ht_blocks(frame);
  cj2k_encoder_frame_keep(frame);
  return cj2k_encoder_frame_layout(frame);
}

/* A cut and the size of the codestream that it makes. */
typedef struct {
  Cj2kCut cut;
  uint64_t total;
} Fit;

/* Raises the cut until the codestream fits. */
static Cj2kStatus raise_cut(Cj2kEncoderFrame *frame, uint32_t slope, Fit *best)
{
  Cj2kStatus status;

  do {
    if (slope == CJ2K_SLOPE_CLASSES - 1)
      return cj2k_error_set(&frame->error, CJ2K_ERROR_ARGUMENT,
                            "the budget of %" G_GUINT64_FORMAT
                            " bytes is less than the %" G_GUINT64_FORMAT
                            " that headers of empty code-blocks take",
                            frame->frame_bytes, frame->size.total);
    slope = MIN(slope + 1 + (CJ2K_SLOPE_CLASSES - 1 - slope) / 64, CJ2K_SLOPE_CLASSES - 1u);
    *best = (Fit){.cut = {.slope = slope}};
    if ((status = cj2k_encoder_frame_try_cut(frame, best->cut)) != CJ2K_OK)
      return status;
  } while (frame->size.total > frame->frame_bytes);
  best->total = frame->size.total;
  return CJ2K_OK;
}

/* The lowest cut whose codestream fits: each round knows what the headers of the one before took.
 */
static Cj2kStatus find_cut(Cj2kEncoderFrame *frame, Fit *best)
{
  uint64_t budget = frame->frame_bytes;
  uint64_t headers = MIN((uint64_t)frame->encoder->plan->num_blocks * 3 + 200, budget);
  Cj2kCut cut = {0};
  bool found = false;
  Cj2kStatus status;

  for (uint32_t round = 0; round < CUT_ROUNDS; round++) {
    cut = cj2k_hulls_cut(&frame->hulls, budget - headers);
    if (found && cut.slope >= best->cut.slope)
      break;
    if ((status = cj2k_encoder_frame_try_cut(frame, cut)) != CJ2K_OK)
      return status;
    uint64_t total = frame->size.total,
             kept = MIN(cj2k_hulls_bytes(&frame->hulls, cut.slope), total);
    if (total <= budget) {
      *best = (Fit){cut, total};
      found = true;
    }
    headers = MIN(total - kept + (total > budget ? headers / 64 + 1 : 0), budget);
  }
  return found ? CJ2K_OK : raise_cut(frame, cut.slope, best);
}

/* Takes more of the class at the cut, block after block, and then of those below it, while it fits.
 */
static Cj2kStatus fill(Cj2kEncoderFrame *frame, Fit *best)
{
  uint64_t slack = 0;
  Cj2kCut cut = best->cut;
  Cj2kStatus status;

  for (uint32_t round = 0; round < FILL_ROUNDS; round++) {
    while (cut.slope && !frame->hulls.histogram[cut.slope])
      cut.slope--;
    uint64_t room = frame->frame_bytes - best->total;
    if (!cut.slope || room <= slack)
      break;
    Cj2kCut more = cj2k_hulls_fill(&frame->hulls, cut, room - slack, 1);
    if (!more.extra)
      break;
    if ((status = cj2k_encoder_frame_try_cut(frame, more)) != CJ2K_OK)
      return status;
    if (frame->size.total > frame->frame_bytes) {
      slack += frame->size.total - frame->frame_bytes + 1;
      continue;
    }
    *best = (Fit){more, frame->size.total};
    if (cj2k_hulls_fill(&frame->hulls, cut, UINT64_MAX, 0).extra > more.extra)
      break;
    cut.slope--; /* that was the whole class */
  }
  return CJ2K_OK;
}

/* Raises the slope that component c's options must be above until it keeps to its ceiling. */
static Cj2kStatus raise_floor(Cj2kEncoderFrame *frame, uint32_t c, Cj2kCut cut)
{
  uint32_t low = MAX(cut.slope ? cut.slope - 1 : 0, frame->hulls.floors[c]),
           high = CJ2K_SLOPE_CLASSES - 1;
  Cj2kStatus status;

  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    cj2k_hulls_set_floor(&frame->hulls, c, middle);
    if ((status = cj2k_encoder_frame_try_cut(frame, cut)) != CJ2K_OK)
      return status;
    if (component_bytes(frame, c) <= frame->component_bytes)
      high = middle;
    else
      low = middle;
  }
  cj2k_hulls_set_floor(&frame->hulls, c, high);
  return CJ2K_OK;
}

/* The lowest cut under the ceiling of the frame, with the floors that components have. */
static Cj2kStatus fit_frame(Cj2kEncoderFrame *frame, Cj2kCut *cut)
{
  Fit best = {0};
  Cj2kStatus status;

  if (frame->frame_bytes != UINT64_MAX &&
      ((status = find_cut(frame, &best)) != CJ2K_OK || (status = fill(frame, &best)) != CJ2K_OK))
    return status;
  *cut = best.cut;
  return cj2k_encoder_frame_try_cut(frame, best.cut);
}

Cj2kStatus cj2k_encoder_frame_select(Cj2kEncoderFrame *frame)
{
  uint32_t n = frame->encoder->plan->num_components;
  Cj2kCut cut;
  Cj2kStatus status = fit_frame(frame, &cut);

  cj2k_encoder_frame_note_slope(frame, cut.slope);
  for (uint32_t round = 0; round < n && status == CJ2K_OK && !cj2k_encoder_frame_fits(frame);
       round++) {
    for (uint32_t c = 0; c < n && status == CJ2K_OK; c++)
      if (component_bytes(frame, c) > frame->component_bytes)
        status = raise_floor(frame, c, cut);
    if (status == CJ2K_OK) /* the others may have what these give back */
      status = fit_frame(frame, &cut);
  }
  if (status != CJ2K_OK || cj2k_encoder_frame_fits(frame))
    return status;
  return cj2k_error_set(&frame->error, CJ2K_ERROR_ARGUMENT,
                        "the budget of %" G_GUINT64_FORMAT
                        " bytes for a component is less than what headers take",
                        frame->component_bytes);
}
