/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codestreams with a loss that were made to take long to repair: time must not grow with the square
 * of their size. Each took minutes or hours where it did. */
#include "common/rtp/receive.h"

#include "common/codestream/markers.h"
#include "common/rtp/locate.h"

#include <string.h>

#define BYTES (4u << 20)
#define LIMIT (20 * G_USEC_PER_SEC) /* with sanitizers, on a busy machine */

static void put(GByteArray *out, unsigned value, unsigned bytes)
{
  while (bytes-- > 0) {
    uint8_t byte = (uint8_t)(value >> 8 * bytes);
    g_byte_array_append(out, &byte, 1);
  }
}

static void put_sot(GByteArray *out, unsigned tile, unsigned length, unsigned index)
{
  put(out, CJ2K_SOT, 2);
  put(out, 10, 2);
  put(out, tile, 2);
  put(out, length, 4);
  put(out, index << 8, 2);
}

/* SOC to SOD of one component without wavelet levels. */
static GByteArray *put_headers(unsigned width, unsigned height, unsigned tile, unsigned scod)
{
  GByteArray *out = g_byte_array_new();
  put(out, 0xff4fff51, 4);
  put(out, 41u << 16, 4);
  put(out, width, 4);
  put(out, height, 4);
  put(out, 0, 4);
  put(out, 0, 4);
  put(out, tile, 4);
  put(out, tile, 4);
  put(out, 0, 4);
  put(out, 0, 4);
  put(out, 1, 2);
  put(out, 0x070101, 3);
  put(out, CJ2K_COD, 2);
  put(out, 12 + (scod & 1), 2);
  put(out, scod, 1);
  put(out, 2 << 24 | 1 << 8, 4); /* RPCL, one layer */
  put(out, 0x00040400, 4);
  put(out, 1, 1);
  if (scod & 1)
    put(out, 0x66, 1);
  put(out, CJ2K_QCD, 2);
  put(out, 4, 2);
  put(out, 0x2040, 2);
  put_sot(out, 0, 0, 0);
  put(out, CJ2K_SOD, 2);
  return out;
}

static void push(Cj2kRtpReceiver *receiver, uint32_t number, const Cj2kRtpHeader *header,
                 const uint8_t *data, size_t size, bool marker)
{
  uint8_t *bytes = g_malloc(CJ2K_RTP_HEADER_BYTES + size);
  Cj2kRtpHeader copy = *header;
  copy.extended = (uint8_t)(number >> 16);
  cj2k_rtp_header_write(&copy, bytes);
  memcpy(bytes + CJ2K_RTP_HEADER_BYTES, data, size);
  cj2k_rtp_receiver_push(receiver, (uint16_t)number, 1, marker, bytes, CJ2K_RTP_HEADER_BYTES + size,
                         0);
  g_free(bytes);
}

/* Sends the codestream without the packet after the first one of its body, which can be repaired or
 * not. Frees both. */
