/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Slices on their way out of the encoder element: the encoder's threads queue them, and the output
 * thread pushes each one as a part of its frame. */
#include "gstcudaj2kencprivate.h"
#include "gstcudaj2kfields.h"

void gst_cuda_j2k_enc_take_slice(void *element, void *user, const uint8_t *data, size_t size,
                                 bool last)
{
  GstCudaJ2kEnc *self = element;
  const GstCudaJ2kEncPart *part = user;
  if (!self->stream.in_slices)
    return;
  GstCudaJ2kEncSlice *slice = g_new0(GstCudaJ2kEncSlice, 1);
  slice->buffer = data ? gst_buffer_new_memdup(data, size) : NULL;
  slice->frame = part->frame;
  slice->last = last;
  g_async_queue_push(self->slices, slice);
}

/* Takes the buffer. */
static GstFlowReturn push(GstCudaJ2kEnc *self, GstVideoCodecFrame *frame, GstBuffer *buffer)
{
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAGS(frame->input_buffer) & GST_CUDA_J2K_FIELD_FLAGS);
  frame->output_buffer = buffer;
  GST_VIDEO_CODEC_FRAME_SET_SYNC_POINT(frame);
  g_atomic_int_set(&self->codec.meter.waiting_output, 1);
  GstFlowReturn flow = gst_video_encoder_finish_subframe(GST_VIDEO_ENCODER(self), frame);
  g_atomic_int_set(&self->codec.meter.waiting_output, 0);
  return flow;
}

GstFlowReturn gst_cuda_j2k_enc_push_slices(GstCudaJ2kEnc *self, GstBuffer **last)
{
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean more = TRUE;
  while (more) {
    GstCudaJ2kEncSlice *slice = g_async_queue_pop(self->slices);
    GstVideoCodecFrame *frame = slice->frame;
    GstBuffer *buffer = slice->buffer;
    more = !slice->last;
    g_free(slice);
    if (!buffer)
      continue;
    if (flow != GST_FLOW_OK || gst_cuda_j2k_output_discards(&self->codec.output))
      gst_buffer_unref(buffer);
    else if (more)
      flow = push(self, frame, buffer);
    else
      *last = buffer;
  }
  return flow;
}
