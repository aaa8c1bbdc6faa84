// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup pass, first step (T.814 7.3.3 to 7.3.6): the MEL and VLC segments become quad records.
 * Each table look-up depends on the one before, so one thread decodes a whole block. The tables are
 * in shared memory, all bit strings and contexts in registers.
 */
#include "common.cuh"

#include <cstddef>
#include <cstring>

namespace {

constexpr uint32_t kWarps = 4;
constexpr uint32_t kVlcEntries = 2 * (8 << 7);
/* Index bits of the u-VLC tables: enough for all codes without a five-bit suffix. The entries have
 * the layout of ht_tables.h. */
constexpr uint32_t kUvlcBits = 8;
constexpr uint32_t kUvlcEntries = 9 << kUvlcBits;
constexpr uint32_t kEntries = kVlcEntries + kUvlcEntries;
/* A quad record shifted right by this is the context of the quad to its right, as a byte offset
 * into a VLC table. */
constexpr uint32_t kContextShift = CJ2K_HT_CTX_SHIFT - 2;
constexpr uint32_t kRowBytes = (8 << 7) * 4; /* size of a VLC table: first row, other rows */
/* MEL exponents by state (T.814 table 2), three bits each. */
constexpr uint64_t kMelExponents = 05433222111000ull;
constexpr uint32_t kMaskQuads = 32; /* longest row, in quads, whose contexts fit into masks */
/* MEL events are refilled every kGroupQuads quads, which take at most kGroupEvents: one per quad,
 * and in the first row one more per pair. */
constexpr uint32_t kGroupQuads = 16, kGroupEvents = 24;

} // namespace

__device__ __align__(16) uint32_t d_tables[kEntries];

namespace {

/* Reader of the VLC segment: backwards, without stuffing (T.814 7.1.3). To hide latency, `word` is
 * prepared long before it is needed, and `ahead`, the word after it, is being loaded. */
struct Vlc {
  const uint32_t *words; /* aligned words, from the one that holds the segment's first byte */
  int32_t at;            /* index of `ahead`; negative past the end, where any word will do */
  uint32_t ahead;
  int32_t left; /* bytes not yet in `word`; negative past the end */
  uint32_t word, word_bits;
  uint32_t large; /* highest bit: the last byte in `word` is larger than 8F */
  uint64_t bits;
  uint32_t count;

  __device__ void start(const uint8_t *suffix, uint32_t length)
  {
    /* The last byte and the lower half of the one before hold Scup. */
    uint32_t nibble = __ldg(suffix + length - 2) >> 4, skip = (nibble & 7) == 7;
    bits = nibble & (15u >> skip);
    count = 4 - skip;
    uint32_t misaligned = (uint32_t)(reinterpret_cast<uintptr_t>(suffix) & 3);
    words = reinterpret_cast<const uint32_t *>(suffix - misaligned);
    /* Bytes of the first word that are behind the segment or already read become zeros; but the one
     * next to the unread bytes becomes FF if the nibble's byte was above 8F, for prepare(). */
    int32_t end = (int32_t)(misaligned + length) - 2, used = -end & 3;
    left = (int32_t)length - 2 + used;
    at = (end + used) / 4 - 1;
    ahead = load(at) & 0xFFFFFFFFu >> 8 * used;
    large = used == 0 && nibble > 8 ? 0x80000000u : 0;
    if (used && nibble > 8)
      ahead |= 0xFFu << (32 - 8 * used);
    prepare();
    word >>= 8 * used;
    word_bits -= 8 * used;
    supply();
  }

  __device__ __forceinline__ uint32_t load(int32_t index) const
  {
    return __ldg(words + (uint32_t)max(index, 0));
  }

  /* Puts the next four bytes into `word`. After a byte above 8F, a byte whose low seven bits are
   * ones holds seven bits. */
  __device__ __forceinline__ void prepare()
  {
    uint32_t w = __byte_perm(ahead, 0, 0x0123);
    w &= __funnelshift_rc(0xFFFFFFFFu, 0, (uint32_t)max(32 - 8 * left, 0));
    left -= 4;
    ahead = load(--at);
    uint32_t sevens = w & 0x7F7F7F7Fu, larges = (sevens + 0x70707070u) & w;
    uint32_t stuffed = (sevens + 0x01010101u) & 0x80808080u & __funnelshift_l(large, larges, 8);
    large = larges;
    word_bits = 32 - __popc(stuffed);
    word = drop_bits(w, stuffed);
  }

