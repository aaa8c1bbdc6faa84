// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Part 1 code-blocks (T.800 annexes C, D): a thread decodes a block. The threads of a warp are
 * anywhere in their blocks, in different passes even: what they have in common is the step. Each
 * finds out which symbol comes next, all decode one, each draws its conclusions. So it is the
 * number of symbols that counts and not where they lie.
 *
 * State is in shared memory, interleaved by lane so that there are no bank conflicts wherever lanes
 * are. Samples are in their place in the coefficient array, in half units; a second kernel
 * dequantises.
 */
#include "mq_coder.cuh"
#include "mq_column.cuh"

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kMinLanes = 2, kMaxLanes = 16; /* blocks of a warp */
constexpr uint32_t kSharedBytes = 37 * 1024;      /* of a warp, at most: six to a multiprocessor */
constexpr uint32_t kWantedWarps = 1000;           /* as a large GPU has places for, with 32x32 */
constexpr uint32_t kBytesPerLane = 5u << 19;      /* of a frame alone on the GPU */

#define QE(state, qe, nmps, nlps, change) QE_##state = qe,
enum { CJ2K_MQ_STATES(QE) };
#define WORD(state, mps) (QE_##state | (uint32_t)(2 * (state) + (mps)) << CJ2K_MQ_MPS_SHIFT)
#define NEXT(state, qe, nmps, nlps, change)                                                        \
  WORD(nmps, 0), WORD(nlps, (change)), WORD(nmps, 1), WORD(nlps, 1 - (change)),

constexpr uint32_t kStateWords = 4 * CJ2K_MQ_NUM_STATES;
__device__ const uint32_t d_states[kStateWords] = {CJ2K_MQ_STATES(NEXT)}; /* cj2k_mq_next */
__device__ const uint8_t d_zero_contexts[4][512] = {{CJ2K_TABLE_512(CJ2K_CX_ZERO_LH)},
                                                    {CJ2K_TABLE_512(CJ2K_CX_ZERO_HL)},
                                                    {CJ2K_TABLE_512(CJ2K_CX_ZERO_LH)},
                                                    {CJ2K_TABLE_512(CJ2K_CX_ZERO_HH)}};
__device__ const uint8_t d_sign_contexts[256] = {CJ2K_TABLE_256(CJ2K_CX_SIGN_ENTRY, 0)};

/* What a lane decodes next. */
enum Symbol { kNone, kSample, kSign, kRun, kRowHigh, kRowLow };

/*
 * A block being decoded. LANES lanes share a warp's memory; a lane's words are LANES apart: first
 * the contexts, then columns, stripe by stripe, then two sets of columns, in groups of 32 columns
 * of a stripe: those that a significance propagation pass has to look at, because they have a
 * significant sample around, and those that the cleanup pass has to, because not all samples are
 * significant or coded.
 */
