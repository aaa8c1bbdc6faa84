/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests rtpj2ksclpay and rtpj2kscldepay over a network that loses, doubles and reorders packets,
 * and with senders that restart. */
#include "rtp-streams.h"

/* Packets that come twice or out of order are no discontinuity; missing ones are. */
static void test_discont(void)
{
  Stream coded = stream_encode("precincts=64x64", GST_VIDEO_FORMAT_I420, 128, 96, 4, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=200 repeat-resolutions=2", &coded, NULL);
  for (guint lose = 0; lose < 2; lose++) {
    guint disconts = 0;
    for (guint i = 9; i + 9 < packets.buffers->len; i += 10) {
      gpointer swapped = packets.buffers->pdata[i];
      packets.buffers->pdata[i] = packets.buffers->pdata[i + 1];
      packets.buffers->pdata[i + 1] = swapped;
    }
    if (lose) {
      guint at = packets.buffers->len / 2;
      while (!rtp_view(packets.buffers->pdata[at]).marker)
        at--;
      g_ptr_array_remove_index(packets.buffers, at);
    }
    Stream received = stream_pass("rtpj2kscldepay", "", &packets, NULL);
    g_assert_cmpuint(received.buffers->len, ==, 4);
    for (guint i = 1; i < 4; i++)
      disconts += GST_BUFFER_IS_DISCONT((GstBuffer *)received.buffers->pdata[i]);
    g_assert_cmpuint(disconts, ==, lose);
    stream_clear(&received);
  }
  stream_clear(&coded);
  stream_clear(&packets);
}

/* A sender that restarts numbers its packets anew, with the same SSRC or another one. */
static void test_restart(void)
{
  Stream coded = stream_encode("precincts=64x64", GST_VIDEO_FORMAT_I420, 128, 96, 3, NULL);
  for (guint other = 0; other < 2; other++) {
    Stream first =
        stream_pass("rtpj2ksclpay", "ssrc=1 seqnum-offset=100 eseq-offset=7 mtu=300", &coded, NULL);
    Stream again = stream_pass("rtpj2ksclpay",
                               other ? "ssrc=2 seqnum-offset=90 eseq-offset=7 mtu=300"
                                     : "ssrc=1 seqnum-offset=5000 eseq-offset=140 mtu=300",
                               &coded, NULL);
    GstStructure *stats;
    for (guint i = 0; i < again.buffers->len; i++)
      g_ptr_array_add(first.buffers, gst_buffer_ref(again.buffers->pdata[i]));
    Stream received = stream_pass("rtpj2kscldepay", "", &first, &stats);
    stats_check(stats);
    /* With the same SSRC the first packet after the restart is dropped: it takes a second one in
     * sequence to tell a restart from a stray packet. */
    g_assert_cmpuint(received.buffers->len, ==, other ? 6 : 5);
    g_assert_cmpuint(stats_get(stats, "restarts"), ==, other ? 0 : 1);
    gst_structure_free(stats);
    stream_clear(&first);
    stream_clear(&again);
    stream_clear(&received);
  }
  stream_clear(&coded);
}

static const gchar *const lossy_streams[] = {
    "block-coder=ht precincts=64x64 progression-order=rpcl",
    "block-coder=mq precincts=64x64,32x32 progression-order=pcrl eph=true sop=true",
    "block-coder=ht precincts=64x64 progression-order=cprl sop=true plt=true tile-parts=resolution",
    "block-coder=mq num-layers=3 precincts=64x64 progression-order=lrcp",
    "block-coder=mq num-layers=3 precincts=64x64 progression-order=rlcp sop=true",
    "block-coder=ht tile-width=96 tile-height=64 sop=true",
    "block-coder=ht tile-width=96 tile-height=64 tile-parts=component",
    "block-coder=ht",
};
static guint64 decode_all(const Stream *received)
{
  guint64 pictures = 0;
  GstHarness *h = gst_harness_new_parse("cudaj2kdec backend=cpu");
  gst_harness_set_src_caps(h, gst_caps_ref(received->caps));
  for (guint i = 0; i < received->buffers->len; i++) {
    GstBuffer *buffer = gst_buffer_copy(received->buffers->pdata[i]);
    g_assert_cmpint(gst_harness_push(h, buffer), ==, GST_FLOW_OK);
  }
  gst_harness_push_event(h, gst_event_new_eos());
  GstBuffer *picture;
  while ((picture = gst_harness_try_pull(h))) {
    pictures++;
    gst_buffer_unref(picture);
  }
  gst_harness_teardown(h);
  return pictures;
}

static void test_losses(gconstpointer data)
{
  guint which = GPOINTER_TO_UINT(data);
  Stream coded =
      stream_encode(lossy_streams[which], GST_VIDEO_FORMAT_I422_10LE, 322, 201, 12, NULL);
  gboolean reuse = which % 2 == 0;
  Stream packets =
      stream_pass("rtpj2ksclpay", reuse ? "mtu=600 header-reuse=true" : "mtu=600", &coded, NULL);
  guint64 repaired = 0;
  for (guint seed = 0; seed < 12; seed++) {
    Network network = {.seed = 100 * which + seed,
                       .loss = seed % 4 == 3 ? 0 : 1 << (seed % 3 * 3),
                       .duplicate = seed % 2 ? 30 : 0,
                       .reorder = seed % 3 ? 30 : 0};
    guint dropped, doubled;
    GstStructure *stats;
    Stream arrived = network_pass(&network, &packets, &dropped, &doubled);
    Stream received = stream_pass("rtpj2kscldepay", "reorder-window=64", &arrived, &stats);
    stats_check(stats);
    g_assert_cmpuint(stats_get(stats, "received"), ==, arrived.buffers->len);
    g_assert_cmpuint(stats_get(stats, "duplicates"), ==, doubled);
    g_assert_cmpuint(stats_get(stats, "lost"), ==, dropped);
    g_assert_cmpuint(stats_get(stats, "late"), ==, 0);
    g_assert_cmpuint(stats_get(stats, "malformed"), ==, 0);
    if (!dropped)
      stream_assert_same(&coded, &received);
    guint64 flagged = 0;
    for (guint i = 0; i < received.buffers->len; i++)
      flagged += GST_BUFFER_FLAG_IS_SET(received.buffers->pdata[i], GST_BUFFER_FLAG_CORRUPTED);
    g_assert_cmpuint(flagged, ==, stats_get(stats, "corrupted-pictures"));
    g_assert_cmpuint(flagged, ==, stats_get(stats, "repaired-codestreams"));
    repaired += flagged;
    /* A picture is lost only if its main header is lost, and with header reuse only before the
     * first main header has arrived. */
    g_assert_cmpuint(received.buffers->len + stats_get(stats, "failed-codestreams"), >=, 11);
    if (reuse)
      g_assert_cmpuint(stats_get(stats, "failed-codestreams"), <=, 12);
    if (received.buffers->len > 0)
      g_assert_cmpuint(decode_all(&received), ==, received.buffers->len);
    gst_structure_free(stats);
    stream_clear(&arrived);
    stream_clear(&received);
  }
  g_assert_cmpuint(repaired, >, 0);
  stream_clear(&coded);
  stream_clear(&packets);
}

/* GStreamer's own elements (RFC 5371) drop the codestream's packets that had lost bytes, and the
 * decoder resynchronises behind them. */
static void test_stock(void)
{
  if (skip_without("rtpj2kpay") || skip_without("rtpj2kdepay"))
    return;
  Stream coded = stream_encode("sop=true block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I422_10LE, 322, 201, 12, NULL);
  Stream packets = stream_pass("rtpj2kpay", "mtu=600", &coded, NULL);
  Network network = {.seed = 5, .loss = 10};
  guint dropped, doubled;
  guint64 concealed = 0, flagged = 0;
  GstBuffer *picture;
  Stream arrived = network_pass(&network, &packets, &dropped, &doubled);
  GstHarness *h = gst_harness_new_parse("rtpj2kdepay ! cudaj2kdec backend=cpu name=decoder");
  gst_harness_set_src_caps(h, gst_caps_ref(arrived.caps));
  g_assert_cmpuint(dropped, >, 0);
  for (guint i = 0; i < arrived.buffers->len; i++)
    gst_harness_push(h, gst_buffer_ref(arrived.buffers->pdata[i]));
  gst_harness_push_event(h, gst_event_new_eos());
  GstElement *decoder = gst_harness_find_element(h, "cudaj2kdec");
  GstStructure *stats;
  g_object_get(decoder, "stats", &stats, NULL);
  while ((picture = gst_harness_try_pull(h))) {
    flagged += GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED);
    gst_buffer_unref(picture);
  }
  concealed = stats_get(stats, "concealed-frames");
  g_assert_cmpuint(concealed, >, 0);
  g_assert_cmpuint(concealed, ==, flagged);
  g_assert_cmpuint(stats_get(stats, "concealed-packets"), <, 60 * concealed);
  g_assert_cmpuint(stats_get(stats, "corrupt-blocks"), ==, 0);
  gst_structure_free(stats);
  gst_object_unref(decoder);
  gst_harness_teardown(h);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&arrived);
}

