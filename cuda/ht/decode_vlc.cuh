// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reader of the VLC segment: backwards, without stuffing (T.814 7.1.3).
 *
 *   segment -> ring of 128 bytes -> `ahead` -> `word` -> `bits`
 *
 * The ring is in shared memory and is filled from the segment long before, because when one thread
 * waits for memory, its whole warp does. For the same reason there is no branch for what is not
 * rare: each pair of quads takes a word if there is room for it, and else the same steps change
 * nothing.
 */
#pragma once

#include "drop_bits.cuh"
#include "shared_memory.cuh"

/* Bytes of a thread's ring, and of a chunk of it. */
constexpr uint32_t kRing = 128, kChunk = 16;
/* For each two pairs of quads a chunk is fetched, if there is room. Two pairs take at most 76 bits:
 * in the long run less than three words, and never more than five. A chunk is fetched while at
 * least 22 words are left in the ring, and is thus needed six fetches later at the earliest. */
constexpr uint32_t kAhead = 4;
/* Bits, with the two before them, for a pair of quads: 7 and 7 for the quads, then 3, 3, 5, 5 for
 * residuals, and two to spare. Extensions come after a word has been appended. */
constexpr uint32_t kLeast = 34;

struct Vlc {
  const uint8_t *chunks; /* aligned ones, from the one that holds the segment's first byte */
  uint32_t ring;         /* where word 0 has its place in shared memory */
  int32_t fetched;       /* words from this one on are in the ring, or are on their way */
  int32_t at;            /* index of `ahead`; negative past the end, where any word will do */
  uint32_t ahead;
  int32_t past; /* 32 minus the bits not yet in `word`, with stuffing */
  uint32_t word, word_bits;
  uint32_t large;   /* highest bit: the last byte in `word` is larger than 8F */
  uint32_t bits[3]; /* next bit: bit 2 of the first one */
  uint32_t count;   /* of bits, and 2 */

  __device__ void start(const uint8_t *suffix, uint32_t length, uint32_t place)
  {
    /* The last byte and the lower half of the one before hold Scup. */
    uint32_t nibble = __ldg(suffix + length - 2) >> 4, skip = (nibble & 7) == 7;
    bits[0] = (nibble & (15u >> skip)) << 2;
    bits[1] = bits[2] = 0;
    count = 2 + 4 - skip;
    uint32_t misaligned = (uint32_t)(reinterpret_cast<uintptr_t>(suffix) & (kChunk - 1));
    chunks = suffix - misaligned;
    asm volatile("" : "+l"(chunks)); /* keeps it in registers; else it is recomputed */
    ring = place;
    /* Bytes of the first word that are behind the segment or already read become zeros; but the one
     * next to the unread bytes becomes FF if the nibble's byte was above 8F, for prepare(). */
    int32_t end = (int32_t)(misaligned + length) - 2, used = -end & 3;
    at = (end + used) / 4 - 1;
    fill_ring((uint32_t)end + 2);
    past = 32 - 8 * ((int32_t)length - 2 + used);
    ahead = load() & 0xFFFFFFFFu >> 8 * used;
    large = used == 0 && nibble > 8 ? 0x80000000u : 0;
    if (used && nibble > 8)
      ahead |= 0xFFu << (32 - 8 * used);
    unstuff(prepare(true));
    word >>= 8 * used;
    word_bits -= 8 * used;
    supply();
  }

  /* Fills the ring from its highest chunk on; end: of the segment. */
  __device__ void fill_ring(uint32_t end)
  {
    int32_t first = (int32_t)(end - 1) & ~(int32_t)(kChunk - 1);
    for (int32_t i = 0; i < (int32_t)kRing && first >= i; i += kChunk)
      copy_chunk(ring ^ ((uint32_t)(first - i) & (kRing - kChunk)), chunks + first - i,
                 i ? kChunk : end - (uint32_t)first);
    fetched = (first - (int32_t)(kRing - kChunk)) / 4;
    end_copies<0>();
  }

  /* Begins to fetch 16 bytes, if there is room for them. What was fetched kAhead calls before has
   * arrived. */
  __device__ __forceinline__ void fetch()
  {
    if (fetched > 0 && at < fetched + (int32_t)(kRing - kChunk) / 4) {
      fetched -= kChunk / 4;
      copy_chunk(ring ^ ((uint32_t)(4 * fetched) & (kRing - kChunk)), chunks + 4 * fetched, kChunk);
    }
    end_copies<kAhead>();
  }

  __device__ __forceinline__ uint32_t load() const
  {
    return load_shared(ring ^ ((uint32_t)(4 * at) & (kRing - 4)));
  }

  /* If `needed`, puts the next four bytes into `word`, and returns which bits of it are stuffed:
   * after a byte above 8F, a byte whose low seven bits are ones holds seven bits. */
  __device__ __forceinline__ uint32_t prepare(bool needed)
  {
    uint32_t w = __byte_perm(ahead, 0, 0x0123);
    w &= __funnelshift_rc(0xFFFFFFFFu, 0, (uint32_t)max(past, 0));
    uint32_t sevens = w & 0x7F7F7F7Fu, larges = (sevens + 0x70707070u) & w;
    uint32_t stuffed = (sevens + 0x01010101u) & 0x80808080u & __funnelshift_l(large, larges, 8);
    if (needed) {
      word = w;
      word_bits = 32;
      large = larges;
      past += 32;
      at -= 1;
      ahead = load();
    }
    return needed ? stuffed : 0;
  }

  /* Removes the stuffed bits from `word`. */
  __device__ __forceinline__ void unstuff(uint32_t stuffed)
  {
    word_bits -= __popc(stuffed);
    word = drop_bits(word, stuffed);
  }

  /* Appends `word` if `needed`, for which `count` must be 32 to 64. */
  __device__ __forceinline__ void append(bool needed)
  {
    uint32_t w = needed ? word : 0;
    bits[1] |= __funnelshift_lc(0, w, count - 32);
    bits[2] |= __funnelshift_lc(w, 0, count - 32);
    count += needed ? word_bits : 0;
  }

  /* Refills `bits`, whatever there is, so that a pair has enough. */
  __device__ void supply()
  {
    while (count < kLeast) {
      if (count < 32) {
        bits[0] |= word << count;
        bits[1] |= __funnelshift_lc(word, 0, count);
        count += word_bits;
      } else {
        append(true);
      }
      unstuff(prepare(true));
    }
  }

  /* n < 32 */
  __device__ __forceinline__ void skip(uint32_t n)
  {
    bits[0] = __funnelshift_r(bits[0], bits[1], n);
    bits[1] = __funnelshift_r(bits[1], bits[2], n);
    bits[2] >>= n;
    count -= n;
  }

  /* Were all bits that were used in the segment? Zeros from past the end that are no longer in
   * `word` must still be unused in `bits`. */
  __device__ bool complete() const
  {
    return max(past - 64, 0) + 2 <= (int32_t)count;
  }
};
