// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Cuts a frame of HT code-blocks to its budget: the slope of the cut by bisection over sums of
 * bytes, then what fits into the rest, block after block. One block of threads does all, because
 * few blocks have been measured. Each step has a counterpart on the host, in
 * common/rate/selection.c and fit.c, and gives the same: all sums are of integers, and slopes are
 * compared as classes.
 */
#include "cuda/shared/cut.h"

#include "cuda/shared/cut.cuh"
#include "cuda/shared/slopes.cuh"

#include "common/shared/hull.h"

#include <cstdint>

namespace {

constexpr uint32_t kThreads = 256, kMost = CJ2K_CUDA_CUT_BLOCKS;
/* The class of blocks that were not measured. */
constexpr uint32_t kFixed = UINT16_MAX;

/* The hulls of the measured blocks, at most two points each, and how many of them are taken. */
struct Hulls {
  uint32_t bytes[2][kMost];
  uint16_t slope[2][kMost];
  uint8_t count[kMost], taken[kMost];
  uint8_t first_option[kMost]; /* the option of the first point; that of the second one is 2 */
};

/* ------------------------------------------------------------------------------- packets --- */

struct Sizes {
  uint64_t total, bodies; /* of the codestream; of all code-blocks */
};

/* What the codestream takes with all blocks at plane 0. A header without room makes it too long. */
__device__ Sizes sum_packets(const Cj2kCudaCut &cut)
{
  uint64_t total = 0, bodies = 0;

  for (uint32_t i = threadIdx.x; i < cut.num_steps; i += kThreads) {
    Cj2kPacketStep step = cut.steps[i];
    Cj2kPacketSize size = cut.sizes[step.precinct];
    uint64_t packet = (uint64_t)size.header + cut.behind_header + size.body;
    total += step.before + packet;
    if (cut.plt)
      total += cj2k_length_entry_bytes(cut.sop + packet);
    bodies += size.body;
  }
  return {sum_all<kThreads>(total) + cut.behind_all, sum_all<kThreads>(bodies)};
}

/* --------------------------------------------------------------------------------- hulls --- */

struct Option {
  double gain;
  uint32_t length, option;
};

/* The hull of up to two options (cj2k_hull_of_options). Returns the number of points. */
__device__ uint32_t hull_of(const Option *options, uint32_t count, Option *hull)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < count; i++) {
    const Option &option = options[i];
    if (n) {
      double saved = option.gain - hull[0].gain;
      if (saved <= 0)
        continue;
      if (!(saved * hull[0].length < hull[0].gain * (option.length - hull[0].length)))
        n = 0;
    }
    if (option.gain > 0)
      hull[n++] = option;
  }
  return n;
}

/* What measured block b takes at a plane. At plane 0 it has been coded. */
__device__ uint32_t length_at(const Cj2kCudaCut &cut, uint32_t b, uint32_t plane)
{
  return plane ? cut.lengths[(size_t)b * CJ2K_CUDA_CUT_PLANES + plane] : cut.coded[b];
}

/* Makes the hull of measured block i of the plan's block b, and copies what was measured for the
 * host. Returns what the block saves at plane 1. */
__device__ uint32_t make_hull(const Cj2kCudaCut &cut, uint32_t i, uint32_t b, Hulls *hulls)
{
  const size_t at = (size_t)b * CJ2K_CUDA_CUT_PLANES;
  double weight = cut.weights[cut.blocks[b].band];
  uint32_t length[2], count = 0, slope = UINT16_MAX;
  Option options[2], hull[2];
  Option before = {0, 0, 0};

  for (uint32_t p = CJ2K_CUDA_CUT_PLANES; p-- > 0;) {
    uint64_t distortion = cut.distortions[at + p];
    length[p] = length_at(cut, b, p);
    cut.host_lengths[at + p] = length[p];
    cut.host_distortions[at + p] = distortion;
    if (length[p])
      options[count++] = {(double)distortion, length[p] + CJ2K_HULL_HEADER_BYTES,
                          CJ2K_CUDA_CUT_PLANES - p};
  }
  uint32_t n = hull_of(options, count, hull);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t bytes = hull[k].length - before.length;
    slope = min(slope, slope_class((hull[k].gain - before.gain) * weight, bytes));
    hulls->bytes[k][i] = k ? bytes : bytes - CJ2K_HULL_HEADER_BYTES;
    hulls->slope[k][i] = (uint16_t)slope;
    before = hull[k];
  }
  hulls->count[i] = (uint8_t)n;
  hulls->first_option[i] = n ? (uint8_t)hull[0].option : 0;
  return length[0] - min(length[1], length[0]);
}

