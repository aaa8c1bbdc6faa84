// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT SigProp and MagRef passes (T.814 7.4, 7.5). A stripe has 4 rows; its groups of 4 columns are
 * 16 bits, bit 4 * column + row.
 *
 * First kernel: warps bring significance and the segment's bits into shared memory. SigProp is one
 * chain of decisions, so then one thread does a block, four samples (a column) at a time by a
 * table. It writes the newly significant samples of each group and their signs over the block's
 * quad records.
 *
 * Second kernel: one warp for each block, one lane for each group. It applies what SigProp found,
 * then MagRef, whose bits a scan finds, and makes coefficients in the form of the band.
 */
#include "common.cuh"

namespace {

constexpr uint32_t kBlocks =
    32; /* code-blocks of a thread block of the first kernel: one per lane */
constexpr uint32_t kWarps = 4;
constexpr uint32_t kMaxGroups = 256;
/* Distances between the groups and between the words of a block in shared memory, in half words and
 * words. Chosen so that neither blocks nor groups have bank conflicts. */
constexpr uint32_t kPitch = kBlocks + 2;
constexpr uint32_t kBitPitch = kBlocks + 1;
constexpr uint32_t kTopRow = 0x111111, kBottomRow = 0x888888; /* of six columns */

/* The stripes and groups of a block. */
struct Shape {
  uint32_t height, groups, count; /* groups of one stripe; groups of all stripes */
  uint32_t last;                  /* the samples of a stripe's last group that lie in the block */

  __device__ Shape(uint32_t w, uint32_t h)
      : height(h), groups((w + 3) / 4), count(groups * ((h + 3) / 4)),
        last(0xFFFFu >> 4 * (4 * groups - w))
  {
  }

  /* The samples of a group of the stripe at y whose rows lie in the block. */
  __device__ uint32_t rows(uint32_t y) const
  {
    return 0x1111u * ((1u << min(height - y, 4u)) - 1);
  }

  /* Samples of group g of the stripe at y that lie in the block. */
  __device__ uint32_t inside(uint32_t g, uint32_t y) const
  {
    return g + 1 < groups ? rows(y) : rows(y) & last;
  }
};

/* ------------------------------------------------------------------------------- bits --- */

/* Words for the bits of a code-block; kBehind more may be read behind them. */
constexpr uint32_t kBehind = 2;
constexpr uint32_t kSigPropWords = 2 * 16 * kMaxGroups / 32 + kBehind; /* with signs */
constexpr uint32_t kMagRefWords = 16 * kMaxGroups / 32 + kBehind;

/* Inclusive sum over a warp. */
__device__ __forceinline__ uint32_t sum_up(uint32_t value, uint32_t lane)
{
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(0xFFFFFFFFu, value, step);
    if (lane >= step)
      value += other;
  }
  return value;
}

/* A warp destuffs a segment, four bytes a lane: forwards from its start (SigProp) or backwards from
 * its end (MagRef). Writes as many bits as fit into `num_words` words, `pitch` words apart, and
 * zeros behind them. */
