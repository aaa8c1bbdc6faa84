// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Part 1 code-blocks (T.800 annexes C, D): a thread decodes a block. The threads of a warp are
 * anywhere in their blocks, in different passes even; what they have in common is the round: all
 * decode a few symbols, those that need bytes read some, those with a sample that has become
 * significant decode its sign, those at the end of an octet (octet.cuh) go to the next.
 *
 * State is in shared memory, interleaved by lane so that there are no bank conflicts wherever lanes
 * are. Decoded bits are put out as bit-planes, a word for an octet; a second kernel makes
 * coefficients of them.
 */
#include "octet.cuh"

#include <cstddef>

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = 3;   /* of a thread block, at most */
constexpr uint32_t kSymbols = 4; /* that a lane decodes in a round, if nothing else is to be done */

constexpr uint32_t kRunRest = 14; /* samples of a column but the first one, times that */

constexpr uint32_t kRawLabel = CJ2K_CX_COUNT, kContexts = CJ2K_CX_COUNT + 1;

/* For all warps of a block in shared memory. */
struct alignas(16) Tables {
  /* Labels by window: zero coding in LH and LL, HL, HH; refinement. A window leaves bits 3 and 7
   * free for the number of the table. */
  uint8_t labels[kWindowSize];
  uint8_t signs[kSignWindowSize]; /* by sign window */
  uint32_t states[kMqStateWords];

  static constexpr uint32_t kZeroHl = 8, kZeroHh = 128, kRefinement = 136;
};

/* make-tables.c says what labels and signs are. */
/* clang-format off */
__device__ const Tables d_tables = {
  {
#include "mq_labels.inc"
  },
  {
#include "mq_signs.inc"
  },
  {CJ2K_MQ_STATES(MQ_NEXT) MQ_RAW, MQ_RAW, MQ_RAW, MQ_RAW},
};
/* clang-format on */

/* Words of an octet in shared memory. */
enum { kSignificant, kNegative, kOctetWords };

/* Words of a block in shared memory, besides those of octets and sets: contexts, and an octet that
 * is read but means nothing. */
constexpr uint32_t kOwnWords = kContexts + kOctetWords;

/* What only the visit of an octet needs, and can be asked for before: in device memory. */
struct alignas(8) OctetPast {
  uint32_t coded;   /* in this bit-plane's significance propagation pass */
  uint32_t refined; /* before */
};

/*
 * A block being decoded. LANES lanes share a warp's memory, a lane's words are LANES apart: octets,
 * contexts, sets. WIDE: there are more than 32 octets.
 *
 * A set says which octets the passes of a type have to visit: for significance propagation those
 * with a significant sample in or around them, for refinement those with one, for cleanup those
 * with samples that are neither significant nor coded. It may have more.
 */
