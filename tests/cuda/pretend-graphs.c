/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CUDA graphs of pretended kernels, for programs that are linked with pretend-runtime.c. */
#include "pretend-graphs.h"

#include "pretend.h"

#include <glib.h>

/* Work that a stream does: at once, or when a graph is launched that has captured it. So what has
 * changed since then, but is not in the key of the graph, is found. */
typedef struct {
  void (*run)(const void *arguments);
  void *arguments; /* a copy */
} Work;

/* What a thread captures. */
static __thread struct {
  GArray *works;       /* Work; NULL: nothing is captured */
  GHashTable *events;  /* that have been recorded, to their streams */
  GHashTable *streams; /* that take part; those whose work nobody has waited for since to true */
} capture;

static __thread bool in_graph;              /* work is being done by a graph */
static __thread cudaStream_t launch_stream; /* on which that was launched */

static void clear_work(void *work)
{
  g_free(((Work *)work)->arguments);
}

cudaError_t pretend_put(void (*run)(const void *arguments), const void *arguments, size_t size)
{
  if (capture.works) {
    Work work = {run, g_memdup2(arguments, size)};
    g_array_append_val(capture.works, work);
  } else {
    run(arguments);
  }
  return cudaSuccess;
}

bool pretend_in_graph(void)
{
  return in_graph;
}

static void take_part(cudaStream_t stream, bool unjoined)
{
  g_hash_table_insert(capture.streams, stream, GINT_TO_POINTER(unjoined));
}

static bool takes_part(cudaStream_t stream)
{
  return capture.works && g_hash_table_contains(capture.streams, stream);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void)mode;
  g_assert_null(capture.works);
  capture.works = g_array_new(FALSE, FALSE, sizeof(Work));
  g_array_set_clear_func(capture.works, clear_work);
  capture.events = g_hash_table_new(NULL, NULL);
  capture.streams = g_hash_table_new(NULL, NULL);
  take_part(stream, false);
  return cudaSuccess;
}

static gboolean is_true(gpointer key, gpointer value, gpointer data)
{
  (void)key, (void)data;
  return GPOINTER_TO_INT(value);
}

/* As the real one it refuses to leave out a stream whose work has been captured. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  g_assert_true(takes_part(stream));
  take_part(stream, false);
  bool joined = !g_hash_table_find(capture.streams, is_true, NULL);
  g_clear_pointer(&capture.events, g_hash_table_unref);
  g_clear_pointer(&capture.streams, g_hash_table_unref);
  if (!joined)
    g_clear_pointer(&capture.works, g_array_unref);
  *graph = (cudaGraph_t)(void *)g_steal_pointer(&capture.works);
  return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
  *status = takes_part(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  cj2k_pretend_record(event, stream, takes_part(stream));
  if (takes_part(stream))
    g_hash_table_insert(capture.events, event, stream);
  return cudaSuccess;
}

/* In a capture it is an error to wait for an event of something else. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void)flags;
  cj2k_pretend_wait(stream, event);
  if (capture.works && g_hash_table_contains(capture.events, event)) {
    take_part(g_hash_table_lookup(capture.events, event), false);
    take_part(stream, true);
  } else {
    g_assert_false(takes_part(stream));
  }
  return cudaSuccess;
}

/* An event that each launch of a graph records. */
static void record(const void *event)
{
  cudaEventRecord(*(const cudaEvent_t *)event, launch_stream);
}

/* As the real one it refuses what only a capture may ask for. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
  if (flags != cudaEventRecordExternal)
    return cudaEventRecord(event, stream);
  return takes_part(stream) ? pretend_put(record, &event, sizeof event) : cudaErrorInvalidValue;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
  (void)flags;
  *exec = (cudaGraphExec_t)(void *)g_array_ref((GArray *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
  const GArray *works = (const GArray *)(const void *)exec;

  g_assert_null(capture.works);
  in_graph = true;
  launch_stream = stream;
  for (guint i = 0; i < works->len; i++) {
    const Work *work = &g_array_index(works, Work, i);
    work->run(work->arguments);
  }
  in_graph = false;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
  g_array_unref((GArray *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
  g_array_unref((GArray *)(void *)exec);
  return cudaSuccess;
}
