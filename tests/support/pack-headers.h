/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves the packet headers of a codestream to PPM or PPT marker segments (T.800 A.7.4, A.7.5). */
#ifndef TESTS_SUPPORT_PACK_HEADERS_H
#define TESTS_SUPPORT_PACK_HEADERS_H

#include "common/codestream/coded.h"
#include "common/codestream/markers.h"

#include <glib.h>

typedef struct {
  uint64_t offset, header_bytes, body_bytes;
} PackedPacket;

static inline void pack_note(void *user, const Cj2kPacketId *packet, uint64_t offset,
                             uint64_t header_bytes, uint64_t body_bytes)
{
  PackedPacket noted = {offset, header_bytes, body_bytes};
  (void)packet;
  g_array_append_val((GArray *)user, noted);
}

static inline void pack_put(GByteArray *out, uint64_t value, guint bytes)
{
  while (bytes--) {
    uint8_t byte = (uint8_t)(value >> 8 * bytes);
    g_byte_array_append(out, &byte, 1);
  }
}

/* Headers and bodies of the packets in a tile-part. */
static inline void pack_divide(const uint8_t *data, const GArray *packets, const Cj2kSpan *part,
                               GByteArray *headers, GByteArray *bodies)
{
  for (guint i = 0; i < packets->len; i++) {
    const PackedPacket *packet = &g_array_index(packets, PackedPacket, i);
    if (packet->offset < part->offset || packet->offset >= part->offset + part->size)
      continue;
    uint32_t sop = cj2k_get16(data + packet->offset) == CJ2K_SOP ? 6 : 0;
    g_byte_array_append(headers, data + packet->offset + sop, (guint)packet->header_bytes - sop);
    g_byte_array_append(bodies, data + packet->offset, sop);
    g_byte_array_append(bodies, data + packet->offset + packet->header_bytes,
                        (guint)packet->body_bytes);
  }
}

/* Writes segments of up to 1000 bytes each. */
static inline void pack_segments(GByteArray *out, uint16_t marker, const GByteArray *headers)
{
  for (guint at = 0, z = 0; at < headers->len; z++) {
    guint size = MIN(1000, headers->len - at);
    pack_put(out, marker, 2);
    pack_put(out, 3 + size, 2);
    pack_put(out, z, 1);
    g_byte_array_append(out, headers->data + at, size);
    at += size;
  }
}

/* The codestream, which must be intact, with `marker` (PPM or PPT). The array `places`, of
 * PackedPacket, gets the packets that it had. */
static inline GBytes *pack_headers(const uint8_t *data, size_t size, uint16_t marker,
                                   GArray *places)
{
  Cj2kHeaderReader *headers = cj2k_header_reader_new();
  Cj2kPacketReader *packets = cj2k_packet_reader_new();
  GByteArray *out = g_byte_array_new(), *parts = g_byte_array_new(), *ppm = g_byte_array_new();
  Cj2kTileParts tile_parts = {0};
  Cj2kPlan *plan = NULL;
  Cj2kError error = {0};
  Cj2kHeader *header;
  Cj2kCodedFrame *frame;
  uint64_t sot = 2;
  bool same;

  cj2k_packet_reader_observe(packets, pack_note, places);
  if (cj2k_header_read(headers, data, size, true, 0, &header, &same, &tile_parts, &error) !=
          CJ2K_OK ||
      cj2k_plan_renew(&plan, header, 0, 0, &error) != CJ2K_OK ||
      cj2k_packets_read(packets, plan, &tile_parts, data, size, 0, true, 0, &frame, &error) !=
          CJ2K_OK)
    g_error("%s", error.text);
  while (cj2k_get16(data + sot) != CJ2K_SOT)
    sot += 2 + (uint64_t)cj2k_get16(data + sot + 2);
  g_byte_array_append(out, data, (guint)sot);
  for (uint32_t i = 0; i < tile_parts.num_tile_parts; i++) {
    const Cj2kSpan *part = &tile_parts.tile_parts[i].data;
    GByteArray *own = g_byte_array_new(), *bodies = g_byte_array_new();
    guint begin = parts->len;
    pack_divide(data, places, part, own, bodies);
    g_byte_array_append(parts, data + sot, (guint)(part->offset - 2 - sot));
    if (marker == CJ2K_PPT) {
      pack_segments(parts, marker, own);
    } else {
      pack_put(ppm, own->len, 4);
      g_byte_array_append(ppm, own->data, own->len);
    }
    pack_put(parts, CJ2K_SOD, 2);
    g_byte_array_append(parts, bodies->data, bodies->len);
    for (guint k = 0; k < 4; k++)
      parts->data[begin + 6 + k] = (uint8_t)((parts->len - begin) >> (24 - 8 * k));
    sot = part->offset + part->size;
    g_byte_array_unref(own);
    g_byte_array_unref(bodies);
  }
  pack_segments(out, marker, ppm);
  g_byte_array_append(out, parts->data, parts->len);
  pack_put(out, CJ2K_EOC, 2);
  g_byte_array_unref(parts);
  g_byte_array_unref(ppm);
  cj2k_plan_unref(plan);
  cj2k_tile_parts_clear(&tile_parts);
  cj2k_packet_reader_free(packets);
  cj2k_header_reader_free(headers);
  return g_byte_array_free_to_bytes(out);
}

#endif
