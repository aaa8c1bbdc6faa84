/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudaj2kdec on a byte stream: it finds the beginning and end of images, however the stream is
 * divided into buffers. */
#include "gst/gstcudaj2kcommon.h"
#include "harness.h"

#include <gst/base/gsttypefindhelper.h>
#include <string.h>
#include <unistd.h>

#define WIDTH      64
#define HEIGHT     48
#define LIMIT_S    60 /* seconds for one test */
#define MAX_IMAGES 16

/* ------------------------------------------------------------------------------- streams --- */

/* A stream under construction, and the expected output. */
typedef struct {
  GByteArray *bytes;
  gint phases[MAX_IMAGES]; /* of the pattern; -1: a picture flagged as corrupted */
  guint count;
  const gchar *caps;
} Stream;

static GstVideoInfo source(void)
{
  return video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
}

static GByteArray *coded(const gchar *description, const GstVideoInfo *info, guint phase)
{
  GstBuffer *raw = pixels_buffer(info, phase);
  GstBuffer *buffer = encode_one(description, info, raw, NULL);
  gpointer data;
  gsize size;
  gst_buffer_extract_dup(buffer, 0, G_MAXSIZE, &data, &size);
  gst_buffer_unref(buffer);
  gst_buffer_unref(raw);
  return g_byte_array_new_take(data, size);
}

static void append(Stream *stream, GByteArray *image, gint phase)
{
  g_byte_array_append(stream->bytes, image->data, image->len);
  stream->phases[stream->count++] = phase;
  g_byte_array_unref(image);
}

static void append_junk(Stream *stream, guint size, guint8 value)
{
  guint at = stream->bytes->len;
  g_byte_array_set_size(stream->bytes, at + size);
  memset(stream->bytes->data + at, value, size);
}

/* At any address, unlike GST_WRITE_UINT32_BE. */
static void write32(guint8 *p, guint32 value)
{
  for (guint i = 0; i < 4; i++)
    p[i] = (guint8)(value >> (24 - 8 * i));
}

/* The offset of the first or the last SOT of a codestream. */
static guint8 *tile_part(GByteArray *image, gboolean last)
{
  guint at = 2, next;
  while (gst_cuda_j2k_read16(image->data + at) != 0xFF90)
    at += 2 + gst_cuda_j2k_read16(image->data + at + 2);
  while (last && (next = at + gst_cuda_j2k_read32(image->data + at + 6)) + 12 <= image->len &&
         gst_cuda_j2k_read16(image->data + next) == 0xFF90)
    at = next;
  return image->data + at;
}

/* --------------------------------------------------------------------------------- cases --- */

#define LOSSLESS "cudaj2kenc rate-control=lossless num-resolutions=3 "

static void make_ten(Stream *stream, const gchar *description)
{
  GstVideoInfo info = source();
  for (gint i = 0; i < 10; i++)
    append(stream, coded(description, &info, (guint)i), i);
}

static void make_codestreams(Stream *stream)
{
  make_ten(stream, LOSSLESS);
}

static void make_ht(Stream *stream)
{
  make_ten(stream, LOSSLESS "block-coder=ht");
}

static void make_markers(Stream *stream)
{
  make_ten(stream, LOSSLESS "sop=true eph=true tlm=true plt=true");
}

static void make_tile_parts(Stream *stream)
{
  make_ten(stream, LOSSLESS "tile-width=32 tile-height=32 tile-parts=resolution "
                            "progression-order=rpcl");
}

static void make_files(Stream *stream)
{
  stream->caps = "image/jp2";
  make_ten(stream, LOSSLESS "! capsfilter caps=image/jp2");
}

static void make_boxes(Stream *stream)
{
  stream->caps = "image/x-j2c";
  make_ten(stream, LOSSLESS "! capsfilter caps=image/x-j2c");
}

