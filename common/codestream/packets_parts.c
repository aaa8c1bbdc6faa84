/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packets_parts.h"

#include "common/runtime/deadline.h"
#include "markers.h"
#include "packets_internal.h"

#include <string.h>

#define LEAST_PSOT 14
/* A packet header that is incomplete is tried again when the bytes since its begin have grown by
 * this part, so that its cost does not depend on how small the parts are. */
#define GROWTH 16

/* What reading a packet may change of the tile, so that it can be read again with more bytes. */
typedef struct {
  Cj2kPacketWalk walk;
  uint32_t num_pieces, num_segments;
  bool is_empty;                      /* the packet says so, and changes nothing of its precinct */
  GArray *states;                     /* Cj2kBlockState of the precinct */
  GArray *inclusion, *zero_bitplanes; /* Cj2kTagNode of the precinct */
} Saved;

struct Cj2kPartsReader {
  Cj2kFrameStore store;
  Cj2kTileReader tile_reader;
  Cj2kTileParts tile_parts;
  uint32_t *next_part;
  uint32_t next_capacity;
  Cj2kPacketWalk walk;
  uint64_t part_end;         /* of the last tile-part; UINT64_MAX: not known yet */
  Cj2kPartsHeader next_head; /* of the tile-part behind it */
  uint32_t packet_part;      /* tile-part of the last packet */
  Cj2kPacketId packet;
  bool has_packet; /* `packet` is the next one; else the iterator has to be asked */
  uint64_t wanted; /* bytes that must be there before it is tried again */
  bool taken;      /* the precincts of `complete` were taken */
  uint16_t last_layer;
  bool eph;
  bool whole;
  Saved saved;
  Cj2kPartsObserver observer; /* NULL: none */
  void *observer_user;
  GArray *complete; /* Cj2kPacketId */
};

/* ---------------------------------------------------------------------------- headers --- */

/* Goes over marker segments up to the marker `stop`. `later`: in the header of a tile-part that is
 * not the first one, where segments that shape the plan would change packets that were read. */
static Cj2kPartsState skip_segments(const uint8_t *data, size_t size, uint64_t *at, uint16_t stop,
                                    bool later)
{
  while (size - *at >= 2) {
    uint16_t marker = cj2k_get16(data + *at);
    Cj2kSegmentKind kind = cj2k_marker_info(marker)->kind;
    if (marker == stop)
      return CJ2K_PARTS_DONE;
    if (marker < 0xff01 || kind == CJ2K_SEGMENT_DELIMITER || kind == CJ2K_SEGMENT_HEADERS ||
        (later && kind == CJ2K_SEGMENT_SHAPES))
      return CJ2K_PARTS_WHOLE;
    if (!cj2k_marker_has_segment(marker)) {
      *at += 2;
      continue;
    }
    if (size - *at < 4)
      return CJ2K_PARTS_MORE;
    uint32_t length = cj2k_get16(data + *at + 2);
    if (length < 2)
      return CJ2K_PARTS_WHOLE;
    if (size - *at < 2 + (uint64_t)length)
      return CJ2K_PARTS_MORE;
    *at += 2 + length;
  }
  return CJ2K_PARTS_MORE;
}

/* Goes over the header of the tile-part whose SOT is at header->sot. */
static Cj2kPartsState skip_part_header(Cj2kPartsHeader *header, const uint8_t *data, size_t size,
                                       bool later)
{
  if (size < header->sot || size - header->sot < CJ2K_SOT_BYTES)
    return CJ2K_PARTS_MORE;
  header->at = MAX(header->at, header->sot + CJ2K_SOT_BYTES);
  Cj2kPartsState state = skip_segments(data, size, &header->at, CJ2K_SOD, later);
  if (state == CJ2K_PARTS_DONE)
    header->at += 2;
  return state;
}

