/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "locate_parts.h"

#include "common/codestream/markers.h"
#include "common/codestream/packets_parts.h"
#include "common/runtime/deadline.h"
#include "units.h"

/* Limit of packets that are counted one by one, because a damaged header can announce billions. */
#define MAX_COUNTED (1u << 20)

typedef struct {
  Cj2kPartsReader *reader; /* NULL: there has not been any */
  bool begun;              /* a tile-part of this codestream was entered */
} Tile;

struct Cj2kRtpPartsLocator {
  Cj2kHeaderReader *headers;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan; /* of the last codestream */
  GArray *tiles;  /* Tile */
  Cj2kPacketIterator iterator;
  Cj2kPartsHeader head; /* of the first tile-part */
  Cj2kPartsHeader next; /* of the tile-part behind the current one */
  uint32_t tile;        /* of the current tile-part */
  Cj2kRtpUnits units;
  uint64_t num_packets; /* of the codestream */
  uint8_t order;        /* ORDH */
  bool same_levels;     /* of the plan */
  bool begun;           /* the headers have been read */
  bool whole;           /* WHOLE is the answer */
  bool broken;          /* a packet is broken */
  uint64_t items;       /* precincts and code-blocks that were made and looked at so far */
};

static void clear_tile(gpointer data)
{
  Tile *tile = data;
  cj2k_parts_reader_free(tile->reader);
}

Cj2kRtpPartsLocator *cj2k_rtp_parts_locator_new(void)
{
  Cj2kRtpPartsLocator *locator = g_new0(Cj2kRtpPartsLocator, 1);
  locator->headers = cj2k_header_reader_new();
  locator->tiles = g_array_new(FALSE, TRUE, sizeof(Tile));
  g_array_set_clear_func(locator->tiles, clear_tile);
  return locator;
}

void cj2k_rtp_parts_locator_free(Cj2kRtpPartsLocator *locator)
{
  if (!locator)
    return;
  g_array_unref(locator->tiles);
  cj2k_packet_iterator_clear(&locator->iterator);
  cj2k_plan_unref(locator->plan);
  cj2k_tile_parts_clear(&locator->tile_parts);
  cj2k_header_reader_free(locator->headers);
  cj2k_rtp_units_clear(&locator->units);
  g_free(locator);
}

void cj2k_rtp_parts_begin(Cj2kRtpPartsLocator *locator)
{
  locator->head = locator->next = (Cj2kPartsHeader){0};
  locator->units.count = 0;
  locator->items = 0;
  locator->begun = locator->whole = locator->broken = false;
  for (uint32_t i = 0; i < locator->tiles->len; i++)
    g_array_index(locator->tiles, Tile, i).begun = false;
}

static Cj2kPartsReader *current_reader(const Cj2kRtpPartsLocator *locator)
{
  return g_array_index(locator->tiles, Tile, locator->tile).reader;
}

/* ---------------------------------------------------------------------------- headers --- */

/* Whether the headers describe the order of all packets of a tile: where POC changes it, later
 * tile-part headers may go on with that. */
static bool has_whole_order(Cj2kRtpPartsLocator *locator, uint32_t tile)
{
  uint64_t total = cj2k_tile_num_packets(locator->plan, tile), count = 0;
  Cj2kPacketId packet;
  if (cj2k_header_tile(locator->plan->header, tile)->num_volumes == 0)
    return true;
  if (locator->num_packets + total > MAX_COUNTED)
    return false;
  cj2k_packet_iterator_start(&locator->iterator, locator->plan, tile);
  while (cj2k_packet_iterator_next(&locator->iterator, &packet))
    count++;
  return count == total;
}

/* The largest PID of the only tile. */
static uint64_t largest_pid(const Cj2kPlan *plan)
{
  uint64_t largest = 0;
  for (uint32_t c = 0; c < plan->num_components; c++) {
    const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[c];
    for (uint32_t r = 0; r <= tile_comp->num_levels; r++) {
      const Cj2kPlanResolution *resolution = &plan->resolutions[tile_comp->first_resolution + r];
      uint64_t count = (uint64_t)resolution->precincts_x * resolution->precincts_y;
      const Cj2kPacketId packet = {
          .component = c, .precinct_index = (uint32_t)(resolution->first_precinct + count - 1)};
      if (count)
        largest = MAX(largest, cj2k_rtp_precinct_id(plan, &packet));
    }
  }
  return largest;
}

