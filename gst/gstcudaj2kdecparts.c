/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames whose codestream arrives in several buffers (alignment=subframe): the library decodes each
 * buffer as it comes, while the streaming thread waits for the next one.
 *
 * The base class sees a frame in each buffer. That of the first buffer stands for the picture, and
 * the others are released as they come. Its own subframe mode is not used, because there a frame
 * whose last buffer is lost takes in the buffers of the next frame. It also copies metadata to
 * buffers that may not be writable before GStreamer 1.22.5.
 */
#include "gstcudaj2kdecprivate.h"
#include "gstcudaj2kfields.h"

#include <string.h>

/* A main header that is incomplete is tried again when its bytes have grown by this part, so that
 * its cost does not depend on how small the buffers are. */
#define GROWTH 16

/* Forgets what the library has of the unfinished frame. */
static void forget_part(GstCudaJ2kDec *self)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  if (!u->part)
    return;
  cj2k_decoder_drop(self->codec.object);
  gst_cuda_j2k_dec_part_free(g_steal_pointer(&u->part));
}

/* The rest of the frame is ignored, for `reason` (transfer full; NULL: not the stream's fault). */
static void ignore(GstCudaJ2kDec *self, gchar *reason)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  forget_part(self);
  u->ignored = TRUE;
  g_free(u->reason);
  u->reason = reason;
}

/* Releases a frame without a picture. Its events go before the next picture, which must not be one
 * that came before them. */
static void release(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  if (frame->events)
    gst_cuda_j2k_output_wait(&self->codec.output);
  gst_video_decoder_release_frame(GST_VIDEO_DECODER(self), frame);
}

/* ----------------------------------------------------------------------------------- end --- */

/* Hands the frame, all of whose bytes the library has, over to the output thread. */
static GstFlowReturn end_part(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GstCudaJ2kDecPart *part = g_steal_pointer(&self->unfinished.part);
  Cj2kError error = {0};
  part->frame = frame;
  part->damaged = self->unfinished.damaged;
  part->arrived = g_get_monotonic_time();
  gst_cuda_j2k_output_unlock_stream(&self->codec.output);
  if (part->damaged)
    cj2k_decoder_next_is_damaged(self->codec.object);
  gboolean ended = cj2k_decoder_end(self->codec.object, &error) == CJ2K_OK;
  if (ended)
    gst_cuda_j2k_codec_added(&self->codec, part->arrived);
  gst_cuda_j2k_output_lock_stream(&self->codec.output);
  if (ended)
    return GST_FLOW_OK;
  gst_cuda_j2k_dec_part_free(part);
  return gst_cuda_j2k_dec_give_up(self, frame, GST_FLOW_OK, g_strdup(error.text));
}

/* Two fields are decoded together when both are there. */
static GstFlowReturn end_fields(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GByteArray *bytes = self->unfinished.bytes;
  GstBuffer *input = gst_buffer_new_memdup(bytes->data, bytes->len);
  GST_BUFFER_FLAGS(input) |= GST_BUFFER_FLAGS(frame->input_buffer) & GST_CUDA_J2K_FIELD_FLAGS;
  if (self->unfinished.damaged)
    GST_BUFFER_FLAG_SET(input, GST_BUFFER_FLAG_CORRUPTED);
  return gst_cuda_j2k_dec_decode_buffer(self, frame, input);
}

/* Hands over or gives up what is there of the unfinished frame. */
static GstFlowReturn end_frame(GstCudaJ2kDec *self)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  GstVideoCodecFrame *frame = g_steal_pointer(&u->frame);
  gchar *reason = g_steal_pointer(&u->reason);

  if (!frame)
    return GST_FLOW_OK;
  if (u->late) {
    gst_cuda_j2k_dec_drop_late(self, frame);
    return GST_FLOW_OK;
  }
  if (u->ignored && !reason) {
    release(self, frame);
    return GST_FLOW_OK;
  }
  if (u->part) {
    g_free(reason);
    return end_part(self, frame);
  }
  if (self->two_fields && !u->ignored)
    return end_fields(self, frame);
  if (!reason)
    reason = g_strdup("the codestream has no complete header");
  return gst_cuda_j2k_dec_give_up(self, frame, GST_FLOW_OK, reason);
}

void gst_cuda_j2k_dec_drop_unfinished(GstCudaJ2kDec *self)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  forget_part(self);
  if (u->frame)
    gst_video_decoder_release_frame(GST_VIDEO_DECODER(self), g_steal_pointer(&u->frame));
  g_clear_pointer(&u->reason, g_free);
}

/* --------------------------------------------------------------------------------- bytes --- */

/* Begins to decode if the main header is complete; else u->reason says what is wrong with the bytes
 * so far. */
static GstFlowReturn try_begin(GstCudaJ2kDec *self)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  const GstCudaJ2kSpan span = {u->bytes->data, u->bytes->len};
  GstCudaJ2kDecPart *part = g_new0(GstCudaJ2kDecPart, 1);
  Cj2kError error = {0};

  u->tried = u->bytes->len;
  g_clear_pointer(&u->reason, g_free);
  GstFlowReturn flow =
      gst_cuda_j2k_dec_prepare(self, &span, part, u->frame->input_buffer, &u->reason);
  if (flow != GST_FLOW_OK || u->reason) {
    gst_cuda_j2k_dec_part_free(part);
    return flow;
  }
  part->had_room = gst_cuda_j2k_codec_begin_submit(&self->codec);
  Cj2kStatus status = cj2k_decoder_begin(self->codec.object, &self->output.layout, &part->target,
                                         part, NULL, NULL, &error);
  if (status == CJ2K_OK)
    status = cj2k_decoder_append(self->codec.object, span.data, span.size, &error);
  gst_cuda_j2k_codec_end_wait(&self->codec);
  u->part = part;
  g_byte_array_set_size(u->bytes, 0);
  if (status != CJ2K_OK)
    ignore(self, g_strdup(error.text));
  return GST_FLOW_OK;
}

