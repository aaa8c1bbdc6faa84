/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests rtpj2ksclpay and rtpj2kscldepay: round trips, and a network that loses, doubles and
 * reorders packets. */
#include "rtp-streams.h"

static void assert_same_bytes(GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  g_assert_cmpuint(gst_buffer_get_size(a), ==, gst_buffer_get_size(b));
  g_assert_true(gst_buffer_map(a, &map, GST_MAP_READ));
  g_assert_cmpint(gst_buffer_memcmp(b, 0, map.data, map.size), ==, 0);
  gst_buffer_unmap(a, &map);
}

static void assert_same_streams(const Stream *sent, const Stream *received)
{
  g_assert_cmpuint(received->buffers->len, ==, sent->buffers->len);
  for (guint i = 0; i < sent->buffers->len; i++) {
    GstBuffer *buffer = received->buffers->pdata[i];
    assert_same_bytes(sent->buffers->pdata[i], buffer);
    g_assert_false(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED));
  }
}

/* ------------------------------------------------------------------------------ round trip --- */

static void test_round_trip(gconstpointer data)
{
  const gchar *properties = data;
  static const guint mtus[] = {576, 1400, 9000};
  Stream coded = stream_encode(properties, GST_VIDEO_FORMAT_I422_10LE, 178, 101, 3, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(mtus); i++) {
    for (guint marked = 0; marked < 2; marked++) {
      gchar *options = g_strdup_printf("mtu=%u mark-precincts=%u", mtus[i], marked);
      Stream packets = stream_pass("rtpj2ksclpay", options, &coded, NULL);
      GstStructure *stats;
      Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
      g_assert_cmpuint(stream_largest(&packets), <=, mtus[i]);
      assert_same_streams(&coded, &received);
      stats_check(stats);
      g_assert_cmpuint(stats_get(stats, "used"), ==, packets.buffers->len);
      g_assert_cmpuint(stats_get(stats, "intact-codestreams"), ==, 3);
      gst_structure_free(stats);
      stream_clear(&packets);
      stream_clear(&received);
      g_free(options);
    }
  }
  stream_clear(&coded);
}

/* The transfer curve by its code point in H.273, which has several for that of BT.709. */
static guint transfer_curve(const GstVideoColorimetry *colours)
{
  guint number = gst_video_transfer_function_to_iso(colours->transfer);
  return number == 14 || number == 15 ? 1 : number;
}

/* A frame of more than 16 MiB, which the 24 bits of RFC 5371 cannot address. */
static void test_large(void)
{
  Stream coded = stream_encode_noise(GST_VIDEO_FORMAT_GBR, 2700, 2200);
  Stream packets = stream_pass("rtpj2ksclpay", "", &coded, NULL);
  GstStructure *stats;
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
  g_assert_cmpuint(gst_buffer_get_size(coded.buffers->pdata[0]), >, 1 << 24);
  assert_same_streams(&coded, &received);
  stats_check(stats);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&received);
}

