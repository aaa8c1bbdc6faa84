/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PNM: P5 (grey) and P6 (RGB), 8 bit or 16 bit big-endian; maxval is 2^depth - 1. */
#include "image_rgb.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* ----------------------------------------------------------------------------- write --- */

/* A row of n samples as the file has it; grey is repeated for a file that must be RGB. */
static size_t file_row(const uint16_t *in, size_t n, uint32_t repeat, bool wide, uint8_t *out)
{
  uint8_t *at = out;
  for (size_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < repeat; k++) {
      if (wide)
        *at++ = (uint8_t)(in[i] >> 8);
      *at++ = (uint8_t)in[i];
    }
  }
  return (size_t)(at - out);
}

bool image_write_pnm(const Image *image, const char *path, char *why)
{
  ImageRgb rgb;
  bool must_be_rgb = g_str_has_suffix(path, ".ppm"), must_be_grey = g_str_has_suffix(path, ".pgm");
  image_rgb_open(&rgb, image, false);
  uint32_t repeat = must_be_rgb && rgb.num_channels == 1 ? 3 : 1;
  uint32_t channels = rgb.num_channels * repeat;
  FILE *file = must_be_grey && channels != 1 ? NULL : fopen(path, "wb");
  if (!file) {
    image_rgb_close(&rgb);
    return must_be_grey && channels != 1 ? image_fail(why, "%s: the image is not grey", path)
                                         : image_fail_errno(why, path);
  }
  size_t n = (size_t)rgb.width * rgb.num_channels;
  uint16_t *row = g_new(uint16_t, MAX(n, 1));
  uint8_t *bytes = g_malloc(MAX(n * repeat * 2, 1));
  bool ok = fprintf(file, "P%d\n%u %u\n%u\n", channels == 3 ? 6 : 5, rgb.width, rgb.height,
                    (1u << rgb.depth) - 1) > 0;
  for (uint32_t y = 0; ok && n && y < rgb.height; y++) {
    image_rgb_row(&rgb, y, row);
    size_t size = file_row(row, n, repeat, rgb.depth > 8, bytes);
    ok = fwrite(bytes, size, 1, file) == 1;
  }
  g_free(row);
  g_free(bytes);
  image_rgb_close(&rgb);
  ok &= fclose(file) == 0;
  return ok || image_fail_errno(why, path);
}

/* ------------------------------------------------------------------------------ read --- */

/* The next number of the header, after white space and comments. */
static bool header_number(const uint8_t *data, size_t size, size_t *at, uint32_t *number)
{
  while (*at < size && (g_ascii_isspace(data[*at]) || data[*at] == '#')) {
    if (data[*at] == '#')
      while (*at < size && data[*at] != '\n')
        ++*at;
    else
      ++*at;
  }
  size_t first = *at;
  uint64_t value = 0;
  for (; *at < size && g_ascii_isdigit(data[*at]) && value <= UINT32_MAX; ++*at)
    value = value * 10 + (uint64_t)(data[*at] - '0');
  *number = (uint32_t)value;
  return *at > first && value <= UINT32_MAX;
}

static uint8_t bits_of(uint32_t most)
{
  uint8_t bits = 1;
  while (most >> bits)
    bits++;
  return bits;
}

static void take_samples(Image *image, const uint8_t *at, bool wide)
{
  const ImagePlane *first = &image->planes[0];
  int32_t *row = g_new(int32_t, first->width);
  for (uint32_t y = 0; y < first->height; y++) {
    for (uint32_t c = 0; c < image->num_planes; c++) {
      for (uint32_t x = 0; x < first->width; x++) {
        const uint8_t *s = at + ((size_t)x * image->num_planes + c) * (wide ? 2 : 1);
        row[x] = wide ? s[0] << 8 | s[1] : s[0];
      }
      image_put_row(&image->planes[c], y, first->width, row);
    }
    at += (size_t)first->width * image->num_planes * (wide ? 2 : 1);
  }
  g_free(row);
}

bool image_read_pnm(Image *image, const char *path, char *why)
{
  size_t size, at = 2;
  uint32_t width, height, most;
  uint8_t *data = image_load_file(path, &size, why);
  if (!data)
    return false;
  bool ok = size > 2 && data[0] == 'P' && (data[1] == '5' || data[1] == '6') &&
            header_number(data, size, &at, &width) && header_number(data, size, &at, &height) &&
            header_number(data, size, &at, &most) && most >= 1 && most <= 65535 && ++at <= size;
  if (!ok) {
    g_free(data);
    return image_fail(why, "%s: not a PGM (P5) or PPM (P6) file", path);
  }
  uint32_t channels = data[1] == '6' ? 3 : 1;
  uint64_t samples = (uint64_t)width * height;
  bool wide = most > 255;
  if (samples > (size - at) / channels / (wide ? 2 : 1))
    ok = image_fail(why, "%s: too short", path);
  if (ok)
    ok = image_alloc(image, channels, width, height, bits_of(most), false, why);
  if (ok) {
    image->colour = channels == 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
    take_samples(image, data + at, wide);
  }
  g_free(data);
  return ok;
}
