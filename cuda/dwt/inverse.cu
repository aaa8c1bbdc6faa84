// SPDX-License-Identifier: LGPL-2.1-or-later
/* Inverse DWT, every level but the last: the bands become the low-pass plane of the next level. */
#include "inverse.cuh"

namespace {

constexpr uint32_t kWarps = 4;
constexpr uint32_t kResident = 4; /* thread blocks on a multiprocessor */

template <class T> struct StorePlane {
  T *plane;
  uint32_t stride;
  int32_t x, width, odd_y; /* x: the lane's first column in the plane */
  bool active, whole;

  template <class R> __device__ __forceinline__ void operator()(int32_t y, const R *rows)
  {
    if (!active)
      return;
    T *row = plane + (size_t)(y - odd_y) * stride;
    if (whole) {
      struct alignas(16) Four {
        T c[4];
      };
      *reinterpret_cast<Four *>(row + x) = {rows[0].c[0], rows[0].c[1], rows[0].c[2], rows[0].c[3]};
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (x + i >= 0 && x + i < width)
        row[x + i] = rows[0].c[i];
  }
};

template <bool REV, bool NARROW>
__global__ void __launch_bounds__(32 * kWarps, kResident)
    idwt_kernel(const Cj2kCudaLevel *levels, uint32_t count, uint32_t rows,
                const Cj2kCudaRows *__restrict__ ranges, const Cj2kCudaBandStep *steps)
{
  using T = typename Sample<REV>::Type;
  uint32_t lane = threadIdx.x, strip = blockIdx.y * kWarps + threadIdx.y;
  for (uint32_t i = blockIdx.z; i < count; i += gridDim.z) {
    /* A copy in registers: the compiler would reload from memory after each store. */
    const Cj2kCudaLevel level = levels[i];
    int32_t p = (int32_t)(blockIdx.x * kStripColumns + 4 * lane) - 4;
    if (blockIdx.x * kStripColumns >= level.width + level.odd_x)
      continue;
    int32_t x = p - level.odd_x;
    StorePlane<T> store = {static_cast<T *>(level.out.data),
                           level.out.stride,
                           x,
                           (int32_t)level.width,
                           level.odd_y,
                           lane > 0 && lane < 31,
                           level.odd_x == 0 && x + 4 <= (int32_t)level.width};
    const Span span = span_of(ranges, i, strip, rows);
    synthesise<REV, 1, NARROW>(&level, steps, p, span.row0, span.row1, store);
  }
}

} // namespace

cudaError_t cj2k_cuda_idwt(const Cj2kCudaLevel *levels, uint32_t count, Cj2kCudaKind kind,
                           const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                           cudaStream_t stream)
{
  if (count == 0 || strips->width == 0 || strips->height == 0)
    return cudaSuccess;
  uint32_t rows = strips->rows, number = (strips->height + 1 + rows - 1) / rows;
  dim3 grid((strips->width + 1 + kStripColumns - 1) / kStripColumns, (number + kWarps - 1) / kWarps,
            count < 65535 ? count : 65535);
  auto narrow = kind.reversible ? idwt_kernel<true, true> : idwt_kernel<false, true>,
       wide = kind.reversible ? idwt_kernel<true, false> : idwt_kernel<false, false>;
  (kind.narrow ? narrow : wide)<<<grid, dim3(32, kWarps), 0, stream>>>(levels, count, rows,
                                                                       strips->ranges, steps);
  return cudaGetLastError();
}
