/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The markers and tile-parts of a codestream (T.800 Annex A) with their offsets and lengths. */
#include "common/codestream/markers.h"
#include "info.h"

#include <glib.h>
#include <string.h>

/* The position in the codestream and the facts so far. */
typedef struct {
  const InfoContext *context;
  InfoSpan span;
  uint64_t at;
  InfoValue *markers, *tile_parts;
  uint32_t num_components;  /* from SIZ; 0 before it */
  GArray *declared_lengths; /* of tile-parts as TLM states them: uint32_t */
  GArray *lengths;          /* of tile-parts as found: uint32_t */
  uint32_t num_tlm, num_plt, num_plm, num_packed;
  uint64_t told_packet_bytes; /* from the PLT segments of the current tile-part */
} Walk;

/* A marker segment; `bytes` are its parameters without the length field. */
typedef struct {
  uint16_t marker;
  uint64_t offset; /* of the marker */
  Cj2kBytes bytes;
} Segment;

/* ----------------------------------------------------------- contents of marker segments --- */

static void read_com(Walk *walk, Segment *segment, InfoValue *out)
{
  (void)walk;
  bool latin = cj2k_bytes_get(&segment->bytes, 2) == 1;
  size_t size = cj2k_bytes_left(&segment->bytes);
  if (!latin) {
    info_put_int(out, "binary_bytes", (int64_t)size);
    return;
  }
  gsize written;
  char *text = g_convert((const char *)segment->bytes.at, (gssize)size, "UTF-8", "ISO-8859-15",
                         NULL, &written, NULL);
  if (text)
    info_put_bytes_text(out, "text", (const uint8_t *)text, written);
  g_free(text);
}

/* A.7.1 */
static void read_tlm(Walk *walk, Segment *segment, InfoValue *out)
{
  Cj2kBytes *bytes = &segment->bytes;
  walk->num_tlm++;
  info_put_int(out, "index", cj2k_bytes_get(bytes, 1));
  uint32_t style = cj2k_bytes_get(bytes, 1), tile_bytes = style >> 4 & 3;
  uint32_t length_bytes = style >> 6 & 1 ? 4 : 2, entries = 0;
  if (tile_bytes == 3) {
    info_error(walk->context, segment->offset, "TLM with an index of 3 bytes");
    return;
  }
  for (; cj2k_bytes_left(bytes) >= tile_bytes + length_bytes; entries++) {
    if (tile_bytes)
      cj2k_bytes_get(bytes, tile_bytes);
    uint32_t length = cj2k_bytes_get(bytes, length_bytes);
    g_array_append_val(walk->declared_lengths, length);
  }
  info_put_int(out, "tile_parts", entries);
}

/* A.7.3: lengths of packets, seven bits per byte. */
static void read_plt(Walk *walk, Segment *segment, InfoValue *out)
{
  Cj2kBytes *bytes = &segment->bytes;
  uint64_t length = 0, sum = 0;
  uint32_t packets = 0;
  walk->num_plt++;
  info_put_int(out, "index", cj2k_bytes_get(bytes, 1));
  while (cj2k_bytes_left(bytes)) {
    uint32_t byte = cj2k_bytes_get(bytes, 1);
    length = length << 7 | (byte & 0x7f);
    if (byte >> 7)
      continue;
    sum += length;
    length = 0;
    packets++;
  }
  walk->told_packet_bytes += sum;
  info_put_int(out, "packets", packets);
  info_put_int(out, "bytes", (int64_t)sum);
}

static void read_index(Walk *walk, Segment *segment, InfoValue *out)
{
  walk->num_plm += segment->marker == CJ2K_PLM;
  walk->num_packed += segment->marker != CJ2K_PLM;
  info_put_int(out, "index", cj2k_bytes_get(&segment->bytes, 1));
}

static void read_component(Walk *walk, Segment *segment, InfoValue *out)
{
  info_put_int(out, "component", cj2k_bytes_component(&segment->bytes, walk->num_components));
}

static void read_cpf(Walk *walk, Segment *segment, InfoValue *out)
{
  (void)walk;
  InfoValue *numbers = info_put(out, "pcpf", info_array());
  while (cj2k_bytes_left(&segment->bytes) >= 2)
    info_add_int(numbers, cj2k_bytes_get(&segment->bytes, 2));
}

static void read_siz(Walk *walk, Segment *segment, InfoValue *out)
{
  (void)out;
  if (cj2k_bytes_left(&segment->bytes) >= 36)
    walk->num_components = cj2k_get16(segment->bytes.at + 34);
}

