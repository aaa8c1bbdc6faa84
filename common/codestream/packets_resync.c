/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the packets of a tile when some are missing: the numbers in SOP marker segments (Nsop) tell
 * which. */
#include "common/runtime/deadline.h"
#include "markers.h"
#include "packets_internal.h"

#include <string.h>

/* Limit of missing packets that are examined one by one in a frame, which takes up to 40 ns each,
 * because a damaged header can announce billions. */
#define MAX_MISSING (UINT64_C(1) << 18)

void cj2k_walk_miss(Cj2kPacketWalk *walk, const Cj2kPacketId *packet)
{
  Cj2kMissing *missing = walk->missing;
  const Cj2kPlan *plan = walk->reader->plan;
  if (!missing->any) {
    if (plan->num_precincts > missing->capacity) {
      missing->precincts = g_renew(uint8_t, missing->precincts, plan->num_precincts);
      missing->capacity = plan->num_precincts;
    }
    memset(missing->precincts, 0, plan->num_precincts);
    missing->any = true;
  }
  missing->packets++;
  if (!missing->precincts[packet->precinct_index])
    missing->blocks += cj2k_packet_num_blocks(plan, packet);
  missing->precincts[packet->precinct_index] = 1;
}

void cj2k_walk_miss_rest(Cj2kPacketWalk *walk)
{
  Cj2kPacketIterator *iterator = &walk->reader->iterator;
  Cj2kPacketId packet;
  while (walk->missing->packets < MAX_MISSING && cj2k_packet_iterator_next(iterator, &packet) &&
         cj2k_deadline_check(1, NULL) == CJ2K_OK)
    cj2k_walk_miss(walk, &packet);
  if (walk->missing->packets >= MAX_MISSING)
    walk->missing->packets += iterator->packets_left;
}

bool cj2k_walk_can_resync(const Cj2kPacketWalk *walk, bool ended_early)
{
  if (walk->observer)
    return false;
  if (walk->swallowed || (walk->jumped && walk->lacks_sop))
    return true;
  return ended_early && (walk->out_of_step ||
                         (walk->had_sop && cj2k_walk_has_sop(walk, walk->began_at + CJ2K_SOP_BYTES,
                                                             walk->part_end)));
}

/* The number of the packet that the SOP at `at` belongs to, which is `next` or a later one. */
static uint64_t packet_number(const Cj2kPacketWalk *walk, uint64_t at, uint64_t next)
{
  return next + (uint16_t)(cj2k_get16(walk->reader->data + at + 4) - next);
}

/* Goes to the next SOP of a packet from number `next` up to `total`, exclusive. A damaged SOP is
 * skipped: one whose number is not lower than that of the SOP behind it. */
static bool next_sop(Cj2kPacketWalk *walk, uint64_t next, uint64_t total, uint64_t *number)
{
  while (walk->part != UINT32_MAX) {
    walk->at = cj2k_walk_find_sop(walk, walk->at);
    if (walk->at == walk->end) {
      cj2k_walk_enter_part(walk, walk->next_part[walk->part]);
      continue;
    }
    *number = packet_number(walk, walk->at, next);
    uint64_t behind =
        *number > next ? cj2k_walk_find_sop(walk, walk->at + CJ2K_SOP_BYTES) : walk->end;
    if (*number < total && (behind == walk->end || packet_number(walk, behind, next) > *number))
      return true;
    walk->at += CJ2K_SOP_BYTES;
  }
  return false;
}

/* Saves the states of the code-blocks of a packet's precinct; with `back` restores them. */
static void copy_states(Cj2kPacketWalk *walk, const Cj2kPacketId *packet, GArray *saved, bool back)
{
  const Cj2kPlan *plan = walk->reader->plan;
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];
  uint32_t bands = plan->resolutions[packet->resolution_index].num_bands, at = 0;
  g_array_set_size(saved, cj2k_packet_num_blocks(plan, packet));
  for (uint32_t b = 0; b < bands; b++) {
    const Cj2kPlanPrecinctBand *band = &precinct->band[b];
    uint32_t count = band->blocks_x * band->blocks_y;
    if (count == 0)
      continue;
    Cj2kBlockState *states = walk->reader->states + (band->first_block - walk->reader->first_block);
    Cj2kBlockState *copies = &g_array_index(saved, Cj2kBlockState, at);
    if (back)
      memcpy(states, copies, count * sizeof *states);
    else
      memcpy(copies, states, count * sizeof *states);
    for (uint32_t i = 0; back && i < count; i++)
      if (states[i].last_piece)
        walk->reader->pieces[states[i].last_piece].next = 0;
    at += count;
  }
}

/* Reads the packet that begins with SOP at walk->at, and goes to the next SOP or the end of the
 * tile-part. false: the packet does not end there; then nothing of it is kept. The states of the
 * code-blocks are only copied, and counted as looked at, where the packet can change them: there
 * may be 65535 packets of a precinct of millions of code-blocks, with a byte each. */
