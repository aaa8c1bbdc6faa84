/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The RTP elements with alignment=subframe: packets leave as soon as their bytes are there, and are
 * those of the whole frame. */
#include "rtp-streams.h"
#include "subframe.h"

#define PCRL                                                                                       \
  "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=3 "                 \
  "precincts=1024x16,512x8,256x4 "
#define HEADERS 20 /* bytes of RTP and payload header */
#define NUMBERS "seqnum-offset=65000 timestamp-offset=5 ssrc=7 eseq-offset=250 pt=96 "

/* ------------------------------------------------------------------------------- streams --- */

/* The same frames in buffers of `size` bytes. */
static Stream cut(const Stream *whole, gsize size)
{
  GstCaps *caps = gst_caps_copy(whole->caps);
  gst_caps_set_simple(caps, "alignment", G_TYPE_STRING, "subframe", NULL);
  Stream stream = stream_new(caps);
  for (guint i = 0; i < whole->buffers->len; i++) {
    GstBuffer *frame = whole->buffers->pdata[i];
    GPtrArray *parts = subframe_cut(frame, size);
    for (guint k = 0; k < parts->len; k++) {
      GstBuffer *part = parts->pdata[k];
      GST_BUFFER_PTS(part) = GST_BUFFER_PTS(frame);
      GST_BUFFER_DURATION(part) = GST_BUFFER_DURATION(frame);
      g_ptr_array_add(stream.buffers, gst_buffer_ref(part));
    }
    g_ptr_array_unref(parts);
  }
  gst_caps_unref(caps);
  return stream;
}

/* --------------------------------------------------------------------------------- packets --- */

typedef struct {
  const gchar *name, *encoder, *payloader;
  gboolean whole;      /* sent when complete */
  const gchar *fields; /* the field order, instead of `encoder` */
  gboolean open;       /* the tile-parts have no length (Psot = 0) */
  gboolean in_turn;    /* first all tiles' first tile-parts, then all second ones, and so on */
  const gchar *poc; /* changes of the progression order to add to the header (T.800 A.6.6): RSpoc,
                       CSpoc, LYEpoc, REpoc, CEpoc, Ppoc of each, in hexadecimal digits */
} Case;

#define POSITIONS "progression-order=rlcp num-resolutions=3 precincts=32x32 "
#define TILES     "tile-width=64 tile-height=48 "

static const Case cases[] = {
    {"pcrl", PCRL, ""},
    {"mtu-100", PCRL "sop=true eph=true", "mtu=100"},
    {"layers", PCRL "block-coder=mq num-layers=3 rate-control=quality", "mtu=300"},
    {"rpcl", "progression-order=rpcl precincts=32x32", "mtu=200"},
    {"cprl-tile-parts", "progression-order=cprl precincts=32x32 tile-parts=component", "mtu=400"},
    {"repeats", PCRL, "mtu=500 repeat-resolutions=2"},
    {"constant-bytes", PCRL, "mtu=500 constant-bytes=60000"},
    {"reuse", PCRL, "header-reuse=true"},
    {"lrcp", "num-layers=2", "mtu=300"},
    {"lrcp-precincts", "num-layers=3 precincts=32x32", "mtu=150"},
    {"rlcp", "num-layers=3 progression-order=rlcp precincts=32x32", "mtu=150"},
    {"rlcp-tile-parts", POSITIONS "num-layers=2 tile-parts=resolution sop=true", "mtu=120"},
    {"poc", POSITIONS, "mtu=150",
     .poc = "0000000102"
            "0101"
            "0200000103"
            "0102"},
    {"poc-layers", "num-layers=2 precincts=32x32 num-resolutions=3", "mtu=150",
     .poc = "0000000103"
            "0100"
            "0000000203"
            "0101"},
    {"unmarked", PCRL, "mark-precincts=false mtu=300"},
    {"unmarked-layers", "num-layers=3 precincts=32x32 sop=true", "mark-precincts=false mtu=150"},
    {"unmarked-tile-parts", POSITIONS "tile-parts=resolution", "mark-precincts=false mtu=150"},
    {"tiles", PCRL TILES, "mtu=300"},
    {"tiles-layers", "num-layers=3 sop=true " TILES, "mtu=120 repeat-resolutions=1"},
    {"tile-parts", POSITIONS "tile-parts=resolution " TILES, "mtu=200"},
    {"tile-parts-in-turn", POSITIONS "tile-parts=resolution " TILES, "mtu=200", .in_turn = TRUE},
    {"plt", "progression-order=pcrl plt=true precincts=64x64", "mtu=300"},
    {"paced", PCRL, "pacing=1.5 mtu=300"},
    {"tff", "", "mtu=150 header-reuse=true", .fields = "tff"},
    {"bff", "", "mtu=150 constant-bytes=30000 repeat-resolutions=2", .fields = "bff"},
    {"psf", "", "mtu=150 mark-precincts=false pacing=2", .fields = "psf"},
    {"tff-open", "", "mtu=150", .fields = "tff", .open = TRUE},
    {"pcrl-open", PCRL, "mtu=150", .open = TRUE},
    /* sent when complete */
    {"poc-incomplete", POSITIONS, "mtu=150", TRUE,
     .poc = "0000000102"
            "0101"},
};

