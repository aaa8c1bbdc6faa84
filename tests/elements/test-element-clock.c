/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements while the clock jumps: no picture is lost silently, nothing hangs, and what waits
 * for a time does not wait for the clock to come back. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/support/clock.h"

#include "rtp-streams.h"

#include <unistd.h>

#define FRAMES  40
#define LIMIT_S 120 /* for one test, on a busy machine with sanitizers */

typedef struct {
  guint pictures, corrupted;
} Output;

/* Takes the pictures that have come. */
static Output pull_all(GstHarness *h)
{
  Output output = {0};
  GstBuffer *picture;
  while ((picture = gst_harness_try_pull(h))) {
    output.pictures++;
    output.corrupted += GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED);
    gst_buffer_unref(picture);
  }
  return output;
}

static Output pass_pictures(Rig *rig, const GstVideoInfo *info, guint first)
{
  GstBuffer *raw = pixels_buffer(info, 0);
  for (guint i = 0; i < FRAMES; i++)
    g_assert_cmpint(push_frame(rig->h, raw, first + i), ==, GST_FLOW_OK);
  gst_buffer_unref(raw);
  gst_harness_push_event(rig->h, gst_event_new_eos());
  return pull_all(rig->h);
}

/* Encoder, RTP and decoder. Without a deadline no picture suffers. With one, the receiver must
 * believe a clock that has jumped forwards: pictures are incomplete, but flagged. */
static void test_chain(gconstpointer data)
{
  gboolean live = GPOINTER_TO_INT(data);
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 130, 50);
  alarm(LIMIT_S);
  Rig rig =
      rig_new("cudaj2kenc backend=cpu block-coder=ht rate-control=lossless stats-interval=1 ! "
              "rtpj2ksclpay mtu=400 ! rtpj2kscldepay ! cudaj2kdec backend=cpu max-errors=-1");
  gst_harness_set_live(rig.h, live);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&info));
  gst_harness_query_latency(rig.h); /* by which the receiver learns that it is live */
  g_atomic_int_set(&clock_restless, TRUE);
  Output jumping = pass_pictures(&rig, &info, 0);
  g_atomic_int_set(&clock_restless, FALSE);
  g_test_message("%u pictures, %u incomplete", jumping.pictures, jumping.corrupted);
  if (!live) {
    g_assert_cmpuint(jumping.pictures, ==, FRAMES);
    g_assert_cmpuint(jumping.corrupted, ==, 0);
  } else if (jumping.pictures < FRAMES) { /* counted, hence not lost silently */
    GstElement *receiver = rig_element(&rig, "rtpj2kscldepay");
    GstStructure *stats;
    g_object_get(receiver, "stats", &stats, NULL);
    g_assert_cmpuint(stats_get(stats, "failed-codestreams") + jumping.pictures, >=, FRAMES);
    gst_structure_free(stats);
    gst_object_unref(receiver);
  }
  rig_flush(&rig);
  Output still = pass_pictures(&rig, &info, FRAMES);
  g_assert_cmpuint(still.pictures, ==, FRAMES);
  g_assert_cmpuint(still.corrupted, ==, 0);
  rig_free(&rig);
  alarm(0);
}

/* Pushes the packets of picture `number` of two, but for the last but one. */
static void push_with_gap(GstHarness *h, const Stream *packets, guint number)
{
  guint length = packets->buffers->len / 2;
  for (guint i = number * length; i < (number + 1) * length; i++)
    if (i != (number + 1) * length - 2)
      gst_harness_push(h, gst_buffer_ref(packets->buffers->pdata[i]));
}

/* An incomplete picture is pushed after the deadline even if the clock was set back by an hour
 * before it came, or while it is waited for. */
static void test_deadline(void)
{
  Stream coded = stream_encode("block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I420, 256, 192, 1, NULL);
  alarm(LIMIT_S);
  g_ptr_array_add(coded.buffers, gst_buffer_copy(coded.buffers->pdata[0]));
  GST_BUFFER_PTS((GstBuffer *)coded.buffers->pdata[1]) = GST_SECOND / 25;
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=400 ssrc=1 seqnum-offset=0", &coded, NULL);
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay reorder-window=60000 deadline=200");
  gst_harness_set_live(h, TRUE);
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  gst_harness_query_latency(h); /* by which the element learns that it is live */
  for (guint number = 0; number < 2; number++) {
    if (number == 1)
      clock_jump(-CLOCK_HOUR);
    push_with_gap(h, &packets, number);
    if (number == 0)
      clock_jump(-CLOCK_HOUR);
    GstBuffer *picture = gst_harness_pull(h); /* waits for it, up to a minute */
    g_assert_nonnull(picture);
    g_assert_true(GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED));
    gst_buffer_unref(picture);
  }
  gst_harness_teardown(h);
  stream_clear(&packets);
  stream_clear(&coded);
  alarm(0);
}

static guint element_messages(Rig *rig)
{
  GstMessage *message;
  guint count = 0;
  while ((message = gst_bus_pop_filtered(rig->bus, GST_MESSAGE_ELEMENT))) {
    count++;
    gst_message_unref(message);
  }
  return count;
}

/* Statistics are posted again as soon as the clock was set back. */
static void test_statistics(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_GRAY8, 33, 21);
  Rig rig = rig_encoder("backend=cpu stats-interval=100000", &info);
  pass_pictures(&rig, &info, 0);
  g_assert_cmpuint(element_messages(&rig), ==, 0);
  clock_jump(-CLOCK_HOUR);
  rig_flush(&rig);
  pass_pictures(&rig, &info, FRAMES);
  g_assert_cmpuint(element_messages(&rig), >=, 1);
  rig_free(&rig);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/clock/chain", GINT_TO_POINTER(FALSE), test_chain);
  g_test_add_data_func("/clock/chain-live", GINT_TO_POINTER(TRUE), test_chain);
  g_test_add_func("/clock/deadline", test_deadline);
  g_test_add_func("/clock/statistics", test_statistics);
  int result = g_test_run();
  gst_deinit();
  return result;
}
