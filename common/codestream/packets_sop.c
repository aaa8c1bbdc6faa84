/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SOP marker segments (T.800 A.8.1): where they are, and what their numbers say. */
#include "markers.h"
#include "packets_internal.h"

#include <string.h>

uint64_t cj2k_walk_find_sop(const Cj2kPacketWalk *walk, uint64_t at)
{
  const uint8_t *data = walk->reader->data;
  while (walk->end > at && walk->end - at >= CJ2K_SOP_BYTES) {
    const uint8_t *found = memchr(data + at, 0xff, walk->end - at - CJ2K_SOP_BYTES + 1);
    if (!found)
      break;
    if (cj2k_begins_sop(found))
      return (uint64_t)(found - data);
    at = (uint64_t)(found - data) + 1;
  }
  return walk->end;
}

bool cj2k_walk_has_sop(const Cj2kPacketWalk *walk, uint64_t at, uint64_t end)
{
  Cj2kPacketWalk range = *walk;
  range.end = end;
  return at < end && cj2k_walk_find_sop(&range, at) < end;
}

/* Compares Nsop with the packet's number, and with the Nsop before it. Some encoders do not begin
 * with 0, or always write the same number; therefore only a step between two SOP of one tile-part
 * that is neither 0 nor the number of packets read counts as a jump. */
void cj2k_walk_check_sop(Cj2kPacketWalk *walk, uint16_t number)
{
  uint16_t steps = (uint16_t)(walk->packet - walk->sop_packet);
  bool is_first = walk->packet == 0 || walk->sop_part != walk->part;
  walk->out_of_step |= number != (walk->packet & 0xffff);
  walk->jumped |=
      !is_first && number != walk->sop_number && (uint16_t)(number - walk->sop_number) != steps;
  walk->sop_packet = walk->packet;
  walk->sop_number = number;
  walk->sop_part = walk->part;
}

/* Numbers go on from the SOP before; without one they are expected to begin with 0 in the tile. */
bool cj2k_walk_is_ahead(const Cj2kPacketWalk *walk)
{
  uint16_t number = cj2k_get16(walk->reader->data + walk->at + 4), own = (uint16_t)walk->packet;
  if (walk->sop_part != UINT32_MAX) {
    if (number == walk->sop_number) /* it is always the same */
      return false;
    own = (uint16_t)(walk->sop_number + (walk->packet - walk->sop_packet));
  }
  return number != own && (uint16_t)(number - own) <= INT16_MAX;
}

void cj2k_walk_check_last(Cj2kPacketWalk *walk)
{
  walk->out_of_step = walk->lacks_sop = true;
  if (walk->part_end == walk->end)
    walk->swallowed |= cj2k_walk_has_sop(walk, walk->began_at + CJ2K_SOP_BYTES, walk->at);
}

void cj2k_walk_check_body(Cj2kPacketWalk *walk, uint64_t body)
{
  walk->swallowed |= cj2k_walk_has_sop(walk, body, walk->at);
}

bool cj2k_is_empty_packet(const uint8_t *packet, uint64_t size)
{
  uint64_t at = size >= CJ2K_SOP_BYTES && cj2k_get16(packet) == CJ2K_SOP ? CJ2K_SOP_BYTES : 0;
  return at < size && packet[at] < 0x80;
}
