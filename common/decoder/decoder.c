/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/options/decoder_options.h"
#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <string.h>

#define DEFAULT_IN_FLIGHT 2
/* Threads that work beside a GPU where throughput counts. Reading packets keeps about one core busy
 * when a GPU decodes as fast as it can, and more threads only wake each other more often. */
#define GPU_THREADS 4

/* ------------------------------------------------------------------- open and close --- */

void cj2k_decoder_params_init(Cj2kDecoderParams *params)
{
  memset(params, 0, sizeof *params);
  params->cuda_device = -1;
  params->frames_in_flight = DEFAULT_IN_FLIGHT;
}

/* Unless the caller has chosen a number of threads, or the CPU decodes some frames. */
static void limit_threads(Cj2kDecoder *decoder)
{
  const Cj2kDecoderParams *params = &decoder->params;
  uint32_t lanes = cj2k_threads_beside_gpu(params->frames_in_flight, 0);

  g_mutex_lock(&decoder->lock);
  bool cpu = decoder->backend.cpu_data;
  g_mutex_unlock(&decoder->lock);
  if (decoder->backend.kind != CJ2K_BACKEND_CUDA || cpu || params->num_threads)
    return;
  cj2k_threads_limit(decoder->threads, lanes, params->low_latency);
  cj2k_threads_use(decoder->threads, lanes ? 0 : GPU_THREADS);
}

Cj2kDecoder *cj2k_decoder_open(const Cj2kDecoderParams *params, Cj2kError *error)
{
  cj2k_error_clear(error);
  if (cj2k_option_check(&cj2k_decoder_options, params, error) != CJ2K_OK)
    return NULL;
  Cj2kDecoder *decoder = g_new0(Cj2kDecoder, 1);
  decoder->params = *params;
  if (!decoder->params.frames_in_flight)
    decoder->params.frames_in_flight = DEFAULT_IN_FLIGHT;
  decoder->threads = cj2k_threads_new(params->num_threads);
  if (!decoder->threads)
    cj2k_error_set(error, CJ2K_ERROR_MEMORY, "no thread could be started");
  if (!decoder->threads || !cj2k_decoder_open_backend(decoder, error)) {
    cj2k_threads_free(decoder->threads);
    g_free(decoder);
    return NULL;
  }
  decoder->params.cuda_devices = NULL; /* the text is the caller's */
  g_mutex_init(&decoder->lock);
  g_cond_init(&decoder->changed);
  limit_threads(decoder);
  cj2k_slots_init(&decoder->slots, &decoder->lock, &decoder->changed,
                  decoder->params.frames_in_flight);
  cj2k_last_headers_init(&decoder->last);
  cj2k_conceal_init(&decoder->conceal);
  cj2k_decoder_open_ring(decoder);
  return decoder;
}

void cj2k_decoder_close(Cj2kDecoder *decoder)
{
  if (!decoder)
    return;
  Cj2kFrame frame;
  while (cj2k_decoder_receive(decoder, &frame) == CJ2K_OK)
    cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_parts_clear(decoder);
  cj2k_decoder_clear_slots(decoder);
  cj2k_decoder_close_ring(decoder);
  cj2k_decoder_free_pictures(decoder);
  cj2k_decoder_close_backend(decoder);
  cj2k_threads_free(decoder->threads);
  cj2k_last_headers_clear(&decoder->last);
  cj2k_conceal_clear(&decoder->conceal);
  g_mutex_clear(&decoder->lock);
  g_cond_clear(&decoder->changed);
  g_free(decoder);
}

Cj2kBackendKind cj2k_decoder_backend(const Cj2kDecoder *decoder)
{
  return decoder->backend.kind;
}

const char *cj2k_decoder_why_cpu(const Cj2kDecoder *decoder)
{
  return decoder->backend.why_cpu.code ? decoder->backend.why_cpu.text : NULL;
}

void *cj2k_decoder_alloc(Cj2kDecoder *decoder, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_memory_alloc(&decoder->backend.functions->memory, decoder->backend.data, kind, size);
}

void cj2k_decoder_free(Cj2kDecoder *decoder, Cj2kMemoryKind kind, void *memory)
{
  cj2k_memory_free(&decoder->backend.functions->memory, decoder->backend.data, kind, memory);
}

/* --------------------------------------------------------------------------- submit --- */

