/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PNG, 8 or 16 bits a sample. */
#include "image_rgb.h"

#include <errno.h>
#include <glib.h>
#include <png.h>
#include <string.h>

static const int colour_types[5] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                    PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};

/* libpng's messages, to where the caller reads them. */
static void fail(png_structp png, png_const_charp text)
{
  image_fail(png_get_error_ptr(png), "%s", text);
  longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp text)
{
  (void)png;
  (void)text;
}

/* ----------------------------------------------------------------------------- write --- */

/* Stretches a sample of `depth` bits over `bits`: the highest value becomes the highest, bits are
 * repeated. */
static uint32_t stretch(uint32_t v, unsigned depth, unsigned bits)
{
  uint32_t result = v << (bits - depth);
  for (unsigned done = depth; done < bits; done += depth)
    result |= done + depth <= bits ? v << (bits - depth - done) : v >> (done + depth - bits);
  return result;
}

static void write_rows(png_structp png, ImageRgb *rgb, uint16_t *row, uint8_t *bytes)
{
  unsigned bits = rgb->depth <= 8 ? 8 : 16;
  size_t n = (size_t)rgb->width * rgb->num_channels;
  for (uint32_t y = 0; y < rgb->height; y++) {
    image_rgb_row(rgb, y, row);
    for (size_t i = 0; i < n; i++) {
      uint32_t v = stretch(row[i], rgb->depth, bits);
      if (bits == 8) {
        bytes[i] = (uint8_t)v;
      } else {
        bytes[2 * i] = (uint8_t)(v >> 8);
        bytes[2 * i + 1] = (uint8_t)v;
      }
    }
    png_write_row(png, bytes);
  }
}

static bool write_file(ImageRgb *rgb, FILE *file, char *why)
{
  size_t n = (size_t)rgb->width * rgb->num_channels;
  uint16_t *row = g_new(uint16_t, MAX(n, 1));
  uint8_t *bytes = g_malloc(MAX(n * 2, 1));
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, why, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  volatile bool ok = false;
  if (info && !setjmp(png_jmpbuf(png))) {
    png_init_io(png, file);
    png_set_IHDR(png, info, rgb->width, rgb->height, rgb->depth <= 8 ? 8 : 16,
                 colour_types[rgb->num_channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 3);
    png_write_info(png, info);
    write_rows(png, rgb, row, bytes);
    png_write_end(png, NULL);
    ok = true;
  }
  png_destroy_write_struct(&png, &info);
  g_free(row);
  g_free(bytes);
  return ok;
}

bool image_write_png(const Image *image, const char *path, char *why)
{
  ImageRgb rgb;
  FILE *file = fopen(path, "wb");
  if (!file)
    return image_fail_errno(why, path);
  image_rgb_open(&rgb, image, true);
  bool ok = write_file(&rgb, file, why);
  image_rgb_close(&rgb);
  if (fclose(file) != 0 && ok)
    return image_fail_errno(why, path);
  return ok;
}

/* ------------------------------------------------------------------------------ read --- */

/* Palettes become RGB, fewer than 8 bits become 8. */
static void read_rows(png_structp png, png_infop info, Image *image, char *why)
{
  png_set_expand(png);
  png_read_update_info(png, info);
  uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  uint32_t channels = png_get_channels(png, info);
  uint8_t depth = png_get_bit_depth(png, info);
  if (!image_alloc(image, channels, width, height, depth, false, why))
    png_error(png, why);
  image->colour = channels >= 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  png_bytep *rows = png_malloc(png, height * sizeof *rows); /* interlaced files need all rows */
  uint8_t *pixels = png_malloc(png, height * png_get_rowbytes(png, info));
  for (uint32_t y = 0; y < height; y++)
    rows[y] = pixels + y * png_get_rowbytes(png, info);
  png_read_image(png, rows);
  for (uint32_t c = 0; c < channels; c++) {
    const ImagePlane *plane = &image->planes[c];
    for (uint32_t y = 0; y < height; y++)
      for (uint32_t x = 0; x < width; x++) {
        size_t i = (size_t)x * channels + c;
        int32_t v = depth == 16 ? rows[y][2 * i] << 8 | rows[y][2 * i + 1] : rows[y][i];
        ImagePlane one = *plane;
        one.data += x * (size_t)plane->bytes;
        image_put_row(&one, y, 1, &v);
      }
  }
  png_free(png, rows);
  png_free(png, pixels);
}

bool image_read_png(Image *image, const char *path, char *why)
{
  FILE *file = fopen(path, "rb");
  if (!file)
    return image_fail_errno(why, path);
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, why, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  volatile bool ok = false;
  if (info && !setjmp(png_jmpbuf(png))) {
    png_init_io(png, file);
    png_read_info(png, info);
    read_rows(png, info, image, why);
    ok = true;
  }
  png_destroy_read_struct(&png, &info, NULL);
  fclose(file);
  if (!ok)
    image_clear(image);
  return ok;
}
