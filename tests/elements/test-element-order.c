/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both elements with frames in flight: the order of buffers, events and queries. An alarm ends the
 * program after a deadlock.
 */
#include "stage.h"

#define REST 500 /* the second part of a codestream begins here, behind its main header */

/* -------------------------------------------------------------------------------- events --- */

/* SEGMENT_DONE, as in a loop with non-flushing seeks, is sent without waiting for a next frame. */
static void test_segment_done(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  for (guint loop = 0; loop < 3; loop++) {
    for (guint i = 0; i < 5; i++)
      g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
    g_assert_true(
        gst_harness_push_event(stage.rig.h, gst_event_new_segment_done(GST_FORMAT_TIME, 0)));
    g_assert_cmpuint(stage.arrived, ==, 5 * (loop + 1));
    g_assert_cmpint(stage.events[stage.num_events - 1], ==, GST_EVENT_SEGMENT_DONE);
    stage_push_segment(&stage);
  }
  stage_clear(&stage);
}

/* The number of buffers that arrived before the last event of this type. */
static guint buffers_before(const Stage *stage, GstEventType type)
{
  guint buffers = 0, before = G_MAXUINT;
  for (guint i = 0; i < stage->num_events; i++) {
    buffers += stage->events[i] == GST_EVENT_UNKNOWN;
    if (stage->events[i] == type)
      before = buffers;
  }
  return before;
}

static void push_tag(Stage *stage)
{
  g_assert_true(gst_harness_push_event(
      stage->rig.h, gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "title", NULL))));
}

/* Tags do not hold back the end of a segment, or a gap, behind which there may be no frame. */
static void test_behind_tags(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  for (guint i = 0; i < 5; i++)
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
  push_tag(&stage);
  g_assert_true(
      gst_harness_push_event(stage.rig.h, gst_event_new_gap(GST_SECOND / 5, GST_SECOND / FPS)));
  g_assert_cmpuint(buffers_before(&stage, GST_EVENT_GAP), ==, 5);
  push_tag(&stage);
  g_assert_true(
      gst_harness_push_event(stage.rig.h, gst_event_new_segment_done(GST_FORMAT_TIME, 0)));
  g_assert_cmpuint(buffers_before(&stage, GST_EVENT_SEGMENT_DONE), ==, 5);
  stage_clear(&stage);
}

/* A gap does not overtake the segment that it belongs to. */
static void test_behind_segment(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  guint at = 0;
  stage_init(&stage, c->kind, c->in_flight);
  g_assert_cmpint(stage_push(&stage, 0), ==, GST_FLOW_OK);
  stage_push_segment(&stage);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_gap(0, GST_SECOND / FPS)));
  g_assert_cmpint(stage_push(&stage, 1), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  for (guint i = 0; i < stage.num_events; i++)
    if (stage.events[i] == GST_EVENT_SEGMENT)
      at = i;
  for (guint i = 0; i < at; i++)
    g_assert_cmpint(stage.events[i], !=, GST_EVENT_GAP);
  g_assert_cmpuint(buffers_before(&stage, GST_EVENT_GAP), ==, 1);
  stage_clear(&stage);
}

/* Pushes five buffers, the event (transfer full) and three buffers: the event arrives between
 * them. */
static void check_position(const Case *c, GstEvent *event)
{
  Stage stage;
  GstEventType type = GST_EVENT_TYPE(event);
  stage_init(&stage, c->kind, c->in_flight);
  for (guint i = 0; i < 5; i++)
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, event));
  for (guint i = 6; i < 9; i++)
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  g_assert_cmpuint(stage.arrived, ==, 8);
  g_assert_cmpuint(buffers_before(&stage, type), ==, 5);
  stage_clear(&stage);
}

static void test_gap(gconstpointer data)
{
  check_position(data, gst_event_new_gap(GST_SECOND / 5, GST_SECOND / FPS));
}

static guint64 count_late(Stage *stage)
{
  GstElement *element = rig_element(&stage->rig, stage_decoder.factory);
  GstStructure *stats;
  guint64 late = 0;
  g_object_get(element, "stats", &stats, NULL);
  g_assert_true(gst_structure_get_uint64(stats, "dropped-qos", &late));
  gst_structure_free(stats);
  gst_object_unref(element);
  return late;
}

