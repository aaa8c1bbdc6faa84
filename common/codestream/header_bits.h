/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a packet header says of the passes of a code-block that is in one layer only: their number,
 * Lblock's increment and the lengths of the codeword segments (T.800 B.10.6, B.10.7). These bits
 * depend on no other block, so that a GPU can make them, which the host then only copies.
 *
 * They are in words of 32 bits: first their number, then the bits themselves, the first one
 * highest. The last word is filled up with zeros.
 */
#ifndef CJ2K_CODESTREAM_HEADER_BITS_H
#define CJ2K_CODESTREAM_HEADER_BITS_H

#include <stdint.h>

/* The CUDA back end uses these functions on the device, too. */
#ifdef __CUDACC__
#define CJ2K_HEADER_RULE static inline __host__ __device__
#else
#define CJ2K_HEADER_RULE static inline
#endif

/* The codeword for a number of passes (table B.4), *size bits. */
CJ2K_HEADER_RULE uint32_t cj2k_passes_codeword(uint32_t passes, uint32_t *size)
{
  if (passes <= 2) {
    *size = passes;
    return 2 * (passes - 1);
  }
  if (passes <= 5) {
    *size = 4;
    return 0xc | (passes - 3);
  }
  *size = passes <= 36 ? 9 : 16;
  return passes <= 36 ? 0x1e0 | (passes - 6) : 0xff80 | (passes - 37);
}

/* Bytes of the length of a packet in a PLT marker segment (A.7.3): seven bits a byte. */
CJ2K_HEADER_RULE uint32_t cj2k_length_entry_bytes(uint64_t length)
{
  uint32_t bytes = 1;
  for (; length > 127; length >>= 7)
    bytes++;
  return bytes;
}

/* The bytes that this takes for a packet beyond the one for an empty packet. */
CJ2K_HEADER_RULE uint32_t cj2k_length_entry_more(uint64_t header, uint64_t body, uint32_t markers)
{
  return cj2k_length_entry_bytes(markers + header + body) - 1;
}

/* Words for `bits` of them, with the first word, which says how many they are. */
CJ2K_HEADER_RULE uint32_t cj2k_header_words(uint32_t bits)
{
  return 1 + (bits + 31) / 32;
}

#endif