template <uint32_t LANES, bool WIDE> struct Block {
  static constexpr uint32_t kWord = 4 * LANES, kOctet = kOctetWords * kWord; /* bytes to the next */

  /* Addresses in shared memory. Contexts come first, so that what is read beside the first and the
   * last octet is in this lane's memory, too. */
  uint32_t contexts, memory, sets, tables;
  uint32_t style, zero_table;
  uint32_t across, stripes, num_octets, reciprocal; /* octets in a stripe; 2^16 / across, up */
  uint32_t last_columns, last_rows; /* samples that exist in the last octet of a stripe, stripe */
  uint32_t groups;                  /* of 32 octets */
  uint32_t near, some, open;        /* the sets, unless WIDE */
  uint32_t
      *signs_out; /* num_octets words, and as many for each bit-plane from the first one down */

  OctetPast *pasts;

  MqDecoder mq;
  const Cj2kSegment *segment, *segments_end;
  Cj2kSegment upcoming; /* *segment, asked for before it is needed */
  const uint8_t *data, *data_end;
  uint32_t num_passes, pass, segment_end;
  bool cut, corrupt;

  uint32_t type; /* of the pass */
  uint32_t *plane_out;
  uint32_t labels;        /* of the pass: address of a table */
  uint32_t group, octets; /* those of the group that are still to be visited */
  uint32_t visiting;      /* an octet: */
  OctetPast next_past;
  uint32_t octet, valid;
  uint32_t words; /* of the octet: their address */
  Surroundings around;
  /* Samples that the pass codes, from the present one on; all but one of these are zero. */
  uint32_t fresh;   /* nothing else is known */
  uint32_t todo;    /* what their first symbols are is known, too */
  uint32_t held;    /* a 1 has ended it: the first one becomes significant */
  uint32_t coded;   /* samples that the pass codes, all of them */
  uint32_t runs;    /* first samples of columns that begin with a run-length symbol; the others of
                       these columns are not among those above */
  uint32_t decoded; /* ones */

  /* What follows is known as long as symbols are 0, and in refinement passes always. */
  uint32_t later, after;   /* `todo` without the first sample, without the first two */
  uint32_t context, state; /* of the present symbol: its address and what is there */
  uint32_t later_label;    /* of the next one */
  uint32_t stops;          /* where a 1 ends this: all bits, none in refinement passes */

  /* A set's word for a group. */
  __device__ __forceinline__ uint32_t set_of(uint32_t of_type, uint32_t g) const
  {
    if (WIDE)
      return shared_word(sets + (of_type * groups + g) * kWord);
    return of_type == CJ2K_PASS_SIGNIFICANCE ? near : of_type == CJ2K_PASS_CLEANUP ? open : some;
  }

  __device__ __forceinline__ void clear_set(uint32_t of_type, uint32_t g, uint32_t to)
  {
    if (WIDE)
      set_shared_word(sets + (of_type * groups + g) * kWord, to);
    else if (of_type == CJ2K_PASS_SIGNIFICANCE)
      near = to;
    else if (of_type == CJ2K_PASS_CLEANUP)
      open = to;
    else
      some = to;
  }

  __device__ __forceinline__ void add_to_set(uint32_t of_type, uint32_t g, uint32_t add)
  {
    if (WIDE)
      add_shared_bits(sets + (of_type * groups + g) * kWord, add);
    else if (of_type == CJ2K_PASS_SIGNIFICANCE)
      near |= add;
    else if (of_type == CJ2K_PASS_CLEANUP)
      open |= add;
    else
      some |= add;
  }

  /* Takes the octets out of it that are not to be kept. */
  __device__ __forceinline__ void keep_of_set(uint32_t of_type, uint32_t g, uint32_t keep)
  {
    if (WIDE)
      keep_shared_bits(sets + (of_type * groups + g) * kWord, keep);
    else if (of_type == CJ2K_PASS_SIGNIFICANCE)
      near &= keep;
    else if (of_type == CJ2K_PASS_CLEANUP)
      open &= keep;
    else
      some &= keep;
  }

  /* --------------------------------------------------------------------------- start --- */

  /* Initial states (table D.7). */
  __device__ __forceinline__ void reset_contexts()
  {
    for (uint32_t i = 0; i < CJ2K_CX_COUNT; i++)
      set_shared_word(contexts + i * kWord, MQ_WORD(0, 0));
    set_shared_word(contexts + CJ2K_CX_ZERO * kWord, MQ_WORD(4, 0));
    set_shared_word(contexts + CJ2K_CX_RUN * kWord, MQ_WORD(3, 0));
    set_shared_word(contexts + kRawLabel * kWord, MQ_RAW);
  }

  __device__ __forceinline__ void start_geometry(const Cj2kCudaBlock &block)
  {
    style = block.style;
    zero_table = block.orientation == CJ2K_HL   ? Tables::kZeroHl
                 : block.orientation == CJ2K_HH ? Tables::kZeroHh
                                                : 0;
    across = (block.width + 7u) / 8;
    stripes = (block.height + 3u) / 4;
    num_octets = across * stripes;
    reciprocal = 65536 / across + 1;
    last_columns = 0xFFFFFFFFu >> 4 * (0u - block.width & 7);
    last_rows = 0xFu >> (0u - block.height & 3);
    last_rows *= kRow0;
    groups = (num_octets + 31) / 32;
    sets = memory + kOctet * num_octets;
    for (uint32_t i = 0; i < kOctetWords * num_octets; i++)
      set_shared_word(memory + i * kWord, 0);
    reset_contexts();
    for (uint32_t g = 0; g < groups; g++) {
      clear_set(CJ2K_PASS_SIGNIFICANCE, g, 0);
      clear_set(CJ2K_PASS_REFINEMENT, g, 0);
      clear_set(CJ2K_PASS_CLEANUP, g, 0xFFFFFFFFu >> (32 - min(num_octets - 32 * g, 32u)));
    }
  }

  /* Entry i of the list of MQ blocks. false: nothing to decode, maybe because it is corrupt. */
  __device__ bool start(const Cj2kCudaDecodeBlocks &frame, uint32_t i)
  {
    const Cj2kCudaBlock block = frame.blocks[frame.mq[i]];
    const Cj2kCodedBlock coded_block = frame.coded[frame.mq[i]];
    segment = frame.segments + coded_block.first_segment;
    segments_end = segment + coded_block.num_segments;
    fetch_segment();
    data = coded_block.length ? frame.data + coded_block.offset : frame.data;
    data_end = data + coded_block.length;
    num_passes = coded_block.num_passes;
    cut = false;
    pass = segment_end = visiting = fresh = todo = held = 0;
    mq.bits = 0;
    uint32_t planes = (uint32_t)block.num_bitplanes - coded_block.zero_bitplanes;
    corrupt = coded_block.zero_bitplanes >= block.num_bitplanes || num_passes > 3 * planes - 2;
    if (corrupt)
      return false;
    start_geometry(block);
    pasts = reinterpret_cast<OctetPast *>(frame.mq_planes + frame.mq_offsets[i]);
    signs_out = reinterpret_cast<uint32_t *>(pasts + num_octets);
    return begin_pass();
  }

  /* Signs, once all is decoded. */
  __device__ __forceinline__ void finish()
  {
    for (uint32_t i = 0; i < num_octets; i++)
      signs_out[i] = shared_word(memory + kOctet * i + kNegative * kWord);
  }

  /* ------------------------------------------------------------------------- passes --- */

  __device__ __forceinline__ void fetch_segment()
  {
    if (segment != segments_end)
      upcoming = *segment;
  }

  /* The codeword segment of passes [pass, segment_end), as one entry or several (contributions of
   * different layers). false: a segment ends where none can. */
  __device__ __forceinline__ bool start_segment()
  {
    const uint8_t *from = data;
    uint64_t length = 0;
    for (uint32_t at_pass = pass; at_pass < segment_end;) {
      if (segment == segments_end || upcoming.passes > segment_end - at_pass)
        return false;
      at_pass += upcoming.passes;
      length += upcoming.length;
      segment++;
      fetch_segment();
    }
    uint64_t left_over = (uint64_t)(data_end - data);
    cut = length > left_over;
    data += cut ? left_over : length;
    mq.start(from, data, cj2k_pass_is_raw(pass, (uint8_t)style));
    if (cut) /* else it is filled with those of other lanes */
      mq.fill();
    return true;
  }

  /* false: there is none that can be decoded. */
  __device__ __forceinline__ bool begin_pass()
  {
    if (pass >= num_passes)
      return false;
    if (pass == segment_end) {
      if (cut)
        return false;
      while (segment_end < num_passes && !cj2k_pass_ends_segment(segment_end, (uint8_t)style))
        segment_end++;
      segment_end += segment_end < num_passes;
      corrupt = !start_segment();
      if (corrupt)
        return false;
    }
    /* What decodes from made-up bits is noise: a cut segment ends there. */
    if (cut && mq.made_up())
      return false;
    type = cj2k_pass_type(pass);
    plane_out = signs_out + (1 + cj2k_pass_depth(pass)) * num_octets;
    bool refinement = type == CJ2K_PASS_REFINEMENT;
    stops = refinement ? 0 : ~0u;
    labels = tables + (refinement ? Tables::kRefinement : zero_table);
    group = 0;
    octets = set_of(type, 0);
    fetch_past();
    return true;
  }

  __device__ __forceinline__ bool next_pass()
  {
    if (type == CJ2K_PASS_CLEANUP && (style & CJ2K_STYLE_SEGMARK)) {
      for (uint32_t i = 0; i < 4; i++) { /* D.5: 1010; errors are not acted upon */
        mq.decode_uniform();
        if (mq.bits < 0)
          mq.fill();
      }
    }
    if (style & CJ2K_STYLE_RESET)
      reset_contexts();
    pass++;
    return begin_pass();
  }

  /* ------------------------------------------------------------------------- octets --- */

  /* A word of the octet at `at` and of its neighbours to the left and right, which are read also
   * where there are none. */
  __device__ __forceinline__ Stream row_at(uint32_t at, uint32_t place) const
  {
    Stream stream;
    stream.set(shared_word(at - kOctet), shared_word(at), shared_word(at + kOctet), place);
    return stream;
  }

  __device__ __forceinline__ void look_around(uint32_t column, uint32_t stripe)
  {
    bool up = stripe > 0, down = stripe + 1 < stripes && !(style & CJ2K_STYLE_CAUSAL);
    uint32_t above = words - (up ? kOctet * across : 0);
    uint32_t below = words + (down ? kOctet * across : 0);
    around.own = row_at(words, 5);
    around.above = around.own.replaced(kRow0, row_at(above, 1), up ? kRow0 : 0);
    around.below = around.own.replaced(kRow0 << 1, row_at(below, 9), down ? kRow0 << 1 : 0);
    if (column == 0)
      around.cut_left();
    if (column + 1 == across)
      around.cut_right();
  }

  /* Of the octet that will be visited next. */
  __device__ __forceinline__ void fetch_past()
  {
    if (octets && type != CJ2K_PASS_SIGNIFICANCE)
      next_past = pasts[32 * group + (uint32_t)__ffs((int32_t)octets) - 1];
  }

  __device__ __forceinline__ void visit_refinement(uint32_t significant, uint32_t neighbours)
  {
    uint32_t refined = next_past.refined;
    fresh = significant & ~coded;
    /* when all is significant no significance propagation pass comes here again */
    pasts[octet] = {significant == valid ? 0 : coded, refined | fresh};
    if (mq.is_raw && fresh) {
      uint32_t count = (uint32_t)__popc(fresh);
      decoded = spread(mq.take_raw(count), count, fresh);
      fresh = 0;
    }
    /* for the table of labels */
    around.own = {0, 0};
    around.above = {neighbours << 4, neighbours >> 28};
    around.below = {refined << 6, refined >> 26};
  }

  __device__ __forceinline__ void visit_octet()
  {
    octet = 32 * group + (uint32_t)__ffs((int32_t)octets) - 1;
    octets &= octets - 1;
    uint32_t stripe = octet * reciprocal >> 16, column = octet - stripe * across;
    words = memory + kOctet * octet;
    valid = (column + 1 == across ? last_columns : 0xFFFFFFFFu) &
            (stripe + 1 == stripes ? last_rows : 0xFFFFFFFFu);
    look_around(column, stripe);
    uint32_t significant = around.significant(), neighbours = around.near();
    coded = next_past.coded;
    decoded = runs = 0;
    if (type == CJ2K_PASS_REFINEMENT) {
      visit_refinement(significant, neighbours);
    } else if (type == CJ2K_PASS_SIGNIFICANCE) {
      fresh = coded = neighbours & ~significant & valid;
    } else {
      fresh = ~(significant | coded) & valid;
      /* whole columns with nothing around them */
      uint32_t not_run = neighbours | ~fresh;
      not_run |= not_run >> 1;
      runs = ~(not_run | not_run >> 2) & kRow0;
      fresh &= ~(runs * kRunRest);
    }
    fetch_past();
    visiting = 1;
  }

  /* Octets `three` << (at - 1) belong to the significance propagation passes to come. */
  __device__ __forceinline__ void mark_near(uint32_t at, uint32_t three)
  {
    uint32_t g = at / 32, shift = at % 32;
    three &= at + 1 < num_octets ? 7 : 3;
    add_to_set(CJ2K_PASS_SIGNIFICANCE, g, shift ? three << (shift - 1) : three >> 1);
    if (shift == 0 && at && (three & 1))
      add_to_set(CJ2K_PASS_SIGNIFICANCE, g - 1, 1u << 31);
    if (shift == 31 && (three & 4))
      add_to_set(CJ2K_PASS_SIGNIFICANCE, g + 1, 1);
  }

  /* Samples of the octet have become significant. */
  __device__ __forceinline__ void put_significance(uint32_t bit)
  {
    set_shared_word(words + kSignificant * kWord, around.significant());
    bool left = decoded & 0xF, right = decoded >> 28, up = decoded & kRow0, down = decoded & kRow3;
    if (WIDE) {
      uint32_t three = 2u | left | (uint32_t)right << 2;
      mark_near(octet, three);
      if (up && octet >= across)
        mark_near(octet - across, three);
      if (down && octet + across < num_octets)
        mark_near(octet + across, three);
      add_to_set(CJ2K_PASS_REFINEMENT, group, bit);
    } else {
      uint32_t row = bit | (left ? bit >> 1 : 0) | (right ? bit << 1 : 0);
      row |= (up ? row >> across % 32 : 0) | (down ? row << across % 32 : 0);
      near |= row & 0xFFFFFFFFu >> (32 - num_octets);
      some |= bit;
    }
  }

  __device__ __forceinline__ void leave_octet()
  {
    uint32_t bit = 1u << octet % 32;
    if (decoded) {
      atomicOr(&plane_out[octet], decoded);
      if (type != CJ2K_PASS_REFINEMENT)
        put_significance(bit);
    }
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      pasts[octet].coded = coded;
      uint32_t significant = around.significant();
      bool rest = valid & ~(significant | coded), full = significant == valid;
      add_to_set(CJ2K_PASS_CLEANUP, group, rest ? bit : 0);
      keep_of_set(CJ2K_PASS_CLEANUP, group, rest ? 0xFFFFFFFFu : ~bit);
      octets |= set_of(CJ2K_PASS_SIGNIFICANCE, group) & (0 - 2 * bit);
      keep_of_set(CJ2K_PASS_SIGNIFICANCE, group, full ? ~bit : 0xFFFFFFFFu);
    }
    visiting = 0;
  }

  /* The next group that has something to do; false: the pass ends. */
  __device__ __forceinline__ bool next_group()
  {
    while (WIDE && octets == 0 && ++group < groups) {
      octets = set_of(type, group);
      fetch_past();
    }
    return octets != 0;
  }

  /* A step towards the next symbol; false: the block is done. */
  __device__ __forceinline__ bool advance()
  {
    if (visiting)
      leave_octet();
    if (!next_group())
      return next_pass();
    visit_octet();
    return true;
  }

  /* ------------------------------------------------------------------------ symbols --- */

  static __device__ __forceinline__ uint32_t without_first(uint32_t from)
  {
    return from & (from - 1);
  }

  /* Of the first sample of `from`; `rest` is what comes after it. */
  __device__ __forceinline__ uint32_t label_of_first(uint32_t from, uint32_t rest) const
  {
    uint32_t at = (uint32_t)__popc(~from & (from - 1));
    uint32_t label = shared_byte(labels + around.window(at));
    return runs & from & ~rest ? (uint32_t)CJ2K_CX_RUN : label;
  }

  /* What the first two symbols are: to find out takes longer than to decode one. */
  __device__ __forceinline__ void look_up()
  {
    todo = fresh;
    fresh = 0;
    later = without_first(todo);
    after = without_first(later);
    context = contexts + label_of_first(todo, later) * kWord;
    later_label = label_of_first(later, after);
    state = shared_word(context);
  }

  /* Decodes a symbol, but no signs. Meanwhile the next one's context is read, and the label of the
   * one after it. */
  __device__ __forceinline__ void decode_symbol()
  {
    uint32_t next_context = contexts + later_label * kWord;
    uint32_t next_state = shared_word(next_context);
    uint32_t changed;
    uint32_t ones =
        mq.decode(state, tables + (uint32_t)offsetof(Tables, states), changed) ? ~0u : 0;
    uint32_t rest = without_first(after);
    later_label = label_of_first(after, rest);
    set_shared_word(context, changed);
    state = next_context == context ? changed : next_state;
    context = next_context;
    decoded |= ones & ~stops & (todo ^ later);
    held = ones & stops & todo;
    todo = later & ~(ones & stops);
    later = after;
    after = rest;
  }

  /* A few symbols, or `all` until something else is to be done. */
  __device__ __forceinline__ void decode_symbols(bool all)
  {
    do {
#pragma unroll
      for (uint32_t n = 0; n < kSymbols; n++) {
        if (!todo || mq.bits < 0)
          return;
        decode_symbol();
      }
    } while (all);
  }

  /* Raw bits of samples, up to one that becomes significant: the zeros before it at once. */
  __device__ __forceinline__ void decode_raw()
  {
    uint32_t there = min((uint32_t)(mq.bits + 1), 31u), zeros = mq.raw_zeros(there), count = 0;
    while (count < zeros && fresh) {
      fresh &= fresh - 1;
      count++;
    }
    bool one = fresh && zeros < there;
    mq.skip_raw(count + one);
    held = one ? fresh : 0;
    fresh = one ? 0 : fresh;
  }

  /* The column is no run (D.3.4): goes on to the sample that ends it. */
  __device__ __forceinline__ void end_run()
  {
    uint32_t first = held & (0 - held), row = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 2; i++) {
      row = 2 * row + mq.decode_uniform();
      if (mq.bits < 0)
        mq.fill();
    }
    runs ^= first;
    held = (held ^ first) | ((first << 4) - (first << row));
  }

  /* D.3.2. */
  __device__ __forceinline__ void decode_sign()
  {
    if (runs & held & (0 - held))
      end_run();
    uint32_t at = (uint32_t)__ffs((int32_t)held) - 1, row = at & 3, sample = held & (0 - held);
    uint32_t own = words + kNegative * kWord, index = around.window(at) & kSignWindow;
    uint32_t negative = shared_word(own);
    Stream stream = row_at(own, 5); /* of samples that are not significant signs do not matter */
    uint32_t signs = stream.from(at);
    if ((row == 0 && octet >= across) || (row == 3 && octet + across < num_octets)) {
      /* row 3 of the stripe above is N, row 0 of the one below S */
      uint32_t other = shared_word(own + (row ? kOctet * across : 0 - kOctet * across));
      uint32_t place = row ? 64 : 16;
      bool is_negative = other & (row ? sample >> 3 : sample << 3);
      signs = (signs & ~place) | (is_negative ? place : 0);
    }
    uint32_t entry = mq.is_raw ? kRawLabel
                               : shared_byte(tables + (uint32_t)offsetof(Tables, signs) +
                                             (index | (signs & kSignWindow) >> 1));
    bool bit =
        mq.decode_at(contexts + (entry & 31) * kWord, tables + (uint32_t)offsetof(Tables, states));
    if (bit != (entry >> 7 != 0))
      set_shared_word(own, negative | sample);
    decoded |= sample;
    around.insert(at);
    fresh = held ^ sample;
    held = 0;
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      uint32_t more = later_neighbours(at) & valid & ~around.significant();
      fresh |= more;
      coded |= more;
    } else {
      uint32_t right = runs & 16u << (at & ~3u); /* the column to the right is none */
      runs ^= right;
      fresh |= right * kRunRest;
    }
  }
};

