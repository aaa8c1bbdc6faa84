/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/runtime/deadline.h"
#include "packets_internal.h"
#include "tile_part_lists.h"

#include <glib.h>
#include <string.h>

struct Cj2kPacketReader {
  Cj2kFrameStore store;
  Cj2kTileReader tile_reader;
  Cj2kTilePartLists lists;
  Cj2kMissing missing;
  Cj2kPacketRuns *runs; /* NULL: one thread reads */
  Cj2kPacketObserver observer;
  void *observer_user;
};

/* --- a tile --- */

/* Goes to the end of the tile, and counts the bytes that are left unread. */
static void leave_rest(Cj2kPacketWalk *walk)
{
  walk->ended_at = walk->at;
  for (; walk->part != UINT32_MAX; cj2k_walk_enter_part(walk, walk->next_part[walk->part]))
    walk->unread += walk->end - walk->at;
}

/* Reads the packets of one tile up to its end or the first invalid packet, which is *packet. */
static Cj2kPacketResult read_tile(Cj2kPacketWalk *walk, Cj2kPacketId *packet)
{
  Cj2kPacketResult result = CJ2K_PACKET_READ;

  while (result == CJ2K_PACKET_READ && cj2k_packet_iterator_next(&walk->reader->iterator, packet)) {
    result = cj2k_walk_packet(walk, packet);
    if (cj2k_deadline_check(1, NULL) != CJ2K_OK)
      break; /* read_packets says so */
  }
  leave_rest(walk);
  return result;
}

/* --- the frame --- */

Cj2kPacketReader *cj2k_packet_reader_new(void)
{
  return g_new0(Cj2kPacketReader, 1);
}

void cj2k_packet_reader_observe(Cj2kPacketReader *reader, Cj2kPacketObserver observer, void *user)
{
  reader->observer = observer;
  reader->observer_user = user;
}

void cj2k_packet_reader_use(Cj2kPacketReader *reader, Cj2kThreads *threads, uint32_t least_blocks)
{
  cj2k_packet_runs_free(reader->runs);
  reader->runs = threads ? cj2k_packet_runs_new(threads, least_blocks) : NULL;
}

bool cj2k_packet_reader_can_divide(const Cj2kPacketReader *reader)
{
  return reader->runs && cj2k_packet_runs_are_known(reader->runs);
}

void cj2k_packet_reader_free(Cj2kPacketReader *reader)
{
  if (!reader)
    return;
  cj2k_packet_runs_free(reader->runs);
  cj2k_tile_reader_clear(&reader->tile_reader);
  cj2k_frame_store_clear(&reader->store);
  cj2k_tile_part_lists_clear(&reader->lists);
  g_free(reader->missing.precincts);
  g_free(reader);
}

static Cj2kStatus begin_frame(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                              const Cj2kTileParts *tile_parts, const uint8_t *data, size_t size,
                              bool strict, uint64_t max_memory, Cj2kError *error)
{
  Cj2kCodedFrame *frame = &reader->store.frame;
  cj2k_store_return_segments(&reader->store, &reader->tile_reader);
  Cj2kStatus status = cj2k_frame_store_begin(&reader->store, plan, max_memory, error);

  if (status != CJ2K_OK)
    return status;
  frame->codestream = data;
  frame->codestream_size = size;
  if (reader->runs)
    cj2k_packet_runs_begin(reader->runs, data, tile_parts);
  reader->missing.any = false;
  reader->missing.packets = reader->missing.blocks = 0;
  frame->truncated = !cj2k_tile_part_lists_make(&reader->lists, plan->num_tiles, tile_parts) ||
                     tile_parts->truncated;
  return frame->truncated && strict ? cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                                                     "tile-parts are missing or out of order")
                                    : CJ2K_OK;
}

static Cj2kPacketWalk begin_tile(Cj2kPacketReader *reader, const Cj2kTileParts *tile_parts,
                                 uint32_t tile, uint16_t max_layers)
{
  Cj2kPacketWalk walk = {.reader = &reader->tile_reader,
                         .tile_parts = tile_parts,
                         .next_part = reader->lists.next,
                         .missing = &reader->missing,
                         .sop_part = UINT32_MAX,
                         .observer = reader->observer,
                         .observer_user = reader->observer_user,
                         .max_layers = max_layers > 0 ? max_layers : UINT16_MAX};

  if (tile_parts->packed_headers && tile_parts->packed_headers[tile].data) {
    walk.headers = tile_parts->packed_headers[tile].data;
    walk.headers_size = tile_parts->packed_headers[tile].size;
  }
  cj2k_walk_enter_part(&walk, reader->lists.first[tile]);
  return walk;
}

