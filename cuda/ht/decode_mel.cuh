// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Adaptive run-length decoder (T.814 7.3.3) that decodes events in advance. Past the end of the
 * segment it reads ones.
 *
 *   segment -> `ahead` -> `word` -> `bits` -> `events`
 *
 * As in Vlc there is no branch for what is not rare: for each two pairs of quads the codewords in
 * the next six bits are decoded by one look-up, unless there are many events.
 */
#pragma once

#include "decode_tables.cuh"
#include "shared_memory.cuh"

/* Events that two pairs of quads take at most: one per quad, and in the first row one more per
 * pair. */
constexpr uint32_t kLeastEvents = 6;

struct Mel {
  const uint32_t *words; /* aligned words, from the one that holds the segment's first byte */
  int32_t at, last;      /* index of `ahead`, and of the last word that may be read */
  uint32_t ahead;
  int32_t left; /* bits up to Scup not yet in `word`, with stuffing; behind them are ones */
  uint32_t word, word_bits; /* next bit highest */
  uint32_t full;            /* highest bit of each byte in `word` that is FF */
  uint32_t bits[2];         /* next bit highest in the first one */
  uint32_t count;
  uint32_t state;     /* byte offset of its rows in the table */
  uint32_t events[2]; /* next event lowest in the first one */
  uint32_t num_events;

  __device__ void start(const uint8_t *suffix, uint32_t length, uint32_t table)
  {
    uint32_t misaligned = (uint32_t)(reinterpret_cast<uintptr_t>(suffix) & 3);
    words = reinterpret_cast<const uint32_t *>(suffix - misaligned);
    at = 0;
    last = (int32_t)(misaligned + length - 1) / 4;
    left = 8 * (int32_t)(misaligned + length - 1) - 4; /* the last byte's lower half is of Scup */
    ahead = __ldg(words) & 0xFFFFFFFFu << 8 * misaligned;
    full = bits[0] = bits[1] = count = state = events[0] = events[1] = num_events = 0;
    unstuff(prepare(true));
    word <<= 8 * misaligned;
    word_bits -= 8 * misaligned;
    supply(table);
  }

  /* If `needed`, puts the next four bytes into `word`, and returns which bits of it are stuffed:
   * the highest one of a byte after FF. */
  __device__ __forceinline__ uint32_t prepare(bool needed)
  {
    uint32_t w = __byte_perm(ahead, 0, 0x0123);
    w |= __funnelshift_rc(0xFFFFFFFFu, 0, (uint32_t)max(left, 0));
    uint32_t fulls = ((w & 0x7F7F7F7Fu) + 0x01010101u) & w & 0x80808080u;
    uint32_t stuffed = __funnelshift_r(fulls, full, 8);
    if (needed) {
      word = w;
      word_bits = 32;
      full = fulls;
      left -= 32;
      at += 1;
      ahead = __ldg(words + min(at, last));
    }
    return needed ? stuffed : 0;
  }

  /* Removes the stuffed bits from `word`. */
  __device__ __forceinline__ void unstuff(uint32_t stuffed)
  {
    word_bits -= __popc(stuffed);
    while (stuffed) {
      uint32_t bit = stuffed & (0 - stuffed), below = bit - 1;
      word = (word & ~(bit | below)) | (word & below) << 1;
      stuffed ^= bit;
    }
  }

  /* Appends `word` if `needed`, for which `count` must be at most 32. */
  __device__ __forceinline__ void append(bool needed)
  {
    uint32_t w = needed ? word : 0;
    bits[0] |= __funnelshift_rc(w, 0, count);
    bits[1] |= __funnelshift_rc(0, w, count);
    count += needed ? word_bits : 0;
  }

  /* Decodes the codewords in the next six bits, if there is room for their events. */
  __device__ __forceinline__ void decode(uint32_t table)
  {
    uint2 entry = load_shared_pair<4 * kMelTable>(table + (state | (bits[0] >> 23 & 63u << 3)));
    if (num_events < 32) {
      events[0] |= entry.x << num_events;
      events[1] |= __funnelshift_lc(entry.x, 0, num_events);
      num_events += entry.y >> kMelCountShift;
      state = entry.y & kMelStates;
      count -= entry.y & 31;
      bits[0] = __funnelshift_l(bits[1], bits[0], entry.y);
      bits[1] <<= entry.y & 31;
    }
  }

  /* What is done for each two pairs. Returns the stuffed bits of `word`. */
  __device__ __forceinline__ uint32_t refill(uint32_t table)
  {
    bool needs_word = count <= 32;
    append(needs_word);
    uint32_t stuffed = prepare(needs_word);
    decode(table);
    return stuffed;
  }

  /* Decodes until there are enough events for two pairs. */
  __device__ void supply(uint32_t table)
  {
    while (num_events < kLeastEvents) {
      if (count <= 32) {
        append(true);
        unstuff(prepare(true));
      }
      decode(table);
    }
  }

  /* n < 32 */
  __device__ __forceinline__ void skip(uint32_t n)
  {
    events[0] = __funnelshift_r(events[0], events[1], n);
    events[1] >>= n;
    num_events -= n;
  }
};
