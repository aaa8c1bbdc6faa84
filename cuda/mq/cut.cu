// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Cuts a frame of MQ code-blocks to its budget in two rounds, like the host (cj2k_fit_first in
 * common/rate/fit.c): the first one leaves room for the headers of an earlier frame, the second one
 * for those of what the first one has selected, which are counted in between (count.cu). Of a round
 *
 *  - a kernel finds the slope of the cut in the sums of bytes by slope class, each block of threads
 *    for itself, and what it leaves of each code-block;
 *  - one block of threads fills up the rest, code-block after code-block.
 *
 * All sums are of integers, and slopes are classes, so that both give the same.
 */
#include "cuda/mq/cut.h"

#include "cuda/shared/cut.cuh"

#include "common/shared/hull.h"

#include <cstdint>

namespace {

constexpr uint32_t kThreads = 256, kFillThreads = 1024;
constexpr uint32_t kGroup = 256, kGroups = CJ2K_SLOPE_CLASSES / kGroup, kPerLane = kGroup / kWarp;
static_assert(kGroups == kGroup, "find_entry() is for both");

/* -------------------------------------------------------------------------------- rounds --- */

/* Can a cut be decided here? */
__device__ bool is_usual(const Cj2kCudaMqCut &cut)
{
  const Cj2kCudaMqFrameCounts &counts = *cut.frame.counts;
  return counts.modelled.symbols <= cut.frame.contexts.capacity && !counts.coded.failed &&
         counts.coded.bytes <= cut.frame.capacity && counts.passes <= cut.frame.pass_capacity &&
         counts.lengths > cut.budget;
}

/* The headers for which a round leaves room. */
__device__ uint64_t header_bytes(const Cj2kCudaMqCut &cut, bool second)
{
  return second ? cut.empty_bytes + cut.state->headers : cut.header_bytes;
}

/* The bytes that blocks may have. */
__device__ uint64_t block_bytes(const Cj2kCudaMqCut &cut, bool second)
{
  return cut.budget - min(header_bytes(cut, second) + cut.margin, cut.budget);
}

/* ------------------------------------------------------------------------------- the cut --- */

/* Of kGroup entries, the highest one that together with those above it, and with *above, has more
 * than `bytes`; there is one. Adds those above it to *above. All lanes of a warp call it. */
__device__ uint32_t find_entry(const uint64_t *entries, uint64_t bytes, uint64_t *above)
{
  uint32_t top = kGroup - 1 - kPerLane * (threadIdx.x % kWarp);
  uint64_t sum = 0;

  for (uint32_t i = 0; i < kPerLane; i++)
    sum += entries[top - i];
  uint64_t all = *above + scan_warp(sum, Add()), before = all - sum;
  int first = __ffs((int)__ballot_sync(kAll, all > bytes)) - 1;
  while (threadIdx.x % kWarp == (uint32_t)first && before + entries[top] <= bytes)
    before += entries[top--];
  *above = __shfl_sync(kAll, before, first);
  return __shfl_sync(kAll, top, first);
}

/* The lowest slope above which points have at most `bytes`; 0: all points with a slope have. */
struct Slope {
  uint32_t slope;
  uint64_t above, all; /* bytes of points above it; above 0 */
};

/* Adds up the bytes of groups of classes. No cut has class 0. */
__device__ void sum_groups(const Cj2kCudaMqCode &frame, uint64_t *groups)
{
  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t lowest = CJ2K_SLOPE_CLASSES - frame.counts->lowest_slope_below;
  uint32_t highest = frame.counts->highest_slope;

  for (uint32_t g = warp; g < kGroups; g += kThreads / kWarp) {
    bool empty = g < lowest / kGroup || g > highest / kGroup;
    uint64_t sum = 0;
    for (uint32_t s = g * kGroup + lane; !empty && s < (g + 1) * kGroup; s += kWarp)
      sum += s ? frame.slope_bytes[s] : 0;
    sum = sum_warp(sum);
    if (lane == 0)
      groups[g] = sum;
  }
  __syncthreads();
}

/* All threads of a block call it, and all get it. */
__device__ Slope find_slope(const Cj2kCudaMqCode &frame, uint64_t bytes)
{
  __shared__ uint64_t groups[kGroups];
  uint64_t all = 0, above = 0;

  sum_groups(frame, groups);
  for (uint32_t g = threadIdx.x % kWarp; g < kGroups; g += kWarp)
    all += groups[g];
  all = sum_warp(all);
  if (all <= bytes)
    return {0, all, all};
  uint32_t group = find_entry(groups, bytes, &above) * kGroup;
  uint32_t slope = group + find_entry(frame.slope_bytes + group, bytes, &above);
  return {slope, above, all};
}

/* What a cut leaves of a block. Slopes fall along its hull, so that they are bisected. */
__device__ Cj2kCudaMqTaken cut_block(const Cj2kCudaMqCode &frame, uint32_t b, uint32_t slope)
{
  const Cj2kEncodedBlock coded = frame.coded[b];
  const Cj2kHullPoint *points = frame.points + coded.first_point;
  uint32_t taken = 0, end = coded.num_points;

  while (taken < end) {
    uint32_t middle = (taken + end) / 2;
    if (points[middle].slope > slope)
      taken = middle + 1;
    else
      end = middle;
  }
  uint16_t next = taken < coded.num_points ? points[taken].slope : 0;
  if (!taken)
    return {0, next, 0, 0};
  uint8_t passes = points[taken - 1].option;
  uint32_t length = frame.passes[coded.first_pass + passes - 1].length;
  return {length, next, (uint8_t)taken, passes};
}

/* Adds what is taken of a block to its band. Blocks of a warp are mostly of the same band. All
 * threads call it; those without a block have no length. */
__device__ void add_to_band(const Cj2kCudaMqCut &cut, uint32_t band, uint32_t length)
{
  uint32_t first = __shfl_sync(kAll, band, 0);
  bool same = __ballot_sync(kAll, band == first || !length) == kAll;
  unsigned long long sum = same ? sum_warp(length) : length;

  if (sum && (!same || threadIdx.x % kWarp == 0))
    atomicAdd(reinterpret_cast<unsigned long long *>(&cut.bands[same ? first : band]), sum);
}

/* What the first round leaves to be added to. */
__device__ void clear_sums(const Cj2kCudaMqCut &cut)
{
  for (uint32_t i = threadIdx.x; i < cut.num_bands; i += kThreads)
    cut.bands[i] = 0;
  if (threadIdx.x == 0)
    cut.state->headers = 0;
}

__global__ void __launch_bounds__(kThreads) cut_kernel(Cj2kCudaMqCut cut, bool second)
{
  uint32_t b = blockIdx.x * kThreads + threadIdx.x, num_blocks = cut.frame.contexts.num_blocks;
  bool usual = is_usual(cut), has_block = b < num_blocks;
  uint32_t state = usual ? CJ2K_CUDA_CUT_SOME : CJ2K_CUDA_CUT_NONE;

  if (blockIdx.x == 0 && !second)
    clear_sums(cut);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    cut.state->result = {state, 0};
  if (!usual)
    return;
  uint64_t bytes = block_bytes(cut, second);
  Slope found = find_slope(cut.frame, bytes);
  Cj2kCudaMqTaken taken = {};
  if (has_block)
    cut.taken[b] = taken = cut_block(cut.frame, b, found.slope);
  if (second)
    add_to_band(cut, cut.frame.contexts.blocks[has_block ? b : num_blocks - 1].band, taken.length);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    cut.state->slope = found.slope;
    cut.state->all = found.all;
    cut.state->above = found.above;
    cut.state->bytes = bytes;
  }
}

