/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests codestreams with packed packet headers (PPM, PPT) of which bytes of packet bodies are
 * missing: what the RTP receiver makes of them, and what the decoder does. Intact ones that have
 * SOP before some packets only are not taken for such. */
#include "damaged-streams.h"
#include "rtp-sender.h"
#include "tests/support/pack-headers.h"

/* A codestream, and the same with packed packet headers. */
typedef struct {
  Sender plain, packed;
  Cj2kRtpLocator *locator;
  Cj2kRtpMap map;   /* of the plain one */
  uint64_t *places; /* of the packets in the packed one: begin and end of each, with SOP */
  uint64_t bodies;  /* where its first tile-part's data begins */
  GArray *headers;  /* Cj2kSpan: tile-part headers of the packed one */
  bool sop, eph;
} Stream;

/* Where packets lie: those of a tile-part follow one another. */
static void find_places(Stream *stream, const GArray *packets)
{
  Cj2kHeaderReader *readers[2] = {cj2k_header_reader_new(), cj2k_header_reader_new()};
  const Sender *senders[2] = {&stream->plain, &stream->packed};
  Cj2kTileParts parts[2] = {0};
  Cj2kHeader *header;
  Cj2kError error = {0};
  bool same;
  for (int i = 0; i < 2; i++)
    g_assert_cmpint(cj2k_header_read(readers[i], senders[i]->data, senders[i]->size, true, 0,
                                     &header, &same, &parts[i], &error),
                    ==, CJ2K_OK);
  g_assert_cmpuint(parts[0].num_tile_parts, ==, parts[1].num_tile_parts);
  g_assert_cmpuint(packets->len, ==, stream->map.num_units);
  stream->bodies = parts[1].tile_parts[0].data.offset;
  stream->places = g_new0(uint64_t, 2 * packets->len);
  for (uint32_t i = 0, part = 0, at = 0; i < packets->len; i++) {
    const Cj2kRtpUnit *unit = &stream->map.units[i];
    while (unit->offset >=
           parts[0].tile_parts[part].data.offset + parts[0].tile_parts[part].data.size)
      part++;
    if (unit->offset == parts[0].tile_parts[part].data.offset)
      at = (uint32_t)parts[1].tile_parts[part].data.offset;
    stream->places[2 * i] = at;
    at += unit->header + (uint32_t)g_array_index(packets, PackedPacket, i).body_bytes;
    stream->places[2 * i + 1] = at;
  }
  stream->headers = g_array_new(FALSE, FALSE, sizeof(Cj2kSpan));
  for (uint32_t part = 1; part < parts[1].num_tile_parts; part++) {
    const Cj2kSpan *before = &parts[1].tile_parts[part - 1].data;
    uint64_t begin = before->offset + before->size;
    Cj2kSpan span = {begin, parts[1].tile_parts[part].data.offset - begin};
    g_array_append_val(stream->headers, span);
  }
  for (int i = 0; i < 2; i++) {
    cj2k_header_reader_free(readers[i]);
    cj2k_tile_parts_clear(&parts[i]);
  }
}

static Stream stream_new(const char *options, uint16_t marker, uint32_t max_size)
{
  gchar *all = g_strconcat("rate-control=lossless ", options, NULL);
  Stream stream = {.plain = sender_new(all, max_size), .locator = cj2k_rtp_locator_new()};
  GArray *packets = g_array_new(FALSE, FALSE, sizeof(PackedPacket));
  Cj2kError error = {0};
  stream.sop = strstr(options, "sop=true");
  stream.eph = strstr(options, "eph=true");
  stream.packed = sender_of_bytes(
      pack_headers(stream.plain.data, stream.plain.size, marker, packets), max_size);
  g_assert_cmpint(
      cj2k_rtp_locate(stream.locator, stream.plain.data, stream.plain.size, &stream.map, &error),
      ==, CJ2K_OK);
  find_places(&stream, packets);
  g_array_unref(packets);
  g_free(all);
  return stream;
}

