/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Colours in the boxes of JP2 and JPH files: code points of H.273 written, read and refused. */
#include "encoder-pictures.h"

typedef struct {
  Cj2kFileFormat format;
  uint32_t components;
  Cj2kColour colour;
  Cj2kCicp cicp;
  Cj2kColour read; /* the colour that the decoder makes of it */
} Case;

static const Case cases[] = {
    {CJ2K_FILE_JP2, 3, CJ2K_COLOUR_SRGB, {9, 16, 0, true}, CJ2K_COLOUR_SRGB},
    {CJ2K_FILE_JP2, 3, CJ2K_COLOUR_SYCC, {9, 18, 9, false}, CJ2K_COLOUR_SYCC},
    {CJ2K_FILE_JP2, 1, CJ2K_COLOUR_GREY, {1, 1, 1, false}, CJ2K_COLOUR_GREY},
    {CJ2K_FILE_JPH, 3, CJ2K_COLOUR_SRGB, {12, 17, 0, true}, CJ2K_COLOUR_SRGB},
    {CJ2K_FILE_JPH, 3, CJ2K_COLOUR_SYCC, {1, 1, 1, false}, CJ2K_COLOUR_SYCC},
    {CJ2K_FILE_JPH, 3, CJ2K_COLOUR_XYZ, {10, 17, 0, true}, CJ2K_COLOUR_XYZ},
    {CJ2K_FILE_JPH, 1, CJ2K_COLOUR_GREY, {255, 255, 255, false}, CJ2K_COLOUR_GREY},
    {CJ2K_FILE_JPH, 3, CJ2K_COLOUR_OTHER, {2, 2, 2, true}, CJ2K_COLOUR_UNKNOWN},
};

static GBytes *encode(const Case *c, Cj2kXyzConversion conversion, Cj2kError *error)
{
  TestPicture picture;
  Cj2kEncoderParams params;

  test_picture_init(&picture, SCENE_NATURAL, 40, 30, c->components, 12, false, NULL, NULL, 0, 0);
  picture.image.colour = c->colour;
  picture.image.cicp = c->cicp;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.file_format = c->format;
  params.rgb_to_xyz = conversion;
  if (c->format == CJ2K_FILE_JPH)
    params.block_coder = CJ2K_CODER_HT;
  GBytes *bytes = test_encode(&params, &picture, error);
  test_picture_clear(&picture);
  return bytes;
}

/* Reads the header of a file; CJ2K_OK or why not. */
static Cj2kStatus read_header(const uint8_t *data, gsize size, bool strict, Cj2kImage *image)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.strict = strict;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  Cj2kStatus status = cj2k_decoder_read_header(decoder, data, size, image, &error);
  cj2k_decoder_close(decoder);
  return status;
}

static void assert_same(Cj2kCicp a, Cj2kCicp b)
{
  g_assert_cmpuint(a.primaries, ==, b.primaries);
  g_assert_cmpuint(a.transfer, ==, b.transfer);
  g_assert_cmpuint(a.matrix, ==, b.matrix);
  g_assert_cmpint(a.full_range, ==, b.full_range);
}

/* The place of the n-th colr box's content in a file; 0: there is none. */
static gsize find_colr(const uint8_t *data, gsize size, uint32_t n)
{
  for (gsize i = 0; i + 4 < size && memcmp(data + i, "jp2c", 4) != 0; i++)
    if (memcmp(data + i, "colr", 4) == 0 && n-- == 0)
      return i + 4;
  return 0;
}

static void test_round_trip(gconstpointer data)
{
  const Case *c = data;
  Cj2kError error = {0};
  Cj2kImage image;
  GBytes *bytes = encode(c, CJ2K_XYZ_OFF, &error);
  gsize size;

  g_assert_nonnull(bytes);
  const uint8_t *file = g_bytes_get_data(bytes, &size);
  g_assert_cmpint(read_header(file, size, true, &image), ==, CJ2K_OK);
  assert_same(image.cicp, c->cicp);
  g_assert_cmpint(image.colour, ==, c->read);
  /* The readers of JP2 files know only the first methods. */
  bool jp2 = c->format == CJ2K_FILE_JP2;
  g_assert_cmpuint(file[find_colr(file, size, 0)], ==, jp2 ? 1 : 5);
  g_assert_cmpint(find_colr(file, size, 1) > 0, ==, jp2);
  g_bytes_unref(bytes);
}

