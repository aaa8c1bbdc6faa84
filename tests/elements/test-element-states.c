/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random sequences of operations that pipelines perform on an element: buffers, gaps, segments,
 * changes of caps, flushes, EOS, unlinking, reconfiguration and changes of state, while downstream
 * returns random flow returns. Every sequence has to end: an alarm ends the program after a
 * deadlock. The seed of a sequence is the number of its test.
 */
#include "harness.h"

#include <unistd.h>

#define LIMIT_S   30 /* seconds for one sequence, and for one flush */
#define SEQUENCES 150
#define STEPS     40
#define FLUSHES   3000

static const guint sizes[][2] = {{64, 48}, {32, 32}, {80, 50}};

typedef struct {
  GstBuffer *buffer[G_N_ELEMENTS(sizes)];
  GstCaps *caps[G_N_ELEMENTS(sizes)];
} Inputs;

static Inputs raw_inputs, coded_inputs;

typedef struct {
  Rig rig;
  GRand *random;
  const Inputs *inputs;
  guint size, time;
  gint answer; /* atomic: the GstFlowReturn of downstream */
  gint slow;   /* atomic: microseconds that downstream takes for a buffer */
  gboolean in_bytes;
} Player;

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Player *player = g_object_get_data(G_OBJECT(pad), "player");
  (void)parent;
  gst_buffer_unref(buffer);
  g_usleep((gulong)g_atomic_int_get(&player->slow));
  return (GstFlowReturn)g_atomic_int_get(&player->answer);
}

static gboolean swallow(GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void)pad, (void)parent;
  gst_event_unref(event);
  return TRUE;
}

static void push_segment(Player *player, GstFormat format)
{
  GstSegment segment;
  gst_segment_init(&segment, format);
  player->in_bytes = format == GST_FORMAT_BYTES;
  gst_harness_push_event(player->rig.h, gst_event_new_segment(&segment));
}

static void push_caps(Player *player)
{
  gst_harness_push_event(player->rig.h, gst_event_new_caps(player->inputs->caps[player->size]));
}

/* The events with which a source begins a stream again. */
static void begin(Player *player)
{
  gst_harness_push_event(player->rig.h, gst_event_new_stream_start("again"));
  push_caps(player);
  push_segment(player, GST_FORMAT_TIME);
}

/* Pushes buffers, also truncated ones, ones without memory or with too much of it, and ones that do
 * not match the caps. */
static void push_buffer(Player *player)
{
  GstBuffer *buffer = gst_buffer_copy_deep(player->inputs->buffer[player->size]);
  gint kind = g_rand_int_range(player->random, 0, 16);
  gsize bytes = gst_buffer_get_size(buffer);
  switch (kind) {
  case 0: gst_buffer_set_size(buffer, (gssize)bytes / 2); break;
  case 2: gst_buffer_remove_all_memory(buffer); break;
  case 3: gst_buffer_set_size(buffer, 1); break;
  case 4: /* twice the picture, or two codestreams, in two memories */
    gst_buffer_append_memory(buffer, gst_allocator_alloc(NULL, bytes, NULL));
    gst_buffer_memset(buffer, bytes, 0x5a, bytes);
    break;
  default: break;
  }
  if (!player->in_bytes) {
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(player->time++, GST_SECOND, FPS);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / FPS;
  }
  if (kind == 1)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  gst_harness_push(player->rig.h, buffer);
}

static void relink(Player *player)
{
  GstPad *peer = gst_pad_get_peer(player->rig.h->sinkpad);
  if (!peer)
    return;
  gst_pad_unlink(peer, player->rig.h->sinkpad);
  for (gint i = g_rand_int_range(player->random, 0, 3); i > 0; i--)
    push_buffer(player);
  gst_pad_link(peer, player->rig.h->sinkpad);
  gst_object_unref(peer);
}

static void flush(Player *player)
{
  gst_harness_push_event(player->rig.h, gst_event_new_flush_start());
  if (g_rand_boolean(player->random))
    push_buffer(player);
  gst_harness_push_event(player->rig.h, gst_event_new_flush_stop(TRUE));
  push_segment(player, GST_FORMAT_TIME);
}

static void change_state(Player *player)
{
  static const GstState states[] = {GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL};
  GstState state = states[g_rand_int_range(player->random, 0, G_N_ELEMENTS(states))];
  gst_element_set_state(player->rig.h->element, state);
  gst_element_set_state(player->rig.h->element, GST_STATE_PLAYING);
  if (state != GST_STATE_PAUSED)
    begin(player);
}

static void answer(Player *player)
{
  static const GstFlowReturn answers[] = {
      GST_FLOW_OK,       GST_FLOW_OK,    GST_FLOW_NOT_LINKED, GST_FLOW_EOS,
      GST_FLOW_FLUSHING, GST_FLOW_ERROR, GST_FLOW_OK,         GST_FLOW_NOT_NEGOTIATED};
  g_atomic_int_set(&player->answer,
                   answers[g_rand_int_range(player->random, 0, G_N_ELEMENTS(answers))]);
}

