/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packets that are read straight into code-blocks, by one thread or in runs by several, give the
 * same code-blocks as those that are read piece by piece, in whole streams and in damaged ones. */
#include "common/codestream/coded.h"
#include "common/codestream/packets_internal.h"
#include "effort.h"
#include "encoder-pictures.h"
#include "tests/support/same-blocks.h"

/* What an encoder writes, whether all its packets are plain, and whether they are read in runs if
 * there are enough code-blocks. */
static const struct {
  const char *options;
  bool is_plain;
  bool has_runs;
} streams[] = {
    {"block-coder=ht", true},
    {"block-coder=ht rate-control=cbr bits-per-pixel=2", true},
    {"block-coder=ht rate-control=cbr bits-per-pixel=0.5 sop=true eph=true", true},
    {"block-coder=ht codeblock-width=4 codeblock-height=4", true},
    {"block-coder=ht precincts=64x64,32x32 progression-order=rpcl", true},
    {"block-coder=ht progression-order=cprl tile-parts=component", true},
    {"block-coder=mq", true},
    {"block-coder=mq rate-control=lossless codeblock-width=32 codeblock-height=32 eph=true", true},
    {"block-coder=mq rate-control=cbr bits-per-pixel=1 sop=true", true},
    {"block-coder=mq rate-control=lossless codeblock-style=bypass", true},
    {"block-coder=mq rate-control=cbr bits-per-pixel=6 codeblock-style=bypass "
     "codeblock-width=16 codeblock-height=16",
     true},
    {"block-coder=mq codeblock-style=bypass+termall", false},
    {"block-coder=mq rate-control=cbr bits-per-pixel=2 num-layers=3", false},
    {"block-coder=ht codeblock-width=4 codeblock-height=4 plt=true", true}, /* too few for HT */
    {"block-coder=mq codeblock-width=4 codeblock-height=4 plt=true rate-control=lossless "
     "codeblock-style=bypass",
     true, true},
    {"block-coder=mq codeblock-width=4 codeblock-height=4 plt=true precincts=64x64,32x32 "
     "rate-control=cbr bits-per-pixel=3 progression-order=pcrl eph=true",
     true, true},
    {"block-coder=mq codeblock-width=4 codeblock-height=4 plt=true sop=true", true},
    {"block-coder=mq codeblock-width=4 codeblock-height=4 progression-order=cprl "
     "tile-parts=component codeblock-style=bypass",
     true, true},
    {"block-coder=mq codeblock-width=4 codeblock-height=4 progression-order=rlcp "
     "tile-parts=resolution",
     true, true},
    {"block-coder=mq codeblock-width=4 codeblock-height=4 tile-parts=resolution+component plt=true",
     true, true},
};

static const struct {
  uint32_t width, height;
  Scene scene;
  uint8_t depth;
} pictures[] = {
    {331, 217, SCENE_NATURAL, 12}, {64, 190, SCENE_NOISE, 16},   {1, 1, SCENE_NATURAL, 8},
    {200, 100, SCENE_BRIGHT, 10},  {701, 600, SCENE_NATURAL, 8}, /* of test_many alone */
};
#define MANY (G_N_ELEMENTS(pictures) - 1)

#define THREADS 4

/* A budget in bits per sample is less than the headers of a picture of one sample. */
static bool is_possible(const char *options, uint32_t p)
{
  return pictures[p].width > 1 || !strstr(options, "bits-per-pixel");
}

static GBytes *encode(const char *options, uint32_t p)
{
  static const uint8_t ones[3] = {1, 1, 1};
  Cj2kEncoderParams params;
  TestPicture picture;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_picture_init(&picture, pictures[p].scene, pictures[p].width, pictures[p].height, 3,
                    pictures[p].depth, false, ones, ones, 0, 0);
  GBytes *bytes = test_encode_valid(&params, &picture);
  test_picture_clear(&picture);
  return bytes;
}

/* A codestream whose headers were read. */
typedef struct {
  const uint8_t *data;
  size_t size;
  Cj2kHeaderReader *reader;
  Cj2kTileParts parts;
  Cj2kPlan *plan; /* NULL: the headers are damaged */
} Stream;

