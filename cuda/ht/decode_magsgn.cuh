// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup pass, second step (T.814 7.3.7, 7.3.8): MagSgn bits become coefficients. A group of 32
 * lanes, or of 16 when blocks are narrow, decodes a block row of quads by row of quads; each lane
 * has a column. A scan over the lanes gives each lane the position of its bits in a ring of
 * destuffed bits.
 */
#pragma once

#include "common.cuh"

constexpr uint32_t kMaxCols = 512;

/* The destuffed MagSgn bits from position `pos` to `end`, stored at the position modulo the ring's
 * size. Bits past the end of the segment are ones. */
template <uint32_t LANES> struct Ring {
  static constexpr uint32_t kWords = 8 * LANES; /* of 32 bits; 32 quads take up to 3968 bits */

  uint32_t *words;
  const uint8_t *bytes;
  uint32_t length, next; /* number of bytes; index of the next one to destuff */
  uint32_t pos, end;
  uint32_t lane, mask;

  __device__ void start(uint32_t *memory, const HtSet &set, uint32_t lane_index, uint32_t lanes)
  {
    words = memory;
    bytes = set.cleanup;
    length = set.cleanup_length - set.suffix_length;
    next = pos = end = 0;
    lane = lane_index;
    mask = lanes;
    if (lane == 0)
      words[0] = 0;
    __syncwarp(mask);
  }

  /* Adds four bytes per lane; past the end of the segment they are FF. After a byte FF the top bit
   * of the next one is stuffing (T.814 7.1.2); mostly no byte is FF, which is the fast path. */
  __device__ __forceinline__ void fill()
  {
    uint32_t at = next + 4 * lane;
    uint32_t raw = at < length ? load_word(bytes + at) : 0xFFFFFFFFu;
    int32_t left = (int32_t)(length - at);
    uint32_t behind = left >= 4 ? 0 : 0xFFFFFFFFu << (8 * max(left, 0));
    raw |= behind;
    uint32_t before = __shfl_up_sync(mask, raw, 1, LANES);
    bool stuffed = (~raw - 0x01010101u) & raw & 0x80808080u & ~behind; /* a byte FF */
    if (lane == 0) {
      before = next > 0 && next <= length ? (uint32_t)bytes[next - 1] << 24 : 0;
      stuffed |= before == 0xFF000000u;
    }
    if (__any_sync(mask, stuffed))
      fill_stuffed(raw, before >> 24, at);
    else
      fill_whole(raw, before);
    next = min(next + 4 * LANES, length);
    __syncwarp(mask);
  }

  /* Adds 32 bits per lane. In the word that holds `end`, bits from `end` on are zero. */
  __device__ __forceinline__ void fill_whole(uint32_t raw, uint32_t before)
  {
    uint32_t index = (end >> 5) + lane, shift = end & 31;
    uint32_t word = __funnelshift_l(lane == 0 ? 0 : before, raw, shift);
    if (lane == 0)
      word |= words[index % kWords];
    words[index % kWords] = word;
    if (lane == LANES - 1)
      words[(index + 1) % kWords] = __funnelshift_l(raw, 0, shift);
    end += 32 * LANES;
  }

  __device__ __forceinline__ void fill_stuffed(uint32_t raw, uint32_t before, uint32_t at)
  {
    words[((end >> 5) + 1 + lane) % kWords] = 0;
    uint32_t value = 0, count = 0;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t byte = raw >> (8 * i) & 0xFF;
      uint32_t skip = at + i < length && before == 0xFF;
      value |= (byte & (0xFFu >> skip)) << count;
      count += 8 - skip;
      before = byte;
    }
    uint32_t start = end + scan(count) - count;
    __syncwarp(mask);
    atomicOr(&words[(start >> 5) % kWords], value << (start & 31));
    if ((start & 31) + count > 32)
      atomicOr(&words[((start >> 5) + 1) % kWords], value >> (32 - (start & 31)));
    end = __shfl_sync(mask, start + count, LANES - 1, LANES);
  }

  /* Inclusive sum over the lanes. */
  __device__ uint32_t scan(uint32_t value) const
  {
#pragma unroll
    for (uint32_t step = 1; step < LANES; step *= 2) {
      uint32_t other = __shfl_up_sync(mask, value, step, LANES);
      if (lane >= step)
        value += other;
    }
    return value;
  }

  /* The 32 bits from position `at` on. */
  __device__ uint32_t window(uint32_t at) const
  {
    uint32_t low = words[(at >> 5) % kWords], high = words[((at >> 5) + 1) % kWords];
    return __funnelshift_r(low, high, at & 31);
  }
};

