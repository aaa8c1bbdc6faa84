/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool image_fail(char *why, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(why, IMAGE_WHY, format, args);
  va_end(args);
  char *to = why;
  for (const char *at = why; *at; at++) { /* messages of libraries may quote what is in a file */
    bool c1 = (unsigned char)*at == 0xC2 && (at[1] & 0xE0) == 0x80; /* U+0080..U+009F in UTF-8 */
    at += c1;
    *to++ = c1 || g_ascii_iscntrl(*at) ? '?' : *at;
  }
  *to = 0;
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

bool image_alloc(Image *image, ImageShape shape, const char *path, char *why)
{
  uint8_t bytes = image_sample_bytes(shape.depth);
  uint64_t samples = (uint64_t)shape.width * shape.height;
  memset(image, 0, sizeof *image);
  if (!samples)
    return image_fail(why, "%s: a picture of %u x %u is empty", path, shape.width, shape.height);
  if (samples <= PTRDIFF_MAX / bytes / shape.num_planes)
    image->memory = malloc(samples * bytes * shape.num_planes);
  if (!image->memory)
    return image_fail(why, "%s: no memory for %u x %u samples of %u components", path, shape.width,
                      shape.height, shape.num_planes);
  image->num_planes = shape.num_planes;
  image->planes = g_new0(ImagePlane, shape.num_planes);
  for (uint32_t i = 0; i < shape.num_planes; i++)
    image->planes[i] = (ImagePlane){.width = shape.width,
                                    .height = shape.height,
                                    .dx = 1,
                                    .dy = 1,
                                    .depth = shape.depth,
                                    .is_signed = shape.is_signed,
                                    .bytes = bytes,
                                    .pitch = (size_t)shape.width * bytes,
                                    .data = (uint8_t *)image->memory + i * samples * bytes};
  return true;
}

bool image_is_plausible(double bytes, size_t file_size)
{
  return bytes <= 0x1p29 + (double)file_size * 4096;
}

static bool check_plane(const ImagePlane *plane, uint32_t c, const char *path, char *why)
{
  uint8_t spare = (uint8_t)(8 * plane->bytes - plane->depth);
  if (spare == 0)
    return true;
  int64_t maximum = (INT64_C(1) << (plane->depth - plane->is_signed)) - 1;
  int64_t minimum = plane->is_signed ? -maximum - 1 : 0;
  int32_t *row = g_new(int32_t, plane->width);
  bool ok = true;
  for (uint32_t y = 0; ok && y < plane->height; y++) {
    image_get_row(plane, y, plane->width, row);
    for (uint32_t x = 0; ok && x < plane->width; x++) {
      int64_t v = plane->is_signed ? row[x] : (int64_t)(uint32_t)row[x];
      if (v < minimum || v > maximum)
        ok = image_fail(why, "%s: sample %lld at (%u,%u) of component %u is not in %lld..%lld",
                        path, (long long)v, x, y, c, (long long)minimum, (long long)maximum);
    }
  }
  g_free(row);
  return ok;
}

bool image_check_samples(const Image *image, const char *path, char *why)
{
  for (uint32_t c = 0; c < image->num_planes; c++)
    if (!check_plane(&image->planes[c], c, path, why))
      return false;
  return true;
}

void image_clear(Image *image)
{
  free(image->memory);
  g_free(image->planes);
  memset(image, 0, sizeof *image);
}

/* --------------------------------------------------------------------------- files --- */

/* The file formats, in the order in which messages name them. */
static const struct {
  ImageFormat format;
  const char *endings[4];    /* the first is the usual one */
  const char *beginnings[4]; /* of files that are read */
  uint8_t beginning_size;
  bool (*read)(Image *image, const ImageFile *file, char *why);
  bool (*write)(const Image *image, const char *path, char *why);
} formats[] = {
    {IMAGE_PPM, {".ppm"}, {"P6"}, 2, image_read_pnm, image_write_ppm},
    {IMAGE_PGM, {".pgm"}, {"P5"}, 2, image_read_pnm, image_write_pgm},
    {IMAGE_PNM, {".pnm"}, {NULL}, 0, NULL, image_write_pnm},
    {IMAGE_PNG, {".png"}, {"\x89PNG\r\n\x1a\n"}, 8, image_read_png, image_write_png},
    {IMAGE_PGX, {".pgx"}, {"PG"}, 2, image_read_pgx, image_write_pgx},
    {IMAGE_DPX, {".dpx"}, {"SDPX", "XPDS"}, 4, image_read_dpx, image_write_dpx},
    {IMAGE_TIFF,
     {".tif", ".tiff"},
     {"II*\0", "MM\0*", "II+\0", "MM\0+"},
     4,
     image_read_tiff,
     image_write_tiff},
    {IMAGE_EXR, {".exr"}, {"\x76\x2f\x31\x01"}, 4, image_read_exr, NULL},
    {IMAGE_RAW, {".raw", ".yuv", ".rgb"}, {NULL}, 0, NULL, image_write_raw},
};

ImageFormat image_format_of(const char *path)
{
  const char *dot = strrchr(path, '.');

  for (size_t i = 0; dot && i < G_N_ELEMENTS(formats); i++)
    for (size_t k = 0; k < G_N_ELEMENTS(formats[i].endings) && formats[i].endings[k]; k++)
      if (!g_ascii_strcasecmp(dot, formats[i].endings[k]))
        return formats[i].format;
  return IMAGE_UNKNOWN;
}

char **image_endings(bool read)
{
  GPtrArray *endings = g_ptr_array_new();

  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
    for (size_t k = 0; k < G_N_ELEMENTS(formats[i].endings) && formats[i].endings[k]; k++)
      if (read || formats[i].write)
        g_ptr_array_add(endings, g_strdup(formats[i].endings[k]));
  g_ptr_array_add(endings, NULL);
  return (char **)g_ptr_array_free(endings, FALSE);
}

bool image_can_write(ImageFormat format)
{
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
    if (formats[i].format == format)
      return formats[i].write != NULL;
  return false;
}

bool image_write_as(const Image *image, const char *path, ImageFormat format, char *why)
{
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
    if (formats[i].format == format && formats[i].write)
      return formats[i].write(image, path, why);
  return image_fail(why, "%s: the name does not end in a format that can be written", path);
}

bool image_write(const Image *image, const char *path, char *why)
{
  return image_write_as(image, path, image_format_of(path), why);
}

bool image_read_file(Image *image, const ImageFile *file, char *why)
{
  memset(image, 0, sizeof *image);
  for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
    for (size_t k = 0; k < G_N_ELEMENTS(formats[i].beginnings) && formats[i].beginnings[k]; k++)
      if (file->size >= formats[i].beginning_size &&
          !memcmp(file->data, formats[i].beginnings[k], formats[i].beginning_size))
        return formats[i].read(image, file, why);
  return image_fail(why, "%s: not a PGM (P5), PPM (P6), PNG, PGX, DPX, TIFF or EXR file",
                    file->path);
}

bool image_read(Image *image, const char *path, char *why)
{
  memset(image, 0, sizeof *image);
  if (image_format_of(path) == IMAGE_PGX && !g_file_test(path, G_FILE_TEST_EXISTS))
    return image_read_pgx_set(image, path, why);
  ImageFile file = {.path = path};
  uint8_t *data = image_load_file(path, &file.size, why);
  file.data = data;
  bool ok = data && image_read_file(image, &file, why);
  g_free(data);
  return ok;
}

bool image_parse_number(const ImageFile *file, size_t *at, uint32_t *number)
{
  size_t first = *at;
  uint64_t value = 0;
  for (; *at < file->size && g_ascii_isdigit(file->data[*at]) && value <= UINT32_MAX; ++*at)
    value = value * 10 + (uint64_t)(file->data[*at] - '0');
  *number = (uint32_t)value;
  return *at > first && value <= UINT32_MAX;
}

/* How much to read at once: a regular file with one call, which also meets its end. */
static guint piece_of(FILE *file)
{
  struct stat found;
  bool regular = fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode);

  return regular && found.st_size < G_MAXINT32 ? (guint)found.st_size + 1 : 1 << 20;
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
  guint piece = piece_of(file), length = 0;
  size_t count;
  do {
    g_byte_array_set_size(bytes, length + piece);
    count = fread(bytes->data + length, 1, piece, file);
    length += (guint)count;
  } while (count == piece && length < G_MAXUINT - piece);
  bool ok = !ferror(file) && count < piece && length > 0;
  if (!ok)
    image_fail(why, "%s: %s", path,
               ferror(file)     ? g_strerror(errno)
               : count == piece ? "longer than 4 GiB"
                                : "the file is empty");
  if (!standard)
    fclose(file);
  *size = length;
  return g_byte_array_free(bytes, !ok);
}
