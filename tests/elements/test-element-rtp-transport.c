/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests rtpj2ksclpay and rtpj2kscldepay over a network that loses nothing: what is sent, and that
 * it arrives as it was. */
#include "rtp-streams.h"

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
      stream_assert_same(&coded, &received);
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
  stream_assert_same(&coded, &received);
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
  stream_assert_same(&coded, &received);
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
  for (guint i = 0; i < received.buffers->len; i++) {
    GstBuffer *picture = received.buffers->pdata[i];
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(picture, GST_VIDEO_BUFFER_FLAG_INTERLACED), ==, !psf);
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(picture, GST_VIDEO_BUFFER_FLAG_TFF), ==,
                    g_str_equal(order, "tff"));
  }
  assert_decoded_fields(&received, psf);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&received);
}

/* A field whose other one was lost altogether takes the place of both, and the picture is flagged.
 */
static void test_unpaired_fields(gconstpointer data)
{
  const guint *lost = data; /* two codestreams, and the pictures that they belong to */
  Stream coded = stream_encode_fields("tff", 4);
  Stream packets = stream_pass("rtpj2ksclpay", "", &coded, NULL);
  Stream arrived = stream_new(packets.caps);
  guint codestream = 0;
  for (guint i = 0; i < packets.buffers->len; i++) {
    if (codestream != lost[0] && codestream != lost[1])
      g_ptr_array_add(arrived.buffers, gst_buffer_ref(packets.buffers->pdata[i]));
    codestream += rtp_view(packets.buffers->pdata[i]).marker;
  }
  g_assert_cmpuint(codestream, ==, 8);
  GstStructure *stats;
  Stream received = stream_pass("rtpj2kscldepay", "reorder-window=8", &arrived, &stats);
  g_assert_cmpuint(received.buffers->len, ==, 4);
  g_assert_cmpuint(stats_get(stats, "unpaired-fields"), ==, 2);
  g_assert_cmpuint(stats_get(stats, "corrupted-pictures"), ==, 2);
  for (guint i = 0; i < 4; i++) {
    GstBuffer *picture = received.buffers->pdata[i];
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED), ==,
                    i == lost[2] || i == lost[3]);
    g_assert_true(GST_BUFFER_FLAG_IS_SET(picture, GST_VIDEO_BUFFER_FLAG_TFF));
    assert_decoded_fields(&received, FALSE);
  }
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&arrived);
  stream_clear(&received);
}

/* The time between fields at the highest frame rate of caps, which is less than a tick. */
static void test_high_rate(void)
{
  Stream coded = stream_encode_fields("tff", 1);
  coded.caps = gst_caps_make_writable(coded.caps);
  gst_caps_set_simple(coded.caps, "framerate", GST_TYPE_FRACTION, G_MAXINT, 1, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", "timestamp-offset=0", &coded, NULL);
  for (guint i = 0; i < packets.buffers->len; i++)
    g_assert_cmpuint(rtp_view(packets.buffers->pdata[i]).timestamp, ==, 0);
  stream_clear(&coded);
  stream_clear(&packets);
}

/* Padding to constant bytes, in the last packet and in packets of its own, is no part of what
 * arrives. A codestream that is too large is sent as it is, with one warning. */
static void test_constant_bytes(void)
{
  Stream coded = stream_encode("precincts=64x64", GST_VIDEO_FORMAT_I420, 128, 96, 4, NULL);
  gsize largest = stream_largest(&coded);
  for (guint extra = 1; extra < 5000; extra += 613) {
    gchar *options = g_strdup_printf("mtu=600 constant-bytes=%u", (guint)largest + extra);
    GstStructure *stats;
    guint64 bytes = 0;
    Stream packets = stream_pass("rtpj2ksclpay", options, &coded, NULL);
    Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
    for (guint i = 0; i < packets.buffers->len; i++)
      bytes += gst_buffer_get_size(packets.buffers->pdata[i]) - 20;
    g_assert_cmpuint(bytes, ==, 4 * (largest + extra));
    g_assert_cmpuint(stream_largest(&packets), <=, 600);
    stream_assert_same(&coded, &received);
    stats_check(stats);
    g_assert_cmpuint(stats_get(stats, "lost"), ==, 0);
    gst_structure_free(stats);
    stream_clear(&packets);
    stream_clear(&received);
    g_free(options);
  }
  Rig rig = rig_new("rtpj2ksclpay constant-bytes=200");
  gst_harness_set_src_caps(rig.h, gst_caps_ref(coded.caps));
  for (guint i = 0; i < 2; i++)
    gst_harness_push(rig.h, gst_buffer_ref(coded.buffers->pdata[i]));
  for (guint i = 0; i < 2; i++) {
    gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
    g_assert_cmpint(text != NULL, ==, i == 0);
    g_free(text);
  }
  rig_free(&rig);
  stream_clear(&coded);
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
  stream_assert_same(&coded, &received);
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
  stream_assert_same(&coded, &received);
  stats_check(stats);
  g_assert_cmpuint(stats_get(stats, "unused"), ==, padding);
  g_assert_cmpuint(stats_get(stats, "lost"), ==, 0);
  gst_structure_free(stats);
  stream_clear(&coded);
  stream_clear(&packets);
  stream_clear(&odd);
  stream_clear(&received);
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
  stream_assert_same(&coded, &received);
  g_hash_table_unref(seen);
  g_free(paced);
  stream_clear(&coded);
  stream_clear(&burst);
  stream_clear(&packets);
  stream_clear(&received);
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
    gchar *name = g_strdup_printf("/rtp-transport/round-trip/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_round_trip);
    g_free(name);
  }
  g_test_add_func("/rtp-transport/large", test_large);
  g_test_add_func("/rtp-transport/caps", test_caps);
  g_test_add_data_func("/rtp-transport/fields/tff", "tff", test_fields);
  g_test_add_data_func("/rtp-transport/fields/bff", "bff", test_fields);
  g_test_add_data_func("/rtp-transport/fields/psf", "psf", test_fields);
  /* The second field of picture 1 and the first one of picture 3; or that of picture 2, so that the
   * fields that are left follow each other. */
  static const guint apart[] = {3, 6, 1, 3}, adjacent[] = {3, 4, 1, 2};
  g_test_add_data_func("/rtp-transport/fields/unpaired-apart", apart, test_unpaired_fields);
  g_test_add_data_func("/rtp-transport/fields/unpaired-adjacent", adjacent, test_unpaired_fields);
  g_test_add_func("/rtp-transport/high-rate", test_high_rate);
  g_test_add_func("/rtp-transport/constant-bytes", test_constant_bytes);
  g_test_add_func("/rtp-transport/frame-rates", test_frame_rates);
  g_test_add_func("/rtp-transport/payloads", test_payloads);
  g_test_add_func("/rtp-transport/timestamps", test_timestamps);
  g_test_add_func("/rtp-transport/wraps", test_wraps);
  g_test_add_func("/rtp-transport/odd-senders", test_odd_senders);
  g_test_add_data_func("/rtp-transport/pacing/frames", "frames", test_pacing);
  g_test_add_data_func("/rtp-transport/pacing/tff", "tff", test_pacing);
  g_test_add_data_func("/rtp-transport/pacing/psf", "psf", test_pacing);
  g_test_add_func("/rtp-transport/bad-input", test_bad_input);
  return g_test_run();
}
