/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jp2.h"

#include "common/runtime/error.h"
#include "markers.h"

#include <glib.h>
#include <string.h>

#define BOX(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

enum {
  BOX_SIGNATURE = BOX('j', 'P', ' ', ' '),
  BOX_HEADER = BOX('j', 'p', '2', 'h'),
  BOX_CODESTREAM = BOX('j', 'p', '2', 'c'),
  BOX_IHDR = BOX('i', 'h', 'd', 'r'),
  BOX_BPCC = BOX('b', 'p', 'c', 'c'),
  BOX_COLR = BOX('c', 'o', 'l', 'r'),
  BOX_PCLR = BOX('p', 'c', 'l', 'r'),
  BOX_CMAP = BOX('c', 'm', 'a', 'p'),
  BOX_CDEF = BOX('c', 'd', 'e', 'f'),
};

/* The contents of a box (I.4). */
typedef struct {
  uint32_t type;
  uint64_t offset, size;
  bool cut; /* the box claims more bytes than there are; size counts those that are there */
} Box;

/* Reads the header of the box at *position and moves *position past the box. Returns false if there
 * is none before `end`. */
static bool next_box(const uint8_t *data, uint64_t *position, uint64_t end, Box *box)
{
  uint64_t start = *position, left = end - start, header = 8, length;

  if (left < 8)
    return false;
  length = cj2k_get32(data + start);
  box->type = cj2k_get32(data + start + 4);
  if (length == 1) { /* the length is in XLBox */
    if (left < 16)
      return false;
    header = 16;
    length = (uint64_t)cj2k_get32(data + start + 8) << 32 | cj2k_get32(data + start + 12);
  } else if (length == 0) { /* the box goes to the end of the file */
    length = left;
  }
  if (length < header)
    return false;
  box->cut = length > left;
  box->offset = start + header;
  box->size = MIN(length, left) - header;
  *position = box->offset + box->size;
  return true;
}

static Cj2kBytes box_bytes(const uint8_t *data, const Box *box)
{
  return (Cj2kBytes){data + box->offset, data + box->offset + box->size, false};
}

/* There is one: boxes behind it depend on its number of components. */
static bool read_ihdr(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  if (jp2->has_ihdr)
    return false;
  jp2->height = cj2k_bytes_get(&bytes, 4);
  jp2->width = cj2k_bytes_get(&bytes, 4);
  jp2->num_components = (uint16_t)cj2k_bytes_get(&bytes, 2);
  jp2->bits_per_component = (uint8_t)cj2k_bytes_get(&bytes, 1);
  jp2->has_ihdr = !bytes.overrun;
  return jp2->has_ihdr;
}

static bool read_bpcc(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  if (!jp2->has_ihdr || jp2->bpcc || jp2->num_components == 0 ||
      cj2k_bytes_left(&bytes) < jp2->num_components)
    return false;
  jp2->bpcc = g_memdup2(bytes.at, jp2->num_components);
  return true;
}

/* Code points of Rec. ITU-T H.273; the lowest seven bits of the last byte are reserved. */
static bool read_cicp(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  Cj2kCicp cicp = {.primaries = (uint16_t)cj2k_bytes_get(&bytes, 2),
                   .transfer = (uint16_t)cj2k_bytes_get(&bytes, 2),
                   .matrix = (uint16_t)cj2k_bytes_get(&bytes, 2),
                   .full_range = cj2k_bytes_get(&bytes, 1) >> 7};

  if (bytes.overrun || !cicp.primaries)
    return false;
  if (!jp2->cicp.primaries)
    jp2->cicp = cicp;
  return true;
}

static bool read_colr(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  uint32_t method = cj2k_bytes_get(&bytes, 1);

  cj2k_bytes_get(&bytes, 2); /* PREC, APPROX */
  if (bytes.overrun)
    return false;
  if (method == 5)
    return read_cicp(jp2, bytes);
  if (jp2->colour_method != 0 || (method != 1 && method != 2))
    return true; /* later colr boxes and the methods of other parts are ignored */
  if (method == 1) {
    jp2->colour_enum = cj2k_bytes_get(&bytes, 4);
  } else {
    jp2->icc = bytes.at;
    jp2->icc_size = cj2k_bytes_left(&bytes);
  }
  if (bytes.overrun || (method == 2 && jp2->icc_size == 0)) {
    jp2->icc = NULL;
    return false;
  }
  jp2->colour_method = (uint8_t)method;
  return true;
}

