// SPDX-License-Identifier: LGPL-2.1-or-later
/* The size of the current GPU. */
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/* The number of multiprocessors of the current device; 1 if it is not known. */
inline uint32_t count_multiprocessors()
{
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 1;
  return (uint32_t)count;
}