static const struct {
  uint16_t marker;
  void (*read)(Walk *walk, Segment *segment, InfoValue *out);
} readers[] = {{CJ2K_SIZ, read_siz},       {CJ2K_COM, read_com},       {CJ2K_TLM, read_tlm},
               {CJ2K_PLT, read_plt},       {CJ2K_PLM, read_index},     {CJ2K_PPM, read_index},
               {CJ2K_PPT, read_index},     {CJ2K_COC, read_component}, {CJ2K_QCC, read_component},
               {CJ2K_RGN, read_component}, {CJ2K_CPF, read_cpf}};

/* --------------------------------------------------------------------------- the walk --- */

static InfoValue *add_marker(Walk *walk, uint16_t marker, uint64_t offset, uint64_t length)
{
  const Cj2kMarkerInfo *info = cj2k_marker_info(marker);
  InfoValue *out = info_add(walk->markers, info_object());
  info_put_text(out, "marker", "%s", info->marker ? info->name : "unknown");
  info_put_text(out, "code", "0x%04X", marker);
  info_put_int(out, "offset", (int64_t)offset);
  info_put_int(out, "length", (int64_t)length);
  return out;
}

/* Whether a header ends here: at a delimiter, or at bytes that make no sense, which is an error. */
typedef enum { STEP_SEGMENT, STEP_DELIMITER, STEP_BROKEN } Step;

/* Reads the marker at walk->at and moves that behind the marker segment. */
static Step next_marker(Walk *walk, uint64_t end, uint16_t *marker)
{
  const uint8_t *data = walk->span.data + walk->at;
  uint64_t left = end - walk->at, offset = walk->at;
  if (left < 2) {
    info_error(walk->context, offset, "the bytes end in a header");
    return STEP_BROKEN;
  }
  *marker = cj2k_get16(data);
  const Cj2kMarkerInfo *info = cj2k_marker_info(*marker);
  if (*marker < 0xff01) {
    info_error(walk->context, offset, "0x%04X is no marker", *marker);
    return STEP_BROKEN;
  }
  if (info->kind == CJ2K_SEGMENT_DELIMITER)
    return STEP_DELIMITER;
  uint64_t length = 2;
  if (cj2k_marker_has_segment(*marker)) {
    length += left < 4 ? 0 : cj2k_get16(data + 2);
    if (length < 4 || length > left) {
      info_error(walk->context, offset, "%s marker segment of %u bytes, %" G_GUINT64_FORMAT " left",
                 info->name, (unsigned)length, left);
      return STEP_BROKEN;
    }
  }
  InfoValue *out = add_marker(walk, *marker, offset, length);
  Segment segment = {*marker, offset, {data + MIN(length, 4), data + length, false}};
  for (size_t i = 0; i < G_N_ELEMENTS(readers); i++)
    if (readers[i].marker == *marker)
      readers[i].read(walk, &segment, out);
  if (segment.bytes.overrun)
    info_error(walk->context, offset, "%s marker segment is too short", info->name);
  walk->at += length;
  return STEP_SEGMENT;
}

static void add_tile_part(Walk *walk, uint64_t start, uint64_t data, uint64_t end)
{
  const uint8_t *sot = walk->span.data + start;
  InfoValue *part = info_add(walk->tile_parts, info_object());
  uint32_t length = (uint32_t)(end - start);
  info_put_int(part, "tile", cj2k_get16(sot + 4));
  info_put_int(part, "part", sot[10]);
  info_put_int(part, "parts", sot[11]); /* 0: not stated here */
  info_put_int(part, "offset", (int64_t)start);
  info_put_int(part, "length", (int64_t)(end - start));
  info_put_int(part, "header_bytes", (int64_t)(data - start));
  info_put_int(part, "data_bytes", (int64_t)(end - data));
  g_array_append_val(walk->lengths, length);
}

/* The end of the packets that begin at `from`, for a tile-part without a length: at EOC, or where
 * the bytes end. Packets contain no such marker (T.800 B.10.1, C.3), except that the packet number
 * of an SOP marker segment may look like one. */
static uint64_t find_eoc(const Walk *walk, uint64_t from)
{
  const uint8_t *data = walk->span.data;
  for (uint64_t at = from; at + 2 <= walk->span.end; at++) {
    bool in_sop = at >= from + 4 && cj2k_get16(data + at - 4) == CJ2K_SOP;
    if (data[at] == 0xff && cj2k_get16(data + at) == CJ2K_EOC && !in_sop)
      return at;
  }
  return walk->span.end;
}

