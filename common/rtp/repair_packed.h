/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packed packet headers (PPM, PPT; T.800 A.7.4, A.7.5): with them the length of every packet body
 * of a tile is known, whatever of the bodies is lost. The bodies of a tile follow one another
 * without anything in between, unless they have SOP, so that their position is known in bytes that
 * reach back to the tile's begin or forward to its end, and in bytes between two gaps if all lost
 * payloads were of the same size.
 */
#ifndef CJ2K_RTP_REPAIR_PACKED_H
#define CJ2K_RTP_REPAIR_PACKED_H

#include "common/codestream/tile_reader.h"
#include "repair_parts.h"

#define CJ2K_RTP_NO_POSITION UINT64_MAX

typedef struct {
  uint32_t header, header_size; /* in the packed headers, with EPH */
  uint64_t body;                /* position: bytes of the bodies before it */
  uint64_t body_size;
} Cj2kRtpPackedPacket;

typedef struct {
  GArray *packets;   /* Cj2kRtpPackedPacket: those of a tile whose headers could be read */
  GArray *positions; /* uint64_t: of each slice of the tile in its bodies, or NO_POSITION */
  uint64_t total;    /* bytes of all bodies; NO_POSITION: a header is broken or missing */
} Cj2kRtpPacked;

void cj2k_rtp_packed_init(Cj2kRtpPacked *packed);
void cj2k_rtp_packed_clear(Cj2kRtpPacked *packed);
/* Reads the headers of a tile's packets, Cj2kPacketId in the order of its progression. `reader` has
 * begun the tile. */
void cj2k_rtp_packed_read(Cj2kRtpPacked *packed, Cj2kTileReader *reader, const GArray *packets,
                          const uint8_t *headers, size_t size);
/* Finds out where slices[0..count) of the tile lie in its bodies. `largest`: size of the largest
 * payload. */
void cj2k_rtp_packed_place(Cj2kRtpPacked *packed, const Cj2kRtpSlice *slices, uint32_t count,
                           uint32_t largest);
/* The index of the first packet whose body begins at this position or behind it. */
uint32_t cj2k_rtp_packed_find(const Cj2kRtpPacked *packed, uint64_t position);

#endif
