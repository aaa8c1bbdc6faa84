// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * HT cleanup pass, first step (T.814 7.3.3 to 7.3.6): the MEL and VLC segments become quad records.
 * Each table look-up depends on the one before, so one thread decodes a whole block. The tables and
 * the next bytes of the VLC segment are in shared memory, bits and contexts in registers.
 */
#pragma once

#include "common.cuh"
#include "decode_mel.cuh"
#include "decode_vlc.cuh"

/* A quad record shifted right by this is the context of the quad to its right, as a byte offset
 * into a VLC table. */
constexpr uint32_t kContextShift = CJ2K_HT_CTX_SHIFT - 2;
constexpr uint32_t kTableBytes = (8 << 7) * 4; /* size of a VLC table: first row, other rows */
constexpr uint32_t kMaskQuads = 32; /* longest row, in quads, whose contexts fit into masks */

static_assert(kUvlcSuffix == CJ2K_HT_U_SHIFT, "suffixes are added to records where they are");

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
  uint32_t events;  /* of these two pairs of quads; next event lowest */
  uint32_t used_events;

  /* The table entry at PART + `offset` bytes. */
  template <uint32_t PART> __device__ __forceinline__ uint32_t entry(uint32_t offset) const
  {
    return load_shared<PART>(tables + offset);
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

  /* What the extension of a residual, if there is one behind this suffix, adds to the record. */
  __device__ __forceinline__ uint32_t extension(uint32_t suffix)
  {
    if ((suffix & 31) < 28)
      return 0;
    uint32_t units = vlc.bits[0] >> 2 & 15;
    vlc.skip(4);
    return 4 * units << CJ2K_HT_U_SHIFT;
  }

  /* REFILL: this is the second of two pairs, with which MEL events are refilled. */
  template <bool FIRST, bool REFILL>
  __device__ __forceinline__ uint2 pair(uint32_t q, uint32_t cols)
  {
    constexpr uint32_t kRow = FIRST ? 0 : kTableBytes;
    constexpr uint32_t kUvlc = 4 * (kVlcEntries + (FIRST ? 0 : 5 << kUvlcBits));
    uint32_t mel_stuffed = REFILL ? mel.refill(tables) : 0;
    bool needs_word = vlc.count <= 64;
    uint32_t around[2] = {0, 0};
    if (!FIRST)
      above.contexts(q, cols, around);
    bool has_second = WHOLE || q + 1 < cols;
    uint32_t bits = vlc.bits[0];
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
    uint32_t suffixes =
        __funnelshift_r(bits, bits, code >> kUvlcRotation) & code & 1023u << kUvlcSuffix;
    first += (code << (CJ2K_HT_U_SHIFT - kUvlcBase) & 7u << CJ2K_HT_U_SHIFT) +
             (suffixes & 31u << CJ2K_HT_U_SHIFT);
    second += (code << (CJ2K_HT_U_SHIFT - kUvlcBase - 3) & 7u << CJ2K_HT_U_SHIFT) +
              (suffixes >> 5 & 31u << CJ2K_HT_U_SHIFT);
    vlc.append(needs_word);
    uint32_t stuffed = vlc.prepare(needs_word);
    vlc.skip(used + (code & 31));
    if (REFILL)
      mel.skip(used_events);
    bool has_few = vlc.count < kLeast || (REFILL && mel.num_events < kLeastEvents);
    bool is_long = (first | second) & 32u << CJ2K_HT_U_SHIFT;
    if (is_long || (stuffed | mel_stuffed) || has_few) {
      vlc.unstuff(stuffed);
      if (is_long) {
        first += extension(suffixes >> kUvlcSuffix);
        second += extension(suffixes >> (kUvlcSuffix + 5));
      }
      vlc.supply();
      if (REFILL) {
        mel.unstuff(mel_stuffed);
        mel.supply(tables);
      }
    }
    return make_uint2(first, second);
  }

  /* Decodes a row of quads. It stores four records at once: the stride is a multiple of four. */
  template <bool FIRST, class Rows> __device__ __forceinline__ void row(Rows &rows, uint32_t cols)
  {
    context = 0;
    for (uint32_t q = 0; q < cols; q += 4) {
      vlc.fetch();
      events = mel.events[0];
      used_events = 0;
      uint2 a = pair<FIRST, false>(q, cols), b = make_uint2(0, 0);
      if (WHOLE || q + 2 < cols) {
        b = pair<FIRST, true>(q + 2, cols);
      } else {
        mel.unstuff(mel.refill(tables));
        mel.skip(used_events);
        mel.supply(tables);
      }
      rows.put(q, make_uint4(a.x, a.y, b.x, b.y));
    }
    above.end_row(cols);
  }

  /* Decodes a block, which has at least one row, to rows of quad records. false: it used more VLC
   * bits than the segment has. */
  template <class Rows>
  __device__ bool block(const HtSet &set, const Block &block, uint32_t ring, Rows rows)
  {
    uint32_t cols = (block.width + 1u) / 2;
    const uint8_t *suffix = set.cleanup + set.cleanup_length - set.suffix_length;
    vlc.start(suffix, set.suffix_length, ring);
    mel.start(suffix, set.suffix_length, tables);
    above.start_row(nullptr);
    rows.begin(0);
    row<true>(rows, cols);
    rows.end(0);
    for (uint32_t y = 1; 2 * y < block.height; y++) {
      above.start_row(rows.last());
      rows.begin(y);
      row<false>(rows, cols);
      rows.end(y);
    }
    end_copies<0>(); /* none is under way when its memory may be another block's */
    return vlc.complete();
  }
};

/* Rows of quad records in memory. */
struct StoredRows {
  uint32_t *row, *next;
  uint32_t stride;

  __device__ StoredRows(uint32_t *quads, uint32_t width)
      : next(quads), stride(CJ2K_CUDA_QUAD_STRIDE(width))
  {
  }

  /* Before row y, and after it. */
  __device__ __forceinline__ void begin(uint32_t)
  {
    row = next;
    next += stride;
  }
  __device__ __forceinline__ void end(uint32_t) {}

  __device__ __forceinline__ const uint32_t *last() const
  {
    return row;
  }

  __device__ __forceinline__ void put(uint32_t q, uint4 records)
  {
    *reinterpret_cast<uint4 *>(row + q) = records;
  }
};
