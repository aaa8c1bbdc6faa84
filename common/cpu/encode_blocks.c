/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/runtime/error.h"

#include <string.h>

/* Limits magnitudes to num_bitplanes bits. Returns how many were larger. */
static uint32_t saturate(uint32_t *samples, uint32_t n, uint32_t num_bitplanes)
{
  uint32_t limit = ((uint32_t)1 << num_bitplanes) - 1, all = 0, count = 0;

  for (uint32_t i = 0; i < n; i++)
    all |= samples[i] & 0x7fffffff;
  if (all <= limit)
    return 0;
  for (uint32_t i = 0; i < n; i++)
    if ((samples[i] & 0x7fffffff) > limit) {
      samples[i] = (samples[i] & 0x80000000) | limit;
      count++;
    }
  return count;
}

static const float *floats(const uint32_t *coefficients)
{
  return (const float *)(const void *)coefficients;
}

/* Quantises one block into the lane's memory and describes it in *source. */
static void quantise(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers, uint32_t index,
                     Cj2kEncodeLane *lane, Cj2kBlockSource *source)
{
  const Cj2kPlanBlock *block = &slot->encoder->plan->blocks[index];
  const Cj2kPlanBand *band = &slot->encoder->plan->bands[block->band];
  const Cj2kFrameQuantiser *quantiser = &quantisers[block->band];

  const uint32_t *coefficients = cj2k_encode_coefficients(slot, index);

  if (slot->encoder->best && !band->reversible)
    cj2k_ht_quantise(lane->block_scratch, floats(coefficients), band->stride, block->width,
                     block->height, quantiser->inv_scale, lane->block, block->width);
  else
    cj2k_quantise(coefficients, band->stride, block->width, block->height, band->reversible,
                  quantiser->inv_scale, lane->block, block->width);
  uint32_t saturated =
      saturate(lane->block, (uint32_t)block->width * block->height, quantiser->num_bitplanes);
  if (saturated)
    __atomic_fetch_add(&slot->result.saturated, saturated, __ATOMIC_RELAXED);
  *source = (Cj2kBlockSource){.samples = lane->block,
                              .stride = block->width,
                              .width = block->width,
                              .height = block->height,
                              .num_bitplanes = quantiser->num_bitplanes,
                              .orientation = band->orientation,
                              .style = band->block_style,
                              .reversible = band->reversible};
}

/* ----------------------------------------------------------------------------- measure --- */

typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kMeasureJob *job;
  bool lengths_known; /* lengths of the last code() are valid */
} MeasureStage;

/* The squared error of quantisation alone, with midpoint reconstruction
 * (Cj2kEncodeResult.band_errors). `chosen`: the magnitudes, where they do not follow from the
 * coefficients alone; else NULL. */
static uint64_t quantisation_error(const MeasureStage *stage, uint32_t index,
                                   const uint32_t *chosen)
{
  const Cj2kPlan *plan = stage->slot->encoder->plan;
  const Cj2kPlanBlock *block = &plan->blocks[index];
  const Cj2kPlanBand *band = &plan->bands[block->band];
  const float *in = floats(cj2k_encode_coefficients(stage->slot, index));
  float inv_scale = stage->job->quantisers[block->band].inv_scale;
  uint64_t sum = 0;

  for (uint32_t y = 0; y < block->height && !band->reversible; y++)
    for (uint32_t x = 0; x < block->width; x++) {
      float v = in[(size_t)y * band->stride + x], t = (v < 0 ? -v : v) * inv_scale;
      t = t < 2147483520.0f ? t : 2147483520.0f;
      uint32_t q = chosen ? chosen[(size_t)y * block->width + x] & 0x7FFFFFFF : (uint32_t)t;
      float left = t - (float)q;
      int32_t e = (int32_t)((q ? left - 0.5f : left) * 1024.0f);
      sum += (uint64_t)((int64_t)e * e);
    }
  return sum;
}

/* Whether the block was coded at this plane with the same step sizes, so that its length is known.
 */
static bool is_known(const MeasureStage *stage, uint32_t b, uint32_t plane)
{
  const Cj2kHtChoice *choice = &stage->slot->coded_choices[b];
  return stage->lengths_known && choice->passes == 1 && choice->plane == plane;
}

static void measure_lengths(const MeasureStage *stage, uint32_t b, Cj2kEncodeLane *lane,
                            const Cj2kBlockSource *source, uint32_t *lengths)
{
  for (uint32_t p = 0; p < stage->job->num_planes; p++) {
    uint32_t plane = stage->job->first_plane + p;
    if (is_known(stage, b, plane))
      lengths[p] = stage->slot->blocks[b].length;
    else
      cj2k_ht_cleanup_lengths(lane->block_scratch, source, (uint8_t)plane, 1, &lengths[p]);
  }
}

