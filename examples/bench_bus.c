/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench bus: how fast GPUs copy from and to page-locked host memory; where there are several,
 * also all of them at once, because they share what the host's memory and its links carry. */
#include "bench.h"

#include "bench_gpus.h"

#include "config.h"

#include <stdio.h>

#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>

#define BYTES  ((size_t)3840 * 2160 * 3 * 2) /* a picture of 3840x2160, RGB, 16 bit */
#define COPIES 100
#define ROUNDS 5 /* the best one counts, since a limit is measured */

/* A direction of a GPU's bus, with a stream of its own. */
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
  *way = (Way){0};
}

static cudaError_t copy(const Way *way)
{
  bool up = way->kind == cudaMemcpyHostToDevice;
  return cudaMemcpyAsync(up ? way->device : way->host, up ? way->host : way->device, BYTES,
                         way->kind, way->stream);
}

/* Measures COPIES pictures in each of n ways at the same time, after a few to warm up. Returns GB/s
 * of the slowest way; 0: CUDA failed. */
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

/* The best of some measurements; 0: CUDA failed. */
static double measure_best(const Way *ways, int n)
{
  double best = 0;
  for (int i = 0; i < ROUNDS; i++) {
    double gbs = measure_ways(ways, n);
    if (gbs <= 0)
      return 0;
    best = MAX(best, gbs);
  }
  return best;
}

/* Opens both ways of the current GPU. */
static cudaError_t open_both(Way ways[2])
{
  cudaError_t result = open_way(&ways[0], cudaMemcpyHostToDevice);
  return result == cudaSuccess ? open_way(&ways[1], cudaMemcpyDeviceToHost) : result;
}

static void close_both(Way ways[2])
{
  close_way(&ways[0]);
  close_way(&ways[1]);
}

/* Opens the ways of the other GPUs behind those of the current one; one that cannot be used is left
 * out. Returns the number of GPUs. */
static int open_others(Way *ways)
{
  int current = 0, count = 0, gpus = 1;
  if (cudaGetDevice(&current) != cudaSuccess || cudaGetDeviceCount(&count) != cudaSuccess)
    return gpus;
  for (int i = 0; i < count && gpus < BENCH_MOST_GPUS; i++) {
    if (i == current || cudaSetDevice(i) != cudaSuccess)
      continue;
    if (open_both(&ways[2 * gpus]) == cudaSuccess)
      gpus++;
    else
      close_both(&ways[2 * gpus]);
  }
  (void)cudaSetDevice(current);
  (void)cudaGetLastError(); /* of a GPU that was left out */
  return gpus;
}

static int measure(void)
{
  Way ways[2 * BENCH_MOST_GPUS] = {{0}};
  double up = 0, down = 0, both = 0, all = 0;
  int gpus = 1;
  cudaError_t result = open_both(ways);
  if (result == cudaSuccess && (up = measure_best(&ways[0], 1)) > 0 &&
      (down = measure_best(&ways[1], 1)) > 0 && (both = measure_best(ways, 2)) > 0) {
    gpus = open_others(ways);
    all = gpus > 1 ? measure_best(ways, 2 * gpus) : both;
  }
  if (result == cudaSuccess)
    result = cudaGetLastError();
  for (int i = 0; i < gpus; i++)
    close_both(&ways[2 * i]);
  if (all <= 0)
    return bench_fail("bus", cudaGetErrorString(result));
  printf("{\"operation\":\"bus\",\"to_device_gbs\":%.2f,\"to_host_gbs\":%.2f,\"each_of_both_gbs\":"
         "%.2f,\"gpus\":%d,\"each_of_all_gbs\":%.2f}\n",
         up, down, both, gpus, all);
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
      "each of both at once; then each of both ways of all GPUs at once.");
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
