/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "locate_parts.h"

#include "common/codestream/markers.h"
#include "common/codestream/packets_parts.h"
#include "locate_plt.h"

struct Cj2kRtpPartsLocator {
  Cj2kHeaderReader *headers;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan; /* of the last codestream */
  Cj2kPartsReader *reader;
  Cj2kPartsHeader head;
  Cj2kRtpUnits units;
  bool same_levels; /* of the plan */
  bool begun;       /* the reader has the headers */
  bool whole;       /* WHOLE is the answer */
  bool broken;      /* a packet is broken */
};

Cj2kRtpPartsLocator *cj2k_rtp_parts_locator_new(void)
{
  Cj2kRtpPartsLocator *locator = g_new0(Cj2kRtpPartsLocator, 1);
  locator->headers = cj2k_header_reader_new();
  locator->reader = cj2k_parts_reader_new();
  return locator;
}

void cj2k_rtp_parts_locator_free(Cj2kRtpPartsLocator *locator)
{
  if (!locator)
    return;
  cj2k_parts_reader_free(locator->reader);
  cj2k_plan_unref(locator->plan);
  cj2k_tile_parts_clear(&locator->tile_parts);
  cj2k_header_reader_free(locator->headers);
  cj2k_rtp_units_clear(&locator->units);
  g_free(locator);
}

void cj2k_rtp_parts_begin(Cj2kRtpPartsLocator *locator)
{
  locator->head = (Cj2kPartsHeader){0};
  locator->units.count = 0;
  locator->begun = locator->whole = locator->broken = false;
}

/* Whether all precincts can be marked, and each is complete before the next one begins. */
static bool is_usual(const Cj2kPlan *plan)
{
  const Cj2kTileCoding *coding = cj2k_header_tile(plan->header, 0);
  bool positions = coding->progression == CJ2K_RPCL || coding->progression == CJ2K_PCRL ||
                   coding->progression == CJ2K_CPRL;
  if (plan->num_tiles != 1 || coding->num_volumes > 0 || !positions)
    return false;
  /* The precincts of all components are at least as many as those of the largest one. */
  return (uint64_t)plan->num_precincts * plan->num_components <= CJ2K_RTP_MAX_PID;
}

static void observe(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t size)
{
  Cj2kRtpPartsLocator *locator = user;
  Cj2kRtpUnit unit = cj2k_rtp_unit(locator->plan, locator->same_levels, packet, offset, size);
  cj2k_rtp_units_add(&locator->units, &unit);
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
  locator->same_levels = cj2k_rtp_same_levels(locator->plan);
  cj2k_parts_reader_observe(locator->reader, observe, locator);
  return is_usual(locator->plan) &&
         cj2k_parts_reader_begin(locator->reader, locator->plan, &locator->head, data, 0,
                                 cj2k_rtp_max_memory(size)) != CJ2K_PARTS_WHOLE;
}

/* The number of units that belong to complete precincts. `all`: all packets were read, and the last
 * precinct waits for the end of the codestream, whose bytes share its payload. */
static uint32_t complete_units(const Cj2kRtpPartsLocator *locator, bool all)
{
  const Cj2kRtpUnit *units = locator->units.units;
  uint32_t last_layer = locator->plan->tiles[0].num_layers - 1u, count = locator->units.count;
  if (all && count)
    count--;
  while (count && units[count - 1].layer != last_layer)
    count--;
  return count;
}

Cj2kRtpPartsState cj2k_rtp_parts_locate(Cj2kRtpPartsLocator *locator, const uint8_t *data,
                                        size_t size, bool last, Cj2kRtpMap *map)
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
  const Cj2kPacketId *precincts = NULL;
  uint32_t before = locator->units.count, ignored = 0;
  Cj2kPartsState state = CJ2K_PARTS_WHOLE;
  if (!locator->broken)
    state = (last ? cj2k_parts_reader_end : cj2k_parts_reader_read)(locator->reader, data, size,
                                                                    &precincts, &ignored);
  locator->broken = state == CJ2K_PARTS_WHOLE;
  cj2k_rtp_note_sop(&locator->units, before, data);
  const Cj2kTileCoding *coding = cj2k_header_tile(locator->plan->header, 0);
  uint32_t count = last ? locator->units.count : complete_units(locator, state == CJ2K_PARTS_DONE);
  const Cj2kRtpUnit *end = count ? &locator->units.units[count - 1] : NULL;
  *map = (Cj2kRtpMap){.header_bytes = locator->head.at,
                      .end = end ? end->offset + end->size : locator->head.at,
                      .order = (uint8_t)(CJ2K_RTP_ORDER_LRCP + coding->progression),
                      .units = locator->units.units,
                      .num_units = count,
                      .header = locator->plan->header};
  if (last)
    map->end = size;
  return CJ2K_RTP_PARTS_READY;
}
