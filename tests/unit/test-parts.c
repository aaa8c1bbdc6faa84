/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Codestreams in parts. However their bytes are cut, decoding in parts gives what decoding as a
 * whole gives: samples, status, reason and counts, of intact and of damaged ones. Rows that are
 * reported have their final samples, unless damage shows later. Whole frames are decoded by the
 * CPU.
 *
 * test-parts [--backend cuda] [GLib's options].
 */
#include "effort.h"
#include "encoder-pictures.h"
#include "tests/support/few-parts.h"

#include <stdlib.h>

static Cj2kBackendKind tested;

typedef struct {
  const char *name, *encode, *decode;
  uint32_t width, height, components, x0, y0;
  bool halved;   /* components 1 and 2 are sub-sampled */
  bool in_order; /* rows come long before the end */
} Case;

static const Case cases[] = {
    {"pcrl-ht",
     "block-coder=ht rate-control=qstep quant-step=0.004 progression-order=pcrl num-resolutions=4 precincts=256x32,256x16,256x8 codeblock-width=64 codeblock-height=16",
     "", 133, 150, 3, 0, 0, false, true},
    {"pcrl-420",
     "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=4 precincts=256x32,256x16,256x8 codeblock-width=32 codeblock-height=8",
     "", 121, 141, 3, 0, 0, true, true},
    {"pcrl-mq-offsets",
     "rate-control=lossless progression-order=pcrl num-resolutions=3 precincts=64x32,32x16 codeblock-width=16 codeblock-height=16 image-offset-x=37 image-offset-y=53 sop=true eph=true",
     "", 101, 150, 3, 37, 53, true, true},
    {"pcrl-layers",
     "rate-control=qstep quant-step=0.004 progression-order=pcrl num-layers=4 num-resolutions=3 precincts=128x32,128x16 sop=true",
     "layers=2", 90, 130, 1, 0, 0, false, true},
    {"pcrl-reduce",
     "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=4 precincts=256x32,256x16,256x8 eph=true",
     "reduce=1", 133, 151, 3, 0, 0, true, true},
    {"no-levels",
     "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=1 precincts=128x32 codeblock-width=32 codeblock-height=32",
     "", 70, 120, 3, 0, 0, false, true},
    {"rpcl",
     "block-coder=ht rate-control=lossless progression-order=rpcl num-resolutions=3 precincts=64x32,32x16 plt=true tlm=true",
     "", 100, 90, 3, 0, 0, false, false},
    {"cprl", "rate-control=lossless progression-order=cprl num-resolutions=3 precincts=64x32,32x16",
     "", 100, 90, 3, 0, 0, false, false},
    {"lrcp", "rate-control=qstep quant-step=0.01 progression-order=lrcp num-layers=3", "", 75, 60,
     3, 0, 0, false, false},
    {"rlcp-parts",
     "rate-control=lossless progression-order=rlcp tile-parts=resolution sop=true eph=true", "", 75,
     60, 3, 0, 0, false, false},
    {"tiles",
     "block-coder=ht rate-control=lossless progression-order=pcrl tile-width=40 tile-height=32", "",
     75, 60, 3, 0, 0, false, false},
    {"file", "block-coder=ht rate-control=lossless", "", 40, 33, 3, 0, 0, false, false},
    {"strict",
     "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=3 precincts=64x32,32x16 sop=true",
     "strict=true", 80, 97, 3, 0, 0, false, true},
    {"previous",
     "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=3 precincts=64x32,32x16 sop=true",
     "conceal=previous", 80, 97, 1, 0, 0, false, false},
    {"one-row", "block-coder=ht rate-control=lossless progression-order=pcrl num-resolutions=3", "",
     80, 1, 3, 0, 7, false, false},
    {"one-sample", "rate-control=lossless", "", 1, 1, 1, 0, 0, false, false},
};

static GBytes *encode(const Case *c, Scene scene)
{
  static const uint8_t halves[] = {1, 2, 2};
  Cj2kEncoderParams params;
  TestPicture picture;
  Cj2kError error = {0};

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, c->encode);
  if (g_str_equal(c->name, "file"))
    params.file_format = CJ2K_FILE_JPH;
  test_picture_init(&picture, scene, c->width, c->height, c->components, 10, false,
                    c->halved ? halves : NULL, c->halved ? halves : NULL, c->x0, c->y0);
  GBytes *bytes = test_encode(&params, &picture, &error);
  if (!bytes)
    g_error("%s: %s", c->name, error.text);
  test_picture_clear(&picture);
  return bytes;
}