/* Sampling, colour space, colorimetry and frame rate arrive in the receiver's caps. */
static void test_caps(void)
{
  static const struct {
    GstVideoFormat format;
    const gchar *colorimetry, *pixel, *sampling;
  } cases[] = {
      {GST_VIDEO_FORMAT_I422_10LE, "bt709", "ycbcr422sdr", "YCbCr-4:2:2"},
      {GST_VIDEO_FORMAT_I422_10LE, "bt2020-10", "ycbcr422wcg", "YCbCr-4:2:2"},
      {GST_VIDEO_FORMAT_I422_10LE, "bt2100-pq", "ycbcr422pq", "YCbCr-4:2:2"},
      {GST_VIDEO_FORMAT_I422_10LE, "bt2100-hlg", "ycbcr422hlg", "YCbCr-4:2:2"},
      {GST_VIDEO_FORMAT_I420, "bt709", "ycbcr420sdr", "YCbCr-4:2:0"},
      {GST_VIDEO_FORMAT_I420, "bt601", NULL, "YCbCr-4:2:0"},
      {GST_VIDEO_FORMAT_Y444, "bt709", NULL, "YCbCr-4:4:4"},
      {GST_VIDEO_FORMAT_GBR_10LE, "1:1:5:1", "rgb444sdr", "RGB"},
      {GST_VIDEO_FORMAT_GRAY8, "bt709", NULL, "GRAYSCALE"},
      {GST_VIDEO_FORMAT_RGBA, "sRGB", NULL, "RGBA"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Stream coded = stream_encode("", cases[i].format, 64, 48, 1, cases[i].colorimetry);
    Stream packets = stream_pass("rtpj2ksclpay", "", &coded, NULL);
    Stream received = stream_pass("rtpj2kscldepay", "", &packets, NULL);
    const GstStructure *rtp = gst_caps_get_structure(packets.caps, 0);
    const GstStructure *before = gst_caps_get_structure(coded.caps, 0);
    const GstStructure *after = gst_caps_get_structure(received.caps, 0);
    GstVideoColorimetry in, out;
    gint fps_n = 0, fps_d = 0;
    g_assert_true(gst_structure_get_fraction(after, "framerate", &fps_n, &fps_d));
    g_assert_cmpint(fps_n, ==, 25);
    g_assert_cmpint(fps_d, ==, 1);
    g_assert_cmpstr(gst_structure_get_string(rtp, "encoding-name"), ==, "JPEG2000-SCL");
    g_assert_cmpstr(gst_structure_get_string(rtp, "pixel"), ==, cases[i].pixel);
    g_assert_cmpstr(gst_structure_get_string(rtp, "width"), ==, "64");
    g_assert_cmpstr(gst_structure_get_string(rtp, "height"), ==, "48");
    g_assert_cmpstr(gst_structure_get_string(rtp, "signal"), ==, "prog");
    g_assert_cmpstr(gst_structure_get_string(before, "sampling"), ==, cases[i].sampling);
    g_assert_cmpstr(gst_structure_get_string(after, "sampling"), ==, cases[i].sampling);
    g_assert_cmpstr(gst_structure_get_string(after, "colorspace"), ==,
                    gst_structure_get_string(before, "colorspace"));
    g_assert_true(
        gst_video_colorimetry_from_string(&in, gst_structure_get_string(before, "colorimetry")));
    g_assert_true(
        gst_video_colorimetry_from_string(&out, gst_structure_get_string(after, "colorimetry")));
    g_assert_cmpint(in.primaries, ==, out.primaries);
    g_assert_cmpint(in.range, ==, out.range);
    g_assert_cmpint(transfer_curve(&in), ==, transfer_curve(&out));
    stream_clear(&coded);
    stream_clear(&packets);
    stream_clear(&received);
  }
}

/* The decoder's output is interlaced for fields, and progressive for the segments of PsF. */
static void assert_decoded_fields(const Stream *received, gboolean psf)
{
  GstHarness *h = gst_harness_new_parse("cudaj2kdec backend=cpu");
  gst_harness_set_src_caps(h, gst_caps_ref(received->caps));
  gst_harness_push(h, gst_buffer_ref(received->buffers->pdata[0]));
  gst_harness_push_event(h, gst_event_new_eos());
  GstBuffer *picture = gst_harness_pull(h);
  GstVideoInfo info = output_video(h);
  g_assert_cmpint(GST_VIDEO_INFO_HEIGHT(&info), ==, 64);
  g_assert_cmpint(GST_VIDEO_INFO_INTERLACE_MODE(&info), ==,
                  psf ? GST_VIDEO_INTERLACE_MODE_PROGRESSIVE
                      : GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
  g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(picture, GST_VIDEO_BUFFER_FLAG_INTERLACED), ==, !psf);
  gst_buffer_unref(picture);
  gst_harness_teardown(h);
}

/* Interlaced pictures are two codestreams, half a frame apart; TP and caps tell which lines come
 * first. */
static void test_fields(gconstpointer data)
{
  const gchar *order = data;
  gboolean psf = g_str_equal(order, "psf");
  Stream coded = stream_encode_fields(order, 4);
  Stream packets = stream_pass("rtpj2ksclpay", "timestamp-offset=4294965000", &coded, NULL);
  GstStructure *stats;
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
  const GstStructure *rtp = gst_caps_get_structure(packets.caps, 0);
  const GstStructure *out = gst_caps_get_structure(received.caps, 0);
  gint fields = 0;
  assert_same_streams(&coded, &received);
  stats_check(stats);
  g_assert_cmpuint(stats_get(stats, "intact-codestreams"), ==, 8);
  g_assert_cmpstr(gst_structure_get_string(rtp, "signal"), ==, order);
  g_assert_cmpstr(gst_structure_get_string(rtp, "height"), ==, "64");
  g_assert_true(gst_structure_get_int(out, "fields", &fields));
  g_assert_cmpint(fields, ==, 2);
  g_assert_cmpstr(gst_structure_get_string(out, "interlace-mode"), ==,
                  psf ? "progressive" : "interleaved");
  /* 25 frames a second: 1800 ticks from field to field. */
  guint32 before = 4294965000u - (psf ? 0 : 1800);
  guint32 first = before;
  guint seen = 0;
  for (guint i = 0; i < packets.buffers->len; i++) {
    RtpView view = rtp_view(packets.buffers->pdata[i]);
    if (i > 0 && rtp_view(packets.buffers->pdata[i - 1]).marker) {
      first = before;
      seen++;
    }
    g_assert_cmpuint(view.timestamp, ==,
                     psf ? 4294965000u + seen / 2 * 3600 : 4294965000u + seen * 1800);
    g_assert_cmpuint(view.part, ==, (psf ? 5 : g_str_equal(order, "tff") ? 1 : 3) + seen % 2);
    before = first;
  }
  g_assert_cmpuint(seen, ==, 7);
  assert_decoded_fields(&received, psf);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&received);
}