/* The values v of the bottom samples, left and right, of the quads above. Blocks of at most LANES
 * quads a row keep them in registers, wider ones in shared memory. */
template <uint32_t LANES, bool WIDE> struct Above {
  uint32_t left, right;
  uint32_t *lefts, *rights;
  uint32_t carried; /* row above: `right` of the last column of the LANES columns before */

  __device__ void start(uint32_t *memory, uint32_t lane, uint32_t mask)
  {
    left = right = carried = 0;
    if (WIDE) {
      lefts = memory;
      rights = memory + kMaxCols + LANES;
      for (uint32_t i = lane; i < 2 * (kMaxCols + LANES); i += LANES)
        memory[i] = 0;
      __syncwarp(mask);
    }
  }

  /* The bitwise or of the four values above quad column q and beside them. */
  __device__ uint32_t around(uint32_t q, uint32_t lane, uint32_t mask)
  {
    if (WIDE) {
      left = lefts[q];
      right = rights[q];
    }
    uint32_t west = __shfl_up_sync(mask, right, 1, LANES),
             east = __shfl_down_sync(mask, left, 1, LANES);
    if (lane == 0)
      west = WIDE ? carried : 0;
    if (lane == LANES - 1)
      east = WIDE ? lefts[q + 1] : 0;
    if (WIDE)
      carried = __shfl_sync(mask, right, LANES - 1, LANES);
    return left | right | west | east;
  }

  __device__ void note(uint32_t q, uint32_t bottom_left, uint32_t bottom_right, uint32_t mask)
  {
    left = bottom_left;
    right = bottom_right;
    if (WIDE) {
      __syncwarp(mask);
      lefts[q] = left;
      rights[q] = right;
      __syncwarp(mask);
    }
  }
};

/* ----------------------------------------------------------- where quad records come from --- */

/* The records of a block from memory, where the first step has put them. decode_rows.cuh has the
 * same functions. Rows are read in their order. */
struct StoredQuads {
  const uint32_t *row;
  uint32_t stride, ahead; /* ahead: the record that take() returns next */

  __device__ StoredQuads(const uint32_t *quads, uint32_t width)
      : row(quads), stride(CJ2K_CUDA_QUAD_STRIDE(width))
  {
  }

  /* Any columns: begin(), then at() for each of them, then end(). */
  __device__ __forceinline__ void begin() {}
  __device__ __forceinline__ uint32_t at(uint32_t q) const
  {
    return row[q];
  }
  __device__ __forceinline__ void end()
  {
    row += stride;
  }

  /* One column, if `active`: start(), then take() for each row. */
  __device__ __forceinline__ void start(uint32_t lane, bool active)
  {
    row += lane;
    ahead = active ? *row : 0;
  }
  __device__ __forceinline__ uint32_t take(bool active, bool is_last)
  {
    uint32_t record = ahead;
    row += stride;
    if (active && !is_last)
      ahead = *row;
    return record;
  }

  /* After the last row that is read. Returns whether the first step found the block whole. */
  __device__ __forceinline__ bool finish() const
  {
    return true;
  }
};

/* ----------------------------------------------------------- the path for any block --- */

/* Converts v = 2 (mu - 1) + sign to half units with the midpoint, (2 mu + 1) << p, and these to a
 * coefficient. Samples of blocks with refinement passes stay half units; narrow ones whole units,
 * because p > 0. */
template <class T>
__device__ __forceinline__ T finish_sample(uint32_t v, bool significant, const HtSet &set,
                                           const Block &block)
{
  uint32_t word = significant ? ((v | 1) + 2) << set.plane | v << 31 : 0;
  bool refined = set.num_passes > 1;
  if (sizeof(T) == 2)
    return (T)to_narrow(word & 0x7FFFFFFFu, word >> 31, block.reversible || refined);
  return (T)(refined ? word : reconstruct(word & 0x7FFFFFFFu, word >> 31, block));
}

