/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of a frame through the encoder element: it is submitted on the streaming thread, and its
 * codestream is pushed on the output thread. */
#include "gstcudaj2kencprivate.h"
#include "gstcudaj2kfields.h"

#include <string.h>

/* ------------------------------------------------------------------------------------ in --- */

/* Applies the rate properties and regions from this frame on. Returns why they are refused
 * (transfer full); NULL: they are not. */
static gchar *apply_rate(GstCudaJ2kEnc *self, Cj2kEncoderParams *params)
{
  Cj2kError error = {0};
  gchar *reason = NULL;

  gst_cuda_j2k_enc_try(self);
  gboolean ok = gst_cuda_j2k_enc_make_params(&self->tried, &self->info, &self->stream, self->frames,
                                             params, &reason);
  gst_cuda_j2k_enc_add_regions(self, params);
  gst_cuda_j2k_enc_fit_regions(&self->stream, params);
  if (ok && cj2k_encoder_set_rate(self->codec.object, params, &error) != CJ2K_OK)
    reason = g_strdup(error.text);
  return reason;
}

/* If a changed property is refused, a warning says so and the old rate stays. */
static void change_rate(GstCudaJ2kEnc *self)
{
  Cj2kEncoderParams params;
  gchar *reason = apply_rate(self, &params);

  self->regions_refused = FALSE;
  if (reason)
    GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS, (GST_CUDA_J2K_RATE_STAYS, reason), (NULL));
  else {
    gst_cuda_j2k_enc_accept(self);
    gst_cuda_j2k_enc_send_tags(self, &params);
  }
  g_free(reason);
}

/* If the regions of a buffer are refused, a warning says so once, and they have no effect. */
static void change_regions(GstCudaJ2kEnc *self)
{
  Cj2kEncoderParams params;
  gchar *reason = apply_rate(self, &params);

  if (!reason)
    return;
  self->num_regions = 0;
  if (!self->regions_refused)
    GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS,
                        ("Regions of interest have no effect: %s.", reason), (NULL));
  self->regions_refused = TRUE;
  g_free(reason);
}

/* A picture that consists of every `step`th row from row `first` on: 0 and 1 for a whole frame. */
static GstCudaJ2kEncPart *make_part(const GstVideoFrame *map, const GstCudaJ2kMapped *mapped,
                                    guint first, guint step)
{
  GstCudaJ2kEncPart *part = g_new0(GstCudaJ2kEncPart, 1);
  part->source.memory = mapped->kind;
  part->source.cuda_stream = mapped->cuda_stream;
  part->source.num_planes = GST_VIDEO_FRAME_N_PLANES(map);
  part->source.planes = part->planes;
  for (guint p = 0; p < part->source.num_planes; p++) {
    gsize pitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(map, p);
    part->planes[p].data = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(map, p) + first * pitch;
    part->planes[p].pitch = step * pitch;
    part->planes[p].row_bytes = pitch;
  }
  return part;
}

static void part_free(GstCudaJ2kEncPart *part)
{
  if (part->map.buffer)
    gst_video_frame_unmap(&part->map);
  g_free(part);
}

/* May wait until the output thread has made room. */
static Cj2kStatus submit(GstCudaJ2kEnc *self, GstCudaJ2kEncPart *part, Cj2kError *error)
{
  part->had_room = gst_cuda_j2k_codec_begin_submit(&self->codec);
  Cj2kStatus status = cj2k_encoder_submit(self->codec.object, &part->source, part, error);
  gst_cuda_j2k_codec_end_submit(&self->codec, status == CJ2K_OK);
  return status;
}

/* Without an output buffer the base class drops the frame. */
static GstFlowReturn drop(GstCudaJ2kEnc *self, GstVideoCodecFrame *frame, GstFlowReturn flow)
{
  gst_video_encoder_finish_frame(GST_VIDEO_ENCODER(self), frame);
  return flow;
}

/* If the fields need more rows than the mapped frame has, replaces it by a copy that has them. */
static gboolean make_room(GstCudaJ2kEnc *self, GstBuffer *buffer, GstVideoFrame *map,
                          GstCudaJ2kMapped *mapped)
{
  GstVideoFrame host, room;
  if (!self->stream.fields || !gst_cuda_j2k_fields_need_room(self->format, &self->info))
    return TRUE;
  gst_video_frame_unmap(map);
  if (!gst_cuda_j2k_map(&host, &self->info, buffer, GST_MAP_READ, NULL, mapped))
    return FALSE;
  gboolean ok = gst_cuda_j2k_fields_map_room(&self->info, &room);
  if (ok)
    gst_cuda_j2k_fields_copy(self->format, &host, &room);
  gst_video_frame_unmap(&host);
  *map = room;
  *mapped = (GstCudaJ2kMapped){.kind = CJ2K_MEMORY_HOST};
  return ok;
}