static bool read_pclr(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  uint32_t num_entries = cj2k_bytes_get(&bytes, 2), num_columns = cj2k_bytes_get(&bytes, 1);
  const uint8_t *bits = bytes.at;
  size_t entry_size = 0;

  if (jp2->num_entries != 0 || num_entries < 1 || num_entries > 1024 || num_columns < 1 ||
      cj2k_bytes_left(&bytes) < num_columns)
    return false;
  for (uint32_t c = 0; c < num_columns; c++) {
    uint32_t depth = (cj2k_bytes_get(&bytes, 1) & 0x7f) + 1;
    if (depth > 38)
      return false;
    entry_size += (depth + 7) / 8;
  }
  if (cj2k_bytes_left(&bytes) < entry_size * num_entries)
    return false;
  jp2->num_entries = (uint16_t)num_entries;
  jp2->num_columns = (uint8_t)num_columns;
  jp2->column_bits = g_memdup2(bits, num_columns);
  jp2->entries = g_new(int64_t, num_entries * num_columns);
  for (uint32_t i = 0; i < num_entries * num_columns; i++) {
    uint32_t bpc = bits[i % num_columns], depth = (bpc & 0x7f) + 1;
    uint64_t value = 0;

    for (uint32_t byte = 0; byte < (depth + 7) / 8; byte++)
      value = value << 8 | cj2k_bytes_get(&bytes, 1);
    value &= ((uint64_t)1 << depth) - 1;
    if (bpc >> 7 && value >> (depth - 1))
      value |= ~(uint64_t)0 << depth;
    jp2->entries[i] = (int64_t)value;
  }
  return true;
}

static bool read_cmap(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  size_t count = cj2k_bytes_left(&bytes) / 4;

  if (jp2->num_channels != 0 || count < 1 || count > CJ2K_MAX_COMPONENTS)
    return false;
  jp2->num_channels = (uint32_t)count;
  jp2->channels = g_new(Cj2kChannelMap, count);
  for (size_t i = 0; i < count; i++) {
    Cj2kChannelMap *channel = &jp2->channels[i];

    channel->component = (uint16_t)cj2k_bytes_get(&bytes, 2);
    channel->palette = cj2k_bytes_get(&bytes, 1) == 1;
    channel->column = (uint8_t)cj2k_bytes_get(&bytes, 1);
  }
  return true;
}

static bool read_cdef(Cj2kJp2 *jp2, Cj2kBytes bytes)
{
  uint32_t count = cj2k_bytes_get(&bytes, 2);

  if (jp2->num_definitions != 0 || count < 1 || cj2k_bytes_left(&bytes) < 6 * (size_t)count)
    return false;
  jp2->num_definitions = count;
  jp2->definitions = g_new(struct Cj2kChannelDefinition, count);
  for (uint32_t i = 0; i < count; i++) {
    jp2->definitions[i].channel = (uint16_t)cj2k_bytes_get(&bytes, 2);
    jp2->definitions[i].meaning.type = (uint16_t)cj2k_bytes_get(&bytes, 2);
    jp2->definitions[i].meaning.association = (uint16_t)cj2k_bytes_get(&bytes, 2);
  }
  return true;
}

static const struct {
  uint32_t type;
  const char *name;
  bool (*read)(Cj2kJp2 *jp2, Cj2kBytes bytes);
} header_boxes[] = {
    {BOX_IHDR, "ihdr", read_ihdr}, {BOX_BPCC, "bpcc", read_bpcc}, {BOX_COLR, "colr", read_colr},
    {BOX_PCLR, "pclr", read_pclr}, {BOX_CMAP, "cmap", read_cmap}, {BOX_CDEF, "cdef", read_cdef},
};

