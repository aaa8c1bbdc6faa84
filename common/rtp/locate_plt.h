/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the lengths of packets from PLT marker segments (T.800 A.7.3), tile by tile. Also the array
 * in which the locator collects packets. */
#ifndef CJ2K_RTP_LOCATE_PLT_H
#define CJ2K_RTP_LOCATE_PLT_H

#include "locate.h"

typedef struct {
  Cj2kRtpUnit *units;
  uint32_t count, capacity;
} Cj2kRtpUnits;

void cj2k_rtp_units_add(Cj2kRtpUnits *units, const Cj2kRtpUnit *unit);
/* Notes which units, from this one on, begin with SOP. `data` is the codestream. */
void cj2k_rtp_note_sop(Cj2kRtpUnits *units, uint32_t from, const uint8_t *data);
void cj2k_rtp_units_clear(Cj2kRtpUnits *units);

/* The state of reading: the current tile, and what is left of its current tile-part. */
typedef struct {
  const uint8_t *data;
  const Cj2kTileParts *parts;
  uint32_t tile;
  uint32_t part;               /* index in `parts`; UINT32_MAX: before the tile's first */
  uint64_t header, header_end; /* rest of the tile-part's header, from the next marker on */
  const uint8_t *at, *end;     /* rest of the PLT marker segment */
  uint64_t offset, data_end;   /* rest of the tile-part's data */
} Cj2kRtpLengths;

/* Begins to read the PLT of a codestream. false: no tile-part has one. */
bool cj2k_rtp_lengths_begin(Cj2kRtpLengths *lengths, const uint8_t *data,
                            const Cj2kTileParts *parts);
/* Enters a tile. */
void cj2k_rtp_lengths_tile(Cj2kRtpLengths *lengths, uint32_t tile);
/* The position of the tile's next packet. false: its length is missing or wrong. */
bool cj2k_rtp_lengths_next(Cj2kRtpLengths *lengths, uint64_t *offset, uint64_t *size);
/* After the tile's last packet: whether the lengths have covered all bytes of the tile. */
bool cj2k_rtp_lengths_done(Cj2kRtpLengths *lengths);

#endif
