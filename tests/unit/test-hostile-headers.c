/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Headers of less than 64 KiB that would keep a decoder busy for many frames: each is bounded by a
 * count. */
#include "codestream-bytes.h"
#include "common/cj2k.h"
#include "common/codestream/jp2.h"
#include "common/codestream/scan.h"

#include <glib.h>
#include <string.h>
#include <time.h>

#define SIZE 65000 /* bytes of a flooded header */

/* log2_precinct 15: the default. */
static void put_coding(GByteArray *out, guint progression, guint layers, guint levels,
                       guint log2_precinct)
{
  gboolean own = log2_precinct < 15;
  put(out, 0xff52, 2);
  put(out, 12 + (own ? levels + 1 : 0), 2);
  put(out, own, 1);
  put(out, progression, 1);
  put(out, layers, 2);
  put(out, 0, 1);
  put(out, levels, 1);
  put(out, 0x00000001, 4); /* code-blocks of 4 x 4, 5/3 */
  for (guint r = 0; own && r <= levels; r++)
    put(out, log2_precinct * 0x11, 1);
}

static void put_quantisation(GByteArray *out, guint levels)
{
  put(out, 0xff5c, 2);
  put(out, 3 * levels + 4, 2);
  for (guint i = 0; i < 3 * levels + 2; i++)
    put(out, 0x40, 1);
}

/* SOT, a header of so many bytes that the caller appends, SOD, and bytes of packets. */
static void put_sot(GByteArray *out, guint tile, guint header, guint bytes)
{
  put(out, 0xff90000a, 4);
  put(out, tile, 2);
  put(out, 14 + header + bytes, 4);
  put(out, 0x0001, 2);
}

/* SOD, and so many packets of this byte. */
static void put_packets(GByteArray *out, guint count, guint byte)
{
  put(out, 0xff93, 2);
  for (guint i = 0; i < count; i++)
    put(out, byte, 1);
}

static void put_end(GByteArray *out)
{
  put_sot(out, 0, 0, 1);
  put(out, 0xff9300ffd9, 5);
}

/* Decodes; returns the status of the frame and frees the bytes. */
static Cj2kStatus decode(GByteArray *bytes, uint64_t max_memory, const char *reason,
                         Cj2kFrame *frame)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = 1;
  params.max_memory = max_memory;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  g_assert_cmpint(cj2k_decoder_submit(decoder, bytes->data, bytes->len, NULL, NULL, NULL, &error),
                  ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, frame), ==, CJ2K_OK);
  if (reason && !strstr(frame->error.text, reason))
    g_error("'%s' does not say '%s'", frame->error.text, reason);
  Cj2kStatus status = frame->status;
  cj2k_decoder_release(decoder, frame);
  cj2k_decoder_close(decoder);
  g_byte_array_unref(bytes);
  return status;
}

/* --- the tests --- */

/* Precincts, each with a code-block, that 60 bytes of header announce. */
static GByteArray *many_precincts(guint size, guint log2_precinct, guint bytes)
{
  GByteArray *out = begin_codestream(size, size, size, 1);
  put_coding(out, 0, 1, 0, log2_precinct);
  put_quantisation(out, 0);
  put_sot(out, 0, 0, bytes);
  put_packets(out, bytes, 0);
  put(out, 0xffd9, 2);
  return out;
}

static void test_items(void)
{
  Cj2kFrame frame;
  /* 513² precincts of one code-block each, in a few bytes and with a byte each; 2^18 of both. */
  g_assert_cmpint(decode(many_precincts(1026, 1, 1), 0, "precincts and code-blocks", &frame), ==,
                  CJ2K_ERROR_LIMIT);
  g_assert_cmpint(decode(many_precincts(1026, 1, 1), 1 << 30, NULL, &frame), ==, CJ2K_OK);
  g_assert_cmpint(decode(many_precincts(1026, 1, 513 * 513), 0, NULL, &frame), ==, CJ2K_OK);
  g_assert_false(frame.truncated);
  /* One precinct of 514² code-blocks. */
  g_assert_cmpint(decode(many_precincts(2056, 15, 1), 0, "precincts and code-blocks", &frame), ==,
                  CJ2K_ERROR_LIMIT);
  g_assert_cmpint(decode(many_precincts(256, 1, 1), 0, NULL, &frame), ==, CJ2K_OK);
}

