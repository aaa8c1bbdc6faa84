/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/runtime/error.h"
#include "ranges.h"

#define MOST_HELPERS 12 /* more do not copy faster */

/* ---------------------------------------------------------------------------- back end --- */

static void backend_close(void *data)
{
  Cj2kCudaEncoder *encoder = data;

  if (cj2k_cuda_enter(&encoder->device)) {
    cj2k_cuda_release(&encoder->levels);
    cj2k_cuda_release(&encoder->blocks);
    cj2k_cuda_release(&encoder->order);
    cj2k_cuda_release(&encoder->tables);
    cj2k_cuda_release(&encoder->xyz);
    cj2k_cuda_timeline_close(&encoder->timeline);
    if (encoder->upload)
      cudaStreamDestroy(encoder->upload);
    if (encoder->gather)
      cudaStreamDestroy(encoder->gather);
    cj2k_cuda_leave(&encoder->device);
  }
  g_array_unref(encoder->groups);
  cj2k_plan_unref(encoder->plan);
  g_mutex_clear(&encoder->lock);
  g_mutex_clear(&encoder->upload_lock);
  g_free(encoder);
}

static void *backend_open(const Cj2kEncoderParams *params, Cj2kPlan *plan, Cj2kThreads *threads,
                          Cj2kError *error)
{
  Cj2kCudaDevice device;

  if (cj2k_cuda_device_open(&device, params->cuda_device, params->cuda_context, error) != CJ2K_OK)
    return NULL;
  Cj2kCudaEncoder *encoder = g_new0(Cj2kCudaEncoder, 1);
  encoder->device = device;
  encoder->plan = cj2k_plan_ref(plan);
  encoder->threads = threads;
  encoder->ht = params->block_coder == CJ2K_CODER_HT;
  /* One frame in flight is there for its latency; several would burn a core each. */
  encoder->blocking = params->frames_in_flight > 1;
  encoder->launches_late = params->frames_in_flight > 3; /* fewer do not fill the time it takes */
  encoder->helpers = MIN(g_get_num_processors() * 3 / 4, MOST_HELPERS);
  encoder->groups = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLevelGroup));
  g_mutex_init(&encoder->lock);
  g_mutex_init(&encoder->upload_lock);

  cudaError_t result = cudaErrorInvalidDevice;
  if (cj2k_cuda_enter(&device)) {
    result = cudaStreamCreateWithFlags(&encoder->upload, cudaStreamNonBlocking);
    if (result == cudaSuccess && !encoder->ht)
      result = cudaStreamCreateWithPriority(&encoder->gather, cudaStreamNonBlocking, -1);
    if (result == cudaSuccess)
      result = cj2k_cuda_encode_list_levels(encoder);
    if (result == cudaSuccess)
      result = cj2k_cuda_encode_list_blocks(encoder);
    if (result == cudaSuccess)
      result = cj2k_cuda_timeline_open(&encoder->timeline, params->trace, params->trace_user);
    if (result == cudaSuccess)
      result = cj2k_cuda_encode_list_slices(encoder);
    cj2k_cuda_leave(&device);
  }
  if (cj2k_cuda_check(result, "preparing an encoder", error) == CJ2K_OK)
    return encoder;
  backend_close(encoder);
  return NULL;
}

/* ------------------------------------------------------------------------------- slots --- */

/* Waits until nothing of the slot runs any more. */
static void synchronise(Cj2kEncodeSlot *slot)
{
  cudaStream_t streams[] = {slot->encoder->upload, slot->encoder->gather, slot->coder, slot->copier,
                            slot->stream};

  for (guint i = 0; i < G_N_ELEMENTS(streams); i++)
    if (streams[i])
      cudaStreamSynchronize(streams[i]);
}

