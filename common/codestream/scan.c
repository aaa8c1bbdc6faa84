/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scan.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

void cj2k_scan_clear(Cj2kScan *scan)
{
  g_free(scan->segments);
  g_free(scan->packed);
  g_free(scan->signature);
  memset(scan, 0, sizeof *scan);
}

static void append_signature(Cj2kScan *scan, const void *bytes, size_t size)
{
  size_t needed = scan->signature_size + size;

  if (needed > scan->signature_capacity) {
    scan->signature_capacity = MAX(2 * scan->signature_capacity, needed + 256);
    scan->signature = g_realloc(scan->signature, scan->signature_capacity);
  }
  memcpy(scan->signature + scan->signature_size, bytes, size);
  scan->signature_size = needed;
}

static void append_segment(Cj2kScan *scan, const Cj2kMarkerSegment *segment)
{
  if (scan->num_segments == scan->segments_capacity) {
    scan->segments_capacity = 2 * scan->segments_capacity + 16;
    scan->segments = g_renew(Cj2kMarkerSegment, scan->segments, scan->segments_capacity);
  }
  scan->segments[scan->num_segments++] = *segment;
  append_signature(scan, &segment->tile, sizeof segment->tile);
  append_signature(scan, &segment->marker, sizeof segment->marker);
  append_signature(scan, &segment->size, sizeof segment->size);
  append_signature(scan, scan->data + segment->offset, segment->size);
}

static void append_packed(Cj2kScan *scan, const Cj2kMarkerSegment *segment, uint32_t part)
{
  Cj2kPackedSegment *packed;

  if (segment->size == 0)
    return;
  if (scan->num_packed == scan->packed_capacity) {
    scan->packed_capacity = 2 * scan->packed_capacity + 16;
    scan->packed = g_renew(Cj2kPackedSegment, scan->packed, scan->packed_capacity);
  }
  packed = &scan->packed[scan->num_packed++];
  packed->segment = *segment;
  packed->segment.offset++;
  packed->segment.size--;
  packed->part = part;
  packed->index = scan->data[segment->offset];
}

/* What was found at a position of a header. */
typedef enum { STEP_SEGMENT, STEP_DELIMITER, STEP_END, STEP_GARBAGE } Step;

/*
 * Looks at the marker at *position. A marker segment is returned in *segment and skipped; a
 * delimiter is returned in segment->marker and not skipped. STEP_END: the data ends within it.
 */
static Step next_segment(const Cj2kScan *scan, uint64_t end, uint64_t *position, uint32_t tile,
                         Cj2kMarkerSegment *segment)
{
  uint32_t length;

  *segment = (Cj2kMarkerSegment){.tile = tile, .offset = *position};
  if (end - *position < 2)
    return STEP_END;
  segment->marker = cj2k_get16(scan->data + *position);
  if (segment->marker < 0xff01)
    return STEP_GARBAGE;
  if (cj2k_marker_info(segment->marker)->kind == CJ2K_SEGMENT_DELIMITER)
    return STEP_DELIMITER;
  if (!cj2k_marker_has_segment(segment->marker)) {
    *position += 2;
    return STEP_SEGMENT;
  }
  if (end - *position < 4)
    return STEP_END;
  length = cj2k_get16(scan->data + *position + 2);
  if (length < 2)
    return STEP_GARBAGE;
  if (end - *position < 2 + (uint64_t)length)
    return STEP_END;
  segment->offset = *position + 4;
  segment->size = length - 2;
  *position += 2 + length;
  return STEP_SEGMENT;
}

static Cj2kStatus broken_header(Cj2kError *error, const Cj2kMarkerSegment *segment, Step step,
                                const char *where)
{
  const char *what = cj2k_marker_info(segment->marker)->name;

  if (step == STEP_END)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment->marker, segment->offset,
                             "the codestream ends in the %s", where);
  if (step == STEP_DELIMITER)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment->marker, segment->offset,
                             "%s is not allowed in the %s", what, where);
  return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment->marker, segment->offset,
                           "0x%04X in the %s does not begin a marker segment", segment->marker,
                           where);
}

