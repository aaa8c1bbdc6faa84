// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Copies between the device and pinned memory by a kernel: the copy engine would do them only after
 * whole pictures of other frames. Mostly of kilobytes, at most of a codestream.
 */
#include "copy_small.h"

#include <cstdint>

namespace {

constexpr uint32_t kThreads = 256, kMaxBlocks = 64;

__global__ void __launch_bounds__(kThreads)
    copy_kernel(uint8_t *to, const uint8_t *from, size_t size)
{
  size_t words = size / sizeof(uint4), step = (size_t)gridDim.x * kThreads;
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += step)
    reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
  if (blockIdx.x == 0 && threadIdx.x < size % sizeof(uint4))
    to[words * sizeof(uint4) + threadIdx.x] = from[words * sizeof(uint4) + threadIdx.x];
}

} // namespace

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  size_t blocks = (size / sizeof(uint4) + kThreads - 1) / kThreads;
  uint32_t grid = (uint32_t)(blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks);
  copy_kernel<<<grid, kThreads, 0, stream>>>((uint8_t *)to, (const uint8_t *)from, size);
  return cudaGetLastError();
}