/* A repaired codestream differs only in what was lost: dropping an RTP packet that holds one packet
 * replaces this packet by an empty one and keeps all others. */
static void test_repair_is_exact(void)
{
  Stream coded = stream_encode("block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_GRAY8, 256, 256, 1, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=9000", &coded, NULL);
  guint last = packets.buffers->len - 1;
  gsize whole = gst_buffer_get_size(coded.buffers->pdata[0]);
  g_assert_cmpuint(last, >, 20);
  for (guint drop = 1; drop < last; drop++) {
    GstStructure *stats;
    Stream arrived = stream_new(packets.caps);
    for (guint i = 0; i <= last; i++)
      if (i != drop)
        g_ptr_array_add(arrived.buffers, gst_buffer_ref(packets.buffers->pdata[i]));
    Stream received = stream_pass("rtpj2kscldepay", "", &arrived, &stats);
    g_assert_cmpuint(received.buffers->len, ==, 1);
    g_assert_cmpuint(stats_get(stats, "filled-packets"), ==, 1);
    g_assert_cmpuint(stats_get(stats, "used"), ==, last);
    /* The RTP header has 12 bytes, the payload header 8, and the empty packet 1. */
    g_assert_cmpuint(gst_buffer_get_size(received.buffers->pdata[0]), ==,
                     whole - (gst_buffer_get_size(packets.buffers->pdata[drop]) - 20) + 1);
    gst_structure_free(stats);
    stream_clear(&arrived);
    stream_clear(&received);
  }
  stream_clear(&coded);
  stream_clear(&packets);
}