/* Each of 2000 packets looks at 254² code-blocks and includes none. */
static void test_visits(void)
{
  Cj2kFrame frame;
  for (guint i = 0; i < 2; i++) {
    GByteArray *out = begin_codestream(1016, 1016, 1016, 1);
    put_coding(out, 0, 2000, 0, 15);
    put_quantisation(out, 0);
    put_sot(out, 0, 0, 2000);
    put_packets(out, 2000, i ? 0x80 : 0);
    put(out, 0xffd9, 2);
    Cj2kStatus status = decode(out, 0, i ? "precincts and code-blocks" : NULL, &frame);
    g_assert_cmpint(status, ==, i ? CJ2K_ERROR_LIMIT : CJ2K_OK);
  }
}

/* Volumes that hold no packet any more, over all resolutions of 4000 components. */
static void test_poc(void)
{
  Cj2kFrame frame;
  for (guint entries = 2; entries <= 400; entries += 398) {
    GByteArray *out = begin_codestream(8, 8, 8, 4000);
    put_coding(out, 0, 2, 1, 15);
    put_quantisation(out, 1);
    put(out, 0xff5f, 2);
    put(out, 2 + 9 * entries, 2);
    for (guint i = 0; i < entries; i++) {
      put(out, 0x000000, 3);
      put(out, 1, 2);
      put(out, 33, 1);
      put(out, 4000, 2);
      put(out, 0, 1);
    }
    put_end(out);
    Cj2kStatus status = decode(out, 1 << 30, entries > 2 ? "POC" : NULL, &frame);
    g_assert_cmpint(status, ==, entries > 2 ? CJ2K_ERROR_LIMIT : CJ2K_OK);
  }
}

/* A tile-part header of six bytes makes parameters for all components of its tile. */
static void test_tile_parameters(void)
{
  Cj2kFrame frame;
  GByteArray *out = begin_codestream(64, 64, 4, 3000);
  put_coding(out, 0, 1, 0, 15);
  put_quantisation(out, 0);
  for (guint tile = 0; tile < 256; tile++) {
    put_sot(out, tile, 6, 0);
    put_quantisation(out, 0);
    put(out, 0xff93, 2);
  }
  put(out, 0xffd9, 2);
  g_assert_cmpint(decode(out, 0, "parameters of tiles", &frame), ==, CJ2K_ERROR_LIMIT);
}

/* 1024 tiles of four components, whose tile-part headers have COD, with a byte for each packet or
 * without packets. */
static GByteArray *tiles_with_levels(guint main_levels, guint tile_levels, gboolean has_packets)
{
  guint packets = has_packets ? 4 * (tile_levels + 1) : 0;
  GByteArray *out = begin_codestream(128, 128, 4, 4);
  put_coding(out, 0, 1, main_levels, 15);
  put_quantisation(out, 32);
  for (guint tile = 0; tile < 1024; tile++) {
    put_sot(out, tile, 14, packets);
    put_coding(out, 0, 1, tile_levels, 15);
    put_packets(out, packets, 0);
  }
  put(out, 0xffd9, 2);
  return out;
}

/* Resolutions of tiles count, with COD in the main header or in those of tile-parts. Those that all
 * tiles replace do not. */
static void test_tile_resolutions(void)
{
  Cj2kFrame frame;
  g_assert_cmpint(decode(tiles_with_levels(0, 32, FALSE), 0, "135168 resolutions", &frame), ==,
                  CJ2K_ERROR_LIMIT);
  g_assert_cmpint(decode(tiles_with_levels(0, 32, FALSE), 1 << 30, NULL, &frame), ==, CJ2K_OK);
  g_assert_cmpint(decode(tiles_with_levels(0, 32, TRUE), 0, NULL, &frame), ==, CJ2K_OK);
  g_assert_false(frame.truncated);
  g_assert_cmpint(decode(tiles_with_levels(32, 0, TRUE), 0, NULL, &frame), ==, CJ2K_OK);
  g_assert_false(frame.truncated);
}

