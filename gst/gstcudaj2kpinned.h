/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Page-locked system memory: the GPU copies to and from it without the CPU, at the full speed of
 * the bus and in parallel with its kernels. The decoder allocates its output there, and the encoder
 * offers a pool of it to upstream.
 */
#ifndef GST_CUDA_J2K_PINNED_H
#define GST_CUDA_J2K_PINNED_H

#include "gstcudaj2kmemory.h"

G_BEGIN_DECLS

/* An allocator for the GPU of this context or, if that is NULL, of this device (transfer full);
 * NULL if the CUDA back end cannot be opened. Memory that it allocated keeps it alive, even after
 * the element is gone. */
GstAllocator *gst_cuda_j2k_pinned_allocator_new(GstCudaJ2kContext context, gint device);

/* Is the whole buffer in page-locked memory of such an allocator? */
gboolean gst_cuda_j2k_buffer_is_pinned(GstBuffer *buffer);

G_END_DECLS

#endif
