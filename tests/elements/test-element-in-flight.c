/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * frames-in-flight = 0, where the element chooses: the choice by itself with given times, and in
 * the elements. There frame durations decide what is slow: no frame is done within a microsecond,
 * and each is within a thousand seconds.
 */
#include "harness.h"

#include "gst/gstcudaj2kinflight.h"

#define WIDTH   64 /* rows without padding, which no element writes */
#define HEIGHT  48
#define FRAMES  90
#define SLOW    1000000, 1 /* frames a second of which each is too slow */
#define FAST    1, 1000    /* frames a second of which none is */
#define NO_RATE 0, 1

/* ------------------------------------------------------------------------------- the choice --- */

/* Submits a frame and receives it after `ms`, with frames of 10 ms. */
static void one_frame(GstCudaJ2kInFlight *choice, gint64 *now, gint64 ms)
{
  gst_cuda_j2k_in_flight_submitted(choice, *now, 10000);
  *now += ms * 1000;
  gst_cuda_j2k_in_flight_received(choice, *now);
}

static void many_frames(GstCudaJ2kInFlight *choice, gint64 *now, gint64 ms, guint count)
{
  for (guint i = 0; i < count; i++)
    one_frame(choice, now, ms);
}

/* Takes over what is wanted. */
static guint change(GstCudaJ2kInFlight *choice)
{
  guint wanted = gst_cuda_j2k_in_flight_wanted(choice);
  if (wanted != gst_cuda_j2k_in_flight_get(choice))
    gst_cuda_j2k_in_flight_change(choice, wanted);
  return wanted;
}

static void test_choice(void)
{
  GstCudaJ2kInFlight choice;
  gint64 now = 5;

  gst_cuda_j2k_in_flight_init(&choice);
  g_assert_cmpuint(gst_cuda_j2k_in_flight_get(&choice), ==, 1); /* in statistics before caps */
  g_assert_cmpuint(gst_cuda_j2k_in_flight_wanted(&choice), ==, 1);
  gst_cuda_j2k_in_flight_start(&choice, 1);
  gst_cuda_j2k_in_flight_begin(&choice, 1, TRUE);
  many_frames(&choice, &now, 10, 100); /* just fast enough */
  g_assert_cmpuint(change(&choice), ==, 1);
  for (guint i = 0; i < 20; i++) { /* 7 slow ones of 32 */
    many_frames(&choice, &now, 50, 7);
    many_frames(&choice, &now, 2, 25);
  }
  g_assert_cmpuint(change(&choice), ==, 1);
  one_frame(&choice, &now, 50); /* one more than that within 32 */
  many_frames(&choice, &now, 2, 24);
  many_frames(&choice, &now, 11, 7);
  g_assert_cmpuint(gst_cuda_j2k_in_flight_wanted(&choice), ==, 2);
  g_assert_cmpuint(gst_cuda_j2k_in_flight_get(&choice), ==, 1); /* until it is taken over */
  g_assert_cmpuint(change(&choice), ==, 2);
  many_frames(&choice, &now, 20, 100); /* with two in flight a frame may take two durations */
  g_assert_cmpuint(change(&choice), ==, 2);
  many_frames(&choice, &now, 21, 8);
  g_assert_cmpuint(change(&choice), ==, 4);
  many_frames(&choice, &now, 1, 1000); /* it does not fall by itself */
  g_assert_cmpuint(change(&choice), ==, 4);
  many_frames(&choice, &now, 100, 100);
  g_assert_cmpuint(change(&choice), ==, GST_CUDA_J2K_MOST_LIVE);
  many_frames(&choice, &now, 1000, 100);
  g_assert_cmpuint(change(&choice), ==, GST_CUDA_J2K_MOST_LIVE);
  gst_cuda_j2k_in_flight_begin(&choice, 1, TRUE); /* new caps */
  g_assert_cmpuint(change(&choice), ==, 1);
  many_frames(&choice, &now, 10, 100);
  g_assert_cmpuint(change(&choice), ==, 1);
  gst_cuda_j2k_in_flight_begin(&choice, 3, FALSE); /* fixed */
  many_frames(&choice, &now, 1000, 100);
  g_assert_cmpuint(change(&choice), ==, 3);
  gst_cuda_j2k_in_flight_clear(&choice);
}