/* SIZ comes right after SOC; the scan needs its tile grid. */
static Cj2kStatus scan_siz(Cj2kScan *scan, uint64_t *position, Cj2kError *error)
{
  Cj2kMarkerSegment segment;
  Cj2kHeader header;
  Cj2kStatus status;
  Step step = next_segment(scan, scan->size, position, UINT32_MAX, &segment);

  if (step != STEP_SEGMENT)
    return broken_header(error, &segment, step, "main header");
  if (segment.marker != CJ2K_SIZ)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment.marker, segment.offset,
                             "SIZ does not follow SOC");
  status = cj2k_read_siz(scan->data, &segment, &header, error);
  if (status != CJ2K_OK)
    return status;
  scan->num_components = header.num_components;
  scan->num_tiles = header.num_tiles_x * header.num_tiles_y;
  append_segment(scan, &segment);
  return CJ2K_OK;
}

Cj2kStatus cj2k_scan_main_header(Cj2kScan *scan, const uint8_t *data, size_t size,
                                 uint64_t *position, Cj2kError *error)
{
  Cj2kMarkerSegment segment;
  Cj2kStatus status;
  Step step;

  scan->data = data;
  scan->size = size;
  scan->num_segments = scan->num_packed = 0;
  scan->signature_size = 0;
  *position = 2;
  if (size < 2 || cj2k_get16(data) != CJ2K_SOC)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_SOC, 0,
                             "no codestream: it does not begin with SOC");
  status = scan_siz(scan, position, error);
  if (status != CJ2K_OK)
    return status;
  while ((step = next_segment(scan, size, position, UINT32_MAX, &segment)) == STEP_SEGMENT) {
    const Cj2kMarkerInfo *info = cj2k_marker_info(segment.marker);

    if (segment.marker == CJ2K_SIZ)
      return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment.marker, segment.offset,
                               "a second SIZ in the main header");
    if (info->kind == CJ2K_SEGMENT_SHAPES)
      append_segment(scan, &segment);
    else if (segment.marker == CJ2K_PPM)
      append_packed(scan, &segment, 0);
  }
  scan->num_main_segments = scan->num_segments;
  scan->main_signature_size = scan->signature_size;
  if (step == STEP_DELIMITER && (segment.marker == CJ2K_SOT || segment.marker == CJ2K_EOC))
    return CJ2K_OK;
  return broken_header(error, &segment, step, "main header");
}

static Cj2kTilePart *append_tile_part(Cj2kTileParts *tile_parts)
{
  if (tile_parts->num_tile_parts == tile_parts->capacity) {
    tile_parts->capacity = 2 * tile_parts->capacity + 16;
    tile_parts->tile_parts = g_renew(Cj2kTilePart, tile_parts->tile_parts, tile_parts->capacity);
  }
  return &tile_parts->tile_parts[tile_parts->num_tile_parts++];
}

/* Bytes 0xFF90 and 0xFFD9 never occur in packets (T.800 B.10.1, C.3; T.814 clause 7), so that
 * reading of a damaged codestream can continue at the next plausible SOT, or ends at EOC. */
static uint64_t find_tile_part(const Cj2kScan *scan, uint64_t from)
{
  const uint8_t *data = scan->data;

  while (scan->size - from >= 2) {
    const uint8_t *found = memchr(data + from, 0xff, scan->size - 1 - from);
    uint16_t marker;

    if (!found)
      break;
    from = (uint64_t)(found - data);
    marker = cj2k_get16(found);
    if (marker == CJ2K_EOC && scan->size - from == 2)
      return from;
    if (marker == CJ2K_SOT && scan->size - from >= 14 && cj2k_get16(found + 2) == 10 &&
        cj2k_get16(found + 4) < scan->num_tiles)
      return from;
    from++;
  }
  return scan->size;
}

/* Whether Psot goes past the end of the data, or is too small even for SOT and SOD. */
static bool is_wrong_psot(const Cj2kScan *scan, uint64_t start, uint32_t psot)
{
  return psot != 0 && (psot < 14 || psot > scan->size - start);
}

/*
 * Finds the end of a tile-part whose data begins at `data`, where Psot does not say it (A.4.2).
 * Psot = 0: it ends at EOC. If Psot is wrong, it ends at the next plausible SOT or EOC. The search
 * begins behind the tile-part header, whose marker segments may contain any bytes.
 */
static uint64_t search_end(const Cj2kScan *scan, uint64_t data, uint32_t psot)
{
  uint64_t end = scan->size;

  if (psot != 0)
    return find_tile_part(scan, data);
  if (end - data >= 2 && cj2k_get16(scan->data + end - 2) == CJ2K_EOC)
    end -= 2;
  return end;
}

/* Whether headers of damaged tile-parts hide others, each of which goes on through the same bytes
 * again: their number times the size is what reading them would take. Headers that do not overlap
 * have less bytes than the codestream. */
