/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a codestream (T.800 Annex A): main header, tile-parts, packets in progression order, EOC.
 *
 * Writing takes two steps. layout() writes all headers and finds the exact size, so that rate
 * control knows what a selection costs; write() then fills memory that the caller provides.
 */
#ifndef CJ2K_CODESTREAM_WRITE_CODESTREAM_H
#define CJ2K_CODESTREAM_WRITE_CODESTREAM_H

#include "write_packets.h"

typedef struct {
  const char *comment; /* COM of the main header, NULL: none; copied */
  uint8_t tile_parts; /* CJ2K_TILE_PARTS_*: what begins a new tile-part; a POC volume always does */
  bool tlm, plt;
} Cj2kWriteOptions;

typedef struct Cj2kCodestreamWriter Cj2kCodestreamWriter;

/* The order of packets and tile-parts follows from the plan alone. CJ2K_ERROR_ARGUMENT when a tile
 * would have more than 255 tile-parts. */
Cj2kStatus cj2k_codestream_writer_new(Cj2kPlan *plan, const Cj2kWriteOptions *options,
                                      Cj2kCodestreamWriter **writer, Cj2kError *error);
void cj2k_codestream_writer_free(Cj2kCodestreamWriter *writer);

typedef struct {
  uint64_t total; /* bytes of the whole codestream */
  /* Per component, num_resolutions entries each: bytes of its packets of resolution r, with SOP and
   * EPH, and of the tile-part headers that these packets follow. Valid until the next layout. */
  const uint64_t *components;
  uint32_t num_resolutions;
} Cj2kCodestreamSize;

/* `quantisation` has an entry for each component and replaces that of the plan's header. Returns
 * CJ2K_ERROR_LIMIT if a tile-part would have 4 GiB or more. */
Cj2kStatus cj2k_codestream_layout(Cj2kCodestreamWriter *writer,
                                  const Cj2kQuantisation *quantisation,
                                  const Cj2kPacketSource *source, Cj2kThreads *threads,
                                  Cj2kCodestreamSize *size, Cj2kError *error);

/* Writes the codestream of the last layout(), size.total bytes. `source` must be the same. */
void cj2k_codestream_write(Cj2kCodestreamWriter *writer, const Cj2kPacketSource *source,
                           Cj2kThreads *threads, uint8_t *out);

#endif
