/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the packets of a codestream whose bytes come in parts, each as soon as all its bytes are
 * there. A reader reads the packets of one tile of an intact codestream. Where anything is missing,
 * damaged or unusual, it says so, and the whole codestream has to be read by cj2k_packets_read once
 * all its bytes are there: only then is it known what has to be concealed.
 */
#ifndef CJ2K_CODESTREAM_PACKETS_PARTS_H
#define CJ2K_CODESTREAM_PACKETS_PARTS_H

#include "coded.h"

typedef enum {
  CJ2K_PARTS_MORE,  /* bytes are missing */
  CJ2K_PARTS_DONE,  /* the headers are complete, or all packets were read */
  CJ2K_PARTS_WHOLE, /* this codestream has to be read as a whole */
} Cj2kPartsState;

/* How far the main header and the header of the first tile-part have come. Set it to all zeros
 * first. */
typedef struct {
  uint64_t at;  /* the next marker; when the headers are complete, the byte behind SOD */
  uint64_t sot; /* the first SOT, 0: not found yet */
} Cj2kPartsHeader;

/* Goes on in data[0..size), which begins with the bytes that it had before. */
Cj2kPartsState cj2k_parts_header_scan(Cj2kPartsHeader *header, const uint8_t *data, size_t size);
/* The same for the header of a later tile-part, whose SOT is at header->sot; `at` is 0 at first.
 * WHOLE: there is no tile-part, or its header has marker segments that change how packets are read.
 */
Cj2kPartsState cj2k_parts_header_next(Cj2kPartsHeader *header, const uint8_t *data, size_t size);

typedef struct Cj2kPartsReader Cj2kPartsReader;
Cj2kPartsReader *cj2k_parts_reader_new(void);
void cj2k_parts_reader_free(Cj2kPartsReader *reader);

/* Called for each packet that was read, with its place, which begins with that of SOP if there is
 * one. */
typedef void (*Cj2kPartsObserver)(void *user, const Cj2kPacketId *packet, uint64_t offset,
                                  uint64_t size);
/* With an observer the reader only finds packets: it has no frame, and stays at the end of each
 * tile-part until the caller enters the next one. */
void cj2k_parts_reader_observe(Cj2kPartsReader *reader, Cj2kPartsObserver observer, void *user);

/* Begins the tile whose first tile-part has this header. `plan` must stay valid until the tile
 * ends. max_layers and max_memory are those of cj2k_packets_read. WHOLE: it is not the first
 * tile-part of the tile, or needs too much memory. */
Cj2kPartsState cj2k_parts_reader_begin(Cj2kPartsReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                       const Cj2kPartsHeader *header, const uint8_t *data,
                                       uint16_t max_layers, uint64_t max_memory);
/* Goes on in the tile-part with this header, which has to be the next one of the tile. */
Cj2kPartsState cj2k_parts_reader_enter(Cj2kPartsReader *reader, const uint8_t *data,
                                       const Cj2kPartsHeader *header);
/* Where the tile-part ends that is being read; UINT64_MAX: with the codestream (Psot = 0).
 * *used_up: all its packets have been read. */
uint64_t cj2k_parts_reader_part_end(const Cj2kPartsReader *reader, bool *used_up);
/* The packet that is read next; NULL: not known yet, or all have been read. */
const Cj2kPacketId *cj2k_parts_reader_next(const Cj2kPartsReader *reader);
/* Reads all packets that are complete in data[0..size). *precincts lists one packet of each
 * precinct whose last packet was read and which was not taken yet, *count of them; it is valid
 * until the next call. */
Cj2kPartsState cj2k_parts_reader_read(Cj2kPartsReader *reader, const uint8_t *data, size_t size,
                                      const Cj2kPacketId **precincts, uint32_t *count);
/* The same when no more bytes will come. DONE: the codestream is intact, and reading it as a whole
 * gives the same; else WHOLE. */
Cj2kPartsState cj2k_parts_reader_end(Cj2kPartsReader *reader, const uint8_t *data, size_t size,
                                     const Cj2kPacketId **precincts, uint32_t *count);
/* Takes the precincts that were listed: their code-blocks are in cj2k_parts_reader_frame until the
 * next call of read or end, which does not list them again. */
void cj2k_parts_reader_take(Cj2kPartsReader *reader);
const Cj2kCodedFrame *cj2k_parts_reader_frame(const Cj2kPartsReader *reader);

#endif
