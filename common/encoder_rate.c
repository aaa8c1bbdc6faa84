/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encoder.h"

#include "error.h"

#include <string.h>

#define HT_SEARCH 24 /* bit-planes of the search for those */

static bool has_ceiling(const Cj2kEncoderFrame *frame)
{
  return frame->frame_bytes != UINT64_MAX || frame->component_bytes != UINT64_MAX;
}

static Cj2kStatus refuse_size(Cj2kEncoderFrame *frame)
{
  return cj2k_error_set(&frame->error, CJ2K_ERROR_LIMIT,
                        "the lossless frame needs %" G_GUINT64_FORMAT
                        " bytes, more than the %" G_GUINT64_FORMAT " that are allowed",
                        frame->size.total, frame->frame_bytes);
}

static void set_source(Cj2kEncoderFrame *frame)
{
  frame->source = (Cj2kPacketSource){.blocks = frame->result.blocks,
                                     .passes = frame->result.passes,
                                     .bytes = frame->result.bytes,
                                     .num_layers = frame->params.num_layers,
                                     .kept = frame->kept};
}

/* Codes all blocks as frame->job says. */
static Cj2kStatus code(Cj2kEncoderFrame *frame)
{
  frame->job.stride = 1;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->code);

  if (status != CJ2K_OK)
    return status;
  frame->measured = false;
  if (frame->result.saturated && frame->params.reversible_transform)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_ARGUMENT,
                          "guard-bits %u is too few: %" G_GUINT64_FORMAT
                          " coefficients of this frame do not fit",
                          frame->params.guard_bits, frame->result.saturated);
  set_source(frame);
  return CJ2K_OK;
}

static void make_hulls(Cj2kEncoderFrame *frame, uint32_t max_points)
{
  if (!frame->hulls.points)
    cj2k_hulls_init(&frame->hulls, frame->encoder->plan, max_points);
}

/* Everything that was coded goes into the codestream. */
static Cj2kStatus keep_all(Cj2kEncoderFrame *frame)
{
  for (uint32_t b = 0; b < frame->encoder->plan->num_blocks; b++)
    frame->options[b] = frame->source.blocks[b].num_passes;
  cj2k_encoder_frame_keep(frame);
  return cj2k_encoder_frame_layout(frame);
}

/* --- MQ: all passes are coded, and some are kept --- */

static Cj2kStatus code_mq(Cj2kEncoderFrame *frame)
{
  bool lossless = frame->params.rate_control == CJ2K_RATE_LOSSLESS;
  Cj2kStatus status = code(frame);

  if (status != CJ2K_OK)
    return status;
  if (has_ceiling(frame) || frame->params.num_layers > 1) {
    make_hulls(frame, CJ2K_MAX_PASSES);
    cj2k_hulls_set_passes(&frame->hulls, frame->source.blocks, frame->source.passes,
                          frame->steps.weights, 1, frame->encoder->threads);
  }
  if ((status = keep_all(frame)) != CJ2K_OK || cj2k_encoder_frame_fits(frame))
    return status;
  return lossless ? refuse_size(frame) : cj2k_encoder_frame_select(frame);
}

/* --- HT: bit-planes are measured, and one of them is coded --- */

/* Hulls and the source of packets from what the last step measured of all blocks. */
static void use_measured(Cj2kEncoderFrame *frame)
{
  make_hulls(frame, CJ2K_MAX_PASSES);
  cj2k_hulls_set_planes(&frame->hulls, frame->result.ht_lengths, frame->result.ht_distortions,
                        frame->job.num_planes, frame->steps.weights, frame->encoder->threads);
  frame->source = (Cj2kPacketSource){.blocks = frame->ht_blocks,
                                     .passes = frame->ht_passes,
                                     .num_layers = frame->params.num_layers,
                                     .kept = frame->kept};
}