/* ----------------------------------------------------------------------------------- cut --- */

/* The bytes of this thread's blocks above a slope. */
__device__ uint64_t bytes_above(const Hulls &hulls, uint32_t num_measured, uint32_t slope)
{
  uint64_t sum = 0;

  for (uint32_t i = threadIdx.x; i < num_measured; i += kThreads)
    for (uint32_t k = 0; k < hulls.count[i] && hulls.slope[k][i] > slope; k++)
      sum += hulls.bytes[k][i];
  return sum;
}

/* The lowest slope above which options have at most `bytes`; 0: all have. *above: what they have.
 */
__device__ uint32_t find_cut(const Hulls &hulls, uint32_t num_measured, uint64_t fixed,
                             uint64_t bytes, uint64_t *above)
{
  uint32_t low = 0, high = kFixed;

  *above = fixed + sum_all<kThreads>(bytes_above(hulls, num_measured, 0));
  if (*above <= bytes)
    return 0;
  *above = 0;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    uint64_t sum = fixed + sum_all<kThreads>(bytes_above(hulls, num_measured, middle));
    if (sum <= bytes) {
      high = middle;
      *above = sum;
    } else {
      low = middle;
    }
  }
  return high;
}

/* The slope of the next option of a block; 0: there is none. */
__device__ uint32_t next_slope(const Hulls &hulls, uint32_t i)
{
  uint32_t taken = hulls.taken[i];

  return taken < hulls.count[i] ? hulls.slope[taken][i] : 0;
}

/* Adds options that are not taken and fit into `room`, down to a slope, block after block. All
 * threads of a warp call it. Returns the room that is left. */
__device__ uint64_t fill(Hulls *hulls, uint32_t num_measured, uint32_t slope, uint64_t room)
{
  uint32_t lane = threadIdx.x % kWarp;

  for (uint32_t first = 0; first < num_measured && room; first += kWarp) {
    uint32_t i = first + lane;
    bool wants = i < num_measured && next_slope(*hulls, i) >= slope;
    for (uint32_t waiting = __ballot_sync(kAll, wants); waiting && room; waiting &= waiting - 1) {
      uint32_t next = __ffs((int)waiting) - 1;
      while (lane == next && next_slope(*hulls, i) >= slope &&
             hulls->bytes[hulls->taken[i]][i] <= room)
        room -= hulls->bytes[hulls->taken[i]++][i];
      room = __shfl_sync(kAll, room, (int)next);
    }
  }
  __syncwarp();
  return room;
}

/* ----------------------------------------------------------------------------------- list --- */

/* What is taken of a block, or nothing. */
__device__ Cj2kCudaAgain again_of(const Hulls &hulls, uint32_t i, uint32_t b)
{
  uint32_t taken = hulls.taken[i], length = 0;
  uint32_t option = taken > 1 ? 2u : taken ? hulls.first_option[i] : 0u;

  for (uint32_t k = 0; k < taken; k++)
    length += hulls.bytes[k][i];
  uint8_t plane = (uint8_t)(option ? CJ2K_CUDA_CUT_PLANES - option : 0);
  return {b, length, {plane, (uint8_t)(option > 0)}};
}

/* Lists the blocks that do not stay at plane 0. Returns, for all threads, whether each has the room
 * that it needs. */
__device__ bool list_blocks(const Cj2kCudaCut &cut, const Hulls &hulls, uint32_t num_measured,
                            uint32_t *count)
{
  bool fits = true;

  for (uint32_t i = threadIdx.x; i < num_measured; i += kThreads) {
    uint32_t b = i * cut.stride, room = cut.coded[b];
    Cj2kCudaAgain again = again_of(hulls, i, b);
    bool stays = !again.choice.plane && again.choice.passes;
    fits &= again.length <= room && (!stays || again.length == room);
    if (stays || !room)
      continue;
    uint32_t at = atomicAdd(count, 1);
    cut.list[at] = cut.host_list[at] = again;
  }
  return __syncthreads_and(fits);
}

/* Makes the list for a codestream that is too long by `over` bytes. Returns whether the host would
 * make it, too. */
