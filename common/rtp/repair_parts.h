/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tile-parts in what arrived of a codestream. All codestream bytes that arrived lie one after
 * the other in `flat`; where bytes are missing, a new run begins.
 */
#ifndef CJ2K_RTP_REPAIR_PARTS_H
#define CJ2K_RTP_REPAIR_PARTS_H

#include "common/codestream/header.h"
#include "repair.h"

/* Bytes of packets without a gap. Its first byte continues the slice before it, or is the first
 * byte after a tile-part header, or stands after a gap. */
typedef struct {
  uint64_t begin, end; /* in flat */
  uint32_t tile;
  bool after_gap;
  bool begins_tile; /* directly after the header of tile-part 0 */
} Cj2kRtpSlice;

/* A resync point. */
typedef struct {
  uint64_t at; /* in flat */
  uint32_t precinct;
} Cj2kRtpMark;

typedef struct {
  GByteArray *flat;
  GArray *runs;     /* uint64_t: where runs begin, and at last the end of flat */
  GArray *marks;    /* Cj2kRtpMark, rising */
  GArray *slices;   /* Cj2kRtpSlice, by tiles, rising in each */
  GArray *origins;  /* uint64_t: where the bytes of each arrived payload begin, and the end */
  uint64_t headers; /* bytes of flat up to and including the first SOD */
  uint64_t main;    /* of these, bytes of the main header */
  /* The header of each tile's first tile-part after SOT, up to SOD; size 0: none arrived. */
  Cj2kSpan *tile_headers;
  uint32_t num_tiles;
  bool unsupported; /* later tile-parts of a tile change its coding */
} Cj2kRtpParts;

void cj2k_rtp_parts_init(Cj2kRtpParts *parts);
void cj2k_rtp_parts_clear(Cj2kRtpParts *parts);

/* Lays out what arrived, behind `kept` if the headers did not arrive whole, and finds tile-parts.
 * false: there are no usable headers. */
bool cj2k_rtp_parts_find(Cj2kRtpParts *parts, const Cj2kRtpArrived *arrived, uint32_t count,
                         const GByteArray *kept);

#endif