static const Case paced[] = {
    {"pcrl", PCRL, "pacing=2 mtu=300"},
    {"tiles", PCRL TILES, "pacing=2 mtu=300"},
    {"constant-bytes", PCRL, "pacing=2 mtu=300 constant-bytes=60000"},
    {"tff", "", "pacing=2 mtu=300", .fields = "tff"},
};

/* At any address, unlike GST_READ_UINT16_BE. */
static guint read16(const guint8 *data)
{
  return (guint)data[0] << 8 | data[1];
}

static guint32 read32(const guint8 *data)
{
  return (guint32)read16(data) << 16 | read16(data + 2);
}

/* The first SOT. */
static gsize find_sot(const guint8 *data)
{
  gsize at = 2;
  while (read16(data + at) != 0xff90)
    at += 2 + (gsize)read16(data + at + 2);
  return at;
}

/* Appends the tile-parts with this TPsot; returns their number. */
static guint append_tile_parts(GByteArray *out, const GstMapInfo *map, guint number)
{
  guint count = 0;
  for (gsize at = find_sot(map->data); read16(map->data + at) == 0xff90;) {
    guint size = read32(map->data + at + 6);
    if (map->data[at + 10] == number)
      g_byte_array_append(out, map->data + at, size);
    count += map->data[at + 10] == number;
    at += size;
  }
  return count;
}

static void append_poc(GByteArray *out, const gchar *digits)
{
  guint8 segment[64] = {0xff, 0x5f};
  gsize size = strlen(digits) / 2;
  segment[3] = (guint8)(2 + size);
  for (gsize i = 0; i < size; i++)
    segment[4 + i] = (guint8)(g_ascii_xdigit_value(digits[2 * i]) << 4 |
                              g_ascii_xdigit_value(digits[2 * i + 1]));
  g_byte_array_append(out, segment, (guint)(4 + size));
}

/* Sets Psot of the last tile-part of each codestream to 0. */
static void leave_open(GByteArray *bytes)
{
  for (gsize at = 0; at < bytes->len; at += 2) {
    gsize sot = at += find_sot(bytes->data + at);
    for (; read16(bytes->data + at) == 0xff90; at += read32(bytes->data + at + 6))
      sot = at;
    memset(bytes->data + sot + 6, 0, 4);
  }
}

