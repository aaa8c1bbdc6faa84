/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The elements in an application that makes pictures and takes JPEG 2000 frames in threads of its
 * own: pictures go into an appsrc, codestreams come out of an appsink, and the bit rate changes
 * while the pipeline runs.
 *
 *   cc embed.c $(pkg-config --cflags --libs gstreamer-app-1.0 gstreamer-video-1.0) -o embed
 */
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#define WIDTH  1280
#define HEIGHT 720
#define FPS    25
#define FRAMES 50

/* Draws a grey zone plate that moves with each frame. */
static GstBuffer *make_picture(const GstVideoInfo *info, guint number)
{
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(info), NULL);
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE)) {
    gst_buffer_unref(buffer);
    return NULL;
  }
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); c++)
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); y++) {
      guint8 *row = (guint8 *)GST_VIDEO_FRAME_COMP_DATA(&frame, c) +
                    (gsize)y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); x++)
        GST_WRITE_UINT16_LE(row + 2 * x,
                            c ? 512 : ((guint)(x * x + y * y) / 64 + number * 4) & 1023);
    }
  gst_video_frame_unmap(&frame);
  GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(number, GST_SECOND, FPS);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / FPS;
  return buffer;
}

/* The producing thread. push-buffer waits while the encoder is behind, because of block=true. */
static gpointer produce(gpointer data)
{
  GstElement *pipeline = data;
  GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
  GstElement *encoder = gst_bin_get_by_name(GST_BIN(pipeline), "encoder");
  GstCaps *caps = gst_app_src_get_caps(GST_APP_SRC(source));
  GstVideoInfo info;
  GstFlowReturn flow = gst_video_info_from_caps(&info, caps) ? GST_FLOW_OK : GST_FLOW_ERROR;
  for (guint i = 0; i < FRAMES && flow == GST_FLOW_OK; i++) {
    GstBuffer *picture = make_picture(&info, i);
    if (i == FRAMES / 2)
      g_object_set(encoder, "bitrate", 20000u, NULL);
    flow = picture ? gst_app_src_push_buffer(GST_APP_SRC(source), picture) : GST_FLOW_ERROR;
  }
  gst_app_src_end_of_stream(GST_APP_SRC(source));
  gst_caps_unref(caps);
  gst_object_unref(encoder);
  gst_object_unref(source);
  return NULL;
}

/* Takes codestreams until the end and prints their number and sizes. */
static guint consume(GstElement *pipeline)
{
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstSample *sample;
  guint frames = 0;
  while ((sample = gst_app_sink_pull_sample(GST_APP_SINK(sink)))) {
    GstBuffer *codestream = gst_sample_get_buffer(sample);
    if (frames % 10 == 0)
      g_print("frame %2u at %" GST_TIME_FORMAT ": %" G_GSIZE_FORMAT " bytes\n", frames,
              GST_TIME_ARGS(GST_BUFFER_PTS(codestream)), gst_buffer_get_size(codestream));
    frames++;
    gst_sample_unref(sample);
  }
  gst_object_unref(sink);
  return frames;
}

/* TRUE when no element reported an error. */
static gboolean went_well(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  if (message) {
    GError *error;
    gst_message_parse_error(message, &error, NULL);
    g_printerr("%s\n", error->message);
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  return !message;
}

int main(int argc, char **argv)
{
  GError *error = NULL;
  gst_init(&argc, &argv);
  gchar *description =
      g_strdup_printf("appsrc name=source format=time block=true max-bytes=20000000 "
                      "caps=video/x-raw,format=I422_10LE,width=%d,height=%d,framerate=%d/1 ! "
                      "cudaj2kenc name=encoder block-coder=ht rate-control=cbr bitrate=60000 ! "
                      "appsink name=sink sync=false max-buffers=4",
                      WIDTH, HEIGHT, FPS);
  GstElement *pipeline = gst_parse_launch(description, &error);
  g_free(description);
  if (error) {
    g_printerr("%s\n", error->message);
    return 1;
  }
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GThread *producer = g_thread_new("produce", produce, pipeline);
  guint frames = consume(pipeline);
  g_thread_join(producer);
  gboolean ok = went_well(pipeline) && frames == FRAMES;
  g_print("%u frames\n", frames);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return ok ? 0 : 1;
}