static void destroy_events(Cj2kEncodeSlot *slot)
{
  cudaStream_t streams[] = {slot->coder, slot->copier, slot->stream};
  cudaEvent_t events[] = {slot->begin,    slot->transformed,  slot->started,    slot->done,
                          slot->uploaded, slot->sent,         slot->tops_coded, slot->mq_coded,
                          slot->arrived,  slot->picture_ready};

  for (guint i = 0; i < G_N_ELEMENTS(events); i++)
    if (events[i])
      cudaEventDestroy(events[i]);
  for (guint i = 0; i < CJ2K_CUDA_MAX_SLICES; i++) {
    if (slot->tops_done[i])
      cudaEventDestroy(slot->tops_done[i]);
    if (slot->part_coded[i])
      cudaEventDestroy(slot->part_coded[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++)
    if (streams[i])
      cudaStreamDestroy(streams[i]);
}

static void slot_free(void *data, Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncoder *encoder = data;

  if (!slot)
    return;
  if (cj2k_cuda_enter(&encoder->device)) {
    Cj2kCudaMemory *memories[] = {
        &slot->picture,      &slot->staging,    &slot->planes,       &slot->host_planes,
        &slot->tops,         &slot->quantisers, &slot->lowpass,      &slot->host_quantisers,
        &slot->coefficients, &slot->choices,    &slot->scratch,      &slot->host_choices,
        &slot->bytes,        &slot->host_bytes, &slot->measured,     &slot->host_measured,
        &slot->coded,        &slot->host_coded, &slot->symbols,      &slot->work,
        &slot->room,         &slot->passes,     &slot->host_passes,  &slot->points,
        &slot->host_points,  &slot->weights,    &slot->host_weights, &slot->kept,
        &slot->host_kept,    &slot->gathered,   &slot->again,        &slot->host_again,
        &slot->host_parts};
    synchronise(slot);
    for (guint i = 0; i < G_N_ELEMENTS(memories); i++)
      cj2k_cuda_release(memories[i]);
    cj2k_cuda_marks_free(&slot->marks);
    destroy_events(slot);
    cj2k_cuda_leave(&encoder->device);
  }
  if (slot->top_groups)
    g_array_unref(slot->top_groups);
  g_free(slot->alignments);
  g_free(slot);
}

static cudaError_t make_events(Cj2kEncodeSlot *slot)
{
  unsigned flags = slot->encoder->blocking ? cudaEventBlockingSync : cudaEventDefault;
  cudaEvent_t *events[] = {&slot->begin, &slot->transformed, &slot->started, &slot->done};
  /* With one frame in flight before the stream of the block coder, which would fill the GPU. */
  cudaError_t result = cudaStreamCreateWithPriority(&slot->stream, cudaStreamNonBlocking,
                                                    slot->encoder->blocking ? 0 : -1);

  for (guint i = 0; i < G_N_ELEMENTS(events) && result == cudaSuccess; i++)
    result = cudaEventCreateWithFlags(events[i], flags);
  if (result == cudaSuccess)
    result = cudaEventCreateWithFlags(&slot->uploaded, flags | cudaEventDisableTiming);
  if (result == cudaSuccess)
    result = cudaEventCreateWithFlags(&slot->arrived, flags | cudaEventDisableTiming);
  if (result == cudaSuccess)
    result = cudaEventCreateWithFlags(&slot->picture_ready, cudaEventDisableTiming);
  if (result == cudaSuccess && !slot->encoder->ht && !slot->encoder->blocking)
    result = cudaEventCreateWithFlags(&slot->mq_coded, cudaEventDisableTiming);
  return result;
}

/* What one frame in flight has besides. */
static cudaError_t make_coder(Cj2kEncodeSlot *slot)
{
  cudaEvent_t *events[] = {&slot->sent, &slot->tops_coded};
  unsigned flags = cudaEventDisableTiming;
  cudaError_t result = cudaStreamCreateWithFlags(&slot->coder, cudaStreamNonBlocking);

  if (result == cudaSuccess)
    result = cudaStreamCreateWithFlags(&slot->copier, cudaStreamNonBlocking);
  if (result == cudaSuccess)
    result =
        cj2k_cuda_reserve(&slot->host_parts, CJ2K_CUDA_MAX_SLICES * sizeof(Cj2kCudaPartCounts));
  for (guint i = 0; i < G_N_ELEMENTS(events) && result == cudaSuccess; i++)
    result = cudaEventCreateWithFlags(events[i], flags);
  for (guint i = 0; i < slot->encoder->slices.count && result == cudaSuccess; i++)
    result = cudaEventCreateWithFlags(&slot->tops_done[i], flags);
  for (guint i = 0; i < slot->encoder->slices.count && result == cudaSuccess; i++)
    result = cudaEventCreateWithFlags(&slot->part_coded[i], flags);
  return result;
}

/* All memory whose size the plan tells. */
static cudaError_t reserve(Cj2kEncodeSlot *slot)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  uint64_t blocks = plan->num_blocks, bands = plan->num_bands;
  uint64_t coded =
      sizeof(Cj2kCudaEncodeCounts) + blocks * (sizeof(Cj2kEncodedBlock) + sizeof(Cj2kPassLength));
  uint64_t bytes = plan->num_coefficients / 2 + 4096; /* grows when frames need more */
  const struct {
    Cj2kCudaMemory *memory;
    uint64_t size;
  } sizes[] = {
      {&slot->coefficients, plan->num_coefficients * 4},
      {&slot->lowpass, plan->num_lowpass * 4},
      {&slot->quantisers, bands * sizeof(Cj2kFrameQuantiser)},
      {&slot->host_quantisers, bands * sizeof(Cj2kFrameQuantiser)},
      {&slot->choices, blocks * sizeof(Cj2kHtChoice)},
      {&slot->host_choices, blocks * sizeof(Cj2kHtChoice)},
      {&slot->again, blocks * sizeof(uint32_t)},
      {&slot->host_again, blocks * sizeof(uint32_t)},
      {&slot->bytes, bytes},
      {&slot->host_bytes, bytes},
      {&slot->coded, coded},
      {&slot->host_coded, coded},
  };
  cudaError_t result = cudaSuccess;

  for (guint i = 0; i < G_N_ELEMENTS(sizes) && result == cudaSuccess; i++)
    result = cj2k_cuda_reserve(sizes[i].memory, sizes[i].size);
  return result;
}

static Cj2kEncodeSlot *slot_new(void *data, Cj2kError *error)
{
  Cj2kCudaEncoder *encoder = data;
  Cj2kEncodeSlot *slot = g_new0(Cj2kEncodeSlot, 1);

  slot->encoder = encoder;
  slot->marks = (Cj2kCudaMarks){.timeline = &encoder->timeline,
                                .stream = (uint32_t)g_atomic_int_add(&encoder->slots, 1)};
  slot->staging.host = slot->host_planes.host = slot->host_quantisers.host = true;
  slot->host_choices.host = slot->host_again.host = slot->host_bytes.host = true;
  slot->host_coded.host = slot->host_measured.host = slot->host_passes.host = true;
  slot->host_parts.host = slot->host_points.host = slot->host_weights.host = slot->host_kept.host =
      true;
  slot->top_groups = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaTopGroup));
  cudaError_t result = cudaErrorInvalidDevice;
  if (cj2k_cuda_enter(&encoder->device)) {
    result = make_events(slot);
    if (result == cudaSuccess && encoder->ht && !encoder->blocking)
      result = make_coder(slot);
    if (result == cudaSuccess)
      result = reserve(slot);
    cj2k_cuda_leave(&encoder->device);
  }
  if (cj2k_cuda_check(result, "making room for a frame", error) == CJ2K_OK)
    return slot;
  slot_free(data, slot);
  return NULL;
}

