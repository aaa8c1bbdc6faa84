/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_boxes.h"

#include "write_markers.h"

#define BOX(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static size_t begin_box(Cj2kByteBuffer *out, uint32_t type)
{
  size_t begin = out->size;
  cj2k_put32(out, 0);
  cj2k_put32(out, type);
  return begin;
}

static void end_box(Cj2kByteBuffer *out, size_t begin)
{
  cj2k_store32(out->data + begin, (uint32_t)(out->size - begin));
}

/* Signature and file type (I.5.1, I.5.2). */
static void write_signature(Cj2kByteBuffer *out, Cj2kFileFormat format)
{
  uint32_t brand = format == CJ2K_FILE_JPH ? BOX('j', 'p', 'h', ' ') : BOX('j', 'p', '2', ' ');
  size_t box = begin_box(out, BOX('j', 'P', ' ', ' '));
  cj2k_put32(out, 0x0d0a870a);
  end_box(out, box);

  box = begin_box(out, BOX('f', 't', 'y', 'p'));
  cj2k_put32(out, brand);
  cj2k_put32(out, 0);
  cj2k_put32(out, brand);
  end_box(out, box);
}

static uint32_t depth_code(const Cj2kComponent *component)
{
  return (component->is_signed ? 0x80u : 0u) | (component->depth - 1u);
}

/* Image header and, where depths differ, bits per component (I.5.3.1, I.5.3.2). */
static void write_ihdr(Cj2kByteBuffer *out, const Cj2kHeader *header)
{
  uint32_t common = depth_code(&header->components[0]);
  for (uint32_t c = 1; c < header->num_components; c++)
    if (depth_code(&header->components[c]) != common)
      common = 255;

  size_t box = begin_box(out, BOX('i', 'h', 'd', 'r'));
  cj2k_put32(out, header->y1 - header->y0);
  cj2k_put32(out, header->x1 - header->x0);
  cj2k_put16(out, header->num_components);
  cj2k_put8(out, common);
  cj2k_put8(out, 7); /* compression type: JPEG 2000 */
  cj2k_put8(out, 0);
  cj2k_put8(out, 0);
  end_box(out, box);
  if (common != 255)
    return;
  box = begin_box(out, BOX('b', 'p', 'c', 'c'));
  for (uint32_t c = 0; c < header->num_components; c++)
    cj2k_put8(out, depth_code(&header->components[c]));
  end_box(out, box);
}

/* Enumerated colour space (I.5.3.3). A colour without one (XYZ, unknown) gets the one that suits
 * its number of components. */
static uint32_t colour_enum(Cj2kColour colour, uint32_t num_components)
{
  switch (colour) {
  case CJ2K_COLOUR_SRGB: return 16;
  case CJ2K_COLOUR_GREY: return 17;
  case CJ2K_COLOUR_SYCC: return 18;
  default: return num_components < 3 ? 17 : 16;
  }
}

static void write_colr(Cj2kByteBuffer *out, uint32_t number)
{
  size_t box = begin_box(out, BOX('c', 'o', 'l', 'r'));
  cj2k_put8(out, 1); /* METH: enumerated */
  cj2k_put8(out, 0);
  cj2k_put8(out, 0);
  cj2k_put32(out, number);
  end_box(out, box);
}

/* Code points of Rec. ITU-T H.273 (T.814 annex D; T.801 M.11.7.3). */
static void write_cicp(Cj2kByteBuffer *out, const Cj2kCicp *cicp)
{
  size_t box = begin_box(out, BOX('c', 'o', 'l', 'r'));
  cj2k_put8(out, 5); /* METH: parameterised */
  cj2k_put8(out, 0);
  cj2k_put8(out, 0);
  cj2k_put16(out, cicp->primaries);
  cj2k_put16(out, cicp->transfer);
  cj2k_put16(out, cicp->matrix);
  cj2k_put8(out, cicp->full_range ? 0x80 : 0);
  end_box(out, box);
}

/* A JP2 file needs a method that every reader knows. */
static void write_colours(Cj2kByteBuffer *out, const Cj2kHeader *header,
                          const Cj2kFileColours *colours, Cj2kFileFormat format)
{
  bool has_cicp = colours->cicp.primaries > 0;

  if (!has_cicp || format == CJ2K_FILE_JP2)
    write_colr(out, colour_enum(colours->colour, header->num_components));
  if (has_cicp)
    write_cicp(out, &colours->cicp);
}

/* Channel definitions (I.5.3.6). */
static void write_cdef(Cj2kByteBuffer *out, const Cj2kChannel *channels, uint32_t n)
{
  size_t box = begin_box(out, BOX('c', 'd', 'e', 'f'));
  cj2k_put16(out, n);
  for (uint32_t c = 0; c < n; c++) {
    cj2k_put16(out, c);
    cj2k_put16(out, channels[c].type);
    cj2k_put16(out, channels[c].association);
  }
  end_box(out, box);
}

void cj2k_write_boxes(Cj2kByteBuffer *out, const Cj2kHeader *header, const Cj2kFileColours *colours,
                      Cj2kFileFormat format, uint64_t codestream_size)
{
  write_signature(out, format);
  size_t box = begin_box(out, BOX('j', 'p', '2', 'h'));
  write_ihdr(out, header);
  write_colours(out, header, colours, format);
  if (colours->channels)
    write_cdef(out, colours->channels, header->num_components);
  end_box(out, box);

  if (codestream_size + 8 <= UINT32_MAX) {
    cj2k_put32(out, (uint32_t)codestream_size + 8);
    cj2k_put32(out, BOX('j', 'p', '2', 'c'));
  } else {
    cj2k_put32(out, 1); /* XLBox follows */
    cj2k_put32(out, BOX('j', 'p', '2', 'c'));
    cj2k_put32(out, (uint32_t)((codestream_size + 16) >> 32));
    cj2k_put32(out, (uint32_t)(codestream_size + 16));
  }
}
