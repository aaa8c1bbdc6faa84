/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PGX (Rec. ITU-T T.803 annex A): one component a file, "PG ML [+-] depth width height", big-endian
 * (ML) or little. */
#include "image.h"

#include <errno.h>
#include <glib.h>
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

bool image_read_pgx(Image *image, const char *path, char *why)
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