/* Without code points a file has the one box that it always had. */
static void test_without(void)
{
  const Case c = {CJ2K_FILE_JPH, 3, CJ2K_COLOUR_SYCC, {0}, CJ2K_COLOUR_SYCC};
  Cj2kError error = {0};
  Cj2kImage image;
  gsize size;
  GBytes *bytes = encode(&c, CJ2K_XYZ_OFF, &error);
  const uint8_t *file = g_bytes_get_data(bytes, &size);

  g_assert_cmpint(read_header(file, size, true, &image), ==, CJ2K_OK);
  assert_same(image.cicp, (Cj2kCicp){0});
  g_assert_cmpint(image.colour, ==, CJ2K_COLOUR_SYCC);
  g_assert_cmpuint(file[find_colr(file, size, 0)], ==, 1);
  g_assert_cmpuint(find_colr(file, size, 1), ==, 0);
  g_bytes_unref(bytes);
}

/* What was converted to X'Y'Z' has its code points, not those of the R'G'B'. */
static void test_converted(void)
{
  const Case c = {CJ2K_FILE_JP2, 3, CJ2K_COLOUR_SRGB, {1, 1, 0, true}, CJ2K_COLOUR_XYZ};
  Cj2kError error = {0};
  Cj2kImage image;
  gsize size;
  GBytes *bytes = encode(&c, CJ2K_XYZ_ON, &error);
  const uint8_t *file = g_bytes_get_data(bytes, &size);

  g_assert_cmpint(read_header(file, size, true, &image), ==, CJ2K_OK);
  assert_same(image.cicp, (Cj2kCicp){10, 17, 0, true});
  g_bytes_unref(bytes);
}

/* A box that ends early, or has the reserved primaries 0, is ignored, but not by a strict decoder.
 */
static void test_damaged(void)
{
  const Case c = {CJ2K_FILE_JP2, 3, CJ2K_COLOUR_SYCC, {9, 16, 9, false}, CJ2K_COLOUR_SYCC};
  Cj2kError error = {0};
  Cj2kImage image;
  gsize size;
  GBytes *bytes = encode(&c, CJ2K_XYZ_OFF, &error);
  uint8_t *file = g_memdup2(g_bytes_get_data(bytes, &size), g_bytes_get_size(bytes));
  gsize at = find_colr(file, size, 1);

  file[at + 4] = 0; /* primaries */
  g_assert_cmpint(read_header(file, size, false, &image), ==, CJ2K_OK);
  assert_same(image.cicp, (Cj2kCicp){0});
  g_assert_cmpint(image.colour, ==, CJ2K_COLOUR_SYCC);
  g_assert_cmpint(read_header(file, size, true, &image), ==, CJ2K_ERROR_CODESTREAM);
  file[at + 4] = 9;
  file[at - 5] = 8 + 9; /* one byte less; that byte begins a box that is too long */
  g_assert_cmpint(read_header(file, size, true, &image), ==, CJ2K_ERROR_CODESTREAM);
  g_free(file);
  g_bytes_unref(bytes);
}

static void test_refused(void)
{
  static const struct {
    Cj2kColour colour;
    Cj2kCicp cicp;
    const char *word;
  } refused[] = {
      {CJ2K_COLOUR_SRGB, {256, 1, 0, true}, "256, 1, 0"},
      {CJ2K_COLOUR_SRGB, {1, 0, 0, true}, "1, 0, 0"},
      {CJ2K_COLOUR_SRGB, {1, 256, 0, true}, "1, 256, 0"},
      {CJ2K_COLOUR_SYCC, {1, 1, 256, true}, "1, 1, 256"},
      {CJ2K_COLOUR_SRGB, {1, 1, 1, true}, "matrix 1 "},
      {CJ2K_COLOUR_SYCC, {1, 1, 0, true}, "matrix 0 "},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
    const Case c = {CJ2K_FILE_JP2, 3, refused[i].colour, refused[i].cicp, CJ2K_COLOUR_UNKNOWN};
    Cj2kError error = {0};
    g_assert_null(encode(&c, CJ2K_XYZ_OFF, &error));
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
    g_assert_nonnull(strstr(error.text, refused[i].word));
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    char *name = g_strdup_printf("/colours/round-trip/%u", (guint)i);
    g_test_add_data_func(name, &cases[i], test_round_trip);
    g_free(name);
  }
  g_test_add_func("/colours/without", test_without);
  g_test_add_func("/colours/converted", test_converted);
  g_test_add_func("/colours/damaged", test_damaged);
  g_test_add_func("/colours/refused", test_refused);
  return g_test_run();
}
