/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Headers that break a rule of T.800 annex A or need Part 2: each is refused with a status and a
 * text that says what is wrong. */
#include "codestream-bytes.h"
#include "common/codestream/header.h"

#include <string.h>

/* Bytes are given as text in hexadecimal; blanks between them do not count. */
static void put_hex(GByteArray *bytes, const char *text)
{
  for (; *text; text++) {
    if (*text == ' ')
      continue;
    guint8 byte = (guint8)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));
    g_byte_array_append(bytes, &byte, 1);
    text++;
  }
}

/* One component of 16x16 samples in one tile, one level, one step of 5/3. */
#define SIZ "ff51 0029 0000 00000010 00000010 00000000 00000000 00000010 00000010 00000000 00000000"
#define ONE SIZ "0001 070101"
#define COD "ff52 000c 00 00 0001 00 01 02 02 00 01"
#define QCD "ff5c 0007 40 40 48 48 50"
#define SOT "ff90 000a 0000 0000000f 00 01 ff93 00 ffd9"

/* What stands in place of a whole header, and what is said about it; "": it is good. */
static const struct {
  const char *bytes, *text;
  Cj2kStatus status;
} headers[] = {
    {"ff4f" ONE COD QCD SOT, "", CJ2K_OK},
    {"ff4e" ONE COD QCD SOT, "does not begin with SOC", CJ2K_ERROR_CODESTREAM},
    {"ff4f" COD ONE QCD SOT, "SIZ does not follow SOC", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE ONE COD QCD SOT, "a second SIZ", CJ2K_ERROR_CODESTREAM},
    {"ff4f" SIZ "0000 070101" COD QCD SOT, "SIZ says 0 components", CJ2K_ERROR_CODESTREAM},
    {"ff4f" SIZ "0002 070101" COD QCD SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" SIZ "0001 260101" COD QCD SOT, "39 bits for component 0", CJ2K_ERROR_CODESTREAM},
    {"ff4f" SIZ "0001 070001" COD QCD SOT, "sub-sampling 0 x 1", CJ2K_ERROR_CODESTREAM},
    {"ff4f" SIZ "0001 070100" COD QCD SOT, "sub-sampling 1 x 0", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 0006 00 00 0001" QCD SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 05 0001 00 01 02 02 00 01" QCD SOT, "progression order 5",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 00 0000 00 01 02 02 00 01" QCD SOT, "0 layers",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 00 0001 02 01 02 02 00 01" QCD SOT, "transformation 2 (Part 2)",
     CJ2K_ERROR_UNSUPPORTED},
    {"ff4f" ONE "ff52 000c 00 00 0001 00 21 02 02 00 01" QCD SOT, "33 decomposition levels",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 00 0001 00 01 05 06 00 01" QCD SOT, "code-blocks of 2^7 x 2^8",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 00 0001 00 01 09 00 00 01" QCD SOT, "code-blocks of 2^11 x 2^2",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000c 00 00 0001 00 01 02 02 00 02" QCD SOT, "transformation 2 (a Part 2",
     CJ2K_ERROR_UNSUPPORTED},
    {"ff4f" ONE "ff52 000d 01 00 0001 00 01 02 02 00 01 ff" QCD SOT, "too short",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000e 01 00 0001 00 01 02 02 00 01 ff 0f" QCD SOT, "precincts of 1 sample",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE "ff52 000e 01 00 0001 00 01 02 02 00 01 00 f1" QCD SOT, "", CJ2K_OK},
    {"ff4f" ONE COD "ff53 0009 01 00 01 02 02 00 01" QCD SOT, "COC is for component 1 of 1",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD "ff53 0002" QCD SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD "ff53 0007 00 00 01 02 02" QCD SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD "ff5c 0007 43 40 48 48 50" SOT, "quantisation style 3", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD "ff5c 0003 40" SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5d 0008 01 40 40 48 48 50" SOT, "QCC is for component 1 of 1",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5e 0005 01 00 03" SOT, "RGN is for component 1 of 1",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5e 0004 00 00" SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5e 0005 00 01 03" SOT, "style 1 (Part 2)", CJ2K_ERROR_UNSUPPORTED},
    {"ff4f" ONE COD QCD "ff5f 0004 00 00" SOT, "too short", CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5f 0009 00 00 0001 02 01 05" SOT, "POC says progression order 5",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff5f 0009 00 00 0001 02 00 04" SOT, "", CJ2K_OK},
    {"ff4f" ONE COD QCD "ff90 000a 0001 0000000f 00 01 ff93 00 ffd9", "SOT of tile 1, there are 1",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff90 000b 0000 0000000f 00 01 ff93 00 ffd9", "SOT of 11 bytes",
     CJ2K_ERROR_CODESTREAM},
    {"ff4f" ONE COD QCD "ff90 000a 0000", "ends in an SOT", CJ2K_ERROR_CODESTREAM},
};

/* Headers that are read from hexadecimal digits. */
typedef struct {
  GByteArray *bytes;
  Cj2kHeaderReader *reader;
  Cj2kTileParts parts;
  Cj2kHeader *header;
  Cj2kError error;
  Cj2kStatus status;
} Reading;

static Reading reading_new(const char *hex, bool strict)
{
  Reading reading = {.bytes = g_byte_array_new(), .reader = cj2k_header_reader_new()};
  bool same = false;

  put_hex(reading.bytes, hex);
  reading.status = cj2k_header_read(reading.reader, reading.bytes->data, reading.bytes->len, strict,
                                    0, &reading.header, &same, &reading.parts, &reading.error);
  return reading;
}

static void reading_clear(Reading *reading)
{
  cj2k_tile_parts_clear(&reading->parts);
  cj2k_header_reader_free(reading->reader);
  g_byte_array_unref(reading->bytes);
}

static void test_header(gconstpointer data)
{
  guint i = GPOINTER_TO_UINT(data);
  Reading reading = reading_new(headers[i].bytes, true);

  g_test_message("%s", reading.error.text);
  g_assert_cmpint(reading.status, ==, headers[i].status);
  if (reading.status != CJ2K_OK)
    g_assert_nonnull(strstr(reading.error.text, headers[i].text));
  reading_clear(&reading);
}

/* Derived quantisation has one step; more in the segment do not count. */
static void test_derived_steps(void)
{
  Reading reading = reading_new(
      "ff4f" ONE "ff52 000c 00 00 0001 00 01 02 02 00 00 ff5c 0007 41 4801 5002" SOT, true);

  g_assert_cmpint(reading.status, ==, CJ2K_OK);
  const Cj2kQuantisation *quantisation = &reading.header->coding.quantisation[0];
  g_assert_cmpuint(quantisation->num_steps, ==, 1);
  g_assert_cmpuint(quantisation->exponent[0], ==, 9);
  g_assert_cmpuint(quantisation->mantissa[0], ==, 1);
  g_assert_cmpuint(quantisation->exponent[1], ==, 0);
  reading_clear(&reading);
}

/* Packed packet headers: of two tile-parts in PPT, whose segments go by their numbers. */
static void test_ppt(void)
{
  Reading reading = reading_new("ff4f" ONE COD QCD
                                "ff90 000a 0000 0000001b 00 02 ff61 0005 00 1122 ff61 0004 01 33 "
                                "ff93 ff90 000a 0000 00000015 01 02 ff61 0004 00 44 ff93 00 ffd9",
                                false);

  g_assert_cmpstr(reading.error.text, ==, "");
  g_assert_cmpint(reading.status, ==, CJ2K_OK);
  g_assert_cmpuint(reading.parts.num_packed_headers, ==, 1);
  const guint8 expected[] = {0x11, 0x22, 0x33, 0x44};
  g_assert_cmpmem(reading.parts.packed_headers[0].data, reading.parts.packed_headers[0].size,
                  expected, sizeof expected);
  reading_clear(&reading);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(headers); i++) {
    gchar *path =
        g_strdup_printf("/refusals/header/%u-%s", i, headers[i].text[0] ? headers[i].text : "good");
    for (gchar *at = path + strlen("/refusals/header/"); *at; at++)
      *at = g_ascii_isalnum(*at) ? *at : '-';
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_header);
    g_free(path);
  }
  g_test_add_func("/refusals/derived-steps", test_derived_steps);
  g_test_add_func("/refusals/ppt", test_ppt);
  return g_test_run();
}
