// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Arithmetic coding of MQ code-blocks (T.800 annex C), in three kernels. The first one orders the
 * code-blocks: those with most symbols start first, and neighbours have about the same number, so
 * that the threads of a warp finish together. In the second one a thread codes the symbols of a
 * code-block (symbols.h) to bytes, one after the other in the same loop whatever they are; the end
 * of a pass is a symbol, too. In the third one a warp writes the raw passes of a code-block, finds
 * where its passes and segments may end, or what packet headers say of them, and copies the bytes
 * that are needed to the frame's output.
 */
#include "header_bits.cuh"
#include "raw_segments.cuh"
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

/* Returns whether there was room for the symbols of all blocks. */
__device__ bool has_symbols(const Cj2kCudaMqCode &frame)
{
  return frame.counts->modelled.symbols <= frame.contexts.capacity;
}

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

/* --------------------------------------------------------------------------------- order --- */

constexpr uint32_t kOrderThreads = 1024, kBuckets = 2 * kOrderThreads, kBucketShift = 5;

/* The bucket of a block: blocks with about the same number of symbols share one, and those with
 * most symbols have the first. */
__device__ uint32_t bucket(const Cj2kCudaMqBlock &block)
{
  uint32_t symbols = block.num_passes ? block.num_symbols >> kBucketShift : 0;
  return kBuckets - 1 - min(symbols, kBuckets - 1);
}

/* Calls visit (bucket, block) for each of the thread's blocks. Several blocks are read at a time,
 * so that the thread does not wait for each. */
template <typename Visit>
__device__ void visit_buckets(const Cj2kCudaMqContexts &frame, Visit visit)
{
  constexpr uint32_t kBatch = 8;
  uint32_t tasks = num_tasks(frame), blocks[kBatch], buckets[kBatch];
  for (uint32_t first = threadIdx.x; first < tasks; first += kBatch * kOrderThreads) {
#pragma unroll
    for (uint32_t k = 0; k < kBatch; k++) {
      uint32_t i = first + k * kOrderThreads;
      blocks[k] = i < tasks ? block_of(frame, i) : 0;
      buckets[k] = i < tasks ? bucket(frame.mq_blocks[blocks[k]]) : kBuckets;
    }
#pragma unroll
    for (uint32_t k = 0; k < kBatch; k++)
      if (buckets[k] < kBuckets)
        visit(buckets[k], blocks[k]);
  }
}

/* Sorts the blocks by bucket: counts, prefix sums, then each block takes a place of its bucket. */
__global__ void __launch_bounds__(kOrderThreads) order_kernel(Cj2kCudaMqCode frame)
{
  __shared__ uint32_t places[kBuckets], sums[kWarp];
  uint32_t t = threadIdx.x;

  places[2 * t] = places[2 * t + 1] = 0;
  __syncthreads();
  visit_buckets(frame.contexts, [&](uint32_t bucket, uint32_t) { atomicAdd(&places[bucket], 1u); });
  __syncthreads();

  uint32_t first = places[2 * t], own = first + places[2 * t + 1], sum = scan_warp(own, Add());
  if (t % kWarp == kWarp - 1)
    sums[t / kWarp] = sum;
  __syncthreads();
  for (uint32_t w = 0; w < t / kWarp; w++)
    sum += sums[w];
  places[2 * t] = sum - own;
  places[2 * t + 1] = sum - own + first;
  __syncthreads();

  visit_buckets(frame.contexts, [&](uint32_t bucket, uint32_t block) {
    frame.order[atomicAdd(&places[bucket], 1u)] = block;
  });
}

/* -------------------------------------------------------------------------------- coding --- */

/* Labels that a symbol may have, or what is read behind the last one. Those that are not contexts
 * code nothing. */
constexpr uint32_t kLabels = 32;