Cj2kPartsState cj2k_parts_header_scan(Cj2kPartsHeader *header, const uint8_t *data, size_t size)
{
  if (!header->at) {
    if (size < 2)
      return CJ2K_PARTS_MORE;
    if (cj2k_get16(data) != CJ2K_SOC)
      return CJ2K_PARTS_WHOLE;
    header->at = 2;
  }
  if (!header->sot) {
    Cj2kPartsState state = skip_segments(data, size, &header->at, CJ2K_SOT, false);
    if (state != CJ2K_PARTS_DONE)
      return state;
    header->sot = header->at;
  }
  return skip_part_header(header, data, size, false);
}

Cj2kPartsState cj2k_parts_header_next(Cj2kPartsHeader *header, const uint8_t *data, size_t size)
{
  if (size < header->sot || size - header->sot < CJ2K_SOT_BYTES)
    return CJ2K_PARTS_MORE;
  if (cj2k_get16(data + header->sot) != CJ2K_SOT)
    return CJ2K_PARTS_WHOLE;
  return skip_part_header(header, data, size, true);
}

Cj2kPartsState cj2k_parts_reader_enter(Cj2kPartsReader *reader, const uint8_t *data,
                                       const Cj2kPartsHeader *header)
{
  Cj2kTileParts *parts = &reader->tile_parts;
  const uint8_t *sot = data + header->sot;
  uint32_t number = parts->num_tile_parts, psot = cj2k_get32(sot + 6);

  if (cj2k_get16(sot + 2) != CJ2K_SOT_BYTES - 2 ||
      cj2k_get16(sot + 4) != reader->tile_reader.tile || sot[10] != number % 256)
    return CJ2K_PARTS_WHOLE;
  if (psot && (psot < LEAST_PSOT || psot < header->at - header->sot))
    return CJ2K_PARTS_WHOLE;
  if (number == parts->capacity) {
    parts->capacity = 2 * parts->capacity + 16;
    parts->tile_parts = g_renew(Cj2kTilePart, parts->tile_parts, parts->capacity);
  }
  if (number == reader->next_capacity) {
    reader->next_capacity = 2 * reader->next_capacity + 16;
    reader->next_part = g_renew(uint32_t, reader->next_part, reader->next_capacity);
  }
  parts->tile_parts[number] = (Cj2kTilePart){.index = sot[10], .data = {.offset = header->at}};
  reader->next_part[number] = UINT32_MAX;
  parts->num_tile_parts++;
  reader->walk.tile_parts = parts;
  reader->walk.next_part = reader->next_part;
  cj2k_walk_enter_part(&reader->walk, number);
  reader->part_end = psot ? header->sot + psot : UINT64_MAX;
  reader->next_head = (Cj2kPartsHeader){0};
  return CJ2K_PARTS_DONE;
}

/* Goes to the tile-part behind the last one, which is used up. */
static Cj2kPartsState next_part(Cj2kPartsReader *reader, const uint8_t *data, size_t size)
{
  Cj2kPartsHeader *header = &reader->next_head;
  header->sot = reader->part_end;
  if (reader->observer)
    return CJ2K_PARTS_MORE;
  Cj2kPartsState state = cj2k_parts_header_next(header, data, size);
  return state == CJ2K_PARTS_DONE ? cj2k_parts_reader_enter(reader, data, header) : state;
}

/* -------------------------------------------------------------------- saving a precinct --- */