/* Maps an input buffer; posts an error on failure. */
static gboolean map_input(GstCudaJ2kEnc *self, GstBuffer *buffer, GstVideoFrame *map,
                          GstCudaJ2kMapped *mapped)
{
  gboolean gpu = cj2k_encoder_backend(self->codec.object) == CJ2K_BACKEND_CUDA;
  gboolean ok = gst_cuda_j2k_map(map, &self->info, buffer, GST_MAP_READ,
                                 gpu ? self->codec.context : NULL, mapped);
  if (ok && mapped->kind != CJ2K_MEMORY_CUDA && !gst_cuda_j2k_frame_is_whole(self->format, map)) {
    gst_video_frame_unmap(map);
    GST_ELEMENT_ERROR(self, STREAM, FORMAT,
                      ("An input buffer is smaller than a picture of %dx%d in %s.",
                       GST_VIDEO_INFO_WIDTH(&self->info), GST_VIDEO_INFO_HEIGHT(&self->info),
                       self->format->name),
                      ("Strides and offsets come from its GstVideoMeta, if it has one."));
    return FALSE;
  }
  if (ok && make_room(self, buffer, map, mapped))
    return TRUE;
  GST_ELEMENT_ERROR(self, STREAM, ENCODE, ("Cannot map an input buffer."), (NULL));
  return FALSE;
}

GstFlowReturn gst_cuda_j2k_enc_handle_frame(GstVideoEncoder *encoder, GstVideoCodecFrame *frame)
{
  GstCudaJ2kEnc *self = (GstCudaJ2kEnc *)encoder;
  Cj2kError error = {0};
  GstCudaJ2kMapped mapped;
  GstVideoFrame map;

  gint64 arrived = g_get_monotonic_time();
  gst_cuda_j2k_codec_note_frame(&self->codec, frame);
  self->segment_pending = FALSE; /* the base class attaches it to this frame */
  GstFlowReturn flow = gst_cuda_j2k_output_report(&self->codec.output);
  if (flow == GST_FLOW_OK)
    flow = gst_cuda_j2k_enc_ensure_configured(self);
  if (flow != GST_FLOW_OK)
    return drop(self, frame, flow);
  if (gst_video_encoder_get_max_encode_time(encoder, frame) < 0) { /* with the property qos */
    GST_DEBUG_OBJECT(self, "frame %u is too late", frame->system_frame_number);
    gst_cuda_j2k_meter_count_late(&self->codec.meter);
    gst_cuda_j2k_codec_wait_before_events(&self->codec, gst_video_encoder_get_frames(encoder));
    return drop(self, frame, GST_FLOW_OK);
  }
  gboolean regions = gst_cuda_j2k_enc_take_regions(self, frame->input_buffer);
  if (g_atomic_int_compare_and_exchange(&self->codec.live_changed, TRUE, FALSE))
    change_rate(self);
  else if (regions)
    change_regions(self);
  if (!map_input(self, frame->input_buffer, &map, &mapped))
    return drop(self, frame, GST_FLOW_ERROR);
  guint count = self->stream.fields ? 2 : 1;
  guint bottom_first = (guint)gst_cuda_j2k_fields_bottom_first(&self->info, frame->input_buffer);
  for (guint i = 0; i < count; i++) {
    GstCudaJ2kEncPart *part = make_part(&map, &mapped, count == 2 ? i ^ bottom_first : 0, count);
    part->arrived = arrived;
    if (i == count - 1) {
      part->frame = frame;
      part->map = map;
    }
    if (submit(self, part, &error) == CJ2K_OK)
      continue;
    /* The first field may be in flight and reads the same memory. */
    gst_cuda_j2k_output_wait(&self->codec.output);
    part->map = map;
    part_free(part);
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &error);
    return drop(self, frame, GST_FLOW_ERROR);
  }
  self->frames++;
  return GST_FLOW_OK;
}

/* ----------------------------------------------------------------------------------- out --- */

