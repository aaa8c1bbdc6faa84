/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudaj2kdec in a harness: formats, colours, properties, damage. */
#include "harness.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 54

/* ------------------------------------------------------------------------------- formats --- */

/* The planar format that codestreams for `format` are encoded from. */
static const GstCudaJ2kFormat *native_of(const GstCudaJ2kFormat *format, guint depth)
{
  guint count;
  const GstCudaJ2kFormat *all = gst_cuda_j2k_formats(&count);
  for (guint i = 0; i < count; i++)
    if (all[i].family == format->family && all[i].sub_x == format->sub_x &&
        all[i].sub_y == format->sub_y && all[i].num_components == format->num_components &&
        (!depth || all[i].depth == depth))
      return &all[i];
  return NULL;
}

/* Decodes `coded` with this format required downstream. */
static GstBuffer *decode_as(GstBuffer *coded, GstCaps *caps, GstVideoFormat format,
                            GstVideoInfo *info)
{
  Rig rig = rig_decoder("", caps);
  GstCaps *sink = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING,
                                      gst_video_format_to_string(format), NULL);
  gst_harness_set_sink_caps(rig.h, sink);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  GstBuffer *raw = gst_harness_pull(rig.h);
  *info = output_video(rig.h);
  rig_free(&rig);
  return raw;
}

static void check_format(const GstCudaJ2kFormat *format, guint depth)
{
  const GstCudaJ2kFormat *from = native_of(format, depth);
  GstVideoInfo source = video(gst_cuda_j2k_format_id(from), WIDTH, HEIGHT), info;
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 3);
  GstBuffer *coded = encode_one("cudaj2kenc rate-control=lossless", &source, raw, &caps);
  GstBuffer *decoded = decode_as(coded, caps, gst_cuda_j2k_format_id(format), &info);
  g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, gst_cuda_j2k_format_id(format));
  assert_same_pictures(&source, raw, &info, decoded);
  gst_buffer_unref(decoded);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
}

/* The source is the planar format of the same depth, or one of 8 bits. */
static void test_format(gconstpointer data)
{
  const GstCudaJ2kFormat *format = data;
  check_format(format, format->depth);
  check_format(format, 0);
}

/* Streams of another encoder, without restriction downstream, come out exactly in their own format.
 */
static void test_peer(gconstpointer data)
{
  GstVideoFormat format = (GstVideoFormat)GPOINTER_TO_INT(data);
  if (skip_without("openjpegenc"))
    return;
  GstVideoInfo source = video(format, WIDTH, HEIGHT), info;
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one("openjpegenc num-resolutions=4", &source, raw, &caps);
  Rig rig = rig_decoder("", caps);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  GstBuffer *decoded = gst_harness_pull(rig.h);
  info = output_video(rig.h);
  assert_same_pictures(&source, raw, &info, decoded);
  g_assert_cmpint(GST_VIDEO_INFO_COMP_DEPTH(&info, 0), ==, GST_VIDEO_INFO_COMP_DEPTH(&source, 0));
  gst_buffer_unref(decoded);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* 4:2:2 is not converted to 4:4:4: an error that names the remedy. */
static void test_no_common_format(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("", caps);
  gst_harness_set_sink_caps_str(rig.h, "video/x-raw,format={Y444_10LE,I420}");
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_NOT_NEGOTIATED);
  gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "4:2:2"));
  g_assert_nonnull(strstr(text, "videoconvert"));
  g_free(text);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* A header that is wrong by a bit does not end a stream: one that no video format carries at its
 * beginning, and one that downstream refuses in its midst. The second frame with the same fault
 * does. */
