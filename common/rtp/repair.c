/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "repair.h"

#include "common/codestream/markers.h"
#include "common/codestream/tile_reader.h"
#include "common/runtime/deadline.h"
#include "locate.h"
#include "repair_packed.h"
#include "repair_parts.h"

#include <string.h>

/* Limit of a picture, as cj2k_plan_new counts it: enough for 8K with four components. */
#define MAX_MEMORY  (UINT64_C(1) << 30)
#define MAX_PACKETS (UINT64_C(1) << 22) /* limit for all tiles together */

struct Cj2kRtpRepairer {
  Cj2kHeaderReader *headers;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan;
  Cj2kTileReader reader;
  Cj2kRtpParts parts;
  Cj2kRtpPacked packed; /* of a tile */
  GByteArray *skeleton; /* a codestream of headers alone, from which the plan is made */
  GArray *packets;      /* Cj2kPacketId: those of a tile, in the order of its progression */
  uint32_t *first;      /* for each precinct: index in `packets` of its first packet */
  uint8_t *dead;        /* for each precinct: 1 if a packet of it is missing, so that its later ones
                           cannot be read */
  uint32_t num_precincts;
};

Cj2kRtpRepairer *cj2k_rtp_repairer_new(void)
{
  Cj2kRtpRepairer *repairer = g_new0(Cj2kRtpRepairer, 1);
  repairer->headers = cj2k_header_reader_new();
  repairer->skeleton = g_byte_array_new();
  repairer->packets = g_array_new(FALSE, FALSE, sizeof(Cj2kPacketId));
  cj2k_rtp_parts_init(&repairer->parts);
  cj2k_rtp_packed_init(&repairer->packed);
  return repairer;
}

void cj2k_rtp_repairer_free(Cj2kRtpRepairer *repairer)
{
  if (!repairer)
    return;
  cj2k_tile_reader_clear(&repairer->reader);
  cj2k_plan_unref(repairer->plan);
  cj2k_tile_parts_clear(&repairer->tile_parts);
  cj2k_header_reader_free(repairer->headers);
  cj2k_rtp_parts_clear(&repairer->parts);
  cj2k_rtp_packed_clear(&repairer->packed);
  g_byte_array_unref(repairer->skeleton);
  g_array_unref(repairer->packets);
  g_free(repairer->first);
  g_free(repairer->dead);
  g_free(repairer);
}

/* --- headers --- */

static void put16(GByteArray *out, uint32_t value)
{
  uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};
  g_byte_array_append(out, bytes, 2);
}