/* With Psot = 0 the last tile-part ends at EOC. The packet number 0xFFD9 looks like EOC. */
static void make_no_lengths(Stream *stream)
{
  GstVideoInfo info = source();
  for (gint i = 0; i < 10; i++) {
    GByteArray *image = coded(i % 2 ? LOSSLESS : LOSSLESS "sop=true", &info, (guint)i);
    write32(tile_part(image, TRUE) + 6, 0);
    for (guint at = 0; i % 2 == 0 && at + 6 <= image->len; at++)
      if (gst_cuda_j2k_read32(image->data + at) == 0xFF910004) {
        image->data[at + 4] = 0xFF;
        image->data[at + 5] = 0xD9;
        break;
      }
    append(stream, image, i);
  }
}

/* Comments in the main header and in a tile-part header whose bytes look like EOC, like a
 * consistent SOC and SIZ, and like SOT; with a length of the tile-part, and without. */
static void make_comments(Stream *stream)
{
  static const guint8 head[] = {0xFF, 0xD9, 0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 20, 0, 1};
  GstVideoInfo info = source();
  for (gint i = 0; i < 10; i++) {
    GByteArray *image =
        coded(LOSSLESS "comment=\"\xC3\xBF\xC3\x99\xC3\xBFO\xC3\xBFQ\"", &info, (guint)i);
    GByteArray *longer = g_byte_array_new();
    guint sot = (guint)(tile_part(image, TRUE) - image->data);
    guint8 segment[] = {0xFF, 0x64, 0, 4 + sizeof head + 49, 0, 0};
    g_byte_array_append(longer, image->data, sot + 12);
    g_byte_array_append(longer, segment, sizeof segment);
    g_byte_array_append(longer, head, sizeof head);
    g_byte_array_append(longer, image->data, 49); /* SOC and the beginning of SIZ */
    g_byte_array_append(longer, image->data + sot + 12, image->len - sot - 12);
    guint added = longer->len - image->len;
    write32(longer->data + sot + 6, i % 2 ? 0 : gst_cuda_j2k_read32(image->data + sot + 6) + added);
    append(stream, longer, i);
    g_byte_array_unref(image);
  }
}

/* Markers without a length, the first and the last of them, in the main header and in that of a
 * tile-part. */
static void make_short_markers(Stream *stream)
{
  static const guint8 markers[] = {0xFF, 0x30, 0xFF, 0x3F};
  GstVideoInfo info = source();
  for (gint i = 0; i < 10; i++) {
    GByteArray *image = coded(LOSSLESS, &info, (guint)i), *longer = g_byte_array_new();
    guint sot = (guint)(tile_part(image, TRUE) - image->data);
    g_byte_array_append(longer, image->data, sot);
    g_byte_array_append(longer, markers, sizeof markers);
    g_byte_array_append(longer, image->data + sot, 12);
    g_byte_array_append(longer, markers, sizeof markers);
    g_byte_array_append(longer, image->data + sot + 12, image->len - sot - 12);
    guint size = gst_cuda_j2k_read32(image->data + sot + 6) + (guint)sizeof markers;
    write32(longer->data + sot + sizeof markers + 6, i % 2 ? 0 : size);
    append(stream, longer, i);
    g_byte_array_unref(image);
  }
}

/* Boxes that extend to the end of the file, that have an extended length, or that precede others.
 */
