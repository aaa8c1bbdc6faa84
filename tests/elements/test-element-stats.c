/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The statistics of both elements: the property stats, messages with its structure, and the latency
 * of streams without a frame rate. */
#include "harness.h"

#include <string.h>
#include <unistd.h>

#define WIDTH   320
#define HEIGHT  240
#define FRAMES  20
#define LIMIT_S 60 /* seconds for one test */

typedef struct {
  const gchar *factory, *properties;
} Kind;

static const Kind encoder = {"cudaj2kenc", "rate-control=lossless qos=true"};
static const Kind decoder = {"cudaj2kdec", ""};

/* The input of an element of this kind, with or without a frame rate in the caps. */
static GstBuffer *input_for(const Kind *kind, gboolean with_rate, GstCaps **caps)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  if (kind == &decoder) {
    GstBuffer *coded = encode_pattern(&source, 0, caps);
    *caps = gst_caps_make_writable(*caps);
    if (!with_rate)
      gst_structure_remove_field(gst_caps_get_structure(*caps, 0), "framerate");
    return coded;
  }
  *caps = gst_video_info_to_caps(&source);
  if (!with_rate)
    gst_caps_set_simple(*caps, "framerate", GST_TYPE_FRACTION, 0, 1, NULL);
  return pixels_buffer(&source, 0);
}

static Rig rig_of(const Kind *kind, const gchar *more, GstCaps *caps)
{
  gchar *description = g_strdup_printf("%s %s %s", kind->factory, kind->properties, more);
  Rig rig = rig_new(description);
  g_free(description);
  gst_harness_set_src_caps(rig.h, caps);
  return rig;
}

static void push_frames(Rig *rig, GstBuffer *input, guint first, guint count)
{
  for (guint i = first; i < first + count; i++)
    g_assert_cmpint(push_frame(rig->h, input, i), ==, GST_FLOW_OK);
}

static void check_times(GstStructure *stats)
{
  gdouble p50 = 0, p99 = 0;
  g_assert_true(gst_structure_get_double(stats, "latency-p50-ms", &p50));
  g_assert_true(gst_structure_get_double(stats, "latency-p99-ms", &p99));
  g_assert_cmpfloat(p50, >, 0);
  g_assert_cmpfloat(p99, >=, p50);
}

/* After EOS nothing waits, and the latencies are those of the frames. */
static void test_fields(gconstpointer data)
{
  static const gchar *fields[] = {"frames-in-flight", "waiting-input", "waiting-output"};
  const Kind *kind = data;
  GstCaps *caps;
  GstBuffer *input = input_for(kind, TRUE, &caps);
  Rig rig = rig_of(kind, "frames-in-flight=3", caps);
  push_frames(&rig, input, 0, FRAMES);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  GstStructure *stats = rig_stats(&rig, kind->factory);
  for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
    guint value = G_MAXUINT;
    g_assert_true(gst_structure_get_uint(stats, fields[i], &value));
    g_assert_cmpuint(value, ==, 0);
  }
  check_times(stats);
  gst_structure_free(stats);
  g_assert_cmpuint(rig_count(&rig, kind->factory, "frames"), ==, FRAMES);
  g_assert_cmpuint(rig_count(&rig, kind->factory, "dropped-qos"), ==, 0);
  g_assert_cmpuint(rig_count(&rig, kind->factory, "dropped-errors"), ==, 0);
  gst_buffer_unref(input);
  rig_free(&rig);
}

typedef struct {
  GMutex lock;
  GCond changed;
  gboolean open;
} Gate;

static GstPadProbeReturn wait_for_gate(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Gate *gate = data;
  (void)pad, (void)info;
  g_mutex_lock(&gate->lock);
  while (!gate->open)
    g_cond_wait(&gate->changed, &gate->lock);
  g_mutex_unlock(&gate->lock);
  return GST_PAD_PROBE_OK;
}

typedef struct {
  Rig *rig;
  GstBuffer *input;
} Pusher;

static gpointer push_three(gpointer data)
{
  Pusher *pusher = data;
  push_frames(pusher->rig, pusher->input, 0, 3);
  return NULL;
}

/* While downstream blocks, one frame waits for it. Frames are pushed by another thread: downstream
 * may block before the last one has been taken, and then blocks upstream as well. */
static void test_waiting(gconstpointer data)
{
  const Kind *kind = data;
  GstCaps *caps;
  GstBuffer *input = input_for(kind, TRUE, &caps);
  Rig rig = rig_of(kind, "frames-in-flight=3", caps);
  Gate gate = {.open = FALSE};
  Pusher pusher = {&rig, input};
  guint waiting = 0, in_flight = 0;
  alarm(LIMIT_S);
  gst_pad_add_probe(rig.h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, wait_for_gate, &gate, NULL);
  GThread *thread = g_thread_new("push", push_three, &pusher);
  while (!waiting) {
    GstStructure *stats = rig_stats(&rig, kind->factory);
    g_assert_true(gst_structure_get_uint(stats, "waiting-output", &waiting));
    g_assert_true(gst_structure_get_uint(stats, "frames-in-flight", &in_flight));
    gst_structure_free(stats);
    g_usleep(1000);
  }
  g_assert_cmpuint(in_flight, >=, 1);
  g_assert_cmpuint(in_flight, <=, 3);
  g_mutex_lock(&gate.lock);
  gate.open = TRUE;
  g_cond_broadcast(&gate.changed);
  g_mutex_unlock(&gate.lock);
  g_thread_join(thread);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(rig_count(&rig, kind->factory, "frames"), ==, 3);
  gst_buffer_unref(input);
  rig_free(&rig);
  alarm(0);
}

