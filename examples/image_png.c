/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PNG, 8 or 16 bits a sample. */
#include "image_rgb.h"

#include <glib.h>
#include <png.h>
#include <string.h>

static const int colour_types[5] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                    PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};

/* Context of the libpng callbacks below. Rows and pixels are part of it so that they can be freed
 * after an error has jumped out of libpng. */
typedef struct {
  const char *path;
  char *why;
  const uint8_t *at; /* the rest of the input */
  size_t left;
  png_bytep *rows;
  uint8_t *pixels;
} PngContext;

/* Takes over libpng's message. */
static void fail(png_structp png, png_const_charp text)
{
  const PngContext *context = png_get_error_ptr(png);
  image_fail(context->why, "%s: %s", context->path, text);
  longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp text)
{
  (void)png;
  (void)text;
}

/* The cICP chunk: colours by code points of H.273, for R'G'B' or grey. It is read and written here,
 * because only libpng 1.6.45 and later know it. */
static const png_byte cicp_name[5] = "cICP";

/* ----------------------------------------------------------------------------- write --- */

/* Writes the code points of the samples if they are R'G'B' that is written as it is: samples of
 * other depths than PNG's are stretched, which is right for full range only. */
static void write_cicp(png_structp png, const ImageRgb *rgb)
{
  const Cj2kCicp *cicp = &rgb->image->cicp;
  const png_byte data[4] = {(png_byte)cicp->primaries, (png_byte)cicp->transfer, 0,
                            cicp->full_range};
  bool same = cicp->full_range || rgb->depth == 8 || rgb->depth == 16;

  if (cicp->primaries && cicp->primaries < 256 && cicp->transfer < 256 && !cicp->matrix && same &&
      rgb->num_channels >= 3 && !rgb->ycc)
    png_write_chunk(png, cicp_name, data, sizeof data);
}