static void try_receive(GByteArray *headers, GByteArray *body, size_t chunk, bool marked,
                        bool repaired)
{
  Cj2kRtpReceiverParams params = {.window = 0, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  Cj2kRtpHeader header = {.kind = CJ2K_RTP_MAIN_ONLY};
  Cj2kRtpCodestream codestream;
  uint32_t number = 1;
  put(body, CJ2K_EOC, 2);
  push(receiver, number++, &header, headers->data, headers->len, false);
  header = (Cj2kRtpHeader){.marked = marked};
  for (size_t at = 0; at < body->len; at += chunk) {
    size_t size = MIN(chunk, body->len - at);
    push(receiver, number++, &header, body->data + at, size, at + size == body->len);
    number += at == 0;
    header.precinct++;
  }
  gint64 begin = g_get_monotonic_time();
  g_assert_cmpint(cj2k_rtp_receiver_pull(receiver, &codestream), ==, repaired);
  g_assert_cmpint(g_get_monotonic_time() - begin, <, LIMIT);
  if (repaired) {
    g_assert_true(codestream.repaired);
    g_free(codestream.data);
  }
  cj2k_rtp_receiver_free(receiver);
  g_byte_array_unref(headers);
  g_byte_array_unref(body);
}

static void receive(GByteArray *headers, GByteArray *body, size_t chunk, bool marked)
{
  try_receive(headers, body, chunk, marked, true);
}

/* Headers of tile-parts by the thousand, with marker segments that lead over the others to a long
 * row of marker segments without SOD. */
static void test_tile_headers(void)
{
  static const uint8_t zeros[60000];
  GByteArray *body = g_byte_array_new();
  g_byte_array_append(body, zeros, sizeof zeros);
  while (body->len < BYTES / 2) {
    for (unsigned i = 0; i < 4000; i++) {
      put_sot(body, 0, 0, 1);
      put(body, CJ2K_COM, 2);
      put(body, 64000 - 16 * i - 14, 2);
    }
    put(body, CJ2K_COM, 2);
    put(body, 64000 - 2, 2);
  }
  while (body->len < BYTES)
    put(body, (unsigned)CJ2K_COM << 16 | 2, 4);
  receive(put_headers(64, 64, 64, 0), body, sizeof zeros, false);
}

/* Very many tiles, and tile-parts of them out of order; marks, which have no meaning there. */
static void test_tiles(gconstpointer marked)
{
  GByteArray *body = g_byte_array_new();
  for (unsigned tile = 65534; body->len < BYTES; tile = (tile + 65534) % 65535) {
    put_sot(body, tile, 15, 0);
    put(body, (unsigned)CJ2K_SOD << 8, 3);
  }
  receive(put_headers(255, 257, 1, 0), body, marked ? 60 : 1400, marked != NULL);
}

/* Marked packets that cannot be read, where SOP may be but is not. */
static void test_marks(void)
{
  GByteArray *body = g_byte_array_new();
  g_byte_array_set_size(body, BYTES);
  memset(body->data, 0xff, BYTES);
  receive(put_headers(4096, 4096, 4096, 3), body, BYTES / 4000, true);
}

/* The headers of a codestream whose begin nobody takes are not read with each of its packets. */
static void test_begin(void)
{
  Cj2kRtpReceiverParams params = {.window = 0, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  GByteArray *ends = put_headers(4096, 4096, 4096, 1), *headers = g_byte_array_new();
  const guint sot = ends->len - 14;
  Cj2kRtpHeader header = {.kind = CJ2K_RTP_MAIN_MORE};
  Cj2kRtpBegin begin;
  uint32_t number = 1;
  ends->data[sot + 11] = 1; /* TNsot */
  g_byte_array_append(headers, ends->data, sot);
  while (headers->len < BYTES)
    put(headers, (unsigned)CJ2K_COM << 16 | 2, 4);
  g_byte_array_append(headers, ends->data + sot, 14);
  for (guint at = 0; at < headers->len; at += 60000) {
    guint size = MIN(60000, headers->len - at);
    if (at + size == headers->len)
      header.kind = CJ2K_RTP_MAIN_LAST;
    push(receiver, number++, &header, headers->data + at, size, false);
  }
  header = (Cj2kRtpHeader){.kind = CJ2K_RTP_BODY, .marked = true};
  gint64 start = g_get_monotonic_time();
  for (unsigned i = 0; i < 30000; i++) {
    push(receiver, number++, &header, (const uint8_t *)"", 1, false);
    g_assert_true(cj2k_rtp_receiver_peek_begin(receiver, &begin));
    g_assert_cmpuint(begin.size, ==, headers->len + i);
  }
  g_assert_cmpint(g_get_monotonic_time() - start, <, LIMIT);
  cj2k_rtp_receiver_free(receiver);
  g_byte_array_unref(headers);
  g_byte_array_unref(ends);
}

/* What comes first after a restart does not wait for the packets of later codestreams. */
static void test_restart(void)
{
  Cj2kRtpReceiverParams params = {.window = 32, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  const Cj2kRtpHeader main = {.kind = CJ2K_RTP_MAIN_ONLY}, body = {.kind = CJ2K_RTP_BODY};
  GByteArray *headers = put_headers(64, 64, 64, 0);
  static const uint8_t data[] = {0, 0xff, 0xd9};
  Cj2kRtpCodestream codestream;
  push(receiver, 1000, &main, headers->data, headers->len, false);
  push(receiver, 1002, &body, data, sizeof data, true);
  g_assert_false(cj2k_rtp_receiver_pull(receiver, &codestream));
  push(receiver, 5000000, &body, data, sizeof data, false); /* raises suspicion */
  push(receiver, 5000001, &main, headers->data, headers->len, false);
  push(receiver, 5000002, &body, data, sizeof data, true);
  for (uint32_t i = 0; i < 2; i++) {
    g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
    g_assert_cmpuint(codestream.repaired, ==, i == 0);
    g_free(codestream.data);
  }
  cj2k_rtp_receiver_free(receiver);
  g_byte_array_unref(headers);
}

/* A damaged header must not make the receiver allocate for a picture of gigabytes. */
static void test_memory(void)
{
  Cj2kRtpReceiverParams params = {.window = 0, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  const Cj2kRtpHeader main = {.kind = CJ2K_RTP_MAIN_ONLY}, body = {.kind = CJ2K_RTP_BODY};
  static const uint8_t data[] = {0, 0xff, 0xd9};
  Cj2kRtpCodestream codestream;
  Cj2kRtpStats stats;
  for (uint32_t i = 0; i < 2; i++) {
    GByteArray *headers = put_headers(8000, i ? 8000 : 60000, 65535, 0);
    push(receiver, 1000 + 4 * i, &main, headers->data, headers->len, false);
    push(receiver, 1002 + 4 * i, &body, data, sizeof data, true);
    g_assert_cmpint(cj2k_rtp_receiver_pull(receiver, &codestream), ==, i == 1);
    g_byte_array_unref(headers);
  }
  g_free(codestream.data);
  cj2k_rtp_receiver_stats(receiver, &stats);
  g_assert_cmpuint(stats.failed, ==, 1);
  cj2k_rtp_receiver_free(receiver);
}

/* The first tile-part names a tile that the picture does not have: nothing can be repaired. */
static void test_foreign_tile(void)
{
  const Cj2kRtpHeader main = {.kind = CJ2K_RTP_MAIN_ONLY}, body = {.kind = CJ2K_RTP_BODY};
  static const uint8_t data[] = {0, 0xff, 0xd9};
  for (unsigned tile = 0; tile < 3; tile++) {
    Cj2kRtpReceiverParams params = {.window = 0, .max_resolution = 7};
    Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
    GByteArray *headers = put_headers(64, 64, 64, 0);
    Cj2kRtpCodestream codestream = {0};
    headers->data[headers->len - 9] = (uint8_t)tile; /* Isot */
    push(receiver, 1000, &main, headers->data, headers->len, false);
    push(receiver, 1002, &body, data, sizeof data, true);
    g_assert_cmpint(cj2k_rtp_receiver_pull(receiver, &codestream), ==, tile == 0);
    g_free(codestream.data);
    cj2k_rtp_receiver_free(receiver);
    g_byte_array_unref(headers);
  }
}

/* After a loss, a later tile-part that changes the order of packets (POC) or packs their headers
 * (PPT) cannot be repaired; other segments in its header do not matter. */
static void test_later_segments(void)
{
  const Cj2kRtpHeader main = {.kind = CJ2K_RTP_MAIN_ONLY}, body = {.kind = CJ2K_RTP_BODY};
  static const uint8_t data[] = {0, 0, 0};
  static const struct {
    uint16_t marker;
    bool repaired;
  } cases[] = {{CJ2K_SOD, true},  {CJ2K_COM, true},  {CJ2K_PLT, true},
               {CJ2K_POC, false}, {CJ2K_PPT, false}, {CJ2K_QCD, false}};
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Cj2kRtpReceiverParams params = {.window = 0, .max_resolution = 7};
    Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
    GByteArray *headers = put_headers(64, 64, 64, 0), *part = g_byte_array_new();
    Cj2kRtpCodestream codestream = {0};
    put_sot(part, 0, 0, 1);
    put(part, CJ2K_COM, 2);
    put(part, 3u << 8, 3);
    if (cases[i].marker != CJ2K_SOD) {
      put(part, cases[i].marker, 2);
      put(part, 9u << 16 | 1, 4);
      put(part, 1u << 16 | 257, 4);
      put(part, 1, 1);
    }
    put(part, CJ2K_SOD, 2);
    put(part, 0xffd9, 3);
    push(receiver, 1000, &main, headers->data, headers->len, false);
    push(receiver, 1001, &body, data, sizeof data, false);
    push(receiver, 1003, &body, part->data, part->len, true);
    g_assert_cmpint(cj2k_rtp_receiver_pull(receiver, &codestream), ==, cases[i].repaired);
    g_free(codestream.data);
    cj2k_rtp_receiver_free(receiver);
    g_byte_array_unref(headers);
    g_byte_array_unref(part);
  }
}

/* Each of 6000 packets of a byte looks at 1024² code-blocks and includes none: neither the receiver
 * nor the sender goes on with that for long. */
static void test_visits(void)
{
  enum { LAYERS = 6000, COD_LAYERS = 51, COD_BLOCK = 55 };
  GByteArray *headers = put_headers(4096, 4096, 4096, 0), *body = g_byte_array_new();
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kRtpMap map;
  Cj2kError error;
  headers->data[COD_LAYERS] = LAYERS >> 8;
  headers->data[COD_LAYERS + 1] = LAYERS & 255;
  headers->data[COD_BLOCK] = headers->data[COD_BLOCK + 1] = 0; /* 4 x 4 samples */
  for (guint i = 0; i < LAYERS; i++)
    put(body, 0x80, 1);
  put(body, CJ2K_EOC, 2);
  GByteArray *whole = g_byte_array_new();
  g_byte_array_append(whole, headers->data, headers->len);
  g_byte_array_append(whole, body->data, body->len);
  gint64 begin = g_get_monotonic_time();
  g_assert_cmpint(cj2k_rtp_locate(locator, whole->data, whole->len, &map, &error), ==, CJ2K_OK);
  g_assert_cmpuint(map.num_units, ==, 0);
  g_assert_cmpint(g_get_monotonic_time() - begin, <, LIMIT);
  cj2k_rtp_locator_free(locator);
  g_byte_array_unref(whole);
  try_receive(headers, body, 1000, false, false);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rtp-hostile/tile-headers", test_tile_headers);
  g_test_add_data_func("/rtp-hostile/tiles", NULL, test_tiles);
  g_test_add_data_func("/rtp-hostile/tiles-marked", "", test_tiles);
  g_test_add_func("/rtp-hostile/marks", test_marks);
  g_test_add_func("/rtp-hostile/begin", test_begin);
  g_test_add_func("/rtp-hostile/restart", test_restart);
  g_test_add_func("/rtp-hostile/memory", test_memory);
  g_test_add_func("/rtp-hostile/foreign-tile", test_foreign_tile);
  g_test_add_func("/rtp-hostile/later-segments", test_later_segments);
  g_test_add_func("/rtp-hostile/visits", test_visits);
  return g_test_run();
}
