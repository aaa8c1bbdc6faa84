/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which marker segments take precedence, and the boxes around a codestream. */
#include "codestream-bytes.h"
#include "common/codestream/jp2.h"
#include "common/codestream/write_boxes.h"

#include <string.h>

/* The tests recognise a COD or COC by its code-block width, a QCD or QCC by its guard bits. */
static void put_cod(GByteArray *bytes, uint8_t width)
{
  PUT_SEGMENT(bytes, CJ2K_COD, 0, CJ2K_RPCL, 0, 5, 0, 1, width, 2, 0, 1);
}
static void put_coc(GByteArray *bytes, uint8_t component, uint8_t width)
{
  PUT_SEGMENT(bytes, CJ2K_COC, component, 0, 1, width, 2, 0, 1);
}
static void put_qcd(GByteArray *bytes, uint8_t guard)
{
  PUT_SEGMENT(bytes, CJ2K_QCD, (uint8_t)(guard << 5), 64, 72, 72, 80);
}
static void put_qcc(GByteArray *bytes, uint8_t component, uint8_t guard)
{
  PUT_SEGMENT(bytes, CJ2K_QCC, component, (uint8_t)(guard << 5), 64, 72, 72, 80);
}

/* Four tiles; tiles 0 and 3 have no marker segments of their own that take effect. */
static GByteArray *make_tiles(void)
{
  GByteArray *bytes = begin_codestream(16, 16, 8, 3), *tile1 = g_byte_array_new();
  GByteArray *tile2 = g_byte_array_new(), *later = g_byte_array_new();

  put_coc(bytes, 1, 2); /* takes precedence although it precedes COD */
  put_qcc(bytes, 2, 3);
  PUT_SEGMENT(bytes, 0xff77, 1, 2, 3); /* unknown marker */
  PUT_SEGMENT(bytes, 0xff2f, 4);       /* another one */
  put(bytes, 0xff30, 2);               /* the first and the last marker without a segment */
  put(bytes, 0xff3f, 2);
  PUT_SEGMENT(bytes, 0xff40, 5, 6);
  put_cod(bytes, 1);
  put_qcd(bytes, 1);
  PUT_SEGMENT(bytes, CJ2K_RGN, 0, 0, 7);
  PUT_SEGMENT(bytes, CJ2K_COM, 0, 1, 'x');
  put_coc(tile1, 0, 4);
  put_cod(tile1, 3);
  put_qcd(tile1, 5);
  put_qcc(tile2, 0, 6);
  PUT_SEGMENT(tile2, CJ2K_RGN, 1, 0, 9);
  put_cod(later, 0); /* not allowed in a later tile-part, so ignored */
  put_tile_part(bytes, 3, 0, NULL, "\0", 1);
  put_tile_part(bytes, 1, 0, tile1, "\0", 1);
  put_tile_part(bytes, 0, 0, NULL, "\0", 1);
  put_tile_part(bytes, 2, 0, tile2, "\0", 1);
  put_tile_part(bytes, 3, 1, later, "\0", 1);
  put(bytes, CJ2K_EOC, 2);
  g_byte_array_unref(tile1);
  g_byte_array_unref(tile2);
  g_byte_array_unref(later);
  return bytes;
}

static void check_main_header(const Cj2kHeader *header)
{
  const Cj2kTileCoding *tile = cj2k_header_tile(header, 0);

  g_assert_true(tile == &header->coding);
  g_assert_true(cj2k_header_tile(header, 3) == &header->coding);
  g_assert_cmpuint(tile->num_layers, ==, 5);
  g_assert_cmpuint(tile->coding[0].log2_block_width, ==, 3);
  g_assert_cmpuint(tile->coding[1].log2_block_width, ==, 4);
  g_assert_cmpuint(tile->coding[2].log2_block_width, ==, 3);
  g_assert_cmpuint(tile->quantisation[0].guard_bits, ==, 1);
  g_assert_cmpuint(tile->quantisation[2].guard_bits, ==, 3);
  g_assert_cmpuint(tile->quantisation[0].exponent[3], ==, 10);
  g_assert_cmpuint(tile->roi_shift[0], ==, 7);
}