static void put32(GByteArray *out, uint32_t value)
{
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

/* Copies marker segments except TLM, PLM and PLT, and, unless `packed`, PPM and PPT. */
static void copy_segments(GByteArray *out, const uint8_t *data, uint64_t at, uint64_t end,
                          bool packed)
{
  while (at < end) {
    uint16_t marker = cj2k_get16(data + at);
    uint32_t size = cj2k_marker_bytes(data + at);
    bool is_packed = marker == CJ2K_PPM || marker == CJ2K_PPT;
    if (marker != CJ2K_TLM && marker != CJ2K_PLM && marker != CJ2K_PLT && (packed || !is_packed))
      g_byte_array_append(out, data + at, size);
    at += size;
  }
}

static bool has_ppm(const Cj2kRtpParts *parts)
{
  const uint8_t *data = parts->flat->data;
  for (uint64_t at = 2; at < parts->main;) {
    if (cj2k_get16(data + at) == CJ2K_PPM)
      return true;
    at += cj2k_marker_bytes(data + at);
  }
  return false;
}

/* Whether the packed packet headers can be assigned to tiles, if there are any: those in PPM come
 * in the order of tile-parts, and must be all there. */
static bool can_unpack(const Cj2kRtpRepairer *repairer)
{
  const Cj2kRtpParts *parts = &repairer->parts;
  if (!repairer->tile_parts.packed_headers)
    return true;
  for (uint32_t tile = 0; has_ppm(parts) && tile < parts->num_tiles; tile++)
    if (parts->tile_headers[tile].size == 0)
      return false;
  return parts->in_turn;
}

/* Writes SOT to SOD for the only tile-part of a tile; set_length sets Psot later. `packed`: with
 * PPT. */
static void put_tile_header(GByteArray *out, const Cj2kRtpParts *parts, uint32_t tile, bool packed)
{
  Cj2kSpan span = parts->tile_headers[tile];
  put16(out, CJ2K_SOT);
  put16(out, 10);
  put16(out, tile);
  put32(out, 0);
  put16(out, 1); /* TPsot 0, TNsot 1 */
  if (span.size)
    copy_segments(out, parts->flat->data, span.offset, span.offset + span.size - 2, packed);
  put16(out, CJ2K_SOD);
}

/* Sets Psot of the tile-part that extends from `at` to the end of `out`. */
static void set_length(GByteArray *out, guint at)
{
  uint32_t size = out->len - at;
  for (guint i = 0; i < 4; i++)
    out->data[at + 6 + i] = (uint8_t)(size >> (24 - 8 * i));
}

/* Whether the sender left the length of the only tile's first tile-part open (Psot = 0). It stays
 * so, because bytes with this header may have been handed out. */
static bool has_open_end(const Cj2kRtpParts *parts)
{
  return parts->num_tiles == 1 && cj2k_get32(parts->flat->data + parts->main + 6) == 0;
}

/* Makes the plan of the codestream from its headers alone. */
static bool make_plan(Cj2kRtpRepairer *repairer)
{
  const Cj2kRtpParts *parts = &repairer->parts;
  GByteArray *skeleton = repairer->skeleton;
  Cj2kHeader *header;
  Cj2kError error = {0};
  bool same;
  g_byte_array_set_size(skeleton, 0);
  g_byte_array_append(skeleton, parts->flat->data, 2);
  copy_segments(skeleton, parts->flat->data, 2, parts->main, true);
  for (uint32_t tile = 0; tile < parts->num_tiles; tile++) {
    guint at = skeleton->len;
    put_tile_header(skeleton, parts, tile, true);
    set_length(skeleton, at);
  }
  put16(skeleton, CJ2K_EOC);
  if (cj2k_header_read(repairer->headers, skeleton->data, skeleton->len, true, MAX_MEMORY, &header,
                       &same, &repairer->tile_parts, &error) != CJ2K_OK ||
      !can_unpack(repairer))
    return false;
  return cj2k_plan_renew(&repairer->plan, header, 0, MAX_MEMORY, &error) == CJ2K_OK;
}

/* --- a tile --- */

/* The state of repairing a tile. */
typedef struct {
  Cj2kRtpRepairer *repairer;
  const Cj2kTileCoding *coding;
  const uint8_t *flat;
  uint32_t tile;
  uint32_t next;  /* index of the next packet to write, in the order of the progression */
  uint32_t mark;  /* index of the next resync point */
  uint32_t slice; /* index of the first slice that has not been read */
  /* Nsop of the tile's first packet, which some encoders do not begin with 0. */
  uint16_t first_sop;
  bool sop_known;   /* first_sop was read from the codestream, not assumed */
  bool sop_useless; /* all packets have the same Nsop, which is first_sop */
  Cj2kRtpArrived *arrived;
  GByteArray *out;
  Cj2kRtpRepaired *result;
} Walk;

static const Cj2kPacketId *packet_at(const Walk *walk, uint32_t index)
{
  return &g_array_index(walk->repairer->packets, Cj2kPacketId, index);
}

static uint32_t num_packets(const Walk *walk)
{
  return walk->repairer->packets->len;
}

/* Nsop of packet walk->next. */
static uint16_t next_nsop(const Walk *walk)
{
  return (uint16_t)(walk->first_sop + (walk->sop_useless ? 0 : walk->next));
}

/* Writes empty packets in place of all packets before `end`. Later packets of their precincts
 * cannot be read any more, because packet headers depend on those of earlier layers. */
static void fill(Walk *walk, uint32_t end)
{
  for (; walk->next < end; walk->next++) {
    if (walk->coding->sop) {
      put16(walk->out, CJ2K_SOP);
      put16(walk->out, 4);
      put16(walk->out, next_nsop(walk));
    }
    g_byte_array_append(walk->out, (const uint8_t *)"", 1);
    if (walk->coding->eph)
      put16(walk->out, CJ2K_EPH);
    walk->repairer->dead[packet_at(walk, walk->next)->precinct_index] = 1;
    walk->result->filled++;
  }
}

/* Marks the arrived payloads that have bytes in flat[begin, end). */
static void mark_used(const Walk *walk, uint64_t begin, uint64_t end)
{
  const GArray *origins = walk->repairer->parts.origins;
  uint32_t count = origins->len - 1, first = 0, behind = count;
  while (behind - first > 1) {
    uint32_t middle = first + (behind - first) / 2;
    if (g_array_index(origins, uint64_t, middle) <= begin)
      first = middle;
    else
      behind = middle;
  }
  for (; first < count && g_array_index(origins, uint64_t, first) < end; first++)
    if (g_array_index(origins, uint64_t, first + 1) > begin)
      walk->arrived[first].used = true;
}

/* The offset and PID of the next resync point in [at, end). UINT64_MAX: there is none. */
static uint64_t next_mark(Walk *walk, uint64_t at, uint64_t end, uint32_t *precinct)
{
  const GArray *marks = walk->repairer->parts.marks;
  while (walk->mark < marks->len && g_array_index(marks, Cj2kRtpMark, walk->mark).at < at)
    walk->mark++;
  if (walk->mark == marks->len || g_array_index(marks, Cj2kRtpMark, walk->mark).at >= end)
    return UINT64_MAX;
  *precinct = g_array_index(marks, Cj2kRtpMark, walk->mark).precinct;
  return g_array_index(marks, Cj2kRtpMark, walk->mark).at;
}

/* The index of the first packet of the precinct with this PID. UINT32_MAX: there is none. */
static uint32_t packet_of_precinct(const Walk *walk, uint32_t pid)
{
  const Cj2kPlan *plan = walk->repairer->plan;
  uint32_t component = pid % plan->num_components, precinct = pid / plan->num_components;
  if (plan->num_tiles != 1)
    return UINT32_MAX;
  const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[component];
  const Cj2kPlanResolution *last =
      &plan->resolutions[tile_comp->first_resolution + tile_comp->num_levels];
  uint32_t first = plan->resolutions[tile_comp->first_resolution].first_precinct;
  uint32_t end = last->first_precinct + last->precincts_x * last->precincts_y;
  return precinct < end - first ? walk->repairer->first[first + precinct] : UINT32_MAX;
}

/* The offset of the next SOP in [at, end). UINT64_MAX: there is none. */
static uint64_t find_sop(const Walk *walk, uint64_t at, uint64_t end)
{
  while (at < end && end - at > CJ2K_SOP_BYTES) {
    const uint8_t *found = memchr(walk->flat + at, 0xff, end - at - CJ2K_SOP_BYTES);
    if (!found)
      break;
    at = (uint64_t)(found - walk->flat);
    if (cj2k_begins_sop(found))
      return at;
    at++;
  }
  return UINT64_MAX;
}

/* The same, if Nsop tells its packet, which has not been written yet; *packet is its index. */
static uint64_t next_sop(const Walk *walk, uint64_t at, uint64_t end, uint32_t *packet)
{
  if (!walk->coding->sop || walk->sop_useless)
    return UINT64_MAX;
  while ((at = find_sop(walk, at, end)) != UINT64_MAX) {
    *packet = walk->next + (uint16_t)(cj2k_get16(walk->flat + at + 4) - next_nsop(walk));
    if (*packet < num_packets(walk))
      return at;
    at++;
  }
  return UINT64_MAX;
}

/* Finds out how the tile's packets are numbered, from its first two SOP. */
static void learn_sop(Walk *walk)
{
  const GArray *slices = walk->repairer->parts.slices;
  uint64_t first = UINT64_MAX;
  walk->first_sop = 0;
  walk->sop_known = walk->sop_useless = false;
  for (uint32_t i = walk->slice; walk->coding->sop && i < slices->len; i++) {
    const Cj2kRtpSlice *slice = &g_array_index(slices, Cj2kRtpSlice, i);
    uint64_t at = slice->begin;
    if (slice->tile != walk->tile)
      return;
    if (first == UINT64_MAX && (first = find_sop(walk, at, slice->end)) != UINT64_MAX)
      at = first + CJ2K_SOP_BYTES;
    if (first == UINT64_MAX || (at = find_sop(walk, at, slice->end)) == UINT64_MAX)
      continue;
    walk->first_sop = cj2k_get16(walk->flat + first + 4);
    walk->sop_useless = cj2k_get16(walk->flat + at + 4) == walk->first_sop;
    walk->first_sop = walk->sop_useless ? walk->first_sop : 0;
    return;
  }
}

/* Whether this is Nsop of packet walk->next. The first one that is read tells where they begin. */
static bool check_nsop(Walk *walk, uint16_t number)
{
  if (walk->sop_useless)
    return true;
  if (!walk->sop_known)
    walk->first_sop = (uint16_t)(number - walk->next);
  walk->sop_known = true;
  return number == next_nsop(walk);
}

/* Finds the packet at the next resync point in [*at, end) that a PID names and that has not been
 * written yet. UINT64_MAX: there is none. */
static uint64_t next_named(Walk *walk, uint64_t at, uint64_t end, uint32_t *packet)
{
  uint32_t pid = 0;
  for (;; at++) {
    at = next_mark(walk, at, end, &pid);
    if (at == UINT64_MAX)
      return at;
    *packet = packet_of_precinct(walk, pid);
    if (*packet != UINT32_MAX && *packet >= walk->next)
      return at;
  }
}

/* Resynchronises: finds the first packet at or after `at` that a resync point or SOP identifies,
 * writes empty packets up to it, and returns its offset. UINT64_MAX: this slice has none. As long
 * as it is not known where Nsop begins, resync points are preferred. SOP is searched only up to the
 * next resync point, so that no byte is searched once for each of many resync points. */
static uint64_t resync(Walk *walk, uint64_t at, uint64_t end)
{
  uint32_t packet = 0, named = 0;
  uint64_t sop = UINT64_MAX, mark = next_named(walk, at, end, &named);
  if (walk->sop_known || mark == UINT64_MAX)
    sop = next_sop(walk, at, mark < end ? MIN(mark + CJ2K_SOP_BYTES + 1, end) : end, &packet);
  if (sop == UINT64_MAX && mark == UINT64_MAX)
    return UINT64_MAX;
  walk->sop_known |= sop != UINT64_MAX;
  fill(walk, sop != UINT64_MAX ? packet : named);
  return sop != UINT64_MAX ? sop : mark;
}

/* Reads packet walk->next at `at`. Returns where it ends, which is at most `end`; 0: it is broken
 * or incomplete. */
static uint64_t read_packet(Walk *walk, uint64_t at, uint64_t end)
{
  Cj2kTileReader *reader = &walk->repairer->reader;
  uint32_t first = reader->num_pieces;
  Cj2kBitReader bits;
  if (end - at >= CJ2K_SOP_BYTES && cj2k_get16(walk->flat + at) == CJ2K_SOP) {
    if (!check_nsop(walk, cj2k_get16(walk->flat + at + 4)))
      return 0;
    at += CJ2K_SOP_BYTES;
  }
  if (at == end)
    return 0;
  cj2k_bits_init(&bits, walk->flat + at, end - at);
  if (!cj2k_packet_header_read(reader, packet_at(walk, walk->next), &bits))
    return 0;
  uint64_t size = cj2k_bits_finish(&bits);
  if (walk->coding->eph && size + 2 <= end - at && cj2k_get16(walk->flat + at + size) == CJ2K_EPH)
    size += 2;
  else if (walk->coding->eph)
    return 0;
  for (uint32_t i = first; i < reader->num_pieces && size <= end - at; i++)
    size += reader->pieces[i].length;
  return size <= end - at ? at + size : 0;
}

/* The offset that the packet at `at` must not exceed: that of the next resync point which is not
 * its own, or `end`. `at` itself: another packet begins here. */
static uint64_t packet_limit(Walk *walk, uint64_t at, uint64_t end)
{
  uint32_t pid;
  uint64_t mark = next_mark(walk, at, end, &pid);
  if (mark == at && packet_of_precinct(walk, pid) != walk->next)
    return at;
  if (mark == at)
    mark = next_mark(walk, at + 1, end, &pid);
  return MIN(mark, end);
}

/* Copies the packets of a slice to the output. `in_sync`: its first byte begins packet walk->next.
 * Returns whether its last byte ends a packet. */
static bool take_slice(Walk *walk, const Cj2kRtpSlice *slice, bool in_sync)
{
  uint64_t at = slice->begin;
  while (at < slice->end && walk->next < num_packets(walk)) {
    bool found = !in_sync;
    if (found) {
      at = resync(walk, at, slice->end);
      if (at == UINT64_MAX)
        return false;
    }
    uint64_t limit = packet_limit(walk, at, slice->end);
    uint64_t end = 0;
    if (limit > at && !walk->repairer->dead[packet_at(walk, walk->next)->precinct_index])
      end = read_packet(walk, at, limit);
    in_sync = end != 0;
    if (!in_sync) {
      if (limit > at)
        fill(walk, walk->next + 1);
      at = limit > at || found ? at + 1 : at; /* SOP and resync point may disagree */
      continue;
    }
    g_byte_array_append(walk->out, walk->flat + at, (guint)(end - at));
    mark_used(walk, at, end);
    walk->next++;
    at = end;
  }
  return in_sync;
}

/* --- a tile with packed packet headers --- */

/* Writes packet walk->next, whose body is at `at`, with its SOP in front if it has one. */
static void put_packed(Walk *walk, const uint8_t *headers, uint64_t at, uint32_t sop)
{
  const Cj2kRtpPackedPacket *packet =
      &g_array_index(walk->repairer->packed.packets, Cj2kRtpPackedPacket, walk->next);
  g_byte_array_append(walk->out, walk->flat + at - sop, sop);
  g_byte_array_append(walk->out, headers + packet->header, packet->header_size);
  g_byte_array_append(walk->out, walk->flat + at, (guint)packet->body_size);
  mark_used(walk, at - sop, at + packet->body_size);
  walk->next++;
}

/* Where in the slice packet walk->next or a later one begins, up to which empty packets are
 * written. UINT64_MAX: nowhere. */
static uint64_t enter_packed(Walk *walk, const Cj2kRtpSlice *slice, uint64_t at, uint64_t position)
{
  const Cj2kRtpPacked *packed = &walk->repairer->packed;
  uint32_t packet = walk->next;
  if (position == CJ2K_RTP_NO_POSITION) {
    at = next_sop(walk, at, slice->end, &packet);
  } else {
    packet = MAX(packet, cj2k_rtp_packed_find(packed, position));
    if (packet >= packed->packets->len)
      return UINT64_MAX;
    at += g_array_index(packed->packets, Cj2kRtpPackedPacket, packet).body - position;
  }
  if (at <= slice->end)
    fill(walk, packet);
  return at <= slice->end ? at : UINT64_MAX;
}

/* Copies the packets of a slice, which begins at this position in the tile's bodies, to the output,
 * with the headers that they have in `headers`. */
static void take_packed(Walk *walk, const Cj2kRtpSlice *slice, const uint8_t *headers,
                        uint64_t position)
{
  const GArray *packets = walk->repairer->packed.packets;
  bool in_sync = walk->coding->sop && slice->begins_tile && walk->next == 0;
  uint64_t at = slice->begin;
  if (!in_sync)
    at = enter_packed(walk, slice, at, walk->coding->sop ? CJ2K_RTP_NO_POSITION : position);
  while (at != UINT64_MAX && walk->next < packets->len) {
    const Cj2kRtpPackedPacket *packet = &g_array_index(packets, Cj2kRtpPackedPacket, walk->next);
    bool has_sop = slice->end - at >= CJ2K_SOP_BYTES && cj2k_get16(walk->flat + at) == CJ2K_SOP;
    uint32_t sop = has_sop ? CJ2K_SOP_BYTES : 0;
    bool named = !has_sop || check_nsop(walk, cj2k_get16(walk->flat + at + 4));
    if (!named) { /* another packet begins here */
      at = enter_packed(walk, slice, at, CJ2K_RTP_NO_POSITION);
      continue;
    }
    if (packet->body_size > slice->end - at - sop || (at == slice->end && walk->coding->sop))
      break;
    uint64_t body = at + sop;
    at = body + packet->body_size;
    if (walk->repairer->dead[packet_at(walk, walk->next)->precinct_index])
      fill(walk, walk->next + 1);
    else
      put_packed(walk, headers, body, sop);
  }
}

static void take_packed_tile(Walk *walk, const struct Cj2kPackedHeaders *headers)
{
  Cj2kRtpRepairer *repairer = walk->repairer;
  const GArray *all = repairer->parts.slices;
  uint32_t count = 0;
  if (walk->slice == all->len) /* nothing of it has arrived */
    return;
  const Cj2kRtpSlice *slices = &g_array_index(all, Cj2kRtpSlice, walk->slice);
  while (walk->slice + count < all->len && slices[count].tile == walk->tile)
    count++;
  cj2k_rtp_packed_read(&repairer->packed, &repairer->reader, repairer->packets, headers->data,
                       headers->size);
  cj2k_rtp_packed_place(&repairer->packed, slices, count, repairer->parts.largest);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t position = g_array_index(repairer->packed.positions, uint64_t, i);
    /* With SOP that the header does not announce, bytes are not those of bodies alone. */
    if (i > 0 && find_sop(walk, slices[i].begin, slices[i].end) != UINT64_MAX)
      position = CJ2K_RTP_NO_POSITION;
    take_packed(walk, &slices[i], headers->data, position);
  }
  walk->slice += count;
}

