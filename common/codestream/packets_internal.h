/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files that read packets share: a coded frame with the capacities of its arrays, and the
 * position in a tile. */
#ifndef CJ2K_CODESTREAM_PACKETS_INTERNAL_H
#define CJ2K_CODESTREAM_PACKETS_INTERNAL_H

#include "common/runtime/threads.h"
#include "tile_reader.h"

typedef struct {
  Cj2kCodedFrame frame;
  uint32_t blocks_capacity, segments_capacity;
  size_t side_capacity;
  bool has_readers; /* frame.segments is the tile reader's array, which has the store's */
  bool in_place;    /* segments of pieces are already in frame.segments */
} Cj2kFrameStore;

/* Prepares it for a frame of this plan; CJ2K_ERROR_LIMIT if that needs more than max_memory bytes
 * (0: no limit). */
Cj2kStatus cj2k_frame_store_begin(Cj2kFrameStore *store, const Cj2kPlan *plan, uint64_t max_memory,
                                  Cj2kError *error);
void cj2k_frame_store_clear(Cj2kFrameStore *store);
/* Turns the pieces of the tile's code-blocks into blocks, segments and side buffer of the frame;
 * the second function those of `count` blocks from block `first` of the plan on. */
void cj2k_tile_reader_finish(Cj2kTileReader *reader, Cj2kFrameStore *store);
void cj2k_tile_reader_finish_run(const Cj2kTileReader *reader, Cj2kFrameStore *store,
                                 uint32_t first, uint32_t count);
/* Lets tile reader and store have their own arrays of segments again, before the next frame. */
void cj2k_store_return_segments(Cj2kFrameStore *store, Cj2kTileReader *reader);
/* Returns where the next `count` segments go; there are CJ2K_SEGMENTS_SLACK more behind them. */
static inline Cj2kSegment *cj2k_store_reserve_segments(Cj2kFrameStore *store, uint32_t count)
{
  Cj2kCodedFrame *frame = &store->frame;

  if (store->segments_capacity - frame->num_segments < count + CJ2K_SEGMENTS_SLACK) {
    store->segments_capacity = 2 * store->segments_capacity + count + 1024;
    frame->segments = g_renew(Cj2kSegment, frame->segments, store->segments_capacity);
  }
  return frame->segments + frame->num_segments;
}
/* See cj2k_packets_supply. */
void cj2k_store_supply(Cj2kFrameStore *store, uint32_t number, const Cj2kCodedBlock *block,
                       const uint8_t *data, const Cj2kSegment *segments);

/* The precincts of a frame of which packets are missing. */
typedef struct {
  uint8_t *precincts; /* of the plan: 1, if a packet is missing */
  uint32_t capacity;
  bool any; /* else `precincts` has not been cleared for this frame */
  uint64_t packets, blocks;
} Cj2kMissing;

/* The position in a tile whose packets are being read. */
typedef struct {
  Cj2kTileReader *reader;
  const Cj2kTileParts *tile_parts;
  const uint32_t *next_part;
  uint32_t part;          /* current tile-part, UINT32_MAX after the last */
  uint64_t at, end;       /* rest of its data */
  const uint8_t *headers; /* rest of the packed packet headers; NULL: headers are in the data */
  size_t headers_size;
  uint16_t max_layers;
  uint64_t packet;   /* number of the next packet in the tile */
  uint64_t began_at; /* where the last packet began, and the end of that tile-part */
  uint64_t part_end;
  uint64_t header_end; /* where the header of the last packet ended, with EPH */
  uint64_t wanted;     /* after a packet that is incomplete: where its bytes end; 0: not known */
  uint32_t short_part; /* the tile-part that it broke off in */
  uint64_t ended_at;   /* where the last packet ended or broke off */
  uint64_t unread;     /* bytes of tile-parts that were left unread */
  bool had_sop;        /* the last packet began with SOP */
  bool out_of_step;    /* an SOP is missing, or its number is not that of the packet */
  bool lacks_sop;      /* a packet has none, and the one before it has */
  bool jumped;         /* from one SOP to the next, numbers do not count the packets between them */
  bool left_sop;       /* since the last packet with a body, one left an SOP to a later one */
  bool swallowed;      /* a packet took the SOP of others for its own bytes */
  uint64_t sop_packet; /* the last packet with SOP, its number there, and its tile-part */
  uint16_t sop_number;
  uint32_t sop_part;
  bool need_eph; /* a packet header without EPH is broken */
  Cj2kMissing *missing;
  Cj2kPacketObserver observer;
  void *observer_user;
} Cj2kPacketWalk;

typedef enum { CJ2K_PACKET_READ, CJ2K_PACKETS_ENDED, CJ2K_PACKET_BROKEN } Cj2kPacketResult;

/* packets_walk.c */
/* Does SOP stand there? */
bool cj2k_walk_sop_at(const Cj2kPacketWalk *walk, uint64_t at);
void cj2k_walk_enter_part(Cj2kPacketWalk *walk, uint32_t part);
/* Reads one packet. If it is incomplete or invalid, what it announced is dropped. */
Cj2kPacketResult cj2k_walk_packet(Cj2kPacketWalk *walk, const Cj2kPacketId *packet);

/* Goes to the next packet: to the tile-part that it is in, and past its SOP unless headers are
 * packed. false: there is none. */
bool cj2k_walk_begin_packet(Cj2kPacketWalk *walk);
/* Finds where a packet header ends of which `bits` were read, with the EPH after it (A.8.2): *used
 * bytes from its beginning. false: its bits or the EPH that it must have are not there. */