/* Two neighbours in a row, aligned for it. */
__device__ __forceinline__ void put_pair(uint32_t *to, uint32_t a, uint32_t b)
{
  *reinterpret_cast<uint2 *>(to) = make_uint2(a, b);
}
__device__ __forceinline__ void put_pair(uint16_t *to, uint32_t a, uint32_t b)
{
  *reinterpret_cast<uint32_t *>(to) = __byte_perm(a, b, 0x5410);
}

template <class T> __device__ void store_pair(T *row, uint32_t x, uint32_t width, T a, T b)
{
  if (x + 1 < width && reinterpret_cast<uintptr_t>(row) % (2 * sizeof(T)) == 0) {
    put_pair(row + x, a, b);
    return;
  }
  if (x < width)
    row[x] = a;
  if (x + 1 < width)
    row[x + 1] = b;
}

/* Reads the MagSgn bits of a quad, m[n] of each sample, which begin at `at`. */
template <uint32_t LANES>
__device__ __forceinline__ void read_values(const Ring<LANES> &ring, uint32_t at,
                                            const uint32_t m[4], uint32_t total, uint32_t mask,
                                            uint32_t v[4])
{
  if (__all_sync(mask, total <= 32)) { /* one window holds the quad */
    uint32_t window = ring.window(at);
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      v[n] = window & ((1u << m[n]) - 1);
      window = m[n] < 32 ? window >> m[n] : 0;
    }
  } else {
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      v[n] = ring.window(at) & ((1u << m[n]) - 1);
      at += m[n];
    }
  }
}

template <uint32_t LANES, bool WIDE, class T, class Quads>
__device__ bool decode_block(const HtSet &set, const Block &block, Quads &quads, T *out,
                             uint32_t *ring_memory, uint32_t *above_memory, uint32_t lane,
                             uint32_t mask)
{
  Ring<LANES> ring;
  ring.start(ring_memory, set, lane, mask);
  Above<LANES, WIDE> above;
  above.start(above_memory, lane, mask);
  uint32_t cols = (block.width + 1u) / 2;
  for (uint32_t y = 0; y < block.height; y += 2, out += 2 * (size_t)block.stride) {
    above.carried = 0;
    quads.begin();
    for (uint32_t first = 0; first < cols; first += LANES) {
      uint32_t q = first + lane, record = q < cols ? quads.at(q) : 0;
      uint32_t rho = record >> CJ2K_HT_RHO_SHIFT & 15, known = record >> CJ2K_HT_EK_SHIFT & 15;
      uint32_t exponent_above = 32 - __clz(above.around(q, lane, mask) | 1);
      uint32_t kappa = (rho & (rho - 1)) && exponent_above > 2 ? exponent_above - 1 : 1;
      uint32_t exponent = kappa + (record >> CJ2K_HT_U_SHIFT & 127);
      if (__any_sync(mask, rho && exponent > set.max_exponent))
        return false;
      uint32_t m[4], v[4], total = 0;
#pragma unroll
      for (uint32_t n = 0; n < 4; n++) {
        m[n] = rho >> n & 1 ? exponent - (known >> n & 1) : 0;
        total += m[n];
      }
      if (__all_sync(mask, rho == 0)) { /* frequent at low rates */
        above.note(q, 0, 0, mask);
        if (q < cols) {
          store_pair<T>(out, 2 * q, block.width, 0, 0);
          if (y + 1 < block.height)
            store_pair<T>(out + block.stride, 2 * q, block.width, 0, 0);
        }
        continue;
      }
      uint32_t sum = ring.scan(total), at = ring.pos + sum - total;
      uint32_t needed = __shfl_sync(mask, sum, LANES - 1, LANES);
      while (ring.end - ring.pos < needed)
        ring.fill();
      read_values(ring, at, m, total, mask, v);
#pragma unroll
      for (uint32_t n = 0; n < 4; n++)
        v[n] = rho >> n & 1 ? v[n] | (record >> (CJ2K_HT_E1_SHIFT + n) & 1) << m[n] : 0;
      ring.pos += needed;
      above.note(q, v[1], v[3], mask);
      if (q < cols) {
        store_pair(out, 2 * q, block.width, finish_sample<T>(v[0], rho & 1, set, block),
                   finish_sample<T>(v[2], rho & 4, set, block));
        if (y + 1 < block.height)
          store_pair(out + block.stride, 2 * q, block.width,
                     finish_sample<T>(v[1], rho & 2, set, block),
                     finish_sample<T>(v[3], rho & 8, set, block));
      }
      __syncwarp(mask); /* all have read the ring */
    }
    quads.end();
  }
  return true;
}

