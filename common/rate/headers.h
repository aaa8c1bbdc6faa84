/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimates of the size of packet headers. All but the tag trees follows from the retained passes
 * of a code-block (T.800 B.10); the exact size is known after the layout. Pure functions.
 */
#ifndef CJ2K_RATE_HEADERS_H
#define CJ2K_RATE_HEADERS_H

#include "common/codestream/coded.h"

typedef struct {
  uint64_t least;    /* a lower bound, from the blocks alone */
  uint64_t expected; /* the expected size, with markers and empty packets */
} Cj2kHeaderEstimate;

/*
 * Estimates the headers for `passes[b]` passes in `lengths[b]` bytes of each stride-th block; the
 * others are assumed to need as much as these. `passes` is NULL for HT blocks, and for MQ blocks
 * whose passes are unknown: one pass each. `empty`: bytes of a codestream without any block.
 */
Cj2kHeaderEstimate cj2k_headers_estimate(uint64_t empty, const uint8_t *passes,
                                         const uint32_t *lengths, uint32_t num_blocks,
                                         uint32_t stride);

/* What is retained of the blocks of a plan, in one layer. */
typedef struct {
  const Cj2kPlan *plan;
  const Cj2kEncodedBlock *blocks; /* their zero bit-planes and first passes */
  const uint8_t *passes;          /* per block; 0: it is left out */
  const uint32_t *lengths;        /* per block: bytes */
  const Cj2kPassLength *ends;     /* indexed by first_pass: where codeword segments end; NULL: each
                                     block has one */
  bool plt;                       /* the length of each packet is in PLT (A.7.3) */
  uint32_t markers;               /* then: bytes of SOP and EPH of a packet */
} Cj2kHeaderSource;

/* Counts the bytes of all packet headers beyond the one byte of each empty packet, with tag trees
 * (B.10.2), and of their lengths in PLT beyond a byte each. Only the bits that are stuffed in
 * (B.10.1) are estimated, one for 256 bytes. `nodes`: workspace, a byte for each block. */
uint64_t cj2k_headers_count(const Cj2kHeaderSource *source, uint8_t *nodes);

#endif