  /* Refills `bits` to at least 28, and to at least 33 if at least 14 were left. */
  __device__ __forceinline__ void supply()
  {
    if (count <= 32) {
      bits |= (uint64_t)word << count;
      count += word_bits;
      prepare();
    }
  }

  /* n < 32 */
  __device__ __forceinline__ void skip(uint32_t n)
  {
    bits >>= n;
    count -= n;
  }

  /* Were all bits that were used in the segment? Zeros from past the end that are no longer in
   * `word` must still be unused in `bits`. */
  __device__ bool complete() const
  {
    uint32_t zeros = (uint32_t)max(-left, 0);
    return 8 * (zeros - min(zeros, 4u)) <= count;
  }
};

/* Adaptive run-length decoder (T.814 7.3.3) that decodes events in advance. Past the end of the
 * segment it reads ones. */
struct Mel {
  const uint8_t *next;
  uint32_t low, high; /* aligned words around the next four bytes */
  int32_t left;       /* bytes to read; the last one is shared with the VLC segment */
  uint32_t bits;      /* next bit highest */
  uint32_t count;
  uint32_t state;
  bool after_ff;
  uint32_t num_events;
  uint64_t events; /* next event lowest */

  __device__ void start(const uint8_t *suffix, uint32_t length)
  {
    next = suffix;
    left = (int32_t)length - 1;
    bits = count = state = num_events = 0;
    events = 0;
    after_ff = false;
    look_ahead();
  }

  __device__ __forceinline__ void look_ahead()
  {
    const uint32_t *words =
        reinterpret_cast<const uint32_t *>(reinterpret_cast<uintptr_t>(next) & ~(uintptr_t)3);
    low = __ldg(words);
    high = __ldg(words + 1);
  }

  __device__ __forceinline__ void fill()
  {
    uint32_t shift = 8 * (uint32_t)(reinterpret_cast<uintptr_t>(next) & 3);
    uint32_t word = left > 0 ? __funnelshift_r(low, high, shift) : 0xFFFFFFFFu;
    uint32_t used = 0;
    while (count <= 24) {
      uint32_t byte = left > 0 ? word & 0xFF : 0xFF;
      if (left == 1)
        byte |= 0x0F;
      word >>= 8;
      used += left > 0;
      left--;
      uint32_t length = 8 - after_ff;
      bits |= (byte & (0xFFu >> after_ff)) << (32 - count - length);
      count += length;
      after_ff = byte == 0xFF;
    }
    next += used;
    look_ahead(); /* reads at most the byte behind the last one */
  }

  /* Decodes events for a group of quads. Up to 23 are left from before, and a codeword gives up to
   * 32, so that 64 bits suffice. */
  __device__ __forceinline__ void supply()
  {
    while (num_events < kGroupEvents) {
      if (count < 6)
        fill();
      uint32_t exponent = (uint32_t)(kMelExponents >> 3 * state) & 7;
      if (bits >> 31) {
        num_events += 1u << exponent;
        bits <<= 1;
        count -= 1;
        state += state < 12;
      } else {
        uint32_t zeros = exponent ? bits << 1 >> (32 - exponent) : 0;
        events |= 1ull << (num_events + zeros);
        num_events += zeros + 1;
        bits <<= 1 + exponent;
        count -= 1 + exponent;
        state -= state > 0;
      }
    }
  }

  __device__ __forceinline__ void skip(uint32_t n)
  {
    events >>= n;
    num_events -= n;
  }
};

/* Decodes a u-VLC code of a pair that is too long for the table. Returns the bits used, up to 24,
 * in bits 0 to 7 and the residuals from bits 8 and 16 on. */
__device__ __noinline__ uint32_t decode_long_uvlc(uint64_t bits, uint32_t mode, bool first_row)
{
  uint32_t used = 0, length[2] = {0, 0}, u[2] = {0, 0};
#pragma unroll
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
#pragma unroll
  for (uint32_t i = 0; i < 2; i++) {
    suffix[i] = (uint32_t)(bits >> used) & ((1u << length[i]) - 1);
    used += length[i];
    u[i] += suffix[i] + (mode == 4 ? 2 : 0);
  }
#pragma unroll
  for (uint32_t i = 0; i < 2; i++) {
    if (suffix[i] < 28)
      continue;
    u[i] += 4 * ((uint32_t)(bits >> used) & 15);
    used += 4;
  }
  return used | u[0] << 8 | u[1] << 16;
}

/* Packs bits 0 and 1 of each nibble next to each other. */
__device__ __forceinline__ uint32_t gather_pairs(uint64_t nibbles)
{
  uint32_t pairs[2] = {(uint32_t)nibbles & 0x33333333u, (uint32_t)(nibbles >> 32) & 0x33333333u};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    pairs[i] = (pairs[i] | pairs[i] >> 2) & 0x0F0F0F0Fu;
    pairs[i] = (pairs[i] | pairs[i] >> 4) & 0x00FF00FFu;
    pairs[i] = (pairs[i] | pairs[i] >> 8) & 0x0000FFFFu;
  }
  return pairs[0] | pairs[1] << 16;
}

