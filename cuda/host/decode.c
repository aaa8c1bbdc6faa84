/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/runtime/error.h"
#include "common/runtime/spin.h"
#include "ranges.h"
#include "streams.h"

static void backend_close(void *data)
{
  Cj2kCudaDecoder *backend = data;
  bool entered = cj2k_cuda_enter(&backend->device);
  if (!entered)
    cj2k_cuda_pool_lose(&backend->device.engine->pool);
  cj2k_cuda_timeline_close(&backend->timeline);
  cj2k_cuda_give_stream(backend->device.engine, backend->upload);
  cj2k_cuda_device_close(&backend->device);
  if (entered)
    cj2k_cuda_leave(&backend->device);
  cj2k_spin_leave();
  g_free(backend);
}

static void set_in_flight(void *data, uint32_t frames_in_flight)
{
  Cj2kCudaDecoder *backend = data;
  backend->frames_in_flight = frames_in_flight;
  backend->device.one_in_flight = frames_in_flight == 1;
}

static void *backend_open(const Cj2kDecoderParams *params, Cj2kThreads *threads, Cj2kError *error)
{
  Cj2kCudaDecoder *backend = g_new0(Cj2kCudaDecoder, 1);
  backend->threads = threads;
  Cj2kStatus status =
      cj2k_cuda_device_open(&backend->device, params->cuda_device, params->cuda_context, error);
  set_in_flight(backend, params->frames_in_flight);
  if (status != CJ2K_OK) {
    g_free(backend);
    return NULL;
  }
  backend->device.low_latency = params->low_latency;
  backend->component_streams = params->component_streams == CJ2K_COMPONENT_STREAMS_ON;
  cj2k_spin_join();
  if (cj2k_cuda_enter(&backend->device)) {
    int multiprocessors = 1;
    (void)cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                 backend->device.ordinal);
    backend->multiprocessors = (uint32_t)multiprocessors;
    status = cj2k_cuda_check(&backend->device, cj2k_cuda_ht_init(), "loading this build's kernels",
                             error);
    if (status == CJ2K_OK)
      status = cj2k_cuda_check(
          &backend->device,
          cj2k_cuda_timeline_open(&backend->timeline, params->trace, params->trace_user),
          "starting a timeline", error);
    if (status == CJ2K_OK)
      status = cj2k_cuda_check(&backend->device,
                               cj2k_cuda_take_stream(backend->device.engine, 0, &backend->upload),
                               "making a stream", error);
    cj2k_cuda_leave(&backend->device);
  } else {
    status = cj2k_cuda_no_context(error);
  }
  if (status == CJ2K_OK)
    return backend;
  backend_close(backend);
  return NULL;
}

/* Waits for all work of the slot, on the stream that slots share as well, so that its memory and
 * its streams can become those of other codecs. */
static void end_work(Cj2kDecodeSlot *slot)
{
  cudaStream_t upload = slot->backend->upload;
  bool all = cj2k_cuda_decode_synchronize(slot);

  if (slot->upload.stream && upload)
    all &= cudaStreamSynchronize(upload) == cudaSuccess;
  if (!all)
    cj2k_cuda_pool_lose(&slot->backend->device.engine->pool);
}

static void free_slot(Cj2kDecodeSlot *slot)
{
  cj2k_cuda_decode_abandon(slot);
  end_work(slot);
  cj2k_cuda_decode_tables_free(slot);
  cj2k_cuda_decode_output_free(slot);
  cj2k_cuda_decode_upload_free(slot);
  cj2k_cuda_decode_frame_free(slot);
  cj2k_cuda_decode_parts_free(slot);
  cj2k_cuda_decode_shares_free(slot);
  cj2k_cuda_marks_free(&slot->marks);
  cj2k_cuda_give_stream(slot->backend->device.engine, slot->stream);
  g_free(slot);
}

