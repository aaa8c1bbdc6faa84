/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decoder element in streaming: EOS, flushes, changes of format, reverse playback, byte
 * streams, and frames in several parts. */
#include "harness.h"

#include <gst/base/gsttypefindhelper.h>

#define WIDTH  96
#define HEIGHT 54

/* ----------------------------------------------------------------------------- streaming --- */

/* A decoded frame is pushed without waiting for the next one. */
static void test_leaves_at_once(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("frames-in-flight=4", caps);
  for (guint i = 0; i < 5; i++) {
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    g_assert_nonnull(decoded);
    g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, gst_util_uint64_scale(i, GST_SECOND, FPS));
    g_assert_cmpuint(GST_BUFFER_DURATION(decoded), ==, GST_SECOND / FPS);
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* All frames are pushed in order before EOS. */
static void test_eos(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 320, 240);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("frames-in-flight=16", caps);
  for (guint i = 0; i < 20; i++)
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 20);
  for (guint i = 0; i < 20; i++) {
    GstBuffer *decoded = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, gst_util_uint64_scale(i, GST_SECOND, FPS));
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  rig_free(&rig);
}

static guint64 decoded_frames(Rig *rig)
{
  GstElement *element = rig_element(rig, "cudaj2kdec");
  GstStructure *stats;
  guint64 frames = 0;
  g_object_get(element, "stats", &stats, NULL);
  g_assert_true(gst_structure_get_uint64(stats, "frames", &frames));
  gst_structure_free(stats);
  gst_object_unref(element);
  return frames;
}

/* When downstream reports that it is late, frames that would be too late are not decoded. */
static void test_qos(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("frames-in-flight=1", caps);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  g_assert_true(gst_harness_push_upstream_event(
      rig.h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0)));
  for (guint i = 1; i < 5; i++)
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(rig.h, coded, 10 * FPS), ==, GST_FLOW_OK);
  GstBuffer *decoded = gst_harness_pull(rig.h);
  g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, 10 * GST_SECOND);
  g_assert_cmpuint(decoded_frames(&rig), ==, 2);
  gst_buffer_unref(decoded);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

static void test_flush(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 320, 240);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("frames-in-flight=4", caps);
  for (guint round = 0; round < 10; round++) {
    for (guint i = 0; i < 6; i++)
      push_frame(rig.h, coded, i);
    rig_flush(&rig);
    /* The next output is the first frame after the flush. */
    g_assert_cmpint(push_frame(rig.h, coded, 100 + round), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==,
                     gst_util_uint64_scale(100 + round, GST_SECOND, FPS));
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* Size and format change within a stream, with and without new caps. */
static void test_header_changes(void)
{
  static const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_I422_10LE,
                                           GST_VIDEO_FORMAT_GBR_12LE};
  Rig rig = rig_decoder("frames-in-flight=4", gst_caps_from_string("image/x-jpc,framerate=25/1"));
  for (guint i = 0; i < 9; i++) {
    GstVideoInfo source = video(formats[i / 3], WIDTH + 16 * (i / 3), HEIGHT + i / 3);
    GstBuffer *coded = encode_pattern(&source, i, NULL);
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
    gst_buffer_unref(coded);
    /* Three frames of each format are in flight before the first is pulled. */
    if (i % 3 != 2)
      continue;
    for (guint j = i - 2; j <= i; j++)
      assert_next_picture(rig.h, &source, j);
  }
  rig_free(&rig);
}

