// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hulls and gathering of coded MQ blocks. In one kernel a thread computes the convex hull of a
 * block's passes. From the hulls the host decides which bytes are retained. In another kernel a
 * warp per block gathers these, so that no others are downloaded; or a third one notes in the
 * blocks' records what is retained, where packets are made on the GPU.
 */
#include "encode_kernels.h"
#include "tasks.cuh"

#include "cuda/shared/slopes.cuh"
#include "cuda/shared/warp.cuh"

#include "common/shared/hull.h"

namespace {

constexpr uint32_t kThreads = 64;
constexpr uint32_t kMaxPasses = CJ2K_CUDA_MQ_PASSES(31);

/* --------------------------------------------------------------------------------- hulls --- */

/* Returns whether nothing ran out of room before this step. */
__device__ bool has_room(const Cj2kCudaMqCode &frame)
{
  const Cj2kCudaMqFrameCounts *counts = frame.counts;
  return counts->modelled.symbols <= frame.contexts.capacity && !counts->coded.failed &&
         counts->passes <= frame.pass_capacity;
}

/* A pass on the hull. */
struct Point {
  double gain;             /* squared error saved */
  uint32_t length, option; /* bytes; number of passes */
};

/* The hull of the passes of a block so far. */
struct Hull {
  Point points[kMaxPasses];
  uint32_t count;

  /* Removes points below the line to `point`, then adds it if it saves anything. */
  __device__ void push(const Point &point)
  {
    for (; count; count--) {
      const Point &last = points[count - 1];
      double before = count > 1 ? points[count - 2].gain : 0;
      uint32_t from = count > 1 ? points[count - 2].length : 0;
      double saved = point.gain - last.gain;
      if (saved <= 0)
        return;
      if (saved * (last.length - from) < (last.gain - before) * (point.length - last.length))
        break;
    }
    if (point.gain > 0)
      points[count++] = point;
  }
};

__device__ uint32_t warp_max(uint32_t value)
{
  for (uint32_t d = kWarp / 2; d; d >>= 1)
    value = max(value, __shfl_xor_sync(kAll, value, d));
  return value;
}

/* Adds up the bytes of all passes. */
__device__ void note_length(const Cj2kCudaMqCode &frame, uint32_t length)
{
  unsigned long long sum = sum_warp(length);

  if (threadIdx.x % kWarp == 0 && sum)
    atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->lengths), sum);
}

/* Combines the threads of a warp: the highest slope, and by how much the lowest one is below
 * CJ2K_SLOPE_CLASSES. */
__device__ void note_slopes(const Cj2kCudaMqCode &frame, uint32_t highest, uint32_t below)
{
  highest = warp_max(highest);
  below = warp_max(below);
  if (threadIdx.x % kWarp == 0 && below) {
    atomicMax(&frame.counts->highest_slope, highest);
    atomicMax(&frame.counts->lowest_slope_below, below);
  }
}

/* Takes room for the thread's `count` points. Returns the index of the first. */
__device__ uint64_t take_points(const Cj2kCudaMqCode &frame, uint32_t count)
{
  uint32_t sum = scan_warp(count, Add());
  unsigned long long first = 0;

  if (threadIdx.x % kWarp == kWarp - 1 && sum)
    first = atomicAdd(reinterpret_cast<unsigned long long *>(&frame.counts->points),
                      (unsigned long long)sum);
  return __shfl_sync(kAll, first, kWarp - 1) + sum - count;
}

__device__ void store_hull(const Cj2kCudaMqCode &frame, const Hull &hull, double weight,
                           Cj2kHullPoint *points)
{
  uint32_t slope = UINT16_MAX, highest = 0;
  Point before = {0, 0, 0};
  for (uint32_t i = 0; i < hull.count; i++) {
    Point point = hull.points[i];
    uint32_t bytes = point.length - before.length;
    slope = min(slope, slope_class((point.gain - before.gain) * weight, bytes));
    highest = max(highest, slope);
    points[i] = {bytes, (uint16_t)slope, (uint8_t)point.option, 0};
    atomicAdd(reinterpret_cast<unsigned long long *>(&frame.slope_bytes[slope]),
              (unsigned long long)bytes);
    before = point;
  }
  note_slopes(frame, highest, hull.count ? CJ2K_SLOPE_CLASSES - slope : 0);
}

