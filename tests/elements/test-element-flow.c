/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both elements between an upstream and a downstream that misbehave: flow returns, threads that
 * wait for each other, and the order of buffers and events. An alarm ends the program after a
 * deadlock.
 */
#include "harness.h"

#include <unistd.h>

#define WIDTH        64
#define HEIGHT       48
#define LIMIT_S      60 /* seconds for one test */
#define MANY_PUSHES  160
#define MAX_ARRIVALS 1024
#define REST         500 /* the second part of a codestream begins here, behind its main header */

typedef struct {
  const gchar *factory, *properties;
} Kind;

static const Kind encoder = {"cudaj2kenc", "rate-control=lossless num-resolutions=3"};
static const Kind decoder = {"cudaj2kdec", ""};

/* A harness of one element whose downstream is the test itself. */
typedef struct {
  Rig rig;
  GstBuffer *input; /* pushed repeatedly */
  GMutex lock;
  GCond changed;
  guint arrived;
  GstFlowReturn answer;              /* flow return for buffers, from number `refuse_from` on */
  guint refuse_from, num_refusals;   /* number of buffers that get `answer`; others GST_FLOW_OK */
  GstEventType events[MAX_ARRIVALS]; /* GST_EVENT_UNKNOWN stands for a buffer */
  guint num_events;
  gboolean blocked; /* downstream blocks in its chain function */
  gboolean holding; /* a buffer is in the blocked chain function */
} Stage;

static void note(Stage *stage, GstEventType type)
{
  if (stage->num_events < MAX_ARRIVALS)
    stage->events[stage->num_events++] = type;
}

static Stage *stage_of(GstPad *pad)
{
  return g_object_get_data(G_OBJECT(pad), "stage");
}

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Stage *stage = stage_of(pad);
  (void)parent;
  gst_buffer_unref(buffer);
  g_mutex_lock(&stage->lock);
  stage->holding = stage->blocked;
  g_cond_broadcast(&stage->changed);
  while (stage->blocked)
    g_cond_wait(&stage->changed, &stage->lock);
  note(stage, GST_EVENT_UNKNOWN);
  guint number = stage->arrived++;
  gboolean refused =
      number >= stage->refuse_from && number - stage->refuse_from < stage->num_refusals;
  GstFlowReturn flow = refused ? stage->answer : GST_FLOW_OK;
  g_cond_broadcast(&stage->changed);
  g_mutex_unlock(&stage->lock);
  return flow;
}

static gboolean take_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
  Stage *stage = stage_of(pad);
  (void)parent;
  g_mutex_lock(&stage->lock);
  note(stage, GST_EVENT_TYPE(event));
  g_mutex_unlock(&stage->lock);
  gst_event_unref(event);
  return TRUE;
}

static GstBuffer *input_for(const Kind *kind, GstCaps **caps)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  if (kind == &decoder)
    return encode_pattern(&source, 0, caps);
  *caps = gst_video_info_to_caps(&source);
  return pixels_buffer(&source, 0);
}

static void stage_init(Stage *stage, const Kind *kind, guint in_flight)
{
  GstCaps *caps;
  *stage = (Stage){.refuse_from = G_MAXUINT};
  alarm(LIMIT_S);
  g_mutex_init(&stage->lock);
  g_cond_init(&stage->changed);
  stage->input = input_for(kind, &caps);
  gchar *description =
      g_strdup_printf("%s frames-in-flight=%u %s", kind->factory, in_flight, kind->properties);
  stage->rig = rig_new(description);
  g_free(description);
  g_object_set_data(G_OBJECT(stage->rig.h->sinkpad), "stage", stage);
  gst_pad_set_chain_function(stage->rig.h->sinkpad, chain);
  gst_pad_set_event_function(stage->rig.h->sinkpad, take_event);
  gst_harness_set_src_caps(stage->rig.h, caps);
}

static void stage_clear(Stage *stage)
{
  rig_free(&stage->rig);
  gst_buffer_unref(stage->input);
  g_mutex_clear(&stage->lock);
  g_cond_clear(&stage->changed);
  alarm(0);
}

