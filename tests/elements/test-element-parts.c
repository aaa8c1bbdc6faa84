/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decoder element with alignment=subframe: the buffers of a frame are decoded as they come,
 * with the same samples as the whole frame, and whatever ends a frame early. */
#include "subframe.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 130

/* A decoder and the buffers of one frame, which are pushed again and again. */
typedef struct {
  Rig rig;
  GstVideoInfo info;
  GPtrArray *parts;
  GstBuffer *raw;
} Stage;

static Stage stage_new(const gchar *encoder, const gchar *decoder)
{
  Stage stage = {.info = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT)};
  GstCaps *caps;
  stage.parts = subframe_encode(encoder, &stage.info, 0, &caps);
  stage.raw = pixels_buffer(&stage.info, 0);
  stage.rig = rig_decoder(decoder, caps);
  g_assert_cmpuint(stage.parts->len, >, 6);
  return stage;
}

static void stage_free(Stage *stage)
{
  g_ptr_array_unref(stage->parts);
  gst_buffer_unref(stage->raw);
  rig_free(&stage->rig);
}

/* Pushes a part as one of frame n, with these flags set in addition. */
static GstFlowReturn push_part(Stage *stage, guint part, guint n, guint flags)
{
  GstBuffer *copy = gst_buffer_copy_deep(stage->parts->pdata[part]);
  GST_BUFFER_PTS(copy) = gst_util_uint64_scale(n, GST_SECOND, FPS);
  GST_BUFFER_DURATION(copy) = GST_SECOND / FPS;
  GST_BUFFER_FLAG_SET(copy, flags);
  return gst_harness_push(stage->rig.h, copy);
}

/* Pushes parts `first` to `end`, exclusive, of frame n. */
static void push_parts(Stage *stage, guint first, guint end, guint n)
{
  for (guint i = first; i < end; i++)
    g_assert_cmpint(push_part(stage, i, n, 0), ==, GST_FLOW_OK);
}

static void push_all(Stage *stage, guint n)
{
  push_parts(stage, 0, stage->parts->len, n);
}

/* Pulls frame n. It is as sent, or flagged. */
static void expect(Stage *stage, guint n, gboolean corrupted)
{
  GstBuffer *decoded = gst_harness_pull(stage->rig.h);
  GstVideoInfo info = output_video(stage->rig.h);
  g_assert_nonnull(decoded);
  g_assert_cmpuint(GST_BUFFER_PTS(decoded), ==, gst_util_uint64_scale(n, GST_SECOND, FPS));
  g_assert_cmpint(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED), ==, corrupted);
  if (corrupted)
    g_assert_cmpint(pixels_difference(&stage->info, stage->raw, &info, decoded), >, 0);
  else
    assert_same_pictures(&stage->info, stage->raw, &info, decoded);
  gst_buffer_unref(decoded);
}

