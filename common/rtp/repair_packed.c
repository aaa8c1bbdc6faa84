/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "repair_packed.h"

#include "common/codestream/markers.h"

void cj2k_rtp_packed_init(Cj2kRtpPacked *packed)
{
  packed->packets = g_array_new(FALSE, FALSE, sizeof(Cj2kRtpPackedPacket));
  packed->positions = g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

void cj2k_rtp_packed_clear(Cj2kRtpPacked *packed)
{
  g_array_unref(packed->packets);
  g_array_unref(packed->positions);
}

void cj2k_rtp_packed_read(Cj2kRtpPacked *packed, Cj2kTileReader *reader, const GArray *packets,
                          const uint8_t *headers, size_t size)
{
  uint64_t at = 0, body = 0;
  g_array_set_size(packed->packets, 0);
  packed->total = CJ2K_RTP_NO_POSITION;
  for (guint i = 0; i < packets->len; i++) {
    uint32_t first = reader->num_pieces;
    Cj2kBitReader bits;
    if (at == size)
      return;
    cj2k_bits_init(&bits, headers + at, size - at);
    if (!cj2k_packet_header_read(reader, &g_array_index(packets, Cj2kPacketId, i), &bits))
      return;
    uint64_t length = cj2k_bits_finish(&bits);
    if (length > size - at)
      return;
    if (size - at - length >= 2 && cj2k_get16(headers + at + length) == CJ2K_EPH)
      length += 2;
    Cj2kRtpPackedPacket packet = {
        .header = (uint32_t)at, .header_size = (uint32_t)length, .body = body};
    for (uint32_t k = first; k < reader->num_pieces; k++)
      packet.body_size += reader->pieces[k].length;
    g_array_append_val(packed->packets, packet);
    at += length;
    body += packet.body_size;
  }
  packed->total = body;
}

/* Bytes of the slices; *lost: the payloads that are missing in front of them, UINT32_MAX: not
 * known. */
static uint64_t count_bytes(const Cj2kRtpSlice *slices, uint32_t count, uint64_t *lost)
{
  uint64_t bytes = 0;
  *lost = 0;
  for (uint32_t i = 0; i < count; i++) {
    bytes += slices[i].end - slices[i].begin;
    if (slices[i].lost == UINT32_MAX)
      *lost = UINT32_MAX;
    else if (*lost != UINT32_MAX)
      *lost = MIN(*lost + slices[i].lost, UINT32_MAX);
  }
  return bytes;
}

void cj2k_rtp_packed_place(Cj2kRtpPacked *packed, const Cj2kRtpSlice *slices, uint32_t count,
                           uint32_t largest)
{
  uint64_t none = CJ2K_RTP_NO_POSITION, lost, position = 0;
  g_array_set_size(packed->positions, 0);
  for (uint32_t i = 0; i < count; i++)
    g_array_append_val(packed->positions, none);
  if (count == 0)
    return;
  uint64_t *positions = &g_array_index(packed->positions, uint64_t, 0);
  uint64_t bytes = count_bytes(slices, count, &lost);
  bool begins = slices[0].begins_tile, ends = slices[count - 1].ends_tile;
  if (begins)
    positions[0] = 0;
  if (!ends || packed->total == none || bytes > packed->total || (begins && count == 1))
    return;
  positions[count - 1] = packed->total - (slices[count - 1].end - slices[count - 1].begin);
  if (lost == UINT32_MAX || packed->total - bytes != lost * largest)
    return;
  for (uint32_t i = 0; i < count; i++) {
    positions[i] = position + (uint64_t)slices[i].lost * largest;
    position = positions[i] + slices[i].end - slices[i].begin;
  }
}

uint32_t cj2k_rtp_packed_find(const Cj2kRtpPacked *packed, uint64_t position)
{
  uint32_t first = 0, behind = packed->packets->len;
  while (first < behind) {
    uint32_t middle = first + (behind - first) / 2;
    if (g_array_index(packed->packets, Cj2kRtpPackedPacket, middle).body < position)
      first = middle + 1;
    else
      behind = middle;
  }
  return first;
}
