/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2krtptimer.h"

void gst_cuda_j2k_rtp_timer_init(GstCudaJ2kRtpTimer *timer, void (*call)(gpointer data),
                                 gpointer data)
{
  *timer = (GstCudaJ2kRtpTimer){.call = call, .data = data, .due = G_MAXINT64};
  g_mutex_init(&timer->lock);
  g_cond_init(&timer->changed);
}

void gst_cuda_j2k_rtp_timer_clear(GstCudaJ2kRtpTimer *timer)
{
  gst_cuda_j2k_rtp_timer_stop(timer);
  g_mutex_clear(&timer->lock);
  g_cond_clear(&timer->changed);
}

static gpointer run(gpointer data)
{
  GstCudaJ2kRtpTimer *timer = data;
  g_mutex_lock(&timer->lock);
  while (!timer->stop) {
    if (timer->due == G_MAXINT64) {
      g_cond_wait(&timer->changed, &timer->lock);
    } else if (g_get_monotonic_time() < timer->due) {
      g_cond_wait_until(&timer->changed, &timer->lock, timer->due);
    } else {
      timer->due = G_MAXINT64;
      g_mutex_unlock(&timer->lock);
      timer->call(timer->data);
      g_mutex_lock(&timer->lock);
    }
  }
  g_mutex_unlock(&timer->lock);
  return NULL;
}

void gst_cuda_j2k_rtp_timer_set(GstCudaJ2kRtpTimer *timer, gint64 due)
{
  g_mutex_lock(&timer->lock);
  /* A later time needs no signal: the thread wakes at the earlier one and looks again. */
  if (due < timer->due)
    g_cond_signal(&timer->changed);
  timer->due = due;
  if (!timer->thread && due != G_MAXINT64)
    timer->thread = g_thread_try_new("rtpj2kscl-timer", run, timer, NULL);
  g_mutex_unlock(&timer->lock);
}

void gst_cuda_j2k_rtp_timer_stop(GstCudaJ2kRtpTimer *timer)
{
  g_mutex_lock(&timer->lock);
  timer->stop = TRUE;
  g_cond_signal(&timer->changed);
  g_mutex_unlock(&timer->lock);
  if (timer->thread)
    g_thread_join(timer->thread);
  timer->thread = NULL;
  timer->stop = FALSE;
  timer->due = G_MAXINT64;
}
