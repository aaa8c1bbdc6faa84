/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "graph.h"

#include "device.h"

#include <string.h>

/* Frames with the same launches before a graph is made, which costs as much as some of them. */
#define SAME_FRAMES 2

void cj2k_cuda_graph_forget(Cj2kCudaGraph *graph)
{
  if (graph->exec)
    cudaGraphExecDestroy(graph->exec);
  graph->exec = NULL;
  graph->frames = 0;
  graph->refused = false;
}

void cj2k_cuda_graph_follow(Cj2kCudaGraph *graph, const uint64_t *key, uint32_t count)
{
  if (!graph->key)
    graph->key = g_array_new(FALSE, FALSE, sizeof *key);
  if (graph->key->len == count && !memcmp(graph->key->data, key, count * sizeof *key))
    return;
  g_array_set_size(graph->key, 0);
  g_array_append_vals(graph->key, key, count);
  cj2k_cuda_graph_forget(graph);
}

/* Makes the graph, which launches nothing yet. */
static cudaError_t capture(Cj2kCudaGraph *graph, cudaStream_t stream, Cj2kCudaLaunches launches,
                           void *ctx)
{
  cudaGraph_t made = NULL;
  cudaError_t result = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);

  if (result != cudaSuccess)
    return result;
  cudaError_t launched = launches(ctx);
  result = cudaStreamEndCapture(stream, &made); /* in any case */
  if (launched != cudaSuccess)
    result = launched;
  CJ2K_CUDA_TRY(result, cudaGraphInstantiate(&graph->exec, made, 0));
  if (result != cudaSuccess)
    graph->exec = NULL;
  if (made)
    cudaGraphDestroy(made);
  return result;
}

cudaError_t cj2k_cuda_graph_run(Cj2kCudaGraph *graph, cudaStream_t stream,
                                Cj2kCudaLaunches launches, void *ctx)
{
  if (!graph->exec && !graph->refused && graph->frames++ >= SAME_FRAMES &&
      capture(graph, stream, launches, ctx) != cudaSuccess) {
    (void)cudaGetLastError();
    graph->refused = true;
  }
  return graph->exec ? cudaGraphLaunch(graph->exec, stream) : launches(ctx);
}

cudaError_t cj2k_cuda_graph_record(cudaEvent_t event, cudaStream_t stream)
{
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaError_t result = cudaStreamIsCapturing(stream, &status);
  unsigned flags =
      status == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;

  CJ2K_CUDA_TRY(result, cudaEventRecordWithFlags(event, stream, flags));
  return result;
}

void cj2k_cuda_graph_free(Cj2kCudaGraph *graph)
{
  cj2k_cuda_graph_forget(graph);
  if (graph->key)
    g_array_unref(graph->key);
  graph->key = NULL;
}
