// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Context modelling of MQ code-blocks (T.800 D.3), parallel over samples. A lane has an octet, 32
 * samples as the bits of a word (contexts.cuh); a code-block has as many warps as that takes.
 *
 * For each bit-plane, the first question is which samples the significance propagation pass codes.
 * Samples depend on those before them in the order of the pass, so this is a fixpoint. Then all
 * else is known: labels follow by logic on words, places of symbols by counting bits. To write
 * symbols, a warp takes its octets one by one, with a lane for each sample.
 */
#include "contexts_gains.cuh"
#include "tasks.cuh"

using namespace mq_words;

namespace {

constexpr uint32_t kThreads = 128; /* of a thread block, at least */
constexpr uint32_t kSteps = 3;     /* of the fixpoint inside an octet, before others are read */

template <uint32_t WARPS> struct Modeller {
  const Cj2kCudaMqContexts &frame;
  Team<WARPS> team;
  BlockGrid<WARPS> grid;
  OctetState octet;
  SymbolWriter<WARPS> writer;
  PassGains<WARPS> gains;
  uint32_t orientation, style, lowest_plane, num_planes;

  __device__ Modeller(const Cj2kCudaMqContexts &job, uint32_t *memory) : frame(job)
  {
    using Memory = TeamMemory<WARPS>;
    team.thread = threadIdx.x;
    team.lane = WARPS == 1 ? team.thread : team.thread & 31;
    team.warp = WARPS == 1 ? 0 : team.thread >> 5;
    writer.symbols = reinterpret_cast<uint4 *>(memory + team.warp * Memory::kSymbols);
    memory += WARPS * Memory::kSymbols;
    writer.records = reinterpret_cast<uint4 *>(memory + team.warp * Memory::kRecords);
    team.exchange = memory + WARPS * Memory::kRecords;
    memory = team.exchange + Memory::kExchange;
    gains.distortion = reinterpret_cast<Distortion *>(memory);
    writer.next = reinterpret_cast<uint2 *>(memory + 4);
    writer.frame_symbols = frame.symbols;
  }

  /* Models block b. What is known of it is written at once, not kept in registers of each thread.
   */
  __device__ __forceinline__ void code(const Cj2kCudaEncodeBlock &block, uint32_t b)
  {
    lowest_plane = frame.lowest_plane;
    orientation = block.orientation;
    style = block.style;
    gains.reversible = block.reversible;
    grid.set(block, style, team);
    team.sync();
    uint32_t num_bitplanes = load(block);
    num_planes = team.largest(grid.valid ? grid.grid(0)[grid.at] : 0);
    num_planes = num_planes > lowest_plane ? num_planes : 0;
    Cj2kCudaMqBlock *result = &frame.mq_blocks[b];
    if (team.thread == 0) {
      *result = {};
      result->zero_bitplanes = (uint8_t)(num_bitplanes - num_planes);
    }
    if (!num_planes || !take_room(result))
      return;
    begin();
    gains.distortions = frame.distortions + (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.max_planes);
    for (uint32_t plane = num_planes; plane-- > lowest_plane;)
      code_plane(plane);
    if (team.thread == 0) {
      result->num_symbols = writer.next->x;
      result->raw_begin = writer.next->y;
      result->num_passes = (uint8_t)gains.pass;
    }
  }

  /* Loads the samples of the block. Returns Mb. */
  __device__ __forceinline__ uint32_t load(const Cj2kCudaEncodeBlock &block)
  {
    Cj2kFrameQuantiser quantiser = frame.quantisers[block.band];
    Samples samples(frame.coefficients, quantiser, block);
    grid.load(samples, frame.max_planes, team);
    team.sync();
    if (samples.saturated)
      atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->saturated),
                (unsigned long long)samples.saturated);
    return quantiser.num_bitplanes;
  }

  /* Reserves room for the symbols of the block. Returns false if there is not enough. */
  __device__ __forceinline__ bool take_room(Cj2kCudaMqBlock *result)
  {
    uint64_t sums[3] = {grid.most_symbols(lowest_plane, num_planes), 0, 0};
    uint32_t planes = num_planes - lowest_plane, ends = style & CJ2K_STYLE_SEGMARK ? 16 : 12;
    ends += style & CJ2K_STYLE_BYPASS ? 2 * (CJ2K_CUDA_MQ_RAW_MORE - 4) : 0;
    team.add_up(sums);
    uint64_t room = (sums[0] + planes * ends + CJ2K_CUDA_MQ_ALIGNMENT - 1) &
                    ~(uint64_t)(CJ2K_CUDA_MQ_ALIGNMENT - 1);
    uint64_t first = 0;
    if (team.thread == 0) {
      first = atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->symbols),
                        (unsigned long long)room);
      result->first_symbol = first;
      result->raw_end = (uint32_t)room;
      *writer.next = make_uint2(0, (uint32_t)room);
    }
    sums[0] = first;
    sums[1] = sums[2] = 0;
    team.add_up(sums);
    writer.first_symbol = sums[0];
    return writer.first_symbol + room <= frame.capacity;
  }

  /* The state before the first bit-plane. */
  __device__ __forceinline__ void begin()
  {
    octet.significant = octet.refined = gains.pass = 0;
    if (team.thread == 0)
      *gains.distortion = {0, 0};
    team.sync();
    if (grid.valid)
      grid.grid(0)[grid.at] = 0;
    team.sync();
  }

  /* The samples that the significance propagation pass codes: `seed`, those with a significant
   * neighbour before the pass, and those that follow in the order of the pass and touch one that
   * becomes significant. `ones` are the ones of the bit-plane that are not significant yet. Leaves
   * in grid 2 what is significant after the pass. */
  __device__ __forceinline__ uint32_t propagate(uint32_t seed, uint32_t ones)
  {
    uint32_t *word = grid.grid(2) + grid.at;
    uint32_t coded = seed, found = ones & seed;
    for (;;) {
      if (grid.valid)
        *word = octet.significant | found;
      team.sync();
      Before before = load_before(word, grid.pitch);
      uint32_t reached = seed | followers_of(before), more = found;
#pragma unroll
      for (uint32_t i = 0; i < kSteps; i++) {
        coded = reached | followers(more);
        more = ones & coded;
      }
      bool changed = more != found;
      found = more;
      if (!team.any(changed))
        return coded & grid.valid & ~octet.significant;
    }
  }

  /* Finds which samples the three passes code, and significance as the passes see it: the grids
   * `before` and `all` have it before and after the bit-plane, grid 2 after significance
   * propagation. */
  __device__ __forceinline__ void find_passes(OctetPasses &passes, Significance &s,
                                              const uint32_t *before, uint32_t *all, uint32_t ones)
  {
    uint32_t at = grid.at, below = grid.below, pitch = grid.pitch;
    const uint32_t *propagated = grid.grid(2);
    s.before = octet.significant;
    s.all = octet.significant | ones;
    if (grid.valid)
      all[at] = s.all;
    s.after_before = load_after(before + at, before + below);
    if (gains.pass == 0) {
      team.sync();
    } else {
      uint32_t seed = touched(octet.significant, load_before(before + at, pitch), s.after_before);
      passes.propagating = propagate(seed, ones & ~octet.significant);
    }
    passes.found = passes.propagating & ones;
    passes.refining = octet.significant;
    passes.cleaning = grid.valid & ~octet.significant & ~passes.propagating;
    s.propagated = octet.significant | passes.found;
    s.before_propagated = load_before(propagated + at, pitch);
    s.after_propagated = load_after(propagated + at, propagated + below);
    s.before_all = load_before(all + at, pitch);
    passes.find_runs(ones, quiet_columns(s) & grid.whole);
  }

  /* Writes the symbols that are in shared memory to their places. Returns the block's counts, and
   * in *next the places of those of the next bit-plane. */
  __device__ __forceinline__ PassCounts write_symbols(const OctetPasses &passes, bool only_cleanup,
                                                      bool is_raw, uint2 *next)
  {
    PassCounts counts, totals;
    counts.propagation = __popc(passes.propagating) + __popc(passes.found);
    counts.refinement = __popc(passes.refining);
    counts.cleanup = passes.cleanup_symbols();
    uint32_t cleanup_count = counts.cleanup;
    team.scan(counts, totals);
    PassCounts places = writer.begin_passes(totals, only_cleanup, is_raw);
    counts.propagation += places.propagation;
    counts.refinement += places.refinement;
    counts.cleanup += places.cleanup;
    writer.emit(passes, counts, cleanup_count, grid.num_octets, team);
    if (is_raw)
      writer.end_raw_passes(totals, places, team.thread);
    else if (!only_cleanup)
      writer.end_passes(totals, places, team.thread);
    *next = {writer.end_cleanup(totals.cleanup, places.cleanup, style, team.thread),
             is_raw ? places.refinement : writer.next->y};
    return totals;
  }

  __device__ __forceinline__ void code_plane(uint32_t plane)
  {
    uint32_t ones = team.thread < grid.num_octets
                        ? grid.planes[plane * BlockGrid<WARPS>::kPlanePitch + team.thread]
                        : 0;
    uint32_t *before = grid.grid(plane & 1), *all = grid.grid(~plane & 1); /* in turns */
    bool first = gains.pass == 0, is_raw = cj2k_pass_is_raw(gains.pass, (uint8_t)style);
    Significance s;
    OctetPasses passes = {};
    find_passes(passes, s, before, all, ones);
    writer.make_symbols(s, passes, grid, octet, ones, is_raw, orientation, team.lane);
    uint2 next;
    PassCounts totals = write_symbols(passes, first, is_raw, &next);
    gains.add(passes, plane, ones, grid.planes + team.thread, totals.refinement, team);
    octet.refined = octet.significant;
    octet.significant = s.all;
    team.sync();
    if (team.thread == 0)
      *writer.next = next;
  }
};

