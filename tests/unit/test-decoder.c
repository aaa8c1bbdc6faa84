/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decoder of cj2k.h: frames in flight, layouts, damaged streams, limits, threads. */
#include "cj2k.h"
#include "decoder-streams.h"

#include <glib.h>
#include <string.h>

#define BYTES(array) (array), sizeof(array)

static Cj2kDecoder *open_decoder(uint32_t threads, uint32_t in_flight)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = threads;
  params.frames_in_flight = in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  return decoder;
}

/* Decodes one stream into planes of the frame. */
static Cj2kStatus decode_one(const Cj2kDecoderParams *params, const uint8_t *data, size_t size,
                             Cj2kFrame *frame, Cj2kDecoder **decoder)
{
  Cj2kError error;
  *decoder = cj2k_decoder_open(params, &error);
  g_assert_nonnull(*decoder);
  g_assert_cmpint(cj2k_decoder_submit(*decoder, data, size, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(*decoder, frame), ==, CJ2K_OK);
  return frame->status;
}

static int32_t own_sample(const Cj2kFrame *frame, uint32_t c, uint32_t x, uint32_t y)
{
  const Cj2kPlane *plane = &frame->picture.planes[c];
  const uint8_t *at = (const uint8_t *)plane->data + y * plane->pitch;
  return frame->layout.samples[c].word_bytes == 1 ? at[x] : at[2 * x] | at[2 * x + 1] << 8;
}

static void check_own_planes(const Cj2kFrame *frame, uint32_t components, uint32_t depth)
{
  g_assert_cmpuint(frame->image.num_components, ==, components);
  for (uint32_t c = 0; c < components; c++) {
    const Cj2kComponent *component = &frame->image.components[c];
    g_assert_cmpuint(component->depth, ==, depth);
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      for (uint32_t x = 0; x < component->x1 - component->x0; x++)
        g_assert_cmpint(own_sample(frame, c, x, y), ==, stream_sample(c, x, y, depth));
  }
}

/* ------------------------------------------------------------------------ pictures --- */

static void test_own_planes(void)
{
  Cj2kDecoder *decoder = open_decoder(2, 3);
  Cj2kFrame frames[3];
  Cj2kError error;
  int users[3];
  cj2k_decoder_submit(decoder, BYTES(rgb_stream), NULL, NULL, &users[0], &error);
  cj2k_decoder_submit(decoder, BYTES(yuv_stream), NULL, NULL, &users[1], &error);
  cj2k_decoder_submit(decoder, BYTES(grey_stream), NULL, NULL, &users[2], &error);
  for (int i = 0; i < 3; i++) {
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frames[i]), ==, CJ2K_OK);
    g_assert_cmpint(frames[i].status, ==, CJ2K_OK);
    g_assert_true(frames[i].user == &users[i]);
  }
  g_assert_cmpint(cj2k_decoder_receive(decoder, &(Cj2kFrame){0}), ==, CJ2K_END);
  /* The planes of a frame stay unchanged until it is released, while other frames are decoded. */
  cj2k_decoder_release(decoder, &frames[1]);
  cj2k_decoder_submit(decoder, BYTES(yuv_stream), NULL, NULL, NULL, &error);
  cj2k_decoder_receive(decoder, &frames[1]);
  check_own_planes(&frames[0], 3, 8);
  check_own_planes(&frames[1], 3, 8);
  check_own_planes(&frames[2], 1, 12);
  for (int i = 0; i < 3; i++)
    cj2k_decoder_release(decoder, &frames[i]);
  cj2k_decoder_close(decoder);
}

/* v210: six 4:2:2 pixels of 10 bit in four little-endian words of 32 bits. */
static const Cj2kSampleLayout v210[3] = {
    {.unit_bytes = 16,
     .unit_samples = 6,
     .word_bytes = 4,
     .depth = 10,
     .at = {{0, 10}, {4, 0}, {4, 20}, {8, 10}, {12, 0}, {12, 20}}},
    {.unit_bytes = 16,
     .unit_samples = 3,
     .word_bytes = 4,
     .depth = 10,
     .at = {{0, 0}, {4, 10}, {8, 20}}},
    {.unit_bytes = 16,
     .unit_samples = 3,
     .word_bytes = 4,
     .depth = 10,
     .at = {{0, 20}, {8, 0}, {12, 10}}},
};