/* SDP rounds 30000/1001. */
static void test_frame_rates(void)
{
  static const struct {
    const gchar *text;
    gint n, d;
  } cases[] = {{"23.98", 24000, 1001}, {"29.97", 30000, 1001}, {"29.97002997", 30000, 1001},
               {"59.94", 60000, 1001}, {"24", 24, 1},          {"25.0", 25, 1},
               {"60", 60, 1},          {"12.5", 25, 2}};
  Stream coded = stream_encode("", GST_VIDEO_FORMAT_GRAY8, 32, 32, 1, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "", &coded, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gint n = 0, d = 0;
    packets.caps = gst_caps_make_writable(packets.caps);
    gst_caps_set_simple(packets.caps, "a-framerate", G_TYPE_STRING, cases[i].text, NULL);
    Stream received = stream_pass("rtpj2kscldepay", "", &packets, NULL);
    g_assert_true(
        gst_structure_get_fraction(gst_caps_get_structure(received.caps, 0), "framerate", &n, &d));
    g_assert_cmpint(n, ==, cases[i].n);
    g_assert_cmpint(d, ==, cases[i].d);
    stream_clear(&received);
  }
  stream_clear(&coded);
  stream_clear(&packets);
}

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

/* Frames at 30000/1001 a second are 3003 ticks apart, although their nanoseconds are rounded. */
static void test_timestamps(void)
{
  Stream coded = stream_encode("", GST_VIDEO_FORMAT_GRAY8, 32, 32, 1, NULL);
  Stream many = stream_new(coded.caps);
  for (guint i = 0; i < 40; i++) {
    GstBuffer *buffer = gst_buffer_copy(coded.buffers->pdata[0]);
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(i * 1001, GST_SECOND, 30000);
    g_ptr_array_add(many.buffers, buffer);
  }
  Stream packets = stream_pass("rtpj2ksclpay", "timestamp-offset=0", &many, NULL);
  guint frame = 0;
  for (guint i = 0; i < packets.buffers->len; i++) {
    RtpView view = rtp_view(packets.buffers->pdata[i]);
    g_assert_cmpuint(view.timestamp, ==, 3003 * frame);
    frame += view.marker;
  }
  g_assert_cmpuint(frame, ==, 40);
  stream_clear(&coded);
  stream_clear(&many);
  stream_clear(&packets);
}

