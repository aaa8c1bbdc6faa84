/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The encoder element with alignment=subframe: each slice leaves in a buffer of its own. */
#include "subframe.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 130
#define FILTER " ! capsfilter caps=" SUBFRAME

/* --------------------------------------------------------------------------- negotiation --- */

typedef struct {
  const gchar *name, *slices, *downstream; /* caps of downstream; NULL: any */
  const gchar *alignment;                  /* what is expected */
  guint buffers;                           /* of a frame; 0: several */
} Case;

static const Case cases[] = {
    {"any", "true", NULL, "frame", 1},
    {"no-field", "true", "image/x-jpc", "frame", 1},
    {"frame", "true", "image/x-jpc,alignment=frame", "frame", 1},
    {"subframe", "true", SUBFRAME, "subframe", 0},
    {"both", "true", "image/x-jpc,alignment={frame,subframe}", "subframe", 0},
    {"either", "true", SUBFRAME ";image/x-jpc", "subframe", 0},
    {"box", "true", "image/x-j2c", "frame", 1},
    {"no-slices-both", "false", "image/x-jpc,alignment={frame,subframe}", "frame", 1},
    {"no-slices-subframe", "false", SUBFRAME, "subframe", 1},
};

static void test_negotiation(gconstpointer data)
{
  const Case *c = data;
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  gchar *description = c->downstream ? g_strdup_printf(SLICES "slices=%s ! capsfilter caps=\"%s\"",
                                                       c->slices, c->downstream)
                                     : g_strdup_printf(SLICES "slices=%s", c->slices);
  GstBuffer *raw = pixels_buffer(&info, 0);
  Rig rig = rig_new(description);
  guint count = 1;
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  for (;; count++) {
    GstBuffer *buffer = gst_harness_pull(rig.h);
    gboolean last = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_MARKER);
    gst_buffer_unref(buffer);
    if (last)
      break;
  }
  if (c->buffers)
    g_assert_cmpuint(count, ==, c->buffers);
  else
    g_assert_cmpuint(count, >, HEIGHT / 32);
  GstCaps *caps = gst_pad_get_current_caps(rig.h->sinkpad);
  g_assert_cmpstr(gst_structure_get_string(gst_caps_get_structure(caps, 0), "alignment"), ==,
                  c->alignment);
  gst_caps_unref(caps);
  gst_buffer_unref(raw);
  g_free(description);
  rig_free(&rig);
}

/* -------------------------------------------------------------------------------- output --- */

/* All buffers of a frame have its timestamps and are the bytes of the whole frame; only the first
 * is no delta unit, only the last has the marker. */
static void test_buffers(gconstpointer data)
{
  guint in_flight = GPOINTER_TO_UINT(data), frame = 0, count = 0;
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  gchar *description = g_strdup_printf(SLICES "frames-in-flight=%u" FILTER, in_flight);
  Rig rig = rig_new(description);
  GstBuffer *wholes[6], *frames[6];
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  for (guint i = 0; i < 6; i++) {
    GstBuffer *raw = pixels_buffer(&info, i);
    wholes[i] = encode_one(SLICES, &info, raw, NULL);
    frames[i] = gst_buffer_new();
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  while (frame < 6) {
    GstBuffer *part = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(part), ==, gst_util_uint64_scale(frame, GST_SECOND, FPS));
    g_assert_cmpuint(GST_BUFFER_DURATION(part), ==, GST_SECOND / FPS);
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_DELTA_UNIT), ==, count > 0);
    gboolean last = GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER);
    frames[frame] = gst_buffer_append(frames[frame], part);
    count = last ? 0 : count + 1;
    frame += last;
  }
  g_assert_null(gst_harness_try_pull(rig.h));
  for (guint i = 0; i < 6; i++) {
    g_assert_true(same_bytes(frames[i], wholes[i]));
    gst_buffer_unref(frames[i]);
    gst_buffer_unref(wholes[i]);
  }
  g_free(description);
  rig_free(&rig);
}

