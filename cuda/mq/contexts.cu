// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Context modelling of Part 1 code-blocks (T.800 D.3), parallel over samples: a lane has a word of
 * 32 samples (contexts.cuh), a code-block as many warps as it has words. For each bit-plane it
 * is found out first which samples the significance propagation pass codes: a fixpoint, since they
 * depend on each other in the order of the pass. Everything else is known then: labels by logic on
 * words, places of symbols by counting bits. To write symbols, a warp takes its words one by one, a
 * lane a sample.
 */
#include "contexts.cuh"
#include "cuda/shared/encode_samples.cuh"
#include "symbols.h"

extern "C" {
#include "common/shared/mq_blocks.h"
}

using namespace mq_words;

namespace {

constexpr uint32_t kThreads = 128; /* of a thread block, at least */
constexpr uint32_t kDecision = 32, kOddRows = 0xAAAAAAAAu;
constexpr uint32_t kPlainWords = 3;
constexpr uint32_t kSteps = 3; /* of the fixpoint inside a word, before others are looked at */
constexpr uint32_t kSmallPlanes = 16; /* gains fit into 32 bits below */

__host__ __device__ constexpr uint32_t round_up(uint32_t value, uint32_t to)
{
  return (value + to - 1) / to * to;
}

/* Shared memory of a block of WARPS warps, in 32-bit words. */
template <uint32_t WARPS> struct Sizes {
  static constexpr uint32_t kSymbols = 4 * 33 * 4; /* of a warp: those of 32 words */
  static constexpr uint32_t kRecords = 2 * 32 * 4; /* of a warp: what to write of 32 words */
  static constexpr uint32_t kShared = 8 * WARPS;
  static constexpr uint32_t kPitch = 32 * WARPS + 1; /* of bit-planes */
  uint32_t grid; /* words with a row above and below, and a column to the left */

  __host__ __device__ uint32_t total(uint32_t planes) const
  {
    return WARPS * (kSymbols + kRecords) + round_up(kShared + 4 * grid + planes * kPitch, 4);
  }
};

/* The sum over a warp. */
__device__ __forceinline__ uint32_t warp_sum_small(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAll, value);
#else
  for (uint32_t d = 16; d; d >>= 1)
    value += __shfl_xor_sync(kAll, value, d);
  return value;
#endif
}

/* 128 bits, of which a distortion is those that 64 bits hold (docs/mq-coder.md). */
struct Distortion {
  uint64_t low, high;

  /* Adds factor * sum * 2^shift. Sums are signed, of up to 2^51; shift is 1 to 63. */
  __device__ __forceinline__ void add(uint32_t shift, uint32_t factor, uint64_t sum)
  {
    int64_t more = (int64_t)sum * factor;
    uint64_t more_low = (uint64_t)more << shift;
    low += more_low;
    high += (uint64_t)(more >> (64 - shift)) + (low < more_low);
  }

  __device__ __forceinline__ uint64_t value() const
  {
    return high ? UINT64_MAX : low;
  }
};

/* What a pass does to the samples of a word. */
struct Passes {
  uint32_t propagating, found;      /* significance propagation: samples coded; significant now */
  uint32_t refining;                /* refinement */
  uint32_t cleaning, found_cleanly; /* cleanup */
  uint32_t zero_runs, cut_runs; /* run-length symbols: in row 0; at the first one of the column */
  uint32_t emitting;            /* samples that have symbols */
};

/* What lanes add up. */
struct Counts {
  uint32_t propagation, refinement, cleanup;
};

