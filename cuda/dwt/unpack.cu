// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tile-components without decomposition: samples become coefficients, one thread for each pixel. */
#include "forward.cuh"

namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kMaxGridZ = 65535;

template <bool kReversible, uint32_t kComponents>
__global__ void __launch_bounds__(kThreads)
    unpack_kernel(Cj2kCudaTopLevel launch, Cj2kCudaCoefficients arrays)
{
  using T = typename std::conditional<kReversible, int32_t, float>::type;
  const Cj2kCudaTop &top = launch.tops[blockIdx.z];
  const Cj2kRect &rect = top.level[0].rect;
  uint32_t x = blockIdx.x * kThreads + threadIdx.x;
  if (x >= rect.x1 - rect.x0)
    return;
  for (uint32_t y = blockIdx.y; y < rect.y1 - rect.y0; y += gridDim.y) {
    int32_t samples[kComponents][4] = {};
    T out[kComponents][4];
    for (uint32_t c = 0; c < kComponents; c++) {
      const Cj2kCudaInput &input = top.input[c];
      Cj2kCudaInputPlane plane = launch.planes[input.layout.plane];
      uint32_t where = Words::find(input.layout, input.x + x);
      SampleFormat format;
      Words words;
      format.set(input);
      words.set(input.layout, plane.data, plane.pitch);
      uint32_t word = words.load(plane.data + (uint64_t)(input.y + y) * plane.pitch, where);
      samples[c][0] = format.sample(words.shift(word, where));
    }
    start_samples<T, kComponents>(top, launch.xyz, samples, out);
    transform_samples<T, kComponents>(top, out);
    for (uint32_t c = 0; c < kComponents; c++) {
      const Cj2kCudaForwardLevel &level = top.level[c];
      T *to = reinterpret_cast<T *>(arrays.coefficients) + level.band[CJ2K_LL];
      to[(uint64_t)y * level.stride[CJ2K_LL] + x] = out[c][0];
    }
  }
}

} // namespace

cudaError_t cj2k_cuda_unpack(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                             cudaStream_t stream)
{
  for (uint32_t done = 0; done < top->count; done += kMaxGridZ) {
    Cj2kCudaTopLevel part = *top;
    part.tops += done;
    dim3 grid((top->width + kThreads - 1) / kThreads, min(top->height, kMaxGridZ),
              min(top->count - done, kMaxGridZ));
    if (top->reversible && top->num_components == 3)
      unpack_kernel<true, 3><<<grid, kThreads, 0, stream>>>(part, *arrays);
    else if (top->reversible)
      unpack_kernel<true, 1><<<grid, kThreads, 0, stream>>>(part, *arrays);
    else if (top->num_components == 3)
      unpack_kernel<false, 3><<<grid, kThreads, 0, stream>>>(part, *arrays);
    else
      unpack_kernel<false, 1><<<grid, kThreads, 0, stream>>>(part, *arrays);
  }
  return cudaGetLastError();
}
