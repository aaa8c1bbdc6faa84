// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The symbols of one visit of an octet (octet.cuh): the samples that a pass codes there, in order,
 * up to the next one that becomes significant. Signs are left to decode_block.cuh.
 */
#pragma once

#include "decode_memory.cuh"

namespace {

/* Symbols that a lane decodes in a round before the other steps of the round get their turn. */
constexpr uint32_t kSymbols = 4;

/* The samples in rows 1 to 3 of columns are those in row 0 times this. */
constexpr uint32_t kRestOfColumn = 14;

template <uint32_t LANES> struct SymbolDecoder {
  static constexpr uint32_t kWord = OctetMemory<LANES, false>::kWord;

  uint32_t contexts, tables; /* addresses in shared memory */
  MqDecoder mq;

  uint32_t labels; /* address of the pass's table of labels */

  Surroundings around; /* significance in and around the octet */

  /* The samples that are still to be coded, without those in rows 1 to 3 of columns in `runs`. At
   * most one of these three is not zero. */
  uint32_t waiting; /* nothing has been looked up */
  uint32_t ready;   /* the labels of the first two samples have been looked up (below) */
  uint32_t found;   /* the first sample is a 1 and becomes significant: its sign comes next */

  uint32_t runs; /* samples in row 0 that begin with a run-length symbol */
  uint32_t ones; /* samples decoded as 1 */

  /* While `ready`: looking up a label takes longer than decoding a symbol, so it is done ahead.
   * What is looked up is right as long as no sample becomes significant. */
  uint32_t after1, after2; /* `ready` without its first sample, without its first two */
  uint32_t context, state; /* of the next symbol: address and word of its context */
  uint32_t next_label;     /* of the symbol after that one */

  uint32_t stop_mask; /* all bits if a 1 makes a sample significant; zero in refinement passes */

  /* Initial states (T.800 table D.7). */
  __device__ __forceinline__ void reset_contexts()
  {
    for (uint32_t i = 0; i < CJ2K_CX_COUNT; i++)
      set_shared_word(contexts + i * kWord, MQ_WORD(0, 0));
    set_shared_word(contexts + CJ2K_CX_ZERO * kWord, MQ_WORD(4, 0));
    set_shared_word(contexts + CJ2K_CX_RUN * kWord, MQ_WORD(3, 0));
    set_shared_word(contexts + kRawLabel * kWord, MQ_RAW);
  }

  static __device__ __forceinline__ uint32_t without_first(uint32_t samples)
  {
    return samples & (samples - 1);
  }

  /* The label of the first sample of `samples`; `rest` is `samples` without it. */
  __device__ __forceinline__ uint32_t label_of_first(uint32_t samples, uint32_t rest) const
  {
    uint32_t at = (uint32_t)__popc(~samples & (samples - 1));
    uint32_t label = shared_byte(labels + around.window(at));
    return runs & samples & ~rest ? (uint32_t)CJ2K_CX_RUN : label;
  }

  /* Makes the waiting samples ready. */
  __device__ __forceinline__ void look_up()
  {
    ready = waiting;
    waiting = 0;
    after1 = without_first(ready);
    after2 = without_first(after1);
    context = contexts + label_of_first(ready, after1) * kWord;
    next_label = label_of_first(after1, after2);
    state = shared_word(context);
  }

  /* Decodes the symbol of the first ready sample. Meanwhile it loads the context of the next symbol
   * and the label of the one after that. */
  __device__ __forceinline__ void decode_symbol()
  {
    uint32_t next_context = contexts + next_label * kWord;
    uint32_t next_state = shared_word(next_context);
    uint32_t changed;
    uint32_t decision =
        mq.decode(state, tables + (uint32_t)offsetof(Tables, states), changed) ? ~0u : 0;
    uint32_t after3 = without_first(after2);
    next_label = label_of_first(after2, after3);
    set_shared_word(context, changed);
    state = next_context == context ? changed : next_state;
    context = next_context;
    ones |= decision & ~stop_mask & (ready ^ after1);
    found = decision & stop_mask & ready;
    ready = after1 & ~(decision & stop_mask);
    after1 = after2;
    after2 = after3;
  }

  /* Decodes up to kSymbols symbols, or with `all` as many as possible: up to a sample that becomes
   * significant, or until bytes are needed. */
  __device__ __forceinline__ void decode_symbols(bool all)
  {
    do {
#pragma unroll
      for (uint32_t n = 0; n < kSymbols; n++) {
        if (!ready || mq.bits < 0)
          return;
        decode_symbol();
      }
    } while (all);
  }

  /* Significance propagation with raw bits (T.800 D.6): takes the zeros up to the first 1 at once,
   * as far as bits are available. */
  __device__ __forceinline__ void decode_raw()
  {
    uint32_t available = min((uint32_t)(mq.bits + 1), 31u), zeros = mq.raw_zeros(available);
    uint32_t count = 0;
    while (count < zeros && waiting) {
      waiting &= waiting - 1;
      count++;
    }
    bool one = waiting && zeros < available;
    mq.skip_raw(count + one);
    found = one ? waiting : 0;
    waiting = one ? 0 : waiting;
  }

  /* Behind a run-length symbol 1 (T.800 D.3.4): decodes the row of the column's first significant
   * sample and takes up the column's samples from there on. */
  __device__ __forceinline__ void end_run()
  {
    uint32_t first = found & (0 - found), row = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 2; i++) {
      row = 2 * row + mq.decode_uniform();
      if (mq.bits < 0)
        mq.fill();
    }
    runs ^= first;
    found = (found ^ first) | ((first << 4) - (first << row));
  }

  /* Decodes a sign (T.800 D.3.2) and returns whether the sample is negative. `significance` and
   * `signs` are those of the neighbours in the places of a window; only the bits of a sign window
   * count. */
  __device__ __forceinline__ bool decode_sign(uint32_t significance, uint32_t signs)
  {
    uint32_t entry = mq.is_raw ? kRawLabel
                               : shared_byte(tables + (uint32_t)offsetof(Tables, signs) +
                                             (significance | (signs & kSignWindow) >> 1));
    bool bit =
        mq.decode_at(contexts + (entry & 31) * kWord, tables + (uint32_t)offsetof(Tables, states));
    return bit != (entry >> 7 != 0);
  }
};

} // namespace