/* Copies code-blocks and tag-tree nodes of the packet's precinct; with `back` restores them. */
static void copy_precinct(Cj2kPartsReader *reader, bool back)
{
  Cj2kTileReader *tile = &reader->tile_reader;
  Saved *saved = &reader->saved;
  const Cj2kPlanPrecinct *precinct = &tile->plan->precincts[reader->packet.precinct_index];
  uint32_t bands = tile->plan->resolutions[reader->packet.resolution_index].num_bands;
  guint block = 0, node = 0;

  for (uint32_t b = 0; b < bands; b++) {
    const Cj2kPlanPrecinctBand *band = &precinct->band[b];
    uint32_t blocks = band->blocks_x * band->blocks_y;
    uint32_t nodes = (uint32_t)cj2k_tag_tree_num_nodes(band->blocks_x, band->blocks_y);
    if (!blocks)
      continue;
    Cj2kBlockState *states = tile->states + (band->first_block - tile->first_block);
    Cj2kTagNode *inclusion = tile->inclusion + (band->first_node - tile->first_node);
    Cj2kTagNode *zeros = tile->zero_bitplanes + (band->first_node - tile->first_node);
    if (!back) {
      g_array_set_size(saved->states, block + blocks);
      g_array_set_size(saved->inclusion, node + nodes);
      g_array_set_size(saved->zero_bitplanes, node + nodes);
    }
    Cj2kBlockState *kept = &g_array_index(saved->states, Cj2kBlockState, block);
    Cj2kTagNode *kept_inclusion = &g_array_index(saved->inclusion, Cj2kTagNode, node);
    Cj2kTagNode *kept_zeros = &g_array_index(saved->zero_bitplanes, Cj2kTagNode, node);
    memcpy(back ? states : kept, back ? kept : states, blocks * sizeof *states);
    memcpy(back ? inclusion : kept_inclusion, back ? kept_inclusion : inclusion,
           nodes * sizeof *inclusion);
    memcpy(back ? zeros : kept_zeros, back ? kept_zeros : zeros, nodes * sizeof *zeros);
    for (uint32_t i = 0; back && i < blocks; i++)
      if (states[i].last_piece)
        tile->pieces[states[i].last_piece].next = 0;
    block += blocks;
    node += nodes;
  }
}

/* Of an empty packet the precinct is not copied: there may be 65535 of a precinct of millions of
 * code-blocks, with a byte each. */
static void save(Cj2kPartsReader *reader, const uint8_t *data, uint64_t end)
{
  uint64_t at = reader->walk.at;
  reader->saved.walk = reader->walk;
  reader->saved.num_pieces = reader->tile_reader.num_pieces;
  reader->saved.num_segments = reader->tile_reader.num_segments;
  reader->saved.is_empty = cj2k_is_empty_packet(data + at, end - at);
  if (!reader->saved.is_empty)
    copy_precinct(reader, false);
}

static void restore(Cj2kPartsReader *reader)
{
  reader->walk = reader->saved.walk;
  reader->tile_reader.num_pieces = reader->saved.num_pieces;
  reader->tile_reader.num_segments = reader->saved.num_segments;
  if (!reader->saved.is_empty)
    copy_precinct(reader, true);
}

/* ---------------------------------------------------------------------------- packets --- */

/* Whether the bytes of the packet may be read in another way once there are more of them: an EPH
 * may follow its header. */
static bool is_unsure(const Cj2kPartsReader *reader, const uint8_t *data, uint64_t end)
{
  uint64_t header_end = reader->walk.header_end;
  return header_end + 2 > end && (reader->eph || (header_end < end && data[header_end] == 0xff));
}

/* Reads the next packet from the bytes of the tile-part up to `end`, which is that of the tile-part
 * if `is_end`. */
static Cj2kPartsState try_packet(Cj2kPartsReader *reader, const uint8_t *data, uint64_t end,
                                 bool is_end)
{
  Cj2kPacketWalk *walk = &reader->walk;
  uint64_t left = end - walk->at;

  if (left >= 2 && cj2k_get16(data + walk->at) == CJ2K_EPH) /* of the packet before */
    return CJ2K_PARTS_WHOLE;
  if (!is_end && (left == 0 || (left < CJ2K_SOP_BYTES && data[walk->at] == 0xff)))
    return CJ2K_PARTS_MORE;
  walk->end = end;
  if (reader->packet_part == walk->part)
    walk->part_end = end;
  walk->wanted = 0;
  save(reader, data, end);
  Cj2kPacketResult result = cj2k_walk_packet(walk, &reader->packet);
  if (result == CJ2K_PACKET_READ && (is_end || !is_unsure(reader, data, end))) {
    reader->packet_part = walk->part;
    return CJ2K_PARTS_DONE;
  }
  if (is_end)
    return CJ2K_PARTS_WHOLE;
  reader->wanted = walk->wanted;
  restore(reader);
  if (!reader->wanted)
    reader->wanted = end + 1 + (result == CJ2K_PACKET_READ ? 0 : left / GROWTH);
  return CJ2K_PARTS_MORE;
}

