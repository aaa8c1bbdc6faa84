// SPDX-License-Identifier: LGPL-2.1-or-later
/* The tag trees of a packet, made by a block of threads: for packet headers, and to count them. */
#pragma once

#include "common/codestream/header_stuffing.h"
#include "headers.h"

#include <cstdint>

namespace {

constexpr uint32_t kLarge = 1024, kSmall = 64; /* threads for a packet */

using Packet = Cj2kCudaHeaderPacket;

/* Nodes that have room in shared memory. */
template <uint32_t kThreads> constexpr uint32_t kNodesOf = 3 * kThreads;

/* The nodes of a packet and its bits: in shared memory, which is much faster, if they have room
 * there. */
struct Work {
  Cj2kHeaderNode *nodes;
  uint32_t *words;
};

/* A code-block in its tree. */
struct Leaf {
  const Cj2kHeaderTree *tree;
  Cj2kHeaderNode *nodes;
  uint32_t index, x, y;
};

__device__ Leaf leaf_of(const Packet &packet, const Work &work, uint32_t b)
{
  uint32_t i = 0;

  while (i + 1 < packet.num_bands && b >= packet.bands[i + 1].first_block)
    i++;
  const Cj2kCudaHeaderBand &band = packet.bands[i];
  uint32_t index = b - band.first_block, width = band.tree.width;
  return {&band.tree, work.nodes + band.first_node, index, index % width, index / width};
}

/* Copies a packet to shared memory. */
template <uint32_t kThreads> __device__ void read_packet(const Packet *from, Packet *packet)
{
  constexpr uint32_t kPacketWords = sizeof(Packet) / sizeof(uint32_t);

  for (uint32_t i = threadIdx.x; i < kPacketWords; i += kThreads)
    reinterpret_cast<uint32_t *>(packet)[i] = reinterpret_cast<const uint32_t *>(from)[i];
  __syncthreads();
}

/* taken.is_in(b): is block b in the layer? */
template <uint32_t kThreads, typename Taken>
__device__ void make_trees(const Cj2kCudaHeaders &frame, const Taken &taken, const Packet &packet,
                           const Work &work)
{
  uint32_t levels = 0;

  for (uint32_t i = threadIdx.x; i < packet.num_blocks; i += kThreads) {
    uint32_t b = packet.first_block + i;
    Leaf leaf = leaf_of(packet, work, b);
    leaf.nodes[leaf.index] =
        cj2k_header_leaf(taken.is_in(b), leaf.index, frame.blocks[b].zero_bitplanes);
  }
  for (uint32_t i = 0; i < packet.num_bands; i++)
    levels = max(levels, packet.bands[i].tree.num_levels);
  for (uint32_t level = 1; level < levels; level++) {
    __syncthreads();
    for (uint32_t i = 0; i < packet.num_bands; i++) {
      const Cj2kHeaderTree &tree = packet.bands[i].tree;
      Cj2kHeaderNode *nodes = work.nodes + packet.bands[i].first_node;
      uint32_t count = level < tree.num_levels ? cj2k_header_level_nodes(&tree, level) : 0;
      for (uint32_t j = threadIdx.x; j < count; j += kThreads)
        nodes[tree.offset[level] + j] = cj2k_header_inner(&tree, nodes, level, j);
    }
  }
  __syncthreads();
}

/* Whether no band has blocks in the layer. */
__device__ bool is_empty(const Packet &packet, const Work &work)
{
  for (uint32_t i = 0; i < packet.num_bands; i++) {
    const Cj2kCudaHeaderBand &band = packet.bands[i];
    uint32_t root = band.tree.offset[band.tree.num_levels - 1];
    if (work.nodes[band.first_node + root].first != CJ2K_HEADER_NONE)
      return false;
  }
  return true;
}

} // namespace