/* The part of the contexts that depends on the row above (T.814 7.3.5), as offsets into the table:
 * bit 9 for n | nw, bit 11 for ne | nf. For rows of up to 32 quads it is kept in masks. */
struct AboveMasks {
  uint32_t north, east; /* of the row above; rotated so that the next quad has bits 9 and 11 */
  uint64_t bottoms;     /* significance of the bottom samples of this row, a nibble for each pair of
                           quads: both left samples, then both right ones; the last pair is highest */

  __device__ __forceinline__ void start_row(const uint32_t *)
  {
    bottoms = 0;
  }

  __device__ __forceinline__ void contexts(uint32_t, uint32_t, uint32_t around[2])
  {
    around[0] = (north & 1u << 9) | (east & 1u << 11);
    around[1] = ((north & 1u << 10) | (east & 1u << 12)) >> 1;
    north = __funnelshift_r(north, north, 2);
    east = __funnelshift_r(east, east, 2);
  }

  __device__ __forceinline__ void note(uint32_t first, uint32_t second)
  {
    uint32_t pair = (first >> (CJ2K_HT_RHO_SHIFT + 1) & 5) | (second >> CJ2K_HT_RHO_SHIFT & 10);
    bottoms = bottoms >> 4 | (uint64_t)pair << 60;
  }

  __device__ __forceinline__ void end_row(uint32_t cols)
  {
    bottoms >>= 64 - 4 * ((cols + 1) / 2);
    uint32_t left = gather_pairs(bottoms), right = gather_pairs(bottoms >> 2);
    north = left | right << 1;
    east = right | left >> 1;
    north = __funnelshift_l(north, north, 9);
    east = __funnelshift_l(east, east, 11);
  }
};

/* The same for wider rows, read from the quad records of the row above. */
struct AboveRecords {
  const uint32_t *records;

  __device__ __forceinline__ void start_row(const uint32_t *above)
  {
    records = above;
  }

  __device__ __forceinline__ uint32_t rho(uint32_t q, uint32_t cols) const
  {
    return q < cols ? records[q] >> CJ2K_HT_RHO_SHIFT : 0;
  }

  __device__ __forceinline__ void contexts(uint32_t q, uint32_t cols, uint32_t around[2])
  {
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
      uint32_t left = rho(q + i - 1, cols), here = rho(q + i, cols), right = rho(q + i + 1, cols);
      around[i] = ((here >> 1 | left >> 3) & 1) << 9 | ((here >> 3 | right >> 1) & 1) << 11;
    }
  }

  __device__ __forceinline__ void note(uint32_t, uint32_t) {}
  __device__ __forceinline__ void end_row(uint32_t) {}
};

template <bool WIDE> struct AboveOf {
  using Type = AboveMasks;
};
template <> struct AboveOf<true> {
  using Type = AboveRecords;
};