static void wait_for_arrivals(Stage *stage, guint count)
{
  g_mutex_lock(&stage->lock);
  while (stage->arrived < count)
    g_cond_wait(&stage->changed, &stage->lock);
  g_mutex_unlock(&stage->lock);
}

/* Waits until a buffer is in the blocked chain function. */
static void wait_until_held(Stage *stage)
{
  g_mutex_lock(&stage->lock);
  while (!stage->holding)
    g_cond_wait(&stage->changed, &stage->lock);
  g_mutex_unlock(&stage->lock);
}

static void set_blocked(Stage *stage, gboolean blocked)
{
  g_mutex_lock(&stage->lock);
  stage->blocked = blocked;
  g_cond_broadcast(&stage->changed);
  g_mutex_unlock(&stage->lock);
}

static GstFlowReturn push(Stage *stage, guint n)
{
  return push_frame(stage->rig.h, stage->input, n);
}

static void push_segment(Stage *stage)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_segment(&segment)));
}

/* Adds a test of each element, with 1, 3, 16 and 64 frames in flight. */
typedef struct {
  const Kind *kind;
  guint in_flight;
  GstFlowReturn answer;
} Case;

/* ------------------------------------------------------------------------------- answers --- */

/* Downstream refuses one buffer: upstream gets its flow return once, and later buffers are pushed.
 */
static void test_refused_once(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  guint failed_pushes = 0, after = 0;
  stage_init(&stage, c->kind, c->in_flight);
  stage.answer = c->answer;
  stage.refuse_from = 1;
  stage.num_refusals = 1;
  for (guint i = 0; i < MANY_PUSHES; i++) {
    GstFlowReturn flow = push(&stage, i);
    if (flow != GST_FLOW_OK)
      g_assert_cmpint(flow, ==, c->answer);
    failed_pushes += flow != GST_FLOW_OK;
    after += failed_pushes && flow == GST_FLOW_OK;
  }
  g_assert_cmpuint(failed_pushes, ==, 1);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  /* Arrived: buffer 0, the refused one, and those after it except some that were in flight. */
  g_assert_cmpuint(after, >=, MANY_PUSHES - 4 - 2 * c->in_flight);
  g_assert_cmpuint(stage.arrived, ==, 2 + after);
  stage_clear(&stage);
}

/* Downstream refuses all buffers: upstream gets the flow return repeatedly, as from any element. */
static void test_refused_always(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  guint failed_pushes = 0;
  stage_init(&stage, c->kind, c->in_flight);
  stage.answer = c->answer;
  stage.refuse_from = 0;
  stage.num_refusals = G_MAXUINT;
  for (guint i = 0; i < 4 * MANY_PUSHES; i++)
    failed_pushes += push(&stage, i) == c->answer;
  g_assert_cmpuint(failed_pushes, >=, 2);
  stage_clear(&stage);
}

/* The event that makes a flow return obsolete. */
static void push_event(Stage *stage, GstEventType type)
{
  switch (type) {
  case GST_EVENT_SEGMENT: push_segment(stage); break;
  case GST_EVENT_STREAM_START:
    gst_harness_push_event(stage->rig.h, gst_event_new_stream_start("other"));
    push_segment(stage);
    break;
  case GST_EVENT_FLUSH_STOP:
    g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_flush_start()));
    g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_flush_stop(TRUE)));
    push_segment(stage);
    break;
  default: gst_harness_push_upstream_event(stage->rig.h, gst_event_new_reconfigure()); break;
  }
}

