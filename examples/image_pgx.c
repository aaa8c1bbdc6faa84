/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PGX (Rec. ITU-T T.803 annex A): one component per file with the header "PG ML [+-] depth width
 * height"; samples are big-endian (ML) or little-endian (LM). */
#include "image.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ----------------------------------------------------------------------------- write --- */

static bool write_plane(const ImagePlane *plane, const char *path, char *why)
{
  ImageOutput output;
  if (!image_output_open(&output, path, why))
    return false;
  size_t row_size = (size_t)plane->width * plane->bytes;
  uint8_t *row = g_malloc(MAX(row_size, 1));
  bool ok = fprintf(output.file, "PG ML %c %u %u %u\n", plane->is_signed ? '-' : '+', plane->depth,
                    plane->width, plane->height) > 0;
  for (uint32_t y = 0; ok && row_size && y < plane->height; y++) {
    memcpy(row, plane->data + y * plane->pitch, row_size);
    swap_bytes(row, plane->width, plane->bytes);
    ok = fwrite(row, row_size, 1, output.file) == 1;
  }
  ok = image_output_close(&output, ok, why);
  g_free(row);
  return ok;
}

bool image_write_pgx(const Image *image, const char *path, char *why)
{
  if (!strcmp(path, "-"))
    return image->num_planes == 1
               ? write_plane(&image->planes[0], path, why)
               : image_fail(why, "%u components do not fit into one PGX file", image->num_planes);
  bool ok = true;
  bool has_ending = image_format_of(path) == IMAGE_PGX; /* or the format was stated otherwise */
  char *stem = g_strndup(path, strlen(path) - (has_ending ? strlen(".pgx") : 0));
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  /* The first component comes last: a sequence takes it for a sign that all are there. */
  for (uint32_t c = image->num_planes; ok && c-- > 0;) {
    char *name = g_strdup_printf("%s_%u.pgx", stem, c);
    g_ptr_array_add(names, name);
    ok = write_plane(&image->planes[c], name, why);
  }
  for (guint i = 0; !ok && i + 1 < names->len; i++) /* no component without the others */
    unlink(g_ptr_array_index(names, i));
  g_ptr_array_unref(names);
  g_free(stem);
  return ok;
}

/* ------------------------------------------------------------------------------ read --- */

typedef struct {
  bool big_endian, is_signed;
  uint32_t depth, width, height;
  size_t size; /* of the header, including the white space behind it */
} PgxHeader;

static void skip_spaces(const ImageFile *file, size_t *at)
{
  while (*at < file->size && (file->data[*at] == ' ' || file->data[*at] == '\t'))
    ++*at;
}

/* Reads the header, which ends with one white space or with CR LF. */
static bool read_header(const ImageFile *file, PgxHeader *header)
{
  size_t at = 2;
  skip_spaces(file, &at);
  if (at == 2 || file->size - at < 2)
    return false;
  header->big_endian = !memcmp(file->data + at, "ML", 2);
  if (!header->big_endian && memcmp(file->data + at, "LM", 2) != 0)
    return false;
  at += 2;
  skip_spaces(file, &at);
  if (at < file->size && (file->data[at] == '+' || file->data[at] == '-'))
    header->is_signed = file->data[at++] == '-';
  uint32_t *numbers[] = {&header->depth, &header->width, &header->height};
  for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
    skip_spaces(file, &at);
    if (!image_parse_number(file, &at, numbers[i]))
      return false;
  }
  if (at < file->size && file->data[at] == '\r' && file->size - at > 1 &&
      file->data[at + 1] == '\n')
    at++;
  if (at >= file->size || !g_ascii_isspace(file->data[at]))
    return false;
  header->size = at + 1;
  return header->depth >= 1 && header->depth <= 32;
}

bool image_read_pgx(Image *image, const ImageFile *file, char *why)
{
  PgxHeader header = {0};
  if (!read_header(file, &header))
    return image_fail(why, "%s: the PGX header is broken", file->path);
  uint64_t samples = (uint64_t)header.width * header.height;
  uint8_t depth = (uint8_t)header.depth, bytes = image_sample_bytes(depth);
  if (samples > (file->size - header.size) / bytes)
    return image_fail(why, "%s: too short for %u x %u samples of %u bits", file->path, header.width,
                      header.height, depth);
  ImageShape shape = {1, header.width, header.height, depth, header.is_signed};
  if (!image_alloc(image, shape, file->path, why))
    return false;
  memcpy(image->planes[0].data, file->data + header.size, samples * bytes);
  if (header.big_endian)
    swap_bytes(image->planes[0].data, samples, bytes);
  if (image_check_samples(image, file->path, why))
    return true;
  image_clear(image);
  return false;
}

/* The sub-sampling factor by which `whole` samples become `part`; 0: there is none. */
static uint8_t subsampling(uint32_t whole, uint32_t part)
{
  uint64_t factor = part ? ((uint64_t)whole + part - 1) / part : 0;
  return factor >= 1 && factor <= 255 && (whole + factor - 1) / factor == part ? (uint8_t)factor
                                                                               : 0;
}

/* Joins images of one plane each into one image. */
static bool join(Image *image, const Image *parts, uint32_t n, const char *path, char *why)
{
  size_t size = 0, offset = 0;
  for (uint32_t c = 0; c < n; c++)
    size += parts[c].planes[0].pitch * parts[c].planes[0].height;
  *image = (Image){.num_planes = n, .planes = g_new0(ImagePlane, n), .memory = malloc(size)};
  if (!image->memory) {
    image_clear(image);
    return image_fail(why, "%s: no memory for %zu bytes", path, size);
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
      return image_fail(why,
                        "%s: component %u of %u x %u samples is no sub-sampling of component 0 of "
                        "%u x %u",
                        path, c, from->width, from->height, first->width, first->height);
    }
    memcpy(plane->data, from->data, from->pitch * from->height);
    offset += from->pitch * from->height;
  }
  return true;
}

bool image_read_pgx_set(Image *image, const char *path, char *why)
{
  Image parts[IMAGE_MAX_PGX];
  uint32_t n = 0;
  bool ok = true, exists = true;
  while (ok && exists) {
    char *name = g_strdup_printf("%.*s_%u.pgx", (int)(strlen(path) - strlen(".pgx")), path, n);
    exists = g_file_test(name, G_FILE_TEST_EXISTS);
    if (exists && n == IMAGE_MAX_PGX)
      ok = image_fail(why, "%s: there are more than %d components", name, IMAGE_MAX_PGX);
    else
      ok = !exists || image_read(&parts[n], name, why);
    if (exists && ok)
      n++;
    g_free(name);
  }
  if (ok)
    ok = n ? join(image, parts, n, path, why) : image_fail(why, "%s: no such file", path);
  while (n > 0)
    image_clear(&parts[--n]);
  return ok;
}