/* Each result is judged by the times of its own frame: of eight frames in the codec, `slow` ones
 * may take a microsecond, and nothing is known of the others. */
static guint wanted_with_slow(guint slow)
{
  GstCudaJ2kInFlight choice;
  gint64 now = 0;

  gst_cuda_j2k_in_flight_init(&choice);
  gst_cuda_j2k_in_flight_start(&choice, 4);
  gst_cuda_j2k_in_flight_begin(&choice, 4, TRUE);
  for (guint burst = 0; burst < 20; burst++) {
    for (guint i = 0; i < 8; i++)
      gst_cuda_j2k_in_flight_submitted(&choice, now, i < slow ? 1 : 0);
    for (guint i = 0; i < 8; i++)
      gst_cuda_j2k_in_flight_received(&choice, now += 1000);
  }
  guint wanted = gst_cuda_j2k_in_flight_wanted(&choice);
  gst_cuda_j2k_in_flight_clear(&choice);
  return wanted;
}

static void test_own_times(void)
{
  g_assert_cmpuint(wanted_with_slow(1), ==, 4); /* 4 of 32 */
  g_assert_cmpuint(wanted_with_slow(2), ==, 8); /* 8 of 32 */
}

/* With frames behind each other in the codec, only the time counts in which a frame has a place. */
static void test_queue(void)
{
  GstCudaJ2kInFlight choice;
  gint64 now = 0;

  gst_cuda_j2k_in_flight_init(&choice);
  gst_cuda_j2k_in_flight_start(&choice, 1);
  gst_cuda_j2k_in_flight_begin(&choice, 1, TRUE);
  /* Bursts of ten frames, of which each waits for those before it: 9 ms for each. */
  for (guint burst = 0; burst < 20; burst++) {
    for (guint i = 0; i < 10; i++)
      gst_cuda_j2k_in_flight_submitted(&choice, now, 10000);
    for (guint i = 0; i < 10; i++)
      gst_cuda_j2k_in_flight_received(&choice, now += 9000);
  }
  g_assert_cmpuint(gst_cuda_j2k_in_flight_wanted(&choice), ==, 1);
  for (guint i = 0; i < 10; i++)
    gst_cuda_j2k_in_flight_submitted(&choice, now, 10000);
  for (guint i = 0; i < 10; i++)
    gst_cuda_j2k_in_flight_received(&choice, now += 11000);
  g_assert_cmpuint(change(&choice), ==, 2);
  /* A duration that is not known says nothing. */
  for (guint i = 0; i < 100; i++) {
    gst_cuda_j2k_in_flight_submitted(&choice, now, 0);
    gst_cuda_j2k_in_flight_received(&choice, now += 1000000);
  }
  g_assert_cmpuint(change(&choice), ==, 2);
  gst_cuda_j2k_in_flight_limit(&choice, 3); /* memory */
  many_frames(&choice, &now, 1000, 100);
  g_assert_cmpuint(change(&choice), ==, 3);
  gst_cuda_j2k_in_flight_limit(&choice, 1);
  g_assert_cmpuint(change(&choice), ==, 1);
  many_frames(&choice, &now, 1000, 100);
  g_assert_cmpuint(change(&choice), ==, 1);
  gst_cuda_j2k_in_flight_received(&choice, now); /* without a submission */
  gst_cuda_j2k_in_flight_clear(&choice);
}

/* ----------------------------------------------------------------------------- the elements --- */

static GstVideoInfo rated(guint width, gint fps_n, gint fps_d)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I420, width, HEIGHT);
  info.fps_n = fps_n;
  info.fps_d = fps_d;
  return info;
}

static guint limit_of(Rig *rig, const gchar *factory)
{
  GstElement *element = rig_element(rig, factory);
  GstStructure *stats;
  guint limit = 0;
  g_object_get(element, "stats", &stats, NULL);
  g_assert_true(gst_structure_get_uint(stats, "in-flight-limit", &limit));
  gst_structure_free(stats);
  gst_object_unref(element);
  return limit;
}

