// SPDX-License-Identifier: LGPL-2.1-or-later
/* HT cleanup pass, second step, for all blocks of a frame or of a part of it. */
#include "decode_magsgn.cuh"

namespace {

constexpr uint32_t kThreads = 128;

/* Thread blocks that should be resident on a multiprocessor; Turing's holds 1024 threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr uint32_t kBlocksPerSm = 8;
#else
constexpr uint32_t kBlocksPerSm = 9;
#endif

template <uint32_t LANES, bool WIDE>
__global__ void __launch_bounds__(kThreads, WIDE ? 4 : kBlocksPerSm)
    magsgn_kernel(Cj2kCudaDecodeBlocks frame)
{
  constexpr uint32_t kGroups = kThreads / LANES;
  __shared__ uint32_t rings[kGroups][Ring<LANES>::kWords];
  __shared__ uint32_t lines[WIDE ? kGroups : 1][WIDE ? 2 * (kMaxCols + LANES) : 1];
  uint32_t group = threadIdx.x / LANES, b = blockIdx.x * kGroups + group;
  if (b >= frame.num_blocks)
    return;
  Block block = load_block(frame, b);
  if (block.offset == UINT64_MAX)
    return;
  const Lanes lanes = {rings[group], lines[WIDE ? group : 0], threadIdx.x % LANES,
                       mask_of<LANES>(threadIdx.x)};
  if (has_passes(frame.coded[b], true) && !frame.corrupt_flags[b])
    make_block<LANES, WIDE>(frame, b, block, StoredQuads(frame.ht.quads + block.quads, block.width),
                            lanes);
  else
    make_zeros<LANES>(frame, b, block, lanes);
}

template <uint32_t LANES, bool WIDE>
cudaError_t launch(const Cj2kCudaDecodeBlocks &frame, cudaStream_t stream)
{
  constexpr uint32_t kGroups = kThreads / LANES;
  magsgn_kernel<LANES, WIDE>
      <<<(frame.num_blocks + kGroups - 1) / kGroups, kThreads, 0, stream>>>(frame);
  return cudaGetLastError();
}

} // namespace

cudaError_t cj2k_cuda_ht_decode_magsgn(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  if (frame->num_blocks == 0)
    return cudaSuccess;
  if (frame->max_width <= 32)
    return launch<16, false>(*frame, stream);
  return frame->max_width <= 64 ? launch<32, false>(*frame, stream)
                                : launch<32, true>(*frame, stream);
}
