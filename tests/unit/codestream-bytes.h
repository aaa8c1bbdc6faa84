/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helpers that assemble codestreams and boxes byte by byte. */
#ifndef TESTS_UNIT_CODESTREAM_BYTES_H
#define TESTS_UNIT_CODESTREAM_BYTES_H

#include "common/codestream/markers.h"

#include <glib.h>

static inline void put(GByteArray *bytes, uint64_t value, int num_bytes)
{
  for (int i = num_bytes - 1; i >= 0; i--) {
    guint8 byte = (guint8)(value >> (8 * i));
    g_byte_array_append(bytes, &byte, 1);
  }
}

/* A marker segment of `count` one-byte parameters. */
static inline void put_segment(GByteArray *bytes, uint16_t marker, const uint8_t *parameters,
                               int count)
{
  put(bytes, marker, 2);
  put(bytes, (uint64_t)count + 2, 2);
  g_byte_array_append(bytes, parameters, (guint)count);
}
#define PUT_SEGMENT(bytes, marker, ...)                                                            \
  put_segment(bytes, marker, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* SOC and SIZ of an image of width x height with tiles of tile x tile; components of 8 bits without
 * sub-sampling. */
static inline GByteArray *begin_codestream(uint32_t width, uint32_t height, uint32_t tile,
                                           uint32_t components)
{
  GByteArray *bytes = g_byte_array_new();

  put(bytes, CJ2K_SOC, 2);
  put(bytes, CJ2K_SIZ, 2);
  put(bytes, 38 + 3 * components, 2);
  put(bytes, 0, 2);
  put(bytes, width, 4);
  put(bytes, height, 4);
  put(bytes, 0, 8);
  put(bytes, tile, 4);
  put(bytes, tile, 4);
  put(bytes, 0, 8);
  put(bytes, components, 2);
  for (uint32_t c = 0; c < components; c++)
    put(bytes, 0x070101, 3);
  return bytes;
}

/* A tile-part with the given contents of its header and the given data. */
static inline void put_tile_part(GByteArray *bytes, uint32_t tile, uint32_t index,
                                 const GByteArray *header, const void *data, guint size)
{
  guint header_size = header ? header->len : 0;

  put(bytes, CJ2K_SOT, 2);
  put(bytes, 10, 2);
  put(bytes, tile, 2);
  put(bytes, 14 + header_size + size, 4);
  put(bytes, index, 1);
  put(bytes, 0, 1);
  if (header)
    g_byte_array_append(bytes, header->data, header->len);
  put(bytes, CJ2K_SOD, 2);
  if (size > 0)
    g_byte_array_append(bytes, data, size);
}

#endif
