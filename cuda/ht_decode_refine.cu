// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT SigProp and MagRef passes (T.814 7.4, 7.5): SigProp is serial inside a block, so a thread does
 * a block; then the block is dequantised. Stripes of 4 rows, groups of 4 columns as 16 bits, bit
 * 4 * column + row.
 */
#include "ht_common.cuh"

namespace {

constexpr uint32_t kThreads = 32;
constexpr uint32_t kMaxGroups = 256;

/* Bits forwards from the start of the segment, zeros behind its end. */
struct Forward {
  const uint8_t *next, *end;
  uint64_t bits;
  uint32_t count;
  bool after_ff;

  /* At least 32 bits. */
  __device__ void fill()
  {
    while (count < 32) {
      uint32_t byte = next < end ? *next++ : 0, skip = after_ff;
      bits |= (uint64_t)(byte & (0xFFu >> skip)) << count;
      count += 8 - skip;
      after_ff = byte == 0xFF;
    }
  }
};

/* Bits backwards from its end. */
struct Backward {
  const uint8_t *next, *first;
  uint64_t bits;
  uint32_t count;
  bool after_large;

  __device__ void fill()
  {
    while (count < 32) {
      uint32_t byte = next > first ? *--next : 0;
      uint32_t skip = after_large && (byte & 0x7F) == 0x7F;
      bits |= (uint64_t)(byte & (0xFFu >> skip)) << count;
      count += 8 - skip;
      after_large = byte > 0x8F;
    }
  }
};

template <class Reader> __device__ uint32_t take(Reader &reader)
{
  uint32_t bit = (uint32_t)reader.bits & 1;
  reader.bits >>= 1;
  reader.count--;
  return bit;
}

struct Block {
  const Cj2kCudaBlock *block;
  const uint32_t *quads;
  uint32_t quad_stride, groups;
  uint32_t *samples;

  __device__ uint32_t record(uint32_t col, uint32_t row) const
  {
    uint32_t rho = col < (block->width + 1u) / 2 && 2 * row < block->height
                       ? quads[(size_t)row * quad_stride + col] >> CJ2K_HT_RHO_SHIFT
                       : 0;
    return (rho & 3) | (rho & 12) << 2;
  }

  /* Samples of a group that lie in the block. */
  __device__ uint32_t inside(uint32_t g, uint32_t y) const
  {
    uint32_t cols = min(block->width - 4 * g, 4u), rows = min(block->height - y, 4u);
    return (0x1111u * ((1u << rows) - 1)) & ((1u << 4 * cols) - 1);
  }

  /* Significance after the cleanup pass of the group at column 4 g, row y. */
  __device__ uint32_t sigma(uint32_t g, uint32_t y) const
  {
    if (g >= groups || y >= block->height)
      return 0;
    uint32_t row = y / 2;
    uint32_t bits = record(2 * g, row) | record(2 * g + 1, row) << 8 |
                    (record(2 * g, row + 1) | record(2 * g + 1, row + 1) << 8) << 2;
    return bits & inside(g, y);
  }

