/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the packets of a tile one after the other, through its tile-parts. */
#include "markers.h"
#include "packets_internal.h"

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

bool cj2k_walk_sop_at(const Cj2kPacketWalk *walk, uint64_t at)
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
  bool has_sop = cj2k_walk_sop_at(walk, walk->at),
       leaves = has_sop && !has_body && cj2k_walk_is_ahead(walk);

  while (has_body && walk->left_sop && has_sop && cj2k_walk_sop_at(walk, walk->at + CJ2K_SOP_BYTES))
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
    skip_sop(walk, cj2k_walk_sop_at(walk, walk->at));
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
