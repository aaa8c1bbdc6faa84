/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output thread of an element: it waits for what the codec has in flight and hands each result
 * downstream as soon as it is done, not when the next input arrives.
 *
 * Locks. The base class holds its stream lock around every virtual function, and finishing a frame
 * takes that lock in the output thread. So whatever makes the streaming thread wait for the output
 * thread (drain, flush, a submit that blocks) has to let go of the stream lock meanwhile; the
 * functions below that wait do so themselves. `lock` guards only the fields of this struct and is
 * never held while calling out.
 */
#ifndef GST_CUDA_J2K_OUTPUT_H
#define GST_CUDA_J2K_OUTPUT_H

#include <gst/gst.h>

G_BEGIN_DECLS

/* Receives exactly one result from the codec, waiting for it, and hands it on, or discards it where
 * gst_cuda_j2k_output_discards() says so. Returns what downstream said. */
typedef GstFlowReturn (*GstCudaJ2kOutputFunc)(gpointer element);

typedef struct {
  gpointer element;
  GRecMutex *stream_lock; /* of the base class */
  GstCudaJ2kOutputFunc func;
  GThread *thread;

  GMutex lock;
  GCond changed;     /* pending or quit changed */
  guint pending;     /* submitted, not handed on yet */
  gboolean flushing; /* results are discarded */
  gboolean quit;
  GstFlowReturn flow; /* of the last results; sticky until the next flush */
} GstCudaJ2kOutput;

void gst_cuda_j2k_output_init(GstCudaJ2kOutput *output, gpointer element, GRecMutex *stream_lock,
                              GstCudaJ2kOutputFunc func);
void gst_cuda_j2k_output_clear(GstCudaJ2kOutput *output);

/* Starts the thread, named `name`; stop discards what is in flight and joins it. Both run while no
 * streaming thread is active (the start and stop functions of the base class). */
void gst_cuda_j2k_output_start(GstCudaJ2kOutput *output, const gchar *name);
void gst_cuda_j2k_output_stop(GstCudaJ2kOutput *output);

/* For the function: must results not go downstream now, since downstream is flushed or refused one
 * before? Holds for as long as the caller holds the stream lock: a flush event takes it before it
 * forgets the segment. */
gboolean gst_cuda_j2k_output_discards(GstCudaJ2kOutput *output);

/* The streaming thread has submitted one more. */
void gst_cuda_j2k_output_added(GstCudaJ2kOutput *output);

/* What downstream said to the results so far. */
GstFlowReturn gst_cuda_j2k_output_flow(GstCudaJ2kOutput *output);

/* Waits until all results have gone downstream; called with the stream lock held once. */
GstFlowReturn gst_cuda_j2k_output_drain(GstCudaJ2kOutput *output);
/* Likewise, but discards them, and forgets what downstream said. */
void gst_cuda_j2k_output_flush(GstCudaJ2kOutput *output);

G_END_DECLS

#endif
