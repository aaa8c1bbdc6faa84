/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whole pipelines in which downstream refuses buffers for a while: pads that are unlinked and
 * linked again, an input-selector behind two decoders, and loops over a segment. Every picture that
 * arrives is compared.
 */
#include "harness.h"

#include <string.h>
#include <unistd.h>

#define WIDTH    64
#define HEIGHT   48
#define PICTURES 8  /* number of different pictures of a source */
#define LIMIT_S  60 /* seconds for one test */
#define LOSSLESS "cudaj2kenc rate-control=lossless num-resolutions=3 "

/* ------------------------------------------------------------------------------- sources --- */

/* An endless series of pictures for an appsrc. The pictures of two sources differ. */
typedef struct {
  GstVideoInfo info;
  GstBuffer *pictures[PICTURES];
  guint pushed; /* used by the appsrc's thread */
} Source;

static void source_init(Source *source, guint number)
{
  *source = (Source){.info = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT)};
  for (guint i = 0; i < PICTURES; i++)
    source->pictures[i] = pixels_buffer(&source->info, number * PICTURES + i);
}

static void source_clear(Source *source)
{
  for (guint i = 0; i < PICTURES; i++)
    gst_buffer_unref(source->pictures[i]);
}

static void on_need_data(GstElement *src, guint length, gpointer data)
{
  Source *source = data;
  GstBuffer *buffer = gst_buffer_copy(source->pictures[source->pushed % PICTURES]);
  GstFlowReturn flow;
  (void)length;
  GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(source->pushed++, GST_SECOND, FPS);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / FPS;
  g_signal_emit_by_name(src, "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
}

/* Connects the source to the appsrc of this name, by properties and signals, without linking its
 * library. */
static void source_feed(Source *source, GstElement *pipeline, const gchar *name)
{
  GstElement *src = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstCaps *caps = gst_video_info_to_caps(&source->info);
  g_object_set(src, "caps", caps, "format", GST_FORMAT_TIME, NULL);
  g_signal_connect(src, "need-data", G_CALLBACK(on_need_data), source);
  gst_caps_unref(caps);
  gst_object_unref(src);
}

/* --------------------------------------------------------------------------------- sinks --- */

/* Counts the pictures that arrive at a fakesink, by source. */
typedef struct {
  const Source *sources[2];
  gint arrived[2], wrong; /* atomic */
} Sink;

static void on_picture(GstElement *element, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  Sink *sink = data;
  GstCaps *caps = gst_pad_get_current_caps(pad);
  GstVideoInfo info = video_of_caps(caps);
  guint64 number = gst_util_uint64_scale_round(GST_BUFFER_PTS(buffer), FPS, GST_SECOND);
  gboolean known = FALSE;
  (void)element;
  for (guint i = 0; i < 2 && !known && sink->sources[i]; i++) {
    GstBuffer *picture = sink->sources[i]->pictures[number % PICTURES];
    known = pixels_difference(&sink->sources[i]->info, picture, &info, buffer) == 0;
    if (known)
      g_atomic_int_inc(&sink->arrived[i]);
  }
  if (!known)
    g_atomic_int_inc(&sink->wrong);
  gst_caps_unref(caps);
}

static void sink_watch(Sink *sink, GstElement *pipeline)
{
  GstElement *element = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  g_object_set(element, "signal-handoffs", TRUE, NULL);
  g_signal_connect(element, "handoff", G_CALLBACK(on_picture), sink);
  gst_object_unref(element);
}

/* Waits until `more` further pictures of a source have arrived. The alarm ends the program if they
 * never do. */
static void sink_wait(Sink *sink, guint number, gint more)
{
  gint until = g_atomic_int_get(&sink->arrived[number]) + more;
  while (g_atomic_int_get(&sink->arrived[number]) < until)
    g_usleep(1000);
}

/* ----------------------------------------------------------------------------- pipelines --- */

/* Stops the pipeline; an error that it posted fails the test. */
static void finish(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  if (message) {
    GError *error;
    gst_message_parse_error(message, &error, NULL);
    g_error("%s", error->message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
}

/* -------------------------------------------------------------------------------- relink --- */

/* The element `it` is unlinked from `next` and linked again while playing. Another branch of the
 * tee continues meanwhile. */
static void test_relink(gconstpointer data)
{
  const gchar *description = data;
  Source source;
  Sink sink = {.sources = {&source}};
  if (skip_without("appsrc"))
    return;
  alarm(LIMIT_S);
  source_init(&source, 0);
  GstElement *pipeline = launch_pipeline(description);
  source_feed(&source, pipeline, "src");
  sink_watch(&sink, pipeline);
  GstElement *it = gst_bin_get_by_name(GST_BIN(pipeline), "it");
  GstElement *next = gst_bin_get_by_name(GST_BIN(pipeline), "next");
  GstElement *other = gst_bin_get_by_name(GST_BIN(pipeline), "other");
  Sink rest = {.sources = {&source}};
  g_object_set(other, "signal-handoffs", TRUE, NULL);
  g_signal_connect(other, "handoff", G_CALLBACK(on_picture), &rest);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  sink_wait(&sink, 0, 5);
  for (guint i = 0; i < 4; i++) {
    gst_element_unlink(it, next);
    sink_wait(&rest, 0, 20);
    g_assert_true(gst_element_link(it, next));
    sink_wait(&sink, 0, 10);
  }
  g_assert_cmpint(g_atomic_int_get(&sink.wrong) + g_atomic_int_get(&rest.wrong), ==, 0);
  gst_object_unref(other);
  gst_object_unref(next);
  gst_object_unref(it);
  finish(pipeline);
  source_clear(&source);
  alarm(0);
}

#define OTHER "t. ! fakesink name=other async=false "
#define SINK  "fakesink name=sink async=false "

/* ------------------------------------------------------------------------------ selector --- */

static void select_pad(GstElement *selector, guint number)
{
  gchar *name = g_strdup_printf("sink_%u", number);
  GstPad *pad = gst_element_get_static_pad(selector, name);
  g_object_set(selector, "active-pad", pad, NULL);
  gst_object_unref(pad);
  g_free(name);
}

/* An input-selector that refuses the buffers of the inactive pad. */
static void test_selector(void)
{
  Source sources[2];
  Sink sink = {.sources = {&sources[0], &sources[1]}};
  if (skip_without("appsrc") || skip_without("input-selector"))
    return;
  alarm(LIMIT_S);
  GstElement *pipeline =
      launch_pipeline("input-selector name=selector sync-streams=false ! " SINK
                      "appsrc name=src0 ! " LOSSLESS "! tee name=t0 ! fakesink async=false "
                      "t0. ! cudaj2kdec frames-in-flight=3 ! selector.sink_0 "
                      "appsrc name=src1 ! " LOSSLESS "! tee name=t1 ! fakesink async=false "
                      "t1. ! cudaj2kdec frames-in-flight=1 ! selector.sink_1");
  GstElement *selector = gst_bin_get_by_name(GST_BIN(pipeline), "selector");
  for (guint i = 0; i < 2; i++) {
    gchar *src = g_strdup_printf("src%u", i), *name = g_strdup_printf("sink_%u", i);
    GstPad *pad = gst_element_get_static_pad(selector, name);
    g_object_set(pad, "always-ok", FALSE, NULL);
    source_init(&sources[i], i);
    source_feed(&sources[i], pipeline, src);
    gst_object_unref(pad);
    g_free(name);
    g_free(src);
  }
  sink_watch(&sink, pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 8; i++) {
    select_pad(selector, i % 2);
    sink_wait(&sink, i % 2, 10);
  }
  g_assert_cmpint(g_atomic_int_get(&sink.wrong), ==, 0);
  gst_object_unref(selector);
  finish(pipeline);
  source_clear(&sources[0]);
  source_clear(&sources[1]);
  alarm(0);
}

/* ----------------------------------------------------------------------------- segments --- */

#define LOOPS 5

typedef struct {
  GPtrArray *expected; /* the source's pictures (GstBuffer) in order */
  guint accepted;      /* number of pictures in a segment before downstream returns EOS */
  guint arrived;       /* in this segment; used by the sink's streaming thread */
  gint segments;       /* atomic: number of segments that ended at the sink */
  gint wrong;          /* atomic: number of wrong pictures and of segments of a wrong length */
} Loop;

static void collect(GstElement *element, GstBuffer *buffer, GstPad *pad, gpointer pictures)
{
  (void)element, (void)pad;
  g_ptr_array_add(pictures, gst_buffer_copy_deep(buffer));
}

#define TEST_SOURCE                                                                                \
  "videotestsrc pattern=ball name=src ! video/x-raw,format=I420,width=64,height=48,framerate=25/1 "

/* The first pictures of videotestsrc. */
static GPtrArray *collect_pictures(guint count)
{
  GPtrArray *pictures = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref);
  GstElement *pipeline = launch_pipeline(TEST_SOURCE "! fakesink name=sink signal-handoffs=true");
  GstElement *src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstBus *bus = gst_element_get_bus(pipeline);
  g_object_set(src, "num-buffers", (gint)count, NULL);
  g_signal_connect(sink, "handoff", G_CALLBACK(collect), pictures);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  gst_message_unref(gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS));
  gst_object_unref(bus);
  gst_object_unref(sink);
  gst_object_unref(src);
  finish(pipeline);
  g_assert_cmpuint(pictures->len, ==, count);
  return pictures;
}

static void end_segment(Loop *loop)
{
  if (loop->arrived != MIN(loop->expected->len, loop->accepted))
    g_atomic_int_inc(&loop->wrong);
  loop->arrived = 0;
  g_atomic_int_inc(&loop->segments);
}

/* Compares a picture with the one of its time, and returns EOS after the accepted ones. */
static GstPadProbeReturn check_in_loop(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Loop *loop = data;
  (void)pad;
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info));
    if (type == GST_EVENT_SEGMENT_DONE || type == GST_EVENT_EOS)
      end_segment(loop);
    return GST_PAD_PROBE_OK;
  }
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  GstVideoInfo format = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  guint64 number = gst_util_uint64_scale_round(GST_BUFFER_PTS(buffer), FPS, GST_SECOND);
  if (number >= loop->accepted) {
    gst_buffer_unref(buffer);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
    return GST_PAD_PROBE_HANDLED;
  }
  if (number != loop->arrived ||
      pixels_difference(&format, g_ptr_array_index(loop->expected, number), &format, buffer) != 0)
    g_atomic_int_inc(&loop->wrong);
  loop->arrived++;
  return GST_PAD_PROBE_OK;
}