template <bool BACKWARDS>
__device__ void destuff(const uint8_t *bytes, uint32_t length, uint32_t lane, uint32_t *words,
                        uint32_t num_words, uint32_t pitch)
{
  for (uint32_t i = lane; i < num_words; i += 32)
    words[i * pitch] = 0;
  __syncwarp();
  const uint32_t capacity = 32 * (num_words - kBehind);    /* bits */
  uint32_t end = 0, carried = BACKWARDS ? 0x80808080u : 0; /* as if behind a byte larger than 8F */
  for (uint32_t done = 0; done < length && end < capacity; done += 128) {
    int32_t left = (int32_t)(length - done) - 4 * (int32_t)lane;
    uint32_t w = 0;
    if (left > 0)
      w = BACKWARDS ? __byte_perm(load_word(bytes + left - 4), 0, 0x0123)
                    : load_word(bytes + length - left);
    w &= ~__funnelshift_lc(0, 0xFFFFFFFFu, (uint32_t)max(8 * left, 0));
    /* Bit 7 of each byte of `flags`: bit 7 of the next byte is stuffing; backwards only if the
     * seven lower bits of that byte are ones. */
    uint32_t sevens = w & 0x7F7F7F7Fu, all_ones = sevens + 0x01010101u;
    uint32_t flags = w & (BACKWARDS ? sevens + 0x70707070u : all_ones);
    uint32_t before = __shfl_up_sync(0xFFFFFFFFu, flags, 1);
    uint32_t stuffed = __funnelshift_l(lane == 0 ? carried : before, flags, 8) & 0x80808080u &
                       (BACKWARDS ? all_ones : 0xFFFFFFFFu);
    carried = __shfl_sync(0xFFFFFFFFu, flags, 31);
    uint32_t count = 32 - __popc(stuffed), sum = sum_up(count, lane), at = end + sum - count;
    w = drop_bits(w, stuffed);
    end += __shfl_sync(0xFFFFFFFFu, sum, 31);
    if (at < capacity) {
      atomicOr(&words[at / 32 * pitch], w << at % 32);
      if (at % 32)
        atomicOr(&words[(at / 32 + 1) * pitch], w >> (32 - at % 32));
    }
  }
  __syncwarp();
}

/* ---------------------------------------------------------------------------- SigProp --- */

/* The table of SigProp's decisions for a column of a group; make-tables.c explains the entries. */
struct alignas(16) Columns {
  uint16_t entries[4096];
};

__device__ const Columns d_columns = {{
#include "sigprop_columns.inc"
}};

/* The significance of a row of quads of a group (two quads), at the bits of the group's upper two
 * rows. */
__device__ __forceinline__ uint32_t quad_row(const uint32_t *quads)
{
  uint2 pair = *reinterpret_cast<const uint2 *>(quads);
  uint32_t left = pair.x >> CJ2K_HT_RHO_SHIFT & 15, right = pair.y >> CJ2K_HT_RHO_SHIFT & 15;
  uint32_t rho = left | right << 8;
  return (rho & 0x0303) | (rho & 0x0C0C) << 2;
}

/* A warp collects the significance of one code-block after the cleanup pass. */
__device__ __forceinline__ void collect(const Shape &shape, const uint32_t *quads, uint32_t lane,
                                        uint16_t *halves)
{
  uint32_t stride = (2 * shape.groups + 3) & ~3u;
#pragma unroll 4
  for (uint32_t i = lane; i < shape.count; i += 32) {
    uint32_t stripe = i / shape.groups, g = i - stripe * shape.groups;
    const uint32_t *first = quads + (size_t)(2 * stripe) * stride + 2 * g;
    uint32_t bits = quad_row(first);
    if (4 * stripe + 2 < shape.height)
      bits |= quad_row(first + stride) << 2;
    halves[i * kPitch] = (uint16_t)(bits & shape.inside(g, 4 * stripe));
  }
}

/* A sliding window of three neighbouring groups of a stripe. */
struct Window {
  uint32_t left, group, right;

  __device__ __forceinline__ void slide(uint32_t next)
  {
    left = group;
    group = right;
    right = next;
  }

  /* The columns of the middle group and one on each side. */
  __device__ __forceinline__ uint32_t columns() const
  {
    return left >> 12 | group << 4 | (right & 15) << 20;
  }
};

/* The significance of a group and of those around it; the stripe above is after its SigProp. */
struct Neighbourhood {
  const uint16_t *next; /* the next group to enter the window `here` */
  uint32_t rest;        /* groups of the stripe that have not entered yet */
  uint32_t row;         /* distance from a stripe to the one below */
  bool has_over, has_under;
  Window here, over, under;

  __device__ __forceinline__ void start(const uint16_t *first, const Shape &shape, uint32_t y,
                                        bool causal)
  {
    next = first;
    rest = shape.groups;
    row = shape.groups * kPitch;
    has_over = y > 0;
    has_under = !causal && y + 4 < shape.height;
    here = over = under = {0, 0, 0};
    slide();
    slide();
  }