static Stream stream_open(const uint8_t *data, size_t size, uint8_t reduce)
{
  Stream stream = {.data = data, .size = size, .reader = cj2k_header_reader_new()};
  Cj2kError error = {0};
  Cj2kHeader *header;
  bool same;

  if (cj2k_header_read(stream.reader, data, size, false, 0, &header, &same, &stream.parts,
                       &error) == CJ2K_OK &&
      cj2k_plan_new(header, reduce, 0, &stream.plan, &error) != CJ2K_OK)
    stream.plan = NULL;
  return stream;
}

static void stream_close(Stream *stream)
{
  if (stream->plan)
    cj2k_plan_unref(stream->plan);
  cj2k_tile_parts_clear(&stream->parts);
  cj2k_header_reader_free(stream->reader);
}

/* Reads the packets of tile 0, whose tile-parts follow each other, by one thread or in runs. false:
 * they are not all plain, or nobody knows where runs begin. */
static bool read_tile(const Stream *stream, Cj2kPacketRuns *runs)
{
  uint32_t n = stream->parts.num_tile_parts, *next = g_new(uint32_t, n);
  Cj2kTileReader reader = {.data = stream->data};
  Cj2kFrameStore store = {0};
  Cj2kError error = {0};

  for (uint32_t i = 0; i < n; i++)
    next[i] = i + 1 < n ? i + 1 : UINT32_MAX;
  g_assert_cmpint(cj2k_frame_store_begin(&store, stream->plan, 0, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_tile_reader_begin(&reader, stream->plan, 0, 0, &error), ==, CJ2K_OK);
  Cj2kPacketWalk walk = {.reader = &reader,
                         .tile_parts = &stream->parts,
                         .next_part = next,
                         .sop_part = UINT32_MAX,
                         .max_layers = UINT16_MAX};
  cj2k_walk_enter_part(&walk, 0);
  bool read =
      runs ? cj2k_walk_read_runs(runs, &walk, &store) : cj2k_walk_read_direct(&walk, &store);
  cj2k_tile_reader_clear(&reader);
  cj2k_frame_store_clear(&store);
  g_free(next);
  return read;
}

static bool has_runs(const Stream *stream)
{
  Cj2kThreads *threads = cj2k_threads_new(THREADS);
  Cj2kPacketRuns *runs = cj2k_packet_runs_new(threads, 0);

  cj2k_packet_runs_begin(runs, stream->data, &stream->parts);
  bool has = read_tile(stream, runs);

  cj2k_packet_runs_free(runs);
  cj2k_threads_free(threads);
  return has;
}

static void ignore(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t header_bytes,
                   uint64_t body_bytes)
{
  (void)user, (void)packet, (void)offset, (void)header_bytes, (void)body_bytes;
}

/* Three readers: one that is observed, and therefore reads piece by piece, one that reads by one
 * thread, and one that reads in runs where it can. */
typedef struct {
  Cj2kPacketReader *readers[3];
  Cj2kThreads *threads;
} Readers;

static void compare(const Stream *stream, const Readers *readers)
{
  Cj2kCodedFrame *first = NULL, *frame;
  Cj2kStatus first_status = CJ2K_OK;

  cj2k_packet_reader_use(readers->readers[2], readers->threads, 0); /* it forgets wrong guesses */
  for (int i = 0; i < 3; i++) {
    Cj2kError error = {0};
    Cj2kStatus status = cj2k_packets_read(readers->readers[i], stream->plan, &stream->parts,
                                          stream->data, stream->size, 0, false, 0, &frame, &error);
    if (i == 0) {
      first = frame;
      first_status = status;
    }
    g_assert_cmpint(status, ==, first_status);
    if (status != CJ2K_OK)
      continue;
    g_assert_cmpuint(frame->corrupt_blocks, ==, first->corrupt_blocks);
    g_assert_cmpuint(frame->truncated, ==, first->truncated);
    g_assert_cmpuint(frame->unread_bytes, ==, first->unread_bytes);
    for (uint32_t b = 0; b < stream->plan->num_blocks; b++)
      if (!same_block(first, frame, b))
        g_error("code-block %u differs", b);
  }
}

static void check(const uint8_t *data, size_t size, uint8_t reduce, const Readers *readers)
{
  Stream stream = stream_open(data, size, reduce);

  if (stream.plan)
    compare(&stream, readers);
  stream_close(&stream);
}

static Readers readers_open(void)
{
  Readers readers = {.threads = cj2k_threads_new(THREADS)};

  for (int i = 0; i < 3; i++)
    readers.readers[i] = cj2k_packet_reader_new();
  cj2k_packet_reader_observe(readers.readers[0], ignore, NULL);
  cj2k_packet_reader_use(readers.readers[2], readers.threads, 0);
  return readers;
}

static void readers_close(Readers *readers)
{
  for (int i = 0; i < 3; i++)
    cj2k_packet_reader_free(readers->readers[i]);
  cj2k_threads_free(readers->threads);
}

static void test_whole(void)
{
  Readers readers = readers_open();

  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++)
    for (uint32_t p = 0; p < MANY; p++) {
      if (!is_possible(streams[i].options, p))
        continue;
      GBytes *bytes = encode(streams[i].options, p);
      gsize size;
      const uint8_t *data = g_bytes_get_data(bytes, &size);
      Stream stream = stream_open(data, size, 0);
      g_assert_nonnull(stream.plan);
      if (p == 0) {
        g_assert_cmpint(read_tile(&stream, NULL), ==, streams[i].is_plain);
        g_assert_cmpint(has_runs(&stream), ==, streams[i].has_runs);
      }
      compare(&stream, &readers);
      stream_close(&stream);
      check(data, size, 1, &readers);
      g_bytes_unref(bytes);
    }
  readers_close(&readers);
}

