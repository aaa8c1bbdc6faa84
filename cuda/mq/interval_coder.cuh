// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The first half of the MQ coder (T.800 C.2): A and the contexts, which depend on the symbols of a
 * block (symbols.h) only. The end of a pass is a symbol, too, so that there is one loop for all.
 */
#pragma once

#include "cuda/mq/instructions.cuh"
#include "deltas.cuh"
#include "passes.cuh"

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

/* Labels that a symbol may have, or what is read behind the last one. Those that are not contexts
 * code nothing. */
constexpr uint32_t kLabels = 32;

/* So many times 16 symbols of a block are in shared memory. */
constexpr uint32_t kSlots = 4;

/* Shared memory of a warp. The words that its lanes have for one context are next to each other. */
struct IntervalMemory {
  uint32_t contexts[kLabels * kWarp];
  uint4 symbols[kSlots][kWarp];
  uint2 states[kRows];

  /* By all of `threads` threads. */
  __device__ void load_states(uint32_t threads)
  {
    for (uint32_t i = threadIdx.x; i < kRows; i += threads)
      states[i] = d_states[i];
  }
};

/*
 * The symbols of a block, sixteen at a time, which are copied to shared memory 32 symbols before
 * they are needed. Compilers move what is loaded to a register soon after that, and so wait for it.
 */
struct SymbolQueue {
  static constexpr uint32_t kFours = 4; /* of a slot */
  static constexpr uint32_t kSlotBytes = kWarp * sizeof(uint4), kBytes = kSlots * kSlotBytes;
  const uint8_t *in; /* what is copied next */
  uint32_t slots;    /* the address of the lane's first slot */
  uint32_t place;    /* of the slot to which that is copied, in bytes from `slots` */
  uint4 words;       /* the next four symbols, and what follows in the slot */
  uint32_t behind;   /* the first four of the next slot */

  __device__ __forceinline__ void copy()
  {
    copy_chunk(slots + place, in, sizeof(uint4));
    in += sizeof(uint4);
    place = (place + kSlotBytes) % kBytes;
  }

  __device__ __forceinline__ void start(const uint8_t *symbols)
  {
    in = symbols;
    place = 0;
    for (uint32_t i = 0; i < kSlots - 1; i++) {
      copy();
      end_copies<kSlots>();
    }
    advance();
  }

  /* Goes on with the next slot, when kFours times four symbols were taken. */
  __device__ __forceinline__ void advance()
  {
    copy();
    end_copies<kSlots - 2>(); /* the next two slots are there */
    words = shared_four(slots + place);
    behind = shared_word(slots + (place + kSlotBytes) % kBytes);
  }

  /* Takes four symbols; words.x are the next four. */
  __device__ __forceinline__ uint32_t take()
  {
    uint32_t four = words.x;
    words = make_uint4(words.y, words.z, words.w, behind);
    return four;
  }
};

/* Is the last of four symbols the end of a pass? */
__device__ __forceinline__ bool ends_pass(uint32_t symbols)
{
  return symbols & (CJ2K_CUDA_MQ_END & ~CJ2K_CUDA_MQ_NOP) << 24;
}

/* A and the contexts of one block, in the registers of a thread. */
struct IntervalCoder {
  SymbolQueue queue;
  uint32_t states, contexts; /* addresses in shared memory, of the lane's contexts */
  uint32_t a;                /* in bits 31..16 */
  uint32_t place, context;   /* of the next symbol: address and word of its context */
  uint32_t pass, num_passes, style;

  __device__ __forceinline__ bool done() const
  {
    return pass == num_passes;
  }

  /* Until begin() there is nothing to do. */
  __device__ __forceinline__ void use(const IntervalMemory &memory, uint32_t lane)
  {
    states = shared_address(memory.states);
    contexts = shared_address(memory.contexts + lane);
    queue.slots = shared_address(&memory.symbols[0][lane]);
    pass = num_passes = 0;
  }