static void seek(GstElement *pipeline, GstSeekFlags flags, guint pictures)
{
  g_assert_true(gst_element_seek(pipeline, 1, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET, 0,
                                 GST_SEEK_TYPE_SET, (gint64)(pictures * GST_SECOND / FPS)));
}

static void wait_for(GstElement *pipeline, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, type | GST_MESSAGE_ERROR);
  g_assert_cmpint(GST_MESSAGE_TYPE(message), ==, type);
  gst_message_unref(message);
  gst_object_unref(bus);
}

/* Plays a segment of `pictures` pictures several times with segment seeks, then once more to its
 * end. Downstream accepts `accepted` pictures of each segment. */
static void run_loops(const gchar *codec, guint pictures, guint accepted)
{
  Loop loop = {.expected = collect_pictures(pictures), .accepted = accepted};
  gchar *description = g_strdup_printf(TEST_SOURCE "! %s ! fakesink name=sink", codec);
  GstElement *pipeline = launch_pipeline(description);
  GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  gst_element_get_state(pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
                    check_in_loop, &loop, NULL);
  seek(pipeline, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT, pictures);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < LOOPS; i++) {
    wait_for(pipeline, GST_MESSAGE_SEGMENT_DONE);
    seek(pipeline, i + 1 < LOOPS ? GST_SEEK_FLAG_SEGMENT : GST_SEEK_FLAG_NONE, pictures);
  }
  wait_for(pipeline, GST_MESSAGE_EOS);
  g_assert_cmpint(g_atomic_int_get(&loop.segments), ==, LOOPS + 1);
  g_assert_cmpint(g_atomic_int_get(&loop.wrong), ==, 0);
  gst_object_unref(pad);
  gst_object_unref(sink);
  finish(pipeline);
  g_ptr_array_unref(loop.expected);
  g_free(description);
}