template <uint32_t WARPS> struct Modeller {
  const Cj2kCudaMqContexts &frame;
  uint32_t lane, warp, thread;
  uint32_t width, height, octets, num_words, orientation, style, lowest_plane;
  bool reversible;

  uint4 *symbols, *records; /* of the warp */
  uint32_t *shared;         /* of all warps */
  uint32_t *grids, *bits;   /* four grids: significance thrice, signs */
  uint32_t grid_words;
  uint32_t pitch, at, below; /* of the lane's word in the grids, and of the one below */

  uint32_t valid, whole; /* samples that exist; row 0 of columns of four */
  uint32_t negative, significant, refined;
  Signs around;

  uint64_t first_symbol;
  uint32_t position, num_planes, pass;
  Distortion distortion;
  uint64_t *distortions;

  __device__ Modeller(const Cj2kCudaMqContexts &job, uint32_t *memory) : frame(job)
  {
    thread = threadIdx.x;
    lane = thread & 31;
    warp = thread >> 5;
    symbols = reinterpret_cast<uint4 *>(memory + warp * Sizes<WARPS>::kSymbols);
    memory += WARPS * Sizes<WARPS>::kSymbols;
    records = reinterpret_cast<uint4 *>(memory + warp * Sizes<WARPS>::kRecords);
    shared = memory + WARPS * Sizes<WARPS>::kRecords;
  }

  __device__ __forceinline__ uint32_t *grid(uint32_t i) const
  {
    return grids + i * grid_words;
  }

  __device__ __forceinline__ void sync() const
  {
    if (WARPS == 1)
      __syncwarp();
    else
      __syncthreads();
  }

  __device__ __forceinline__ bool any(bool condition) const
  {
    if (WARPS > 1)
      return __syncthreads_or(condition);
    __syncwarp(); /* a vote alone orders no accesses to memory */
    return __any_sync(kAll, condition);
  }

  /* --------------------------------------------------------------------------- samples --- */

  __device__ __forceinline__ void place(const Cj2kCudaEncodeBlock &block)
  {
    width = block.width;
    height = block.height;
    orientation = block.orientation;
    style = block.style;
    reversible = block.reversible;
    octets = (width + 7) / 8;
    uint32_t stripes = (height + 3) / 4;
    num_words = octets * stripes;
    pitch = octets + 1;
    grid_words = (stripes + 2) * pitch + 1;
    grids = shared + Sizes<WARPS>::kShared;
    bits = grids + 4 * grid_words;
    for (uint32_t i = thread; i < 4 * grid_words; i += 32 * WARPS)
      grids[i] = 0;

    uint32_t stripe = thread / octets, octet = thread - stripe * octets;
    bool exists = thread < num_words;
    stripe = exists ? stripe : 0;
    octet = exists ? octet : 0;
    at = (stripe + 1) * pitch + octet + 1;
    below = style & CJ2K_STYLE_CAUSAL ? octet + 1 : at + pitch; /* the row above is empty */
    uint32_t cols = min(width - 8 * octet, 8u), rows = min(height - 4 * stripe, 4u);
    whole = exists ? kTop >> (32 - 4 * cols) : 0;
    valid = whole * ((1u << rows) - 1);
    whole = rows == 4 ? whole : 0;
  }

  /* Fills bit-planes and signs, and the first grid with the number of bit-planes of each word. */
  __device__ __forceinline__ void load(Samples &samples)
  {
    constexpr uint32_t kBatch = 4;
    uint32_t first = 32 * warp, end = min(num_words, first + 32);
    uint32_t stripe = first / octets, octet = first - stripe * octets;
    uint32_t raw[kBatch], index[kBatch];
    for (uint32_t word = first; word < end; word += kBatch) {
#pragma unroll
      for (uint32_t i = 0; i < kBatch; i++) {
        uint32_t x = 8 * octet + (lane >> 2), y = 4 * stripe + (lane & 3);
        raw[i] = 0;
        if (word + i < end && x < width && y < height)
          raw[i] = samples.data[(uint64_t)y * samples.stride + x];
        index[i] = (stripe + 1) * pitch + octet + 1;
        if (++octet == octets) {
          octet = 0;
          stripe++;
        }
      }
#pragma unroll
      for (uint32_t i = 0; i < kBatch; i++) {
        if (word + i >= end)
          break;
        /* lane p gets the bit-plane p, the last one signs */
        uint32_t plane = transpose(samples.limited(samples.quantise(raw[i])), lane);
        uint32_t top = __ballot_sync(kAll, plane != 0) & 0x7FFFFFFF;
        if (lane < frame.max_planes)
          bits[lane * Sizes<WARPS>::kPitch + word + i] = plane;
        if (lane == 31) {
          grid(3)[index[i]] = plane;
          grid(0)[index[i]] = 32 - __clz(top);
        }
      }
    }
  }

  /* The largest of all threads' values. */
  __device__ __forceinline__ uint32_t largest(uint32_t value)
  {
    for (uint32_t d = 16; d; d >>= 1)
      value = max(value, __shfl_xor_sync(kAll, value, d));
    if (WARPS == 1)
      return value;
    if (lane == 0)
      shared[warp] = value;
    __syncthreads();
    for (uint32_t i = 0; i < WARPS; i++)
      value = max(value, shared[i]);
    __syncthreads();
    return value;
  }

  /* Sums over the threads, to all. */
  __device__ __forceinline__ void add_up(uint64_t sums[3])
  {
    for (uint32_t i = 0; i < 3; i++)
      sums[i] = warp_sum(sums[i]);
    if (WARPS == 1)
      return;
    uint64_t *all = reinterpret_cast<uint64_t *>(shared);
    if (lane < 3)
      all[3 * warp + lane] = lane == 0 ? sums[0] : lane == 1 ? sums[1] : sums[2];
    __syncthreads();
    for (uint32_t i = 0; i < 3; i++) {
      sums[i] = 0;
      for (uint32_t other = 0; other < WARPS; other++)
        sums[i] += all[3 * other + i];
    }
    __syncthreads();
  }

  /* Symbols that the lane's word has at most: in bit-planes in which nothing is significant yet in
   * this word and those around it, columns are run-length symbols. */
  __device__ __forceinline__ uint32_t room_for_word()
  {
    if (valid == 0)
      return 0;
    const uint32_t *tops = grid(0) + at;
    uint32_t top = 0;
    for (uint32_t i = 0; i < 3; i++) {
      const uint32_t *row = tops + i * pitch - pitch;
      top = max(top, max(row[-1], max(row[0], row[1])));
    }
    uint32_t samples = __popc(valid), columns = __popc(whole);
    uint32_t active = max(top, lowest_plane) - lowest_plane;
    uint32_t idle = num_planes - lowest_plane - active;
    return active * samples + idle * (whole ? columns : samples) +
           (tops[0] > lowest_plane ? samples + 2 * columns : 0);
  }

  /* Takes a place for the block's symbols; false: there is none. */
  __device__ __forceinline__ bool take_room()
  {
    uint64_t sums[3] = {room_for_word(), 0, 0};
    uint32_t planes = num_planes - lowest_plane, ends = style & CJ2K_STYLE_SEGMARK ? 16 : 12;
    add_up(sums);
    uint64_t room = (sums[0] + planes * ends + CJ2K_CUDA_MQ_ALIGNMENT - 1) &
                    ~(uint64_t)(CJ2K_CUDA_MQ_ALIGNMENT - 1);
    uint64_t first = 0;
    if (thread == 0)
      first = atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->symbols),
                        (unsigned long long)room);
    sums[0] = first;
    sums[1] = sums[2] = 0;
    add_up(sums);
    first_symbol = sums[0];
    return first_symbol + room <= frame.capacity;
  }

  /* ---------------------------------------------------------------------------- passes --- */

  /* Which samples does the significance propagation pass code? `now` are the ones of the bit-plane;
   * grid 2 has what is significant after the pass so far. */
  __device__ __forceinline__ uint32_t propagate(uint32_t seed, uint32_t now)
  {
    uint32_t *word = grid(2) + at;
    uint32_t coded = seed, found = now & seed;
    for (;;) {
      if (valid)
        *word = significant | found;
      sync();
      Before before = load_before(word, pitch);
      uint32_t reached = seed | followers_of(before), more = found;
#pragma unroll
      for (uint32_t i = 0; i < kSteps; i++) {
        coded = reached | followers(more);
        more = now & coded;
      }
      bool changed = more != found;
      found = more;
      if (!any(changed))
        return coded & valid & ~significant;
    }
  }

  /* Run-length coding of columns with nothing around them; the other samples of the cleanup pass.
   */
  __device__ __forceinline__ void clean_up(Passes &passes, uint32_t now, uint32_t quiet) const
  {
    uint32_t columns = whole_columns(quiet & whole), ones = now & columns;
    uint32_t after = ones << 1 & ~kTop;
    after |= after << 1 & ~kTop;
    after |= after << 1 & ~kTop;
    passes.cut_runs = ones & ~after;
    passes.zero_runs = quiet & whole & ~any_of_column(ones);
    uint32_t coded = passes.cleaning & (~columns | after);
    passes.emitting =
        passes.propagating | passes.refining | coded | passes.cut_runs | passes.zero_runs;
    passes.found_cleanly = passes.cleaning & now;
  }

  /* Symbols of the samples, as bytes: the first one, or where a run is cut the last UNIFORM one;
   * and the sign's. */
  __device__ __forceinline__ void write_symbols(const Significance &s, const Passes &passes,
                                                uint32_t now, bool is_raw)
  {
    Neighbours n = see_neighbours(s, passes.propagating, passes.cleaning);
    ZeroLabels zero = zero_labels(n, orientation == CJ2K_HL, orientation == CJ2K_HH);
    SignLabels sign = sign_labels(n, around);
    uint32_t r = passes.refining, cut = passes.cut_runs;
    uint32_t raw = is_raw ? passes.propagating | r : 0;
    uint32_t first[8] = {
        pick(r, ~refined & any_neighbour(n), zero.bit[0] | passes.zero_runs) | raw,
        pick(r, ~refined, zero.bit[1] | cut) | raw,
        pick(r, ~refined, zero.bit[2]) | raw,
        pick(r, ~refined, zero.bit[3]) | raw,
        (r & refined) | passes.zero_runs | cut | raw,
        pick(cut, kOddRows, now),
    };
    uint32_t second[8] = {
        sign.bit[0] | raw,
        sign.bit[1] | raw,
        sign.bit[2] | raw,
        ~0u,
        raw,
        negative ^ (sign.flip & ~raw),
    };
    to_bytes(first);
    to_bytes(second);
    symbols[lane] = make_uint4(first[0], first[1], first[2], first[3]);
    symbols[33 + lane] = make_uint4(first[4], first[5], first[6], first[7]);
    symbols[66 + lane] = make_uint4(second[0], second[1], second[2], second[3]);
    symbols[99 + lane] = make_uint4(second[4], second[5], second[6], second[7]);
  }

  /* Sums over the threads before this one, and over all. */
  __device__ __forceinline__ void scan(Counts &counts, Counts &totals)
  {
    uint32_t both = counts.propagation | counts.cleanup << 16, single = counts.refinement;
    uint32_t own_both = both, own_single = single;
#pragma unroll
    for (uint32_t d = 1; d < 32; d <<= 1) {
      uint32_t other_both = __shfl_up_sync(kAll, both, d),
               other_single = __shfl_up_sync(kAll, single, d);
      both += lane >= d ? other_both : 0;
      single += lane >= d ? other_single : 0;
    }
    uint32_t last_both = __shfl_sync(kAll, both, 31), last_single = __shfl_sync(kAll, single, 31);
    both -= own_both;
    counts = {both & 0xFFFF, single - own_single, both >> 16};
    totals = {last_both & 0xFFFF, last_single, last_both >> 16};
    if (WARPS == 1)
      return;
    if (lane == 0) {
      shared[2 * warp] = last_both;
      shared[2 * warp + 1] = last_single;
    }
    __syncthreads();
    totals = {0, 0, 0};
    for (uint32_t i = 0; i < WARPS; i++) {
      Counts other = {shared[2 * i] & 0xFFFF, shared[2 * i + 1], shared[2 * i] >> 16};
      if (i < warp)
        counts = {counts.propagation + other.propagation, counts.refinement + other.refinement,
                  counts.cleanup + other.cleanup};
      totals = {totals.propagation + other.propagation, totals.refinement + other.refinement,
                totals.cleanup + other.cleanup};
    }
    __syncthreads();
  }

  /* ---------------------------------------------------------------------------- symbols --- */

  /* Bytes [start, end) of the block's symbols become zero runs. */
  __device__ __forceinline__ void fill_with_runs(uint32_t start, uint32_t end)
  {
    uint8_t *out = frame.symbols + first_symbol;
    for (uint32_t i = (start & ~3u) + 4 * lane; i < end; i += 128) {
      if (i >= start && i + 4 <= end) {
        *reinterpret_cast<uint32_t *>(out + i) = CJ2K_CX_RUN * 0x01010101u;
        continue;
      }
      for (uint32_t j = max(i, start); j < min(i + 4, end); j++)
        out[j] = CJ2K_CX_RUN;
    }
  }

  /* The symbols of the warp's words, a lane a sample. Words that have nothing but zero runs are
   * filled in first, where there are several. */
  __device__ __forceinline__ void emit(const Passes &passes, const Counts &counts,
                                       uint32_t cleanup_count)
  {
    bool plain = passes.emitting && passes.emitting == passes.zero_runs;
    bool fill = __popc(__ballot_sync(kAll, plain)) >= kPlainWords;
    uint32_t found = passes.found | passes.found_cleanly;
    records[lane] =
        make_uint4(fill && plain ? 0 : passes.emitting, found, passes.propagating, passes.refining);
    records[32 + lane] =
        make_uint4(passes.cut_runs, counts.propagation, counts.refinement, counts.cleanup);
    if (fill) {
      uint32_t end = __shfl_sync(kAll, counts.cleanup + cleanup_count, 31);
      fill_with_runs(__shfl_sync(kAll, counts.cleanup, 0), end);
    }
    __syncwarp();
    emit_words(min(num_words - min(num_words, 32 * warp), 32u));
  }

  __device__ __forceinline__ void emit_words(uint32_t count)
  {
    uint8_t *out = frame.symbols + first_symbol;
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(symbols) + (lane & 3) * 4 +
                           (lane >> 3) + (lane & 4 ? 33 * 16 : 0);
    uint32_t bit = 1u << lane, before = bit - 1;
#pragma unroll 4
    for (uint32_t i = 0; i < count; i++) {
      uint4 who = records[i], where = records[32 + i];
      if (who.x == 0)
        continue;
      bool propagating = who.z & bit, refining = who.w & bit;
      uint32_t same = propagating ? who.z : refining ? who.w : ~(who.z | who.w);
      uint32_t to = propagating ? where.y : refining ? where.z : where.w;
      to += __popc(who.x & same & before) + __popc(who.y & same & before);
      if (where.x) /* cut runs */
        to = emit_cut_runs(out, to, where.x, where.x & same & before);
      uint8_t *at = out + to;
      if (who.x & bit)
        at[0] = bytes[16 * i];
      if (who.y & bit)
        at[1] = bytes[16 * i + 66 * 16];
    }
  }

  /* The first two of the three symbols that say where a column's first one is. */
  __device__ __forceinline__ uint32_t emit_cut_runs(uint8_t *out, uint32_t to, uint32_t cut_runs,
                                                    uint32_t earlier) const
  {
    to += 2 * __popc(earlier);
    if (cut_runs >> lane & 1) {
      out[to] = CJ2K_CX_RUN | kDecision;
      out[to + 1] = (uint8_t)(CJ2K_CX_UNI | (lane << 4 & kDecision));
      to += 2;
    }
    return to;
  }

  /* Bytes of a pass of so many symbols, with what ends it. */
  static __device__ __forceinline__ uint32_t whole_pass(uint32_t symbols)
  {
    return (symbols + 4) & ~3u;
  }

  /* Behind the symbols of a pass that begins at `out`; the place of the next one. */
  __device__ __forceinline__ uint8_t *end_pass(uint8_t *out, uint32_t symbols)
  {
    uint32_t to = (symbols & ~3u) + thread;
    if (thread < 4 && to >= symbols)
      out[to] = thread == 3 ? CJ2K_CUDA_MQ_END : CJ2K_CUDA_MQ_NOP;
    return out + whole_pass(symbols);
  }

  /* Ends of passes, and SEGMARK's symbols. */
  __device__ __forceinline__ void end_passes(const Counts &totals, bool only_cleanup)
  {
    uint8_t *first = frame.symbols + first_symbol, *out = first + position;
    uint32_t cleanup = totals.cleanup;
    if (!only_cleanup) {
      out = end_pass(out, totals.propagation);
      out = end_pass(out, totals.refinement);
    }
    if (style & CJ2K_STYLE_SEGMARK) {
      if (thread < 4)
        out[cleanup + thread] = (uint8_t)(CJ2K_CX_UNI | (thread & 1 ? 0 : kDecision)); /* D.5 */
      cleanup += 4;
    }
    position = (uint32_t)(end_pass(out, cleanup) - first);
  }

  /* ------------------------------------------------------------------------- distortion --- */

  /*
   * Sums of what samples gain (docs/mq-coder.md), in units of pass_gain(): those found in either
   * pass, with indices q, 4q + 2 - 3 * 2^plane (4q when reversible), and refined ones, d away from
   * what they were reconstructed as, 2d - 2^plane. 2d is 4l + 2 with l the bits of q below the
   * plane, those of its complement if the plane's bit is 0; reversible 4l, and 4 more for a 0.
   */
  template <typename Sum>
  __device__ __forceinline__ void sum_gains(const Passes &passes, uint32_t plane, uint32_t now,
                                            uint64_t sums[3])
  {
    uint32_t odd = reversible ? 0 : 2;
    Sum found = 0, found_cleanly = 0, refined_bits = 0;
    const uint32_t *row = bits + thread;
    for (uint32_t k = plane; k-- > 0;) {
      uint32_t lower = row[k * Sizes<WARPS>::kPitch];
      found = 2 * found + __popc(passes.found & lower);
      found_cleanly = 2 * found_cleanly + __popc(passes.found_cleanly & lower);
      refined_bits = 2 * refined_bits + __popc(passes.refining & ~(lower ^ now));
    }
    Sum base = ((Sum)1 << plane) + odd, half = (Sum)1 << plane;
    uint32_t refining = __popc(passes.refining), zeros = __popc(passes.refining & ~now);
    found = 4 * found + base * __popc(passes.found);
    found_cleanly = 4 * found_cleanly + base * __popc(passes.found_cleanly);
    refined_bits = 4 * refined_bits + (reversible ? 4 * zeros : 2 * refining) - half * refining;
    sums[0] = found;
    sums[1] = found_cleanly;
    sums[2] = refined_bits;
  }

  __device__ __forceinline__ void add_gains(const Passes &passes, uint32_t plane, uint32_t now,
                                            const Counts &totals)
  {
    uint64_t sums[3];
    if (plane < kSmallPlanes) {
      sum_gains<uint32_t>(passes, plane, now, sums);
      for (uint32_t i = 0; i < 3; i++)
        sums[i] = warp_sum_small((uint32_t)sums[i]);
      if (WARPS > 1) {
        for (uint32_t i = 0; i < 3; i++)
          sums[i] = lane == 0 ? (uint64_t)(int64_t)(int32_t)sums[i] : 0;
        add_up(sums);
      } else {
        sums[2] = (uint64_t)(int64_t)(int32_t)sums[2];
      }
    } else {
      sum_gains<uint64_t>(passes, plane, now, sums);
      add_up(sums);
    }
    bool exact = reversible && plane == 0;
    if (pass > 0) {
      distortion.add(6 + plane, exact ? 4 : 3, sums[0]);
      store_distortion();
      distortion.add(6 + plane, 1, exact ? sums[2] + totals.refinement : sums[2]);
      store_distortion();
    }
    distortion.add(6 + plane, exact ? 4 : 3, sums[1]);
    store_distortion();
  }

  __device__ __forceinline__ void store_distortion()
  {
    if (thread == 0)
      distortions[pass] = distortion.value();
    pass++;
  }

  /* -------------------------------------------------------------------------- bit-planes --- */

  __device__ __forceinline__ void code_plane(uint32_t plane)
  {
    uint32_t now = thread < num_words ? bits[plane * Sizes<WARPS>::kPitch + thread] : 0;
    uint32_t *before = grid(plane & 1), *all = grid(~plane & 1), *propagated = grid(2);
    bool first = pass == 0, is_raw = cj2k_pass_is_raw(pass, (uint8_t)style);
    Significance s;
    Passes passes = {};
    s.before = significant;
    s.all = significant | now;
    if (valid)
      all[at] = s.all;
    s.after_before = load_after(before + at, before + below);
    if (first) {
      sync();
    } else {
      uint32_t seed = touched(significant, load_before(before + at, pitch), s.after_before);
      passes.propagating = propagate(seed, now & ~significant);
    }
    passes.found = passes.propagating & now;
    passes.refining = significant;
    passes.cleaning = valid & ~significant & ~passes.propagating;
    s.propagated = significant | passes.found;
    s.before_propagated = load_before(propagated + at, pitch);
    s.after_propagated = load_after(propagated + at, propagated + below);
    s.before_all = load_before(all + at, pitch);
    clean_up(passes, now, quiet_columns(s));
    write_symbols(s, passes, now, is_raw);

    Counts counts, totals;
    counts.propagation = __popc(passes.propagating) + __popc(passes.found);
    counts.refinement = __popc(passes.refining);
    counts.cleanup = __popc(passes.emitting & passes.cleaning) + __popc(passes.found_cleanly) +
                     2 * __popc(passes.cut_runs);
    uint32_t cleanup_count = counts.cleanup;
    scan(counts, totals);
    counts.propagation += position;
    counts.refinement += position + (first ? 0 : whole_pass(totals.propagation));
    counts.cleanup +=
        position + (first ? 0 : whole_pass(totals.propagation) + whole_pass(totals.refinement));
    emit(passes, counts, cleanup_count);
    end_passes(totals, first);
    add_gains(passes, plane, now, totals);
    refined = significant;
    significant = s.all;
    sync();
  }

  __device__ __forceinline__ void code(const Cj2kCudaEncodeBlock &block, uint32_t b)
  {
    Cj2kFrameQuantiser quantiser = frame.quantisers[block.band];
    Samples samples(frame.coefficients, quantiser, block);
    Cj2kCudaMqBlock result = {};
    lowest_plane = frame.lowest_plane;
    place(block);
    sync();
    load(samples);
    sync();
    num_planes = largest(valid ? grid(0)[at] : 0);
    position = 0;
    if (num_planes > lowest_plane && take_room()) {
      begin();
      distortions = frame.distortions + (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.max_planes);
      for (uint32_t plane = num_planes; plane-- > lowest_plane;)
        code_plane(plane);
      result.first_symbol = first_symbol;
      result.num_symbols = position;
      result.num_passes = (uint8_t)pass;
    } else {
      num_planes = num_planes > lowest_plane ? num_planes : 0;
    }
    result.zero_bitplanes = (uint8_t)(quantiser.num_bitplanes - num_planes);
    if (thread == 0)
      frame.mq_blocks[b] = result;
    if (samples.saturated)
      atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->saturated),
                (unsigned long long)samples.saturated);
  }

  /* Before the first bit-plane. */
  __device__ __forceinline__ void begin()
  {
    const uint32_t *signs = grid(3) + at;
    negative = valid ? signs[0] : 0;
    around = {from_left(negative, signs[-1]), from_right(negative, signs[1]),
              from_above(negative, *(signs - pitch)), from_below(negative, grid(3)[below])};
    significant = refined = pass = 0;
    distortion = {0, 0};
    sync();
    if (valid)
      grid(0)[at] = 0;
    sync();
  }
};