/* Bytes that are changed, cut off, or missing. Only SOP can tell that, which an observed reader
 * does not look for. */
static void test_damaged(void)
{
  GRand *rand = g_rand_new_with_seed(4);
  Readers readers = readers_open();

  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++) {
    if (strstr(streams[i].options, "sop"))
      continue;
    GBytes *bytes = encode(streams[i].options, streams[i].has_runs ? 0 : i % 2);
    gsize size;
    uint8_t *data = g_bytes_unref_to_data(bytes, &size);
    double rounds = streams[i].has_runs ? test_effort(10, 40, 400) : test_effort(50, 150, 1500);
    for (uint32_t round = 0; round < rounds; round++) {
      uint8_t *copy = g_memdup2(data, size);
      for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--)
        copy[g_rand_int_range(rand, 120, (gint32)size)] = (uint8_t)g_rand_int(rand);
      check(copy, round % 3 ? size : (size_t)g_rand_int_range(rand, 120, (gint32)size), 0,
            &readers);
      g_free(copy);
    }
    g_free(data);
  }
  readers_close(&readers);
  g_rand_free(rand);
}

/* So many HT blocks that they are read in runs, whole and damaged. */
static void test_many(void)
{
  GRand *rand = g_rand_new_with_seed(6);
  Readers readers = readers_open();
  GBytes *bytes = encode("block-coder=ht codeblock-width=4 codeblock-height=4 plt=true", MANY);
  gsize size;
  uint8_t *data = g_bytes_unref_to_data(bytes, &size);
  Stream stream = stream_open(data, size, 0);

  g_assert_nonnull(stream.plan);
  g_assert_true(has_runs(&stream));
  compare(&stream, &readers);
  stream_close(&stream);
  for (uint32_t round = 0; round < test_effort(5, 20, 200); round++) {
    uint8_t *copy = g_memdup2(data, size);
    copy[g_rand_int_range(rand, 120, (gint32)size)] ^= 0x55;
    check(copy, size, 0, &readers);
    g_free(copy);
  }
  g_free(data);
  readers_close(&readers);
  g_rand_free(rand);
}

/* What a reader says of the last frame, whether or not it was worth it: helpers are woken for the
 * next frame if it has PLT or several tile-parts, but for some frames after one that could not be
 * divided. */
