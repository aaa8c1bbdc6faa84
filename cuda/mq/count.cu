// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counts the bytes of packet headers of a selection of passes, as common/rate/headers.c does it,
 * before any header is made: a block of threads for each packet adds up the bits of its
 * code-blocks.
 */
#include "cuda/mq/cut.h"

#include "cuda/shared/cut.cuh"
#include "cuda/shared/header_trees.cuh"

#include <cstdint>

namespace {

struct Selection {
  const Cj2kCudaMqTaken *taken;

  __device__ bool is_in(uint32_t b) const
  {
    return taken[b].passes;
  }
};

/* The bits of a block. */
__device__ uint32_t block_bits(const Cj2kCudaMqCut &cut, const Packet &packet, const Work &work,
                               uint32_t b)
{
  Leaf leaf = leaf_of(packet, work, b);
  Cj2kHeaderTrees trees = cj2k_header_trees(leaf.tree, leaf.nodes, leaf.x, leaf.y);
  Cj2kCudaMqTaken taken = cut.taken[b];
  Cj2kHeaderBlock block = {};

  block.passes = block.first_passes = taken.passes;
  block.lengths[0] = taken.length;
  if (cut.packets.pass_lengths && taken.passes > 1)
    block.ends = cut.packets.pass_lengths + cut.frame.coded[b].first_pass;
  return cj2k_header_block_size(&trees, &block);
}

/* The bytes of what is taken of a packet's blocks. */
template <uint32_t kThreads>
__device__ uint64_t sum_bodies(const Cj2kCudaMqCut &cut, const Packet &packet)
{
  uint64_t bytes = 0;

  for (uint32_t i = threadIdx.x; i < packet.num_blocks; i += kThreads) {
    Cj2kCudaMqTaken taken = cut.taken[packet.first_block + i];
    bytes += taken.passes ? taken.length : 0;
  }
  return sum_all<kThreads>(bytes);
}

template <uint32_t kThreads>
__global__ void __launch_bounds__(kThreads) count_kernel(Cj2kCudaMqCut cut, uint32_t first)
{
  __shared__ Packet packet;
  __shared__ Cj2kHeaderNode nodes[kNodesOf<kThreads>];
  uint64_t bits = 0;

  if (cut.state->result.state != CJ2K_CUDA_CUT_SOME)
    return;
  read_packet<kThreads>(cut.packets.packets + first + blockIdx.x, &packet);
  bool fits = packet.num_nodes <= kNodesOf<kThreads>;
  Work work = {fits ? nodes : cut.packets.nodes + packet.first_node, NULL};
  make_trees<kThreads>(cut.packets, Selection{cut.taken}, packet, work);
  for (uint32_t i = threadIdx.x; i < packet.num_blocks; i += kThreads)
    bits += block_bits(cut, packet, work, packet.first_block + i);
  bits = sum_all<kThreads>(bits) + 1; /* the packet is not empty */
  uint64_t body = cut.plt ? sum_bodies<kThreads>(cut, packet) : 0;
  if (threadIdx.x || is_empty(packet, work))
    return;
  uint64_t header = (bits + bits / CJ2K_STUFF_SELDOM + 7) / 8;
  uint32_t more = cut.plt ? cj2k_length_entry_more(header, body, cut.markers) : 0;
  atomicAdd(reinterpret_cast<unsigned long long *>(&cut.state->headers),
            static_cast<unsigned long long>(header - 1 + more));
}

} // namespace

cudaError_t cj2k_cuda_mq_count(const Cj2kCudaMqCut *cut, cudaStream_t stream)
{
  uint32_t large = cut->packets.num_large, small = cut->packets.num_packets - large;

  if (large)
    count_kernel<kLarge><<<large, kLarge, 0, stream>>>(*cut, 0);
  cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  if (small)
    count_kernel<kSmall><<<small, kSmall, 0, stream>>>(*cut, large);
  return cudaGetLastError();
}