/* Changes a codestream as the case wants it. */
static void change(GstBuffer **buffer, const Case *c)
{
  GByteArray *bytes = g_byte_array_new();
  GstMapInfo map;
  g_assert_true(gst_buffer_map(*buffer, &map, GST_MAP_READ));
  gsize sot = find_sot(map.data);
  g_byte_array_append(bytes, map.data, (guint)sot);
  if (c->poc)
    append_poc(bytes, c->poc);
  if (c->in_turn) {
    for (guint number = 0; append_tile_parts(bytes, &map, number); number++)
      ;
    g_byte_array_append(bytes, map.data + map.size - 2, 2);
  } else {
    g_byte_array_append(bytes, map.data + sot, (guint)(map.size - sot));
  }
  if (c->open)
    leave_open(bytes);
  gst_buffer_unmap(*buffer, &map);
  GstBuffer *changed = gst_buffer_new_memdup(bytes->data, bytes->len);
  gst_buffer_copy_into(changed, *buffer, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  g_byte_array_unref(bytes);
  gst_buffer_unref(*buffer);
  *buffer = changed;
}

/* The frames of a case. */
static Stream encode_case(const Case *c)
{
  GstVideoFormat format = c->poc ? GST_VIDEO_FORMAT_GRAY8 : GST_VIDEO_FORMAT_I422_10LE;
  Stream whole = c->fields ? stream_encode_fields(c->fields, 3)
                           : stream_encode(c->encoder, format, 96, 130, 3, NULL);
  for (guint i = 0; i < whole.buffers->len; i++)
    change((GstBuffer **)&whole.buffers->pdata[i], c);
  return whole;
}

static void assert_same_packets(const Stream *a, const Stream *b)
{
  g_assert_cmpuint(a->buffers->len, ==, b->buffers->len);
  for (guint i = 0; i < a->buffers->len; i++) {
    GstBuffer *x = a->buffers->pdata[i], *y = b->buffers->pdata[i];
    g_assert_true(same_bytes(x, y));
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(x, GST_BUFFER_FLAG_MARKER), ==,
                    GST_BUFFER_FLAG_IS_SET(y, GST_BUFFER_FLAG_MARKER));
  }
  g_assert_true(gst_caps_is_equal(a->caps, b->caps));
}

/* The number of packets that leave before the last buffer of the first frame arrives. */
static guint count_early(const gchar *properties, const Stream *parts)
{
  gchar *description = g_strconcat("rtpj2ksclpay ", properties, NULL);
  GstHarness *h = gst_harness_new_parse(description);
  gst_harness_set_src_caps(h, gst_caps_ref(parts->caps));
  for (guint i = 0; !GST_BUFFER_FLAG_IS_SET(parts->buffers->pdata[i], GST_BUFFER_FLAG_MARKER); i++)
    gst_harness_push(h, gst_buffer_ref(parts->buffers->pdata[i]));
  guint count = gst_harness_buffers_in_queue(h);
  gst_harness_teardown(h);
  g_free(description);
  return count;
}

static void test_packets(gconstpointer data)
{
  const Case *c = data;
  static const gsize sizes[] = {1, 77, 1000, 1 << 30};
  Stream whole = encode_case(c);
  gchar *properties = g_strconcat(NUMBERS, c->payloader, NULL);
  Stream expected = stream_pass("rtpj2ksclpay", properties, &whole, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    Stream parts = cut(&whole, sizes[i]);
    Stream packets = stream_pass("rtpj2ksclpay", properties, &parts, NULL);
    assert_same_packets(&expected, &packets);
    guint early = count_early(properties, &parts);
    if (c->whole || sizes[i] == 1 << 30)
      g_assert_cmpuint(early, ==, 0);
    else if (sizes[i] <
             1000) /* all but the bytes of the last buffer and what shares their packet */
      g_assert_cmpuint(early, >=, expected.buffers->len / whole.buffers->len / 3);
    stream_clear(&packets);
    stream_clear(&parts);
  }
  stream_clear(&expected);
  stream_clear(&whole);
  g_free(properties);
}

