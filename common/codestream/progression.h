/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Progression order (T.800 B.12): the sequence of a tile's packets, for the packet reader and the
 * packet writer.
 *
 * The iterator never steps over positions of the reference grid one by one: it keeps, for each
 * resolution, the position of the next precinct, and goes from precinct to precinct.
 */
#ifndef CJ2K_PROGRESSION_H
#define CJ2K_PROGRESSION_H

#include "plan.h"

/* A packet: one layer of one precinct of one resolution of one tile-component (B.9). Fields are
 * plan indices. */
typedef struct {
  uint32_t component;
  uint32_t resolution_index; /* into plan->resolutions */
  uint32_t precinct_index;   /* into plan->precincts */
  uint16_t layer;
  uint8_t resolution; /* r */
} Cj2kPacketId;

/* Where one resolution of the tile stands in the walk. */
typedef struct {
  uint64_t key; /* y << 32 | x of its next precinct on the reference grid */
  uint32_t resolution_index;
  uint32_t component;
  uint32_t precinct, num_precincts;
  uint8_t resolution;
} Cj2kProgressionEntry;

/* Set it to all zeros once; start() may be called any number of times, memory is kept until
 * clear(). */
typedef struct {
  const Cj2kPlan *plan;
  uint32_t tile;
  uint64_t packets_left; /* of the whole tile; the walk ends when it is 0 */
  uint32_t first_precinct;

  const Cj2kProgressionVolume *volumes; /* in force: POC's, or default_volume */
  uint32_t num_volumes, volume;
  Cj2kProgressionVolume default_volume;

  Cj2kProgressionEntry *entries; /* resolutions that have packets in the volume, in loop order */
  uint32_t num_entries, entries_capacity;
  uint32_t group, group_end; /* entries of the outer loop's current round */
  uint32_t entry;            /* LRCP, RLCP: where the walk is */
  uint32_t layer;
  uint32_t *heap; /* RPCL, PCRL, CPRL: entries of the group, smallest key first */
  uint32_t heap_size;
  uint32_t heap_capacity;

  uint16_t *next_layer; /* of each precinct of the tile: the first layer not sent yet (B.12.2) */
  uint32_t next_layer_capacity;
} Cj2kPacketIterator;

/* Begins the packets of `tile`, in the order of its POC volumes or its COD progression. */
Cj2kStatus cj2k_packet_iterator_start(Cj2kPacketIterator *iterator, const Cj2kPlan *plan,
                                      uint32_t tile, Cj2kError *error);
/* The next packet. false: no packet is left, or POC leaves the rest out. Each packet comes once,
 * layers of one precinct in rising order. Amortised O(log resolutions). */
bool cj2k_packet_iterator_next(Cj2kPacketIterator *iterator, Cj2kPacketId *packet);
void cj2k_packet_iterator_clear(Cj2kPacketIterator *iterator);

/* Volume that the next packet of next() comes from would be read off iterator->volume: the writer
 * starts a tile-part there when it divides by progression. */

/* Packets of a tile: sum of precincts times layers. */
uint64_t cj2k_tile_num_packets(const Cj2kPlan *plan, uint32_t tile);

/* Position of precinct (px, py) of a resolution on the reference grid as y << 32 | x (B.12.1.3):
 * where the position loops reach it. */
uint64_t cj2k_precinct_position(const Cj2kPlan *plan, uint32_t tile, uint32_t component,
                                uint8_t resolution, uint32_t px, uint32_t py);

#endif
