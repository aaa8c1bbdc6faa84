/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests codestreams of which packets are missing: the decoder resynchronises by SOP, and its output
 * is the same as with empty packets in place of the missing ones. */
#include "common/codestream/markers.h"
#include "common/rtp/locate.h"
#include "damaged-streams.h"
#include "encoder-pictures.h"

enum { KEEP, DROP, CUT };

/* Smallest size in bytes of a packet that is cut, so that the cut leaves its SOP whole. */
#define MIN_CUT 42

typedef struct {
  GBytes *bytes; /* intact */
  Cj2kRtpLocator *locator;
  Cj2kRtpMap map;
  uint8_t *fate; /* KEEP, DROP or CUT for each packet */
} Stream;

static Stream encode(const char *options)
{
  static const uint8_t ones[3] = {1, 1, 1};
  Stream stream = {.locator = cj2k_rtp_locator_new()};
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  TestPicture picture;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_picture_init(&picture, SCENE_NATURAL, 203, 150, 3, 8, false, ones, ones, 0, 0);
  stream.bytes = test_encode(&params, &picture, &error);
  g_assert_nonnull(stream.bytes);
  test_picture_clear(&picture);
  gsize size;
  const uint8_t *data = g_bytes_get_data(stream.bytes, &size);
  g_assert_cmpint(cj2k_rtp_locate(stream.locator, data, size, &stream.map, &error), ==, CJ2K_OK);
  stream.fate = g_new0(uint8_t, stream.map.num_units);
  return stream;
}

static void stream_clear(Stream *stream)
{
  g_bytes_unref(stream->bytes);
  cj2k_rtp_locator_free(stream->locator);
  g_free(stream->fate);
}

/* Begins a codestream with the stream's headers up to SOD; Psot = 0 lets its only tile-part extend
 * to EOC. */
static GByteArray *begin(const Stream *stream)
{
  GByteArray *out = g_byte_array_new();
  g_byte_array_append(out, g_bytes_get_data(stream->bytes, NULL), (guint)stream->map.header_bytes);
  guint sot = out->len - 14;
  g_assert_cmpuint(cj2k_get16(out->data + sot), ==, CJ2K_SOT);
  memset(out->data + sot + 6, 0, 4);
  return out;
}

static void end(GByteArray *out)
{
  g_byte_array_append(out, (const uint8_t[]){0xff, 0xd9}, 2);
}

/* The codestream with the damage that `fate` tells: packets to drop are left out, and packets to
 * cut lack a third of their bytes in the middle. */
static GByteArray *damage(const Stream *stream)
{
  const uint8_t *data = g_bytes_get_data(stream->bytes, NULL);
  GByteArray *out = begin(stream);
  for (uint32_t i = 0; i < stream->map.num_units; i++) {
    const Cj2kRtpUnit *unit = &stream->map.units[i];
    uint32_t hole = stream->fate[i] == CUT ? unit->size / 3 : 0;
    if (stream->fate[i] == DROP)
      continue;
    g_byte_array_append(out, data + unit->offset, unit->size / 2 - hole);
    g_byte_array_append(out, data + unit->offset + unit->size / 2, unit->size - unit->size / 2);
  }
  end(out);
  return out;
}

/* The codestream with empty packets in place of those that are dropped or cut, and of later packets
 * of their precincts. *packets is the number of empty packets. */
static GByteArray *fill(const Stream *stream, bool eph, uint64_t *packets)
{
  const uint8_t *data = g_bytes_get_data(stream->bytes, NULL);
  GHashTable *dead = g_hash_table_new(NULL, NULL);
  GByteArray *out = begin(stream);
  *packets = 0;
  for (uint32_t i = 0; i < stream->map.num_units; i++) {
    const Cj2kRtpUnit *unit = &stream->map.units[i];
    gpointer precinct = GUINT_TO_POINTER(unit->precinct + 1);
    if (stream->fate[i] == KEEP && !g_hash_table_contains(dead, precinct)) {
      g_byte_array_append(out, data + unit->offset, unit->size);
      continue;
    }
    const uint8_t empty[9] = {0xff, 0x91, 0, 4, (uint8_t)(i >> 8), (uint8_t)i, 0, 0xff, 0x92};
    g_byte_array_append(out, empty, eph ? 9 : 7);
    g_hash_table_add(dead, precinct);
    (*packets)++;
  }
  end(out);
  g_hash_table_unref(dead);
  return out;
}

/* The damaged codestream and the one with empty packets decode to the same samples; the damaged one
 * is flagged, and is an error in strict mode. */