/* Each buffer of the stage's input is a whole frame of a stream with alignment=subframe. */
static void begin_subframes(Stage *stage)
{
  GstCaps *caps = gst_caps_from_string("image/x-jpc,alignment=subframe,framerate=25/1,"
                                       "colorspace=sYUV,sampling=YCbCr-4:2:0");
  GST_BUFFER_FLAG_SET(stage->input, GST_BUFFER_FLAG_MARKER);
  g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_caps(caps)));
  gst_caps_unref(caps);
}

static gpointer push_late(gpointer data)
{
  g_assert_cmpint(stage_push(data, 0), ==, GST_FLOW_OK);
  return NULL;
}

/* A frame that is too late is dropped while three are in flight: the segment that begins with it
 * arrives behind them. */
static void test_late_segment(gconstpointer subframes)
{
  Stage stage;
  stage_init(&stage, &stage_decoder, 4);
  if (subframes)
    begin_subframes(&stage);
  stage_hold(&stage, 10 * FPS);
  g_assert_cmpint(stage_push(&stage, 10 * FPS + 1), ==, GST_FLOW_OK);
  g_assert_cmpint(stage_push(&stage, 10 * FPS + 2), ==, GST_FLOW_OK);
  stage_push_segment(&stage);
  gst_harness_push_upstream_event(stage.rig.h,
                                  gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0));
  GThread *thread = g_thread_new("upstream", push_late, &stage);
  while (!count_late(&stage))
    g_usleep(1000);
  g_usleep(20000); /* time for the mistake: the segment is moved to a frame in flight */
  stage_set_blocked(&stage, FALSE);
  g_thread_join(thread);
  g_assert_cmpint(stage_push(&stage, 20 * FPS), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  g_assert_cmpuint(stage.arrived, ==, 4);
  g_assert_cmpuint(buffers_before(&stage, GST_EVENT_SEGMENT), ==, 3);
  stage_clear(&stage);
}

static gpointer push_rest(gpointer data)
{
  Stage *stage = data;
  GstBuffer *rest = gst_buffer_copy_region(stage->input, GST_BUFFER_COPY_ALL, REST, -1);
  g_assert_cmpint(push_frame(stage->rig.h, rest, 2), ==, GST_FLOW_OK);
  gst_buffer_unref(rest);
  return NULL;
}

/* An event between two buffers of a frame does not overtake the frames before it. */
static void test_event_in_frame(void)
{
  Stage stage;
  stage_init(&stage, &stage_decoder, 4);
  begin_subframes(&stage);
  GstBuffer *begin = gst_buffer_copy_region(stage.input, GST_BUFFER_COPY_ALL, 0, REST);
  GST_BUFFER_FLAG_UNSET(begin, GST_BUFFER_FLAG_MARKER);
  stage_hold(&stage, 0);
  g_assert_cmpint(stage_push(&stage, 1), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(stage.rig.h, begin, 2), ==, GST_FLOW_OK);
  g_assert_true(
      gst_harness_push_event(stage.rig.h, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                               gst_structure_new_empty("test"))));
  GThread *thread = g_thread_new("upstream", push_rest, &stage);
  g_usleep(50000); /* time for the mistake: the event is moved to the frame in flight */
  stage_set_blocked(&stage, FALSE);
  g_thread_join(thread);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  g_assert_cmpuint(stage.arrived, ==, 3);
  g_assert_cmpuint(buffers_before(&stage, GST_EVENT_CUSTOM_DOWNSTREAM), ==, 2);
  gst_buffer_unref(begin);
  stage_clear(&stage);
}

/* A change of the rate is not serialised: it does not wait for frames in flight, even if downstream
 * blocks on one. */