static guint latency_messages(Rig *rig)
{
  guint n = 0;
  GstMessage *message;
  while ((message = gst_bus_pop_filtered(rig->bus, GST_MESSAGE_LATENCY))) {
    gst_message_unref(message);
    n++;
  }
  return n;
}

/* Pushes frames and pulls as many; returns a digest of their bytes, in order (transfer full). */
static gchar *pass(Rig *rig, const GstVideoInfo *info, guint first, guint count)
{
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  for (guint i = first; i < first + count; i++) {
    GstBuffer *raw = pixels_buffer(info, i);
    g_assert_cmpint(push_frame(rig->h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  for (guint i = first; i < first + count; i++) {
    GstBuffer *buffer = gst_harness_pull(rig->h);
    GstMapInfo map;
    g_assert_nonnull(buffer);
    g_assert_cmpuint(GST_BUFFER_PTS(buffer), ==, gst_util_uint64_scale(i, GST_SECOND, FPS));
    gst_buffer_map(buffer, &map, GST_MAP_READ);
    g_checksum_update(sum, map.data, (gssize)map.size);
    gst_buffer_unmap(buffer, &map);
    gst_buffer_unref(buffer);
  }
  gchar *digest = g_strdup(g_checksum_get_string(sum));
  g_checksum_free(sum);
  return digest;
}

#define ENCODER                                                                                    \
  "cudaj2kenc backend=cpu num-threads=2 rate-control=cbr max-frame-bytes=1500 num-resolutions=3 "
#define DECODER "cudaj2kdec backend=cpu num-threads=2 "

static Rig rig_of(const gchar *encoder, const gchar *decoder, gboolean live,
                  const GstVideoInfo *info)
{
  gchar *description = g_strdup_printf(ENCODER "%s ! " DECODER "%s", encoder, decoder);
  Rig rig = rig_new(description);
  gst_harness_set_live(rig.h, live);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
  g_free(description);
  return rig;
}

/* What a fixed number gives. */
static gchar *expected(const GstVideoInfo *info, guint count)
{
  Rig rig = rig_of("frames-in-flight=3", "frames-in-flight=5", TRUE, info);
  gchar *digest = pass(&rig, info, 0, count);
  rig_free(&rig);
  return digest;
}

/* A fixed number on the same way as test_live: slow video and fast video in turn. */
static void expect_turns(const GstVideoInfo *slow, const GstVideoInfo *fast, gchar *digests[4])
{
  Rig rig = rig_of("frames-in-flight=3", "frames-in-flight=5", TRUE, slow);
  for (guint turn = 0; turn < 4; turn++) {
    const GstVideoInfo *info = turn & 1 ? fast : slow;
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
    digests[turn] = pass(&rig, info, 0, FRAMES);
    g_assert_cmpuint(limit_of(&rig, "cudaj2kenc"), ==, 3);
    g_assert_cmpuint(limit_of(&rig, "cudaj2kdec"), ==, 5);
  }
  rig_free(&rig);
}

/* A slow live stream goes from one to the most, with messages, and loses and changes nothing; new
 * caps bring it back, and a stream that keeps up stays there. */
static void test_live(void)
{
  const GstVideoInfo slow = rated(WIDTH, SLOW), fast = rated(2 * WIDTH, FAST);
  gchar *digests[4];
  expect_turns(&slow, &fast, digests);
  Rig rig = rig_of("", "", TRUE, &slow);

  for (guint turn = 0; turn < 4; turn++) {
    const GstVideoInfo *info = turn & 1 ? &fast : &slow;
    guint most = turn & 1 ? 1 : GST_CUDA_J2K_MOST_LIVE;
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
    g_assert_cmpuint(limit_of(&rig, "cudaj2kenc"), ==, 1);
    latency_messages(&rig);
    gchar *found = pass(&rig, info, 0, FRAMES);
    g_assert_cmpstr(found, ==, digests[turn]);
    g_assert_cmpuint(limit_of(&rig, "cudaj2kenc"), ==, most);
    g_assert_cmpuint(limit_of(&rig, "cudaj2kdec"), ==, most);
    g_assert_cmpuint(gst_harness_query_latency(rig.h), ==, 2 * (most - 1) * GST_USECOND);
    if (most > 1) /* 2, 4, 8 in each of two elements */
      g_assert_cmpuint(latency_messages(&rig), >=, 2 * 3);
    g_free(found);
    g_free(digests[turn]);
  }
  rig_free(&rig);
}

/* Without a frame rate in the caps, timestamps say how long a frame may take: here 40 ms, which a
 * busy machine may exceed, so that only the result is checked. */
static void test_no_rate(void)
{
  const GstVideoInfo info = rated(WIDTH, NO_RATE);
  gchar *wanted = expected(&info, 30);
  Rig rig = rig_of("", "", TRUE, &info);
  gchar *found = pass(&rig, &info, 0, 30);
  g_assert_cmpstr(found, ==, wanted);
  rig_free(&rig);
  g_free(found);
  g_free(wanted);
}

/* A stream that is not live has a fixed number, above one. */
static void test_file(void)
{
  const GstVideoInfo slow = rated(WIDTH, SLOW);
  gchar *wanted = expected(&slow, FRAMES);
  Rig rig = rig_of("", "", FALSE, &slow);
  gchar *found = pass(&rig, &slow, 0, FRAMES);
  guint limit = limit_of(&rig, "cudaj2kenc");

  g_assert_cmpstr(found, ==, wanted);
  g_assert_cmpuint(limit, >=, 2);
  g_assert_cmpuint(limit, <=, 8);
  g_assert_cmpuint(limit_of(&rig, "cudaj2kdec"), ==, limit);
  rig_free(&rig);
  g_free(found);
  g_free(wanted);
}

/* A flush or the end of the stream while the number changes. */
static void test_flush(void)
{
  const GstVideoInfo slow = rated(WIDTH, SLOW);
  for (guint count = 1; count < 40; count += 7) {
    gchar *wanted = expected(&slow, count);
    Rig rig = rig_of("", "", TRUE, &slow);
    for (guint i = 0; i < count; i++) {
      GstBuffer *raw = pixels_buffer(&slow, i);
      push_frame(rig.h, raw, i);
      gst_buffer_unref(raw);
    }
    rig_flush(&rig);
    guint limit = limit_of(&rig, "cudaj2kenc");
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&slow)); /* the same: nothing changes */
    g_assert_cmpuint(limit_of(&rig, "cudaj2kenc"), >=, limit);
    rig_free(&rig);

    rig = rig_of("", "", TRUE, &slow);
    gchar *found = pass(&rig, &slow, 0, count);
    g_assert_cmpstr(found, ==, wanted);
    g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
    g_assert_null(gst_harness_try_pull(rig.h));
    rig_free(&rig);
    g_free(found);
    g_free(wanted);
  }
}

/* Statistics are read by another thread while numbers change. */
static gpointer read_stats(gpointer data)
{
  gint *done = ((gpointer *)data)[0];
  Rig *rig = ((gpointer *)data)[1];
  while (!g_atomic_int_get(done)) {
    limit_of(rig, "cudaj2kenc");
    limit_of(rig, "cudaj2kdec");
    g_usleep(100);
  }
  return NULL;
}

static void test_stats(void)
{
  const GstVideoInfo slow = rated(WIDTH, SLOW);
  Rig rig = rig_of("", "", TRUE, &slow);
  gint done = 0;
  gpointer data[] = {&done, &rig};
  GThread *reader = g_thread_new("reader", read_stats, data);
  g_free(pass(&rig, &slow, 0, FRAMES));
  g_atomic_int_set(&done, 1);
  g_thread_join(reader);
  rig_free(&rig);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/in-flight/choice", test_choice);
  g_test_add_func("/in-flight/queue", test_queue);
  g_test_add_func("/in-flight/own-times", test_own_times);
  g_test_add_func("/in-flight/live", test_live);
  g_test_add_func("/in-flight/no-rate", test_no_rate);
  g_test_add_func("/in-flight/file", test_file);
  g_test_add_func("/in-flight/flush", test_flush);
  g_test_add_func("/in-flight/stats", test_stats);
  return g_test_run();
}