/* --- all tiles --- */

/* Lists the packets of a tile in the order of its progression. */
static bool list_packets(Cj2kRtpRepairer *repairer, uint32_t tile)
{
  const Cj2kPlan *plan = repairer->plan;
  Cj2kPacketId packet;
  Cj2kError error = {0};
  if (cj2k_tile_reader_start(&repairer->reader, plan, tile, MAX_MEMORY, &error) != CJ2K_OK)
    return false;
  g_array_set_size(repairer->packets, 0);
  while (cj2k_packet_iterator_next(&repairer->reader.iterator, &packet)) {
    if (packet.layer == 0)
      repairer->first[packet.precinct_index] = repairer->packets->len;
    g_array_append_val(repairer->packets, packet);
  }
  return true;
}

static bool repair_tile(Walk *walk)
{
  Cj2kRtpRepairer *repairer = walk->repairer;
  const GArray *slices = repairer->parts.slices;
  bool in_sync = false;
  guint begin = walk->out->len;
  if (!list_packets(repairer, walk->tile))
    return false;
  put_tile_header(walk->out, &repairer->parts, walk->tile, false);
  walk->coding = cj2k_header_tile(repairer->plan->header, walk->tile);
  walk->next = walk->mark = 0;
  learn_sop(walk);
  walk->result->packets += num_packets(walk);
  const struct Cj2kPackedHeaders *headers = repairer->tile_parts.packed_headers;
  if (headers && headers[walk->tile].data)
    take_packed_tile(walk, &headers[walk->tile]);
  for (; walk->slice < slices->len; walk->slice++) {
    const Cj2kRtpSlice *slice = &g_array_index(slices, Cj2kRtpSlice, walk->slice);
    if (slice->tile != walk->tile)
      break;
    if (slice->begins_tile || slice->after_gap)
      in_sync = slice->begins_tile && walk->next == 0;
    in_sync = take_slice(walk, slice, in_sync);
  }
  fill(walk, num_packets(walk));
  if (!has_open_end(&repairer->parts))
    set_length(walk->out, begin);
  return true;
}