static void test_doubted_header(gconstpointer data)
{
  const gboolean first = GPOINTER_TO_INT(data);
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps), *bad = gst_buffer_copy_deep(coded);
  Rig rig = rig_decoder("", caps);
  gchar *allowed = g_strdup_printf("video/x-raw,width=%d,height=%d", WIDTH, HEIGHT);
  gst_harness_set_sink_caps_str(rig.h, allowed);
  /* SOC, then SIZ: Xsiz at byte 8, XRsiz of the second component, 2, at byte 44. */
  const gsize at = first ? 44 : 11;
  const guint8 wrong = first ? 6 : WIDTH / 2;
  gst_buffer_fill(bad, at, &wrong, 1);
  guint n = 0;
  if (!first) {
    g_assert_cmpint(push_frame(rig.h, coded, n++), ==, GST_FLOW_OK);
    assert_next_picture(rig.h, &source, 0);
  }
  g_assert_cmpint(push_frame(rig.h, bad, n++), ==, GST_FLOW_OK);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpint(push_frame(rig.h, coded, n++), ==, GST_FLOW_OK);
    assert_next_picture(rig.h, &source, 0);
  }
  g_assert_null(rig_message(&rig, GST_MESSAGE_ERROR));
  if (!first) {
    g_assert_cmpint(push_frame(rig.h, bad, n++), ==, GST_FLOW_OK);
    g_assert_cmpint(push_frame(rig.h, bad, n++), ==, GST_FLOW_NOT_NEGOTIATED);
    gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, "videoscale"));
    g_free(text);
  }
  g_free(allowed);
  gst_buffer_unref(bad);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* A stream that is no video at all. */
static void test_no_video(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  const guint8 wrong = 6;
  GstCaps *caps;
  GstBuffer *bad = encode_pattern(&source, 0, &caps);
  gst_buffer_fill(bad, 44, &wrong, 1);
  Rig rig = rig_decoder("", caps);
  g_assert_cmpint(push_frame(rig.h, bad, 0), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(rig.h, bad, 1), ==, GST_FLOW_NOT_NEGOTIATED);
  gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "No video format carries this stream"));
  g_free(text);
  gst_buffer_unref(bad);
  rig_free(&rig);
}

/* The nearest of several formats is chosen: by depth first, then without needless alpha. */
static void test_choice(void)
{
  static const struct {
    GstVideoFormat from;
    const gchar *allowed;
    GstVideoFormat expected;
  } cases[] = {
      {GST_VIDEO_FORMAT_I422_10LE, "{UYVY,v216,v210}", GST_VIDEO_FORMAT_v210},
      {GST_VIDEO_FORMAT_I422_10LE, "{UYVY,v216,I422_12LE}", GST_VIDEO_FORMAT_I422_12LE},
      {GST_VIDEO_FORMAT_I422_10LE, "{UYVY,I420}", GST_VIDEO_FORMAT_UYVY},
      {GST_VIDEO_FORMAT_RGB, "{ARGB64,RGBA,BGRx}", GST_VIDEO_FORMAT_BGRx},
      {GST_VIDEO_FORMAT_RGBA, "{RGB,ARGB,GBR}", GST_VIDEO_FORMAT_ARGB},
      {GST_VIDEO_FORMAT_GBR_12LE, "{RGB,GBR_10LE,ARGB64}", GST_VIDEO_FORMAT_ARGB64},
      {GST_VIDEO_FORMAT_I420, "{I420_10LE,NV12,Y444}", GST_VIDEO_FORMAT_NV12},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].from, WIDTH, HEIGHT);
    GstCaps *caps;
    GstBuffer *coded = encode_pattern(&source, 0, &caps);
    Rig rig = rig_decoder("", caps);
    gchar *sink = g_strdup_printf("video/x-raw,format=%s", cases[i].allowed);
    gst_harness_set_sink_caps_str(rig.h, sink);
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    GstVideoInfo info = output_video(rig.h);
    g_assert_cmpstr(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)), ==,
                    gst_video_format_to_string(cases[i].expected));
    g_free(sink);
    gst_buffer_unref(coded);
    rig_free(&rig);
  }
}

/* ------------------------------------------------------------------------ caps and colours --- */

static GstVideoInfo decode_with_caps(GstBuffer *coded, const gchar *caps)
{
  Rig rig = rig_decoder("", gst_caps_from_string(caps));
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  GstVideoInfo info = output_video(rig.h);
  rig_free(&rig);
  return info;
}