/* The flow return for the last buffer does not reach a later segment, stream or link. */
static void test_forgotten(gconstpointer data)
{
  const Case *c = data;
  static const GstEventType types[] = {GST_EVENT_SEGMENT, GST_EVENT_STREAM_START,
                                       GST_EVENT_FLUSH_STOP, GST_EVENT_RECONFIGURE};
  for (guint t = 0; t < G_N_ELEMENTS(types); t++) {
    Stage stage;
    if (types[t] == GST_EVENT_RECONFIGURE && c->answer != GST_FLOW_NOT_LINKED)
      continue;
    stage_init(&stage, c->kind, c->in_flight);
    stage.answer = c->answer;
    stage.refuse_from = 1;
    stage.num_refusals = 1;
    g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
    wait_for_arrivals(&stage, 1);
    g_assert_cmpint(push(&stage, 1), ==, GST_FLOW_OK);
    wait_for_arrivals(&stage, 2);
    push_event(&stage, types[t]);
    for (guint i = 2; i < MANY_PUSHES; i++)
      g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
    g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
    g_assert_cmpuint(stage.arrived, ==, MANY_PUSHES);
    stage_clear(&stage);
  }
}

/* ------------------------------------------------------------------------------ deadlocks --- */

/* A byte stream with one image in each buffer, as multifilesrc sends it. */
static void test_image_sequence(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  GstSegment segment;
  stage_init(&stage, c->kind, c->in_flight);
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_segment(&segment)));
  for (guint i = 0; i < MANY_PUSHES; i++)
    g_assert_cmpint(gst_harness_push(stage.rig.h, gst_buffer_copy_deep(stage.input)), ==,
                    GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  g_assert_cmpuint(stage.arrived, ==, MANY_PUSHES);
  stage_clear(&stage);
}

static gpointer push_until_full(gpointer data)
{
  Stage *stage = data;
  for (guint i = 0; i < MANY_PUSHES; i++)
    if (push(stage, i) != GST_FLOW_OK)
      break;
  return NULL;
}

/* While downstream blocks on one buffer, upstream can push as many frames as may be in flight. */
static void test_push_meanwhile(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  set_blocked(&stage, TRUE);
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  wait_until_held(&stage);
  for (guint i = 1; i <= c->in_flight; i++)
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
  g_assert_cmpuint(stage.arrived, ==, 0);
  set_blocked(&stage, FALSE);
  wait_for_arrivals(&stage, c->in_flight + 1);
  stage_clear(&stage);
}

/* A flush while downstream blocks and all frames are in flight. */
static void test_flush_when_full(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  set_blocked(&stage, TRUE);
  GThread *thread = g_thread_new("upstream", push_until_full, &stage);
  g_usleep(20000);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_start()));
  set_blocked(&stage, FALSE);
  g_thread_join(thread);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_stop(TRUE)));
  push_segment(&stage);
  guint before = stage.arrived;
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  wait_for_arrivals(&stage, before + 1);
  stage_clear(&stage);
}

/* --------------------------------------------------------------------------------- pools --- */

#define POOL_MAX 100 /* more than frames in flight */

typedef struct {
  GstBuffer *held[MANY_PUSHES];
  gint count; /* atomic */
} HeldBuffers;

static GstPadProbeReturn hold_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  HeldBuffers *held = data;
  gint n = g_atomic_int_get(&held->count);
  (void)pad;
  held->held[n] = gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(info));
  g_atomic_int_set(&held->count, n + 1);
  return GST_PAD_PROBE_OK;
}

/* Offers a pool with a limit. */
static GstPadProbeReturn offer_pool(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  GstCaps *caps;
  GstVideoInfo video_info;
  (void)pad, (void)data;
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation(query, &caps, NULL);
  g_assert_true(gst_video_info_from_caps(&video_info, caps));
  GstBufferPool *pool = gst_video_buffer_pool_new();
  GstStructure *config = gst_buffer_pool_get_config(pool);
  guint size = (guint)GST_VIDEO_INFO_SIZE(&video_info);
  gst_buffer_pool_config_set_params(config, caps, size, 0, POOL_MAX);
  g_assert_true(gst_buffer_pool_set_config(pool, config));
  gst_query_add_allocation_pool(query, pool, size, 0, POOL_MAX);
  gst_object_unref(pool);
  return GST_PAD_PROBE_HANDLED;
}

/* Downstream keeps all buffers of the pool and the decoder waits for one: a flush and a change of
 * state end the wait. */
