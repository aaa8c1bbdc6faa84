/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rtp-streams.h"

#include <gst/rtp/gstrtpbuffer.h>

Stream stream_new(GstCaps *caps)
{
  return (Stream){g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref),
                  caps ? gst_caps_ref(caps) : NULL};
}

void stream_clear(Stream *stream)
{
  g_ptr_array_unref(stream->buffers);
  gst_clear_caps(&stream->caps);
}

static void pull_all(GstHarness *h, Stream *out)
{
  GstBuffer *buffer;
  while ((buffer = gst_harness_try_pull(h)))
    g_ptr_array_add(out->buffers, buffer);
  gst_clear_caps(&out->caps);
  out->caps = gst_pad_get_current_caps(h->sinkpad);
}

static Stream encode(const gchar *description, const GstVideoInfo *info, const gchar *colorimetry,
                     guint count)
{
  Stream out = stream_new(NULL);
  GstHarness *h = gst_harness_new_parse(description);
  GstCaps *caps = gst_video_info_to_caps(info);
  if (colorimetry)
    gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
  gst_harness_set_src_caps(h, caps);
  for (guint i = 0; i < count; i++) {
    GstBuffer *raw = pixels_buffer(info, i);
    g_assert_cmpint(push_frame(h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  gst_harness_push_event(h, gst_event_new_eos());
  pull_all(h, &out);
  gst_harness_teardown(h);
  g_assert_cmpuint(out.buffers->len, ==, count);
  return out;
}

Stream stream_encode(const gchar *properties, GstVideoFormat format, guint width, guint height,
                     guint count, const gchar *colorimetry)
{
  GstVideoInfo info = video(format, width, height);
  gchar *description = g_strdup_printf("cudaj2kenc backend=cpu %s", properties);
  Stream out = encode(description, &info, colorimetry, count);
  g_free(description);
  return out;
}

Stream stream_encode_noise(GstVideoFormat format, guint width, guint height)
{
  GstVideoInfo info = video(format, width, height);
  GstBuffer *raw = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
  GRand *rand = g_rand_new_with_seed(11);
  Stream out = stream_new(NULL);
  GstMapInfo map;
  g_assert_true(gst_buffer_map(raw, &map, GST_MAP_WRITE));
  for (gsize i = 0; i + 4 <= map.size; i += 4)
    GST_WRITE_UINT32_BE(map.data + i, g_rand_int(rand));
  gst_buffer_unmap(raw, &map);
  g_rand_free(rand);
  g_ptr_array_add(out.buffers, encode_one("cudaj2kenc backend=cpu block-coder=ht "
                                          "rate-control=lossless",
                                          &info, raw, &out.caps));
  gst_buffer_unref(raw);
  return out;
}

Stream stream_encode_fields(const gchar *order, guint count)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_I422_10LE, 80, 64);
  GST_VIDEO_INFO_INTERLACE_MODE(&info) = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  GST_VIDEO_INFO_FIELD_ORDER(&info) = g_str_equal(order, "bff")
                                          ? GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST
                                          : GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
  Stream out =
      encode("cudaj2kenc backend=cpu profile=broadcast-single main-level=3", &info, "bt709", count);
  if (g_str_equal(order, "psf")) {
    out.caps = gst_caps_make_writable(out.caps);
    gst_caps_set_simple(out.caps, "interlace-mode", G_TYPE_STRING, "progressive", NULL);
    gst_structure_remove_field(gst_caps_get_structure(out.caps, 0), "field-order");
  }
  return out;
}

Stream stream_pass(const gchar *factory, const gchar *properties, const Stream *in,
                   GstStructure **stats)
{
  Stream out = stream_new(NULL);
  gchar *description = g_strdup_printf("%s name=it %s", factory, properties);
  GstHarness *h = gst_harness_new_parse(description);
  gst_harness_set_src_caps(h, gst_caps_ref(in->caps));
  for (guint i = 0; i < in->buffers->len; i++)
    g_assert_cmpint(gst_harness_push(h, gst_buffer_ref(in->buffers->pdata[i])), ==, GST_FLOW_OK);
  gst_harness_push_event(h, gst_event_new_eos());
  pull_all(h, &out);
  if (stats) {
    GstElement *element = gst_harness_find_element(h, factory);
    g_object_get(element, "stats", stats, NULL);
    gst_object_unref(element);
  }
  gst_harness_teardown(h);
  g_free(description);
  return out;
}

static void assert_same_bytes(GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  g_assert_cmpuint(gst_buffer_get_size(a), ==, gst_buffer_get_size(b));
  g_assert_true(gst_buffer_map(a, &map, GST_MAP_READ));
  g_assert_cmpint(gst_buffer_memcmp(b, 0, map.data, map.size), ==, 0);
  gst_buffer_unmap(a, &map);
}

void stream_assert_same(const Stream *sent, const Stream *received)
{
  g_assert_cmpuint(received->buffers->len, ==, sent->buffers->len);
  for (guint i = 0; i < sent->buffers->len; i++) {
    GstBuffer *buffer = received->buffers->pdata[i];
    assert_same_bytes(sent->buffers->pdata[i], buffer);
    g_assert_false(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_CORRUPTED));
  }
}

