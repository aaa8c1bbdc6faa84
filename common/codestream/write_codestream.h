/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a codestream (T.800 Annex A): main header, tile-parts, packets in progression order, EOC.
 *
 * Writing takes two steps. layout() writes all headers and finds the exact size, so that rate
 * control knows what a selection costs; write() then fills memory that the caller provides.
 */
#ifndef CJ2K_CODESTREAM_WRITE_CODESTREAM_H
#define CJ2K_CODESTREAM_WRITE_CODESTREAM_H

#include "bitwriter.h"
#include "write_packets.h"

#include <glib.h>

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

/* Bytes of the main header without TLM. Components whose quantisation differs from the first one's
 * have a QCC. Not between a layout and the call that writes it. */
uint64_t cj2k_codestream_main_header_size(Cj2kCodestreamWriter *writer,
                                          const Cj2kQuantisation *quantisation);
/* `quantisation` has an entry for each component and replaces that of the plan's header. Returns
 * CJ2K_ERROR_LIMIT if a tile-part would have 4 GiB or more. */
Cj2kStatus cj2k_codestream_layout(Cj2kCodestreamWriter *writer,
                                  const Cj2kQuantisation *quantisation,
                                  const Cj2kPacketSource *source, Cj2kThreads *threads,
                                  Cj2kCodestreamSize *size, Cj2kError *error);

/*
 * Where packets go can be found by whoever has the blocks and makes the packet headers of the only
 * layer: they follow each other as list_steps() says. The host then gets their sizes, lays out
 * the same with layout_sizes(), and writes with write_headers() what is outside of both.
 *
 * list_steps(): the steps are valid until the next layout or list. false: not can_list().
 */
/* Is there one layer, and does one PLT marker segment, if any, take the lengths of a tile-part? */
bool cj2k_codestream_can_list(const Cj2kCodestreamWriter *writer);
/* Bytes of SOP and EPH of a packet. */
uint32_t cj2k_codestream_packet_markers(const Cj2kCodestreamWriter *writer);
bool cj2k_codestream_list_steps(Cj2kCodestreamWriter *writer, const Cj2kQuantisation *quantisation,
                                Cj2kPacketSteps *steps);
/* `sizes`: by precinct. *as_listed: no tile-part has a comment, or lacks PLT, to keep 0xFFD9 out of
 * lengths, so that packets are where list_steps() has said. */
Cj2kStatus cj2k_codestream_layout_sizes(Cj2kCodestreamWriter *writer,
                                        const Cj2kQuantisation *quantisation,
                                        const Cj2kPacketSize *sizes, Cj2kCodestreamSize *size,
                                        bool *as_listed, Cj2kError *error);

/* Writes the codestream of the last layout(), size.total bytes. `source` must be the same. */
void cj2k_codestream_write(Cj2kCodestreamWriter *writer, const Cj2kPacketSource *source,
                           Cj2kThreads *threads, uint8_t *out);

/* The same in two steps, for bytes that are not in the host's memory. Lists the runs of bytes of
 * the blocks, which whoever has them copies to `out`; valid until the next call. */
const GArray *cj2k_codestream_list_runs(Cj2kCodestreamWriter *writer,
                                        const Cj2kPacketSource *source); /* Cj2kByteRun */
/* Writes all that is in none of the runs. */
void cj2k_codestream_write_headers(Cj2kCodestreamWriter *writer, uint8_t *out);
/* Writes all that is in one of them, from source->bytes. */
void cj2k_codestream_write_bodies(Cj2kCodestreamWriter *writer, const Cj2kPacketSource *source,
                                  Cj2kThreads *threads, uint8_t *out);

/*
 * A codestream of one tile, one tile-part and one layer in slices: runs of packets whose precincts
 * begin at the same row, in codestream order. Only with an order in which rows change slowest
 * (PCRL) are there many. TLM and PLT would have to be known beforehand; Psot is 0.
 */
uint32_t cj2k_codestream_num_slices(Cj2kCodestreamWriter *writer);
/* The first row of a slice on the reference grid; of the one behind the last: the image's end. */
uint32_t cj2k_codestream_slice_row(const Cj2kCodestreamWriter *writer, uint32_t slice);
/* Precincts of a slice, valid until the next call for a slice. */
const uint32_t *cj2k_codestream_slice_precincts(Cj2kCodestreamWriter *writer, uint32_t slice,
                                                uint32_t *count);
/* Rows of the picture, counted on the reference grid from its top, on which the code-blocks of a
 * slice depend; of the last slice all rows. */
uint32_t cj2k_codestream_slice_needs(Cj2kCodestreamWriter *writer, uint32_t slice);
/* Lists the code-blocks of slices [first, end) (uint32_t). */
void cj2k_codestream_slice_blocks(Cj2kCodestreamWriter *writer, uint32_t first, uint32_t end,
                                  GArray *blocks);
/* Bytes of a slice all of whose packets are empty. */
uint64_t cj2k_codestream_slice_least(const Cj2kCodestreamWriter *writer, uint32_t slice);
/* Appends what comes before the first slice. */
void cj2k_codestream_begin_slices(Cj2kCodestreamWriter *writer,
                                  const Cj2kQuantisation *quantisation, Cj2kByteBuffer *out);
/* Lays out one slice, of whose code-blocks alone `source` must be valid. Returns its bytes; those
 * of the last one include EOC. */
uint64_t cj2k_codestream_layout_slice(Cj2kCodestreamWriter *writer, uint32_t slice,
                                      const Cj2kPacketSource *source, Cj2kThreads *threads);
/* Writes the slice that was laid out last. */
void cj2k_codestream_write_slice(Cj2kCodestreamWriter *writer, uint32_t slice,
                                 const Cj2kPacketSource *source, Cj2kThreads *threads,
                                 uint8_t *out);

#endif