__global__ void __launch_bounds__(kThreads) hull_kernel(Cj2kCudaMqCode frame)
{
  uint32_t task = blockIdx.x * kThreads + threadIdx.x;
  bool has_block = task < num_tasks(frame.contexts) && has_room(frame);
  uint32_t b = has_block ? block_of(frame.contexts, task) : 0;
  double weight = 0;
  Hull hull;

  hull.count = 0;
  if (has_block) {
    const Cj2kPassLength *passes = frame.passes + frame.coded[b].first_pass;
    const uint64_t *distortions =
        frame.contexts.distortions + (uint64_t)b * CJ2K_CUDA_MQ_PASSES(frame.contexts.max_planes);
    for (uint32_t p = 0, n = frame.coded[b].num_passes; p < n; p++)
      hull.push({(double)distortions[p], passes[p].length, p + 1});
    weight = frame.weights[frame.contexts.blocks[b].band];
  }
  note_length(frame, has_block ? frame.coded[b].length : 0);
  uint64_t first = take_points(frame, hull.count);
  store_hull(frame, hull, weight, frame.points + first);
  if (has_block) {
    frame.coded[b].first_point = (uint32_t)first;
    frame.coded[b].num_points = (uint8_t)hull.count;
  }
}

/* -------------------------------------------------------------------------------- gather --- */

constexpr uint32_t kGatherWarps = 8;

__global__ void __launch_bounds__(kWarp *kGatherWarps) gather_kernel(Cj2kCudaMqGather gather)
{
  uint32_t b = blockIdx.x * kGatherWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (b >= gather.num_blocks)
    return;
  Cj2kCudaMqRetained retained = gather.retained[b];
  if (!retained.length)
    return;
  const uint8_t *from = gather.bytes + gather.blocks[b].offset;
  uint8_t *to = gather.out + retained.to;

  /* Each aligned word of `to` has parts of two words of `from`. The bytes before the first and
   * behind the last one are copied one by one. */
  uint32_t head = min((uint32_t)(4 - retained.to % 4) % 4, retained.length);
  uint32_t words = (retained.length - head) / 4, end = head + 4 * words;
  const uint32_t *in = reinterpret_cast<const uint32_t *>(from);
  uint32_t *out = reinterpret_cast<uint32_t *>(to + head);
  for (uint32_t i = lane; i < words; i += kWarp)
    out[i] = head ? __funnelshift_r(in[i], in[i + 1], 8 * head) : in[i];
  if (lane < head)
    to[lane] = from[lane];
  if (lane < retained.length - end)
    to[end + lane] = from[end + lane];
}

/* -------------------------------------------------------------------------------- retain --- */

constexpr uint32_t kRetainThreads = 256;

__global__ void __launch_bounds__(kRetainThreads) retain_kernel(Cj2kCudaMqRetain job)
{
  uint32_t b = blockIdx.x * kRetainThreads + threadIdx.x;

  if (b >= job.num_blocks)
    return;
  job.blocks[b].num_passes = job.passes[b];
  job.blocks[b].length = job.lengths[b];
}

} // namespace

cudaError_t cj2k_cuda_mq_hulls(const Cj2kCudaMqCode *frame, cudaStream_t stream)
{
  uint32_t tasks = num_tasks(frame->contexts);
  if (tasks)
    hull_kernel<<<(tasks + kThreads - 1) / kThreads, kThreads, 0, stream>>>(*frame);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_mq_gather(const Cj2kCudaMqGather *gather, cudaStream_t stream)
{
  uint32_t grid = (gather->num_blocks + kGatherWarps - 1) / kGatherWarps;
  if (grid)
    gather_kernel<<<grid, kWarp * kGatherWarps, 0, stream>>>(*gather);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_mq_retain(const Cj2kCudaMqRetain *retain, cudaStream_t stream)
{
  uint32_t grid = (retain->num_blocks + kRetainThreads - 1) / kRetainThreads;
  if (grid)
    retain_kernel<<<grid, kRetainThreads, 0, stream>>>(*retain);
  return cudaGetLastError();
}
