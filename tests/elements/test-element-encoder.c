/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudaj2kenc in a harness: formats, caps, streaming, properties, statistics. */
#include "harness.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 54

/* ------------------------------------------------------------------------------- formats --- */

/* Lossless coding is exact, also for odd sizes. */
static void test_format(gconstpointer data)
{
  const GstCudaJ2kFormat *format = data;
  /* 1280: the chroma of NV16_10LE32 ends inside a unit of its rows. */
  static const guint sizes[][2] = {{WIDTH, HEIGHT}, {35, 17}, {1280, 6}};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    GstVideoInfo source = video(gst_cuda_j2k_format_id(format), sizes[i][0], sizes[i][1]);
    if (!gst_cuda_j2k_format_fits(format, &source)) {
      g_assert_cmpuint(sizes[i][0], ==, 35);
      continue;
    }
    gchar *chain = g_strdup_printf("cudaj2kenc rate-control=lossless ! cudaj2kdec ! capsfilter "
                                   "caps=video/x-raw,format=%s",
                                   format->name);
    assert_lossless(chain, &source);
    g_free(chain);
  }
}

/* ---------------------------------------------------------------------------------- caps --- */

static void test_caps(void)
{
  static const struct {
    GstVideoFormat format;
    const gchar *sampling, *colorspace;
    gint components;
  } cases[] = {
      {GST_VIDEO_FORMAT_I420, "YCbCr-4:2:0", "sYUV", 3},
      {GST_VIDEO_FORMAT_v210, "YCbCr-4:2:2", "sYUV", 3},
      {GST_VIDEO_FORMAT_Y444_12LE, "YCbCr-4:4:4", "sYUV", 3},
      {GST_VIDEO_FORMAT_Y41B, "YCbCr-4:1:1", "sYUV", 3},
      {GST_VIDEO_FORMAT_AYUV64, "YCbCrA-4:4:4:4", "sYUV", 4},
      {GST_VIDEO_FORMAT_GBR_10LE, "RGB", "sRGB", 3},
      {GST_VIDEO_FORMAT_ARGB64, "RGBA", "sRGB", 4},
      {GST_VIDEO_FORMAT_GRAY16_LE, "GRAYSCALE", "GRAY", 1},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].format, WIDTH, HEIGHT);
    GstBuffer *raw = pixels_buffer(&source, 0);
    GstCaps *caps;
    gst_buffer_unref(encode_one("cudaj2kenc", &source, raw, &caps));
    const GstStructure *s = gst_caps_get_structure(caps, 0);
    gint components = 0, profile = -1, n = 0, d = 0;
    g_assert_cmpstr(gst_structure_get_name(s), ==, "image/x-jpc");
    g_assert_cmpstr(gst_structure_get_string(s, "alignment"), ==, "frame");
    g_assert_cmpstr(gst_structure_get_string(s, "sampling"), ==, cases[i].sampling);
    g_assert_cmpstr(gst_structure_get_string(s, "colorspace"), ==, cases[i].colorspace);
    g_assert_nonnull(gst_structure_get_string(s, "colorimetry"));
    g_assert_true(gst_structure_get_int(s, "num-components", &components));
    g_assert_cmpint(components, ==, cases[i].components);
    g_assert_true(gst_structure_get_int(s, "profile", &profile));
    g_assert_cmpint(profile, ==, 0);
    g_assert_true(gst_structure_get_fraction(s, "framerate", &n, &d));
    g_assert_cmpint(n, ==, FPS);
    gst_caps_unref(caps);
    gst_buffer_unref(raw);
  }
}