/* Sequence number, ESEQ and timestamp may wrap anywhere in a stream. */
static void test_wraps(void)
{
  Stream coded =
      stream_encode("precincts=32x32 num-resolutions=3", GST_VIDEO_FORMAT_I420, 256, 192, 6, NULL);
  Stream packets = stream_pass(
      "rtpj2ksclpay", "mtu=200 seqnum-offset=65000 eseq-offset=255 timestamp-offset=4294955000",
      &coded, NULL);
  GstStructure *stats;
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
  guint32 number = 255u << 16 | 65000;
  g_assert_cmpuint(packets.buffers->len, >, 600);
  for (guint i = 0; i < packets.buffers->len; i++, number++) {
    RtpView view = rtp_view(packets.buffers->pdata[i]);
    g_assert_cmpuint((guint32)view.eseq << 16 | view.seq, ==, number & 0xffffff);
  }
  assert_same_streams(&coded, &received);
  stats_check(stats);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&received);
}

/* The receiver tolerates senders that write MH = 2 for a single Main packet, never increment ESEQ,
 * set ORDH without marking resync points, and send padding behind EOC in packets of its own. */
static void test_odd_senders(void)
{
  Stream coded =
      stream_encode("precincts=64x64 block-coder=ht", GST_VIDEO_FORMAT_I420, 256, 192, 8, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "mtu=300 seqnum-offset=65300", &coded, NULL);
  Stream odd = stream_new(packets.caps);
  guint16 seq = 65300;
  guint padding = 0;
  for (guint i = 0; i < packets.buffers->len; i++) {
    GstBuffer *copy = gst_buffer_copy_deep(packets.buffers->pdata[i]);
    GstMapInfo map;
    g_assert_true(gst_buffer_map(copy, &map, GST_MAP_READWRITE));
    GST_WRITE_UINT16_BE(map.data + 2, seq++);
    gboolean is_main = map.data[12] >> 6, marker = map.data[1] >> 7;
    if (is_main)
      map.data[12] = (map.data[12] & 0x3f) | 0x80;
    else
      memset(map.data + 16, 0, 4), map.data[13] &= 0x7f;
    map.data[15] = 0;
    gst_buffer_unmap(copy, &map);
    g_ptr_array_add(odd.buffers, copy);
    if (!marker || i % 2)
      continue;
    copy = gst_buffer_copy_deep(copy);
    g_assert_true(gst_buffer_map(copy, &map, GST_MAP_READWRITE));
    map.data[1] &= 0x7f;
    GST_WRITE_UINT16_BE(map.data + 2, seq++);
    memset(map.data + 20, 0, map.size - 20);
    gst_buffer_unmap(copy, &map);
    g_ptr_array_add(odd.buffers, copy);
    padding++;
  }
  GstStructure *stats;
  Stream received = stream_pass("rtpj2kscldepay", "", &odd, &stats);
  g_assert_cmpuint(seq, <, 65300); /* it wrapped */
  assert_same_streams(&coded, &received);
  stats_check(stats);
  g_assert_cmpuint(stats_get(stats, "unused"), ==, padding);
  g_assert_cmpuint(stats_get(stats, "lost"), ==, 0);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&odd);
  stream_clear(&received);
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

/* ---------------------------------------------------------------------------------- losses --- */

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
      assert_same_streams(&coded, &received);
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

/* The PTS of paced packets is the time at which they leave; RTP timestamps and the received
 * codestreams are the same as without pacing. */
