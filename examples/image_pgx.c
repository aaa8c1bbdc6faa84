/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PGX (Rec. ITU-T T.803 annex A): one component a file, "PG ML [+-] depth width height", big-endian
 * (ML) or little. */
#include "image.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

static void swap_bytes(uint8_t *data, size_t samples, uint8_t bytes)
{
  for (size_t i = 0; i < samples; i++, data += bytes) {
    for (uint8_t b = 0; b < bytes / 2; b++) {
      uint8_t t = data[b];
      data[b] = data[bytes - 1 - b];
      data[bytes - 1 - b] = t;
    }
  }
}

static bool write_plane(const ImagePlane *plane, const char *path, char *why)
{
  FILE *file = fopen(path, "wb");
  if (!file)
    return image_fail_errno(why, path);
  size_t row_size = (size_t)plane->width * plane->bytes;
  uint8_t *row = g_malloc(MAX(row_size, 1));
  bool ok = fprintf(file, "PG ML %c %u %u %u\n", plane->is_signed ? '-' : '+', plane->depth,
                    plane->width, plane->height) > 0;
  for (uint32_t y = 0; ok && row_size && y < plane->height; y++) {
    memcpy(row, plane->data + y * plane->pitch, row_size);
    swap_bytes(row, plane->width, plane->bytes);
    ok = fwrite(row, row_size, 1, file) == 1;
  }
  g_free(row);
  ok &= fclose(file) == 0;
  return ok || image_fail_errno(why, path);
}

bool image_write_pgx(const Image *image, const char *path, char *why)
{
  bool ok = true;
  char *stem = g_strndup(path, strlen(path) - strlen(".pgx"));
  for (uint32_t c = 0; ok && c < image->num_planes; c++) {
    char *name = g_strdup_printf("%s_%u.pgx", stem, c);
    ok = write_plane(&image->planes[c], name, why);
    g_free(name);
  }
  g_free(stem);
  return ok;
}

/* One file: one component. */
static bool read_plane(Image *image, const char *path, char *why)
{
  size_t size;
  int header = 0;
  char order[3], sign[2] = "+";
  unsigned depth, width, height;
  uint8_t *data = image_load_file(path, &size, why);
  if (!data)
    return false;
  char *text = g_strndup((const char *)data, MIN(size, 100));
  bool ok = sscanf(text, "PG %2s %1[+-] %u %u %u%n", order, sign, &depth, &width, &height,
                   &header) == 5 ||
            sscanf(text, "PG %2s %u %u %u%n", order, &depth, &width, &height, &header) == 4;
  g_free(text);
  ok = ok && depth >= 1 && depth <= 31 && (!strcmp(order, "ML") || !strcmp(order, "LM"));
  ok = ok ? image_alloc(image, 1, width, height, (uint8_t)depth, *sign == '-', why)
          : image_fail(why, "%s: not a PGX file", path);
  if (ok) {
    ImagePlane *plane = &image->planes[0];
    size_t bytes = plane->pitch * height;
    ok = size - (size_t)header - 1 >= bytes || image_fail(why, "%s: too short", path);
    if (ok) {
      memcpy(plane->data, data + header + 1, bytes);
      if (!strcmp(order, "ML"))
        swap_bytes(plane->data, (size_t)width * height, plane->bytes);
    } else {
      image_clear(image);
    }
  }
  g_free(data);
  return ok;
}

/* The sub-sampling that makes `part` samples of `whole`; 0: none does. */
static uint8_t subsampling(uint32_t whole, uint32_t part)
{
  uint32_t factor = part ? (whole + part - 1) / part : 0;
  return factor >= 1 && factor <= 255 && (whole + factor - 1) / factor == part ? (uint8_t)factor
                                                                               : 0;
}

/* Puts the planes of `parts`, one each, behind one another into one image. */
static bool join(Image *image, const Image *parts, uint32_t n, const char *path, char *why)
{
  size_t size = 0, offset = 0;
  for (uint32_t c = 0; c < n; c++)
    size += parts[c].planes[0].pitch * parts[c].planes[0].height;
  *image =
      (Image){.num_planes = n, .planes = g_new0(ImagePlane, n), .memory = malloc(MAX(size, 1))};
  if (!image->memory) {
    image_clear(image);
    return image_fail(why, "%s: no memory", path);
  }
  for (uint32_t c = 0; c < n; c++) {
    const ImagePlane *first = parts[0].planes, *from = parts[c].planes;
    ImagePlane *plane = &image->planes[c];
    *plane = *from;
    plane->data = (uint8_t *)image->memory + offset;
    plane->dx = subsampling(first->width, from->width);
    plane->dy = subsampling(first->height, from->height);
    if (!plane->dx || !plane->dy) {
      image_clear(image);
      return image_fail(why, "%s: component %u is no sub-sampling of component 0", path, c);
    }
    memcpy(plane->data, from->data, from->pitch * from->height);
    offset += from->pitch * from->height;
  }
  return true;
}

bool image_read_pgx(Image *image, const char *path, char *why)
{
  Image parts[IMAGE_MAX_PGX];
  uint32_t n = 0;
  bool ok = true;
  if (g_file_test(path, G_FILE_TEST_EXISTS))
    return read_plane(image, path, why);
  for (; ok && n < IMAGE_MAX_PGX; n++) {
    char *name = g_strdup_printf("%.*s_%u.pgx", (int)(strlen(path) - strlen(".pgx")), path, n);
    bool there = g_file_test(name, G_FILE_TEST_EXISTS);
    ok = !there || read_plane(&parts[n], name, why);
    g_free(name);
    if (!there || !ok)
      break;
  }
  if (ok)
    ok = n ? join(image, parts, n, path, why) : image_fail(why, "%s: no such file", path);
  while (n > 0)
    image_clear(&parts[--n]);
  return ok;
}