/* The media type is the one that downstream prefers; for ANY caps it is a codestream. */
static void test_media_types(void)
{
  static const struct {
    const gchar *sink, *expected;
    guint8 begin[12];
    guint from, bytes;
  } cases[] = {
      {"ANY", "image/x-jpc", {0xFF, 0x4F, 0xFF, 0x51}, 0, 4},
      {"image/x-j2c;image/x-jpc",
       "image/x-j2c",
       {'j', 'p', '2', 'c', 0xFF, 0x4F, 0xFF, 0x51},
       4,
       8},
      {"image/jp2", "image/jp2", {0, 0, 0, 12, 'j', 'P', ' ', ' ', 0x0D, 0x0A, 0x87, 0x0A}, 0, 12},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Rig rig = rig_encoder("", NULL);
    gst_harness_set_sink_caps_str(rig.h, cases[i].sink);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    GstCaps *caps = gst_pad_get_current_caps(rig.h->sinkpad);
    g_assert_cmpstr(gst_structure_get_name(gst_caps_get_structure(caps, 0)), ==, cases[i].expected);
    g_assert_cmpint(gst_buffer_memcmp(coded, cases[i].from, cases[i].begin, cases[i].bytes), ==, 0);
    gst_caps_unref(caps);
    gst_buffer_unref(coded);
    rig_free(&rig);
  }
  gst_buffer_unref(raw);
}

/* Coding an interlaced frame as one picture causes a warning. */
static void test_interlaced_warning(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  source.interlace_mode = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  Rig rig = rig_encoder("", &source);
  GstBuffer *raw = pixels_buffer(&source, 0);
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "nterlaced"));
  g_free(text);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Pushes a frame, and returns the size of its codestream. */
static gsize encoded_size(Rig *rig, GstBuffer *raw)
{
  g_assert_cmpint(push_frame(rig->h, raw, 0), ==, GST_FLOW_OK);
  GstBuffer *coded = gst_harness_pull(rig->h);
  gsize size = gst_buffer_get_size(coded);
  gst_buffer_unref(coded);
  return size;
}

static void assert_rate_stays(Rig *rig, const gchar *reason)
{
  gchar *text = rig_message(rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "The rate stays as it was"));
  g_assert_nonnull(strstr(text, reason));
  g_free(text);
  g_assert_null(rig_message(rig, GST_MESSAGE_ERROR));
}

/* A change that is refused does not count, with new caps neither, until the properties together are
 * possible; a stream does not begin with such ones. */
static void test_refused_changes(void)
{
  static const struct {
    const gchar *properties, *name, *value, *reason, *undone;
  } cases[] = {
      {"quality=60", "roi", "1,1,10,10,4", "roi needs rate-control cbr", ""},
      {"quality=60", "psnr", "30", "rate-control", "45"},
      {"bitrate=2000", "roi", "garbage", "roi", ""},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 192, 96);
    GstBuffer *raw = pixels_buffer(&source, 0);
    Rig rig = rig_encoder(cases[i].properties, &source);
    GstElement *element = rig_element(&rig, "cudaj2kenc");
    gsize size = encoded_size(&rig, raw);
    gst_util_set_object_arg(G_OBJECT(element), cases[i].name, cases[i].value);
    gsize refused = encoded_size(&rig, raw);
    g_assert_true(MAX(size, refused) - MIN(size, refused) <= size / 50);
    assert_rate_stays(&rig, cases[i].reason);
    for (guint width = 128; width <= 192; width += 64) { /* other caps, and those of before */
      GstVideoInfo other = video(GST_VIDEO_FORMAT_I422_10LE, width, 96);
      GstBuffer *changed = pixels_buffer(&other, 0);
      gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&other));
      size = encoded_size(&rig, changed);
      assert_rate_stays(&rig, cases[i].reason);
      gst_buffer_unref(changed);
    }
    g_assert_true(MAX(size, refused) - MIN(size, refused) <= size / 50);
    gst_util_set_object_arg(G_OBJECT(element), cases[i].name, cases[i].undone);
    (void)encoded_size(&rig, raw);
    g_assert_null(rig_message(&rig, GST_MESSAGE_WARNING));
    gst_object_unref(element);
    gst_buffer_unref(raw);
    rig_free(&rig);
  }
}

/* ----------------------------------------------------------------------------- streaming --- */

