/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks the table of video formats against GStreamer: samples written by each row's description
 * are read back with the unpack function of GstVideoFormatInfo.
 */
#include "pixels.h"

/* The value of `depth` bits in 8 or 16, as GStreamer's unpack functions return it: in the high
 * bits, with zeros below (GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE). */
static guint32 in_high_bits(guint32 value, guint depth, guint bits)
{
  return value << (bits - depth);
}

static void check_row_against_unpack(const GstCudaJ2kFormat *format, const GstVideoFrame *frame,
                                     guint y)
{
  const GstVideoFormatInfo *finfo = frame->info.finfo;
  const GstVideoFormatInfo *unpacked = gst_video_format_get_info(finfo->unpack_format);
  guint width = (guint)GST_VIDEO_FRAME_WIDTH(frame);
  guint bits = GST_VIDEO_FORMAT_INFO_DEPTH(unpacked, 0);
  guint8 *line = g_malloc0((gsize)width * 8);
  finfo->unpack_func(finfo, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE, line, frame->data,
                     frame->info.stride, 0, (gint)y, (gint)width);
  for (guint c = 0; c < format->num_components; c++) {
    guint sub_x = c == 1 || c == 2 ? format->sub_x : 1;
    guint sub_y = c == 1 || c == 2 ? format->sub_y : 1;
    for (guint x = 0; x < width; x++) {
      guint place = x * 4 + (format->family == CJ2K_VIDEO_GREY ? 1 : (c + 1) % 4);
      guint32 actual = bits == 16 ? ((guint16 *)line)[place] : line[place];
      guint32 expected = pixels_of(frame, c, x / sub_x, y / sub_y);
      guint depth = format->samples[c].depth;
      guint32 moved = in_high_bits(expected, depth, bits);
      /* Some functions replicate 2-bit alpha instead of shifting it. */
      if (actual != moved && (depth != 2 || actual != expected * 0x5555u >> (16 - bits)))
        g_error("%s: component %u at (%u, %u) is 0x%x for GStreamer, 0x%x by the table",
                GST_VIDEO_FORMAT_INFO_NAME(finfo), c, x, y, actual, moved);
    }
  }
  g_free(line);
}

static void test_unpack(gconstpointer data)
{
  const GstCudaJ2kFormat *format = data;
  GstVideoInfo info;
  GstVideoFrame frame;
  gst_video_info_set_format(&info, gst_cuda_j2k_format_id(format), 48, 8);
  g_assert_true(gst_cuda_j2k_format_fits(format, &info));
  GstBuffer *buffer = pixels_buffer(&info, 0);
  g_assert_true(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  for (guint y = 0; y < 8; y++)
    check_row_against_unpack(format, &frame, y);
  gst_video_frame_unmap(&frame);
  gst_buffer_unref(buffer);
}

static void test_description(gconstpointer data)
{
  const GstCudaJ2kFormat *format = data;
  const GstVideoFormatInfo *finfo = gst_video_format_get_info(gst_cuda_j2k_format_id(format));
  Cj2kLayout layout;
  cj2k_video_format_layout(format, &layout);
  g_assert_cmpuint(layout.num_planes, ==, GST_VIDEO_FORMAT_INFO_N_PLANES(finfo));
  g_assert_cmpuint(format->depth, ==, GST_VIDEO_FORMAT_INFO_DEPTH(finfo, 0));
  g_assert_cmpuint(gst_cuda_j2k_format_has_alpha(format), ==,
                   GST_VIDEO_FORMAT_INFO_HAS_ALPHA(finfo));
  g_assert_cmpuint(format->family == CJ2K_VIDEO_RGB, ==, GST_VIDEO_FORMAT_INFO_IS_RGB(finfo));
  g_assert_cmpuint(format->family == CJ2K_VIDEO_YUV, ==, GST_VIDEO_FORMAT_INFO_IS_YUV(finfo));
  g_assert_cmpuint(format->family == CJ2K_VIDEO_GREY, ==, GST_VIDEO_FORMAT_INFO_IS_GRAY(finfo));
  if (format->family == CJ2K_VIDEO_YUV) {
    g_assert_cmpuint(format->sub_x, ==, 1u << GST_VIDEO_FORMAT_INFO_W_SUB(finfo, 1));
    g_assert_cmpuint(format->sub_y, ==, 1u << GST_VIDEO_FORMAT_INFO_H_SUB(finfo, 1));
  }
}

/* The formats are in GStreamer's order with grey last, because a source that can produce any
 * format, such as videotestsrc, chooses the first. */
static void test_order(void)
{
  GstCaps *caps = gst_cuda_j2k_formats_raw_caps();
  const GValue *list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
  guint count, num_all, at = 0, n = gst_value_list_get_size(list);
  const GstVideoFormat *all = gst_video_formats_raw(&num_all);
  gboolean was_grey = FALSE;
  gst_cuda_j2k_formats(&count);
  g_assert_cmpuint(n, ==, count);
  for (guint i = 0; i < n; i++) {
    GstVideoFormat format =
        gst_video_format_from_string(g_value_get_string(gst_value_list_get_value(list, i)));
    gboolean grey = GST_VIDEO_FORMAT_INFO_IS_GRAY(gst_video_format_get_info(format));
    if (grey && !was_grey)
      at = 0;
    g_assert_cmpint(grey, >=, was_grey);
    was_grey = grey;
    while (at < num_all && all[at] != format)
      at++;
    g_assert_cmpuint(at, <, num_all);
  }
  gst_caps_unref(caps);
}

int main(int argc, char **argv)
{
  guint count;
  const GstCudaJ2kFormat *formats = gst_cuda_j2k_formats(&count);
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < count; i++) {
    const gchar *name = formats[i].name;
    gchar *path = g_strdup_printf("/formats/unpack/%s", name);
    g_test_add_data_func(path, &formats[i], test_unpack);
    g_free(path);
    path = g_strdup_printf("/formats/description/%s", name);
    g_test_add_data_func(path, &formats[i], test_description);
    g_free(path);
  }
  g_test_add_func("/formats/order", test_order);
  return g_test_run();
}