static void make_odd_files(Stream *stream)
{
  static const guint8 behind[] = {0, 0, 0, 12, 'x', 'm', 'l', ' ', '<', 'a', '/', '>'};
  GstVideoInfo info = source();
  stream->caps = "image/jp2";
  for (gint i = 0; i < 4; i++) {
    GByteArray *file = coded(LOSSLESS "! capsfilter caps=image/jp2", &info, (guint)i);
    guint box = 0;
    while (memcmp(file->data + box + 4, "jp2c", 4) != 0)
      box += gst_cuda_j2k_read32(file->data + box);
    if (i == 3) {
      write32(file->data + box, 0);
    } else if (i % 2) {
      GByteArray *longer = g_byte_array_new();
      guint8 head[16] = {0, 0, 0, 1, 'j', 'p', '2', 'c'};
      write32(head + 12, gst_cuda_j2k_read32(file->data + box) + 8);
      g_byte_array_append(longer, file->data, box);
      g_byte_array_append(longer, head, sizeof head);
      g_byte_array_append(longer, file->data + box + 8, file->len - box - 8);
      g_byte_array_unref(file);
      file = longer;
    }
    append(stream, file, i);
    if (i < 2)
      g_byte_array_append(stream->bytes, behind, sizeof behind);
  }
}

static void make_mixed(Stream *stream)
{
  GstVideoInfo info = source();
  for (gint i = 0; i < 6; i++)
    append(stream,
           coded(i % 2 ? LOSSLESS "! capsfilter caps=image/jp2" : LOSSLESS "block-coder=ht", &info,
                 (guint)i),
           i);
}

/* Bytes before, between and after images; some look like the beginning of an image. */
static void make_junk(Stream *stream)
{
  static const guint8 fake[] = {0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0, 0, 0, 0, 1, 0xFF, 0x4F, 0xFF};
  GstVideoInfo info = source();
  append_junk(stream, 3000, 0);
  for (gint i = 0; i < 5; i++) {
    append(stream, coded(LOSSLESS, &info, (guint)i), i);
    g_byte_array_append(stream->bytes, fake, sizeof fake);
    append_junk(stream, 100 + (guint)i, i % 2 ? 0xFF : 0x4F);
  }
}

static void make_no_eoc(Stream *stream)
{
  GstVideoInfo info = source();
  for (gint i = 0; i < 10; i++) {
    GByteArray *image = coded(LOSSLESS, &info, (guint)i);
    g_byte_array_set_size(image, image->len - 2);
    if (i % 3 == 1)
      write32(tile_part(image, TRUE) + 6, 0);
    append(stream, image, i);
  }
}

/* One image in the middle and the last one are truncated; the others are decoded completely. */
static void make_truncated(Stream *stream, const gchar *description)
{
  GstVideoInfo info = source();
  for (gint i = 0; i < 7; i++) {
    GByteArray *image = coded(description, &info, (guint)i);
    gboolean cut = i % 3 == 0;
    if (cut)
      g_byte_array_set_size(image, image->len * 2 / 3);
    append(stream, image, cut ? -1 : i);
  }
}

static void make_truncated_codestreams(Stream *stream)
{
  make_truncated(stream, LOSSLESS);
}

static void make_truncated_files(Stream *stream)
{
  stream->caps = "image/jp2";
  make_truncated(stream, LOSSLESS "! capsfilter caps=image/jp2");
}

/* A tile-part length that exceeds the rest of the stream, and one that is implausible. */
static void make_wrong_lengths(Stream *stream)
{
  static const guint32 lengths[] = {100000, 0xFFFFFFF0, 13, 1};
  GstVideoInfo info = source();
  for (gint i = 0; i < 8; i++) {
    GByteArray *image = coded(LOSSLESS, &info, (guint)i);
    if (i % 2)
      write32(tile_part(image, TRUE) + 6, lengths[i / 2]);
    append(stream, image, i % 2 ? -1 : i);
  }
}

/* ------------------------------------------------------------------------------- decoding --- */

static Rig bytes_decoder(const gchar *caps)
{
  GstSegment segment;
  Rig rig = rig_decoder("frames-in-flight=3", gst_caps_from_string(caps));
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  return rig;
}

static GstFlowReturn push_bytes(Rig *rig, const guint8 *data, gsize size)
{
  return gst_harness_push(rig->h, gst_buffer_new_memdup(data, size));
}

