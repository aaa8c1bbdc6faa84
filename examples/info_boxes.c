/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The boxes of JP2, JPH and JPX files (T.800 Annex I, T.814 Annex D) and their contents. */
#include "common/codestream/markers.h"
#include "info.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define MAX_DEPTH 8 /* of nested boxes */

typedef struct {
  char type[5];
  uint64_t offset, contents, end;
} Box;

/* --------------------------------------------------------------------- contents of boxes --- */

static uint32_t get(Cj2kBytes *bytes, uint32_t n)
{
  return cj2k_bytes_get(bytes, n);
}

static void put_tag(InfoValue *out, const char *key, uint32_t tag)
{
  char text[5] = {(char)(tag >> 24), (char)(tag >> 16), (char)(tag >> 8), (char)tag, 0};
  info_put_text(out, key, "%s", g_strchomp(text));
}

static void add_depth(InfoValue *array, uint32_t code)
{
  info_add_text(array, "%u%s", (code & 0x7f) + 1, code >> 7 ? " signed" : "");
}

static void read_signature(Cj2kBytes *bytes, InfoValue *out)
{
  info_put_bool(out, "valid", get(bytes, 4) == 0x0d0a870a && !bytes->overrun);
}

static void read_ftyp(Cj2kBytes *bytes, InfoValue *out)
{
  put_tag(out, "brand", get(bytes, 4));
  info_put_int(out, "version", get(bytes, 4));
  InfoValue *list = info_put(out, "compatible", info_array());
  while (cj2k_bytes_left(bytes) >= 4) {
    uint32_t tag = get(bytes, 4);
    char text[5] = {(char)(tag >> 24), (char)(tag >> 16), (char)(tag >> 8), (char)tag, 0};
    info_add_text(list, "%s", g_strchomp(text));
  }
}

static void read_ihdr(Cj2kBytes *bytes, InfoValue *out)
{
  uint32_t height = get(bytes, 4);
  info_put_int(out, "width", get(bytes, 4));
  info_put_int(out, "height", height);
  info_put_int(out, "components", get(bytes, 2));
  uint32_t depth = get(bytes, 1);
  if (depth == 255)
    info_put_text(out, "depth", "by component");
  else
    info_put_text(out, "depth", "%u%s", (depth & 0x7f) + 1, depth >> 7 ? " signed" : "");
  info_put_int(out, "compression", get(bytes, 1));
  info_put_bool(out, "colourspace_unknown", get(bytes, 1));
  info_put_bool(out, "intellectual_property", get(bytes, 1));
}

static void read_bpcc(Cj2kBytes *bytes, InfoValue *out)
{
  InfoValue *depths = info_put(out, "depths", info_array());
  while (cj2k_bytes_left(bytes))
    add_depth(depths, get(bytes, 1));
}

static const char *colourspace(uint32_t number)
{
  static const struct {
    uint32_t number;
    const char *name;
  } names[] = {{0, "bi-level"}, {1, "YCbCr(1)"},     {3, "YCbCr(2)"}, {4, "YCbCr(3)"},
               {9, "PhotoYCC"}, {11, "CMY"},         {12, "CMYK"},    {13, "YCCK"},
               {14, "CIELab"},  {15, "bi-level(2)"}, {16, "sRGB"},    {17, "greyscale"},
               {18, "sYCC"},    {19, "CIEJab"},      {20, "e-sRGB"},  {21, "ROMM-RGB"},
               {24, "e-sYCC"}};
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
    if (names[i].number == number)
      return names[i].name;
  return "unknown";
}

static void read_icc(Cj2kBytes *bytes, InfoValue *out)
{
  info_put_int(out, "icc_bytes", (int64_t)cj2k_bytes_left(bytes));
  if (cj2k_bytes_left(bytes) < 24)
    return;
  bytes->at += 12;
  put_tag(out, "icc_class", get(bytes, 4));
  put_tag(out, "icc_colourspace", get(bytes, 4));
  put_tag(out, "icc_connection_space", get(bytes, 4));
}

static void read_colr(Cj2kBytes *bytes, InfoValue *out)
{
  static const char *const methods[] = {"reserved", "enumerated", "restricted ICC",
                                        "any ICC",  "vendor",     "parameterized"};
  uint32_t method = get(bytes, 1);
  info_put_text(out, "method", "%s", methods[method < G_N_ELEMENTS(methods) ? method : 0]);
  info_put_int(out, "precedence", (int8_t)get(bytes, 1));
  info_put_int(out, "approximation", get(bytes, 1));
  if (method == 1) {
    uint32_t number = get(bytes, 4);
    info_put_int(out, "enumerated", number);
    info_put_text(out, "colourspace", "%s", colourspace(number));
  } else if (method == 2 || method == 3) {
    read_icc(bytes, out);
  } else if (method == 5) { /* code points of Rec. ITU-T H.273 */
    info_put_int(out, "primaries", get(bytes, 2));
    info_put_int(out, "transfer", get(bytes, 2));
    info_put_int(out, "matrix", get(bytes, 2));
    info_put_bool(out, "full_range", get(bytes, 1) >> 7);
  }
}

