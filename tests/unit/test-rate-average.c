/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * average-bitrate: the promise of the bucket, periods, peaks, statistics, and that neither threads
 * nor frames in flight nor cutting the film change a byte.
 *
 * test-rate-average [--backend cuda] [GLib's options]
 */
#include "effort.h"
#include "encoder-pictures.h"

static Cj2kBackendKind backend;

#define FRAMES 96
#define WIDTH  64
#define HEIGHT 48

static TestPicture film[FRAMES];

/* Scenes that are hard and easy to code, with cuts between them; the contrast changes from frame to
 * frame. */
static void make_film(void)
{
  static const Scene scenes[] = {SCENE_SINE,  SCENE_NOISE, SCENE_NATURAL,
                                 SCENE_BLACK, SCENE_NOISE, SCENE_TEXT};

  for (uint32_t i = 0; i < FRAMES; i++) {
    TestPicture *p = &film[i];
    test_picture_init(p, scenes[i / 16], WIDTH, HEIGHT, 3, 10, false, NULL, NULL, 0, 0);
    for (uint32_t c = 0; c < 3; c++)
      for (uint32_t j = 0; j < WIDTH * HEIGHT; j++) {
        uint16_t *sample = (uint16_t *)p->planes[c].data + j;
        *sample = (uint16_t)(*sample * (60 + i * 7 % 24) / 128);
      }
  }
}

typedef struct {
  const char *options;
  uint32_t first, last; /* frames of the film, which begins anew at its end; last excluded */
  uint32_t threads, in_flight;
  Cj2kStats stats; /* out */
} Run;

static Cj2kEncoderParams params_of(const Run *run, int coder)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.block_coder = (Cj2kBlockCoder)coder;
  params.frame_rate = 25;
  params.num_threads = run->threads;
  params.frames_in_flight = run->in_flight;
  params.first_frame = run->first;
  test_set_options(&params, run->options);
  return params;
}

/* Adds a GBytes for each frame to `list`. */
static void encode(Run *run, int coder, GPtrArray *list)
{
  Cj2kEncoderParams params = params_of(run, coder);
  Cj2kError error = {0};
  Cj2kPacket packet;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film[0].image, &film[0].layout, &error);

  if (!encoder)
    g_error("%s: %s", run->options, error.text);
  for (uint32_t submitted = run->first, received = run->first; received < run->last; received++) {
    for (; submitted < MIN(received + run->in_flight, run->last); submitted++)
      if (cj2k_encoder_submit(encoder, &film[submitted % FRAMES].picture, NULL, &error) != CJ2K_OK)
        g_error("frame %u: %s", submitted, error.text);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    if (packet.status != CJ2K_OK || packet.fallback)
      g_error("%s, frame %u: %s", run->options, received, packet.error.text);
    g_ptr_array_add(list, g_bytes_new(packet.data, packet.size));
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_get_stats(encoder, &run->stats);
  cj2k_encoder_close(encoder);
}

static GPtrArray *encode_frames(Run *run, int coder)
{
  GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

  encode(run, coder, list);
  return list;
}

static GPtrArray *encode_film(const char *options, int coder, uint32_t threads, uint32_t in_flight,
                              Cj2kStats *stats)
{
  Run run = {options, 0, FRAMES, threads, in_flight, {0}};
  GPtrArray *list = encode_frames(&run, coder);

  if (stats)
    *stats = run.stats;
  return list;
}

static gsize size_of(GPtrArray *list, guint i)
{
  return g_bytes_get_size(g_ptr_array_index(list, i));
}

static uint64_t total_of(GPtrArray *list)
{
  uint64_t total = 0;

  for (guint i = 0; i < list->len; i++)
    total += size_of(list, i);
  return total;
}

/* Bytes a frame at 200 and at 600 kbit/s, with 25 frames a second. */
#define RATE 1000
#define PEAK 3000

static const char *const rates[] = {
    "average-bitrate=200 average-window=16",
    "average-bitrate=200 average-window=40 rate-period=32 bitrate=600",
    "average-bitrate=200 average-window=24 rate-control=quality quality=95 rate-period=0",
    "average-bitrate=200 average-window=20 psnr=48 rate-period=48 max-frame-bytes=3000",
};

static uint32_t option_of(const char *options, const char *name, uint32_t standard)
{
  const char *at = strstr(options, name);

  return at ? (uint32_t)g_ascii_strtoull(at + strlen(name), NULL, 10) : standard;
}