bool cj2k_walk_end_header(const Cj2kPacketWalk *walk, const Cj2kBitReader *bits, size_t *used);
/* Is the packet of a layer and a resolution that are decoded? */
bool cj2k_walk_wants(const Cj2kPacketWalk *walk, const Cj2kPacketId *packet);

/* With packed packet headers: reads only the header of a packet. */
Cj2kPacketResult cj2k_walk_header(Cj2kPacketWalk *walk, const Cj2kPacketId *packet);
/* Drops the pieces from `first` on. */
void cj2k_drop_pieces(Cj2kTileReader *reader, uint32_t first);

/* packets_sop.c */
/* The next SOP in [at, walk->end), or walk->end. No other bytes of packets look like it. */
uint64_t cj2k_walk_find_sop(const Cj2kPacketWalk *walk, uint64_t at);
/* Is there an SOP in [at, end)? */
bool cj2k_walk_has_sop(const Cj2kPacketWalk *walk, uint64_t at, uint64_t end);
/* At a packet with SOP: compares its number with those before. */
void cj2k_walk_check_sop(Cj2kPacketWalk *walk, uint16_t number);
/* At SOP: is its number that of a later packet? */
bool cj2k_walk_is_ahead(const Cj2kPacketWalk *walk);
/* At a packet without SOP after one with SOP: notes that, and whether the last one has SOP among
 * its bytes. */
void cj2k_walk_check_last(Cj2kPacketWalk *walk);
/* At the end of a packet whose header is packed, and whose body begins at `body`: notes whether it
 * has SOP among its bytes. Its header says nothing of whether the body is in place. */
void cj2k_walk_check_body(Cj2kPacketWalk *walk, uint64_t body);

/* Does the first bit of the header, behind SOP if there is one, say that the packet is empty
 * (B.10.3)? Then it changes no code-block. */
bool cj2k_is_empty_packet(const uint8_t *packet, uint64_t size);

/* Code-blocks of a packet's precinct. */
static inline uint32_t cj2k_packet_num_blocks(const Cj2kPlan *plan, const Cj2kPacketId *packet)
{
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];
  uint32_t bands = plan->resolutions[packet->resolution_index].num_bands, count = 0;
  for (uint32_t b = 0; b < bands; b++)
    count += precinct->band[b].blocks_x * precinct->band[b].blocks_y;
  return count;
}

/* packets_direct.c */

/* Packets that are read straight into the frame's code-blocks. */
typedef struct {
  Cj2kPacketWalk *walk;
  Cj2kFrameStore *store;
  uint64_t read;   /* code-blocks that packets have told of so far */
  uint64_t looked; /* of these, those of packets that are not empty */
} Cj2kDirect;

/* Reads a packet. false: it is not plain, or not complete. */
bool cj2k_direct_packet(Cj2kDirect *direct, const Cj2kPacketId *packet);
/* Reads all packets of a tile, of which cj2k_tile_reader_begin was called. false: something is not
 * plain, or damaged; then the tile has to be read by other means, and nothing is lost. */
bool cj2k_walk_read_direct(Cj2kPacketWalk *walk, Cj2kFrameStore *store);

/* packets_runs.c */

/* What reading in runs keeps from frame to frame. */
typedef struct Cj2kPacketRuns Cj2kPacketRuns;
Cj2kPacketRuns *cj2k_packet_runs_new(Cj2kThreads *threads, uint32_t least_blocks);
void cj2k_packet_runs_free(Cj2kPacketRuns *runs);
/* Before the first tile of a frame: looks for PLT. */
void cj2k_packet_runs_begin(Cj2kPacketRuns *runs, const uint8_t *data, const Cj2kTileParts *parts);
/* Has the frame had a tile of which it seemed to be known where runs begin? */
bool cj2k_packet_runs_are_known(const Cj2kPacketRuns *runs);
/* The same as cj2k_walk_read_direct, by several threads. false also if it is not known where
 * packets begin, or not worth it. */
bool cj2k_walk_read_runs(Cj2kPacketRuns *runs, Cj2kPacketWalk *walk, Cj2kFrameStore *store);

/* packets_resync.c */

/* Notes that a packet is missing: its precinct has a hole. */
void cj2k_walk_miss(Cj2kPacketWalk *walk, const Cj2kPacketId *packet);
/* The same for all that the iterator has left. */
void cj2k_walk_miss_rest(Cj2kPacketWalk *walk);
/* After a first reading, which broke off or left bytes over if `ended_early`: are packets missing,
 * and can SOP marker segments tell which? */
bool cj2k_walk_can_resync(const Cj2kPacketWalk *walk, bool ended_early);
/* After a first reading: do the packed packet headers announce more bytes than a tile-part has that
 * did not break off at its end? Then bytes are missing inside it, and without SOP nobody knows
 * where. */
bool cj2k_walk_has_hole(const Cj2kPacketWalk *walk, size_t codestream_size);
/* Reads the packets of a tile again from its beginning up to this tile-part. */
void cj2k_walk_read_before(Cj2kPacketWalk *walk, uint32_t part);
/* Reads the packets of a tile again from its beginning by the numbers in their SOP (A.8.1). Missing
 * packets, those that do not fill the space up to the next SOP, and later ones of their precincts
 * are left out. */
void cj2k_walk_resync(Cj2kPacketWalk *walk);

#endif