static void check_picture(Rig *rig, const GstVideoInfo *info, gint phase)
{
  if (phase >= 0) {
    assert_next_picture(rig->h, info, (guint)phase);
    return;
  }
  GstBuffer *picture = gst_harness_pull(rig->h);
  g_assert_true(GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED));
  gst_buffer_unref(picture);
}

static void test_stream(gconstpointer data)
{
  void (*const *make)(Stream *) = data;
  static const guint pieces[] = {1, 41, 1000, G_MAXUINT};
  GstVideoInfo info = source();
  Stream stream = {.bytes = g_byte_array_new(), .caps = "image/x-jpc"};
  alarm(LIMIT_S);
  (*make)(&stream);
  for (guint i = 0; i < G_N_ELEMENTS(pieces); i++) {
    Rig rig = bytes_decoder(stream.caps);
    guint size = stream.bytes->len;
    for (guint at = 0; at < size; at += MIN(pieces[i], size - at))
      g_assert_cmpint(push_bytes(&rig, stream.bytes->data + at, MIN(pieces[i], size - at)), ==,
                      GST_FLOW_OK);
    g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
    g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, stream.count);
    for (guint n = 0; n < stream.count; n++)
      check_picture(&rig, &info, stream.phases[n]);
    rig_free(&rig);
  }
  g_byte_array_unref(stream.bytes);
  alarm(0);
}

/* With `fields=2` in the caps a frame is two codestreams. */
static void test_fields(void)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 128, 96);
  info.interlace_mode = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  GST_VIDEO_INFO_FIELD_ORDER(&info) = GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
  for (guint boxed = 0; boxed < 2; boxed++) {
    Rig rig = bytes_decoder(boxed ? "image/x-j2c,fields=2" : "image/x-jpc,fields=2");
    gchar *description =
        g_strdup_printf("cudaj2kenc profile=broadcast-multi-r rate-control=lossless "
                        "num-resolutions=4 ! capsfilter caps=image/%s",
                        boxed ? "x-j2c" : "x-jpc");
    for (guint i = 0; i < 3; i++) {
      GByteArray *frame = coded(description, &info, i);
      for (guint at = 0; at < frame->len; at += 777)
        push_bytes(&rig, frame->data + at, MIN(777, frame->len - at));
      g_byte_array_unref(frame);
    }
    g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
    g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, 3);
    for (guint i = 0; i < 3; i++)
      assert_next_picture(rig.h, &info, i);
    g_free(description);
    rig_free(&rig);
  }
}

/* An image is decoded as soon as it is complete. */
static void test_at_once(void)
{
  GstVideoInfo info = source();
  Rig rig = bytes_decoder("image/x-jpc");
  for (guint i = 0; i < 3; i++) {
    GByteArray *image = coded(LOSSLESS, &info, i);
    g_assert_cmpint(push_bytes(&rig, image->data, image->len), ==, GST_FLOW_OK);
    assert_next_picture(rig.h, &info, i);
    g_byte_array_unref(image);
  }
  rig_free(&rig);
}

/* --------------------------------------------------------------------------------- limits --- */

/* Pushes zeros until they are refused; the error message must contain `words`. */
static void push_zeros(Rig *rig, guint most_mib, const gchar *words)
{
  GstFlowReturn flow = GST_FLOW_OK;
  guint8 *zeros = g_malloc0(1 << 20);
  guint pushed = 0;
  for (; flow == GST_FLOW_OK && pushed <= most_mib; pushed++)
    flow = push_bytes(rig, zeros, 1 << 20);
  g_assert_cmpint(flow, ==, GST_FLOW_ERROR);
  gchar *text = rig_message(rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, words));
  g_free(text);
  g_free(zeros);
}

static void test_no_image(void)
{
  Rig rig = bytes_decoder("image/x-jpc");
  alarm(LIMIT_S);
  push_zeros(&rig, 20, "No JPEG 2000 image");
  rig_free(&rig);
  alarm(0);
}