static void test_says(void)
{
  static const char options[] = "block-coder=mq codeblock-width=4 codeblock-height=4 ";
  static const struct {
    const char *more;
    int expected[3]; /* of the first frame, of the next ones, and after 17 */
  } cases[] = {
      {"", {0, 0, 0}},
      {"plt=true", {1, 1, 1}},
      {"plt=true sop=true", {0, 0, 0}},
      {"plt=true codeblock-style=termall", {1, 0, 1}},
      {"codeblock-style=bypass", {1, 1, 1}},
      {"codeblock-style=bypass plt=false", {0, 0, 0}},
      {"progression-order=cprl tile-parts=component", {1, 1, 1}},
      {"progression-order=pcrl precincts=64x64 tile-parts=component", {1, 1, 1}},
      {"block-coder=ht plt=true", {1, 1, 1}},
  };
  Readers readers = readers_open();

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *all = g_strconcat(options, cases[i].more, NULL);
    GBytes *bytes = encode(all, 0);
    gsize size;
    const uint8_t *data = g_bytes_get_data(bytes, &size);
    cj2k_packet_reader_use(readers.readers[2], readers.threads, 0);
    for (uint32_t frame = 0; frame < 18; frame++) {
      Stream stream = stream_open(data, size, 0);
      Cj2kCodedFrame *coded;
      Cj2kError error = {0};
      g_assert_nonnull(stream.plan);
      g_assert_cmpint(cj2k_packets_read(readers.readers[2], stream.plan, &stream.parts, data, size,
                                        0, true, 0, &coded, &error),
                      ==, CJ2K_OK);
      g_assert_cmpint(cj2k_packet_reader_can_divide(readers.readers[2]), ==,
                      cases[i].expected[frame == 0   ? 0
                                        : frame < 17 ? 1
                                                     : 2]);
      stream_close(&stream);
    }
    g_bytes_unref(bytes);
    g_free(all);
  }
  readers_close(&readers);
}

/* Where PLT of the first tile-part begins, behind its SOT; 0 if there is none. */
static gsize find_plt(const uint8_t *data, gsize size)
{
  gsize at = 0;

  while (at + 14 < size && (data[at] != 0xff || data[at + 1] != 0x90))
    at++;
  g_assert_cmpuint(at + 14, <, size);
  at += 12;
  return data[at] == 0xff && data[at + 1] == 0x58 ? at : 0;
}

/* By itself the encoder writes PLT with HT and with raw passes, where a decoder can make use of it,
 * as if it had been told to. */
static void test_auto(void)
{
  static const struct {
    const char *options;
    bool written;
  } cases[] = {
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass", true},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass+causal rate-control=lossless "
       "precincts=64x64",
       true},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass bits-per-pixel=6", true},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass tile-width=200", true},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass tile-width=64", false},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass sop=true", false},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass+termall", false},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass num-layers=2", false},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=causal", false},
      {"codeblock-width=4 codeblock-height=4 block-coder=ht", true},
      {"codeblock-width=4 codeblock-height=4 block-coder=ht bits-per-pixel=6", true},
      {"codeblock-width=4 codeblock-height=4 block-coder=ht sop=true", false},
      {"codeblock-width=64 codeblock-height=4 block-coder=ht", false},
      {"codeblock-width=4 codeblock-height=4 block-coder=ht precincts=32x32", true},
      {"codeblock-width=4 codeblock-height=4 block-coder=ht precincts=8x8", false},
      {"codeblock-width=64 codeblock-height=4 codeblock-style=bypass", false},
      {"codeblock-width=4 codeblock-height=4 codeblock-style=bypass latency-profile=ultra", false},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *told =
        g_strconcat(cases[i].options, cases[i].written ? " plt=true" : " plt=false", NULL);
    gchar *chooses = g_strconcat(cases[i].options, " plt=auto", NULL);
    GBytes *by_default = encode(cases[i].options, 0), *chosen = encode(chooses, 0),
           *same = encode(told, 0);
    gsize size;
    const uint8_t *data = g_bytes_get_data(by_default, &size);
    g_assert_true(g_bytes_equal(by_default, same));
    g_assert_true(g_bytes_equal(chosen, same));
    g_assert_cmpint(find_plt(data, size) != 0, ==, cases[i].written);
    g_bytes_unref(by_default);
    g_bytes_unref(chosen);
    g_bytes_unref(same);
    g_free(chooses);
    g_free(told);
  }
}

/* PLT with lengths that are not those of the packets: nobody believes it. */
static void test_wrong_lengths(void)
{
  GRand *rand = g_rand_new_with_seed(5);
  Readers readers = readers_open();
  GBytes *bytes = encode("block-coder=mq codeblock-width=4 codeblock-height=4 plt=true", 0);
  gsize size;
  uint8_t *data = g_bytes_unref_to_data(bytes, &size);
  gsize plt = find_plt(data, size);

  g_assert_cmpuint(plt, >, 0);
  gsize end = plt + 2 + ((gsize)data[plt + 2] << 8 | data[plt + 3]);
  for (uint32_t round = 0; round < test_effort(50, 200, 2000); round++) {
    uint8_t *copy = g_memdup2(data, size);
    for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--)
      copy[g_rand_int_range(rand, (gint32)plt + 5, (gint32)end)] = (uint8_t)g_rand_int(rand);
    check(copy, size, 0, &readers);
    g_free(copy);
  }
  g_free(data);
  readers_close(&readers);
  g_rand_free(rand);
}