static uint32_t v210_sample(const uint8_t *row, uint32_t c, uint32_t x)
{
  const Cj2kSampleLayout *s = &v210[c];
  uint32_t word;
  memcpy(&word, row + x / s->unit_samples * 16 + s->at[x % s->unit_samples].offset, 4);
  return GUINT32_FROM_LE(word) >> s->at[x % s->unit_samples].shift & 0x3ff;
}

/* Tiles of 9 columns end inside units of 6 samples, so that some words hold samples of two
 * tiles. */
static void test_tiles_in_shared_words(void)
{
  const Cj2kLayout layout = {.num_components = 3, .num_planes = 1, .samples = v210};
  for (uint32_t threads = 1; threads <= 8; threads++) {
    Cj2kDecoder *decoder = open_decoder(threads, 1);
    uint8_t memory[10][80];
    Cj2kPlane plane = {.data = memory, .pitch = 80};
    Cj2kPicture picture = {CJ2K_MEMORY_HOST, 1, &plane};
    Cj2kFrame frame;
    Cj2kError error;
    memset(memory, 0xa5, sizeof memory);
    cj2k_decoder_submit(decoder, BYTES(yuv_stream), &layout, &picture, NULL, &error);
    cj2k_decoder_receive(decoder, &frame);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    g_assert_true(frame.picture.planes == &plane);
    for (uint32_t c = 0; c < 3; c++)
      for (uint32_t y = 0; y < 10; y++)
        for (uint32_t x = 0; x < (c ? 13 : 26); x++)
          g_assert_cmpuint(v210_sample(memory[y], c, x), ==,
                           (uint32_t)stream_sample(c, x, y, 8) << 2);
    for (uint32_t i = 3; i < 80; i += 4) /* the two bits that belong to no component */
      g_assert_cmpuint(memory[3][i] >> 6, ==, 0);
    cj2k_decoder_release(decoder, &frame);
    cj2k_decoder_close(decoder);
  }
}

/* Unused bits above and below a sample become zero if the word holds only this sample. */
static void test_padding(void)
{
  for (uint8_t shift = 0; shift <= 4; shift++) {
    const Cj2kSampleLayout samples = {.unit_bytes = 2,
                                      .unit_samples = 1,
                                      .word_bytes = 2,
                                      .big_endian = shift % 2 == 1,
                                      .depth = 12,
                                      .at = {{0, shift}}};
    const Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &samples};
    uint8_t memory[9][42];
    Cj2kPlane plane = {.data = memory, .pitch = 42};
    Cj2kPicture picture = {CJ2K_MEMORY_HOST, 1, &plane};
    Cj2kDecoder *decoder = open_decoder(1, 1);
    Cj2kFrame frame;
    Cj2kError error;
    memset(memory, 0xa5, sizeof memory);
    cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, &picture, NULL, &error);
    cj2k_decoder_receive(decoder, &frame);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    for (uint32_t y = 0; y < 9; y++) {
      for (uint32_t x = 0; x < 21; x++) {
        const uint8_t *at = &memory[y][2 * x];
        uint32_t word = samples.big_endian ? at[0] << 8 | at[1] : at[1] << 8 | at[0];
        g_assert_cmpuint(word, ==, (uint32_t)stream_sample(0, x, y, 12) << shift);
      }
    }
    cj2k_decoder_release(decoder, &frame);
    cj2k_decoder_close(decoder);
  }
}

