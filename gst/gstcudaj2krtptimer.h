/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that calls a function at a time which can be changed at any moment. */
#ifndef GST_CUDA_J2K_RTP_TIMER_H
#define GST_CUDA_J2K_RTP_TIMER_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  void (*call)(gpointer data);
  gpointer data;
  GThread *thread; /* NULL: not started */
  GMutex lock;     /* guards the next three */
  GCond changed;
  gint64 due;     /* g_get_monotonic_time(); G_MAXINT64: not set */
  gint64 longest; /* the time that was left when it was set */
  gboolean stop;
} GstCudaJ2kRtpTimer;

void gst_cuda_j2k_rtp_timer_init(GstCudaJ2kRtpTimer *timer, void (*call)(gpointer data),
                                 gpointer data);
void gst_cuda_j2k_rtp_timer_clear(GstCudaJ2kRtpTimer *timer);

/* Sets the time of the next call, and starts the thread if necessary. */
void gst_cuda_j2k_rtp_timer_set(GstCudaJ2kRtpTimer *timer, gint64 due);
/* Waits for the end of a call that is being made, after which none is made. Hold no lock that the
 * call takes. */
void gst_cuda_j2k_rtp_timer_stop(GstCudaJ2kRtpTimer *timer);

G_END_DECLS

#endif