/* A codestream with a gap is handed out with its last packet, without waiting for the next
 * codestream. If the gap is so near its end that the missing packet may only be late, it waits for
 * the rest of the window. */
static void test_no_waiting(void)
{
  Stream coded = stream_encode("block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I420, 256, 192, 2, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=200", &coded, NULL);
  guint end = 0;
  while (!rtp_view(packets.buffers->pdata[end]).marker)
    end++;
  g_assert_cmpuint(end, >, 40);
  const guint gaps[] = {10, end - 20, end - 5};
  for (guint i = 0; i < G_N_ELEMENTS(gaps); i++) {
    GstHarness *h = gst_harness_new_parse("rtpj2kscldepay reorder-window=12");
    gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
    for (guint k = 0; k <= end + 13; k++) {
      if (k != gaps[i])
        gst_harness_push(h, gst_buffer_ref(packets.buffers->pdata[k]));
      gboolean waits = k < end || (i == 2 && k <= end - 5 + 12);
      g_assert_cmpuint(gst_harness_buffers_received(h), ==, !waits);
    }
    /* Events of rtpjitterbuffer about lost packets do not become gap events for the decoder. */
    gst_harness_push_event(
        h, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                gst_structure_new("GstRTPPacketLost", "seqnum", G_TYPE_UINT, 1u,
                                                  "timestamp", G_TYPE_UINT64, G_GUINT64_CONSTANT(0),
                                                  "duration", G_TYPE_UINT64, GST_SECOND, NULL)));
    GstEvent *event;
    while ((event = gst_harness_try_pull_event(h))) {
      g_assert_cmpint(GST_EVENT_TYPE(event), !=, GST_EVENT_GAP);
      gst_event_unref(event);
    }
    gst_harness_teardown(h);
  }
  stream_clear(&coded);
  stream_clear(&packets);
}