/* The header of a jp2c box around the codestream (T.800 I.5.4). */
static GstMemory *box_head(gsize size)
{
  static const guint8 jp2c[] = {'j', 'p', '2', 'c'};
  guint32 length = (guint32)(size + 8);
  guint8 *head = g_malloc(8);
  for (guint i = 0; i < 4; i++)
    head[i] = (guint8)(length >> (24 - 8 * i));
  memcpy(head + 4, jp2c, sizeof jp2c);
  return gst_memory_new_wrapped((GstMemoryFlags)0, head, 8, 0, 8, head, g_free);
}

static void release_packet(gpointer data)
{
  Cj2kPacket *packet = data;
  cj2k_encoder_release(NULL, packet);
  g_free(packet);
}

/* Appends a packet without a copy: the buffer owns its memory. In image/x-j2c a box header precedes
 * it. */
static void append(GstCudaJ2kEnc *self, GstBuffer *buffer, Cj2kPacket *packet)
{
  if (self->stream.media == GST_CUDA_J2K_J2C)
    gst_buffer_append_memory(buffer, box_head(packet->size));
  Cj2kPacket *own = g_memdup2(packet, sizeof *packet);
  packet->priv = NULL;
  gst_buffer_append_memory(buffer,
                           gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, (gpointer)own->data,
                                                  own->size, 0, own->size, own, release_packet));
}

/* Appends a finished packet to the buffer of its frame, which is *buffer after the last packet and
 * first_field after the one of a first field. With slices *buffer is set already. FALSE: the packet
 * failed, and an error was posted. */
static gboolean take_packet(GstCudaJ2kEnc *self, Cj2kPacket *packet, gboolean last,
                            GstBuffer **buffer)
{
  gst_cuda_j2k_codec_check_fallback(&self->codec, packet->fallback, &packet->error);
  if (packet->status != CJ2K_OK) {
    gst_cuda_j2k_meter_count_failed(&self->codec.meter);
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &packet->error);
    return FALSE;
  }
  gst_cuda_j2k_codec_check_gpus(&self->codec, packet->redone, &packet->error);
  if (*buffer)
    return TRUE;
  GstBuffer *bytes = self->first_field ? g_steal_pointer(&self->first_field) : gst_buffer_new();
  append(self, bytes, packet);
  *(last ? buffer : &self->first_field) = bytes;
  return TRUE;
}

GstFlowReturn gst_cuda_j2k_enc_output(gpointer element)
{
  GstCudaJ2kEnc *self = element;
  GstVideoEncoder *encoder = element;
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *buffer = NULL;
  Cj2kPacket packet;

  gint64 begun = g_get_monotonic_time();
  if (self->stream.in_slices)
    flow = gst_cuda_j2k_enc_push_slices(self, &buffer);
  if (cj2k_encoder_receive(self->codec.object, &packet) != CJ2K_OK) {
    GST_ERROR_OBJECT(self, "the encoder lost a frame");
    return GST_FLOW_ERROR;
  }
  gboolean waited = g_get_monotonic_time() > begun + GST_CUDA_J2K_METER_WAIT;
  GstCudaJ2kEncPart *part = packet.user;
  gst_cuda_j2k_codec_measure(&self->codec, part->frame != NULL, part->arrived,
                             part->had_room && waited);
  GstVideoCodecFrame *frame = part->frame;
  GST_VIDEO_ENCODER_STREAM_LOCK(encoder);
  if (flow != GST_FLOW_OK || gst_cuda_j2k_output_discards(&self->codec.output)) {
    gst_clear_buffer(&self->first_field);
    gst_clear_buffer(&buffer);
  } else if (!take_packet(self, &packet, frame != NULL, &buffer)) {
    flow = GST_FLOW_ERROR;
  }
  GST_VIDEO_ENCODER_STREAM_UNLOCK(encoder);
  cj2k_encoder_release(self->codec.object, &packet);
  part_free(part);
  if (!frame)
    return flow;
  /* Without a buffer the base class drops the frame. */
  frame->output_buffer = buffer;
  if (buffer)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAGS(frame->input_buffer) & GST_CUDA_J2K_FIELD_FLAGS);
  GST_VIDEO_CODEC_FRAME_SET_SYNC_POINT(frame);
  g_atomic_int_set(&self->codec.meter.waiting_output, 1);
  GstFlowReturn pushed = gst_video_encoder_finish_frame(encoder, frame);
  g_atomic_int_set(&self->codec.meter.waiting_output, 0);
  return flow == GST_FLOW_OK ? pushed : flow;
}