  /* The address of the context of symbol I of four. */
  template <uint32_t I> __device__ __forceinline__ uint32_t place_of(uint32_t symbols) const
  {
    constexpr uint32_t kShift = 7; /* from labels to offsets */
    static_assert(1u << kShift == 4 * kWarp, "contexts");
    uint32_t label = alone(symbols & CJ2K_CUDA_MQ_LABEL(~0u) << 8 * I);
    uint32_t offset = I == 0 ? label << kShift : label >> (8 * I - kShift);
    return alone(contexts + offset);
  }

  __device__ __forceinline__ void set_context(uint32_t label, uint32_t word)
  {
    set_shared_word(contexts + 4 * kWarp * label, word);
  }

  /* Initial states (T.800 table D.7). */
  __device__ void reset_contexts()
  {
    for (uint32_t i = 0; i < kLabels; i++)
      set_context(i, i < CJ2K_CX_COUNT ? WORD(0, 0) : 0);
    set_context(CJ2K_CX_ZERO, WORD(4, 0));
    set_context(CJ2K_CX_RUN, WORD(3, 0));
    set_context(CJ2K_CX_UNI, WORD(46, 0));
  }

  /* Goes on with the next segment that is not raw, if there is one. */
  __device__ void start_segment()
  {
    pass = skip_raw(pass, num_passes, style);
    a = kWholeInterval;
  }

  __device__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
  {
    const Cj2kCudaMqBlock block = frame.contexts.mq_blocks[b];
    style = frame.contexts.blocks[b].style;
    num_passes = block.num_passes;
    start_segment();
    reset_contexts();
    queue.start(frame.contexts.symbols + block.first_symbol);
    place = place_of<0>(queue.words.x);
    context = shared_word(place);
  }

  __device__ void end_pass()
  {
    bool ends = ends_segment(pass, num_passes, style);
    pass++;
    if (ends)
      start_segment();
    if (style & CJ2K_STYLE_RESET) {
      reset_contexts();
      context = shared_word(place);
    }
  }

  /* Codes symbol I of four and returns what it does to C. The next one has its context at `next`,
   * which is loaded before the context of this symbol is stored, so that it is there in time; if it
   * is the same context, it is what this symbol changed it to. */
  template <uint32_t I> __device__ __forceinline__ uint32_t step(uint32_t symbols, uint32_t next)
  {
    uint2 after = shared_pair(states + (context >> 16));
    uint32_t ahead = shared_word(next);
    uint32_t decision = I < 2 ? symbols << (14 - 8 * I) : symbols >> (8 * I - 14);
    Coded coded = encode_symbol(a, context, differing(context, decision, 1u << kRowShift), after);
    uint32_t shift = leading_zeros(coded.a);
    a = coded.a << shift;
    set_shared_word(place, coded.context);
    context = next == place ? coded.context : ahead;
    place = next;
    return coded.add + shift;
  }

  /* Codes four symbols; `following` are the next four. */
  __device__ __forceinline__ uint4 four_steps(uint32_t symbols, uint32_t following)
  {
    uint4 four;
    four.x = step<0>(symbols, place_of<1>(symbols));
    four.y = step<1>(symbols, place_of<2>(symbols));
    four.z = step<2>(symbols, place_of<3>(symbols));
    four.w = step<3>(symbols, place_of<0>(following));
    return four;
  }

  /* Writes the deltas of a chunk to shared memory. */
  __device__ void code_chunk(uint32_t to)
  {
    uint32_t end = to + kChunkBytes;
#pragma unroll 1
    while (to < end) {
#pragma unroll 1
      for (uint32_t i = 0; i < queue.kFours; i++) {
        uint32_t symbols = queue.take();
        uint4 deltas = four_steps(symbols, queue.words.x);
        to += kFourBytes;
        if (ends_pass(symbols)) {
          deltas.w = kPassEnd | a;
          end_pass();
        }
        set_shared_four(to - kFourBytes, deltas);
        if (done())
          return;
      }
      queue.advance();
    }
  }
};

} // namespace
