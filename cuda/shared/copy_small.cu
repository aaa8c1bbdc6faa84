// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Copies between the device and pinned memory by a kernel: the copy engine would do them only after
 * whole pictures of other frames. Mostly of kilobytes, at most of a codestream.
 */
#include "copy_small.h"

#include <cstdint>

namespace {

constexpr uint32_t kThreads = 256, kMaxBlocks = 64;

__device__ void copy(uint8_t *to, const uint8_t *from, size_t size)
{
  size_t words = size / sizeof(uint4), step = (size_t)gridDim.x * kThreads;
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += step)
    reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
  if (blockIdx.x == 0 && threadIdx.x < size % sizeof(uint4))
    to[words * sizeof(uint4) + threadIdx.x] = from[words * sizeof(uint4) + threadIdx.x];
}

/* `clear`: clear_size bytes that become 0. */
__global__ void __launch_bounds__(kThreads)
    copy_kernel(uint8_t *to, const uint8_t *from, size_t size, uint8_t *clear, size_t clear_size)
{
  size_t words = clear_size / sizeof(uint4), step = (size_t)gridDim.x * kThreads;
  copy(to, from, size);
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += step)
    reinterpret_cast<uint4 *>(clear)[i] = make_uint4(0, 0, 0, 0);
  if (blockIdx.x == 0 && threadIdx.x < clear_size % sizeof(uint4))
    clear[words * sizeof(uint4) + threadIdx.x] = 0;
}

__global__ void __launch_bounds__(kThreads)
    copy_known_kernel(const Cj2kCudaCopyTarget *target, const uint8_t *from, const uint64_t *size)
{
  __shared__ Cj2kCudaCopyTarget here; /* one thread reads it over the bus */

  if (threadIdx.x == 0)
    here = *target;
  __syncthreads();
  if (*size <= here.most)
    copy((uint8_t *)here.to, from, *size);
}

__global__ void __launch_bounds__(kThreads)
    copy_told_kernel(uint8_t *to, const uint8_t *from, const uint64_t *size, uint64_t room)
{
  __shared__ uint64_t here; /* as above */

  if (threadIdx.x == 0)
    here = *size;
  __syncthreads();
  copy(to, from, here < room ? here : room);
}

/* Thread blocks for so many bytes. */
uint32_t grid_of(size_t size)
{
  size_t blocks = (size / sizeof(uint4) + kThreads - 1) / kThreads;
  return (uint32_t)(blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks);
}

} // namespace

cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream)
{
  uint32_t grid = grid_of(size > clear_size ? size : clear_size);
  copy_kernel<<<grid, kThreads, 0, stream>>>((uint8_t *)to, (const uint8_t *)from, size,
                                             (uint8_t *)clear, clear_size);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  return cj2k_cuda_copy_and_clear(to, from, size, nullptr, 0, stream);
}

cudaError_t cj2k_cuda_copy_told(void *to, const void *from, const uint64_t *size, size_t room,
                                cudaStream_t stream)
{
  copy_told_kernel<<<grid_of(room), kThreads, 0, stream>>>((uint8_t *)to, (const uint8_t *)from,
                                                           size, room);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_copy_known(const Cj2kCudaCopyTarget *target, const void *from,
                                 const uint64_t *size, size_t room, cudaStream_t stream)
{
  copy_known_kernel<<<grid_of(room), kThreads, 0, stream>>>(target, (const uint8_t *)from, size);
  return cudaGetLastError();
}