/* -------------------------------------------------- the fast path, for most blocks --- */

/* Inclusive sum over the lanes. */
template <uint32_t LANES> __device__ __forceinline__ uint32_t sum_up(uint32_t value, uint32_t mask)
{
#pragma unroll
  for (uint32_t step = 1; step < LANES; step *= 2)
    asm volatile("{ .reg .u32 r; .reg .pred p;\n"
                 "shfl.sync.up.b32 r|p, %0, %1, %2, %3;\n"
                 "@p add.u32 %0, %0, r; }"
                 : "+r"(value)
                 : "r"(step), "r"((32 - LANES) << 8), "r"(mask));
  return value;
}

/* Spreads four bits to the lowest bits of four bytes. */
__device__ __forceinline__ uint32_t spread(uint32_t bits)
{
  return bits * 0x00204081u & 0x01010101u;
}

/* `length` bits of `window` from bit `at` on, or'ed with `top`. Only the five lowest bits of `at`
 * and `length` count. */
__device__ __forceinline__ uint32_t take(uint32_t window, uint32_t at, uint32_t length,
                                         uint32_t top)
{
  return (__funnelshift_r(window, 0, at) & ~__funnelshift_l(0, 0xFFFFFFFFu, length)) | top;
}

/* Reads the MagSgn values of a quad whose bits begin at `at`. m: the number of bits of each sample,
 * one byte each. The bit that is known from the VLC segment, if any, is bit exponent - 1. */
template <uint32_t LANES>
__device__ __forceinline__ void read_quad(const Ring<LANES> &ring, uint32_t at, uint32_t m,
                                          uint32_t total, uint32_t exponent, uint32_t record,
                                          uint32_t mask, uint32_t v[4])
{
  const uint32_t before = m * 0x01010100u; /* bits of the samples before each */
  const uint32_t known = 1u << ((exponent - 1) & 31);
  uint32_t top[4];
#pragma unroll
  for (uint32_t n = 0; n < 4; n++)
    top[n] = record & 1u << (CJ2K_HT_E1_SHIFT + n) ? known : 0;
  if (__all_sync(mask, total <= 32)) { /* one window holds the quad */
    uint32_t window = ring.window(at);
#pragma unroll
    for (uint32_t n = 0; n < 4; n++)
      v[n] = take(window, before >> 8 * n, m >> 8 * n, top[n]);
  } else if (__all_sync(mask, m == 0 || exponent <= 16)) { /* two windows */
    uint32_t half = before >> 16 & 0xFF;
    uint32_t window = ring.window(at), second = ring.window(at + half);
    v[0] = take(window, 0, m, top[0]);
    v[1] = take(window, m, m >> 8, top[1]);
    v[2] = take(second, 0, m >> 16, top[2]);
    v[3] = take(second, m >> 16, m >> 24, top[3]);
  } else {
#pragma unroll
    for (uint32_t n = 0; n < 4; n++)
      v[n] = take(ring.window(at + (before >> 8 * n & 0xFF)), 0, m >> 8 * n, top[n]);
  }
}

/* The format of a block's output samples; kNarrow: 16 bits, see `halved`. */
enum class Put { kIntegers, kFloats, kHalfUnits, kNarrow };

/* The output word of a significant sample, or its 16 lower bits. */
template <Put PUT>
__device__ __forceinline__ uint32_t plain_sample(uint32_t v, uint32_t plane, float scale,
                                                 bool halved)
{
  uint32_t magnitude = (v | 1) + 2;
  if (PUT == Put::kFloats)
    return __float_as_uint(__fmul_rn(__uint2float_rn(magnitude), scale)) | v << 31;
  if (PUT == Put::kHalfUnits)
    return magnitude << plane | v << 31;
  magnitude = magnitude << plane >> (PUT == Put::kNarrow ? halved : 1);
  return v & 1 ? 0 - magnitude : magnitude;
}

