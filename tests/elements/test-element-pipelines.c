/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Complete pipelines in which every picture is compared: RTP, MPEG-TS, MXF, MJ2, AVI and the
 * parser, with this encoder and with openjpegenc; seeking; the choice of a decoder by playbin.
 */
#include "harness.h"

#include <glib/gstdio.h>
#include <string.h>

#define FRAMES 6
#define WIDTH  160
#define HEIGHT 96

static gchar *folder; /* temporary, for the files written here */

/* ------------------------------------------------------------------------------ pictures --- */

/* The expected output: the frames of pixels_buffer() in order. */
typedef struct {
  GstVideoInfo source;
  guint received, wrong;
} Expected;

static void on_picture(GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  Expected *expected = data;
  GstCaps *caps = gst_pad_get_current_caps(pad);
  GstVideoInfo info = video_of_caps(caps);
  GstBuffer *wanted = pixels_buffer(&expected->source, expected->received++);
  (void)sink;
  if (pixels_difference(&expected->source, wanted, &info, buffer) != 0)
    expected->wrong++;
  gst_buffer_unref(wanted);
  gst_caps_unref(caps);
}

/* Runs the pipeline to EOS; an error fails the test. */
static void run_to_end(GstElement *pipeline, const gchar *description)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage *message =
      gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (!message)
    g_error("no EOS within a minute: %s", description);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError *error;
    gchar *debug;
    gst_message_parse_error(message, &error, &debug);
    g_error("%s: %s\n%s", description, error->message, debug);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
}

static void run(GstElement *pipeline, const gchar *description)
{
  run_to_end(pipeline, description);
  gst_element_set_state(pipeline, GST_STATE_NULL);
}

/* Feeds the pattern into an appsrc by properties and action signals, without linking its library.
 */
static void feed(GstElement *pipeline, const GstVideoInfo *source)
{
  GstElement *src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
  GstCaps *caps = gst_video_info_to_caps(source);
  GstFlowReturn flow;
  g_object_set(src, "caps", caps, "format", GST_FORMAT_TIME, "max-bytes", (guint64)0, NULL);
  gst_caps_unref(caps);
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *buffer = pixels_buffer(source, i);
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(i, GST_SECOND, FPS);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / FPS;
    g_signal_emit_by_name(src, "push-buffer", buffer, &flow);
    gst_buffer_unref(buffer);
  }
  g_signal_emit_by_name(src, "end-of-stream", &flow);
  gst_object_unref(src);
}

static void compare_output(GstElement *pipeline, Expected *expected)
{
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  g_object_set(sink, "signal-handoffs", TRUE, "sync", FALSE, NULL);
  g_signal_connect(sink, "handoff", G_CALLBACK(on_picture), expected);
  gst_object_unref(sink);
}

static void run_and_compare(const gchar *description, const GstVideoInfo *source,
                            gboolean with_source)
{
  Expected expected = {.source = *source};
  GstElement *pipeline = launch_pipeline(description);
  if (with_source)
    feed(pipeline, source);
  compare_output(pipeline, &expected);
  run(pipeline, description);
  gst_object_unref(pipeline);
  g_assert_cmpuint(expected.received, ==, FRAMES);
  g_assert_cmpuint(expected.wrong, ==, 0);
}

/* ---------------------------------------------------------------------------------- chains --- */

typedef struct {
  const gchar *name;
  const gchar *needs[2];
  const gchar *to;          /* elements between encoder and decoder, or to a file */
  const gchar *from;        /* elements from the file to the decoder; NULL: no file */
  const gchar *openjpegenc; /* elements needed behind openjpegenc; NULL: it cannot be used */
} Way;

static const Way ways[] = {
    {"direct", {NULL}, "identity", NULL, "identity"},
    {"parse", {"jpeg2000parse"}, "jpeg2000parse", NULL, "identity"},
    {"rtp", {"rtpj2kpay"}, "rtpj2kpay ! rtpj2kdepay", NULL, "identity"},
    {"ts",
     {"mpegtsmux", "tsdemux"},
     "mpegtsmux",
     "tsdemux",
     "capsfilter caps=image/x-jpc,alignment=frame"},
    {"mxf", {"mxfmux", "mxfdemux"}, "mxfmux", "mxfdemux", "identity"},
    {"mj2", {"mj2mux", "qtdemux"}, "mj2mux", "qtdemux", "identity"},
};

