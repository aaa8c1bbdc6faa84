/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A film that is cut at multiples of rate-period and encoded in parts has the bytes of one run.
 *
 * test-rate-period [--backend cuda] [GLib's options]
 */
#include "encoder-pictures.h"

#define FRAMES 42

static Cj2kBackendKind backend;
static TestPicture film[FRAMES];

/* Four scenes with cuts between them; within a scene the contrast changes from frame to frame, so
 * that each frame needs other steps. */
static void make_film(void)
{
  static const uint32_t cuts[] = {0, 5, 24, 33, FRAMES};
  static const Scene scenes[] = {SCENE_NATURAL, SCENE_SINE, SCENE_TEXT, SCENE_NATURAL};

  for (uint32_t i = 0, scene = 0; i < FRAMES; i++) {
    scene += i == cuts[scene + 1];
    TestPicture *p = &film[i];
    test_picture_init(p, scenes[scene], 125, 70, 3, 10, false, NULL, NULL, 0, 0);
    for (uint32_t c = 0; c < 3; c++)
      for (uint32_t j = 0; j < p->width * p->height; j++) {
        uint16_t *sample = (uint16_t *)p->planes[c].data + j;
        *sample = (uint16_t)(*sample * (40 + i * 7 % 24 + i) / 128);
      }
  }
}

typedef struct {
  Cj2kBlockCoder coder;
  uint32_t period, threads, in_flight;
} Way;

static Cj2kEncoderParams params_of(const Way *way)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.block_coder = way->coder;
  params.bits_per_pixel = 1.5;
  params.num_threads = way->threads;
  params.frames_in_flight = way->in_flight;
  params.rate_period = way->period;
  return params;
}

/* Encodes frames first to last - 1; adds a GBytes for each to `list`. */
static void encode(const Way *way, uint32_t first, uint32_t last, GPtrArray *list)
{
  Cj2kEncoderParams params = params_of(way);
  Cj2kError error = {0};
  Cj2kPacket packet;

  params.first_frame = first;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &film[0].image, &film[0].layout, &error);
  if (!encoder)
    g_error("encoder: %s", error.text);
  for (uint32_t submitted = first, received = first; received < last; received++) {
    for (; submitted < MIN(received + way->in_flight, last); submitted++)
      if (cj2k_encoder_submit(encoder, &film[submitted].picture, NULL, &error) != CJ2K_OK)
        g_error("frame %u: %s", submitted, error.text);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    if (packet.status != CJ2K_OK || packet.fallback)
      g_error("frame %u: %s", received, packet.error.text);
    g_ptr_array_add(list, g_bytes_new(packet.data, packet.size));
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
}

/* Encodes the film in parts of a multiple of the period; step 0: in one. */
static GPtrArray *encode_parts(const Way *way, uint32_t step)
{
  GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

  for (uint32_t first = 0; first < FRAMES; first += step ? step : FRAMES)
    encode(way, first, step ? MIN(first + step, FRAMES) : FRAMES, list);
  return list;
}

static void assert_same(GPtrArray *a, GPtrArray *b)
{
  g_assert_cmpuint(a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    if (!g_bytes_equal(g_ptr_array_index(a, i), g_ptr_array_index(b, i)))
      g_error("frame %u differs", i);
}

static void check_parts(Cj2kBlockCoder coder)
{
  static const uint32_t periods[] = {1, 5, 12};

  for (size_t i = 0; i < G_N_ELEMENTS(periods); i++) {
    const Way one = {coder, periods[i], 2, 3};
    GPtrArray *whole = encode_parts(&one, 0);
    for (uint32_t parts = 1; parts <= 2; parts++) {
      const Way way = {coder, periods[i], parts, parts == 1 ? 1 : 16};
      GPtrArray *list = encode_parts(&way, parts * periods[i]);
      assert_same(whole, list);
      g_ptr_array_unref(list);
    }
    g_ptr_array_unref(whole);
  }
}

static void test_parts_mq(void)
{
  check_parts(CJ2K_CODER_MQ);
}

static void test_parts_ht(void)
{
  check_parts(CJ2K_CODER_HT);
}

/* A part that begins between two multiples of the period is like one run from the next multiple on,
 * and is not before: if it were, the tests above would show nothing. */
static void test_between(void)
{
  for (int coder = 0; coder < 2; coder++) {
    const Way way = {(Cj2kBlockCoder)coder, 12, 2, 4};
    GPtrArray *whole = encode_parts(&way, 0);
    GPtrArray *part = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    guint same_before = 0;
    encode(&way, 7, FRAMES, part);
    for (guint i = 7; i < FRAMES; i++) {
      bool same = g_bytes_equal(g_ptr_array_index(whole, i), g_ptr_array_index(part, i - 7));
      if (i < 12)
        same_before += same;
      else if (!same)
        g_error("frame %u differs", i);
    }
    g_assert_cmpuint(same_before, <, 5);
    g_ptr_array_unref(part);
    g_ptr_array_unref(whole);
  }
}

/* Period 0 forgets nothing, and a period that is longer than the film is the same. */
static void test_never(void)
{
  for (int coder = 0; coder < 2; coder++) {
    const Way never = {(Cj2kBlockCoder)coder, 0, 2, 4}, later = {(Cj2kBlockCoder)coder, 240, 2, 4},
              often = {(Cj2kBlockCoder)coder, 12, 2, 4};
    GPtrArray *a = encode_parts(&never, 0), *b = encode_parts(&later, 0),
              *c = encode_parts(&often, 0);
    guint same = 0;
    assert_same(a, b);
    for (guint i = 0; i < FRAMES; i++)
      same += g_bytes_equal(g_ptr_array_index(a, i), g_ptr_array_index(c, i));
    g_assert_cmpuint(same, >=, 12); /* the first period */
    g_assert_cmpuint(same, <, FRAMES);
    g_ptr_array_unref(a);
    g_ptr_array_unref(b);
    g_ptr_array_unref(c);
  }
}

int main(int argc, char **argv)
{
  backend = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(backend))
    return 0;
  make_film();
  g_test_add_func("/rate-period/parts/mq", test_parts_mq);
  g_test_add_func("/rate-period/parts/ht", test_parts_ht);
  g_test_add_func("/rate-period/between", test_between);
  g_test_add_func("/rate-period/never", test_never);
  int result = g_test_run();
  for (uint32_t i = 0; i < FRAMES; i++)
    test_picture_clear(&film[i]);
  return result;
}
