// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Preparation of a picture's samples for the DWT: unpacking from words, conversion to X'Y'Z', DC
 * level shift and component transform (T.800 annex G). The results are those of the CPU back end's
 * unpack.c, xyz.c and mct.c.
 */
#pragma once

#include "cuda/shared/encode_kernels.h"

#include <cstring>
#include <type_traits>

namespace {

/* The words of one component in a row. */
struct Words {
  uint8_t bytes;
  bool big_endian;
  bool aligned; /* each word can be read with one load */

  /* base: the address of a row. */
  __device__ void set(const Cj2kSampleLayout &layout, const uint8_t *base, uint32_t pitch)
  {
    bytes = layout.word_bytes;
    big_endian = layout.big_endian;
    uint32_t all = (uint32_t)(uintptr_t)base | pitch | layout.unit_bytes;
    for (uint32_t j = 0; j < layout.unit_samples; j++)
      all |= layout.at[j].offset;
    aligned = (all & (bytes - 1)) == 0;
  }

  /* The place of sample x in a row: byte offset of its word << 5 | its lowest bit in the word. */
  static __device__ uint32_t find(const Cj2kSampleLayout &layout, uint32_t x)
  {
    uint32_t unit = x / layout.unit_samples, j = x - unit * layout.unit_samples;
    return (unit * layout.unit_bytes + layout.at[j].offset) << 5 | layout.at[j].shift;
  }

  /* Reads a word without swapping its bytes. */
  __device__ __forceinline__ uint32_t load(const uint8_t *row, uint32_t where) const
  {
    const uint8_t *from = row + (where >> 5);
    if (aligned)
      return bytes == 1   ? *from
             : bytes == 2 ? *reinterpret_cast<const uint16_t *>(from)
                          : *reinterpret_cast<const uint32_t *>(from);
    uint32_t word = from[0] | (uint32_t)from[1] << 8;
    return bytes == 2 ? word : word | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
  }

  /* Swaps the bytes of a word if necessary and shifts the sample to the lowest bits. */
  __device__ __forceinline__ uint32_t shift(uint32_t word, uint32_t where) const
  {
    if (big_endian)
      word = __byte_perm(word, 0, bytes == 1 ? 0x4440 : bytes == 2 ? 0x4401 : 0x0123);
    return word >> (where & 31);
  }
};

/* Conversion of a word to a sample of the component's depth. */
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

/* Converts the samples of a lane's columns: X'Y'Z' and DC level shift. */
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

/* DC level shift of one unsigned sample of up to 16 bits that needs no other conversion. The bits
 * above the sample may have any value. */
template <typename T>
__device__ __forceinline__ T start_sample(uint32_t word, const Cj2kCudaInput &input)
{
  uint32_t value = word & ((1u << input.depth) - 1);
  if (std::is_same<T, int32_t>::value)
    return (T)((int32_t)value - input.offset);
  /* The value becomes the lowest bits of the float 2^23: exact, and faster than a conversion. */
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