static void expect_nothing_more(Stage *stage)
{
  g_assert_true(gst_harness_push_event(stage->rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_in_queue(stage->rig.h), ==, 0);
}

/* ------------------------------------------------------------------------------- samples --- */

typedef struct {
  const gchar *name, *encoder, *decoder;
  GstVideoFormat format;
  gsize cut; /* bytes of each buffer; 0: a slice */
} Case;

static const Case cases[] = {
    {"slices", SLICES, "", GST_VIDEO_FORMAT_I422_10LE, 0},
    {"slices-4", SLICES, "frames-in-flight=4", GST_VIDEO_FORMAT_I420, 0},
    {"bytes-1", SLICES, "frames-in-flight=1", GST_VIDEO_FORMAT_GRAY8, 1},
    {"bytes-37", SLICES "sop=true eph=true", "frames-in-flight=2", GST_VIDEO_FORMAT_GBR, 37},
    {"bytes-1000", SLICES, "conceal=previous", GST_VIDEO_FORMAT_v210, 1000},
    {"strict", SLICES, "strict=true", GST_VIDEO_FORMAT_AYUV64, 0},
    {"mq", "cudaj2kenc rate-control=lossless", "", GST_VIDEO_FORMAT_I420, 500},
    {"tiles", "cudaj2kenc rate-control=lossless tile-width=64 tile-height=64", "",
     GST_VIDEO_FORMAT_I420, 500},
};

static void test_samples(gconstpointer data)
{
  const Case *c = data;
  GstVideoInfo info = video(c->format, WIDTH, HEIGHT);
  GstCaps *caps;
  GPtrArray *frames[4];
  for (guint i = 0; i < 4; i++) {
    frames[i] = subframe_encode(c->encoder, &info, i, i ? NULL : &caps);
    if (!c->cut)
      continue;
    GstBuffer *whole = subframe_join(frames[i]);
    g_ptr_array_unref(frames[i]);
    frames[i] = subframe_cut(whole, c->cut);
    gst_buffer_unref(whole);
  }
  Rig rig = rig_decoder(c->decoder, caps);
  for (guint i = 0; i < 4; i++) {
    for (guint k = 0; k < frames[i]->len; k++)
      g_assert_cmpint(push_frame(rig.h, frames[i]->pdata[k], i), ==, GST_FLOW_OK);
    if (i % 2 == 0)
      continue;
    assert_next_picture(rig.h, &info, i - 1);
    assert_next_picture(rig.h, &info, i);
  }
  for (guint i = 0; i < 4; i++)
    g_ptr_array_unref(frames[i]);
  rig_free(&rig);
}

/* Both fields of a frame come in parts. */
static void test_fields(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 128, 96);
  info.interlace_mode = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  GST_VIDEO_INFO_FIELD_ORDER(&info) = GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
  GstCaps *caps;
  GPtrArray *whole = subframe_encode(
      "cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=4", &info, 0,
      &caps);
  g_assert_cmpuint(whole->len, ==, 1);
  GPtrArray *parts = subframe_cut(whole->pdata[0], 700);
  GstBuffer *raw = pixels_buffer(&info, 0);
  Rig rig = rig_decoder("", caps);
  for (guint n = 0; n < 3; n++) {
    for (guint i = 0; i < parts->len; i++)
      g_assert_cmpint(push_frame(rig.h, parts->pdata[i], n), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo output = output_video(rig.h);
    assert_same_pictures(&info, raw, &output, decoded);
    gst_buffer_unref(decoded);
  }
  gst_buffer_unref(raw);
  g_ptr_array_unref(whole);
  g_ptr_array_unref(parts);
  rig_free(&rig);
}

/* -------------------------------------------------------------------------------- losses --- */

/* The last buffers of a frame are lost: it ends where the next one begins, which timestamps show,
 * or SOC. */
static void test_lost_end(gconstpointer data)
{
  gboolean timestamps = GPOINTER_TO_INT(data);
  Stage stage = stage_new(SLICES, "frames-in-flight=2");
  for (guint lost = 1; lost + 1 < stage.parts->len; lost++) {
    for (guint i = 0; i + lost < stage.parts->len; i++)
      if (timestamps)
        push_part(&stage, i, 2 * lost, 0);
      else
        gst_harness_push(stage.rig.h, gst_buffer_copy_deep(stage.parts->pdata[i]));
    push_all(&stage, 2 * lost + 1);
    if (timestamps) {
      expect(&stage, 2 * lost, TRUE);
    } else {
      GstBuffer *decoded = gst_harness_pull(stage.rig.h);
      g_assert_true(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
      gst_buffer_unref(decoded);
    }
    expect(&stage, 2 * lost + 1, FALSE);
  }
  stage_free(&stage);
}

/* Only the marker is missing: nothing is lost. */
static void test_no_marker(void)
{
  Stage stage = stage_new(SLICES, "");
  for (guint i = 0; i < stage.parts->len; i++)
    GST_BUFFER_FLAG_UNSET(stage.parts->pdata[i], GST_BUFFER_FLAG_MARKER);
  for (guint n = 0; n < 3; n++)
    push_all(&stage, n);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  for (guint n = 0; n < 3; n++)
    expect(&stage, n, FALSE);
  stage_free(&stage);
}

/* Whether the last row of a picture is as sent. */
static gboolean has_last_row(const Stage *stage, const GstVideoInfo *info, GstBuffer *decoded)
{
  GstVideoFrame sent, received;
  gboolean same = TRUE;
  g_assert_true(gst_video_frame_map(&sent, &stage->info, stage->raw, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&received, info, decoded, GST_MAP_READ));
  for (guint x = 0; x < WIDTH; x++)
    same &= pixels_of(&sent, 0, x, HEIGHT - 1) == pixels_of(&received, 0, x, HEIGHT - 1);
  gst_video_frame_unmap(&received);
  gst_video_frame_unmap(&sent);
  return same;
}

/* The picture is that of a frame which ends before part `end`. */
static void assert_ends_at(const Stage *stage, guint end, const GstVideoInfo *info,
                           GstBuffer *decoded)
{
  Stage other = stage_new(SLICES, "");
  push_parts(&other, 0, end, 0);
  g_assert_true(gst_harness_push_event(other.rig.h, gst_event_new_eos()));
  GstBuffer *expected = gst_harness_pull(other.rig.h);
  g_assert_cmpuint(other.parts->len, ==, stage->parts->len);
  assert_same_pictures(info, expected, info, decoded);
  gst_buffer_unref(expected);
  stage_free(&other);
}

/* A buffer in the middle is lost, and the next one is flagged DISCONT. With SOP the buffers behind
 * the gap are of use. */
static void test_gap(gconstpointer data)
{
  gboolean sop = strstr(data, "sop=true") != NULL;
  Stage stage = stage_new(data, "");
  for (guint lost = 1; lost + 1 < stage.parts->len; lost++) {
    push_parts(&stage, 0, lost, 2 * lost);
    push_part(&stage, lost + 1, 2 * lost, GST_BUFFER_FLAG_DISCONT);
    push_parts(&stage, lost + 2, stage.parts->len, 2 * lost);
    push_all(&stage, 2 * lost + 1);
    GstBuffer *decoded = gst_harness_pull(stage.rig.h);
    GstVideoInfo info = output_video(stage.rig.h);
    g_assert_true(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
    g_assert_cmpint(pixels_difference(&stage.info, stage.raw, &info, decoded), >, 0);
    if (lost < stage.parts->len / 2) /* rows far away from those that are lost */
      g_assert_cmpint(has_last_row(&stage, &info, decoded), ==, sop);
    if (!sop)
      assert_ends_at(&stage, lost, &info, decoded);
    gst_buffer_unref(decoded);
    expect(&stage, 2 * lost + 1, FALSE);
  }
  expect_nothing_more(&stage);
  stage_free(&stage);
}

/* The first buffer of a frame is lost: nothing of it can be decoded, and the next one can. */
static void test_lost_begin(void)
{
  Stage stage = stage_new(SLICES, "");
  push_all(&stage, 0);
  expect(&stage, 0, FALSE);
  push_parts(&stage, 1, stage.parts->len, 1);
  push_all(&stage, 2);
  expect(&stage, 2, FALSE);
  gchar *warning = rig_message(&stage.rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(warning);
  g_free(warning);
  expect_nothing_more(&stage);
  stage_free(&stage);
}

/* A buffer flagged CORRUPTED flags the picture; with strict such a frame is refused. */
static void test_corrupted(gconstpointer data)
{
  gboolean strict = GPOINTER_TO_INT(data);
  Stage stage = stage_new(SLICES, strict ? "strict=true" : "");
  push_all(&stage, 0);
  expect(&stage, 0, FALSE);
  for (guint i = 0; i < stage.parts->len; i++)
    g_assert_cmpint(push_part(&stage, i, 1, i == 2 ? GST_BUFFER_FLAG_CORRUPTED : 0), ==,
                    GST_FLOW_OK);
  push_all(&stage, 2);
  if (!strict) {
    GstBuffer *decoded = gst_harness_pull(stage.rig.h);
    g_assert_true(GST_BUFFER_FLAG_IS_SET(decoded, GST_BUFFER_FLAG_CORRUPTED));
    gst_buffer_unref(decoded);
  }
  expect(&stage, 2, FALSE);
  stage_free(&stage);
}

/* A frame without an end does not grow without limit. */
static void test_endless(void)
{
  Stage stage = stage_new(SLICES, "");
  GstBuffer *zeros = gst_buffer_new_allocate(NULL, 8 << 20, NULL);
  gst_buffer_memset(zeros, 0, 0, 8 << 20);
  push_parts(&stage, 0, 3, 0);
  for (guint i = 0; i < 9; i++) {
    GstBuffer *copy = gst_buffer_copy(zeros);
    GST_BUFFER_PTS(copy) = 0;
    g_assert_cmpint(gst_harness_push(stage.rig.h, copy), ==, GST_FLOW_OK);
  }
  push_all(&stage, 1);
  expect(&stage, 1, FALSE);
  gchar *warning = rig_message(&stage.rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(strstr(warning, "does not end"));
  g_free(warning);
  gst_buffer_unref(zeros);
  expect_nothing_more(&stage);
  stage_free(&stage);
}

/* The time that a long header takes does not grow with the number of buffers that it comes in: it
 * would be minutes. */
static void test_long_header(void)
{
  static const guint8 comment[] = {0xff, 0x64, 0, 2};
  const gint64 limit = 20 * G_USEC_PER_SEC; /* with sanitizers, on a busy machine */
  Stage stage = stage_new(SLICES, "");
  GstBuffer *first = stage.parts->pdata[0];
  GByteArray *header = g_byte_array_new();
  GstMapInfo map;
  g_assert_true(gst_buffer_map(first, &map, GST_MAP_READ));
  guint siz = 4 + map.data[5];
  g_byte_array_append(header, map.data, siz);
  while (header->len < 8 << 20)
    g_byte_array_append(header, comment, sizeof comment);
  g_byte_array_append(header, map.data + siz, (guint)map.size - siz);
  gst_buffer_unmap(first, &map);
  gint64 begin = g_get_monotonic_time();
  for (guint at = 0; at < header->len; at += 1000) {
    GstBuffer *part = gst_buffer_new_memdup(header->data + at, MIN(1000, header->len - at));
    GST_BUFFER_PTS(part) = 0;
    g_assert_cmpint(gst_harness_push(stage.rig.h, part), ==, GST_FLOW_OK);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, limit);
  }
  push_parts(&stage, 1, stage.parts->len, 0);
  expect(&stage, 0, FALSE);
  g_byte_array_unref(header);
  stage_free(&stage);
}

/* -------------------------------------------------------------------------------- events --- */

/* At EOS after each number of buffers, what is there is decoded. */
static void test_eos(void)
{
  guint count = 8;
  for (guint parts = 1; parts < count; parts++) {
    Stage stage = stage_new(SLICES, "");
    count = stage.parts->len;
    push_parts(&stage, 0, parts, 0);
    g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
    g_assert_cmpuint(gst_harness_buffers_in_queue(stage.rig.h), ==, 1);
    expect(&stage, 0, TRUE);
    stage_free(&stage);
  }
}

/* A flush after each number of buffers forgets the frame. */
static void test_flush(void)
{
  Stage stage = stage_new(SLICES, "frames-in-flight=2");
  for (guint parts = 0; parts < stage.parts->len; parts++) {
    push_all(&stage, 0);
    push_parts(&stage, 0, parts, 1);
    rig_flush(&stage.rig);
    push_all(&stage, 100 + parts);
    expect(&stage, 100 + parts, FALSE);
  }
  expect_nothing_more(&stage);
  stage_free(&stage);
}

/* A flush in the middle of a frame whose further buffers still come: they are no frame. */
static void test_flush_within(void)
{
  Stage stage = stage_new(SLICES, "");
  push_all(&stage, 0);
  expect(&stage, 0, FALSE);
  push_parts(&stage, 0, 4, 1);
  rig_flush(&stage.rig);
  push_parts(&stage, 4, stage.parts->len, 1);
  push_all(&stage, 2);
  expect(&stage, 2, FALSE);
  expect_nothing_more(&stage);
  stage_free(&stage);
}

typedef enum { SEGMENT, STREAM, GAP, CAPS, STATES } Interruption;

/* What interrupts a frame after each number of buffers: what is there of it is shown, if the
 * element is not stopped. */
static void test_interrupted(gconstpointer data)
{
  Interruption what = (Interruption)GPOINTER_TO_INT(data);
  Stage stage = stage_new(SLICES, "frames-in-flight=3");
  GstHarness *h = stage.rig.h;
  for (guint parts = 1; parts < stage.parts->len; parts++) {
    GstCaps *caps = gst_pad_get_current_caps(h->srcpad);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    push_parts(&stage, 0, parts, 2 * parts);
    switch (what) {
    case STREAM:
      g_assert_true(gst_harness_push_event(h, gst_event_new_stream_start("other")));
      G_GNUC_FALLTHROUGH;
    case SEGMENT: g_assert_true(gst_harness_push_event(h, gst_event_new_segment(&segment))); break;
    case GAP:
      g_assert_true(gst_harness_push_event(
          h, gst_event_new_gap(2 * parts * GST_SECOND / FPS, GST_SECOND / FPS)));
      break;
    case CAPS:
      caps = gst_caps_make_writable(caps);
      gst_caps_set_simple(caps, "round", G_TYPE_INT, (gint)parts, NULL);
      g_assert_true(gst_harness_push_event(h, gst_event_new_caps(caps)));
      break;
    case STATES:
      gst_element_set_state(h->element, GST_STATE_READY);
      gst_element_set_state(h->element, GST_STATE_PLAYING);
      g_assert_true(gst_harness_push_event(h, gst_event_new_stream_start("other")));
      g_assert_true(gst_harness_push_event(h, gst_event_new_caps(caps)));
      g_assert_true(gst_harness_push_event(h, gst_event_new_segment(&segment)));
      break;
    }
    push_all(&stage, 2 * parts + 1);
    if (what != STATES)
      expect(&stage, 2 * parts, TRUE);
    expect(&stage, 2 * parts + 1, FALSE);
    gst_caps_unref(caps);
  }
  stage_free(&stage);
}

/* New caps end a frame and announce frames of another size, and then whole frames. */
static void test_other_caps(void)
{
  Stage stage = stage_new(SLICES, "");
  GstVideoInfo other = video(GST_VIDEO_FORMAT_GRAY8, 64, 100);
  GstCaps *caps;
  GPtrArray *parts = subframe_encode(SLICES, &other, 0, &caps);
  push_parts(&stage, 0, 5, 0);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_caps(caps)));
  expect(&stage, 0, TRUE);
  for (guint i = 0; i < parts->len; i++)
    g_assert_cmpint(push_frame(stage.rig.h, parts->pdata[i], 1), ==, GST_FLOW_OK);
  assert_next_picture(stage.rig.h, &other, 0);
  GstBuffer *whole = subframe_join(parts);
  gst_caps_unref(caps);
  caps = gst_caps_from_string("image/x-jpc,alignment=frame,framerate=25/1,colorspace=GRAY");
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_caps(caps)));
  for (guint n = 2; n < 5; n++) {
    g_assert_cmpint(push_frame(stage.rig.h, whole, n), ==, GST_FLOW_OK);
    assert_next_picture(stage.rig.h, &other, 0);
  }
  gst_caps_unref(caps);
  gst_buffer_unref(whole);
  g_ptr_array_unref(parts);
  stage_free(&stage);
}

