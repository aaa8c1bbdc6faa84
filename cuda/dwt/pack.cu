// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Packing of planes whose words hold several samples (v210, r210, UYVP) or bits that belong to no
 * component. A thread packs a whole unit from samples that already have the layout's depth.
 */
#include "cuda/shared/decode_kernels.h"

namespace {

constexpr uint32_t kMaxUnit = 64;

/* v210: the twelve samples of a unit in four words of three samples each. */
__device__ void pack_v210(const Cj2kCudaPack &pack, const Cj2kCudaOutput &plane, uint32_t unit,
                          uint32_t y)
{
  uint32_t s[3][6]; /* by component; of chroma three are used */
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t n = pack.layout[k].unit_samples, x = unit * n;
    const uint16_t *row =
        reinterpret_cast<const uint16_t *>(pack.source[k].data + (size_t)y * pack.source[k].pitch);
#pragma unroll
    for (uint32_t j = 0; j < 6; j++)
      s[k][j] = j < n && x + j < pack.width[k] ? row[x + j] : 0;
  }
  uint4 words = {s[1][0] | s[0][0] << 10 | s[2][0] << 20, s[0][1] | s[1][1] << 10 | s[0][2] << 20,
                 s[2][1] | s[0][3] << 10 | s[1][2] << 20, s[0][4] | s[2][2] << 10 | s[0][5] << 20};
  uint8_t *at = plane.data + (size_t)y * plane.pitch + (size_t)unit * 16;
  *reinterpret_cast<uint4 *>(at) = words;
}

/* Packs any unit, byte by byte. */
__device__ void pack_any(const Cj2kCudaPack &pack, const Cj2kCudaOutput &plane, size_t row_bytes,
                         uint32_t unit, uint32_t y)
{
  uint8_t bytes[kMaxUnit];
  for (uint32_t i = 0; i < pack.unit_bytes; i++)
    bytes[i] = pack.fill[i];
  for (uint32_t k = 0; k < pack.count; k++) {
    const Cj2kSampleLayout &layout = pack.layout[k];
    if (y >= pack.height[k])
      continue;
    const uint16_t *row =
        reinterpret_cast<const uint16_t *>(pack.source[k].data + (size_t)y * pack.source[k].pitch);
    for (uint32_t j = 0; j < layout.unit_samples; j++) {
      uint32_t x = unit * layout.unit_samples + j;
      if (x >= pack.width[k])
        break;
      uint32_t word = (uint32_t)row[x] << layout.at[j].shift;
      for (uint32_t i = 0; i < layout.word_bytes; i++)
        bytes[layout.at[j].offset + i] |=
            word >> 8 * (layout.big_endian ? layout.word_bytes - 1 - i : i);
    }
  }
  size_t first = (size_t)unit * pack.unit_bytes;
  uint8_t *at = plane.data + (size_t)y * plane.pitch + first;
  for (uint32_t i = 0; i < pack.unit_bytes && first + i < row_bytes; i++)
    at[i] = bytes[i];
}

template <bool V210>
__global__ void __launch_bounds__(128)
    pack_kernel(const __grid_constant__ Cj2kCudaPack pack, Cj2kCudaOutput plane, size_t row_bytes)
{
  uint32_t unit = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t y = pack.first_row + blockIdx.y; unit < pack.units && y < pack.rows;
       y += gridDim.y) {
    if (V210)
      pack_v210(pack, plane, unit, y);
    else
      pack_any(pack, plane, row_bytes, unit, y);
  }
}

bool is_v210(const Cj2kCudaPack &pack, const Cj2kCudaOutput &plane)
{
  static const uint8_t first[3][2] = {{0, 10}, {0, 0}, {0, 20}};
  static const uint8_t count[3] = {6, 3, 3};
  if (pack.count != 3 || pack.unit_bytes != 16)
    return false;
  for (int k = 0; k < 3; k++) {
    const Cj2kSampleLayout &layout = pack.layout[k];
    if (layout.unit_samples != count[k] || layout.word_bytes != 4 || layout.big_endian ||
        layout.depth != 10 || layout.at[0].offset != first[k][0] ||
        layout.at[0].shift != first[k][1] || pack.height[k] < pack.rows)
      return false;
  }
  return ((reinterpret_cast<uintptr_t>(plane.data) | plane.pitch) & 15) == 0;
}

} // namespace

cudaError_t cj2k_cuda_pack(const Cj2kCudaPack *pack, const Cj2kCudaOutput *plane, size_t row_bytes,
                           cudaStream_t stream)
{
  if (!pack->units || pack->first_row >= pack->rows)
    return cudaSuccess;
  uint32_t rows = pack->rows - pack->first_row;
  dim3 grid((pack->units + 127) / 128, rows < 65535 ? rows : 65535);
  if (is_v210(*pack, *plane) && (size_t)pack->units * pack->unit_bytes <= row_bytes)
    pack_kernel<true><<<grid, 128, 0, stream>>>(*pack, *plane, row_bytes);
  else
    pack_kernel<false><<<grid, 128, 0, stream>>>(*pack, *plane, row_bytes);
  return cudaGetLastError();
}
