/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool image_fail(char *why, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(why, IMAGE_WHY, format, args);
  va_end(args);
  return false;
}

bool image_fail_errno(char *why, const char *path)
{
  return image_fail(why, "%s: %s", path, g_strerror(errno));
}

/* ------------------------------------------------------------------------- samples --- */

uint8_t image_sample_bytes(uint8_t depth)
{
  return depth <= 8 ? 1 : depth <= 16 ? 2 : 4;
}

void image_get_row(const ImagePlane *plane, uint32_t y, uint32_t n, int32_t *row)
{
  const uint8_t *at = plane->data + y * plane->pitch;
  for (uint32_t x = 0; x < n; x++, at += plane->bytes) {
    uint32_t v = at[0];
    for (uint32_t b = 1; b < plane->bytes; b++)
      v |= (uint32_t)at[b] << (8 * b);
    if (plane->is_signed) { /* from the sign bit of the word */
      uint32_t sign = UINT32_C(1) << (8 * plane->bytes - 1);
      v = (v ^ sign) - sign;
    }
    row[x] = (int32_t)v;
  }
}

void image_put_row(const ImagePlane *plane, uint32_t y, uint32_t n, const int32_t *row)
{
  uint8_t *at = plane->data + y * plane->pitch;
  for (uint32_t x = 0; x < n; x++, at += plane->bytes) {
    for (uint32_t b = 0; b < plane->bytes; b++)
      at[b] = (uint8_t)((uint32_t)row[x] >> (8 * b));
  }
}

bool image_alloc(Image *image, uint32_t num_planes, uint32_t width, uint32_t height, uint8_t depth,
                 bool is_signed, char *why)
{
  uint8_t bytes = image_sample_bytes(depth);
  uint64_t plane = (uint64_t)width * height * bytes;
  memset(image, 0, sizeof *image);
  if (!width || !height || plane > SIZE_MAX / num_planes)
    return image_fail(why, "an image of %u x %u cannot be", width, height);
  image->memory = malloc(plane * num_planes);
  if (!image->memory)
    return image_fail(why, "no memory for an image of %u x %u", width, height);
  image->num_planes = num_planes;
  image->planes = g_new0(ImagePlane, num_planes);
  for (uint32_t i = 0; i < num_planes; i++)
    image->planes[i] = (ImagePlane){.width = width,
                                    .height = height,
                                    .dx = 1,
                                    .dy = 1,
                                    .depth = depth,
                                    .is_signed = is_signed,
                                    .bytes = bytes,
                                    .pitch = (size_t)width * bytes,
                                    .data = (uint8_t *)image->memory + i * plane};
  return true;
}

void image_clear(Image *image)
{
  free(image->memory);
  g_free(image->planes);
  memset(image, 0, sizeof *image);
}

/* --------------------------------------------------------------------------- files --- */

ImageFormat image_format_of(const char *path)
{
  static const struct {
    const char *end;
    ImageFormat format;
  } ends[] = {{".ppm", IMAGE_PNM}, {".pgm", IMAGE_PNM}, {".pnm", IMAGE_PNM}, {".png", IMAGE_PNG},
              {".pgx", IMAGE_PGX}, {".raw", IMAGE_RAW}, {".yuv", IMAGE_RAW}, {".rgb", IMAGE_RAW}};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < G_N_ELEMENTS(ends); i++) {
    if (!g_ascii_strcasecmp(dot, ends[i].end))
      return ends[i].format;
  }
  return IMAGE_UNKNOWN;
}

bool image_write(const Image *image, const char *path, char *why)
{
  switch (image_format_of(path)) {
  case IMAGE_PNM: return image_write_pnm(image, path, why);
  case IMAGE_PNG: return image_write_png(image, path, why);
  case IMAGE_PGX: return image_write_pgx(image, path, why);
  case IMAGE_RAW: return image_write_raw(image, path, why);
  default:
    return image_fail(why, "%s: the name does not end in a format that can be written", path);
  }
}

bool image_read(Image *image, const char *path, char *why)
{
  memset(image, 0, sizeof *image);
  switch (image_format_of(path)) {
  case IMAGE_PNM: return image_read_pnm(image, path, why);
  case IMAGE_PNG: return image_read_png(image, path, why);
  case IMAGE_PGX: return image_read_pgx(image, path, why);
  default: return image_fail(why, "%s: the name does not end in a format that can be read", path);
  }
}

uint8_t *image_load_file(const char *path, size_t *size, char *why)
{
  bool standard = !strcmp(path, "-");
  FILE *file = standard ? stdin : fopen(path, "rb");
  if (!file) {
    image_fail_errno(why, path);
    return NULL;
  }
  GByteArray *bytes = g_byte_array_new();
  uint8_t piece[65536];
  size_t got;
  while ((got = fread(piece, 1, sizeof piece, file)) > 0 && bytes->len < G_MAXUINT - sizeof piece)
    g_byte_array_append(bytes, piece, (guint)got);
  bool ok = !ferror(file) && got == 0;
  if (!ok)
    image_fail(why, "%s: %s", path, ferror(file) ? g_strerror(errno) : "longer than 4 GiB");
  if (!standard)
    fclose(file);
  *size = bytes->len;
  return g_byte_array_free(bytes, !ok);
}