typedef struct {
  const Way *way;
  GstVideoFormat format;
  const gchar *needs; /* the encoder's element; NULL: ours */
  const gchar *encoder;
} Case;

static gboolean lacks_element(const Way *way)
{
  for (guint i = 0; i < 2; i++)
    if (way->needs[i] && skip_without(way->needs[i]))
      return TRUE;
  return FALSE;
}

static void test_way(gconstpointer data)
{
  const Case *c = data;
  GstVideoInfo source = video(c->format, WIDTH, HEIGHT);
  if (lacks_element(c->way) || (c->needs && skip_without(c->needs)))
    return;
  if (!c->way->from) {
    gchar *description = g_strdup_printf(
        "appsrc name=src ! %s ! %s ! cudaj2kdec ! fakesink name=sink", c->encoder, c->way->to);
    run_and_compare(description, &source, TRUE);
    g_free(description);
    return;
  }
  gchar *file = g_build_filename(folder, c->way->name, NULL);
  gchar *description = g_strdup_printf("appsrc name=src ! %s ! %s ! filesink location=%s",
                                       c->encoder, c->way->to, file);
  GstElement *pipeline = launch_pipeline(description);
  feed(pipeline, &source);
  run(pipeline, description);
  gst_object_unref(pipeline);
  g_free(description);
  description = g_strdup_printf("filesrc location=%s ! %s ! cudaj2kdec ! fakesink name=sink", file,
                                c->way->from);
  run_and_compare(description, &source, FALSE);
  g_free(description);
  g_remove(file);
  g_free(file);
}

/* Opens a codestream file and a JPH file as players do. */
static void test_file(gconstpointer data)
{
  const gchar *encoder = data;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  gchar *file = g_build_filename(folder, "still", NULL);
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one(encoder, &source, raw, NULL);
  GstMapInfo map;
  gst_buffer_map(coded, &map, GST_MAP_READ);
  g_assert_true(g_file_set_contents(file, (const gchar *)map.data, (gssize)map.size, NULL));
  gst_buffer_unmap(coded, &map);
  gchar *description =
      g_strdup_printf("filesrc location=%s ! typefind ! cudaj2kdec ! fakesink name=sink", file);
  Expected expected = {.source = source};
  GstElement *pipeline = launch_pipeline(description);
  compare_output(pipeline, &expected);
  run(pipeline, description);
  g_assert_cmpuint(expected.received, ==, 1);
  g_assert_cmpuint(expected.wrong, ==, 0);
  gst_object_unref(pipeline);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  g_remove(file);
  g_free(description);
  g_free(file);
}

/* The name of the JPEG 2000 decoder that a bin has chosen (transfer full); NULL: none. */
static gchar *chosen_decoder(GstElement *bin)
{
  GstIterator *elements = gst_bin_iterate_recurse(GST_BIN(bin));
  GValue item = G_VALUE_INIT;
  gchar *name = NULL;
  while (!name && gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    GstElementFactory *factory = gst_element_get_factory(g_value_get_object(&item));
    const gchar *klass =
        factory ? gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS) : NULL;
    if (klass && g_str_has_prefix(klass, "Codec/Decoder"))
      name = g_strdup(GST_OBJECT_NAME(factory));
    g_value_reset(&item);
  }
  gst_iterator_free(elements);
  return name;
}

/* A sequence of codestreams with only the media type in the caps: decodebin chooses cudaj2kdec,
 * even if openjpegdec is installed and there is no GPU. */