  __device__ __forceinline__ void slide()
  {
    bool has_next = rest > 0;
    here.slide(has_next ? *next : 0);
    over.slide(has_next && has_over ? *(next - row) : 0);
    under.slide(has_next && has_under ? *(next + row) : 0);
    next += kPitch;
    rest -= has_next;
  }

  /* Samples of the group with a significant neighbour. What the pass finds in this stripe is not
   * counted; SigProp::group() adds it. */
  __device__ __forceinline__ uint32_t members() const
  {
    uint32_t own = here.columns(), near = own | (own & ~kBottomRow) << 1 | (own & ~kTopRow) >> 1 |
                                          (over.columns() & kBottomRow) >> 3 |
                                          (under.columns() & kTopRow) << 3;
    near |= near << 4 | near >> 4;
    return near >> 4 & 0xFFFF;
  }
};

/* The SigProp pass of one code-block, by one thread. */
struct SigProp {
  uint32_t columns;      /* address of the table in shared memory */
  uint16_t *halves;      /* significance by group, in shared memory; updated by the pass */
  const uint32_t *words; /* the segment's bits, in shared memory */
  uint32_t pos;          /* position of the next bit */
  uint2 *found; /* output by group. x: significance after the cleanup pass, and in the upper
                   half the newly significant samples; y: their signs, from bit 0 on */

  __device__ __forceinline__ uint32_t column(uint32_t offset) const
  {
    uint16_t entry;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(entry) : "r"(columns + offset));
    return entry;
  }

  /* Returns the newly significant samples; `last` is the table entry of the column before. */
  __device__ __forceinline__ uint32_t group(uint32_t members, uint32_t candidates, uint32_t &last,
                                            uint32_t &signs)
  {
    const uint32_t *at = words + pos / 32 * kBitPitch;
    const uint32_t window = __funnelshift_r(at[0], at[kBitPitch], pos); /* up to 16 + 16 bits */
    uint32_t bits = window << 9, fresh = 0, used = 0;
#pragma unroll
    for (uint32_t c = 0; c < 4; c++) {
      uint32_t open = candidates >> 4 * c & 15, known = members >> 4 * c & open;
      last = column((bits & 15u << 9) | open << 1 | known << 5 | (last & open << 5));
      bits = __funnelshift_r(bits, 0, last);
      used += last & 31;
      fresh |= (last >> 9) << 4 * c;
    }
    signs = window >> used & 0xFFFF;
    pos += used + __popc(fresh);
    return fresh;
  }

  __device__ __forceinline__ void stripe(const Shape &shape, uint32_t y, bool causal)
  {
    const uint32_t groups = shape.groups, rows = shape.rows(y);
    uint16_t *at = halves + y / 4 * groups * kPitch;
    uint2 *out = found + y / 4 * groups;
    uint32_t last = 0;
    Neighbourhood around;
    around.start(at, shape, y, causal);
    uint32_t own = around.here.group, members = around.members();
    for (uint32_t g = 0; g < groups; g++, at += kPitch) {
      uint32_t candidates = (g + 1 < groups ? rows : rows & shape.last) & ~own, signs;
      uint32_t fresh = group(members, candidates, last, signs), before = own;
      around.slide(); /* overlaps with the table look-ups of the next group() */
      own = around.here.group;
      members = around.members();
      out[g] = make_uint2(before | fresh << 16, signs);
      *at = (uint16_t)(before | fresh);
    }
  }
};

__device__ __forceinline__ bool is_refined(const Cj2kCudaDecodeBlocks &frame, uint32_t i)
{
  return i < frame.ht.num_refined && !frame.corrupt_flags[frame.ht.refined[i]];
}

/* Shared memory of a thread block: the table; the significance by group and code-block; the bits by
 * word and code-block. */
struct SigPropMemory {
  uint4 columns[sizeof(Columns) / 16];
  uint16_t significance[kMaxGroups * kPitch];
  uint32_t bits[kSigPropWords * kBitPitch];
};

