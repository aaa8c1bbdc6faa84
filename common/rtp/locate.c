/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "locate.h"

#include "common/codestream/limits.h"
#include "common/codestream/markers.h"
#include "common/codestream/packet_lengths.h"
#include "common/codestream/tile_part_lists.h"
#include "common/runtime/deadline.h"
#include "common/runtime/error.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

uint64_t cj2k_rtp_max_memory(size_t size)
{
  return MAX(UINT64_C(768) << 20, (uint64_t)size * 256);
}

void cj2k_rtp_limit_items(size_t size, uint64_t before)
{
  uint64_t most = cj2k_most_items(size) + cj2k_most_visits(size);
  cj2k_deadline_begin(0);
  cj2k_deadline_limit_items(most - MIN(most, before));
}

struct Cj2kRtpLocator {
  Cj2kHeaderReader *headers;
  Cj2kTileParts tile_parts;
  Cj2kTilePartLists lists;
  Cj2kPlan *plan; /* of the last codestream */
  Cj2kPacketReader *packets;
  Cj2kRtpUnits units;
  bool same_levels; /* all tile-components have equally many decomposition levels */
  bool used_plt;
};

Cj2kRtpLocator *cj2k_rtp_locator_new(void)
{
  Cj2kRtpLocator *locator = g_new0(Cj2kRtpLocator, 1);
  locator->headers = cj2k_header_reader_new();
  return locator;
}

void cj2k_rtp_locator_free(Cj2kRtpLocator *locator)
{
  if (!locator)
    return;
  cj2k_packet_reader_free(locator->packets);
  cj2k_plan_unref(locator->plan);
  cj2k_tile_parts_clear(&locator->tile_parts);
  cj2k_tile_part_lists_clear(&locator->lists);
  cj2k_header_reader_free(locator->headers);
  cj2k_rtp_units_clear(&locator->units);
  g_free(locator);
}

bool cj2k_rtp_locator_used_plt(const Cj2kRtpLocator *locator)
{
  return locator->used_plt;
}

uint64_t cj2k_rtp_precinct_id(const Cj2kPlan *plan, const Cj2kPacketId *packet)
{
  const Cj2kPlanTileComp *tile_comp =
      &plan->tile_comps[plan->tiles[0].first_tile_comp + packet->component];
  uint32_t first = plan->resolutions[tile_comp->first_resolution].first_precinct;
  return packet->component + (uint64_t)(packet->precinct_index - first) * plan->num_components;
}

/* RES counts down from the highest resolution, so that it has one meaning for all tile-components
 * only if they have equally many decomposition levels. */
bool cj2k_rtp_same_levels(const Cj2kPlan *plan)
{
  for (uint32_t i = 1; i < plan->num_tile_comps; i++)
    if (plan->tile_comps[i].num_levels != plan->tile_comps[0].num_levels)
      return false;
  return true;
}

Cj2kRtpUnit cj2k_rtp_unit(const Cj2kPlan *plan, bool same_levels, const Cj2kPacketId *packet,
                          uint64_t offset, uint64_t size)
{
  uint64_t precinct = cj2k_rtp_precinct_id(plan, packet);
  Cj2kRtpUnit unit = {.offset = offset,
                      .size = (uint32_t)size,
                      .precinct = plan->num_tiles == 1 && precinct <= CJ2K_RTP_MAX_PID
                                      ? (uint32_t)precinct
                                      : UINT32_MAX,
                      .layer = packet->layer,
                      .r = packet->resolution};
  if (same_levels)
    unit.resolution = cj2k_rtp_resolution(packet->resolution, plan->tile_comps[0].num_levels);
  return unit;
}

static void add_packet(Cj2kRtpLocator *locator, const Cj2kPacketId *packet, uint64_t offset,
                       uint64_t size)
{
  Cj2kRtpUnit unit = cj2k_rtp_unit(locator->plan, locator->same_levels, packet, offset, size);
  cj2k_rtp_units_add(&locator->units, &unit);
}

static void observe(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t header_bytes,
                    uint64_t body_bytes)
{
  add_packet(user, packet, offset, header_bytes + body_bytes);
}

/* Finds packets by reading their headers. false: a packet is broken or missing. */
static bool read_packets(Cj2kRtpLocator *locator, const uint8_t *data, size_t size)
{
  Cj2kCodedFrame *frame;
  Cj2kError error = {0};
  if (!locator->packets)
    locator->packets = cj2k_packet_reader_new();
  cj2k_packet_reader_observe(locator->packets, observe, locator);
  return cj2k_packets_read(locator->packets, locator->plan, &locator->tile_parts, data, size, 0,
                           true, cj2k_rtp_max_memory(size), &frame, &error) == CJ2K_OK &&
         frame->unread_bytes == 0;
}

