// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The MQ decoder of one code-block (T.800 D.3), in the registers of one thread. It does not run
 * through: the kernel calls advance (), the steps of SymbolDecoder and decode_sign () in turn, each
 * when the state of the code-block asks for it.
 */
#pragma once

#include "decode_octets.cuh"
#include "decode_segments.cuh"
#include "decode_symbols.cuh"
#include "decode_window.cuh"
#include "raw_refinement.cuh"

namespace {

/* The present coding pass. */
struct CodingPass {
  uint32_t index, count; /* passes decoded or noted so far; all of the code-block */
  uint32_t segment_end;  /* the first pass behind the present segment */
  uint32_t type;
  uint32_t *plane; /* the bit-plane in device memory, a word for each octet */
};

/* The present visit of an octet. */
struct Visit {
  uint32_t active; /* zero: there is none */
  uint32_t octet;
  uint32_t propagating;  /* samples that exist, in a significance propagation pass; else none */
  uint32_t words;        /* address of the octet's words, */
  uint32_t above, below; /* and distances to those of the octets above and below it; 0: there is
                            none, or its significance does not count */
  uint32_t beside;       /* bits 0 and 2: there are octets to its left and right; bit 1 is set */
  uint32_t coded;        /* samples coded in the significance propagation pass of this bit-plane */
};

template <uint32_t LANES, bool WIDE> struct BlockDecoder {
  using Memory = OctetMemory<LANES, WIDE>;

  uint32_t octets; /* address of the octets' words */
  uint32_t style, zero_table;
  BlockShape shape;
  uint32_t *signs; /* output: a word for each octet, and behind these the bit-planes */
  SegmentReader segments;
  CodingPass pass;
  bool corrupt;
  OctetWalk<LANES, WIDE> walk;
  StripeWindow<LANES, WIDE> window;
  Visit visit;
  SymbolDecoder<LANES> symbols;

  /* Addresses in shared memory. The empty asm hides what they were computed from: the compiler
   * would compute them again at each use. */
  __device__ __forceinline__ void set_memory(uint32_t tables, uint32_t contexts)
  {
    symbols.tables = tables;
    symbols.contexts = contexts;
    asm volatile("" : "+r"(symbols.tables), "+r"(symbols.contexts));
    octets = symbols.contexts + kContexts * Memory::kWord;
  }

  /* Starts with entry i of the list of MQ blocks. Returns false if there is nothing to decode,
   * possibly because the code-block is corrupt. */
  __device__ bool start(const Cj2kCudaDecodeBlocks &frame, uint32_t i)
  {
    const Block block = load_block(frame, frame.mq.order[i]);
    const Cj2kCodedBlock coded = frame.coded[frame.mq.order[i]];
    segments.begin(frame, coded);
    pass.count = coded.num_passes;
    segments.cut = false;
    pass.index = pass.segment_end = visit.active = symbols.waiting = symbols.found = 0;
    uint32_t planes = (uint32_t)block.num_bitplanes - coded.zero_bitplanes;
    corrupt = coded.zero_bitplanes >= block.num_bitplanes || pass.count > 3 * planes - 2;
    if (corrupt)
      return false;
    start_state(block);
    walk.histories = reinterpret_cast<OctetHistory *>(frame.mq.planes + frame.mq.offsets[i]);
    signs = reinterpret_cast<uint32_t *>(walk.histories + shape.num_octets);
    window.start(signs, pass.count, shape);
    return begin_pass();
  }

  __device__ __forceinline__ void start_state(const Block &block)
  {
    style = block.style;
    zero_table = block.orientation == CJ2K_HL   ? Tables::kZeroHl
                 : block.orientation == CJ2K_HH ? Tables::kZeroHh
                                                : 0;
    shape.set(block);
    walk.sets.groups = (shape.num_octets + 31) / 32;
    uint32_t held = Memory::num_held(shape);
    walk.sets.address = octets + Memory::kOctet * held;
    for (uint32_t i = 0; i < kOctetWords * held; i++)
      set_shared_word(octets + i * Memory::kWord, 0);
    symbols.reset_contexts();
    walk.sets.reset(shape.num_octets);
  }

  /* Writes the signs, when all passes have been decoded. */
  __device__ __forceinline__ void finish()
  {
    for (uint32_t i = 0; !Memory::kHasWindow && i < shape.num_octets; i++)
      signs[i] = shared_word(octets + Memory::kOctet * i + kNegative * Memory::kWord);
  }

  /* Have all symbols of the octet been decoded, and are there bits to go on with? */
  __device__ __forceinline__ bool may_advance() const
  {
    return !symbols.waiting && symbols.mq.bits + (int32_t)symbols.mq.is_raw >= 0;
  }

  /* One step towards the next symbol: leaves the octet, goes to the next one or to the next pass.
   * Returns false when the code-block is done. */
  __device__ __forceinline__ bool advance()
  {
    if (visit.active)
      leave_octet();
    if (!walk.find_octet(pass.type))
      return next_pass();
    visit_octet();
    return true;
  }

  /* ------------------------------------------------------------------------- passes --- */

  /* Begins the segment of the next pass if it is not the present one. Returns false if there are no
   * more passes that can be decoded. */
  __device__ __forceinline__ bool may_begin_pass()
  {
    if (pass.index >= pass.count)
      return false;
    if (pass.index == pass.segment_end) {
      if (segments.cut)
        return false;
      while (pass.segment_end < pass.count &&
             !cj2k_pass_ends_segment(pass.segment_end, (uint8_t)style))
        pass.segment_end++;
      pass.segment_end += pass.segment_end < pass.count;
      corrupt = !segments.start(symbols.mq, pass.index, pass.segment_end, style);
      if (corrupt)
        return false;
    }
    /* A cut segment ends with the first pass that would begin behind its data: what padding bits
     * decode to is noise. */
    return !(segments.cut && symbols.mq.has_used_padding());
  }

  /* The same for the next pass but those that refine.cu decodes. */
  __device__ __forceinline__ bool begin_pass()
  {
#pragma unroll 1
    for (;; pass.index++) {
      if (!may_begin_pass())
        return false;
      if (!symbols.mq.is_raw || cj2k_pass_type(pass.index) != CJ2K_PASS_REFINEMENT)
        break;
      note_raw_bits();
    }
    pass.type = cj2k_pass_type(pass.index);
    pass.plane = signs + (1 + cj2k_pass_depth(pass.index)) * shape.num_octets;
    bool refinement = pass.type == CJ2K_PASS_REFINEMENT;
    symbols.stop_mask = refinement ? 0 : ~0u;
    symbols.labels = symbols.tables + (refinement          ? Tables::kRefinement
                                       : symbols.mq.is_raw ? Tables::kRaw
                                                           : zero_table);
    walk.begin_pass(pass.type);
    window.begin_pass(pass.type, shape);
    return true;
  }

  /* Notes where the bits of a refinement pass begin. */
  __device__ __forceinline__ void note_raw_bits()
  {
    const MqDecoder &mq = symbols.mq;
    Cj2kCudaRawBits *all = raw_bits_of(reinterpret_cast<uint32_t *>(walk.histories),
                                       shape.num_octets, pass.count, WIDE);
    Cj2kCudaRawBits &bits = all[cj2k_pass_depth(pass.index) - CJ2K_CUDA_MQ_FIRST_RAW_PLANE];
    bits.next = mq.next;
    bits.end = mq.end;
    bits.queue = ((uint64_t)mq.high << 32 | mq.low) << 1;
    bits.count = (uint32_t)(mq.bits + 1);
    bits.after_ff = mq.after_ff;
  }

  __device__ __forceinline__ bool next_pass()
  {
    if (pass.type == CJ2K_PASS_CLEANUP && (style & CJ2K_STYLE_SEGMARK)) {
      for (uint32_t i = 0; i < 4; i++) { /* 1010 (T.800 D.5), not checked */
        symbols.mq.decode_uniform();
        if (symbols.mq.bits < 0)
          symbols.mq.fill();
      }
    }
    if (style & CJ2K_STYLE_RESET)
      symbols.reset_contexts();
    pass.index++;
    return begin_pass();
  }

  /* ------------------------------------------------------------------------- octets --- */

  __device__ __forceinline__ void visit_octet()
  {
    visit.octet = walk.first();
    walk.octets = without_first(walk.octets);
    uint32_t stripe = shape.stripe_of(visit.octet), column = visit.octet - stripe * shape.across;
    window.hold(octets, stripe, shape);
    visit.words =
        octets + (Memory::kHasWindow ? Memory::stripe_at(stripe, shape) + Memory::kOctet * column
                                     : Memory::kOctet * visit.octet);
    visit.above = Memory::to_above(stripe, shape);
    visit.below = Memory::to_below(stripe, shape, style);
    uint32_t valid = shape.samples_at(column, stripe);
    Memory::look_around(symbols.around, visit.words, visit.above, visit.below);
    bool is_first = column == 0, is_last = column + 1 == shape.across;
    symbols.around.cut(is_first, is_last);
    visit.beside = (is_first ? 6 : 7) & (is_last ? 3 : 7);
    uint32_t significant = symbols.around.significant(), neighbours = symbols.around.near();
    visit.coded = walk.next_history.coded;
    symbols.ones = symbols.runs = visit.propagating = 0;
    if (pass.type == CJ2K_PASS_REFINEMENT)
      visit_refinement(significant, neighbours, valid);
    else if (pass.type == CJ2K_PASS_SIGNIFICANCE)
      visit_significance(significant, neighbours, valid);
    else
      visit_cleanup(significant, neighbours, valid);
    walk.load_history(pass.type);
    visit.active = 1;
  }

  __device__ __forceinline__ void visit_significance(uint32_t significant, uint32_t neighbours,
                                                     uint32_t valid)
  {
    visit.propagating = valid;
    symbols.waiting = visit.coded = neighbours & ~significant & valid;
  }

  __device__ __forceinline__ void visit_refinement(uint32_t significant, uint32_t neighbours,
                                                   uint32_t valid)
  {
    uint32_t refined = walk.next_history.refined;
    symbols.waiting = significant & ~visit.coded;
    /* Once all samples are significant no significance propagation pass comes here to replace
     * `coded`: it must be zero from then on. */
    walk.histories[visit.octet] = {significant == valid ? 0 : visit.coded,
                                   refined | symbols.waiting};
    /* The index of the table of refinement labels takes the place of the window: bit 4 says whether
     * the sample has significant neighbours, bit 6 whether it has been refined before. */
    symbols.around.own = {0, 0};
    symbols.around.above = {neighbours << 4, neighbours >> 28};
    symbols.around.below = {refined << 6, refined >> 26};
  }

  /* Whole columns without significant neighbours begin with a run-length symbol. */
  __device__ __forceinline__ void visit_cleanup(uint32_t significant, uint32_t neighbours,
                                                uint32_t valid)
  {
    symbols.waiting = ~(significant | visit.coded) & valid;
    uint32_t not_run = neighbours | ~symbols.waiting;
    not_run |= not_run >> 1;
    symbols.runs = ~(not_run | not_run >> 2) & kRow0;
    symbols.waiting &= ~(symbols.runs * kRestOfColumn);
  }

  __device__ __forceinline__ void leave_octet()
  {
    uint32_t bit = 1u << visit.octet % 32;
    if (symbols.ones) {
      atomicOr(&pass.plane[visit.octet], symbols.ones);
      if (pass.type != CJ2K_PASS_REFINEMENT) {
        set_shared_word(visit.words + kSignificant * Memory::kWord, symbols.around.significant());
        window.store(visit.octet, visit.words, symbols.around.significant());
        walk.sets.add_significant(visit.octet, walk.group, bit, symbols.ones, visit.beside, shape);
      }
    }
    if (pass.type == CJ2K_PASS_SIGNIFICANCE) {
      walk.histories[visit.octet].coded = visit.coded;
      uint32_t significant = symbols.around.significant();
      walk.leave_significance(bit, visit.propagating & ~(significant | visit.coded),
                              significant == visit.propagating);
    }
    visit.active = 0;
  }

  /* -------------------------------------------------------------------------- signs --- */

  /* Signs of the neighbours of sample `at`, in row `row`, in the places of a sign window. `own` has
   * the signs of the octet from bit 5 on, `other` has those of the octet above if the sample is in
   * row 0, below if it is in row 3. Signs of neighbours that are not significant have no effect. */
  static __device__ __forceinline__ uint32_t signs_around(const Stream &own, uint32_t other,
                                                          uint32_t at, uint32_t row)
  {
    /* N of row 0 and S of row 3 are in other stripes: bit 4 is sample at + 3, bit 6 at - 3. */
    uint32_t shift = at - (row ? 9 : 1), mask = byte_of(0x40000010, row);
    return (own.from(at) & ~mask) | (__funnelshift_r(other, other, shift) & mask);
  }

  /* Decodes the sign of `found` (T.800 D.3.2), which becomes significant. */
  __device__ __forceinline__ void decode_sign()
  {
    uint32_t sample = symbols.found, at = (uint32_t)__popc(sample - 1), row = at & 3;
    uint32_t own = visit.words + kNegative * Memory::kWord, negative = shared_word(own);
    uint32_t other = shared_word(own + (row < 2 ? visit.above : visit.below));
    set_shared_word(own, symbols.decode_sign(symbols.around.window(at) & kSignWindow,
                                             signs_around(Memory::row_at(own, 5), other, at, row),
                                             negative | sample, negative));
    symbols.found = 0;
    insert(sample, row);
  }

  /* The same for all samples of an octet in a significance propagation pass with raw bits. */
  __device__ __forceinline__ void propagate_raw()
  {
    uint32_t own = visit.words + kNegative * Memory::kWord, negative = shared_word(own);
    while (symbols.waiting) {
      bool is_negative;
      uint32_t sample = symbols.find_raw(&is_negative);
      if (!sample)
        continue;
      negative |= is_negative ? sample : 0;
      insert(sample, (uint32_t)__popc(sample - 1) & 3);
    }
    set_shared_word(own, negative);
  }

  /* `sample`, in row `row`, becomes significant. */
  __device__ __forceinline__ void insert(uint32_t sample, uint32_t row)
  {
    symbols.ones |= sample;
    symbols.around.insert(sample);
    /* In a significance propagation pass later neighbours are coded, too. In a cleanup pass the
     * column to the right has a significant neighbour now and is no run any more. */
    uint32_t more = later_neighbours(sample, row) & visit.propagating;
    more &= ~symbols.around.significant();
    uint32_t right = symbols.runs & (sample >> row) << 4;
    symbols.runs ^= right;
    visit.coded |= more;
    symbols.waiting |= more | right * kRestOfColumn;
  }
};

} // namespace