/* Any run of frames keeps to the bucket, whole periods to the average, and frames to the peak. */
static void check_promise(const char *options, GPtrArray *list, const Cj2kStats *stats)
{
  uint32_t window = option_of(options, "average-window=", 120),
           period = option_of(options, "rate-period=", 0);
  bool peak = strstr(options, " bitrate=600") || strstr(options, "max-frame-bytes=3000");
  double level = RATE * window / 2.0, capacity = RATE * (double)window;
  uint64_t in_period = 0;

  for (guint i = 0; i < list->len; i++) {
    gsize size = size_of(list, i);
    if (period && i % period == 0)
      in_period = 0, level = capacity / 2;
    in_period += size;
    level = MAX(level + (double)size - RATE, 0);
    if (level > capacity)
      g_error("%s, frame %u: %.0f bytes in the bucket of %.0f", options, i, level, capacity);
    if (peak)
      g_assert_cmpuint(size, <=, PEAK);
    if (period && i % period == period - 1)
      g_assert_cmpuint(in_period, <=, (uint64_t)RATE * period);
  }
  g_assert_cmpuint(stats->average_bytes, ==, RATE);
  g_assert_cmpuint(stats->bucket_bytes, ==, (uint64_t)capacity);
  g_assert_cmpuint(stats->bucket_level, ==, (uint64_t)level);
}

static void test_promise(void)
{
  for (size_t r = 0; r < G_N_ELEMENTS(rates); r++)
    for (int coder = 0; coder < 2; coder++) {
      Cj2kStats stats;
      GPtrArray *list = encode_film(rates[r], coder, 2, 4, &stats);
      uint64_t total = total_of(list);
      check_promise(rates[r], list, &stats);
      /* A sixth of the film is black and takes nothing, and credit for it does not last. */
      g_assert_cmpuint(total, >, RATE * FRAMES * 6 / 10);
      g_assert_cmpuint(stats.limited_frames, >, 0);
      g_ptr_array_unref(list);
    }
}

/* Nothing is forgotten by default, so that what holds for a window holds for a stream of any
 * length: the whole takes half a window more than its average at most. */
static void test_long(void)
{
  static const struct {
    const char *options;
    double used; /* part of the average that must be used */
  } streams[] = {
      {"average-bitrate=200 average-window=16", 0.6},
      {"average-bitrate=200 average-window=150 bitrate=600", 0.8},
      {"average-bitrate=200 average-window=60 quality=95", 0.6},
  };

  for (size_t s = 0; s < G_N_ELEMENTS(streams); s++)
    for (int coder = 0; coder < 2; coder++) {
      Run run = {streams[s].options, 0, 4 * FRAMES, 2, 4, {0}};
      GPtrArray *list = encode_frames(&run, coder);
      uint64_t total = total_of(list);
      check_promise(streams[s].options, list, &run.stats);
      g_assert_cmpuint(total, <=,
                       RATE * (list->len + option_of(streams[s].options, "window=", 0) / 2));
      g_assert_cmpfloat((double)total, >, streams[s].used * RATE * list->len);
      g_ptr_array_unref(list);
    }
}

/* A hard scene gets more than the easy one before it, as far as the window lets it. */
static void test_uneven(void)
{
  for (int coder = 0; coder < 2; coder++) {
    GPtrArray *list = encode_film("average-bitrate=200 average-window=90", coder, 2, 2, NULL);
    uint64_t easy = 0, hard = 0;
    for (guint i = 8; i < 16; i++)
      easy += size_of(list, i), hard += size_of(list, i + 8);
    if (hard < easy * 3 / 2)
      g_error("%s: %" G_GUINT64_FORMAT " bytes after %" G_GUINT64_FORMAT, coder ? "HT" : "MQ", hard,
              easy);
    g_ptr_array_unref(list);
  }
}