/* An alpha component that the image lacks becomes opaque; bytes without a component are filled. */
static void test_alpha_and_fill(void)
{
  Cj2kSampleLayout samples[4];
  uint8_t memory[12][20 * 5];
  Cj2kPlane plane = {.data = memory, .pitch = sizeof memory[0]};
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, 1, &plane};
  for (uint8_t c = 0; c < 4; c++)
    samples[c] = (Cj2kSampleLayout){.unit_bytes = 5,
                                    .unit_samples = 1,
                                    .word_bytes = 1,
                                    .depth = 8,
                                    .at = {{(uint8_t)(3 - c), 0}}};
  const Cj2kLayout layout = {
      .num_components = 4, .num_planes = 1, .samples = samples, .fill = 0x77};
  Cj2kDecoder *decoder = open_decoder(2, 1);
  Cj2kFrame frame;
  Cj2kError error;
  cj2k_decoder_submit(decoder, BYTES(rgb_stream), &layout, &picture, NULL, &error);
  cj2k_decoder_receive(decoder, &frame);
  g_assert_cmpint(frame.status, ==, CJ2K_OK);
  for (uint32_t y = 0; y < 12; y++) {
    for (uint32_t x = 0; x < 20; x++) {
      const uint8_t *unit = &memory[y][5 * x];
      for (uint32_t c = 0; c < 3; c++)
        g_assert_cmpint(unit[3 - c], ==, stream_sample(c, x, y, 8));
      g_assert_cmpint(unit[0], ==, 255);
      g_assert_cmpint(unit[4], ==, 0x77);
    }
  }
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

/* ------------------------------------------------------------- frames in flight --- */

#define NUM_FRAMES 60

typedef struct {
  Cj2kDecoder *decoder;
} Flight;

/* Frame i: one of three images; some are damaged. */
static const uint8_t *flight_data(int i, size_t *size)
{
  static const uint8_t nothing[16] = {0xff, 0x4f, 0xff, 0x51};
  static const struct {
    const uint8_t *data;
    size_t size;
  } kinds[] = {{BYTES(rgb_stream)}, {BYTES(yuv_stream)}, {BYTES(grey_stream)}, {BYTES(nothing)}};
  *size = kinds[i * 7 / 3 % 4].size;
  return kinds[i * 7 / 3 % 4].data;
}

static gpointer submit_frames(gpointer data)
{
  Flight *flight = data;
  for (int i = 0; i < NUM_FRAMES; i++) {
    Cj2kError error;
    size_t size;
    const uint8_t *bytes = flight_data(i, &size);
    g_assert_cmpint(cj2k_decoder_submit(flight->decoder, bytes, size, NULL, NULL,
                                        GINT_TO_POINTER(i + 1), &error),
                    ==, CJ2K_OK);
  }
  return NULL;
}

static void check_flight(const Cj2kFrame *frame, int i)
{
  size_t size;
  const uint8_t *bytes = flight_data(i, &size);
  g_assert_cmpint(GPOINTER_TO_INT(frame->user), ==, i + 1);
  if (bytes == rgb_stream || bytes == yuv_stream)
    check_own_planes(frame, 3, 8);
  else if (bytes == grey_stream)
    check_own_planes(frame, 1, 12);
  else
    g_assert_cmpint(frame->status, ==, CJ2K_ERROR_CODESTREAM);
}

static void test_order(void)
{
  const struct {
    uint32_t threads, in_flight;
  } cases[] = {{1, 1}, {1, 4}, {3, 1}, {4, 3}, {2, 16}};
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    Flight flight = {.decoder = open_decoder(cases[k].threads, cases[k].in_flight)};
    GThread *thread = g_thread_new("submit", submit_frames, &flight);
    for (int i = 0; i < NUM_FRAMES;) {
      Cj2kFrame frame;
      if (cj2k_decoder_receive(flight.decoder, &frame) == CJ2K_END) {
        g_thread_yield();
        continue;
      }
      check_flight(&frame, i++);
      cj2k_decoder_release(flight.decoder, &frame);
    }
    g_thread_join(thread);
    Cj2kStats stats;
    cj2k_decoder_get_stats(flight.decoder, &stats);
    g_assert_cmpuint(stats.frames, ==, NUM_FRAMES);
    g_assert_cmpuint(stats.failed_frames, >, 0);
    g_assert_cmpuint(stats.failed_frames, <, NUM_FRAMES);
    cj2k_decoder_close(flight.decoder);
  }
}

