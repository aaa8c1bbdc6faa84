/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the payload header of RFC 9828, and the division of codestreams into RTP payloads. */
#include "common/rtp/packetise.h"

#include "common/codestream/markers.h"
#include "encoder-pictures.h"

#include <string.h>

/* --- the header --- */

static void assert_bytes(const Cj2kRtpHeader *header, const char *hex)
{
  uint8_t bytes[CJ2K_RTP_HEADER_BYTES];
  char text[2 * CJ2K_RTP_HEADER_BYTES + 1];
  Cj2kRtpHeader again;
  size_t payload;
  cj2k_rtp_header_write(header, bytes);
  for (int i = 0; i < CJ2K_RTP_HEADER_BYTES; i++)
    g_snprintf(text + 2 * i, 3, "%02x", bytes[i]);
  g_assert_cmpstr(text, ==, hex);
  g_assert_true(cj2k_rtp_header_read(&again, bytes, sizeof bytes, &payload));
  g_assert_cmpuint(payload, ==, CJ2K_RTP_HEADER_BYTES);
  g_assert_cmpmem(&again, sizeof again, header, sizeof *header);
}

#define MAIN(...)                                                                                  \
  &(Cj2kRtpHeader)                                                                                 \
  {                                                                                                \
    .kind = CJ2K_RTP_MAIN_ONLY, __VA_ARGS__                                                        \
  }
#define BODY(...)                                                                                  \
  &(Cj2kRtpHeader)                                                                                 \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }

/* Writes and reads one field after the other, with its lowest and highest bits set. */
static void test_header(void)
{
  Cj2kRtpHeader h;
#define CHECK(value, hex)                                                                          \
  memset(&h, 0, sizeof h);                                                                         \
  h = *(value);                                                                                    \
  assert_bytes(&h, hex)
  CHECK(MAIN(.order = 0), "c000000000000000");
  CHECK(BODY(.kind = CJ2K_RTP_MAIN_MORE), "4000000000000000");
  CHECK(BODY(.kind = CJ2K_RTP_MAIN_LAST), "8000000000000000");
  CHECK(MAIN(.part = 1), "c800000000000000");
  CHECK(MAIN(.part = 6), "f000000000000000");
  CHECK(MAIN(.order = 1), "c100000000000000");
  CHECK(MAIN(.order = 7), "c700000000000000");
  CHECK(MAIN(.has_stamp = true), "c080000000000000");
  CHECK(MAIN(.stamp = 1), "c000010000000000");
  CHECK(MAIN(.stamp = 0xabc), "c00abc0000000000");
  CHECK(MAIN(.extended = 1), "c000000100000000");
  CHECK(MAIN(.extended = 255), "c00000ff00000000");
  CHECK(MAIN(.reuse = true), "c000000080000000");
  CHECK(MAIN(.has_colours = true), "c000000040000000");
  CHECK(MAIN(.caching = true), "c000000020000000");
  CHECK(MAIN(.has_colours = true, .full_range = true, .primaries = 9, .transfer = 16, .matrix = 8),
        "c000000041091008");
  CHECK(BODY(.part = 2), "1000000000000000");
  CHECK(BODY(.resolution = 1), "0100000000000000");
  CHECK(BODY(.resolution = 7), "0700000000000000");
  CHECK(BODY(.layer = 1), "0010000000000000");
  CHECK(BODY(.layer = 7), "0070000000000000");
  CHECK(BODY(.stamp = 0xfff, .extended = 0x12), "000fff1200000000");
  CHECK(BODY(.marked = true), "0080000000000000");
  CHECK(BODY(.marked = true, .position = 1), "0080000000100000");
  CHECK(BODY(.marked = true, .position = 4095), "00800000fff00000");
  CHECK(BODY(.marked = true, .precinct = 1), "0080000000000001");
  CHECK(BODY(.marked = true, .precinct = CJ2K_RTP_MAX_PID), "00800000000fffff");
#undef CHECK
}

/* A receiver skips extension words, ignores reserved bits, and discards reserved TP and short
 * packets. */
