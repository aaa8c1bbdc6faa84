/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comments whose bytes look like EOC, like another codestream or like a tile-part: the encoder
 * writes them unchanged, and the decoder does not interpret them as markers. */
#include "codestream-bytes.h"

#include "common/cj2k.h"

#include <string.h>

#define SIDE  40
#define TILES 4 /* each of SIDE / 2 x SIDE / 2 */

static uint8_t pixel(uint32_t x, uint32_t y)
{
  return (uint8_t)(5 * x + 3 * y + x * y % 7);
}

/* Encodes losslessly with four tiles. Appends the encoder's warnings to *warning (NULL allowed). */
static GByteArray *encode(const char *comment, char **warning)
{
  const Cj2kComponent component = {.dx = 1, .dy = 1, .depth = 8};
  const Cj2kEncoderImage image = {
      .width = SIDE, .height = SIDE, .num_components = 1, .components = &component};
  const Cj2kSampleLayout samples = {
      .unit_bytes = 1, .unit_samples = 1, .word_bytes = 1, .depth = 8};
  const Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &samples};
  uint8_t pixels[SIDE * SIDE];
  Cj2kPlane plane = {.data = pixels, .pitch = SIDE};
  const Cj2kPicture picture = {.num_planes = 1, .planes = &plane};
  GByteArray *bytes = g_byte_array_new();
  Cj2kEncoderParams params;
  Cj2kPacket packet;
  Cj2kError error;

  for (uint32_t i = 0; i < SIDE * SIDE; i++)
    pixels[i] = pixel(i % SIDE, i / SIDE);
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.rate_control = CJ2K_RATE_LOSSLESS;
  params.num_resolutions = 3;
  params.tile_width = params.tile_height = SIDE / 2;
  params.comment = comment;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &image, &layout, &error);
  if (!encoder)
    g_error("%s", error.text);
  if (warning)
    *warning = g_strdup(cj2k_encoder_warning(encoder));
  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  g_assert_cmpint(packet.status, ==, CJ2K_OK);
  g_byte_array_append(bytes, packet.data, (guint)packet.size);
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
  return bytes;
}

