/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory:CUDAMemory: through libgstcuda, buffers stay on the GPU between these elements and those
 * of nvcodec. If that library was missing at build time, pools are NULL and caps unchanged.
 */
#ifndef GST_CUDA_J2K_MEMORY_H
#define GST_CUDA_J2K_MEMORY_H

#include "gstcudaj2kcontext.h"

#include "cj2k.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CUDA_J2K_FEATURE "memory:CUDAMemory"

/* Adds a structure with CUDAMemory and the formats that GStreamer's CUDA allocator supports to caps
 * of raw video (transfer full of both). Without libgstcuda the caps are returned unchanged. */
GstCaps *gst_cuda_j2k_add_cuda_caps(GstCaps *raw);
/* Removes the structures with CUDAMemory (transfer full of both). */
GstCaps *gst_cuda_j2k_remove_cuda_caps(GstCaps *caps);
gboolean gst_cuda_j2k_caps_have_cuda(const GstCaps *caps);

/* A configured pool of buffers in CUDAMemory for these caps (transfer full); NULL on failure. Its
 * memory has no stream until the element that uses the pool configures one. */
GstBufferPool *gst_cuda_j2k_cuda_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                      guint max);
/* The same with a stream (GStreamer 1.24): that of the pool that downstream offers, so that
 * downstream need not wait for another stream, otherwise a new one. `offered` may be NULL. */
GstBufferPool *gst_cuda_j2k_cuda_stream_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                             guint max, GstBufferPool *offered);

/* The memory that the planes of a mapped buffer are in. */
typedef struct {
  Cj2kMemoryKind kind;
  gpointer cuda_stream; /* for Cj2kPicture; the buffer's memory keeps it alive */
} GstCudaJ2kMapped;

/* Maps a buffer for the codec: on the device if it is in CUDAMemory of this context, otherwise
 * (including CUDAMemory of another context) on the host. Since GStreamer 1.24 elements pass on
 * CUDAMemory while work is still queued on its stream. A mapping on the device does not wait for
 * that work, so the codec has to order its own behind mapped->cuda_stream. A mapping on the host
 * waits. */
gboolean gst_cuda_j2k_map(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, GstCudaJ2kContext context, GstCudaJ2kMapped *mapped);

G_END_DECLS

#endif