/* Codestreams arrive intact if of each packet that is sent twice the first copy is lost. */
static void test_repeats(void)
{
  Stream coded = stream_encode("block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I420, 256, 192, 4, NULL);
  Stream once = stream_pass("rtpj2ksclpay", "mtu=200", &coded, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=200 repeat-resolutions=2", &coded, NULL);
  g_assert_cmpuint(packets.buffers->len, >, once.buffers->len + 4);
  g_assert_cmpuint(packets.buffers->len, <, once.buffers->len * 5 / 4);
  for (guint phase = 0; phase < 2; phase++) {
    GHashTable *seen = g_hash_table_new(NULL, NULL);
    Stream arrived = stream_new(packets.caps);
    GstStructure *stats;
    guint dropped = 0, repeats = 0;
    for (guint i = packets.buffers->len; i-- > 0;) {
      /* Goes from the end: a packet whose number was seen already is the first of two copies. */
      GstBuffer *packet = packets.buffers->pdata[i];
      gboolean is_first = !g_hash_table_add(seen, GUINT_TO_POINTER(rtp_view(packet).seq + 1u));
      repeats += is_first;
      if (phase == 0 || !is_first)
        g_ptr_array_insert(arrived.buffers, 0, gst_buffer_ref(packet));
      else
        dropped++;
    }
    g_assert_cmpuint(repeats, >=, 8);
    g_assert_cmpuint(packets.buffers->len - repeats, ==, once.buffers->len);
    Stream received = stream_pass("rtpj2kscldepay", "", &arrived, &stats);
    stream_assert_same(&coded, &received);
    stats_check(stats);
    g_assert_cmpuint(stats_get(stats, "duplicates"), ==, repeats - dropped);
    g_assert_cmpuint(stats_get(stats, "lost"), ==, 0);
    gst_structure_free(stats);
    stream_clear(&arrived);
    stream_clear(&received);
    g_hash_table_unref(seen);
  }
  stream_clear(&coded);
  stream_clear(&once);
  stream_clear(&packets);
}

/* max-resolution leaves out packets; the rest is a smaller codestream that is not corrupted. */
static void test_limits(void)
{
  Stream coded = stream_encode("block-coder=mq num-layers=3 precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I420, 256, 192, 3, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "", &coded, NULL);
  gsize before = G_MAXSIZE;
  for (gint i = 7; i >= 3; i--) {
    gchar *options = g_strdup_printf("max-resolution=%d", i);
    GstStructure *stats;
    Stream received = stream_pass("rtpj2kscldepay", options, &packets, &stats);
    stats_check(stats);
    g_assert_cmpuint(received.buffers->len, ==, 3);
    g_assert_cmpuint(stats_get(stats, i < 7 ? "reduced-codestreams" : "intact-codestreams"), ==, 3);
    g_assert_cmpuint(stats_get(stats, "corrupted-pictures"), ==, 0);
    g_assert_cmpuint(decode_all(&received), ==, 3);
    g_assert_cmpuint(gst_buffer_get_size(received.buffers->pdata[0]), <, before);
    before = gst_buffer_get_size(received.buffers->pdata[0]);
    gst_structure_free(stats);
    stream_clear(&received);
    g_free(options);
  }
  stream_clear(&coded);
  stream_clear(&packets);
}

/* With random bytes in packets nothing crashes or hangs, and every packet is accounted for. */
static void test_mutated(void)
{
  guint rounds = g_getenv("CJ2K_TESTS_LONG") ? 3000 : 120;
  for (guint which = 0; which < G_N_ELEMENTS(lossy_streams); which++) {
    Stream coded = stream_encode(lossy_streams[which], GST_VIDEO_FORMAT_I420, 130, 97, 3, NULL);
    Stream packets = stream_pass("rtpj2ksclpay", "mtu=400 header-reuse=true", &coded, NULL);
    for (guint round = 0; round < rounds / G_N_ELEMENTS(lossy_streams); round++) {
      Network network = {.seed = 7000 + round, .loss = 20, .duplicate = 20, .reorder = 20};
      guint dropped, doubled;
      GstStructure *stats;
      Stream arrived = network_pass(&network, &packets, &dropped, &doubled);
      network_mutate(&network, &arrived, 1 + round % 40);
      Stream received = stream_pass("rtpj2kscldepay", "", &arrived, &stats);
      stats_check(stats);
      gst_structure_free(stats);
      stream_clear(&arrived);
      stream_clear(&received);
    }
    stream_clear(&coded);
    stream_clear(&packets);
  }
}

/* Four pictures in RTP packets with numbers from 0, each picture with `*length` packets. */
static Stream send_pictures(guint *length)
{
  Stream coded = stream_encode("block-coder=ht precincts=64x64 progression-order=rpcl",
                               GST_VIDEO_FORMAT_I420, 256, 192, 1, NULL);
  for (guint i = 1; i < 4; i++) {
    g_ptr_array_add(coded.buffers, gst_buffer_copy(coded.buffers->pdata[0]));
    GST_BUFFER_PTS((GstBuffer *)coded.buffers->pdata[i]) = i * GST_SECOND / 25;
  }
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=400 ssrc=1 seqnum-offset=0", &coded, NULL);
  *length = packets.buffers->len / 4;
  g_assert_cmpuint(packets.buffers->len, ==, 4 * *length);
  stream_clear(&coded);
  return packets;
}

/* Pushes packets first up to `end`, but not `without`. */
static void push_packets(GstHarness *h, const Stream *packets, guint first, guint end,
                         guint without)
{
  for (guint i = first; i < end; i++)
    if (i != without)
      g_assert_cmpint(gst_harness_push(h, gst_buffer_ref(packets->buffers->pdata[i])), ==,
                      GST_FLOW_OK);
}

static void pull_corrupted(GstHarness *h)
{
  GstBuffer *buffer = gst_harness_pull(h); /* waits for it */
  g_assert_nonnull(buffer);
  g_assert_true(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED));
  gst_buffer_unref(buffer);
}

/* In a live pipeline a codestream with a gap is pushed after the deadline, even if no packet
 * follows. The deadline is part of the latency. */
static void test_deadline(void)
{
  guint length;
  Stream packets = send_pictures(&length);
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay reorder-window=60000 deadline=30");
  gst_harness_set_live(h, TRUE);
  gst_harness_set_upstream_latency(h, 10 * GST_MSECOND);
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  g_assert_cmpuint(gst_harness_query_latency(h), ==, 40 * GST_MSECOND);
  push_packets(h, &packets, 0, length, length - 2);
  pull_corrupted(h);
  push_packets(h, &packets, length, 2 * length, length + 3);
  pull_corrupted(h);
  /* The sender stops, without a marker. */
  push_packets(h, &packets, 2 * length, 3 * length - 1, G_MAXUINT);
  pull_corrupted(h);
  gst_harness_teardown(h);

  /* Elsewhere it adds nothing, and packets may take any time. */
  h = gst_harness_new_parse("rtpj2kscldepay reorder-window=60000 deadline=1");
  gst_harness_set_live(h, FALSE);
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  g_assert_cmpuint(gst_harness_query_latency(h), ==, 0);
  push_packets(h, &packets, 0, length, 5);
  g_usleep(20000);
  push_packets(h, &packets, length, 2 * length, G_MAXUINT);
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 0);
  push_packets(h, &packets, 5, 6, G_MAXUINT);
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 2);
  gst_harness_teardown(h);
  stream_clear(&packets);
}

