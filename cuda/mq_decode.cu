// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Part 1 code-blocks (T.800 annexes C, D): a thread decodes a block. The threads of a warp are
 * anywhere in their blocks, in different passes even; what they have in common is the round: all
 * decode a few symbols, those that need bytes read some, those with a sample that has become
 * significant decode its sign, those at the end of an octet (mq_octet.cuh) go to the next.
 *
 * State is in shared memory, interleaved by lane so that there are no bank conflicts wherever lanes
 * are. Decoded bits are put out as bit-planes, a word for an octet; a second kernel makes
 * coefficients of them.
 */
#include "mq_octet.cuh"

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = 4;   /* of a thread block, at most */
constexpr uint32_t kSymbols = 4; /* that a lane decodes in a round, if nothing else is to be done */
constexpr uint32_t kMaxLanes = 32, kMinLanes = 4; /* of a warp that decode */
constexpr uint32_t kBytesPerLane = 2 << 20;       /* of all frames in flight */
constexpr uint32_t kWarpShared = 40 * 1024;       /* at most, so that there are several warps */

__device__ const uint32_t d_states[kMqStateWords] = {CJ2K_MQ_STATES(MQ_NEXT)}; /* cj2k_mq_next */
__device__ const uint8_t d_zero_contexts[3][512] = {{CJ2K_TABLE_512(CJ2K_CX_ZERO_LH)},
                                                    {CJ2K_TABLE_512(CJ2K_CX_ZERO_HL)},
                                                    {CJ2K_TABLE_512(CJ2K_CX_ZERO_HH)}};
__device__ const uint8_t d_sign_contexts[256] = {CJ2K_TABLE_256(CJ2K_CX_SIGN_ENTRY, 0)};

/* In shared memory, for all warps of a block. */
struct Tables {
  /* Labels by window: zero coding in LH and LL, HL, HH; refinement. A window leaves bits 3 and 7
   * free for the number of the table. */
  uint8_t labels[kWindowSize];
  uint8_t signs[kSignWindowSize]; /* by sign window */
  uint32_t states[kMqStateWords];

  static constexpr uint32_t kZeroHl = 8, kZeroHh = 128, kRefinement = 136;

  __device__ static uint8_t label(uint32_t window, uint32_t table)
  {
    /* in refinement bit 4 says that there are significant neighbours, bit 6 that the sample has
     * been refined before */
    if (table == kRefinement)
      return (uint8_t)(CJ2K_CX_MAG + (window & 64 ? 2 : window >> 4 & 1));
    return d_zero_contexts[table == kZeroHh ? 2 : table == kZeroHl][standard_window(window)];
  }

  __device__ void fill(uint32_t thread, uint32_t num_threads)
  {
    for (uint32_t i = thread; i < kWindowSize; i += num_threads)
      labels[i] = label(i & kWindow, i & ~kWindow & 136);
    for (uint32_t i = thread; i < kSignWindowSize; i += num_threads)
      signs[i] = d_sign_contexts[sign_index(i)];
    for (uint32_t i = thread; i < kMqStateWords; i += num_threads)
      states[i] = d_states[i];
  }
};

/* Sets of octets, one for each type of pass, that are to be visited: with a significant sample in
 * or around them; with a significant sample; with samples that the cleanup pass codes. A superset
 * will do. */
enum { kNear = CJ2K_PASS_SIGNIFICANCE, kSome = CJ2K_PASS_REFINEMENT, kOpen = CJ2K_PASS_CLEANUP };

/* Words of an octet. */
enum { kSignificant, kNegative, kCoded, kRefined, kOctetWords };

/*
 * A block being decoded. LANES lanes share a warp's memory, a lane's words are LANES apart:
 * contexts, the three sets, octets. WIDE: there are more than 32 octets.
 */