static Cj2kDecoder *open_decoder(const Case *c, Cj2kBackendKind backend, uint32_t threads)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  gchar **list = g_strsplit(c->decode, " ", -1);

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.num_threads = threads;
  params.frames_in_flight = 2;
  for (int i = 0; list[i] && list[i][0]; i++) {
    gchar **pair = g_strsplit(list[i], "=", 2);
    g_assert_cmpint(cj2k_decoder_params_set(&params, pair[0], pair[1], &error), ==, CJ2K_OK);
    g_strfreev(pair);
  }
  g_strfreev(list);
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  return decoder;
}

/* ----------------------------------------------------------------------------- rows --- */

/* What is known of the rows of a frame while it comes. */
typedef struct {
  const Cj2kFrame *want; /* the same frame, decoded as a whole */
  uint32_t reported;     /* rows so far */
  uint32_t early;        /* the same, before the last part */
  bool at_end;
  bool intact; /* rows never come again */
  bool silent; /* nobody asks for rows */
} Rows;

static uint32_t image_rows(const Cj2kFrame *frame, uint32_t reduce)
{
  uint32_t round = (1u << reduce) - 1;
  return ((frame->image.y1 + round) >> reduce) - ((frame->image.y0 + round) >> reduce);
}

static size_t row_bytes(const Cj2kFrame *frame, uint32_t c)
{
  return (size_t)(frame->image.components[c].x1 - frame->image.components[c].x0) *
         frame->layout.samples[c].word_bytes;
}

/* The rows of all components up to row `end` of the reference grid are those of `want`. */
static void compare_rows(const Cj2kFrame *want, const Cj2kPicture *got, uint32_t top, uint64_t end)
{
  for (uint32_t c = 0; c < want->image.num_components; c++) {
    const Cj2kComponent *component = &want->image.components[c];
    for (uint32_t y = component->y0; y < component->y1 && (uint64_t)y * component->dy < top + end;
         y++) {
      const Cj2kPlane *a = &want->picture.planes[c], *b = &got->planes[c];
      size_t row = y - component->y0, size = row_bytes(want, c);
      if (size)
        g_assert_cmpmem((const uint8_t *)a->data + row * a->pitch, size,
                        (const uint8_t *)b->data + row * b->pitch, size);
    }
  }
}

static void rows_ready(void *user, const Cj2kPicture *picture, uint32_t first, uint32_t end)
{
  Rows *rows = user;
  g_assert_cmpuint(end, >, first);
  if (rows->reported && !first) {
    g_assert_false(rows->intact);
    rows->reported = 0;
  }
  g_assert_cmpuint(first, ==, rows->reported);
  rows->reported = end;
  if (!rows->at_end)
    rows->early = end;
  if (rows->intact && rows->want->status == CJ2K_OK) {
    uint32_t reduce = 0, height = rows->want->image.y1 - rows->want->image.y0;
    const Cj2kComponent *component = &rows->want->image.components[0];
    while (reduce < 8 && (height >> reduce) > component->y1 - component->y0 + 1)
      reduce++;
    uint32_t top = (rows->want->image.y0 + (1u << reduce) - 1) >> reduce;
    compare_rows(rows->want, picture, top, end);
  }
}

/* ----------------------------------------------------------------------- comparisons --- */

static void decode_whole(Cj2kDecoder *decoder, const uint8_t *data, size_t size, Cj2kFrame *frame)
{
  Cj2kError error = {0};
  g_assert_cmpint(cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, frame), ==, CJ2K_OK);
}

/* Decodes in parts of at most `most` bytes; 0: of any size. */
static void decode_parts(Cj2kDecoder *decoder, const uint8_t *data, size_t size, size_t most,
                         GRand *rand, Rows *rows, Cj2kFrame *frame)
{
  Cj2kError error = {0};
  int user;
  g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, &user, rows->silent ? NULL : rows_ready,
                                     rows, &error),
                  ==, CJ2K_OK);
  for (size_t at = 0; at < size;) {
    size_t limit = most ? most : 1 + size / (size_t)g_rand_int_range(rand, 1, 40);
    size_t n = (size_t)g_rand_int_range(rand, 1, (gint32)limit + 1);
    n = MIN(n, size - at);
    uint8_t *copy = g_memdup2(data + at, n); /* reading behind it is an error */
    rows->at_end = at + n == size;
    g_assert_cmpint(cj2k_decoder_append(decoder, copy, n, &error), ==, CJ2K_OK);
    g_free(copy);
    at += n;
  }
  rows->at_end = true;
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, frame), ==, CJ2K_OK);
  g_assert_true(frame->user == &user);
}

