/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Progression order (T.800 B.12): the sequence of a tile's packets, for the packet reader and the
 * packet writer.
 *
 * The iterator never steps over positions of the reference grid one by one: it keeps, for each
 * resolution, the position of the next precinct, and goes from precinct to precinct.
 */
#ifndef CJ2K_CODESTREAM_PROGRESSION_H
#define CJ2K_CODESTREAM_PROGRESSION_H

#include "plan.h"

/* A packet: one layer of one precinct of one resolution of one tile-component (B.9). */
typedef struct {
  uint32_t component;
  uint32_t resolution_index; /* into plan->resolutions */
  uint32_t precinct_index;   /* into plan->precincts */
  uint16_t layer;
  uint8_t resolution; /* r */
} Cj2kPacketId;

/* The state of one resolution of the tile in the walk. */
typedef struct {
  uint64_t key; /* y << 32 | x of its next precinct on the reference grid */
  uint32_t resolution_index;
  uint32_t component;
  uint32_t precinct, num_precincts;
  uint16_t first_layer; /* earlier volumes sent the layers below */
  uint8_t resolution;
} Cj2kProgressionEntry;

/* Set it to all zeros once. start() may be called any number of times; the memory is kept until
 * clear(). */
typedef struct {
  const Cj2kPlan *plan;
  uint32_t tile;
  uint64_t packets_left; /* of the whole tile; the walk ends when it is 0 */

  const Cj2kProgressionVolume *volumes; /* POC's, or NULL for COD's progression over everything */
  uint32_t num_volumes;
  uint32_t volume; /* the volume that the last packet came from */
  bool in_volume;
  uint8_t order;         /* of the volume */
  uint32_t layer_end;    /* of the volume */
  uint16_t *layers_done; /* of each resolution of the tile (B.12.2: a packet is never sent twice) */
  uint32_t capacity;     /* of layers_done, entries and heap */

  Cj2kProgressionEntry *entries; /* resolutions with packets in the volume, in loop order */
  uint32_t num_entries;
  uint32_t group, group_end; /* entries of the outer loop's current round */
  uint32_t layer;
  uint32_t entry; /* LRCP, RLCP: where the walk is */
  uint32_t *heap; /* RPCL, PCRL, CPRL: entries of the group, the next one first */
  uint32_t heap_size;
} Cj2kPacketIterator;

/* Begins the packets of `tile`, in the order of its POC volumes or its COD progression. */
void cj2k_packet_iterator_start(Cj2kPacketIterator *iterator, const Cj2kPlan *plan, uint32_t tile);
/* The next packet. false: no packet is left, or POC leaves the rest out. Each packet comes once,
 * the layers of one precinct in rising order. Amortised O(log resolutions). */
bool cj2k_packet_iterator_next(Cj2kPacketIterator *iterator, Cj2kPacketId *packet);
void cj2k_packet_iterator_clear(Cj2kPacketIterator *iterator);

/* Packets of a tile: the sum of its precincts, times its layers. */
uint64_t cj2k_tile_num_packets(const Cj2kPlan *plan, uint32_t tile);

/* Where the position loops reach precinct (px, py) of a resolution (B.12.1.3): y << 32 | x on the
 * reference grid. */
uint64_t cj2k_precinct_position(const Cj2kPlan *plan, const Cj2kPlanTileComp *tile_comp, uint32_t r,
                                uint32_t px, uint32_t py);

#endif
