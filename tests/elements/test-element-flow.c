/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both elements between an upstream and a downstream that misbehave: flow returns, threads that
 * wait for each other, and pools. An alarm ends the program after a deadlock.
 */
#include "stage.h"

#define MANY_PUSHES 160

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
    GstFlowReturn flow = stage_push(&stage, i);
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
    failed_pushes += stage_push(&stage, i) == c->answer;
  g_assert_cmpuint(failed_pushes, >=, 2);
  stage_clear(&stage);
}

/* The event that makes a flow return obsolete. */
static void push_event(Stage *stage, GstEventType type)
{
  switch (type) {
  case GST_EVENT_SEGMENT: stage_push_segment(stage); break;
  case GST_EVENT_STREAM_START:
    gst_harness_push_event(stage->rig.h, gst_event_new_stream_start("other"));
    stage_push_segment(stage);
    break;
  case GST_EVENT_FLUSH_STOP:
    g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_flush_start()));
    g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_flush_stop(TRUE)));
    stage_push_segment(stage);
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
    g_assert_cmpint(stage_push(&stage, 0), ==, GST_FLOW_OK);
    stage_wait_for(&stage, 1);
    g_assert_cmpint(stage_push(&stage, 1), ==, GST_FLOW_OK);
    stage_wait_for(&stage, 2);
    push_event(&stage, types[t]);
    for (guint i = 2; i < MANY_PUSHES; i++)
      g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
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
    if (stage_push(stage, i) != GST_FLOW_OK)
      break;
  return NULL;
}

/* While downstream blocks on one buffer, upstream can push as many frames as may be in flight. */
static void test_push_meanwhile(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  stage_hold(&stage, 0);
  for (guint i = 1; i <= c->in_flight; i++)
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
  g_assert_cmpuint(stage.arrived, ==, 0);
  stage_set_blocked(&stage, FALSE);
  stage_wait_for(&stage, c->in_flight + 1);
  stage_clear(&stage);
}

/* A flush while downstream blocks and all frames are in flight. */
static void test_flush_when_full(gconstpointer data)
{
  const Case *c = data;
  Stage stage;
  stage_init(&stage, c->kind, c->in_flight);
  stage_set_blocked(&stage, TRUE);
  GThread *thread = g_thread_new("upstream", push_until_full, &stage);
  g_usleep(20000);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_start()));
  stage_set_blocked(&stage, FALSE);
  g_thread_join(thread);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_flush_stop(TRUE)));
  stage_push_segment(&stage);
  guint before = stage.arrived;
  g_assert_cmpint(stage_push(&stage, 0), ==, GST_FLOW_OK);
  stage_wait_for(&stage, before + 1);
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
      stage_push_segment(&stage);
      guint arrived = stage.arrived;
      g_assert_cmpint(stage_push(&stage, 0), ==, GST_FLOW_OK);
      stage_wait_for(&stage, arrived + 1);
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
  stage_init(&stage, &stage_decoder, 3);
  GstPad *pad = stage.rig.h->sinkpad;
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_this, &downstream, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, hold_two, &downstream, NULL);
  for (guint i = 0; i < 20; i++)
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
  stage_wait_for(&stage, 20);
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
  stage_init(&stage, &stage_decoder, 3);
  GstElement *element = rig_element(&stage.rig, "cudaj2kdec");
  GstPad *pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, count_query, &queries, NULL);
  g_assert_cmpint(stage_push(&stage, 0), ==, GST_FLOW_OK);
  stage_wait_for(&stage, 1);
  gst_debug_set_active(TRUE);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(mark_in_finish, NULL, NULL);
  gst_debug_set_threshold_for_name("videodecoder", GST_LEVEL_LOG);
  racing_pad = pad;
  for (guint i = 1; i < 20; i++) {
    g_assert_cmpint(stage_push(&stage, i), ==, GST_FLOW_OK);
    stage_wait_for(&stage, i + 1);
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
    g_assert_cmpint(stage_push(&stage, 2 * i), ==, GST_FLOW_OK);
    stage_wait_for(&stage, i + 1);
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
  stage_add_tests("flow", name, kind, answer, test);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < 2; i++) {
    const Kind *kind = i ? &stage_encoder : &stage_decoder;
    add("not-linked-once", kind, GST_FLOW_NOT_LINKED, test_refused_once);
    add("eos-once", kind, GST_FLOW_EOS, test_refused_once);
    add("not-linked-always", kind, GST_FLOW_NOT_LINKED, test_refused_always);
    add("not-linked-forgotten", kind, GST_FLOW_NOT_LINKED, test_forgotten);
    add("eos-forgotten", kind, GST_FLOW_EOS, test_forgotten);
    add("push-meanwhile", kind, GST_FLOW_OK, test_push_meanwhile);
    add("flush-when-full", kind, GST_FLOW_OK, test_flush_when_full);
  }
  add("image-sequence", &stage_decoder, GST_FLOW_OK, test_image_sequence);
  add("reconfigure-at-gap", &stage_decoder, GST_FLOW_OK, test_reconfigure_at_gap);
  add("held-buffers", &stage_decoder, GST_FLOW_OK, test_held_buffers);
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
