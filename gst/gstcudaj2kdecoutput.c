/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the decoder element does on the output thread: it receives parts, finishes frames, and
 * handles damaged ones. */
#include "gstcudaj2kdecprivate.h"
#include "gstcudaj2kfields.h"

void gst_cuda_j2k_dec_picture_unref(GstCudaJ2kDecPicture *picture)
{
  if (!g_atomic_int_dec_and_test(&picture->refs))
    return;
  gst_video_frame_unmap(&picture->map);
  if (picture->has_room)
    gst_video_frame_unmap(&picture->room);
  if (picture->buffer)
    gst_buffer_unref(picture->buffer);
  g_free(picture);
}

void gst_cuda_j2k_dec_part_free(GstCudaJ2kDecPart *part)
{
  if (part->input) {
    gst_buffer_unmap(part->input, &part->map);
    gst_buffer_unref(part->input);
  }
  if (part->picture)
    gst_cuda_j2k_dec_picture_unref(part->picture);
  g_free(part);
}

GstFlowReturn gst_cuda_j2k_dec_fail(GstCudaJ2kDec *self, GstVideoCodecFrame *frame,
                                    const gchar *text)
{
  GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
  GstFlowReturn flow = GST_FLOW_OK;
  gst_cuda_j2k_meter_count_failed(&self->codec.meter);
  GST_VIDEO_DECODER_STREAM_LOCK(decoder);
  GST_WARNING_OBJECT(self, "frame %u: %s", frame->system_frame_number, text);
  if (!self->failure_warned)
    GST_ELEMENT_WARNING(
        self, STREAM, DECODE, ("A frame cannot be decoded: %s.", text),
        ("Frame %u; the property stats counts such frames.", frame->system_frame_number));
  self->failure_warned = TRUE;
  GST_VIDEO_DECODER_ERROR(decoder, 1, STREAM, DECODE, ("%s", text),
                          ("frame %u", frame->system_frame_number), flow);
  /* If a stream has no good frame, the base class posts an error at its end, but only for frames
   * that were released and not dropped. */
  if (self->had_picture)
    gst_video_decoder_drop_frame(decoder, frame);
  else
    gst_video_decoder_release_frame(decoder, frame);
  GST_VIDEO_DECODER_STREAM_UNLOCK(decoder);
  return flow;
}

/* Images with odd offsets have one row or column of chroma less than video: repeats the last one.
 */
static void complete_chroma(const GstCudaJ2kVideo *video, const Cj2kImage *image,
                            const GstVideoFrame *map, gboolean is_field)
{
  const GstCudaJ2kFormat *format = gst_cuda_j2k_format_find(GST_VIDEO_FRAME_FORMAT(map));
  for (guint c = 0; c < image->num_components; c++)
    if (video->role[c] == 1 || video->role[c] == 2)
      gst_cuda_j2k_format_repeat_edge(
          format, map, video->role[c], image->components[c].x1 - image->components[c].x0,
          is_field ? (guint)GST_VIDEO_FRAME_COMP_HEIGHT(map, video->role[c])
                   : image->components[c].y1 - image->components[c].y0);
}

/* Records a part's result in its picture; complete_frame() reads it with the last part. */
static void record_result(GstCudaJ2kDec *self, const GstCudaJ2kDecPart *part,
                          const Cj2kFrame *result)
{
  GstCudaJ2kDecPicture *picture = part->picture;
  if (result->status == CJ2K_OK) {
    picture->good_parts++;
    gst_cuda_j2k_codec_check_gpus(&self->codec, result->redone, &result->error);
    picture->damaged |= result->corrupt_blocks > 0 || result->truncated;
    if (self->output.video.chroma_clipped)
      complete_chroma(&self->output.video, &result->image, &picture->map, part->is_field);
  } else {
    picture->damaged = TRUE;
    picture->error = result->error;
  }
  picture->damaged |= part->incomplete || part->damaged;
  gst_cuda_j2k_codec_check_fallback(&self->codec, result->fallback, &result->error);
}

/* Errors that are not the stream's fault: all following frames would fail, too. */
static gboolean is_fatal(const Cj2kError *error)
{
  return error->code == CJ2K_ERROR_DEVICE || error->code == CJ2K_ERROR_MEMORY;
}

