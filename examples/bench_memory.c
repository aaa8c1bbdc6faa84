/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include "encode_input.h"

#include "config.h"

#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PITCH 256 /* rows begin at multiples, as GPUs like it */

static void *allocate(Cj2kMemoryKind kind, size_t size)
{
  void *memory = NULL;
  switch (kind) {
  case CJ2K_MEMORY_HOST: return malloc(size);
#ifdef CJ2K_HAVE_CUDA
  case CJ2K_MEMORY_PINNED: return cudaMallocHost(&memory, size) == cudaSuccess ? memory : NULL;
  case CJ2K_MEMORY_CUDA: return cudaMalloc(&memory, size) == cudaSuccess ? memory : NULL;
#endif
  default: return memory;
  }
}

bool bench_picture_new(BenchPicture *picture, const Cj2kLayout *layout,
                       const Cj2kComponent *components, Cj2kMemoryKind memory)
{
  size_t size = 0;
  Cj2kPlane *planes = g_new0(Cj2kPlane, layout->num_planes);
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    EncodePlane plane = encode_plane(layout, components, p);
    planes[p].pitch = (plane.row_bytes + PITCH - 1) / PITCH * PITCH;
    planes[p].data = (void *)(uintptr_t)size; /* for now the offset */
    size += planes[p].pitch * plane.rows;
  }
  picture->memory = allocate(memory, MAX(size, 1));
  for (uint32_t p = 0; p < layout->num_planes; p++)
    planes[p].data = (uint8_t *)picture->memory + (uintptr_t)planes[p].data;
  picture->picture = (Cj2kPicture){memory, layout->num_planes, planes};
  if (!picture->memory)
    bench_picture_free(picture);
  return picture->memory != NULL;
}

bool bench_picture_fill(const BenchPicture *picture, const Cj2kLayout *layout,
                        const Cj2kComponent *components, const Cj2kPlane *from)
{
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    const Cj2kPlane *to = &picture->picture.planes[p];
    EncodePlane plane = encode_plane(layout, components, p);
#ifdef CJ2K_HAVE_CUDA
    if (picture->picture.memory == CJ2K_MEMORY_CUDA) {
      if (cudaMemcpy2D(to->data, to->pitch, from[p].data, from[p].pitch, plane.row_bytes,
                       plane.rows, cudaMemcpyHostToDevice) != cudaSuccess)
        return false;
      continue;
    }
#endif
    for (uint32_t y = 0; y < plane.rows; y++)
      memcpy((uint8_t *)to->data + y * to->pitch, (const uint8_t *)from[p].data + y * from[p].pitch,
             plane.row_bytes);
  }
  return true;
}

void bench_picture_free(BenchPicture *picture)
{
  switch (picture->picture.memory) {
#ifdef CJ2K_HAVE_CUDA
  case CJ2K_MEMORY_PINNED: cudaFreeHost(picture->memory); break;
  case CJ2K_MEMORY_CUDA: cudaFree(picture->memory); break;
#endif
  default: free(picture->memory); break;
  }
  g_free(picture->picture.planes);
  memset(picture, 0, sizeof *picture);
}

void bench_choose_gpu(const BenchOptions *options, int *cuda_device)
{
  if (options->output && strcmp(options->output, "device") == 0)
    *cuda_device = MAX(*cuda_device, 0);
#ifdef CJ2K_HAVE_CUDA
  if (*cuda_device >= 0)
    (void)cudaSetDevice(*cuda_device); /* if there is none, opening the codec says so */
#endif
}

BenchMemory bench_memory(Cj2kBackendKind backend)
{
  BenchMemory memory = {0};
  unsigned long all, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%lu %lu", &all, &resident) == 2)
    memory.host = (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
  if (file)
    fclose(file);
#ifdef CJ2K_HAVE_CUDA
  size_t free_bytes, total;
  if (backend == CJ2K_BACKEND_CUDA && cudaMemGetInfo(&free_bytes, &total) == cudaSuccess)
    memory.device = (double)(total - free_bytes) / 1e6;
#else
  (void)backend;
#endif
  return memory;
}