static void test_held_buffers(gconstpointer data)
{
  const Case *c = data;
  for (guint by_state = 0; by_state < 2; by_state++) {
    Stage stage;
    HeldBuffers held = {.count = 0};
    gint before;
    stage_init(&stage, c->kind, c->in_flight);
    gst_pad_add_probe(stage.rig.h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, NULL,
                      NULL);
    gst_pad_add_probe(stage.rig.h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, hold_buffer, &held, NULL);
    GThread *thread = g_thread_new("upstream", push_until_full, &stage);
    do { /* until no more buffers arrive */
      before = g_atomic_int_get(&held.count);
      g_usleep(50000);
    } while (!before || before != g_atomic_int_get(&held.count));
    g_assert_cmpint(before, <, MANY_PUSHES);
    GstElement *element = rig_element(&stage.rig, c->kind->factory);
    if (by_state)
      g_assert_cmpint(gst_element_set_state(element, GST_STATE_READY), ==,
                      GST_STATE_CHANGE_SUCCESS);
    else
      g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_start()));
    g_thread_join(thread);
    for (gint i = 0; i < g_atomic_int_get(&held.count); i++)
      gst_buffer_unref(held.held[i]);
    if (!by_state) {
      g_atomic_int_set(&held.count, 0);
      g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_stop(TRUE)));
      push_segment(&stage);
      guint arrived = stage.arrived;
      g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
      wait_for_arrivals(&stage, arrived + 1);
      gst_buffer_unref(held.held[0]);
    }
    gst_object_unref(element);
    stage_clear(&stage);
  }
}

typedef struct {
  const gchar *name;
  guint max;     /* of the pool that downstream offers; its minimum is 2 */
  gboolean used; /* the decoder takes it */
} Offer;

static const Offer offers[] = {
    {"unlimited", 0, TRUE},
    {"limited", 8, TRUE},
    {"too-few", 3, FALSE},
};

typedef struct {
  const Offer *offer;
  GstBufferPool *offered; /* a reference */
  GQueue held;            /* the last two buffers */
} Downstream;

static GstPadProbeReturn offer_this(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Downstream *downstream = data;
  const Offer *offer = downstream->offer;
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  GstCaps *caps;
  (void)pad;
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation(query, &caps, NULL);
  GstVideoInfo format = video_of_caps(caps);
  GstBufferPool *pool = gst_video_buffer_pool_new();
  gst_query_add_allocation_pool(query, pool, (guint)GST_VIDEO_INFO_SIZE(&format), 2, offer->max);
  gst_clear_object(&downstream->offered);
  downstream->offered = pool;
  return GST_PAD_PROBE_HANDLED;
}

static GstPadProbeReturn hold_two(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Downstream *downstream = data;
  (void)pad;
  g_queue_push_tail(&downstream->held, gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(info)));
  if (downstream->held.length > 2)
    gst_buffer_unref(g_queue_pop_head(&downstream->held));
  return GST_PAD_PROBE_OK;
}

/* Downstream keeps two buffers of its pool. The pool in use has room for the frames in flight, too,
 * or is another one. */
static void test_offered_pool(gconstpointer data)
{
  Stage stage;
  Downstream downstream = {.offer = data, .held = G_QUEUE_INIT};
  guint min = 0, max = 0;
  stage_init(&stage, &decoder, 3);
  GstPad *pad = stage.rig.h->sinkpad;
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_this, &downstream, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, hold_two, &downstream, NULL);
  for (guint i = 0; i < 20; i++)
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
  wait_for_arrivals(&stage, 20);
  GstBufferPool *used = ((GstBuffer *)downstream.held.head->data)->pool;
  g_assert_nonnull(used);
  g_assert_cmpint(used == downstream.offered, ==, downstream.offer->used);
  GstStructure *config = gst_buffer_pool_get_config(used);
  gst_buffer_pool_config_get_params(config, NULL, NULL, &min, &max);
  gst_structure_free(config);
  g_assert_cmpuint(min, ==, 2);
  g_assert_cmpuint(max, ==, downstream.offer->used ? downstream.offer->max : 0);
  g_queue_clear_full(&downstream.held, (GDestroyNotify)gst_buffer_unref);
  gst_object_unref(downstream.offered);
  stage_clear(&stage);
}