template <uint32_t LANES, bool WIDE> struct Block {
  uint32_t *memory;
  const Tables *tables;
  uint32_t width, height, style, zero_table;
  uint32_t across, stripes, num_octets, reciprocal; /* octets in a stripe */
  uint32_t groups;                                  /* of 32 octets */
  uint32_t
      *signs_out; /* num_octets words, and as many for each bit-plane from the first one down */

  MqDecoder mq;
  const Cj2kSegment *segment, *segments_end;
  const uint8_t *data, *data_end;
  uint32_t num_passes, pass, segment_end;
  bool cut, corrupt;

  uint32_t type; /* of the pass */
  uint32_t *plane_out;
  uint32_t group, octets; /* those of the group that are still to be visited */
  bool visiting;          /* an octet: */
  uint32_t octet, column, stripe, valid;
  Surroundings around;
  const uint8_t *labels;
  uint32_t todo;    /* samples that the pass codes, from the present one on */
  uint32_t coded;   /* all of them */
  uint32_t runs;    /* first samples of columns that begin with a run-length symbol */
  uint32_t decoded; /* ones */
  uint32_t rows;    /* bits to come of a row number after such a symbol */
  bool sign;        /* the next symbol is the sign of the present sample */
  uint32_t window;

  __device__ __forceinline__ uint32_t &set_of(uint32_t which, uint32_t g)
  {
    return memory[(CJ2K_CX_COUNT + (WIDE ? which * groups + g : which)) * LANES];
  }

  __device__ __forceinline__ uint32_t *words(uint32_t i)
  {
    return memory + (CJ2K_CX_COUNT + 3 * (WIDE ? groups : 1) + kOctetWords * i) * LANES;
  }

  /* --------------------------------------------------------------------------- start --- */

  /* Initial states (table D.7). */
  __device__ __forceinline__ void reset_contexts()
  {
    for (uint32_t i = 0; i < CJ2K_CX_COUNT; i++)
      memory[i * LANES] = MQ_WORD(0, 0);
    memory[CJ2K_CX_ZERO * LANES] = MQ_WORD(4, 0);
    memory[CJ2K_CX_RUN * LANES] = MQ_WORD(3, 0);
    memory[CJ2K_CX_UNI * LANES] = MQ_WORD(46, 0);
  }

  __device__ __forceinline__ void start_geometry(const Cj2kCudaBlock &block)
  {
    width = block.width;
    height = block.height;
    style = block.style;
    zero_table = block.orientation == CJ2K_HL   ? Tables::kZeroHl
                 : block.orientation == CJ2K_HH ? Tables::kZeroHh
                                                : 0;
    across = (width + 7) / 8;
    stripes = (height + 3) / 4;
    num_octets = across * stripes;
    reciprocal = 65536 / across + 1;
    groups = (num_octets + 31) / 32;
    reset_contexts();
    for (uint32_t g = 0; g < groups; g++) {
      set_of(kNear, g) = set_of(kSome, g) = 0;
      set_of(kOpen, g) = 0xFFFFFFFFu >> (32 - min(num_octets - 32 * g, 32u));
    }
    for (uint32_t i = 0; i < kOctetWords * num_octets; i++)
      words(0)[i * LANES] = 0;
  }

  /* Entry i of the list of MQ blocks. false: nothing to decode, maybe because it is corrupt. */
  __device__ bool start(const Cj2kCudaDecodeBlocks &frame, uint32_t i)
  {
    const Cj2kCudaBlock block = frame.blocks[frame.mq[i]];
    const Cj2kCodedBlock coded_block = frame.coded[frame.mq[i]];
    segment = frame.segments + coded_block.first_segment;
    segments_end = segment + coded_block.num_segments;
    data = coded_block.length ? frame.data + coded_block.offset : frame.data;
    data_end = data + coded_block.length;
    num_passes = coded_block.num_passes;
    cut = visiting = sign = false;
    pass = segment_end = todo = rows = 0;
    mq.bits = 0;
    uint32_t planes = (uint32_t)block.num_bitplanes - coded_block.zero_bitplanes;
    corrupt = coded_block.zero_bitplanes >= block.num_bitplanes || num_passes > 3 * planes - 2;
    if (corrupt)
      return false;
    signs_out = frame.mq_planes + frame.mq_offsets[i];
    start_geometry(block);
    return begin_pass();
  }

  /* ------------------------------------------------------------------------- passes --- */

  /* The codeword segment of passes [pass, segment_end), as one entry or several (contributions of
   * different layers). false: a segment ends where none can. */
  __device__ __forceinline__ bool start_segment()
  {
    const uint8_t *from = data;
    uint64_t length = 0;
    for (uint32_t at_pass = pass; at_pass < segment_end;) {
      if (segment == segments_end || segment->passes > segment_end - at_pass)
        return false;
      at_pass += segment->passes;
      length += segment->length;
      segment++;
    }
    uint64_t left_over = (uint64_t)(data_end - data);
    cut = length > left_over;
    data += cut ? left_over : length;
    mq.start(from, data, cj2k_pass_is_raw(pass, (uint8_t)style));
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
    labels = tables->labels + (type == CJ2K_PASS_REFINEMENT ? Tables::kRefinement : zero_table);
    group = 0;
    octets = set_of(type, 0);
    return true;
  }

  __device__ __forceinline__ bool next_pass()
  {
    if (type == CJ2K_PASS_CLEANUP && (style & CJ2K_STYLE_SEGMARK)) {
      for (uint32_t i = 0; i < 4; i++) { /* D.5: 1010; errors are not acted upon */
        mq.decode(&memory[CJ2K_CX_UNI * LANES], tables->states);
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

  __device__ __forceinline__ uint32_t valid_samples() const
  {
    uint32_t columns = width - 8 * column, lines = height - 4 * stripe;
    uint32_t all = columns < 8 ? (1u << 4 * columns) - 1 : 0xFFFFFFFFu;
    return lines < 4 ? all & kRow0 * ((1u << lines) - 1) : all;
  }

  __device__ __forceinline__ void look_around(const uint32_t *own)
  {
    constexpr int32_t kNext = kOctetWords * LANES;
    bool left = column > 0, right = column + 1 < across;
    bool up = stripe > 0, down = stripe + 1 < stripes && !(style & CJ2K_STYLE_CAUSAL);
    around.own.set(left ? own[-kNext] : 0, own[0], right ? own[kNext] : 0, 5);
    const uint32_t *other = own - kNext * (int32_t)across;
    Stream stream;
    stream.set(up && left ? other[-kNext] : 0, up ? other[0] : 0, up && right ? other[kNext] : 0,
               1);
    around.above = around.own.replaced(stream, kRow0);
    other = own + kNext * (int32_t)across;
    stream.set(down && left ? other[-kNext] : 0, down ? other[0] : 0,
               down && right ? other[kNext] : 0, 9);
    around.below = around.own.replaced(stream, kRow0 << 1);
  }

  __device__ __forceinline__ void visit_refinement(uint32_t *own, uint32_t significant,
                                                   uint32_t near)
  {
    uint32_t refined = own[kRefined * LANES];
    todo = significant & ~coded;
    own[kRefined * LANES] = refined | todo;
    if (significant == valid) /* no significance propagation pass comes here again */
      own[kCoded * LANES] = 0;
    if (mq.is_raw && todo) {
      uint32_t count = (uint32_t)__popc(todo);
      decoded = spread(mq.take_raw(count), count, todo);
      todo = 0;
    }
    /* for the table of labels */
    around.own = {0, 0};
    around.above = {near << 4, near >> 28};
    around.below = {refined << 6, refined >> 26};
  }

  __device__ __forceinline__ void visit_octet()
  {
    uint32_t i = (uint32_t)__ffs((int32_t)octets) - 1;
    octets &= octets - 1;
    octet = 32 * group + i;
    stripe = octet * reciprocal >> 16;
    column = octet - stripe * across;
    valid = valid_samples();
    uint32_t *own = words(octet);
    look_around(own);
    uint32_t significant = around.significant(), near = around.near();
    coded = own[kCoded * LANES];
    decoded = runs = 0;
    if (type == CJ2K_PASS_REFINEMENT) {
      visit_refinement(own, significant, near);
    } else if (type == CJ2K_PASS_SIGNIFICANCE) {
      todo = coded = near & ~significant & valid;
    } else {
      todo = ~(significant | coded) & valid;
      /* whole columns with nothing around them */
      uint32_t not_run = near | ~todo;
      not_run |= not_run >> 1;
      runs = ~(not_run | not_run >> 2) & kRow0;
    }
    visiting = true;
  }

  /* Octets `three` << (at - 1) belong to the significance propagation passes to come. */
  __device__ __forceinline__ void mark_near(uint32_t at, uint32_t three)
  {
    if (WIDE) {
      uint32_t g = at / 32, shift = at % 32;
      set_of(kNear, g) |= shift ? three << (shift - 1) : three >> 1;
      if (shift == 0 && (three & 1))
        set_of(kNear, g - 1) |= 1u << 31;
      if (shift == 31 && (three & 4))
        set_of(kNear, g + 1) |= 1;
    } else {
      set_of(kNear, 0) |= at ? three << (at - 1) : three >> 1;
    }
  }

  /* Samples of the octet have become significant. */
  __device__ __forceinline__ void put_significance(uint32_t *own)
  {
    own[kSignificant * LANES] = around.significant();
    signs_out[octet] = own[kNegative * LANES];
    uint32_t three = 2;
    if (column > 0 && (decoded & 0xF))
      three |= 1;
    if (column + 1 < across && decoded >> 28)
      three |= 4;
    mark_near(octet, three);
    if (stripe > 0 && (decoded & kRow0) && !(style & CJ2K_STYLE_CAUSAL))
      mark_near(octet - across, three);
    if (stripe + 1 < stripes && (decoded & kRow3))
      mark_near(octet + across, three);
    set_of(kSome, group) |= 1u << octet % 32;
  }

  __device__ __forceinline__ void leave_octet()
  {
    uint32_t *own = words(octet), bit = 1u << octet % 32;
    if (decoded) {
      atomicOr(&plane_out[octet], decoded);
      if (type != CJ2K_PASS_REFINEMENT)
        put_significance(own);
    }
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      own[kCoded * LANES] = coded;
      uint32_t significant = around.significant(), open = set_of(kOpen, group);
      set_of(kOpen, group) = valid & ~(significant | coded) ? open | bit : open & ~bit;
      uint32_t near = set_of(kNear, group);
      octets |= near & (0 - 2 * bit);
      if (significant == valid)
        set_of(kNear, group) = near & ~bit;
    }
    visiting = false;
  }

  /* The next group that has something to do; false: the pass ends. */
  __device__ __forceinline__ bool next_group()
  {
    while (WIDE && octets == 0 && ++group < groups)
      octets = set_of(type, group);
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

  /* Decodes a symbol, but no signs. */
  __device__ __forceinline__ void decode_symbol()
  {
    uint32_t at = (uint32_t)__ffs((int32_t)todo) - 1;
    window = around.window(at);
    uint32_t label = labels[window];
    bool run = runs >> at & 1, row = rows > 0;
    label = run ? CJ2K_CX_RUN : label;
    label = row ? CJ2K_CX_UNI : label;
    uint32_t bit = mq.decode(&memory[label * LANES], tables->states), done = 1;
    if (row) {
      done = bit ? 2 * rows - 1 : 0; /* samples that are skipped */
      sign = --rows == 0;
    } else if (run) {
      done = bit ? 0 : 15;
      rows = 2 * bit;
    } else if (type == CJ2K_PASS_REFINEMENT) {
      decoded |= bit << at;
    } else {
      done = !bit;
      sign = bit;
    }
    todo &= ~(done << at);
  }

  /* D.3.2. */
  __device__ __forceinline__ void decode_sign()
  {
    constexpr int32_t kNext = kOctetWords * LANES;
    uint32_t at = (uint32_t)__ffs((int32_t)todo) - 1, row = at & 3;
    uint32_t *own = words(octet) + kNegative * LANES;
    uint32_t negative = *own, index = window & kSignWindow;
    if (index) { /* signs of samples that are not significant do not matter */
      Stream stream;
      stream.set(own[column > 0 ? -kNext : 0], negative, own[column + 1 < across ? kNext : 0], 5);
      uint32_t signs = stream.from(at);
      int32_t beside = row == 0 && stripe > 0             ? -(int32_t)across
                       : row == 3 && stripe + 1 < stripes ? (int32_t)across
                                                          : 0;
      uint32_t other = own[kNext * beside];
      if (row == 0)
        signs = (signs & ~16u) | (other >> at >> 3 & 1) << 4;
      if (row == 3)
        signs = (signs & ~64u) | (other << 3 >> at & 1) << 6;
      index |= (signs & kSignWindow) >> 1;
    }
    uint32_t entry = tables->signs[index];
    uint32_t bit = mq.decode(&memory[(entry & 15) * LANES], tables->states);
    bit ^= mq.is_raw ? 0 : entry >> 7;
    *own = negative | bit << at;
    decoded |= 1u << at;
    around.insert(at);
    todo &= todo - 1;
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      uint32_t more = later_neighbours(at) & valid & ~around.significant();
      todo |= more;
      coded |= more;
    } else {
      runs &= ~(1u << (at & ~3u) << 4);
    }
    sign = false;
  }
};

template <uint32_t LANES, bool WIDE>
__global__ void __launch_bounds__(kWarps *kWarp) decode_kernel(Cj2kCudaDecodeBlocks frame)
{
  extern __shared__ uint32_t shared[];
  Tables *tables = reinterpret_cast<Tables *>(shared);
  tables->fill(threadIdx.x, blockDim.x);
  __syncthreads();

  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t i = (blockIdx.x * (blockDim.x / kWarp) + warp) * LANES + lane;
  Block<LANES, WIDE> block;
  block.tables = tables;
  block.memory = shared + sizeof(Tables) / sizeof *shared +
                 warp * LANES * (CJ2K_CX_COUNT + frame.mq_words) + lane;
  block.corrupt = false;
  block.pass = 0;
  bool there = lane < LANES && i < frame.num_mq;
  bool alive = there && block.start(frame, i);
  while (__any_sync(0xFFFFFFFFu, alive)) {
    if (alive && !block.todo && block.mq.bits + (int32_t)block.mq.is_raw >= 0)
      alive = block.advance();
    __syncwarp();
    for (uint32_t n = 0; n < kSymbols; n++) {
      if (alive && block.todo && !block.sign && block.mq.bits >= 0)
        block.decode_symbol();
      __syncwarp();
    }
    if (alive && block.mq.bits < 0)
      block.mq.fill();
    __syncwarp();
    if (alive && block.sign)
      block.decode_sign();
    __syncwarp();
  }
  if (there) {
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
  const uint32_t *from = frame.mq_planes + frame.mq_offsets[blockIdx.x];
  uint32_t *out = static_cast<uint32_t *>(frame.coefficients) + block.offset;
  uint32_t across = (block.width + 7) / 8, num_octets = across * ((block.height + 3) / 4);
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
         warps * lanes * (CJ2K_CX_COUNT + frame.mq_words) * (uint32_t)sizeof(uint32_t);
}

/* How many blocks a warp decodes. The fewer, the sooner it is done with a round; the more, the
 * fewer instructions a block takes. So blocks are spread unless the frames in flight fill the GPU.
 */
uint32_t choose_lanes(const Cj2kCudaDecodeBlocks &frame)
{
  uint32_t lanes = kMinLanes;
  while (lanes < kMaxLanes &&
         lanes * (uint64_t)kBytesPerLane < frame.frames_in_flight * frame.mq_bytes)
    lanes *= 2;
  while (lanes > kMinLanes && shared_bytes(frame, lanes, 1) > kWarpShared)
    lanes /= 2;
  return lanes;
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
    warps /= 2;
  uint32_t bytes = shared_bytes(frame, LANES, warps);
  auto kernel = decode_kernel<LANES, WIDE>;
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (error != cudaSuccess)
    return error;
  uint32_t blocks = LANES * warps;
  kernel<<<(frame.num_mq + blocks - 1) / blocks, warps * kWarp, bytes, stream>>>(frame);
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
  uint32_t lanes = choose_lanes(*frame);
  if (error == cudaSuccess)
    error = lanes == 32   ? launch_lanes<32>(*frame, stream)
            : lanes == 16 ? launch_lanes<16>(*frame, stream)
            : lanes == 8  ? launch_lanes<8>(*frame, stream)
                          : launch_lanes<kMinLanes>(*frame, stream);
  if (error != cudaSuccess)
    return error;
  finish_kernel<<<frame->num_mq, kFinishThreads, 0, stream>>>(*frame);
  return cudaGetLastError();
}
