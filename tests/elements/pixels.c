/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pixels.h"

static guint32 load(const guint8 *p, guint bytes, gboolean big_endian)
{
  guint32 word = 0;
  for (guint i = 0; i < bytes; i++)
    word |= (guint32)p[i] << 8 * (big_endian ? bytes - 1 - i : i);
  return word;
}

static void store(guint8 *p, guint bytes, gboolean big_endian, guint32 word)
{
  for (guint i = 0; i < bytes; i++)
    p[i] = (guint8)(word >> 8 * (big_endian ? bytes - 1 - i : i));
}

static gsize word_at(const Cj2kSampleLayout *layout, gsize pitch, guint x, guint y)
{
  return y * pitch + (gsize)(x / layout->unit_samples) * layout->unit_bytes +
         layout->at[x % layout->unit_samples].offset;
}

static guint32 mask_of(const Cj2kSampleLayout *layout)
{
  return layout->depth == 32 ? G_MAXUINT32 : (1u << layout->depth) - 1;
}

guint32 pixels_get(const Cj2kSampleLayout *layout, const guint8 *plane, gsize pitch, guint x,
                   guint y)
{
  guint32 word = load(plane + word_at(layout, pitch, x, y), layout->word_bytes, layout->big_endian);
  return word >> layout->at[x % layout->unit_samples].shift & mask_of(layout);
}

void pixels_put(const Cj2kSampleLayout *layout, guint8 *plane, gsize pitch, guint x, guint y,
                guint32 value)
{
  guint8 *p = plane + word_at(layout, pitch, x, y);
  guint shift = layout->at[x % layout->unit_samples].shift;
  guint32 word = load(p, layout->word_bytes, layout->big_endian);
  word = (word & ~(mask_of(layout) << shift)) | (value & mask_of(layout)) << shift;
  store(p, layout->word_bytes, layout->big_endian, word);
}

static guint sub(const GstCudaJ2kFormat *format, guint c, gboolean vertical)
{
  if (c != 1 && c != 2)
    return 1;
  return vertical ? format->sub_y : format->sub_x;
}

guint pixels_width(const GstVideoFrame *frame, guint c)
{
  guint s = sub(gst_cuda_j2k_format_find(GST_VIDEO_FRAME_FORMAT(frame)), c, FALSE);
  return ((guint)GST_VIDEO_FRAME_WIDTH(frame) + s - 1) / s;
}

guint pixels_height(const GstVideoFrame *frame, guint c)
{
  guint s = sub(gst_cuda_j2k_format_find(GST_VIDEO_FRAME_FORMAT(frame)), c, TRUE);
  return ((guint)GST_VIDEO_FRAME_HEIGHT(frame) + s - 1) / s;
}

guint32 pixels_of(const GstVideoFrame *frame, guint c, guint x, guint y)
{
  const Cj2kSampleLayout *layout =
      &gst_cuda_j2k_format_find(GST_VIDEO_FRAME_FORMAT(frame))->samples[c];
  return pixels_get(layout, GST_VIDEO_FRAME_PLANE_DATA(frame, layout->plane),
                    GST_VIDEO_FRAME_PLANE_STRIDE(frame, layout->plane), x, y);
}

guint32 pixels_pattern(guint c, guint x, guint y, guint width, guint height, guint depth)
{
  guint32 max = (guint32)((G_GUINT64_CONSTANT(1) << depth) - 1);
  guint32 ramp;
  switch (c) {
  case 0: ramp = (guint32)((guint64)max * (x + y) / (width + height)); break;
  case 1: ramp = (guint32)((guint64)max * x / width); break;
  case 2: ramp = (guint32)((guint64)max * (height - 1 - y % height) / height); break;
  default: ramp = x < width / 2 ? max : max / 3; break;
  }
  /* The texture takes the lowest bits, so that every bit of the depth is used. */
  return MIN(ramp, max) ^ (guint32)((x * 5 + y * 3 + c) & (depth > 4 ? 7 : 0));
}

GstBuffer *pixels_buffer(const GstVideoInfo *info, guint phase)
{
  const GstCudaJ2kFormat *format = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(info));
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(info), NULL);
  GstVideoFrame frame;
  gst_buffer_memset(buffer, 0, 0, GST_VIDEO_INFO_SIZE(info));
  g_assert_true(gst_video_frame_map(&frame, info, buffer, GST_MAP_READWRITE));
  for (guint c = 0; c < format->num_components; c++) {
    const Cj2kSampleLayout *layout = &format->samples[c];
    guint width = pixels_width(&frame, c), height = pixels_height(&frame, c);
    for (guint y = 0; y < height; y++)
      for (guint x = 0; x < width; x++)
        pixels_put(layout, GST_VIDEO_FRAME_PLANE_DATA(&frame, layout->plane),
                   GST_VIDEO_FRAME_PLANE_STRIDE(&frame, layout->plane), x, y,
                   pixels_pattern(c, (x + phase) % width, y, width, height, layout->depth));
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

/* Changes the depth of a sample; fewer bits are rounded and clamped. */
static guint32 rescale(guint32 value, guint from, guint to)
{
  if (from <= to)
    return value << (to - from);
  return MIN((value + (1u << (from - to - 1))) >> (from - to), (1u << to) - 1);
}

gint pixels_difference(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                       GstBuffer *b)
{
  const GstCudaJ2kFormat *format_a = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(info_a));
  const GstCudaJ2kFormat *format_b = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(info_b));
  guint components = MIN(format_a->num_components, format_b->num_components);
  GstVideoFrame frame_a, frame_b;
  gint worst = 0;
  if (MIN(format_a->num_components, 3) != MIN(format_b->num_components, 3) ||
      format_a->sub_x != format_b->sub_x || format_a->sub_y != format_b->sub_y)
    return -1;
  g_assert_true(gst_video_frame_map(&frame_a, info_a, a, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&frame_b, info_b, b, GST_MAP_READ));
  for (guint c = 0; c < components; c++) {
    guint depth_a = format_a->samples[c].depth, depth_b = format_b->samples[c].depth;
    guint depth = MIN(depth_a, depth_b);
    for (guint y = 0; y < pixels_height(&frame_a, c); y++)
      for (guint x = 0; x < pixels_width(&frame_a, c); x++) {
        gint va = (gint)rescale(pixels_of(&frame_a, c, x, y), depth_a, depth);
        gint vb = (gint)rescale(pixels_of(&frame_b, c, x, y), depth_b, depth);
        worst = MAX(worst, ABS(va - vb));
      }
  }
  gst_video_frame_unmap(&frame_a);
  gst_video_frame_unmap(&frame_b);
  return worst;
}