static void test_loops(gconstpointer codec)
{
  static const guint accepted[] = {G_MAXUINT, 6, 1};
  /* After EOS a queue drops all events before the next segment, including SEGMENT_DONE. */
  gboolean queued = strstr(codec, "queue") != NULL;
  if (skip_without("videotestsrc"))
    return;
  for (guint i = 0; i < (queued ? 1 : G_N_ELEMENTS(accepted)); i++) {
    alarm(LIMIT_S);
    run_loops(codec, 20, accepted[i]);
  }
  alarm(0);
}

/* ---------------------------------------------------------------------------------- main --- */

int main(int argc, char **argv)
{
  static const struct {
    const gchar *name, *description;
  } relinks[] = {
      {"decoder", "appsrc name=src ! tee name=t " OTHER "t. ! " LOSSLESS
                  "! tee name=coded ! fakesink async=false "
                  "coded. ! cudaj2kdec name=it ! identity name=next ! " SINK},
      {"decoder-queue", "appsrc name=src ! tee name=t " OTHER "t. ! " LOSSLESS
                        "! tee name=coded ! fakesink async=false coded. ! queue ! "
                        "cudaj2kdec name=it frames-in-flight=4 ! identity name=next ! " SINK},
      {"encoder", "appsrc name=src ! tee name=t " OTHER "t. ! " LOSSLESS
                  "name=it ! identity name=next ! cudaj2kdec ! " SINK},
      {"encoder-queue", "appsrc name=src ! tee name=t " OTHER "t. ! queue ! " LOSSLESS
                        "name=it frames-in-flight=4 ! identity name=next ! cudaj2kdec ! " SINK},
  };
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(relinks); i++) {
    gchar *path = g_strdup_printf("/relink/%s", relinks[i].name);
    g_test_add_data_func(path, relinks[i].description, test_relink);
    g_free(path);
  }
  g_test_add_func("/relink/input-selector", test_selector);
  g_test_add_data_func("/relink/segment-loop/one-in-flight",
                       LOSSLESS "frames-in-flight=1 ! cudaj2kdec frames-in-flight=1", test_loops);
  g_test_add_data_func("/relink/segment-loop/several-in-flight",
                       LOSSLESS "frames-in-flight=4 ! cudaj2kdec frames-in-flight=4", test_loops);
  g_test_add_data_func("/relink/segment-loop/queue",
                       LOSSLESS "frames-in-flight=4 ! queue ! cudaj2kdec frames-in-flight=4",
                       test_loops);
  int result = g_test_run();
  gst_deinit();
  return result;
}