static void assert_same(GPtrArray *a, GPtrArray *b, const char *options)
{
  g_assert_cmpuint(a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    if (!g_bytes_equal(g_ptr_array_index(a, i), g_ptr_array_index(b, i)))
      g_error("%s: frame %u differs", options, i);
}

static void test_in_flight(void)
{
  static const uint32_t in_flight[] = {1, 16, CJ2K_MAX_IN_FLIGHT};
  size_t count = test_is_short() ? 1 : G_N_ELEMENTS(rates);

  for (size_t r = 0; r < count; r++)
    for (int coder = 0; coder < 2; coder++) {
      GPtrArray *one = encode_film(rates[r], coder, 1, 1, NULL);
      for (uint32_t i = 1; i < G_N_ELEMENTS(in_flight); i++) {
        GPtrArray *list = encode_film(rates[r], coder, 1 + i % 3, in_flight[i], NULL);
        assert_same(one, list, rates[r]);
        g_ptr_array_unref(list);
      }
      g_ptr_array_unref(one);
    }
}

static void test_parts(void)
{
  for (int coder = 0; coder < 2; coder++) {
    const char *options = rates[1];
    GPtrArray *whole = encode_film(options, coder, 2, 3, NULL);
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (uint32_t first = 0; first < FRAMES; first += 32) {
      Run run = {options, first, first + 32, 2, 5, {0}};
      encode(&run, coder, list);
    }
    assert_same(whole, list, options);
    g_ptr_array_unref(list);
    g_ptr_array_unref(whole);
  }
}

/* An average that does not bind leaves a quality as it is. */
static void test_loose(void)
{
  for (int coder = 0; coder < 2; coder++) {
    Cj2kStats stats;
    GPtrArray *plain = encode_film("quality=70", coder, 2, 2, NULL);
    GPtrArray *loose = encode_film("quality=70 average-bitrate=90000", coder, 2, 2, &stats);
    assert_same(plain, loose, "quality=70");
    g_assert_cmpuint(stats.limited_frames, ==, 0);
    g_ptr_array_unref(plain);
    g_ptr_array_unref(loose);
  }
}

/* Equal frames settle at the average. */
static void test_steady(void)
{
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params = params_of(&(Run){rates[0], 0, 0, 2, 3, {0}}, coder);
    Cj2kError error = {0};
    Cj2kPacket packet;
    uint64_t total = 0;
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film[0].image, &film[0].layout, &error);
    for (uint32_t i = 0; i < 120; i++) {
      g_assert_cmpint(cj2k_encoder_submit(encoder, &film[20].picture, NULL, &error), ==, CJ2K_OK);
      g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
      g_assert_cmpint(packet.status, ==, CJ2K_OK);
      g_assert_false(packet.fallback);
      total += packet.size;
      cj2k_encoder_release(encoder, &packet);
    }
    cj2k_encoder_close(encoder);
    g_assert_cmpuint(total, >, 120 * RATE * 95 / 100);
    g_assert_cmpuint(total, <, 120 * RATE * 105 / 100);
  }
}

/* --- parameters --- */

static void test_refused(void)
{
  static const struct {
    const char *options, *words;
  } cases[] = {
      {"average-bitrate=200 framerate=0", "average-bitrate needs a frame rate"},
      {"average-bitrate=200 rate-control=lossless", "requires a lossy rate-control"},
      {"average-bitrate=200 reversible-transform=true", "needs step sizes"},
      {"average-bitrate=200 bitrate=199", "1000 bytes a frame are more than the ceiling"},
      {"average-bitrate=200 max-frame-bytes=900", "more than the ceiling of a frame, 900"},
      {"average-bitrate=4", "half the average, but headers need"},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Cj2kEncoderParams params = params_of(&(Run){cases[i].options, 0, 0, 1, 1, {0}}, 0);
    Cj2kError error = {0};
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film[0].image, &film[0].layout, &error);
    g_assert_null(encoder);
    if (!strstr(error.text, cases[i].words))
      g_error("%s: %s", cases[i].options, error.text);
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
  }
}

static void test_change(void)
{
  Cj2kEncoderParams params = params_of(&(Run){rates[0], 0, 0, 1, 2, {0}}, 1);
  Cj2kError error = {0};
  Cj2kPacket packet;
  Cj2kStats stats;
  uint64_t late = 0;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film[0].image, &film[0].layout, &error);

  for (uint32_t i = 0; i < 100; i++) {
    if (i == 40) {
      params.average_bitrate = 100;
      g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
      params.average_bitrate = 0;
      g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_ERROR_ARGUMENT);
      params.average_bitrate = 100;
    }
    g_assert_cmpint(cj2k_encoder_submit(encoder, &film[20].picture, NULL, &error), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    g_assert_false(packet.fallback);
    late += i >= 70 ? packet.size : 0;
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_get_stats(encoder, &stats);
  g_assert_cmpuint(stats.average_bytes, ==, 500);
  g_assert_cmpuint(late, <, 30 * 600);
  g_assert_cmpuint(late, >, 30 * 350);
  cj2k_encoder_close(encoder);
}

int main(int argc, char **argv)
{
  backend = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(backend))
    return 0;
  make_film();
  g_test_add_func("/rate-average/promise", test_promise);
  g_test_add_func("/rate-average/long", test_long);
  g_test_add_func("/rate-average/uneven", test_uneven);
  g_test_add_func("/rate-average/in-flight", test_in_flight);
  g_test_add_func("/rate-average/parts", test_parts);
  g_test_add_func("/rate-average/loose", test_loose);
  g_test_add_func("/rate-average/steady", test_steady);
  g_test_add_func("/rate-average/refused", test_refused);
  g_test_add_func("/rate-average/change", test_change);
  int status = g_test_run();
  for (uint32_t i = 0; i < FRAMES; i++)
    test_picture_clear(&film[i]);
  return status;
}