static void test_caps_pass_through(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *coded = encode_pattern(&source, 0, NULL);
  GstVideoInfo info = decode_with_caps(
      coded, "image/x-jpc,framerate=30000/1001,pixel-aspect-ratio=4/3,colorimetry=bt2100-pq,"
             "interlace-mode=interleaved,field-order=bottom-field-first");
  gchar *colorimetry = gst_video_colorimetry_to_string(&info.colorimetry);
  g_assert_cmpint(info.width, ==, WIDTH);
  g_assert_cmpint(info.height, ==, HEIGHT);
  g_assert_cmpint(info.fps_n, ==, 30000);
  g_assert_cmpint(info.fps_d, ==, 1001);
  g_assert_cmpint(info.par_n, ==, 4);
  g_assert_cmpint(info.par_d, ==, 3);
  g_assert_cmpint(info.interlace_mode, ==, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
  g_assert_cmpint(GST_VIDEO_INFO_FIELD_ORDER(&info), ==, GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST);
  g_assert_cmpstr(colorimetry, ==, "bt2100-pq");
  g_free(colorimetry);
  gst_buffer_unref(coded);
}

static void test_colours(void)
{
  static const struct {
    GstVideoFormat from;
    const gchar *encoder, *caps;
    GstVideoFormat expected;
  } cases[] = {
      /* Sub-sampled chroma is not RGB, even if the demuxer's caps say so. */
      {GST_VIDEO_FORMAT_Y42B, "", "image/x-jpc,colorspace=sRGB,sampling=RGB",
       GST_VIDEO_FORMAT_Y42B},
      {GST_VIDEO_FORMAT_Y444, "", "image/x-jpc,sampling=YCbCr-4:4:4", GST_VIDEO_FORMAT_Y444},
      {GST_VIDEO_FORMAT_Y444, "", "image/x-jpc,colorspace=sYUV", GST_VIDEO_FORMAT_Y444},
      {GST_VIDEO_FORMAT_GBR, "mct=off", "image/x-jpc,colorspace=sRGB", GST_VIDEO_FORMAT_GBR},
      {GST_VIDEO_FORMAT_GBR, "mct=off", "image/x-jpc,colorspace=sYUV", GST_VIDEO_FORMAT_Y444},
      {GST_VIDEO_FORMAT_GBR, "mct=on", "image/x-jpc", GST_VIDEO_FORMAT_GBR},
      {GST_VIDEO_FORMAT_GRAY8, "", "image/x-jpc", GST_VIDEO_FORMAT_GRAY8},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].from, WIDTH, HEIGHT);
    GstBuffer *raw = pixels_buffer(&source, 0);
    gchar *encoder = g_strdup_printf("cudaj2kenc rate-control=lossless %s", cases[i].encoder);
    GstBuffer *coded = encode_one(encoder, &source, raw, NULL);
    GstVideoInfo info = decode_with_caps(coded, cases[i].caps);
    g_assert_cmpstr(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)), ==,
                    gst_video_format_to_string(cases[i].expected));
    g_free(encoder);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
  }
}

