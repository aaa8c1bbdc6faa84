/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "subframe.h"

GPtrArray *subframe_encode(const gchar *properties, const GstVideoInfo *info, guint phase,
                           GstCaps **caps)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref);
  GstBuffer *raw = pixels_buffer(info, phase), *part;
  gchar *description = g_strconcat(properties, " ! capsfilter caps=" SUBFRAME, NULL);
  Rig rig = rig_new(description);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(info));
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  do {
    part = gst_harness_pull(rig.h);
    g_assert_nonnull(part);
    g_ptr_array_add(parts, part);
  } while (!GST_BUFFER_FLAG_IS_SET(part, GST_BUFFER_FLAG_MARKER));
  if (caps)
    *caps = gst_pad_get_current_caps(rig.h->sinkpad);
  rig_free(&rig);
  gst_buffer_unref(raw);
  g_free(description);
  return parts;
}

GstBuffer *subframe_join(GPtrArray *parts)
{
  GstBuffer *joined = gst_buffer_new();
  for (guint i = 0; i < parts->len; i++)
    joined = gst_buffer_append(joined, gst_buffer_ref(parts->pdata[i]));
  return joined;
}

GPtrArray *subframe_cut(GstBuffer *codestream, gsize size)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref);
  gsize total = gst_buffer_get_size(codestream);
  for (gsize at = 0; at < total; at += size) {
    GstBuffer *part = gst_buffer_copy_region(
        codestream, GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_DEEP, at, MIN(size, total - at));
    if (at)
      GST_BUFFER_FLAG_SET(part, GST_BUFFER_FLAG_DELTA_UNIT);
    if (at + size >= total)
      GST_BUFFER_FLAG_SET(part, GST_BUFFER_FLAG_MARKER);
    g_ptr_array_add(parts, part);
  }
  return parts;
}