static void stream_clear(Stream *stream)
{
  sender_clear(&stream->plain);
  sender_clear(&stream->packed);
  cj2k_rtp_locator_free(stream->locator);
  g_free(stream->places);
  g_array_unref(stream->headers);
}

/* ---------------------------------------------------------------------------- expectation --- */

/* Appends an empty packet. */
static void put_empty(const Stream *stream, GByteArray *out, uint32_t nsop)
{
  const uint8_t sop[] = {0xff, 0x91, 0, 4, (uint8_t)(nsop >> 8), (uint8_t)nsop};
  if (stream->sop)
    g_byte_array_append(out, sop, sizeof sop);
  g_byte_array_append(out, (const uint8_t[]){0, 0xff, 0x92}, stream->eph ? 3 : 1);
}

/* Whether packet i is there. One without body bytes is, if the bytes beside it are. */
static bool is_known(const Stream *stream, const uint8_t *known, uint32_t i)
{
  uint64_t begin = stream->places[2 * i], end = stream->places[2 * i + 1];
  if (begin == end)
    return known[begin] || (begin > stream->bodies && known[begin - 1]);
  for (uint64_t at = begin; at < end; at++)
    if (!known[at])
      return false;
  return true;
}

/* The plain codestream, of a single tile-part, with empty packets in place of those that are not
 * known, and later ones of their precincts. */
static GByteArray *expect(const Stream *stream, const uint8_t *known, uint32_t *empty)
{
  GHashTable *dead = g_hash_table_new(NULL, NULL);
  GByteArray *out = g_byte_array_new();
  guint sot = (guint)stream->map.header_bytes - 14;
  *empty = 0;
  g_byte_array_append(out, stream->plain.data, sot + 14);
  for (uint32_t i = 0; i < stream->map.num_units; i++) {
    const Cj2kRtpUnit *unit = &stream->map.units[i];
    gpointer precinct = GUINT_TO_POINTER(unit->precinct + 1);
    if (is_known(stream, known, i) && !g_hash_table_contains(dead, precinct)) {
      g_byte_array_append(out, stream->plain.data + unit->offset, unit->size);
      continue;
    }
    put_empty(stream, out, i);
    g_hash_table_add(dead, precinct);
    ++*empty;
  }
  for (guint i = 0; i < 4; i++)
    out->data[sot + 6 + i] = (uint8_t)((out->len - sot) >> (24 - 8 * i));
  g_byte_array_append(out, (const uint8_t[]){0xff, 0xd9}, 2);
  g_hash_table_unref(dead);
  return out;
}

/* What is known with these payloads lost. Between two gaps that is so if SOP tells it, or if the
 * last payload has arrived, so that the lost ones are known to be of full size. */
static uint8_t *known_bytes(const Stream *stream, const uint8_t *lost)
{
  const Cj2kRtpPayloads *payloads = &stream->packed.payloads;
  uint8_t *known = g_malloc0(stream->packed.size);
  bool gap = false, ends = !lost[payloads->count - 1];
  for (uint32_t i = 0; i < payloads->count; i++) {
    gap |= lost[i] != 0;
    if (!lost[i] && (!gap || ends || stream->sop))
      memset(known + payloads->payloads[i].offset, 1, payloads->payloads[i].size);
  }
  return known;
}

/* ------------------------------------------------------------------------------------ RTP --- */