/* A codestream that never ends is an error; after a flush the decoder works again. */
static void test_no_end(void)
{
  GstVideoInfo info = source();
  GByteArray *image = coded(LOSSLESS, &info, 0);
  alarm(LIMIT_S);
  for (guint i = 0; i < 2; i++) {
    Rig rig = bytes_decoder("image/x-jpc");
    GByteArray *begin = g_byte_array_new();
    g_byte_array_append(begin, image->data, image->len - 100);
    write32(tile_part(begin, TRUE) + 6, i ? 0xFFFFFFF0 : 0);
    g_assert_cmpint(push_bytes(&rig, begin->data, begin->len), ==, GST_FLOW_OK);
    push_zeros(&rig, 80, "begins at byte 0 of the stream does not end");
    rig_flush(&rig);
    g_assert_cmpint(push_bytes(&rig, image->data, image->len), ==, GST_FLOW_OK);
    assert_next_picture(rig.h, &info, 0);
    g_byte_array_unref(begin);
    rig_free(&rig);
  }
  g_byte_array_unref(image);
  alarm(0);
}

/* ----------------------------------------------------------------------------------- main --- */

/* The caps of data by their first bytes; NULL: not recognised. */
static gchar *type_of(const GByteArray *data)
{
  GstCaps *caps = gst_type_find_helper_for_data(NULL, data->data, data->len, NULL);
  gchar *name = caps ? g_strdup(gst_structure_get_name(gst_caps_get_structure(caps, 0))) : NULL;
  gst_clear_caps(&caps);
  return name;
}

/* A JPH file is recognised by its signature box and the name in its file type box, which may be the
 * brand or in the list. */
static void test_jph_type(void)
{
  static const guint8 head[32] = "\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14"
                                 "ftypjph \0\0\0\0jph ";
  static const guint changed[] = {0, 4, 11, 16, 19, 20, 28}; /* 20 and 28: the other one is left */
  for (guint i = 0; i <= G_N_ELEMENTS(changed); i++) {
    GByteArray *data = g_byte_array_new();
    g_byte_array_append(data, head, sizeof head);
    g_byte_array_set_size(data, 64);
    memset(data->data + 32, 0, 32);
    if (i > 0)
      data->data[changed[i - 1]] ^= 1;
    gchar *type = type_of(data);
    gboolean recognised = i == 0 || changed[i - 1] >= 20;
    g_assert_cmpint(g_strcmp0(type, "image/jp2") == 0, ==, recognised);
    g_free(type);
    g_byte_array_unref(data);
  }
}

int main(int argc, char **argv)
{
  static const struct {
    void (*make)(Stream *stream);
    const gchar *name;
  } cases[] = {
      {make_codestreams, "codestreams"},
      {make_ht, "ht"},
      {make_markers, "sop-eph-tlm-plt"},
      {make_tile_parts, "tile-parts"},
      {make_files, "files"},
      {make_boxes, "boxes"},
      {make_no_lengths, "no-lengths"},
      {make_comments, "comments"},
      {make_short_markers, "short-markers"},
      {make_odd_files, "odd-files"},
      {make_mixed, "mixed"},
      {make_junk, "junk"},
      {make_no_eoc, "no-eoc"},
      {make_truncated_codestreams, "truncated-codestreams"},
      {make_truncated_files, "truncated-files"},
      {make_wrong_lengths, "wrong-lengths"},
  };
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *path = g_strdup_printf("/bytes/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i].make, test_stream);
    g_free(path);
  }
  g_test_add_func("/bytes/jph-type", test_jph_type);
  g_test_add_func("/bytes/fields", test_fields);
  g_test_add_func("/bytes/at-once", test_at_once);
  g_test_add_func("/bytes/no-image", test_no_image);
  g_test_add_func("/bytes/no-end", test_no_end);
  int result = g_test_run();
  gst_deinit();
  return result;
}
