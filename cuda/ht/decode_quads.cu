// SPDX-License-Identifier: LGPL-2.1-or-later
/* HT cleanup pass: the first step of all blocks, or both steps side by side. */
#include "decode_magsgn.cuh"
#include "decode_quads.cuh"
#include "decode_rows.cuh"

#include "cuda/shared/multiprocessors.cuh"

#include <algorithm>

namespace {

constexpr uint32_t kWarps = 4;

} // namespace

static_assert(kEntries % 4 == 0 && kMelTable % 2 == 0, "the tables are copied and read as vectors");

__device__ __align__(16) uint32_t d_tables[kEntries];

namespace {

/* Copies the tables to shared memory, with all threads of a block, so many. Returns their address.
 */
__device__ __forceinline__ uint32_t copy_tables(uint32_t tables[kEntries], uint32_t threads)
{
  uint32_t thread = threadIdx.y * 32 + threadIdx.x, address;
#pragma unroll
  for (uint32_t i = thread; i < kEntries / 4; i += threads)
    reinterpret_cast<uint4 *>(tables)[i] = reinterpret_cast<const uint4 *>(d_tables)[i];
  __syncthreads();
  address = (uint32_t)__cvta_generic_to_shared(tables);
  asm volatile("" : "+r"(address)); /* keeps the address in a register; else it is recomputed */
  return address;
}

/* The place of the VLC bits of the j-th block of a thread block: rings that begin in different
 * banks. */
__device__ __forceinline__ uint32_t ring_of(const uint8_t *rings, uint32_t j)
{
  return (uint32_t)__cvta_generic_to_shared(rings) + j * kRing + (threadIdx.x & 7) * kChunk;
}

/* Each of the first `lanes` threads of a warp decodes one block. WIDE: some blocks have rows of
 * more than 32 quads. WHOLE: the rows of all blocks are whole groups of four quads. */
template <bool WIDE, bool WHOLE>
__global__ void __launch_bounds__(32 * kWarps)
    quads_kernel(Cj2kCudaDecodeBlocks frame, uint32_t lanes)
{
  __shared__ __align__(kRing) uint32_t tables[kEntries];
  extern __shared__ __align__(kRing) uint8_t rings[];
  Decoder<WIDE, WHOLE> d;
  d.tables = copy_tables(tables, 32 * kWarps);

  uint32_t i = (blockIdx.x * kWarps + threadIdx.y) * lanes + threadIdx.x;
  if (threadIdx.x >= lanes || i >= frame.ht.count)
    return;
  uint32_t ring = ring_of(rings, threadIdx.y * lanes + threadIdx.x);
  uint32_t b = frame.ht.order[i];
  if (b == CJ2K_CUDA_NO_BLOCK)
    return;
  Block block = load_block(frame, b);
  HtSet set;
  if (!find_set(frame, b, block, set) ||
      !d.block(set, block, ring, StoredRows(frame.ht.quads + block.quads, block.width))) {
    frame.corrupt_flags[b] = 1;
    atomicAdd(frame.corrupt, 1u);
  }
}

/* ---------------------------------------------------------------- both steps side by side --- */

/* The warps behind the first kWarps do the second step. */
constexpr uint32_t kMostWarps = kWarps + 20;

/* What blocks have in shared memory, one array after the other: VLC bits, rows of records, MagSgn
 * bits, barriers. */
template <uint32_t LANES> struct Shared {
  uint32_t count; /* of blocks */

  static constexpr uint32_t kBitBytes = 4 * Ring<LANES>::kWords;
  static constexpr uint32_t kBlockBytes =
      kRing + RowRing<LANES>::kBytes + kBitBytes + RowRing<LANES>::kBarrierBytes;

  __device__ RowRing<LANES> rows(const uint8_t *memory, uint32_t j) const
  {
    uint32_t first = (uint32_t)__cvta_generic_to_shared(memory) + count * kRing;
    uint32_t barriers = first + count * (RowRing<LANES>::kBytes + kBitBytes);
    return {first + j * RowRing<LANES>::kBytes, barriers + j * RowRing<LANES>::kBarrierBytes};
  }

  __device__ uint32_t *bits(uint8_t *memory, uint32_t j) const
  {
    memory += count * (kRing + RowRing<LANES>::kBytes) + j * kBitBytes;
    return reinterpret_cast<uint32_t *>(memory);
  }
};

/* First step of a block. */
template <uint32_t LANES, bool WHOLE>
__device__ __forceinline__ void make_rows(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                          uint32_t tables, uint32_t ring, JointRows<LANES> rows)
{
  Block block = load_block(frame, b);
  Decoder<false, WHOLE> d;
  HtSet set;
  d.tables = tables;
  if (!find_set(frame, b, block, set))
    return; /* the second step sees the same */
  bool good = d.block(set, block, ring, rows);
  rows.finish((block.height + 1u) / 2, good);
}

/* Second step of a block. */
template <uint32_t LANES>
__device__ __forceinline__ void take_rows(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                          const RowRing<LANES> &ring, const Lanes &lanes)
{
  Block block = load_block(frame, b);
  JointQuads<LANES> quads(ring, frame.ht.quads + block.quads, block, frame.coded[b].num_passes > 1,
                          lanes.lane);
  make_block<LANES, false>(frame, b, block, quads, lanes);
}

/* Makes zeros of the blocks that have no HT passes, one a group of lanes. */
template <uint32_t LANES>
__device__ __forceinline__ void make_others(const Cj2kCudaDecodeBlocks &frame, uint32_t group,
                                            uint32_t num_groups, const Lanes &lanes)
{
  for (uint32_t b = group; b < frame.num_blocks; b += num_groups) {
    if (has_passes(frame.coded[b], true))
      continue;
    Block block = load_block(frame, b);
    if (block.offset != UINT64_MAX)
      make_zeros<LANES>(frame, b, block, lanes);
  }
}

/* Both steps of HT blocks of up to LANES quads a row, `count` of them a thread block: threads of
 * the first kWarps warps do the first step of a block each, LANES lanes of the other warps the
 * second one. While these wait for the first row they see to the blocks that have no HT passes. */
template <uint32_t LANES, bool WHOLE>
__global__ void __launch_bounds__(32 * kMostWarps)
    cleanup_kernel(Cj2kCudaDecodeBlocks frame, uint32_t count)
{
  __shared__ __align__(kRing) uint32_t all_tables[kEntries];
  extern __shared__ __align__(kRing) uint8_t memory[];
  const Shared<LANES> shared = {count};
  const uint32_t thread = threadIdx.y * 32 + threadIdx.x;
  const bool is_first = threadIdx.y < kWarps;
  if (thread < count)
    shared.rows(memory, thread).init();
  const uint32_t tables = copy_tables(all_tables, 32 * blockDim.y);

  /* The longest blocks, which are first in the list, have different multiprocessors. */
  uint32_t j = is_first ? threadIdx.x * kWarps + threadIdx.y : (thread - 32 * kWarps) / LANES;
  uint32_t i = blockIdx.x + j * gridDim.x, b = CJ2K_CUDA_NO_BLOCK;
  if (j >= count)
    return;
  if (i < frame.ht.count)
    b = frame.ht.order[i];
  if (is_first) {
    if (b != CJ2K_CUDA_NO_BLOCK)
      make_rows<LANES, WHOLE>(frame, b, tables, ring_of(memory, j), {shared.rows(memory, j)});
    return;
  }
  const Lanes group = {shared.bits(memory, j), nullptr, thread % LANES, mask_of<LANES>(thread)};
  make_others<LANES>(frame, i, gridDim.x * count, group);
  if (b != CJ2K_CUDA_NO_BLOCK)
    take_rows<LANES>(frame, b, shared.rows(memory, j), group);
}

} // namespace