static void test_instant_rate(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  stage_hold(&stage, 0);
  g_assert_true(gst_harness_push_event(
      stage.rig.h, gst_event_new_instant_rate_change(2, GST_SEGMENT_FLAG_NONE)));
  g_assert_cmpuint(stage.arrived, ==, 0);
  g_mutex_lock(&stage.lock);
  g_assert_cmpint(stage.events[stage.num_events - 1], ==, GST_EVENT_INSTANT_RATE_CHANGE);
  g_mutex_unlock(&stage.lock);
  stage_set_blocked(&stage, FALSE);
  stage_wait_for(&stage, 1);
  stage_clear(&stage);
}

/* --------------------------------------------------------------------------------- drain --- */

/* Blocks before the lock of downstream's pad is taken, which a query needs. */
static GstPadProbeReturn block_in_probe(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Stage *stage = data;
  (void)pad, (void)info;
  g_mutex_lock(&stage->lock);
  stage->holding = stage->blocked;
  g_cond_broadcast(&stage->changed);
  while (stage->blocked)
    g_cond_wait(&stage->changed, &stage->lock);
  g_mutex_unlock(&stage->lock);
  return GST_PAD_PROBE_OK;
}

#define DRAINED 3

typedef struct {
  Stage stage;
  GstBuffer *buffers[DRAINED]; /* a reference to each of those pushed */
  guint held;                  /* number that the element still had when the query was answered */
} Drain;

static gpointer query_drain(gpointer data)
{
  Drain *drain = data;
  GstQuery *query = gst_query_new_drain();
  g_assert_true(gst_pad_peer_query(drain->stage.rig.h->srcpad, query));
  for (guint i = 0; i < DRAINED; i++)
    drain->held += GST_MINI_OBJECT_REFCOUNT_VALUE(drain->buffers[i]) > 1;
  gst_query_unref(query);
  return NULL;
}

/* DRAIN is answered when upstream has its buffers back. */
static void test_drain(gconstpointer data)
{
  const Case *c = data;
  Drain drain = {0};
  Stage *stage = &drain.stage;
  stage_init(stage, c->kind, MAX(c->in_flight, DRAINED));
  GstElement *element = rig_element(&stage->rig, c->kind->factory);
  GstPad *pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, block_in_probe, stage, NULL);
  stage_set_blocked(stage, TRUE);
  for (guint i = 0; i < DRAINED; i++) {
    drain.buffers[i] = gst_buffer_copy_deep(stage->input);
    GST_BUFFER_PTS(drain.buffers[i]) = gst_util_uint64_scale(i, GST_SECOND, FPS);
    g_assert_cmpint(gst_harness_push(stage->rig.h, gst_buffer_ref(drain.buffers[i])), ==,
                    GST_FLOW_OK);
  }
  stage_wait_until_held(stage);
  GThread *thread = g_thread_new("upstream", query_drain, &drain);
  g_usleep(20000); /* time for the mistake: an answer while downstream blocks */
  stage_set_blocked(stage, FALSE);
  g_thread_join(thread);
  g_assert_cmpuint(drain.held, ==, 0);
  for (guint i = 0; i < DRAINED; i++)
    gst_buffer_unref(drain.buffers[i]);
  gst_object_unref(pad);
  gst_object_unref(element);
  stage_clear(stage);
}

/* ---------------------------------------------------------------------------------- main --- */

static void add(const gchar *name, const Kind *kind, GTestDataFunc test)
{
  stage_add_tests("order", name, kind, GST_FLOW_OK, test);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < 2; i++) {
    const Kind *kind = i ? &stage_encoder : &stage_decoder;
    add("gap", kind, test_gap);
    add("instant-rate-change", kind, test_instant_rate);
    add("drain", kind, test_drain);
    add("segment-done", kind, test_segment_done);
    add("behind-tags", kind, test_behind_tags);
    add("behind-segment", kind, test_behind_segment);
  }
  g_test_add_data_func("/order/cudaj2kdec/late-segment/frames", GINT_TO_POINTER(FALSE),
                       test_late_segment);
  g_test_add_data_func("/order/cudaj2kdec/late-segment/subframes", GINT_TO_POINTER(TRUE),
                       test_late_segment);
  g_test_add_func("/order/cudaj2kdec/event-in-frame", test_event_in_frame);
  int result = g_test_run();
  gst_deinit();
  return result;
}