/* With pacing the packets of a frame's parts leave over its time, evenly by their bytes. */
static void test_paced(gconstpointer data)
{
  const Case *c = data;
  Stream whole = encode_case(c), parts = cut(&whole, 400);
  Stream packets = stream_pass("rtpj2ksclpay", c->payloader, &parts, NULL);
  guint frames = whole.buffers->len * (c->fields ? 2 : 1), next = 0;
  GstClockTime time = GST_SECOND / FPS / (c->fields ? 2 : 1);
  for (guint i = 0; i < frames; i++) {
    guint first = next, timestamp = rtp_view(packets.buffers->pdata[first]).timestamp;
    gsize total = 0, before = 0;
    for (; next < packets.buffers->len &&
           rtp_view(packets.buffers->pdata[next]).timestamp == timestamp;
         next++)
      total += gst_buffer_get_size(packets.buffers->pdata[next]) - HEADERS;
    for (; first < next; first++) {
      GstBuffer *packet = packets.buffers->pdata[first];
      GstClockTime at = GST_BUFFER_PTS(packet) - i * time;
      gdouble share = (gdouble)at / (gdouble)time * 2; /* pacing=2: in half of the time */
      g_assert_cmpfloat(share, >=, 0);
      g_assert_cmpfloat(share, <=, 1.001);
      if (!c->fields) /* these are one buffer each */
        g_assert_cmpfloat(ABS(share - (gdouble)before / (gdouble)total), <, 0.15);
      if (before)
        g_assert_cmpuint(GST_BUFFER_PTS(packet), >=,
                         GST_BUFFER_PTS(packets.buffers->pdata[first - 1]));
      before += gst_buffer_get_size(packet) - HEADERS;
    }
  }
  g_assert_cmpuint(next, ==, packets.buffers->len);
  stream_clear(&packets);
  stream_clear(&parts);
  stream_clear(&whole);
}

/* Each part makes packets leave: those of all its precincts, but for the last one of the frame. */
static void test_at_once(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 96, 130);
  GstCaps *caps;
  GPtrArray *slices = subframe_encode(SLICES, &info, 0, &caps);
  GstHarness *h = gst_harness_new_parse("rtpj2ksclpay mtu=300");
  gst_harness_set_src_caps(h, caps);
  guint64 bytes = 0, sent = 0;
  for (guint i = 0; i < slices->len; i++) {
    GstBuffer *packet;
    bytes += gst_buffer_get_size(slices->pdata[i]);
    g_assert_cmpint(push_frame(h, slices->pdata[i], 0), ==, GST_FLOW_OK);
    while ((packet = gst_harness_try_pull(h))) {
      sent += gst_buffer_get_size(packet) - HEADERS;
      gst_buffer_unref(packet);
    }
    if (i + 2 < slices->len)
      g_assert_cmpuint(sent, ==, bytes);
  }
  g_assert_cmpuint(sent, ==, bytes);
  gst_harness_teardown(h);
  g_ptr_array_unref(slices);
}

/* Of a frame without an end, what came is sent; the next one is complete. */
static void test_no_end(gconstpointer data)
{
  gboolean discont = GPOINTER_TO_INT(data);
  Stream whole = stream_encode(PCRL, GST_VIDEO_FORMAT_I420, 96, 130, 4, NULL);
  Stream parts = cut(&whole, 1500), lossy = stream_new(parts.caps);
  for (guint i = 0; i < parts.buffers->len; i++) {
    GstBuffer *part = gst_buffer_copy(parts.buffers->pdata[i]);
    guint frame = (guint)gst_util_uint64_scale_round(GST_BUFFER_PTS(part), FPS, GST_SECOND);
    gboolean last = GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER);
    if (frame == 1 && discont && i + 2 < parts.buffers->len && !last) {
      GST_BUFFER_FLAG_SET(part, GST_BUFFER_FLAG_DISCONT);
    } else if (frame == 1 && last) {
      gst_buffer_unref(part);
      continue;
    }
    g_ptr_array_add(lossy.buffers, part);
  }
  GstStructure *stats;
  Stream packets = stream_pass("rtpj2ksclpay", NUMBERS "mtu=300", &lossy, NULL);
  Stream received = stream_pass("rtpj2kscldepay", "", &packets, &stats);
  guint good = 0;
  for (guint i = 0; i < received.buffers->len; i++) {
    GstBuffer *frame = received.buffers->pdata[i];
    guint n = (guint)gst_util_uint64_scale_round(GST_BUFFER_PTS(frame), FPS, GST_SECOND);
    if (n == 1) {
      g_assert_true(GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_CORRUPTED));
      continue;
    }
    g_assert_true(same_bytes(frame, whole.buffers->pdata[n]));
    good++;
  }
  g_assert_cmpuint(good, ==, 3);
  gst_structure_free(stats);
  stream_clear(&received);
  stream_clear(&packets);
  stream_clear(&lossy);
  stream_clear(&parts);
  stream_clear(&whole);
}