static void step(Player *player)
{
  GstHarness *h = player->rig.h;
  switch (g_rand_int_range(player->random, 0, 30)) {
  case 0: gst_harness_push_event(h, gst_event_new_eos()); break;
  case 1: flush(player); break;
  case 2: push_segment(player, GST_FORMAT_TIME); break;
  case 3:
    if (player->inputs == &coded_inputs)
      push_segment(player, GST_FORMAT_BYTES);
    break;
  case 4:
    player->size = (guint)g_rand_int_range(player->random, 0, G_N_ELEMENTS(sizes));
    push_caps(player);
    break;
  case 5:
    gst_harness_push_event(h, gst_event_new_gap(player->time * GST_SECOND, GST_SECOND));
    break;
  case 6: relink(player); break;
  case 7: change_state(player); break;
  case 8: gst_harness_push_upstream_event(h, gst_event_new_reconfigure()); break;
  case 9:
    gst_harness_push_upstream_event(
        h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND / 10, 0));
    break;
  case 10: gst_harness_push_event(h, gst_event_new_segment_done(GST_FORMAT_TIME, 0)); break;
  case 11:
  case 12: answer(player); break;
  case 13: g_atomic_int_set(&player->slow, g_rand_int_range(player->random, 0, 2000)); break;
  case 14: begin(player); break;
  case 15: gst_harness_push_event(h, gst_event_new_tag(gst_tag_list_new_empty())); break;
  default: push_buffer(player); break;
  }
}

static void player_start(Player *player, gint frames_in_flight)
{
  gchar *description = g_strdup_printf(
      player->inputs == &raw_inputs ? "cudaj2kenc rate-control=lossless num-resolutions=2 qos=true "
                                      "frames-in-flight=%d num-threads=2"
                                    : "cudaj2kdec frames-in-flight=%d num-threads=2",
      frames_in_flight);
  player->rig = rig_new(description);
  g_free(description);
  g_object_set_data(G_OBJECT(player->rig.h->sinkpad), "player", player);
  gst_pad_set_chain_function(player->rig.h->sinkpad, chain);
  gst_pad_set_event_function(player->rig.h->sinkpad, swallow);
  gst_bus_set_flushing(player->rig.bus, TRUE); /* its messages are not read */
  begin(player);
}

static void player_stop(Player *player)
{
  rig_free(&player->rig);
  g_rand_free(player->random);
}

static void play(const Inputs *inputs, guint seed)
{
  Player player = {.inputs = inputs, .random = g_rand_new_with_seed(seed)};
  alarm(LIMIT_S);
  player_start(&player, g_rand_int_range(player.random, 1, 6));
  for (guint i = 0; i < STEPS; i++)
    step(&player);
  /* After any sequence a flush restores normal operation. */
  g_atomic_int_set(&player.answer, GST_FLOW_OK);
  flush(&player);
  player_stop(&player);
  alarm(0);
}

/* Flushes at all moments of the first picture after a flush, whose frame carries the segment event:
 * the base class may not drop that event while the picture is still pushed. */
static void test_flushes(gconstpointer data)
{
  Player player = {.inputs = data, .random = g_rand_new_with_seed(1)};
  alarm(LIMIT_S);
  player_start(&player, 2);
  for (guint i = 0; i < FLUSHES; i++) {
    alarm(LIMIT_S);
    push_buffer(&player);
    g_usleep((gulong)g_rand_int_range(player.random, 0, 600));
    flush(&player);
  }
  player_stop(&player);
  alarm(0);
}

static void test_sequence(gconstpointer data)
{
  guint number = GPOINTER_TO_UINT(data);
  play(number % 2 ? &raw_inputs : &coded_inputs, number / 2);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, sizes[i][0], sizes[i][1]);
    raw_inputs.buffer[i] = pixels_buffer(&info, 0);
    raw_inputs.caps[i] = gst_video_info_to_caps(&info);
    coded_inputs.buffer[i] = encode_pattern(&info, 0, &coded_inputs.caps[i]);
  }
  guint count = SEQUENCES * (g_getenv("CJ2K_TESTS_LONG") ? 34 : 1);
  for (guint i = 0; i < 2 * count; i++) {
    gchar *path = g_strdup_printf("/states/%s/%u", i % 2 ? "cudaj2kenc" : "cudaj2kdec", i / 2);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_sequence);
    g_free(path);
  }
  g_test_add_data_func("/states/cudaj2kdec/flushes", &coded_inputs, test_flushes);
  g_test_add_data_func("/states/cudaj2kenc/flushes", &raw_inputs, test_flushes);
  int result = g_test_run();
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    gst_buffer_unref(raw_inputs.buffer[i]);
    gst_buffer_unref(coded_inputs.buffer[i]);
    gst_caps_unref(raw_inputs.caps[i]);
    gst_caps_unref(coded_inputs.caps[i]);
  }
  gst_deinit();
  return result;
}