static void check_tile_headers(const Cj2kHeader *header)
{
  const Cj2kTileCoding *tile = cj2k_header_tile(header, 1);

  g_assert_cmpuint(tile->coding[0].log2_block_width, ==, 6);
  g_assert_cmpuint(tile->coding[1].log2_block_width, ==, 5); /* COD of the tile, not COC */
  g_assert_cmpuint(tile->coding[2].log2_block_width, ==, 5);
  g_assert_cmpuint(tile->quantisation[2].guard_bits, ==, 5);
  g_assert_cmpuint(tile->roi_shift[0], ==, 7);
  tile = cj2k_header_tile(header, 2);
  g_assert_cmpuint(tile->coding[1].log2_block_width, ==, 4);
  g_assert_cmpuint(tile->quantisation[0].guard_bits, ==, 6);
  g_assert_cmpuint(tile->quantisation[1].guard_bits, ==, 1);
  g_assert_cmpuint(tile->quantisation[2].guard_bits, ==, 3);
  g_assert_cmpuint(tile->roi_shift[1], ==, 9);
}

static void test_precedence(void)
{
  GByteArray *bytes = make_tiles();
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kTileParts parts = {0};
  Cj2kError error = {0};
  Cj2kHeader *header, *again;
  bool same;

  g_assert_cmpint(
      cj2k_header_read(reader, bytes->data, bytes->len, true, 0, &header, &same, &parts, &error),
      ==, CJ2K_OK);
  g_assert_false(same);
  g_assert_cmpuint(parts.num_tile_parts, ==, 5);
  g_assert_cmpuint(parts.tile_parts[1].tile, ==, 1);
  g_assert_cmpuint(parts.tile_parts[1].data.size, ==, 1);
  g_assert_true(parts.has_eoc);
  g_assert_cmpuint(parts.end, ==, bytes->len);
  check_main_header(header);
  check_tile_headers(header);

  /* The header stays the same when only packets change. */
  bytes->data[bytes->len - 3] = 1;
  cj2k_header_read(reader, bytes->data, bytes->len, true, 0, &again, &same, &parts, &error);
  g_assert_true(same && again == header);
  cj2k_header_read(reader, bytes->data, bytes->len, true, 0, &again, &same, NULL, &error);
  g_assert_true(same && again == header);
  cj2k_tile_parts_clear(&parts);
  cj2k_header_reader_free(reader);
  g_byte_array_unref(bytes);
}

/* Whether a header with this style of quantisation (Sqcd) is read. */
static bool reads_style(uint8_t sqcd)
{
  GByteArray *bytes = begin_codestream(8, 8, 8, 1);
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kError error = {0};
  Cj2kHeader *header;
  bool same;
  put_cod(bytes, 1);
  PUT_SEGMENT(bytes, CJ2K_QCD, sqcd, 64, 72, 72, 80, 64, 72, 72, 80);
  put_tile_part(bytes, 0, 0, NULL, "\0", 1);
  put(bytes, CJ2K_EOC, 2);
  Cj2kStatus status =
      cj2k_header_read(reader, bytes->data, bytes->len, false, 0, &header, &same, NULL, &error);
  if (status != CJ2K_OK)
    g_assert_nonnull(strstr(error.text, "quantisation"));
  cj2k_header_reader_free(reader);
  g_byte_array_unref(bytes);
  return status == CJ2K_OK;
}

/* There are three styles of quantisation; the upper bits of Sqcd are guard bits. */
static void test_quantisation_styles(void)
{
  for (uint32_t sqcd = 0; sqcd < 256; sqcd++)
    g_assert_cmpint(reads_style((uint8_t)sqcd), ==, (sqcd & 31) <= 2);
}

