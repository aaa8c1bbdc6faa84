/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metadata that is said in pixels, for pictures that are decoded smaller. All else that buffers
 * carry (time code, captions, AFD, ancillary data) the base classes hand on as it is.
 */
#ifndef GST_CUDA_J2K_METAS_H
#define GST_CUDA_J2K_METAS_H

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Adds to `out` what `meta` says of a picture of 2^reduce times its width and height: regions of
 * interest and bars become as much smaller, other metadata about sizes is left out. FALSE: it says
 * nothing of sizes, and nothing was done. */
gboolean gst_cuda_j2k_meta_reduce(GstBuffer *out, const GstMeta *meta, guint reduce);

G_END_DECLS

#endif
