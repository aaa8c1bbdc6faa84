/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code-blocks from an input. Its bytes: style, orientation, width, height, bit-planes, missing
 * bit-planes, passes, number of segments, then length (2 bytes) and passes of each segment; the
 * rest are the block's data. make-seeds.c writes the same.
 */
#ifndef TESTS_FUZZ_BLOCK_INPUT_H
#define TESTS_FUZZ_BLOCK_INPUT_H

#include "common/cpu/blockcoder.h"
#include "fuzz.h"

#define FUZZ_BLOCK_SEGMENTS 12
#define FUZZ_BLOCK_SAMPLES  4096

typedef struct {
  Cj2kBlockInput in;
  Cj2kSegment segments[FUZZ_BLOCK_SEGMENTS];
  uint32_t narrow[FUZZ_BLOCK_SAMPLES];
  uint64_t wide[FUZZ_BLOCK_SAMPLES];
} FuzzBlock;

/* Most blocks are small, for speed; one width in eight is up to 1024. */
static inline void fuzz_block_size(FuzzInput *input, Cj2kBlockInput *in)
{
  uint32_t width = (uint32_t)fuzz_take(input, 1), height = (uint32_t)fuzz_take(input, 1);
  in->width = (uint16_t)(width < 224 ? 1 + width % 32 : (width - 223) * 32);
  in->height = (uint16_t)(1 + height % MIN(64, FUZZ_BLOCK_SAMPLES / in->width));
}

/* `block->in.data` is a copy: g_free. */
static inline void fuzz_block_read(FuzzBlock *block, const uint8_t *data, size_t size)
{
  FuzzInput input = fuzz_input(data, size);
  Cj2kBlockInput *in = &block->in;

  in->style = (uint8_t)fuzz_take(&input, 1);
  in->orientation = (uint8_t)fuzz_range(&input, 0, 3);
  fuzz_block_size(&input, in);
  in->num_bitplanes = (uint8_t)fuzz_take(&input, 1);
  in->zero_bitplanes = (uint8_t)fuzz_take(&input, 1);
  in->num_passes = (uint8_t)fuzz_range(&input, 0, CJ2K_MAX_PASSES);
  in->num_segments = (uint16_t)fuzz_range(&input, 0, FUZZ_BLOCK_SEGMENTS);
  for (uint32_t i = 0; i < in->num_segments; i++) {
    block->segments[i].length = (uint32_t)fuzz_take(&input, 2);
    block->segments[i].passes = (uint32_t)fuzz_take(&input, 1);
    if (block->segments[i].length == 0xffff) /* hostile, and common for "the rest" in seeds */
      block->segments[i].length = CJ2K_SEGMENT_MAX_LENGTH;
  }
  in->segments = block->segments;
  in->length = (uint32_t)fuzz_left(&input);
  in->data = fuzz_copy(input.at, in->length);
}

/* Samples of 32 bits and of 64 bits are decoded by different code: they must be the same. A damaged
 * block may have a magnitude of 2 to the power of num_bitplanes, which with 30 bit-planes and the
 * half below the last one takes the place of the sign in 32 bits. No intact block has it. */
static inline void fuzz_block_compare(const FuzzBlock *block)
{
  for (uint32_t i = 0; i < (uint32_t)block->in.width * block->in.height; i++) {
    uint64_t wide = block->wide[i];
    FUZZ_CHECK((wide >> 32 & 0x7fffffff) == 0 &&
                   block->narrow[i] == ((uint32_t)wide | (uint32_t)(wide >> 63) << 31),
               "sample %u: %08x and %016" G_GINT64_MODIFIER "x", i, block->narrow[i], wide);
  }
}

#endif