/* Decodes one block. WHOLE: the number of quads in a row is a multiple of four. */
template <bool WIDE, bool WHOLE> struct Decoder {
  uint32_t tables; /* address in shared memory */
  Vlc vlc;
  Mel mel;
  typename AboveOf<WIDE>::Type above;
  uint32_t context; /* the part of the context that the quad to the left gives, as an offset */
  uint32_t events;  /* of this group of quads; next event lowest */
  uint32_t used_events;

  /* The table entry at PART + `offset` bytes. */
  template <uint32_t PART> __device__ __forceinline__ uint32_t entry(uint32_t offset) const
  {
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(value) : "r"(tables + offset), "n"(PART));
    return value;
  }

  __device__ __forceinline__ void skip_event(bool taken)
  {
    if (taken) {
      events >>= 1;
      used_events += 1;
    }
  }

  /* Decodes the record of a quad; `bits` has the VLC bits from bit 2 on. Outside the row
   * (`inside` is false) the record is 0. */
  template <uint32_t ROW>
  __device__ __forceinline__ uint32_t quad(uint32_t bits, uint32_t around, bool inside)
  {
    uint32_t index = context | around;
    uint32_t record = entry<ROW>(index | (bits & 127 << 2));
    bool has_event = index == 0 && inside;
    record = !inside || (has_event && !(events & 1)) ? 0 : record;
    skip_event(has_event);
    context = record >> kContextShift;
    return record;
  }

  template <bool FIRST> __device__ __forceinline__ uint2 pair(uint32_t q, uint32_t cols)
  {
    constexpr uint32_t kRow = FIRST ? 0 : kRowBytes;
    constexpr uint32_t kUvlc = 4 * (kVlcEntries + (FIRST ? 0 : 5 << kUvlcBits));
    vlc.supply();
    uint32_t around[2] = {0, 0};
    if (!FIRST)
      above.contexts(q, cols, around);
    bool has_second = WHOLE || q + 1 < cols;
    uint32_t bits = (uint32_t)vlc.bits << 2;
    uint32_t first = quad<kRow>(bits, around[0], true);
    bits = __funnelshift_r(bits, 0, first); /* its lowest five bits: the codeword's length */
    uint32_t second = quad<kRow>(bits, around[1], has_second);
    bits = __funnelshift_r(bits, 0, second);
    uint32_t used = (first & 63) + (second & 63);

    uint32_t mode = (first >> CJ2K_HT_UOFF_SHIFT & 1) | (second >> (CJ2K_HT_UOFF_SHIFT - 1) & 2);
    if (FIRST && mode == 3) {
      mode += events & 1;
      skip_event(true);
    }
    uint32_t code = entry<kUvlc>(mode << (kUvlcBits + 2) | (bits & ((1u << kUvlcBits) - 1) << 2));
    above.note(first, second);
    if (code & CJ2K_HT_UVLC_LONG) {
      vlc.skip(used);
      vlc.supply();
      code = decode_long_uvlc(vlc.bits, mode, FIRST);
      used = code & 63;
      first |= (code >> 8 & 127) << CJ2K_HT_U_SHIFT;
      second |= code >> 16 << CJ2K_HT_U_SHIFT;
    } else {
      used += code & 63;
      first |= code & 63u << CJ2K_HT_U_SHIFT;
      second |= code << (CJ2K_HT_U_SHIFT - CJ2K_HT_UVLC_U1_SHIFT) & 63u << CJ2K_HT_U_SHIFT;
    }
    vlc.skip(used);
    return make_uint2(first, second);
  }

  /* Decodes a row of quads. It stores four records at once: the stride is a multiple of four. */
  template <bool FIRST> __device__ __forceinline__ void row(uint32_t *records, uint32_t cols)
  {
    context = 0;
    for (uint32_t group = 0; group < cols; group += kGroupQuads) {
      mel.supply();
      events = (uint32_t)mel.events;
      used_events = 0;
      uint32_t end = min(group + kGroupQuads, cols);
      for (uint32_t q = group; q < end; q += 4) {
        uint2 a = pair<FIRST>(q, cols), b = make_uint2(0, 0);
        if (WHOLE || q + 2 < cols)
          b = pair<FIRST>(q + 2, cols);
        *reinterpret_cast<uint4 *>(records + q) = make_uint4(a.x, a.y, b.x, b.y);
      }
      mel.skip(used_events);
    }
    above.end_row(cols);
  }

  /* Decodes a block to quad records. false: it used more VLC bits than the segment has. */
  __device__ bool block(const HtSet &set, const Block &block, uint32_t *quads)
  {
    uint32_t cols = (block.width + 1u) / 2, stride = CJ2K_CUDA_QUAD_STRIDE(block.width);
    const uint8_t *suffix = set.cleanup + set.cleanup_length - set.suffix_length;
    vlc.start(suffix, set.suffix_length);
    mel.start(suffix, set.suffix_length);
    above.start_row(nullptr);
    row<true>(quads, cols);
    for (uint32_t y = 2; y < block.height; y += 2) {
      above.start_row(quads);
      quads += stride;
      row<false>(quads, cols);
    }
    return vlc.complete();
  }
};

