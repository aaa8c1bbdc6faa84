// SPDX-License-Identifier: LGPL-2.1-or-later
/* Shared by all block decoders: reading bytes, and converting samples to coefficients. */
#pragma once

#include "decode_kernels.h"

/* Reads four bytes at any address, little-endian. */
__device__ __forceinline__ uint32_t load_word(const uint8_t *p)
{
  const uint32_t *base =
      reinterpret_cast<const uint32_t *>(reinterpret_cast<uintptr_t>(p) & ~(uintptr_t)3);
  uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(p) & 3);
  return __funnelshift_r(__ldg(base), __ldg(base + 1), shift);
}

/* Reads eight bytes at any address, big-endian. */
__device__ __forceinline__ void load_bytes(const uint8_t *p, uint32_t &first, uint32_t &second)
{
  const uint32_t *base =
      reinterpret_cast<const uint32_t *>(reinterpret_cast<uintptr_t>(p) & ~(uintptr_t)3);
  uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(p) & 3);
  uint32_t a = base[0], b = base[1], c = base[2];
  first = __byte_perm(__funnelshift_r(a, b, shift), 0, 0x0123);
  second = __byte_perm(__funnelshift_r(b, c, shift), 0, 0x0123);
}

/* A code-block with the step of its band. */
struct Block : Cj2kCudaBlock {
  float scale;
  uint32_t num_bitplanes;
};

/* The number of block `index` in the frame. */
__device__ __forceinline__ uint32_t number_of(const Cj2kCudaDecodeBlocks &frame, uint32_t index)
{
  return frame.numbers ? frame.numbers[index] : index;
}

__device__ __forceinline__ Block load_block(const Cj2kCudaDecodeBlocks &frame, uint32_t index)
{
  Block block;
  static_cast<Cj2kCudaBlock &>(block) = frame.blocks[number_of(frame, index)];
  const Cj2kCudaBandStep step = frame.steps[block.band];
  block.scale = step.scale;
  block.num_bitplanes = step.num_bitplanes;
  return block;
}

/* Where a block's coefficients go to; T: uint32_t, or uint16_t if the block is narrow. */
template <class T>
__device__ __forceinline__ T *samples_of(const Cj2kCudaDecodeBlocks &frame, const Block &block)
{
  return static_cast<T *>(frame.coefficients) + block.offset;
}

/* Converts half units to a coefficient of 16 bits; halved: to a whole number. */
__device__ __forceinline__ uint16_t to_narrow(uint32_t magnitude, uint32_t negative, bool halved)
{
  magnitude >>= halved;
  return (uint16_t)(negative ? 0 - magnitude : magnitude);
}

/* Converts half units to a coefficient (docs/arithmetic.md: ROI, dequantisation). */
__device__ __forceinline__ uint32_t reconstruct(uint32_t magnitude, uint32_t negative,
                                                const Block &block)
{
  if (block.roi_shift && (block.roi_shift > 30 ? 0 : magnitude >> (block.roi_shift + 1)))
    magnitude >>= block.roi_shift;
  if (block.reversible) {
    int32_t value = (int32_t)(magnitude >> 1);
    return (uint32_t)(negative ? -value : value);
  }
  return __float_as_uint(__fmul_rn(__uint2float_rn(magnitude), block.scale)) | negative << 31;
}

/* The same for a coefficient that is stored at *to. */
__device__ __forceinline__ void store_coefficient(uint32_t *to, uint32_t magnitude,
                                                  uint32_t negative, const Block &block)
{
  *to = reconstruct(magnitude, negative, block);
}
__device__ __forceinline__ void store_coefficient(uint16_t *to, uint32_t magnitude,
                                                  uint32_t negative, const Block &block)
{
  *to = to_narrow(magnitude, negative, block.reversible);
}