template <uint32_t LANES, bool WIDE>
__global__ void __launch_bounds__(kWarps *kWarp, 6) decode_kernel(Cj2kCudaDecodeBlocks frame)
{
  extern __shared__ uint4 shared[];
  for (uint32_t i = threadIdx.x; i < sizeof(Tables) / sizeof(uint4); i += blockDim.x)
    shared[i] = reinterpret_cast<const uint4 *>(&d_tables)[i];
  __syncthreads();

  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t number = blockIdx.x * (blockDim.x / kWarp) + warp, i = 0;
  bool there = false;
  if (number < frame.num_mq_warps) {
    i = frame.mq_warps[number] + lane;
    there = i < frame.mq_warps[number + 1];
  }
  Block<LANES, WIDE> block;
  block.tables = (uint32_t)__cvta_generic_to_shared(shared);
  block.contexts = block.tables + (uint32_t)sizeof(Tables) +
                   4 * (warp * LANES * (kOwnWords + frame.mq_words) + lane);
  asm volatile("" : "+r"(block.tables), "+r"(block.contexts)); /* not to be computed again */
  block.memory = block.contexts + kContexts * Block<LANES, WIDE>::kWord;
  block.corrupt = false;
  block.pass = block.fresh = block.todo = block.held = block.mq.bits = block.mq.is_raw = 0;
  bool alive = there && block.start(frame, i);
  bool lone =
      number < frame.num_mq_warps && frame.mq_warps[number + 1] - frame.mq_warps[number] == 1;
  while (__any_sync(0xFFFFFFFFu, alive)) {
    if (alive && !(block.fresh | block.todo | block.held) &&
        block.mq.bits + (int32_t)block.mq.is_raw >= 0)
      alive = block.advance();
    __syncwarp();
    if (block.fresh) {
      if (block.mq.is_raw)
        block.decode_raw();
      else
        block.look_up();
    }
    __syncwarp();
    if (block.todo)
      block.decode_symbols(lone);
    __syncwarp();
    if (alive && block.mq.bits < 0)
      block.mq.fill();
    __syncwarp();
    if (block.held)
      block.decode_sign();
    __syncwarp();
  }
  if (there) {
    if (block.pass)
      block.finish();
    frame.mq_passes[i] = block.corrupt ? 0 : block.pass;
    if (block.corrupt) {
      frame.corrupt_flags[frame.mq[i]] = 1;
      atomicAdd_system(frame.corrupt, 1u);
    }
  }
}