/* --------------------------------------------------------------------------------- order --- */

/* SEGMENT_DONE, as in a loop with non-flushing seeks, is sent without waiting for a next frame. */
static void test_segment_done(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  for (guint loop = 0; loop < 3; loop++) {
    for (guint i = 0; i < 5; i++)
      g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
    g_assert_true(
        gst_harness_push_event(stage.rig.h, gst_event_new_segment_done(GST_FORMAT_TIME, 0)));
    g_assert_cmpuint(stage.arrived, ==, 5 * (loop + 1));
    g_assert_cmpint(stage.events[stage.num_events - 1], ==, GST_EVENT_SEGMENT_DONE);
    push_segment(&stage);
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
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
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
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  push_segment(&stage);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_gap(0, GST_SECOND / FPS)));
  g_assert_cmpint(push(&stage, 1), ==, GST_FLOW_OK);
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
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, event));
  for (guint i = 6; i < 9; i++)
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
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
  GstElement *element = rig_element(&stage->rig, decoder.factory);
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
  g_assert_cmpint(push(data, 0), ==, GST_FLOW_OK);
  return NULL;
}

/* A frame that is too late is dropped while three are in flight: the segment that begins with it
 * arrives behind them. */
static void test_late_segment(gconstpointer subframes)
{
  Stage stage;
  stage_init(&stage, &decoder, 4);
  if (subframes)
    begin_subframes(&stage);
  set_blocked(&stage, TRUE);
  g_assert_cmpint(push(&stage, 10 * FPS), ==, GST_FLOW_OK);
  wait_until_held(&stage);
  g_assert_cmpint(push(&stage, 10 * FPS + 1), ==, GST_FLOW_OK);
  g_assert_cmpint(push(&stage, 10 * FPS + 2), ==, GST_FLOW_OK);
  push_segment(&stage);
  gst_harness_push_upstream_event(stage.rig.h,
                                  gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0));
  GThread *thread = g_thread_new("upstream", push_late, &stage);
  while (!count_late(&stage))
    g_usleep(1000);
  g_usleep(20000); /* time for the mistake: the segment is moved to a frame in flight */
  set_blocked(&stage, FALSE);
  g_thread_join(thread);
  g_assert_cmpint(push(&stage, 20 * FPS), ==, GST_FLOW_OK);
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
  stage_init(&stage, &decoder, 4);
  begin_subframes(&stage);
  GstBuffer *begin = gst_buffer_copy_region(stage.input, GST_BUFFER_COPY_ALL, 0, REST);
  GST_BUFFER_FLAG_UNSET(begin, GST_BUFFER_FLAG_MARKER);
  set_blocked(&stage, TRUE);
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  wait_until_held(&stage);
  g_assert_cmpint(push(&stage, 1), ==, GST_FLOW_OK);
  g_assert_cmpint(push_frame(stage.rig.h, begin, 2), ==, GST_FLOW_OK);
  g_assert_true(
      gst_harness_push_event(stage.rig.h, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                               gst_structure_new_empty("test"))));
  GThread *thread = g_thread_new("upstream", push_rest, &stage);
  g_usleep(50000); /* time for the mistake: the event is moved to the frame in flight */
  set_blocked(&stage, FALSE);
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
  set_blocked(&stage, TRUE);
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  wait_until_held(&stage);
  g_assert_true(gst_harness_push_event(
      stage.rig.h, gst_event_new_instant_rate_change(2, GST_SEGMENT_FLAG_NONE)));
  g_assert_cmpuint(stage.arrived, ==, 0);
  g_mutex_lock(&stage.lock);
  g_assert_cmpint(stage.events[stage.num_events - 1], ==, GST_EVENT_INSTANT_RATE_CHANGE);
  g_mutex_unlock(&stage.lock);
  set_blocked(&stage, FALSE);
  wait_for_arrivals(&stage, 1);
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
  set_blocked(stage, TRUE);
  for (guint i = 0; i < DRAINED; i++) {
    drain.buffers[i] = gst_buffer_copy_deep(stage->input);
    GST_BUFFER_PTS(drain.buffers[i]) = gst_util_uint64_scale(i, GST_SECOND, FPS);
    g_assert_cmpint(gst_harness_push(stage->rig.h, gst_buffer_ref(drain.buffers[i])), ==,
                    GST_FLOW_OK);
  }
  wait_until_held(stage);
  GThread *thread = g_thread_new("upstream", query_drain, &drain);
  g_usleep(20000); /* time for the mistake: an answer while downstream blocks */
  set_blocked(stage, FALSE);
  g_thread_join(thread);
  g_assert_cmpuint(drain.held, ==, 0);
  for (guint i = 0; i < DRAINED; i++)
    gst_buffer_unref(drain.buffers[i]);
  gst_object_unref(pad);
  gst_object_unref(element);
  stage_clear(stage);
}

