// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Coding of the symbols of a block (symbols.h) to bytes, one after the other in the same loop
 * whatever they are; the end of a pass is a symbol, too. Of the coder A and the contexts depend on
 * symbols only; C and the bytes follow from what each symbol does to C. One thread has both, or two
 * threads of different warps have one each (coder_pair.cuh).
 */
#pragma once

#include "encoder.cuh"
#include "tasks.cuh"

namespace {

/*
 * A context is a word. The lower half is Qe; the upper half is the byte offset of a row of
 * d_states, in which bit 19 of the word is the MPS. The row has the words of the context after an
 * MPS and after an LPS that renormalise.
 */
#define QE(state, qe, nmps, nlps, change) QE_##state = qe,
enum { CJ2K_MQ_STATES(QE) };
#define WORD(state, mps) (QE_##state | (uint32_t)(2 * (state) + (mps)) << kRowShift)
#define NEXT(state, qe, nmps, nlps, change)                                                        \
  {WORD(nmps, 0), WORD(nlps, (change))}, {WORD(nmps, 1), WORD(nlps, 1 - (change))},

constexpr uint32_t kRowShift = 19, kRows = 2 * CJ2K_MQ_NUM_STATES;
__device__ const uint2 d_states[kRows] = {CJ2K_MQ_STATES(NEXT)};

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

/* Labels that a symbol may have, or what is read behind the last one. Those that are not contexts
 * code nothing. */
constexpr uint32_t kLabels = 32;

/* Shared memory of a warp. The words that its lanes have for one context are next to each other. */
template <uint32_t LANES> struct CoderMemory {
  uint2 states[kRows];
  uint32_t contexts[kLabels * LANES];

  /* By all of `threads` threads. */
  __device__ void load_states(uint32_t threads)
  {
    for (uint32_t i = threadIdx.x; i < kRows; i += threads)
      states[i] = d_states[i];
  }
};

/* The coder of one block, in the registers of a thread. */
template <uint32_t LANES> struct BlockCoder {
  CoderMemory<LANES> *memory;
  uint32_t lane;
  MqEncoder mq;
  MqEncoder::Delta deltas[4]; /* what the last four symbols do to C: not applied yet */
  ByteRoom room;
  uint4 *mark;
  uint32_t pass, num_passes, style;
  uint32_t start;          /* of the segment, in bytes from the block's room */
  uint32_t place, context; /* of the next symbol: offset and word of its context */
  bool done;
  bool failed; /* the block is longer than its room */

  /* The context at an offset in bytes. */
  __device__ __forceinline__ uint32_t &at(uint32_t bytes)
  {
    return *reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(memory->contexts) + bytes);
  }

  /* The offset of the context of symbol I of four. */
  template <uint32_t I> __device__ __forceinline__ uint32_t place_of(uint32_t symbols) const
  {
    constexpr uint32_t kStep = 4 * LANES;
    uint32_t scaled = I ? symbols >> (8 * I) : symbols;
    return (scaled * kStep & CJ2K_CUDA_MQ_LABEL(~0u) * kStep) | 4 * lane;
  }

  /* Loads the context of the first of four symbols, which is the next one. */
  __device__ __forceinline__ void find_context(uint32_t symbols)
  {
    place = place_of<0>(symbols);
    context = at(place);
  }

  /* Initial states (T.800 table D.7). */
  __device__ void reset_contexts()
  {
    uint32_t *contexts = memory->contexts + lane;
    for (uint32_t i = 0; i < kLabels; i++)
      contexts[i * LANES] = i < CJ2K_CX_COUNT ? WORD(0, 0) : 0;
    contexts[CJ2K_CX_ZERO * LANES] = WORD(4, 0);
    contexts[CJ2K_CX_RUN * LANES] = WORD(3, 0);
    contexts[CJ2K_CX_UNI * LANES] = WORD(46, 0);
  }

  /* Goes on with the next segment that is not raw, if there is one. */
  __device__ void start_segment()
  {
    for (; pass < num_passes && cj2k_pass_is_raw(pass, (uint8_t)style); pass++)
      mark++;
    done = pass == num_passes;
    if (!done)
      start = mq.start(room);
  }