static void test_header_read(void)
{
  uint8_t bytes[8 + 28] = {0xc0};
  Cj2kRtpHeader header;
  size_t payload;
  for (size_t size = 0; size < 8; size++)
    g_assert_false(cj2k_rtp_header_read(&header, bytes, size, &payload));
  bytes[1] = 7 << 4; /* XTRAC */
  g_assert_true(cj2k_rtp_header_read(&header, bytes, sizeof bytes, &payload));
  g_assert_cmpuint(payload, ==, 36);
  g_assert_false(cj2k_rtp_header_read(&header, bytes, 35, &payload));
  bytes[1] = 0;
  bytes[0] = 0xf8; /* TP = 7 */
  g_assert_false(cj2k_rtp_header_read(&header, bytes, sizeof bytes, &payload));
  bytes[0] = 0xc0;
  bytes[4] = 0x1e; /* reserved */
  g_assert_true(cj2k_rtp_header_read(&header, bytes, sizeof bytes, &payload));
  g_assert_false(header.reuse || header.has_colours || header.caching || header.full_range);
  bytes[5] = 1; /* colours without S */
  g_assert_true(cj2k_rtp_header_read(&header, bytes, sizeof bytes, &payload));
  g_assert_cmpuint(header.primaries, ==, 0);
}

static void test_resolution(void)
{
  g_assert_cmpuint(cj2k_rtp_resolution(5, 5), ==, 7);
  g_assert_cmpuint(cj2k_rtp_resolution(0, 5), ==, 2);
  g_assert_cmpuint(cj2k_rtp_resolution(0, 6), ==, 1);
  g_assert_cmpuint(cj2k_rtp_resolution(0, 7), ==, 0);
  g_assert_cmpuint(cj2k_rtp_resolution(1, 8), ==, 0);
  g_assert_cmpuint(cj2k_rtp_resolution(2, 8), ==, 1);
}

/* --- positions of packets --- */

static GBytes *encode(const char *options, const char *more)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  TestPicture picture;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  if (more)
    g_assert_cmpint(cj2k_encoder_params_set(&params, more, "true", &error), ==, CJ2K_OK);
  static const uint8_t ones[3] = {1, 1, 1};
  test_picture_init(&picture, SCENE_NATURAL, 201, 150, 3, 8, false, ones, ones, 0, 0);
  GBytes *bytes = test_encode(&params, &picture, &error);
  g_assert_nonnull(bytes);
  test_picture_clear(&picture);
  return bytes;
}

static Cj2kRtpMap locate(Cj2kRtpLocator *locator, GBytes *bytes)
{
  Cj2kRtpMap map;
  Cj2kError error = {0};
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  g_assert_cmpint(cj2k_rtp_locate(locator, data, size, &map, &error), ==, CJ2K_OK);
  g_assert_cmpuint(map.end, ==, size);
  g_assert_cmpuint(cj2k_get16(data + map.header_bytes - 2), ==, CJ2K_SOD);
  g_assert_cmpuint(map.num_units, >, 0);
  return map;
}

/* The packets found by PLT are the same as those found by reading packet headers. */
static void test_plt(gconstpointer data)
{
  GBytes *with = encode(data, "plt"), *without = encode(data, NULL);
  Cj2kRtpLocator *a = cj2k_rtp_locator_new(), *b = cj2k_rtp_locator_new();
  Cj2kRtpMap x = locate(a, with), y = locate(b, without);
  const uint8_t *p = g_bytes_get_data(with, NULL), *q = g_bytes_get_data(without, NULL);
  g_assert_true(cj2k_rtp_locator_used_plt(a));
  g_assert_false(cj2k_rtp_locator_used_plt(b));
  g_assert_cmpuint(x.num_units, ==, y.num_units);
  g_assert_cmpuint(x.order, ==, y.order);
  for (uint32_t i = 0; i < x.num_units; i++) {
    const Cj2kRtpUnit *u = &x.units[i], *v = &y.units[i];
    g_assert_cmpmem(p + u->offset, u->size, q + v->offset, v->size);
    g_assert_cmpuint(u->precinct, ==, v->precinct);
    g_assert_cmpuint(u->layer, ==, v->layer);
    g_assert_cmpuint(u->resolution, ==, v->resolution);
    g_assert_cmpuint(u->header, ==, v->header);
  }
  cj2k_rtp_locator_free(a);
  cj2k_rtp_locator_free(b);
  g_bytes_unref(with);
  g_bytes_unref(without);
}

