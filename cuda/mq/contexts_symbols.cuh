// SPDX-License-Identifier: LGPL-2.1-or-later
/* Writing the symbols (symbols.h) of the three passes of a bit-plane, and the bits of raw ones. */
#pragma once

#include "contexts_grid.cuh"

namespace {

constexpr uint32_t kDecision = 32, kOddRows = 0xAAAAAAAAu;

/* With so many octets of zero runs only in a warp, their symbols are written together. */
constexpr uint32_t kPlainOctets = 3;

/* What the passes of a bit-plane do to the samples of an octet. */
struct OctetPasses {
  uint32_t propagating, found;       /* significance propagation: coded; becoming significant */
  uint32_t refining;                 /* refinement: coded */
  uint32_t cleaning, found_cleaning; /* cleanup: coded; becoming significant */
  uint32_t zero_runs;                /* columns with a run-length symbol 0, by their row 0 */
  uint32_t ended_runs;               /* first ones of columns with a run-length symbol 1 */
  uint32_t emitting;                 /* samples that have symbols */

  /* Run-length coding in the cleanup pass (T.800 D.3.4). `ones` is the bit-plane; `quiet` are the
   * columns, by row 0, that have four samples and nothing significant around them. */
  __device__ __forceinline__ void find_runs(uint32_t ones, uint32_t quiet)
  {
    using namespace mq_words;
    uint32_t columns = whole_columns(quiet), in_columns = ones & columns;
    uint32_t after = in_columns << 1 & ~kTop; /* samples below a one of their column */
    after |= after << 1 & ~kTop;
    after |= after << 1 & ~kTop;
    ended_runs = in_columns & ~after;
    zero_runs = quiet & ~any_of_column(in_columns);
    uint32_t coded = cleaning & (~columns | after);
    emitting = propagating | refining | coded | ended_runs | zero_runs;
    found_cleaning = cleaning & ones;
  }