  __device__ uint32_t &sample(uint32_t g, uint32_t y, uint32_t i) const
  {
    return samples[(size_t)(y + i % 4) * block->stride + 4 * g + i / 4];
  }
};

/* Samples next to a set of samples of a window of six columns. */
__device__ uint32_t spread(uint32_t here, uint32_t over, uint32_t under)
{
  const uint32_t top_row = 0x111111, bottom_row = 0x888888;
  uint32_t near = here | (here & ~bottom_row) << 1 | (here & ~top_row) >> 1 |
                  (over & bottom_row) >> 3 | (under & top_row) << 3;
  near |= near << 4 | near >> 4;
  return near >> 4 & 0xFFFF;
}

__device__ uint32_t window(uint32_t left, uint32_t group, uint32_t right)
{
  return left >> 12 | group << 4 | (right & 15) << 20;
}

/* One group; returns what became significant. */
__device__ uint32_t sigprop_group(const Block &b, Forward &reader, uint32_t members,
                                  uint32_t candidates, uint32_t g, uint32_t y, uint32_t plane)
{
  uint32_t fresh = 0;
  reader.fill();
  while (members) {
    uint32_t i = __ffs(members) - 1;
    members &= members - 1;
    if (take(reader)) {
      fresh |= 1u << i;
      members |= spread(1u << (i + 4), 0, 0) & ~(1u << i) & candidates & ~0u << i;
    }
  }
  reader.fill();
  for (uint32_t rest = fresh; rest; rest &= rest - 1)
    b.sample(g, y, __ffs(rest) - 1) = 3u << (plane - 1) | take(reader) << 31;
  return fresh;
}

__device__ void sigprop(const Block &b, const HtSet &set, bool causal)
{
  const uint8_t *start = set.cleanup + set.cleanup_length;
  Forward reader = {start, start + set.refinement_length, 0, 0, false};
  uint16_t above[kMaxGroups + 1]; /* the stripe above after its pass */
  for (uint32_t g = 0; g <= b.groups; g++)
    above[g] = 0;
  for (uint32_t y = 0; y < b.block->height; y += 4) {
    uint32_t left = 0, left_above = 0, left_below = 0;
    for (uint32_t g = 0; g < b.groups; g++) {
      uint32_t here = b.sigma(g, y), below = causal ? 0 : b.sigma(g, y + 4);
      uint32_t under = causal ? 0 : window(left_below, below, b.sigma(g + 1, y + 4));
      uint32_t near = spread(window(left, here, b.sigma(g + 1, y)),
                             window(left_above, above[g], above[g + 1]), under);
      uint32_t candidates = b.inside(g, y) & ~here, fresh = 0;
      if (near & candidates)
        fresh = sigprop_group(b, reader, near & candidates, candidates, g, y, set.plane);
      left = here | fresh;
      left_above = above[g];
      left_below = below;
      above[g] = (uint16_t)left;
    }
  }
}

__device__ void magref(const Block &b, const HtSet &set)
{
  const uint8_t *first = set.cleanup + set.cleanup_length;
  Backward reader = {first + set.refinement_length, first, 0, 0, true};
  uint32_t quarter = 1u << (set.plane - 1);
  for (uint32_t y = 0; y < b.block->height; y += 4) {
    for (uint32_t g = 0; g < b.groups; g++) {
      reader.fill();
      for (uint32_t rest = b.sigma(g, y); rest; rest &= rest - 1)
        b.sample(g, y, __ffs(rest) - 1) += take(reader) ? quarter : 0 - quarter;
    }
  }
}

__global__ void __launch_bounds__(kThreads) refine_kernel(Cj2kCudaDecodeBlocks frame)
{
  uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= frame.num_refined)
    return;
  uint32_t index = frame.refined[i];
  if (frame.corrupt_flags[index])
    return;
  Cj2kCudaBlock block = frame.blocks[index];
  HtSet set;
  find_set(frame, index, block, set);
  Block b = {&block, frame.quads + block.quads, CJ2K_CUDA_QUAD_STRIDE(block.width),
             (block.width + 3u) / 4, static_cast<uint32_t *>(frame.coefficients) + block.offset};
  sigprop(b, set, block.style & CJ2K_STYLE_CAUSAL);
  if (set.num_passes > 2)
    magref(b, set);
}

__global__ void __launch_bounds__(128) reconstruct_kernel(Cj2kCudaDecodeBlocks frame)
{
  uint32_t index = frame.refined[blockIdx.x];
  if (frame.corrupt_flags[index])
    return; /* zeros already */
  Cj2kCudaBlock block = frame.blocks[index];
  uint32_t *out = static_cast<uint32_t *>(frame.coefficients) + block.offset;
  for (uint32_t i = threadIdx.x; i < (uint32_t)block.width * block.height; i += blockDim.x) {
    uint32_t *sample = out + (size_t)(i / block.width) * block.stride + i % block.width;
    *sample = reconstruct(*sample & 0x7FFFFFFFu, *sample >> 31, block);
  }
}

} // namespace

cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  if (frame->num_refined == 0)
    return cudaSuccess;
  refine_kernel<<<(frame->num_refined + kThreads - 1) / kThreads, kThreads, 0, stream>>>(*frame);
  reconstruct_kernel<<<frame->num_refined, 128, 0, stream>>>(*frame);
  return cudaGetLastError();
}