/* Decodes a block without ROI that consists of whole, aligned quads, is not wider than its lanes
 * and whose samples leave bit 30 free. `scale` is the band's times 2^p, so that samples need not be
 * shifted by p; this gives the same float, because either product is rounded once. */
template <uint32_t LANES, Put PUT, class T, class Quads>
__device__ __forceinline__ bool decode_plain(const HtSet &set, const Block &block, Quads &quads,
                                             T *out, uint32_t *ring_memory, uint32_t lane,
                                             uint32_t mask)
{
  Ring<LANES> ring;
  ring.start(ring_memory, set, lane, mask);
  const float scale = __fmul_rn(block.scale, __uint_as_float((127 + set.plane) << 23));
  const bool halved = block.reversible || set.num_passes > 1;
  const uint32_t max_exponent = set.max_exponent;
  const bool active = 2 * lane < block.width;
  const size_t line = block.stride;
  quads.start(lane, active);
  out += 2 * lane;
  uint32_t left = 0, right = 0; /* v of the bottom samples of the quad above */
  for (uint32_t rows = block.height / 2; rows; rows--, out += 2 * line) {
    uint32_t record = quads.take(active, rows == 1);
    uint32_t rho = record >> CJ2K_HT_RHO_SHIFT & 15;
    /* The shuffles give the outermost lanes their own values, which does not change the result. */
    uint32_t around = left | right | __shfl_up_sync(mask, right, 1, LANES) |
                      __shfl_down_sync(mask, left, 1, LANES);
    uint32_t kappa = rho & (rho - 1) ? 31 - __clz(around | 2) : 1;
    uint32_t exponent = kappa + (record >> CJ2K_HT_U_SHIFT & 127);
    if (__any_sync(mask, rho && exponent > max_exponent))
      return false;
    if (__all_sync(mask, rho == 0)) { /* frequent at low rates */
      left = right = 0;
      if (active) {
        put_pair(out, 0, 0);
        put_pair(out + line, 0, 0);
      }
      continue;
    }
    uint32_t m = spread(rho) * exponent - spread(record >> CJ2K_HT_EK_SHIFT & 15);
    uint32_t total = m * 0x01010101u >> 24, sum = sum_up<LANES>(total, mask);
    uint32_t needed = __shfl_sync(mask, sum, LANES - 1, LANES);
    while (ring.end - ring.pos < needed)
      ring.fill();
    uint32_t v[4], word[4];
    read_quad<LANES>(ring, ring.pos + sum - total, m, total, exponent, record, mask, v);
    ring.pos += needed;
    left = v[1];
    right = v[3];
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      word[n] = plain_sample<PUT>(v[n], set.plane, scale, halved);
      word[n] = record & 1u << (CJ2K_HT_RHO_SHIFT + n) ? word[n] : 0;
    }
    if (active) {
      put_pair(out, word[0], word[2]);
      put_pair(out + line, word[1], word[3]);
    }
    __syncwarp(mask); /* all have read the ring */
  }
  return true;
}

template <class T> __device__ __forceinline__ bool is_plain(const Block &block, const T *out)
{
  return !block.roi_shift && block.num_bitplanes < 30 && !(block.width & 1) &&
         !(block.height & 1) &&
         (reinterpret_cast<uintptr_t>(out) | sizeof(T) * block.stride) % (2 * sizeof(T)) == 0;
}

/* --------------------------------------------------------------------------- a block --- */

/* What a group of lanes has for a block: its words in shared memory, and which lanes these are. */
struct Lanes {
  uint32_t *ring, *line; /* line: only of wide blocks */
  uint32_t lane, mask;
};

template <uint32_t LANES, class Quads>
__device__ __forceinline__ bool decode_plain_as(const HtSet &set, const Block &block, Quads &quads,
                                                uint16_t *out, const Lanes &lanes)
{
  return decode_plain<LANES, Put::kNarrow>(set, block, quads, out, lanes.ring, lanes.lane,
                                           lanes.mask);
}

