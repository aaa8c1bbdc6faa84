/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet_lengths.h"

#include "markers.h"

#include <string.h>

/* Goes to the next PLT of the tile-part's header. The lengths of its marker segments were checked
 * when the header was read. */
static bool next_segment(Cj2kPacketLengths *lengths)
{
  const uint8_t *data = lengths->data;
  while (lengths->header + 4 <= lengths->header_end) {
    uint64_t at = lengths->header;
    uint16_t marker = cj2k_get16(data + at);
    uint32_t size = cj2k_marker_bytes(data + at);
    lengths->header += size;
    if (marker == CJ2K_PLT && size > 5 && lengths->header <= lengths->header_end) {
      lengths->at = data + at + 5;
      lengths->end = data + lengths->header;
      return true;
    }
  }
  return false;
}

/* Enters a tile-part: finds where its header begins, behind SOT, and where it ends, at SOD. The SOT
 * follows the data of the previous tile-part, or the main header. */
static bool enter_part(Cj2kPacketLengths *lengths, uint32_t part)
{
  const Cj2kTilePart *parts = lengths->parts->tile_parts;
  lengths->part = part;
  lengths->offset = parts[part].data.offset;
  lengths->data_end = lengths->offset + parts[part].data.size;
  lengths->header_end = lengths->offset - 2;
  lengths->at = lengths->end = NULL;
  if (part > 0) {
    lengths->header = parts[part - 1].data.offset + parts[part - 1].data.size + CJ2K_SOT_BYTES;
  } else { /* the main header precedes the first tile-part */
    lengths->header = 2;
    while (lengths->header + 4 <= lengths->header_end &&
           cj2k_get16(lengths->data + lengths->header) != CJ2K_SOT)
      lengths->header += cj2k_marker_bytes(lengths->data + lengths->header);
    lengths->header += CJ2K_SOT_BYTES;
  }
  return lengths->header <= lengths->header_end;
}

/* Goes to the tile's next tile-part with data. */
static bool next_part(Cj2kPacketLengths *lengths)
{
  uint32_t part = lengths->next;

  while (part != UINT32_MAX && !lengths->parts->tile_parts[part].data.size)
    part = lengths->next_part[part];
  lengths->next = part != UINT32_MAX ? lengths->next_part[part] : UINT32_MAX;
  return part != UINT32_MAX && enter_part(lengths, part);
}

void cj2k_packet_lengths_tile(Cj2kPacketLengths *lengths, uint32_t first, const uint32_t *next_part)
{
  lengths->next = first;
  lengths->next_part = next_part;
  lengths->offset = lengths->data_end = 0;
  lengths->at = lengths->end = NULL;
}

bool cj2k_packet_lengths_begin(Cj2kPacketLengths *lengths, const uint8_t *data,
                               const Cj2kTileParts *parts)
{
  memset(lengths, 0, sizeof *lengths);
  lengths->data = data;
  lengths->parts = parts;
  for (uint32_t part = 0; part < parts->num_tile_parts; part++)
    if (enter_part(lengths, part) && next_segment(lengths))
      return true;
  return false;
}

/* Reads a packet length: seven bits a byte, the highest first; the top bit says that more follow. A
 * length does not continue in the next marker segment. */
static bool read_length(Cj2kPacketLengths *lengths, uint64_t *size)
{
  *size = 0;
  if (lengths->at == lengths->end && !next_segment(lengths))
    return false;
  while (lengths->at < lengths->end && *size < UINT64_C(1) << 40) {
    uint8_t byte = *lengths->at++;
    *size = *size << 7 | (byte & 127);
    if (byte < 128)
      return true;
  }
  return false;
}

bool cj2k_packet_lengths_next(Cj2kPacketLengths *lengths, uint64_t *offset, uint64_t *size)
{
  if (lengths->offset == lengths->data_end && !next_part(lengths))
    return false;
  if (!read_length(lengths, size) || *size == 0 || *size > lengths->data_end - lengths->offset)
    return false;
  *offset = lengths->offset;
  lengths->offset += *size;
  return true;
}

bool cj2k_packet_lengths_done(Cj2kPacketLengths *lengths)
{
  return lengths->offset == lengths->data_end && !next_part(lengths);
}
