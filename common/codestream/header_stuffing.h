/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bit stuffing of packet headers (T.800 B.10.1) in chunks that are done at the same time. After a
 * byte 0xFF the next byte begins with a bit 0, so that it holds only seven bits of the header.
 *
 * A chunk of the header's bits makes the bytes that begin in it; the last one may take bits of the
 * next chunk. All that a chunk needs to know of those before it is a state: where its first byte
 * begins, and whether that is a short one, of seven bits. There are 16 states, and a table of the
 * states behind a chunk, by the one before it, is a word of 16 times four bits. Tables are made
 * without knowledge of other chunks, and joining them is associative, so that a scan over them
 * finds the state of every chunk. Bytes are then counted and written in any order.
 *
 * A header is an array of words of 32 bits, the first bit highest. Bits behind the last one are
 * zero, and there is at least one word behind that of the last bit.
 */
#ifndef CJ2K_CODESTREAM_HEADER_STUFFING_H
#define CJ2K_CODESTREAM_HEADER_STUFFING_H

#include "header_bits.h"

#define CJ2K_STUFF_CHUNK  32u /* bits of a chunk; the last one of a header may have fewer */
#define CJ2K_STUFF_STATES 16u

/* A state: bits 0..2 are the number of bits from the start of the chunk to that of its first byte.
 */
#define CJ2K_STUFF_OFFSET 7u
#define CJ2K_STUFF_SHORT  8u /* the byte follows 0xFF */
#define CJ2K_STUFF_BEGIN  0u /* of a header's first chunk */

/* The table of an empty chunk. */
#define CJ2K_STUFF_SAME UINT64_C(0xfedcba9876543210)
/* The table of a whole chunk in which no eight ones begin: a short byte moves the next ones by one
 * bit. */
#define CJ2K_STUFF_PLAIN UINT64_C(0x6543210776543210)

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

/* The states behind a chunk, by the one before it. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_table(uint64_t window, uint32_t size)
{
  uint64_t table = 0;

  if (size == CJ2K_STUFF_CHUNK && !(cj2k_stuff_ones(window) >> 32))
    return CJ2K_STUFF_PLAIN;
  for (uint32_t state = 0; state < CJ2K_STUFF_STATES; state++)
    table |= (uint64_t)cj2k_stuff_pass(window, size, state) << 4 * state;
  return table;
}

/* The state behind what the table is of. */
CJ2K_HEADER_RULE uint32_t cj2k_stuff_apply(uint64_t table, uint32_t state)
{
  return (uint32_t)(table >> 4 * state) & 15u;
}

/* The table of both. */
CJ2K_HEADER_RULE uint64_t cj2k_stuff_join(uint64_t first, uint64_t second)
{
  uint64_t table = 0;

  for (uint32_t state = 0; state < CJ2K_STUFF_STATES; state++)
    table |= (uint64_t)cj2k_stuff_apply(second, cj2k_stuff_apply(first, state)) << 4 * state;
  return table;
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
