/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/runtime/deadline.h"
#include "markers.h"
#include "packets_internal.h"

#include <glib.h>
#include <string.h>

struct Cj2kPacketReader {
  Cj2kFrameStore store;
  Cj2kTileReader tile_reader;
  /* The tile-parts of each tile as linked lists, in codestream order; UINT32_MAX ends a list. */
  uint32_t *first_part, *last_part, *next_part;
  uint32_t tiles_capacity, parts_capacity;
  Cj2kMissing missing;
  Cj2kPacketObserver observer;
  void *observer_user;
};

void cj2k_walk_enter_part(Cj2kPacketWalk *walk, uint32_t part)
{
  walk->part = part;
  walk->end = walk->at;
  if (part != UINT32_MAX) {
    walk->at = walk->tile_parts->tile_parts[part].data.offset;
    walk->end = walk->at + walk->tile_parts->tile_parts[part].data.size;
  }
}

/* Goes to the next tile-part if this one is used up. A packet never spans two (A.4.2). */
static void skip_empty_parts(Cj2kPacketWalk *walk)
{
  while (walk->part != UINT32_MAX && walk->at == walk->end)
    cj2k_walk_enter_part(walk, walk->next_part[walk->part]);
}

static bool marker_at(const uint8_t *data, uint64_t size, uint16_t marker)
{
  return size >= 2 && cj2k_get16(data) == marker;
}

static bool sop_at(const Cj2kPacketWalk *walk, uint64_t at)
{
  return walk->end >= at + CJ2K_SOP_BYTES &&
         marker_at(walk->reader->data + at, walk->end - at, CJ2K_SOP);
}

/* Skips SOP, which may precede any packet (A.8.1). Scod need not be checked, because no packet can
 * begin with these bytes. A wrong number (Nsop), or a missing SOP where the packet before had one,
 * is only noted, because it may occur in an intact codestream too. */
static void skip_sop(Cj2kPacketWalk *walk, bool has_sop)
{
  if (has_sop)
    cj2k_walk_check_sop(walk, cj2k_get16(walk->reader->data + walk->at + 4));
  else if (walk->had_sop)
    cj2k_walk_check_last(walk);
  walk->had_sop = has_sop;
  walk->began_at = walk->at;
  walk->part_end = walk->end;
  if (has_sop)
    walk->at += CJ2K_SOP_BYTES;
  walk->packet++;
}

/* The same if headers are packed, so that nothing of a packet with an empty body shows whose the
 * SOP is that comes next: the packet leaves it to a later one that has its number. Where numbers do
 * not begin with 0, that may be wrong; then a packet with a body finds several SOP, and the last is
 * its own. */
static void skip_sop_packed(Cj2kPacketWalk *walk, bool has_body)
{
  bool has_sop = sop_at(walk, walk->at), leaves = has_sop && !has_body && cj2k_walk_is_ahead(walk);

  while (has_body && walk->left_sop && has_sop && sop_at(walk, walk->at + CJ2K_SOP_BYTES))
    walk->at += CJ2K_SOP_BYTES;
  walk->left_sop = leaves || (walk->left_sop && !has_body);
  skip_sop(walk, has_sop && !leaves);
}

bool cj2k_walk_end_header(const Cj2kPacketWalk *walk, const Cj2kBitReader *bits, size_t *used)
{
  *used = cj2k_bits_finish(bits);
  if (*used > bits->size)
    return false;
  if (!marker_at(bits->data + *used, bits->size - *used, CJ2K_EPH))
    return !walk->need_eph;
  *used += 2;
  return true;
}

/* Reads one packet header, from the packed ones or from the data, and the EPH after it (A.8.2). */
static Cj2kPacketResult read_header(Cj2kPacketWalk *walk, const Cj2kPacketId *packet)
{
  bool packed = walk->headers != NULL;
  const uint8_t *data = packed ? walk->headers : walk->reader->data + walk->at;
  size_t size = packed ? walk->headers_size : (size_t)(walk->end - walk->at), used;
  Cj2kBitReader bits;

  if (size == 0)
    return CJ2K_PACKETS_ENDED;
  cj2k_bits_init(&bits, data, size);
  if (!cj2k_packet_header_read(walk->reader, packet, &bits))
    return CJ2K_PACKET_BROKEN;
  if (!cj2k_walk_end_header(walk, &bits, &used))
    return CJ2K_PACKET_BROKEN;
  if (packed) {
    walk->headers += used;
    walk->headers_size -= used;
  } else {
    walk->at += used;
  }
  return CJ2K_PACKET_READ;
}

