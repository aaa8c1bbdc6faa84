/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A coded frame with the capacities of its arrays, shared by the files that read packets. */
#ifndef CJ2K_CODESTREAM_PACKETS_INTERNAL_H
#define CJ2K_CODESTREAM_PACKETS_INTERNAL_H

#include "tile_reader.h"

typedef struct {
  Cj2kCodedFrame frame;
  uint32_t blocks_capacity, segments_capacity;
  size_t side_capacity;
} Cj2kFrameStore;

/* Turns the pieces of the tile's code-blocks into blocks, segments and side buffer of the frame. */
void cj2k_tile_reader_finish(const Cj2kTileReader *reader, Cj2kFrameStore *store);

#endif
