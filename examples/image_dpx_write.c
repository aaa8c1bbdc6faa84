/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes DPX, big-endian: grey, RGB or RGBA of 8, 10, 12 or 16 bits; 10 and 12 bits are filled by
 * method A. */
#include "image_dpx.h"
#include "image_rgb.h"

#include <glib.h>
#include <string.h>

static void put(uint8_t *out, uint32_t value, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++)
    out[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* What the header does not state is undefined: all ones in numbers, zeros in texts. */
static void set_undefined(uint8_t *header)
{
  static const struct {
    uint16_t begin, end;
  } texts[] = {{8, 16},      {36, 660},    {664, 768},   {1356, 1408},
               {1432, 1620}, {1636, 1712}, {1732, 1920}, {1972, 2048}};

  memset(header, 0xFF, DPX_HEADER_END);
  for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
    memset(header + texts[i].begin, 0, texts[i].end - texts[i].begin);
  for (size_t i = 0; i < DPX_MAX_ELEMENTS; i++) /* descriptions of the elements */
    memset(header + DPX_ELEMENTS + i * DPX_ELEMENT_SIZE + 40, 0, 32);
}

static void make_header(const ImageRgb *rgb, unsigned bits, uint64_t size, uint8_t *header)
{
  static const uint8_t descriptors[] = {0, DPX_LUMA, 0, DPX_RGB, DPX_RGBA};
  uint8_t *element = header + DPX_ELEMENTS;

  set_undefined(header);
  put(header + DPX_MAGIC, 0x53445058, 4); /* SDPX */
  put(header + DPX_DATA_OFFSET, DPX_HEADER_END, 4);
  memcpy(header + DPX_VERSION, "V2.0", 5);
  put(header + DPX_FILE_SIZE, size > UINT32_MAX ? DPX_UNDEFINED : (uint32_t)size, 4);
  put(header + DPX_DITTO, 1, 4);
  put(header + DPX_GENERIC_SIZE, DPX_GENERIC_END, 4);
  put(header + DPX_INDUSTRY_SIZE, DPX_HEADER_END - DPX_GENERIC_END, 4);
  put(header + DPX_USER_SIZE, 0, 4);
  memcpy(header + DPX_CREATOR, "cudaj2k", 8);
  put(header + DPX_ORIENTATION, 0, 2);
  put(header + DPX_NUM_ELEMENTS, 1, 2);
  put(header + DPX_WIDTH, rgb->width, 4);
  put(header + DPX_HEIGHT, rgb->height, 4);
  put(element + DPX_SIGN, 0, 4);
  put(element + DPX_LOW_CODE, 0, 4);
  put(element + DPX_HIGH_CODE, (1u << bits) - 1, 4);
  element[DPX_DESCRIPTOR] = descriptors[rgb->num_channels];
  element[DPX_TRANSFER] = element[DPX_COLORIMETRY] = 0; /* user-defined */
  element[DPX_BITS] = (uint8_t)bits;
  put(element + DPX_PACKING, bits == 10 || bits == 12 ? DPX_FILLED_A : DPX_PACKED, 2);
  put(element + DPX_ENCODING, 0, 2);
  put(element + DPX_ELEMENT_DATA, DPX_HEADER_END, 4);
  put(element + DPX_LINE_PADDING, 0, 4);
  put(element + DPX_IMAGE_PADDING, 0, 4);
  put(header + DPX_ASPECT, 1, 4);
  put(header + DPX_ASPECT + 4, 1, 4);
}

static void pack(const uint16_t *in, size_t n, unsigned bits, bool msb_first, uint8_t *out)
{
  for (size_t i = 0; bits == 10 && i < n; i += 3, out += 4) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3 && i + k < n; k++)
      word |= (uint32_t)in[i + k] << (2 + 10 * (msb_first ? 2 - k : k));
    put(out, word, 4);
  }
  for (size_t i = 0; bits == 8 && i < n; i++)
    out[i] = (uint8_t)in[i];
  for (size_t i = 0; bits > 10 && i < n; i++)
    put(out + 2 * i, (uint32_t)in[i] << (16 - bits), 2);
}

static bool write_rows(ImageRgb *rgb, unsigned bits, uint64_t pitch, FILE *file)
{
  size_t n = (size_t)rgb->width * rgb->num_channels;
  uint16_t *row = g_new(uint16_t, n);
  uint8_t *bytes = g_malloc0(pitch);
  bool ok = true;

  for (uint32_t y = 0; ok && y < rgb->height; y++) {
    image_rgb_row(rgb, y, row);
    for (size_t i = 0; rgb->depth != bits && i < n; i++)
      row[i] = (uint16_t)image_rgb_stretch(row[i], rgb->depth, bits);
    pack(row, n, bits, rgb->num_channels > 1, bytes);
    ok = fwrite(bytes, pitch, 1, file) == 1;
  }
  g_free(row);
  g_free(bytes);
  return ok;
}

bool image_write_dpx(const Image *image, const char *path, char *why)
{
  uint8_t header[DPX_HEADER_END];
  ImageRgb rgb;
  ImageOutput output;

  image_rgb_open(&rgb, image, true);
  if (rgb.num_channels == 2) { /* there is no element of grey and alpha */
    image_rgb_close(&rgb);
    image_rgb_open(&rgb, image, false);
  }
  unsigned bits = rgb.depth <= 8 ? 8 : rgb.depth <= 10 ? 10 : rgb.depth <= 12 ? 12 : 16;
  const DpxPacking *packing = dpx_packing((uint8_t)bits, DPX_FILLED_A);
  uint64_t pitch = (packing->bytes((uint64_t)rgb.width * rgb.num_channels) + 3) / 4 * 4;
  bool ok = rgb.width && rgb.height;
  if (!ok)
    image_fail(why, "%s: the picture is empty", path);
  ok = ok && image_output_open(&output, path, why);
  if (ok) {
    make_header(&rgb, bits, DPX_HEADER_END + pitch * rgb.height, header);
    ok = fwrite(header, sizeof header, 1, output.file) == 1 &&
         write_rows(&rgb, bits, pitch, output.file);
    ok = image_output_close(&output, ok, why);
  }
  image_rgb_close(&rgb);
  return ok;
}
