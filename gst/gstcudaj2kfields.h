/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fields of an interlaced frame as pictures of their own: rows they need, and who comes first.
 *
 * Both fields of a frame are coded with the same height, so that a frame of 486 rows of 4:2:0 has
 * two fields of 243, each with 122 rows of chroma. Video has 243 rows of chroma for the frame:
 * GStreamer rounds the memory of most interlaced formats up to 244, but nobody fills the last one,
 * and a buffer with its own GstVideoMeta need not have it. Such frames go through a buffer with
 * room for all rows.
 */
#ifndef GST_CUDA_J2K_FIELDS_H
#define GST_CUDA_J2K_FIELDS_H

#include "gstcudaj2kformats.h"

G_BEGIN_DECLS

/* Flags of a buffer that say how it is interlaced; coded buffers carry them, too. */
#define GST_CUDA_J2K_FIELD_FLAGS                                                                   \
  (GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF |      \
   GST_VIDEO_BUFFER_FLAG_ONEFIELD)

/* Rows of a component that both fields of a frame need, sub-sampled by sub_y. */
static inline guint64 gst_cuda_j2k_fields_rows(guint64 height, guint sub_y)
{
  return 2 * (((height + 1) / 2 + sub_y - 1) / sub_y);
}

/* Is the bottom field of a buffer the first in time? By the caps, or, where these do not say, by
 * the buffer's flags; top first where nobody says. */
gboolean gst_cuda_j2k_fields_bottom_first(const GstVideoInfo *info, const GstBuffer *buffer);

/* Do the fields of a frame need rows that the frame does not have? */
gboolean gst_cuda_j2k_fields_need_room(const GstCudaJ2kFormat *format, const GstVideoInfo *info);

/* Maps a new buffer like `info`, with room for all rows of both fields. */
gboolean gst_cuda_j2k_fields_map_room(const GstVideoInfo *info, GstVideoFrame *room);

/* Copies a frame into such room, and repeats the last rows of each field in those it lacks. */
void gst_cuda_j2k_fields_copy(const GstCudaJ2kFormat *format, const GstVideoFrame *from,
                              GstVideoFrame *room);

/* Do all rows of a frame in host memory lie inside its memory? (A buffer's GstVideoMeta may say
 * anything.) */
gboolean gst_cuda_j2k_frame_is_whole(const GstCudaJ2kFormat *format, const GstVideoFrame *frame);

G_END_DECLS

#endif