/* Measures all blocks at planes first .. first + n - 1. */
static Cj2kStatus measure(Cj2kEncoderFrame *frame, uint8_t first, uint8_t n)
{
  Cj2kStatus status = CJ2K_OK;

  if (!frame->measured || frame->job.first_plane != first || frame->job.num_planes != n) {
    frame->job.stride = 1;
    frame->job.first_plane = first;
    frame->job.num_planes = n;
    frame->job.band_errors = false;
    status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  }
  if (status != CJ2K_OK)
    return status;
  frame->measured = true;
  use_measured(frame);
  return CJ2K_OK;
}

Cj2kStatus cj2k_encoder_frame_ht_total(Cj2kEncoderFrame *frame)
{
  use_measured(frame);
  return cj2k_encoder_frame_try_cut(frame, (Cj2kCut){0});
}

/* The highest bit-plane at which all blocks together take more than the budget: lower ones are not
 * needed. Sizes of some of the blocks stand for all. */
static Cj2kStatus find_first_plane(Cj2kEncoderFrame *frame, uint8_t *first)
{
  uint32_t blocks = frame->encoder->plan->num_blocks;
  uint64_t bytes[HT_SEARCH] = {0};

  frame->measured = false;
  frame->job.stride = cj2k_sample_stride(blocks);
  frame->job.first_plane = 0;
  frame->job.num_planes = HT_SEARCH;
  Cj2kStatus status = cj2k_encoder_frame_step(frame, frame->backend->measure);
  if (status != CJ2K_OK)
    return status;
  for (uint32_t b = 0; b < blocks; b += frame->job.stride)
    for (uint32_t p = 0; p < HT_SEARCH; p++)
      bytes[p] += (uint64_t)frame->result.ht_lengths[(size_t)b * HT_SEARCH + p] * frame->job.stride;
  *first = 0;
  while (*first < HT_SEARCH - CJ2K_HT_PLANES && bytes[*first + 1] > frame->frame_bytes)
    (*first)++;
  return CJ2K_OK;
}

/* Chooses planes under the ceilings, codes them, and makes sure that it is as it was measured. */
static Cj2kStatus code_ht_selected(Cj2kEncoderFrame *frame)
{
  Cj2kStatus status;

  if ((status = cj2k_encoder_frame_select(frame)) != CJ2K_OK)
    return status;
  frame->job.choices = frame->choices;
  status = code(frame);
  frame->job.choices = NULL;
  if (status != CJ2K_OK || (status = cj2k_encoder_frame_layout(frame)) != CJ2K_OK ||
      cj2k_encoder_frame_fits(frame))
    return status;
  return cj2k_error_set(&frame->error, CJ2K_ERROR_LIMIT,
                        "HT code-blocks are longer than was measured");
}

static Cj2kStatus code_ht(Cj2kEncoderFrame *frame)
{
  bool lossless = frame->params.rate_control == CJ2K_RATE_LOSSLESS;
  uint8_t first = 0;
  Cj2kStatus status;

  if (!frame->measured || !has_ceiling(frame)) { /* what the step sizes give may do */
    if (frame->params.num_layers > 1 && (status = measure(frame, 0, 1)) != CJ2K_OK)
      return status;
    if ((status = code(frame)) != CJ2K_OK || (status = keep_all(frame)) != CJ2K_OK ||
        cj2k_encoder_frame_fits(frame))
      return status;
    if (lossless)
      return refuse_size(frame);
    if ((status = find_first_plane(frame, &first)) != CJ2K_OK)
      return status;
  }
  if ((status = measure(frame, first, CJ2K_HT_PLANES)) != CJ2K_OK)
    return status;
  return code_ht_selected(frame);
}

Cj2kStatus cj2k_encoder_frame_code(Cj2kEncoderFrame *frame)
{
  frame->measured = false;
  Cj2kStatus status = cj2k_encoder_frame_steps(frame);

  if (status != CJ2K_OK)
    return status;
  return frame->params.block_coder == CJ2K_CODER_HT ? code_ht(frame) : code_mq(frame);
}
