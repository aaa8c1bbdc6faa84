// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Copies between the device and pinned memory by a kernel: the copy engine would do them only after
 * whole pictures of other frames. Mostly of kilobytes, at most of a codestream.
 */
#include "copy_small.h"

#include <cstdint>

namespace {

constexpr uint32_t kThreads = 256, kMaxBlocks = 64;

/* `clear`: clear_size bytes that become 0. */
__global__ void __launch_bounds__(kThreads)
    copy_kernel(uint8_t *to, const uint8_t *from, size_t size, uint8_t *clear, size_t clear_size)
{
  size_t words = size / sizeof(uint4), step = (size_t)gridDim.x * kThreads;
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += step)
    reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
  if (blockIdx.x == 0 && threadIdx.x < size % sizeof(uint4))
    to[words * sizeof(uint4) + threadIdx.x] = from[words * sizeof(uint4) + threadIdx.x];
  words = clear_size / sizeof(uint4);
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += step)
    reinterpret_cast<uint4 *>(clear)[i] = make_uint4(0, 0, 0, 0);
  if (blockIdx.x == 0 && threadIdx.x < clear_size % sizeof(uint4))
    clear[words * sizeof(uint4) + threadIdx.x] = 0;
}

} // namespace

cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream)
{
  size_t most = size > clear_size ? size : clear_size;
  size_t blocks = (most / sizeof(uint4) + kThreads - 1) / kThreads;
  uint32_t grid = (uint32_t)(blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks);
  copy_kernel<<<grid, kThreads, 0, stream>>>((uint8_t *)to, (const uint8_t *)from, size,
                                             (uint8_t *)clear, clear_size);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  return cj2k_cuda_copy_and_clear(to, from, size, nullptr, 0, stream);
}