/* Of 2^20 missing packets only the first ones are looked at one by one; all are counted. */
static void test_missing(void)
{
  Cj2kFrame frame;
  GByteArray *out = begin_codestream(16, 16, 16, 1);
  put_coding(out, 2, 65535, 0, 2); /* RPCL: all layers of a precinct, then the next one of 16 */
  put_quantisation(out, 0);
  put_end(out);
  g_assert_cmpint(decode(out, 0, NULL, &frame), ==, CJ2K_OK);
  g_assert_cmpuint(frame.concealed_packets, ==, 16 * 65535 - 1);
  g_assert_cmpuint(frame.concealed_blocks, ==, 5);
}

/* Headers of tile-parts that are hidden in comments of others, and all go on through the same
 * marker segments to the end. */
static void test_overlap(void)
{
  GByteArray *out = begin_codestream(8, 8, 8, 1);
  Cj2kTileParts parts = {0};
  Cj2kScan scan = {0};
  Cj2kError error;
  uint64_t position;
  put_coding(out, 0, 1, 0, 15);
  put_quantisation(out, 0);
  for (guint i = 0; i < 1400; i++) {
    put(out, 0xff90000a, 4);
    put(out, 0, 8); /* Psot = 0 */
    put(out, 0xff64, 2);
    put(out, (1399 - i) * 16 + 2, 2);
  }
  while (out->len < SIZE)
    put(out, 0xff5e0005000001, 7);
  g_assert_cmpint(cj2k_scan_main_header(&scan, out->data, out->len, &position, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_scan_tile_parts(&scan, position, false, &parts, &error), ==, CJ2K_OK);
  g_assert_true(parts.truncated);
  g_assert_cmpuint(scan.num_segments, <, out->len);
  cj2k_tile_parts_clear(&parts);
  cj2k_scan_clear(&scan);
  g_byte_array_unref(out);
}

/* Microseconds of reading a header of 8000 components with QCDs, or with comments in their place.
 */
static gint64 time_flood(gboolean is_flood)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  GByteArray *out = begin_codestream(8, 8, 8, 8000);
  Cj2kTileParts parts = {0};
  Cj2kHeader *header;
  Cj2kError error;
  bool same;
  put_coding(out, 0, 1, 0, 15);
  put_quantisation(out, 0);
  while (out->len < SIZE)
    if (is_flood)
      put_quantisation(out, 0);
    else
      put(out, 0xff6400040000, 6);
  put_end(out);
  gint64 begin = g_get_monotonic_time();
  g_assert_cmpint(
      cj2k_header_read(reader, out->data, out->len, false, 0, &header, &same, &parts, &error), ==,
      CJ2K_OK);
  gint64 took = g_get_monotonic_time() - begin;
  cj2k_tile_parts_clear(&parts);
  cj2k_header_reader_free(reader);
  g_byte_array_unref(out);
  return took;
}

/* A COD or QCD is not copied to all components if another one follows: thousands of them would take
 * hundreds of times as long as one. */