static void assert_equal(const Cj2kFrame *want, const Cj2kFrame *got)
{
  g_assert_cmpint(want->status, ==, got->status);
  if (!got->fallback) /* then it says why the chosen back end could not decode it */
    g_assert_cmpstr(want->error.text, ==, got->error.text);
  g_assert_cmpuint(want->corrupt_blocks, ==, got->corrupt_blocks);
  g_assert_cmpint(want->truncated, ==, got->truncated);
  g_assert_cmpuint(want->concealed_packets, ==, got->concealed_packets);
  g_assert_cmpuint(want->concealed_blocks, ==, got->concealed_blocks);
  if (want->status == CJ2K_OK)
    compare_rows(want, &got->picture, 0, UINT32_MAX);
}

/* Decodes the bytes both ways. Returns the rows of the reference grid that came before the end. */
static uint32_t check(Cj2kDecoder *whole, Cj2kDecoder *parts, const uint8_t *data, size_t size,
                      size_t most, GRand *rand, uint32_t reduce, bool intact)
{
  Cj2kFrame want, got;
  decode_whole(whole, data, size, &want);
  Rows rows = {.want = &want, .intact = intact, .silent = !most && g_rand_boolean(rand)};
  decode_parts(parts, data, size, most, rand, &rows, &got);
  assert_equal(&want, &got);
  if (want.status == CJ2K_OK && !rows.silent)
    g_assert_cmpuint(rows.reported, ==, image_rows(&want, reduce));
  if (intact)
    g_assert_false(got.fallback);
  cj2k_decoder_release(whole, &want);
  cj2k_decoder_release(parts, &got);
  return rows.early;
}

static uint32_t reduce_of(const Case *c)
{
  return strstr(c->decode, "reduce=1") ? 1 : 0;
}

/* Frames in turn have one of two pictures, so that rows that are made too early are those of the
 * other one. */
static void test_intact(gconstpointer data)
{
  const Case *c = data;
  GBytes *bytes[] = {encode(c, SCENE_NATURAL), encode(c, SCENE_SINE)};
  GRand *rand = g_rand_new_with_seed(7);
  Cj2kDecoder *whole = open_decoder(c, CJ2K_BACKEND_CPU, 1);

  for (uint32_t threads = 1; threads <= 3; threads++) {
    Cj2kDecoder *parts = open_decoder(c, tested, threads);
    if (threads == 2)
      make_few_parts(parts);
    for (int round = 0; round < 12; round++) {
      gsize size;
      const uint8_t *stream = g_bytes_get_data(bytes[round % 2], &size);
      uint32_t early = check(whole, parts, stream, size,
                             round == 0   ? 1
                             : round == 1 ? 50
                                          : 0,
                             rand, reduce_of(c), true);
      if (threads == 2) /* calls for rows of precincts, of which none have less than 8 rows */
        g_assert_cmpuint(few_parts_calls, <=, c->height / 8 + 2);
      few_parts_calls = 0;
      if (c->in_order && round < 2)
        g_assert_cmpuint(early, >, (c->height >> reduce_of(c)) / 2);
    }
    cj2k_decoder_close(parts);
  }
  cj2k_decoder_close(whole);
  g_rand_free(rand);
  g_bytes_unref(bytes[0]);
  g_bytes_unref(bytes[1]);
}

/* Cuts the end off, takes bytes out, or changes some. */
static GByteArray *damage(const uint8_t *stream, size_t size, int kind, GRand *rand)
{
  GByteArray *bytes = g_byte_array_new();
  g_byte_array_append(bytes, stream, (guint)size);
  guint at = (guint)g_rand_int_range(rand, 0, (gint32)size);
  if (kind == 0) {
    g_byte_array_set_size(bytes, at);
  } else if (kind == 1) {
    guint count = (guint)g_rand_int_range(rand, 1, 200);
    g_byte_array_remove_range(bytes, at, MIN(count, bytes->len - at));
  } else {
    for (int i = 0; i < kind - 1; i++)
      bytes->data[g_rand_int_range(rand, 0, (gint32)size)] ^=
          (guint8)g_rand_int_range(rand, 1, 256);
  }
  return bytes;
}

