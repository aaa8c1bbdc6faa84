/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/options/decoder_options.h"
#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <string.h>

#define DEFAULT_IN_FLIGHT 2

/* ------------------------------------------------------------------- open and close --- */

void cj2k_decoder_params_init(Cj2kDecoderParams *params)
{
  memset(params, 0, sizeof *params);
  params->cuda_device = -1;
  params->frames_in_flight = DEFAULT_IN_FLIGHT;
}

static bool try_backend(Cj2kDecoder *decoder, const Cj2kDecodeBackend *backend,
                        Cj2kBackendKind kind, Cj2kError *error)
{
  decoder->backend_data = backend->open(&decoder->params, decoder->threads, error);
  decoder->backend = backend;
  decoder->backend_kind = kind;
  return decoder->backend_data != NULL;
}

/* Opens CUDA if it is requested, or if AUTO finds a usable GPU; else the CPU. */
static bool choose_backend(Cj2kDecoder *decoder, Cj2kError *error)
{
  Cj2kBackendKind wanted = decoder->params.backend;
  const Cj2kDecodeBackend *cuda = cj2k_cuda_decode_backend();
  if (wanted == CJ2K_BACKEND_CUDA && !cuda) {
    cj2k_error_set(error, CJ2K_ERROR_DEVICE, "this build has no CUDA back end");
    return false;
  }
  if (wanted != CJ2K_BACKEND_CPU && cuda) {
    if (try_backend(decoder, cuda, CJ2K_BACKEND_CUDA,
                    wanted == CJ2K_BACKEND_CUDA ? error : &decoder->why_cpu))
      return true;
    if (wanted == CJ2K_BACKEND_CUDA)
      return false;
  }
  return try_backend(decoder, cj2k_cpu_decode_backend(), CJ2K_BACKEND_CPU, error);
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
  if (!decoder->threads || !choose_backend(decoder, error)) {
    cj2k_threads_free(decoder->threads);
    g_free(decoder);
    return NULL;
  }
  g_mutex_init(&decoder->lock);
  g_cond_init(&decoder->changed);
  cj2k_slots_init(&decoder->slots, &decoder->lock, &decoder->changed,
                  decoder->params.frames_in_flight);
  decoder->header_reader = cj2k_header_reader_new();
  decoder->boxes = g_byte_array_new();
  decoder->frames = g_new0(Cj2kDecoderFrame, decoder->params.frames_in_flight);
  for (uint32_t i = 0; i < decoder->params.frames_in_flight; i++)
    decoder->frames[i].decoder = decoder;
  return decoder;
}

void cj2k_decoder_close(Cj2kDecoder *decoder)
{
  if (!decoder)
    return;
  Cj2kFrame frame;
  while (cj2k_decoder_receive(decoder, &frame) == CJ2K_OK)
    cj2k_decoder_release(decoder, &frame);
  for (uint32_t i = 0; i < decoder->params.frames_in_flight; i++)
    cj2k_decoder_frame_clear(&decoder->frames[i]);
  cj2k_decoder_clear_slots(decoder);
  while (decoder->free_pictures) {
    Cj2kOwnPicture *picture = decoder->free_pictures;
    decoder->free_pictures = picture->next;
    cj2k_own_picture_free(decoder, picture);
  }
  decoder->backend->close(decoder->backend_data);
  if (decoder->cpu_data)
    cj2k_cpu_decode_backend()->close(decoder->cpu_data);
  cj2k_threads_free(decoder->threads);
  g_clear_pointer(&decoder->plan, cj2k_plan_unref);
  cj2k_image_info_unref(decoder->info);
  cj2k_image_info_unref(decoder->read_info);
  g_byte_array_unref(decoder->boxes);
  cj2k_header_reader_free(decoder->header_reader);
  g_free(decoder->frames);
  g_mutex_clear(&decoder->lock);
  g_cond_clear(&decoder->changed);
  g_free(decoder);
}

Cj2kBackendKind cj2k_decoder_backend(const Cj2kDecoder *decoder)
{
  return decoder->backend_kind;
}

const char *cj2k_decoder_why_cpu(const Cj2kDecoder *decoder)
{
  return decoder->why_cpu.code ? decoder->why_cpu.text : NULL;
}

void *cj2k_decoder_alloc(Cj2kDecoder *decoder, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_memory_alloc(&decoder->backend->memory, decoder->backend_data, kind, size);
}

void cj2k_decoder_free(Cj2kDecoder *decoder, Cj2kMemoryKind kind, void *memory)
{
  cj2k_memory_free(&decoder->backend->memory, decoder->backend_data, kind, memory);
}

/* --------------------------------------------------------------------------- submit --- */