/* Lists the packet's precinct if this is the last packet of it. */
static void note_precinct(Cj2kPartsReader *reader)
{
  if (reader->packet.layer == reader->last_layer && !reader->observer)
    g_array_append_val(reader->complete, reader->packet);
}

static void finish_precinct(Cj2kPartsReader *reader, const Cj2kPacketId *packet)
{
  const Cj2kPlan *plan = reader->tile_reader.plan;
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];

  for (uint32_t b = 0; b < plan->resolutions[packet->resolution_index].num_bands; b++)
    cj2k_tile_reader_finish_run(&reader->tile_reader, &reader->store, precinct->band[b].first_block,
                                precinct->band[b].blocks_x * precinct->band[b].blocks_y);
}

void cj2k_parts_reader_take(Cj2kPartsReader *reader)
{
  reader->store.frame.side_size = 0;
  reader->store.frame.num_segments = 0;
  for (guint i = 0; i < reader->complete->len; i++)
    finish_precinct(reader, &g_array_index(reader->complete, Cj2kPacketId, i));
  reader->taken = true;
}

static Cj2kPartsState read_packets(Cj2kPartsReader *reader, const uint8_t *data, size_t size,
                                   bool last)
{
  Cj2kPacketIterator *iterator = &reader->tile_reader.iterator;
  Cj2kPartsState state = CJ2K_PARTS_DONE;

  while (state == CJ2K_PARTS_DONE) {
    if (!reader->has_packet && !cj2k_packet_iterator_next(iterator, &reader->packet))
      return cj2k_deadline_check(0, NULL) == CJ2K_OK ? CJ2K_PARTS_DONE : CJ2K_PARTS_WHOLE;
    reader->has_packet = true;
    if (reader->walk.at == reader->part_end) {
      state = next_part(reader, data, size);
      continue;
    }
    if (size < reader->wanted && !last)
      return CJ2K_PARTS_MORE;
    state = try_packet(reader, data, MIN(reader->part_end, size), reader->part_end <= size || last);
    if (state == CJ2K_PARTS_DONE) {
      note_precinct(reader);
      if (reader->observer)
        reader->observer(reader->observer_user, &reader->packet, reader->saved.walk.at,
                         reader->walk.at - reader->saved.walk.at);
      reader->has_packet = false;
    }
    if (cj2k_deadline_check(1, NULL) != CJ2K_OK)
      return CJ2K_PARTS_WHOLE;
  }
  return state;
}

static Cj2kPartsState read_on(Cj2kPartsReader *reader, const uint8_t *data, size_t size, bool last,
                              const Cj2kPacketId **precincts, uint32_t *count)
{
  reader->tile_reader.data = data;
  reader->store.frame.codestream = data;
  reader->store.frame.codestream_size = size;
  if (reader->taken)
    g_array_set_size(reader->complete, 0);
  reader->taken = false;
  Cj2kPartsState state = reader->whole ? CJ2K_PARTS_WHOLE : read_packets(reader, data, size, last);
  reader->whole = state == CJ2K_PARTS_WHOLE;
  *precincts = (const Cj2kPacketId *)(void *)reader->complete->data;
  *count = reader->whole ? 0 : reader->complete->len;
  return state;
}

Cj2kPartsState cj2k_parts_reader_read(Cj2kPartsReader *reader, const uint8_t *data, size_t size,
                                      const Cj2kPacketId **precincts, uint32_t *count)
{
  return read_on(reader, data, size, false, precincts, count);
}