/* ---------------------------------------------------------------------------- depayloader --- */

#define DEPAY_PARTS " ! capsfilter caps=" SUBFRAME

/* Frames in slices, as RTP packets. */
static Stream slices_as_packets(const gchar *encoder, guint count)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 96, 130);
  Stream slices = stream_new(NULL);
  for (guint i = 0; i < count; i++) {
    GPtrArray *parts = subframe_encode(encoder, &info, i, slices.caps ? NULL : &slices.caps);
    for (guint k = 0; k < parts->len; k++) {
      GstBuffer *part = gst_buffer_copy(parts->pdata[k]);
      GST_BUFFER_PTS(part) = gst_util_uint64_scale(i, GST_SECOND, FPS);
      g_ptr_array_add(slices.buffers, part);
    }
    g_ptr_array_unref(parts);
  }
  Stream packets = stream_pass("rtpj2ksclpay", NUMBERS "mtu=300", &slices, NULL);
  stream_clear(&slices);
  return packets;
}

/* Joins the buffers of each frame; checks their flags. */
static Stream join(const Stream *parts, guint *largest)
{
  Stream frames = stream_new(parts->caps);
  guint count = 0;
  for (guint i = 0; i < parts->buffers->len; i++) {
    GstBuffer *part = parts->buffers->pdata[i];
    g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_DELTA_UNIT), ==, count > 0);
    if (!count++) {
      g_ptr_array_add(frames.buffers, gst_buffer_copy(part));
    } else {
      GstBuffer **frame = (GstBuffer **)&frames.buffers->pdata[frames.buffers->len - 1];
      g_assert_false(GST_BUFFER_IS_DISCONT(part));
      g_assert_cmpuint(GST_BUFFER_PTS(part), ==, GST_BUFFER_PTS(*frame));
      if (GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_CORRUPTED))
        GST_BUFFER_FLAG_SET(*frame, GST_BUFFER_FLAG_CORRUPTED);
      gst_buffer_copy_into(*frame, part, GST_BUFFER_COPY_MEMORY, 0, -1);
    }
    *largest = MAX(*largest, count);
    if (GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER))
      count = 0;
  }
  g_assert_cmpuint(count, ==, 0);
  return frames;
}

/* The frames by twos, as fields of frames whose tile-parts have no length, as RTP packets. */
static Stream fields_as_packets(const gchar *mode, guint count)
{
  static const Case open = {.open = TRUE};
  Stream codestreams = stream_encode(PCRL, GST_VIDEO_FORMAT_I420, 96, 66, 2 * count, NULL);
  GstCaps *caps = gst_caps_copy(codestreams.caps);
  gst_caps_set_simple(caps, "fields", G_TYPE_INT, 2, "interlace-mode", G_TYPE_STRING, mode, NULL);
  Stream frames = stream_new(caps);
  for (guint i = 0; i < count; i++) {
    GstBuffer *frame = gst_buffer_append(gst_buffer_copy(codestreams.buffers->pdata[2 * i]),
                                         gst_buffer_ref(codestreams.buffers->pdata[2 * i + 1]));
    change(&frame, &open);
    GST_BUFFER_PTS(frame) = gst_util_uint64_scale(i, GST_SECOND, FPS);
    g_ptr_array_add(frames.buffers, frame);
  }
  Stream packets = stream_pass("rtpj2ksclpay", NUMBERS "mtu=300", &frames, NULL);
  gst_caps_unref(caps);
  stream_clear(&frames);
  stream_clear(&codestreams);
  return packets;
}

/* With whatever the network does, the parts of each frame are the frame that is handed out whole,
 * with the same flag and the same statistics. */
