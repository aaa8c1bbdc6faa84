/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kfields.h"

#include "common/samples/layout.h"

#include <string.h>

gboolean gst_cuda_j2k_fields_bottom_first(const GstVideoInfo *info, const GstBuffer *buffer)
{
  switch (GST_VIDEO_INFO_FIELD_ORDER(info)) {
  case GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST: return FALSE;
  case GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST: return TRUE;
  default: break;
  }
  return GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED) &&
         !GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF);
}

static guint rows_of(const GstCudaJ2kFormat *format, guint height, guint c)
{
  guint sub_y = cj2k_video_format_dy(format, c);
  return (height + sub_y - 1) / sub_y;
}

gboolean gst_cuda_j2k_fields_need_room(const GstCudaJ2kFormat *format, const GstVideoInfo *info)
{
  guint height = (guint)GST_VIDEO_INFO_HEIGHT(info);
  for (guint c = 0; c < format->num_components; c++)
    if (gst_cuda_j2k_fields_rows(height, cj2k_video_format_dy(format, c)) >
        rows_of(format, height, c))
      return TRUE;
  return FALSE;
}

gboolean gst_cuda_j2k_fields_map_room(const GstVideoInfo *info, GstVideoFrame *room)
{
  GstVideoInfo larger;
  guint height = (guint)GST_VIDEO_INFO_HEIGHT(info);
  /* A multiple of 8: two fields, with chroma sub-sampled by four at the most. */
  if (!gst_video_info_set_format(&larger, GST_VIDEO_INFO_FORMAT(info),
                                 (guint)GST_VIDEO_INFO_WIDTH(info), GST_ROUND_UP_8(height)))
    return FALSE;
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&larger), NULL);
  if (!buffer)
    return FALSE;
  gboolean mapped = gst_video_frame_map(room, &larger, buffer, GST_MAP_READWRITE);
  gst_buffer_unref(buffer); /* the mapping has a reference */
  GST_VIDEO_INFO_HEIGHT(&room->info) = (gint)height;
  return mapped;
}

void gst_cuda_j2k_fields_copy(const GstCudaJ2kFormat *format, const GstVideoFrame *from,
                              GstVideoFrame *room)
{
  guint height = (guint)GST_VIDEO_FRAME_HEIGHT(from);
  gst_video_frame_copy(room, from);
  for (guint c = 0; c < format->num_components; c++) {
    guint p = format->samples[c].plane;
    gsize pitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(room, p);
    guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA(room, p);
    guint64 all = gst_cuda_j2k_fields_rows(height, cj2k_video_format_dy(format, c));
    guint rows = rows_of(format, height, c);
    for (guint64 y = rows; y < all; y++)
      memcpy(plane + y * pitch, plane + (rows >= 2 ? y - 2 : 0) * pitch, pitch);
  }
}

gboolean gst_cuda_j2k_frame_is_whole(const GstCudaJ2kFormat *format, const GstVideoFrame *frame)
{
  for (guint c = 0; c < format->num_components; c++) {
    const Cj2kSampleLayout *samples = &format->samples[c];
    const GstMapInfo *map = &frame->map[frame->meta ? samples->plane : 0];
    const guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA(frame, samples->plane);
    gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, samples->plane);
    guint sub_x = cj2k_video_format_dx(format, c);
    guint width = ((guint)GST_VIDEO_FRAME_WIDTH(frame) + sub_x - 1) / sub_x;
    guint rows = rows_of(format, (guint)GST_VIDEO_FRAME_HEIGHT(frame), c);
    guint64 row = cj2k_layout_least_bytes(samples, width);
    if (plane < map->data || plane > map->data + map->size || stride < 0 || (guint64)stride < row ||
        (rows - 1) * (guint64)stride + row > (guint64)(map->data + map->size - plane))
      return FALSE;
  }
  return TRUE;
}