/* The percentage of a multiprocessor's fast memory that is shared memory while these kernels run. A
 * multiprocessor must be idle before that changes. Hence it suits the kernels that run beside
 * these, which want more cache. Thread blocks of cleanup_kernel that need more get it. */
constexpr int kSharedPercent = 25;

template <class Kernel> static cudaError_t prefer_cache(Kernel kernel)
{
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              kSharedPercent);
}

/* The most shared memory that a thread block of cleanup_kernel can have beside the tables, on the
 * current GPU; 0 before compute capability 8.0, whose barriers it needs. */
static int most_shared()
{
  int device = 0, bytes = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
          cudaSuccess)
    return 0;
  return major < 8 ? 0 : std::max(bytes - (int)(4 * kEntries), 0);
}

template <uint32_t LANES> static cudaError_t allow_shared()
{
  constexpr int kMost = (kMostWarps - kWarps) * 32 / LANES * Shared<LANES>::kBlockBytes;
  int bytes = std::min(kMost, most_shared());
  cudaError_t result = prefer_cache(cleanup_kernel<LANES, false>);
  if (result == cudaSuccess)
    result = prefer_cache(cleanup_kernel<LANES, true>);
  if (result == cudaSuccess)
    result = cudaFuncSetAttribute(cleanup_kernel<LANES, false>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (result == cudaSuccess)
    result = cudaFuncSetAttribute(cleanup_kernel<LANES, true>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  return result;
}

/* Uploads the tables. */
cudaError_t cj2k_cuda_ht_init(void)
{
  uint32_t all[kEntries];
  make_decode_tables(all);
  cudaError_t result = prefer_cache(quads_kernel<true, false>);
  if (result == cudaSuccess)
    result = prefer_cache(quads_kernel<false, false>);
  if (result == cudaSuccess)
    result = prefer_cache(quads_kernel<false, true>);
  if (result == cudaSuccess)
    result = allow_shared<16>();
  if (result == cudaSuccess)
    result = allow_shared<32>();
  if (result == cudaSuccess)
    result = cudaMemcpyToSymbolAsync(d_tables, all, sizeof all, 0, cudaMemcpyHostToDevice,
                                     cudaStreamPerThread);
  return result == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : result;
}

/* Warps of a multiprocessor that do not wait for each other, because each has a scheduler and its
 * arithmetic units to itself. */
constexpr uint32_t kWarpsAlone = 4;

/* The number of blocks in a warp. With one frame in flight most of the GPU is idle here, and blocks
 * wait less for each other if there are fewer in a warp, but only while each warp has a scheduler
 * to itself. Full warps take the least from what runs beside them. */
static uint32_t choose_lanes(const Cj2kCudaDecodeBlocks *frame)
{
  if (frame->aim != CJ2K_CUDA_AIM_LATENCY)
    return 32;
  uint32_t warps = kWarpsAlone * count_multiprocessors();
  return std::clamp((frame->ht.count + warps - 1) / warps, 1u, 32u);
}

cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  uint32_t lanes = choose_lanes(frame);
  uint32_t grid = (frame->ht.count + kWarps * lanes - 1) / (kWarps * lanes);
  if (grid == 0)
    return cudaSuccess;
  dim3 threads(32, kWarps);
  size_t rings = kWarps * lanes * kRing;
  if (frame->max_width > 2 * kMaskQuads)
    quads_kernel<true, false><<<grid, threads, rings, stream>>>(*frame, lanes);
  else if (frame->width_bits & 7)
    quads_kernel<false, false><<<grid, threads, rings, stream>>>(*frame, lanes);
  else
    quads_kernel<false, true><<<grid, threads, rings, stream>>>(*frame, lanes);
  return cudaGetLastError();
}

/* Blocks of a thread block that does both steps: each multiprocessor has one, so that a warp of the
 * first step has a scheduler to itself. */
static uint32_t count_joint(const Cj2kCudaDecodeBlocks *frame)
{
  uint32_t processors = count_multiprocessors();
  return (frame->ht.count + processors - 1) / processors;
}

static bool is_narrow(const Cj2kCudaDecodeBlocks *frame)
{
  return frame->max_width <= 32;
}

/* Both steps side by side pay with few blocks, whose second step has its warps beside those of the
 * first one. These also see to all other blocks of the frame, one after the other, which must be
 * few. */
bool cj2k_cuda_ht_is_joint(const Cj2kCudaDecodeBlocks *frame)
{
  if (frame->aim != CJ2K_CUDA_AIM_LATENCY || frame->max_width > 64 ||
      frame->num_blocks / 2 > frame->ht.count || !frame->ht.count)
    return false;
  uint32_t count = count_joint(frame), lanes = is_narrow(frame) ? 16 : 32;
  uint32_t bytes = is_narrow(frame) ? Shared<16>::kBlockBytes : Shared<32>::kBlockBytes;
  return count * lanes <= 32 * (kMostWarps - kWarps) && (int)(count * bytes) <= most_shared();
}

template <uint32_t LANES>
static cudaError_t launch_both(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  uint32_t count = count_joint(&frame), grid = (frame.ht.count + count - 1) / count;
  dim3 threads(32, kWarps + (count * LANES + 31) / 32);
  size_t shared = count * Shared<LANES>::kBlockBytes;
  if (frame.width_bits & 7)
    cleanup_kernel<LANES, false><<<grid, threads, shared, stream>>>(frame, count);
  else
    cleanup_kernel<LANES, true><<<grid, threads, shared, stream>>>(frame, count);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_ht_decode_joint(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  return is_narrow(frame) ? launch_both<16>(*frame, stream) : launch_both<32>(*frame, stream);
}