/* Reads the packets of a tile that has nothing but plain ones. false: it has others, or they are
 * not complete. */
static bool read_direct(Cj2kPacketReader *reader, const Cj2kTileParts *tile_parts, uint32_t tile,
                        uint16_t max_layers)
{
  Cj2kPacketWalk walk = begin_tile(reader, tile_parts, tile, max_layers);
  bool in_runs = reader->runs && cj2k_walk_read_runs(reader->runs, &walk, &reader->store);

  if (!in_runs && !cj2k_walk_read_direct(&walk, &reader->store))
    return false;
  leave_rest(&walk);
  if (cj2k_walk_can_resync(&walk, walk.unread > 0))
    return false;
  reader->store.frame.unread_bytes += walk.unread;
  return true;
}

/*
 * Reads the packets of a tile. If they cannot be read one after the other up to the end of the
 * data, packets are missing. If SOP marker segments tell which, the tile is read again by their
 * numbers. If bytes are missing somewhere inside a tile-part, which packed packet headers tell, it
 * is read again without that tile-part.
 */
static Cj2kStatus read_packets(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                               const Cj2kTileParts *tile_parts, uint32_t tile, uint16_t max_layers,
                               bool strict, uint64_t max_memory, Cj2kError *error)
{
  Cj2kCodedFrame *out = &reader->store.frame;
  Cj2kTileReader *tile_reader = &reader->tile_reader;
  Cj2kPacketId last;
  Cj2kStatus status = cj2k_tile_reader_start(tile_reader, plan, tile, max_memory, error);

  if (status != CJ2K_OK)
    return status;
  Cj2kPacketWalk walk = begin_tile(reader, tile_parts, tile, max_layers);
  Cj2kPacketResult result = read_tile(&walk, &last);
  if ((status = cj2k_deadline_check(0, error)) != CJ2K_OK)
    return status;
  bool ended_early = result != CJ2K_PACKET_READ || walk.unread > 0;
  bool gap = cj2k_walk_can_resync(&walk, ended_early);
  out->unread_bytes += walk.unread;
  if (result == CJ2K_PACKET_READ && !gap)
    return CJ2K_OK;
  out->truncated = true;
  if (strict)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, 0, walk.ended_at,
                             gap ? "packets of tile %u are missing"
                             : result == CJ2K_PACKET_BROKEN
                                 ? "tile %u has an invalid packet header"
                                 : "the data of tile %u ends before its last packet",
                             tile);
  bool hole = cj2k_walk_has_hole(&walk, out->codestream_size);
  gap |= hole && walk.had_sop;
  if (!gap && !hole) {
    cj2k_walk_miss(&walk, &last);
    cj2k_walk_miss_rest(&walk);
    return CJ2K_OK;
  }
  uint32_t part = walk.short_part;
  status = cj2k_tile_reader_start(tile_reader, plan, tile, max_memory, error);
  walk = begin_tile(reader, tile_parts, tile, max_layers);
  if (status == CJ2K_OK && gap)
    cj2k_walk_resync(&walk);
  else if (status == CJ2K_OK)
    cj2k_walk_read_before(&walk, part);
  return status;
}

Cj2kStatus cj2k_packets_read(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                             const Cj2kTileParts *tile_parts, const uint8_t *data, size_t size,
                             uint16_t max_layers, bool strict, uint64_t max_memory,
                             Cj2kCodedFrame **frame, Cj2kError *error)
{
  Cj2kCodedFrame *out = &reader->store.frame;
  Cj2kStatus status = begin_frame(reader, plan, tile_parts, data, size, strict, max_memory, error);

  reader->tile_reader.data = data;
  for (uint32_t t = 0; t < plan->num_tiles && status == CJ2K_OK; t++) {
    status = cj2k_tile_reader_begin(&reader->tile_reader, plan, t, max_memory, error);
    if (status == CJ2K_OK && !read_direct(reader, tile_parts, t, max_layers)) {
      status = read_packets(reader, plan, tile_parts, t, max_layers, strict, max_memory, error);
      if (status == CJ2K_OK)
        cj2k_tile_reader_finish(&reader->tile_reader, &reader->store);
    }
    if (status == CJ2K_OK)
      status = cj2k_deadline_check(16, error);
  }
  out->concealed_packets = reader->missing.packets;
  out->concealed_blocks = reader->missing.blocks;
  out->missing_precincts = reader->missing.any ? reader->missing.precincts : NULL;
  *frame = out;
  return status;
}

void cj2k_packets_supply(Cj2kPacketReader *reader, uint32_t number, const Cj2kCodedBlock *block,
                         const uint8_t *data, const Cj2kSegment *segments)
{
  cj2k_store_supply(&reader->store, number, block, data, segments);
}
