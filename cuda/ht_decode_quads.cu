// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup pass, first step (T.814 7.3.3 to 7.3.6): the MEL and VLC segments become quad records.
 * It is a chain of look-ups, each of which needs the one before, so a thread does a whole block;
 * the tables lie in shared memory, all bit strings and contexts in registers.
 */
#include "ht_common.cuh"

#include <cstddef>

__device__ uint32_t d_vlc[2 * (8 << 7)];
__device__ __align__(4) uint16_t d_uvlc[9 << CJ2K_HT_UVLC_BITS];

namespace {

constexpr uint32_t kThreads = 32;
constexpr uint32_t kVlcEntries = 2 * (8 << 7);
constexpr uint32_t kUvlcEntries = 9 << CJ2K_HT_UVLC_BITS;
/* u-VLC entries here: bits used, u of the first quad, u of the second; all ones: a longer code. */
constexpr uint32_t kUvlcFirst = 4, kUvlcSecond = 10, kUvlcLong = 0xFFFF;
/* MEL exponents by state (T.814 table 2), three bits each. */
constexpr uint64_t kMelExponents = 05433222111000ull;
constexpr uint32_t kMaskQuads = 32; /* contexts of rows up to this long fit into masks */

/* Bits read backwards, without stuffing (T.814 7.1.3). */
struct Vlc {
  const uint8_t *next; /* one behind the next byte */
  uint32_t ahead;      /* the four bytes before it, loaded long before they are needed */
  const uint8_t *first;
  uint64_t bits;
  uint32_t count;
  bool after_large;
  uint32_t consumed_fill; /* zero bits that were added behind the end */

  __device__ void start(const uint8_t *suffix, uint32_t length)
  {
    first = suffix;
    next = suffix + length - 1; /* the last byte belongs to Scup, and half of the one before */
    uint32_t nibble = *--next >> 4, skip = (nibble & 7) == 7;
    bits = nibble & (15u >> skip);
    count = 4 - skip;
    after_large = nibble > 8;
    consumed_fill = 0;
    look_ahead();
  }

  __device__ void look_ahead()
  {
    if (next - first >= 4)
      ahead = load_word(next - 4);
  }

  __device__ void byte(uint32_t value)
  {
    uint32_t skip = after_large && (value & 0x7F) == 0x7F;
    bits |= (uint64_t)(value & (0xFFu >> skip)) << count;
    count += 8 - skip;
    after_large = value > 0x8F;
  }

  /* At least 32 bits; behind the end zeros. */
  __device__ void fill()
  {
    if (count >= 32)
      return;
    if (next - first >= 4) {
      /* Four bytes at once when none of them can be stuffed: none has seven ones. */
      uint32_t word = __byte_perm(ahead, 0, 0x0123); /* first byte of the stream lowest */
      uint32_t sevens = ~word & 0x7F7F7F7Fu;
      bool none = ((sevens + 0x7F7F7F7Fu) & 0x80808080u) == 0x80808080u;
      if (none) {
        bits |= (uint64_t)word << count;
        count += 32;
        after_large = (word >> 24) > 0x8F;
        next -= 4;
        look_ahead();
        return;
      }
    }
    while (count < 32) {
      if (next > first) {
        byte(*--next);
      } else {
        uint32_t added = 63 - count;
        consumed_fill += added;
        count += added;
      }
    }
    look_ahead();
  }

  __device__ void skip(uint32_t n)
  {
    bits >>= n;
    count -= n;
  }
};

/* Adaptive run-length decoder (T.814 7.3.3), an event at a time. */
struct Mel {
  const uint8_t *next, *last;
  uint32_t bits; /* first bit highest */
  uint32_t count;
  uint32_t state;
  uint32_t run; /* zeros to come, doubled, plus one when a one follows */
  bool after_ff;

  __device__ void start(const uint8_t *suffix, uint32_t length)
  {
    next = suffix;
    last = suffix + length - 2;
    bits = count = state = run = 0;
    after_ff = false;
  }

  __device__ void fill()
  {
    while (count <= 24) {
      uint32_t byte = 0xFF;
      if (next <= last) {
        byte = *next;
        if (next == last)
          byte |= 0x0F;
        next++;
      }
      uint32_t length = 8 - after_ff;
      bits |= (byte & (0xFFu >> after_ff)) << (32 - count - length);
      count += length;
      after_ff = byte == 0xFF;
    }
  }