  /* Finds room for the block, and begins it but for its contexts and the first segment. */
  __device__ __forceinline__ void prepare(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    const Cj2kCudaMqBlock block = frame.contexts.mq_blocks[b];
    style = frame.contexts.blocks[b].style;
    num_passes = block.num_passes;
    mark = reinterpret_cast<uint4 *>(frame.marks +
                                     (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.contexts.max_planes));
    uint64_t size = coded_room(block, style, frame.symbol_room);
    uint64_t both =
        size + CJ2K_CUDA_MQ_RAW_ROOM(block.raw_end - block.raw_begin, raw_segments(block, style));
    uint64_t offset = atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->room),
                                (unsigned long long)both);
    frame.rooms[b] = offset;
    room.start(reinterpret_cast<uint32_t *>(frame.room + offset),
               reinterpret_cast<uint32_t *>(frame.room + offset + size));
    pass = 0;
    failed = false;
    mq = {0, 0, 0, 0};
    forget_deltas();
  }

  __device__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    prepare(frame, b);
    reset_contexts();
    start_segment();
  }

  /* Ends the segment and adds to the mark of its last pass how many bytes follow the mark's place.
   */
  __device__ void end_segment(uint4 &value)
  {
    bool drop = false;
    if (style & CJ2K_STYLE_PTERM)
      drop = mq.terminate_predictably(room);
    else
      mq.flush(room);
    value.z |= (uint32_t)(room.position(start) - drop) - value.y;
    room.end_segment();
    failed = room.next > room.end;
  }

  /* Notes the end of a pass, but for the contexts. Returns whether contexts may be reset. */
  __device__ __forceinline__ bool leave_pass()
  {
    constexpr uint32_t kRare = CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL | CJ2K_STYLE_RESET;
    Cj2kCudaMqMark m = mq.mark(room, start);
    uint4 value = make_uint4(m.start, (uint32_t)m.at, m.state, m.c);
    /* Most passes end neither a segment nor the block: one test for all that is rare. */
    bool rare = pass + 1 == num_passes || style & kRare, ends = false;
    if (rare && (ends = ends_segment(pass, num_passes, style)))
      end_segment(value);
    *mark++ = value;
    pass++;
    if (ends)
      start_segment();
    return rare;
  }

  __device__ __forceinline__ void end_pass()
  {
    if (leave_pass() && style & CJ2K_STYLE_RESET) {
      reset_contexts();
      context = at(place);
    }
  }

  __device__ __forceinline__ void forget_deltas()
  {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
      deltas[i] = {0, 0};
  }

  /* Codes symbol I of four; without BYTES only deltas[I] is set. The next one has its context at
   * `next`, which is loaded before the context of this symbol is stored, so that it is there in
   * time; if it is the same context, it is what this symbol changed it to. */
  template <uint32_t I, bool BYTES>
  __device__ __forceinline__ void step(uint32_t symbols, uint32_t next)
  {
    uint2 after = *reinterpret_cast<const uint2 *>(reinterpret_cast<const char *>(memory->states) +
                                                   (context >> 16));
    uint32_t ahead = at(next);
    uint32_t decision = I < 2 ? symbols << (14 - 8 * I) : symbols >> (8 * I - 14);
    uint32_t lps = (context ^ decision) & 1u << kRowShift;
    bool renormalised;
    if (BYTES)
      mq.apply_near(deltas[I], room);
    deltas[I] = mq.encode(context & 0xFFFF, lps, renormalised);
    uint32_t changed = lps ? after.y : after.x;
    changed = renormalised ? changed : context;
    at(place) = changed;
    context = next == place ? changed : ahead;
    place = next;
  }

  /* Applies the deltas of the last four symbols to C. */
  __device__ void catch_up()
  {
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++) {
      mq.apply(deltas[0], room);
      deltas[0] = deltas[1];
      deltas[1] = deltas[2];
      deltas[2] = deltas[3];
    }
    forget_deltas();
  }

  /* Codes four symbols and applies the deltas of the four before them to C: two chains of steps
   * that do not wait for each other. `following` are the next four. */
  __device__ __forceinline__ void steps(uint32_t symbols, uint32_t following)
  {
    uint32_t end = symbols >> 30 & 1;
    step<0, true>(symbols, place_of<1>(symbols));
    step<1, true>(symbols, place_of<2>(symbols));
    step<2, true>(symbols, place_of<3>(symbols));
    step<3, true>(symbols, place_of<0>(following));
    room.flush();
    uint32_t shifts = deltas[0].shift | deltas[1].shift | deltas[2].shift | deltas[3].shift;
    if ((shifts & MqEncoder::kFar) | end) {
      catch_up();
      if (end)
        end_pass();
    }
  }

  /* Codes all symbols, which are loaded so early that nothing has to wait for them. */
  __device__ void code(const uint8_t *symbols)
  {
    const uint4 *in = reinterpret_cast<const uint4 *>(symbols);
    uint4 words = in[0], next = in[1], after = in[2], later = in[3];
    in += 4;
    find_context(words.x);
    while (!done) {
#pragma unroll 1
      for (uint32_t i = 0; i < 4 && !done; i++) {
        uint32_t four = words.x;
        words = make_uint4(words.y, words.z, words.w, next.x);
        next = make_uint4(next.y, next.z, next.w, 0);
        steps(four, words.x);
      }
      next = after;
      after = later;
      later = *in++;
    }
  }
};

} // namespace