static void reserve_precincts(Cj2kRtpRepairer *repairer)
{
  uint32_t count = repairer->plan->num_precincts;
  if (count > repairer->num_precincts) {
    repairer->first = g_renew(uint32_t, repairer->first, count);
    repairer->dead = g_renew(uint8_t, repairer->dead, count);
    repairer->num_precincts = count;
  }
  if (count) {
    memset(repairer->first, 0xff, count * sizeof *repairer->first);
    memset(repairer->dead, 0, count);
  }
}

/* Checks the number of packets, because a damaged header can announce billions. */
static bool has_few_packets(const Cj2kPlan *plan)
{
  uint64_t packets = 0;
  for (uint32_t tile = 0; tile < plan->num_tiles && packets <= MAX_PACKETS; tile++)
    packets += cj2k_tile_num_packets(plan, tile);
  return packets <= MAX_PACKETS;
}

/* Repairs the codestream whose parts were found. false: it is too damaged, or its headers announce
 * too much for its bytes. */
static bool repair(Cj2kRtpRepairer *repairer, Cj2kRtpArrived *arrived, GByteArray *out,
                   Cj2kRtpRepaired *result)
{
  if (!make_plan(repairer) || !has_few_packets(repairer->plan))
    return false;
  reserve_precincts(repairer);
  g_byte_array_append(out, repairer->parts.flat->data, 2);
  copy_segments(out, repairer->parts.flat->data, 2, repairer->parts.main, false);
  if (repairer->tile_parts.packed_headers)
    cj2k_rtp_parts_trim(&repairer->parts);
  Walk walk = {.repairer = repairer,
               .flat = repairer->parts.flat->data,
               .arrived = arrived,
               .out = out,
               .result = result};
  mark_used(&walk, 0, repairer->parts.headers);
  for (; walk.tile < repairer->parts.num_tiles; walk.tile++) {
    if (!repair_tile(&walk) || cj2k_deadline_check(0, NULL) != CJ2K_OK)
      return false;
  }
  put16(out, CJ2K_EOC);
  return true;
}

bool cj2k_rtp_repair(Cj2kRtpRepairer *repairer, Cj2kRtpArrived *arrived, uint32_t count,
                     const GByteArray *kept, GByteArray *out, Cj2kRtpRepaired *result)
{
  guint begin = out->len;
  *result = (Cj2kRtpRepaired){0};
  for (uint32_t i = 0; i < count; i++)
    arrived[i].used = false;
  if (count == 0 || !cj2k_rtp_parts_find(&repairer->parts, arrived, count, kept))
    return false;
  cj2k_rtp_limit_items(repairer->parts.flat->len, 0);
  bool good = repair(repairer, arrived, out, result);
  cj2k_deadline_end();
  if (!good)
    g_byte_array_set_size(out, begin);
  return good;
}