template <uint32_t LANES, bool WIDE> struct Block {
  uint32_t *memory;
  const uint32_t *states;
  const uint8_t *zero_contexts;
  uint32_t *samples;
  uint32_t stride, width, height, style;
  uint32_t pitch, stripe_groups, num_groups, near_base, open_base;

  MqDecoder mq;
  RawDecoder raw;
  const Cj2kSegment *segment, *segments_end;
  const uint8_t *data, *data_end;
  uint32_t num_passes, planes, pass, segment_end;
  bool cut, corrupt;

  uint32_t type, plane; /* of the pass */
  bool is_raw;
  uint32_t group, first_x, y, index; /* group, its first column, and that one's word */
  uint32_t valid, rows, columns;     /* of the group: what exists, what is still to be visited */
  uint32_t x, bit;                   /* of the column: its place, and its bit in the sets */
  uint32_t column, word, left, right;
  bool visiting;
  uint32_t todo, at, label, flip;
  Symbol symbol;

  __device__ __forceinline__ uint32_t &near(uint32_t g)
  {
    return memory[(near_base + g) * LANES];
  }

  __device__ __forceinline__ uint32_t &open(uint32_t g)
  {
    return memory[(open_base + g) * LANES];
  }

  __device__ __forceinline__ uint32_t &words(uint32_t i)
  {
    return memory[(CJ2K_CX_COUNT + i) * LANES];
  }

  /* --------------------------------------------------------------------------- start --- */

  /* Initial states (table D.7). */
  __device__ void reset_contexts()
  {
    for (uint32_t i = 0; i < CJ2K_CX_COUNT; i++)
      memory[i * LANES] = WORD(0, 0);
    memory[CJ2K_CX_ZERO * LANES] = WORD(4, 0);
    memory[CJ2K_CX_RUN * LANES] = WORD(3, 0);
    memory[CJ2K_CX_UNI * LANES] = WORD(46, 0);
  }

  /* false: nothing to decode, maybe because the block is corrupt. */
  __device__ bool start(const Cj2kCudaDecodeBlocks &frame, uint32_t b)
  {
    const Cj2kCudaBlock block = frame.blocks[b];
    const Cj2kCodedBlock coded = frame.coded[b];
    samples = static_cast<uint32_t *>(frame.coefficients) + block.offset;
    stride = block.stride;
    width = block.width;
    height = block.height;
    style = block.style;
    zero_contexts = d_zero_contexts[block.orientation & 3];
    segment = frame.segments + coded.first_segment;
    segments_end = segment + coded.num_segments;
    data = coded.length ? frame.data + coded.offset : frame.data;
    data_end = data + coded.length;
    num_passes = coded.num_passes;
    planes = (uint32_t)block.num_bitplanes - coded.zero_bitplanes;
    cut = false;
    pass = segment_end = 0;
    symbol = kNone;
    corrupt = coded.zero_bitplanes >= block.num_bitplanes || num_passes > 3 * planes - 2;
    if (corrupt)
      return false;
    uint32_t stripes = (height + 3) / 4;
    pitch = width + 1;
    stripe_groups = (width + 31) / 32;
    num_groups = stripes * stripe_groups;
    near_base = CJ2K_CX_COUNT + stripes * pitch + 1;
    open_base = near_base + num_groups;
    reset_contexts();
    for (uint32_t i = CJ2K_CX_COUNT; i < open_base; i++)
      memory[i * LANES] = 0;
    for (uint32_t i = 0; i < num_groups; i++)
      open(i) = columns_from((i % stripe_groups) * 32);
    return begin_pass();
  }

  /* ------------------------------------------------------------------------- passes --- */

  /* The codeword segment of passes [pass, segment_end), as one entry or several (contributions of
   * different layers). false: a segment ends where none can. */
  __device__ bool start_segment()
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
    if (cj2k_pass_is_raw(pass, (uint8_t)style))
      raw.start(from, data);
    else
      mq.start(from, data);
    return true;
  }

  /* false: there is none that can be decoded. */
  __device__ bool begin_pass()
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
    is_raw = cj2k_pass_is_raw(pass, (uint8_t)style);
    /* What decodes from made-up bits is noise: a cut segment ends there. */
    if (cut && (is_raw ? raw.filled > 0 : mq.made_up()))
      return false;
    type = cj2k_pass_type(pass);
    plane = planes - 1 - cj2k_pass_depth(pass);
    group = first_x = y = 0;
    index = 1;
    visiting = false;
    load_group();
    return true;
  }

  __device__ bool next_pass()
  {
    if (type == CJ2K_PASS_CLEANUP && (style & CJ2K_STYLE_SEGMARK)) {
      uint32_t state = WORD(46, 0);
      for (uint32_t i = 0; i < 4; i++) /* D.5: 1010; errors are not acted upon */
        mq.decode(state, states);
    }
    if (style & CJ2K_STYLE_RESET)
      reset_contexts();
    pass++;
    return begin_pass();
  }

  /* ------------------------------------------------------------------------ columns --- */

  __device__ __forceinline__ uint32_t columns_from(uint32_t x) const
  {
    return 0xFFFFFFFFu >> (32 - min(width - x, 32u));
  }

  __device__ __forceinline__ void load_group()
  {
    uint32_t left_rows = height - y;
    rows = left_rows >= 4 ? CJ2K_MQ_ROWS : CJ2K_MQ_ROWS & ((1u << 3 * left_rows) - 1);
    valid = columns_from(first_x);
    if (type == CJ2K_PASS_SIGNIFICANCE)
      columns = near(group);
    else if (type == CJ2K_PASS_CLEANUP)
      columns = open(group);
    else /* significant samples are in columns of these kinds only */
      columns = (near(group) | ~open(group)) & valid;
  }

  /* The next group that has something to do; false: the pass ends. */
  __device__ bool next_group()
  {
    while (columns == 0) {
      if (++group == num_groups)
        return false;
      first_x += 32;
      index += 32;
      if (first_x >= width) {
        index += pitch - first_x;
        first_x = 0;
        y += 4;
      }
      load_group();
    }
    return true;
  }

  __device__ __forceinline__ void visit_column()
  {
    uint32_t i = __ffs(columns) - 1;
    bit = 1u << i;
    columns ^= bit;
    x = first_x + i;
    column = index + i;
    word = words(column);
    visiting = true;
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      word &= ~kColumnCodedBits;
      todo = column_candidates(word) & rows;
    } else if (type == CJ2K_PASS_REFINEMENT) {
      todo = column_significant(word) & ~column_coded(word);
    } else {
      todo = ~(column_significant(word) | column_coded(word)) & rows;
    }
    symbol = todo ? kSample : kNone;
    if (type == CJ2K_PASS_CLEANUP && !(word & CJ2K_MQ_WINDOWS) && rows == CJ2K_MQ_ROWS) {
      symbol = kRun; /* a whole column with nothing around it */
      label = CJ2K_CX_RUN;
    }
  }

  __device__ __forceinline__ void leave_column()
  {
    bool full = (word >> CJ2K_MQ_SELF & rows) == rows;
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      bool rest = ~(column_significant(word) | column_coded(word)) & rows;
      open(group) = rest ? open(group) | bit : open(group) & ~bit;
      if (full)
        near(group) &= ~bit;
    } else if (type == CJ2K_PASS_CLEANUP) {
      word &= ~kColumnCodedBits;
      if (full)
        open(group) &= ~bit;
    } else if (full) { /* the cleanup pass does not come here */
      word &= ~kColumnCodedBits;
    }
    words(column) = word;
  }

  /* A step towards the next symbol; false: the block is done. */
  __device__ __forceinline__ bool advance()
  {
    if (visiting)
      leave_column();
    visiting = false;
    if (columns == 0 && !next_group())
      return next_pass();
    visit_column();
    return true;
  }

  /* ------------------------------------------------------------------------ samples --- */

  __device__ __forceinline__ uint32_t &sample()
  {
    return samples[(y + column_row(at)) * stride + x];
  }

  /* Columns around the present one belong to the significance propagation passes to come. */
  __device__ __forceinline__ void mark_near(uint32_t g)
  {
    near(g) |= (bit << 1 | bit | bit >> 1) & valid;
    if (WIDE) {
      if ((bit & 1) && first_x)
        near(g - 1) |= 0x80000000u;
      if (bit >> 31 && first_x + 32 < width)
        near(g + 1) |= 1;
    }
  }

  /* The sample at `at` is significant: for all neighbours. With CAUSAL (D.7) the stripe above does
   * not learn of it. */
  __device__ __forceinline__ void set_significant(uint32_t negative)
  {
    word |= 1u << (at + CJ2K_MQ_SELF) | negative << (at + kColumnSign);
    words(column - 1) = left | 1u << (at + 5);
    words(column + 1) = right | 1u << (at + 3);
    mark_near(group);
    bool up = at == 0 && y && !(style & CJ2K_STYLE_CAUSAL), down = at == 9 && y + 4 < height;
    if (up || down) {
      uint32_t beside = up ? column - pitch : column + pitch, shift = up ? 15 : 0;
      words(beside - 1) |= 4u << shift;
      words(beside) |= 2u << shift | negative << (up ? kColumnSignBelow : kColumnSignAbove);
      words(beside + 1) |= 1u << shift;
      mark_near(up ? group - stripe_groups : group + stripe_groups);
    }
  }

  /* D.3.2. */
  __device__ __forceinline__ void expect_sign()
  {
    left = words(column - 1);
    right = words(column + 1);
    uint32_t entry = __ldg(&d_sign_contexts[sign_index(word, left, right, at)]);
    label = entry & 15;
    flip = is_raw ? 0 : entry >> 7;
    symbol = kSign;
  }

  __device__ __forceinline__ void take_sign(uint32_t negative)
  {
    sample() = 3u << plane | negative << 31;
    set_significant(negative);
    if (type == CJ2K_PASS_SIGNIFICANCE) {
      /* the sample below has a significant neighbour now, and so does the column to the right */
      todo |= (8u << at) & rows & ~(word >> CJ2K_MQ_SELF);
      columns |= bit << 1 & valid;
    }
    symbol = kSample;
    todo &= todo - 1;
  }

  __device__ __forceinline__ void take_sample(uint32_t decoded)
  {
    if (type == CJ2K_PASS_REFINEMENT) {
      uint32_t half = 1u << plane;
      atomicAdd(&sample(), decoded ? half : 0 - half);
      word |= 1u << (CJ2K_MQ_REFINED + at);
    } else {
      word |= 1u << (CJ2K_MQ_CODED + at);
      if (decoded) {
        expect_sign();
        return;
      }
    }
    todo &= todo - 1;
  }

  /* Decodes the symbol. */
  __device__ __forceinline__ void step()
  {
    if (symbol == kSample) {
      at = __ffs(todo) - 1;
      label = type == CJ2K_PASS_REFINEMENT ? refinement_label(word, at)
                                           : __ldg(&zero_contexts[word >> at & 0x1FF]);
    }
    uint32_t decoded;
    if (is_raw) {
      decoded = raw.decode();
    } else {
      uint32_t state = memory[label * LANES];
      decoded = mq.decode(state, states);
      memory[label * LANES] = state;
    }
    switch (symbol) {
    case kSample: take_sample(decoded); break;
    case kSign: take_sign(decoded ^ flip); break;
    case kRun:
      if (decoded) {
        symbol = kRowHigh;
        label = CJ2K_CX_UNI;
      } else {
        todo = 0;
      }
      break;
    case kRowHigh:
      at = 6 * decoded;
      symbol = kRowLow;
      break;
    case kRowLow:
      at += 3 * decoded;
      todo = CJ2K_MQ_ROWS & ~0u << at;
      expect_sign();
      break;
    case kNone: break;
    }
    if (todo == 0)
      symbol = kNone;
  }
};