/* Reads the tile-part at walk->at and moves that behind it. false: the codestream ends here. */
static bool walk_tile_part(Walk *walk)
{
  uint64_t start = walk->at, left = walk->span.end - start, end;
  const uint8_t *sot = walk->span.data + start;
  uint16_t marker = 0;
  Step step;
  if (left < 12 || cj2k_get16(sot + 2) != 10) {
    info_error(walk->context, start,
               left < 12 ? "the bytes end in an SOT" : "SOT of a wrong length");
    return false;
  }
  uint32_t psot = cj2k_get32(sot + 6);
  end = start + psot;
  if (psot == 0) { /* the tile-part extends to EOC, which follows the header read below */
    end = walk->span.end;
  } else if (psot < 14 || psot > left) {
    info_error(walk->context, start,
               "tile-part %u of tile %u has %u bytes by Psot, %" G_GUINT64_FORMAT " are left",
               sot[10], cj2k_get16(sot + 4), psot, left);
    end = walk->span.end;
  }
  add_marker(walk, CJ2K_SOT, start, 12);
  walk->at += 12;
  walk->told_packet_bytes = 0;
  uint32_t num_plt = walk->num_plt;
  while ((step = next_marker(walk, end, &marker)) == STEP_SEGMENT)
    ;
  if (step == STEP_DELIMITER && marker != CJ2K_SOD)
    info_error(walk->context, walk->at, "%s in a tile-part header", cj2k_marker_info(marker)->name);
  if (step == STEP_BROKEN || marker != CJ2K_SOD)
    return false;
  add_marker(walk, CJ2K_SOD, walk->at, 2);
  end = psot == 0 ? find_eoc(walk, walk->at + 2) : end;
  add_tile_part(walk, start, walk->at + 2, end);
  if (num_plt != walk->num_plt && !walk->num_packed &&
      walk->told_packet_bytes != end - walk->at - 2)
    info_error(walk->context, start,
               "PLT tells %" G_GUINT64_FORMAT " bytes of packets, there are %" G_GUINT64_FORMAT,
               walk->told_packet_bytes, end - walk->at - 2);
  walk->at = end;
  return psot == 0 || (psot >= 14 && psot <= left);
}

static void check_tlm(const Walk *walk)
{
  const GArray *declared = walk->declared_lengths, *lengths = walk->lengths;
  if (!walk->num_tlm)
    return;
  if (declared->len != lengths->len)
    info_error(walk->context, walk->span.begin, "TLM tells of %u tile-parts, there are %u",
               declared->len, lengths->len);
  for (uint32_t i = 0; i < MIN(declared->len, lengths->len); i++) {
    uint32_t a = g_array_index(declared, uint32_t, i), b = g_array_index(lengths, uint32_t, i);
    if (a != b) {
      info_error(walk->context, walk->span.begin,
                 "TLM tells %u bytes of tile-part %u of the codestream, it has %u", a, i, b);
      return;
    }
  }
}

static void walk_all(Walk *walk)
{
  uint16_t marker = 0;
  add_marker(walk, CJ2K_SOC, walk->at, 2);
  walk->at += 2;
  Step step;
  while ((step = next_marker(walk, walk->span.end, &marker)) == STEP_SEGMENT)
    ;
  while (step == STEP_DELIMITER && marker == CJ2K_SOT && walk_tile_part(walk)) {
    if (walk->span.end - walk->at < 2) {
      info_error(walk->context, walk->at, "there is no EOC");
      return;
    }
    marker = cj2k_get16(walk->span.data + walk->at);
    if (marker != CJ2K_SOT && marker != CJ2K_EOC)
      info_error(walk->context, walk->at, "0x%04X in place of SOT or EOC", marker);
  }
  if (step == STEP_DELIMITER && marker == CJ2K_EOC) {
    add_marker(walk, CJ2K_EOC, walk->at, 2);
    walk->at += 2;
  } else if (step == STEP_DELIMITER && marker != CJ2K_SOT && marker >= 0xff01 &&
             !info_count(walk->tile_parts)) {
    info_error(walk->context, walk->at, "%s in the main header", cj2k_marker_info(marker)->name);
  }
}

uint64_t info_markers(const InfoContext *context, InfoSpan span, InfoValue *out, InfoMarkers *found)
{
  Walk walk = {.context = context,
               .span = span,
               .at = span.begin,
               .markers = info_array(),
               .tile_parts = info_array(),
               .declared_lengths = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
               .lengths = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
  walk_all(&walk);
  check_tlm(&walk);
  *found = (InfoMarkers){walk.num_tlm, walk.num_packed, info_count(walk.tile_parts)};
  InfoValue *counts = info_put(out, "pointer_segments", info_object());
  info_put_int(counts, "TLM", walk.num_tlm);
  info_put_int(counts, "PLT", walk.num_plt);
  info_put_int(counts, "PLM", walk.num_plm);
  info_put_int(counts, "PPM_PPT", walk.num_packed);
  info_put(out, "tile_parts", walk.tile_parts);
  info_put(out, "markers", walk.markers);
  g_array_unref(walk.declared_lengths);
  g_array_unref(walk.lengths);
  return walk.at;
}
