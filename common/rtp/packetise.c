/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packetise.h"

#include <string.h>

/* Marker segments in front of a packet (SOT to SOD, SOP) share its payload up to this size; larger
 * ones get payloads of their own, so that POS stays small. */
#define MAX_PREFIX 512

void cj2k_rtp_payloads_clear(Cj2kRtpPayloads *payloads)
{
  g_free(payloads->payloads);
  memset(payloads, 0, sizeof *payloads);
}

static Cj2kRtpPayload *add_payload(Cj2kRtpPayloads *out, uint64_t offset, uint64_t size)
{
  if (out->count == out->capacity) {
    out->capacity = 2 * out->capacity + 256;
    out->payloads = g_renew(Cj2kRtpPayload, out->payloads, out->capacity);
  }
  Cj2kRtpPayload *payload = &out->payloads[out->count++];
  *payload = (Cj2kRtpPayload){.offset = offset, .size = (uint32_t)size, .lowest = UINT8_MAX};
  return payload;
}

static void add_main(const Cj2kRtpMap *map, uint32_t max_size, Cj2kRtpPayloads *out)
{
  for (uint64_t at = 0; at < map->header_bytes; at += max_size) {
    uint64_t size = MIN(max_size, map->header_bytes - at);
    add_payload(out, at, size)->header.kind = CJ2K_RTP_MAIN_MORE;
  }
  out->payloads[out->count - 1].header.kind =
      out->count == 1 ? CJ2K_RTP_MAIN_ONLY : CJ2K_RTP_MAIN_LAST;
}

/* Whether a packet begins a precinct, which is marked. */
static bool is_resync(const Cj2kRtpMap *map, const Cj2kRtpUnit *unit)
{
  return map->order != CJ2K_RTP_ORDER_UNMARKED && unit->layer == 0;
}

/* Whether a packet behind `before` ends the run that began with `first`, and begins a new one. */
static bool begins_run(const Cj2kRtpMap *map, const Cj2kRtpUnit *first, const Cj2kRtpUnit *before,
                       const Cj2kRtpUnit *unit)
{
  if (map->order == CJ2K_RTP_ORDER_UNMARKED)
    return before->offset + before->size != unit->offset;
  return is_resync(map, unit) || unit->resolution != before->resolution ||
         (is_resync(map, first) && unit->precinct != before->precinct);
}

static void begin_run(const Cj2kRtpMap *map, Cj2kRtpCursor *cursor)
{
  uint32_t first = cursor->behind;
  cursor->first = cursor->unit = first;
  cursor->inside = cursor->marked = true;
  cursor->foreign = false;
  if (first == map->num_units)
    return;
  cursor->foreign = map->units[first].offset > cursor->at;
  cursor->marked = !is_resync(map, &map->units[first]);
  cursor->behind = first + 1;
}

/* Where the run that the cursor is in ends, as far as its packets are known. *open: it may go on
 * behind that. */
static uint64_t find_end(const Cj2kRtpMap *map, Cj2kRtpCursor *cursor, bool *open)
{
  const Cj2kRtpUnit *units = map->units;
  uint32_t i = cursor->behind, first = cursor->first;
  *open = map->more;
  if (i == 0) /* there are no units */
    return map->end;
  while (i < map->num_units && !begins_run(map, &units[first], &units[i - 1], &units[i]))
    i++;
  cursor->behind = i;
  if (first < i && i == map->num_units && map->more && map->has_next)
    *open = !begins_run(map, &units[first], &units[i - 1], &map->next);
  if (i == map->num_units)
    return map->end;
  *open = false;
  return units[i - 1].offset + units[i - 1].size;
}

/* Sets RES and QUAL to the lowest values of the packets that have bytes in the payload. */
static void set_lowest(const Cj2kRtpMap *map, uint32_t *unit, uint32_t last,
                       Cj2kRtpPayload *payload)
{
  uint64_t end = payload->offset + payload->size;
  uint32_t resolution = 7, layer = 7, i = *unit;
  bool any = false;
  for (; i < last && map->units[i].offset < end; i++) {
    if (map->units[i].offset + map->units[i].size <= payload->offset)
      continue;
    resolution = MIN(resolution, map->units[i].resolution);
    layer = MIN(layer, map->units[i].layer);
    payload->lowest = MIN(payload->lowest, map->units[i].r);
    any = true;
  }
  *unit = i > *unit ? i - 1 : i; /* the last packet may continue in the next payload */
  payload->header.resolution = any ? (uint8_t)resolution : 0;
  payload->header.layer = any ? (uint8_t)layer : 0;
}

/* Divides the run up to `end` into payloads. `open`: the last one may get more bytes, and is added
 * only if there is no room for them. */
static void add_run(const Cj2kRtpMap *map, Cj2kRtpCursor *cursor, uint64_t end, bool open,
                    uint32_t max_size, Cj2kRtpPayloads *out)
{
  static const Cj2kRtpUnit none;
  const Cj2kRtpUnit *first = cursor->first < map->num_units ? &map->units[cursor->first] : &none;
  uint64_t resync = cursor->marked ? 0 : first->offset + first->header;
  while (cursor->at < end) {
    uint64_t at = cursor->at, limit = MIN(max_size, end - at);
    if (!cursor->marked && resync - at > MIN(MAX_PREFIX, max_size - 1))
      limit = MIN(limit, resync - at);
    if (open && limit < max_size && at + limit == end)
      return;
    Cj2kRtpPayload *payload = add_payload(out, at, limit);
    if (!cursor->foreign || at >= first->offset)
      set_lowest(map, &cursor->unit, cursor->behind, payload);
    if (!cursor->marked && resync - at < limit) {
      payload->header.marked = cursor->marked = true;
      payload->header.position = (uint16_t)(resync - at);
      payload->header.precinct = first->precinct;
    }
    cursor->at += limit;
  }
}

void cj2k_rtp_packetise_on(const Cj2kRtpMap *map, Cj2kRtpCursor *cursor, uint32_t max_size,
                           Cj2kRtpPayloads *out)
{
  bool open = false;
  out->count = 0;
  max_size = MAX(max_size, 1);
  if (cursor->at == 0) {
    add_main(map, max_size, out);
    cursor->at = map->header_bytes;
  }
  while (cursor->at < map->end && !open) {
    if (!cursor->inside)
      begin_run(map, cursor);
    uint64_t end = find_end(map, cursor, &open);
    add_run(map, cursor, end, open, max_size, out);
    cursor->inside = open;
  }
}

void cj2k_rtp_packetise(const Cj2kRtpMap *map, uint32_t max_size, Cj2kRtpPayloads *out)
{
  Cj2kRtpCursor cursor = {0};
  cj2k_rtp_packetise_on(map, &cursor, max_size, out);
}

void cj2k_rtp_pad(Cj2kRtpPayloads *payloads, uint64_t padding, uint32_t max_size)
{
  Cj2kRtpPayload *last = &payloads->payloads[payloads->count - 1];
  uint64_t end = last->offset + last->size;
  last->padding = (uint32_t)MIN(padding, max_size - MIN(last->size, max_size));
  padding -= last->padding;
  while (padding > 0) {
    last = add_payload(payloads, end, 0);
    last->padding = (uint32_t)MIN(padding, max_size);
    padding -= last->padding;
  }
}

uint32_t cj2k_rtp_last_payload(const Cj2kRtpPayloads *payloads)
{
  uint32_t last = payloads->count - 1;
  while (last > 0 && payloads->payloads[last].size == 0)
    last--;
  return last;
}
