// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Packet headers of a single layer (T.800 B.10), a block of threads for each packet:
 *
 *  - a thread for each leaf and node of the tag trees, level by level;
 *  - a thread for each code-block counts its bits, sums give their places, and it writes them;
 *  - a thread for each word of these bits makes a table for bit stuffing, a scan over the tables
 *    tells where its bytes begin, and it writes them.
 *
 * The rules are those of header_blocks.h and header_stuffing.h, which also the CPU can do.
 */
#include "headers.h"

#include "header_trees.cuh"
#include "warp.cuh"

#include "common/codestream/header_stuffing.h"

#include <cstdint>

namespace {

constexpr uint32_t kPlaces = 256; /* threads for the places of all packets */

/* ---------------------------------------------------------------------------------- scan --- */

struct JoinTables {
  __device__ uint64_t operator()(uint64_t first, uint64_t second) const
  {
    return cj2k_stuff_join(first, second);
  }
};

/* What an operation gives over the values of the threads before this one, `none` for the first one,
 * and over all. */
template <uint32_t kThreads, typename T, typename Op>
__device__ T scan(T value, T none, Op op, T *all)
{
  constexpr uint32_t kWarps = kThreads / kWarp;
  __shared__ T warps[kWarps];
  uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  T up_to = scan_warp(value, op), before = __shfl_up_sync(kAll, up_to, 1);

  if (lane == kWarp - 1)
    warps[warp] = up_to;
  __syncthreads();
  if (warp == 0) {
    T sum = scan_warp(lane < kWarps ? warps[lane] : none, op);
    if (lane < kWarps)
      warps[lane] = sum;
  }
  __syncthreads();
  *all = warps[kWarps - 1];
  T outside = warp ? warps[warp - 1] : none;
  __syncthreads(); /* before `warps` is used again */
  return op(outside, lane ? before : none);
}

/* -------------------------------------------------------------------------------- blocks --- */

/* As make_trees() wants them. */
struct Records {
  const Cj2kEncodedBlock *blocks;