static void test_depay(gconstpointer data)
{
  static const Network networks[] = {
      {0, 0, 0, 0},   {1, 5, 0, 0},   {2, 20, 0, 0},   {3, 0, 30, 0},   {4, 0, 0, 30},
      {5, 10, 10, 0}, {6, 10, 5, 20}, {7, 100, 10, 0}, {8, 30, 30, 30}, {9, 300, 0, 10},
  };
  Stream packets = g_str_has_prefix(data, "cudaj2kenc") ? slices_as_packets(data, 6)
                                                        : fields_as_packets(data, 8);
  for (guint i = 0; i < G_N_ELEMENTS(networks); i++) {
    guint dropped = 0, doubled = 0, largest = 0;
    GstStructure *stats, *parts_stats;
    Stream arrived = network_pass(&networks[i], &packets, &dropped, &doubled);
    Stream whole = stream_pass("rtpj2kscldepay", "", &arrived, &stats);
    Stream parts = stream_pass("rtpj2kscldepay", DEPAY_PARTS, &arrived, &parts_stats);
    Stream joined = join(&parts, &largest);
    g_assert_cmpuint(joined.buffers->len, ==, whole.buffers->len);
    for (guint k = 0; k < whole.buffers->len; k++) {
      GstBuffer *a = whole.buffers->pdata[k], *b = joined.buffers->pdata[k];
      g_assert_true(same_bytes(a, b));
      g_assert_cmpuint(GST_BUFFER_PTS(a), ==, GST_BUFFER_PTS(b));
      g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(a, GST_BUFFER_FLAG_CORRUPTED), ==,
                      GST_BUFFER_FLAG_IS_SET(b, GST_BUFFER_FLAG_CORRUPTED));
    }
    g_assert_true(gst_structure_is_equal(stats, parts_stats));
    stats_check(stats);
    if (!i)
      g_assert_cmpuint(largest, >, 8);
    gst_structure_free(stats);
    gst_structure_free(parts_stats);
    stream_clear(&joined);
    stream_clear(&parts);
    stream_clear(&whole);
    stream_clear(&arrived);
  }
  stream_clear(&packets);
}

/* The number of buffers that have left when all packets of a frame but the last and, if it is not
 * 0, `lost` have arrived. *before: when `lost` was due. */
static guint push_but_last(const Stream *packets, guint lost, guint *before)
{
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay" DEPAY_PARTS);
  gst_harness_set_src_caps(h, gst_caps_ref(packets->caps));
  for (guint i = 0; i + 1 < packets->buffers->len; i++) {
    if (i == lost)
      *before = gst_harness_buffers_in_queue(h);
    if (i != lost || !lost)
      gst_harness_push(h, gst_buffer_ref(packets->buffers->pdata[i]));
  }
  guint pushed = gst_harness_buffers_in_queue(h);
  gst_harness_teardown(h);
  return pushed;
}

/* Parts leave while the frame's packets are still coming, but not past a gap. */
static void test_depay_at_once(void)
{
  Stream packets = slices_as_packets(SLICES, 1);
  for (guint lost = 0; lost < packets.buffers->len; lost += 3) {
    guint before = 0, pushed = push_but_last(&packets, lost, &before);
    if (lost + 1 == packets.buffers->len)
      continue;
    if (lost)
      g_assert_cmpuint(pushed, ==, before);
    else
      g_assert_cmpuint(pushed, >, 8);
  }
  stream_clear(&packets);
}

/* Of a second field, too. */
static void test_depay_second_field(void)
{
  Stream packets = fields_as_packets("interleaved", 1);
  guint first = 0, begun = 0, ignored;
  while (!rtp_view(packets.buffers->pdata[first]).marker)
    first++;
  push_but_last(&packets, first + 1, &begun);
  g_assert_cmpuint(begun, >, 4);
  g_assert_cmpuint(push_but_last(&packets, 0, &ignored), >, begun + 4);
  for (guint lost = first + 2; lost + 1 < packets.buffers->len; lost += 3) {
    guint before = 0;
    guint pushed = push_but_last(&packets, lost, &before);
    g_assert_cmpuint(pushed, ==, before);
  }
  stream_clear(&packets);
}

