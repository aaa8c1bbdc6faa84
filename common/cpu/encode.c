/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/runtime/error.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT     64
#define MAX_BITPLANES 31 /* Mb of any step size */
#define HT_PASSES     3  /* of one HT set */

/* 64-byte aligned memory, not cleared; NULL: out of memory. */
static void *allocate(uint64_t size)
{
  void *memory = NULL;
  if (size > SIZE_MAX - ALIGNMENT || posix_memalign(&memory, ALIGNMENT, MAX(size, ALIGNMENT)))
    return NULL;
  return memory;
}

/* ---------------------------------------------------------------------------- back end --- */

/*
 * Reserves bytes for each block: one and a half times one bit for each sample and bit-plane, its
 * sign, and a margin. The system provides pages when they are written, so unused ones cost nothing.
 */
static void reserve_bytes(Cj2kCpuEncoder *encoder)
{
  const Cj2kPlan *plan = encoder->plan;
  uint64_t offset = 0;

  encoder->byte_offsets = g_new(uint64_t, (size_t)plan->num_blocks + 1);
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    uint64_t samples = (uint64_t)plan->blocks[b].width * plan->blocks[b].height;
    encoder->byte_offsets[b] = offset;
    offset += (samples * (MAX_BITPLANES + 2) * 3 / 16 + 1024 + ALIGNMENT - 1) &
              ~(uint64_t)(ALIGNMENT - 1);
  }
  encoder->byte_offsets[plan->num_blocks] = offset;
}

static void *backend_open(const Cj2kEncoderParams *params, Cj2kPlan *plan, Cj2kThreads *threads,
                          Cj2kError *error)
{
  Cj2kCpuEncoder *encoder = g_new0(Cj2kCpuEncoder, 1);

  (void)error;
  encoder->threads = threads;
  encoder->plan = cj2k_plan_ref(plan);
  encoder->ht = params->block_coder == CJ2K_CODER_HT;
  encoder->best = encoder->ht && params->rate_effort == CJ2K_EFFORT_BEST;
  encoder->rgb_to_xyz = params->rgb_to_xyz == CJ2K_XYZ_ON;
  encoder->max_passes = encoder->ht ? HT_PASSES : 3 * MAX_BITPLANES;
  encoder->strips = g_array_new(FALSE, FALSE, sizeof(Cj2kEncodeStrip));
  g_mutex_init(&encoder->lock);
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kRect *rect = &plan->tile_comps[i].rect;
    encoder->max_width = MAX(encoder->max_width, rect->x1 - rect->x0);
  }
  encoder->row_scratch =
      (cj2k_dwt_scratch_size(encoder->max_width) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  cj2k_encode_list_strips(encoder);
  reserve_bytes(encoder);
  return encoder;
}

static void backend_close(void *data)
{
  Cj2kCpuEncoder *encoder = data;

  cj2k_plan_unref(encoder->plan);
  g_array_unref(encoder->strips);
  g_free(encoder->byte_offsets);
  g_free(encoder->xyz);
  g_mutex_clear(&encoder->lock);
  g_free(encoder);
}

/* ------------------------------------------------------------------------------- slots --- */

static void lane_clear(Cj2kEncodeLane *lane)
{
  cj2k_block_scratch_free(lane->block_scratch);
  free(lane->block);
  free(lane->rows);
  free(lane->unpacked);
  memset(lane, 0, sizeof *lane);
}

Cj2kEncodeLane *cj2k_encode_lane(Cj2kEncodeSlot *slot, uint32_t index)
{
  Cj2kEncodeLane *lane = &slot->lanes[index];

  if (lane->unpacked)
    return lane;
  lane->block_scratch = cj2k_block_scratch_new();
  lane->block = allocate(CJ2K_ENCODE_BLOCK_AREA * sizeof *lane->block);
  lane->rows = allocate(3 * slot->encoder->row_scratch);
  lane->unpacked = allocate(3 * (uint64_t)slot->encoder->max_width * sizeof *lane->unpacked);
  if (lane->block_scratch && lane->block && lane->rows && lane->unpacked)
    return lane;
  lane_clear(lane);
  g_mutex_lock(&slot->encoder->lock);
  slot->status =
      cj2k_error_set(&slot->error, CJ2K_ERROR_MEMORY, "no memory for the work of a thread");
  g_mutex_unlock(&slot->encoder->lock);
  return NULL;
}

static void slot_free(void *data, Cj2kEncodeSlot *slot)
{
  (void)data;
  if (!slot)
    return;
  for (uint32_t i = 0; i < cj2k_threads_count(slot->encoder->threads); i++)
    lane_clear(&slot->lanes[i]);
  g_free(slot->lanes);
  g_array_unref(slot->strips);
  free(slot->coefficients);
  free(slot->lowpass);
  free(slot->bytes);
  free(slot->blocks);
  free(slot->passes);
  free(slot->points);
  g_free(slot->ht_lengths);
  g_free(slot->ht_distortions);
  g_free(slot->band_errors);
  g_free(slot->coded_choices);
  g_free(slot->coded_quantisers);
  g_free(slot->chosen);
  g_free(slot);
}

