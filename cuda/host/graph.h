/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Launches that are the same for every frame of a slot, as one call. A launch costs the host some
 * microseconds and the driver does the calls of all threads one after the other, which bounds how
 * many streams a process can have; a CUDA graph of many launches costs little more than one.
 */
#ifndef CJ2K_CUDA_HOST_GRAPH_H
#define CJ2K_CUDA_HOST_GRAPH_H

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  cudaGraphExec_t exec; /* NULL: launches are done one by one */
  GArray *key;          /* uint64_t: what the launches depend on; NULL: no frame yet */
  uint32_t frames;      /* since the key has changed */
  bool refused;         /* the launches of this key cannot be made a graph */
} Cj2kCudaGraph;

/* Puts kernels on the stream; may be called again after it has failed. */
typedef cudaError_t (*Cj2kCudaLaunches)(void *ctx);

/* Tells what the launches of the next frame depend on. If it differs from the frame before, the
 * graph is made anew after some frames. */
void cj2k_cuda_graph_follow(Cj2kCudaGraph *graph, const uint64_t *key, uint32_t count);
/* The launches are others than before, whatever the key. */
void cj2k_cuda_graph_forget(Cj2kCudaGraph *graph);
/* Does the launches on a stream, on which nothing else works meanwhile: by the graph, or by
 * `launches`. A graph that cannot be made is no error. */
cudaError_t cj2k_cuda_graph_run(Cj2kCudaGraph *graph, cudaStream_t stream,
                                Cj2kCudaLaunches launches, void *ctx);
/* Records an event for which the host waits. Where a stream's work is made a graph, each launch of
 * the graph records it. */
cudaError_t cj2k_cuda_graph_record(cudaEvent_t event, cudaStream_t stream);
void cj2k_cuda_graph_free(Cj2kCudaGraph *graph);

#endif
