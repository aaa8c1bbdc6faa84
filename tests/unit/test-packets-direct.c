/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packets that are read straight into code-blocks give the same code-blocks as those that are read
 * piece by piece, in whole streams and in damaged ones. */
#include "common/codestream/coded.h"
#include "common/codestream/packets_internal.h"
#include "encoder-pictures.h"
#include "tests/support/same-blocks.h"

/* What an encoder writes, and whether all its packets are plain. */
static const struct {
  const char *options;
  bool is_plain;
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
};

static const struct {
  uint32_t width, height;
  Scene scene;
  uint8_t depth;
} pictures[] = {
    {331, 217, SCENE_NATURAL, 12},
    {64, 190, SCENE_NOISE, 16},
    {1, 1, SCENE_NATURAL, 8},
    {200, 100, SCENE_BRIGHT, 10},
};

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

/* Whether the packets of tile 0 are all plain. Its tile-parts follow each other. */
static bool is_plain(const Stream *stream)
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
  bool plain = cj2k_walk_read_direct(&walk, &store);
  cj2k_tile_reader_clear(&reader);
  cj2k_frame_store_clear(&store);
  g_free(next);
  return plain;
}

static void ignore(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t header_bytes,
                   uint64_t body_bytes)
{
  (void)user, (void)packet, (void)offset, (void)header_bytes, (void)body_bytes;
}

/* Reads with two readers, of which one is observed and therefore reads piece by piece. */
static void compare(const Stream *stream, Cj2kPacketReader *readers[2])
{
  Cj2kCodedFrame *frames[2];
  Cj2kStatus status[2];

  for (int i = 0; i < 2; i++) {
    Cj2kError error = {0};
    status[i] = cj2k_packets_read(readers[i], stream->plan, &stream->parts, stream->data,
                                  stream->size, 0, false, 0, &frames[i], &error);
  }
  g_assert_cmpint(status[0], ==, status[1]);
  if (status[0] != CJ2K_OK)
    return;
  g_assert_cmpuint(frames[0]->corrupt_blocks, ==, frames[1]->corrupt_blocks);
  g_assert_cmpuint(frames[0]->truncated, ==, frames[1]->truncated);
  g_assert_cmpuint(frames[0]->unread_bytes, ==, frames[1]->unread_bytes);
  for (uint32_t b = 0; b < stream->plan->num_blocks; b++)
    if (!same_block(frames[0], frames[1], b))
      g_error("code-block %u differs", b);
}

static void check(const uint8_t *data, size_t size, uint8_t reduce, Cj2kPacketReader *readers[2])
{
  Stream stream = stream_open(data, size, reduce);

  if (stream.plan)
    compare(&stream, readers);
  stream_close(&stream);
}

static void readers_open(Cj2kPacketReader *readers[2])
{
  for (int i = 0; i < 2; i++)
    readers[i] = cj2k_packet_reader_new();
  cj2k_packet_reader_observe(readers[1], ignore, NULL);
}

static void readers_close(Cj2kPacketReader *readers[2])
{
  for (int i = 0; i < 2; i++)
    cj2k_packet_reader_free(readers[i]);
}

static void test_whole(void)
{
  Cj2kPacketReader *readers[2];

  readers_open(readers);
  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++)
    for (uint32_t p = 0; p < G_N_ELEMENTS(pictures); p++) {
      if (!is_possible(streams[i].options, p))
        continue;
      GBytes *bytes = encode(streams[i].options, p);
      gsize size;
      const uint8_t *data = g_bytes_get_data(bytes, &size);
      Stream stream = stream_open(data, size, 0);
      g_assert_nonnull(stream.plan);
      if (p == 0)
        g_assert_cmpint(is_plain(&stream), ==, streams[i].is_plain);
      compare(&stream, readers);
      stream_close(&stream);
      check(data, size, 1, readers);
      g_bytes_unref(bytes);
    }
  readers_close(readers);
}

/* Bytes that are changed, cut off, or missing. Only SOP can tell that, which an observed reader
 * does not look for. */
static void test_damaged(void)
{
  GRand *rand = g_rand_new_with_seed(4);
  Cj2kPacketReader *readers[2];

  readers_open(readers);
  for (uint32_t i = 0; i < G_N_ELEMENTS(streams); i++) {
    if (strstr(streams[i].options, "sop"))
      continue;
    GBytes *bytes = encode(streams[i].options, i % 2);
    gsize size;
    uint8_t *data = g_bytes_unref_to_data(bytes, &size);
    for (uint32_t round = 0; round < 150; round++) {
      uint8_t *copy = g_memdup2(data, size);
      for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--)
        copy[g_rand_int_range(rand, 120, (gint32)size)] = (uint8_t)g_rand_int(rand);
      check(copy, round % 3 ? size : (size_t)g_rand_int_range(rand, 120, (gint32)size), 0, readers);
      g_free(copy);
    }
    g_free(data);
  }
  readers_close(readers);
  g_rand_free(rand);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/packets-direct/whole", test_whole);
  g_test_add_func("/packets-direct/damaged", test_damaged);
  return g_test_run();
}