/* Frames whose length the sender knew leave whole, with the marker. */
static void test_depay_whole(void)
{
  Stream frames = stream_encode(PCRL, GST_VIDEO_FORMAT_I420, 96, 130, 3, NULL);
  Stream packets = stream_pass("rtpj2ksclpay", NUMBERS "mtu=300", &frames, NULL);
  Stream received = stream_pass("rtpj2kscldepay", DEPAY_PARTS, &packets, NULL);
  stream_assert_same(&frames, &received);
  for (guint i = 0; i < received.buffers->len; i++)
    g_assert_true(GST_BUFFER_FLAG_IS_SET(received.buffers->pdata[i], GST_BUFFER_FLAG_MARKER));
  stream_clear(&received);
  stream_clear(&packets);
  stream_clear(&frames);
}

/* Other caps of the packets within a frame do not divide it: each frame is sent once. */
static void test_depay_caps(void)
{
  Stream packets = slices_as_packets(SLICES, 3);
  Stream whole = stream_pass("rtpj2kscldepay", "", &packets, NULL);
  for (guint change = 2; change + 2 < packets.buffers->len; change += 5) {
    GstHarness *h = gst_harness_new_parse("rtpj2kscldepay" DEPAY_PARTS);
    Stream parts = stream_new(packets.caps);
    guint largest = 0;
    gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
    for (guint i = 0; i < packets.buffers->len; i++) {
      if (i == change) {
        GstCaps *caps = gst_caps_copy(packets.caps);
        gst_caps_set_simple(caps, "a-change", G_TYPE_INT, 1, NULL);
        g_assert_true(gst_harness_push_event(h, gst_event_new_caps(caps)));
        gst_caps_unref(caps);
      }
      gst_harness_push(h, gst_buffer_ref(packets.buffers->pdata[i]));
      GstBuffer *part;
      while ((part = gst_harness_try_pull(h)))
        g_ptr_array_add(parts.buffers, part);
    }
    Stream joined = join(&parts, &largest);
    g_assert_cmpuint(largest, >, 8);
    stream_assert_same(&whole, &joined);
    stream_clear(&joined);
    stream_clear(&parts);
    gst_harness_teardown(h);
  }
  stream_clear(&whole);
  stream_clear(&packets);
}

/* The whole way in parts. */
static void test_chain(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 321, 243);
  assert_lossless(SLICES " ! rtpj2ksclpay ! rtpj2kscldepay ! cudaj2kdec backend=cpu", &info);
}

static void flush(GstHarness *h)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h, gst_event_new_flush_start());
  gst_harness_push_event(h, gst_event_new_flush_stop(TRUE));
  gst_harness_push_event(h, gst_event_new_segment(&segment));
}

/* Pushes half of a frame's buffers, flushes, and pushes the other frame's. */
static void push_flushed(GstHarness *h, const Stream *stream, guint first, guint end)
{
  for (guint i = 0; i < first / 2; i++)
    gst_harness_push(h, gst_buffer_ref(stream->buffers->pdata[i]));
  flush(h);
  while (gst_harness_buffers_in_queue(h))
    gst_buffer_unref(gst_harness_pull(h));
  for (guint i = first; i < end; i++)
    gst_harness_push(h, gst_buffer_ref(stream->buffers->pdata[i]));
}

/* A flush in the middle of a frame of fields: nothing of it is left in the next one, neither in
 * the packets nor in what is made of them. */
