// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Two warps that code the same blocks. The first one has A and the contexts, and writes to shared
 * memory what each symbol does to C; the second one has C and the bytes, and is behind by one chunk
 * of symbols. A warp that has a scheduler of the GPU for itself issues an instruction in about
 * three cycles, because each waits for the one before: two warps with half the instructions take
 * little more than half the time.
 */
#pragma once

#include "block_coder.cuh"

#include "cuda/shared/warp.cuh"

namespace {

constexpr uint32_t kChunk = 16; /* groups of four symbols between two barriers */

/*
 * What four symbols do to C: a word each, with what is added in the lower half and the shift above.
 * The last one of a pass codes nothing: its word has kPassEnd, and the upper half of A below.
 */
constexpr uint32_t kDeltaShift = 16, kPassEnd = 1u << 31;

struct PairMemory {
  CoderMemory<kWarp> coder;
  uint4 deltas[2][kChunk][kWarp]; /* of one chunk while the other is written */
};

__device__ __forceinline__ uint32_t pack_delta(const MqEncoder::Delta &delta)
{
  return delta.add + (delta.shift << kDeltaShift);
}

__device__ __forceinline__ MqEncoder::Delta unpack_delta(uint32_t word)
{
  return {word & 0xFFFF, word >> kDeltaShift};
}

/* The symbols of a block, which are loaded so early that nothing has to wait for them.
 * BlockCoder::code() does the same without this struct, with which the compiler orders the
 * instructions of its loop otherwise; a state that had it there was 17 % slower. */
struct SymbolQueue {
  const uint4 *in;
  uint4 words, next, after, later;

  __device__ __forceinline__ void start(const uint8_t *symbols)
  {
    in = reinterpret_cast<const uint4 *>(symbols);
    words = in[0], next = in[1], after = in[2], later = in[3];
    in += 4;
  }

  /* Takes four symbols; words.x are the next four. */
  __device__ __forceinline__ uint32_t take()
  {
    uint32_t four = words.x;
    words = make_uint4(words.y, words.z, words.w, next.x);
    next = make_uint4(next.y, next.z, next.w, 0);
    return four;
  }

  /* Goes on after sixteen symbols. */
  __device__ __forceinline__ void advance()
  {
    next = after;
    after = later;
    later = *in++;
  }
};

/* A and the contexts of one block. */
struct IntervalCoder : BlockCoder<kWarp> {
  SymbolQueue queue;

  __device__ void skip_raw()
  {
    while (pass < num_passes && cj2k_pass_is_raw(pass, (uint8_t)style))
      pass++;
    done = pass == num_passes;
    mq.a = MqEncoder::kWholeInterval;
  }

  __device__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    const Cj2kCudaMqBlock block = frame.contexts.mq_blocks[b];
    style = frame.contexts.blocks[b].style;
    num_passes = block.num_passes;
    pass = 0;
    skip_raw();
    reset_contexts();
    queue.start(frame.contexts.symbols + block.first_symbol);
    find_context(queue.words.x);
  }

  __device__ void end_pass()
  {
    bool ends = ends_segment(pass, num_passes, style);
    pass++;
    if (ends)
      skip_raw();
    if (style & CJ2K_STYLE_RESET) {
      reset_contexts();
      context = at(place);
    }
  }

  template <uint32_t I>
  __device__ __forceinline__ uint32_t code_symbol(uint32_t symbols, uint32_t next)
  {
    step<I, false>(symbols, next);
    return pack_delta(deltas[I]);
  }

  __device__ __forceinline__ uint4 code_four()
  {
    uint32_t symbols = queue.take();
    uint4 words;
    words.x = code_symbol<0>(symbols, place_of<1>(symbols));
    words.y = code_symbol<1>(symbols, place_of<2>(symbols));
    words.z = code_symbol<2>(symbols, place_of<3>(symbols));
    words.w = code_symbol<3>(symbols, place_of<0>(queue.words.x));
    if (symbols >> 30 & 1) {
      words.w = kPassEnd | mq.a >> 16;
      end_pass();
    }
    return words;
  }

  __device__ void code_chunk(uint4 (*chunk)[kWarp])
  {
#pragma unroll 1
    for (uint32_t i = 0; i < kChunk && !done; i += 4) {
#pragma unroll 1
      for (uint32_t k = 0; k < 4 && !done; k++)
        chunk[i + k][lane] = code_four();
      queue.advance();
    }
  }
};

/* C and the bytes of one block. */
struct ByteCoder : BlockCoder<kWarp> {
  __device__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    prepare(frame, b);
    start_segment();
  }

  __device__ __forceinline__ void apply_four(uint4 words)
  {
    uint32_t last = words.w, end = last & kPassEnd;
    if (end)
      words.w = 0;
    if ((words.x | words.y | words.z | words.w) & MqEncoder::kFar << kDeltaShift) {
      mq.apply(unpack_delta(words.x), room);
      mq.apply(unpack_delta(words.y), room);
      mq.apply(unpack_delta(words.z), room);
      mq.apply(unpack_delta(words.w), room);
    } else {
      mq.apply_near(unpack_delta(words.x), room);
      mq.apply_near(unpack_delta(words.y), room);
      mq.apply_near(unpack_delta(words.z), room);
      mq.apply_near(unpack_delta(words.w), room);
    }
    room.flush();
    if (end) {
      mq.a = last << 16;
      (void)leave_pass();
    }
  }

  __device__ void apply_chunk(const uint4 (*chunk)[kWarp])
  {
    uint4 next = chunk[0][lane];
#pragma unroll 1
    for (uint32_t i = 0; i < kChunk && !done; i++) {
      uint4 words = next;
      next = chunk[i + 1 < kChunk ? i + 1 : i][lane];
      apply_four(words);
    }
  }
};

} // namespace