/* ------------------------------------------------------------------------------- steps --- */

typedef cudaError_t (*Step)(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);

static Cj2kStatus run(Cj2kCudaEncoder *encoder, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                      Cj2kCudaStep kind, Step step, const char *doing, Cj2kError *error)
{
  if (!cj2k_cuda_enter(&encoder->device))
    return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "CUDA: the context cannot be used");
  slot->step = kind;
  cj2k_cuda_range_begin(doing);
  cudaError_t result = step(slot, job);
  cj2k_cuda_range_end();
  if (result != cudaSuccess) /* the picture is the caller's again: nothing may read it any more */
    synchronise(slot);
  cj2k_cuda_leave(&encoder->device);
  return cj2k_cuda_check(result, doing, error);
}

static Cj2kStatus transform(void *data, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                            Cj2kError *error)
{
  for (uint32_t i = 0; i < job->layout->num_planes; i++)
    if (job->picture->planes[i].pitch > CJ2K_CUDA_MAX_PITCH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "rows of 128 MiB on the GPU");
  return run(data, slot, job, CJ2K_CUDA_STEP_TRANSFORM, cj2k_cuda_encode_transform,
             "transforming a picture", error);
}

static Cj2kStatus measure(void *data, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                          Cj2kError *error)
{
  return run(data, slot, job, CJ2K_CUDA_STEP_MEASURE, cj2k_cuda_encode_measure,
             "measuring code-blocks", error);
}

