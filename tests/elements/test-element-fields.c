/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Interlaced video through both elements: fields with odd numbers of rows, buffers with unusual
 * offsets of planes, and the flags and caps that describe interlacing. */
#include "subframe.h"

#include <string.h>

#define WIDTH 72
#define ENCODER                                                                                    \
  "cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=3 frames-in-flight=3"

static GstVideoInfo interlaced(GstVideoFormat format, guint height, GstVideoInterlaceMode mode,
                               GstVideoFieldOrder order)
{
  GstVideoInfo info;
  g_assert_true(gst_video_info_set_interlaced_format(&info, format, mode, WIDTH, height));
  info.fps_n = FPS;
  info.fps_d = 1;
  GST_VIDEO_INFO_FIELD_ORDER(&info) = order;
  return info;
}

/* A picture in a buffer whose remaining bytes, including unused rows, are `padding`. */
static GstBuffer *picture(const GstVideoInfo *info, guint phase, guint8 padding)
{
  GstBuffer *pattern = pixels_buffer(info, phase);
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(info), NULL);
  GstVideoFrame from, to;
  gst_buffer_memset(buffer, 0, padding, GST_VIDEO_INFO_SIZE(info));
  g_assert_true(gst_video_frame_map(&from, info, pattern, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&to, info, buffer, GST_MAP_WRITE));
  g_assert_true(gst_video_frame_copy(&to, &from));
  gst_video_frame_unmap(&from);
  gst_video_frame_unmap(&to);
  gst_buffer_unref(pattern);
  return buffer;
}

/* The same picture with its planes directly behind each other, without unused rows, in a buffer
 * that is `missing` bytes too short. */
static GstBuffer *tight_picture(const GstVideoInfo *info, guint phase, gsize missing)
{
  GstBuffer *loose = picture(info, phase, 0);
  GstVideoFrame from;
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0}, size = 0;
  gint strides[GST_VIDEO_MAX_PLANES] = {0};
  g_assert_true(gst_video_frame_map(&from, info, loose, GST_MAP_READ));
  GByteArray *bytes = g_byte_array_new();
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info->finfo, p, components);
    guint rows = (guint)GST_VIDEO_FRAME_COMP_HEIGHT(&from, components[0]);
    offsets[p] = bytes->len;
    strides[p] = GST_VIDEO_FRAME_PLANE_STRIDE(&from, p);
    g_byte_array_append(bytes, GST_VIDEO_FRAME_PLANE_DATA(&from, p), rows * (guint)strides[p]);
  }
  gst_video_frame_unmap(&from);
  gst_buffer_unref(loose);
  size = bytes->len - missing;
  GstBuffer *buffer = gst_buffer_new_memdup(bytes->data, size);
  GstVideoMeta *meta = gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info), WIDTH,
      (guint)GST_VIDEO_INFO_HEIGHT(info), GST_VIDEO_INFO_N_PLANES(info), offsets, strides);
  g_assert_nonnull(meta);
  g_byte_array_unref(bytes);
  return buffer;
}

static void check_decoded(GstCaps *caps, GstBuffer *coded, const GstVideoInfo *info, guint phase)
{
  gint fields = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "fields", &fields);
  g_assert_cmpint(fields, ==, 2);
  gchar *restriction = g_strdup_printf("cudaj2kdec ! capsfilter caps=video/x-raw,format=%s",
                                       gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)));
  Rig rig = rig_new(restriction);
  g_free(restriction);
  gst_harness_set_src_caps(rig.h, gst_caps_ref(caps));
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  assert_next_picture(rig.h, info, phase);
  rig_free(&rig);
}

/* ---------------------------------------------------------------------------------- rows --- */

/* Formats with and without memory for the extra row. */
static const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_I420,      GST_VIDEO_FORMAT_YV12,
                                         GST_VIDEO_FORMAT_NV12,      GST_VIDEO_FORMAT_P010_10LE,
                                         GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_NV12_10LE32,
                                         GST_VIDEO_FORMAT_I422_10LE};