/* Closing a decoder waits for the frames in flight. */
static void test_close_in_flight(void)
{
  for (uint32_t threads = 1; threads <= 3; threads++) {
    Cj2kDecoder *decoder = open_decoder(threads, 4);
    Cj2kError error;
    for (int i = 0; i < 4; i++)
      cj2k_decoder_submit(decoder, BYTES(rgb_stream), NULL, NULL, NULL, &error);
    cj2k_decoder_close(decoder);
  }
}

/* ---------------------------------------------------------------------- errors --- */

static void check_status(const Cj2kDecoderParams *params, const uint8_t *data, size_t size,
                         Cj2kStatus status)
{
  Cj2kFrame frame;
  Cj2kDecoder *decoder;
  g_assert_cmpint(decode_one(params, data, size, &frame, &decoder), ==, status);
  g_assert_cmpint(frame.error.code, ==, status);
  if (status != CJ2K_OK)
    g_assert_cmpuint(strlen(frame.error.text), >, 0);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

static void test_limits(void)
{
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  params.reduce = 2;
  check_status(&params, BYTES(rgb_stream), CJ2K_OK);
  params.reduce = 3;
  check_status(&params, BYTES(rgb_stream), CJ2K_ERROR_ARGUMENT);
  params.reduce = 0;
  params.max_memory = 1000;
  check_status(&params, BYTES(rgb_stream), CJ2K_ERROR_LIMIT);
  params.max_memory = 0;
  check_status(&params, rgb_stream, 60, CJ2K_ERROR_CODESTREAM);
  check_status(&params, rgb_stream, 0, CJ2K_ERROR_CODESTREAM);
}

/* A header of 100 bytes that announces 65,025 tiles is refused, unless max_memory is set. Then
 * reading it takes longer than a millisecond on any machine, for which there is max_time; the next
 * frame must be as good as ever. */
static void test_max_time(void)
{
  static const uint8_t tiles[] = {
      0xff, 0x4f, 0xff, 0x51, 0,    41,   0,    0,    0,    0,    0,    255,  0,    0, 0,
      255,  0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    1,    0, 0,
      0,    1,    0,    0,    0,    0,    0,    0,    0,    0,    0,    1,    7,    1, 1,
      0xff, 0x52, 0,    12,   0,    0,    0,    1,    0,    2,    4,    4,    0,    1, 0xff,
      0x5c, 0,    10,   0x40, 0x40, 0x48, 0x48, 0x50, 0x48, 0x48, 0x50, 0xff, 0x90, 0, 10,
      0,    0,    0,    0,    0,    0,    0,    1,    0xff, 0x93, 0,    0xff, 0xd9};
  Cj2kDecoderParams params;
  Cj2kError error;
  Cj2kFrame frame;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  check_status(&params, BYTES(tiles), CJ2K_ERROR_LIMIT);
  params.max_memory = UINT64_C(1) << 30;
  check_status(&params, BYTES(tiles), CJ2K_OK);
  params.max_time = 1;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  for (int i = 0; i < 4; i++) {
    Cj2kStatus status =
        i % 2 ? cj2k_decoder_submit(decoder, BYTES(rgb_stream), NULL, NULL, NULL, &error)
              : cj2k_decoder_submit(decoder, BYTES(tiles), NULL, NULL, NULL, &error);
    g_assert_cmpint(status, ==, CJ2K_OK);
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    if (i % 2 == 0) {
      g_assert_cmpint(frame.status, ==, CJ2K_ERROR_LIMIT);
      g_assert_nonnull(strstr(frame.error.text, "max-time"));
    }
    cj2k_decoder_release(decoder, &frame);
  }
  cj2k_decoder_close(decoder);
}

static void test_reduce(void)
{
  Cj2kDecoderParams params;
  Cj2kFrame frame;
  Cj2kDecoder *decoder;
  cj2k_decoder_params_init(&params);
  params.reduce = 1;
  g_assert_cmpint(decode_one(&params, BYTES(rgb_stream), &frame, &decoder), ==, CJ2K_OK);
  g_assert_false(frame.image.is_ht);
  g_assert_cmpuint(frame.image.components[0].x1, ==, 10);
  g_assert_cmpuint(frame.image.components[0].y1, ==, 6);
  g_assert_cmpuint(frame.image.x1, ==, 20);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

static void test_truncated(void)
{
  Cj2kDecoderParams params;
  Cj2kFrame frame;
  Cj2kDecoder *decoder;
  cj2k_decoder_params_init(&params);
  g_assert_cmpint(decode_one(&params, yuv_stream, sizeof yuv_stream - 200, &frame, &decoder), ==,
                  CJ2K_OK);
  g_assert_true(frame.truncated);
  for (uint32_t x = 0; x < 9; x++) /* the first tile is complete */
    g_assert_cmpint(own_sample(&frame, 0, x, 2), ==, stream_sample(0, x, 2, 8));
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
  params.strict = true;
  check_status(&params, yuv_stream, sizeof yuv_stream - 200, CJ2K_ERROR_CODESTREAM);
  check_status(&params, BYTES(yuv_stream), CJ2K_OK);
}

static void test_arguments(void)
{
  Cj2kDecoder *decoder = open_decoder(1, 1);
  Cj2kSampleLayout samples = {.unit_bytes = 2, .unit_samples = 1, .word_bytes = 2, .depth = 16};
  Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &samples};
  uint8_t memory[400];
  Cj2kPlane plane = {.data = memory, .pitch = 20};
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, 1, &plane};
  Cj2kError error;
  Cj2kFrame frame;
  g_assert_cmpint(cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, NULL, NULL, &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  samples.at[0].shift = 1; /* 17 bits in a word of 16 */
  g_assert_cmpint(cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, &picture, NULL, &error),
                  ==, CJ2K_ERROR_ARGUMENT);
  samples.at[0].shift = 0;
  picture.memory = CJ2K_MEMORY_CUDA;
  g_assert_cmpint(cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, &picture, NULL, &error),
                  ==, CJ2K_ERROR_ARGUMENT);
  picture.memory = CJ2K_MEMORY_HOST; /* 21 samples do not go into 20 bytes */
  for (int i = 0; i < 2; i++) {
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, &picture, NULL, &error), ==,
        CJ2K_OK);
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    g_assert_cmpint(frame.status, ==, CJ2K_ERROR_ARGUMENT);
    g_assert_nonnull(strstr(frame.error.text, i ? "CUDA stream" : "pitch"));
    cj2k_decoder_release(decoder, &frame);
    picture.cuda_stream = memory; /* host memory must not have a stream */
  }
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_END);
  cj2k_decoder_close(decoder);
}

