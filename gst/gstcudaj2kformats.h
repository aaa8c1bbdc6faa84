/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one table of video formats: how the samples of each GstVideoFormat lie in memory, in the
 * terms of the codec library. The pad templates, the negotiation and the buffers of both elements
 * come from it.
 */
#ifndef GST_CUDA_J2K_FORMATS_H
#define GST_CUDA_J2K_FORMATS_H

#include "cj2k.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef enum {
  GST_CUDA_J2K_GREY,
  GST_CUDA_J2K_YUV,
  GST_CUDA_J2K_RGB,
} GstCudaJ2kFamily;

/* Components in the order of the codestream: Y Cb Cr A, or R G B A, wherever they lie in memory. */
typedef struct {
  GstVideoFormat format;
  GstCudaJ2kFamily family;
  guint8 sub_x, sub_y; /* luma samples to a chroma sample, 1, 2 or 4; 1 for grey and RGB */
  guint8 depth;        /* of colour; alpha may have fewer bits: see samples[3].depth */
  guint8 num_components;
  gboolean padded; /* has bits that belong to no component, the x of xRGB */
  Cj2kSampleLayout samples[4];
} GstCudaJ2kFormat;

/* The rows in order of preference: of formats that are equally good for an image the first wins. */
const GstCudaJ2kFormat *gst_cuda_j2k_formats(guint *count);

/* NULL for a format that is not in the table. */
const GstCudaJ2kFormat *gst_cuda_j2k_format_find(GstVideoFormat format);

static inline gboolean gst_cuda_j2k_format_has_alpha(const GstCudaJ2kFormat *format)
{
  return format->num_components == 4;
}

/* video/x-raw caps with all formats of the table (transfer full). */
GstCaps *gst_cuda_j2k_formats_raw_caps(void);

/* The library's layout of a format; it points into the table. */
void gst_cuda_j2k_format_layout(const GstCudaJ2kFormat *format, Cj2kLayout *layout);

/* Do whole units of the format fit into the rows of `info`? (They do not for a few packed formats
 * in odd widths, where GStreamer's rows end inside a unit.) */
gboolean gst_cuda_j2k_format_fits(const GstCudaJ2kFormat *format, const GstVideoInfo *info);

/* Component c of a mapped frame has samples in its first `columns` and `rows` only: repeats the
 * last column and row into the rest. */
void gst_cuda_j2k_format_repeat_edge(const GstCudaJ2kFormat *format, const GstVideoFrame *frame,
                                     guint c, guint columns, guint rows);

G_END_DECLS

#endif
