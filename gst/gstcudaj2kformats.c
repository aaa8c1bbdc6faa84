/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kformats.h"
#include "common/samples/layout.h"

#include <string.h>

/* Filters the table once: an older GStreamer does not have all formats. */
const GstCudaJ2kFormat *gst_cuda_j2k_formats(guint *count)
{
  static GstCudaJ2kFormat *known;
  static gsize number;
  if (g_once_init_enter(&number)) {
    uint32_t all;
    gsize n = 0;
    const Cj2kVideoFormat *rows = cj2k_video_formats(&all);
    known = g_new(GstCudaJ2kFormat, all);
    for (guint i = 0; i < all; i++)
      if (gst_video_format_from_string(rows[i].name) != GST_VIDEO_FORMAT_UNKNOWN)
        known[n++] = rows[i];
    g_once_init_leave(&number, n);
  }
  *count = (guint)number;
  return known;
}

GstVideoFormat gst_cuda_j2k_format_id(const GstCudaJ2kFormat *format)
{
  return gst_video_format_from_string(format->name);
}

const GstCudaJ2kFormat *gst_cuda_j2k_format_find(GstVideoFormat format)
{
  guint count;
  const GstCudaJ2kFormat *formats = gst_cuda_j2k_formats(&count);
  for (guint i = 0; i < count; i++)
    /* The table has `count` entries. */
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    if (!strcmp(formats[i].name, gst_video_format_to_string(format)))
      return &formats[i];
  return NULL;
}

GstCaps *gst_cuda_j2k_formats_raw_caps(void)
{
  GValue list = G_VALUE_INIT, name = G_VALUE_INIT;
  guint count;
  /* In GStreamer's order, best first, since elements that accept any format choose the first; grey
   * formats last. */
  const GstVideoFormat *all = gst_video_formats_raw(&count);
  g_value_init(&list, GST_TYPE_LIST);
  g_value_init(&name, G_TYPE_STRING);
  for (gint grey = 0; grey < 2; grey++)
    for (guint i = 0; i < count; i++) {
      const GstCudaJ2kFormat *format = gst_cuda_j2k_format_find(all[i]);
      if (!format || (format->family == CJ2K_VIDEO_GREY) != grey)
        continue;
      g_value_set_static_string(&name, format->name);
      gst_value_list_append_value(&list, &name);
    }
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, G_MAXINT,
                                      "height", GST_TYPE_INT_RANGE, 1, G_MAXINT, "framerate",
                                      GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, NULL);
  gst_caps_set_value(caps, "format", &list);
  g_value_unset(&name);
  g_value_unset(&list);
  return caps;
}

gboolean gst_cuda_j2k_format_fits(const GstCudaJ2kFormat *format, const GstVideoInfo *info)
{
  for (guint c = 0; c < format->num_components; c++) {
    const Cj2kSampleLayout *samples = &format->samples[c];
    guint sub = cj2k_video_format_dx(format, c);
    guint width = ((guint)GST_VIDEO_INFO_WIDTH(info) + sub - 1) / sub;
    if (cj2k_layout_least_bytes(samples, width) >
        (guint64)GST_VIDEO_INFO_PLANE_STRIDE(info, samples->plane))
      return FALSE;
  }
  return TRUE;
}

/* ------------------------------------------------------------------------ single samples --- */

/* Reads the word that holds a sample. */
static guint32 load_word(const Cj2kSampleLayout *s, const guint8 *word)
{
  guint32 value = 0;
  for (guint i = 0; i < s->word_bytes; i++)
    value |= (guint32)word[i] << 8 * (s->big_endian ? s->word_bytes - 1u - i : i);
  return value;
}

static void store_word(const Cj2kSampleLayout *s, guint8 *word, guint32 value)
{
  for (guint i = 0; i < s->word_bytes; i++)
    word[i] = (guint8)(value >> 8 * (s->big_endian ? s->word_bytes - 1u - i : i));
}

/* Copies sample `from` of one row to sample `to` of another. */
static void copy_sample(const Cj2kSampleLayout *s, const guint8 *from_row, guint from,
                        guint8 *to_row, guint to)
{
  const guint8 *from_word = from_row + (gsize)(from / s->unit_samples) * s->unit_bytes +
                            s->at[from % s->unit_samples].offset;
  guint8 *to_word =
      to_row + (gsize)(to / s->unit_samples) * s->unit_bytes + s->at[to % s->unit_samples].offset;
  guint from_shift = s->at[from % s->unit_samples].shift;
  guint to_shift = s->at[to % s->unit_samples].shift;
  guint32 mask = G_MAXUINT32 >> (32 - s->depth);
  guint32 value = load_word(s, from_word) >> from_shift & mask;
  store_word(s, to_word, (load_word(s, to_word) & ~(mask << to_shift)) | value << to_shift);
}

void gst_cuda_j2k_format_repeat_edge(const GstCudaJ2kFormat *format, const GstVideoFrame *frame,
                                     guint c, guint columns, guint rows)
{
  const Cj2kSampleLayout *s = &format->samples[c];
  guint sub_x = cj2k_video_format_dx(format, c), sub_y = cj2k_video_format_dy(format, c);
  guint all_columns = ((guint)GST_VIDEO_FRAME_WIDTH(frame) + sub_x - 1) / sub_x;
  guint all_rows = ((guint)GST_VIDEO_FRAME_HEIGHT(frame) + sub_y - 1) / sub_y;
  gsize pitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, s->plane);
  guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA(frame, s->plane);
  if (!columns || !rows)
    return;
  for (guint y = 0; y < rows; y++)
    for (guint x = columns; x < all_columns; x++)
      copy_sample(s, plane + y * pitch, columns - 1, plane + y * pitch, x);
  for (guint y = rows; y < all_rows; y++)
    for (guint x = 0; x < all_columns; x++)
      copy_sample(s, plane + (rows - 1) * pitch, x, plane + y * pitch, x);
}