static void test_decodebin(gconstpointer encoder)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  gchar *files[FRAMES];
  if (skip_without("decodebin") || skip_without("multifilesrc"))
    return;
  for (guint i = 0; i < FRAMES; i++) {
    GstMapInfo map;
    GstBuffer *raw = pixels_buffer(&source, i), *coded = encode_one(encoder, &source, raw, NULL);
    files[i] = g_strdup_printf("%s/f-%05u.j2c", folder, i);
    gst_buffer_map(coded, &map, GST_MAP_READ);
    g_assert_true(g_file_set_contents(files[i], (const gchar *)map.data, (gssize)map.size, NULL));
    gst_buffer_unmap(coded, &map);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
  }
  gchar *description = g_strdup_printf("multifilesrc location=%s/f-%%05d.j2c "
                                       "caps=image/x-jpc,framerate=25/1 ! decodebin ! "
                                       "fakesink name=sink",
                                       folder);
  Expected expected = {.source = source};
  GstElement *pipeline = launch_pipeline(description);
  compare_output(pipeline, &expected);
  run_to_end(pipeline, description);
  gchar *chosen = chosen_decoder(pipeline);
  g_assert_cmpstr(chosen, ==, "cudaj2kdec");
  gst_element_set_state(pipeline, GST_STATE_NULL);
  g_assert_cmpuint(expected.received, ==, FRAMES);
  g_assert_cmpuint(expected.wrong, ==, 0);
  gst_object_unref(pipeline);
  for (guint i = 0; i < FRAMES; i++) {
    g_remove(files[i]);
    g_free(files[i]);
  }
  g_free(chosen);
  g_free(description);
}

/* Both elements rank above those of the openjpeg plugin. */
static void test_rank(void)
{
  static const gchar *const names[][2] = {{"cudaj2kdec", "openjpegdec"},
                                          {"cudaj2kenc", "openjpegenc"}};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    GstElementFactory *ours = gst_element_factory_find(names[i][0]);
    GstElementFactory *theirs = gst_element_factory_find(names[i][1]);
    guint rank = gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(ours));
    g_assert_cmpuint(rank, >, GST_RANK_PRIMARY);
    if (theirs)
      g_assert_cmpuint(rank, >, gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(theirs)));
    g_clear_object(&theirs);
    gst_object_unref(ours);
  }
}

/* Many flushing seeks while frames are in flight, then the whole stream. */
static void test_seek(void)
{
  static const Way *way = &ways[5];
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  if (lacks_element(way))
    return;
  gchar *file = g_build_filename(folder, "seek", NULL);
  gchar *description = g_strdup_printf("appsrc name=src ! cudaj2kenc rate-control=lossless ! %s ! "
                                       "filesink location=%s",
                                       way->to, file);
  GstElement *pipeline = launch_pipeline(description);
  feed(pipeline, &source);
  run(pipeline, description);
  gst_object_unref(pipeline);
  g_free(description);

  description = g_strdup_printf("filesrc location=%s ! %s ! cudaj2kdec frames-in-flight=4 ! "
                                "fakesink name=sink",
                                file, way->from);
  Expected expected = {.source = source};
  pipeline = launch_pipeline(description);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  g_assert_cmpint(gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND), ==,
                  GST_STATE_CHANGE_SUCCESS);
  for (guint i = 0; i < 20; i++) {
    gint64 to = (gint64)(i % FRAMES) * GST_SECOND / FPS;
    g_assert_true(gst_element_seek_simple(pipeline, GST_FORMAT_TIME,
                                          GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, to));
    if (i % 3 == 0)
      gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
  }
  gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
  g_assert_true(gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
  gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
  compare_output(pipeline, &expected);
  run(pipeline, description);
  /* The first frame was prerolled before the probe was added, or arrives now. */
  g_assert_cmpuint(expected.received, >=, FRAMES - 1);
  gst_object_unref(pipeline);
  g_remove(file);
  g_free(description);
  g_free(file);
}

