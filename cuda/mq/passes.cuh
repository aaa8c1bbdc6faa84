// SPDX-License-Identifier: LGPL-2.1-or-later
/* Passes and segments of a code-block. */
#pragma once

#include "encode_kernels.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

namespace {

constexpr uint32_t kWholeInterval = 0x80000000u; /* A at the begin of a segment */

/* The number of segments that a block may have in all, and of those of them that are raw. */
__device__ uint32_t most_segments(const Cj2kCudaMqBlock &block, uint32_t style)
{
  return style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL) ? block.num_passes : 1;
}

__device__ uint32_t raw_segments(const Cj2kCudaMqBlock &block, uint32_t style)
{
  return style & CJ2K_STYLE_BYPASS ? block.num_passes : 0;
}

/* The room for segments that are not raw. */
__device__ uint64_t coded_room(const Cj2kCudaMqBlock &block, uint32_t style, uint32_t symbol_room)
{
  return CJ2K_CUDA_MQ_ROOM(block.num_symbols, symbol_room, most_segments(block, style));
}

/* Does a segment of a block of so many passes end with this one? */
__device__ __forceinline__ bool ends_segment(uint32_t pass, uint32_t num_passes, uint32_t style)
{
  return pass + 1 == num_passes || cj2k_pass_ends_segment(pass, (uint8_t)style);
}

/* The first pass from `pass` on that is not raw, or the number of passes. */
__device__ __forceinline__ uint32_t skip_raw(uint32_t pass, uint32_t num_passes, uint32_t style)
{
  while (pass < num_passes && cj2k_pass_is_raw(pass, (uint8_t)style))
    pass++;
  return pass;
}

} // namespace
