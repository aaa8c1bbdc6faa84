/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the lengths of packets from PLT marker segments (T.800 A.7.3), tile by tile. */
#ifndef CJ2K_CODESTREAM_PACKET_LENGTHS_H
#define CJ2K_CODESTREAM_PACKET_LENGTHS_H

#include "header.h"

/* The state of reading: the current tile, and what is left of its current tile-part. */
typedef struct {
  const uint8_t *data;
  const Cj2kTileParts *parts;
  uint32_t next;               /* tile-part of the tile to enter next; UINT32_MAX: none */
  const uint32_t *next_part;   /* by tile-part: the tile's next one; UINT32_MAX: none */
  uint32_t part;               /* that was entered: index in `parts` */
  uint64_t header, header_end; /* rest of the tile-part's header, from the next marker on */
  const uint8_t *at, *end;     /* rest of the PLT marker segment */
  uint64_t offset, data_end;   /* rest of the tile-part's data */
} Cj2kPacketLengths;

/* Begins to read the PLT of a codestream. false: no tile-part has one. */
bool cj2k_packet_lengths_begin(Cj2kPacketLengths *lengths, const uint8_t *data,
                               const Cj2kTileParts *parts);
/* Enters a tile: its first tile-part, and by tile-part the next one (tile_part_lists.h). */
void cj2k_packet_lengths_tile(Cj2kPacketLengths *lengths, uint32_t first,
                              const uint32_t *next_part);
/* The position of the tile's next packet. false: its length is missing or wrong. */
bool cj2k_packet_lengths_next(Cj2kPacketLengths *lengths, uint64_t *offset, uint64_t *size);
/* After the tile's last packet: whether the lengths have covered all bytes of the tile. */
bool cj2k_packet_lengths_done(Cj2kPacketLengths *lengths);

#endif
