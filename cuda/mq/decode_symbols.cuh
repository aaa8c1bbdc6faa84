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

  /* The samples that are still to be coded, without those in rows 1 to 3 of columns in `runs`. */
  uint32_t waiting;
  /* A sample before those that was decoded as 1 and becomes significant: its sign comes next. */
  uint32_t found;
  uint32_t runs; /* samples in row 0 that begin with a run-length symbol */
  uint32_t ones; /* samples decoded as 1 */

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

  /* There is nothing to decode: lanes without a code-block go through the rounds, too. */
  __device__ __forceinline__ void set_idle()
  {
    waiting = found = mq.is_raw = 0;
    mq.bits = MqDecoder::kMaxBits;
  }

  /* The label of the first sample of `samples`, whose number is `at`; `rest` is `samples` without
   * it. */
  __device__ __forceinline__ uint32_t label_of_first(uint32_t samples, uint32_t rest,
                                                     uint32_t at) const
  {
    uint32_t label = shared_byte(labels + around.window(at));
    return runs & samples & ~rest ? (uint32_t)CJ2K_CX_RUN : label;
  }

  /* What is known of the next symbols: looking up a label takes longer than decoding a symbol, so
   * it is done ahead. It is right as long as no sample becomes significant. */
  struct Ahead {
    uint32_t after1, after2; /* `waiting` without its first sample, without its first two */
    uint32_t context, state; /* of the next symbol: address and word of its context */
    uint32_t next_label;     /* of the symbol after that one */
    uint32_t place;          /* of the first sample of after2 */
  };

  __device__ __forceinline__ Ahead look_up() const
  {
    Ahead ahead;
    ahead.after1 = without_first(waiting);
    ahead.after2 = without_first(ahead.after1);
    ahead.context =
        contexts + label_of_first(waiting, ahead.after1, place_of_first(waiting)) * kWord;
    ahead.next_label = label_of_first(ahead.after1, ahead.after2, place_of_first(ahead.after1));
    ahead.place = place_of_first(ahead.after2);
    ahead.state = shared_word(ahead.context);
    return ahead;
  }

  /* Decodes the symbol of the first sample. Meanwhile it loads the context of the next symbol and
   * the label of the one after that. */
  __device__ __forceinline__ void decode_symbol(Ahead &ahead)
  {
    uint32_t next_context = contexts + ahead.next_label * kWord;
    uint32_t next_state = shared_word(next_context);
    uint32_t changed;
    uint32_t one =
        ahead.after1 ^ mq.decode(ahead.state, tables + (uint32_t)offsetof(Tables, states), changed,
                                 waiting, ahead.after1, 0);
    uint32_t after3 = without_first(ahead.after2);
    ahead.next_label = label_of_first(ahead.after2, after3, ahead.place);
    ahead.place = place_of_first(after3);
    set_shared_word(ahead.context, changed);
    ahead.state = next_context == ahead.context ? changed : next_state;
    ahead.context = next_context;
    ones |= one;
    found = one & stop_mask;
    waiting = ahead.after1;
    ahead.after1 = ahead.after2;
    ahead.after2 = after3;
    /* Nothing needs these if this is the last symbol. The empty asm keeps the compiler from
     * computing them only when it is known that it is not, which is too late. */
    asm volatile("" : "+r"(ahead.next_label), "+r"(ahead.place));
  }

  /* Is there a symbol to decode, and are there bits for it? */
  __device__ __forceinline__ bool can_decode() const
  {
    return waiting && mq.bits >= 0;
  }

  /* Decodes up to kSymbols symbols, or if ALL as many as possible: up to a sample that becomes
   * significant, or until bytes are wanted. Raw bits are symbols, too: they have a context. */
  template <bool ALL> __device__ __forceinline__ void decode_symbols()
  {
    Ahead ahead = look_up();
    do {
#pragma unroll
      for (uint32_t n = 0; n < kSymbols; n++) {
        bool wants_bytes = mq.wants_bytes();
        decode_symbol(ahead);
        if (wants_bytes || found || !waiting)
          return;
      }
    } while (ALL);
  }

  /* Is more needed than symbols of samples? With | in place of ||, which would branch. */
  __device__ __forceinline__ bool needs_more() const
  {
    return mq.wants_bytes() | ((found & runs) != 0);
  }

  /* What a lane needs less often than symbols: bytes, the end of a run. */
  __device__ __forceinline__ void go_on()
  {
    if (mq.wants_bytes())
      mq.fill();
    if (found & runs)
      end_run();
  }

  /* Significance propagation with raw bits (T.800 D.6) up to the first 1: takes the zeros at once.
   * Returns the sample that becomes significant, and in *negative its sign, or 0 after zeros. */
  __device__ __forceinline__ uint32_t find_raw(bool *negative)
  {
    uint32_t count = min((uint32_t)__popc(waiting), MqDecoder::kMaxRaw);
    uint32_t zeros = mq.raw_zeros(count, negative);
    for (uint32_t i = 0; i < zeros; i++)
      waiting = without_first(waiting);
    if (zeros == count)
      return 0;
    uint32_t rest = without_first(waiting), sample = waiting ^ rest;
    waiting = rest;
    return sample;
  }

  /* Behind a run-length symbol 1 (T.800 D.3.4): decodes the row of the column's first significant
   * sample and takes up the column's samples behind it. */
  __device__ __forceinline__ void end_run()
  {
    uint32_t row = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 2; i++) {
      row = 2 * row + mq.decode_uniform();
      if (mq.bits < 0)
        mq.fill();
    }
    runs ^= found;
    ones ^= found;
    waiting |= (found << 4) - (found << row) * 2;
    found <<= row;
  }

  /* Decodes the sign of a sample (T.800 D.3.2). `significance` and `signs` are those of its
   * neighbours in the places of a window; only the bits of a sign window count. Returns if_negative
   * or if_positive. */
  __device__ __forceinline__ uint32_t decode_sign(uint32_t significance, uint32_t signs,
                                                  uint32_t if_negative, uint32_t if_positive)
  {
    uint32_t entry = kRawLabel;
    if (!mq.is_raw)
      entry = shared_signed_byte(tables + (uint32_t)offsetof(Tables, signs) +
                                 (significance | (signs & kSignWindow) >> 1));
    uint32_t context_of_sign = contexts + (entry & 31) * kWord, changed;
    uint32_t result =
        mq.decode(shared_word(context_of_sign), tables + (uint32_t)offsetof(Tables, states),
                  changed, if_negative, if_positive, entry);
    set_shared_word(context_of_sign, changed);
    return result;
  }
};

} // namespace