/* Chooses ORDH as for the whole codestream. */
static uint8_t choose_order(const Cj2kPlan *plan)
{
  const Cj2kTileCoding *coding = cj2k_header_tile(plan->header, 0);
  if (plan->num_tiles != 1 || largest_pid(plan) > CJ2K_RTP_MAX_PID)
    return CJ2K_RTP_ORDER_UNMARKED;
  return coding->num_volumes > 0 ? CJ2K_RTP_ORDER_CHANGES
                                 : (uint8_t)(CJ2K_RTP_ORDER_LRCP + coding->progression);
}

static void observe(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t size)
{
  Cj2kRtpPartsLocator *locator = user;
  Cj2kRtpUnit unit = cj2k_rtp_unit(locator->plan, locator->same_levels, packet, offset, size);
  cj2k_rtp_units_add(&locator->units, &unit);
}

/* Begins or continues the tile that the tile-part with this complete header belongs to. false: the
 * codestream is broken. */
static bool enter(Cj2kRtpPartsLocator *locator, const Cj2kPartsHeader *header, const uint8_t *data,
                  size_t size)
{
  uint32_t number = cj2k_get16(data + header->sot + 4);
  if (number >= locator->plan->num_tiles)
    return false;
  if (number >= locator->tiles->len)
    g_array_set_size(locator->tiles, number + 1);
  Tile *tile = &g_array_index(locator->tiles, Tile, number);
  if (!tile->reader) {
    tile->reader = cj2k_parts_reader_new();
    cj2k_parts_reader_observe(tile->reader, observe, locator);
  }
  locator->tile = number;
  bool first = !tile->begun;
  tile->begun = true;
  return (first ? cj2k_parts_reader_begin(tile->reader, locator->plan, number, header, data, 0,
                                          cj2k_rtp_max_memory(size))
                : cj2k_parts_reader_enter(tile->reader, data, header)) != CJ2K_PARTS_WHOLE;
}

/* Reads the headers, which are complete. false: WHOLE. */
static bool start(Cj2kRtpPartsLocator *locator, const uint8_t *data)
{
  Cj2kHeader *header;
  Cj2kError error = {0};
  bool same;
  size_t size = (size_t)locator->head.at;
  if (cj2k_header_read(locator->headers, data, size, false, cj2k_rtp_max_memory(size), &header,
                       &same, &locator->tile_parts, &error) != CJ2K_OK ||
      locator->tile_parts.packed_headers)
    return false;
  if (cj2k_plan_renew(&locator->plan, header, 0, cj2k_rtp_max_memory(size), &error) != CJ2K_OK)
    return false;
  locator->num_packets = 0;
  for (uint32_t tile = 0; tile < locator->plan->num_tiles; tile++) {
    if (!has_whole_order(locator, tile))
      return false;
    locator->num_packets += cj2k_tile_num_packets(locator->plan, tile);
  }
  locator->same_levels = cj2k_rtp_same_levels(locator->plan);
  locator->order = choose_order(locator->plan);
  return locator->num_packets > 0 && enter(locator, &locator->head, data, size);
}

/* ---------------------------------------------------------------------------- packets --- */

/* Goes to the tile-part that begins at `sot`. DONE: it was entered. */
static Cj2kPartsState next_part(Cj2kRtpPartsLocator *locator, uint64_t sot, const uint8_t *data,
                                size_t size)
{
  Cj2kPartsHeader *next = &locator->next;
  if (next->sot != sot)
    *next = (Cj2kPartsHeader){.sot = sot};
  Cj2kPartsState state = cj2k_parts_header_next(next, data, size);
  if (state == CJ2K_PARTS_DONE && !enter(locator, next, data, size))
    return CJ2K_PARTS_WHOLE;
  return state;
}