/* rtpjitterbuffer tells which packets are lost (do-lost=true); these are not waited for. */
static void test_lost_events(void)
{
  guint length;
  Stream packets = send_pictures(&length);
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay reorder-window=60000 deadline=0");
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  push_packets(h, &packets, 0, length, 5);
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 0);
  gst_harness_push_event(
      h, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                              gst_structure_new("GstRTPPacketLost", "seqnum", G_TYPE_UINT, 5u,
                                                "timestamp", G_TYPE_UINT64, G_GUINT64_CONSTANT(0),
                                                "duration", G_TYPE_UINT64, GST_SECOND, NULL)));
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 1);
  pull_corrupted(h);
  gst_harness_teardown(h);
  stream_clear(&packets);
}

/* A picture has the time of its packets, although those that FEC restored have none. */
static void test_times(void)
{
  guint length;
  Stream packets = send_pictures(&length);
  for (guint i = 0; i < packets.buffers->len; i++)
    if (i % length == 0 || i % length == length - 1)
      GST_BUFFER_PTS((GstBuffer *)packets.buffers->pdata[i]) = GST_CLOCK_TIME_NONE;
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, NULL);
  g_assert_cmpuint(received.buffers->len, ==, 4);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpuint(GST_BUFFER_PTS((GstBuffer *)received.buffers->pdata[i]), ==,
                     GST_BUFFER_PTS((GstBuffer *)packets.buffers->pdata[i * length + 1]));
  stream_clear(&packets);
  stream_clear(&received);
}