/* A late frame is dropped with all its buffers. */
static void test_late(void)
{
  Stage stage = stage_new(SLICES, "frames-in-flight=1");
  push_all(&stage, 0);
  expect(&stage, 0, FALSE);
  g_assert_true(gst_harness_push_upstream_event(
      stage.rig.h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 0)));
  for (guint n = 1; n < 4; n++)
    push_all(&stage, n);
  push_all(&stage, 10 * FPS);
  expect(&stage, 10 * FPS, FALSE);
  expect_nothing_more(&stage);
  stage_free(&stage);
}

/* Reverse playback: each frame arrives as a group of its own. */
static void test_reverse(void)
{
  Stage stage = stage_new(SLICES, "frames-in-flight=4");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1.0;
  segment.stop = GST_SECOND;
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_segment(&segment)));
  for (guint n = 5; n-- > 0;)
    for (guint i = 0; i < stage.parts->len; i++)
      g_assert_cmpint(push_part(&stage, i, n, i ? 0 : GST_BUFFER_FLAG_DISCONT), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(stage.rig.h, gst_event_new_eos()));
  for (guint n = 5; n-- > 0;)
    expect(&stage, n, FALSE);
  stage_free(&stage);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strdup_printf("/parts/samples/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], test_samples);
    g_free(path);
  }
  g_test_add_func("/parts/fields", test_fields);
  g_test_add_data_func("/parts/lost-end/timestamps", GINT_TO_POINTER(TRUE), test_lost_end);
  g_test_add_data_func("/parts/lost-end/soc", GINT_TO_POINTER(FALSE), test_lost_end);
  g_test_add_func("/parts/no-marker", test_no_marker);
  g_test_add_data_func("/parts/gap", SLICES, test_gap);
  g_test_add_data_func("/parts/gap/sop", SLICES "sop=true", test_gap);
  g_test_add_func("/parts/lost-begin", test_lost_begin);
  g_test_add_data_func("/parts/corrupted", GINT_TO_POINTER(FALSE), test_corrupted);
  g_test_add_data_func("/parts/corrupted/strict", GINT_TO_POINTER(TRUE), test_corrupted);
  g_test_add_func("/parts/endless", test_endless);
  g_test_add_func("/parts/long-header", test_long_header);
  g_test_add_func("/parts/eos", test_eos);
  g_test_add_func("/parts/flush", test_flush);
  g_test_add_func("/parts/flush-within", test_flush_within);
  g_test_add_data_func("/parts/interrupted/segment", GINT_TO_POINTER(SEGMENT), test_interrupted);
  g_test_add_data_func("/parts/interrupted/stream", GINT_TO_POINTER(STREAM), test_interrupted);
  g_test_add_data_func("/parts/interrupted/gap", GINT_TO_POINTER(GAP), test_interrupted);
  g_test_add_data_func("/parts/interrupted/caps", GINT_TO_POINTER(CAPS), test_interrupted);
  g_test_add_data_func("/parts/interrupted/states", GINT_TO_POINTER(STATES), test_interrupted);
  g_test_add_func("/parts/other-caps", test_other_caps);
  g_test_add_func("/parts/late", test_late);
  g_test_add_func("/parts/reverse", test_reverse);
  int result = g_test_run();
  gst_deinit();
  return result;
}