static void measure_one(void *ctx, uint32_t index, uint32_t lane_index)
{
  const MeasureStage *stage = ctx;
  const Cj2kMeasureJob *job = stage->job;
  Cj2kEncodeSlot *slot = stage->slot;
  uint32_t b = job->blocks ? job->blocks[index] : index * job->stride, planes = job->num_planes;
  uint32_t *lengths = slot->ht_lengths + (size_t)b * planes;
  uint64_t *distortions = slot->ht_distortions + (size_t)b * planes;
  Cj2kEncodeLane *lane = cj2k_encode_lane(slot, lane_index);
  Cj2kBlockSource source;

  if (!lane)
    return;
  quantise(slot, job->quantisers, b, lane, &source);
  measure_lengths(stage, b, lane, &source, lengths);
  for (uint32_t p = 0; p < planes && job->distortions; p++)
    distortions[p] =
        lengths[p] ? cj2k_ht_cleanup_distortion(&source, (uint8_t)(job->first_plane + p)) : 0;
  if (job->band_errors)
    __atomic_fetch_add(&slot->band_errors[slot->encoder->plan->blocks[b].band],
                       quantisation_error(stage, b, slot->encoder->best ? lane->block : NULL),
                       __ATOMIC_RELAXED);
}

static bool reserve(void **memory, size_t *allocated, size_t entries, size_t size)
{
  if (entries > *allocated) {
    g_free(*memory);
    *memory = g_try_malloc_n(entries, size);
    *allocated = *memory ? entries : 0;
  }
  return *memory != NULL;
}

static uint32_t num_tasks(const Cj2kEncodeSlot *slot, uint32_t stride)
{
  return (slot->encoder->plan->num_blocks + stride - 1) / stride;
}

/* Whether the step sizes are those of the last code(). */
static bool has_coded_quantisers(const Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers)
{
  for (uint32_t b = 0; b < slot->encoder->plan->num_bands; b++)
    if (slot->coded_quantisers[b].inv_scale != quantisers[b].inv_scale ||
        slot->coded_quantisers[b].num_bitplanes != quantisers[b].num_bitplanes)
      return false;
  return true;
}

void cj2k_encode_measure(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  size_t n = (size_t)plan->num_blocks + 1;
  MeasureStage stage = {slot, job, slot->coded && has_coded_quantisers(slot, job->quantisers)};

  if (!reserve((void **)&slot->ht_lengths, &slot->ht_lengths_size, n * MAX(job->num_planes, 1),
               sizeof *slot->ht_lengths) ||
      !reserve((void **)&slot->ht_distortions, &slot->ht_distortions_size,
               n * MAX(job->num_planes, 1), sizeof *slot->ht_distortions)) {
    slot->status = cj2k_error_set(&slot->error, CJ2K_ERROR_MEMORY, "no memory for block lengths");
    return;
  }
  if (job->stride > 1) {
    memset(slot->ht_lengths, 0, n * job->num_planes * sizeof *slot->ht_lengths);
    memset(slot->ht_distortions, 0, n * job->num_planes * sizeof *slot->ht_distortions);
  }
  memset(slot->band_errors, 0, plan->num_bands * sizeof *slot->band_errors);
  cj2k_parallel_for(slot->encoder->threads,
                    job->blocks ? job->num_blocks : num_tasks(slot, job->stride), measure_one,
                    &stage);
  slot->result.ht_lengths = slot->ht_lengths;
  slot->result.ht_distortions = slot->ht_distortions;
  slot->result.band_errors = slot->band_errors;
}

/* -------------------------------------------------------------------------------- code --- */

typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kCodeJob *job;
} CodeStage;

static void fail_capacity(Cj2kEncodeSlot *slot)
{
  g_mutex_lock(&slot->encoder->lock);
  slot->status = cj2k_error_set(&slot->error, CJ2K_ERROR_MEMORY,
                                "a code-block is longer than the memory reserved for it");
  g_mutex_unlock(&slot->encoder->lock);
}

/* The memory for one block's bytes and records. */
typedef struct {
  uint8_t *bytes;
  uint32_t capacity;
  Cj2kPassLength *passes;
  Cj2kHullPoint *points;
  uint8_t num_points;
} BlockOutput;

static void store_lengths(const Cj2kPassEnd *ends, uint32_t count, Cj2kPassLength *passes)
{
  for (uint32_t p = 0; p < count; p++)
    passes[p] = (Cj2kPassLength){ends[p].length, ends[p].terminated != 0};
}