/* Shortens a piece of several segments: those that are complete remain, and the next one is cut
 * like a piece of its own. */
static void cut_run(const Cj2kTileReader *reader, Cj2kPiece *piece, uint64_t available)
{
  Cj2kSegment *segments = reader->segments + piece->first_segment;
  uint32_t passes = 0, length = 0, n = 0;

  for (; length + segments[n].length <= available; n++) {
    length += segments[n].length;
    passes += segments[n].passes;
  }
  uint32_t rest = (uint32_t)(available - length); /* the loop ends at a segment that is longer */
  uint32_t more = (uint32_t)((uint64_t)segments[n].passes * rest / segments[n].length);
  if (more > 0) {
    segments[n++] = cj2k_segment(rest, more);
    length += rest;
    passes += more;
  }
  piece->num_segments = (uint8_t)n;
  piece->length = length;
  piece->passes = (uint8_t)passes;
}

/*
 * Shortens a piece of which only `available` bytes are there. An MQ segment can be decoded from its
 * beginning; later passes take more bytes than earlier ones, so that a share of the passes equal to
 * the share of the bytes is complete. An HT segment is read from both ends and is useless if
 * incomplete.
 */
static void cut_piece(Cj2kTileReader *reader, Cj2kPiece *piece, bool is_mq, uint64_t available)
{
  if (piece->num_segments > 0) {
    cut_run(reader, piece, available);
    return;
  }
  piece->passes =
      is_mq && piece->length > 0 ? (uint8_t)(piece->passes * available / piece->length) : 0;
  piece->length = piece->passes > 0 ? (uint32_t)available : 0;
}

/* True if an incomplete piece of the packet can be used. Mixed mode counts as HT, because the coder
 * of its blocks may not be known yet. */
static bool may_be_cut(const Cj2kTileReader *reader, const Cj2kPacketId *packet)
{
  const Cj2kPlanResolution *resolution = &reader->plan->resolutions[packet->resolution_index];

  return !(reader->plan->bands[resolution->first_band].block_style & CJ2K_STYLE_HT);
}

void cj2k_drop_pieces(Cj2kTileReader *reader, uint32_t first)
{
  for (uint32_t i = first; i < reader->num_pieces; i++) {
    reader->pieces[i].passes = 0;
    reader->pieces[i].length = 0;
  }
}

/* Do the pieces from `first` on have bytes? */
static bool announces_bytes(const Cj2kTileReader *reader, uint32_t first)
{
  while (first < reader->num_pieces && reader->pieces[first].length == 0)
    first++;
  return first < reader->num_pieces;
}

/* Assigns the bytes of the packet body to the pieces from `first` on. false: bytes are missing. */
static bool place_pieces(Cj2kPacketWalk *walk, const Cj2kPacketId *packet, uint32_t first)
{
  Cj2kTileReader *reader = walk->reader;
  uint64_t at = walk->at, end = walk->end;
  uint32_t num_pieces = reader->num_pieces;

  for (uint32_t i = first; i < num_pieces; i++) {
    Cj2kPiece *piece = &reader->pieces[i];
    piece->offset = at;
    if (piece->length > end - at) {
      walk->wanted = at;
      for (uint32_t rest = i; rest < num_pieces; rest++)
        walk->wanted += reader->pieces[rest].length;
      walk->short_part = walk->part;
      cut_piece(reader, piece, may_be_cut(reader, packet), walk->end - at);
      cj2k_drop_pieces(reader, i + 1);
      walk->at = walk->end;
      return false;
    }
    at += piece->length;
  }
  walk->at = at;
  return true;
}

bool cj2k_walk_wants(const Cj2kPacketWalk *walk, const Cj2kPacketId *packet)
{
  const Cj2kPlan *plan = walk->reader->plan;
  const Cj2kPlanTile *tile = &plan->tiles[walk->reader->tile];
  const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[tile->first_tile_comp + packet->component];

  return packet->layer < walk->max_layers && packet->resolution <= tile_comp->reduced_levels;
}

bool cj2k_walk_begin_packet(Cj2kPacketWalk *walk)
{
  skip_empty_parts(walk);
  if (walk->part == UINT32_MAX && !walk->headers)
    return false;
  if (!walk->headers)
    skip_sop(walk, sop_at(walk, walk->at));
  return true;
}

