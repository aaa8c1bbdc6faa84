/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System memory that is page-locked: the GPU copies to and from it by itself, at the full speed of
 * the bus and beside its kernels. The decoder allocates its output there, and the encoder offers
 * such a pool to upstream.
 */
#ifndef GST_CUDA_J2K_PINNED_H
#define GST_CUDA_J2K_PINNED_H

#include "gstcudaj2kmemory.h"

G_BEGIN_DECLS

/* An allocator for the GPU of this context, or of this device when the context is NULL (transfer
 * full); NULL where the CUDA back end cannot be opened. Its memories keep it alive, also after the
 * element is gone. */
GstAllocator *gst_cuda_j2k_pinned_allocator_new(GstCudaJ2kContext context, gint device);

/* Does the whole buffer lie in page-locked memory of such an allocator? */
gboolean gst_cuda_j2k_buffer_is_pinned(GstBuffer *buffer);

G_END_DECLS

#endif
