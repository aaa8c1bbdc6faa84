/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fields of an interlaced frame as separate pictures: which rows they need, and which is first.
 *
 * Both fields of a frame are coded with the same height, so that a frame of 486 rows of 4:2:0 has
 * two fields of 243, each with 122 rows of chroma. Video has 243 rows of chroma for the frame:
 * GStreamer rounds the memory of most interlaced formats up to 244, but elements do not fill the
 * last row, and a buffer with a GstVideoMeta may lack it. Such frames are copied through a buffer
 * that has all rows.
 */
#ifndef GST_CUDA_J2K_FIELDS_H
#define GST_CUDA_J2K_FIELDS_H

#include "gstcudaj2kformats.h"

G_BEGIN_DECLS

/* The buffer flags that describe interlacing; coded buffers carry them, too. */
#define GST_CUDA_J2K_FIELD_FLAGS                                                                   \
  (GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF |      \
   GST_VIDEO_BUFFER_FLAG_ONEFIELD)

/* Number of rows that both fields of a frame need together, of a component sub-sampled by sub_y. */
static inline guint64 gst_cuda_j2k_fields_rows(guint64 height, guint sub_y)
{
  return 2 * (((height + 1) / 2 + sub_y - 1) / sub_y);
}

/* Is the bottom field of a buffer the first in time? The caps decide; without a field order there,
 * the buffer's flags; without flags, the top field is first. */
gboolean gst_cuda_j2k_fields_bottom_first(const GstVideoInfo *info, const GstBuffer *buffer);

/* Do the fields of a frame need more rows than the frame has? */
gboolean gst_cuda_j2k_fields_need_room(const GstCudaJ2kFormat *format, const GstVideoInfo *info);

/* Maps a new buffer in the format of `info` with all rows of both fields. */
gboolean gst_cuda_j2k_fields_map_room(const GstVideoInfo *info, GstVideoFrame *room);

/* Copies a frame into such a buffer, and fills each field's extra rows with its last row. */
void gst_cuda_j2k_fields_copy(const GstCudaJ2kFormat *format, const GstVideoFrame *from,
                              GstVideoFrame *room);

/* Do all rows of a frame in host memory lie inside its memory? A buffer's GstVideoMeta may be
 * wrong.
 */
gboolean gst_cuda_j2k_frame_is_whole(const GstCudaJ2kFormat *format, const GstVideoFrame *frame);

G_END_DECLS

#endif
