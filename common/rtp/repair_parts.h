/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the tile-parts in the payloads of a codestream that have arrived. All codestream bytes that
 * arrived are copied to `flat`, one after the other; where bytes are missing, a new run begins.
 */
#ifndef CJ2K_RTP_REPAIR_PARTS_H
#define CJ2K_RTP_REPAIR_PARTS_H

#include "common/codestream/header.h"
#include "repair.h"

/* Consecutive bytes of packets without a gap. A slice begins after a gap, after a tile-part header,
 * or directly continues the slice before it. */
typedef struct {
  uint64_t begin, end; /* in flat */
  uint32_t tile;
  bool after_gap;
  bool begins_tile; /* begins directly after the header of the tile's first tile-part */
  bool ends_tile;   /* ends directly before the header of another tile's tile-part, or EOC */
  uint32_t lost; /* after_gap: number of payloads missing in front of it; UINT32_MAX: not known */
} Cj2kRtpSlice;

/* A resync point (RFC 9828, ORDB). */
typedef struct {
  uint64_t at;       /* in flat */
  uint32_t precinct; /* PID */
} Cj2kRtpMark;

typedef struct {
  GByteArray *flat;
  GArray *runs;     /* uint64_t: offsets in flat where runs begin, then the size of flat */
  GArray *gaps;     /* uint32_t: for each run, Cj2kRtpSlice.lost */
  uint32_t largest; /* size of the largest payload */
  GArray *marks;    /* Cj2kRtpMark, in rising order */
  GArray *slices;   /* Cj2kRtpSlice, sorted by tile, then by offset */
  GArray *origins;  /* uint64_t: offset in flat of each arrived payload, then the size of flat */
  uint64_t headers; /* size of the headers in flat, up to and including the first SOD */
  uint64_t main;    /* size of the main header, which is the beginning of them */
  /* For each tile: the header of its first tile-part, from after SOT up to and including SOD; size
   * 0: it has not arrived. */
  Cj2kSpan *tile_headers;
  uint32_t num_tiles;
  bool unsupported; /* later tile-parts of a tile change its coding */
  bool in_turn;     /* the tile-parts that arrived are the only ones of their tiles, which come in
                       rising order */
} Cj2kRtpParts;

void cj2k_rtp_parts_init(Cj2kRtpParts *parts);
void cj2k_rtp_parts_clear(Cj2kRtpParts *parts);

/* Takes EOC, and padding behind it, from the last slice. */
void cj2k_rtp_parts_trim(Cj2kRtpParts *parts);
/* Copies the payloads to `flat`, behind `kept` if the headers did not arrive whole, and finds the
 * tile-parts. false: there are no usable headers, or `unsupported` is set. */
bool cj2k_rtp_parts_find(Cj2kRtpParts *parts, const Cj2kRtpArrived *arrived, uint32_t count,
                         const GByteArray *kept);

#endif