static void check(const Stream *stream, bool eph)
{
  uint64_t packets;
  GByteArray *damaged = damage(stream), *filled = fill(stream, eph, &packets);
  Cj2kFrame a, b;
  Cj2kDecoder *first = test_decode_damaged(damaged, false, &a),
              *second = test_decode_damaged(filled, true, &b);
  Cj2kStats stats;
  g_assert_cmpint(a.status, ==, CJ2K_OK);
  g_assert_cmpint(b.status, ==, CJ2K_OK);
  test_assert_same_samples(&a, &b);
  g_assert_true(a.truncated);
  g_assert_cmpuint(a.concealed_packets, ==, packets);
  g_assert_cmpuint(a.concealed_blocks, >, 0);
  g_assert_false(b.truncated);
  g_assert_cmpuint(b.concealed_packets, ==, 0);
  cj2k_decoder_get_stats(first, &stats);
  g_assert_cmpuint(stats.concealed_frames, ==, 1);
  g_assert_cmpuint(stats.concealed_packets, ==, packets);
  g_assert_cmpuint(stats.concealed_blocks, ==, a.concealed_blocks);
  cj2k_decoder_release(first, &a);
  cj2k_decoder_release(second, &b);
  cj2k_decoder_close(first);
  cj2k_decoder_close(second);
  first = test_decode_damaged(damaged, true, &a);
  g_assert_cmpint(a.status, ==, CJ2K_ERROR_CODESTREAM);
  cj2k_decoder_release(first, &a);
  cj2k_decoder_close(first);
  g_byte_array_unref(damaged);
  g_byte_array_unref(filled);
}

static void test_single(gconstpointer options)
{
  Stream stream = encode(options);
  /* The last packet is not tested: without it the codestream only ends early. */
  for (uint32_t i = 0; i + 1 < stream.map.num_units; i++) {
    for (int fate = DROP; fate <= CUT; fate++) {
      if (fate == CUT && stream.map.units[i].size < MIN_CUT)
        continue;
      stream.fate[i] = (uint8_t)fate;
      check(&stream, strstr(options, "eph") != NULL);
    }
    stream.fate[i] = KEEP;
  }
  stream_clear(&stream);
}

static void test_many(gconstpointer options)
{
  Stream stream = encode(options);
  GRand *rand = g_rand_new_with_seed(3);
  for (int round = 0; round < 60; round++) {
    bool any = false;
    for (uint32_t i = 0; i + 1 < stream.map.num_units; i++) {
      int fate = g_rand_int_range(rand, 0, 12);
      stream.fate[i] =
          (uint8_t)(fate > CUT || (fate == CUT && stream.map.units[i].size < MIN_CUT) ? KEEP
                                                                                      : fate);
      any |= stream.fate[i] != KEEP;
    }
    if (any)
      check(&stream, strstr(options, "eph") != NULL);
  }
  g_rand_free(rand);
  stream_clear(&stream);
}

/* A complete codestream decodes without concealment even if all its Nsop are 0, or only some
 * packets have SOP. */
static void test_unusual_sop(void)
{
  Stream stream = encode("sop=true precincts=64x64 block-coder=ht");
  const uint8_t *data = g_bytes_get_data(stream.bytes, NULL);
  for (int kind = 0; kind < 2; kind++) {
    GByteArray *out = begin(&stream);
    for (uint32_t i = 0; i < stream.map.num_units; i++) {
      const Cj2kRtpUnit *unit = &stream.map.units[i];
      guint at = out->len, skip = kind == 1 && i % 5 ? 6 : 0;
      g_byte_array_append(out, data + unit->offset + skip, unit->size - skip);
      if (kind == 0)
        out->data[at + 4] = out->data[at + 5] = 0;
    }
    end(out);
    Cj2kFrame frame;
    Cj2kDecoder *decoder = test_decode_damaged(out, true, &frame);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    g_assert_false(frame.truncated);
    g_assert_cmpuint(frame.concealed_packets, ==, 0);
    cj2k_decoder_release(decoder, &frame);
    cj2k_decoder_close(decoder);
    g_byte_array_unref(out);
  }
  stream_clear(&stream);
}

/* A header that announces more packets than can be examined one by one does not stall the decoder.
 */
static void test_many_announced(void)
{
  Stream stream = encode("sop=true num-layers=4 precincts=32x32");
  GByteArray *out = begin(&stream);
  const Cj2kRtpUnit *unit = &stream.map.units[0];
  for (guint i = 2; i + 14 < out->len; i++)
    if (cj2k_get16(out->data + i) == CJ2K_COD)
      out->data[i + 6] = out->data[i + 7] = 0xff; /* layers */
  for (guint i = 0; i < 4000; i++) {              /* SOP whose numbers are far apart */
    guint at = out->len;
    g_byte_array_append(out, (const uint8_t *)g_bytes_get_data(stream.bytes, NULL) + unit->offset,
                        7);
    out->data[at + 4] = (uint8_t)(i * 60000 >> 8);
  }
  end(out);
  Cj2kFrame frame;
  Cj2kDecoder *decoder = test_decode_damaged(out, false, &frame);
  g_assert_true(frame.status != CJ2K_OK || frame.concealed_packets > 1000000);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
  g_byte_array_unref(out);
  stream_clear(&stream);
}

int main(int argc, char **argv)
{
  static const char *const streams[] = {
      "sop=true precincts=64x64 block-coder=ht progression-order=rpcl",
      "sop=true eph=true precincts=64x64 block-coder=mq progression-order=pcrl",
      "sop=true precincts=64x64 block-coder=mq num-layers=3 progression-order=lrcp",
      "sop=true eph=true precincts=128x128 block-coder=ht progression-order=cprl",
  };
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
    gchar *name = g_strdup_printf("/resync/single/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_single);
    g_free(name);
    name = g_strdup_printf("/resync/many/%s", streams[i]);
    g_test_add_data_func(name, streams[i], test_many);
    g_free(name);
  }
  g_test_add_func("/resync/unusual-sop", test_unusual_sop);
  g_test_add_func("/resync/many-announced", test_many_announced);
  return g_test_run();
}