static void test_rows(gconstpointer data)
{
  GstVideoFormat format = (GstVideoFormat)GPOINTER_TO_INT(data);
  static const guint heights[] = {64, 66, 486, 70, 480};
  for (guint i = 0; i < G_N_ELEMENTS(heights); i++) {
    GstVideoInfo info = interlaced(format, heights[i], GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                   GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
    GstBuffer *sources[] = {picture(&info, i, 0), picture(&info, i, 0xFF),
                            tight_picture(&info, i, 0)};
    GstBuffer *coded[G_N_ELEMENTS(sources)];
    for (guint s = 0; s < G_N_ELEMENTS(sources); s++) {
      GstCaps *caps;
      coded[s] = encode_one(ENCODER, &info, sources[s], &caps);
      check_decoded(caps, coded[s], &info, i);
      gst_caps_unref(caps);
    }
    /* The content of unused rows does not affect the bytes. */
    for (guint s = 1; s < G_N_ELEMENTS(sources); s++) {
      GstMapInfo map;
      g_assert_true(gst_buffer_map(coded[s], &map, GST_MAP_READ));
      g_assert_cmpuint(gst_buffer_get_size(coded[0]), ==, map.size);
      g_assert_cmpint(gst_buffer_memcmp(coded[0], 0, map.data, map.size), ==, 0);
      gst_buffer_unmap(coded[s], &map);
    }
    for (guint s = 0; s < G_N_ELEMENTS(sources); s++) {
      gst_buffer_unref(coded[s]);
      gst_buffer_unref(sources[s]);
    }
  }
}

/* A buffer shorter than its GstVideoMeta says is an error and is not read. */
static void test_short_buffer(void)
{
  static const gchar *encoders[] = {ENCODER, "cudaj2kenc"};
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 66, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                 GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
  for (guint i = 0; i < G_N_ELEMENTS(encoders); i++) {
    Rig rig = rig_new(encoders[i]);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
    GstBuffer *buffer = tight_picture(&info, 0, 100);
    g_assert_cmpint(gst_harness_push(rig.h, buffer), ==, GST_FLOW_ERROR);
    gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, "smaller than a picture of 72x66 in I420"));
    g_free(text);
    rig_free(&rig);
  }
}

/* Interlaced video with one codestream for each frame: offsets of planes depend on the interlace
 * mode. */
