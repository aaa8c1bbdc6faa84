/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "header.h"

#include "common/runtime/deadline.h"
#include "scan.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* A Header with its reference count. Cj2kHeader comes first, so that the two pointers are the same.
 */
typedef struct {
  Cj2kHeader header;
  gint ref_count;
} CountedHeader;

struct Cj2kHeaderReader {
  Cj2kScan scan;
  /* The last complete header, and the bytes it was made from. */
  Cj2kHeader *header;
  uint8_t *signature;
  size_t signature_size, main_signature_size;
  /* The last header that was read without tile-parts, if it differs from `header`. */
  Cj2kHeader *main_header;
};

Cj2kHeader *cj2k_header_new(uint32_t num_components, uint32_t num_tiles)
{
  CountedHeader *counted = g_new0(CountedHeader, 1);
  Cj2kHeader *header = &counted->header;

  counted->ref_count = 1;
  header->num_components = num_components;
  header->components = g_new0(Cj2kComponent, num_components);
  header->coding.coding = g_new0(Cj2kCoding, num_components);
  header->coding.quantisation = g_new0(Cj2kQuantisation, num_components);
  header->coding.roi_shift = g_new0(uint8_t, num_components);
  if (num_tiles > 0)
    header->tiles = g_new0(Cj2kTileCoding *, num_tiles);
  return header;
}

Cj2kHeader *cj2k_header_ref(Cj2kHeader *header)
{
  g_atomic_int_inc(&((CountedHeader *)header)->ref_count);
  return header;
}

/* Frees the arrays that a tile does not share with the main header. */
static void free_tile(Cj2kTileCoding *tile, const Cj2kTileCoding *main)
{
  if (tile->coding != main->coding)
    g_free(tile->coding);
  if (tile->quantisation != main->quantisation)
    g_free(tile->quantisation);
  if (tile->roi_shift != main->roi_shift)
    g_free(tile->roi_shift);
  if (tile->volumes != main->volumes)
    g_free(tile->volumes);
  g_free(tile);
}

void cj2k_header_unref(Cj2kHeader *header)
{
  if (!header || !g_atomic_int_dec_and_test(&((CountedHeader *)header)->ref_count))
    return;
  if (header->tiles) {
    for (uint32_t t = 0; t < header->num_tiles_x * header->num_tiles_y; t++)
      if (header->tiles[t])
        free_tile(header->tiles[t], &header->coding);
    g_free(header->tiles);
  }
  g_free(header->coding.coding);
  g_free(header->coding.quantisation);
  g_free(header->coding.roi_shift);
  g_free(header->coding.volumes);
  g_free(header->components);
  g_free(header);
}

static void clear_packed_headers(Cj2kTileParts *tile_parts)
{
  for (uint32_t i = 0; i < tile_parts->num_packed_headers; i++)
    g_free(tile_parts->packed_headers[i].data);
  g_free(tile_parts->packed_headers);
  tile_parts->packed_headers = NULL;
  tile_parts->num_packed_headers = 0;
}

void cj2k_tile_parts_clear(Cj2kTileParts *tile_parts)
{
  clear_packed_headers(tile_parts);
  g_free(tile_parts->tile_parts);
  memset(tile_parts, 0, sizeof *tile_parts);
}

/* --- from marker segments to a Header, in order of precedence --- */

typedef struct {
  const uint8_t *data;
  Cj2kHeader *header;
  uint64_t budget; /* bytes that the parameters of tiles may still take */
  Cj2kError *error;
} Interpreter;

/* The marker segments of the main header, or of all tile-part headers of one tile. */
typedef struct {
  const Cj2kMarkerSegment *first;
  uint32_t count;
} SegmentRun;

/* Copies an array of a tile before it is first written. The main header's own arrays are written in
 * place. */
static void *own_array(Interpreter *in, void *array, const void *main_array, bool is_main,
                       size_t element_size)
{
  size_t size = in->header->num_components * element_size;

  if (is_main || array != main_array)
    return array;
  if (size > in->budget)
    return NULL;
  in->budget -= size;
  return g_memdup2(array, size);
}