/* PLT is not used if its lengths do not add up; the packet headers are read instead. */
static void test_wrong_plt(void)
{
  GBytes *bytes = encode("precincts=32x32", "plt");
  gsize size;
  uint8_t *data = g_bytes_unref_to_data(bytes, &size);
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  for (gsize i = 0; i + 8 < size; i++)
    if (cj2k_get16(data + i) == CJ2K_PLT) {
      data[i + 6] ^= 1;
      break;
    }
  bytes = g_bytes_new_take(data, size);
  locate(locator, bytes);
  g_assert_false(cj2k_rtp_locator_used_plt(locator));
  cj2k_rtp_locator_free(locator);
  g_bytes_unref(bytes);
}

/* --- payloads --- */

static void check_payloads(const Cj2kRtpMap *map, const Cj2kRtpPayloads *payloads, uint32_t max)
{
  uint64_t at = 0;
  uint32_t mains = 0;
  for (uint32_t i = 0; i < payloads->count; i++) {
    const Cj2kRtpPayload *payload = &payloads->payloads[i];
    bool is_main = at < map->header_bytes, last = at + payload->size == map->header_bytes;
    g_assert_cmpuint(payload->offset, ==, at);
    g_assert_cmpuint(payload->size, >, 0);
    g_assert_cmpuint(payload->size, <=, max);
    at += payload->size;
    if (!is_main) {
      g_assert_cmpuint(payload->header.kind, ==, CJ2K_RTP_BODY);
      continue;
    }
    mains++;
    g_assert_cmpuint(at, <=, map->header_bytes);
    g_assert_cmpuint(payload->header.kind, ==,
                     !last        ? CJ2K_RTP_MAIN_MORE
                     : mains == 1 ? CJ2K_RTP_MAIN_ONLY
                                  : CJ2K_RTP_MAIN_LAST);
  }
  g_assert_cmpuint(at, ==, map->end);
}

/* Payloads with bytes of a tile-part header have RES 0, because every resolution needs them. */
static void test_large_headers(void)
{
  GBytes *bytes = encode("tile-parts=resolution precincts=32x32 progression-order=rlcp", "plt");
  const uint8_t *data = g_bytes_get_data(bytes, NULL);
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kRtpPayloads payloads = {0};
  Cj2kRtpMap map = locate(locator, bytes);
  uint32_t inside = 0;
  for (uint32_t max = 20; max < 200; max += 7) {
    cj2k_rtp_packetise(&map, max, &payloads);
    for (uint32_t u = 1, i = 0; u < map.num_units; u++) {
      uint64_t begin = map.units[u - 1].offset + map.units[u - 1].size, end = map.units[u].offset;
      if (begin == end)
        continue;
      g_assert_cmpuint(cj2k_get16(data + begin), ==, CJ2K_SOT);
      while (payloads.payloads[i].offset < begin)
        i++;
      for (; payloads.payloads[i].offset < end; i++) {
        g_assert_cmpuint(payloads.payloads[i].header.resolution, ==, 0);
        inside += payloads.payloads[i].offset > begin;
      }
    }
  }
  g_assert_cmpuint(inside, >, 0);
  cj2k_rtp_payloads_clear(&payloads);
  cj2k_rtp_locator_free(locator);
  g_bytes_unref(bytes);
}

