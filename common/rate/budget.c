/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "budget.h"

#include "base_search.h"

#include <math.h>

#define BLOCK_HEADER 2.5 /* bytes of packet header per block, before anything is coded */

double cj2k_body_bytes(const Cj2kRateFrame *frame, double headers)
{
  double budget = (double)frame->target.ceilings.useful_frame;
  return MAX(budget - headers, 1);
}

double cj2k_least_base(const Cj2kRateFrame *frame)
{
  return MAX(cj2k_exact_base(frame->encoder->plan->header) * frame->least_visual, CJ2K_MIN_BASE);
}

double cj2k_useful_base(const Cj2kRateFrame *frame, double base)
{
  return MAX(cj2k_clamp_base(base), cj2k_least_base(frame));
}

double cj2k_guess_base(const Cj2kRateFrame *frame)
{
  const Cj2kRateEncoder *encoder = frame->encoder;
  double headers = (double)encoder->least.frame + encoder->plan->num_blocks * BLOCK_HEADER;
  double bytes =
      MAX(cj2k_body_bytes(frame, headers), (double)frame->target.ceilings.useful_frame / 4);
  double bits = bytes * 8 / cj2k_rate_samples(encoder);
  return cj2k_useful_base(frame, exp2(-4.5 - 1.6 * bits));
}

Cj2kHeaderEstimate cj2k_frame_headers(const Cj2kRateFrame *frame, const uint8_t *passes,
                                      const uint32_t *lengths, uint32_t stride)
{
  return cj2k_headers_estimate(frame->encoder->least.frame, passes, lengths,
                               frame->encoder->plan->num_blocks, stride);
}

/* Lengths of measured blocks at a plane, as frame->cut has them, and their sums: per component. */
static uint64_t *sum_components(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane)
{
  const Cj2kPlan *plan = frame->encoder->plan;
  uint64_t *components = g_new0(uint64_t, plan->num_components + 1u);

  frame->cut.hulls = NULL; /* it is no cut any more */
  for (uint32_t b = 0; b < plan->num_blocks; b += measured->stride) {
    uint32_t tile_comp = plan->bands[plan->blocks[b].band].tile_comp;
    uint32_t length = measured->lengths[(size_t)b * measured->num_planes + plane];
    frame->cut.lengths[b] = length;
    components[plan->tile_comps[tile_comp].component] += length;
  }
  return components;
}

uint64_t cj2k_measured_bytes(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane,
                             bool least)
{
  uint32_t stride = measured->stride;
  uint64_t *components = sum_components(frame, measured, plane), sum = 0;

  for (uint32_t c = 0; c < frame->encoder->plan->num_components; c++)
    sum += MIN(components[c], frame->target.ceilings.useful_component / stride);
  g_free(components);
  Cj2kHeaderEstimate headers = cj2k_frame_headers(frame, NULL, frame->cut.lengths, stride);
  return sum * stride + (least ? headers.least + frame->encoder->least.frame : headers.expected);
}

bool cj2k_measured_exceeds(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane)
{
  uint64_t most = frame->target.ceilings.useful_component / measured->stride;
  bool exceeds = false;

  if (frame->target.ceilings.useful_component == UINT64_MAX)
    return false;
  uint64_t *components = sum_components(frame, measured, plane);
  for (uint32_t c = 0; c < frame->encoder->plan->num_components; c++)
    exceeds |= components[c] > most;
  g_free(components);
  return exceeds;
}
