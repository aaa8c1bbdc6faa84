/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness.h"

#ifdef __SANITIZE_ADDRESS__
/* Complete stacks, so that tests/lsan.supp can name leaks of other libraries; ASAN_OPTIONS of the
 * environment adds to these. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
  return "fast_unwind_on_malloc=0:malloc_context_size=16";
}
#endif

Rig rig_new(const gchar *description)
{
  Rig rig = {.h = gst_harness_new_parse(description), .bus = gst_bus_new()};
  gst_element_set_bus(rig.h->element, rig.bus);
  return rig;
}

Rig rig_decoder(const gchar *properties, GstCaps *caps)
{
  gchar *description = g_strdup_printf("cudaj2kdec %s", properties);
  Rig rig = rig_new(description);
  g_free(description);
  if (caps)
    gst_harness_set_src_caps(rig.h, caps);
  return rig;
}

Rig rig_encoder(const gchar *properties, const GstVideoInfo *info)
{
  gchar *description = g_strdup_printf("cudaj2kenc %s", properties);
  Rig rig = rig_new(description);
  g_free(description);
  if (info)
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
  return rig;
}

void rig_free(Rig *rig)
{
  /* Messages reference their element, and the element references the bus that holds them. */
  gst_bus_set_flushing(rig->bus, TRUE);
  gst_harness_teardown(rig->h);
  gst_object_unref(rig->bus);
}

void rig_flush(Rig *rig)
{
  GstBuffer *old;
  GstSegment segment;
  g_assert_true(gst_harness_push_event(rig->h, gst_event_new_flush_start()));
  g_assert_true(gst_harness_push_event(rig->h, gst_event_new_flush_stop(TRUE)));
  while ((old = gst_harness_try_pull(rig->h)))
    gst_buffer_unref(old);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  g_assert_true(gst_harness_push_event(rig->h, gst_event_new_segment(&segment)));
}

/* The error of the next message of this type; NULL: none. */
static GError *next_message(GstBus *bus, GstMessageType type)
{
  GstMessage *message = gst_bus_pop_filtered(bus, type);
  GError *error = NULL;
  if (!message)
    return NULL;
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, NULL);
  else
    gst_message_parse_warning(message, &error, NULL);
  gst_message_unref(message);
  return error;
}

/* The text of the first message that is, or is not, about a missing GPU. */
static gchar *find_message(Rig *rig, GstMessageType type, gboolean no_gpu)
{
  GError *error;
  gchar *text = NULL;
  while (!text && (error = next_message(rig->bus, type))) {
    if (g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND) == no_gpu)
      text = g_strdup(error->message);
    g_error_free(error);
  }
  return text;
}

gchar *rig_message(Rig *rig, GstMessageType type)
{
  return find_message(rig, type, FALSE);
}

gchar *rig_no_gpu_message(Rig *rig, GstMessageType type)
{
  return find_message(rig, type, TRUE);
}

GstElement *rig_element(Rig *rig, const gchar *factory)
{
  GstElement *element = gst_harness_find_element(rig->h, factory);
  g_assert_nonnull(element);
  return element;
}

GstStructure *rig_stats(Rig *rig, const gchar *factory)
{
  GstElement *element = rig_element(rig, factory);
  GstStructure *stats;
  g_object_get(element, "stats", &stats, NULL);
  gst_object_unref(element);
  return stats;
}

guint64 rig_count(Rig *rig, const gchar *factory, const gchar *field)
{
  GstStructure *stats = rig_stats(rig, factory);
  guint64 value = G_MAXUINT64;
  g_assert_true(gst_structure_get_uint64(stats, field, &value));
  gst_structure_free(stats);
  return value;
}

GstVideoInfo video(GstVideoFormat format, guint width, guint height)
{
  GstVideoInfo info;
  g_assert_true(gst_video_info_set_format(&info, format, width, height));
  info.fps_n = FPS;
  info.fps_d = 1;
  return info;
}