/* ---------------------------------------------------------------- where tile-parts begin --- */

#define PACKETS 9 /* three components, three resolutions */

static void note_begin(void *user, const Cj2kPacketId *packet, uint64_t offset,
                       uint64_t header_bytes, uint64_t body_bytes)
{
  GArray *begins = user;
  (void)packet, (void)header_bytes, (void)body_bytes;
  g_array_append_val(begins, offset);
}

/* Where the packets of a stream begin, and its last one ends (uint64_t). */
static GArray *find_packets(const Stream *stream)
{
  GArray *begins = g_array_new(FALSE, FALSE, sizeof(uint64_t));
  Cj2kPacketReader *reader = cj2k_packet_reader_new();
  const Cj2kTilePart *part = &stream->parts.tile_parts[0];
  uint64_t end = part->data.offset + part->data.size;
  Cj2kCodedFrame *frame;
  Cj2kError error = {0};

  cj2k_packet_reader_observe(reader, note_begin, begins);
  g_assert_cmpint(cj2k_packets_read(reader, stream->plan, &stream->parts, stream->data,
                                    stream->size, 0, true, 0, &frame, &error),
                  ==, CJ2K_OK);
  cj2k_packet_reader_free(reader);
  g_array_append_val(begins, end);
  return begins;
}

/* A codestream of one tile-part whose packets are divided into three: from packet 0, first and
 * second on. */
static GByteArray *split(const Stream *stream, const GArray *begins, uint32_t first,
                         uint32_t second)
{
  const uint64_t *at = (const uint64_t *)(const void *)begins->data;
  const uint32_t bounds[4] = {0, first, second, PACKETS};
  GByteArray *out = g_byte_array_new();
  static const uint8_t eoc[2] = {0xff, 0xd9};

  g_byte_array_append(out, stream->data, (guint)at[0] - 14); /* SOT and SOD */
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t bytes = (uint32_t)(at[bounds[i + 1]] - at[bounds[i]]),
             psot = GUINT32_TO_BE(bytes + 14);
    uint8_t sot[14] = {0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, (uint8_t)i, 3, 0xff, 0x93};
    memcpy(sot + 6, &psot, sizeof psot);
    g_byte_array_append(out, sot, sizeof sot);
    g_byte_array_append(out, stream->data + at[bounds[i]], bytes);
  }
  g_byte_array_append(out, eoc, sizeof eoc);
  return out;
}

/* Tile-parts may begin with any packet. Only where they begin as is guessed, runs are read. */
static void test_guess(void)
{
  GBytes *bytes = encode("block-coder=mq codeblock-width=4 codeblock-height=4 num-resolutions=3 "
                         "progression-order=cprl",
                         0);
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  Stream whole = stream_open(data, size, 0);
  g_assert_nonnull(whole.plan);
  GArray *begins = find_packets(&whole);
  Readers readers = readers_open();

  g_assert_cmpuint(begins->len, ==, PACKETS + 1);
  for (uint32_t first = 0; first <= PACKETS; first++)
    for (uint32_t second = first; second <= PACKETS; second++) {
      GByteArray *parts = split(&whole, begins, first, second);
      Stream stream = stream_open(parts->data, parts->len, 0);
      g_assert_nonnull(stream.plan);
      g_assert_cmpint(has_runs(&stream), ==, first == 3 && second == 6);
      compare(&stream, &readers);
      stream_close(&stream);
      g_byte_array_unref(parts);
    }
  readers_close(&readers);
  g_array_unref(begins);
  stream_close(&whole);
  g_bytes_unref(bytes);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/packets-direct/whole", test_whole);
  g_test_add_func("/packets-direct/damaged", test_damaged);
  g_test_add_func("/packets-direct/many", test_many);
  g_test_add_func("/packets-direct/says", test_says);
  g_test_add_func("/packets-direct/auto", test_auto);
  g_test_add_func("/packets-direct/wrong-lengths", test_wrong_lengths);
  g_test_add_func("/packets-direct/guess", test_guess);
  return g_test_run();
}
