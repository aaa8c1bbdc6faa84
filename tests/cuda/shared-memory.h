/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that the host and kernels can read: pinned, or of programs that run kernels on the CPU
 * (ON_CPU) ordinary. */
#ifndef TESTS_CUDA_SHARED_MEMORY_H
#define TESTS_CUDA_SHARED_MEMORY_H

#include <cuda_runtime_api.h>
#include <glib.h>
#include <string.h>

/* Zeros: `count` entries of `size` bytes, and one more, because there may be none. */
static inline void *get(size_t count, size_t size)
{
  void *memory = NULL;

#ifdef ON_CPU
  memory = g_malloc0((count + 1) * size);
#else
  g_assert_cmpint(cudaHostAlloc(&memory, (count + 1) * size, cudaHostAllocDefault), ==,
                  cudaSuccess);
  memset(memory, 0, (count + 1) * size);
#endif
  return memory;
}

static inline void put(void *memory)
{
#ifdef ON_CPU
  g_free(memory);
#else
  cudaFreeHost(memory);
#endif
}

#endif
