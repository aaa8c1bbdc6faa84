/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scan: the first pass over a codestream. It goes through the main header and the tile-part
 * headers, finds the tile-parts and collects the marker segments that a decoder needs, without
 * interpreting them.
 */
#ifndef CJ2K_CODESTREAM_SCAN_H
#define CJ2K_CODESTREAM_SCAN_H

#include "markers.h"

/* A PPM or PPT marker segment. */
typedef struct {
  Cj2kMarkerSegment segment; /* without the index byte */
  uint32_t part;             /* PPT: the tile-part it stands in, in codestream order; PPM: 0 */
  uint8_t index;             /* Zppm, Zppt */
} Cj2kPackedSegment;

/* Set it to all zeros first. It is kept from frame to frame, so that scanning allocates nothing in
 * steady state. */
typedef struct {
  const uint8_t *data;
  size_t size;
  uint64_t scanned; /* bytes of marker segments in tile-part headers, each time they were read */
  uint32_t num_tiles;
  uint32_t num_components;

  Cj2kMarkerSegment *segments; /* of kind SHAPES, main header's first */
  uint32_t num_segments, segments_capacity;
  uint32_t num_main_segments;
  Cj2kPackedSegment *packed;
  uint32_t num_packed, packed_capacity;

  /* The bytes of all `segments`, each with its tile: if they are unchanged, so is the Header. */
  uint8_t *signature;
  size_t signature_size, signature_capacity, main_signature_size;
} Cj2kScan;

void cj2k_scan_clear(Cj2kScan *scan);

/* Scans the main header (A.3) and sets *position to the first SOT, or to the point where the data
 * ends or becomes unreadable. Checks the fixed part of SIZ, so that num_tiles and num_components
 * are known and valid. */
Cj2kStatus cj2k_scan_main_header(Cj2kScan *scan, const uint8_t *data, size_t size,
                                 uint64_t *position, Cj2kError *error);

/* Scans the tile-parts from `position` on (A.4). Without `strict`, readable tile-parts are kept,
 * and tile_parts->truncated says that others are missing. */
Cj2kStatus cj2k_scan_tile_parts(Cj2kScan *scan, uint64_t position, bool strict,
                                Cj2kTileParts *tile_parts, Cj2kError *error);

/* Collects the packed packet headers of PPM and PPT (A.7.4, A.7.5) for each tile. */
Cj2kStatus cj2k_gather_packed_headers(Cj2kScan *scan, bool strict, Cj2kTileParts *tile_parts,
                                      Cj2kError *error);

#endif
