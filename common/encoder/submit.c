/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How frames come in and go out. */
#include "encoder.h"

#include "common/runtime/error.h"
#include "common/samples/layout.h"

#include <string.h>

/* --------------------------------------------------------------------------- submit --- */

Cj2kRateTarget cj2k_encoder_rate_target(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;
  Cj2kRateTarget target = {
      .mode = p->rate_control,
      .quality = p->quality,
      .quant_step = p->quant_step,
      .psnr = p->psnr,
      .weights = p->visual_weights,
      .ceilings = cj2k_ceilings(cj2k_setup_frame_bytes(setup), cj2k_setup_component_bytes(setup),
                                setup->image.num_components, p->profile == CJ2K_PROFILE_CINEMA_4K),
      .average = {cj2k_setup_average_bytes(setup), p->average_window,
                  cj2k_setup_frame_bytes(setup)}};

  target.regions.count = p->num_regions;
  memcpy(target.regions.list, p->regions, p->num_regions * sizeof *p->regions);
  return target;
}

Cj2kStatus cj2k_encoder_check_submit(const Cj2kEncoder *encoder, const Cj2kPicture *picture,
                                     Cj2kError *error)
{
  const Cj2kEncoderImage *image = &encoder->setup.image;

  if (encoder->parts.frame)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "the frame in parts that was begun has not ended");
  if (picture->memory == CJ2K_MEMORY_CUDA && encoder->backend.kind != CJ2K_BACKEND_CUDA)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                          "the CPU back end cannot read the memory of a GPU");
  return cj2k_layout_check_picture(&encoder->layout, picture, image->components,
                                   image->num_components, error);
}

Cj2kEncoderFrame *cj2k_encoder_next_frame(Cj2kEncoder *encoder)
{
  Cj2kFrameRing *ring = &encoder->ring;

  g_mutex_lock(&encoder->lock);
  while (ring->count == ring->size)
    g_cond_wait(&encoder->changed, &encoder->lock);
  Cj2kEncoderFrame *frame = &ring->frames[(ring->first + ring->count) % ring->size];
  frame->params = encoder->setup.params;
  frame->rate.target = cj2k_encoder_rate_target(&encoder->setup);
  g_mutex_unlock(&encoder->lock);
  frame->submitted = g_get_monotonic_time();
  return frame;
}

/* True if the submitting thread starts the GPU itself: with one frame in flight, waking another
 * thread and being woken by it would only add latency. Not for pageable memory, which all threads
 * copy first: submit would have to wait for that. Nor for frames in slices, which leave without
 * being received. */
static bool is_direct(const Cj2kEncoder *encoder, const Cj2kPicture *picture)
{
  return encoder->backend.kind == CJ2K_BACKEND_CUDA && encoder->ring.size == 1 &&
         picture->memory != CJ2K_MEMORY_HOST && !encoder->setup.params.slices;
}

void cj2k_encoder_frame_submit(Cj2kEncoderFrame *frame, const Cj2kPicture *picture, void *user,
                               uint32_t rows, bool open)
{
  Cj2kEncoder *encoder = frame->encoder;

  frame->picture = *picture;
  frame->user = user;
  frame->status = CJ2K_OK;
  frame->fallback = frame->redone = false;
  frame->ms_write = frame->rate.layout.ms = 0;
  frame->rate.coder = (Cj2kFrameCoder){0};
  frame->output = cj2k_output_get(encoder->outputs);
  cj2k_error_clear(&frame->error);

  g_mutex_lock(&encoder->lock);
  frame->rate.number = ++encoder->ring.submitted;
  if (frame->rate.target.average.rate)
    cj2k_bucket_announce(&encoder->rate.bucket, frame->rate.number, &frame->rate.target.average);
  cj2k_slots_announce(&encoder->slots, (uint32_t)(frame - encoder->ring.frames),
                      frame->rate.number);
  frame->rows = rows;
  frame->rows_wanted = UINT32_MAX;
  frame->open = open;
  frame->dropped = false;
  frame->state = CJ2K_ENCODE_BUSY;
  encoder->ring.count++;
  g_mutex_unlock(&encoder->lock);
  if (!is_direct(encoder, picture)) {
    cj2k_threads_start(encoder->threads, cj2k_encoder_frame_run, frame);
    return;
  }
  cj2k_encoder_frame_begin(frame);
  g_mutex_lock(&encoder->lock);
  frame->state = CJ2K_ENCODE_BEGUN;
  g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
}

Cj2kStatus cj2k_encoder_submit(Cj2kEncoder *encoder, const Cj2kPicture *picture, void *user,
                               Cj2kError *error)
{
  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_encoder_check_submit(encoder, picture, error);
  if (status != CJ2K_OK)
    return status;
  Cj2kEncoderFrame *frame = cj2k_encoder_next_frame(encoder);
  cj2k_encoder_frame_submit(frame, picture, user, UINT32_MAX, false);
  return CJ2K_OK;
}

/* -------------------------------------------------------------------------- receive --- */

static void count(Cj2kStats *stats, const Cj2kEncoderFrame *frame)
{
  stats->frames++;
  stats->failed_frames += frame->status != CJ2K_OK;
  stats->fallbacks += frame->fallback;
  stats->redone_frames += frame->redone;
  stats->limited_frames += frame->status == CJ2K_OK && frame->rate.limited;
  stats->bytes += frame->status == CJ2K_OK ? frame->output->bytes.size : 0;
  stats->ms_packets += frame->ms_write + frame->rate.layout.ms;
  stats->ms_block_coder += frame->rate.coder.ms_block_coder;
  stats->ms_transform += frame->rate.coder.ms_transform;
  stats->ms_total += (double)(g_get_monotonic_time() - frame->submitted) / 1000;
}

Cj2kStatus cj2k_encoder_receive(Cj2kEncoder *encoder, Cj2kPacket *packet)
{
  g_mutex_lock(&encoder->lock);
  if (!encoder->ring.count || encoder->ring.frames[encoder->ring.first].open) {
    g_mutex_unlock(&encoder->lock);
    return CJ2K_END;
  }
  Cj2kEncoderFrame *frame = &encoder->ring.frames[encoder->ring.first];
  while (frame->state == CJ2K_ENCODE_BUSY)
    g_cond_wait(&encoder->changed, &encoder->lock);
  if (frame->state == CJ2K_ENCODE_BEGUN) {
    frame->state = CJ2K_ENCODE_BUSY;
    g_mutex_unlock(&encoder->lock);
    cj2k_encoder_frame_end(frame);
    g_mutex_lock(&encoder->lock);
  }
  bool ok = frame->status == CJ2K_OK;
  *packet = (Cj2kPacket){.status = frame->status,
                         .error = frame->error,
                         .user = frame->user,
                         .data = ok ? frame->output->bytes.data : NULL,
                         .size = ok ? frame->output->bytes.size : 0,
                         .fallback = frame->fallback,
                         .redone = frame->redone,
                         .priv = frame->output};
  count(&encoder->stats, frame);
  frame->output = NULL;
  frame->state = CJ2K_ENCODE_FREE;
  encoder->ring.first = (encoder->ring.first + 1) % encoder->ring.size;
  encoder->ring.count--;
  g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
  return CJ2K_OK;
}

void cj2k_encoder_release(Cj2kEncoder *encoder, Cj2kPacket *packet)
{
  (void)encoder;
  cj2k_output_put(packet->priv);
  packet->priv = NULL;
}
