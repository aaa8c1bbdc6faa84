/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CUDA graphs of pretended kernels, and copies, for programs that are linked with
 * pretend-runtime.c. */
#include "cuda/shared/copy_small.h"
#include "pretend-coders.h"

#include <string.h>

/* ------------------------------------------------------------------------------ graphs --- */

/* Work that a stream does: at once, or when a graph is launched that has captured it. So what has
 * changed since then, but is not in the key of the graph, is found. */
typedef struct {
  void (*run)(const void *arguments);
  void *arguments; /* a copy */
} Work;

static __thread GArray *capturing; /* Work; NULL: it is done at once */
static __thread bool in_graph;     /* it is being done by a graph */

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
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  (void)stream;
  *graph = (cudaGraph_t)(void *)capturing;
  capturing = NULL;
  return cudaSuccess;
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

/* ------------------------------------------------------------------------------ copies --- */

typedef struct {
  void *to, *clear;
  const void *from;
  size_t size, clear_size;
} Copy;

static void do_copy(const void *arguments)
{
  const Copy *copy = arguments;

  if (copy->size)
    memcpy(copy->to, copy->from, copy->size);
  if (copy->clear_size)
    memset(copy->clear, 0, copy->clear_size);
}

cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream)
{
  const Copy copy = {to, clear, from, size, clear_size};

  (void)stream;
  g_assert_cmpuint(((uintptr_t)to | (uintptr_t)from | (uintptr_t)clear) % 16, ==, 0);
  return pretend_put(do_copy, &copy, sizeof copy);
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  return cj2k_cuda_copy_and_clear(to, from, size, NULL, 0, stream);
}

/* As the kernel does, which reads target and size when it runs. */
typedef struct {
  const Cj2kCudaCopyTarget *target;
  const void *from;
  const uint64_t *size;
} KnownCopy;

static void do_known_copy(const void *arguments)
{
  const KnownCopy *known = arguments;

  if (*known->size <= known->target->most)
    memcpy(known->target->to, known->from, *known->size);
}

cudaError_t cj2k_cuda_copy_known(const Cj2kCudaCopyTarget *target, const void *from,
                                 const uint64_t *size, size_t room, cudaStream_t stream)
{
  const KnownCopy known = {target, from, size};

  (void)room, (void)stream;
  return pretend_put(do_known_copy, &known, sizeof known);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  const Copy copy = {.to = to, .from = from, .size = size};

  (void)kind, (void)stream;
  return pretend_put(do_copy, &copy, sizeof copy);
}