/* A new segment does not overtake pictures. */
static void test_segment(void)
{
  guint length, pictures = 0;
  Stream packets = send_pictures(&length);
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay deadline=0");
  GstSegment segment;
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  push_packets(h, &packets, 0, length - 1, G_MAXUINT);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.position = segment.time = GST_SECOND;
  gst_harness_push_event(h, gst_event_new_segment(&segment));
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 1);
  push_packets(h, &packets, length, 2 * length, G_MAXUINT);
  g_assert_cmpuint(gst_harness_buffers_received(h), ==, 2);
  for (; pictures < 2; pictures++) {
    GstBuffer *buffer = gst_harness_pull(h);
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED), ==, pictures == 0);
    gst_buffer_unref(buffer);
  }
  gst_harness_teardown(h);
  stream_clear(&packets);
}

/* Single packets of another sender change nothing; two in succession are a new sender. */
static void test_strays(void)
{
  guint length;
  GstStructure *stats;
  Stream packets = send_pictures(&length), arrived = stream_new(packets.caps);
  for (guint i = 0; i < packets.buffers->len; i++) {
    g_ptr_array_add(arrived.buffers, gst_buffer_ref(packets.buffers->pdata[i]));
    if (i % 7 == 3) {
      const guint8 ssrc[4] = {1, 2, 3, (guint8)i};
      GstBuffer *stray = gst_buffer_copy_deep(packets.buffers->pdata[i]);
      gst_buffer_fill(stray, 8, ssrc, sizeof ssrc);
      g_ptr_array_add(arrived.buffers, stray);
    }
  }
  Stream received = stream_pass("rtpj2kscldepay", "", &arrived, &stats);
  g_assert_cmpuint(received.buffers->len, ==, 4);
  g_assert_cmpuint(stats_get(stats, "intact-codestreams"), ==, 4);
  g_assert_cmpuint(stats_get(stats, "foreign"), ==, arrived.buffers->len - packets.buffers->len);
  g_assert_cmpuint(stats_get(stats, "received"), ==, arrived.buffers->len);
  stats_check(stats);
  gst_structure_free(stats);
  stream_clear(&packets);
  stream_clear(&arrived);
  stream_clear(&received);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(lossy_streams); i++) {
    gchar *name = g_strdup_printf("/rtp-losses/streams/%s", lossy_streams[i]);
    g_test_add_data_func(name, GUINT_TO_POINTER(i), test_losses);
    g_free(name);
  }
  g_test_add_func("/rtp-losses/discont", test_discont);
  g_test_add_func("/rtp-losses/restart", test_restart);
  g_test_add_func("/rtp-losses/stock", test_stock);
  g_test_add_func("/rtp-losses/repair-is-exact", test_repair_is_exact);
  g_test_add_func("/rtp-losses/no-waiting", test_no_waiting);
  g_test_add_func("/rtp-losses/deadline", test_deadline);
  g_test_add_func("/rtp-losses/lost-events", test_lost_events);
  g_test_add_func("/rtp-losses/times", test_times);
  g_test_add_func("/rtp-losses/segment", test_segment);
  g_test_add_func("/rtp-losses/strays", test_strays);
  g_test_add_func("/rtp-losses/repeats", test_repeats);
  g_test_add_func("/rtp-losses/limits", test_limits);
  g_test_add_func("/rtp-losses/mutated", test_mutated);
  return g_test_run();
}
