/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CUDA context that an element works in: a GstCudaContext, which elements of a pipeline share
 * so that buffers in memory:CUDAMemory pass between them without a copy. It is not the primary
 * context of the CUDA runtime API, so the library gets its handle and works in it. If libgstcuda
 * was missing at build time there is none, and the library takes the primary context.
 */
#ifndef GST_CUDA_J2K_CONTEXT_H
#define GST_CUDA_J2K_CONTEXT_H

#include <gst/gst.h>

G_BEGIN_DECLS

/* A GstCudaContext, or NULL; the element owns one reference. */
typedef gpointer GstCudaJ2kContext;

/* Finds a context on `device` (-1: any) unless the element has one: that of a neighbour or of the
 * application, otherwise the one that all elements of this plugin in the process share on that
 * device. A context costs some 400 MB of device memory and up to a second to make, so the shared
 * one is kept until the process ends, as the CUDA runtime keeps the primary context. Leaves
 * *context NULL if there is no GPU. */
void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context);
/* Called by the element's set_context function. */
void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context);
/* Answers context queries; FALSE: it is another query, or there is no context. */
gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query,
                                    GstCudaJ2kContext context);
/* The CUcontext, and in *device the number of its device. NULL for NULL. */
gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device);

G_END_DECLS

#endif
