/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scales metadata in pixel coordinates for pictures decoded at a lower resolution. The base classes
 * copy all other metadata (time code, captions, AFD, ancillary data) unchanged.
 */
#ifndef GST_CUDA_J2K_METAS_H
#define GST_CUDA_J2K_METAS_H

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Adds `meta` of the full-size picture to `out`, which is 2^reduce times smaller: regions of
 * interest and bars are scaled, other metadata that depends on the size is dropped. FALSE: `meta`
 * does not depend on the size, and nothing was done. */
gboolean gst_cuda_j2k_meta_reduce(GstBuffer *out, const GstMeta *meta, guint reduce);

G_END_DECLS

#endif
