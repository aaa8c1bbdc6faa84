/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/runtime/deadline.h"
#include "palette.h"

#include <string.h>

#define HELPERS       3u
#define SLOW_PREFETCH 200 /* microseconds; without a copy by the processor it takes some tens */

static double ms_since(gint64 begin)
{
  return (double)(g_get_monotonic_time() - begin) / 1000;
}

/* Waits until all earlier frames in flight have kept their code-blocks, or will not. */
static void wait_for_earlier(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  uint32_t i = 0;
  while (i < decoder->ring.size) {
    const Cj2kDecoderFrame *other = &decoder->ring.frames[i++];
    if (other->number >= frame->number || other->state != CJ2K_FRAME_BUSY ||
        other->coding.passed_conceal)
      continue;
    g_cond_wait(&decoder->changed, &decoder->lock);
    i = 0;
  }
}

/* Supplies missing code-blocks from the frame before. Frames do this in order. */
static void conceal(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  g_mutex_lock(&decoder->lock);
  wait_for_earlier(frame);
  g_mutex_unlock(&decoder->lock);
  frame->coding.restored_blocks =
      cj2k_conceal_frame(&decoder->conceal, frame->headers.plan, frame->coding.packets,
                         frame->coding.coded, frame->input.damaged);
  g_mutex_lock(&decoder->lock);
  frame->coding.passed_conceal = true;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
}

/* The error of a frame of which packets are missing, where nothing is to be concealed. */
static Cj2kStatus check_missing(Cj2kDecoderFrame *frame)
{
  uint64_t missing = frame->coding.coded->concealed_packets;
  if (missing > 0)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM,
                          "%" G_GUINT64_FORMAT " packets are missing", missing);
  if (frame->input.damaged)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM,
                          "missing packets were replaced by empty ones");
  return CJ2K_OK;
}

/* What the back end writes: with a palette the indices. */
static const Cj2kPicture *target_of(const Cj2kDecoderFrame *frame)
{
  return frame->headers.info->has_palette ? &frame->indices.picture : &frame->target.picture;
}

/* With low latency, and a frame alone on a GPU, threads spin that will help to read packets and to
 * list code-blocks. Frames with few code-blocks need no help. */
static bool has_helpers(const Cj2kDecoderFrame *frame)
{
  const Cj2kDecoder *decoder = frame->decoder;
  return decoder->params.low_latency && decoder->ring.size == 1 &&
         decoder->backend.kind == CJ2K_BACKEND_CUDA &&
         frame->headers.plan->num_blocks >= CJ2K_DIVIDED_BLOCKS;
}

/* Wakes those who sleep, and keeps the others awake. */
static void wake_helpers(const Cj2kDecoderFrame *frame)
{
  if (has_helpers(frame))
    cj2k_threads_wake(frame->decoder->threads, HELPERS);
}

/* Has the back end copy the codestream into the frame's slot. If the packets of the last frame were
 * divided, those of this one likely will be; then helpers are woken before that, unless it takes
 * long, because the codestream is in pageable memory. */
static void prefetch(Cj2kDecoderFrame *frame, const uint8_t *codestream)
{
  Cj2kDecoder *decoder = frame->decoder;
  const Cj2kDecodeBackend *backend = decoder->backend.functions;
  bool divides = cj2k_packet_reader_can_divide(frame->coding.packets);
  if (divides && !decoder->prefetch_is_slow)
    wake_helpers(frame);
  gint64 begin = g_get_monotonic_time();
  if (backend->prefetch)
    backend->prefetch(decoder->backend.data, frame->coding.slot, codestream,
                      frame->headers.codestream.size);
  if (!divides || !has_helpers(frame))
    return;
  decoder->prefetch_is_slow = g_get_monotonic_time() - begin > SLOW_PREFETCH;
  wake_helpers(frame);
}

