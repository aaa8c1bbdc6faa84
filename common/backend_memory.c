/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

#include <stdlib.h>

#define ALIGNMENT 64

void *cj2k_memory_alloc(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                        size_t size)
{
  if ((uint32_t)kind > CJ2K_MEMORY_CUDA)
    return NULL;
  if (kind != CJ2K_MEMORY_HOST && functions->alloc)
    return functions->alloc(backend, kind, size);
  void *memory = NULL;
  if (kind == CJ2K_MEMORY_CUDA || posix_memalign(&memory, ALIGNMENT, size ? size : 1))
    return NULL;
  return memory;
}

void cj2k_memory_free(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                      void *memory)
{
  if (kind != CJ2K_MEMORY_HOST && functions->alloc)
    functions->free(backend, kind, memory);
  else
    free(memory);
}