/* Fills in significance and bits of this warp's share of the code-blocks from `first` on. */
__device__ __forceinline__ void prepare(const Cj2kCudaDecodeBlocks &frame, uint32_t first,
                                        uint32_t warp, uint32_t lane, SigPropMemory &memory)
{
  uint32_t size = 0;
  uint64_t quads = 0;
  HtSet set = {};
  if (is_refined(frame, first + lane)) {
    uint32_t index = frame.ht.refined[first + lane];
    const Block block = load_block(frame, index);
    find_set(frame, index, block, set);
    size = (uint32_t)block.width << 16 | block.height;
    quads = block.quads;
  }
  uint64_t start = set.cleanup + set.cleanup_length - frame.data;
  for (uint32_t k = warp; k < kBlocks; k += kWarps) {
    uint32_t own = __shfl_sync(0xFFFFFFFFu, size, k);
    uint32_t length = __shfl_sync(0xFFFFFFFFu, set.refinement_length, k);
    uint64_t at = __shfl_sync(0xFFFFFFFFu, start, k), place = __shfl_sync(0xFFFFFFFFu, quads, k);
    if (own == 0)
      continue;
    collect(Shape(own >> 16, own & 0xFFFF), frame.ht.quads + place, lane, memory.significance + k);
    destuff<false>(frame.data + at, length, lane, memory.bits + k, kSigPropWords, kBitPitch);
  }
}

/* After all warps have prepared their share, one warp decodes the kBlocks code-blocks, one per
 * lane. Which warp it is differs between thread blocks, because the same warp would always load the
 * same partition of the multiprocessor. */
__global__ void __launch_bounds__(32 * kWarps) sigprop_kernel(Cj2kCudaDecodeBlocks frame)
{
  extern __shared__ uint4 shared[];
  SigPropMemory &memory = *reinterpret_cast<SigPropMemory *>(shared);
  uint32_t thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  for (uint32_t i = thread; i < sizeof(Columns) / 16; i += 32 * kWarps)
    memory.columns[i] = reinterpret_cast<const uint4 *>(&d_columns)[i];
  uint32_t first = blockIdx.x * kBlocks;
  prepare(frame, first, warp, lane, memory);
  __syncthreads();

  const uint32_t k = lane;
  if (warp != blockIdx.x % kWarps || !is_refined(frame, first + k))
    return;
  const Cj2kCudaBlock &block = frame.blocks[number_of(frame, frame.ht.refined[first + k])];
  SigProp pass;
  pass.columns = (uint32_t)__cvta_generic_to_shared(memory.columns);
  asm volatile(""
               : "+r"(pass.columns)); /* keeps the address in a register; else it is recomputed */
  pass.halves = memory.significance + k;
  pass.words = memory.bits + k;
  pass.pos = 0;
  pass.found = reinterpret_cast<uint2 *>(frame.ht.quads + block.quads);
  const Shape shape(block.width, block.height);
  const bool causal = block.style & CJ2K_STYLE_CAUSAL;
  for (uint32_t y = 0; y < shape.height; y += 4)
    pass.stripe(shape, y, causal);
}

/* ----------------------------------------------------------------------------- MagRef --- */

/* The state of a group's samples, bit 4 * column + row each. */
struct Group {
  uint32_t significant, fresh; /* after the cleanup pass; newly by SigProp */
  uint32_t bits;               /* MagRef bits of the former, signs of the latter */
};

/* What the passes at bit-plane p - 1 add to a sample, in half units. */
struct Steps {
  uint32_t more, less; /* for a MagRef bit of 1 and of 0; both 0 without the pass */
  uint32_t fresh;      /* the magnitude of a sample that SigProp finds */

  __device__ Steps(uint32_t plane, bool magref)
      : more(magref ? 1u << (plane - 1) : 0), less(0 - more), fresh(3u << (plane - 1))
  {
  }

  /* A sample after all passes. `sample` is its value after the cleanup pass: 0 if SigProp finds
   * it. */
  __device__ __forceinline__ uint32_t refine(uint32_t sample, const Group &group, uint32_t i) const
  {
    bool one = group.bits & 1u << i;
    uint32_t refined = one ? more : less, new_one = fresh | (one ? 0x80000000u : 0);
    sample += group.significant & 1u << i ? refined : 0;
    return group.fresh & 1u << i ? new_one : sample;
  }
};