/* The buffer flags that say how a picture is interlaced. */
static guint field_flags(GstCudaJ2kDec *self, const GstBuffer *input, gboolean is_field)
{
  guint flags = GST_BUFFER_FLAGS(input) & GST_CUDA_J2K_FIELD_FLAGS;
  if (!GST_VIDEO_INFO_IS_INTERLACED(&self->output.info))
    is_field = FALSE; /* PsF */
  if (is_field && !flags)
    flags = GST_VIDEO_BUFFER_FLAG_INTERLACED;
  if (is_field && !gst_cuda_j2k_fields_bottom_first(&self->output.info, input))
    flags |= GST_VIDEO_BUFFER_FLAG_TFF;
  return flags;
}

/* The picture's last part has arrived: gives its frame the picture, or fails it. Takes the part.
 * Returns the frame, ready to be pushed; NULL: there is none, and *flow says how the failure ended.
 */
static GstVideoCodecFrame *complete_frame(GstCudaJ2kDec *self, GstCudaJ2kDecPart *part,
                                          GstFlowReturn *flow)
{
  GstCudaJ2kDecPicture *picture = part->picture;
  GstVideoCodecFrame *frame = part->frame;
  if (!picture->good_parts) {
    Cj2kError error = picture->error;
    gst_cuda_j2k_dec_part_free(part);
    if (!is_fatal(&error)) {
      *flow = gst_cuda_j2k_dec_fail(self, frame, error.text);
      return NULL;
    }
    gst_video_decoder_release_frame(GST_VIDEO_DECODER(self), frame);
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &error);
    *flow = GST_FLOW_ERROR;
    return NULL;
  }
  if (picture->damaged)
    GST_VIDEO_CODEC_FRAME_FLAG_SET(frame, GST_VIDEO_CODEC_FRAME_FLAG_CORRUPTED);
  if (picture->has_room)
    gst_video_frame_copy(&picture->map, &picture->room);
  /* The base class writes metadata: the buffer must be unmapped and have no other reference. */
  guint flags = field_flags(self, frame->input_buffer, part->is_field);
  frame->output_buffer = g_steal_pointer(&picture->buffer);
  gst_cuda_j2k_dec_part_free(part);
  self->had_picture = TRUE;
  GST_BUFFER_FLAG_UNSET(frame->output_buffer, GST_CUDA_J2K_FIELD_FLAGS);
  GST_BUFFER_FLAG_SET(frame->output_buffer, flags);
  return frame;
}

GstFlowReturn gst_cuda_j2k_dec_output(gpointer element)
{
  GstCudaJ2kDec *self = element;
  GstVideoDecoder *decoder = element;
  GstFlowReturn flow = GST_FLOW_OK;
  Cj2kFrame result;
  gint64 begun = g_get_monotonic_time();
  if (cj2k_decoder_receive(self->codec.object, &result) != CJ2K_OK) {
    GST_ERROR_OBJECT(self, "the decoder lost a frame");
    return GST_FLOW_ERROR;
  }
  gboolean waited = g_get_monotonic_time() > begun + GST_CUDA_J2K_METER_WAIT;
  GstCudaJ2kDecPart *part = result.user;
  record_result(self, part, &result);
  cj2k_decoder_release(self->codec.object, &result);
  gst_cuda_j2k_codec_measure(&self->codec, part->last, part->arrived, part->had_room && waited);

  GstVideoCodecFrame *ready = NULL;
  GST_VIDEO_DECODER_STREAM_LOCK(decoder);
  if (part->last && !gst_cuda_j2k_output_discards(&self->codec.output)) {
    ready = complete_frame(self, part, &flow);
  } else {
    if (part->frame)
      gst_video_decoder_release_frame(decoder, part->frame);
    gst_cuda_j2k_dec_part_free(part);
  }
  GST_VIDEO_DECODER_STREAM_UNLOCK(decoder);
  if (!ready)
    return flow;
  g_atomic_int_set(&self->codec.meter.waiting_output, 1);
  flow = gst_video_decoder_finish_frame(decoder, ready);
  g_atomic_int_set(&self->codec.meter.waiting_output, 0);
  return flow;
}