/* The next free place of the ring; waits until there is one. */
static Cj2kDecoderFrame *wait_for_place(Cj2kDecoder *decoder)
{
  g_mutex_lock(&decoder->lock);
  while (decoder->count == decoder->params.frames_in_flight)
    g_cond_wait(&decoder->changed, &decoder->lock);
  uint32_t index = (decoder->first + decoder->count) % decoder->params.frames_in_flight;
  g_mutex_unlock(&decoder->lock);
  return &decoder->frames[index];
}

static void enqueue(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  bool run = frame->status == CJ2K_OK;
  bool alone = decoder->params.frames_in_flight == 1 && decoder->backend_kind == CJ2K_BACKEND_CUDA;
  g_mutex_lock(&decoder->lock);
  frame->state = run ? CJ2K_FRAME_BUSY : CJ2K_FRAME_DONE;
  frame->number = ++decoder->num_frames;
  if (run)
    cj2k_slots_announce(&decoder->slots, (uint32_t)(frame - decoder->frames), frame->number);
  decoder->count++;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
  if (run && alone)
    cj2k_decoder_frame_run(
        frame); /* handing it to another thread would take longer than reading the packets */
  else if (run)
    cj2k_threads_start(decoder->threads, cj2k_decoder_frame_run, frame);
}

static Cj2kStatus check_arguments(const Cj2kDecoder *decoder, const Cj2kLayout *layout,
                                  const Cj2kPicture *picture, Cj2kError *error)
{
  if (!layout != !picture)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "layout without picture, or the reverse");
  if (picture && picture->memory == CJ2K_MEMORY_CUDA && decoder->backend_kind != CJ2K_BACKEND_CUDA)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "the CPU back end cannot write to the memory of a GPU");
  return layout ? cj2k_layout_check(layout, error) : CJ2K_OK;
}

Cj2kStatus cj2k_decoder_submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                               const Cj2kLayout *layout, const Cj2kPicture *picture, void *user,
                               Cj2kError *error)
{
  cj2k_error_clear(error);
  Cj2kStatus status = check_arguments(decoder, layout, picture, error);
  if (status != CJ2K_OK)
    return status;
  Cj2kDecoderFrame *frame = wait_for_place(decoder);
  cj2k_decoder_frame_reset(frame);
  frame->data = data;
  frame->size = size;
  frame->user = user;
  frame->submitted = g_get_monotonic_time();
  frame->status = cj2k_decoder_frame_headers(frame, &frame->error);
  if (frame->status == CJ2K_OK)
    frame->status = cj2k_decoder_frame_picture(frame, layout, picture, &frame->error);
  if (picture)
    frame->picture = *picture; /* returned with the frame, whatever its status */
  enqueue(frame);
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
  received->own = frame->own;
  received->info = frame->info;
  received->samples = g_memdup2(frame->layout.samples,
                                frame->layout.num_components * sizeof *frame->layout.samples);
  frame->own = NULL;
  frame->info = NULL;

  *out = (Cj2kFrame){.status = frame->status,
                     .error = frame->error,
                     .user = frame->user,
                     .picture = frame->picture,
                     .layout = frame->layout,
                     .corrupt_blocks = frame->result.corrupt_blocks,
                     .fallback = frame->fallback,
                     .priv = received};
  out->layout.samples = received->samples;
  if (received->info)
    out->image = received->info->image;
  if (frame->coded)
    out->truncated = frame->coded->truncated || frame->tile_parts.truncated;
}

static void count(Cj2kStats *stats, const Cj2kDecoderFrame *frame)
{
  stats->frames++;
  stats->failed_frames += frame->status != CJ2K_OK;
  stats->corrupt_blocks += frame->result.corrupt_blocks;
  stats->fallbacks += frame->fallback;
  stats->bytes += frame->size;
  stats->ms_header += frame->ms_header;
  stats->ms_packets += frame->ms_packets;
  stats->ms_block_coder += frame->result.ms_block_coder;
  stats->ms_transform += frame->result.ms_transform;
  stats->ms_total += (double)(g_get_monotonic_time() - frame->submitted) / 1000;
}

Cj2kStatus cj2k_decoder_receive(Cj2kDecoder *decoder, Cj2kFrame *out)
{
  g_mutex_lock(&decoder->lock);
  if (!decoder->count) {
    g_mutex_unlock(&decoder->lock);
    return CJ2K_END;
  }
  Cj2kDecoderFrame *frame = &decoder->frames[decoder->first];
  while (frame->state == CJ2K_FRAME_BUSY)
    g_cond_wait(&decoder->changed, &decoder->lock);
  g_mutex_unlock(&decoder->lock);

  cj2k_decoder_frame_finish(frame);
  hand_out(frame, out);

  g_mutex_lock(&decoder->lock);
  count(&decoder->stats, frame);
  frame->state = CJ2K_FRAME_FREE;
  decoder->first = (decoder->first + 1) % decoder->params.frames_in_flight;
  decoder->count--;
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
}
