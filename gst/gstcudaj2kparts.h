/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A buffer of image/x-jpc, x-j2c or jp2 holds one codestream, or, of interlaced video, two: one a
 * field, the first in time first.
 */
#ifndef GST_CUDA_J2K_PARTS_H
#define GST_CUDA_J2K_PARTS_H

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct {
  const guint8 *data;
  gsize size;
} GstCudaJ2kSpan;

/*
 * Finds the codestreams of a buffer, at most two; returns how many. jp2c boxes are taken off
 * (T.800 I.5.4), whatever the media type says; a whole JP2 file is one span. A second codestream is
 * found by the lengths of the first one's tile-parts (Psot, A.4.2); what breaks T.800 is one span,
 * for the decoder to complain of.
 */
guint gst_cuda_j2k_parts_find(const guint8 *data, gsize size, GstCudaJ2kSpan spans[2]);

G_END_DECLS

#endif
