/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Energy and memory of the GPUs that a measurement uses, from NVML, which is loaded when it is
 * first needed. */
#include "bench_gpus.h"

#include "config.h"

#ifdef CJ2K_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROCESSES 256 /* on a GPU */

typedef struct {
  unsigned long long total, free, used;
} Memory;

typedef struct {
  unsigned pid;
  unsigned long long used; /* ULLONG_MAX: unknown */
  unsigned gpu_instance, compute_instance;
} Process;

static struct {
  unsigned (*energy)(void *device, unsigned long long *millijoule);
  unsigned (*memory)(void *device, Memory *memory);
  unsigned (*processes)(void *device, unsigned *count, Process *processes); /* NULL: none */
  void *devices[BENCH_MOST_GPUS];
  uint32_t count; /* 0: nothing is known of them */
} gpus;

static bool find(void *library, const char *name, void *function)
{
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

/* Makes a context, so that what it takes is there before anything is measured. */
static bool add(int device, unsigned (*by_bus)(const char *bus, void **device))
{
  char bus[32];

  if (gpus.count == BENCH_MOST_GPUS || cudaSetDevice(device) != cudaSuccess ||
      cudaFree(NULL) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess ||
      by_bus(bus, &gpus.devices[gpus.count]) != 0)
    return false;
  gpus.count++;
  return true;
}

void bench_gpus_choose(int device)
{
  unsigned (*init)(void), (*by_bus)(const char *bus, void **device);
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  int current = 0, count = 0;

  gpus.count = 0;
  if (!library || !find(library, "nvmlInit_v2", &init) ||
      !find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus) ||
      !find(library, "nvmlDeviceGetTotalEnergyConsumption", &gpus.energy) ||
      !find(library, "nvmlDeviceGetMemoryInfo", &gpus.memory) || init() != 0 ||
      cudaGetDevice(&current) != cudaSuccess || cudaGetDeviceCount(&count) != cudaSuccess)
    return;
  (void)find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &gpus.processes);
  bool all = true;
  for (int i = 0; i < count; i++)
    all &= (device >= 0 && i != device) || add(i, by_bus);
  if (!all) /* a sum over some would be wrong */
    gpus.count = 0;
  (void)cudaSetDevice(current);
  (void)cudaGetLastError(); /* of a GPU that cannot be used */
}

double bench_gpus_energy(void)
{
  unsigned long long millijoule;
  double sum = 0;

  for (uint32_t i = 0; i < gpus.count; i++) {
    if (gpus.energy(gpus.devices[i], &millijoule) != 0)
      return -1;
    sum += (double)millijoule / 1000;
  }
  return gpus.count ? sum : -1;
}

double bench_gpus_memory(void)
{
  Memory memory;
  double sum = 0;

  for (uint32_t i = 0; i < gpus.count; i++) {
    if (gpus.memory(gpus.devices[i], &memory) != 0)
      return -1;
    sum += (double)memory.used / 1e6;
  }
  return gpus.count ? sum : -1;
}

/* MB that this process has on a GPU; below 0: unknown. In a container its number may be another one
 * than the driver's. */
static double own_memory(void *device)
{
  Process processes[MOST_PROCESSES];
  unsigned count = MOST_PROCESSES;

  if (!gpus.processes || gpus.processes(device, &count, processes) != 0)
    return -1;
  for (unsigned i = 0; i < count; i++)
    if (processes[i].pid == (unsigned)getpid() && processes[i].used != ULLONG_MAX)
      return (double)processes[i].used / 1e6;
  return -1;
}

double bench_gpus_own_memory(void)
{
  double sum = 0;

  for (uint32_t i = 0; i < gpus.count; i++) {
    double memory = own_memory(gpus.devices[i]);
    if (memory < 0)
      return -1;
    sum += memory;
  }
  return gpus.count ? sum : -1;
}

#else

void bench_gpus_choose(int device)
{
  (void)device;
}

double bench_gpus_energy(void)
{
  return -1;
}

double bench_gpus_memory(void)
{
  return -1;
}

double bench_gpus_own_memory(void)
{
  return -1;
}

#endif