static bool own_arrays(Interpreter *in, Cj2kTileCoding *tile, uint16_t marker)
{
  const Cj2kTileCoding *main = &in->header->coding;
  bool is_main = tile == main;
  void *own;

  switch (marker) {
  case CJ2K_COD:
  case CJ2K_COC:
    own = own_array(in, tile->coding, main->coding, is_main, sizeof *tile->coding);
    tile->coding = own ? own : tile->coding;
    return own != NULL;
  case CJ2K_QCD:
  case CJ2K_QCC:
    own =
        own_array(in, tile->quantisation, main->quantisation, is_main, sizeof *tile->quantisation);
    tile->quantisation = own ? own : tile->quantisation;
    return own != NULL;
  case CJ2K_RGN:
    own = own_array(in, tile->roi_shift, main->roi_shift, is_main, sizeof *tile->roi_shift);
    tile->roi_shift = own ? own : tile->roi_shift;
    return own != NULL;
  default: return true;
  }
}

/* What COD and QCD of one header say. */
typedef struct {
  bool has_coding, has_quantisation;
  Cj2kCoding coding;
  Cj2kQuantisation quantisation;
} Defaults;

static Cj2kStatus read_default(Interpreter *in, Cj2kTileCoding *tile,
                               const Cj2kMarkerSegment *segment, Defaults *defaults)
{
  if (segment->marker == CJ2K_COD) {
    defaults->has_coding = true;
    return cj2k_read_cod(in->data, segment, tile, &defaults->coding, in->error);
  }
  defaults->has_quantisation = true;
  return cj2k_read_quantisation(in->data, segment, 0, NULL, &defaults->quantisation, in->error);
}

/* COD and QCD apply to every component that has no COC or QCC in the same header. If there are
 * several, the last one does, and only that is copied: thousands of them fit into a packet, each
 * for thousands of components. */
static void apply_defaults(Interpreter *in, Cj2kTileCoding *tile, const Defaults *defaults)
{
  for (uint32_t c = 0; defaults->has_coding && c < in->header->num_components; c++)
    tile->coding[c] = defaults->coding;
  for (uint32_t c = 0; defaults->has_quantisation && c < in->header->num_components; c++)
    tile->quantisation[c] = defaults->quantisation;
}

/* Appends the entries of a POC to those of the same header. The entries of a tile replace those of
 * the main header. */
static Cj2kStatus append_volumes(Interpreter *in, Cj2kTileCoding *tile,
                                 const Cj2kMarkerSegment *segment)
{
  Cj2kTileCoding *main = &in->header->coding;
  uint32_t added = cj2k_poc_num_volumes(segment, in->header->num_components);

  if (tile != main && tile->volumes == main->volumes) {
    tile->volumes = NULL;
    tile->num_volumes = 0;
  }
  tile->volumes = g_renew(Cj2kProgressionVolume, tile->volumes, tile->num_volumes + added + 1);
  tile->num_volumes += added;
  return cj2k_read_poc(in->data, segment, in->header->num_components,
                       tile->volumes + tile->num_volumes - added, in->error);
}

static Cj2kStatus apply_specific(Interpreter *in, Cj2kTileCoding *tile,
                                 const Cj2kMarkerSegment *segment)
{
  uint32_t num_components = in->header->num_components, component = 0;
  Cj2kStatus status = CJ2K_OK;

  switch (segment->marker) {
  case CJ2K_CAP: return cj2k_read_cap(in->data, segment, in->header, in->error);
  case CJ2K_COC: {
    Cj2kCoding coding;
    status = cj2k_read_coc(in->data, segment, num_components, &component, &coding, in->error);
    if (status == CJ2K_OK)
      tile->coding[component] = coding;
    return status;
  }
  case CJ2K_QCC: {
    Cj2kQuantisation quantisation;
    status = cj2k_read_quantisation(in->data, segment, num_components, &component, &quantisation,
                                    in->error);
    if (status == CJ2K_OK)
      tile->quantisation[component] = quantisation;
    return status;
  }
  case CJ2K_RGN: {
    uint8_t shift;
    status = cj2k_read_rgn(in->data, segment, num_components, &component, &shift, in->error);
    if (status == CJ2K_OK)
      tile->roi_shift[component] = shift;
    return status;
  }
  case CJ2K_POC: return append_volumes(in, tile, segment);
  default: return status;
  }
}