static void read_pclr(Cj2kBytes *bytes, InfoValue *out)
{
  uint32_t entries = get(bytes, 2), columns = get(bytes, 1);
  const uint8_t *codes = bytes->at;
  info_put_int(out, "entries", entries);
  info_put_int(out, "columns", columns);
  InfoValue *depths = info_put(out, "depths", info_array());
  if (cj2k_bytes_left(bytes) < columns) {
    bytes->overrun = true;
    return;
  }
  for (uint32_t c = 0; c < columns; c++)
    add_depth(depths, get(bytes, 1));
  InfoValue *values = info_put(out, "values", info_array());
  for (uint32_t e = 0; e < entries && !bytes->overrun; e++) {
    InfoValue *row = info_add(values, info_array());
    for (uint32_t c = 0; c < columns && !bytes->overrun; c++) {
      uint64_t value = 0;
      for (uint32_t n = ((codes[c] & 0x7fu) + 8) / 8; n > 0; n--)
        value = value << 8 | get(bytes, 1);
      info_add_int(row, (int64_t)value);
    }
  }
}

static void read_cmap(Cj2kBytes *bytes, InfoValue *out)
{
  InfoValue *channels = info_put(out, "channels", info_array());
  while (cj2k_bytes_left(bytes) >= 4) {
    InfoValue *channel = info_add(channels, info_object());
    info_put_int(channel, "component", get(bytes, 2));
    bool palette = get(bytes, 1) == 1;
    uint32_t column = get(bytes, 1);
    if (palette)
      info_put_int(channel, "palette_column", column);
    else
      info_put_bool(channel, "direct", true);
  }
}

static void read_cdef(Cj2kBytes *bytes, InfoValue *out)
{
  static const char *const types[] = {"colour", "opacity", "premultiplied opacity"};
  uint32_t n = get(bytes, 2);
  InfoValue *channels = info_put(out, "channels", info_array());
  for (; n > 0 && cj2k_bytes_left(bytes) >= 6; n--) {
    InfoValue *channel = info_add(channels, info_object());
    info_put_int(channel, "channel", get(bytes, 2));
    uint32_t type = get(bytes, 2), association = get(bytes, 2);
    if (type < G_N_ELEMENTS(types))
      info_put_text(channel, "type", "%s", types[type]);
    else
      info_put_text(channel, "type", "%s", type == 65535 ? "unspecified" : "reserved");
    if (association == 0)
      info_put_text(channel, "association", "whole image");
    else if (association == 65535)
      info_put_text(channel, "association", "none");
    else
      info_put_text(channel, "association", "colour %u", association);
  }
  bytes->overrun |= n > 0;
}

/* resc, resd: samples per metre. */
static void read_resolution(Cj2kBytes *bytes, InfoValue *out)
{
  uint32_t vn = get(bytes, 2), vd = get(bytes, 2), hn = get(bytes, 2), hd = get(bytes, 2);
  int8_t ve = (int8_t)get(bytes, 1), he = (int8_t)get(bytes, 1);
  double horizontal = hd ? (double)hn / hd * pow(10, he) : 0;
  double vertical = vd ? (double)vn / vd * pow(10, ve) : 0;
  info_put_double(out, "horizontal_per_metre", horizontal);
  info_put_double(out, "vertical_per_metre", vertical);
  info_put_double(out, "horizontal_dpi", horizontal * 0.0254);
  info_put_double(out, "vertical_dpi", vertical * 0.0254);
}

static void read_uuid(Cj2kBytes *bytes, InfoValue *out)
{
  static const struct {
    const char *id, *name;
  } known[] = {{"be7acfcb97a942e89c71999491e3afac", "XMP"},
               {"b14bf8bd083d4b43a5ae8cd7d5a6ce03", "GeoTIFF"},
               {"4a706754696666457869662d3e4a5032", "Exif"},
               {"33c7a4d2b81d4723a0baf1a3e097ad38", "IPTC"}};
  char id[33] = "";
  for (int i = 0; i < 16; i++)
    g_snprintf(id + 2 * i, 3, "%02x", get(bytes, 1));
  info_put_text(out, "id", "%s", id);
  for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    if (!strcmp(id, known[i].id))
      info_put_text(out, "name", "%s", known[i].name);
}

static void read_text(Cj2kBytes *bytes, InfoValue *out)
{
  info_put_bytes_text(out, "text", bytes->at, MIN(cj2k_bytes_left(bytes), 400));
}