/* A component that the image does not have is filled: its rows must fit into its plane, too. */
static void test_filled_plane(void)
{
  Cj2kDecoder *decoder = open_decoder(1, 1);
  Cj2kError error;
  Cj2kSampleLayout samples[2] = {
      {.unit_bytes = 2, .unit_samples = 1, .word_bytes = 2, .depth = 12},
      {.plane = 1, .unit_bytes = 4, .unit_samples = 1, .word_bytes = 2, .depth = 12}};
  const Cj2kLayout layout = {.num_components = 2, .num_planes = 2, .samples = samples};
  uint8_t grey[42 * 9];
  /* 21 samples: the last word ends after 82 bytes. */
  for (size_t pitch = 80; pitch <= 82; pitch++) {
    uint8_t *alpha = g_malloc(pitch * 9);
    Cj2kPlane planes[2] = {{.data = grey, .pitch = 42}, {.data = alpha, .pitch = pitch}};
    Cj2kPicture picture = {.num_planes = 2, .planes = planes};
    Cj2kFrame frame;
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, BYTES(grey_stream), &layout, &picture, NULL, &error), ==,
        CJ2K_OK);
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    g_assert_cmpint(frame.status, ==, pitch < 82 ? CJ2K_ERROR_ARGUMENT : CJ2K_OK);
    if (pitch == 82)
      g_assert_cmphex(alpha[4] | alpha[5] << 8, ==, 0xfff);
    cj2k_decoder_release(decoder, &frame);
    g_free(alpha);
  }
  cj2k_decoder_close(decoder);
}