static bool is_default(const Cj2kMarkerSegment *segment)
{
  return segment->marker == CJ2K_COD || segment->marker == CJ2K_QCD;
}

/*
 * Applies the marker segments of one header to *tile: COD and QCD before COC, QCC and RGN, in
 * whatever order they come. Because the main header is applied first and the tile's headers after
 * it, the precedence is tile COC > tile COD > main COC > main COD (A.6.1, A.6.2, and likewise
 * A.6.4, A.6.5).
 */
static Cj2kStatus apply_run(Interpreter *in, Cj2kTileCoding *tile, SegmentRun run)
{
  Defaults defaults = {0};

  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < run.count; i++) {
      const Cj2kMarkerSegment *segment = &run.first[i];
      Cj2kStatus status;

      if (is_default(segment) != (round == 0))
        continue;
      if (!own_arrays(in, tile, segment->marker))
        return cj2k_error_set_at(in->error, CJ2K_ERROR_LIMIT, segment->marker, segment->offset,
                                 "parameters of tiles that differ from the main header's need "
                                 "more memory than allowed");
      status = round == 0 ? read_default(in, tile, segment, &defaults)
                          : apply_specific(in, tile, segment);
      if (status != CJ2K_OK)
        return status;
    }
    if (round == 0)
      apply_defaults(in, tile, &defaults);
  }
  return CJ2K_OK;
}

static bool run_has(SegmentRun run, uint16_t marker)
{
  for (uint32_t i = 0; i < run.count; i++)
    if (run.first[i].marker == marker)
      return true;
  return false;
}

