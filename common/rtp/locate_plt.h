/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lengths of packets from PLT marker segments (T.800 A.7.3), tile by tile, and the array that
 * collects packets. */
#ifndef CJ2K_RTP_LOCATE_PLT_H
#define CJ2K_RTP_LOCATE_PLT_H

#include "locate.h"

typedef struct {
  Cj2kRtpUnit *units;
  uint32_t count, capacity;
} Cj2kRtpUnits;

void cj2k_rtp_units_add(Cj2kRtpUnits *units, const Cj2kRtpUnit *unit);
void cj2k_rtp_units_clear(Cj2kRtpUnits *units);

/* A walk over the packets of one tile after the other. */
typedef struct {
  const uint8_t *data;
  const Cj2kTileParts *parts;
  uint32_t tile;
  uint32_t part;               /* of the tile, in the order of the codestream */
  uint64_t header, header_end; /* rest of the part's header, from the next marker on */
  const uint8_t *at, *end;     /* rest of the PLT marker segment */
  uint64_t offset, data_end;   /* rest of the part's data */
} Cj2kRtpLengths;

/* false: no tile-part has PLT. */
bool cj2k_rtp_lengths_begin(Cj2kRtpLengths *lengths, const uint8_t *data,
                            const Cj2kTileParts *parts);
void cj2k_rtp_lengths_tile(Cj2kRtpLengths *lengths, uint32_t tile);
/* false: lengths are missing or wrong. */
bool cj2k_rtp_lengths_next(Cj2kRtpLengths *lengths, uint64_t *offset, uint64_t *size);
/* After the tile's last packet: did the lengths cover all of its bytes? */
bool cj2k_rtp_lengths_done(Cj2kRtpLengths *lengths);

#endif