/* ------------------------------------------------------------------------- finish --- */

constexpr uint32_t kFinishThreads = 128;

/* What the bit-planes down to `lowest` say, without the planes below: half units. */
__device__ __forceinline__ uint32_t half_units(uint32_t value, uint32_t lowest, bool refined)
{
  if (!refined &&
      value > 1) { /* this plane has only been decoded of those that it made significant */
    value >>= 1;
    lowest++;
  }
  return value ? (2 * value + 1) << lowest : 0;
}

/* A warp makes four rows of up to 32 columns at a time. */
__global__ void __launch_bounds__(kFinishThreads) finish_kernel(Cj2kCudaDecodeBlocks frame)
{
  uint32_t index = frame.mq[blockIdx.x], passes = frame.mq_passes[blockIdx.x];
  const Cj2kCudaBlock block = frame.blocks[index];
  uint32_t *out = static_cast<uint32_t *>(frame.coefficients) + block.offset;
  uint32_t across = (block.width + 7) / 8, num_octets = across * ((block.height + 3) / 4);
  const uint32_t *from = frame.mq_planes + frame.mq_offsets[blockIdx.x] + 2 * num_octets;
  uint32_t planes = (uint32_t)block.num_bitplanes - frame.coded[index].zero_bitplanes;
  uint32_t depth = passes ? cj2k_pass_depth(passes - 1) : 0;
  bool refined = !passes || cj2k_pass_type(passes - 1) != CJ2K_PASS_SIGNIFICANCE;
  uint32_t pieces = (block.width + kWarp - 1) / kWarp, stripes = (block.height + 3) / 4;
  for (uint32_t i = threadIdx.x / kWarp; i < pieces * stripes; i += kFinishThreads / kWarp) {
    uint32_t y = i / pieces * 4, x = i % pieces * kWarp + threadIdx.x % kWarp;
    if (x >= block.width)
      continue;
    uint32_t value[4] = {0, 0, 0, 0}, signs = 0, shift = x % 8 * 4;
    if (passes) {
      const uint32_t *word = from + y / 4 * across + x / 8;
      for (uint32_t d = 0; d <= depth; d++) {
        uint32_t bits = word[(1 + d) * num_octets] >> shift;
        for (uint32_t r = 0; r < 4; r++)
          value[r] = 2 * value[r] + (bits >> r & 1);
      }
      signs = word[0] >> shift;
    }
    for (uint32_t r = 0; r < 4 && y + r < block.height; r++) {
      uint32_t magnitude = half_units(value[r], planes - 1 - depth, refined);
      out[(size_t)(y + r) * block.stride + x] =
          magnitude ? reconstruct(magnitude, signs >> r & 1, block) : 0;
    }
  }
}

