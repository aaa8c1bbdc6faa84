/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bit stuffing of packet headers (T.800 B.10.1) in chunks that are done at the same time. After a
 * byte 0xFF the next byte begins with a bit 0, so that it holds only seven bits of the header.
 *
 * A chunk of the header's bits makes the bytes that begin in it; the last one may take bits of the
 * next chunk. All that a chunk needs to know of those before it is a state: where its first byte
 * begins, and whether that is a short one, of seven bits. There are 16 states, and a table of the
 * states behind a chunk, by the one before it, is a word of 16 times four bits, that of state 0
 * highest. Tables are made without knowledge of other chunks, and joining them is associative, so
 * that a scan over them finds the state before every chunk. Bytes are then counted and written in
 * any order.
 *
 * A header is an array of words of 32 bits, the first bit highest. Bits behind the last one are
 * zero, and there is at least one word behind that of the last bit.
 */
#ifndef CJ2K_CODESTREAM_HEADER_STUFFING_H
#define CJ2K_CODESTREAM_HEADER_STUFFING_H

#include "header_bits.h"

/* An estimate: bits of a header for each one that is stuffed in, which is one for 256 bytes. */
#define CJ2K_STUFF_SELDOM 2048

#define CJ2K_STUFF_CHUNK  32u /* bits of a chunk; the last one of a header may have fewer */
#define CJ2K_STUFF_STATES 16u

/* A state: bits 0..2 are the number of bits from the start of the chunk to that of its first byte.
 */
#define CJ2K_STUFF_OFFSET 7u
#define CJ2K_STUFF_SHORT  8u /* the byte follows 0xFF */
#define CJ2K_STUFF_BEGIN  0u /* of a header's first chunk */

/* The table of no chunks. */
#define CJ2K_STUFF_SAME UINT64_C(0x0123456789abcdef)

/* A chunk's bits and those that follow it, as far as its bytes reach. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_window(const uint32_t *words, uint32_t chunk)
{
  return (uint64_t)words[chunk] << 32 | words[chunk + 1];
}

/* The number of bits of a chunk of a header of num_bits bits. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_size(uint32_t num_bits, uint32_t chunk)
{
  uint32_t left = num_bits - chunk * CJ2K_STUFF_CHUNK;

  return left < CJ2K_STUFF_CHUNK ? left : CJ2K_STUFF_CHUNK;
}

/* Chunks of a header of num_bits bits. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_chunks(uint32_t num_bits)
{
  return (num_bits + CJ2K_STUFF_CHUNK - 1) / CJ2K_STUFF_CHUNK;
}

/* Returns the byte that begins at bit *at of the window, and moves *at behind it. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_byte(uint64_t window, uint32_t *at, uint32_t *is_short)
{
  uint32_t bits = 8 - *is_short, byte = (uint32_t)(window << *at >> (64 - bits));

  *at += bits;
  *is_short = byte == 0xff;
  return byte;
}

/* The state behind a chunk. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_pass(uint64_t window, uint32_t size, uint32_t state)
{
  uint32_t at = state & CJ2K_STUFF_OFFSET, is_short = state >> 3;

  while (at < size)
    (void)cj2k_stuff_byte(window, &at, &is_short);
  return (at - size) | is_short << 3;
}

/* Bit p of the window, counted from the highest one, says whether eight ones begin there. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_ones(uint64_t window)
{
  window &= window << 1;
  window &= window << 2;
  return window & window << 4;
}

/* Each of eight bits four times. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_spread(uint32_t bits)
{
  bits = (bits | bits << 12) & 0x000f000f;
  bits = (bits | bits << 6) & 0x03030303;
  bits = (bits | bits << 3) & 0x11111111;
  return bits * 15;
}

/* Eight fields of four bits from the last one of `first` on, which `second` follows. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_last(uint32_t first, uint32_t second)
{
  return first << 28 | second >> 4;
}

/* The states behind a whole chunk, by the one before it. Of the last chunk of a header, which may
 * have fewer bits, no table is needed. What follows a byte of eight bits that begins at bit p is a
 * byte at p + 8, or if it is 0xFF, a short byte there and a byte at p + 15. Fields are the states
 * behind the chunk for bytes at eight bits p, from the last ones back. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_table(uint64_t window)
{
  uint32_t ones = (uint32_t)(cj2k_stuff_ones(window) >> 32), mask;
  uint32_t behind = 0x01234567; /* bytes at bits 32 to 39 */
  uint32_t next = behind | (cj2k_stuff_spread(ones & 0xff) & 0x88888888), fields;

  for (uint32_t shift = 8; shift < 32; shift += 8) {
    mask = cj2k_stuff_spread(ones >> shift & 0xff);
    fields = (next & ~mask) | (cj2k_stuff_last(next, behind) & mask);
    behind = next;
    next = fields;
  }
  return (uint64_t)next << 32 | cj2k_stuff_last(next, behind); /* short ones take seven bits */
}

