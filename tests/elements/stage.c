/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage.h"

#include <unistd.h>

#define WIDTH   64
#define HEIGHT  48
#define LIMIT_S 60 /* seconds for one test */

const Kind stage_encoder = {"cudaj2kenc", "rate-control=lossless num-resolutions=3"};
const Kind stage_decoder = {"cudaj2kdec", ""};

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
  if (kind == &stage_decoder)
    return encode_pattern(&source, 0, caps);
  *caps = gst_video_info_to_caps(&source);
  return pixels_buffer(&source, 0);
}

void stage_init(Stage *stage, const Kind *kind, guint in_flight)
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

void stage_clear(Stage *stage)
{
  rig_free(&stage->rig);
  gst_buffer_unref(stage->input);
  g_mutex_clear(&stage->lock);
  g_cond_clear(&stage->changed);
  alarm(0);
}

void stage_wait_for(Stage *stage, guint count)
{
  g_mutex_lock(&stage->lock);
  while (stage->arrived < count)
    g_cond_wait(&stage->changed, &stage->lock);
  g_mutex_unlock(&stage->lock);
}

void stage_wait_until_held(Stage *stage)
{
  g_mutex_lock(&stage->lock);
  while (!stage->holding)
    g_cond_wait(&stage->changed, &stage->lock);
  g_mutex_unlock(&stage->lock);
}

void stage_set_blocked(Stage *stage, gboolean blocked)
{
  g_mutex_lock(&stage->lock);
  stage->blocked = blocked;
  g_cond_broadcast(&stage->changed);
  g_mutex_unlock(&stage->lock);
}

GstFlowReturn stage_push(Stage *stage, guint n)
{
  return push_frame(stage->rig.h, stage->input, n);
}

void stage_hold(Stage *stage, guint n)
{
  stage_set_blocked(stage, TRUE);
  g_assert_cmpint(stage_push(stage, n), ==, GST_FLOW_OK);
  stage_wait_until_held(stage);
}

void stage_push_segment(Stage *stage)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_segment(&segment)));
}

void stage_add_tests(const gchar *group, const gchar *name, const Kind *kind, GstFlowReturn answer,
                     GTestDataFunc test)
{
  static const guint in_flight[] = {1, 3, 16, 64};
  for (guint i = 0; i < G_N_ELEMENTS(in_flight); i++) {
    Case *c = g_new0(Case, 1);
    *c = (Case){.kind = kind, .in_flight = in_flight[i], .answer = answer};
    gchar *path = g_strdup_printf("/%s/%s/%s/%u", group, kind->factory, name, in_flight[i]);
    g_test_add_data_func_full(path, c, test, g_free);
    g_free(path);
  }
}