Cj2kPacketResult cj2k_walk_packet(Cj2kPacketWalk *walk, const Cj2kPacketId *packet)
{
  Cj2kTileReader *reader = walk->reader;
  uint32_t first_piece = reader->num_pieces;
  const uint8_t *packed = walk->headers;

  if (!cj2k_walk_begin_packet(walk))
    return CJ2K_PACKETS_ENDED;
  Cj2kPacketResult result = read_header(walk, packet);
  if (packed)
    skip_sop_packed(walk, result != CJ2K_PACKET_READ || announces_bytes(reader, first_piece));
  uint64_t start = walk->began_at, body;
  if (result != CJ2K_PACKET_READ) {
    cj2k_drop_pieces(reader, first_piece);
    return result;
  }
  body = walk->header_end = walk->at;
  if (!place_pieces(walk, packet, first_piece))
    return CJ2K_PACKETS_ENDED;
  if (packed && walk->sop_part != UINT32_MAX)
    cj2k_walk_check_body(walk, body);
  if (walk->observer)
    walk->observer(walk->observer_user, packet, start,
                   body - start + (packed ? (uint64_t)(walk->headers - packed) : 0),
                   walk->at - body);
  if (!cj2k_walk_wants(walk, packet))
    cj2k_drop_pieces(reader, first_piece);
  return CJ2K_PACKET_READ;
}

Cj2kPacketResult cj2k_walk_header(Cj2kPacketWalk *walk, const Cj2kPacketId *packet)
{
  uint32_t first_piece = walk->reader->num_pieces;
  Cj2kPacketResult result = read_header(walk, packet);
  cj2k_drop_pieces(walk->reader, first_piece);
  return result;
}

/* --- a tile --- */

/* Finds the blocks and tag-tree nodes of a tile: those from its first precinct up to that of the
 * next tile. */
static void locate_tile(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile)
{
  uint32_t first[2] = {plan->num_blocks, plan->num_blocks};
  uint32_t node[2] = {(uint32_t)plan->num_nodes, (uint32_t)plan->num_nodes};

  for (uint32_t i = 0; i < 2 && tile + i < plan->num_tiles; i++) {
    const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[plan->tiles[tile + i].first_tile_comp];
    uint32_t precinct = plan->resolutions[tile_comp->first_resolution].first_precinct;

    if (precinct < plan->num_precincts) {
      first[i] = plan->precincts[precinct].band[0].first_block;
      node[i] = plan->precincts[precinct].band[0].first_node;
    }
  }
  reader->plan = plan;
  reader->tile = tile;
  reader->first_block = first[0];
  reader->num_blocks = first[1] - first[0];
  reader->first_node = node[0];
  reader->num_nodes = node[1] - node[0];
}

Cj2kStatus cj2k_tile_reader_begin(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error)
{
  locate_tile(reader, plan, tile);
  if (max_memory > 0 && reader->num_blocks * (uint64_t)sizeof *reader->states +
                                2 * reader->num_nodes * (uint64_t)sizeof *reader->inclusion >
                            max_memory)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "%u code-blocks of tile %u need more memory than max-memory allows",
                          reader->num_blocks, tile);
  if (reader->num_blocks > reader->states_capacity) {
    g_free(reader->states);
    reader->states = g_new(Cj2kBlockState, reader->num_blocks);
    reader->states_capacity = reader->num_blocks;
  }
  if (reader->num_nodes > reader->nodes_capacity) {
    g_free(reader->inclusion);
    g_free(reader->zero_bitplanes);
    reader->inclusion = g_new(Cj2kTagNode, reader->num_nodes);
    reader->zero_bitplanes = g_new(Cj2kTagNode, reader->num_nodes);
    reader->nodes_capacity = reader->num_nodes;
  }
  reader->num_pieces = 1;
  reader->num_segments = 0;
  cj2k_packet_iterator_start(&reader->iterator, plan, tile);
  return CJ2K_OK;
}

Cj2kStatus cj2k_tile_reader_start(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error)
{
  Cj2kStatus status = cj2k_tile_reader_begin(reader, plan, tile, max_memory, error);

  if (status == CJ2K_OK && reader->num_blocks > 0) {
    memset(reader->states, 0, reader->num_blocks * sizeof *reader->states);
    memset(reader->inclusion, 0, reader->num_nodes * sizeof *reader->inclusion);
    memset(reader->zero_bitplanes, 0, reader->num_nodes * sizeof *reader->zero_bitplanes);
  }
  return status;
}