template <uint32_t LANES, bool WIDE>
__global__ void __launch_bounds__(kWarp) decode_kernel(Cj2kCudaDecodeBlocks frame)
{
  extern __shared__ uint32_t shared[];
  for (uint32_t i = threadIdx.x; i < kStateWords; i += kWarp)
    shared[i] = d_states[i];
  __syncwarp();

  uint32_t lane = threadIdx.x, i = blockIdx.x * LANES + lane;
  Block<LANES, WIDE> block;
  block.states = shared;
  block.memory = shared + kStateWords + lane;
  block.corrupt = false;
  bool there = lane < LANES && i < frame.num_mq;
  bool alive = there && block.start(frame, frame.mq[i]);
  while (__any_sync(0xFFFFFFFFu, alive)) {
    if (alive && block.symbol == kNone)
      alive = block.advance();
    __syncwarp();
    if (alive && block.symbol != kNone)
      block.step();
  }
  if (there && block.corrupt) {
    frame.corrupt_flags[frame.mq[i]] = 1;
    atomicAdd_system(frame.corrupt, 1u);
  }
}

constexpr uint32_t kFinishThreads = 128;

__global__ void __launch_bounds__(kFinishThreads) finish_kernel(Cj2kCudaDecodeBlocks frame)
{
  uint32_t index = frame.mq[blockIdx.x];
  bool corrupt = frame.corrupt_flags[index];
  Cj2kCudaBlock block = frame.blocks[index];
  uint32_t *out = static_cast<uint32_t *>(frame.coefficients) + block.offset;
  for (uint32_t y = threadIdx.x / kWarp; y < block.height; y += kFinishThreads / kWarp)
    for (uint32_t x = threadIdx.x % kWarp; x < block.width; x += kWarp) {
      uint32_t *sample = out + (size_t)y * block.stride + x;
      *sample = corrupt ? 0 : reconstruct(*sample & 0x7FFFFFFFu, *sample >> 31, block);
    }
}