static void test_pacing(gconstpointer data)
{
  const gchar *kind = data;
  gboolean fields = !g_str_equal(kind, "frames");
  Stream coded = fields
                     ? stream_encode_fields(kind, 3)
                     : stream_encode("precincts=32x32", GST_VIDEO_FORMAT_I420, 320, 240, 3, NULL);
  const gchar *common = "mtu=100 seqnum-offset=1 timestamp-offset=0 repeat-resolutions=1";
  gchar *paced = g_strdup_printf("%s pacing=2", common);
  Stream burst = stream_pass("rtpj2ksclpay", common, &coded, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", paced, &coded, NULL);
  /* At 25 frames a second and twice the mean rate a frame's packets take half its duration. */
  GstClockTime spread = GST_SECOND / 25 / 2 / (fields ? 2 : 1);
  GstClockTime first = 0, before = 0;
  GHashTable *seen = g_hash_table_new(NULL, NULL);
  guint codestream = 0;
  g_assert_cmpuint(packets.buffers->len, ==, burst.buffers->len);
  for (guint i = 0; i < packets.buffers->len; i++) {
    GstClockTime pts = GST_BUFFER_PTS(packets.buffers->pdata[i]);
    RtpView a = rtp_view(packets.buffers->pdata[i]), b = rtp_view(burst.buffers->pdata[i]);
    g_assert_cmpuint(a.seq, ==, b.seq);
    g_assert_cmpuint(a.timestamp, ==, b.timestamp);
    g_assert_cmpint(a.marker, ==, b.marker);
    if (!g_hash_table_add(seen, GUINT_TO_POINTER(a.seq + 1u)))
      continue; /* a repeated packet */
    GstClockTime begin = codestream * (GST_SECOND / 25 / (fields ? 2 : 1));
    g_assert_cmpuint(pts, >=, begin);
    g_assert_cmpuint(pts, <=, begin + spread + GST_MSECOND);
    g_assert_cmpuint(pts, >=, before);
    before = pts;
    if (!a.marker)
      continue;
    g_assert_cmpuint(pts - first, >=, spread / 2);
    codestream++;
    first = codestream * (GST_SECOND / 25 / (fields ? 2 : 1));
  }
  g_assert_cmpuint(codestream, ==, fields ? 6 : 3);
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, NULL);
  assert_same_streams(&coded, &received);
  g_hash_table_unref(seen);
  g_free(paced);
  stream_clear(&coded);
  stream_clear(&burst);
  stream_clear(&packets);
  stream_clear(&received);
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
    assert_same_streams(&coded, &received);
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

/* R is no longer announced after the colours have changed; memory that cannot be shared is copied.
 */
static void test_payloads(void)
{
  static const gchar *const colours[] = {"bt709", "bt2020-10"};
  Stream coded = stream_encode("rate-control=lossless", GST_VIDEO_FORMAT_I420, 64, 48, 1, "bt709");
  GstHarness *h = gst_harness_new("rtpj2ksclpay");
  g_object_set(h->element, "header-reuse", TRUE, NULL);
  for (guint i = 0; i < 2; i++) {
    guint8 bytes[20];
    gsize size = 0;
    GstBuffer *packet, *buffer = gst_buffer_copy_deep(coded.buffers->pdata[0]);
    gsize whole = gst_buffer_get_size(buffer);
    GST_MINI_OBJECT_FLAG_SET(gst_buffer_peek_memory(buffer, 0), GST_MEMORY_FLAG_NO_SHARE);
    GST_BUFFER_PTS(buffer) = i * GST_SECOND;
    coded.caps = gst_caps_make_writable(coded.caps);
    gst_caps_set_simple(coded.caps, "colorimetry", G_TYPE_STRING, colours[i], NULL);
    gst_harness_set_src_caps(h, gst_caps_copy(coded.caps));
    g_assert_cmpint(gst_harness_push(h, buffer), ==, GST_FLOW_OK);
    while ((packet = gst_harness_try_pull(h))) {
      g_assert_cmpuint(gst_buffer_extract(packet, 0, bytes, sizeof bytes), ==, sizeof bytes);
      if (size == 0)
        g_assert_cmpuint(bytes[16] >> 7, ==, i == 0);
      size += gst_buffer_get_size(packet) - sizeof bytes;
      gst_buffer_unref(packet);
    }
    g_assert_cmpuint(size, ==, whole);
  }
  gst_harness_teardown(h);
  stream_clear(&coded);
}

/* Codestreams that cannot be sent cause a single warning, and the pipeline goes on. */
static void test_bad_input(void)
{
  static const guint8 garbage[200] = {0xff, 0x4f, 0xff, 0x51, 0, 4};
  Rig rig = rig_new("rtpj2ksclpay");
  gst_harness_set_src_caps_str(rig.h, "image/x-jpc");
  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = gst_buffer_new_memdup(garbage, sizeof garbage);
    GST_BUFFER_PTS(buffer) = i * GST_SECOND;
    g_assert_cmpint(gst_harness_push(rig.h, buffer), ==, GST_FLOW_OK);
  }
  g_assert_cmpint(gst_harness_push(rig.h, gst_buffer_new()), ==, GST_FLOW_OK);
  gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_free(text);
  text = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_null(text);
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 0);
  rig_free(&rig);
}