Cj2kPartsState cj2k_parts_reader_end(Cj2kPartsReader *reader, const uint8_t *data, size_t size,
                                     const Cj2kPacketId **precincts, uint32_t *count)
{
  if (reader->part_end == UINT64_MAX) { /* Psot = 0: it ends before EOC */
    bool eoc = size >= reader->walk.at + 2 && cj2k_get16(data + size - 2) == CJ2K_EOC;
    reader->part_end = size - (eoc ? 2 : 0);
  }
  Cj2kPartsState state = read_on(reader, data, size, true, precincts, count);
  uint64_t end = reader->part_end;
  bool whole = state != CJ2K_PARTS_DONE || reader->walk.at != end || end > size ||
               (size - end >= 2 && cj2k_get16(data + end) != CJ2K_EOC) ||
               cj2k_walk_can_resync(&reader->walk, false);
  if (whole)
    *count = 0;
  return whole ? CJ2K_PARTS_WHOLE : CJ2K_PARTS_DONE;
}

const Cj2kCodedFrame *cj2k_parts_reader_frame(const Cj2kPartsReader *reader)
{
  return &reader->store.frame;
}

/* -------------------------------------------------------------------------- the reader --- */

Cj2kPartsReader *cj2k_parts_reader_new(void)
{
  Cj2kPartsReader *reader = g_new0(Cj2kPartsReader, 1);
  reader->saved.states = g_array_new(FALSE, FALSE, sizeof(Cj2kBlockState));
  reader->saved.inclusion = g_array_new(FALSE, FALSE, sizeof(Cj2kTagNode));
  reader->saved.zero_bitplanes = g_array_new(FALSE, FALSE, sizeof(Cj2kTagNode));
  reader->complete = g_array_new(FALSE, FALSE, sizeof(Cj2kPacketId));
  return reader;
}

void cj2k_parts_reader_observe(Cj2kPartsReader *reader, Cj2kPartsObserver observer, void *user)
{
  reader->observer = observer;
  reader->observer_user = user;
}

uint64_t cj2k_parts_reader_part_end(const Cj2kPartsReader *reader, bool *used_up)
{
  *used_up = reader->walk.at == reader->part_end;
  return reader->part_end;
}

const Cj2kPacketId *cj2k_parts_reader_next(const Cj2kPartsReader *reader)
{
  return reader->has_packet ? &reader->packet : NULL;
}

void cj2k_parts_reader_free(Cj2kPartsReader *reader)
{
  if (!reader)
    return;
  cj2k_tile_reader_clear(&reader->tile_reader);
  cj2k_tile_parts_clear(&reader->tile_parts);
  cj2k_frame_store_clear(&reader->store);
  g_free(reader->next_part);
  g_array_unref(reader->saved.states);
  g_array_unref(reader->saved.inclusion);
  g_array_unref(reader->saved.zero_bitplanes);
  g_array_unref(reader->complete);
  g_free(reader);
}

Cj2kPartsState cj2k_parts_reader_begin(Cj2kPartsReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                       const Cj2kPartsHeader *header, const uint8_t *data,
                                       uint16_t max_layers, uint64_t max_memory)
{
  reader->whole = true;
  if ((!reader->observer &&
       cj2k_frame_store_begin(&reader->store, plan, max_memory, NULL) != CJ2K_OK) ||
      cj2k_tile_reader_start(&reader->tile_reader, plan, tile, max_memory, NULL) != CJ2K_OK)
    return CJ2K_PARTS_WHOLE;
  reader->tile_parts.num_tile_parts = 0;
  reader->walk = (Cj2kPacketWalk){.reader = &reader->tile_reader,
                                  .sop_part = UINT32_MAX,
                                  .max_layers = max_layers ? max_layers : UINT16_MAX};
  reader->packet_part = UINT32_MAX;
  reader->has_packet = false;
  reader->taken = true; /* of the frame before nothing is listed */
  reader->wanted = 0;
  reader->last_layer = (uint16_t)(plan->tiles[tile].num_layers - 1);
  reader->eph = cj2k_header_tile(plan->header, tile)->eph;
  Cj2kPartsState state = cj2k_parts_reader_enter(reader, data, header);
  reader->whole = state == CJ2K_PARTS_WHOLE;
  return state;
}