static void test_eos(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 320, 240);
  Rig rig = rig_encoder("frames-in-flight=8", &source);
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstCaps *clock = gst_caps_new_empty_simple("timestamp/x-test");
  gst_buffer_add_reference_timestamp_meta(raw, clock, 7, GST_CLOCK_TIME_NONE);
  for (guint i = 0; i < 20; i++)
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 20);
  for (guint i = 0; i < 20; i++) {
    GstBuffer *coded = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(coded), ==, gst_util_uint64_scale(i, GST_SECOND, FPS));
    g_assert_cmpuint(GST_BUFFER_DURATION(coded), ==, GST_SECOND / FPS);
    g_assert_false(GST_BUFFER_FLAG_IS_SET(coded, GST_BUFFER_FLAG_DELTA_UNIT));
    g_assert_nonnull(gst_buffer_get_reference_timestamp_meta(coded, clock));
    gst_buffer_unref(coded);
  }
  gst_caps_unref(clock);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* The bytes do not depend on frames in flight or threads, and a coded frame is pushed at once. */
static void test_same_bytes(void)
{
  static const gchar *const ways[] = {"frames-in-flight=1 num-threads=1",
                                      "frames-in-flight=4 num-threads=2",
                                      "frames-in-flight=2 num-threads=5"};
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0), *first = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    gchar *properties = g_strdup_printf("backend=cpu bits-per-pixel=2 %s", ways[i]);
    Rig rig = rig_encoder(properties, &source);
    g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    GstMapInfo map;
    gst_buffer_map(coded, &map, GST_MAP_READ);
    if (first) {
      g_assert_cmpuint(map.size, ==, gst_buffer_get_size(first));
      g_assert_cmpint(gst_buffer_memcmp(first, 0, map.data, map.size), ==, 0);
    } else {
      first = gst_buffer_copy_deep(coded);
    }
    gst_buffer_unmap(coded, &map);
    gst_buffer_unref(coded);
    g_free(properties);
    rig_free(&rig);
  }
  gst_buffer_unref(first);
  gst_buffer_unref(raw);
}

static void test_flush(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 320, 240);
  Rig rig = rig_encoder("frames-in-flight=4", &source);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint round = 0; round < 10; round++) {
    for (guint i = 0; i < 6; i++)
      push_frame(rig.h, raw, i);
    rig_flush(&rig);
    g_assert_cmpint(push_frame(rig.h, raw, 100 + round), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    g_assert_cmpuint(GST_BUFFER_PTS(coded), ==,
                     gst_util_uint64_scale(100 + round, GST_SECOND, FPS));
    gst_buffer_unref(coded);
  }
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Size and format change within a stream; the frames before the change are complete. */
static void test_caps_change(void)
{
  static const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_I422_10LE,
                                           GST_VIDEO_FORMAT_v210};
  Rig rig = rig_new("cudaj2kenc rate-control=lossless frames-in-flight=4 ! cudaj2kdec");
  for (guint i = 0; i < 9; i++) {
    GstVideoInfo source = video(formats[i / 3], WIDTH + 16 * (i / 3), HEIGHT);
    GstBuffer *raw = pixels_buffer(&source, i);
    if (i % 3 == 0)
      gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
    if (i % 3 != 2)
      continue;
    for (guint j = i - 2; j <= i; j++)
      assert_next_picture(rig.h, &source, j);
  }
  rig_free(&rig);
}

/* Caps that the element refuses; then the caps before them return. */
typedef struct {
  const gchar *name, *properties, *accepted, *refused;
  gboolean flushing; /* they are refused because downstream flushes */
} Refusal;

static const Refusal refusals[] = {
    {"profile", "profile=cinema-2k", "format=GBR_12LE,width=128,height=64",
     "format=I420,width=1024,height=8", FALSE},
    {"encoder", "profile=cinema-2k", "format=GBR_12LE,width=128,height=64",
     "format=GBR_12LE,width=2064,height=2", FALSE},
    {"flushing", "rate-control=lossless", "format=I420,width=96,height=54",
     "format=RGB,width=512,height=2", TRUE},
};