template <uint32_t WARPS>
__global__ void __launch_bounds__(WARPS == 1 ? kThreads : 32 * WARPS)
    contexts_kernel(Cj2kCudaMqContexts frame, uint32_t shared_words)
{
  extern __shared__ uint4 memory[];
  uint64_t task = (uint64_t)(blockIdx.x * blockDim.y + threadIdx.y) * frame.stride;
  if (task >= frame.num_blocks)
    return;
  uint32_t b = (uint32_t)task;
  Modeller<WARPS> modeller(frame,
                           reinterpret_cast<uint32_t *>(memory) + threadIdx.y * shared_words);
  const Cj2kCudaEncodeBlock block = frame.blocks[b];
  modeller.code(block, b);
}

/* The most words that a grid has for blocks of up to this size. */
uint32_t grid_words(uint32_t width, uint32_t height)
{
  return ((width + 7) / 8 + 1) * ((height + 3) / 4 + 2) + 1;
}

/* No block needs more, 4x1024 with 31 bit-planes nearly as much. Always the same, since threads
 * launch for several frames at once. */
constexpr int kMaxShared = 64 * 1024;

template <uint32_t WARPS> cudaError_t launch(const Cj2kCudaMqContexts *frame, cudaStream_t stream)
{
  dim3 threads(32 * WARPS, WARPS == 1 ? kThreads / 32 : 1);
  Sizes<WARPS> sizes = {grid_words(frame->max_width, frame->max_height)};
  uint32_t words = sizes.total(frame->max_planes), tasks, bytes = 4 * words * threads.y;
  tasks = (uint32_t)(((uint64_t)frame->num_blocks + frame->stride - 1) / frame->stride);
  cudaError_t result = cudaFuncSetAttribute(
      contexts_kernel<WARPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxShared);
  if (result != cudaSuccess)
    return result;
  contexts_kernel<WARPS>
      <<<(tasks + threads.y - 1) / threads.y, threads, bytes, stream>>>(*frame, words);
  return cudaGetLastError();
}

} // namespace

cudaError_t cj2k_cuda_mq_contexts(const Cj2kCudaMqContexts *frame, cudaStream_t stream)
{
  uint32_t words = CJ2K_CUDA_MQ_WORDS(frame->max_width, frame->max_height);

  if (words <= 32)
    return launch<1>(frame, stream);
  if (words <= 64)
    return launch<2>(frame, stream);
  return words <= 128 ? launch<4>(frame, stream) : launch<8>(frame, stream);
}
