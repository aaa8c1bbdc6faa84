// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Decoding of MQ code-blocks (T.800 annexes C, D), in two kernels. In the first one a thread
 * decodes a code-block (decode_block.cuh) to bit-planes, a word for each octet (octet.cuh). The
 * second one is parallel over samples and makes coefficients of the bit-planes. With BYPASS there
 * is one in between (refine.cu).
 *
 * The threads of a warp are at different places of their code-blocks, even in different passes.
 * What they do together is a round: those that are at the end of an octet go to the next one; then,
 * twice, all decode a few symbols; those that need bytes, or end a run, read these; those with a
 * sample that has become significant decode its sign. A step takes equally long for one thread and
 * for all. Raw bits are decoded like symbols, so that they need no step of their own, which would
 * cost more than it saves. A code-block that has a warp for itself makes no other one wait.
 */
#include "decode_block.cuh"

namespace {

constexpr uint32_t kWarp = 32;
/* How often a round decodes symbols for each step to the next octet, which takes about as long and
 * which in nearly each round some thread needs. Threads wait longer for it if it is more often. */
constexpr uint32_t kTurns = 2;
/* Warps of a thread block: one for each of a multiprocessor's four schedulers. */
constexpr uint32_t kMaxWarps = 4;

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

/* A warp's lanes decode a code-block each; those that are not alive have none. */
template <uint32_t LANES, bool WIDE>
__device__ __forceinline__ void decode_together(BlockDecoder<LANES, WIDE> &block, bool alive)
{
  SymbolDecoder<LANES> &symbols = block.symbols;
  if (!alive)
    symbols.set_idle();
  while (__any_sync(0xFFFFFFFFu, alive)) {
    if (alive && block.may_advance()) {
      alive = block.advance();
      if (!alive)
        symbols.set_idle();
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t n = 0; n < kTurns; n++) {
      if (symbols.can_decode())
        symbols.template decode_symbols<false>();
      __syncwarp();
      if (symbols.needs_more())
        symbols.go_on();
      __syncwarp();
      if (symbols.found)
        block.decode_sign();
      __syncwarp();
    }
  }
}

/* Decodes the only code-block of a warp: each step comes when it is needed, and as often. */
template <uint32_t LANES, bool WIDE>
__device__ __forceinline__ void decode_alone(BlockDecoder<LANES, WIDE> &block)
{
  SymbolDecoder<LANES> &symbols = block.symbols;
  for (;;) {
    while (block.may_advance())
      if (!block.advance())
        return;
    if (symbols.mq.is_raw && symbols.waiting)
      block.propagate_raw();
    else if (symbols.can_decode())
      symbols.template decode_symbols<true>();
    if (symbols.needs_more())
      symbols.go_on();
    if (symbols.found)
      block.decode_sign();
  }
}

/* Four or five thread blocks fit on a multiprocessor: their shared memory allows no more of large
 * code-blocks, and these need registers for the stripe that is loaded ahead. */
template <uint32_t LANES, bool WIDE>
__global__ void __launch_bounds__(kMaxWarps *kWarp, WIDE ? 4 : 5)
    decode_kernel(Cj2kCudaDecodeBlocks frame)
{
  extern __shared__ uint4 shared[];
  for (uint32_t i = threadIdx.x; i < sizeof(Tables) / sizeof(uint4); i += blockDim.x)
    shared[i] = reinterpret_cast<const uint4 *>(&d_tables)[i];
  __syncthreads();

  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t number = blockIdx.x * (blockDim.x / kWarp) + warp, i = 0;
  bool has_block = false;
  if (number < frame.mq.num_warps) {
    i = frame.mq.warps[number] + lane;
    has_block = i < frame.mq.warps[number + 1];
  }
  BlockDecoder<LANES, WIDE> block;
  uint32_t tables = (uint32_t)__cvta_generic_to_shared(shared);
  block.set_memory(tables, tables + (uint32_t)sizeof(Tables) +
                               4 * (warp * LANES * (kFixedWords + frame.mq.words) + lane));
  block.pass.index = 0;
  block.corrupt = false;
  bool alive = has_block && block.start(frame, i);
  bool is_alone =
      number < frame.mq.num_warps && frame.mq.warps[number + 1] - frame.mq.warps[number] == 1;
  if (!is_alone)
    decode_together(block, alive);
  else if (alive)
    decode_alone(block);
  if (has_block) {
    if (block.pass.index)
      block.finish();
    frame.mq.passes[i] = block.corrupt ? 0 : block.pass.index;
    if (block.corrupt) {
      frame.corrupt_flags[frame.mq.order[i]] = 1;
      atomicAdd(frame.corrupt, 1u);
    }
  }
}

/* ------------------------------------------------------------------------- finish --- */

constexpr uint32_t kFinishThreads = 128;

/* Converts the bit-planes of a sample down to `lowest` to half units, with the middle of what the
 * planes below can add. `refined`: the last pass that was decoded is not a significance propagation
 * pass. Else plane `lowest` is known only of samples that became significant in it. */
__device__ __forceinline__ uint32_t half_units(uint32_t value, uint32_t lowest, bool refined)
{
  if (!refined && value > 1) {
    value >>= 1;
    lowest++;
  }
  return value ? (2 * value + 1) << lowest : 0;
}

/* A thread block makes the coefficients of a code-block, a warp four rows of up to 32 columns at a
 * time. */
template <class T>
__device__ __forceinline__ void finish_block(const Cj2kCudaDecodeBlocks &frame, uint32_t index,
                                             uint32_t passes, const Block &block)
{
  T *out = samples_of<T>(frame, block);
  uint32_t across = (block.width + 7) / 8, num_octets = across * ((block.height + 3) / 4);
  const uint32_t *from = frame.mq.planes + frame.mq.offsets[blockIdx.x] + 2 * num_octets;
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
      T *to = out + ((size_t)(y + r) * block.stride + x);
      if (magnitude)
        store_coefficient(to, magnitude, signs >> r & 1, block);
      else
        *to = 0;
    }
  }
}