/* --------------------------------------------------------------------------- reconfigure --- */

static GstPad *racing_pad;

/* Marks the pad for reconfiguration when the base class begins to finish a frame. */
static void mark_in_finish(GstDebugCategory *category, GstDebugLevel level, const gchar *file,
                           const gchar *function, gint line, GObject *object,
                           GstDebugMessage *message, gpointer data)
{
  (void)category, (void)level, (void)file, (void)line, (void)object, (void)data;
  if (racing_pad && g_str_equal(function, "gst_video_decoder_finish_frame") &&
      g_str_has_prefix(gst_debug_message_get(message), "finish frame"))
    gst_pad_mark_reconfigure(racing_pad);
}

typedef struct {
  GThread *upstream;
  guint on_upstream, elsewhere;
} Queries;

static GstPadProbeReturn count_query(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Queries *queries = data;
  (void)pad;
  if (GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) != GST_QUERY_ALLOCATION ||
      !(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_PUSH))
    return GST_PAD_PROBE_OK;
  if (g_thread_self() == queries->upstream)
    queries->on_upstream++;
  else
    queries->elsewhere++;
  return GST_PAD_PROBE_OK;
}

/* Downstream requests reconfiguration while a frame is being finished: the decoder negotiates and
 * chooses its pool on the streaming thread. */
static void test_reconfigure_in_finish(void)
{
  Stage stage;
  Queries queries = {.upstream = g_thread_self()};
  stage_init(&stage, &decoder, 3);
  GstElement *element = rig_element(&stage.rig, "cudaj2kdec");
  GstPad *pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, count_query, &queries, NULL);
  g_assert_cmpint(push(&stage, 0), ==, GST_FLOW_OK);
  wait_for_arrivals(&stage, 1);
  gst_debug_set_active(TRUE);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(mark_in_finish, NULL, NULL);
  gst_debug_set_threshold_for_name("videodecoder", GST_LEVEL_LOG);
  racing_pad = pad;
  for (guint i = 1; i < 20; i++) {
    g_assert_cmpint(push(&stage, i), ==, GST_FLOW_OK);
    wait_for_arrivals(&stage, i + 1);
  }
  racing_pad = NULL;
  gst_debug_set_threshold_for_name("videodecoder", GST_LEVEL_NONE);
  gst_debug_remove_log_function(mark_in_finish);
  g_assert_cmpuint(queries.elsewhere, ==, 0);
  g_assert_cmpuint(queries.on_upstream, >, 10);
  gst_object_unref(pad);
  gst_object_unref(element);
  stage_clear(&stage);
}

typedef struct {
  GstBufferPool *offered; /* the last one; the decoder keeps it, so it is only compared */
  GstBufferPool *used;    /* that of the last picture */
} Pools;

static GstPadProbeReturn offer_and_watch(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pools *pools = data;
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) {
    pools->used = GST_PAD_PROBE_INFO_BUFFER(info)->pool;
    return GST_PAD_PROBE_OK;
  }
  GstPadProbeReturn result = offer_pool(pad, info, NULL);
  if (result == GST_PAD_PROBE_HANDLED) {
    gst_query_parse_nth_allocation_pool(GST_PAD_PROBE_INFO_QUERY(info), 0, &pools->offered, NULL,
                                        NULL, NULL);
    gst_object_unref(pools->offered);
  }
  return result;
}

