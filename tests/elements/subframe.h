/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in several buffers (alignment=subframe) for the element tests. */
#ifndef TESTS_ELEMENTS_SUBFRAME_H
#define TESTS_ELEMENTS_SUBFRAME_H

#include "harness.h"

/* Frames in slices of 16 lines. */
#define LOSSY                                                                                      \
  "cudaj2kenc backend=cpu block-coder=ht progression-order=pcrl slices=true num-resolutions=3 "    \
  "precincts=1024x16,512x8,256x4 "
#define SLICES   LOSSY "rate-control=lossless "
#define SUBFRAME "image/x-jpc,alignment=subframe"

/* The buffers of one frame of pixels_buffer(info, phase), with the timestamps of frame 0. *caps
 * are those of the stream (transfer full), unless caps is NULL. */
GPtrArray *subframe_encode(const gchar *properties, const GstVideoInfo *info, guint phase,
                           GstCaps **caps);
/* All bytes of these buffers in one. */
GstBuffer *subframe_join(GPtrArray *parts);
/* Cuts a codestream into buffers of `size` bytes; the last one has the marker. */
GPtrArray *subframe_cut(GstBuffer *codestream, gsize size);

#endif