static GstCaps *raw_caps(const gchar *fields)
{
  gchar *text = g_strdup_printf("video/x-raw,framerate=25/1,%s", fields);
  GstCaps *caps = gst_caps_from_string(text);
  g_free(text);
  return caps;
}

static void push_caps(GstHarness *h, GstCaps *caps)
{
  gst_harness_push_event(h, gst_event_new_caps(caps));
}

static void push_refused_caps(Rig *rig, const Refusal *c, GstCaps *caps)
{
  GstElement *element = rig_element(rig, "cudaj2kenc");
  GstPad *pad = gst_element_get_static_pad(element, "src");
  if (c->flushing)
    gst_pad_push_event(pad, gst_event_new_flush_start());
  push_caps(rig->h, caps);
  if (c->flushing)
    gst_pad_push_event(pad, gst_event_new_flush_stop(FALSE));
  gst_object_unref(pad);
  gst_object_unref(element);
}

/* After refused caps the frames of the caps before them are coded as if nothing had happened. */
static void test_refused_caps(gconstpointer data)
{
  const Refusal *c = data;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  Rig rig = rig_encoder(c->properties, NULL);
  GstCaps *caps = raw_caps(c->accepted), *refused = raw_caps(c->refused);
  GstVideoInfo info = video_of_caps(caps), refused_info = video_of_caps(refused);
  GstBuffer *picture = pixels_buffer(&info, 0), *other = pixels_buffer(&refused_info, 0);
  gst_harness_set_src_caps(rig.h, gst_caps_ref(caps));
  g_assert_cmpint(push_frame(rig.h, picture, 0), ==, GST_FLOW_OK);
  GstBuffer *first = gst_harness_pull(rig.h);
  for (guint i = 1; i < 4; i++) {
    push_refused_caps(&rig, c, refused);
    if (!c->flushing)
      g_assert_cmpint(push_frame(rig.h, other, i), ==, GST_FLOW_NOT_NEGOTIATED);
    push_caps(rig.h, caps);
    if (c->flushing)
      gst_harness_push_event(rig.h, gst_event_new_segment(&segment));
    g_assert_cmpint(push_frame(rig.h, picture, i), ==, GST_FLOW_OK);
    GstBuffer *again = gst_harness_pull(rig.h);
    g_assert_true(same_bytes(first, again));
    gst_buffer_unref(again);
  }
  gst_buffer_unref(first);
  gst_buffer_unref(picture);
  gst_buffer_unref(other);
  gst_caps_unref(caps);
  gst_caps_unref(refused);
  rig_free(&rig);
}

/* With the property qos, frames that would be too late for downstream are not encoded. */
static void test_qos(gconstpointer data)
{
  gboolean qos = GPOINTER_TO_INT(data);
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_encoder(qos ? "qos=true" : "", &source);
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  g_assert_true(gst_harness_push_upstream_event(
      rig.h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0)));
  for (guint i = 1; i < 5; i++)
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(rig.h, raw, 10 * FPS), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, qos ? 2 : 6);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

static void test_latency(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint in_flight = 1; in_flight <= 3; in_flight++) {
    gchar *properties = g_strdup_printf("frames-in-flight=%u", in_flight);
    Rig rig = rig_encoder(properties, &source);
    g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    g_assert_cmpuint(gst_harness_query_latency(rig.h), ==, (in_flight - 1) * GST_SECOND / FPS);
    g_free(properties);
    rig_free(&rig);
  }
  gst_buffer_unref(raw);
}

