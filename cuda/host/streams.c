/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "streams.h"

typedef struct {
  cudaStream_t stream;
  int priority;
} Entry;

static GArray *new_entries(void)
{
  return g_array_new(FALSE, FALSE, sizeof(Entry));
}

/* Destroys streams that are not in a list any more; NULL: there are none. The lock is not held. */
static void destroy_streams(GArray *entries)
{
  for (guint i = 0; entries && i < entries->len; i++)
    cudaStreamDestroy(g_array_index(entries, Entry, i).stream);
  if (entries)
    g_array_unref(entries);
}

/* ------------------------------------------------------------------------ with the lock held ---
 */

/* Moves a stream that is in use to the end of the idle ones. */
static void move_to_idle(Cj2kCudaStreams *streams, cudaStream_t stream)
{
  guint i = 0;

  while (g_array_index(streams->used, Entry, i).stream != stream)
    i++;
  Entry entry = g_array_index(streams->used, Entry, i);
  g_array_remove_index_fast(streams->used, i);
  g_array_append_val(streams->idle, entry);
}

/* Removes the streams that are too many, and returns them; NULL: none, as mostly. */
static GArray *trim(Cj2kCudaStreams *streams, bool keeps)
{
  guint most = keeps ? streams->used->len : 0;

  if (streams->idle->len <= most)
    return NULL;
  guint count = streams->idle->len - most;
  GArray *removed = new_entries();
  g_array_append_vals(removed, streams->idle->data, count);
  g_array_remove_range(streams->idle, 0, count);
  return removed;
}

/* ---------------------------------------------------------------------------------- streams --- */

/* Removes the stream of this priority that was given back last, and returns it; NULL: none is kept.
 */
static cudaStream_t take_idle(Cj2kCudaStreams *streams, int priority)
{
  cudaStream_t stream = NULL;

  g_mutex_lock(&streams->lock);
  for (guint i = streams->idle->len; i-- > 0 && !stream;) {
    const Entry *entry = &g_array_index(streams->idle, Entry, i);
    if (entry->priority != priority)
      continue;
    stream = entry->stream;
    g_array_remove_index(streams->idle, i);
  }
  g_mutex_unlock(&streams->lock);
  return stream;
}

cudaError_t cj2k_cuda_take_stream(Cj2kCudaEngine *engine, int priority, cudaStream_t *stream)
{
  Entry entry = {.priority = priority};

  *stream = NULL;
  if (!cj2k_cuda_pool_is_lost(&engine->pool))
    entry.stream = take_idle(&engine->streams, priority);
  if (!entry.stream) {
    cudaError_t result =
        cudaStreamCreateWithPriority(&entry.stream, cudaStreamNonBlocking, priority);
    if (result != cudaSuccess)
      return result;
  }
  g_mutex_lock(&engine->streams.lock);
  g_array_append_val(engine->streams.used, entry);
  g_mutex_unlock(&engine->streams.lock);
  *stream = entry.stream;
  return cudaSuccess;
}

void cj2k_cuda_give_stream(Cj2kCudaEngine *engine, cudaStream_t stream)
{
  if (!stream)
    return;
  bool keeps = cj2k_cuda_pool_keeps(&engine->pool);
  g_mutex_lock(&engine->streams.lock);
  move_to_idle(&engine->streams, stream);
  GArray *removed = trim(&engine->streams, keeps); /* before another thread can take it */
  g_mutex_unlock(&engine->streams.lock);
  destroy_streams(removed);
}

void cj2k_cuda_trim_streams(Cj2kCudaEngine *engine)
{
  bool keeps = cj2k_cuda_pool_keeps(&engine->pool);

  g_mutex_lock(&engine->streams.lock);
  GArray *removed = trim(&engine->streams, keeps);
  g_mutex_unlock(&engine->streams.lock);
  destroy_streams(removed);
}

void cj2k_cuda_streams_init(Cj2kCudaStreams *streams)
{
  *streams = (Cj2kCudaStreams){.used = new_entries(), .idle = new_entries()};
  g_mutex_init(&streams->lock);
}

/* None is in use, so none is kept. */
void cj2k_cuda_streams_clear(Cj2kCudaStreams *streams)
{
  g_array_unref(streams->used);
  g_array_unref(streams->idle);
  g_mutex_clear(&streams->lock);
}
