/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library's table of video formats in GStreamer's terms. Pad templates, negotiation and buffers
 * of both elements are derived from it.
 */
#ifndef GST_CUDA_J2K_FORMATS_H
#define GST_CUDA_J2K_FORMATS_H

#include "common/samples/video_formats.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* A row of the table, and its colour family. */
typedef Cj2kVideoFormat GstCudaJ2kFormat;
typedef Cj2kVideoFamily GstCudaJ2kFamily;

/* The formats that this version of GStreamer has, too, in order of preference: the first of several
 * that suit an image equally well is chosen. */
const GstCudaJ2kFormat *gst_cuda_j2k_formats(guint *count);

/* The row of a format; NULL if the table does not have it. */
const GstCudaJ2kFormat *gst_cuda_j2k_format_find(GstVideoFormat format);

GstVideoFormat gst_cuda_j2k_format_id(const GstCudaJ2kFormat *format);

static inline gboolean gst_cuda_j2k_format_has_alpha(const GstCudaJ2kFormat *format)
{
  return format->num_components == 4;
}

/* video/x-raw caps with all formats of the table (transfer full). */
GstCaps *gst_cuda_j2k_formats_raw_caps(void);

/* Do the samples fit into the strides of `info`? (For some odd widths the rows of NV12_10LE32 and
 * NV16_10LE32 are too short for the chroma.) */
gboolean gst_cuda_j2k_format_fits(const GstCudaJ2kFormat *format, const GstVideoInfo *info);

/* Component c of a mapped frame has samples only in its first `columns` and `rows`: fills the rest
 * with the last column and row. */
void gst_cuda_j2k_format_repeat_edge(const GstCudaJ2kFormat *format, const GstVideoFrame *frame,
                                     guint c, guint columns, guint rows);

G_END_DECLS

#endif