static int compare_by_tile(const void *a, const void *b)
{
  const Cj2kMarkerSegment *x = a, *y = b;

  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static Cj2kStatus apply_tiles(Interpreter *in, Cj2kMarkerSegment *segments, uint32_t count)
{
  Cj2kHeader *header = in->header;
  uint32_t num_tiles = header->num_tiles_x * header->num_tiles_y;

  if (count == 0)
    return CJ2K_OK;
  header->tiles = g_new0(Cj2kTileCoding *, num_tiles);
  qsort(segments, count, sizeof *segments, compare_by_tile);
  for (uint32_t i = 0; i < count;) {
    SegmentRun run = {segments + i, 0};
    Cj2kTileCoding *tile;
    Cj2kStatus status;

    while (i < count && segments[i].tile == run.first->tile) {
      run.count++;
      i++;
    }
    tile = g_memdup2(&header->coding, sizeof header->coding);
    header->tiles[run.first->tile] = tile;
    status = apply_run(in, tile, run);
    if (status == CJ2K_OK)
      status = cj2k_deadline_check(16, in->error);
    if (status != CJ2K_OK)
      return status;
  }
  return CJ2K_OK;
}

/* Creates a Header from the marker segments that the scan found; with_tiles says whether tile-parts
 * were scanned too. */
static Cj2kStatus interpret(Cj2kScan *scan, bool with_tiles, uint64_t max_memory, Cj2kHeader **out,
                            Cj2kError *error)
{
  SegmentRun main_run = {scan->segments, scan->num_main_segments};
  Cj2kHeader *header = cj2k_header_new(scan->num_components, 0);
  Interpreter in = {scan->data, header, max_memory ? max_memory : UINT64_MAX, error};
  Cj2kStatus status = cj2k_read_siz(scan->data, &scan->segments[0], header, error);

  if (status == CJ2K_OK)
    status = cj2k_read_siz_components(scan->data, &scan->segments[0], header, error);
  if (status == CJ2K_OK && !run_has(main_run, CJ2K_COD))
    status = cj2k_error_set(error, CJ2K_ERROR_CODESTREAM, "the main header has no COD");
  if (status == CJ2K_OK && !run_has(main_run, CJ2K_QCD))
    status = cj2k_error_set(error, CJ2K_ERROR_CODESTREAM, "the main header has no QCD");
  if (status == CJ2K_OK)
    status = apply_run(&in, &header->coding, main_run);
  if (status == CJ2K_OK && with_tiles)
    status = apply_tiles(&in, scan->segments + scan->num_main_segments,
                         scan->num_segments - scan->num_main_segments);
  if (status != CJ2K_OK) {
    cj2k_header_unref(header);
    return status;
  }
  *out = header;
  return CJ2K_OK;
}

/* --- the reader --- */

Cj2kHeaderReader *cj2k_header_reader_new(void)
{
  return g_new0(Cj2kHeaderReader, 1);
}

void cj2k_header_reader_free(Cj2kHeaderReader *reader)
{
  if (!reader)
    return;
  cj2k_scan_clear(&reader->scan);
  cj2k_header_unref(reader->header);
  cj2k_header_unref(reader->main_header);
  g_free(reader->signature);
  g_free(reader);
}

static Cj2kStatus read_main_only(Cj2kHeaderReader *reader, uint64_t max_memory, Cj2kHeader **header,
                                 bool *same, Cj2kError *error)
{
  const Cj2kScan *scan = &reader->scan;
  Cj2kHeader *fresh;
  Cj2kStatus status;

  if (reader->header && reader->main_signature_size == scan->main_signature_size &&
      memcmp(reader->signature, scan->signature, scan->main_signature_size) == 0) {
    *header = reader->header;
    *same = true;
    return CJ2K_OK;
  }
  status = interpret(&reader->scan, false, max_memory, &fresh, error);
  if (status != CJ2K_OK)
    return status;
  cj2k_header_unref(reader->main_header);
  *header = reader->main_header = fresh;
  return CJ2K_OK;
}

static Cj2kStatus read_all(Cj2kHeaderReader *reader, uint64_t max_memory, Cj2kHeader **header,
                           bool *same, Cj2kError *error)
{
  Cj2kScan *scan = &reader->scan;
  Cj2kHeader *fresh;
  Cj2kStatus status;

  if (reader->header && reader->signature_size == scan->signature_size &&
      reader->main_signature_size == scan->main_signature_size &&
      memcmp(reader->signature, scan->signature, scan->signature_size) == 0) {
    *header = reader->header;
    *same = true;
    return CJ2K_OK;
  }
  status = interpret(scan, true, max_memory, &fresh, error);
  if (status != CJ2K_OK)
    return status;
  cj2k_header_unref(reader->header);
  *header = reader->header = fresh;
  g_free(reader->signature);
  reader->signature = g_memdup2(scan->signature, scan->signature_size);
  reader->signature_size = scan->signature_size;
  reader->main_signature_size = scan->main_signature_size;
  return CJ2K_OK;
}

Cj2kStatus cj2k_header_read(Cj2kHeaderReader *reader, const uint8_t *data, size_t size, bool strict,
                            uint64_t max_memory, Cj2kHeader **header, bool *same,
                            Cj2kTileParts *tile_parts, Cj2kError *error)
{
  Cj2kScan *scan = &reader->scan;
  uint64_t position;
  Cj2kStatus status = cj2k_scan_main_header(scan, data, size, &position, error);

  *same = false;
  if (status != CJ2K_OK)
    return status;
  if (!tile_parts)
    return read_main_only(reader, max_memory, header, same, error);
  clear_packed_headers(tile_parts);
  status = cj2k_scan_tile_parts(scan, position, strict, tile_parts, error);
  if (status == CJ2K_OK)
    status = cj2k_gather_packed_headers(scan, strict, tile_parts, error);
  return status == CJ2K_OK ? read_all(reader, max_memory, header, same, error) : status;
}