  __device__ uint32_t event()
  {
    if (run == 0) {
      if (count < 6)
        fill();
      uint32_t exponent = (uint32_t)(kMelExponents >> 3 * state) & 7;
      if (bits >> 31) {
        run = 2u << exponent;
        bits <<= 1;
        count -= 1;
        state += state < 12;
      } else {
        run = 2 * (exponent ? bits << 1 >> (32 - exponent) : 0) + 1;
        bits <<= 1 + exponent;
        count -= 1 + exponent;
        state -= state > 0;
      }
    }
    uint32_t event = run == 1;
    run -= event ? 1 : 2;
    return event;
  }
};

/* The u-VLC code of a pair, step by step: long codes, and extensions. Returns the bits used. */
__device__ uint32_t decode_long_uvlc(uint64_t bits, uint32_t mode, bool first_row, uint32_t u[2])
{
  uint32_t used = 0, length[2] = {0, 0};
  u[0] = u[1] = 0;
  for (uint32_t i = 0; i < 2; i++) {
    if (mode < 3 && !(mode >> i & 1))
      continue;
    if (i == 1 && mode == 3 && first_row && u[0] > 2) {
      u[1] = 1 + (uint32_t)(bits >> used & 1);
      used += 1;
      continue;
    }
    uint32_t prefix = (uint32_t)(bits >> used) & 7;
    uint32_t kind = prefix & 1 ? 0 : prefix & 2 ? 1 : prefix & 4 ? 2 : 3;
    used += kind < 2 ? kind + 1 : 3;
    u[i] = kind < 3 ? kind + 1 : 5;
    length[i] = kind < 2 ? 0 : kind == 2 ? 1 : 5;
  }
  uint32_t suffix[2];
  for (uint32_t i = 0; i < 2; i++) {
    suffix[i] = (uint32_t)(bits >> used) & ((1u << length[i]) - 1);
    used += length[i];
    u[i] += suffix[i] + (mode == 4 ? 2 : 0);
  }
  for (uint32_t i = 0; i < 2; i++) {
    if (suffix[i] < 28)
      continue;
    u[i] += 4 * ((uint32_t)(bits >> used) & 15);
    used += 4;
  }
  return used;
}

/* What the row above tells about contexts (T.814 7.3.5): bits of rho of its bottom samples, by
 * quad. In masks for rows of up to 32 quads, else read from the records. */
struct Above {
  uint32_t north, east;           /* of the row above: n | nw, and ne | nf, by quad of this row */
  uint32_t next_left, next_right; /* of this row: bottom left, bottom right samples */
  const uint32_t *records;        /* row above, wide blocks only */

  /* Context of quad q as an index: bit 7 of n | nw, bit 9 of ne | nf. */
  __device__ uint32_t context(uint32_t q, uint32_t cols) const
  {
    if (records) {
      uint32_t here = records[q] >> CJ2K_HT_RHO_SHIFT;
      uint32_t left = q ? records[q - 1] >> CJ2K_HT_RHO_SHIFT : 0;
      uint32_t right = q + 1 < cols ? records[q + 1] >> CJ2K_HT_RHO_SHIFT : 0;
      return ((here >> 1 | left >> 3) & 1) << 7 | ((here >> 3 | right >> 1) & 1) << 9;
    }
    return (north >> q & 1) << 7 | (east >> q & 1) << 9;
  }

  __device__ void start_row()
  {
    next_left = next_right = 0;
  }

  __device__ void note(uint32_t q, uint32_t record)
  {
    next_left |= (record >> (CJ2K_HT_RHO_SHIFT + 1) & 1) << (q & 31);
    next_right |= (record >> (CJ2K_HT_RHO_SHIFT + 3) & 1) << (q & 31);
  }

  __device__ void end_row()
  {
    north = next_left | next_right << 1;
    east = next_right | next_left >> 1;
  }
};

struct Decoder {
  const uint32_t *vlc_table;
  const uint16_t *uvlc_table;
  Vlc vlc;
  Mel mel;
  Above above;

  __device__ uint32_t quad(uint32_t index, const uint32_t *table)
  {
    if (index == 0 && !mel.event())
      return 0;
    uint32_t record = table[index | ((uint32_t)vlc.bits & 127)];
    vlc.skip(record & 63);
    return record;
  }

  __device__ uint2 pair(uint32_t q, uint32_t cols, bool first_row, uint32_t *context)
  {
    const uint32_t *table = vlc_table + (first_row ? 0 : 8 << 7);
    vlc.fill();
    uint32_t first = quad(first_row ? *context : *context | above.context(q, cols), table);
    *context = first >> CJ2K_HT_CTX_SHIFT;
    uint32_t second = 0;
    if (q + 1 < cols)
      second = quad(first_row ? *context : *context | above.context(q + 1, cols), table);
    *context = second >> CJ2K_HT_CTX_SHIFT;

    uint32_t mode = (first >> CJ2K_HT_UOFF_SHIFT & 1) | (second >> CJ2K_HT_UOFF_SHIFT & 1) << 1;
    if (first_row && mode == 3)
      mode += mel.event();
    uint32_t entry = uvlc_table[((first_row ? 0 : 5) + mode) << CJ2K_HT_UVLC_BITS |
                                ((uint32_t)vlc.bits & ((1u << CJ2K_HT_UVLC_BITS) - 1))];
    uint32_t u0 = (entry >> kUvlcFirst & 63) << CJ2K_HT_U_SHIFT;
    uint32_t u1 = entry >> kUvlcSecond << CJ2K_HT_U_SHIFT;
    uint32_t used = entry & 15;
    if (entry == kUvlcLong) {
      uint32_t u[2];
      vlc.fill();
      used = decode_long_uvlc(vlc.bits, mode, first_row, u);
      u0 = u[0] << CJ2K_HT_U_SHIFT;
      u1 = u[1] << CJ2K_HT_U_SHIFT;
    }
    vlc.skip(used);
    return make_uint2(first | u0, second | u1);
  }

