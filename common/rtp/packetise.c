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

/* A run of packets that are divided into payloads together. */
typedef struct {
  uint64_t begin, end; /* includes the marker segments in front of the first packet */
  uint64_t resync;     /* offset of its resync point; UINT64_MAX: none */
  uint32_t precinct;
  uint32_t first, last; /* indices of units, `last` exclusive */
  bool foreign;         /* begins with a tile-part header, which every resolution needs */
} Run;

static bool is_resync(const Cj2kRtpMap *map, uint32_t i)
{
  return map->order != CJ2K_RTP_ORDER_UNMARKED && map->units[i].layer == 0;
}

/* Whether packet i ends the run that began with packet `first`, and begins a new one. */
static bool begins_run(const Cj2kRtpMap *map, uint32_t first, uint32_t i)
{
  const Cj2kRtpUnit *unit = &map->units[i], *before = &map->units[i - 1];
  if (map->order == CJ2K_RTP_ORDER_UNMARKED)
    return before->offset + before->size != unit->offset;
  return is_resync(map, i) || unit->resolution != before->resolution ||
         (is_resync(map, first) && unit->precinct != before->precinct);
}

static Run next_run(const Cj2kRtpMap *map, uint64_t begin, uint32_t first)
{
  Run run = {.begin = begin, .end = map->end, .resync = UINT64_MAX, .first = first, .last = first};
  if (first == map->num_units)
    return run;
  const Cj2kRtpUnit *unit = &map->units[first];
  run.foreign = unit->offset > begin;
  if (is_resync(map, first)) {
    run.resync = unit->offset + unit->header;
    run.precinct = unit->precinct;
  }
  for (run.last = first + 1; run.last < map->num_units; run.last++)
    if (begins_run(map, first, run.last))
      break;
  if (run.last < map->num_units) {
    unit = &map->units[run.last - 1];
    run.end = unit->offset + unit->size;
  }
  return run;
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

static void add_run(const Cj2kRtpMap *map, const Run *run, uint32_t max_size, Cj2kRtpPayloads *out)
{
  uint64_t at = run->begin;
  uint32_t unit = run->first;
  bool marked = run->resync == UINT64_MAX;
  while (at < run->end) {
    uint64_t limit = MIN(max_size, run->end - at);
    if (!marked && run->resync - at > MIN(MAX_PREFIX, max_size - 1))
      limit = MIN(limit, run->resync - at);
    Cj2kRtpPayload *payload = add_payload(out, at, limit);
    bool foreign = run->foreign && at < map->units[run->first].offset;
    if (!foreign)
      set_lowest(map, &unit, run->last, payload);
    if (!marked && run->resync - at < limit) {
      payload->header.marked = marked = true;
      payload->header.position = (uint16_t)(run->resync - at);
      payload->header.precinct = run->precinct;
    }
    at += limit;
  }
}

void cj2k_rtp_packetise_from(const Cj2kRtpMap *map, uint64_t from, uint32_t unit, uint32_t max_size,
                             Cj2kRtpPayloads *out)
{
  out->count = 0;
  max_size = MAX(max_size, 1);
  if (from == 0)
    add_main(map, max_size, out);
  for (uint64_t at = MAX(from, map->header_bytes); at < map->end;) {
    Run run = next_run(map, at, unit);
    add_run(map, &run, max_size, out);
    at = run.end;
    unit = run.last;
  }
}

void cj2k_rtp_packetise(const Cj2kRtpMap *map, uint32_t max_size, Cj2kRtpPayloads *out)
{
  cj2k_rtp_packetise_from(map, 0, 0, max_size, out);
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
