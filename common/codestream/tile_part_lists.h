/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_CODESTREAM_TILE_PART_LISTS_H
#define CJ2K_CODESTREAM_TILE_PART_LISTS_H

#include "header.h"

/* The tile-parts of each tile as linked lists, in codestream order. Zero: there are none. */
typedef struct {
  uint32_t *first; /* by tile: its first tile-part; UINT32_MAX: none */
  uint32_t *next;  /* by tile-part: the next one of its tile; UINT32_MAX: none */
  uint32_t *last;  /* by tile */
  uint32_t tiles_capacity, parts_capacity;
} Cj2kTilePartLists;

/* Lists the tile-parts of each tile, which come in the order of TPsot (A.4.2). If one is missing,
 * packets after it cannot be identified: the later tile-parts are left out, and the function
 * returns false. */
bool cj2k_tile_part_lists_make(Cj2kTilePartLists *lists, uint32_t num_tiles,
                               const Cj2kTileParts *tile_parts);
void cj2k_tile_part_lists_clear(Cj2kTilePartLists *lists);

#endif
