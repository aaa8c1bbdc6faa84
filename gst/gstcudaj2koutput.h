/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The output thread of an element: it receives finished results from the codec and hands each one
 * downstream at once, whether or not further input arrives.
 *
 * Threads. The streaming thread (chain function and serialised events of the sink pad) submits. The
 * output thread receives and pushes. Any other thread sends upstream events, queries and property
 * changes.
 *
 * Locks, outermost first:
 *   1. the sink pad's stream lock: held by the streaming thread all the time, never by the output
 *      thread;
 *   2. the base class's stream lock, recursive: guards the base class's lists of frames. The
 *      streaming thread holds it in every virtual function, the output thread while it makes a
 *      frame ready. It does not hold it when it calls the base class's finish_frame(), which takes
 *      it once, and releases it once around gst_pad_push(): the streaming thread goes on while
 *      downstream takes its time;
 *   3. the object lock: properties, statistics, and which codec object is in use;
 *   4. `lock` of this struct: its fields. Nothing is called while it is held.
 *
 * The rule: a thread that waits for another thread of the element, or for a buffer, holds none of
 * 2 to 4. The streaming thread waits in four places (room in the codec, a buffer of the pool,
 * drain, flush), and each releases lock 2 completely by gst_cuda_j2k_output_unlock_stream(). The
 * output thread waits for the codec without a lock, and for downstream inside gst_pad_push().
 *
 * Lock 2 is held once in a virtual function, but twice in handle_frame() when it is called by
 * gst_video_decoder_have_frame(), which locks again: such a call is bracketed by
 * gst_cuda_j2k_output_nest() and _unnest().
 *
 * Flow returns of downstream. When a push fails, the flow return is stored and the results behind
 * it are discarded. The next buffer from upstream (or EOS) gets it once, after which results are
 * pushed again. It is dropped when it no longer holds: at a flush, at a new segment or stream, and,
 * for GST_FLOW_NOT_LINKED, when downstream asks to reconfigure.
 */
#ifndef GST_CUDA_J2K_OUTPUT_H
#define GST_CUDA_J2K_OUTPUT_H

#include <gst/gst.h>

G_BEGIN_DECLS

/* Waits for exactly one result of the codec, and pushes it, or discards it if
 * gst_cuda_j2k_output_discards(). Returns the flow return of downstream. */
typedef GstFlowReturn (*GstCudaJ2kOutputFunc)(gpointer element);

typedef struct {
  gpointer element;
  GRecMutex *stream_lock; /* of the base class */
  GstCudaJ2kOutputFunc func;
  GThread *thread;

  guint stream_depth; /* how often the streaming thread holds the stream lock; its own field */

  GMutex lock;
  GCond changed;     /* pending or quit changed */
  guint pending;     /* results submitted and not pushed yet */
  guint stale;       /* of these, submitted before the flow return was last dropped */
  gboolean flushing; /* results are discarded */
  gboolean quit;
  GstFlowReturn flow; /* of downstream, not returned to upstream yet */
} GstCudaJ2kOutput;

void gst_cuda_j2k_output_init(GstCudaJ2kOutput *output, gpointer element, GRecMutex *stream_lock,
                              GstCudaJ2kOutputFunc func);
void gst_cuda_j2k_output_clear(GstCudaJ2kOutput *output);

/* Starts the thread, named `name`; FALSE: it cannot be started. stop discards the results in flight
 * and joins it. Both are called while no streaming thread is active (in the start and stop
 * functions of the base class).
 */
gboolean gst_cuda_j2k_output_start(GstCudaJ2kOutput *output, const gchar *name, GError **error);
void gst_cuda_j2k_output_stop(GstCudaJ2kOutput *output);

/* Releases the base class's stream lock completely, and takes it as often again. */
void gst_cuda_j2k_output_unlock_stream(GstCudaJ2kOutput *output);
void gst_cuda_j2k_output_lock_stream(GstCudaJ2kOutput *output);
/* Bracket a call into the base class that takes the stream lock once more before it calls back. */
void gst_cuda_j2k_output_nest(GstCudaJ2kOutput *output);
void gst_cuda_j2k_output_unnest(GstCudaJ2kOutput *output);

/* For the output function: must this result be discarded, because the element is flushing or an
 * earlier push failed? The answer is valid until the output function returns: a flush waits for
 * that before it resets the segment. */
gboolean gst_cuda_j2k_output_discards(GstCudaJ2kOutput *output);

/* Is this the output thread? */
gboolean gst_cuda_j2k_output_is_thread(const GstCudaJ2kOutput *output);

/* Called after the streaming thread has submitted one more frame or part. */
void gst_cuda_j2k_output_added(GstCudaJ2kOutput *output);

/* Number of results submitted and not pushed yet. */
guint gst_cuda_j2k_output_pending(GstCudaJ2kOutput *output);

/* Waits until nothing is in flight. Called on the streaming thread with the stream lock held. */
void gst_cuda_j2k_output_wait(GstCudaJ2kOutput *output);
/* Returns the stored flow return, and resets it to GST_FLOW_OK. After a failed push the results in
 * flight are discarded first. Called like gst_cuda_j2k_output_wait(). */
GstFlowReturn gst_cuda_j2k_output_report(GstCudaJ2kOutput *output);
/* Waits until nothing is in flight, and reports. */
GstFlowReturn gst_cuda_j2k_output_drain(GstCudaJ2kOutput *output);
/* Discards the results in flight and resets the flow return. */
void gst_cuda_j2k_output_flush(GstCudaJ2kOutput *output);
/* A new segment or stream begins: flow returns for results submitted before it no longer matter. */
void gst_cuda_j2k_output_forget(GstCudaJ2kOutput *output);
/* Downstream asks to reconfigure; called on any thread. */
void gst_cuda_j2k_output_relinked(GstCudaJ2kOutput *output);

G_END_DECLS

#endif