static bool read_between(Cj2kPacketWalk *walk, const Cj2kPacketId *packet, GArray *saved)
{
  uint64_t end = walk->end, limit = cj2k_walk_find_sop(walk, walk->at + CJ2K_SOP_BYTES);
  uint32_t pieces = walk->reader->num_pieces, segments = walk->reader->num_segments;
  bool empty = cj2k_is_empty_packet(walk->reader->data + walk->at, limit - walk->at);
  if (!empty) {
    if (cj2k_deadline_count_items(cj2k_packet_num_blocks(walk->reader->plan, packet), NULL) !=
        CJ2K_OK)
      return false;
    copy_states(walk, packet, saved, false);
  }
  walk->end = limit;
  bool good =
      cj2k_walk_packet(walk, packet) == CJ2K_PACKET_READ && (walk->at == limit || limit == end);
  walk->end = end;
  walk->at = limit;
  if (good)
    return true;
  if (!empty)
    copy_states(walk, packet, saved, true);
  walk->reader->num_pieces = pieces;
  walk->reader->num_segments = segments;
  return false;
}

bool cj2k_walk_has_hole(const Cj2kPacketWalk *walk, size_t codestream_size)
{
  if (!walk->headers || !walk->wanted || walk->short_part == UINT32_MAX)
    return false;
  const Cj2kSpan *part = &walk->tile_parts->tile_parts[walk->short_part].data;
  uint64_t end = part->offset + part->size;
  if (codestream_size < end || codestream_size - end < 2)
    return false;
  uint16_t marker = cj2k_get16(walk->reader->data + end);
  return marker == CJ2K_EOC || marker == CJ2K_SOT;
}

void cj2k_walk_read_before(Cj2kPacketWalk *walk, uint32_t part)
{
  Cj2kPacketId packet;
  while (cj2k_packet_iterator_next(&walk->reader->iterator, &packet)) {
    while (walk->part != UINT32_MAX && walk->at == walk->end)
      cj2k_walk_enter_part(walk, walk->next_part[walk->part]);
    if (walk->part == UINT32_MAX || walk->part == part ||
        cj2k_walk_packet(walk, &packet) != CJ2K_PACKET_READ) {
      cj2k_walk_miss(walk, &packet);
      break;
    }
  }
  cj2k_walk_miss_rest(walk);
}

static bool may_go_on(const Cj2kPacketWalk *walk)
{
  return walk->missing->packets < MAX_MISSING && cj2k_deadline_check(1, NULL) == CJ2K_OK;
}

/* Resynchronises with packed packet headers: all of them are read, whatever has become of the
 * bodies. */
static void resync_packed(Cj2kPacketWalk *walk)
{
  const Cj2kMissing *missing = walk->missing;
  Cj2kTileReader *reader = walk->reader;
  uint64_t total = reader->iterator.packets_left, number = 0;
  Cj2kPacketId packet;
  bool found = next_sop(walk, 0, total, &number);
  for (uint64_t i = 0; found && may_go_on(walk); i++) {
    if (!cj2k_packet_iterator_next(&reader->iterator, &packet))
      break;
    bool good = !missing->any || !missing->precincts[packet.precinct_index];
    uint32_t first = reader->num_pieces;
    Cj2kPacketResult result;
    if (i < number || walk->headers_size == 0) {
      result = cj2k_walk_header(walk, &packet);
      good = false;
    } else {
      uint64_t end = walk->end, limit = cj2k_walk_find_sop(walk, walk->at + CJ2K_SOP_BYTES);
      walk->end = limit;
      walk->packet = i; /* headers alone are not counted */
      result = cj2k_walk_packet(walk, &packet);
      good &= result == CJ2K_PACKET_READ && walk->at == limit;
      walk->end = end;
      walk->at = limit;
      found = next_sop(walk, i + 1, total, &number);
      result =
          result == CJ2K_PACKETS_ENDED ? CJ2K_PACKET_READ : result; /* the body is incomplete */
    }
    if (!good) {
      cj2k_drop_pieces(reader, first);
      cj2k_walk_miss(walk, &packet);
    }
    if (result != CJ2K_PACKET_READ) /* no header is left */
      break;
  }
  cj2k_walk_miss_rest(walk);
}

void cj2k_walk_resync(Cj2kPacketWalk *walk)
{
  if (walk->headers) {
    resync_packed(walk);
    return;
  }
  const Cj2kMissing *missing = walk->missing;
  GArray *saved = g_array_new(FALSE, FALSE, sizeof(Cj2kBlockState));
  uint64_t total = walk->reader->iterator.packets_left, number = 0;
  Cj2kPacketId packet;
  bool found = next_sop(walk, 0, total, &number);
  walk->need_eph = cj2k_header_tile(walk->reader->plan->header, walk->reader->tile)->eph;
  for (uint64_t i = 0; found && may_go_on(walk); i++) {
    if (!cj2k_packet_iterator_next(&walk->reader->iterator, &packet))
      break;
    bool dead = missing->any && missing->precincts[packet.precinct_index];
    if (i < number || dead || !read_between(walk, &packet, saved))
      cj2k_walk_miss(walk, &packet);
    if (i < number)
      continue;
    if (dead)
      walk->at += CJ2K_SOP_BYTES;
    found = next_sop(walk, i + 1, total, &number);
  }
  cj2k_walk_miss_rest(walk);
  g_array_unref(saved);
}
