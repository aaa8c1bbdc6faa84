// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Samples of a picture on their way into the DWT: out of their words, through the conversion to
 * X'Y'Z', the DC level shift and the component transform (T.800 annex G), as unpack.c, xyz.c and
 * mct.c of the CPU back end do it.
 */
#pragma once

#include "encode_kernels.h"

#include <cstring>
#include <type_traits>

namespace {

/* The word of sample x of a row, with the sample at its lowest bits. */
__device__ __forceinline__ uint32_t load_word(const Cj2kCudaInput &input, const uint8_t *row,
                                              uint32_t x)
{
  const Cj2kSampleLayout &layout = input.layout;
  uint32_t unit = (input.x + x) / layout.unit_samples,
           j = (input.x + x) - unit * layout.unit_samples;
  const uint8_t *from = row + (uint64_t)unit * layout.unit_bytes + layout.at[j].offset;
  uint32_t word = from[0]; /* byte by byte: words of some layouts are not aligned */
  if (layout.word_bytes > 1)
    word = layout.big_endian ? word << 8 | from[1] : word | (uint32_t)from[1] << 8;
  if (layout.word_bytes > 2)
    word = layout.big_endian ? word << 16 | (uint32_t)from[2] << 8 | from[3]
                             : word | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
  return word >> layout.at[j].shift;
}

/* How a word becomes a sample of the component's depth. */
struct SampleFormat {
  uint8_t top, down, up; /* shifts */
  bool is_signed;

  __device__ void set(const Cj2kCudaInput &input)
  {
    uint32_t depth = input.layout.depth;
    top = (uint8_t)(32 - depth);
    down = (uint8_t)(depth > input.depth ? depth - input.depth : 0);
    up = (uint8_t)(input.depth > depth ? input.depth - depth : 0);
    is_signed = input.layout.is_signed;
  }

  __device__ int32_t sample(uint32_t word) const
  {
    if (is_signed)
      return (int32_t)((uint32_t)((int32_t)(word << top) >> top >> down) << up);
    return (int32_t)(word << top >> top >> down << up);
  }
};

__device__ __forceinline__ int32_t xyz_code(const Cj2kXyzTables *tables, float x)
{
  x = x < 1.0f ? x : 1.0f;
  uint32_t bin = (uint32_t)__fmul_rn(__fsqrt_rn(__fsqrt_rn(x)), (float)CJ2K_XYZ_BINS);
  uint32_t code = tables->base[bin];
  return (int32_t)(code + (x >= tables->threshold[code + 1]));
}

__device__ __forceinline__ float weighted(const float *m, float a, float b, float c)
{
  return __fadd_rn(__fadd_rn(__fmul_rn(m[0], a), __fmul_rn(m[1], b)), __fmul_rn(m[2], c));
}

__device__ inline void rgb_to_xyz(const Cj2kXyzTables *tables, int32_t &r, int32_t &g, int32_t &b)
{
  uint32_t mask = (1u << tables->depth) - 1;
  float lr = tables->linear[(uint32_t)r & mask], lg = tables->linear[(uint32_t)g & mask],
        lb = tables->linear[(uint32_t)b & mask];
  r = xyz_code(tables, weighted(tables->matrix, lr, lg, lb));
  g = xyz_code(tables, weighted(tables->matrix + 3, lr, lg, lb));
  b = xyz_code(tables, weighted(tables->matrix + 6, lr, lg, lb));
}

/* RCT and ICT (T.800 G.2.1, G.3.1) of one pixel. */
__device__ __forceinline__ void forward_mct(int32_t &a, int32_t &b, int32_t &c)
{
  uint32_t red = (uint32_t)a, green = (uint32_t)b, blue = (uint32_t)c;
  a = (int32_t)(red + 2 * green + blue) >> 2;
  b = (int32_t)(blue - green);
  c = (int32_t)(red - green);
}

__device__ __forceinline__ void forward_mct(float &a, float &b, float &c)
{
  float red = a, green = b, blue = c;
  a = __fadd_rn(__fadd_rn(__fmul_rn(0.299f, red), __fmul_rn(0.587f, green)),
                __fmul_rn(0.114f, blue));
  b = __fadd_rn(__fsub_rn(__fmul_rn(-0.168736f, red), __fmul_rn(0.331264f, green)),
                __fmul_rn(0.5f, blue));
  c = __fsub_rn(__fsub_rn(__fmul_rn(0.5f, red), __fmul_rn(0.418688f, green)),
                __fmul_rn(0.081312f, blue));
}

/* Samples of a lane's columns, up to the component transform. */
template <typename T, uint32_t kComponents>
__device__ __forceinline__ void start_samples(const Cj2kCudaTop &top, const Cj2kXyzTables *xyz,
                                              int32_t samples[kComponents][4],
                                              T out[kComponents][4])
{
  if (kComponents == 3 && xyz)
#pragma unroll
    for (int i = 0; i < 4; i++)
      rgb_to_xyz(xyz, samples[0][i], samples[kComponents / 2][i], samples[kComponents - 1][i]);
#pragma unroll
  for (uint32_t c = 0; c < kComponents; c++) {
    int32_t offset = top.input[c].offset;
#pragma unroll
    for (int i = 0; i < 4; i++)
      out[c][i] = (T)(int32_t)((uint32_t)samples[c][i] - (uint32_t)offset);
  }
}

/* The same for one unsigned sample of up to 16 bits that needs no shift; bits above it are
 * anything. */
template <typename T>
__device__ __forceinline__ T start_sample(uint32_t word, const Cj2kCudaInput &input)
{
  uint32_t value = word & ((1u << input.depth) - 1);
  if (std::is_same<T, int32_t>::value)
    return (T)((int32_t)value - input.offset);
  /* As the lowest bits of 2^23: exact, and quicker than a conversion. */
  return (T)__fsub_rn(__uint_as_float(value | 0x4B000000u), (float)(0x800000 + input.offset));
}

template <typename T, uint32_t kComponents>
__device__ __forceinline__ void transform_samples(const Cj2kCudaTop &top, T out[kComponents][4])
{
  if (kComponents == 3 && top.mct)
#pragma unroll
    for (int i = 0; i < 4; i++)
      forward_mct(out[0][i], out[kComponents / 2][i], out[kComponents - 1][i]);
}

} // namespace