/* Entries of the table for deposit(), by four bits of the mask and four bits to deposit: the bits
 * at their places in bits 0 to 3, and above these how many were used. */
constexpr uint32_t kDeposits = 256;

__device__ __forceinline__ uint8_t deposit_entry(uint32_t mask, uint32_t bits)
{
  uint32_t places = 0, used = 0;
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t is_set = mask >> i & 1;
    places |= (bits >> used & is_set) << i;
    used += is_set;
  }
  return (uint8_t)(places | used << 4);
}

/* Moves the lowest bits of `bits` to the places of the 16 bits of `mask` that are set. */
__device__ __forceinline__ uint32_t deposit(uint32_t bits, uint32_t mask, const uint8_t *table)
{
  uint32_t places = 0;
#pragma unroll
  for (uint32_t c = 0; c < 4; c++) {
    uint32_t entry = table[(mask >> 4 * c & 15) << 4 | (bits & 15)];
    places |= (entry & 15) << 4 * c;
    bits >>= entry >> 4;
  }
  return places;
}

/* A sample after the cleanup pass, half units and sign. Narrow ones are stored as whole units,
 * which loses nothing because p > 0. */
__device__ __forceinline__ uint32_t to_word(uint32_t sample)
{
  return sample;
}
__device__ __forceinline__ uint32_t to_word(uint16_t sample)
{
  int32_t value = (int16_t)sample;
  return (uint32_t)abs(value) << 1 | ((uint32_t)value & 0x80000000u);
}

/* Refines a group that lies in the block with all its samples, aligned for vectors of four, in a
 * block without ROI. */
template <bool REV>
__device__ __forceinline__ void refine_whole(const Group &group, const Steps &steps, float scale,
                                             uint16_t *out, size_t stride)
{
  uint2 rows[4];
#pragma unroll
  for (uint32_t row = 0; row < 4; row++)
    rows[row] = *reinterpret_cast<const uint2 *>(out + row * stride);
#pragma unroll
  for (uint32_t row = 0; row < 4; row++) {
    uint32_t pairs[2] = {rows[row].x, rows[row].y};
    uint32_t samples[4];
#pragma unroll
    for (uint32_t col = 0; col < 4; col++) {
      uint16_t sample = (uint16_t)(pairs[col / 2] >> 16 * (col & 1));
      uint32_t word = steps.refine(to_word(sample), group, 4 * col + row);
      samples[col] = to_narrow(word & 0x7FFFFFFFu, word >> 31, REV);
    }
    *reinterpret_cast<uint2 *>(out + row * stride) =
        make_uint2(samples[0] | samples[1] << 16, samples[2] | samples[3] << 16);
  }
}

template <bool REV>
__device__ __forceinline__ void refine_whole(const Group &group, const Steps &steps, float scale,
                                             uint32_t *out, size_t stride)
{
  uint4 rows[4];
#pragma unroll
  for (uint32_t row = 0; row < 4; row++)
    rows[row] = *reinterpret_cast<const uint4 *>(out + row * stride);
#pragma unroll
  for (uint32_t row = 0; row < 4; row++) {
    uint32_t samples[4] = {rows[row].x, rows[row].y, rows[row].z, rows[row].w};
#pragma unroll
    for (uint32_t col = 0; col < 4; col++) {
      uint32_t word = steps.refine(samples[col], group, 4 * col + row);
      uint32_t magnitude = word & 0x7FFFFFFFu;
      if (REV)
        samples[col] = word >> 31 ? 0 - (magnitude >> 1) : magnitude >> 1;
      else
        samples[col] =
            __float_as_uint(__fmul_rn(__uint2float_rn(magnitude), scale)) | (word & 0x80000000u);
    }
    *reinterpret_cast<uint4 *>(out + row * stride) =
        make_uint4(samples[0], samples[1], samples[2], samples[3]);
  }
}