GstVideoInfo video_of_caps(GstCaps *caps)
{
  GstVideoInfo info;
  g_assert_true(gst_video_info_from_caps(&info, caps));
  return info;
}

GstVideoInfo output_video(GstHarness *h)
{
  GstCaps *caps = gst_pad_get_current_caps(h->sinkpad);
  g_assert_nonnull(caps);
  GstVideoInfo info = video_of_caps(caps);
  gst_caps_unref(caps);
  return info;
}

GstBuffer *encode_one(const gchar *description, const GstVideoInfo *info, GstBuffer *raw,
                      GstCaps **caps)
{
  Rig rig = rig_new(description);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  GstBuffer *coded = gst_harness_pull(rig.h);
  g_assert_nonnull(coded);
  if (caps)
    *caps = gst_pad_get_current_caps(rig.h->sinkpad);
  rig_free(&rig);
  return coded;
}

GstBuffer *encode_pattern(const GstVideoInfo *info, guint phase, GstCaps **caps)
{
  GstBuffer *raw = pixels_buffer(info, phase);
  GstBuffer *coded = encode_one("cudaj2kenc rate-control=lossless", info, raw, caps);
  gst_buffer_unref(raw);
  return coded;
}

gboolean same_bytes(GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;

  g_assert_true(gst_buffer_map(a, &map, GST_MAP_READ));
  gboolean same =
      gst_buffer_get_size(b) == map.size && gst_buffer_memcmp(b, 0, map.data, map.size) == 0;
  gst_buffer_unmap(a, &map);
  return same;
}

GstFlowReturn push_frame(GstHarness *h, GstBuffer *buffer, guint n)
{
  GstBuffer *copy = gst_buffer_copy_deep(buffer);
  GST_BUFFER_PTS(copy) = gst_util_uint64_scale(n, GST_SECOND, FPS);
  GST_BUFFER_DURATION(copy) = GST_SECOND / FPS;
  return gst_harness_push(h, copy);
}

void assert_same_pictures(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                          GstBuffer *b)
{
  g_assert_cmpint(GST_VIDEO_INFO_WIDTH(info_a), ==, GST_VIDEO_INFO_WIDTH(info_b));
  g_assert_cmpint(GST_VIDEO_INFO_HEIGHT(info_a), ==, GST_VIDEO_INFO_HEIGHT(info_b));
  g_assert_cmpint(pixels_difference(info_a, a, info_b, b), ==, 0);
}

void assert_next_picture(GstHarness *h, const GstVideoInfo *info, guint phase)
{
  GstBuffer *expected = pixels_buffer(info, phase), *decoded = gst_harness_pull(h);
  GstVideoInfo decoded_info = output_video(h);
  assert_same_pictures(info, expected, &decoded_info, decoded);
  gst_buffer_unref(expected);
  gst_buffer_unref(decoded);
}

void assert_lossless(const gchar *description, const GstVideoInfo *info)
{
  GstBuffer *raw = pixels_buffer(info, 0);
  GstCaps *caps;
  GstBuffer *decoded = encode_one(description, info, raw, &caps);
  GstVideoInfo decoded_info = video_of_caps(caps);
  assert_same_pictures(info, raw, &decoded_info, decoded);
  gst_caps_unref(caps);
  gst_buffer_unref(decoded);
  gst_buffer_unref(raw);
}

GstElement *launch_pipeline(const gchar *description)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch(description, &error);
  if (!pipeline || error)
    g_error("%s: %s", description, error->message);
  return pipeline;
}

gboolean have_element(const gchar *factory)
{
  GstElementFactory *found = gst_element_factory_find(factory);
  if (!found)
    return FALSE;
  gst_object_unref(found);
  return TRUE;
}

gboolean skip_without(const gchar *factory)
{
  if (have_element(factory))
    return FALSE;
  gchar *reason = g_strdup_printf("no %s", factory);
  g_test_skip(reason);
  g_free(reason);
  return TRUE;
}