static void test_defaults(void)
{
  gint64 flood = G_MAXINT64, plain = G_MAXINT64;
  for (int i = 0; i < 3; i++) {
    flood = MIN(flood, time_flood(TRUE));
    plain = MIN(plain, time_flood(FALSE));
  }
  g_test_message("%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " us", flood, plain);
  g_assert_cmpint(flood, <, 50 * MAX(plain, 200));
}

/* Each of 64800 empty packets has SOP, and the last one says that packets are missing before it: a
 * precinct of 512² code-blocks is not copied for each of them. */
static void test_resync(void)
{
  Cj2kFrame frame;
  GByteArray *out = begin_codestream(2048, 2048, 2048, 1);
  guint scod = out->len + 4;
  put_coding(out, 0, 65000, 0, 15);
  out->data[scod] |= 2;
  put_quantisation(out, 0);
  put_sot(out, 0, 0, 64801 * 7);
  put(out, 0xff93, 2);
  for (guint i = 0; i <= 64800; i++) {
    put(out, 0xff910004, 4);
    put(out, i < 64800 ? i : 64900, 2);
    put(out, 0, 1);
  }
  put(out, 0xffd9, 2);
  gint64 begin = g_get_monotonic_time();
  g_assert_cmpint(decode(out, 0, NULL, &frame), ==, CJ2K_OK);
  g_assert_cmpuint(frame.concealed_packets, ==,
                   200); /* without its lower layers the last one is lost, too */
  g_assert_cmpint(g_get_monotonic_time() - begin, <, 20 * G_USEC_PER_SEC);
}

/* Tiles of 4 x 4 samples with an empty packet for each component. */
static GByteArray *many_tiles(guint size, guint components)
{
  GByteArray *out = begin_codestream(size, size, 4, components);
  put_coding(out, 0, 1, 0, 15);
  put_quantisation(out, 0);
  for (guint tile = 0; tile < size * size / 16; tile++) {
    put_sot(out, tile, 0, components);
    put_packets(out, components, 0);
  }
  put(out, 0xffd9, 2);
  return out;
}

/* Decodes the first `size` bytes. */
static Cj2kStatus decode_bytes(Cj2kDecoder *decoder, const GByteArray *bytes, guint size,
                               guint width)
{
  Cj2kFrame frame;
  Cj2kError error;
  g_assert_cmpint(cj2k_decoder_submit(decoder, bytes->data, size, NULL, NULL, NULL, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  Cj2kStatus status = frame.status;
  if (status == CJ2K_OK) {
    g_assert_cmpuint(frame.image.components[0].x1, ==, width);
    g_assert_cmpuint(frame.concealed_packets, ==, 0);
  }
  cj2k_decoder_release(decoder, &frame);
  return status;
}

/* A frame whose headers announce too much for its bytes, between whole ones: the next frame with
 * the same headers is not taken for one with those of the frame before. */
static void test_refused(void)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  GByteArray *small = many_tiles(16, 1), *large = many_tiles(256, 9);
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpint(decode_bytes(decoder, small, small->len, 16), ==, CJ2K_OK);
    g_assert_cmpint(decode_bytes(decoder, large, 1000, 256), ==, CJ2K_ERROR_LIMIT);
    g_assert_cmpint(decode_bytes(decoder, large, large->len, 256), ==, CJ2K_OK);
  }
  cj2k_decoder_close(decoder);
  g_byte_array_unref(small);
  g_byte_array_unref(large);
}

/* Processor time of this thread, which does not count what other processes take. */
static gint64 processor_us(void)
{
  struct timespec now;
  g_assert_cmpint(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), ==, 0);
  return (gint64)now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* Of definitions of the same channel the first counts, and those of channels that are not there are
 * ignored. All that a file can have take no time: a search for each channel would take a second. */
static void test_definitions(void)
{
  enum { DEFINITIONS = 65535, CHANNELS = 16384 };
  Cj2kJp2 jp2 = {.num_definitions = DEFINITIONS};
  Cj2kChannel *channels = g_new(Cj2kChannel, CHANNELS);
  jp2.definitions = g_new0(struct Cj2kChannelDefinition, DEFINITIONS);
  for (uint32_t i = 0; i < DEFINITIONS; i++)
    jp2.definitions[i] = (struct Cj2kChannelDefinition){65535, {1, 1}};
  jp2.definitions[5] = (struct Cj2kChannelDefinition){9, {1, 2}};
  jp2.definitions[6] = (struct Cj2kChannelDefinition){9, {2, 3}};
  jp2.definitions[DEFINITIONS - 1] = (struct Cj2kChannelDefinition){0, {2, 0}};
  gint64 begin = processor_us();
  cj2k_jp2_channels(&jp2, channels, CHANNELS);
  g_assert_cmpint(processor_us() - begin, <, G_USEC_PER_SEC / 2);
  for (uint32_t i = 0; i < CHANNELS; i++) {
    g_assert_cmpuint(channels[i].type, ==, i == 0 ? 2 : i == 9);
    g_assert_cmpuint(channels[i].association, ==, i == 0 ? 0 : i == 9 ? 2 : i + 1);
  }
  g_free(channels);
  cj2k_jp2_clear(&jp2);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/hostile-headers/items", test_items);
  g_test_add_func("/hostile-headers/visits", test_visits);
  g_test_add_func("/hostile-headers/poc", test_poc);
  g_test_add_func("/hostile-headers/tile-parameters", test_tile_parameters);
  g_test_add_func("/hostile-headers/tile-resolutions", test_tile_resolutions);
  g_test_add_func("/hostile-headers/missing", test_missing);
  g_test_add_func("/hostile-headers/overlap", test_overlap);
  g_test_add_func("/hostile-headers/defaults", test_defaults);
  g_test_add_func("/hostile-headers/resync", test_resync);
  g_test_add_func("/hostile-headers/refused", test_refused);
  g_test_add_func("/hostile-headers/definitions", test_definitions);
  return g_test_run();
}