/* Turns the second colr box of a JP2 file, with code points, into one that nobody knows. */
static void hide_code_points(GstBuffer *file)
{
  GstMapInfo map;
  guint boxes = 0;

  g_assert_true(gst_buffer_map(file, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i + 4 < map.size && boxes < 2; i++)
    if (memcmp(map.data + i, "colr", 4) == 0 && ++boxes == 2)
      memcpy(map.data + i, "none", 4);
  g_assert_cmpuint(boxes, ==, 2);
  gst_buffer_unmap(file, &map);
}

/* The colours of a JP2 or JPH file come from the file itself: its code points say what the video
 * was; else Y'CbCr is sYCC, of full range. */
static void test_jp2_colours(void)
{
  static const struct {
    GstVideoFormat format;
    const gchar *encoder, *colorimetry;
  } cases[] = {
      {GST_VIDEO_FORMAT_Y444, "", "bt709"},
      {GST_VIDEO_FORMAT_I422_10LE, "block-coder=ht", "bt2100-hlg"},
      {GST_VIDEO_FORMAT_I420_10LE, "", "bt2100-pq"},
      {GST_VIDEO_FORMAT_Y444, "block-coder=ht", "1:4:5:4"}, /* full range, BT.601, NTSC */
      {GST_VIDEO_FORMAT_GBR_12LE, "", "1:1:14:7"},          /* RGB, PQ, BT.2020 */
      {GST_VIDEO_FORMAT_GBR, "", "sRGB"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].format, WIDTH, HEIGHT);
    g_assert_true(gst_video_colorimetry_from_string(&source.colorimetry, cases[i].colorimetry));
    GstBuffer *raw = pixels_buffer(&source, 0);
    gchar *encoder = g_strdup_printf(
        "cudaj2kenc rate-control=lossless %s ! capsfilter caps=image/jp2", cases[i].encoder);
    GstBuffer *coded = encode_one(encoder, &source, raw, NULL);
    GstVideoInfo info = decode_with_caps(coded, "image/jp2");
    gchar *got = gst_video_colorimetry_to_string(&info.colorimetry);
    g_assert_cmpstr(got, ==, cases[i].colorimetry);
    g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, cases[i].format);
    if (i == 0) {
      hide_code_points(coded);
      info = decode_with_caps(coded, "image/jp2");
      g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, GST_VIDEO_FORMAT_Y444);
      g_assert_cmpint(info.colorimetry.range, ==, GST_VIDEO_COLOR_RANGE_0_255);
    }
    g_free(got);
    g_free(encoder);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
  }
}

/* Type and association of the last channel in the channel definition box of a file. */
static guint32 last_channel(GstBuffer *file, guint channels)
{
  GstMapInfo map;
  guint32 found = 0;

  g_assert_true(gst_buffer_map(file, &map, GST_MAP_READ));
  for (gsize i = 0; i + 6 + 6 * channels <= map.size && !found; i++)
    if (memcmp(map.data + i, "cdef", 4) == 0)
      memcpy(&found, map.data + i + 6 + 6 * channels - 4, sizeof found);
  gst_buffer_unmap(file, &map);
  return GUINT32_FROM_BE(found);
}

/* Alpha of all formats and of every kind through files: the kind is in the file, samples stay as
 * they are, and a warning says that caps cannot have colours that were multiplied by alpha. */
static void test_alpha(void)
{
  static const GstVideoFormat formats[] = {
      GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_AYUV,
      GST_VIDEO_FORMAT_GBRA, GST_VIDEO_FORMAT_VUYA,      GST_VIDEO_FORMAT_GBRA_10LE,
      GST_VIDEO_FORMAT_A420, GST_VIDEO_FORMAT_A422_10LE,
  };
  static const struct {
    const gchar *word;
    guint32 channel;
  } kinds[] = {{"auto", 0x10000},
               {"straight", 0x10000},
               {"premultiplied", 0x20000},
               {"unspecified", 0xFFFFFFFF}};

  for (guint i = 0; i < G_N_ELEMENTS(formats) * G_N_ELEMENTS(kinds); i++) {
    guint kind = i % G_N_ELEMENTS(kinds);
    GstVideoInfo source = video(formats[i / G_N_ELEMENTS(kinds)], WIDTH, HEIGHT);
    GstBuffer *raw = pixels_buffer(&source, 0);
    gchar *encoder = g_strdup_printf("cudaj2kenc rate-control=lossless block-coder=%s alpha=%s ! "
                                     "capsfilter caps=image/jp2",
                                     i % 3 ? "ht" : "mq", kinds[kind].word);
    GstBuffer *coded = encode_one(encoder, &source, raw, NULL);
    g_assert_cmphex(last_channel(coded, 4), ==, kinds[kind].channel);
    Rig rig = rig_decoder("", gst_caps_from_string("image/jp2"));
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    GstBuffer *back = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    assert_same_pictures(&source, raw, &info, back);
    gchar *warning = rig_message(&rig, GST_MESSAGE_WARNING);
    if (kinds[kind].channel == 0x20000)
      g_assert_nonnull(strstr(warning, "multiplied by alpha"));
    else
      g_assert_null(warning);
    g_free(warning);
    g_free(encoder);
    gst_buffer_unref(back);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
    rig_free(&rig);
  }
}

