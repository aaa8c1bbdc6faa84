/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames whose rows come in parts. The frame is submitted as soon as the rows are there that its
 * first slice needs; from then on its task waits for the rows of each slice. Where the back end
 * cannot transform rows as they come, and without slices, it is submitted when it ends.
 */
#include "encoder.h"

#include "common/runtime/error.h"

static bool follows_rows(const Cj2kEncoder *encoder)
{
  return encoder->setup.params.slices && encoder->backend.functions->transform_rows;
}

Cj2kStatus cj2k_encoder_begin(Cj2kEncoder *encoder, const Cj2kPicture *picture, void *user,
                              Cj2kError *error)
{
  Cj2kEncoderParts *parts = &encoder->parts;

  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_encoder_check_submit(encoder, picture, error);
  if (status != CJ2K_OK)
    return status;
  Cj2kEncoderFrame *frame = cj2k_encoder_next_frame(encoder);
  *parts = (Cj2kEncoderParts){.frame = frame, .picture = *picture, .user = user};
  parts->needed = follows_rows(encoder) ? cj2k_codestream_slice_needs(frame->rate.layout.writer, 0)
                                        : UINT32_MAX;
  return CJ2K_OK;
}

static Cj2kStatus check_begun(const Cj2kEncoder *encoder, Cj2kError *error)
{
  cj2k_error_clear(error);
  return encoder->parts.frame
             ? CJ2K_OK
             : cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "no frame in parts was begun");
}

/* Tells the frame, which may wait for them, that so many rows are there. */
static void add_rows(Cj2kEncoder *encoder, uint32_t rows, bool last)
{
  Cj2kEncoderParts *parts = &encoder->parts;
  Cj2kEncoderFrame *frame = parts->frame;

  if (!parts->submitted) {
    cj2k_encoder_frame_submit(frame, &parts->picture, parts->user, rows, !last);
    parts->submitted = true;
    return;
  }
  g_mutex_lock(&encoder->lock);
  frame->rows = rows;
  frame->open = !last;
  if (last || rows >= frame->rows_wanted)
    g_cond_broadcast(&encoder->changed);
  g_mutex_unlock(&encoder->lock);
}

Cj2kStatus cj2k_encoder_append(Cj2kEncoder *encoder, uint32_t rows, Cj2kError *error)
{
  Cj2kEncoderParts *parts = &encoder->parts;
  uint32_t height = encoder->setup.image.height;
  Cj2kStatus status = check_begun(encoder, error);

  if (status != CJ2K_OK)
    return status;
  if (rows > height)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "%u rows of a picture of %u", rows, height);
  if (rows < parts->rows)
    return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "%u rows are there, after %u", rows,
                          parts->rows);
  parts->rows = rows;
  if (rows >= parts->needed)
    add_rows(encoder, rows, false);
  return CJ2K_OK;
}

Cj2kStatus cj2k_encoder_end(Cj2kEncoder *encoder, Cj2kError *error)
{
  Cj2kStatus status = check_begun(encoder, error);

  if (status != CJ2K_OK)
    return status;
  add_rows(encoder, UINT32_MAX, true);
  encoder->parts.frame = NULL;
  return CJ2K_OK;
}

/* Stops the frame's task, and takes the frame, which is the last one, out of the ring. */
static void take_back(Cj2kEncoder *encoder, Cj2kEncoderFrame *frame)
{
  g_mutex_lock(&encoder->lock);
  frame->dropped = true;
  g_cond_broadcast(&encoder->changed);
  while (frame->state != CJ2K_ENCODE_DONE)
    g_cond_wait(&encoder->changed, &encoder->lock);
  cj2k_output_put(g_steal_pointer(&frame->output));
  frame->open = false;
  frame->state = CJ2K_ENCODE_FREE;
  encoder->ring.count--;
  g_mutex_unlock(&encoder->lock);
}

void cj2k_encoder_drop(Cj2kEncoder *encoder)
{
  Cj2kEncoderFrame *frame = g_steal_pointer(&encoder->parts.frame);

  if (frame && encoder->parts.submitted)
    take_back(encoder, frame);
}