template <uint32_t WARPS>
__global__ void __launch_bounds__(WARPS == 1 ? kThreads : 32 * WARPS)
    contexts_kernel(Cj2kCudaMqContexts frame, uint32_t shared_words)
{
  extern __shared__ uint4 memory[];
  uint32_t task = blockIdx.x * blockDim.y + threadIdx.y;
  if (task >= num_tasks(frame))
    return;
  uint32_t b = block_of(frame, task);
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

/* No block needs more; 4x1024 samples with 31 bit-planes need nearly as much. The same for all
 * launches, because host threads launch for several frames at once. */
constexpr int kMaxShared = 64 * 1024;

template <uint32_t WARPS> cudaError_t launch(const Cj2kCudaMqContexts *frame, cudaStream_t stream)
{
  dim3 threads(32 * WARPS, WARPS == 1 ? kThreads / 32 : 1);
  uint32_t words =
      TeamMemory<WARPS>::total(grid_words(frame->max_width, frame->max_height), frame->max_planes);
  uint32_t tasks = num_tasks(*frame), bytes = 4 * words * threads.y;
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
  uint32_t octets = CJ2K_CUDA_MQ_BLOCK_OCTETS(frame->max_width, frame->max_height);

  if (octets <= 32)
    return launch<1>(frame, stream);
  if (octets <= 64)
    return launch<2>(frame, stream);
  return octets <= 128 ? launch<4>(frame, stream) : launch<8>(frame, stream);
}
