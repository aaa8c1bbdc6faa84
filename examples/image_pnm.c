/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PNM: P5 (grey) and P6 (RGB), 8 bit or 16 bit big-endian; written with a maxval of 2^depth - 1. */
#include "image_rgb.h"

#include <glib.h>
#include <string.h>

/* ----------------------------------------------------------------------------- write --- */

/* Converts a row of n samples to the bytes of the file, each sample `repeat` times (grey in an RGB
 * file). Returns the number of bytes. */
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

static bool write_as(const Image *image, const char *path, ImageFormat format, char *why)
{
  ImageRgb rgb;
  image_rgb_open(&rgb, image, false);
  uint32_t repeat = format == IMAGE_PPM && rgb.num_channels == 1 ? 3 : 1;
  uint32_t channels = rgb.num_channels * repeat;
  ImageOutput output;
  bool grey_enough = format != IMAGE_PGM || channels == 1;
  if (!grey_enough)
    image_fail(why, "%s: the image is not grey", path);
  if (!grey_enough || !image_output_open(&output, path, why)) {
    image_rgb_close(&rgb);
    return false;
  }
  size_t n = (size_t)rgb.width * rgb.num_channels;
  uint16_t *row = g_new(uint16_t, MAX(n, 1));
  uint8_t *bytes = g_malloc(MAX(n * repeat * 2, 1));
  bool ok = fprintf(output.file, "P%d\n%u %u\n%u\n", channels == 3 ? 6 : 5, rgb.width, rgb.height,
                    (1u << rgb.depth) - 1) > 0;
  for (uint32_t y = 0; ok && n && y < rgb.height; y++) {
    image_rgb_row(&rgb, y, row);
    size_t size = file_row(row, n, repeat, rgb.depth > 8, bytes);
    ok = fwrite(bytes, size, 1, output.file) == 1;
  }
  ok = image_output_close(&output, ok, why);
  g_free(row);
  g_free(bytes);
  image_rgb_close(&rgb);
  return ok;
}

bool image_write_pnm(const Image *image, const char *path, char *why)
{
  return write_as(image, path, IMAGE_PNM, why);
}

bool image_write_ppm(const Image *image, const char *path, char *why)
{
  return write_as(image, path, IMAGE_PPM, why);
}

bool image_write_pgm(const Image *image, const char *path, char *why)
{
  return write_as(image, path, IMAGE_PGM, why);
}

/* ------------------------------------------------------------------------------ read --- */

/* Reads the next number of the header. White space or comments must come before it. */
static bool header_number(const ImageFile *file, size_t *at, uint32_t *number)
{
  size_t first = *at;
  while (*at < file->size && (g_ascii_isspace(file->data[*at]) || file->data[*at] == '#')) {
    if (file->data[*at] == '#')
      while (*at < file->size && file->data[*at] != '\n')
        ++*at;
    else
      ++*at;
  }
  return *at > first && image_parse_number(file, at, number);
}

static uint8_t bits_of(uint32_t max_value)
{
  uint8_t bits = 1;
  while (max_value >> bits)
    bits++;
  return bits;
}

/* Copies the interleaved samples behind the header to planes. No sample may exceed `max_value`,
 * which becomes the highest value of the planes' depth. */
static bool take_samples(Image *image, const ImageFile *file, size_t at, uint32_t max_value,
                         char *why)
{
  const ImagePlane *first = &image->planes[0];
  size_t bytes = max_value > 255 ? 2 : 1, step = image->num_planes * bytes;
  const uint8_t *samples = file->data + at;
  const uint32_t white = (UINT32_C(1) << first->depth) - 1;
  int32_t *row = g_new(int32_t, first->width);
  bool ok = true;
  for (uint32_t y = 0; ok && y < first->height; y++, samples += step * first->width) {
    for (uint32_t c = 0; ok && c < image->num_planes; c++) {
      const uint8_t *s = samples + c * bytes;
      for (uint32_t x = 0; ok && x < first->width; x++, s += step) {
        row[x] = bytes == 2 ? s[0] << 8 | s[1] : s[0];
        if ((uint32_t)row[x] > max_value)
          ok = image_fail(why, "%s: sample %d at (%u,%u) of component %u is not in 0..%u",
                          file->path, row[x], x, y, c, max_value);
        if (max_value != white) /* of 16 bits, so that the product fits */
          row[x] = (int32_t)(((uint32_t)row[x] * white + max_value / 2) / max_value);
      }
      image_put_row(&image->planes[c], y, first->width, row);
    }
  }
  g_free(row);
  return ok;
}

bool image_read_pnm(Image *image, const ImageFile *file, char *why)
{
  size_t at = 2;
  uint32_t width, height, max_value;
  if (!header_number(file, &at, &width) || !header_number(file, &at, &height) ||
      !header_number(file, &at, &max_value) || max_value < 1 || max_value > 65535 ||
      at >= file->size || !g_ascii_isspace(file->data[at]))
    return image_fail(why, "%s: the header of a PGM (P5) or PPM (P6) file is broken", file->path);
  at++; /* one white space separates header and samples */
  uint32_t channels = file->data[1] == '6' ? 3 : 1;
  uint64_t samples = (uint64_t)width * height;
  if (samples > (file->size - at) / channels / (max_value > 255 ? 2 : 1))
    return image_fail(why, "%s: too short for %u x %u samples of %u components", file->path, width,
                      height, channels);
  ImageShape shape = {channels, width, height, bits_of(max_value), false};
  if (!image_alloc(image, shape, file->path, why))
    return false;
  image->colour = channels == 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  if (take_samples(image, file, at, max_value, why))
    return true;
  image_clear(image);
  return false;
}