__global__ void __launch_bounds__(kFinishThreads) finish_kernel(Cj2kCudaDecodeBlocks frame)
{
  uint32_t index = frame.mq.order[blockIdx.x], passes = frame.mq.passes[blockIdx.x];
  const Block block = load_block(frame, index);
  if (block.narrow)
    finish_block<uint16_t>(frame, index, passes, block);
  else
    finish_block<uint32_t>(frame, index, passes, block);
}

/* ------------------------------------------------------------------------- launch --- */

uint32_t shared_bytes(const Cj2kCudaDecodeBlocks &frame, uint32_t lanes, uint32_t warps)
{
  return (uint32_t)sizeof(Tables) +
         warps * lanes * (kFixedWords + frame.mq.words) * (uint32_t)sizeof(uint32_t);
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
  uint32_t warps = kMaxWarps;
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
  kernel<<<(frame.mq.num_warps + warps - 1) / warps, warps * kWarp, bytes, stream>>>(frame);
  return cudaGetLastError();
}

template <uint32_t LANES>
cudaError_t launch_lanes(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  return frame.mq.max_octets > CJ2K_CUDA_MQ_SMALL ? launch<LANES, true>(frame, stream)
                                                  : launch<LANES, false>(frame, stream);
}

} // namespace

cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  if (frame->mq.count == 0)
    return cudaSuccess;
  cudaError_t error = cudaMemsetAsync(frame->mq.planes, 0,
                                      frame->mq.plane_words * sizeof *frame->mq.planes, stream);
  uint32_t lanes = frame->mq.lanes;
  if (error == cudaSuccess)
    error = lanes == 32   ? launch_lanes<32>(*frame, stream)
            : lanes == 16 ? launch_lanes<16>(*frame, stream)
            : lanes == 8  ? launch_lanes<8>(*frame, stream)
                          : launch_lanes<4>(*frame, stream);
  if (error == cudaSuccess)
    error = cj2k_cuda_mq_refine(frame, stream);
  if (error != cudaSuccess)
    return error;
  finish_kernel<<<frame->mq.count, kFinishThreads, 0, stream>>>(*frame);
  return cudaGetLastError();
}