static Cj2kStatus code(void *data, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, Cj2kError *error)
{
  for (uint32_t b = 0; job->choices && b < job->plan->num_blocks; b++)
    if (job->choices[b].passes > 1)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "HT refinement passes on the GPU");
  Step step = ((Cj2kCudaEncoder *)data)->ht ? cj2k_cuda_encode_code : cj2k_cuda_encode_mq_code;
  return run(data, slot, job, CJ2K_CUDA_STEP_CODE, step, "coding code-blocks", error);
}

static Cj2kStatus gather(void *data, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                         Cj2kError *error)
{
  return run(data, slot, job, CJ2K_CUDA_STEP_GATHER, cj2k_cuda_encode_mq_gather,
             "putting code-blocks together", error);
}

static Cj2kStatus wait_done(void *data, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                            Cj2kError *error)
{
  Cj2kCudaEncoder *encoder = data;

  *result = (Cj2kEncodeResult){0};
  if (slot->step == CJ2K_CUDA_STEP_TRANSFORM) /* no result: the next step comes behind it */
    return CJ2K_OK;
  if (!cj2k_cuda_enter(&encoder->device))
    return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "CUDA: the context cannot be used");
  cj2k_cuda_range_begin("encode: wait");
  cudaError_t status = cj2k_cuda_encode_fetch(slot, result);
  cj2k_cuda_range_end();
  cj2k_cuda_leave(&encoder->device);
  if (status != cudaSuccess)
    return cj2k_cuda_check(status, "encoding a frame", error);
  const Cj2kCudaEncodeCounts *counts =
      slot->step == CJ2K_CUDA_STEP_MEASURE ? slot->host_measured.data : slot->host_coded.data;
  if (counts->failed)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT, "a code-block has no legal HT form");
  return CJ2K_OK;
}

static void *memory_alloc(void *data, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_cuda_alloc(&((Cj2kCudaEncoder *)data)->device, kind, size);
}

static void memory_free(void *data, Cj2kMemoryKind kind, void *memory)
{
  cj2k_cuda_free(&((Cj2kCudaEncoder *)data)->device, kind, memory);
}

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  static const Cj2kEncodeBackend backend = {
      .name = "cuda",
      .open = backend_open,
      .close = backend_close,
      .slot_new = slot_new,
      .slot_free = slot_free,
      .transform = transform,
      .measure = measure,
      .code = code,
      .gather = gather,
      .wait = wait_done,
      .memory = {memory_alloc, memory_free},
  };
  return &backend;
}