/* Cinema profiles are X'Y'Z', in RGB planes with the primaries of SMPTE ST 428. */
static void test_cinema_colours(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR_12LE, WIDTH, HEIGHT);
  source.fps_n = 24;
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded =
      encode_one("cudaj2kenc profile=cinema-2k rate-control=cbr", &source, raw, NULL);
  GstVideoInfo info = decode_with_caps(coded, "image/x-jpc,colorspace=sRGB");
  g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, GST_VIDEO_FORMAT_GBR_12LE);
  g_assert_cmpint(info.colorimetry.primaries, ==, GST_VIDEO_COLOR_PRIMARIES_SMPTEST428);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
}

/* --------------------------------------------------------------------------- properties --- */

static void test_reduce(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT + 1);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("reduce=2", caps);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  GstVideoInfo info = output_video(rig.h);
  g_assert_cmpint(info.width, ==, (WIDTH + 3) / 4);
  g_assert_cmpint(info.height, ==, (HEIGHT + 1 + 3) / 4);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* Fewer layers give a larger difference from the source. */
static void test_layers(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GRAY8, 128, 128);
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one("cudaj2kenc rate-control=lossless layer-rates=0.2,1,8 num-layers=3",
                                &source, raw, &caps);
  gint last = G_MAXINT;
  for (guint layers = 1; layers <= 3; layers++) {
    gchar *properties = g_strdup_printf("layers=%u", layers);
    Rig rig = rig_decoder(properties, gst_caps_ref(caps));
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    gint difference = pixels_difference(&source, raw, &info, decoded);
    g_assert_cmpint(difference, <, last);
    last = difference;
    gst_buffer_unref(decoded);
    g_free(properties);
    rig_free(&rig);
  }
  g_assert_cmpint(last, ==, 0);
  gst_caps_unref(caps);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
}

static void test_threads(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstCaps *caps;
  GstBuffer *raw = pixels_buffer(&source, 0), *first = NULL;
  GstBuffer *coded = encode_one("cudaj2kenc quality=70", &source, raw, &caps);
  for (guint threads = 1; threads <= 3; threads++) {
    gchar *properties = g_strdup_printf("backend=cpu num-threads=%u", threads);
    Rig rig = rig_decoder(properties, gst_caps_ref(caps));
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    if (first)
      assert_same_pictures(&source, first, &source, decoded);
    else
      first = gst_buffer_ref(decoded);
    gst_buffer_unref(decoded);
    g_free(properties);
    rig_free(&rig);
  }
  gst_buffer_unref(first);
  gst_caps_unref(caps);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
}

static void test_stats(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("", caps);
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(push_frame(rig.h, coded, i), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
  }
  GstElement *element = rig_element(&rig, "cudaj2kdec");
  GstStructure *stats;
  guint64 frames = 0, bytes = 0, corrupt = 1;
  g_object_get(element, "stats", &stats, NULL);
  g_assert_true(gst_structure_get(stats, "frames", G_TYPE_UINT64, &frames, "bytes", G_TYPE_UINT64,
                                  &bytes, "corrupt-blocks", G_TYPE_UINT64, &corrupt, NULL));
  g_assert_cmpuint(frames, ==, 3);
  g_assert_cmpuint(bytes, ==, 3 * gst_buffer_get_size(coded));
  g_assert_cmpuint(corrupt, ==, 0);
  gst_structure_free(stats);
  gst_object_unref(element);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* The default colorimetry does not depend on `reduce`: half of 1080 rows is not SD. */
static void test_reduced_colours(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, 32, 1080);
  GstBuffer *coded = encode_pattern(&source, 0, NULL);
  for (guint reduce = 0; reduce < 3; reduce++) {
    gchar *properties = g_strdup_printf("reduce=%u", reduce);
    Rig rig = rig_decoder(properties, gst_caps_from_string("image/x-jpc"));
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    GstVideoInfo info = output_video(rig.h);
    gchar *colorimetry = gst_video_colorimetry_to_string(&info.colorimetry);
    g_assert_cmpint(GST_VIDEO_INFO_HEIGHT(&info), ==, 1080 >> reduce);
    g_assert_cmpstr(colorimetry, ==, GST_VIDEO_COLORIMETRY_BT709);
    g_free(colorimetry);
    g_free(properties);
    rig_free(&rig);
  }
  gst_buffer_unref(coded);
}