static void test_damaged(gconstpointer data)
{
  const Case *c = data;
  GBytes *bytes = encode(c, SCENE_NATURAL);
  gsize size;
  const uint8_t *stream = g_bytes_get_data(bytes, &size);
  GRand *rand = g_rand_new_with_seed(11);
  Cj2kDecoder *whole = open_decoder(c, CJ2K_BACKEND_CPU, 1), *parts = open_decoder(c, tested, 2);
  Cj2kDecoder *few = open_decoder(c, tested, 2);
  make_few_parts(few);
  /* What is concealed from the last frame depends on all frames of a decoder. */
  bool previous = strstr(c->decode, "previous") != NULL;
  int rounds = (int)test_effort(30, 60, 3000);

  for (int round = 0; round < rounds; round++) {
    GByteArray *damaged = damage(stream, size, round % 5, rand);
    check(whole, round / 5 % 2 && !previous ? few : parts, damaged->data, damaged->len, 0, rand,
          reduce_of(c), false);
    g_byte_array_unref(damaged);
  }
  cj2k_decoder_close(whole);
  cj2k_decoder_close(parts);
  cj2k_decoder_close(few);
  g_rand_free(rand);
  g_bytes_unref(bytes);
}

/* A picture of the caller's, wrong calls, frames that are dropped, and whole frames in between. */
static void test_calls(void)
{
  const Case *c = &cases[0];
  GBytes *bytes = encode(c, SCENE_NATURAL);
  gsize size;
  const uint8_t *stream = g_bytes_get_data(bytes, &size);
  Cj2kDecoder *decoder = open_decoder(c, tested, 2);
  Cj2kError error;
  Cj2kFrame want, got;

  g_assert_cmpint(cj2k_decoder_append(decoder, stream, 1, &error), ==, CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_ERROR_ARGUMENT);
  cj2k_decoder_drop(decoder);
  decode_whole(decoder, stream, size, &want);
  Cj2kPlane planes[3];
  for (uint32_t i = 0; i < 3; i++) {
    planes[i] = want.picture.planes[i];
    planes[i].data = g_malloc0(planes[i].pitch * c->height);
  }
  Cj2kPicture picture = {.memory = CJ2K_MEMORY_HOST, .num_planes = 3, .planes = planes};
  g_assert_cmpint(cj2k_decoder_begin(decoder, &want.layout, NULL, NULL, NULL, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_decoder_begin(decoder, &want.layout, &picture, NULL, NULL, NULL, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, NULL, NULL, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_decoder_submit(decoder, stream, size, NULL, NULL, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_decoder_append(decoder, stream, size / 2, &error), ==, CJ2K_OK);
  cj2k_decoder_drop(decoder);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &got), ==, CJ2K_END);

  g_assert_cmpint(cj2k_decoder_begin(decoder, &want.layout, &picture, NULL, NULL, NULL, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, stream, size / 2, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, stream, 0, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, stream + size / 2, size - size / 2, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &got), ==, CJ2K_OK);
  g_assert_true(got.picture.planes[0].data == planes[0].data);
  assert_equal(&want, &got);
  cj2k_decoder_release(decoder, &got);

  /* No byte at all, and a frame that is open when the decoder is closed. */
  g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &got), ==, CJ2K_OK);
  g_assert_cmpint(got.status, ==, CJ2K_ERROR_CODESTREAM);
  cj2k_decoder_release(decoder, &got);
  g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, stream, size - 1, &error), ==, CJ2K_OK);
  cj2k_decoder_release(decoder, &want);
  cj2k_decoder_close(decoder);
  for (uint32_t i = 0; i < 3; i++)
    g_free(planes[i].data);
  g_bytes_unref(bytes);
}