static bool has_overlap(const Cj2kScan *scan)
{
  return scan->scanned / 4 > scan->size;
}

/* Scans one tile-part header after its SOT, up to and including SOD. */
static Cj2kStatus scan_tile_part_header(Cj2kScan *scan, uint64_t *position, uint64_t end,
                                        const Cj2kTilePart *part, uint32_t part_index,
                                        Cj2kError *error)
{
  Cj2kMarkerSegment segment;
  uint64_t start = *position;
  Step step;

  for (; (step = next_segment(scan, end, position, part->tile, &segment)) == STEP_SEGMENT;
       start = *position) {
    const Cj2kMarkerInfo *info = cj2k_marker_info(segment.marker);

    scan->scanned += *position - start;
    if (has_overlap(scan))
      return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, segment.marker, segment.offset,
                               "tile-part headers overlap");
    /* Later tile-parts of a tile may have POC only; everything else applies to the whole tile
     * (A.4.2). */
    if (info->kind == CJ2K_SEGMENT_SHAPES && info->in_tile &&
        (part->index == 0 || segment.marker == CJ2K_POC))
      append_segment(scan, &segment);
    else if (segment.marker == CJ2K_PPT)
      append_packed(scan, &segment, part_index);
  }
  if (step != STEP_DELIMITER || segment.marker != CJ2K_SOD)
    return broken_header(error, &segment, step, "tile-part header");
  *position += 2;
  return CJ2K_OK;
}

/* Scans the tile-part whose SOT is at *position and moves *position past it. */
static Cj2kStatus scan_tile_part(Cj2kScan *scan, uint64_t *position, Cj2kTileParts *tile_parts,
                                 Cj2kError *error)
{
  const uint8_t *sot = scan->data + *position;
  uint64_t start = *position, data_start = start + 12, end;
  Cj2kTilePart part = {0};
  Cj2kStatus status;
  uint32_t psot;

  if (scan->size - start < 12)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_SOT, start,
                             "the codestream ends in an SOT");
  if (cj2k_get16(sot + 2) != 10)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_SOT, start, "SOT of %u bytes",
                             cj2k_get16(sot + 2));
  part.tile = cj2k_get16(sot + 4);
  part.index = sot[10];
  if (part.tile >= scan->num_tiles)
    return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_SOT, start,
                             "SOT of tile %u, there are %u", part.tile, scan->num_tiles);
  psot = cj2k_get32(sot + 6);
  part.truncated = is_wrong_psot(scan, start, psot);
  end = part.truncated || psot == 0 ? scan->size : start + psot;
  status = scan_tile_part_header(scan, &data_start, end, &part, tile_parts->num_tile_parts, error);
  if (status != CJ2K_OK)
    return status;
  if (part.truncated || psot == 0)
    end = search_end(scan, data_start, psot);
  part.data.offset = data_start;
  part.data.size = end - data_start;
  *append_tile_part(tile_parts) = part;
  *position = end;
  return part.truncated ? cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, CJ2K_SOT, start,
                                            "Psot = %u of tile-part %u of tile %u goes past the "
                                            "end of the codestream",
                                            psot, part.index, part.tile)
                        : CJ2K_OK;
}

Cj2kStatus cj2k_scan_tile_parts(Cj2kScan *scan, uint64_t position, bool strict,
                                Cj2kTileParts *tile_parts, Cj2kError *error)
{
  tile_parts->num_tile_parts = 0;
  scan->scanned = 0;
  tile_parts->has_eoc = tile_parts->truncated = false;
  while (scan->size - position >= 2) {
    uint16_t marker = cj2k_get16(scan->data + position);
    uint64_t start = position;
    Cj2kStatus status;

    if (marker == CJ2K_EOC) {
      tile_parts->has_eoc = true;
      position += 2;
      break;
    }
    if (marker == CJ2K_SOT)
      status = scan_tile_part(scan, &position, tile_parts, error);
    else
      status = cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, marker, position,
                                 "0x%04X in place of SOT or EOC", marker);
    if (status == CJ2K_OK)
      continue;
    tile_parts->truncated = true;
    if (strict)
      return status;
    cj2k_error_clear(error);
    if (has_overlap(scan)) {
      position = scan->size;
      break;
    }
    if (position == start)
      position = find_tile_part(scan, start + 2);
  }
  tile_parts->end = position;
  return CJ2K_OK;
}