/* -------------------------------------------------------------------------------- filling --- */

constexpr uint32_t kFillWarps = kFillThreads / kWarp, kListed = kFillThreads;

/* Blocks whose next point is not below a slope, in their order. */
struct List {
  uint32_t block[kListed];
  uint32_t first[kListed], all[kListed]; /* bytes of that point; of all such points of the block */
  uint8_t count[kListed];                /* such points */
  uint8_t added[kListed];                /* of them, those that are taken */
};

__device__ bool is_wanted(const Cj2kCudaMqCut &cut, uint32_t b, uint32_t end, uint32_t slope)
{
  return b < end && cut.taken[b].next >= slope;
}

/* The blocks of a warp: a run, so that warps have them in their order. */
struct Run {
  uint32_t begin, end;
};

/* Without those before block `from`. */
__device__ Run run_of_warp(uint32_t num_blocks, uint32_t from)
{
  uint32_t most = (num_blocks + kFillWarps - 1) / kFillWarps;
  uint32_t begin = threadIdx.x / kWarp * most;
  return {max(begin, from), min(begin + most, num_blocks)};
}

/* Counts the wanted blocks. *before: those of the warps before this one. Returns the number of all.
 */
__device__ uint32_t count_wanted(const Cj2kCudaMqCut &cut, Run run, uint32_t slope,
                                 uint32_t *before)
{
  __shared__ uint32_t warps[kFillWarps];
  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, count = 0;

  for (uint32_t b = run.begin + lane; b - lane < run.end; b += kWarp)
    count += is_wanted(cut, b, run.end, slope);
  count = (uint32_t)sum_warp(count);
  __syncthreads(); /* before `warps` is used again */
  if (lane == 0)
    warps[warp] = count;
  __syncthreads();
  uint32_t up_to = scan_warp(warps[lane], Add());
  *before = __shfl_sync(kAll, up_to, (int)warp) - count;
  return __shfl_sync(kAll, up_to, kFillWarps - 1);
}

