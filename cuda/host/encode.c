/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/runtime/error.h"
#include "common/runtime/spin.h"
#include "ranges.h"
#include "streams.h"

#include <string.h>

#define MAX_HELPERS        12        /* more do not copy faster */
#define SAMPLES_PER_HELPER (1 << 20) /* smaller frames gain nothing from more helpers */

/* ---------------------------------------------------------------------------- back end --- */

static void backend_close(void *data)
{
  Cj2kCudaEncoder *encoder = data;
  bool entered = cj2k_cuda_enter(&encoder->device);

  if (!entered)
    cj2k_cuda_pool_lose(&encoder->device.engine->pool);
  cj2k_cuda_table_clear(&encoder->lists.levels);
  cj2k_cuda_table_clear(&encoder->lists.blocks);
  cj2k_cuda_table_clear(&encoder->lists.order);
  cj2k_cuda_table_clear(&encoder->lists.tables);
  cj2k_cuda_encode_free_packets(encoder);
  cj2k_cuda_table_clear(&encoder->xyz);
  cj2k_cuda_timeline_close(&encoder->timeline);
  cj2k_cuda_give_stream(encoder->device.engine, encoder->upload);
  cj2k_cuda_give_stream(encoder->device.engine, encoder->gather);
  cj2k_cuda_device_close(&encoder->device);
  if (entered)
    cj2k_cuda_leave(&encoder->device);
  cj2k_spin_leave();
  g_array_unref(encoder->lists.groups);
  g_array_unref(encoder->lists.level_comps);
  cj2k_plan_unref(encoder->plan);
  g_mutex_clear(&encoder->lock);
  g_mutex_clear(&encoder->upload_lock);
  g_free(encoder);
}

/* Notes how the host waits. One frame in flight may spin for the sake of latency; several would
 * keep a core busy each. Pictures are uploaded in slices only with one. */
static void note_in_flight(Cj2kCudaEncoder *encoder, uint32_t frames)
{
  encoder->device.one_in_flight = frames == 1;
  encoder->blocking = encoder->timeline.sparing = frames > 1;
  encoder->many = frames > 3;
}

static void *backend_open(const Cj2kEncoderParams *params, Cj2kPlan *plan, Cj2kThreads *threads,
                          Cj2kError *error)
{
  Cj2kCudaDevice device;

  if (cj2k_cuda_device_open(&device, params->cuda_device, params->cuda_context, error) != CJ2K_OK)
    return NULL;
  Cj2kCudaEncoder *encoder = g_new0(Cj2kCudaEncoder, 1);
  encoder->device = device;
  encoder->device.low_latency = params->low_latency;
  note_in_flight(encoder, params->frames_in_flight);
  encoder->component_streams =
      params->component_streams == CJ2K_COMPONENT_STREAMS_ON && plan->num_components > 1;
  encoder->plan = cj2k_plan_ref(plan);
  encoder->likely_bytes = cj2k_plan_likely_bytes(plan);
  encoder->threads = threads;
  encoder->ht = params->block_coder == CJ2K_CODER_HT;
  encoder->best = encoder->ht && params->rate_effort == CJ2K_EFFORT_BEST && plan->num_tile_comps &&
                  !plan->tile_comps[0].reversible;
  cj2k_spin_join();
  encoder->lists.groups = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLevelGroup));
  encoder->lists.level_comps = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_mutex_init(&encoder->lock);
  g_mutex_init(&encoder->upload_lock);

  cudaError_t result = cudaErrorInvalidDevice;
  if (cj2k_cuda_enter(&device)) {
    result = cj2k_cuda_take_stream(device.engine, 0, &encoder->upload);
    CJ2K_CUDA_TRY(result, cj2k_cuda_take_stream(device.engine, -1, &encoder->gather));
    CJ2K_CUDA_TRY(result, cj2k_cuda_encode_list_levels(encoder));
    CJ2K_CUDA_TRY(result, cj2k_cuda_encode_list_blocks(encoder));
    CJ2K_CUDA_TRY(result, cj2k_cuda_encode_list_packets(encoder));
    CJ2K_CUDA_TRY(result,
                  cj2k_cuda_timeline_open(&encoder->timeline, params->trace, params->trace_user));
    CJ2K_CUDA_TRY(result, cj2k_cuda_encode_list_slices(encoder));
    cj2k_cuda_leave(&device);
  }
  encoder->helpers = (uint32_t)MIN(encoder->lists.area / SAMPLES_PER_HELPER, MAX_HELPERS);
  if (cj2k_cuda_check(&encoder->device, result, "preparing an encoder", error) == CJ2K_OK)
    return encoder;
  backend_close(encoder);
  return NULL;
}