Cj2kDecoderFrame *cj2k_decoder_wait_for_place(Cj2kDecoder *decoder)
{
  g_mutex_lock(&decoder->lock);
  while (decoder->ring.count == decoder->ring.size)
    g_cond_wait(&decoder->changed, &decoder->lock);
  uint32_t index = (decoder->ring.first + decoder->ring.count) % decoder->ring.size;
  g_mutex_unlock(&decoder->lock);
  cj2k_decoder_frame_reset(&decoder->ring.frames[index]);
  return &decoder->ring.frames[index];
}

void cj2k_decoder_frame_enqueue(Cj2kDecoderFrame *frame, bool run)
{
  Cj2kDecoder *decoder = frame->decoder;
  bool alone = decoder->ring.size == 1 && decoder->backend.kind == CJ2K_BACKEND_CUDA;
  g_mutex_lock(&decoder->lock);
  frame->state = run ? CJ2K_FRAME_BUSY : CJ2K_FRAME_DONE;
  frame->number = ++decoder->ring.submitted;
  if (run)
    cj2k_slots_announce(&decoder->slots, (uint32_t)(frame - decoder->ring.frames), frame->number);
  decoder->ring.count++;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
  if (run && alone)
    cj2k_decoder_frame_run(
        frame); /* handing it to another thread would take longer than reading the packets */
  else if (run)
    cj2k_threads_start(decoder->threads, cj2k_decoder_frame_run, frame);
}

Cj2kStatus cj2k_decoder_check_arguments(const Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                        const Cj2kPicture *picture, Cj2kError *error)
{
  if (decoder->parts.frame)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "a frame in parts was not ended");
  if (!layout != !picture)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "layout without picture, or the reverse");
  if (picture && picture->memory == CJ2K_MEMORY_CUDA && decoder->backend.kind != CJ2K_BACKEND_CUDA)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "the CPU back end cannot write to the memory of a GPU");
  return layout ? cj2k_layout_check(layout, error) : CJ2K_OK;
}

void cj2k_decoder_frame_submit(Cj2kDecoderFrame *frame, const Cj2kLayout *layout,
                               const Cj2kPicture *picture)
{
  frame->input.damaged = frame->decoder->next_is_damaged;
  frame->decoder->next_is_damaged = false;
  frame->status = cj2k_decoder_frame_headers(frame, &frame->error);
  if (frame->status == CJ2K_OK)
    frame->status = cj2k_decoder_frame_picture(frame, layout, picture, &frame->error);
  if (picture)
    frame->target.picture = *picture; /* returned with the frame, whatever its status */
  cj2k_decoder_frame_enqueue(frame, frame->status == CJ2K_OK);
}

Cj2kStatus cj2k_decoder_submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                               const Cj2kLayout *layout, const Cj2kPicture *picture, void *user,
                               Cj2kError *error)
{
  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_decoder_check_arguments(decoder, layout, picture, error);
  if (status != CJ2K_OK)
    return status;
  Cj2kDecoderFrame *frame = cj2k_decoder_wait_for_place(decoder);
  frame->input.data = data;
  frame->input.size = size;
  frame->input.user = user;
  frame->input.submitted = g_get_monotonic_time();
  cj2k_decoder_frame_submit(frame, layout, picture);
  return CJ2K_OK;
}

void cj2k_decoder_next_is_damaged(Cj2kDecoder *decoder)
{
  decoder->next_is_damaged = true;
}

Cj2kStatus cj2k_decoder_set_frames_in_flight(Cj2kDecoder *decoder, uint32_t frames,
                                             Cj2kError *error)
{
  const Cj2kDecoderBackend *backend = &decoder->backend;

  cj2k_error_clear(error);
  if (frames == decoder->ring.size)
    return CJ2K_OK;
  if (frames - 1 >= CJ2K_MAX_IN_FLIGHT)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "frames-in-flight is 1 to %d",
                          CJ2K_MAX_IN_FLIGHT);
  if (decoder->ring.count || decoder->parts.frame) /* only this thread raises it */
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "frames are in flight");
  cj2k_decoder_clear_slots(decoder);
  cj2k_decoder_close_ring(decoder);
  decoder->params.frames_in_flight = frames;
  if (backend->functions->set_in_flight)
    backend->functions->set_in_flight(backend->data, frames);
  limit_threads(decoder);
  g_mutex_lock(&decoder->lock); /* statistics may be read meanwhile */
  cj2k_slots_init(&decoder->slots, &decoder->lock, &decoder->changed, frames);
  g_mutex_unlock(&decoder->lock);
  cj2k_decoder_open_ring(decoder);
  return CJ2K_OK;
}