  __device__ bool is_in(uint32_t b) const
  {
    return blocks[b].num_passes;
  }
};

__device__ Cj2kHeaderBlock block_of(const Cj2kCudaHeaders &frame, uint32_t b)
{
  const Cj2kEncodedBlock &coded = frame.blocks[b];
  Cj2kHeaderBlock block = {};

  block.passes = block.first_passes = coded.num_passes;
  block.lengths[0] = coded.length;
  if (frame.header_bits && block.passes > 1)
    block.words = frame.header_bits + coded.first_pass;
  if (frame.pass_lengths && block.passes > 1)
    block.ends = frame.pass_lengths + coded.first_pass;
  return block;
}

/* ------------------------------------------------------------------------ bits of packets --- */

/* Bits and bytes of blocks, which one scan sums: those of all threads are fewer than 2^24 and 2^40.
 */
constexpr uint32_t kByteBits = 40;

__device__ uint64_t join_sizes(uint32_t bits, uint32_t bytes)
{
  return (uint64_t)bits << kByteBits | bytes;
}

__device__ uint32_t bits_of(uint64_t sizes)
{
  return (uint32_t)(sizes >> kByteBits);
}

__device__ uint64_t bytes_of(uint64_t sizes)
{
  return sizes & (((uint64_t)1 << kByteBits) - 1);
}

/* Finds where the bits and bytes of each block begin. Returns the number of all bits. */
template <uint32_t kThreads>
__device__ uint32_t sum_blocks(const Cj2kCudaHeaders &frame, const Packet &packet, const Work &work,
                               uint64_t *body)
{
  uint32_t bits = 1; /* the packet is not empty */

  for (uint32_t first = 0; first < packet.num_blocks; first += kThreads) {
    uint32_t i = first + threadIdx.x, b = packet.first_block + i;
    uint64_t size = 0, all;
    if (i < packet.num_blocks) {
      Leaf leaf = leaf_of(packet, work, b);
      Cj2kHeaderTrees trees = cj2k_header_trees(leaf.tree, leaf.nodes, leaf.x, leaf.y);
      Cj2kHeaderBlock block = block_of(frame, b);
      size =
          join_sizes(cj2k_header_block_size(&trees, &block), block.passes ? block.lengths[0] : 0);
    }
    uint64_t before = scan<kThreads>(size, (uint64_t)0, Add(), &all);
    if (i < packet.num_blocks) {
      frame.at[b] = bits + bits_of(before);
      frame.starts[b] = *body + bytes_of(before);
    }
    bits += bits_of(all);
    *body += bytes_of(all);
  }
  return bits;
}

/* Writes the bits of all blocks. The packet is not empty. */
template <uint32_t kThreads>
__device__ void put_blocks(const Cj2kCudaHeaders &frame, const Packet &packet, const Work &work)
{
  if (threadIdx.x == 0)
    CJ2K_HEADER_OR(work.words, 1u << 31);
  for (uint32_t i = threadIdx.x; i < packet.num_blocks; i += kThreads) {
    uint32_t b = packet.first_block + i;
    Leaf leaf = leaf_of(packet, work, b);
    Cj2kHeaderBlock block = block_of(frame, b);
    cj2k_header_put_block(leaf.tree, leaf.nodes, leaf.x, leaf.y, &block, work.words, frame.at[b]);
  }
}

/* ------------------------------------------------------------------------------- stuffing --- */

/* Writes the bytes of a header of num_bits bits. Returns their number. */
template <uint32_t kThreads>
__device__ uint32_t stuff(const uint32_t *words, uint32_t num_bits, uint8_t *out)
{
  uint32_t chunks = cj2k_stuff_chunks(num_bits), state = CJ2K_STUFF_BEGIN, total = 0;

  for (uint32_t first = 0; first < chunks; first += kThreads) {
    uint32_t chunk = first + threadIdx.x, bytes = 0, size = 0, count;
    uint64_t window = 0, table = CJ2K_STUFF_SAME, all;
    if (chunk < chunks) {
      window = cj2k_stuff_window(words, chunk);
      size = cj2k_stuff_size(num_bits, chunk);
      table = cj2k_stuff_table(window);
    }
    uint32_t before = cj2k_stuff_apply(
        scan<kThreads>(table, (uint64_t)CJ2K_STUFF_SAME, JoinTables(), &all), state);
    uint32_t behind = cj2k_stuff_behind(table, window, size, before);
    bool ends = chunk + 1 == chunks && cj2k_stuff_end(behind);
    if (chunk < chunks)
      bytes = cj2k_stuff_count(size, before, behind);
    uint32_t at = total + scan<kThreads>(bytes + ends, 0u, Add(), &count);
    (void)cj2k_stuff_write(window, size, before, out + at);
    if (ends)
      out[at + bytes] = 0;
    state = cj2k_stuff_apply(all, state);
    total += count;
  }
  return total;
}

/* Makes a header, if its bits have room. Returns its bytes. */
template <uint32_t kThreads>
__device__ uint32_t make_header(const Cj2kCudaHeaders &frame, const Packet &packet,
                                const Work &work, bool empty, uint32_t bits)
{
  uint32_t num_words = cj2k_stuff_chunks(bits) + 1;

  for (uint32_t i = threadIdx.x; i < num_words; i += kThreads)
    work.words[i] = 0;
  __syncthreads();
  if (!empty)
    put_blocks<kThreads>(frame, packet, work);
  __syncthreads();
  return stuff<kThreads>(work.words, bits,
                         frame.bytes + (size_t)packet.first_word * CJ2K_CUDA_HEADER_BYTES);
}

template <uint32_t kThreads>
__global__ void __launch_bounds__(kThreads) headers_kernel(Cj2kCudaHeaders frame, uint32_t first)
{
  constexpr uint32_t kNodes = kNodesOf<kThreads>, kWords = 4 * kThreads;
  __shared__ Packet packet;
  __shared__ Cj2kHeaderNode nodes[kNodes];
  __shared__ uint32_t words[kWords];
  uint32_t p = first + blockIdx.x, bits = 1, size = CJ2K_CUDA_HEADER_LONG;
  uint64_t body = 0;

  if (frame.cut && frame.cut->state != CJ2K_CUDA_CUT_SOME)
    return;
  read_packet<kThreads>(frame.packets + p, &packet);
  Work work = {packet.num_nodes <= kNodes ? nodes : frame.nodes + packet.first_node, words};
  make_trees<kThreads>(frame, Records{frame.blocks}, packet, work);
  bool empty = is_empty(packet, work);
  if (!empty)
    bits = sum_blocks<kThreads>(frame, packet, work, &body);
  uint32_t num_words = cj2k_stuff_chunks(bits) + 1;
  if (num_words > kWords)
    work.words = frame.words + packet.first_word;
  if (num_words <= packet.num_words)
    size = make_header<kThreads>(frame, packet, work, empty, bits);
  if (threadIdx.x == 0)
    frame.sizes[packet.precinct] = {body, size, 0};
}

/* --------------------------------------------------------------------------------- places --- */

/* Bytes of a packet behind SOP. */
__device__ uint64_t packet_bytes(const Cj2kCudaPacketPlaces &job, const Cj2kPacketSize &size)
{
  return (uint64_t)size.header + job.behind_header + size.body;
}

/* Lists the bytes of PLT entries up to each packet. Returns those of all. */
__device__ uint32_t list_lengths(const Cj2kCudaPacketPlaces &job)
{
  uint32_t end = 0;

  for (uint32_t first = 0; first < job.count; first += kPlaces) {
    uint32_t i = first + threadIdx.x, bytes = 0, all;
    if (i < job.count)
      bytes =
          cj2k_length_entry_bytes(job.sop + packet_bytes(job, job.sizes[job.steps[i].precinct]));
    uint32_t before = scan<kPlaces>(bytes, 0u, Add(), &all);
    if (i < job.count)
      job.lengths[i] = end + before + bytes;
    end += all;
  }
  __syncthreads();
  return end;
}

/* One block of threads goes through the packets in their order. */
__global__ void __launch_bounds__(kPlaces) places_kernel(Cj2kCudaPacketPlaces job)
{
  uint64_t end = 0;
  uint32_t num_long = 0, lengths = job.lengths ? list_lengths(job) : 0;

  for (uint32_t first = 0; first < job.count; first += kPlaces) {
    uint32_t i = first + threadIdx.x, without_room;
    Cj2kPacketStep step = {};
    Cj2kPacketSize size = {};
    uint64_t bytes = 0, all;
    if (i < job.count) {
      step = job.steps[i];
      size = job.sizes[step.precinct];
      bytes = step.before + packet_bytes(job, size);
    }
    uint64_t at = end + scan<kPlaces>(bytes, (uint64_t)0, Add(), &all) + step.before;
    (void)scan<kPlaces>((uint32_t)(size.header == CJ2K_CUDA_HEADER_LONG), 0u, Add(), &without_room);
    if (i < job.count) {
      at += job.lengths ? job.lengths[step.part_end - 1] : 0;
      job.places[step.precinct] = {at, at + size.header + job.behind_header};
      job.host_sizes[step.precinct] = size;
    }
    end += all;
    num_long += without_room;
  }
  end += job.behind_all + lengths;
  bool unknown = job.cut && job.cut->state == CJ2K_CUDA_CUT_NONE;
  if (num_long || end > job.room || unknown)
    end = CJ2K_CUDA_NO_ROOM;
  if (threadIdx.x == 0) {
    *job.end = *job.host_end = end;
    *job.host_counts = *job.counts;
  }
}

} // namespace

cudaError_t cj2k_cuda_headers(const Cj2kCudaHeaders *headers, cudaStream_t stream)
{
  uint32_t large = headers->num_large, small = headers->num_packets - large;

  if (large)
    headers_kernel<kLarge><<<large, kLarge, 0, stream>>>(*headers, 0);
  cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  if (small)
    headers_kernel<kSmall><<<small, kSmall, 0, stream>>>(*headers, large);
  return cudaGetLastError();
}

cudaError_t cj2k_cuda_packet_places(const Cj2kCudaPacketPlaces *places, cudaStream_t stream)
{
  places_kernel<<<1, kPlaces, 0, stream>>>(*places);
  return cudaGetLastError();
}