/* The state behind what the table is of. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_apply(uint64_t table, uint32_t state)
{
  return (uint32_t)(table >> 4 * (15 - state)) & 15u;
}

/* The same for a chunk, the last one of a header, too. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_behind(uint64_t table, uint64_t window, uint32_t size,
                                            uint32_t state)
{
  return size == CJ2K_STUFF_CHUNK ? cj2k_stuff_apply(table, state)
                                  : cj2k_stuff_pass(window, size, state);
}

#ifdef __CUDA_ARCH__
/* Four fields, in bytes. */
static __device__ inline uint32_t cj2k_stuff_widen(uint32_t fields)
{
  fields = (fields | fields << 8) & 0x00ff00ff;
  return (fields | fields << 4) & 0x0f0f0f0f;
}

/* Four fields of a table, from its 16 bytes: those of the states that `states` has the complements
 * of. */
static __device__ inline uint32_t cj2k_stuff_choose(const uint32_t bytes[4], uint32_t states)
{
  uint32_t low = __byte_perm(bytes[0], bytes[1], states & 0x7777);
  uint32_t high = __byte_perm(bytes[2], bytes[3], states & 0x7777);
  uint32_t mask = __byte_perm(0, 0xff, (states & 0x8888) >> 1);
  uint32_t chosen = (low & ~mask) | (high & mask);

  return __byte_perm(chosen | chosen >> 4, 0, 0x4420);
}
#endif

/* The table of both. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_join(uint64_t first, uint64_t second)
{
#ifdef __CUDA_ARCH__
  uint32_t low = (uint32_t)second, high = (uint32_t)(second >> 32);
  uint32_t states[2] = {~(uint32_t)first, ~(uint32_t)(first >> 32)};
  uint32_t bytes[4] = {cj2k_stuff_widen(low & 0xffff), cj2k_stuff_widen(low >> 16),
                       cj2k_stuff_widen(high & 0xffff), cj2k_stuff_widen(high >> 16)};

  low = cj2k_stuff_choose(bytes, states[0]) | cj2k_stuff_choose(bytes, states[0] >> 16) << 16;
  high = cj2k_stuff_choose(bytes, states[1]) | cj2k_stuff_choose(bytes, states[1] >> 16) << 16;
  return (uint64_t)high << 32 | low;
#else
  uint64_t table = 0;

  for (uint32_t state = 0; state < CJ2K_STUFF_STATES; state++)
    table = table << 4 | cj2k_stuff_apply(second, cj2k_stuff_apply(first, state));
  return table;
#endif
}

/* The number of bytes that begin in a chunk, from the states before and behind it: they take the
 * bits between, and one less for each short byte, of which a chunk has fewer than eight. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_count(uint32_t size, uint32_t before, uint32_t behind)
{
  return (size + (behind & CJ2K_STUFF_OFFSET) - (before & CJ2K_STUFF_OFFSET) + 7) / 8;
}

/* Writes the bytes that begin in a chunk. Returns their number. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_write(uint64_t window, uint32_t size, uint32_t state,
                                           uint8_t *out)
{
  uint32_t at = state & CJ2K_STUFF_OFFSET, is_short = state >> 3, count = 0;

  while (at < size)
    out[count++] = (uint8_t)cj2k_stuff_byte(window, &at, &is_short);
  return count;
}

/* Bytes 0 that follow the last chunk, by the state behind it: a header does not end in 0xFF. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_end(uint32_t state)
{
  return state >> 3;
}

#endif