/* Every property returns the value that was set. */
static void test_properties(void)
{
  GstElement *element = gst_element_factory_make("cudaj2kenc", NULL);
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; i++) {
    GParamSpec *spec = specs[i];
    GValue value = G_VALUE_INIT, back = G_VALUE_INIT;
    if (g_type_is_a(GST_TYPE_VIDEO_ENCODER, spec->owner_type) || !(spec->flags & G_PARAM_WRITABLE))
      continue;
    g_value_init(&value, spec->value_type);
    g_value_init(&back, spec->value_type);
    g_object_get_property(G_OBJECT(element), spec->name, &back);
    g_assert_true(g_param_value_defaults(spec, &back));
    if (G_IS_PARAM_SPEC_UINT(spec))
      g_value_set_uint(&value, G_PARAM_SPEC_UINT(spec)->maximum);
    else if (G_IS_PARAM_SPEC_INT(spec))
      g_value_set_int(&value, 7);
    else if (G_IS_PARAM_SPEC_DOUBLE(spec))
      g_value_set_double(&value, G_PARAM_SPEC_DOUBLE(spec)->maximum);
    else if (G_IS_PARAM_SPEC_BOOLEAN(spec))
      g_value_set_boolean(&value, !G_PARAM_SPEC_BOOLEAN(spec)->default_value);
    else if (G_IS_PARAM_SPEC_ENUM(spec))
      g_value_set_enum(&value, G_PARAM_SPEC_ENUM(spec)->enum_class->maximum);
    else if (G_IS_PARAM_SPEC_FLAGS(spec))
      g_value_set_flags(&value, G_PARAM_SPEC_FLAGS(spec)->flags_class->mask);
    else
      g_value_set_static_string(&value, "64x64");
    g_object_set_property(G_OBJECT(element), spec->name, &value);
    g_object_get_property(G_OBJECT(element), spec->name, &back);
    g_assert_cmpint(g_param_values_cmp(spec, &value, &back), ==, 0);
    g_value_unset(&value);
    g_value_unset(&back);
  }
  g_free(specs);
  gst_object_unref(element);
}

static void test_stats(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_encoder("backend=cpu", &source);
  gsize bytes = 0;
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    bytes += gst_buffer_get_size(coded);
    gst_buffer_unref(coded);
  }
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  GstStructure *stats;
  guint64 frames = 0, counted = 0;
  gint active;
  g_object_get(element, "stats", &stats, "active-backend", &active, NULL);
  g_assert_true(gst_structure_get(stats, "frames", G_TYPE_UINT64, &frames, "bytes", G_TYPE_UINT64,
                                  &counted, NULL));
  g_assert_cmpuint(frames, ==, 3);
  g_assert_cmpuint(counted, ==, bytes);
  g_assert_cmpint(active, ==, CJ2K_BACKEND_CPU);
  gst_structure_free(stats);
  gst_object_unref(element);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* ---------------------------------------------------------------------------------- main --- */

static void add_formats(void)
{
  guint count;
  const GstCudaJ2kFormat *formats = gst_cuda_j2k_formats(&count);
  for (guint i = 0; i < count; i++) {
    gchar *path = g_strdup_printf("/encoder/format/%s", formats[i].name);
    g_test_add_data_func(path, &formats[i], test_format);
    g_free(path);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  add_formats();
  g_test_add_func("/encoder/caps", test_caps);
  g_test_add_func("/encoder/media-types", test_media_types);
  g_test_add_func("/encoder/interlaced-warning", test_interlaced_warning);
  g_test_add_func("/encoder/refused-changes", test_refused_changes);
  g_test_add_func("/encoder/eos", test_eos);
  g_test_add_func("/encoder/same-bytes", test_same_bytes);
  g_test_add_func("/encoder/flush", test_flush);
  g_test_add_func("/encoder/caps-change", test_caps_change);
  for (guint i = 0; i < G_N_ELEMENTS(refusals); i++) {
    gchar *path = g_strdup_printf("/encoder/refused-caps/%s", refusals[i].name);
    g_test_add_data_func(path, &refusals[i], test_refused_caps);
    g_free(path);
  }
  g_test_add_func("/encoder/latency", test_latency);
  g_test_add_data_func("/encoder/qos/on", GINT_TO_POINTER(TRUE), test_qos);
  g_test_add_data_func("/encoder/qos/off", GINT_TO_POINTER(FALSE), test_qos);
  g_test_add_func("/encoder/properties", test_properties);
  g_test_add_func("/encoder/stats", test_stats);
  int result = g_test_run();
  gst_deinit();
  return result;
}
