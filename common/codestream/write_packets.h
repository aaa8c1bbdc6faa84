/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes packets (T.800 B.9, B.10): headers with tag trees, and bodies copied from the coded
 * blocks.
 *
 * The state of packet headers is separate for each precinct and band. These are written in
 * parallel, each layer by layer, and then joined to headers. The progression only decides the order
 * of the packets.
 */
#ifndef CJ2K_CODESTREAM_WRITE_PACKETS_H
#define CJ2K_CODESTREAM_WRITE_PACKETS_H

#include "coded.h"
#include "common/runtime/threads.h"

#include <glib.h>

/* The coded blocks of a frame and the selection of rate control. */
typedef struct {
  const Cj2kEncodedBlock *blocks; /* plan->num_blocks */
  const Cj2kPassLength *passes; /* not needed with lengths, where no segment ends inside a block or
                                   with header_bits */
  /* With lengths: what packet headers say of the passes (header_bits.h), indexed by first_pass. All
   * passes are retained. NULL: it follows from `passes`. */
  const uint32_t *header_bits;
  const uint8_t *bytes;
  uint16_t num_layers;
  const uint8_t *retained; /* [layer][plan->num_blocks]: passes in layers 0..layer together */
  /* With one layer: bytes of the retained passes of each block. NULL: they follow from `passes`. */
  const uint32_t *lengths;
} Cj2kPacketSource;

/* One packet as it will be written. */
typedef struct {
  const uint8_t *header; /* without SOP and EPH */
  uint32_t header_size;
  uint64_t body_size;
} Cj2kWrittenPacket;

typedef struct Cj2kPacketWriter Cj2kPacketWriter;

/* For plans with at most num_layers layers; holds a reference to the plan. */
Cj2kPacketWriter *cj2k_packet_writer_new(Cj2kPlan *plan, uint16_t num_layers);
void cj2k_packet_writer_free(Cj2kPacketWriter *writer);

/*
 * Writes all packet headers and adds up the bodies. The result, packets[precinct * num_layers +
 * layer], belongs to the writer and is valid until the next call. Same bytes for every number of
 * threads.
 */
const Cj2kWrittenPacket *cj2k_packets_prepare(Cj2kPacketWriter *writer,
                                              const Cj2kPacketSource *source, Cj2kThreads *threads);

/* The same for the packets of `count` precincts; what the writer holds of others stays as it is. */
const Cj2kWrittenPacket *cj2k_packets_prepare_some(Cj2kPacketWriter *writer,
                                                   const Cj2kPacketSource *source,
                                                   const uint32_t *precincts, uint32_t count,
                                                   Cj2kThreads *threads);

/* Blocks of a precinct: a run of plan->blocks, in the order of a packet's body. */
uint32_t cj2k_packet_blocks(const Cj2kPacketWriter *writer, uint32_t precinct_index,
                            uint32_t *first);
/* Copies what `count` of these blocks, from `first` on, have in a layer; `body` is where the body
 * of the packet begins, which cj2k_packets_prepare has last added up. Runs of one packet may be
 * copied at the same time. */
void cj2k_packet_copy_blocks(const Cj2kPacketWriter *writer, const Cj2kPacketSource *source,
                             uint32_t first, uint32_t count, uint16_t layer, uint8_t *body);
/* Appends the runs (Cj2kByteRun) that the same blocks have in a layer; `body` is the place of the
 * body in the codestream. */
void cj2k_packet_list_runs(const Cj2kPacketWriter *writer, const Cj2kPacketSource *source,
                           uint32_t first, uint32_t count, uint16_t layer, uint64_t body,
                           GArray *runs);

#endif