static void test_dropped_for_qos(gconstpointer data)
{
  const Kind *kind = data;
  GstCaps *caps;
  GstBuffer *input = input_for(kind, TRUE, &caps);
  Rig rig = rig_of(kind, "frames-in-flight=1", caps);
  push_frames(&rig, input, 0, 1);
  gst_buffer_unref(gst_harness_pull(rig.h));
  g_assert_true(gst_harness_push_upstream_event(
      rig.h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0)));
  push_frames(&rig, input, 1, 4);
  g_assert_cmpuint(rig_count(&rig, kind->factory, "dropped-qos"), ==, 4);
  gst_buffer_unref(input);
  rig_free(&rig);
}

static void test_dropped_for_errors(void)
{
  GstCaps *caps;
  GstBuffer *input = input_for(&decoder, TRUE, &caps);
  GstBuffer *damaged = gst_buffer_copy_deep(input);
  gst_buffer_memset(damaged, 2, 0, 60);
  Rig rig = rig_of(&decoder, "", caps);
  push_frames(&rig, input, 0, 2);
  push_frames(&rig, damaged, 2, 3);
  push_frames(&rig, input, 5, 1);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(rig_count(&rig, decoder.factory, "dropped-errors"), ==, 3);
  gst_buffer_unref(damaged);
  gst_buffer_unref(input);
  rig_free(&rig);
}

/* Messages are posted only on request; each has the whole structure. */
static void test_messages(gconstpointer data)
{
  const Kind *kind = data;
  for (guint asked = 0; asked < 2; asked++) {
    GstCaps *caps;
    GstBuffer *input = input_for(kind, TRUE, &caps);
    Rig rig = rig_of(kind, asked ? "stats-interval=1" : "", caps);
    push_frames(&rig, input, 0, FRAMES);
    g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
    GstMessage *message = gst_bus_pop_filtered(rig.bus, GST_MESSAGE_ELEMENT);
    g_assert_cmpint(message != NULL, ==, asked);
    if (message) {
      const GstStructure *s = gst_message_get_structure(message);
      g_assert_true(gst_structure_has_name(s, "application/x-cudaj2k-stats"));
      g_assert_true(gst_structure_has_field(s, "frames"));
      g_assert_true(gst_structure_has_field(s, "latency-p99-ms"));
      gst_message_unref(message);
    }
    gst_buffer_unref(input);
    rig_free(&rig);
  }
}

static guint latency_messages(Rig *rig)
{
  guint count = 0;
  GstMessage *message;
  while ((message = gst_bus_pop_filtered(rig->bus, GST_MESSAGE_LATENCY))) {
    gst_message_unref(message);
    count++;
  }
  return count;
}

/* With a frame rate each further frame in flight adds its duration to the latency. Without one the
 * latency is measured, and then reported to the pipeline. */
static void test_latency(gconstpointer data)
{
  const Kind *kind = data;
  for (guint with_rate = 0; with_rate < 2; with_rate++) {
    GstCaps *caps;
    GstBuffer *input = input_for(kind, (gboolean)with_rate, &caps);
    Rig rig = rig_of(kind, "frames-in-flight=4", caps);
    g_assert_cmpuint(gst_harness_query_latency(rig.h), ==, with_rate ? 3 * GST_SECOND / FPS : 0);
    latency_messages(&rig);
    for (guint i = 0; i < FRAMES; i++) {
      push_frames(&rig, input, i, 1);
      gst_buffer_unref(gst_harness_pull(rig.h));
    }
    GstClockTime latency = gst_harness_query_latency(rig.h);
    guint messages = latency_messages(&rig);
    if (with_rate) {
      g_assert_cmpuint(latency, ==, 3 * GST_SECOND / FPS);
      g_assert_cmpuint(messages, ==, 0);
    } else {
      g_assert_cmpuint(latency, >=, GST_MSECOND);
      g_assert_cmpuint(latency % GST_MSECOND, ==, 0);
      g_assert_cmpuint(messages, >=, 1);
    }
    gst_buffer_unref(input);
    rig_free(&rig);
  }
}

static void add(const gchar *name, GTestDataFunc test)
{
  static const Kind *kinds[] = {&decoder, &encoder};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    gchar *path = g_strdup_printf("/stats/%s/%s", kinds[i]->factory, name);
    g_test_add_data_func(path, kinds[i], test);
    g_free(path);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  add("fields", test_fields);
  add("waiting", test_waiting);
  add("dropped-for-qos", test_dropped_for_qos);
  add("messages", test_messages);
  add("latency", test_latency);
  g_test_add_func("/stats/cudaj2kdec/dropped-for-errors", test_dropped_for_errors);
  int result = g_test_run();
  gst_deinit();
  return result;
}
