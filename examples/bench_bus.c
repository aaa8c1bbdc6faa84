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

/* Measures COPIES copies after a few to warm up. Returns GB/s; 0: CUDA failed. */
static double copy(void *to, const void *from, enum cudaMemcpyKind kind, cudaEvent_t events[2])
{
  float ms = 0;
  cudaError_t result = cudaSuccess;
  for (int i = -5; i < COPIES && result == cudaSuccess; i++) {
    if (i == 0)
      result = cudaEventRecord(events[0], NULL);
    if (result == cudaSuccess)
      result = cudaMemcpyAsync(to, from, BYTES, kind, NULL);
  }
  if (result == cudaSuccess)
    result = cudaEventRecord(events[1], NULL);
  if (result == cudaSuccess)
    result = cudaEventSynchronize(events[1]);
  if (result == cudaSuccess)
    result = cudaEventElapsedTime(&ms, events[0], events[1]);
  return result == cudaSuccess ? (double)BYTES * COPIES / (double)ms / 1e6 : 0;
}

static int measure(void)
{
  void *host = NULL, *device = NULL;
  cudaEvent_t events[2] = {NULL, NULL};
  double up = 0, down = 0;
  if (cudaMallocHost(&host, BYTES) == cudaSuccess && cudaMalloc(&device, BYTES) == cudaSuccess &&
      cudaEventCreate(&events[0]) == cudaSuccess && cudaEventCreate(&events[1]) == cudaSuccess) {
    for (int i = 0; i < ROUNDS; i++) {
      up = MAX(up, copy(device, host, cudaMemcpyHostToDevice, events));
      down = MAX(down, copy(host, device, cudaMemcpyDeviceToHost, events));
    }
  }
  for (int i = 0; i < 2; i++)
    if (events[i])
      cudaEventDestroy(events[i]);
  cudaFree(device);
  cudaFreeHost(host);
  if (up <= 0 || down <= 0)
    return bench_fail("bus", cudaGetErrorString(cudaGetLastError()));
  printf("{\"operation\":\"bus\",\"to_device_gbs\":%.2f,\"to_host_gbs\":%.2f}\n", up, down);
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
      context, "Measure copies between page-locked host memory and the GPU, in GB/s each way.");
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