/* Finds packets by the lengths in PLT. false: PLT is missing or does not match the data. */
static bool read_lengths(Cj2kRtpLocator *locator, const uint8_t *data)
{
  Cj2kPacketLengths lengths;
  Cj2kPacketIterator iterator = {0};
  Cj2kPacketId packet;
  const Cj2kTileParts *parts = &locator->tile_parts;
  bool good = cj2k_packet_lengths_begin(&lengths, data, parts) &&
              cj2k_tile_part_lists_make(&locator->lists, locator->plan->num_tiles, parts);
  for (uint32_t tile = 0; good && tile < locator->plan->num_tiles; tile++) {
    cj2k_packet_iterator_start(&iterator, locator->plan, tile);
    cj2k_packet_lengths_tile(&lengths, locator->lists.first[tile], locator->lists.next);
    while (good && cj2k_packet_iterator_next(&iterator, &packet)) {
      uint64_t offset, size;
      good = cj2k_packet_lengths_next(&lengths, &offset, &size);
      if (good)
        add_packet(locator, &packet, offset, size);
    }
    good = good && cj2k_packet_lengths_done(&lengths);
  }
  cj2k_packet_iterator_clear(&iterator);
  return good;
}

static int compare_units(const void *a, const void *b)
{
  const Cj2kRtpUnit *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Notes which units begin with SOP, and sorts them by offset. */
static void finish_units(Cj2kRtpUnits *units, const uint8_t *data)
{
  bool sorted = true;
  cj2k_rtp_note_sop(units, 0, data);
  for (uint32_t i = 1; i < units->count; i++)
    sorted &= units->units[i - 1].offset <= units->units[i].offset;
  if (!sorted)
    qsort(units->units, units->count, sizeof *units->units, compare_units);
}

/* Chooses ORDH (RFC 9828, 5.3). */
static uint8_t choose_order(const Cj2kRtpLocator *locator)
{
  const Cj2kPlan *plan = locator->plan;
  const Cj2kTileCoding *coding = cj2k_header_tile(plan->header, 0);
  if (plan->num_tiles != 1 || locator->units.count == 0)
    return CJ2K_RTP_ORDER_UNMARKED;
  for (uint32_t i = 0; i < locator->units.count; i++)
    if (locator->units.units[i].precinct > CJ2K_RTP_MAX_PID)
      return CJ2K_RTP_ORDER_UNMARKED;
  return coding->num_volumes > 0 ? CJ2K_RTP_ORDER_CHANGES
                                 : (uint8_t)(CJ2K_RTP_ORDER_LRCP + coding->progression);
}

static Cj2kStatus read_headers(Cj2kRtpLocator *locator, const uint8_t *data, size_t size,
                               Cj2kError *error)
{
  Cj2kHeader *header;
  bool same;
  Cj2kStatus status =
      cj2k_header_read(locator->headers, data, size, false, cj2k_rtp_max_memory(size), &header,
                       &same, &locator->tile_parts, error);
  if (status != CJ2K_OK)
    return status;
  if (locator->tile_parts.num_tile_parts == 0)
    return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM, "the codestream has no tile-part");
  if (!locator->tile_parts.has_eoc)
    return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM, "the codestream does not end with EOC");
  status = cj2k_plan_renew(&locator->plan, header, 0, cj2k_rtp_max_memory(size), error);
  if (status == CJ2K_OK)
    locator->same_levels = cj2k_rtp_same_levels(locator->plan);
  return status;
}

static Cj2kStatus locate(Cj2kRtpLocator *locator, const uint8_t *data, size_t size, Cj2kRtpMap *map,
                         Cj2kError *error)
{
  Cj2kStatus status = read_headers(locator, data, size, error);
  if (status != CJ2K_OK)
    return status;
  const Cj2kTileParts *parts = &locator->tile_parts;
  bool packed = parts->packed_headers != NULL;
  locator->units.count = 0;
  locator->used_plt = !packed && !parts->truncated && read_lengths(locator, data);
  if (!locator->used_plt) {
    locator->units.count = 0;
    if (packed || parts->truncated || !read_packets(locator, data, parts->end))
      locator->units.count = 0;
  }
  finish_units(&locator->units, data);
  *map = (Cj2kRtpMap){.header_bytes = parts->tile_parts[0].data.offset,
                      .end = parts->end,
                      .order = choose_order(locator),
                      .units = locator->units.units,
                      .num_units = locator->units.count,
                      .header = locator->plan->header};
  return CJ2K_OK;
}

Cj2kStatus cj2k_rtp_locate(Cj2kRtpLocator *locator, const uint8_t *data, size_t size,
                           Cj2kRtpMap *map, Cj2kError *error)
{
  cj2k_rtp_limit_items(size, 0);
  Cj2kStatus status = locate(locator, data, size, map, error);
  cj2k_deadline_end();
  return status;
}

bool cj2k_rtp_header_signature(const uint8_t *data, size_t size, GByteArray *signature)
{
  size_t at = 2;
  if (size < 2 || cj2k_get16(data) != CJ2K_SOC)
    return false;
  while (size - at >= 2 && cj2k_get16(data + at) != CJ2K_SOD) {
    uint16_t marker = cj2k_get16(data + at);
    size_t length = 2;
    if (cj2k_marker_has_segment(marker))
      length = size - at >= 4 ? 2 + (size_t)cj2k_get16(data + at + 2) : SIZE_MAX;
    if (length > size - at)
      return false;
    if (marker != CJ2K_SOT && marker != CJ2K_COM && marker != CJ2K_TLM && marker != CJ2K_PLM &&
        marker != CJ2K_PLT)
      g_byte_array_append(signature, data + at, (guint)length);
    at += length;
  }
  return size - at >= 2;
}