template <uint32_t LANES, bool WIDE>
cudaError_t launch(const Cj2kCudaDecodeBlocks &frame, uint32_t bytes, cudaStream_t stream)
{
  cudaError_t error = cudaFuncSetAttribute(decode_kernel<LANES, WIDE>,
                                           cudaFuncAttributePreferredSharedMemoryCarveout,
                                           cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess)
    return error;
  uint32_t grid = (frame.num_mq + LANES - 1) / LANES;
  decode_kernel<LANES, WIDE><<<grid, kWarp, bytes, stream>>>(frame);
  return cudaGetLastError();
}

uint32_t shared_bytes(const Cj2kCudaDecodeBlocks &frame, uint32_t lanes)
{
  return (kStateWords + lanes * (CJ2K_CX_COUNT + frame.mq_words)) * (uint32_t)sizeof(uint32_t);
}

/* How many blocks a warp decodes. The fewer, the sooner it is done with a step; the more, the fewer
 * instructions a block takes. So there are enough warps first of all, and the blocks of a frame
 * that has the GPU for itself are spread unless there is much to do. */
uint32_t choose_lanes(const Cj2kCudaDecodeBlocks &frame)
{
  uint32_t lanes = kMaxLanes;
  if (frame.alone)
    while (lanes > kMinLanes && lanes / 2 * (uint64_t)kBytesPerLane > frame.mq_bytes)
      lanes /= 2;
  while (lanes > kMinLanes &&
         (frame.num_mq / lanes < kWantedWarps || shared_bytes(frame, lanes) > kSharedBytes))
    lanes /= 2;
  return lanes;
}

template <uint32_t LANES>
cudaError_t launch_lanes(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  return frame.max_width > 32 ? launch<LANES, true>(frame, shared_bytes(frame, LANES), stream)
                              : launch<LANES, false>(frame, shared_bytes(frame, LANES), stream);
}

} // namespace

cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  if (frame->num_mq == 0)
    return cudaSuccess;
  uint32_t lanes = choose_lanes(*frame);
  cudaError_t error = lanes == 16  ? launch_lanes<16>(*frame, stream)
                      : lanes == 8 ? launch_lanes<8>(*frame, stream)
                      : lanes == 4 ? launch_lanes<4>(*frame, stream)
                                   : launch_lanes<kMinLanes>(*frame, stream);
  if (error != cudaSuccess)
    return error;
  finish_kernel<<<frame->num_mq, kFinishThreads, 0, stream>>>(*frame);
  return cudaGetLastError();
}