/* Lists the first wanted blocks. `at`: the number of this warp's first one. */
__device__ void list_blocks(const Cj2kCudaMqCut &cut, Run run, uint32_t slope, uint32_t at,
                            List *list)
{
  uint32_t lane = threadIdx.x % kWarp;

  for (uint32_t b = run.begin + lane; b - lane < run.end && at < kListed; b += kWarp) {
    bool wanted = is_wanted(cut, b, run.end, slope);
    uint32_t all = __ballot_sync(kAll, wanted);
    uint32_t place = at + (uint32_t)__popc(all & ((1u << lane) - 1));
    if (wanted && place < kListed)
      list->block[place] = b;
    at += (uint32_t)__popc(all);
  }
  __syncthreads();
}

/* Reads the wanted points of a listed block. */
__device__ void read_points(const Cj2kCudaMqCut &cut, uint32_t slope, uint32_t i, List *list)
{
  uint32_t b = list->block[i], k = cut.taken[b].taken, end = cut.frame.coded[b].num_points;
  const Cj2kHullPoint *points = cut.frame.points + cut.frame.coded[b].first_point;
  uint32_t first = k, all = 0;

  for (; k < end && points[k].slope >= slope; k++)
    all += points[k].bytes;
  list->first[i] = points[first].bytes;
  list->all[i] = all;
  list->count[i] = (uint8_t)(k - first);
  list->added[i] = 0;
}

/* Adds points of a block one by one. Returns the room that is left. */
__device__ uint64_t add_points(const Cj2kCudaMqCut &cut, List *list, uint32_t i, uint64_t room)
{
  uint32_t b = list->block[i], k = 0;
  const Cj2kHullPoint *points =
      cut.frame.points + cut.frame.coded[b].first_point + cut.taken[b].taken;

  for (; k < list->count[i] && points[k].bytes <= room; k++)
    room -= points[k].bytes;
  list->added[i] = (uint8_t)k;
  return room;
}

/* Adds points of up to a warp of listed blocks, in their order: at once those of blocks of which
 * all have room, up to the first block of which they do not. Without room, no block gets any. All
 * lanes of a warp call it. Returns the room that is left. */
__device__ uint64_t add_blocks(const Cj2kCudaMqCut &cut, List *list, uint32_t i, bool listed,
                               uint64_t room)
{
  uint32_t lane = threadIdx.x % kWarp;
  uint64_t own = listed ? list->all[i] : 0;

  while (__ballot_sync(kAll, listed = listed && list->first[i] <= room) && room) {
    uint64_t sum = scan_warp(listed ? own : 0, Add()), before = listed ? sum - own : sum;
    uint32_t others = __ballot_sync(kAll, listed && (sum > room || before == room));
    uint32_t stop = others ? (uint32_t)__ffs((int)others) - 1 : kWarp;
    if (listed && lane < stop)
      list->added[i] = list->count[i];
    uint64_t used = __shfl_sync(kAll, sum, stop ? (int)stop - 1 : 0);
    room -= stop ? used : 0;
    if (stop == kWarp || !room)
      break;
    if (lane == stop)
      room = add_points(cut, list, i, room);
    room = __shfl_sync(kAll, room, (int)stop);
    listed = listed && lane > stop;
  }
  return room;
}

/* Sets what is taken of a listed block. */
__device__ void set_taken(const Cj2kCudaMqCut &cut, const List &list, uint32_t i)
{
  uint32_t b = list.block[i], added = list.added[i];
  const Cj2kHullPoint *points = cut.frame.points + cut.frame.coded[b].first_point;
  Cj2kCudaMqTaken taken = cut.taken[b];

  if (!added)
    return;
  for (uint32_t k = 0; k < added; k++)
    taken.length += points[taken.taken++].bytes;
  taken.passes = points[taken.taken - 1].option;
  taken.next = taken.taken < cut.frame.coded[b].num_points ? points[taken.taken].slope : 0;
  cut.taken[b] = taken;
}