static void write_rows(png_structp png, ImageRgb *rgb, uint16_t *row, uint8_t *bytes)
{
  unsigned bits = rgb->depth <= 8 ? 8 : 16;
  size_t n = (size_t)rgb->width * rgb->num_channels;
  for (uint32_t y = 0; y < rgb->height; y++) {
    image_rgb_row(rgb, y, row);
    for (size_t i = 0; i < n; i++) {
      uint32_t v = image_rgb_stretch(row[i], rgb->depth, bits);
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

static bool write_file(ImageRgb *rgb, FILE *file, const char *path, char *why)
{
  size_t n = (size_t)rgb->width * rgb->num_channels;
  uint16_t *row = g_new(uint16_t, MAX(n, 1));
  uint8_t *bytes = g_malloc(MAX(n * 2, 1));
  PngContext context = {.path = path, .why = why};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &context, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  volatile bool ok = false;
  if (info && !setjmp(png_jmpbuf(png))) {
    png_init_io(png, file);
    png_set_IHDR(png, info, rgb->width, rgb->height, rgb->depth <= 8 ? 8 : 16,
                 colour_types[rgb->num_channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 3);
    png_write_info(png, info);
    write_cicp(png, rgb);
    write_rows(png, rgb, row, bytes);
    png_write_end(png, NULL);
    ok = true;
  } else if (!info) {
    image_fail(why, "%s: no memory", path);
  }
  png_destroy_write_struct(&png, &info);
  g_free(row);
  g_free(bytes);
  return ok;
}

bool image_write_png(const Image *image, const char *path, char *why)
{
  ImageRgb rgb;
  ImageOutput output;
  if (!image_output_open(&output, path, why))
    return false;
  image_rgb_open(&rgb, image, true);
  bool ok = write_file(&rgb, output.file, path, why);
  image_rgb_close(&rgb);
  if (ok)
    return image_output_close(&output, true, why);
  image_output_drop(&output); /* libpng has said why */
  return false;
}

/* ------------------------------------------------------------------------------ read --- */

static void read_bytes(png_structp png, png_bytep out, size_t size)
{
  PngContext *context = png_get_io_ptr(png);
  if (size > context->left)
    png_error(png, "the file ends early");
  memcpy(out, context->at, size);
  context->at += size;
  context->left -= size;
}

/* The code points of the cICP chunk, which comes before the samples; none if there is no such chunk
 * or it is not valid. */
static Cj2kCicp find_cicp(const ImageFile *file)
{
  const uint8_t *at = file->data + 8; /* behind the signature */
  size_t left = file->size > 8 ? file->size - 8 : 0;

  while (left >= 12) {
    size_t length = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    const uint8_t *data = at + 8;
    if (length > left - 12 || !memcmp(at + 4, "IDAT", 4))
      break;
    if (!memcmp(at + 4, cicp_name, 4) && length == 4 && !data[2] && data[3] <= 1)
      return (Cj2kCicp){data[0], data[1], 0, data[3] != 0};
    at += length + 12;
    left -= length + 12;
  }
  return (Cj2kCicp){0};
}

/* Copies interleaved rows to planes. */
static void split_rows(const Image *image, png_bytep *rows)
{
  uint32_t width = image->planes[0].width, channels = image->num_planes;
  int32_t *row = g_new(int32_t, width);
  for (uint32_t c = 0; c < channels; c++) {
    bool wide = image->planes[c].bytes == 2;
    for (uint32_t y = 0; y < image->planes[c].height; y++) {
      for (uint32_t x = 0; x < width; x++) {
        size_t i = (size_t)x * channels + c;
        row[x] = wide ? rows[y][2 * i] << 8 | rows[y][2 * i + 1] : rows[y][i];
      }
      image_put_row(&image->planes[c], y, width, row);
    }
  }
  g_free(row);
}

/* Reads the picture. Palettes become RGB, samples of fewer than 8 bits get 8, tRNS becomes alpha.
 */
static void read_picture(png_structp png, png_infop info, PngContext *context, Image *image)
{
  static const Cj2kChannel grey_alpha[] = {{0, 1}, {1, 0}},
                           rgb_alpha[] = {{0, 1}, {0, 2}, {0, 3}, {1, 0}};
  png_read_info(png, info);
  png_set_expand(png);
  png_read_update_info(png, info);
  uint32_t height = png_get_image_height(png, info), channels = png_get_channels(png, info);
  ImageShape shape = {.num_planes = channels,
                      .width = png_get_image_width(png, info),
                      .height = height,
                      .depth = png_get_bit_depth(png, info)};
  if (!image_alloc(image, shape, context->path, context->why))
    longjmp(png_jmpbuf(png), 1);
  image->colour = channels >= 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  image->channels = channels == 2 ? grey_alpha : channels == 4 ? rgb_alpha : NULL;
  size_t pitch = png_get_rowbytes(png, info); /* interlaced files need all rows at once */
  context->rows = g_try_new(png_bytep, height);
  context->pixels = g_try_malloc_n(height, pitch);
  if (!context->rows || !context->pixels)
    png_error(png, "no memory");
  for (uint32_t y = 0; y < height; y++)
    context->rows[y] = context->pixels + y * pitch;
  png_read_image(png, context->rows);
  split_rows(image, context->rows);
}

bool image_read_png(Image *image, const ImageFile *file, char *why)
{
  PngContext context = {.path = file->path, .why = why, .at = file->data, .left = file->size};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &context, fail, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  volatile bool ok = false;
  if (info && !setjmp(png_jmpbuf(png))) {
    png_set_read_fn(png, &context, read_bytes);
    read_picture(png, info, &context, image);
    if (image->colour == CJ2K_COLOUR_SRGB)
      image->cicp = find_cicp(file);
    ok = true;
  } else if (!info) {
    image_fail(why, "%s: no memory", file->path);
  }
  png_destroy_read_struct(&png, &info, NULL);
  g_free(context.rows);
  g_free(context.pixels);
  if (!ok)
    image_clear(image);
  return ok;
}
