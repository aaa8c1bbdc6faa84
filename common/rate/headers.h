/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes of packet headers, estimated. All but the tag trees follows from what a code-block keeps
 * (T.800 B.10); the layout of the codestream says the truth.
 */
#ifndef CJ2K_RATE_HEADERS_H
#define CJ2K_RATE_HEADERS_H

#include <stdint.h>

/* Bits for a block of `length` bytes, which are one codeword segment of `passes` passes, without
 * those of tag trees; 0 without passes. */
uint32_t cj2k_header_block_bits(uint32_t passes, uint32_t length);

typedef struct {
  uint64_t least;    /* a lower bound, by the blocks alone */
  uint64_t expected; /* what they are likely to take, with markers and empty packets */
} Cj2kHeaderEstimate;

/*
 * What headers take with `passes[b]` passes in `lengths[b]` bytes of each stride-th block; the
 * others take as much as those. HT blocks, and MQ blocks whose passes are not known, have one pass:
 * `passes` is NULL. `empty`: bytes of a codestream without any block.
 */
Cj2kHeaderEstimate cj2k_headers_estimate(uint64_t empty, const uint8_t *passes,
                                         const uint32_t *lengths, uint32_t num_blocks,
                                         uint32_t stride);

#endif