static void read_url(Cj2kBytes *bytes, InfoValue *out)
{
  get(bytes, 4); /* version and flags */
  read_text(bytes, out);
}

static void read_bytes(Cj2kBytes *bytes, InfoValue *out)
{
  char hex[2 * 16 + 1] = "";
  for (int i = 0; i < 16 && cj2k_bytes_left(bytes); i++)
    g_snprintf(hex + 2 * i, 3, "%02x", get(bytes, 1));
  info_put_text(out, "first_bytes", "%s", hex);
}

static const struct {
  const char *type;
  bool super; /* a superbox: contains boxes */
  void (*read)(Cj2kBytes *bytes, InfoValue *out);
} known_boxes[] = {
    {"jP  ", false, read_signature},
    {"ftyp", false, read_ftyp},
    {"jp2h", true, NULL},
    {"ihdr", false, read_ihdr},
    {"bpcc", false, read_bpcc},
    {"colr", false, read_colr},
    {"pclr", false, read_pclr},
    {"cmap", false, read_cmap},
    {"cdef", false, read_cdef},
    {"res ", true, NULL},
    {"resc", false, read_resolution},
    {"resd", false, read_resolution},
    {"uuid", false, read_uuid},
    {"uinf", true, NULL},
    {"url ", false, read_url},
    {"xml ", false, read_text},
    {"lbl ", false, read_text},
    {"asoc", true, NULL},
    {"jpch", true, NULL},
    {"jplh", true, NULL},
    {"cgrp", true, NULL},
    {"ftbl", true, NULL},
    {"jp2c", false, NULL},
    {"jp2i", false, NULL},
    {"ulst", false, read_bytes},
    {"rreq", false, read_bytes},
};

/* --------------------------------------------------------------------------- the walk --- */

/* Reads the header of the box at `at`. false, with an error added: this is no box. */
static bool next_box(const InfoContext *context, InfoSpan span, uint64_t at, Box *box)
{
  const uint8_t *data = span.data + at;
  uint64_t left = span.end - at, header = 8, length;
  if (left < 8) {
    info_error(context, at, "%u bytes are no box", (unsigned)left);
    return false;
  }
  length = cj2k_get32(data);
  memcpy(box->type, data + 4, 4);
  box->type[4] = 0;
  if (length == 1 && left >= 16) {
    header = 16;
    length = (uint64_t)cj2k_get32(data + 8) << 32 | cj2k_get32(data + 12);
  } else if (length == 0) {
    length = left;
  }
  if (length < header) {
    info_error(context, at, "a box of %" G_GUINT64_FORMAT " bytes cannot be", length);
    return false;
  }
  char *type = g_utf8_make_valid(box->type, -1);
  if (length > left)
    info_error(context, at, "box %s of %" G_GUINT64_FORMAT " bytes goes past the end", type,
               length);
  g_free(type);
  box->offset = at;
  box->contents = at + header;
  box->end = at + MIN(length, left);
  return true;
}

static InfoValue *walk(const InfoContext *context, InfoSpan span, int depth, GArray *codestreams);

static void describe(const InfoContext *context, InfoSpan span, const Box *box, int depth,
                     InfoValue *out, GArray *codestreams)
{
  InfoSpan inside = {span.data, box->contents, box->end};
  char *type = g_utf8_make_valid(box->type, -1);
  info_put_text(out, "type", "%s", g_strchomp(type));
  info_put_int(out, "offset", (int64_t)box->offset);
  info_put_int(out, "length", (int64_t)(box->end - box->offset));
  for (size_t i = 0; i < G_N_ELEMENTS(known_boxes); i++) {
    if (strcmp(known_boxes[i].type, box->type) != 0)
      continue;
    Cj2kBytes bytes = {span.data + box->contents, span.data + box->end, false};
    if (known_boxes[i].read)
      known_boxes[i].read(&bytes, out);
    if (bytes.overrun)
      info_error(context, box->offset, "the %s box is too short", type);
    if (known_boxes[i].super && depth < MAX_DEPTH)
      info_put(out, "boxes", walk(context, inside, depth + 1, codestreams));
  }
  if (!strcmp(box->type, "jp2c"))
    g_array_append_val(codestreams, inside);
  g_free(type);
}

static InfoValue *walk(const InfoContext *context, InfoSpan span, int depth, GArray *codestreams)
{
  InfoValue *boxes = info_array();
  Box box;
  for (uint64_t at = span.begin; at < span.end && next_box(context, span, at, &box); at = box.end)
    describe(context, span, &box, depth, info_add(boxes, info_object()), codestreams);
  return boxes;
}

InfoValue *info_boxes(const InfoContext *context, InfoSpan span, InfoSpans *codestreams)
{
  return walk(context, span, 0, codestreams);
}
