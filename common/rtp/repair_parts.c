/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "repair_parts.h"

#include "common/codestream/markers.h"

#include <string.h>

void cj2k_rtp_parts_init(Cj2kRtpParts *parts)
{
  memset(parts, 0, sizeof *parts);
  parts->flat = g_byte_array_new();
  parts->runs = g_array_new(FALSE, FALSE, sizeof(uint64_t));
  parts->gaps = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  parts->marks = g_array_new(FALSE, FALSE, sizeof(Cj2kRtpMark));
  parts->slices = g_array_new(FALSE, FALSE, sizeof(Cj2kRtpSlice));
  parts->origins = g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

void cj2k_rtp_parts_clear(Cj2kRtpParts *parts)
{
  g_byte_array_unref(parts->flat);
  g_array_unref(parts->runs);
  g_array_unref(parts->gaps);
  g_array_unref(parts->marks);
  g_array_unref(parts->slices);
  g_array_unref(parts->origins);
  g_free(parts->tile_headers);
}

/* Skips marker segments from *at on up to the marker `stop`. false: the data ends before it, or is
 * not a header at *at, which is where the search ended. */
static bool find_marker(const uint8_t *data, size_t *at, size_t size, uint16_t stop)
{
  while (size - *at >= 2) {
    uint16_t marker = cj2k_get16(data + *at);
    size_t length = 2;
    if (marker == stop)
      return true;
    if (marker < 0xff01 || cj2k_marker_info(marker)->kind == CJ2K_SEGMENT_DELIMITER)
      return false;
    if (cj2k_marker_has_segment(marker)) {
      if (size - *at < 4 || cj2k_get16(data + *at + 2) < 2)
        return false;
      length += cj2k_get16(data + *at + 2);
    }
    *at += MIN(length, size - *at);
  }
  return false;
}

/* Goes from the SOT at *at to the end of its tile-part's header. false: the header is not valid or
 * not whole; *at is where the search ended. */
static bool skip_tile_header(const uint8_t *data, size_t *at, size_t size)
{
  if (size - *at < CJ2K_SOT_BYTES || cj2k_get16(data + *at) != CJ2K_SOT ||
      cj2k_get16(data + *at + 2) != 10)
    return false;
  *at += CJ2K_SOT_BYTES;
  if (!find_marker(data, at, size, CJ2K_SOD))
    return false;
  *at += 2;
  return true;
}

/* The size of the main header; 0: the data does not begin with a whole one. */
static size_t main_header_size(const uint8_t *data, size_t size)
{
  size_t at = 2;
  if (size < 4 || cj2k_get16(data) != CJ2K_SOC || cj2k_get16(data + 2) != CJ2K_SIZ)
    return 0;
  return find_marker(data, &at, size, CJ2K_SOT) ? at : 0;
}

size_t cj2k_rtp_headers_size(const uint8_t *data, size_t size)
{
  size_t at = main_header_size(data, size);
  return at && skip_tile_header(data, &at, size) ? at : 0;
}

/* Adds the resync point of a payload. POS may point at SOP or behind it; the mark is where the
 * packet begins, which is at SOP. */
static void add_mark(Cj2kRtpParts *parts, const Cj2kRtpArrived *payload)
{
  uint64_t at = parts->flat->len + (uint64_t)payload->header.position;
  const uint8_t *data = payload->data + payload->header.position;
  if (payload->header.position >= payload->size)
    return;
  if (payload->header.position >= 6 && cj2k_begins_sop(data - 6))
    at -= 6;
  Cj2kRtpMark mark = {at, payload->header.precinct};
  if (parts->marks->len == 0 ||
      g_array_index(parts->marks, Cj2kRtpMark, parts->marks->len - 1).at < at)
    g_array_append_val(parts->marks, mark);
}

static void begin_run(Cj2kRtpParts *parts, uint64_t at, uint32_t lost)
{
  g_array_append_val(parts->runs, at);
  g_array_append_val(parts->gaps, lost);
}

/* The number of payloads missing before one, with `before` more in front of that. */
static uint32_t add_lost(uint32_t before, const Cj2kRtpArrived *arrived)
{
  if (arrived->gap && !arrived->lost)
    return UINT32_MAX;
  uint64_t lost = (uint64_t)before + (arrived->gap ? arrived->lost : 0) + (arrived->size == 0);
  return (uint32_t)MIN(lost, UINT32_MAX);
}

/* Copies `kept`, if it is not NULL, and the payloads to `flat`, and notes where runs begin. With
 * `kept` Main packets are not copied; what follows the last of them follows `kept`. */
static void lay_out(Cj2kRtpParts *parts, const Cj2kRtpArrived *arrived, uint32_t count,
                    const GByteArray *kept)
{
  uint64_t at = 0;
  bool gap = true;
  uint32_t lost = 0;
  g_byte_array_set_size(parts->flat, 0);
  g_array_set_size(parts->runs, 0);
  g_array_set_size(parts->gaps, 0);
  parts->largest = 0;
  g_array_set_size(parts->marks, 0);
  g_array_set_size(parts->origins, 0);
  if (kept) {
    begin_run(parts, 0, 0);
    g_byte_array_append(parts->flat, kept->data, kept->len);
    gap = false;
  }
  for (uint32_t i = 0; i < count; i++) {
    at = parts->flat->len;
    g_array_append_val(parts->origins, at);
    gap |= arrived[i].gap || arrived[i].size == 0;
    lost = add_lost(lost, &arrived[i]);
    parts->largest = MAX(parts->largest, arrived[i].size);
    if (arrived[i].size == 0)
      continue;
    if (kept && arrived[i].header.kind != CJ2K_RTP_BODY) {
      gap = arrived[i].header.kind == CJ2K_RTP_MAIN_MORE;
      lost = gap ? UINT32_MAX : 0;
      continue;
    }
    if (gap)
      begin_run(parts, at, lost);
    gap = false;
    lost = 0;
    if (arrived[i].header.kind == CJ2K_RTP_BODY && arrived[i].header.marked)
      add_mark(parts, &arrived[i]);
    g_byte_array_append(parts->flat, arrived[i].data, arrived[i].size);
  }
  at = parts->flat->len;
  g_array_append_val(parts->origins, at);
  g_array_append_val(parts->runs, at);
}

/* The next SOT with a whole tile-part header in flat[from, end), or `end`. The bytes of SOT cannot
 * occur in packets. *data_at is the end of the header. The bytes of a broken header are not
 * searched again, because its marker segments may contain thousands of SOT. */
static size_t find_tile_part(const Cj2kRtpParts *parts, size_t from, size_t end, size_t *data_at)
{
  const uint8_t *data = parts->flat->data;
  while (end - from >= CJ2K_SOT_BYTES) {
    const uint8_t *found = memchr(data + from, 0xff, end - from - 1);
    if (!found)
      break;
    from = *data_at = (size_t)(found - data);
    if (skip_tile_header(data, data_at, end) && cj2k_get16(found + 4) < parts->num_tiles)
      return from;
    from = MAX(from + 1, *data_at);
  }
  return end;
}

/* The tile-part that find_slices is in. */
typedef struct {
  uint32_t tile, index, count; /* Isot, TPsot, TNsot */
  uint32_t first_slice;
} Current;

/* Whether the header of a later tile-part changes the progression (POC) or packs packet headers
 * (PPT). */
static bool changes_coding(const uint8_t *at, const uint8_t *end)
{
  while (end - at >= 4) {
    uint16_t marker = cj2k_get16(at);
    if (cj2k_marker_info(marker)->kind != CJ2K_SEGMENT_SKIP)
      return cj2k_marker_info(marker)->kind != CJ2K_SEGMENT_DELIMITER;
    at += cj2k_marker_bytes(at);
  }
  return false;
}

/* `before`: the tile of the tile-part before; -1: none. */
static Current enter_tile_part(Cj2kRtpParts *parts, const uint8_t *sot, uint64_t data_at,
                               int64_t before)
{
  Current current = {cj2k_get16(sot + 4), sot[10], sot[11], parts->slices->len};
  uint64_t header = (uint64_t)(sot - parts->flat->data) + CJ2K_SOT_BYTES;
  if (current.index != 0 && changes_coding(sot + CJ2K_SOT_BYTES, parts->flat->data + data_at))
    parts->unsupported = true;
  parts->in_turn &= current.index == 0 && current.count == 1 && (int64_t)current.tile > before;
  if (current.index == 0 && parts->tile_headers[current.tile].size == 0)
    parts->tile_headers[current.tile] = (Cj2kSpan){header, data_at - header};
  return current;
}

/* Leaves a tile-part. `followed`: the next tile-part that arrived is its successor. If it is not,
 * slices after a gap may belong to missing tile-parts and are dropped. This is not necessary with a
 * single tile, whose resync points identify packets. */
static void leave_tile_part(Cj2kRtpParts *parts, const Current *current, bool followed)
{
  if (followed || parts->num_tiles == 1)
    return;
  for (uint32_t i = current->first_slice; i < parts->slices->len; i++)
    if (g_array_index(parts->slices, Cj2kRtpSlice, i).after_gap) {
      g_array_set_size(parts->slices, i);
      return;
    }
}

/* Whether the tile-part with this SOT can directly follow the current one. */
static bool follows(const Current *current, const uint8_t *sot)
{
  uint32_t tile = cj2k_get16(sot + 4), index = sot[10];
  return (tile == current->tile && index == current->index + 1) ||
         (tile == current->tile + 1 && index == current->index);
}

static void add_slice(Cj2kRtpParts *parts, const Current *current, Cj2kRtpSlice slice,
                      bool after_header)
{
  slice.tile = current->tile;
  slice.begins_tile = after_header && current->index == 0;
  if (slice.end > slice.begin)
    g_array_append_val(parts->slices, slice);
}

static gint compare_slices(gconstpointer a, gconstpointer b)
{
  const Cj2kRtpSlice *x = a, *y = b;
  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Divides the runs into slices. `headers` is the size of the headers at the beginning of `flat`. */
static void find_slices(Cj2kRtpParts *parts, uint64_t headers)
{
  const uint8_t *flat = parts->flat->data;
  parts->in_turn = true;
  Current current = enter_tile_part(parts, flat + parts->main, headers, -1);
  g_array_set_size(parts->slices, 0);
  current.first_slice = 0;
  for (uint32_t i = 0; i + 1 < parts->runs->len; i++) {
    uint64_t begin = g_array_index(parts->runs, uint64_t, i);
    uint64_t end = g_array_index(parts->runs, uint64_t, i + 1);
    bool after_gap = i > 0, after_header = i == 0;
    size_t data_at = 0;
    if (i == 0)
      begin = headers;
    while (begin < end) {
      uint64_t next = find_tile_part(parts, begin, end, &data_at);
      bool successor = next != end && follows(&current, flat + next);
      Cj2kRtpSlice slice = {.begin = begin,
                            .end = next,
                            .after_gap = after_gap,
                            .ends_tile = successor && cj2k_get16(flat + next + 4) != current.tile,
                            .lost = after_header ? 0 : g_array_index(parts->gaps, uint32_t, i)};
      add_slice(parts, &current, slice, after_header);
      if (next == end)
        break;
      leave_tile_part(parts, &current, successor);
      /* A tile-part with TPsot > 0 continues the one before it, unless that may be missing. */
      after_gap = i > 0 && flat[next + 10] > 0 &&
                  !(successor && cj2k_get16(flat + next + 4) == current.tile);
      current = enter_tile_part(parts, flat + next, data_at, current.tile);
      begin = data_at;
      after_header = true;
    }
  }
  leave_tile_part(parts, &current, current.tile + 1 == parts->num_tiles);
  g_array_sort(parts->slices, compare_slices);
}

void cj2k_rtp_parts_trim(Cj2kRtpParts *parts)
{
  const uint8_t *data = parts->flat->data;
  if (!parts->slices->len)
    return;
  Cj2kRtpSlice *last = &g_array_index(parts->slices, Cj2kRtpSlice, parts->slices->len - 1);
  uint64_t end = last->end;
  while (end > last->begin && data[end - 1] == 0)
    end--;
  if (end - last->begin < 2 || cj2k_get16(data + end - 2) != CJ2K_EOC)
    return;
  last->end = end - 2;
  last->ends_tile = true;
}

/* The number of tiles, from SIZ. 0: it is not valid. */
static uint32_t count_tiles(const uint8_t *data, size_t size)
{
  Cj2kMarkerSegment segment = {.marker = CJ2K_SIZ, .tile = UINT32_MAX, .offset = 6};
  Cj2kHeader header = {0};
  Cj2kError error = {0};
  if (size < 6 || cj2k_get16(data + 4) < 2 || size - 4 < cj2k_get16(data + 4))
    return 0;
  segment.size = cj2k_get16(data + 4) - 2u;
  return cj2k_read_siz(data, &segment, &header, &error) == CJ2K_OK
             ? header.num_tiles_x * header.num_tiles_y
             : 0;
}

bool cj2k_rtp_parts_find(Cj2kRtpParts *parts, const Cj2kRtpArrived *arrived, uint32_t count,
                         const GByteArray *kept)
{
  lay_out(parts, arrived, count, NULL);
  uint64_t first_run = parts->runs->len > 1 ? g_array_index(parts->runs, uint64_t, 1) : 0;
  parts->headers = cj2k_rtp_headers_size(parts->flat->data, first_run);
  if (!parts->headers || arrived[0].gap) {
    if (!kept)
      return false;
    lay_out(parts, arrived, count, kept);
    parts->headers = cj2k_rtp_headers_size(parts->flat->data, kept->len);
  }
  parts->main = main_header_size(parts->flat->data, parts->headers);
  uint32_t tiles = parts->main ? count_tiles(parts->flat->data, parts->main) : 0;
  if (!tiles || cj2k_get16(parts->flat->data + parts->main + 4) >= tiles)
    return false;
  parts->num_tiles = tiles;
  if (tiles > 1) /* PID does not tell the tile, so that marks are of no use */
    g_array_set_size(parts->marks, 0);
  parts->tile_headers = g_renew(Cj2kSpan, parts->tile_headers, tiles);
  memset(parts->tile_headers, 0, tiles * sizeof *parts->tile_headers);
  parts->unsupported = false;
  find_slices(parts, parts->headers);
  return !parts->unsupported;
}