static Cj2kRtpReceiver *receive(const Stream *stream, const uint8_t *lost)
{
  Cj2kRtpReceiverParams params = {.window = 32, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  for (uint32_t i = 0; i < stream->packed.payloads.count; i++)
    if (!lost[i])
      sender_push(&stream->packed, receiver, i, 100, 1, true);
  cj2k_rtp_receiver_end(receiver);
  return receiver;
}

static void check_losses(const Stream *stream, const uint8_t *lost)
{
  Cj2kRtpReceiver *receiver = receive(stream, lost);
  Cj2kRtpCodestream codestream;
  Cj2kRtpStats stats;
  uint32_t empty;
  uint8_t *known = known_bytes(stream, lost);
  GByteArray *expected = expect(stream, known, &empty);
  g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
  g_assert_true(codestream.repaired);
  g_assert_cmpmem(codestream.data, codestream.size, expected->data, expected->len);
  cj2k_rtp_receiver_stats(receiver, &stats);
  g_assert_cmpuint(stats.repaired, ==, 1);
  g_assert_cmpuint(stats.filled, ==, empty);
  g_assert_cmpuint(stats.received, ==, stats.used + stats.unused);
  g_free(codestream.data);
  g_free(known);
  g_byte_array_unref(expected);
  cj2k_rtp_receiver_free(receiver);
}

/* The first payload with packets. */
static uint32_t first_body(const Stream *stream)
{
  uint32_t i = 0;
  while (stream->packed.payloads.payloads[i].offset < stream->bodies)
    i++;
  return i;
}

static void test_losses(gconstpointer options, uint16_t marker)
{
  Stream stream = stream_new(options, marker, 100);
  uint32_t count = stream.packed.payloads.count, first = first_body(&stream);
  uint8_t *lost = g_malloc0(count);
  GRand *rand = g_rand_new_with_seed(5);
  g_assert_cmpuint(count, >, first + 20);
  for (uint32_t i = first; i < count; i++) {
    lost[i] = 1; /* each alone */
    check_losses(&stream, lost);
    lost[i] = 0;
  }
  for (uint32_t round = 0; round < 200; round++) {
    uint32_t losses = 2 + round % 5;
    memset(lost, 0, count);
    for (uint32_t i = 0; i < losses; i++)
      lost[g_rand_int_range(rand, (gint32)first, (gint32)count)] = 1;
    check_losses(&stream, lost);
  }
  memset(lost + first, 1, count - first);
  check_losses(&stream, lost);
  g_rand_free(rand);
  g_free(lost);
  stream_clear(&stream);
}

static void test_losses_ppm(gconstpointer options)
{
  test_losses(options, CJ2K_PPM);
}

static void test_losses_ppt(gconstpointer options)
{
  test_losses(options, CJ2K_PPT);
}

/* Reads a codestream strictly. */
static void assert_legal(const uint8_t *data, size_t size)
{
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kError error = {0};
  Cj2kRtpMap map;
  g_assert_cmpint(cj2k_rtp_locate(locator, data, size, &map, &error), ==, CJ2K_OK);
  g_assert_cmpuint(map.num_units, >, 0);
  cj2k_rtp_locator_free(locator);
}

static bool has_header(const Stream *stream, const Cj2kRtpPayload *payload)
{
  for (guint i = 0; i < stream->headers->len; i++) {
    const Cj2kSpan *span = &g_array_index(stream->headers, Cj2kSpan, i);
    if (span->offset < payload->offset + payload->size &&
        payload->offset < span->offset + span->size)
      return true;
  }
  return false;
}

/* Several tiles: a loss costs packets of its tile only. Without the header of a tile the others
 * remain; those in PPM come in the order of tile-parts, which is then not known, and the frame is
 * lost. */
static void test_tiles(gconstpointer data)
{
  uint16_t marker = (uint16_t)GPOINTER_TO_UINT(data);
  Stream stream = stream_new("block-coder=ht tile-width=48 tile-height=40", marker, 100);
  uint32_t count = stream.packed.payloads.count, repaired = 0;
  uint8_t *lost = g_malloc0(count);
  for (uint32_t i = first_body(&stream); i < count; i++) {
    const Cj2kRtpPayload *payload = &stream.packed.payloads.payloads[i];
    bool header = has_header(&stream, payload);
    Cj2kRtpCodestream codestream;
    Cj2kRtpStats stats;
    lost[i] = 1;
    Cj2kRtpReceiver *receiver = receive(&stream, lost);
    bool good = cj2k_rtp_receiver_pull(receiver, &codestream);
    cj2k_rtp_receiver_stats(receiver, &stats);
    g_assert_cmpint(good, ==, marker == CJ2K_PPT || !header);
    g_assert_cmpuint(stats.failed, ==, !good);
    lost[i] = 0;
    uint32_t missing = 0;
    for (uint32_t k = 0; k < stream.map.num_units; k++)
      missing += stream.places[2 * k] < payload->offset + payload->size &&
                 stream.places[2 * k + 1] > payload->offset;
    if (good && !header)
      g_assert_cmpuint(stats.filled, ==, missing);
    if (good) {
      assert_legal(codestream.data, codestream.size);
      g_free(codestream.data);
    }
    repaired += good;
    cj2k_rtp_receiver_free(receiver);
  }
  g_assert_cmpuint(repaired, >, 10);
  g_free(lost);
  stream_clear(&stream);
}

/* -------------------------------------------------------------------------------- decoder --- */

/* The packed codestream without the bytes from `begin` to `end` decodes to the same samples as the
 * plain one with empty packets. */
static void check_decoded(const Stream *stream, uint64_t begin, uint64_t end, const uint8_t *known)
{
  GByteArray *damaged = g_byte_array_new();
  uint32_t empty;
  Cj2kFrame a, b;
  g_byte_array_append(damaged, stream->packed.data, (guint)begin);
  g_byte_array_append(damaged, stream->packed.data + end, (guint)(stream->packed.size - end));
  GByteArray *expected = expect(stream, known, &empty);
  Cj2kDecoder *first = test_decode_damaged(damaged, false, &a),
              *second = test_decode_damaged(expected, true, &b);
  Cj2kStats stats;
  g_assert_cmpint(a.status, ==, CJ2K_OK);
  g_assert_cmpint(b.status, ==, CJ2K_OK);
  test_assert_same_samples(&a, &b);
  g_assert_true(a.truncated);
  g_assert_cmpuint(a.concealed_packets, ==, empty);
  cj2k_decoder_get_stats(first, &stats);
  g_assert_cmpuint(stats.concealed_frames, ==, 1);
  g_assert_cmpuint(stats.concealed_packets, ==, empty);
  cj2k_decoder_release(first, &a);
  cj2k_decoder_release(second, &b);
  cj2k_decoder_close(first);
  cj2k_decoder_close(second);
  first = test_decode_damaged(damaged, true, &a);
  g_assert_cmpint(a.status, ==, CJ2K_ERROR_CODESTREAM);
  cj2k_decoder_release(first, &a);
  cj2k_decoder_close(first);
  g_byte_array_unref(damaged);
  g_byte_array_unref(expected);
}

/* Whether a hole that begins or ends here cuts an SOP, or lies between two packets. */
static bool cuts_sop(const Stream *stream, uint64_t at)
{
  for (uint32_t i = 0; stream->sop && i < stream->map.num_units; i++)
    if (at >= stream->places[2 * i] && at < stream->places[2 * i] + 6)
      return true;
  return false;
}

/* Whether the rest of a packet behind a hole just replaces what is missing of the one in front. */
static bool closes(const Stream *stream, uint64_t begin, uint64_t end)
{
  uint64_t left = 0, right = 0;
  for (uint32_t i = 0; i < stream->map.num_units; i++) {
    if (begin > stream->places[2 * i] && begin < stream->places[2 * i + 1])
      left = stream->places[2 * i + 1] - begin;
    if (end > stream->places[2 * i] && end < stream->places[2 * i + 1])
      right = stream->places[2 * i + 1] - end;
  }
  return left == right;
}

/* Bytes are missing inside the tile-part. With SOP the packets that have them are; without, it is
 * not known which bytes belong to which packet. */
static void test_hole(gconstpointer options)
{
  for (int kind = 0; kind < 2; kind++) {
    Stream stream = stream_new(options, kind ? CJ2K_PPT : CJ2K_PPM, 100);
    uint64_t data_end = stream.places[2 * stream.map.num_units - 1];
    uint8_t *known = g_malloc0(stream.packed.size);
    uint32_t holes = 0;
    for (uint64_t begin = stream.bodies + 7; begin + 130 < data_end; begin += 211) {
      if (cuts_sop(&stream, begin) || cuts_sop(&stream, begin + 120) ||
          closes(&stream, begin, begin + 120))
        continue;
      /* The packet in front of the hole is followed by the rest of another. */
      memset(known, stream.sop, stream.packed.size);
      memset(known + begin - 1, 0, 121);
      holes++;
      check_decoded(&stream, begin, begin + 120, known);
    }
    g_assert_cmpuint(holes, >, 4);
    g_free(known);
    stream_clear(&stream);
  }
}

/* Bytes are missing at the end: the packets in front of them are all there. */
static void test_cut(gconstpointer options)
{
  Stream stream = stream_new(options, CJ2K_PPM, 100);
  uint8_t *known = g_malloc0(stream.packed.size);
  for (uint32_t i = 0; i < stream.map.num_units; i += 1 + i / 4) {
    uint64_t end = stream.places[2 * i];
    memset(known, 0, stream.packed.size);
    memset(known, 1, end);
    check_decoded(&stream, end, stream.packed.size, known);
  }
  g_free(known);
  stream_clear(&stream);
}

/* ------------------------------------------------------------------------- SOP of some packets ---
 */

/* The packed codestream without the SOP of the packets in `drop`. */
static GByteArray *without_sop(const Stream *stream, const uint8_t *drop)
{
  const uint8_t *data = stream->packed.data;
  GByteArray *out = g_byte_array_new();
  uint64_t at = stream->bodies;
  guint sot = 2;
  while (cj2k_get16(data + sot) != CJ2K_SOT)
    sot += 2u + cj2k_get16(data + sot + 2);
  g_byte_array_append(out, data, (guint)at);
  for (uint32_t i = 0; i < stream->map.num_units; i++) {
    uint64_t begin = stream->places[2 * i], end = stream->places[2 * i + 1];
    if (at < begin) /* the header of a tile-part lies between two packets */
      sot = out->len;
    g_byte_array_append(out, data + at, (guint)(begin - at));
    if (drop[i]) {
      begin += 6;
      uint32_t psot = cj2k_get32(out->data + sot + 6) - 6;
      for (guint k = 0; k < 4; k++)
        out->data[sot + 6 + k] = (uint8_t)(psot >> (24 - 8 * k));
    }
    g_byte_array_append(out, data + begin, (guint)(end - begin));
    at = end;
  }
  g_byte_array_append(out, data + at, (guint)(stream->packed.size - at));
  return out;
}

/* The codestream is intact, and has the samples of the plain one. */
static void check_intact(const Stream *stream, const GByteArray *bytes)
{
  GByteArray *plain = g_byte_array_new();
  Cj2kFrame a, b;
  g_byte_array_append(plain, stream->plain.data, (guint)stream->plain.size);
  Cj2kDecoder *first = test_decode_damaged(bytes, true, &a),
              *second = test_decode_damaged(plain, true, &b);
  g_assert_cmpint(a.status, ==, CJ2K_OK);
  g_assert_cmpint(b.status, ==, CJ2K_OK);
  test_assert_same_samples(&a, &b);
  cj2k_decoder_release(first, &a);
  cj2k_decoder_release(second, &b);
  cj2k_decoder_close(first);
  cj2k_decoder_close(second);
  g_byte_array_unref(plain);
}

/* SOP may precede any packet (A.8.1), so that others have none. A packet without a body and without
 * SOP is followed by the SOP of a later one. */
static void test_some_sop(gconstpointer options)
{
  GRand *rand = g_rand_new_with_seed(7);
  for (int kind = 0; kind < 2; kind++) {
    Stream stream = stream_new(options, kind ? CJ2K_PPT : CJ2K_PPM, 100);
    uint32_t count = (uint32_t)stream.map.num_units, empty = 0;
    uint8_t *drop = g_malloc0(count);
    for (uint32_t round = 0; round < 40; round++) {
      double part = g_rand_double(rand);
      for (uint32_t i = 0; i < count; i++)
        drop[i] = g_rand_double(rand) < part;
      GByteArray *bytes = without_sop(&stream, drop);
      check_intact(&stream, bytes);
      g_byte_array_unref(bytes);
    }
    for (uint32_t i = 0; i < count; i++)
      empty += stream.places[2 * i + 1] - stream.places[2 * i] == 6;
    g_assert_cmpuint(empty, >, 10);
    g_free(drop);
    stream_clear(&stream);
  }
  g_rand_free(rand);
}

/* Writers whose numbers do not begin with 0 in a tile, or are always the same. */
static void test_other_numbers(gconstpointer options)
{
  static const struct {
    uint16_t first, step;
  } numbers[] = {{1, 1}, {7, 1}, {65000, 1}, {0, 0}, {9, 0}};
  Stream stream = stream_new(options, CJ2K_PPM, 100);
  uint8_t *drop = g_malloc0(stream.map.num_units);
  for (uint32_t n = 0; n < G_N_ELEMENTS(numbers); n++) {
    for (uint32_t i = 0; i < stream.map.num_units; i++) {
      uint32_t number = numbers[n].first + i * numbers[n].step;
      stream.packed.data[stream.places[2 * i] + 4] = (uint8_t)(number >> 8);
      stream.packed.data[stream.places[2 * i] + 5] = (uint8_t)number;
    }
    GByteArray *bytes = without_sop(&stream, drop);
    check_intact(&stream, bytes);
    g_byte_array_unref(bytes);
  }
  g_free(drop);
  stream_clear(&stream);
}

int main(int argc, char **argv)
{
  static const char *const streams[] = {
      "block-coder=ht",
      "block-coder=ht precincts=32x32 progression-order=rpcl eph=true",
      "block-coder=mq num-layers=3 precincts=64x64,32x32",
      "block-coder=mq num-layers=3 precincts=64x64,32x32 progression-order=pcrl sop=true",
      "block-coder=ht precincts=32x32 sop=true eph=true",
  };
  /* Many packets have no body: those of a layer that no code-block has passes in. */
  static const char *const some_sop[] = {
      "block-coder=mq num-layers=20 precincts=64x64,32x32 sop=true",
      "block-coder=mq num-layers=20 precincts=64x64,32x32 sop=true eph=true "
      "progression-order=rlcp tile-parts=resolution",
  };
  g_test_init(&argc, &argv, NULL);
  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++) {
    const struct {
      const char *name;
      GTestDataFunc function;
    } tests[] = {{"rtp-ppm", test_losses_ppm},
                 {"rtp-ppt", test_losses_ppt},
                 {"hole", test_hole},
                 {"cut", test_cut}};
    for (uint32_t k = 0; k < G_N_ELEMENTS(tests); k++) {
      gchar *path = g_strdup_printf("/packed-losses/%s/%s", tests[k].name, streams[i]);
      g_test_add_data_func(path, streams[i], tests[k].function);
      g_free(path);
    }
  }
  for (uint32_t i = 0; i < G_N_ELEMENTS(some_sop); i++) {
    gchar *path = g_strdup_printf("/packed-losses/some-sop/%s", some_sop[i]);
    g_test_add_data_func(path, some_sop[i], test_some_sop);
    g_free(path);
    path = g_strdup_printf("/packed-losses/other-numbers/%s", some_sop[i]);
    g_test_add_data_func(path, some_sop[i], test_other_numbers);
    g_free(path);
  }
  g_test_add_data_func("/packed-losses/tiles/ppm", GUINT_TO_POINTER(CJ2K_PPM), test_tiles);
  g_test_add_data_func("/packed-losses/tiles/ppt", GUINT_TO_POINTER(CJ2K_PPT), test_tiles);
  return g_test_run();
}