/* Code-blocks have sides of 4 to 1024 samples and at most 4096 of them (A.6.1). */
static void test_block_sizes(void)
{
  for (uint32_t i = 0; i < 12 * 12; i++) {
    uint8_t width = (uint8_t)(i % 12), height = (uint8_t)(i / 12);
    GByteArray *bytes = begin_codestream(8, 8, 8, 1);
    Cj2kHeaderReader *reader = cj2k_header_reader_new();
    Cj2kError error = {0};
    Cj2kHeader *header;
    bool same;
    PUT_SEGMENT(bytes, CJ2K_COD, 0, CJ2K_RPCL, 0, 5, 0, 1, width, height, 0, 1);
    put_qcd(bytes, 1);
    put_tile_part(bytes, 0, 0, NULL, "\0", 1);
    put(bytes, CJ2K_EOC, 2);
    Cj2kStatus status =
        cj2k_header_read(reader, bytes->data, bytes->len, false, 0, &header, &same, NULL, &error);
    g_assert_cmpint(status == CJ2K_OK, ==, width <= 8 && height <= 8 && width + height <= 8);
    cj2k_header_reader_free(reader);
    g_byte_array_unref(bytes);
  }
}

/* --- boxes --- */

static void put_box(GByteArray *bytes, const char *type, const void *data, guint size)
{
  put(bytes, size + 8, 4);
  g_byte_array_append(bytes, (const guint8 *)type, 4);
  g_byte_array_append(bytes, data, size);
}

static const uint8_t codestream[] = {0xff, 0x4f, 0xff, 0x51, 1, 2, 3};
static const uint8_t icc[] = {2, 0, 0, 9, 8, 7};

/* A file with every box that the reader interprets. */
static GByteArray *make_jp2(void)
{
  static const uint8_t ihdr[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 7, 7, 0, 0};
  static const uint8_t colr[] = {1, 0, 0, 0, 0, 0, 16};
  static const uint8_t pclr[] = {0, 2, 3, 7, 0x87, 11, 1, 2, 0, 3, 255, 0xff, 0x0f, 0xff};
  static const uint8_t cmap[] = {0, 0, 1, 2, 0, 0, 0, 0};
  static const uint8_t cdef[] = {0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0};
  GByteArray *header = g_byte_array_new(), *bytes = g_byte_array_new();

  put_box(header, "ihdr", ihdr, sizeof ihdr);
  put_box(header, "junk", NULL, 0);
  put_box(header, "colr", icc, sizeof icc);
  put_box(header, "colr", colr, sizeof colr); /* only the first one is used */
  put_box(header, "pclr", pclr, sizeof pclr);
  put_box(header, "cmap", cmap, sizeof cmap);
  put_box(header, "cdef", cdef, sizeof cdef);
  put_box(bytes, "jP  ", "\r\n\x87\n", 4);
  put_box(bytes, "jp2h", header->data, header->len);
  put(bytes, 1, 4); /* an unknown box with a length of 64 bits */
  g_byte_array_append(bytes, (const guint8 *)"xml ", 4);
  put(bytes, 16 + 2, 8);
  put(bytes, 0, 2);
  put(bytes, 0, 4); /* length 0: extends to the end of the file */
  g_byte_array_append(bytes, (const guint8 *)"jp2c", 4);
  g_byte_array_append(bytes, codestream, sizeof codestream);
  g_byte_array_unref(header);
  return bytes;
}

static void test_boxes(void)
{
  GByteArray *bytes = make_jp2();
  Cj2kError error = {0};
  Cj2kChannel channels[8];
  Cj2kJp2 jp2;

  g_assert_cmpint(cj2k_jp2_read(bytes->data, bytes->len, true, &jp2, &error), ==, CJ2K_OK);
  g_assert_true(jp2.is_jp2 && jp2.has_ihdr);
  g_assert_cmpuint(jp2.width, ==, 3);
  g_assert_cmpmem(bytes->data + jp2.codestream.offset, jp2.codestream.size, codestream,
                  sizeof codestream);
  g_assert_cmpuint(jp2.colour_method, ==, 2);
  g_assert_cmpmem(jp2.icc, jp2.icc_size, icc + 3, 3);
  g_assert_cmpint(cj2k_jp2_colour(&jp2), ==, CJ2K_COLOUR_OTHER);
  g_assert_cmpuint(jp2.num_entries, ==, 2);
  g_assert_cmpuint(jp2.num_columns, ==, 3);
  g_assert_cmpint(jp2.entries[2], ==, 3);
  g_assert_cmpint(jp2.entries[4], ==, -1);
  g_assert_cmpint(jp2.entries[5], ==, 0xfff);
  g_assert_cmpuint(jp2.num_channels, ==, 2);
  g_assert_true(jp2.channels[0].palette && !jp2.channels[1].palette);
  g_assert_cmpuint(jp2.channels[0].column, ==, 2);
  cj2k_jp2_channels(&jp2, channels, G_N_ELEMENTS(channels));
  g_assert_cmpuint(channels[1].type, ==, 0);
  g_assert_cmpuint(channels[0].type, ==, 1);
  g_assert_cmpuint(channels[7].association, ==, 8);
  cj2k_jp2_clear(&jp2);
  g_byte_array_unref(bytes);
}