gsize stream_largest(const Stream *stream)
{
  gsize largest = 0;
  for (guint i = 0; i < stream->buffers->len; i++)
    largest = MAX(largest, gst_buffer_get_size(stream->buffers->pdata[i]));
  return largest;
}

RtpView rtp_view(GstBuffer *buffer)
{
  GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
  g_assert_true(gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp));
  const guint8 *payload = gst_rtp_buffer_get_payload(&rtp);
  g_assert_cmpuint(gst_rtp_buffer_get_payload_len(&rtp), >, 8);
  RtpView view = {gst_rtp_buffer_get_seq(&rtp), gst_rtp_buffer_get_timestamp(&rtp),
                  gst_rtp_buffer_get_marker(&rtp), payload[3], payload[0] >> 3 & 7};
  gst_rtp_buffer_unmap(&rtp);
  return view;
}

guint64 stats_get(const GstStructure *stats, const gchar *name)
{
  guint64 value = 0;
  g_assert_true(gst_structure_get_uint64(stats, name, &value));
  return value;
}

void stats_check(const GstStructure *stats)
{
  static const gchar *const parts[] = {"used",       "unused",    "left-out", "late",
                                       "duplicates", "malformed", "waiting",  "foreign"};
  guint64 sum = 0;
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    sum += stats_get(stats, parts[i]);
  g_assert_cmpuint(sum, ==, stats_get(stats, "received"));
  g_assert_cmpuint(stats_get(stats, "waiting"), ==, 0);
}

static gboolean happens(GRand *rand, guint probability)
{
  return (guint)g_rand_int_range(rand, 0, 1000) < probability;
}

Stream network_pass(const Network *network, const Stream *packets, guint *dropped, guint *doubled)
{
  GRand *rand = g_rand_new_with_seed(network->seed);
  Stream out = stream_new(NULL);
  guint count = packets->buffers->len;
  out.caps = gst_caps_ref(packets->caps);
  *dropped = *doubled = 0;
  for (guint i = 0; i < count; i++) {
    gboolean fixed = i == 0 || i + 1 == count;
    if (!fixed && happens(rand, network->loss)) {
      (*dropped)++;
      continue;
    }
    g_ptr_array_add(out.buffers, gst_buffer_ref(packets->buffers->pdata[i]));
    if (happens(rand, network->duplicate)) {
      (*doubled)++;
      g_ptr_array_add(out.buffers, gst_buffer_ref(packets->buffers->pdata[i]));
    }
  }
  /* Moves packets forward in the order of arrival, by 1 to 16 places. */
  for (guint i = 1; i + 1 < out.buffers->len; i++) {
    guint back = (guint)g_rand_int_range(rand, 1, 17);
    if (!happens(rand, network->reorder) || back >= i)
      continue;
    gpointer packet = g_ptr_array_steal_index(out.buffers, i);
    g_ptr_array_insert(out.buffers, (gint)(i - back), packet);
  }
  g_rand_free(rand);
  return out;
}

void network_mutate(const Network *network, Stream *packets, guint count)
{
  GRand *rand = g_rand_new_with_seed(network->seed + 1);
  for (guint i = 0; i < count; i++) {
    guint which = (guint)g_rand_int_range(rand, 0, (gint32)packets->buffers->len);
    GstBuffer *buffer = gst_buffer_copy_deep(packets->buffers->pdata[which]);
    gsize size = gst_buffer_get_size(buffer);
    guint8 byte = (guint8)g_rand_int(rand);
    /* Half of the changes are in the payload header. */
    gsize at = i % 2 ? 12 + (gsize)g_rand_int_range(rand, 0, 8)
                     : (gsize)g_rand_int_range(rand, 2, (gint32)size);
    if (i % 7 == 6)
      gst_buffer_set_size(buffer, (gssize)MAX(12, at));
    else if (at < size)
      gst_buffer_fill(buffer, at, &byte, 1);
    gst_buffer_unref(packets->buffers->pdata[which]);
    packets->buffers->pdata[which] = buffer;
  }
  g_rand_free(rand);
}
