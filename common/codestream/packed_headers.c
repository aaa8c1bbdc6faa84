/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scan.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* Sorts PPM by Zppm, and PPT by tile-part and Zppt; equal ones keep the order of the codestream. */
static int compare_packed(const void *a, const void *b)
{
  const Cj2kPackedSegment *x = a, *y = b;

  if (x->part != y->part)
    return x->part < y->part ? -1 : 1;
  if (x->index != y->index)
    return x->index < y->index ? -1 : 1;
  return x->segment.offset < y->segment.offset ? -1 : x->segment.offset > y->segment.offset;
}

static bool has_marker(const Cj2kScan *scan, uint16_t marker)
{
  for (uint32_t i = 0; i < scan->num_packed; i++)
    if (scan->packed[i].segment.marker == marker)
      return true;
  return false;
}

static void append_header_bytes(struct Cj2kPackedHeaders *headers, const uint8_t *data, size_t size)
{
  headers->data = g_realloc(headers->data, headers->size + size + 1);
  if (size > 0)
    memcpy(headers->data + headers->size, data, size);
  headers->size += size;
}

/* PPM: the segments form one run of bytes that holds Nppm and the headers of each tile-part in
 * turn; a segment may end anywhere in it. */
static bool distribute_ppm(const Cj2kScan *scan, Cj2kTileParts *tile_parts)
{
  GByteArray *run = g_byte_array_new();
  size_t at = 0;
  bool complete = true;

  for (uint32_t i = 0; i < scan->num_packed; i++)
    if (scan->packed[i].segment.marker == CJ2K_PPM)
      g_byte_array_append(run, scan->data + scan->packed[i].segment.offset,
                          scan->packed[i].segment.size);
  for (uint32_t i = 0; i < tile_parts->num_tile_parts; i++) {
    size_t size = 0;

    if (run->len - at >= 4) {
      size = cj2k_get32(run->data + at);
      at += 4;
    } else {
      complete = false;
    }
    if (size > run->len - at) {
      size = run->len - at;
      complete = false;
    }
    append_header_bytes(&tile_parts->packed_headers[tile_parts->tile_parts[i].tile],
                        size > 0 ? run->data + at : NULL, size);
    at += size;
  }
  g_byte_array_unref(run);
  return complete;
}

static void distribute_ppt(const Cj2kScan *scan, Cj2kTileParts *tile_parts)
{
  for (uint32_t i = 0; i < scan->num_packed; i++) {
    const Cj2kMarkerSegment *segment = &scan->packed[i].segment;

    if (segment->marker == CJ2K_PPT)
      append_header_bytes(&tile_parts->packed_headers[segment->tile], scan->data + segment->offset,
                          segment->size);
  }
}

Cj2kStatus cj2k_gather_packed_headers(Cj2kScan *scan, bool strict, Cj2kTileParts *tile_parts,
                                      Cj2kError *error)
{
  bool complete = true;

  if (scan->num_packed == 0)
    return CJ2K_OK;
  qsort(scan->packed, scan->num_packed, sizeof *scan->packed, compare_packed);
  tile_parts->packed_headers = g_new0(struct Cj2kPackedHeaders, scan->num_tiles);
  tile_parts->num_packed_headers = scan->num_tiles;
  if (has_marker(scan, CJ2K_PPM))
    complete = distribute_ppm(scan, tile_parts);
  else
    distribute_ppt(scan, tile_parts);
  if (complete)
    return CJ2K_OK;
  tile_parts->truncated = true;
  return strict ? cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_PPM, 0,
                                    "PPM has packet headers for fewer tile-parts than there are")
                : CJ2K_OK;
}