/* ------------------------------------------------------------------------- launch --- */

uint32_t shared_bytes(const Cj2kCudaDecodeBlocks &frame, uint32_t lanes, uint32_t warps)
{
  return (uint32_t)sizeof(Tables) +
         warps * lanes * (kOwnWords + frame.mq_words) * (uint32_t)sizeof(uint32_t);
}

template <uint32_t LANES, bool WIDE>
cudaError_t launch(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess)
    return error;
  uint32_t warps = kWarps;
  while (warps > 1 && shared_bytes(frame, LANES, warps) > (uint32_t)most)
    warps--;
  uint32_t bytes = shared_bytes(frame, LANES, warps);
  auto kernel = decode_kernel<LANES, WIDE>;
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (error != cudaSuccess)
    return error;
  kernel<<<(frame.num_mq_warps + warps - 1) / warps, warps * kWarp, bytes, stream>>>(frame);
  return cudaGetLastError();
}

template <uint32_t LANES>
cudaError_t launch_lanes(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  return frame.mq_octets > 32 ? launch<LANES, true>(frame, stream)
                              : launch<LANES, false>(frame, stream);
}

} // namespace

cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  if (frame->num_mq == 0)
    return cudaSuccess;
  cudaError_t error = cudaMemsetAsync(frame->mq_planes, 0,
                                      frame->mq_plane_words * sizeof *frame->mq_planes, stream);
  uint32_t lanes = frame->mq_lanes;
  if (error == cudaSuccess)
    error = lanes == 32   ? launch_lanes<32>(*frame, stream)
            : lanes == 16 ? launch_lanes<16>(*frame, stream)
            : lanes == 8  ? launch_lanes<8>(*frame, stream)
                          : launch_lanes<4>(*frame, stream);
  if (error != cudaSuccess)
    return error;
  finish_kernel<<<frame->num_mq, kFinishThreads, 0, stream>>>(*frame);
  return cudaGetLastError();
}