__device__ bool cut_blocks(const Cj2kCudaCut &cut, const Cj2kCudaCutLimits &limits,
                           const Sizes &sizes, Hulls *hulls, uint32_t *count)
{
  uint32_t num_measured = (cut.num_blocks + cut.stride - 1) / cut.stride;
  uint64_t headers = sizes.total - sizes.bodies + limits.margin, over = sizes.total - limits.budget;
  uint64_t bytes = limits.budget - min(headers, limits.budget), measured = 0, saved = 0, above;

  for (uint32_t i = threadIdx.x; i < num_measured; i += kThreads) {
    uint32_t b = i * cut.stride;
    saved += make_hull(cut, i, b, hulls);
    measured += cut.coded[b];
  }
  saved = sum_all<kThreads>(saved);
  uint64_t fixed = sizes.bodies - sum_all<kThreads>(measured);
  uint32_t slope = find_cut(*hulls, num_measured, fixed, bytes, &above);
  if (saved <= over + over / 4 || !slope || slope == kFixed)
    return false;
  for (uint32_t i = threadIdx.x; i < num_measured; i += kThreads) {
    uint32_t taken = 0;
    while (taken < hulls->count[i] && hulls->slope[taken][i] > slope)
      taken++;
    hulls->taken[i] = (uint8_t)taken;
  }
  __syncthreads();
  auto add = [=](uint32_t at, uint64_t room) { return fill(hulls, num_measured, at, room); };
  if (threadIdx.x < kWarp)
    (void)fill_up(slope, bytes, above < bytes ? bytes - above : 0, add);
  __syncthreads();
  return list_blocks(cut, *hulls, num_measured, count);
}

/* Copies what was measured, if no hulls are made of it. */
__device__ void copy_measured(const Cj2kCudaCut &cut)
{
  for (uint32_t b = threadIdx.x * cut.stride; b < cut.num_blocks; b += kThreads * cut.stride)
    for (uint32_t p = 0; p < CJ2K_CUDA_CUT_PLANES; p++) {
      size_t at = (size_t)b * CJ2K_CUDA_CUT_PLANES + p;
      cut.host_lengths[at] = length_at(cut, b, p);
      cut.host_distortions[at] = cut.distortions[at];
    }
}

/* Makes the records of listed blocks those that they are going to have, so that packet headers need
 * not wait for them to be coded again. */
__device__ void set_records(const Cj2kCudaCut &cut, uint32_t count)
{
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const Cj2kCudaAgain again = cut.list[i];
    Cj2kEncodedBlock *record = &cut.records[again.block];
    record->length = again.length;
    record->num_passes = again.choice.passes;
    record->zero_bitplanes =
        (uint8_t)(again.choice.passes ? record->zero_bitplanes - again.choice.plane : 0);
  }
}

__global__ void __launch_bounds__(kThreads) cut_kernel(Cj2kCudaCut cut)
{
  __shared__ Hulls hulls;
  __shared__ Cj2kCudaCutLimits limits;
  __shared__ uint32_t count;
  uint32_t state = CJ2K_CUDA_CUT_NONE;
  bool left_out = cut.counts->left_out; /* nothing has been coded or measured */
  bool coded = cut.counts->bytes <= cut.capacity && !cut.counts->failed && !left_out;
  Sizes sizes = sum_packets(cut);

  if (threadIdx.x == 0) {
    limits = *cut.limits;
    count = 0;
  }
  __syncthreads();
  if (coded && cut.lengths && sizes.total > limits.budget && sizes.total <= limits.most) {
    if (cut_blocks(cut, limits, sizes, &hulls, &count))
      state = CJ2K_CUDA_CUT_SOME;
  } else {
    if (cut.lengths && !left_out)
      copy_measured(cut);
    if (coded && sizes.total >= limits.least && sizes.total <= limits.budget)
      state = CJ2K_CUDA_CUT_WHOLE;
  }
  __syncthreads();
  if (state == CJ2K_CUDA_CUT_SOME)
    set_records(cut, count);
  if (threadIdx.x == 0)
    *cut.result = *cut.host_result = {state, state == CJ2K_CUDA_CUT_SOME ? count : 0};
}

} // namespace

cudaError_t cj2k_cuda_ht_cut(const Cj2kCudaCut *cut, cudaStream_t stream)
{
  cut_kernel<<<1, kThreads, 0, stream>>>(*cut);
  return cudaGetLastError();
}
