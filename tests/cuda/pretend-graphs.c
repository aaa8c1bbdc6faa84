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

static __thread GArray *capturing; /* Work; NULL: it is done at once */
static __thread bool in_graph;     /* it is being done by a graph */
static __thread GHashTable
    *recorded; /* of a capture: events to the streams that have recorded them */
static __thread GHashTable
    *unjoined; /* streams whose work nobody has waited for since they waited */

static void clear_work(void *work)
{
  g_free(((Work *)work)->arguments);
}

cudaError_t pretend_put(void (*run)(const void *arguments), const void *arguments, size_t size)
{
  if (capturing) {
    Work work = {run, g_memdup2(arguments, size)};
    g_array_append_val(capturing, work);
  } else {
    run(arguments);
  }
  return cudaSuccess;
}

bool pretend_in_graph(void)
{
  return in_graph;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void)stream, (void)mode;
  g_assert_null(capturing);
  capturing = g_array_new(FALSE, FALSE, sizeof(Work));
  g_array_set_clear_func(capturing, clear_work);
  recorded = g_hash_table_new(NULL, NULL);
  unjoined = g_hash_table_new(NULL, NULL);
  return cudaSuccess;
}

/* As the real one it refuses to leave out a stream whose work has been captured. */

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  g_hash_table_remove(unjoined, stream);
  bool joined = g_hash_table_size(unjoined) == 0;
  g_clear_pointer(&recorded, g_hash_table_unref);
  g_clear_pointer(&unjoined, g_hash_table_unref);
  if (!joined)
    g_clear_pointer(&capturing, g_array_unref);
  *graph = (cudaGraph_t)(void *)g_steal_pointer(&capturing);
  return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
  (void)stream;
  *status = capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

typedef struct {
  cudaEvent_t event;
  cudaStream_t stream;
} Record;

static void record(const void *arguments)
{
  const Record *to_do = arguments;

  cudaEventRecord(to_do->event, to_do->stream);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  cj2k_pretend_record(event, stream, capturing != NULL);
  if (capturing)
    g_hash_table_insert(recorded, event, stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void)flags;
  cj2k_pretend_wait(stream, event);
  if (capturing && g_hash_table_contains(recorded, event)) {
    g_hash_table_remove(unjoined, g_hash_table_lookup(recorded, event));
    g_hash_table_add(unjoined, stream);
  }
  return cudaSuccess;
}

/* As the real one it refuses what only a capture may ask for. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
  const Record to_do = {event, stream};

  if (flags == cudaEventRecordExternal)
    return capturing ? pretend_put(record, &to_do, sizeof to_do) : cudaErrorInvalidValue;
  return cudaEventRecord(event, stream);
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

  (void)stream;
  g_assert_null(capturing);
  in_graph = true;
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