/* Adds points that are not taken and fit into `room` to the blocks that are listed. Returns the
 * room that is left. */
__device__ uint64_t fill_listed(const Cj2kCudaMqCut &cut, List *list, uint32_t count,
                                uint32_t slope, uint64_t room)
{
  __shared__ uint64_t left;
  uint32_t i = threadIdx.x, lane = i % kWarp;

  if (i < count)
    read_points(cut, slope, i, list);
  __syncthreads();
  for (uint32_t first = 0; first < count && i < kWarp; first += kWarp)
    room = add_blocks(cut, list, first + lane, first + lane < count, room);
  if (i == 0)
    left = room;
  __syncthreads();
  if (i < count)
    set_taken(cut, *list, i);
  return left;
}

/* The same for all blocks, down to a slope, one after the other. All threads call it. */
__device__ uint64_t fill(const Cj2kCudaMqCut &cut, List *list, uint32_t slope, uint64_t room)
{
  uint32_t num_blocks = cut.frame.contexts.num_blocks, before;

  for (uint32_t from = 0; from < num_blocks && room;) {
    Run run = run_of_warp(num_blocks, from);
    uint32_t all = count_wanted(cut, run, slope, &before);
    list_blocks(cut, run, slope, before, list);
    room = fill_listed(cut, list, min(all, kListed), slope, room);
    from = all > kListed ? list->block[kListed - 1] + 1 : num_blocks;
    __syncthreads(); /* before it is listed anew */
  }
  return room;
}

/* The end of the second round: is that what the host would take? And the same for the host. */
__device__ void decide(const Cj2kCudaMqCut &cut, bool usual, uint64_t bodies)
{
  Cj2kCudaMqCutState *state = cut.state;
  bool enough = usual && state->slope && bodies + header_bytes(cut, true) >= cut.least;

  for (uint32_t i = threadIdx.x; i < cut.num_bands; i += kFillThreads)
    cut.host_bands[i] = cut.bands[i];
  if (threadIdx.x)
    return;
  state->result.state = enough ? CJ2K_CUDA_CUT_SOME : CJ2K_CUDA_CUT_NONE;
  *cut.host_state = *state;
  *cut.host_counts = *cut.frame.counts;
}

__global__ void __launch_bounds__(kFillThreads, 1) fill_kernel(Cj2kCudaMqCut cut, bool second)
{
  __shared__ List list;
  bool usual = cut.state->result.state == CJ2K_CUDA_CUT_SOME;
  uint32_t slope = usual ? cut.state->slope : 0;
  uint64_t bytes = cut.state->bytes, above = cut.state->above, room = 0, left = 0;

  if (slope) {
    room = bytes - min(above, bytes);
    left = fill_up(slope, bytes, room,
                   [&](uint32_t to, uint64_t rest) { return fill(cut, &list, to, rest); });
  }
  __syncthreads(); /* `state` has been read */
  if (second)
    decide(cut, usual, above + room - left);
}

/* Sets what is retained in the records of blocks. */
__global__ void __launch_bounds__(kThreads) retain_kernel(Cj2kCudaMqCut cut)
{
  uint32_t b = blockIdx.x * kThreads + threadIdx.x;

  if (b >= cut.frame.contexts.num_blocks || cut.state->result.state != CJ2K_CUDA_CUT_SOME)
    return;
  cut.frame.coded[b].num_passes = cut.taken[b].passes;
  cut.frame.coded[b].length = cut.taken[b].length;
}

uint32_t grid_of(const Cj2kCudaMqCut &cut)
{
  return (cut.frame.contexts.num_blocks + kThreads - 1) / kThreads;
}

/* Each kernel believes what the one before it wrote. */
cudaError_t launch_cut(const Cj2kCudaMqCut &cut, bool again, cudaStream_t stream)
{
  cut_kernel<<<grid_of(cut), kThreads, 0, stream>>>(cut, again);
  cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  fill_kernel<<<1, kFillThreads, 0, stream>>>(cut, again);
  return cudaGetLastError();
}

} // namespace

cudaError_t cj2k_cuda_mq_cut(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  cudaError_t result = launch_cut(*cut, false, stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_count(cut, stream);
  if (result == cudaSuccess)
    result = launch_cut(*cut, true, stream);
  if (result != cudaSuccess)
    return result;
  retain_kernel<<<grid_of(*cut), kThreads, 0, stream>>>(*cut);
  return cudaGetLastError();
}