static void test_flush(void)
{
  static const Case fields = {.fields = "tff"};
  Stream whole = encode_case(&fields), parts = cut(&whole, 50), packets;
  Stream expected = stream_pass("rtpj2ksclpay", "mtu=150", &whole, NULL);
  guint first = 0, end, sent = 0;
  GstBuffer *packet;
  while (!GST_BUFFER_FLAG_IS_SET(parts.buffers->pdata[first], GST_BUFFER_FLAG_MARKER))
    first++;
  for (end = ++first; !GST_BUFFER_FLAG_IS_SET(parts.buffers->pdata[end], GST_BUFFER_FLAG_MARKER);)
    end++;
  GstHarness *h = gst_harness_new_parse("rtpj2ksclpay mtu=150");
  gst_harness_set_src_caps(h, gst_caps_ref(parts.caps));
  push_flushed(h, &parts, first, end + 1);
  packets = stream_new(NULL);
  while ((packet = gst_harness_try_pull(h)))
    g_ptr_array_add(packets.buffers, packet);
  /* The packets of the second of three frames that are much alike. */
  while (rtp_view(expected.buffers->pdata[sent]).timestamp ==
             rtp_view(expected.buffers->pdata[0]).timestamp ||
         rtp_view(expected.buffers->pdata[sent]).part == 2)
    sent++;
  for (guint i = 0; i < packets.buffers->len; i++, sent++) {
    GstBuffer *a = packets.buffers->pdata[i], *b = expected.buffers->pdata[sent];
    GstMapInfo map;
    g_assert_cmpuint(gst_buffer_get_size(a), ==, gst_buffer_get_size(b));
    g_assert_true(gst_buffer_map(b, &map, GST_MAP_READ));
    /* Behind RTP header and ESEQ, but for numbers and times. */
    g_assert_cmpint(gst_buffer_memcmp(a, 16, map.data + 16, map.size - 16), ==, 0);
    gst_buffer_unmap(b, &map);
  }
  g_assert_cmpuint(packets.buffers->len, >, 10);
  gst_harness_teardown(h);
  stream_clear(&packets);
  stream_clear(&expected);
  stream_clear(&parts);
  stream_clear(&whole);
}

/* The same in the depayloader. */
static void test_depay_flush(void)
{
  Stream packets = fields_as_packets("interleaved", 2), parts = stream_new(NULL);
  Stream whole = stream_pass("rtpj2kscldepay", "", &packets, NULL);
  guint first = 0, largest = 0;
  GstBuffer *part;
  for (guint markers = 0; markers < 2; first++)
    markers += rtp_view(packets.buffers->pdata[first]).marker;
  GstHarness *h = gst_harness_new_parse("rtpj2kscldepay" DEPAY_PARTS);
  gst_harness_set_src_caps(h, gst_caps_ref(packets.caps));
  push_flushed(h, &packets, first + first / 2, packets.buffers->len);
  flush(h);
  push_flushed(h, &packets, 0, packets.buffers->len);
  while ((part = gst_harness_try_pull(h)))
    g_ptr_array_add(parts.buffers, part);
  parts.caps = gst_caps_ref(whole.caps);
  Stream joined = join(&parts, &largest);
  stream_assert_same(&whole, &joined);
  g_assert_cmpuint(largest, >, 8);
  gst_harness_teardown(h);
  stream_clear(&joined);
  stream_clear(&parts);
  stream_clear(&whole);
  stream_clear(&packets);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strdup_printf("/rtp-parts/packets/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], test_packets);
    g_free(path);
  }
  for (guint i = 0; i < G_N_ELEMENTS(paced); i++) {
    gchar *path = g_strdup_printf("/rtp-parts/paced/%s", paced[i].name);
    g_test_add_data_func(path, &paced[i], test_paced);
    g_free(path);
  }
  g_test_add_func("/rtp-parts/at-once", test_at_once);
  g_test_add_data_func("/rtp-parts/no-end/lost", GINT_TO_POINTER(FALSE), test_no_end);
  g_test_add_data_func("/rtp-parts/no-end/discont", GINT_TO_POINTER(TRUE), test_no_end);
  g_test_add_data_func("/rtp-parts/depay/plain", SLICES, test_depay);
  g_test_add_data_func("/rtp-parts/depay/sop", SLICES "sop=true eph=true", test_depay);
  g_test_add_data_func("/rtp-parts/depay/fields", "interleaved", test_depay);
  g_test_add_data_func("/rtp-parts/depay/psf", "progressive", test_depay);
  g_test_add_func("/rtp-parts/depay/at-once", test_depay_at_once);
  g_test_add_func("/rtp-parts/depay/second-field", test_depay_second_field);
  g_test_add_func("/rtp-parts/depay/whole", test_depay_whole);
  g_test_add_func("/rtp-parts/depay/caps", test_depay_caps);
  g_test_add_func("/rtp-parts/flush", test_flush);
  g_test_add_func("/rtp-parts/depay/flush", test_depay_flush);
  g_test_add_func("/rtp-parts/chain", test_chain);
  int result = g_test_run();
  gst_deinit();
  return result;
}