static void append(GstCudaJ2kDec *self, const guint8 *data, gsize size)
{
  Cj2kError error = {0};
  gst_cuda_j2k_output_unlock_stream(&self->codec.output);
  Cj2kStatus status = cj2k_decoder_append(self->codec.object, data, size, &error);
  gst_cuda_j2k_output_lock_stream(&self->codec.output);
  if (status != CJ2K_OK)
    ignore(self, g_strdup(error.text));
}

static GstFlowReturn add_bytes(GstCudaJ2kDec *self, const guint8 *data, gsize size)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  if (u->ignored || u->cut)
    return GST_FLOW_OK;
  u->size += size;
  if (u->limit && u->size > u->limit) {
    ignore(self, g_strdup_printf("it does not end within %" G_GSIZE_FORMAT " bytes", u->limit));
    return GST_FLOW_OK;
  }
  if (u->part) {
    append(self, data, size);
    return GST_FLOW_OK;
  }
  g_byte_array_append(u->bytes, data, (guint)size);
  if (!u->limit) {
    u->limit = gst_cuda_j2k_find_limit(u->bytes->data, u->bytes->len);
    /* What does not begin like a codestream is not collected. */
    u->cut = !u->limit && u->bytes->len >= GST_CUDA_J2K_START_BYTES;
  }
  return self->two_fields || u->bytes->len <= u->tried + u->tried / GROWTH ? GST_FLOW_OK
                                                                           : try_begin(self);
}

GstFlowReturn gst_cuda_j2k_dec_end_unfinished(GstCudaJ2kDec *self)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  GstFlowReturn flow = GST_FLOW_OK;

  if (!self->two_fields && !u->ignored && !u->part && u->frame && u->bytes->len > u->tried)
    flow = try_begin(self);
  if (flow != GST_FLOW_OK)
    ignore(self, NULL);
  GstFlowReturn ended = end_frame(self);
  return flow == GST_FLOW_OK ? ended : flow;
}

/* -------------------------------------------------------------------------------- buffer --- */

static void begin_frame(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  GByteArray *bytes = u->bytes;
  g_byte_array_set_size(bytes, 0);
  *u = (GstCudaJ2kDecUnfinished){.frame = frame, .bytes = bytes};
  u->late = u->ignored = gst_cuda_j2k_dec_is_late(self, frame);
}

/* Whether a buffer belongs to another frame than the unfinished one, whose last buffer is lost. */
static gboolean begins_another(const GstCudaJ2kDec *self, const GstBuffer *input,
                               const GstMapInfo *map)
{
  GstClockTime before = self->unfinished.frame->pts, pts = GST_BUFFER_PTS(input);
  if (GST_CLOCK_TIME_IS_VALID(before) && GST_CLOCK_TIME_IS_VALID(pts) && before != pts)
    return TRUE;
  return !self->two_fields && gst_cuda_j2k_find_limit(map->data, map->size);
}

/* A buffer before this one is lost. Without SOP nobody can tell which packets follow. */
static void note_gap(GstCudaJ2kDecUnfinished *u, const GstMapInfo *map)
{
  static const guint8 sop[] = {0xFF, 0x91, 0, 4};
  u->damaged = TRUE;
  u->cut |= map->size < sizeof sop || memcmp(map->data, sop, sizeof sop) != 0;
}

static GstFlowReturn add_buffer(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                const GstBuffer *input, const GstMapInfo *map)
{
  GstCudaJ2kDecUnfinished *u = &self->unfinished;
  GstFlowReturn flow = gst_cuda_j2k_output_report(&self->codec.output);

  if (u->frame && begins_another(self, input, map)) {
    GstFlowReturn ended = gst_cuda_j2k_dec_end_unfinished(self);
    flow = flow == GST_FLOW_OK ? ended : flow;
  }
  if (!u->frame) {
    begin_frame(self, frame);
  } else {
    release(self, frame);
    if (GST_BUFFER_IS_DISCONT(input))
      note_gap(u, map);
  }
  u->damaged |= GST_BUFFER_FLAG_IS_SET(input, GST_BUFFER_FLAG_CORRUPTED);
  if (flow == GST_FLOW_OK)
    flow = add_bytes(self, map->data, map->size);
  if (flow != GST_FLOW_OK)
    ignore(self, NULL);
  if (!GST_BUFFER_FLAG_IS_SET(input, GST_BUFFER_FLAG_MARKER))
    return flow;
  GstFlowReturn ended = gst_cuda_j2k_dec_end_unfinished(self);
  return flow == GST_FLOW_OK ? ended : flow;
}

GstFlowReturn gst_cuda_j2k_dec_add_part(GstCudaJ2kDec *self, GstVideoCodecFrame *frame)
{
  GstBuffer *input = gst_buffer_ref(frame->input_buffer);
  GstMapInfo map;
  if (!gst_buffer_map(input, &map, GST_MAP_READ)) {
    gst_buffer_unref(input);
    return gst_cuda_j2k_dec_give_up(self, frame, GST_FLOW_OK,
                                    g_strdup("cannot map the input buffer"));
  }
  GstFlowReturn flow = add_buffer(self, frame, input, &map);
  gst_buffer_unmap(input, &map);
  gst_buffer_unref(input);
  return flow;
}
