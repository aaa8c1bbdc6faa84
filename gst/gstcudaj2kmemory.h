/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory:CUDAMemory. Buffers stay on the GPU between these elements and those of nvcodec, by way of
 * libgstcuda; without that library at build time there is none, and all of this says so.
 *
 * Elements share one GstCudaContext. It is not the runtime API's primary context, so the library
 * gets its handle and works in it.
 */
#ifndef GST_CUDA_J2K_MEMORY_H
#define GST_CUDA_J2K_MEMORY_H

#include "cj2k.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CUDA_J2K_FEATURE "memory:CUDAMemory"

/* A GstCudaContext, or NULL; the element owns one reference. */
typedef gpointer GstCudaJ2kContext;

/* Finds or makes a context on `device` (-1: any); leaves *context NULL where there is no GPU. */
void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context);
/* For the element's set_context function. */
void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context);
/* Answers context queries; FALSE: this was none. */
gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query,
                                    GstCudaJ2kContext context);
/* The CUcontext, and the number of its device. NULL for NULL. */
gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device);

/* Adds the formats that GStreamer's allocator knows, in CUDAMemory, to caps of raw video with all
 * formats of the table (transfer full of both); the caps themselves where there is no libgstcuda.
 */
GstCaps *gst_cuda_j2k_add_cuda_caps(GstCaps *raw);
/* The same without CUDAMemory, for when the GPU is not in use (transfer full of both). */
GstCaps *gst_cuda_j2k_remove_cuda_caps(GstCaps *caps);
gboolean gst_cuda_j2k_caps_have_cuda(const GstCaps *caps);

/* A pool of buffers in CUDAMemory for these caps, configured (transfer full); NULL on failure. Its
 * memory has no stream, until whoever takes the pool configures one. */
GstBufferPool *gst_cuda_j2k_cuda_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                      guint max);
/* The same with a stream (GStreamer 1.24): that of the pool that downstream offers, so that it need
 * not wait for ours, else a new one. `offered` may be NULL. */
GstBufferPool *gst_cuda_j2k_cuda_stream_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                             guint max, GstBufferPool *offered);

/* Where the planes of a mapped buffer are. */
typedef struct {
  Cj2kMemoryKind kind;
  gpointer cuda_stream; /* for Cj2kPicture; the buffer's memory keeps it alive */
} GstCudaJ2kMapped;

/* Maps a buffer for the codec: on the device where it lies in CUDAMemory of this context, else
 * (also from CUDAMemory of another one) on the host. Since GStreamer 1.24 elements hand on
 * CUDAMemory on whose stream work is still queued: a mapping on the device does not wait for it, so
 * the codec has to order itself behind mapped->cuda_stream. A mapping on the host waits. */
gboolean gst_cuda_j2k_map(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, GstCudaJ2kContext context, GstCudaJ2kMapped *mapped);

G_END_DECLS

#endif
