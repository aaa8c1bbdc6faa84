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

/* Waits until the time has come; FALSE: it was set anew, or the timer is to stop. Where the clock
 * is set back the wait lasts no longer than it should when the time was set. Called with the lock
 * held. */
static gboolean wait(GstCudaJ2kRtpTimer *timer)
{
  gint64 due = timer->due, now = g_get_monotonic_time();
  if (due == G_MAXINT64)
    g_cond_wait(&timer->changed, &timer->lock);
  else if (now >= due)
    return TRUE;
  else if (!g_cond_wait_until(&timer->changed, &timer->lock, MIN(due, now + timer->longest)))
    return timer->due == due && !timer->stop;
  return FALSE;
}

static gpointer run(gpointer data)
{
  GstCudaJ2kRtpTimer *timer = data;
  g_mutex_lock(&timer->lock);
  while (!timer->stop) {
    if (wait(timer)) {
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
  timer->longest = MAX(due - g_get_monotonic_time(), 0);
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