/* A new rate holds from the next frame on. */
static void test_rate(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&info, 0);
  Rig rig = rig_new(LOSSY "rate-control=cbr max-frame-bytes=6000 frames-in-flight=1" FILTER);
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  for (guint i = 0; i < 4; i++) {
    gsize limit = i < 2 ? 6000 : 2500, bytes = 0;
    gboolean last = FALSE;
    g_object_set(element, "max-frame-bytes", (guint)limit, NULL);
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    while (!last) {
      GstBuffer *part = gst_harness_pull(rig.h);
      last = GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER);
      bytes += gst_buffer_get_size(part);
      gst_buffer_unref(part);
    }
    g_assert_cmpuint(bytes, <=, limit);
    g_assert_cmpuint(bytes, >, limit / 2);
  }
  gst_object_unref(element);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* After a flush the first buffer is the first one of a frame. */
static void test_flush(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&info, 0);
  Rig rig = rig_new(SLICES "frames-in-flight=3" FILTER);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  for (guint round = 0; round < 8; round++) {
    for (guint i = 0; i < 4; i++)
      push_frame(rig.h, raw, i);
    rig_flush(&rig);
    g_assert_cmpint(push_frame(rig.h, raw, 100 + round), ==, GST_FLOW_OK);
    gboolean first = TRUE, last = FALSE;
    while (!last) {
      GstBuffer *part = gst_harness_pull(rig.h);
      g_assert_cmpuint(GST_BUFFER_PTS(part), ==,
                       gst_util_uint64_scale(100 + round, GST_SECOND, FPS));
      g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_DELTA_UNIT), ==, !first);
      first = FALSE;
      last = GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER);
      gst_buffer_unref(part);
    }
  }
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* ------------------------------------------------------------------------------ downstream --- */

static gint left; /* atomic: buffers that downstream accepts */

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  (void)pad;
  (void)parent;
  gst_buffer_unref(buffer);
  return g_atomic_int_add(&left, -1) > 0 ? GST_FLOW_OK : GST_FLOW_EOS;
}

/* Downstream refuses a buffer in the middle of a frame: the answer reaches upstream, and no buffer
 * of that frame follows. */
static void test_refused(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&info, 0);
  for (gint accepted = 0; accepted < 7; accepted++) {
    Rig rig = rig_new(SLICES "frames-in-flight=2" FILTER);
    GstFlowReturn flow = GST_FLOW_OK;
    gst_pad_set_chain_function(rig.h->sinkpad, chain);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
    g_atomic_int_set(&left, accepted);
    for (guint i = 0; i < 1000 && flow == GST_FLOW_OK; i++)
      flow = push_frame(rig.h, raw, i);
    g_assert_cmpint(flow, ==, GST_FLOW_EOS);
    g_assert_cmpint(g_atomic_int_get(&left), ==, -1);
    rig_free(&rig);
  }
  gst_buffer_unref(raw);
}

/* A frame that fails ends its slices: too small a ceiling is an error, and nothing waits. */
static void test_failure(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&info, 0);
  Rig rig = rig_new(LOSSY "rate-control=cbr max-frame-bytes=50 frames-in-flight=2" FILTER);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 0; i < 1000 && flow == GST_FLOW_OK; i++)
    flow = push_frame(rig.h, raw, i);
  g_assert_cmpint(flow, ==, GST_FLOW_ERROR);
  gchar *error = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(error);
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 0);
  g_free(error);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Encoder and decoder agree on subframe without being told, on a GPU too, where there is one. */
static void test_pair(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 321, 243);
  assert_lossless(
      "cudaj2kenc block-coder=ht rate-control=lossless latency-profile=low ! cudaj2kdec", &info);
  assert_lossless(SLICES " ! cudaj2kdec backend=cpu", &info);
  assert_lossless("cudaj2kenc backend=cpu latency-profile=ultra rate-control=lossless ! capsfilter "
                  "caps=" SUBFRAME " ! cudaj2kdec backend=cpu",
                  &info);
  assert_lossless(SLICES " ! capsfilter caps=" SUBFRAME " ! queue ! cudaj2kdec backend=cpu", &info);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strdup_printf("/slices/negotiation/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], test_negotiation);
    g_free(path);
  }
  g_test_add_data_func("/slices/buffers/1", GUINT_TO_POINTER(1), test_buffers);
  g_test_add_data_func("/slices/buffers/4", GUINT_TO_POINTER(4), test_buffers);
  g_test_add_func("/slices/rate", test_rate);
  g_test_add_func("/slices/flush", test_flush);
  g_test_add_func("/slices/refused", test_refused);
  g_test_add_func("/slices/failure", test_failure);
  g_test_add_func("/slices/pair", test_pair);
  int result = g_test_run();
  gst_deinit();
  return result;
}