/* Refines any other group. */
template <class T>
__device__ __noinline__ void refine_part(const Group &group, const Steps &steps, const Block &block,
                                         T *out)
{
  for (uint32_t rest = group.significant | group.fresh; rest; rest &= rest - 1) {
    uint32_t i = __ffs(rest) - 1;
    T *sample = out + (size_t)(i % 4) * block.stride + i / 4;
    uint32_t word = steps.refine(to_word(*sample), group, i);
    store_coefficient(sample, word & 0x7FFFFFFFu, word >> 31, block);
  }
}

/* Refines group g of the stripe with its first row at y. */
template <class T>
__device__ __forceinline__ void refine(const Cj2kCudaDecodeBlocks &frame, const Block &block,
                                       const Shape &shape, const Group &group, const Steps &steps,
                                       uint32_t g, uint32_t y)
{
  T *out = samples_of<T>(frame, block), *samples = out + (size_t)y * block.stride + 4 * g;
  bool is_plain =
      !block.roi_shift &&
      (reinterpret_cast<uintptr_t>(out) | sizeof(T) * (uintptr_t)block.stride) % (4 * sizeof(T)) ==
          0;
  if (!is_plain || shape.inside(g, y) != 0xFFFF)
    refine_part(group, steps, block, samples);
  else if (block.reversible)
    refine_whole<true>(group, steps, block.scale, samples, block.stride);
  else
    refine_whole<false>(group, steps, block.scale, samples, block.stride);
}

/* One warp for each code-block. */
__global__ void __launch_bounds__(32 * kWarps) magref_kernel(Cj2kCudaDecodeBlocks frame)
{
  __shared__ uint32_t words[kWarps][kMagRefWords];
  __shared__ uint8_t table[kDeposits];
  uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x; i < kDeposits; i += 32 * kWarps)
    table[i] = deposit_entry(i >> 4, i & 15);
  __syncthreads();
  if (!is_refined(frame, blockIdx.x * kWarps + warp))
    return; /* a corrupt block is zeros already */
  uint32_t index = frame.ht.refined[blockIdx.x * kWarps + warp];
  Block block = load_block(frame, index);
  HtSet set;
  find_set(frame, index, block, set);
  bool magref = set.num_passes > 2;
  if (magref)
    destuff<true>(set.cleanup + set.cleanup_length, set.refinement_length, lane, words[warp],
                  kMagRefWords, 1);
  const Shape shape(block.width, block.height);
  const Steps steps(set.plane, magref);
  const uint2 *found = reinterpret_cast<const uint2 *>(frame.ht.quads + block.quads);
  uint32_t pos = 0; /* position of the next MagRef bit */
  for (uint32_t base = 0; base < shape.count; base += 32) {
    uint32_t i = base + lane;
    uint2 own = i < shape.count ? found[i] : make_uint2(0, 0);
    Group group = {own.x & 0xFFFF, own.x >> 16, 0};
    uint32_t count = __popc(group.significant), sum = sum_up(count, lane), at = pos + sum - count;
    pos += __shfl_sync(0xFFFFFFFFu, sum, 31);
    if (own.x == 0)
      continue; /* all zeros */
    group.bits = deposit(own.y, group.fresh, table);
    if (magref)
      group.bits |= deposit(__funnelshift_r(words[warp][at / 32], words[warp][at / 32 + 1], at),
                            group.significant, table);
    uint32_t stripe = i / shape.groups, g = i - stripe * shape.groups;
    if (block.narrow)
      refine<uint16_t>(frame, block, shape, group, steps, g, 4 * stripe);
    else
      refine<uint32_t>(frame, block, shape, group, steps, g, 4 * stripe);
  }
}

} // namespace

cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  uint32_t count = frame->ht.num_refined;
  if (count == 0)
    return cudaSuccess;
  constexpr uint32_t memory = sizeof(SigPropMemory);
  cudaError_t result =
      cudaFuncSetAttribute(sigprop_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, memory);
  if (result != cudaSuccess)
    return result;
  sigprop_kernel<<<(count + kBlocks - 1) / kBlocks, 32 * kWarps, memory, stream>>>(*frame);
  result = cudaGetLastError();
  if (result != cudaSuccess)
    return result;
  magref_kernel<<<(count + kWarps - 1) / kWarps, 32 * kWarps, 0, stream>>>(*frame);
  return cudaGetLastError();
}