template <uint32_t LANES, class Quads>
__device__ __forceinline__ bool decode_plain_as(const HtSet &set, const Block &block, Quads &quads,
                                                uint32_t *out, const Lanes &lanes)
{
  if (set.num_passes > 1)
    return decode_plain<LANES, Put::kHalfUnits>(set, block, quads, out, lanes.ring, lanes.lane,
                                                lanes.mask);
  if (block.reversible)
    return decode_plain<LANES, Put::kIntegers>(set, block, quads, out, lanes.ring, lanes.lane,
                                               lanes.mask);
  return decode_plain<LANES, Put::kFloats>(set, block, quads, out, lanes.ring, lanes.lane,
                                           lanes.mask);
}

/* Decodes a block with records. false: it is corrupt. */
template <uint32_t LANES, bool WIDE, class T, class Quads>
__device__ __forceinline__ bool decode_as(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                          const Block &block, Quads &quads, T *out,
                                          const Lanes &lanes)
{
  HtSet set;
  if (!find_set(frame, b, block, set))
    return false;
  bool is_any = WIDE || !is_plain(block, out);
  bool good = is_any ? decode_block<LANES, WIDE>(set, block, quads, out, lanes.ring, lanes.line,
                                                 lanes.lane, lanes.mask)
                     : decode_plain_as<LANES>(set, block, quads, out, lanes);
  return quads.finish() && good;
}

template <uint32_t LANES, class T>
__device__ void clear_block(const Block &block, T *out, uint32_t lane)
{
  for (uint32_t y = 0; y < block.height; y++, out += block.stride)
    for (uint32_t x = lane; x < block.width; x += LANES)
      out[x] = 0;
}

template <uint32_t LANES>
__device__ __forceinline__ void clear_samples(const Cj2kCudaDecodeBlocks &frame, const Block &block,
                                              uint32_t lane)
{
  if (block.narrow)
    clear_block<LANES>(block, samples_of<uint16_t>(frame, block), lane);
  else
    clear_block<LANES>(block, samples_of<uint32_t>(frame, block), lane);
}

/* Has a block passes of the HT coder, or of the other one? */
__device__ __forceinline__ bool has_passes(const Cj2kCodedBlock &coded, bool is_ht)
{
  return coded.num_passes && !coded.corrupt && coded.is_ht == is_ht;
}

/* Notes for the next frame whether a block is zeros. */
__device__ __forceinline__ void note_zeros(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                           bool is_zero, const Lanes &lanes)
{
  __syncwarp(lanes.mask); /* all lanes have read what is known so far */
  if (frame.zeros && lanes.lane == 0)
    frame.zeros[number_of(frame, b)] = is_zero;
}

/* Makes a block of its records; zeros, if it is corrupt. */
template <uint32_t LANES, bool WIDE, class Quads>
__device__ __forceinline__ void make_block(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                           const Block &block, Quads quads, const Lanes &lanes)
{
  bool good = block.narrow ? decode_as<LANES, WIDE>(frame, b, block, quads,
                                                    samples_of<uint16_t>(frame, block), lanes)
                           : decode_as<LANES, WIDE>(frame, b, block, quads,
                                                    samples_of<uint32_t>(frame, block), lanes);
  if (!good)
    clear_samples<LANES>(frame, block, lanes.lane);
  if (!good && lanes.lane == 0) {
    frame.corrupt_flags[b] = 1;
    atomicAdd(frame.corrupt, 1u);
  }
  note_zeros(frame, b, !good, lanes);
}

/* Makes zeros of a block without records, unless it is zeros. */
template <uint32_t LANES>
__device__ __forceinline__ void make_zeros(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                           const Block &block, const Lanes &lanes)
{
  if (!frame.zeros || !frame.zeros[number_of(frame, b)])
    clear_samples<LANES>(frame, block, lanes.lane);
  note_zeros(frame, b, !has_passes(frame.coded[b], false), lanes); /* MQ blocks come later */
}

/* The lanes of a group in its warp. */
template <uint32_t LANES> __device__ __forceinline__ uint32_t mask_of(uint32_t thread)
{
  return LANES == 32 ? 0xFFFFFFFFu : 0xFFFFu << (thread & 16);
}
