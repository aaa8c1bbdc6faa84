/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench bus: how fast the GPU copies from and to page-locked host memory. */
#include "bench.h"

#include "config.h"

#include <stdio.h>

#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>

#define BYTES  ((size_t)3840 * 2160 * 3 * 2) /* a picture of 3840x2160, RGB, 16 bit */
#define COPIES 100
#define ROUNDS 5 /* the best one counts, since a limit is measured */

/* A direction of the bus, with a stream of its own. */
typedef struct {
  void *host, *device;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  enum cudaMemcpyKind kind;
} Way;

static cudaError_t open_way(Way *way, enum cudaMemcpyKind kind)
{
  cudaError_t result = cudaMallocHost(&way->host, BYTES);
  way->kind = kind;
  if (result == cudaSuccess)
    result = cudaMalloc(&way->device, BYTES);
  if (result == cudaSuccess)
    result = cudaStreamCreateWithFlags(&way->stream, cudaStreamNonBlocking);
  if (result == cudaSuccess)
    result = cudaEventCreate(&way->begin);
  return result == cudaSuccess ? cudaEventCreate(&way->end) : result;
}

static void close_way(Way *way)
{
  if (way->begin)
    cudaEventDestroy(way->begin);
  if (way->end)
    cudaEventDestroy(way->end);
  if (way->stream)
    cudaStreamDestroy(way->stream);
  cudaFree(way->device);
  cudaFreeHost(way->host);
}

static cudaError_t copy(const Way *way)
{
  bool up = way->kind == cudaMemcpyHostToDevice;
  return cudaMemcpyAsync(up ? way->device : way->host, up ? way->host : way->device, BYTES,
                         way->kind, way->stream);
}

/* Measures COPIES pictures in each of n ways at the same time, after a few to warm up. Returns GB/s
 * of the slower way; 0: CUDA failed. */
static double measure_ways(const Way *ways, int n)
{
  float ms = 0, longest = 0;
  cudaError_t result = cudaSuccess;
  for (int i = -5; i < COPIES && result == cudaSuccess; i++) {
    for (int k = 0; i == 0 && k < n && result == cudaSuccess; k++)
      result = cudaEventRecord(ways[k].begin, ways[k].stream);
    for (int k = 0; k < n && result == cudaSuccess; k++)
      result = copy(&ways[k]);
  }
  for (int k = 0; k < n && result == cudaSuccess; k++)
    result = cudaEventRecord(ways[k].end, ways[k].stream);
  for (int k = 0; k < n && result == cudaSuccess; k++) {
    result = cudaEventSynchronize(ways[k].end);
    if (result == cudaSuccess)
      result = cudaEventElapsedTime(&ms, ways[k].begin, ways[k].end);
    longest = MAX(longest, ms);
  }
  return result == cudaSuccess ? (double)BYTES * COPIES / (double)longest / 1e6 : 0;
}

static int measure(void)
{
  Way ways[2] = {{0}};
  double up = 0, down = 0, both = 0;
  if (open_way(&ways[0], cudaMemcpyHostToDevice) == cudaSuccess &&
      open_way(&ways[1], cudaMemcpyDeviceToHost) == cudaSuccess) {
    for (int i = 0; i < ROUNDS; i++) {
      up = MAX(up, measure_ways(&ways[0], 1));
      down = MAX(down, measure_ways(&ways[1], 1));
      both = MAX(both, measure_ways(ways, 2));
    }
  }
  close_way(&ways[0]);
  close_way(&ways[1]);
  if (up <= 0 || down <= 0 || both <= 0)
    return bench_fail("bus", cudaGetErrorString(cudaGetLastError()));
  printf(
      "{\"operation\":\"bus\",\"to_device_gbs\":%.2f,\"to_host_gbs\":%.2f,\"each_of_both_gbs\":%.2f}\n",
      up, down, both);
  return BENCH_OK;
}
#else
static int measure(void)
{
  return bench_fail("bus", "built without CUDA");
}
#endif

int bench_bus(int argc, char **argv)
{
  GOptionContext *context = g_option_context_new(NULL);
  GError *error = NULL;
  int result = BENCH_USAGE;
  g_option_context_set_summary(
      context,
      "Measure copies between page-locked host memory and the GPU, in GB/s: each way alone, and\n"
      "each of both at once.");
  if (!g_option_context_parse(context, &argc, &argv, &error))
    g_printerr("cj2k-bench: %s\n", error->message);
  else if (argc > 1)
    g_printerr("cj2k-bench: bus takes no arguments\n");
  else
    result = measure();
  g_clear_error(&error);
  g_option_context_free(context);
  return result;
}