/* At a gap the base class negotiates if downstream requested it: the next picture comes from the
 * pool that downstream offered then. */
static void test_reconfigure_at_gap(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  Pools pools = {0};
  stage_init(&stage, c->kind, c->in_flight);
  gst_pad_add_probe(stage.rig.h->sinkpad,
                    GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
                    offer_and_watch, &pools, NULL);
  for (guint i = 0; i < 8; i++) {
    GstBufferPool *before = pools.offered;
    g_assert_cmpint(push(&stage, 2 * i), ==, GST_FLOW_OK);
    wait_for_arrivals(&stage, i + 1);
    g_assert_true(pools.used == pools.offered);
    g_assert_true(i == 0 || before == pools.offered); /* negotiated at the gap and never again */
    gst_harness_push_upstream_event(stage.rig.h, gst_event_new_reconfigure());
    g_assert_true(gst_harness_push_event(
        stage.rig.h, gst_event_new_gap((2 * i + 1) * GST_SECOND / FPS, GST_SECOND / FPS)));
  }
  stage_clear(&stage);
}

/* ---------------------------------------------------------------------------------- main --- */

static void add(const gchar *name, const Kind *kind, GstFlowReturn answer, GTestDataFunc test)
{
  static const guint in_flight[] = {1, 3, 16, 64};
  for (guint i = 0; i < G_N_ELEMENTS(in_flight); i++) {
    Case *c = g_new0(Case, 1);
    *c = (Case){.kind = kind, .in_flight = in_flight[i], .answer = answer};
    gchar *path = g_strdup_printf("/flow/%s/%s/%u", kind->factory, name, in_flight[i]);
    g_test_add_data_func_full(path, c, test, g_free);
    g_free(path);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < 2; i++) {
    const Kind *kind = i ? &encoder : &decoder;
    add("not-linked-once", kind, GST_FLOW_NOT_LINKED, test_refused_once);
    add("eos-once", kind, GST_FLOW_EOS, test_refused_once);
    add("not-linked-always", kind, GST_FLOW_NOT_LINKED, test_refused_always);
    add("not-linked-forgotten", kind, GST_FLOW_NOT_LINKED, test_forgotten);
    add("eos-forgotten", kind, GST_FLOW_EOS, test_forgotten);
    add("push-meanwhile", kind, GST_FLOW_OK, test_push_meanwhile);
    add("flush-when-full", kind, GST_FLOW_OK, test_flush_when_full);
    add("gap", kind, GST_FLOW_OK, test_gap);
    add("instant-rate-change", kind, GST_FLOW_OK, test_instant_rate);
    add("drain", kind, GST_FLOW_OK, test_drain);
    add("segment-done", kind, GST_FLOW_OK, test_segment_done);
    add("behind-tags", kind, GST_FLOW_OK, test_behind_tags);
    add("behind-segment", kind, GST_FLOW_OK, test_behind_segment);
  }
  g_test_add_data_func("/flow/cudaj2kdec/late-segment/frames", GINT_TO_POINTER(FALSE),
                       test_late_segment);
  g_test_add_data_func("/flow/cudaj2kdec/late-segment/subframes", GINT_TO_POINTER(TRUE),
                       test_late_segment);
  g_test_add_func("/flow/cudaj2kdec/event-in-frame", test_event_in_frame);
  add("image-sequence", &decoder, GST_FLOW_OK, test_image_sequence);
  add("reconfigure-at-gap", &decoder, GST_FLOW_OK, test_reconfigure_at_gap);
  add("held-buffers", &decoder, GST_FLOW_OK, test_held_buffers);
  for (guint i = 0; i < G_N_ELEMENTS(offers); i++) {
    gchar *path = g_strdup_printf("/flow/cudaj2kdec/offered-pool/%s", offers[i].name);
    g_test_add_data_func(path, &offers[i], test_offered_pool);
    g_free(path);
  }
  g_test_add_func("/flow/cudaj2kdec/reconfigure-in-finish", test_reconfigure_in_finish);
  int result = g_test_run();
  gst_deinit();
  return result;
}