  __device__ __forceinline__ uint32_t cleanup_symbols() const
  {
    return __popc(emitting & cleaning) + __popc(found_cleaning) + 2 * __popc(ended_runs);
  }
};

/* What is known of an octet before a bit-plane is coded. */
struct OctetState {
  uint32_t significant, refined;
};

template <uint32_t WARPS> struct SymbolWriter {
  uint8_t *frame_symbols;
  uint4 *symbols, *records; /* of the warp, in shared memory */
  uint64_t first_symbol;    /* of the code-block, in the frame's symbols */
  uint2 *next; /* in shared memory: places in the code-block's symbols, x of the next symbol, y
                  behind the next raw pass */

  /* Makes the two symbols that each sample of the octet may have, as bytes in shared memory: its
   * first symbol, or behind an ended run the second of the two UNIFORM symbols; and its sign.
   * Labels of raw bits do not count. */
  __device__ __forceinline__ void make_symbols(const mq_words::Significance &s,
                                               const OctetPasses &passes,
                                               const BlockGrid<WARPS> &grid,
                                               const OctetState &octet, uint32_t ones, bool is_raw,
                                               uint32_t orientation, uint32_t lane)
  {
    using namespace mq_words;
    Neighbours n = see_neighbours(s, passes.propagating, passes.cleaning);
    ZeroLabels zero = zero_labels(n, orientation == CJ2K_HL, orientation == CJ2K_HH);
    uint32_t negative = grid.negative();
    SignLabels sign = sign_labels(n, grid.signs_around(negative));
    uint32_t r = passes.refining, ended = passes.ended_runs;
    uint32_t first[8] = {
        pick(r, ~octet.refined & any_neighbour(n), zero.bit[0] | passes.zero_runs),
        pick(r, ~octet.refined, zero.bit[1] | ended),
        pick(r, ~octet.refined, zero.bit[2]),
        pick(r, ~octet.refined, zero.bit[3]),
        (r & octet.refined) | passes.zero_runs | ended,
        pick(ended, kOddRows, ones),
    };
    uint32_t second[8] = {
        sign.bit[0], sign.bit[1], sign.bit[2],
        ~0u,         0,           negative ^ (is_raw ? sign.flip & passes.cleaning : sign.flip),
    };
    to_bytes(first);
    to_bytes(second);
    symbols[lane] = make_uint4(first[0], first[1], first[2], first[3]);
    symbols[33 + lane] = make_uint4(first[4], first[5], first[6], first[7]);
    symbols[66 + lane] = make_uint4(second[0], second[1], second[2], second[3]);
    symbols[99 + lane] = make_uint4(second[4], second[5], second[6], second[7]);
  }

  /* Writes zero runs to bytes [start, end) of the code-block's symbols. */
  __device__ __forceinline__ void fill_with_runs(uint32_t start, uint32_t end, uint32_t lane)
  {
    uint8_t *out = frame_symbols + first_symbol;
    for (uint32_t i = (start & ~3u) + 4 * lane; i < end; i += 128) {
      if (i >= start && i + 4 <= end) {
        *reinterpret_cast<uint32_t *>(out + i) = CJ2K_CX_RUN * 0x01010101u;
        continue;
      }
      for (uint32_t j = max(i, start); j < min(i + 4, end); j++)
        out[j] = CJ2K_CX_RUN;
    }
  }

  /* Writes the symbols of the warp's octets. `places` are those of the octet's first symbols in the
   * three passes. If there are several octets of zero runs only, the cleanup pass is filled with
   * zero runs first, and only the other octets are written. */
  __device__ __forceinline__ void emit(const OctetPasses &passes, const PassCounts &places,
                                       uint32_t cleanup_count, uint32_t num_octets,
                                       const Team<WARPS> &team)
  {
    bool plain = passes.emitting && passes.emitting == passes.zero_runs;
    bool fill = __popc(__ballot_sync(kAll, plain)) >= kPlainOctets;
    uint32_t found = passes.found | passes.found_cleaning;
    records[team.lane] =
        make_uint4(fill && plain ? 0 : passes.emitting, found, passes.propagating, passes.refining);
    records[32 + team.lane] =
        make_uint4(passes.ended_runs, places.propagation, places.refinement, places.cleanup);
    if (fill) {
      uint32_t end = __shfl_sync(kAll, places.cleanup + cleanup_count, 31);
      fill_with_runs(__shfl_sync(kAll, places.cleanup, 0), end, team.lane);
    }
    __syncwarp();
    emit_octets(min(num_octets - min(num_octets, 32 * team.warp), 32u), team.lane);
  }

  /* Writes the symbols of `count` octets one by one, with a lane for each sample. */
  __device__ __forceinline__ void emit_octets(uint32_t count, uint32_t lane)
  {
    uint8_t *out = frame_symbols + first_symbol;
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(symbols) + (lane & 3) * 4 +
                           (lane >> 3) + (lane & 4 ? 33 * 16 : 0);
    uint32_t bit = 1u << lane, before = bit - 1;
#pragma unroll 4
    for (uint32_t i = 0; i < count; i++) {
      /* sets: emitting, found, propagating, refining; places: ended runs, then by pass */
      uint4 sets = records[i], places = records[32 + i];
      if (sets.x == 0)
        continue;
      bool propagating = sets.z & bit, refining = sets.w & bit;
      uint32_t same = propagating ? sets.z : refining ? sets.w : ~(sets.z | sets.w);
      uint32_t to = propagating ? places.y : refining ? places.z : places.w;
      to += __popc(sets.x & same & before) + __popc(sets.y & same & before);
      if (places.x)
        to = emit_ended_runs(out, to, places.x, places.x & same & before, lane);
      uint8_t *at = out + to;
      if (sets.x & bit)
        at[0] = bytes[16 * i];
      if (sets.y & bit)
        at[1] = bytes[16 * i + 66 * 16];
    }
  }

  /* Writes the first two of the three symbols that tell a column's first one: the run-length symbol
   * and the upper bit of its row. Returns the place of the third. */
  __device__ __forceinline__ uint32_t emit_ended_runs(uint8_t *out, uint32_t to,
                                                      uint32_t ended_runs, uint32_t earlier,
                                                      uint32_t lane) const
  {
    to += 2 * __popc(earlier);
    if (ended_runs >> lane & 1) {
      out[to] = CJ2K_CX_RUN | kDecision;
      out[to + 1] = (uint8_t)(CJ2K_CX_UNI | (lane << 4 & kDecision));
      to += 2;
    }
    return to;
  }

  /* Bytes of a pass of so many symbols, with its end. */
  static __device__ __forceinline__ uint32_t whole_pass(uint32_t symbols)
  {
    return (symbols + 4) & ~3u;
  }

  /* Where the passes of a bit-plane begin in the code-block's symbols. */
  __device__ __forceinline__ PassCounts begin_passes(const PassCounts &totals, bool only_cleanup,
                                                     bool is_raw) const
  {
    uint2 from = *next;
    if (only_cleanup)
      return {0, 0, from.x};
    if (is_raw) {
      uint32_t propagation = from.y - CJ2K_CUDA_MQ_RAW_PASS(totals.propagation);
      return {propagation, propagation - CJ2K_CUDA_MQ_RAW_PASS(totals.refinement), from.x};
    }
    uint32_t refinement = from.x + whole_pass(totals.propagation);
    return {from.x, refinement, refinement + whole_pass(totals.refinement)};
  }

  /* Writes the end of a pass of so many symbols. */
  __device__ __forceinline__ void end_pass(uint32_t symbols, uint32_t place, uint32_t thread)
  {
    uint32_t to = (symbols & ~3u) + thread;
    if (thread < 4 && to >= symbols)
      frame_symbols[first_symbol + place + to] = thread == 3 ? CJ2K_CUDA_MQ_END : CJ2K_CUDA_MQ_NOP;
  }

  /* Writes the ends of a bit-plane's passes but for cleanup. */
  __device__ __forceinline__ void end_passes(const PassCounts &totals, const PassCounts &places,
                                             uint32_t thread)
  {
    end_pass(totals.propagation, places.propagation, thread);
    end_pass(totals.refinement, places.refinement, thread);
  }

  /* Writes how many bits raw passes have. */
  __device__ __forceinline__ void end_raw_passes(const PassCounts &totals, const PassCounts &places,
                                                 uint32_t thread)
  {
    uint8_t *first = frame_symbols + first_symbol;
    if (thread == 0) {
      reinterpret_cast<uint32_t *>(first + next->y)[-1] = totals.propagation;
      reinterpret_cast<uint32_t *>(first + places.propagation)[-1] = totals.refinement;
    }
  }

  /* Writes the segmentation symbol (T.800 D.5), if there is one, and the end of the cleanup pass.
   * Returns the place behind it. */
  __device__ __forceinline__ uint32_t end_cleanup(uint32_t symbols, uint32_t place, uint32_t style,
                                                  uint32_t thread)
  {
    if (style & CJ2K_STYLE_SEGMARK) {
      if (thread < 4)
        frame_symbols[first_symbol + place + symbols + thread] =
            (uint8_t)(CJ2K_CX_UNI | (thread & 1 ? 0 : kDecision));
      symbols += 4;
    }
    end_pass(symbols, place, thread);
    return place + whole_pass(symbols);
  }
};

} // namespace