static Cj2kDecodeSlot *new_slot(Cj2kCudaDecoder *backend, Cj2kError *error)
{
  Cj2kDecodeSlot *slot = g_new0(Cj2kDecodeSlot, 1);
  slot->backend = backend;
  slot->marks = (Cj2kCudaMarks){.timeline = &backend->timeline,
                                .stream = (uint32_t)g_atomic_int_add(&backend->slots, 1)};
  cj2k_cuda_decode_tables_init(slot);
  cj2k_cuda_decode_output_init(slot);
  cj2k_cuda_decode_parts_init(slot);
  cudaError_t result = cj2k_cuda_take_stream(backend->device.engine, 0, &slot->stream);
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_frame_init(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_upload_init(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_shares_init(slot));
  if (cj2k_cuda_check(&backend->device, result, "making a frame slot", error) == CJ2K_OK)
    return slot;
  free_slot(slot);
  return NULL;
}

static Cj2kDecodeSlot *slot_new(void *data, Cj2kError *error)
{
  Cj2kCudaDecoder *backend = data;
  if (!cj2k_cuda_enter(&backend->device)) {
    (void)cj2k_cuda_no_context(error);
    return NULL;
  }
  Cj2kDecodeSlot *slot = new_slot(backend, error);
  cj2k_cuda_leave(&backend->device);
  return slot;
}

static void slot_free(void *data, Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecoder *backend = data;
  if (!slot)
    return;
  bool entered = cj2k_cuda_enter(&backend->device);
  if (!entered)
    cj2k_cuda_pool_lose(&backend->device.engine->pool);
  free_slot(slot);
  if (entered)
    cj2k_cuda_leave(&backend->device);
}

/* Enters the context and begins a range of the profiler, both until end(). false: the context is
 * gone, and there is no end(). */
static bool begin(Cj2kCudaDecoder *backend, const char *doing)
{
  if (!cj2k_cuda_enter(&backend->device))
    return false;
  cj2k_cuda_range_begin(doing);
  return true;
}

static void end(Cj2kCudaDecoder *backend)
{
  cj2k_cuda_range_end();
  cj2k_cuda_leave(&backend->device);
}

static void prefetch(void *data, Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size)
{
  if (!begin(data, "decode: prefetch"))
    return;
  cj2k_cuda_decode_prefetch(slot, codestream, size);
  end(data);
}

static void abandon(void *data, Cj2kDecodeSlot *slot)
{
  if (!begin(data, "decode: abandon"))
    return;
  cj2k_cuda_decode_abandon(slot);
  end(data);
}

static Cj2kStatus start(void *data, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                        Cj2kError *error)
{
  if (!begin(data, "decode: start"))
    return cj2k_cuda_no_context(error);
  Cj2kStatus status = cj2k_cuda_decode_start(slot, job, error);
  end(data);
  return status;
}

static Cj2kStatus wait_frame(void *data, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                             Cj2kError *error)
{
  if (!begin(data, "decode: wait"))
    return cj2k_cuda_no_context(error);
  Cj2kStatus status = slot->parts.active ? cj2k_cuda_decode_wait_parts(slot, result, error)
                                         : cj2k_cuda_decode_wait(slot, result, error);
  end(data);
  return status;
}

static Cj2kStatus begin_parts(void *data, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                              Cj2kError *error)
{
  if (!begin(data, "decode: begin parts"))
    return cj2k_cuda_no_context(error);
  Cj2kStatus status = cj2k_cuda_decode_begin_parts(slot, job, error);
  end(data);
  return status;
}

static Cj2kStatus add_parts(void *data, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                            const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                            Cj2kError *error)
{
  if (!begin(data, "decode: add parts"))
    return cj2k_cuda_no_context(error);
  Cj2kStatus status = cj2k_cuda_decode_add_parts(slot, job, precincts, count, rows, error);
  end(data);
  return status;
}

static bool is_busy(void *data, Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecoder *backend = data;
  if (!cj2k_cuda_enter(&backend->device))
    return false; /* the next call says so */
  bool busy = cj2k_cuda_decode_is_busy(slot);
  cj2k_cuda_leave(&backend->device);
  return busy;
}

static void *memory_alloc(void *data, Cj2kMemoryKind kind, size_t size)
{
  Cj2kCudaDecoder *backend = data;
  return cj2k_cuda_alloc(&backend->device, kind, size);
}

static void memory_free(void *data, Cj2kMemoryKind kind, void *memory)
{
  Cj2kCudaDecoder *backend = data;
  cj2k_cuda_free(&backend->device, kind, memory);
}

static Cj2kStatus memory_copy(void *data, void *cuda_stream, const Cj2kPlane *to,
                              const Cj2kPlane *from, size_t row_bytes, uint32_t rows,
                              Cj2kError *error)
{
  Cj2kCudaDecoder *backend = data;
  return cj2k_cuda_copy(&backend->device, cuda_stream, to, from, row_bytes, rows, error);
}

static bool memory_owns(void *data, const void *memory)
{
  const Cj2kCudaDecoder *backend = data;
  return cj2k_cuda_owns(&backend->device, memory);
}

const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void)
{
  static const Cj2kDecodeBackend backend = {
      .name = "cuda",
      .open = backend_open,
      .close = backend_close,
      .slot_new = slot_new,
      .slot_free = slot_free,
      .set_in_flight = set_in_flight,
      .prefetch = prefetch,
      .abandon = abandon,
      .start = start,
      .wait = wait_frame,
      .begin_parts = begin_parts,
      .add_parts = add_parts,
      .few_parts = true,
      .is_busy = is_busy,
      .memory = {memory_alloc, memory_free, memory_copy, memory_owns}};
  return &backend;
}