/* The boxes inside jp2h (I.5.3). */
static Cj2kStatus read_header_boxes(Cj2kJp2 *jp2, const uint8_t *data, const Box *header,
                                    bool strict, Cj2kError *error)
{
  uint64_t position = header->offset;
  Box box;

  while (next_box(data, &position, header->offset + header->size, &box))
    for (size_t i = 0; i < G_N_ELEMENTS(header_boxes); i++)
      if (header_boxes[i].type == box.type &&
          (box.cut || !header_boxes[i].read(jp2, box_bytes(data, &box))) && strict)
        return cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, 0, box.offset,
                                 "the %s box is broken", header_boxes[i].name);
  return CJ2K_OK;
}

static bool is_codestream(const uint8_t *data, uint64_t size)
{
  return size >= 4 && cj2k_get16(data) == CJ2K_SOC && cj2k_get16(data + 2) == CJ2K_SIZ;
}

Cj2kStatus cj2k_jp2_read(const uint8_t *data, size_t size, bool strict, Cj2kJp2 *jp2,
                         Cj2kError *error)
{
  uint64_t position = 0;
  Cj2kStatus status = CJ2K_OK;
  Box box;

  memset(jp2, 0, sizeof *jp2);
  if (is_codestream(data, size)) {
    jp2->codestream.size = size;
    return CJ2K_OK;
  }
  while (status == CJ2K_OK && next_box(data, &position, size, &box)) {
    if (box.type == BOX_CODESTREAM) {
      /* A wrong box length in a live stream must not hide the rest of the codestream, which marks
       * its own end. */
      jp2->codestream = (Cj2kSpan){box.offset, box.size};
      return strict && box.cut ? cj2k_error_set_at(error, CJ2K_ERROR_CODESTREAM, 0, box.offset,
                                                   "the jp2c box is longer than the file")
                               : CJ2K_OK;
    }
    if (box.type == BOX_SIGNATURE || box.type == BOX_HEADER)
      jp2->is_jp2 = true;
    if (box.type == BOX_HEADER)
      status = read_header_boxes(jp2, data, &box, strict, error);
  }
  if (status != CJ2K_OK)
    return status;
  return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                        jp2->is_jp2 ? "the file has no jp2c box"
                                    : "neither a codestream nor a JP2 or JPH file");
}

void cj2k_jp2_clear(Cj2kJp2 *jp2)
{
  g_free(jp2->bpcc);
  g_free(jp2->column_bits);
  g_free(jp2->entries);
  g_free(jp2->channels);
  g_free(jp2->definitions);
  memset(jp2, 0, sizeof *jp2);
}

void cj2k_jp2_channels(const Cj2kJp2 *jp2, Cj2kChannel *channels, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    channels[i] = (Cj2kChannel){0, (uint16_t)(i + 1)};
  /* Backwards, so that the first definition of a channel replaces later ones. A search for each
   * channel would take a second for the most that a file can have of both. */
  for (uint32_t i = jp2->num_definitions; i-- > 0;)
    if (jp2->definitions[i].channel < count)
      channels[jp2->definitions[i].channel] = jp2->definitions[i].meaning;
}

/* The colour space that code points stand for. Matrix 0 is R'G'B', or X'Y'Z' with the primaries of
 * SMPTE ST 428-1 (10), 2 says nothing. */
static Cj2kColour colour_of_cicp(const Cj2kJp2 *jp2)
{
  if (!jp2->cicp.primaries || jp2->cicp.matrix == 2)
    return CJ2K_COLOUR_UNKNOWN;
  if (jp2->has_ihdr && jp2->num_components < 3)
    return CJ2K_COLOUR_GREY;
  if (jp2->cicp.matrix)
    return CJ2K_COLOUR_SYCC;
  return jp2->cicp.primaries == 10 ? CJ2K_COLOUR_XYZ : CJ2K_COLOUR_SRGB;
}

Cj2kColour cj2k_jp2_colour(const Cj2kJp2 *jp2)
{
  if (jp2->colour_method == 0)
    return colour_of_cicp(jp2);
  if (jp2->colour_method == 2)
    return CJ2K_COLOUR_OTHER;
  switch (jp2->colour_enum) {
  case 16: return CJ2K_COLOUR_SRGB;
  case 17: return CJ2K_COLOUR_GREY;
  case 18: return CJ2K_COLOUR_SYCC;
  default: return CJ2K_COLOUR_OTHER;
  }
}