/* Stops repeatedly with frames in flight: nothing hangs and nothing leaks. */
static void test_stop(void)
{
  if (skip_without("videotestsrc"))
    return;
  for (guint i = 0; i < 10; i++) {
    GstElement *pipeline = launch_pipeline(
        "videotestsrc ! video/x-raw,format=I422_10LE,width=320,height=240 ! cudaj2kenc "
        "frames-in-flight=4 ! cudaj2kdec frames-in-flight=4 ! fakesink");
    gst_element_set_state(pipeline, i % 2 ? GST_STATE_PLAYING : GST_STATE_PAUSED);
    g_usleep(i * 15000);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
}

static void on_any(GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer count)
{
  (void)sink, (void)buffer, (void)pad;
  ++*(guint *)count;
}

/* A live source at its frame rate through encoder and decoder. */
static void test_live(void)
{
  if (skip_without("videotestsrc") || skip_without("rtpj2kpay"))
    return;
  GstElement *pipeline = launch_pipeline(
      "videotestsrc is-live=true num-buffers=25 ! "
      "video/x-raw,format=I422_10LE,width=160,height=96,framerate=25/1 ! "
      "cudaj2kenc quality=60 ! rtpj2kpay ! rtpj2kdepay ! cudaj2kdec ! fakesink name=sink "
      "sync=true qos=false max-lateness=-1 signal-handoffs=true");
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  guint rendered = 0;
  g_signal_connect(sink, "handoff", G_CALLBACK(on_any), &rendered);
  run(pipeline, "live");
  g_assert_cmpuint(rendered, ==, 25);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
}

/* ---------------------------------------------------------------------------------- main --- */

static void free_case(gpointer data)
{
  g_free((gchar *)((Case *)data)->encoder);
  g_free(data);
}

static void add_case(const Way *way, const gchar *prefix, GstVideoFormat format, const gchar *needs,
                     const gchar *encoder)
{
  Case *c = g_new(Case, 1);
  *c = (Case){.way = way, .format = format, .needs = needs, .encoder = g_strdup(encoder)};
  gchar *path =
      g_strdup_printf("/pipelines/%s/%s/%s", way->name, prefix, gst_video_format_to_string(format));
  g_test_add_data_func_full(path, c, test_way, free_case);
  g_free(path);
}

static void add_ways(void)
{
  static const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_v210,
                                           GST_VIDEO_FORMAT_GBR_12LE};
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
      add_case(&ways[i], "mq", formats[f], NULL, "cudaj2kenc rate-control=lossless");
      add_case(&ways[i], "ht", formats[f], NULL, "cudaj2kenc rate-control=lossless block-coder=ht");
    }
    if (ways[i].openjpegenc) {
      gchar *encoder = g_strdup_printf("openjpegenc num-resolutions=4 ! %s", ways[i].openjpegenc);
      add_case(&ways[i], "openjpegenc", GST_VIDEO_FORMAT_I422_10LE, "openjpegenc", encoder);
      g_free(encoder);
    }
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("cudaj2k-XXXXXX", NULL);
  add_ways();
  g_test_add_data_func("/pipelines/file/codestream", "cudaj2kenc rate-control=lossless", test_file);
  g_test_add_data_func("/pipelines/file/ht", "cudaj2kenc rate-control=lossless block-coder=ht",
                       test_file);
  g_test_add_data_func("/pipelines/file/jp2",
                       "cudaj2kenc rate-control=lossless ! capsfilter caps=image/jp2", test_file);
  g_test_add_data_func(
      "/pipelines/file/jph",
      "cudaj2kenc rate-control=lossless block-coder=ht ! capsfilter caps=image/jp2", test_file);
  g_test_add_data_func("/pipelines/decodebin/mq", "cudaj2kenc rate-control=lossless",
                       test_decodebin);
  g_test_add_data_func("/pipelines/decodebin/ht", "cudaj2kenc rate-control=lossless block-coder=ht",
                       test_decodebin);
  g_test_add_func("/pipelines/rank", test_rank);
  g_test_add_func("/pipelines/seek", test_seek);
  g_test_add_func("/pipelines/stop", test_stop);
  g_test_add_func("/pipelines/live", test_live);
  int result = g_test_run();
  g_rmdir(folder);
  g_free(folder);
  gst_deinit();
  return result;
}
