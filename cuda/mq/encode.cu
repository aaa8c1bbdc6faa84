// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Arithmetic coding of MQ code-blocks (T.800 annex C), in three kernels. The first one orders the
 * code-blocks: those with most symbols start first, and neighbours have about the same number, so
 * that the threads of a warp finish together. In the second one two threads of two warps code the
 * symbols of a code-block (symbols.h) to bytes. In the third one a warp writes the raw passes of a
 * code-block, finds where its passes and segments may end, or what packet headers say of them,
 * and copies the bytes that are needed to the frame's output.
 */
#include "byte_coder.cuh"
#include "header_bits.cuh"
#include "interval_coder.cuh"
#include "raw_segments.cuh"
#include "tasks.cuh"

namespace {

/* Returns whether there was room for the symbols of all blocks. */
__device__ bool has_symbols(const Cj2kCudaMqCode &frame)
{
  return frame.counts->modelled.symbols <= frame.contexts.capacity;
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

struct CoderMemory {
  IntervalMemory intervals;
  DeltaMemory deltas;
};

/*
 * Two warps code 32 blocks. The first one has A and the contexts, and writes to shared memory what
 * symbols do to C; the second one has C and the bytes, and is behind by one chunk of symbols. Most
 * instructions of a block wait for the one before: two warps with a part of them each take 0.7 to
 * 0.8 of the time. All threads are at each barrier, also those without a block.
 */
__global__ void __launch_bounds__(2 * kWarp) code_kernel(Cj2kCudaMqCode frame)
{
  extern __shared__ uint4 shared[];
  CoderMemory &memory = *reinterpret_cast<CoderMemory *>(shared);
  memory.intervals.load_states(2 * kWarp);
  __syncthreads();

  uint32_t lane = threadIdx.x % kWarp, task = blockIdx.x * kWarp + lane;
  bool first = threadIdx.x < kWarp;
  bool works = task < num_tasks(frame.contexts) && has_symbols(frame);
  uint32_t b = works ? frame.order[task] : 0;
  works = works && frame.contexts.mq_blocks[b].num_passes;
  IntervalCoder intervals;
  ByteCoder bytes;
  intervals.use(memory.intervals, lane);
  bytes.begin_without();
  if (works && first)
    intervals.begin(frame, b);
  else if (works)
    bytes.begin(frame, b);

  uint32_t deltas = shared_address(&memory.deltas.chunks[0][0][lane]);
  for (uint32_t chunk = 0; __syncthreads_or(!intervals.done() || !bytes.done()); chunk++) {
    if (first && !intervals.done())
      intervals.code_chunk(deltas + chunk % 2 * kChunkBytes);
    else if (chunk && !bytes.done())
      bytes.apply_chunk(deltas + (chunk - 1) % 2 * kChunkBytes);
  }
  if (bytes.failed)
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

} // namespace

/* ----------------------------------------------------------------------------- launcher --- */

cudaError_t cj2k_cuda_mq_code(const Cj2kCudaMqCode *frame, cudaStream_t stream)
{
  uint32_t tasks = num_tasks(frame->contexts);
  if (!tasks)
    return cudaSuccess;
  /* Each kernel believes what the one before it wrote: without that it would write anywhere. */
  order_kernel<<<1, kOrderThreads, 0, stream>>>(*frame);
  cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  code_kernel<<<(tasks + kWarp - 1) / kWarp, 2 * kWarp, sizeof(CoderMemory), stream>>>(*frame);
  result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  end_kernel<<<(tasks + kEndWarps - 1) / kEndWarps, kWarp * kEndWarps, 0, stream>>>(*frame);
  return cudaGetLastError();
}
