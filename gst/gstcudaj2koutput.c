/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2koutput.h"

void gst_cuda_j2k_output_init(GstCudaJ2kOutput *output, gpointer element, GRecMutex *stream_lock,
                              GstCudaJ2kOutputFunc func)
{
  output->element = element;
  output->stream_lock = stream_lock;
  output->func = func;
  output->thread = NULL;
  output->stream_depth = 1;
  g_mutex_init(&output->lock);
  g_cond_init(&output->changed);
}

void gst_cuda_j2k_output_clear(GstCudaJ2kOutput *output)
{
  g_mutex_clear(&output->lock);
  g_cond_clear(&output->changed);
}

/* After a failed push further results are still received, and discarded, so that a streaming thread
 * that waits for room in the codec continues and returns the failure to upstream. */
static gpointer output_thread(gpointer data)
{
  GstCudaJ2kOutput *output = data;

  g_mutex_lock(&output->lock);
  for (;;) {
    while (!output->pending && !output->quit)
      g_cond_wait(&output->changed, &output->lock);
    if (!output->pending)
      break;
    g_mutex_unlock(&output->lock);

    GstFlowReturn flow = output->func(output->element);

    g_mutex_lock(&output->lock);
    if (output->stale)
      output->stale--;
    else if (!output->flushing && flow != GST_FLOW_OK)
      output->flow = flow;
    output->pending--;
    g_cond_broadcast(&output->changed);
  }
  g_mutex_unlock(&output->lock);
  return NULL;
}

gboolean gst_cuda_j2k_output_start(GstCudaJ2kOutput *output, const gchar *name, GError **error)
{
  output->pending = output->stale = 0;
  output->flushing = output->quit = FALSE;
  output->flow = GST_FLOW_OK;
  output->thread = g_thread_try_new(name, output_thread, output, error);
  return output->thread != NULL;
}

void gst_cuda_j2k_output_stop(GstCudaJ2kOutput *output)
{
  if (!output->thread)
    return;
  g_mutex_lock(&output->lock);
  output->flushing = output->quit = TRUE;
  g_cond_broadcast(&output->changed);
  g_mutex_unlock(&output->lock);
  g_thread_join(output->thread);
  output->thread = NULL;
}

gboolean gst_cuda_j2k_output_discards(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  gboolean discards = output->flushing || output->flow != GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
  return discards;
}

gboolean gst_cuda_j2k_output_is_thread(const GstCudaJ2kOutput *output)
{
  return output->thread && output->thread == g_thread_self();
}

void gst_cuda_j2k_output_added(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  output->pending++;
  g_cond_broadcast(&output->changed);
  g_mutex_unlock(&output->lock);
}

guint gst_cuda_j2k_output_pending(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  guint pending = output->pending;
  g_mutex_unlock(&output->lock);
  return pending;
}

void gst_cuda_j2k_output_unlock_stream(GstCudaJ2kOutput *output)
{
  for (guint i = 0; i < output->stream_depth; i++)
    g_rec_mutex_unlock(output->stream_lock);
}

void gst_cuda_j2k_output_lock_stream(GstCudaJ2kOutput *output)
{
  for (guint i = 0; i < output->stream_depth; i++)
    g_rec_mutex_lock(output->stream_lock);
}

void gst_cuda_j2k_output_nest(GstCudaJ2kOutput *output)
{
  output->stream_depth++;
}

void gst_cuda_j2k_output_unnest(GstCudaJ2kOutput *output)
{
  output->stream_depth--;
}

void gst_cuda_j2k_output_wait(GstCudaJ2kOutput *output)
{
  gst_cuda_j2k_output_unlock_stream(output);
  g_mutex_lock(&output->lock);
  while (output->pending)
    g_cond_wait(&output->changed, &output->lock);
  g_mutex_unlock(&output->lock);
  gst_cuda_j2k_output_lock_stream(output);
}

GstFlowReturn gst_cuda_j2k_output_report(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  gboolean refused = output->flow != GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
  if (!refused)
    return GST_FLOW_OK;

  gst_cuda_j2k_output_wait(output);

  g_mutex_lock(&output->lock);
  GstFlowReturn flow = output->flow;
  output->flow = GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
  return flow;
}

GstFlowReturn gst_cuda_j2k_output_drain(GstCudaJ2kOutput *output)
{
  gst_cuda_j2k_output_wait(output);
  return gst_cuda_j2k_output_report(output);
}

void gst_cuda_j2k_output_flush(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  output->flushing = TRUE;
  g_mutex_unlock(&output->lock);

  gst_cuda_j2k_output_wait(output);

  g_mutex_lock(&output->lock);
  output->flushing = FALSE;
  output->flow = GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
}

void gst_cuda_j2k_output_forget(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  output->stale = output->pending;
  output->flow = GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
}

void gst_cuda_j2k_output_relinked(GstCudaJ2kOutput *output)
{
  g_mutex_lock(&output->lock);
  output->stale = output->pending;
  if (output->flow == GST_FLOW_NOT_LINKED)
    output->flow = GST_FLOW_OK;
  g_mutex_unlock(&output->lock);
}