/* A second ihdr box with more components than the bpcc box between them has. */
static void test_second_ihdr(void)
{
  static const uint8_t first[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 255, 7, 0, 0};
  static const uint8_t second[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 200, 255, 7, 0, 0};
  GByteArray *header = g_byte_array_new(), *bytes = g_byte_array_new();
  Cj2kError error = {0};
  Cj2kJp2 jp2;

  put_box(header, "ihdr", first, sizeof first);
  put_box(header, "bpcc", "\7", 1);
  put_box(header, "ihdr", second, sizeof second);
  put_box(bytes, "jP  ", "\r\n\x87\n", 4);
  put_box(bytes, "jp2h", header->data, header->len);
  put_box(bytes, "jp2c", codestream, sizeof codestream);
  g_assert_cmpint(cj2k_jp2_read(bytes->data, bytes->len, false, &jp2, &error), ==, CJ2K_OK);
  g_assert_cmpuint(jp2.num_components, ==, 1);
  cj2k_jp2_clear(&jp2);
  g_assert_cmpint(cj2k_jp2_read(bytes->data, bytes->len, true, &jp2, &error), ==,
                  CJ2K_ERROR_CODESTREAM);
  g_assert_nonnull(strstr(error.text, "ihdr"));
  cj2k_jp2_clear(&jp2);
  g_byte_array_unref(header);
  g_byte_array_unref(bytes);
}

/* A jp2c box alone, a codestream without boxes, and data that are neither. */
static void test_without_header_box(void)
{
  static const uint8_t other[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 7, 7, 0, 0};
  GByteArray *bytes = g_byte_array_new();
  Cj2kError error = {0};
  Cj2kJp2 jp2;

  put_box(bytes, "jp2c", codestream, sizeof codestream);
  g_assert_cmpint(cj2k_jp2_read(bytes->data, bytes->len, true, &jp2, &error), ==, CJ2K_OK);
  g_assert_false(jp2.is_jp2);
  g_assert_cmpuint(jp2.codestream.offset, ==, 8);
  g_assert_cmpint(cj2k_jp2_read(codestream, sizeof codestream, true, &jp2, &error), ==, CJ2K_OK);
  g_assert_cmpuint(jp2.codestream.size, ==, sizeof codestream);
  g_assert_cmpint(cj2k_jp2_read(other, sizeof other, false, &jp2, &error), ==,
                  CJ2K_ERROR_CODESTREAM);
  g_byte_array_unref(bytes);
}