/* The first packet of every precinct is marked, and its payload has bytes of no other precinct. */
static void check_marks(const Cj2kRtpMap *map, const Cj2kRtpPayloads *payloads)
{
  uint32_t marks = 0, firsts = 0, unit = 0;
  for (uint32_t i = 0; i < map->num_units; i++)
    firsts += map->units[i].layer == 0;
  for (uint32_t i = 0; i < payloads->count; i++) {
    const Cj2kRtpPayload *payload = &payloads->payloads[i];
    if (!payload->header.marked)
      continue;
    marks++;
    while (map->units[unit].offset + map->units[unit].header !=
           payload->offset + payload->header.position)
      g_assert_cmpuint(++unit, <, map->num_units);
    g_assert_cmpuint(map->units[unit].layer, ==, 0);
    g_assert_cmpuint(map->units[unit].precinct, ==, payload->header.precinct);
    /* A payload that begins with a tile-part header has RES 0, because every resolution needs it.
     */
    g_assert_cmpuint(payload->header.resolution, ==,
                     payload->offset < map->units[unit].offset ? 0 : map->units[unit].resolution);
    for (uint32_t k = 0; k < map->num_units; k++)
      if (map->units[k].offset < payload->offset + payload->size &&
          map->units[k].offset + map->units[k].size > payload->offset)
        g_assert_cmpuint(map->units[k].precinct, ==, payload->header.precinct);
  }
  g_assert_cmpuint(marks, ==, map->order ? firsts : 0);
}

static void test_payloads(gconstpointer data)
{
  static const uint32_t sizes[] = {1, 7, 60, 548, 1372, 8972};
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kRtpPayloads payloads = {0};
  GBytes *bytes = encode(data, NULL);
  Cj2kRtpMap map = locate(locator, bytes);
  g_assert_cmpuint(!map.order, ==, strstr(data, "tile-width") != NULL);
  for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
    cj2k_rtp_packetise(&map, sizes[i], &payloads);
    check_payloads(&map, &payloads, sizes[i]);
    check_marks(&map, &payloads);
  }
  cj2k_rtp_payloads_clear(&payloads);
  cj2k_rtp_locator_free(locator);
  g_bytes_unref(bytes);
}

/* The signature for R covers all marker segments except SOT, COM and pointers such as TLM and PLT.
 */
static void test_signature(void)
{
  GBytes *plain = encode("tlm=true plt=true", NULL), *other = encode("num-resolutions=4", NULL);
  GBytes *bare = encode("", NULL);
  GByteArray *a = g_byte_array_new(), *b = g_byte_array_new(), *c = g_byte_array_new();
  gsize size;
  const uint8_t *data = g_bytes_get_data(plain, &size);
  g_assert_true(cj2k_rtp_header_signature(data, size, a));
  g_assert_false(cj2k_rtp_header_signature(data, 60, c));
  g_byte_array_set_size(c, 0);
  data = g_bytes_get_data(bare, &size);
  g_assert_true(cj2k_rtp_header_signature(data, size, b));
  data = g_bytes_get_data(other, &size);
  g_assert_true(cj2k_rtp_header_signature(data, size, c));
  g_assert_cmpmem(a->data, a->len, b->data, b->len);
  g_assert_false(a->len == c->len && !memcmp(a->data, c->data, a->len));
  g_byte_array_unref(a);
  g_byte_array_unref(b);
  g_byte_array_unref(c);
  g_bytes_unref(plain);
  g_bytes_unref(other);
  g_bytes_unref(bare);
}

int main(int argc, char **argv)
{
  static const char *const streams[] = {
      "block-coder=ht",
      "block-coder=ht progression-order=rpcl precincts=32x32",
      "block-coder=mq progression-order=pcrl precincts=64x64,32x32 num-layers=3 sop=true eph=true",
      "block-coder=mq progression-order=lrcp num-layers=4 precincts=64x64",
      "block-coder=ht progression-order=cprl tile-parts=component",
      "block-coder=ht progression-order=rlcp tile-width=64 tile-height=64 tile-parts=resolution",
      "block-coder=mq num-resolutions=10",
  };
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rtp/header", test_header);
  g_test_add_func("/rtp/header-read", test_header_read);
  g_test_add_func("/rtp/resolution", test_resolution);
  g_test_add_func("/rtp/wrong-plt", test_wrong_plt);
  g_test_add_func("/rtp/signature", test_signature);
  g_test_add_func("/rtp/large-headers", test_large_headers);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
    gchar *name = g_strdup_printf("/rtp/plt/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_plt);
    g_free(name);
    name = g_strdup_printf("/rtp/payloads/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_payloads);
    g_free(name);
  }
  return g_test_run();
}