/* Reads the packets while the back end copies the codestream. */
static Cj2kStatus read_packets(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  const Cj2kDecodeBackend *backend = decoder->backend.functions;
  const uint8_t *codestream = frame->input.data + frame->headers.codestream.offset;
  gint64 begin = g_get_monotonic_time();
  if (!frame->coding.packets) {
    frame->coding.packets = cj2k_packet_reader_new();
    cj2k_packet_reader_use(frame->coding.packets, decoder->threads, 0);
  }
  if (backend->prepare)
    backend->prepare(decoder->backend.data, frame->coding.slot, target_of(frame));
  prefetch(frame, codestream);
  cj2k_deadline_begin(decoder->params.max_time);
  cj2k_deadline_limit_items(cj2k_decoder_most_visits(decoder, frame->headers.codestream.size));
  Cj2kStatus status = cj2k_packets_read(
      frame->coding.packets, frame->headers.plan, &frame->headers.tile_parts, codestream,
      frame->headers.codestream.size, decoder->params.max_layers, decoder->params.strict,
      frame->headers.max_memory, &frame->coding.coded, &frame->error);
  cj2k_deadline_end();
  if (status == CJ2K_OK)
    wake_helpers(frame);
  if (status == CJ2K_OK && (decoder->params.strict || decoder->params.conceal == CJ2K_CONCEAL_NONE))
    status = check_missing(frame);
  if (status == CJ2K_OK && decoder->params.conceal == CJ2K_CONCEAL_PREVIOUS)
    conceal(frame);
  if (status != CJ2K_OK && backend->abandon)
    backend->abandon(decoder->backend.data, frame->coding.slot);
  frame->coding.ms_packets = ms_since(begin);
  return status;
}

/* Creates a slot of the CPU back end for a frame that the chosen back end cannot decode. */
static Cj2kStatus make_cpu_slot(Cj2kDecoderFrame *frame)
{
  void *data = cj2k_decoder_cpu_backend(frame->decoder, &frame->error);

  if (data && !frame->coding.cpu_slot)
    frame->coding.cpu_slot = cj2k_cpu_decode_backend()->slot_new(data, &frame->error);
  return frame->coding.cpu_slot ? CJ2K_OK : CJ2K_ERROR_MEMORY;
}

static Cj2kStatus start_cpu(Cj2kDecoderFrame *frame, const Cj2kDecodeJob *job)
{
  Cj2kError reason = frame->error;
  Cj2kDecodeJob on_host = *job;
  if (has_helpers(frame)) /* while some are awake no other thread would take part */
    cj2k_threads_rest(frame->decoder->threads);
  if (job->picture == &frame->target.picture)
    on_host.picture = cj2k_decoder_frame_host_picture(frame);
  if (!on_host.picture)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_MEMORY, "no memory for the picture");
  Cj2kStatus status = make_cpu_slot(frame);
  if (status != CJ2K_OK)
    return status;
  frame->coding.fallback = true;
  status = cj2k_cpu_decode_backend()->start(frame->decoder->backend.cpu_data,
                                            frame->coding.cpu_slot, &on_host, &frame->error);
  if (status == CJ2K_OK)
    frame->error = reason; /* reported by receive */
  return status;
}

static Cj2kStatus start_backend(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  bool palette = frame->headers.info->has_palette;
  Cj2kDecodeJob job = {.plan = frame->headers.plan,
                       .coded = frame->coding.coded,
                       .layout = palette ? &frame->indices.layout : &frame->target.layout,
                       .picture = target_of(frame)};
  Cj2kStatus status;
  do {
    if (!frame->coding.slot && !cj2k_decoder_frame_take_slot(frame))
      return frame->error.code;
    status = decoder->backend.functions->start(decoder->backend.data, frame->coding.slot, &job,
                                               &frame->error);
  } while (status == CJ2K_ERROR_MEMORY && cj2k_decoder_frame_drop_slot(frame));
  if (status == CJ2K_ERROR_UNSUPPORTED && decoder->backend.kind != CJ2K_BACKEND_CPU)
    status = start_cpu(frame, &job);
  frame->coding.started = status == CJ2K_OK;
  return status;
}

void cj2k_decoder_frame_run(void *data)
{
  Cj2kDecoderFrame *frame = data;
  Cj2kDecoder *decoder = frame->decoder;
  frame->status = cj2k_decoder_frame_take_slot(frame) ? read_packets(frame) : frame->error.code;
  if (frame->status == CJ2K_OK)
    frame->status = start_backend(frame);
  if (has_helpers(frame))
    cj2k_threads_rest(decoder->threads);
  if (!frame->coding.started)
    cj2k_decoder_frame_give_slot(frame);
  g_mutex_lock(&decoder->lock);
  frame->state = CJ2K_FRAME_DONE;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
}

