// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the first of two warps that code the same blocks tells the second one (encode.cu), in shared
 * memory: words that say what symbols do to C. First bits 31..16 are added, then C is shifted by
 * what is in bits 4..0, up to 15 (RENORME, T.800 C.2.6). The last one of four symbols may be the
 * end of a pass, which codes nothing: its word has the bit kPassEnd, and A in the upper half.
 */
#pragma once

#include "cuda/shared/warp.cuh"

namespace {

constexpr uint32_t kPassEnd = 1u << 15;

constexpr uint32_t kChunk = 16; /* so many times four symbols between two barriers */
struct DeltaMemory {
  uint4 chunks[2][kChunk][kWarp]; /* one is written while the other is read */
};

/* From four symbols of a block to the next four, and to the other chunk. */
constexpr uint32_t kFourBytes = kWarp * sizeof(uint4), kChunkBytes = kChunk * kFourBytes;

} // namespace