/* -------------------------------------------------------------------------- files --- */

static void append_box(GByteArray *file, const char *type, const void *data, guint size)
{
  guint32 length = GUINT32_TO_BE(size + 8);
  g_byte_array_append(file, (const guint8 *)&length, 4);
  g_byte_array_append(file, (const guint8 *)type, 4);
  g_byte_array_append(file, data, size);
}

/* The grey image as indices into a palette of 256 entries; larger indices select the last entry. */
static GByteArray *palette_file(void)
{
  static const uint8_t signature[] = {0x0d, 0x0a, 0x87, 0x0a}, ftyp[] = "jp2 \0\0\0\0jp2 ";
  static const uint8_t ihdr[] = {0, 0, 0, 9, 0, 0, 0, 21, 0, 1, 11, 7, 0, 0};
  static const uint8_t colr[] = {1, 0, 0, 0, 0, 0, 16}, cmap[] = {0, 0, 1, 1, 0, 0, 1, 0};
  static const uint8_t cdef[] = {0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0};
  GByteArray *file = g_byte_array_new(), *jp2h = g_byte_array_new(), *pclr = g_byte_array_new();
  const uint8_t head[] = {1, 0, 2, 7, 9}; /* 256 entries, columns of 8 and of 10 bits */
  g_byte_array_append(pclr, head, sizeof head);
  for (guint i = 0; i < 256; i++) {
    const uint8_t entry[] = {(uint8_t)(255 - i), (uint8_t)(i >> 6), (uint8_t)(i << 2 | 1)};
    g_byte_array_append(pclr, entry, sizeof entry);
  }
  append_box(jp2h, "ihdr", BYTES(ihdr));
  append_box(jp2h, "colr", BYTES(colr));
  append_box(jp2h, "pclr", pclr->data, pclr->len);
  append_box(jp2h, "cmap", BYTES(cmap));
  append_box(jp2h, "cdef", BYTES(cdef));
  append_box(file, "jP  ", BYTES(signature));
  append_box(file, "ftyp", ftyp, 12);
  append_box(file, "jp2h", jp2h->data, jp2h->len);
  append_box(file, "jp2c", BYTES(grey_stream));
  g_byte_array_unref(pclr);
  g_byte_array_unref(jp2h);
  return file;
}

static void test_palette(void)
{
  GByteArray *file = palette_file();
  Cj2kDecoder *decoder = open_decoder(1, 1);
  Cj2kImage image;
  Cj2kFrame frame;
  Cj2kError error;
  g_assert_cmpint(cj2k_decoder_read_header(decoder, file->data, file->len, &image, &error), ==,
                  CJ2K_OK);
  g_assert_cmpuint(image.num_components, ==, 2);
  g_assert_cmpuint(image.components[0].depth, ==, 10);
  g_assert_cmpuint(image.components[1].depth, ==, 8);
  g_assert_cmpint(image.colour, ==, CJ2K_COLOUR_SRGB);
  g_assert_cmpuint(image.channels[1].type, ==, 1);
  for (int i = 0; i < 2; i++) {
    cj2k_decoder_submit(decoder, file->data, file->len, NULL, NULL, NULL, &error);
    cj2k_decoder_receive(decoder, &frame);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    for (uint32_t y = 0; y < 9; y++) {
      for (uint32_t x = 0; x < 21; x++) {
        int32_t entry = MIN(stream_sample(0, x, y, 12), 255);
        g_assert_cmpint(own_sample(&frame, 0, x, y), ==, entry << 2 | 1);
        g_assert_cmpint(own_sample(&frame, 1, x, y), ==, 255 - entry);
      }
    }
    cj2k_decoder_release(decoder, &frame);
  }
  cj2k_decoder_close(decoder);
  g_byte_array_unref(file);
}