/* Shared memory of a warp. The words that its lanes have for one context are next to each other. */
template <uint32_t LANES> struct CoderMemory {
  uint2 states[kRows];
  uint32_t contexts[kLabels * LANES];
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

  __device__ void begin(const Cj2kCudaMqCode &frame, uint32_t b)
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

  __device__ __forceinline__ void end_pass()
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
    if (rare && style & CJ2K_STYLE_RESET) {
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

  /* Codes symbol I of four. The next one has its context at `next`, which is loaded before the
   * context of this symbol is stored, so that it is there in time; if it is the same context, it is
   * what this symbol changed it to. */
  template <uint32_t I> __device__ __forceinline__ void step(uint32_t symbols, uint32_t next)
  {
    uint2 after = *reinterpret_cast<const uint2 *>(reinterpret_cast<const char *>(memory->states) +
                                                   (context >> 16));
    uint32_t ahead = at(next);
    uint32_t decision = I < 2 ? symbols << (14 - 8 * I) : symbols >> (8 * I - 14);
    uint32_t lps = (context ^ decision) & 1u << kRowShift;
    bool renormalised;
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
    step<0>(symbols, place_of<1>(symbols));
    step<1>(symbols, place_of<2>(symbols));
    step<2>(symbols, place_of<3>(symbols));
    step<3>(symbols, place_of<0>(following));
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

template <uint32_t LANES> __global__ void __launch_bounds__(kWarp) code_kernel(Cj2kCudaMqCode frame)
{
  __shared__ CoderMemory<LANES> memory;
  for (uint32_t i = threadIdx.x; i < kRows; i += kWarp)
    memory.states[i] = d_states[i];
  __syncwarp();

  /* The shuffle hides where the lane comes from: the compiler would read it from its special
   * register again at each use. */
  uint32_t lane = __shfl_sync(kAll, threadIdx.x, threadIdx.x), task = blockIdx.x * LANES + lane;
  if (lane >= LANES || task >= num_tasks(frame.contexts) || !has_symbols(frame))
    return;
  uint32_t b = frame.order[task];
  if (!frame.contexts.mq_blocks[b].num_passes)
    return;
  BlockCoder<LANES> coder;
  coder.memory = &memory;
  coder.lane = lane;
  coder.begin(frame, b);
  coder.code(frame.contexts.symbols + frame.contexts.mq_blocks[b].first_symbol);
  if (coder.failed)
    atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->coded.failed), 1ull);
}

/* ---------------------------------------------------------------------------------- ends --- */

constexpr uint32_t kEndWarps = 4, kMaxPasses = CJ2K_CUDA_MQ_PASSES(31);
/* The most bits of a block in packet headers: 16 for the number of passes, 30 for Lblock, 32 for
 * each segment and three more for one of ten passes. */
constexpr uint32_t kMaxHeaderWords = kMaxPasses + 2;

/* A segment without the bytes that are cut off: `length` bytes at `from` in the block's room are
 * copied to `to` in the block's output. */
struct Segment {
  uint32_t from, length, to;
};

/* The ends of the passes and segments of one block; the same in all lanes but for `lane`. */
struct BlockEnds {
  const Cj2kCudaMqMark *marks;
  const uint8_t *room;
  uint32_t num_passes, style, lane;
  uint32_t length;   /* bytes of the segments found so far */
  Segment *segments; /* by pass: the segment that ends with it, or one of length 0 */

  /* Finds the length of pass `pass`, one for each lane. Passes behind the last one have length 0.
   */
  __device__ Cj2kPassLength find(uint32_t pass)
  {
    bool exists = pass < num_passes, is_raw = cj2k_pass_is_raw(pass, (uint8_t)style);
    uint32_t last = pass;
    int32_t all = 0, own = 0;
    Cj2kPassLength end = {0, 0};
    Segment segment = {0, 0, 0};
    if (exists) {
      while (!ends_segment(last, num_passes, style))
        last++;
      const uint8_t *bytes = room + marks[last].start;
      all = segment_length(bytes, marks[last], is_raw, style & CJ2K_STYLE_PTERM);
      own = last == pass ? all : pass_length(bytes, all, marks[pass], is_raw);
      segment.from = marks[last].start;
      end.terminated = last == pass;
    }
    segment.length = end.terminated ? (uint32_t)all : 0;
    uint32_t sum = scan_warp(segment.length, Add());
    segment.to = length + sum - segment.length;
    end.length = (segment.to + (uint32_t)own) & 0x7FFFFFFFu;
    length += __shfl_sync(kAll, sum, kWarp - 1);
    if (exists)
      segments[pass] = segment;
    return end;
  }

  /* The bits of the block in packet headers, if all its passes are retained. find() has been called
   * for all of them. */
  __device__ void add_header_bits(HeaderBits &bits) const
  {
    uint32_t all = 0; /* each length without the bits that it has for its number of passes */
    for (uint32_t pass = lane; pass < num_passes; pass += kWarp)
      if (ends_segment(pass, num_passes, style))
        all |= segments[pass].length >> passes_log2(pass);
    for (uint32_t d = 1; d < kWarp; d <<= 1)
      all |= __shfl_xor_sync(kAll, all, d);
    uint32_t lblock = max(3u, 32u - __clz((int)all));
    bits.begin(kMaxHeaderWords);
    bits.put_passes(num_passes, lblock);
    for (uint32_t first = 0; first < num_passes; first += kWarp) {
      uint32_t pass = first + lane;
      bool ends = pass < num_passes && ends_segment(pass, num_passes, style);
      bits.put(ends ? segments[pass].length : 0, ends ? lblock + passes_log2(pass) : 0);
    }
  }

  /* log2 of the number of passes of the segment that ends with `pass`, rounded down. */
  __device__ uint32_t passes_log2(uint32_t pass) const
  {
    return 31u - __clz((int)cj2k_segment_passes(pass, (uint8_t)style));
  }

  __device__ void copy_segment(const Segment &segment, uint8_t *out) const
  {
    const uint8_t *from = room + segment.from;
    uint32_t words =
        segment.to ? 0 : segment.length / 4; /* the first segment only: others begin at any byte */
    for (uint32_t i = lane; i < words; i += kWarp)
      reinterpret_cast<uint32_t *>(out)[i] = reinterpret_cast<const uint32_t *>(from)[i];
    for (uint32_t i = 4 * words + lane; i < segment.length; i += kWarp)
      out[segment.to + i] = from[i];
  }
};

/* Takes `amount` of something that warps take in any order. Returns what was taken before. */
__device__ uint64_t take(uint64_t *total, uint64_t amount, uint32_t lane)
{
  uint64_t first = 0;
  if (lane == 0)
    first = atomicAdd(reinterpret_cast<unsigned long long *>(total), (unsigned long long)amount);
  return __shfl_sync(kAll, first, 0);
}

/* Finds the passes of a block and writes their lengths. Returns the place of the first one. */
__device__ uint64_t write_passes(const Cj2kCudaMqCode &frame, BlockEnds &ends)
{
  uint64_t first_pass = take(&frame.counts->passes, ends.num_passes, ends.lane);
  for (uint32_t first = 0; first < ends.num_passes; first += kWarp) {
    uint32_t pass = first + ends.lane;
    Cj2kPassLength end = ends.find(pass);
    if (pass < ends.num_passes && first_pass + pass < frame.pass_capacity)
      frame.passes[first_pass + pass] = end;
  }
  return first_pass;
}

constexpr uint64_t kNoRoom = UINT64_MAX;

/* Finds the passes of a block and writes its bits in packet headers; `words` is shared memory.
 * Returns the place of the first word, or kNoRoom. */
__device__ uint64_t write_header_bits(const Cj2kCudaMqCode &frame, BlockEnds &ends, uint32_t *words)
{
  HeaderBits bits = {{words, ends.lane, 0}};
  for (uint32_t first = 0; first < ends.num_passes; first += kWarp)
    ends.find(first + ends.lane);
  __syncwarp();
  if (ends.num_passes)
    ends.add_header_bits(bits);
  uint32_t size = ends.num_passes ? cj2k_header_words(bits.count) : 0;
  uint64_t first_word = take(&frame.counts->passes, size, ends.lane);
  if (first_word + size > frame.pass_capacity)
    return kNoRoom;
  if (size)
    bits.store(frame.header_bits + first_word);
  return first_word;
}

/* Writes the raw segments of a block, if it has any; `words` is shared memory. */
__device__ void write_raw(const Cj2kCudaMqCode &frame, const Cj2kCudaMqBlock &block, uint32_t b,
                          uint32_t *words, uint32_t lane)
{
  uint32_t style = frame.contexts.blocks[b].style;
  if (!(style & CJ2K_STYLE_BYPASS) || block.num_passes <= CJ2K_FIRST_RAW_PASS)
    return;
  RawSegments raw = {};
  raw.writer.lane = lane;
  raw.writer.words = words;
  raw.marks = frame.marks + (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.contexts.max_planes);
  raw.room = frame.room + frame.rooms[b];
  raw.from = (uint32_t)coded_room(block, style, frame.symbol_room);
  raw.bits_end = frame.contexts.symbols + block.first_symbol + block.raw_end;
  raw.write(block.num_passes, style);
}

/* One warp for each block, one lane for each pass. If there was too little room for symbols, or for
 * a block, the marks are not valid. All blocks then get records without passes, and so do blocks
 * whose header bits have no room: the kernels that make packet headers run before the host knows,
 * and they would read words anywhere. */
__global__ void __launch_bounds__(kWarp *kEndWarps) end_kernel(Cj2kCudaMqCode frame)
{
  __shared__ Segment segments[kEndWarps][kMaxPasses];
  __shared__ uint32_t header_words[kEndWarps][kMaxHeaderWords], raw_words[kEndWarps][kRawWords];
  uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  uint32_t task = blockIdx.x * kEndWarps + warp;
  if (task >= num_tasks(frame.contexts))
    return;
  uint32_t b = block_of(frame.contexts, task);
  if (!has_symbols(frame) || frame.counts->coded.failed) {
    if (lane == 0)
      frame.coded[b] = {};
    return;
  }
  const Cj2kCudaMqBlock block = frame.contexts.mq_blocks[b];
  uint64_t first_mark = (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.contexts.max_planes);
  BlockEnds ends = {frame.marks + first_mark,
                    block.num_passes ? frame.room + frame.rooms[b] : nullptr,
                    block.num_passes,
                    frame.contexts.blocks[b].style,
                    lane,
                    0,
                    segments[warp]};

  write_raw(frame, block, b, raw_words[warp], lane);
  uint64_t first_pass = frame.header_bits ? write_header_bits(frame, ends, header_words[warp])
                                          : write_passes(frame, ends);
  __syncwarp();
  uint64_t offset = take(&frame.counts->coded.bytes, (ends.length + 3u) & ~3u, lane);
  for (uint32_t i = 0; i < block.num_passes && offset + ends.length <= frame.capacity; i++)
    ends.copy_segment(ends.segments[i], frame.bytes + offset);
  if (lane == 0) {
    Cj2kEncodedBlock coded = {};
    coded.offset = offset;
    coded.length = ends.length;
    coded.first_pass = (uint32_t)first_pass;
    coded.num_passes = first_pass == kNoRoom ? 0 : block.num_passes;
    coded.zero_bitplanes = block.zero_bitplanes;
    frame.coded[b] = coded;
  }
}

/* ---------------------------------------------------------------------------- launchers --- */

template <uint32_t LANES>
cudaError_t launch_code(const Cj2kCudaMqCode &frame, uint32_t tasks, cudaStream_t stream)
{
  code_kernel<LANES><<<(tasks + LANES - 1) / LANES, kWarp, 0, stream>>>(frame);
  return cudaGetLastError();
}

/* The number of blocks of a warp. A frame that has the GPU to itself has few warps: fewer blocks in
 * each make more warps, in which lanes wait less for each other at the ends of passes. */
uint32_t choose_lanes(uint32_t tasks, bool alone)
{
  constexpr uint32_t kMinLanes = 8, kWantedWarps = 1000; /* as many as a large GPU can use */
  uint32_t lanes = kWarp;
  while (alone && lanes > kMinLanes && tasks / lanes < kWantedWarps)
    lanes /= 2;
  return lanes;
}

} // namespace

cudaError_t cj2k_cuda_mq_code(const Cj2kCudaMqCode *frame, cudaStream_t stream)
{
  uint32_t tasks = num_tasks(frame->contexts);
  if (!tasks)
    return cudaSuccess;
  /* Each kernel believes what the one before it wrote: without that it would write anywhere. */
  order_kernel<<<1, kOrderThreads, 0, stream>>>(*frame);
  cudaError_t result = cudaGetLastError();
  uint32_t lanes = choose_lanes(tasks, frame->alone);
  if (result == cudaSuccess)
    result = lanes == 8    ? launch_code<8>(*frame, tasks, stream)
             : lanes == 16 ? launch_code<16>(*frame, tasks, stream)
                           : launch_code<32>(*frame, tasks, stream);
  if (result != cudaSuccess)
    return result;
  end_kernel<<<(tasks + kEndWarps - 1) / kEndWarps, kWarp * kEndWarps, 0, stream>>>(*frame);
  return cudaGetLastError();
}