static Cj2kStatus wait_backend(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  if (frame->coding.fallback)
    return cj2k_cpu_decode_backend()->wait(decoder->backend.cpu_data, frame->coding.cpu_slot,
                                           &frame->coding.result, &frame->error);
  return decoder->backend.functions->wait(decoder->backend.data, frame->coding.slot,
                                          &frame->coding.result, &frame->error);
}

Cj2kStatus cj2k_decoder_frame_check(Cj2kDecoderFrame *frame)
{
  bool truncated = frame->coding.coded->truncated || frame->headers.tile_parts.truncated;
  if (!frame->decoder->params.strict || (!truncated && !frame->coding.result.corrupt_blocks))
    return CJ2K_OK;
  return cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM, "%u corrupt code-blocks%s",
                        frame->coding.result.corrupt_blocks,
                        truncated ? ", and the codestream ends early" : "");
}

void cj2k_decoder_frame_finish(Cj2kDecoderFrame *frame)
{
  if (!frame->coding.started)
    return;
  frame->coding.started = false;
  frame->status = wait_backend(frame);
  cj2k_decoder_frame_give_slot(frame);
  if (frame->status != CJ2K_OK)
    return;
  uint64_t beyond = 0;
  if (frame->headers.info->has_palette)
    beyond = cj2k_palette_apply(frame->headers.info, &frame->indices.picture, &frame->target.layout,
                                cj2k_decoder_frame_host_picture(frame));
  frame->status = cj2k_decoder_frame_unstage(frame, &frame->error);
  if (frame->status != CJ2K_OK)
    return;
  frame->status = cj2k_decoder_frame_check(frame);
  if (frame->status == CJ2K_OK && frame->decoder->params.strict && beyond)
    frame->status = cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM,
                                   "%" G_GUINT64_FORMAT
                                   " samples are indices beyond the %u entries of the palette",
                                   beyond, frame->headers.info->jp2.num_entries);
}

/* ------------------------------------------------------------------------------ the ring --- */

void cj2k_decoder_frame_reset(Cj2kDecoderFrame *frame)
{
  Cj2kFrameCoding *coding = &frame->coding;

  frame->input = (Cj2kFrameInput){0};
  cj2k_frame_headers_reset(&frame->headers);
  cj2k_frame_target_reset(&frame->target, frame->decoder);
  cj2k_frame_target_reset(&frame->indices, frame->decoder);
  cj2k_frame_staging_reset(&frame->staging, frame->decoder);
  *coding = (Cj2kFrameCoding){.packets = coding->packets, .cpu_slot = coding->cpu_slot};
  frame->parts.rows = NULL;
  cj2k_error_clear(&frame->error);
  frame->status = CJ2K_OK;
}

void cj2k_decoder_open_ring(Cj2kDecoder *decoder)
{
  Cj2kDecoderRing *ring = &decoder->ring;

  ring->size = decoder->params.frames_in_flight;
  ring->first = 0;
  ring->frames = g_new0(Cj2kDecoderFrame, ring->size);
  for (uint32_t i = 0; i < ring->size; i++)
    ring->frames[i].decoder = decoder;
}

static void frame_clear(Cj2kDecoderFrame *frame)
{
  cj2k_decoder_frame_reset(frame);
  cj2k_packet_reader_free(frame->coding.packets);
  cj2k_cpu_decode_backend()->slot_free(frame->decoder->backend.cpu_data, frame->coding.cpu_slot);
  cj2k_frame_target_clear(&frame->target);
  cj2k_frame_target_clear(&frame->indices);
  g_free(frame->parts.bytes);
}

void cj2k_decoder_close_ring(Cj2kDecoder *decoder)
{
  for (uint32_t i = 0; i < decoder->ring.size; i++)
    frame_clear(&decoder->ring.frames[i]);
  g_free(decoder->ring.frames);
}