/* Decodes a codestream, strictly if it is complete. */
static void decode(const GByteArray *bytes, bool whole, uint8_t pixels[SIDE * SIDE])
{
  const Cj2kSampleLayout samples = {
      .unit_bytes = 1, .unit_samples = 1, .word_bytes = 1, .depth = 8};
  const Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &samples};
  Cj2kPlane plane = {.data = pixels, .pitch = SIDE};
  const Cj2kPicture picture = {.num_planes = 1, .planes = &plane};
  Cj2kDecoderParams params;
  Cj2kFrame frame;
  Cj2kError error;

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.strict = whole;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  g_assert_cmpint(
      cj2k_decoder_submit(decoder, bytes->data, bytes->len, &layout, &picture, NULL, &error), ==,
      CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  if (frame.status != CJ2K_OK)
    g_error("%s", frame.error.text);
  g_assert_true(frame.truncated == !whole);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

static void assert_decodes(const GByteArray *bytes)
{
  uint8_t pixels[SIDE * SIDE];
  decode(bytes, true, pixels);
  for (uint32_t i = 0; i < SIDE * SIDE; i++)
    g_assert_cmpuint(pixels[i], ==, pixel(i % SIDE, i / SIDE));
}

/* The offset of a marker segment in the main header, or of the first SOT. */
static guint find_marker(const GByteArray *bytes, uint16_t marker)
{
  guint at = 2;
  while (cj2k_get16(bytes->data + at) != marker)
    at += 2u + cj2k_get16(bytes->data + at + 2);
  return at;
}

/* The offset of tile-part n. */
static guint find_sot(const GByteArray *bytes, guint n)
{
  guint at = find_marker(bytes, CJ2K_SOT);
  while (n--)
    at += cj2k_get32(bytes->data + at + 6);
  return at;
}

static void put_psot(GByteArray *bytes, guint sot, uint32_t psot)
{
  for (int i = 0; i < 4; i++)
    bytes->data[sot + 6 + i] = (guint8)(psot >> (24 - 8 * i));
}

/* --- tests --- */

/* The codestream contains the text unchanged, and the encoder warns if it looks like EOC. */
static void test_main_header(void)
{
  static const struct {
    const char *comment, *latin;
    bool warns;
  } cases[] = {
      {"\u00ff\u00d9", "\xff\xd9", true},
      {"a\u00ff\u00d9\u00ffO\u00ffQb", "a\xff\xd9\xffO\xffQb", true},
      {"\u00ffO\u00ffQ", "\xffO\xffQ", false},
      {"\u00ff\xc2\x90\u00ff", "\xff\x90\xff", false},
      {"plain", "plain", false},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    char *warning;
    GByteArray *bytes = encode(cases[i].comment, &warning);
    const uint8_t *com = bytes->data + find_marker(bytes, CJ2K_COM);
    size_t length = strlen(cases[i].latin);
    g_assert_true((warning && strstr(warning, "FF D9")) == cases[i].warns);
    g_assert_cmpmem(com + 6, cj2k_get16(com + 2) - 4u, cases[i].latin, length);
    assert_decodes(bytes);
    g_byte_array_unref(bytes);
    g_free(warning);
  }
}

/* A codestream with this comment (NULL: none) in the header of its last tile-part. */
static GByteArray *with_comment(const uint8_t *text, int size, int psot)
{
  GByteArray *plain = encode(NULL, NULL), *bytes = g_byte_array_new();
  guint sot = find_sot(plain, TILES - 1), length = cj2k_get32(plain->data + sot + 6);

  g_byte_array_append(bytes, plain->data, sot + 12);
  if (size)
    put_segment(bytes, CJ2K_COM, text, size);
  g_byte_array_append(bytes, plain->data + sot + 12, plain->len - sot - 12);
  length += bytes->len - plain->len;
  put_psot(bytes, sot, psot ? length : 0);
  g_byte_array_unref(plain);
  return bytes;
}

/* A comment that looks like EOC, SOC, SIZ and a tile-part. Psot is correct, or 0 (up to EOC). */
static const uint8_t misleading[] = {0,    0, /* registration: binary */
                                     0xff, 0xd9, 0xff, 0x4f, 0xff, 0x51, 0xff, 0x90, 0,    10,
                                     0,    1,    0,    0,    0,    14,   0,    1,    0xff, 0x93};

static void test_tile_header(void)
{
  for (int psot = 0; psot < 2; psot++) {
    GByteArray *bytes = with_comment(misleading, sizeof misleading, psot);
    assert_decodes(bytes);
    g_byte_array_unref(bytes);
  }
}

/* If Psot exceeds the stream, the next marker is searched behind the comment. */
static void test_truncated(void)
{
  GByteArray *plain = with_comment(NULL, 0, 1);
  GByteArray *bytes = with_comment(misleading, sizeof misleading, 1);
  uint8_t expected[SIDE * SIDE], pixels[SIDE * SIDE];

  g_byte_array_set_size(plain, plain->len - 20);
  g_byte_array_set_size(bytes, bytes->len - 20);
  decode(plain, false, expected);
  decode(bytes, false, pixels);
  g_assert_cmpmem(pixels, sizeof pixels, expected, sizeof expected);
  g_byte_array_unref(bytes);
  g_byte_array_unref(plain);
}

/* Bytes behind EOC, such as another codestream, belong to no tile-part, even if the last one has no
 * length. */
static void test_behind(void)
{
  for (int psot = 0; psot < 2; psot++) {
    GByteArray *bytes = encode("\u00ff\u00d9", NULL), *other = encode("other", NULL);
    if (psot)
      put_psot(bytes, find_sot(bytes, TILES - 1), 0);
    g_byte_array_append(bytes, other->data, other->len);
    assert_decodes(bytes);
    g_byte_array_unref(other);
    g_byte_array_unref(bytes);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/false-markers/main-header", test_main_header);
  g_test_add_func("/false-markers/tile-header", test_tile_header);
  g_test_add_func("/false-markers/truncated", test_truncated);
  g_test_add_func("/false-markers/behind", test_behind);
  return g_test_run();
}