  /* A row of quads. Stores pairs of pairs: the stride is a multiple of four. */
  __device__ void row(uint32_t *records, uint32_t cols, bool first_row)
  {
    uint32_t context = 0;
    above.start_row();
    for (uint32_t q = 0; q < cols; q += 4) {
      uint2 a = pair(q, cols, first_row, &context), b = make_uint2(0, 0);
      above.note(q, a.x);
      above.note(q + 1, a.y);
      if (q + 2 < cols) {
        b = pair(q + 2, cols, first_row, &context);
        above.note(q + 2, b.x);
        above.note(q + 3, b.y);
      }
      *reinterpret_cast<uint4 *>(records + q) = make_uint4(a.x, a.y, b.x, b.y);
    }
    above.end_row();
  }

  /* Did all bits that were used exist? */
  __device__ bool complete() const
  {
    return vlc.consumed_fill <= vlc.count;
  }
};

__device__ bool decode_block(Decoder &d, const HtSet &set, const Cj2kCudaBlock &block,
                             uint32_t *quads)
{
  uint32_t cols = (block.width + 1u) / 2, stride = CJ2K_CUDA_QUAD_STRIDE(block.width);
  const uint8_t *suffix = set.cleanup + set.cleanup_length - set.suffix_length;
  d.vlc.start(suffix, set.suffix_length);
  d.mel.start(suffix, set.suffix_length);
  d.above.north = d.above.east = 0;
  bool masks = cols <= kMaskQuads;
  for (uint32_t y = 0; y < block.height; y += 2, quads += stride) {
    d.above.records = masks || y == 0 ? nullptr : quads - stride;
    d.row(quads, cols, y == 0);
    if (!d.complete())
      return false;
  }
  return true;
}

/* The first `lanes` threads of each warp do a block each. */
__global__ void __launch_bounds__(kThreads) quads_kernel(Cj2kCudaDecodeBlocks frame, uint32_t lanes)
{
  __shared__ uint32_t vlc[kVlcEntries];
  __shared__ uint32_t uvlc[kUvlcEntries / 2]; /* two entries a word */
  for (uint32_t i = threadIdx.x; i < kVlcEntries; i += kThreads)
    vlc[i] = d_vlc[i];
  for (uint32_t i = threadIdx.x; i < kUvlcEntries / 2; i += kThreads)
    uvlc[i] = reinterpret_cast<const uint32_t *>(d_uvlc)[i];
  __syncthreads();

  uint32_t i = blockIdx.x * lanes + threadIdx.x;
  if (threadIdx.x >= lanes || i >= frame.num_ht)
    return;
  uint32_t b = frame.order[i];
  Cj2kCudaBlock block = frame.blocks[b];
  HtSet set;
  Decoder d;
  d.vlc_table = vlc;
  d.uvlc_table = reinterpret_cast<const uint16_t *>(uvlc);
  if (!find_set(frame, b, block, set) || !decode_block(d, set, block, frame.quads + block.quads)) {
    frame.corrupt_flags[b] = 1;
    atomicAdd_system(frame.corrupt, 1u);
  }
}

} // namespace

/* The u-VLC tables of first and other rows, packed. */
static void pack_uvlc(const Cj2kHtTables *tables, uint16_t *packed)
{
  for (uint32_t i = 0; i < kUvlcEntries; i++) {
    uint32_t entry = i < 5u << CJ2K_HT_UVLC_BITS
                         ? tables->uvlc_first[i]
                         : tables->uvlc_other[i - (5u << CJ2K_HT_UVLC_BITS)];
    uint32_t first = entry >> CJ2K_HT_U_SHIFT & 63, second = entry >> CJ2K_HT_UVLC_U1_SHIFT & 63;
    packed[i] = (uint16_t)(entry & CJ2K_HT_UVLC_LONG
                               ? kUvlcLong
                               : (entry & 63) | first << kUvlcFirst | second << kUvlcSecond);
  }
}

cudaError_t cj2k_cuda_ht_init(void)
{
  const Cj2kHtTables *tables = cj2k_ht_tables();
  uint16_t packed[kUvlcEntries];
  pack_uvlc(tables, packed);
  cudaError_t error = cudaMemcpyToSymbol(d_vlc, tables->vlc, sizeof tables->vlc);
  if (error == cudaSuccess)
    error = cudaMemcpyToSymbol(d_uvlc, packed, sizeof packed);
  return error;
}

/* A frame alone leaves most of the GPU idle here: with fewer blocks in a warp these wait less for
 * each other. With several frames in flight full warps do more. */
constexpr uint32_t kLanesAlone = 12;

cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  uint32_t lanes = frame->alone ? kLanesAlone : kThreads;
  uint32_t grid = (frame->num_ht + lanes - 1) / lanes;
  if (grid == 0)
    return cudaSuccess;
  quads_kernel<<<grid, kThreads, 0, stream>>>(*frame, lanes);
  return cudaGetLastError();
}