void cj2k_tile_reader_clear(Cj2kTileReader *reader)
{
  cj2k_packet_iterator_clear(&reader->iterator);
  g_free(reader->states);
  g_free(reader->inclusion);
  g_free(reader->zero_bitplanes);
  g_free(reader->pieces);
  g_free(reader->segments);
  memset(reader, 0, sizeof *reader);
}

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

void cj2k_packet_reader_free(Cj2kPacketReader *reader)
{
  if (!reader)
    return;
  cj2k_tile_reader_clear(&reader->tile_reader);
  cj2k_frame_store_clear(&reader->store);
  g_free(reader->first_part);
  g_free(reader->last_part);
  g_free(reader->next_part);
  g_free(reader->missing.precincts);
  g_free(reader);
}

/* Lists the tile-parts of each tile, which come in the order of TPsot (A.4.2). If one is missing,
 * packets after it cannot be identified: the later tile-parts are left out, and the function
 * returns false. */
static bool list_tile_parts(Cj2kPacketReader *reader, const Cj2kPlan *plan,
                            const Cj2kTileParts *tile_parts)
{
  bool complete = true;

  if (plan->num_tiles > reader->tiles_capacity) {
    reader->first_part = g_renew(uint32_t, reader->first_part, plan->num_tiles);
    reader->last_part = g_renew(uint32_t, reader->last_part, plan->num_tiles);
    reader->tiles_capacity = plan->num_tiles;
  }
  if (tile_parts->num_tile_parts > reader->parts_capacity) {
    reader->next_part = g_renew(uint32_t, reader->next_part, tile_parts->num_tile_parts);
    reader->parts_capacity = tile_parts->num_tile_parts;
  }
  memset(reader->first_part, 0xff, plan->num_tiles * sizeof *reader->first_part);
  memset(reader->last_part, 0xff, plan->num_tiles * sizeof *reader->last_part);
  for (uint32_t i = 0; i < tile_parts->num_tile_parts; i++) {
    const Cj2kTilePart *part = &tile_parts->tile_parts[i];
    uint32_t last = reader->last_part[part->tile];

    reader->next_part[i] = UINT32_MAX;
    /* TPsot has 8 bits; some writers let it wrap around. */
    if (part->index != (last == UINT32_MAX ? 0 : (tile_parts->tile_parts[last].index + 1) % 256)) {
      complete = false;
      continue;
    }
    if (last == UINT32_MAX)
      reader->first_part[part->tile] = i;
    else
      reader->next_part[last] = i;
    reader->last_part[part->tile] = i;
  }
  return complete;
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
  reader->missing.any = false;
  reader->missing.packets = reader->missing.blocks = 0;
  frame->truncated = !list_tile_parts(reader, plan, tile_parts) || tile_parts->truncated;
  return frame->truncated && strict ? cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                                                     "tile-parts are missing or out of order")
                                    : CJ2K_OK;
}

static Cj2kPacketWalk begin_tile(Cj2kPacketReader *reader, const Cj2kTileParts *tile_parts,
                                 uint32_t tile, uint16_t max_layers)
{
  Cj2kPacketWalk walk = {.reader = &reader->tile_reader,
                         .tile_parts = tile_parts,
                         .next_part = reader->next_part,
                         .missing = &reader->missing,
                         .sop_part = UINT32_MAX,
                         .observer = reader->observer,
                         .observer_user = reader->observer_user,
                         .max_layers = max_layers > 0 ? max_layers : UINT16_MAX};

  if (tile_parts->packed_headers && tile_parts->packed_headers[tile].data) {
    walk.headers = tile_parts->packed_headers[tile].data;
    walk.headers_size = tile_parts->packed_headers[tile].size;
  }
  cj2k_walk_enter_part(&walk, reader->first_part[tile]);
  return walk;
}

/* Reads the packets of a tile that has nothing but plain ones. false: it has others, or they are
 * not complete. */
static bool read_direct(Cj2kPacketReader *reader, const Cj2kTileParts *tile_parts, uint32_t tile,
                        uint16_t max_layers)
{
  Cj2kPacketWalk walk = begin_tile(reader, tile_parts, tile, max_layers);

  if (!cj2k_walk_read_direct(&walk, &reader->store))
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