/* For a cleanup pass alone, pass ends are not requested: that would compute its distortion, too. */
static bool code_ht(Cj2kEncodeLane *lane, const Cj2kBlockSource *source, Cj2kHtChoice choice,
                    BlockOutput *out, Cj2kBlockResult *result)
{
  Cj2kPassEnd ends[3];
  bool single = choice.passes == 1;
  bool ok = cj2k_ht_encode_block(lane->block_scratch, source, choice.plane, choice.passes - 1,
                                 out->bytes, out->capacity, single ? NULL : ends, result);

  if (single)
    out->passes[0] = (Cj2kPassLength){result->length, 1};
  else if (ok)
    store_lengths(ends, result->num_passes, out->passes);
  return ok;
}

static bool code_mq(Cj2kEncodeLane *lane, const Cj2kBlockSource *source, const Cj2kCodeJob *job,
                    const double *weight, BlockOutput *out, Cj2kBlockResult *result)
{
  Cj2kPassEnd ends[CJ2K_MAX_PASSES];

  if (!cj2k_mq_encode_block(lane->block_scratch, source, job->lowest_plane, out->bytes,
                            out->capacity, ends, result))
    return false;
  store_lengths(ends, result->num_passes, out->passes);
  if (weight)
    out->num_points = (uint8_t)cj2k_hull_of_passes(ends, result->num_passes, *weight, out->points);
  return true;
}

static void code_one(void *ctx, uint32_t index, uint32_t lane_index)
{
  const CodeStage *stage = ctx;
  const Cj2kCodeJob *job = stage->job;
  Cj2kEncodeSlot *slot = stage->slot;
  const Cj2kCpuEncoder *encoder = slot->encoder;
  uint32_t b = job->blocks ? job->blocks[index] : index * job->stride;
  uint32_t first_pass = b * encoder->max_passes;
  BlockOutput out = {.bytes = slot->bytes + encoder->byte_offsets[b],
                     .capacity =
                         (uint32_t)(encoder->byte_offsets[b + 1] - encoder->byte_offsets[b]),
                     .passes = slot->passes + first_pass};
  Cj2kHtChoice choice = job->choices ? job->choices[b] : (Cj2kHtChoice){.passes = 1};
  Cj2kEncodeLane *lane = cj2k_encode_lane(slot, lane_index);
  Cj2kBlockResult result = {0};
  Cj2kBlockSource source;
  bool ok = true;

  if (!lane || (encoder->ht && slot->coded && slot->coded_choices[b].plane == choice.plane &&
                slot->coded_choices[b].passes == choice.passes))
    return;
  if (encoder->ht && choice.passes) {
    quantise(slot, job->quantisers, b, lane, &source);
    ok = code_ht(lane, &source, choice, &out, &result);
  } else if (!encoder->ht) {
    quantise(slot, job->quantisers, b, lane, &source);
    out.points = slot->points + first_pass;
    ok = code_mq(lane, &source, job,
                 job->weights ? &job->weights[encoder->plan->blocks[b].band] : NULL, &out, &result);
  }
  if (!ok) {
    fail_capacity(slot);
    result = (Cj2kBlockResult){0};
  }
  slot->blocks[b] = (Cj2kEncodedBlock){.offset = encoder->byte_offsets[b],
                                       .length = result.length,
                                       .first_pass = first_pass,
                                       .first_point = first_pass,
                                       .num_points = out.num_points,
                                       .num_passes = result.num_passes,
                                       .zero_bitplanes = result.zero_bitplanes,
                                       .is_ht = encoder->ht};
  if (encoder->ht)
    slot->coded_choices[b] = choice;
}

void cj2k_encode_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  CodeStage stage = {slot, job};
  size_t bands = slot->encoder->plan->num_bands;

  /* HT: blocks coded with the same step sizes and choices are not coded again. */
  slot->coded = slot->coded && has_coded_quantisers(slot, job->quantisers);
  memcpy(slot->coded_quantisers, job->quantisers, bands * sizeof *job->quantisers);
  if (job->stride > 1)
    memset(slot->blocks, 0, slot->encoder->plan->num_blocks * sizeof *slot->blocks);
  /* The blocks that are not in the list are not coded, whatever the last code() left. */
  if (job->blocks && !slot->coded) {
    memset(slot->coded_choices, 0xff,
           slot->encoder->plan->num_blocks * sizeof *slot->coded_choices);
    slot->coded = slot->encoder->ht;
  }
  cj2k_parallel_for(slot->encoder->threads,
                    job->blocks ? job->num_blocks : num_tasks(slot, job->stride), code_one, &stage);
  slot->coded = job->stride == 1 && slot->status == CJ2K_OK;
  slot->result.blocks = slot->blocks;
  slot->result.passes = slot->passes;
  slot->result.points = slot->points;
  slot->result.bytes = slot->bytes;
}