/* Decodes a file, which must give the expected status and, if it is an error, a text with these
 * words. */
static void decode_file(const GByteArray *file, bool strict, Cj2kStatus expected, const char *words)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  Cj2kFrame frame;

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.strict = strict;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  cj2k_decoder_submit(decoder, file->data, file->len, NULL, NULL, NULL, &error);
  cj2k_decoder_receive(decoder, &frame);
  g_assert_cmpint(frame.status, ==, expected);
  if (words && !strstr(frame.error.text, words))
    g_error("'%s' lacks '%s'", frame.error.text, words);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

/* Offset of the contents of a box in the file; the type's letters occur once. */
static size_t box_at(const GByteArray *file, const char *type)
{
  for (size_t i = 4; i + 4 <= file->len; i++)
    if (!memcmp(file->data + i, type, 4))
      return i + 4;
  g_assert_not_reached();
}

/* Boxes that contradict SIZ and indices beyond the palette are errors only for a strict decoder. */
static void test_strict_boxes(void)
{
  static const struct {
    const char *box;
    size_t offset;
    uint8_t value;
    const char *words; /* words of the strict decoder's error */
  } cases[] = {
      {"ihdr", 0, 0, "are indices beyond the 256 entries"},
      {"ihdr", 3, 8, "the ihdr box says 21 x 8, SIZ 21 x 9"},
      {"ihdr", 7, 22, "the ihdr box says 22 x 9, SIZ 21 x 9"},
      {"ihdr", 9, 2, "the ihdr box says 2 components, SIZ 1"},
      {"ihdr", 10, 7, "the ihdr box says 8 bits unsigned of component 0, SIZ 12 bits unsigned"},
      {"ihdr", 10, 0x8b, "the ihdr box says 12 bits signed"},
      {"ihdr", 10, 255, "bpcc"},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    GByteArray *file = palette_file();
    file->data[box_at(file, cases[i].box) + cases[i].offset] = cases[i].value;
    decode_file(file, false, CJ2K_OK, NULL);
    decode_file(file, true, CJ2K_ERROR_CODESTREAM, cases[i].words);
    g_byte_array_unref(file);
  }
  GByteArray *file = palette_file(); /* an unknown box in place of cmap */
  memcpy(file->data + box_at(file, "cmap") - 4, "xmap", 4);
  decode_file(file, false, CJ2K_OK, NULL);
  decode_file(file, true, CJ2K_ERROR_CODESTREAM, "pclr box without a cmap box");
  g_byte_array_unref(file);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/decoder/own-planes", test_own_planes);
  g_test_add_func("/decoder/tiles-in-shared-words", test_tiles_in_shared_words);
  g_test_add_func("/decoder/padding", test_padding);
  g_test_add_func("/decoder/alpha-and-fill", test_alpha_and_fill);
  g_test_add_func("/decoder/order", test_order);
  g_test_add_func("/decoder/close-in-flight", test_close_in_flight);
  g_test_add_func("/decoder/limits", test_limits);
  g_test_add_func("/decoder/max-time", test_max_time);
  g_test_add_func("/decoder/reduce", test_reduce);
  g_test_add_func("/decoder/truncated", test_truncated);
  g_test_add_func("/decoder/arguments", test_arguments);
  g_test_add_func("/decoder/filled-plane", test_filled_plane);
  g_test_add_func("/decoder/palette", test_palette);
  g_test_add_func("/decoder/strict-boxes", test_strict_boxes);
  return g_test_run();
}
