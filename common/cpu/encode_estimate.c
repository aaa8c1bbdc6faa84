/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BLOCK CODER for HT: the estimate of what all blocks take. */
#include "common/shared/ht_estimate.h"
#include "encode.h"

typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kFrameQuantiser *quantisers;
  uint32_t quad_rows;
  uint64_t sum; /* atomic */
} EstimateStage;

/* The quads of two rows of quantiser indices; upper: the first one. A last odd column has zeros to
 * its right. */
static uint64_t estimate_row(const uint32_t *upper, const uint32_t *lower, uint32_t width)
{
  uint64_t sum = 0;
  uint32_t left = 0;

  for (uint32_t x = 0; x < width; x += 2) {
    bool right = x + 1 < width;
    uint32_t mu[4] = {upper[x], lower[x], right ? upper[x + 1] : 0, right ? lower[x + 1] : 0};
    uint32_t significant = 0, all = 0;
    for (int n = 0; n < 4; n++) {
      mu[n] &= 0x7FFFFFFF;
      significant += mu[n] != 0;
      all = MAX(all, mu[n]);
    }
    uint32_t exponent = cj2k_ht_exponent(all);
    sum += cj2k_ht_estimate_quad(significant, exponent, left);
    left = exponent;
  }
  return sum;
}

/* Quantises one row of a block; beyond its height: zeros. */
static void quantise_row(const EstimateStage *stage, uint32_t b, uint32_t y, uint32_t *out)
{
  const Cj2kPlan *plan = stage->slot->encoder->plan;
  const Cj2kPlanBlock *block = &plan->blocks[b];
  const Cj2kPlanBand *band = &plan->bands[block->band];
  const uint32_t *in = cj2k_encode_coefficients(stage->slot, b) + (size_t)y * band->stride;

  if (y >= block->height) {
    memset(out, 0, block->width * sizeof *out);
    return;
  }
  cj2k_quantise(in, band->stride, block->width, 1, band->reversible,
                stage->quantisers[block->band].inv_scale, out, block->width);
}

static void estimate_block(void *ctx, uint32_t b, uint32_t lane_index)
{
  EstimateStage *stage = ctx;
  const Cj2kPlanBlock *block = &stage->slot->encoder->plan->blocks[b];
  Cj2kEncodeLane *lane = cj2k_encode_lane(stage->slot, lane_index);
  uint32_t stride = stage->quad_rows;
  uint64_t sum = 0;

  if (!lane)
    return;
  uint32_t *upper = lane->block, *lower = lane->block + block->width;
  for (uint32_t row = cj2k_ht_estimate_first_row(b, stride); 2 * row < block->height;
       row += stride) {
    quantise_row(stage, b, 2 * row, upper);
    quantise_row(stage, b, 2 * row + 1, lower);
    sum += estimate_row(upper, lower, block->width);
  }
  __atomic_fetch_add(&stage->sum, sum, __ATOMIC_RELAXED);
}

uint64_t cj2k_encode_estimate(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers,
                              uint32_t quad_rows)
{
  EstimateStage stage = {slot, quantisers, quad_rows, 0};

  cj2k_parallel_for(slot->encoder->threads, slot->encoder->plan->num_blocks, estimate_block,
                    &stage);
  return stage.sum;
}
