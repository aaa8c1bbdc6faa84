/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include <string.h>

#define MAX_PLANES      30 /* bit-planes that fit into 32-bit samples beside sign and half unit */
#define MAX_WIDE_PLANES 62

typedef struct {
  Cj2kDecodeSlot *slot;
  const Cj2kCodedFrame *coded;
  const uint32_t *blocks; /* numbers of the blocks; NULL: all of the plan */
  gint corrupt;           /* atomic */
} BlockStage;

/* The place of a block's coefficients. */
typedef struct {
  uint32_t *samples; /* int32_t or float, in fact */
  size_t stride;
  uint32_t width, height;
} Target;

static void clear(const Target *target)
{
  for (uint32_t y = 0; y < target->height; y++)
    memset(target->samples + y * target->stride, 0, target->width * sizeof *target->samples);
}

/* Decodes and dequantises one block that has passes. false: it is corrupt. */
static bool decode(Cj2kDecodeLane *lane, const Cj2kBlockInput *in, bool is_ht,
                   const Cj2kPlanBand *band, const Target *target)
{
  if (in->zero_bitplanes >= in->num_bitplanes)
    return false;
  /* An HT cleanup pass holds all planes from the top. */
  int planes = is_ht ? in->num_bitplanes : in->num_bitplanes - in->zero_bitplanes;
  if (planes <= MAX_PLANES) {
    bool ok = is_ht ? cj2k_ht_decode_block(lane->block_scratch, in, lane->block, in->width)
                    : cj2k_mq_decode_block(lane->block_scratch, in, lane->block, in->width);
    if (ok)
      cj2k_reconstruct(lane->block, in->width, in->width, in->height, band->roi_shift,
                       band->reversible, band->scale, target->samples, target->stride);
    return ok;
  }
  if (planes > MAX_WIDE_PLANES)
    return false;
  if (!lane->wide_block) /* rare, so allocated when first needed */
    lane->wide_block = g_new(uint64_t, 4096);
  bool ok = is_ht ? cj2k_ht_decode_block_wide(lane->block_scratch, in, lane->wide_block, in->width)
                  : cj2k_mq_decode_block_wide(lane->block_scratch, in, lane->wide_block, in->width);
  if (ok)
    cj2k_reconstruct_wide(lane->wide_block, in->width, in->width, in->height, band->roi_shift,
                          band->reversible, band->scale, target->samples, target->stride);
  return ok;
}

static void decode_one(void *ctx, uint32_t number, uint32_t lane_index)
{
  BlockStage *stage = ctx;
  uint32_t index = stage->blocks ? stage->blocks[number] : number;
  Cj2kDecodeSlot *slot = stage->slot;
  const Cj2kPlanBlock *block = &slot->plan->blocks[index];
  const Cj2kPlanBand *band = &slot->plan->bands[block->band];
  if (band->offset == UINT64_MAX) /* the resolution is discarded */
    return;

  Target target = {.samples = (uint32_t *)slot->memory.coefficients + band->offset +
                              (uint64_t)block->y * band->stride + block->x,
                   .stride = band->stride,
                   .width = block->width,
                   .height = block->height};
  const Cj2kCodedBlock *coded = &stage->coded->blocks[index];
  if (!coded->num_passes || coded->corrupt) { /* packet parsing has counted corrupt ones */
    clear(&target);
    return;
  }
  uint32_t planes = (uint32_t)band->num_bitplanes + band->roi_shift;
  Cj2kDecodeLane *lane = cj2k_decode_lane(slot, lane_index);
  if (!lane)
    return;
  Cj2kBlockInput in = {.data = cj2k_coded_data(stage->coded, coded),
                       .length = coded->length,
                       .segments = stage->coded->segments + coded->first_segment,
                       .num_segments = coded->num_segments,
                       .num_passes = coded->num_passes,
                       .zero_bitplanes = coded->zero_bitplanes,
                       .num_bitplanes = (uint8_t)MIN(planes, UINT8_MAX),
                       .orientation = band->orientation,
                       .style = band->block_style,
                       .width = block->width,
                       .height = block->height};
  if (!decode(lane, &in, coded->is_ht, band, &target)) {
    g_atomic_int_inc(&stage->corrupt);
    clear(&target);
  }
}

uint32_t cj2k_decode_some_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const uint32_t *blocks, uint32_t count)
{
  BlockStage stage = {.slot = slot, .coded = coded, .blocks = blocks};
  cj2k_parallel_for(slot->threads, count, decode_one, &stage);
  return (uint32_t)stage.corrupt;
}

uint32_t cj2k_decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded)
{
  BlockStage stage = {.slot = slot, .coded = coded};
  cj2k_parallel_for(slot->threads, slot->plan->num_blocks, decode_one, &stage);
  return coded->corrupt_blocks + (uint32_t)stage.corrupt;
}