int main(int argc, char **argv)
{
  static const gchar *const streams[] = {
      "block-coder=mq",
      "block-coder=ht rate-control=lossless",
      "block-coder=ht precincts=64x64 progression-order=rpcl plt=true",
      "block-coder=mq precincts=32x32 progression-order=pcrl sop=true eph=true",
      "block-coder=mq num-layers=4 progression-order=lrcp",
      "block-coder=ht progression-order=cprl tile-parts=resolution+component",
      "block-coder=ht tile-width=64 tile-height=64 progression-order=rlcp tlm=true",
      "block-coder=mq num-resolutions=1",
      "block-coder=mq num-resolutions=9",
  };
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
    gchar *name = g_strdup_printf("/rtp/round-trip/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_round_trip);
    g_free(name);
  }
  g_test_add_func("/rtp/large", test_large);
  g_test_add_func("/rtp/caps", test_caps);
  g_test_add_data_func("/rtp/fields/tff", "tff", test_fields);
  g_test_add_data_func("/rtp/fields/bff", "bff", test_fields);
  g_test_add_data_func("/rtp/fields/psf", "psf", test_fields);
  g_test_add_func("/rtp/frame-rates", test_frame_rates);
  g_test_add_func("/rtp/discont", test_discont);
  g_test_add_func("/rtp/payloads", test_payloads);
  g_test_add_func("/rtp/timestamps", test_timestamps);
  g_test_add_func("/rtp/wraps", test_wraps);
  g_test_add_func("/rtp/odd-senders", test_odd_senders);
  g_test_add_func("/rtp/restart", test_restart);
  for (guint i = 0; i < G_N_ELEMENTS(lossy_streams); i++) {
    gchar *name = g_strdup_printf("/rtp/losses/%s", lossy_streams[i]);
    g_test_add_data_func(name, GUINT_TO_POINTER(i), test_losses);
    g_free(name);
  }
  g_test_add_func("/rtp/stock", test_stock);
  g_test_add_func("/rtp/repair-is-exact", test_repair_is_exact);
  g_test_add_data_func("/rtp/pacing/frames", "frames", test_pacing);
  g_test_add_data_func("/rtp/pacing/tff", "tff", test_pacing);
  g_test_add_data_func("/rtp/pacing/psf", "psf", test_pacing);
  g_test_add_func("/rtp/no-waiting", test_no_waiting);
  g_test_add_func("/rtp/repeats", test_repeats);
  g_test_add_func("/rtp/limits", test_limits);
  g_test_add_func("/rtp/mutated", test_mutated);
  g_test_add_func("/rtp/bad-input", test_bad_input);
  return g_test_run();
}
