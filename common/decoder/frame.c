/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/runtime/error.h"
#include "palette.h"

#include <string.h>

static double ms_since(gint64 begin)
{
  return (double)(g_get_monotonic_time() - begin) / 1000;
}

/* Reads the packets while the back end copies the codestream into the frame's slot. */
static Cj2kStatus read_packets(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  const Cj2kDecodeBackend *backend = decoder->backend;
  const uint8_t *codestream = frame->data + frame->codestream.offset;
  gint64 begin = g_get_monotonic_time();
  if (!frame->packets)
    frame->packets = cj2k_packet_reader_new();
  if (backend->prefetch)
    backend->prefetch(decoder->backend_data, frame->slot, codestream, frame->codestream.size);
  Cj2kStatus status =
      cj2k_packets_read(frame->packets, frame->plan, &frame->tile_parts, codestream,
                        frame->codestream.size, decoder->params.max_layers, decoder->params.strict,
                        frame->max_memory, &frame->coded, &frame->error);
  if (status != CJ2K_OK && backend->abandon)
    backend->abandon(decoder->backend_data, frame->slot);
  frame->ms_packets = ms_since(begin);
  return status;
}

/* Creates a slot of the CPU back end for a frame that the chosen back end cannot decode. */
static Cj2kStatus make_cpu_slot(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  const Cj2kDecodeBackend *cpu = cj2k_cpu_decode_backend();
  g_mutex_lock(&decoder->lock);
  if (!decoder->cpu_data)
    decoder->cpu_data = cpu->open(&decoder->params, decoder->threads, &frame->error);
  void *data = decoder->cpu_data;
  g_mutex_unlock(&decoder->lock);
  if (data && !frame->cpu_slot)
    frame->cpu_slot = cpu->slot_new(data, &frame->error);
  return frame->cpu_slot ? CJ2K_OK : CJ2K_ERROR_MEMORY;
}

static Cj2kStatus start_cpu(Cj2kDecoderFrame *frame, const Cj2kDecodeJob *job)
{
  Cj2kError reason = frame->error;
  Cj2kDecodeJob on_host = *job;
  if (job->picture == &frame->picture)
    on_host.picture = cj2k_decoder_frame_host_picture(frame);
  if (!on_host.picture)
    return cj2k_error_set(&frame->error, CJ2K_ERROR_MEMORY, "no memory for the picture");
  Cj2kStatus status = make_cpu_slot(frame);
  if (status != CJ2K_OK)
    return status;
  frame->fallback = true;
  status = cj2k_cpu_decode_backend()->start(frame->decoder->cpu_data, frame->cpu_slot, &on_host,
                                            &frame->error);
  if (status == CJ2K_OK)
    frame->error = reason; /* reported by receive */
  return status;
}

static Cj2kStatus start_backend(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  bool palette = frame->info->has_palette;
  Cj2kDecodeJob job = {.plan = frame->plan,
                       .coded = frame->coded,
                       .layout = palette ? &frame->index_layout : &frame->layout,
                       .picture = palette ? &frame->index_picture : &frame->picture};
  Cj2kStatus status;
  do {
    if (!frame->slot && !cj2k_decoder_frame_take_slot(frame))
      return frame->error.code;
    status = decoder->backend->start(decoder->backend_data, frame->slot, &job, &frame->error);
  } while (status == CJ2K_ERROR_MEMORY && cj2k_decoder_frame_drop_slot(frame));
  if (status == CJ2K_ERROR_UNSUPPORTED && decoder->backend_kind != CJ2K_BACKEND_CPU)
    status = start_cpu(frame, &job);
  frame->started = status == CJ2K_OK;
  return status;
}

void cj2k_decoder_frame_run(void *data)
{
  Cj2kDecoderFrame *frame = data;
  Cj2kDecoder *decoder = frame->decoder;
  frame->status = cj2k_decoder_frame_take_slot(frame) ? read_packets(frame) : frame->error.code;
  if (frame->status == CJ2K_OK)
    frame->status = start_backend(frame);
  if (!frame->started)
    cj2k_decoder_frame_give_slot(frame);
  g_mutex_lock(&decoder->lock);
  frame->state = CJ2K_FRAME_DONE;
  g_cond_broadcast(&decoder->changed);
  g_mutex_unlock(&decoder->lock);
}

static Cj2kStatus wait_backend(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  if (frame->fallback)
    return cj2k_cpu_decode_backend()->wait(decoder->cpu_data, frame->cpu_slot, &frame->result,
                                           &frame->error);
  return decoder->backend->wait(decoder->backend_data, frame->slot, &frame->result, &frame->error);
}

void cj2k_decoder_frame_finish(Cj2kDecoderFrame *frame)
{
  if (!frame->started)
    return;
  frame->started = false;
  frame->status = wait_backend(frame);
  cj2k_decoder_frame_give_slot(frame);
  if (frame->status != CJ2K_OK)
    return;
  uint64_t beyond = 0;
  if (frame->info->has_palette)
    beyond = cj2k_palette_apply(frame->info, &frame->index_picture, &frame->layout,
                                cj2k_decoder_frame_host_picture(frame));
  frame->status = cj2k_decoder_frame_unstage(frame, &frame->error);
  if (frame->status != CJ2K_OK)
    return;
  bool truncated = frame->coded->truncated || frame->tile_parts.truncated;
  if (frame->decoder->params.strict && (truncated || frame->result.corrupt_blocks))
    frame->status = cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM, "%u corrupt code-blocks%s",
                                   frame->result.corrupt_blocks,
                                   truncated ? ", and the codestream ends early" : "");
  else if (frame->decoder->params.strict && beyond)
    frame->status = cj2k_error_set(&frame->error, CJ2K_ERROR_CODESTREAM,
                                   "%" G_GUINT64_FORMAT
                                   " samples are indices beyond the %u entries of the palette",
                                   beyond, frame->info->jp2.num_entries);
}

void cj2k_decoder_frame_reset(Cj2kDecoderFrame *frame)
{
  cj2k_tile_parts_clear(&frame->tile_parts);
  g_clear_pointer(&frame->plan, cj2k_plan_unref);
  g_clear_pointer(&frame->info, cj2k_image_info_unref);
  cj2k_own_picture_put(frame->decoder, frame->own);
  cj2k_own_picture_put(frame->decoder, frame->indices);
  cj2k_own_picture_put(frame->decoder, frame->staging);
  frame->own = frame->indices = frame->staging = NULL;
  memset(&frame->tile_parts, 0, sizeof frame->tile_parts);
  memset(&frame->result, 0, sizeof frame->result);
  memset(&frame->picture, 0, sizeof frame->picture);
  memset(&frame->layout, 0, sizeof frame->layout);
  cj2k_error_clear(&frame->error);
  frame->coded = NULL;
  frame->started = frame->fallback = false;
  frame->ms_header = frame->ms_packets = 0;
  frame->status = CJ2K_OK;
}

void cj2k_decoder_frame_clear(Cj2kDecoderFrame *frame)
{
  Cj2kDecoder *decoder = frame->decoder;
  cj2k_decoder_frame_reset(frame);
  cj2k_packet_reader_free(frame->packets);
  cj2k_cpu_decode_backend()->slot_free(decoder->cpu_data, frame->cpu_slot);
  g_free(frame->samples);
  g_free(frame->index_samples);
}