static Cj2kEncodeSlot *slot_new(void *data, Cj2kError *error)
{
  Cj2kCpuEncoder *encoder = data;
  const Cj2kPlan *plan = encoder->plan;
  uint64_t blocks = (uint64_t)plan->num_blocks + 1;
  Cj2kEncodeSlot *slot = g_new0(Cj2kEncodeSlot, 1);

  slot->encoder = encoder;
  slot->lanes = g_new0(Cj2kEncodeLane, cj2k_threads_count(encoder->threads));
  slot->strips = g_array_new(FALSE, FALSE, sizeof(Cj2kEncodeStrip));
  slot->coefficients = allocate(plan->num_coefficients * 4);
  slot->lowpass = allocate(plan->num_lowpass * 4);
  slot->bytes = allocate(encoder->byte_offsets[plan->num_blocks]);
  slot->blocks = allocate(blocks * sizeof *slot->blocks);
  slot->passes = allocate((blocks * encoder->max_passes + CJ2K_MAX_PASSES) * sizeof *slot->passes);
  slot->points = allocate(encoder->ht ? 1 : blocks * encoder->max_passes * sizeof *slot->points);
  slot->band_errors = g_new0(uint64_t, plan->num_bands + 1);
  slot->coded_choices = g_new0(Cj2kHtChoice, blocks);
  slot->coded_quantisers = g_new0(Cj2kFrameQuantiser, plan->num_bands + 1);
  slot->chosen = g_new0(Cj2kFrameQuantiser, plan->num_bands + 1);
  if (slot->coefficients && slot->lowpass && slot->bytes && slot->blocks && slot->passes &&
      slot->points)
    return slot;
  slot_free(data, slot);
  cj2k_error_set(error, CJ2K_ERROR_MEMORY,
                 "no memory for a frame of %" G_GUINT64_FORMAT " coefficients",
                 plan->num_coefficients);
  return NULL;
}

/* ------------------------------------------------------------------------------- steps --- */

static void begin_step(Cj2kEncodeSlot *slot)
{
  slot->status = CJ2K_OK;
  slot->result = (Cj2kEncodeResult){0};
}

static double milliseconds_since(gint64 start)
{
  return (double)(g_get_monotonic_time() - start) / 1000;
}

static Cj2kStatus check_memory(const Cj2kTransformJob *job, Cj2kError *error)
{
  return job->picture->memory == CJ2K_MEMORY_CUDA
             ? cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                              "the CPU back end cannot read the memory of a GPU")
             : CJ2K_OK;
}

static Cj2kStatus transform(void *backend, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                            Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();
  Cj2kStatus status = check_memory(job, error);

  (void)backend;
  if (status != CJ2K_OK)
    return status;
  begin_step(slot);
  slot->coded = false;
  cj2k_encode_rows(slot, job);
  slot->result.ms_transform = milliseconds_since(start);
  return CJ2K_OK;
}

static Cj2kStatus transform_rows(void *backend, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                 uint32_t done, uint32_t rows, Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();
  Cj2kStatus status = check_memory(job, error);

  (void)backend;
  if (status != CJ2K_OK)
    return status;
  begin_step(slot);
  if (!done)
    slot->coded = false;
  cj2k_encode_some_rows(slot, job, done, rows);
  slot->result.ms_transform = milliseconds_since(start);
  return CJ2K_OK;
}

static Cj2kStatus measure(void *backend, Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                          Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();

  (void)backend;
  (void)error;
  begin_step(slot);
  if (job->quad_rows)
    slot->result.estimates[0] = cj2k_encode_estimate(slot, job->quantisers, job->quad_rows);
  else
    cj2k_encode_measure(slot, job);
  slot->result.ms_block_coder = milliseconds_since(start);
  return CJ2K_OK;
}

/* Makes the estimates of a range. *quantisers: those of the job; if the range has others for the
 * estimates, they are the result. Can blocks be coded with them? */
static bool estimate_range(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                           const Cj2kFrameQuantiser **quantisers)
{
  const Cj2kEstimateRange *range = job->range;
  uint32_t num_bands = slot->encoder->plan->num_bands;
  Cj2kEstimateVerdict verdict = CJ2K_ESTIMATE_AGAIN;
  double base = range->base;

  for (uint32_t i = 0; verdict == CJ2K_ESTIMATE_AGAIN; i++) {
    uint64_t estimate = cj2k_encode_estimate(slot, *quantisers, range->quad_rows);
    slot->result.estimates[i] = estimate;
    verdict = cj2k_estimate_judge(range, i, estimate, &base);
    if (verdict == CJ2K_ESTIMATE_OUT || !range->near.count)
      break;
    memcpy(slot->chosen, job->quantisers, num_bands * sizeof *slot->chosen);
    cj2k_step_choose_quantisers(job->rules, num_bands, base, slot->chosen);
    *quantisers = slot->chosen;
  }
  return verdict == CJ2K_ESTIMATE_IN;
}

static Cj2kStatus code(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                       Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();
  Cj2kCodeJob chosen = *job;

  (void)backend;
  (void)error;
  begin_step(slot);
  if (!job->range || estimate_range(slot, job, &chosen.quantisers))
    cj2k_encode_code(slot, &chosen);
  slot->result.ms_block_coder = milliseconds_since(start);
  return CJ2K_OK;
}

/* Nothing to wait for: each step is finished when it returns. */
static Cj2kStatus wait_done(void *backend, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                            Cj2kError *error)
{
  (void)backend;
  *result = slot->result;
  if (slot->status != CJ2K_OK && error)
    *error = slot->error;
  return slot->status;
}

const Cj2kEncodeBackend *cj2k_cpu_encode_backend(void)
{
  static const Cj2kEncodeBackend backend = {
      .name = "cpu",
      .takes_ht_blocks = true,
      .takes_mq_blocks = true,
      .converts_hlg = true,
      .open = backend_open,
      .close = backend_close,
      .slot_new = slot_new,
      .slot_free = slot_free,
      .transform = transform,
      .transform_rows = transform_rows,
      .measure = measure,
      .code = code,
      .wait = wait_done,
  };
  return &backend;
}