static void set_in_flight(void *data, uint32_t frames_in_flight)
{
  Cj2kCudaEncoder *encoder = data;

  note_in_flight(encoder, frames_in_flight);
  if (!cj2k_cuda_enter(&encoder->device))
    return; /* the next frame says so */
  memset(encoder->slices.first_block, 0, sizeof encoder->slices.first_block);
  if (cj2k_cuda_encode_list_slices(encoder) != cudaSuccess) {
    (void)cudaGetLastError();
    encoder->blocking = true;
    (void)cj2k_cuda_encode_list_slices(encoder);
  }
  cj2k_cuda_leave(&encoder->device);
}

/* ------------------------------------------------------------------------------- slots --- */

Cj2kCudaQueue cj2k_cuda_encode_queue(Cj2kEncodeSlot *slot, cudaStream_t stream)
{
  return (Cj2kCudaQueue){.device = &slot->encoder->device,
                         .stream = stream,
                         .status = &slot->status,
                         .marks = &slot->marks};
}

unsigned cj2k_cuda_encode_event_flags(const Cj2kEncodeSlot *slot)
{
  return slot->encoder->blocking ? cudaEventBlockingSync : cudaEventDefault;
}

cudaError_t cj2k_cuda_encode_wait(Cj2kEncodeSlot *slot, cudaEvent_t event)
{
  return cj2k_cuda_wait(&slot->encoder->device, event, !slot->encoder->blocking,
                        &slot->patience[slot->step]);
}

/* Waits for all work of the slot, on the streams that slots share as well. False: nobody knows
 * whether it has ended. */
static bool synchronise(Cj2kEncodeSlot *slot)
{
  bool all = true;
  cudaStream_t streams[] = {slot->encoder->upload,      slot->encoder->gather,
                            slot->latency.coder.stream, slot->latency.copier.stream,
                            slot->place.queue.stream,   slot->queue.stream};

  for (guint i = 0; i < G_N_ELEMENTS(streams); i++)
    if (streams[i])
      all &= cudaStreamSynchronize(streams[i]) == cudaSuccess;
  for (uint32_t k = 0; k < CJ2K_CUDA_ENCODE_SHARES; k++)
    if (slot->components.queues[k].stream)
      all &= cudaStreamSynchronize(slot->components.queues[k].stream) == cudaSuccess;
  return all;
}

static void slot_free(void *data, Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncoder *encoder = data;

  if (!slot)
    return;
  bool entered = cj2k_cuda_enter(&encoder->device);
  if (!synchronise(slot) || !entered)
    cj2k_cuda_pool_lose(&encoder->device.engine->pool);
  cj2k_cuda_upload_free(slot);
  cj2k_cuda_transform_free(slot);
  cj2k_cuda_blocks_free(slot);
  cj2k_cuda_ht_stage_free(slot);
  cj2k_cuda_mq_stage_free(slot);
  cj2k_cuda_latency_free(slot);
  cj2k_cuda_place_free(slot);
  cj2k_cuda_packets_free(slot);
  cj2k_cuda_ahead_free(slot);
  cj2k_cuda_components_free(slot);
  cj2k_cuda_marks_free(&slot->marks);
  cj2k_cuda_give_stream(encoder->device.engine, slot->queue.stream);
  if (entered)
    cj2k_cuda_leave(&encoder->device);
  cj2k_cuda_transform_forget(slot);
  g_free(slot);
}

static void init_stages(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;

  /* With one frame in flight the transform has priority over the block coder's own stream, which
   * would fill the GPU. */
  CJ2K_CUDA_DO(&slot->queue,
               cj2k_cuda_take_stream(encoder->device.engine, encoder->blocking ? 0 : -1,
                                     &slot->queue.stream));
  cj2k_cuda_upload_init(slot);
  cj2k_cuda_transform_init(slot);
  cj2k_cuda_blocks_init(slot);
  if (!encoder->ht)
    cj2k_cuda_mq_stage_init(slot);
  else
    cj2k_cuda_ht_stage_init(slot);
  if (encoder->ht && !encoder->blocking)
    cj2k_cuda_latency_init(slot);
  if (encoder->component_streams)
    cj2k_cuda_components_init(slot);
  cj2k_cuda_place_init(slot);
  cj2k_cuda_packets_init(slot);
  cj2k_cuda_ahead_init(slot);
}