static void test_latency(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  for (guint in_flight = 1; in_flight <= 3; in_flight++) {
    gchar *properties = g_strdup_printf("frames-in-flight=%u", in_flight);
    Rig rig = rig_decoder(properties, gst_caps_ref(caps));
    g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    g_assert_cmpuint(gst_harness_query_latency(rig.h), ==, (in_flight - 1) * GST_SECOND / FPS);
    g_free(properties);
    rig_free(&rig);
  }
  gst_caps_unref(caps);
  gst_buffer_unref(coded);
}

/* -------------------------------------------------------------------------------- damage --- */

static GstBuffer *truncated(GstBuffer *coded, gsize percent)
{
  return gst_buffer_copy_region(coded, GST_BUFFER_COPY_ALL, 0,
                                gst_buffer_get_size(coded) * percent / 100);
}

/* Half a codestream is decoded and flagged as corrupted. With `strict` it is an error, and the next
 * frame is decoded normally. */
static void test_truncated(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  for (guint strict = 0; strict < 2; strict++) {
    GstCaps *caps;
    GstBuffer *coded = encode_pattern(&source, 0, &caps), *half = truncated(coded, 50);
    Rig rig = rig_decoder(strict ? "strict=true" : "", caps);
    g_assert_cmpint(push_frame(rig.h, half, 0), ==, GST_FLOW_OK);
    g_assert_cmpint(push_frame(rig.h, coded, 1), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    if (!strict) {
      g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, 0);
      g_assert_true(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
      gst_buffer_unref(decoded);
      decoded = gst_harness_pull(rig.h);
    }
    g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, GST_SECOND / FPS);
    g_assert_false(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
    gst_buffer_unref(decoded);
    gst_buffer_unref(half);
    gst_buffer_unref(coded);
    rig_free(&rig);
  }
}

/* A stream without any picture: a warning names the reason of the first frame, and its end is an
 * error, whatever max-errors is. */
static void test_hopeless(void)
{
  Rig rig = rig_decoder("", gst_caps_new_empty_simple("image/x-jpc"));
  GstBuffer *hopeless = gst_buffer_new_wrapped(g_strdup("no codestream"), 13);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint(push_frame(rig.h, hopeless, i), ==, GST_FLOW_OK);
  gchar *first = rig_message(&rig, GST_MESSAGE_WARNING);
  gchar *second = rig_message(&rig, GST_MESSAGE_WARNING);
  gst_harness_push_event(rig.h, gst_event_new_eos());
  gchar *error = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(first);
  g_assert_nonnull(strstr(first, "neither a codestream"));
  g_assert_null(second);
  g_assert_nonnull(error);
  g_free(first);
  g_free(error);
  gst_buffer_unref(hopeless);
  rig_free(&rig);
}

/* Frames without a header are dropped, until there are too many in succession. */
static void test_max_errors(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  GstBuffer *garbage = gst_buffer_new_memdup("no codestream at all", 20);
  Rig rig = rig_decoder("max-errors=2", caps);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  g_assert_cmpint(push_frame(rig.h, garbage, 1), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(rig.h, coded, 2), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 3; i < 10 && flow == GST_FLOW_OK; i++)
    flow = push_frame(rig.h, garbage, i);
  g_assert_cmpint(flow, ==, GST_FLOW_ERROR);
  gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(text);
  g_free(text);
  gst_buffer_unref(garbage);
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* Damages each byte of a frame in turn: the decoder must neither crash nor hang. */
static void test_flipped_bytes(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, 32, 32);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_decoder("", caps);
  gst_harness_set_drop_buffers(rig.h, TRUE);
  gsize size = gst_buffer_get_size(coded);
  for (gsize i = 0; i < size; i++) {
    GstBuffer *bad = gst_buffer_copy_deep(coded);
    guint8 byte;
    gst_buffer_extract(bad, i, &byte, 1);
    byte ^= (guint8)(1 + i % 255);
    gst_buffer_fill(bad, i, &byte, 1);
    gst_harness_push(rig.h, bad);
  }
  gst_buffer_unref(coded);
  rig_free(&rig);
}

/* ---------------------------------------------------------------------------------- main --- */

static void add_formats(void)
{
  static const GstVideoFormat peers[] = {
      GST_VIDEO_FORMAT_I420,      GST_VIDEO_FORMAT_Y42B,      GST_VIDEO_FORMAT_Y444,
      GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_I422_10LE, GST_VIDEO_FORMAT_Y444_10LE,
      GST_VIDEO_FORMAT_ARGB64,    GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_xRGB,
      GST_VIDEO_FORMAT_AYUV,      GST_VIDEO_FORMAT_AYUV64,    GST_VIDEO_FORMAT_Y41B,
      GST_VIDEO_FORMAT_YUV9,      GST_VIDEO_FORMAT_GRAY8,     GST_VIDEO_FORMAT_GRAY16_LE,
  };
  guint count;
  const GstCudaJ2kFormat *formats = gst_cuda_j2k_formats(&count);
  for (guint i = 0; i < count; i++) {
    gchar *path = g_strdup_printf("/decoder/format/%s", formats[i].name);
    g_test_add_data_func(path, &formats[i], test_format);
    g_free(path);
  }
  for (guint i = 0; i < G_N_ELEMENTS(peers); i++) {
    gchar *path = g_strdup_printf("/decoder/peer/%s", gst_video_format_to_string(peers[i]));
    g_test_add_data_func(path, GINT_TO_POINTER(peers[i]), test_peer);
    g_free(path);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  add_formats();
  g_test_add_func("/decoder/no-common-format", test_no_common_format);
  g_test_add_data_func("/decoder/doubted-header/first", GINT_TO_POINTER(TRUE), test_doubted_header);
  g_test_add_data_func("/decoder/doubted-header/later", GINT_TO_POINTER(FALSE),
                       test_doubted_header);
  g_test_add_func("/decoder/no-video", test_no_video);
  g_test_add_func("/decoder/choice", test_choice);
  g_test_add_func("/decoder/caps", test_caps_pass_through);
  g_test_add_func("/decoder/colours", test_colours);
  g_test_add_func("/decoder/colours-jp2", test_jp2_colours);
  g_test_add_func("/decoder/alpha", test_alpha);
  g_test_add_func("/decoder/colours-cinema", test_cinema_colours);
  g_test_add_func("/decoder/reduce", test_reduce);
  g_test_add_func("/decoder/reduced-colours", test_reduced_colours);
  g_test_add_func("/decoder/layers", test_layers);
  g_test_add_func("/decoder/threads", test_threads);
  g_test_add_func("/decoder/stats", test_stats);
  g_test_add_func("/decoder/latency", test_latency);
  g_test_add_func("/decoder/truncated", test_truncated);
  g_test_add_func("/decoder/hopeless", test_hopeless);
  g_test_add_func("/decoder/max-errors", test_max_errors);
  g_test_add_func("/decoder/flipped-bytes", test_flipped_bytes);
  int result = g_test_run();
  gst_deinit();
  return result;
}