/* Headers of a picture with one precinct of a million code-blocks and 65535 layers. */
static const uint8_t many_blocks[] = {
    0xff, 0x4f, 0xff, 0x51, 0,    41, 0, 0, 0, 0, 16, 0,    0,    0,    16,   0,
    0,    0,    0,    0,    0,    0,  0, 0, 0, 0, 16, 0,    0,    0,    16,   0,
    0,    0,    0,    0,    0,    0,  0, 0, 0, 1, 7,  1,    1,    0xff, 0x52, 0,
    12,   0,    0,    0xff, 0xff, 0,  0, 0, 0, 0, 1,  0xff, 0x5c, 0,    4,    0x20,
    0x40, 0xff, 0x90, 0,    10,   0,  0, 0, 0, 0, 0,  0,    1,    0xff, 0x93,
};
#define MOST_TIME (60 * G_USEC_PER_SEC) /* with sanitizers, on a busy machine */

/* Decodes that picture, with `count` packets of one byte, in parts of `step` bytes. */
static Cj2kFrame decode_many_blocks(Cj2kDecoder *decoder, uint8_t packet, size_t count, size_t step)
{
  gint64 begin = g_get_monotonic_time();
  Cj2kError error = {0};
  Cj2kFrame frame;
  uint8_t *packets = g_malloc(count);
  memset(packets, packet, count);
  g_assert_cmpint(cj2k_decoder_begin(decoder, NULL, NULL, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  cj2k_decoder_append(decoder, many_blocks, sizeof many_blocks, &error);
  for (size_t at = 0; at < count; at += step) {
    cj2k_decoder_append(decoder, packets + at, MIN(step, count - at), &error);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, MOST_TIME);
  }
  cj2k_decoder_append(decoder, (const uint8_t *)"\xff\xd9", 2, &error);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  g_assert_cmpint(g_get_monotonic_time() - begin, <, MOST_TIME);
  g_free(packets);
  return frame;
}

/* Packets that tell nothing of their code-blocks take no longer in parts. max-memory allows so many
 * code-blocks in so few bytes. */
static void test_empty_packets(void)
{
  const Case c = {.decode = "max-memory=2000"};
  Cj2kDecoder *decoder = open_decoder(&c, tested, 1);
  Cj2kFrame frame = decode_many_blocks(decoder, 0, 65535, 1000);
  g_assert_cmpint(frame.status, ==, CJ2K_OK);
  g_assert_false(frame.truncated);
  g_assert_cmpuint(frame.concealed_packets, ==, 0);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

/* max-time is for all parts of a frame together. */
static void test_max_time(void)
{
  const Case c = {.decode = "max-time=100 max-memory=2000"};
  Cj2kDecoder *decoder = open_decoder(&c, tested, 1);
  Cj2kFrame frame = decode_many_blocks(decoder, 0x80, 2000, 1);
  g_assert_cmpint(frame.status, ==, CJ2K_ERROR_LIMIT);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

/* Replaced packets are an error in strict mode, in parts as well. */
static void test_marked(void)
{
  Case strict = cases[0];
  strict.decode = "strict=true";
  GBytes *bytes = encode(&strict, SCENE_NATURAL);
  gsize size;
  const uint8_t *stream = g_bytes_get_data(bytes, &size);
  Cj2kDecoder *whole = open_decoder(&strict, CJ2K_BACKEND_CPU, 1);
  Cj2kDecoder *parts = open_decoder(&strict, tested, 1);
  GRand *rand = g_rand_new_with_seed(5);
  for (int round = 0; round < 4; round++) {
    if (round % 2 == 0) {
      cj2k_decoder_next_is_damaged(whole);
      cj2k_decoder_next_is_damaged(parts);
    }
    check(whole, parts, stream, size, 300, rand, 0, false);
  }
  g_rand_free(rand);
  cj2k_decoder_close(whole);
  cj2k_decoder_close(parts);
  g_bytes_unref(bytes);
}

int main(int argc, char **argv)
{
  tested = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(tested))
    return 0;
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *intact = g_strconcat("/parts/intact/", cases[i].name, NULL);
    gchar *damaged = g_strconcat("/parts/damaged/", cases[i].name, NULL);
    g_test_add_data_func(intact, &cases[i], test_intact);
    g_test_add_data_func(damaged, &cases[i], test_damaged);
    g_free(intact);
    g_free(damaged);
  }
  g_test_add_func("/parts/calls", test_calls);
  g_test_add_func("/parts/marked", test_marked);
  g_test_add_func("/parts/empty-packets", test_empty_packets);
  g_test_add_func("/parts/max-time", test_max_time);
  return g_test_run();
}