/* -------------------------------------------------------------------------- receive --- */

/* What a received frame holds until its release. */
typedef struct {
  Cj2kOwnPicture *own;
  Cj2kImageInfo *info;
  Cj2kSampleLayout *samples;
} Received;

static void hand_out(Cj2kDecoderFrame *frame, Cj2kFrame *out)
{
  Received *received = g_new0(Received, 1);
  received->own = frame->target.own;
  received->info = frame->headers.info;
  received->samples =
      g_memdup2(frame->target.layout.samples,
                frame->target.layout.num_components * sizeof *frame->target.layout.samples);
  frame->target.own = NULL;
  frame->headers.info = NULL;

  *out = (Cj2kFrame){.status = frame->status,
                     .error = frame->error,
                     .user = frame->input.user,
                     .picture = frame->target.picture,
                     .layout = frame->target.layout,
                     .corrupt_blocks = frame->coding.result.corrupt_blocks,
                     .fallback = frame->coding.fallback,
                     .redone = frame->coding.result.redone,
                     .priv = received};
  out->layout.samples = received->samples;
  if (received->info)
    out->image = received->info->image;
  if (!frame->coding.coded)
    return;
  out->truncated = frame->coding.coded->truncated || frame->headers.tile_parts.truncated;
  out->concealed_packets = frame->coding.coded->concealed_packets;
  out->concealed_blocks = frame->coding.coded->concealed_blocks;
  out->restored_blocks = frame->coding.restored_blocks;
}

static void count(Cj2kStats *stats, const Cj2kDecoderFrame *frame)
{
  stats->frames++;
  stats->failed_frames += frame->status != CJ2K_OK;
  stats->corrupt_blocks += frame->coding.result.corrupt_blocks;
  if (frame->status == CJ2K_OK && frame->coding.coded) {
    stats->concealed_frames += frame->coding.coded->concealed_packets > 0;
    stats->concealed_packets += frame->coding.coded->concealed_packets;
    stats->concealed_blocks += frame->coding.coded->concealed_blocks;
    stats->restored_blocks += frame->coding.restored_blocks;
  }
  stats->fallbacks += frame->coding.fallback;
  stats->redone_frames += frame->coding.result.redone;
  stats->bytes += frame->input.size;
  stats->ms_header += frame->headers.ms;
  stats->ms_packets += frame->coding.ms_packets;
  stats->ms_block_coder += frame->coding.result.ms_block_coder;
  stats->ms_transform += frame->coding.result.ms_transform;
  stats->ms_total += (double)(g_get_monotonic_time() - frame->input.submitted) / 1000;
}

Cj2kStatus cj2k_decoder_receive(Cj2kDecoder *decoder, Cj2kFrame *out)
{
  g_mutex_lock(&decoder->lock);
  if (!decoder->ring.count) {
    g_mutex_unlock(&decoder->lock);
    return CJ2K_END;
  }
  Cj2kDecoderFrame *frame = &decoder->ring.frames[decoder->ring.first];
  while (frame->state == CJ2K_FRAME_BUSY)
    g_cond_wait(&decoder->changed, &decoder->lock);
  g_mutex_unlock(&decoder->lock);

  cj2k_decoder_frame_finish(frame);
  cj2k_decoder_report_rows(frame);
  hand_out(frame, out);

  g_mutex_lock(&decoder->lock);
  count(&decoder->stats, frame);
  frame->state = CJ2K_FRAME_FREE;
  decoder->ring.first = (decoder->ring.first + 1) % decoder->ring.size;
  decoder->ring.count--;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
  return CJ2K_OK;
}

void cj2k_decoder_release(Cj2kDecoder *decoder, Cj2kFrame *frame)
{
  Received *received = frame->priv;
  frame->priv = NULL;
  if (!received)
    return;
  cj2k_own_picture_put(decoder, received->own);
  cj2k_image_info_unref(received->info);
  g_free(received->samples);
  g_free(received);
}

void cj2k_decoder_get_stats(Cj2kDecoder *decoder, Cj2kStats *stats)
{
  g_mutex_lock(&decoder->lock);
  *stats = decoder->stats;
  stats->frames_in_flight = decoder->slots.allowed;
  g_mutex_unlock(&decoder->lock);
  const Cj2kDecoderBackend *backend = &decoder->backend;
  uint32_t lost = backend->functions->lost ? backend->functions->lost(backend->data) : 0;
  stats->lost_devices = lost;
  stats->devices = backend->devices.count - lost;
}
