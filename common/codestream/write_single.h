/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packet headers of codestreams with a single layer. It is known when a tag-tree node is sent
 * (T.800 B.10.2): inclusion values are 0 or "never", and zero bit-planes are sent completely with
 * their leaf. So neither tree needs a state of its reader, and both are one: a node is in the layer
 * if the least number of zero bit-planes below it is that of a block.
 */
#ifndef CJ2K_CODESTREAM_WRITE_SINGLE_H
#define CJ2K_CODESTREAM_WRITE_SINGLE_H

#include "bitwriter.h"
#include "write_packets.h"

typedef struct {
  const Cj2kPacketSource *source; /* with one layer */
  uint8_t *nodes;                 /* workspace: of all tag trees of the plan */
  uint64_t *starts;               /* by block, output: where it begins in the body of its band */
} Cj2kSingleLayer;

/* Writes what a band with code-blocks of this style has in the packet's header, and the size of its
 * body. false: no block is in the layer, and nothing is written. */
bool cj2k_single_write(const Cj2kSingleLayer *single, const Cj2kPlanPrecinctBand *band,
                       uint8_t style, Cj2kPlainBits *bits, uint64_t *body_size);

#endif