static void test_one_picture(void)
{
  for (guint height = 64; height < 72; height++) {
    GstVideoInfo info =
        interlaced(GST_VIDEO_FORMAT_I420, height, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                   GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
    assert_lossless("cudaj2kenc rate-control=lossless ! cudaj2kdec", &info);
  }
}

/* A stream of bytes in which each interlaced frame is one codestream, and the caps say so, or one
 * file: no two of them are taken for the fields of a frame. */
static void test_bytes_one_picture(gconstpointer media)
{
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                 GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
  GstBuffer *raw = pixels_buffer(&info, 0);
  gchar *description =
      g_strdup_printf("cudaj2kenc rate-control=lossless ! capsfilter caps=%s", (char *)media);
  GstCaps *caps;
  GstBuffer *coded = encode_one(description, &info, raw, &caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  if (g_str_equal(media, "image/jp2"))
    gst_structure_remove_field(gst_caps_get_structure(caps, 0), "fields");
  Rig rig = rig_decoder("", caps);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint(gst_harness_push(rig.h, gst_buffer_copy(coded)), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 4);
  for (guint i = 0; i < 4; i++)
    assert_next_picture(rig.h, &info, 0);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  g_free(description);
  rig_free(&rig);
}

/* The slices of such a frame are decoded as they come: its picture is negotiated before the last
 * one. */
static void test_slices_one_picture(void)
{
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                 GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
  GstCaps *caps;
  GPtrArray *parts = subframe_encode(SLICES, &info, 0, &caps);
  Rig rig = rig_decoder("", caps);
  g_assert_cmpuint(parts->len, >, 2);
  for (guint i = 0; i < parts->len; i++) {
    if (i + 1 == parts->len)
      g_assert_true(gst_pad_has_current_caps(rig.h->sinkpad));
    g_assert_cmpint(push_frame(rig.h, parts->pdata[i], 0), ==, GST_FLOW_OK);
  }
  assert_next_picture(rig.h, &info, 0);
  g_ptr_array_unref(parts);
  rig_free(&rig);
}

/* ----------------------------------------------------------------------------- bare caps --- */

#define BARE_CAPS "image/x-jpc,framerate=25/1,colorspace=sYUV,sampling=YCbCr-4:2:0"

/* The caps say nothing of fields, as those of mxfdemux do not. Two codestreams whose heights add up
 * to that of the caps are the fields of a frame. */
static void test_found_fields(void)
{
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                 GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
  GstBuffer *raw = pixels_buffer(&info, 0), *coded = encode_one(ENCODER, &info, raw, NULL);
  Rig rig = rig_decoder("", gst_caps_from_string(BARE_CAPS ",width=72,height=64"));
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
  for (guint i = 0; i < 3; i++)
    assert_next_picture(rig.h, &info, 0);
  GstVideoInfo decoded = output_video(rig.h);
  g_assert_cmpint(decoded.interlace_mode, ==, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
  g_assert_null(rig_message(&rig, GST_MESSAGE_WARNING));
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Several codestreams that are not the fields of a frame: the first is decoded, and one warning
 * says that the others are ignored. */
static void test_more_codestreams(gconstpointer data)
{
  static const struct {
    const gchar *caps;
    guint count;
  } cases[] = {
      {BARE_CAPS ",width=72,height=64", 3}, /* one more than the fields */
      {BARE_CAPS ",width=72,height=66", 2}, /* their heights do not add up */
      {BARE_CAPS, 2},                       /* no height */
      {BARE_CAPS ",width=72,height=64,fields=1", 2},
  };
  GstVideoInfo field = video(GST_VIDEO_FORMAT_I420, WIDTH, 32);
  GstBuffer *raw = pixels_buffer(&field, 0);
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    GstBuffer *coded = gst_buffer_new();
    Rig rig = rig_new(data);
    gst_harness_set_src_caps(rig.h, gst_caps_from_string(cases[c].caps));
    for (guint i = 0; i < cases[c].count; i++)
      coded = gst_buffer_append(coded,
                                encode_one("cudaj2kenc rate-control=lossless", &field, raw, NULL));
    for (guint i = 0; i < 3; i++) {
      g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
      assert_next_picture(rig.h, &field, 0);
    }
    gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, "behind the first 1 are ignored"));
    g_assert_null(rig_message(&rig, GST_MESSAGE_WARNING));
    g_free(text);
    gst_buffer_unref(coded);
    rig_free(&rig);
  }
  gst_buffer_unref(raw);
}

/* The same for the payloader, which sends fields as such. */
static void test_sent_fields(gconstpointer caps)
{
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                 GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
  GstBuffer *raw = pixels_buffer(&info, 0), *coded = encode_one(ENCODER, &info, raw, NULL);
  Rig rig = rig_new("rtpj2ksclpay ! rtpj2kscldepay");
  gst_harness_set_src_caps(rig.h, gst_caps_from_string(caps));
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
    GstBuffer *received = gst_harness_pull(rig.h);
    g_assert_true(same_bytes(coded, received));
    gst_buffer_unref(received);
  }
  g_assert_null(rig_message(&rig, GST_MESSAGE_WARNING));
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* --------------------------------------------------------------------------------- flags --- */

#define FIELD_FLAGS                                                                                \
  (GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF |      \
   GST_VIDEO_BUFFER_FLAG_ONEFIELD)

/* The flags of each buffer pass through encoder and decoder. */
static void test_mixed(void)
{
  static const guint flags[] = {0,
                                GST_VIDEO_BUFFER_FLAG_INTERLACED,
                                GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF,
                                GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF |
                                    GST_VIDEO_BUFFER_FLAG_RFF,
                                0,
                                GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_ONEFIELD};
  GstVideoInfo info = interlaced(GST_VIDEO_FORMAT_I420, 66, GST_VIDEO_INTERLACE_MODE_MIXED,
                                 GST_VIDEO_FIELD_ORDER_UNKNOWN);
  Rig rig = rig_new("cudaj2kenc rate-control=lossless frames-in-flight=3 ! cudaj2kdec");
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  for (guint i = 0; i < G_N_ELEMENTS(flags); i++) {
    GstBuffer *buffer = picture(&info, i, 0);
    GST_BUFFER_FLAG_SET(buffer, flags[i]);
    g_assert_cmpint(push_frame(rig.h, buffer, i), ==, GST_FLOW_OK);
    gst_buffer_unref(buffer);
  }
  for (guint i = 0; i < G_N_ELEMENTS(flags); i++) {
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo output = output_video(rig.h);
    g_assert_cmpint(output.interlace_mode, ==, GST_VIDEO_INTERLACE_MODE_MIXED);
    g_assert_cmphex(GST_BUFFER_FLAGS(decoded) & FIELD_FLAGS, ==, flags[i]);
    gst_buffer_unref(decoded);
  }
  rig_free(&rig);
}

/* If the caps have no field order, the flags of each buffer decide which field is first. */
static void test_order_of_buffers(void)
{
  GstVideoInfo info =
      interlaced(GST_VIDEO_FORMAT_I422_10LE, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                 GST_VIDEO_FIELD_ORDER_UNKNOWN);
  GstVideoInfo ordered[2];
  for (guint i = 0; i < 2; i++)
    ordered[i] = interlaced(GST_VIDEO_FORMAT_I422_10LE, 64, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                            i ? GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST
                              : GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST);
  for (guint top_first = 0; top_first < 2; top_first++) {
    GstBuffer *buffer = picture(&info, 0, 0);
    GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    if (top_first)
      GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF);
    GstCaps *caps;
    GstMapInfo map;
    GstBuffer *coded = encode_one(ENCODER, &info, buffer, &caps);
    GstBuffer *expected = encode_one(ENCODER, &ordered[top_first], buffer, NULL);
    g_assert_true(gst_buffer_map(expected, &map, GST_MAP_READ));
    g_assert_cmpuint(gst_buffer_get_size(coded), ==, map.size);
    g_assert_cmpint(gst_buffer_memcmp(coded, 0, map.data, map.size), ==, 0);
    gst_buffer_unmap(expected, &map);
    check_decoded(caps, coded, &info, 0);
    gst_caps_unref(caps);
    gst_buffer_unref(expected);
    gst_buffer_unref(coded);
    gst_buffer_unref(buffer);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    gchar *path = g_strdup_printf("/fields/rows/%s", gst_video_format_to_string(formats[i]));
    g_test_add_data_func(path, GINT_TO_POINTER(formats[i]), test_rows);
    g_free(path);
  }
  g_test_add_func("/fields/short-buffer", test_short_buffer);
  g_test_add_func("/fields/one-picture/frames", test_one_picture);
  g_test_add_data_func("/fields/one-picture/bytes", "image/x-jpc", test_bytes_one_picture);
  g_test_add_data_func("/fields/one-picture/files", "image/jp2", test_bytes_one_picture);
  g_test_add_func("/fields/one-picture/slices", test_slices_one_picture);
  g_test_add_func("/fields/bare-caps/decoded", test_found_fields);
  g_test_add_data_func("/fields/bare-caps/more", "cudaj2kdec", test_more_codestreams);
  if (have_element("rtpj2ksclpay")) {
    g_test_add_data_func("/fields/bare-caps/rtp-more", "rtpj2ksclpay ! rtpj2kscldepay ! cudaj2kdec",
                         test_more_codestreams);
    g_test_add_data_func("/fields/bare-caps/rtp", BARE_CAPS ",width=72,height=64",
                         test_sent_fields);
    g_test_add_data_func("/fields/bare-caps/rtp-interlaced",
                         BARE_CAPS ",interlace-mode=interleaved", test_sent_fields);
  }
  g_test_add_func("/fields/mixed", test_mixed);
  g_test_add_func("/fields/order-of-buffers", test_order_of_buffers);
  int result = g_test_run();
  gst_deinit();
  return result;
}