/* Each of the first `lanes` threads of a warp decodes one block. WIDE: some blocks have rows of
 * more than 32 quads. WHOLE: the rows of all blocks are whole groups of four quads. */
template <bool WIDE, bool WHOLE>
__global__ void __launch_bounds__(32 * kWarps)
    quads_kernel(Cj2kCudaDecodeBlocks frame, uint32_t lanes)
{
  __shared__ __align__(16) uint32_t tables[kEntries];
  uint32_t thread = threadIdx.y * 32 + threadIdx.x;
#pragma unroll
  for (uint32_t i = thread; i < kEntries / 4; i += 32 * kWarps)
    reinterpret_cast<uint4 *>(tables)[i] = reinterpret_cast<const uint4 *>(d_tables)[i];
  __syncthreads();

  uint32_t i = (blockIdx.x * kWarps + threadIdx.y) * lanes + threadIdx.x;
  if (threadIdx.x >= lanes || i >= frame.ht.count)
    return;
  uint32_t b = frame.ht.order[i];
  Block block = load_block(frame, b);
  HtSet set;
  Decoder<WIDE, WHOLE> d;
  d.tables = (uint32_t)__cvta_generic_to_shared(tables);
  asm volatile("" : "+r"(d.tables)); /* keeps the address in a register; else it is recomputed */
  if (!find_set(frame, b, block, set) || !d.block(set, block, frame.ht.quads + block.quads)) {
    frame.corrupt_flags[b] = 1;
    atomicAdd(frame.corrupt, 1u);
  }
}

} // namespace

/* Uploads the VLC tables and, shortened to kUvlcBits index bits, the u-VLC tables. */
cudaError_t cj2k_cuda_ht_init(void)
{
  const Cj2kHtTables *tables = cj2k_ht_tables();
  uint32_t all[kEntries], *uvlc = all + kVlcEntries;
  memcpy(all, tables->vlc, sizeof tables->vlc);
  for (uint32_t i = 0; i < kUvlcEntries; i++) {
    uint32_t mode = i >> kUvlcBits, bits = i & ((1u << kUvlcBits) - 1);
    uint32_t entry = mode < 5 ? tables->uvlc_first[mode << CJ2K_HT_UVLC_BITS | bits]
                              : tables->uvlc_other[(mode - 5) << CJ2K_HT_UVLC_BITS | bits];
    uvlc[i] = (entry & CJ2K_HT_UVLC_LONG) || (entry & 63) > kUvlcBits ? CJ2K_HT_UVLC_LONG : entry;
  }
  cudaError_t result = cudaMemcpyToSymbolAsync(d_tables, all, sizeof all, 0, cudaMemcpyHostToDevice,
                                               cudaStreamPerThread);
  return result == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : result;
}

/* Warps that suffice, and the most blocks in a warp, with one frame in flight. That frame leaves
 * most of the GPU idle here, and with fewer blocks in a warp they wait less for each other. Blocks
 * beside which others are decoded that are needed before have fuller warps, which take less from
 * those. With several frames in flight full warps have the higher throughput. */
constexpr uint32_t kWarpsAlone = 1024, kLanesAlone = 8, kLanesBeside = 16;

static uint32_t choose_lanes(const Cj2kCudaDecodeBlocks *frame)
{
  uint32_t lanes = 1;
  if (frame->aim != CJ2K_CUDA_AIM_LATENCY)
    return frame->aim == CJ2K_CUDA_AIM_LEAVE_ROOM ? kLanesBeside : 32;
  while (lanes < kLanesAlone && frame->ht.count > lanes * kWarpsAlone)
    lanes *= 2;
  return lanes;
}

cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  uint32_t lanes = choose_lanes(frame);
  uint32_t grid = (frame->ht.count + kWarps * lanes - 1) / (kWarps * lanes);
  if (grid == 0)
    return cudaSuccess;
  dim3 threads(32, kWarps);
  if (frame->max_width > 2 * kMaskQuads)
    quads_kernel<true, false><<<grid, threads, 0, stream>>>(*frame, lanes);
  else if (frame->width_bits & 7)
    quads_kernel<false, false><<<grid, threads, 0, stream>>>(*frame, lanes);
  else
    quads_kernel<false, true><<<grid, threads, 0, stream>>>(*frame, lanes);
  return cudaGetLastError();
}
