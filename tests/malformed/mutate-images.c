/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mutate-images [MUTATIONS]
 *
 * Gives the tools' readers PGX, PNM, PNG, DPX and TIFF files in which bytes are changed, removed,
 * repeated or cut off at the end (3000 mutations of each file, seeded). A reader must either read
 * such a file or refuse it with a text that names the file; sanitizers check the rest.
 */
#include "examples/image.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  uint32_t num_planes;
  uint8_t depth;
  bool is_signed;
} Base;

static const Base bases[] = {
    {"grey8.pgx", 1, 8, false},  {"grey12.pgx", 1, 12, false}, {"signed5.pgx", 1, 5, true},
    {"grey8.pgm", 1, 8, false},  {"rgb8.ppm", 3, 8, false},    {"rgb12.ppm", 3, 12, false},
    {"grey8.png", 1, 8, false},  {"rgb8.png", 3, 8, false},    {"rgb16.png", 3, 16, false},
    {"alpha8.png", 4, 8, false}, {"grey1.png", 1, 1, false},   {"grey10.dpx", 1, 10, false},
    {"rgb8.dpx", 3, 8, false},   {"rgb10.dpx", 3, 10, false},  {"rgb12.dpx", 3, 12, false},
    {"rgb16.dpx", 3, 16, false}, {"rgb8.tif", 3, 8, false},    {"grey16.tif", 1, 16, false},
};

/* The bytes of a file with a small picture, written by the tools' own writers. NULL: they cannot
 * write it, for example without libpng; `why` is the reason. */
static GBytes *make_file(const Base *base, const char *folder, char *why)
{
  char *path = g_build_filename(folder, base->name, NULL), *data;
  ImageShape shape = {base->num_planes, 13, 9, base->depth, base->is_signed};
  Image image;
  gsize size;
  g_assert_true(image_alloc(&image, shape, path, why));
  for (uint32_t c = 0; c < base->num_planes; c++)
    for (uint32_t y = 0; y < shape.height; y++)
      for (uint32_t x = 0; x < shape.width; x++) {
        ImagePlane one = image.planes[c];
        int32_t v = (int32_t)((x * 7 + y * 13 + c * 29) % (1u << (base->depth - base->is_signed)));
        one.data += x * one.bytes;
        image_put_row(&one, y, 1, &v);
      }
  bool written = image_write(&image, path, why);
  image_clear(&image);
  if (!written) {
    g_unlink(path);
    g_free(path);
    return NULL;
  }
  if (g_str_has_suffix(path, ".pgx")) { /* written as NAME_0.pgx */
    char *plane = g_strdup_printf("%.*s_0.pgx", (int)strlen(path) - 4, path);
    g_assert_cmpint(g_rename(plane, path), ==, 0);
    g_free(plane);
  }
  g_assert_true(g_file_get_contents(path, &data, &size, NULL));
  g_unlink(path);
  g_free(path);
  return g_bytes_new_take(data, size);
}

/* The bytes with one to four changes, half of them in bytes begin to end - 1, where headers are. */
static GByteArray *mutate(GBytes *bytes, guint begin, guint end, GRand *rand)
{
  static const guint8 telling[] = {0, 1, '0', '9', ' ', '\n', 0x7f, 0x80, 0xff};
  gsize size;
  const guint8 *data = g_bytes_get_data(bytes, &size);
  GByteArray *out = g_byte_array_new();
  g_byte_array_append(out, data, (guint)size);
  for (int n = g_rand_int_range(rand, 1, 5); n > 0 && out->len > 1; n--) {
    gboolean head = g_rand_boolean(rand) && begin < out->len;
    guint at = (guint)g_rand_int_range(rand, head ? (gint32)begin : 0,
                                       (gint32)(head ? MIN(out->len, end) : out->len));
    guint span = (guint)g_rand_int_range(rand, 1, 9);
    switch (g_rand_int_range(rand, 0, 5)) {
    case 0: out->data[at] = (guint8)g_rand_int(rand); break;
    case 1: out->data[at] = telling[g_rand_int_range(rand, 0, G_N_ELEMENTS(telling))]; break;
    case 2: g_byte_array_remove_range(out, at, MIN(span, out->len - at)); break;
    case 3: g_byte_array_set_size(out, at + 1); break;
    default: { /* appends a copy of the bytes */
      guint8 again[8];
      span = MIN(span, MIN(out->len - at, sizeof again));
      memcpy(again, out->data + at, span);
      g_byte_array_append(out, again, span);
    }
    }
  }
  return out;
}