/* What strict decoders compare: the size without the image's offset, components and depths. */
static void test_agreement(void)
{
  Cj2kComponent components[2] = {{.depth = 8}, {.depth = 12, .is_signed = true}};
  uint8_t bpcc[2] = {7, 0x8b};
  Cj2kHeader header = {
      .x0 = 3, .y0 = 5, .x1 = 10, .y1 = 11, .num_components = 2, .components = components};
  const Cj2kJp2 good = {.is_jp2 = true,
                        .has_ihdr = true,
                        .width = 7,
                        .height = 6,
                        .num_components = 2,
                        .bits_per_component = 255,
                        .bpcc = bpcc};
  Cj2kJp2 wide = good, high = good, few = good, same = good;
  Cj2kError error = {0};
  wide.width++;
  high.height--;
  few.num_components--;
  same.bits_per_component = 7;
  g_assert_cmpint(cj2k_jp2_check(&good, &header, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_jp2_check(&wide, &header, &error), ==, CJ2K_ERROR_CODESTREAM);
  g_assert_cmpint(cj2k_jp2_check(&high, &header, &error), ==, CJ2K_ERROR_CODESTREAM);
  g_assert_cmpint(cj2k_jp2_check(&few, &header, &error), ==, CJ2K_ERROR_CODESTREAM);
  g_assert_cmpint(cj2k_jp2_check(&same, &header, &error), ==, CJ2K_ERROR_CODESTREAM);
  bpcc[1] = 0x0b;
  g_assert_cmpint(cj2k_jp2_check(&good, &header, &error), ==, CJ2K_ERROR_CODESTREAM);
}

/* Components of different depths have them in a bpcc box; a codestream of 4 GiB or more has its
 * length in 64 bits. */
static void test_written_boxes(void)
{
  Cj2kComponent components[] = {{.depth = 8}, {.depth = 12, .is_signed = true}};
  const Cj2kHeader header = {.x1 = 3, .y1 = 2, .num_components = 2, .components = components};
  const Cj2kFileColours colours = {NULL, CJ2K_COLOUR_GREY, {0}};
  const uint64_t sizes[] = {5, UINT32_MAX - 8, UINT32_MAX - 7, UINT64_C(5) << 32};
  Cj2kError error = {0};
  Cj2kJp2 jp2;

  for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
    Cj2kByteBuffer out = {0};
    cj2k_write_boxes(&out, &header, &colours, CJ2K_FILE_JP2, sizes[i]);
    bool large = sizes[i] + 8 > UINT32_MAX;
    g_assert_cmpmem(out.data + out.size - (large ? 12 : 4), 4, "jp2c", 4);
    const uint8_t *length = out.data + out.size - 8;
    uint64_t value = 0;
    for (uint32_t k = 0; k < (large ? 8u : 4u); k++)
      value = value << 8 | length[k];
    g_assert_cmpuint(value, ==, sizes[i] + (large ? 16 : 8));
    if (i == 0) {
      cj2k_bytes_reserve(&out, 5);
      memcpy(out.data + out.size, "\xff\x4f\xff\x51", 5);
      g_assert_cmpint(cj2k_jp2_read(out.data, out.size + 5, true, &jp2, &error), ==, CJ2K_OK);
      g_assert_cmpuint(jp2.bits_per_component, ==, 255);
      g_assert_nonnull(jp2.bpcc);
      g_assert_cmpmem(jp2.bpcc, 2, "\x07\x8b", 2);
      cj2k_jp2_clear(&jp2);
    }
    g_free(out.data);
  }
}

/* Colours by code points: grey has fewer than three components, of which matrix 0 leaves three. */
static void test_code_points(void)
{
  static const struct {
    bool has_ihdr;
    uint16_t components;
    Cj2kCicp cicp;
    Cj2kColour colour;
  } cases[] = {{true, 3, {0, 1, 0, true}, CJ2K_COLOUR_UNKNOWN},
               {true, 3, {1, 1, 2, true}, CJ2K_COLOUR_UNKNOWN},
               {true, 1, {1, 1, 1, true}, CJ2K_COLOUR_GREY},
               {true, 2, {1, 1, 0, true}, CJ2K_COLOUR_GREY},
               {true, 3, {1, 1, 1, true}, CJ2K_COLOUR_SYCC},
               {true, 3, {1, 13, 0, true}, CJ2K_COLOUR_SRGB},
               {true, 4, {10, 17, 0, true}, CJ2K_COLOUR_XYZ},
               {false, 1, {1, 1, 1, true}, CJ2K_COLOUR_SYCC}};

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    const Cj2kJp2 jp2 = {.is_jp2 = true,
                         .has_ihdr = cases[i].has_ihdr,
                         .num_components = cases[i].components,
                         .cicp = cases[i].cicp};
    g_assert_cmpint(cj2k_jp2_colour(&jp2), ==, cases[i].colour);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/header/precedence", test_precedence);
  g_test_add_func("/header/quantisation-styles", test_quantisation_styles);
  g_test_add_func("/header/block-sizes", test_block_sizes);
  g_test_add_func("/boxes/agreement", test_agreement);
  g_test_add_func("/boxes/read", test_boxes);
  g_test_add_func("/boxes/code-points", test_code_points);
  g_test_add_func("/boxes/written", test_written_boxes);
  g_test_add_func("/boxes/without-header", test_without_header_box);
  g_test_add_func("/boxes/second-ihdr", test_second_ihdr);
  return g_test_run();
}