/* Reads the packets that have become complete, tile-part by tile-part. */
static void read_parts(Cj2kRtpPartsLocator *locator, const uint8_t *data, size_t size, bool last)
{
  Cj2kPartsState state = locator->broken ? CJ2K_PARTS_WHOLE : CJ2K_PARTS_DONE;
  while (state == CJ2K_PARTS_DONE) {
    Cj2kPartsReader *reader = current_reader(locator);
    const Cj2kPacketId *precincts = NULL;
    uint32_t ignored = 0;
    bool used_up;
    uint64_t end = cj2k_parts_reader_part_end(reader, &used_up);
    bool at_end = last && end == UINT64_MAX;
    if (!used_up)
      state = (at_end ? cj2k_parts_reader_end : cj2k_parts_reader_read)(reader, data, size,
                                                                        &precincts, &ignored);
    end = cj2k_parts_reader_part_end(reader, &used_up);
    if (at_end || (!used_up && state == CJ2K_PARTS_MORE) || end == UINT64_MAX)
      break;
    if (!used_up)
      state = CJ2K_PARTS_WHOLE; /* bytes are left behind the last packet */
    else
      state = locator->units.count < locator->num_packets ? next_part(locator, end, data, size)
                                                          : CJ2K_PARTS_MORE;
  }
  locator->broken |= state == CJ2K_PARTS_WHOLE;
}

/* Sets map->next, behind the packets of the map. */
static void foretell(const Cj2kRtpPartsLocator *locator, Cj2kRtpMap *map)
{
  const Cj2kPartsReader *reader = current_reader(locator);
  bool used_up, more = locator->units.count < locator->num_packets;
  (void)cj2k_parts_reader_part_end(reader, &used_up);
  const Cj2kPacketId *packet = more ? cj2k_parts_reader_next(reader) : NULL;
  map->has_next = packet || (more && used_up);
  if (packet)
    map->next = cj2k_rtp_unit(locator->plan, locator->same_levels, packet, map->end, 0);
  if (used_up)
    map->next.offset = map->end + 1;
}

static Cj2kRtpPartsState locate(Cj2kRtpPartsLocator *locator, const uint8_t *data, size_t size,
                                bool last, Cj2kRtpMap *map)
{
  if (!locator->begun && !locator->whole) {
    Cj2kPartsState state = cj2k_parts_header_scan(&locator->head, data, size);
    if (state == CJ2K_PARTS_MORE && !last)
      return CJ2K_RTP_PARTS_MORE;
    locator->whole = state != CJ2K_PARTS_DONE || !start(locator, data);
    locator->begun = !locator->whole;
  }
  if (locator->whole)
    return CJ2K_RTP_PARTS_WHOLE;
  uint32_t before = locator->units.count;
  read_parts(locator, data, size, last);
  cj2k_rtp_note_sop(&locator->units, before, data);
  uint32_t count = locator->units.count;
  const Cj2kRtpUnit *end = count ? &locator->units.units[count - 1] : NULL;
  *map = (Cj2kRtpMap){.header_bytes = locator->head.at,
                      .end = end ? end->offset + end->size : locator->head.at,
                      .order = locator->order,
                      .units = locator->units.units,
                      .num_units = count,
                      .header = locator->plan->header,
                      .total_units = locator->num_packets,
                      .more = !last};
  if (last)
    map->end = size;
  else if (!locator->broken)
    foretell(locator, map);
  return CJ2K_RTP_PARTS_READY;
}

Cj2kRtpPartsState cj2k_rtp_parts_locate(Cj2kRtpPartsLocator *locator, const uint8_t *data,
                                        size_t size, bool last, Cj2kRtpMap *map)
{
  cj2k_rtp_limit_items(size, locator->items);
  Cj2kRtpPartsState state = locate(locator, data, size, last, map);
  locator->items += cj2k_deadline_items();
  cj2k_deadline_end();
  return state;
}

uint64_t cj2k_rtp_parts_end(const Cj2kRtpPartsLocator *locator, const uint8_t *data, size_t size)
{
  uint32_t count = locator->units.count;
  bool used_up;
  if (!locator->begun || locator->broken || count < locator->num_packets)
    return 0;
  const Cj2kRtpUnit *last = &locator->units.units[count - 1];
  uint64_t end = cj2k_parts_reader_part_end(current_reader(locator), &used_up);
  if (end == UINT64_MAX)
    end = last->offset + last->size;
  return end <= size && size - end >= 2 && cj2k_get16(data + end) == CJ2K_EOC ? end + 2 : 0;
}