static guint32 crc_of(const guint8 *data, gsize size)
{
  guint32 crc = 0xffffffff;
  for (gsize i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

/* Corrects the checksums of a PNG's chunks, as far as their lengths are plausible. */
static void mend_checksums(GByteArray *bytes)
{
  for (gsize at = 8; at + 12 <= bytes->len;) {
    guint8 *chunk = bytes->data + at;
    gsize size = (gsize)chunk[0] << 24 | chunk[1] << 16 | chunk[2] << 8 | chunk[3];
    if (size > bytes->len - at - 12)
      return;
    guint32 crc = crc_of(chunk + 4, size + 4);
    for (int i = 0; i < 4; i++)
      chunk[8 + size + i] = (guint8)(crc >> (24 - 8 * i));
    at += 12 + size;
  }
}

/* Reads a copy of the exact size, so that a sanitizer detects reads behind its end. */
static bool read_copy(const GByteArray *bytes, const char *path, char *why)
{
  Image image;
  uint8_t *copy = g_memdup2(bytes->data, bytes->len);
  ImageFile file = {copy, bytes->len, path};
  why[0] = 0;
  ImagePacked packed;
  bool ok = !g_str_has_suffix(path, ".dpx") || image_place_dpx(&packed, &file, why);
  ok = ok && image_read_file(&image, &file, why);
  g_free(copy);
  if (!ok)
    return g_str_has_prefix(why, path) && strlen(why) > strlen(path) + 2;
  bool good = image_check_samples(&image, path, why) && image.num_planes >= 1;
  image_clear(&image);
  return good;
}

/* All mutations of one file; false: `why` names the mutation that failed, and how. */
static bool try_base(guint number, GBytes *bytes, const char *path, int mutations, char *why)
{
  int bad = -1, read = 0;
  for (int m = 0; m < mutations && bad < 0; m++) {
    GRand *rand = g_rand_new_with_seed(number << 24 | (guint)m);
    bool dpx = g_str_has_suffix(path, ".dpx"); /* its image information begins at byte 768 */
    GByteArray *mutated = mutate(bytes, dpx ? 768 : 0, dpx ? 820 : 40, rand);
    if (g_str_has_suffix(path, ".png") && m % 4)
      mend_checksums(mutated);
    if (!read_copy(mutated, path, why))
      bad = m;
    read += !why[0];
    g_byte_array_unref(mutated);
    g_rand_free(rand);
  }
  printf("%sok %u - %s, %d of %d read\n", bad >= 0 ? "not " : "", number + 1, bases[number].name,
         read, mutations);
  if (bad >= 0)
    printf("# mutation %d: %s\n", bad, why);
  fflush(stdout);
  return bad < 0;
}

int main(int argc, char **argv)
{
  int mutations = argc > 1 ? atoi(argv[1]) : 3000, failed = 0;
  char why[IMAGE_WHY], *folder = g_dir_make_tmp("cj2k-images-XXXXXX", NULL);
  if (!folder)
    g_error("no temporary folder");
  for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
    char *path = g_build_filename(folder, bases[i].name, NULL);
    GBytes *bytes = make_file(&bases[i], folder, why);
    if (bytes) {
      failed += !try_base(i, bytes, path, mutations, why);
      g_bytes_unref(bytes);
    } else {
      printf("ok %u - %s # SKIP %s\n", i + 1, bases[i].name, why);
    }
    g_free(path);
  }
  g_rmdir(folder);
  g_free(folder);
  printf("1..%u\n", (guint)G_N_ELEMENTS(bases));
  return failed ? 1 : 0;
}