/* Downstream requests another format while playing. */
static void test_reconfigure(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one("cudaj2kenc rate-control=lossless", &source, raw, &caps);
  static const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_Y210,
                                           GST_VIDEO_FORMAT_UYVP};
  Rig rig = rig_decoder("", caps);
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    gst_harness_set_sink_caps(rig.h,
                              gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                                                  gst_video_format_to_string(formats[i]), NULL));
    gst_harness_push_upstream_event(rig.h, gst_event_new_reconfigure());
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, formats[i]);
    assert_same_pictures(&source, raw, &info, decoded);
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Reverse playback: the base class reverses the frames of a group. */
static void test_reverse(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("frames-in-flight=4", caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1.0;
  segment.stop = GST_SECOND;
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  for (guint i = 0; i < 5; i++) {
    GstBuffer *copy = gst_buffer_copy_deep(coded);
    GST_BUFFER_PTS(copy) = gst_util_uint64_scale(4 - i, GST_SECOND, FPS);
    GST_BUFFER_DURATION(copy) = GST_SECOND / FPS;
    GST_BUFFER_FLAG_SET(copy, GST_BUFFER_FLAG_DISCONT);
    g_assert_cmpint(gst_harness_push(rig.h, copy), ==, GST_FLOW_OK);
  }
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 5);
  for (guint i = 0; i < 5; i++) {
    GstBuffer *decoded = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, gst_util_uint64_scale(4 - i, GST_SECOND, FPS));
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* A file in pieces without timestamps is divided into frames. */
static void test_bytes(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *file = encode_one("cudaj2kenc rate-control=lossless ! capsfilter caps=image/jp2",
                               &source, raw, NULL);
  Rig rig = rig_decoder("", gst_caps_from_string("image/jp2"));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  gsize size = gst_buffer_get_size(file);
  for (gsize at = 0; at < size; at += 1000)
    g_assert_cmpint(gst_harness_push(rig.h, gst_buffer_copy_region(file, GST_BUFFER_COPY_ALL, at,
                                                                   MIN(1000, size - at))),
                    ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  GstBuffer *decoded = gst_harness_pull(rig.h);
  GstVideoInfo info = output_video(rig.h);
  assert_same_pictures(&source, raw, &info, decoded);
  gst_buffer_unref(decoded);
  gst_buffer_unref(file);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* ----------------------------------------------------------------------- parts of frames --- */

/* A frame is two codestreams, one for each field. */
static void test_fields(gconstpointer data)
{
  gboolean bottom_first = GPOINTER_TO_INT(data);
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 128, 96);
  source.interlace_mode = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  GST_VIDEO_INFO_FIELD_ORDER(&source) = bottom_first ? GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST
                                                     : GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded =
      encode_one("cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=4",
                 &source, raw, &caps);
  gint fields = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "fields", &fields);
  g_assert_cmpint(fields, ==, 2);
  Rig rig = rig_decoder("frames-in-flight=3", caps);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
  for (guint i = 0; i < 3; i++) {
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    g_assert_cmpint(info.interlace_mode, ==, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
    g_assert_cmpint(GST_VIDEO_INFO_FIELD_ORDER(&info), ==, GST_VIDEO_INFO_FIELD_ORDER(&source));
    assert_same_pictures(&source, raw, &info, decoded);
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* In a stream of bytes a field without its second one leaves as soon as something else follows it,
 * which is not collected until another image comes. */
static void test_field_alone(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 128, 96);
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one("cudaj2kenc rate-control=lossless", &source, raw, NULL);
  Rig rig = rig_decoder("", gst_caps_from_string("image/x-jpc,fields=2"));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  for (guint i = 0; i < 3; i++) {
    GstBuffer *zeros = gst_buffer_new_allocate(NULL, 1000, NULL);
    gst_buffer_memset(zeros, 0, 0, 1000);
    g_assert_cmpint(gst_harness_push(rig.h, gst_buffer_copy(coded)), ==, GST_FLOW_OK);
    g_assert_cmpint(gst_harness_push(rig.h, zeros), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    g_assert_nonnull(decoded);
    assert_same_pictures(&source, raw, &info, decoded);
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* The format follows from the first field's header. A second field that has one row more than the
 * picture, as a hostile stream may, is not decoded into it. */
static void test_field_too_high(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_GRAY8, 64, 24);
  GstBuffer *raw = pixels_buffer(&info, 0);
  GstBuffer *first = encode_one("cudaj2kenc rate-control=lossless", &info, raw, NULL);
  GstVideoInfo higher = video(GST_VIDEO_FORMAT_GRAY8, 64, 25);
  GstBuffer *more = pixels_buffer(&higher, 0);
  GstBuffer *second = encode_one("cudaj2kenc rate-control=lossless", &higher, more, NULL);
  /* The second field is the top one: its row 24 would be row 48 of 48. */
  Rig rig = rig_decoder("", gst_caps_from_string("image/x-jpc, fields=2, framerate=25/1, "
                                                 "interlace-mode=interleaved, "
                                                 "field-order=bottom-field-first"));
  g_assert_cmpint(push_frame(rig.h, gst_buffer_append(first, second), 0), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  gchar *warning = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(strstr(warning, "does not fit"));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 0);
  g_free(warning);
  gst_buffer_unref(raw);
  gst_buffer_unref(more);
  rig_free(&rig);
}

/* image/x-jpc-striped: stripes in separate buffers become frames; a frame with a lost stripe is
 * flagged as corrupted. */
static void test_stripes(void)
{
  if (skip_without("openjpegenc"))
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig enc = rig_new("openjpegenc num-stripes=5 num-resolutions=3");
  gst_harness_set_src_caps(enc.h, gst_video_info_to_caps(&source));
  gst_harness_set_sink_caps_str(enc.h, "image/x-jpc-striped");
  push_frame(enc.h, raw, 0);
  push_frame(enc.h, raw, 1);
  Rig rig = rig_decoder("", NULL);
  for (guint i = 0; i < 10; i++) {
    GstBuffer *stripe = gst_harness_pull(enc.h);
    if (!i)
      gst_harness_set_src_caps(rig.h, gst_pad_get_current_caps(enc.h->sinkpad));
    if (i == 7)
      gst_buffer_unref(stripe);
    else
      g_assert_cmpint(gst_harness_push(rig.h, stripe), ==, GST_FLOW_OK);
  }
  GstBuffer *decoded = gst_harness_pull(rig.h);
  GstVideoInfo info = output_video(rig.h);
  assert_same_pictures(&source, raw, &info, decoded);
  g_assert_false(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
  gst_buffer_unref(decoded);
  decoded = gst_harness_pull(rig.h);
  g_assert_true(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
  gst_buffer_unref(decoded);
  gst_buffer_unref(raw);
  rig_free(&enc);
  rig_free(&rig);
}

/* --------------------------------------------------------------------------- type finding --- */

static void test_typefind(void)
{
  static const struct {
    const gchar *encoder, *type;
  } cases[] = {
      {"cudaj2kenc block-coder=ht", "image/x-jpc"},
      {"cudaj2kenc", "image/x-jpc"},
      {"cudaj2kenc block-coder=ht ! capsfilter caps=image/jp2", "image/jp2"},
      {"cudaj2kenc ! capsfilter caps=image/jp2", "image/jp2"},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstBuffer *coded = encode_one(cases[i].encoder, &source, raw, NULL);
    GstCaps *caps = gst_type_find_helper_for_buffer(NULL, coded, NULL);
    g_assert_nonnull(caps);
    g_assert_cmpstr(gst_structure_get_name(gst_caps_get_structure(caps, 0)), ==, cases[i].type);
    gst_caps_unref(caps);
    gst_buffer_unref(coded);
  }
  gst_buffer_unref(raw);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/decoder/leaves-at-once", test_leaves_at_once);
  g_test_add_func("/decoder/eos", test_eos);
  g_test_add_func("/decoder/qos", test_qos);
  g_test_add_func("/decoder/flush", test_flush);
  g_test_add_func("/decoder/header-changes", test_header_changes);
  g_test_add_func("/decoder/reconfigure", test_reconfigure);
  g_test_add_func("/decoder/reverse", test_reverse);
  g_test_add_func("/decoder/bytes", test_bytes);
  g_test_add_func("/decoder/fields/alone", test_field_alone);
  g_test_add_data_func("/decoder/fields/top-first", GINT_TO_POINTER(FALSE), test_fields);
  g_test_add_data_func("/decoder/fields/bottom-first", GINT_TO_POINTER(TRUE), test_fields);
  g_test_add_func("/decoder/fields/too-high", test_field_too_high);
  g_test_add_func("/decoder/stripes", test_stripes);
  g_test_add_func("/decoder/typefind", test_typefind);
  int result = g_test_run();
  gst_deinit();
  return result;
}