static Cj2kEncodeSlot *slot_new(void *data, Cj2kError *error)
{
  Cj2kCudaEncoder *encoder = data;
  Cj2kEncodeSlot *slot = g_new0(Cj2kEncodeSlot, 1);

  slot->encoder = encoder;
  slot->marks = (Cj2kCudaMarks){.timeline = &encoder->timeline,
                                .stream = (uint32_t)g_atomic_int_add(&encoder->slots, 1)};
  slot->queue = cj2k_cuda_encode_queue(slot, NULL);
  slot->status = cudaErrorInvalidDevice;
  if (cj2k_cuda_enter(&encoder->device)) {
    slot->status = cudaSuccess;
    init_stages(slot);
    cj2k_cuda_leave(&encoder->device);
  }
  if (cj2k_cuda_check(&encoder->device, slot->status, "making room for a frame", error) == CJ2K_OK)
    return slot;
  slot_free(data, slot);
  return NULL;
}

/* ------------------------------------------------------------------------------- steps --- */

/* Makes the slot ready for a step. A frame that failed may have left a step that was not waited
 * for, which still uses memory that the next picture is uploaded to. */
static Cj2kStatus begin(Cj2kCudaEncoder *encoder, Cj2kEncodeSlot *slot, Cj2kCudaStep kind,
                        const char *doing, Cj2kError *error)
{
  if (!cj2k_cuda_enter(&encoder->device))
    return cj2k_cuda_no_context(error);
  if (kind == CJ2K_CUDA_STEP_TRANSFORM) {
    if (slot->unawaited)
      (void)synchronise(slot);
    slot->unawaited = false;
  }
  slot->unawaited |= kind >= CJ2K_CUDA_STEP_CODE;
  slot->status = cudaSuccess;
  /* The frame was cut ahead, but is not taken as it is: its packets are still being made. */
  if (kind != CJ2K_CUDA_STEP_PLACE)
    cj2k_cuda_ahead_end(slot);
  slot->step = kind;
  cj2k_cuda_range_begin(doing);
  return CJ2K_OK;
}

static Cj2kStatus end(Cj2kCudaEncoder *encoder, Cj2kEncodeSlot *slot, const char *doing,
                      Cj2kError *error)
{
  cj2k_cuda_range_end();
  if (slot->status !=
      cudaSuccess) /* the picture is the caller's again: no work may still read it */
    (void)synchronise(slot);
  cj2k_cuda_leave(&encoder->device);
  return cj2k_cuda_check(&encoder->device, slot->status, doing, error);
}

static Cj2kStatus check_rows(const Cj2kTransformJob *job, Cj2kError *error)
{
  for (uint32_t i = 0; i < job->layout->num_planes; i++)
    if (job->picture->planes[i].pitch > CJ2K_CUDA_MAX_PITCH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: rows of 128 MiB or more");
  return CJ2K_OK;
}

static Cj2kStatus transform(void *data, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                            Cj2kError *error)
{
  static const char doing[] = "transforming a picture";
  Cj2kStatus status = check_rows(job, error);

  if (status == CJ2K_OK)
    status = begin(data, slot, CJ2K_CUDA_STEP_TRANSFORM, doing, error);
  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_encode_transform(slot, job);
  return end(data, slot, doing, error);
}

static Cj2kStatus transform_rows(void *data, Cj2kEncodeSlot *slot, const Cj2kTransformJob *job,
                                 uint32_t done, uint32_t rows, Cj2kError *error)
{
  static const char doing[] = "transforming rows of a picture";
  Cj2kStatus status = check_rows(job, error);

  if (status == CJ2K_OK)
    status = begin(data, slot, CJ2K_CUDA_STEP_TRANSFORM, doing, error);
  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_encode_transform_rows(slot, job, done, rows);
  return end(data, slot, doing, error);
}

static Cj2kStatus measure(void *data, Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                          Cj2kError *error)
{
  static const char doing[] = "measuring code-blocks";
  Cj2kStatus status = begin(data, slot, CJ2K_CUDA_STEP_MEASURE, doing, error);

  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_encode_measure(slot, job);
  return end(data, slot, doing, error);
}

static Cj2kStatus code(void *data, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, Cj2kError *error)
{
  static const char doing[] = "coding code-blocks";
  const Cj2kCudaEncoder *encoder = data;

  for (uint32_t b = 0; job->choices && b < encoder->plan->num_blocks; b++)
    if (job->choices[b].passes > 1)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "CUDA: encoding of HT refinement passes");
  Cj2kStatus status = begin(data, slot, CJ2K_CUDA_STEP_CODE, doing, error);
  if (status != CJ2K_OK)
    return status;
  if (!encoder->ht)
    cj2k_cuda_encode_mq_code(slot, job);
  else if (job->blocks)
    cj2k_cuda_encode_code_list(slot, job);
  else
    cj2k_cuda_encode_ht_code(slot, job);
  return end(data, slot, doing, error);
}

static Cj2kStatus gather(void *data, Cj2kEncodeSlot *slot, const Cj2kGatherJob *job,
                         Cj2kError *error)
{
  static const char doing[] = "putting code-blocks together";
  Cj2kStatus status = begin(data, slot, CJ2K_CUDA_STEP_GATHER, doing, error);

  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_encode_mq_gather(slot, job);
  return end(data, slot, doing, error);
}

static Cj2kStatus place(void *data, Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, Cj2kError *error)
{
  static const char doing[] = "putting code-blocks to their places";
  Cj2kStatus status = begin(data, slot, CJ2K_CUDA_STEP_PLACE, doing, error);

  if (status != CJ2K_OK)
    return status;
  cj2k_cuda_encode_place(slot, job);
  return end(data, slot, doing, error);
}

static Cj2kStatus wait_done(void *data, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                            Cj2kError *error)
{
  Cj2kCudaEncoder *encoder = data;

  *result = (Cj2kEncodeResult){0};
  if (slot->step ==
      CJ2K_CUDA_STEP_TRANSFORM) /* no result; the stream orders the next step behind it */
    return CJ2K_OK;
  if (!cj2k_cuda_enter(&encoder->device))
    return cj2k_cuda_no_context(error);
  cj2k_cuda_range_begin("encode: wait");
  slot->status = cudaSuccess;
  cj2k_cuda_encode_fetch(slot, result);
  cj2k_cuda_range_end();
  if (slot->status != cudaSuccess) /* as in end() */
    (void)synchronise(slot);
  slot->unawaited = false;
  cj2k_cuda_leave(&encoder->device);
  if (slot->status != cudaSuccess)
    return cj2k_cuda_check(&encoder->device, slot->status, "encoding a frame", error);
  const Cj2kCudaEncodeCounts *counts = slot->step == CJ2K_CUDA_STEP_MEASURE
                                           ? slot->ht.measured.host.data
                                           : slot->blocks.coded.host.data;
  if (counts->failed && !slot->ht.left_out)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "an HT code-block has more MEL and VLC bytes than the standard allows");
  return CJ2K_OK;
}

/* A picture may still be read if no blocks were coded after the last of its rows: the frame was
 * refused or dropped, or its last slice has none. Likewise the codestream may still be written if
 * the frame failed after code(). Afterwards both are the caller's. */
static void finish(void *data, Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncoder *encoder = data;
  bool is_used = slot->step == CJ2K_CUDA_STEP_TRANSFORM || slot->ahead.pending;

  if (!is_used || !cj2k_cuda_enter(&encoder->device))
    return;
  (void)synchronise(slot);
  slot->ahead.pending = false;
  slot->step = CJ2K_CUDA_STEP_NONE;
  cj2k_cuda_leave(&encoder->device);
}

static void *memory_alloc(void *data, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_cuda_alloc(&((Cj2kCudaEncoder *)data)->device, kind, size);
}

static void memory_free(void *data, Cj2kMemoryKind kind, void *memory)
{
  cj2k_cuda_free(&((Cj2kCudaEncoder *)data)->device, kind, memory);
}

static bool memory_owns(void *data, const void *memory)
{
  return cj2k_cuda_owns(&((const Cj2kCudaEncoder *)data)->device, memory);
}

static bool memory_pin(void *data, void *memory, size_t size)
{
  return cj2k_cuda_pin(&((const Cj2kCudaEncoder *)data)->device, memory, size);
}

static void memory_unpin(void *data, void *memory)
{
  cj2k_cuda_unpin(&((const Cj2kCudaEncoder *)data)->device, memory);
}

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  static const Cj2kEncodeBackend backend = {
      .name = "cuda",
      .takes_ht_blocks = true,
      .takes_mq_blocks = true,
      .rows_at_once = true,
      .open = backend_open,
      .close = backend_close,
      .slot_new = slot_new,
      .slot_free = slot_free,
      .transform = transform,
      .transform_rows = transform_rows,
      .measure = measure,
      .code = code,
      .gather = gather,
      .place = place,
      .set_in_flight = set_in_flight,
      .wait = wait_done,
      .finish = finish,
      .memory = {memory_alloc, memory_free, NULL, memory_owns, memory_pin, memory_unpin},
  };
  return &backend;
}
