/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * quality, psnr and qstep below a ceiling, over pictures, sizes and both block coders:
 *   - a ceiling that does not bind changes no byte;
 *   - no codestream exceeds a ceiling, and one that binds is used;
 *   - the picture hardly loses when a ceiling that binds rises;
 *   - nor when the budget of a frame rises above the ceilings of its components;
 *   - bitrate, bits-per-pixel and max-frame-bytes are the same ceiling;
 *   - a frame's bytes depend neither on other frames nor on threads.
 * CJ2K_TESTS_LONG=1 tests more pictures and ceilings.
 *
 * test-rate-ceiling [--backend cuda] [GLib's options]
 */
#include "effort.h"
#include "encoder-pictures.h"

static Cj2kBackendKind backend;

#define MIN_USED 0.97
/* dB that a higher ceiling may cost while it binds. */
#define MAX_FALL 0.1
/* The same for a ceiling of components, and what it may cost against one of the frame. */
#define MAX_FALL_COMPONENT 0.3
#define MAX_COST_COMPONENT 1.5
/* With visual weights PSNR is not what is optimised. */
#define MAX_FALL_WEIGHTED 0.5
#define LOSSLESS          200 /* dB */

static const char *const targets[] = {
    "rate-control=quality quality=80",
    "rate-control=quality quality=70 visual-weights=none",
    "rate-control=quality quality=75 visual-weights=csf",
    "rate-control=psnr psnr=38",
    "rate-control=qstep quant-step=0.004",
};

static bool is_weighted(const char *target)
{
  return strstr(target, "quality=80") || strstr(target, "csf");
}

static Cj2kEncoderParams params_of(const char *target, int coder)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.block_coder = (Cj2kBlockCoder)coder;
  test_set_options(&params, target);
  return params;
}

static double psnr_of(const TestPicture *picture, GBytes *bytes)
{
  double error = test_error(picture, bytes, 0);

  return error > 0 ? -10 * log10(error) : LOSSLESS;
}

/* Ceilings from a small part of the unlimited size up to more than it. */
static void check_ceilings(const char *target, int coder, const TestPicture *picture)
{
  Cj2kEncoderParams params = params_of(target, coder);
  GBytes *plain = test_encode_valid(&params, picture);
  const double size = (double)g_bytes_get_size(plain), step = test_is_long() ? 1.11 : 1.6;
  double best = 0, max_fall = is_weighted(target) ? MAX_FALL_WEIGHTED : MAX_FALL;

  for (double part = 0.12; part < 2; part *= step) {
    uint64_t ceiling = MAX((uint64_t)(size * part), 1200);
    params.max_frame_bytes = ceiling;
    GBytes *bytes = test_encode_valid(&params, picture);
    double used = (double)g_bytes_get_size(bytes), psnr = psnr_of(picture, bytes);
    g_assert_cmpuint(g_bytes_get_size(bytes), <=, ceiling);
    if ((double)ceiling >= size)
      g_assert_true(g_bytes_equal(bytes, plain));
    else if (used < MIN_USED * (double)ceiling)
      g_error("%s, %s, %ux%u: %.0f of %" G_GUINT64_FORMAT " bytes used", target,
              coder ? "HT" : "MQ", picture->width, picture->height, used, ceiling);
    if ((double)ceiling < size && psnr < best - max_fall)
      g_error("%s, %s, %ux%u: %" G_GUINT64_FORMAT " bytes give %.3f dB, fewer give %.3f", target,
              coder ? "HT" : "MQ", picture->width, picture->height, ceiling, psnr, best);
    best = MAX(best, psnr);
    g_bytes_unref(bytes);
  }
  params.max_frame_bytes = (uint64_t)size;
  GBytes *exact = test_encode_valid(&params, picture);
  g_assert_true(g_bytes_equal(exact, plain));
  g_bytes_unref(exact);
  g_bytes_unref(plain);
}

static void test_ceilings(void)
{
  static const Scene scenes[] = {SCENE_NATURAL, SCENE_SINE, SCENE_TEXT, SCENE_NOISE};
  GRand *rand = g_rand_new_with_seed(170);

  for (uint32_t i = 0; i < (test_is_long() ? 40 : 4); i++) {
    TestPicture picture;
    static const uint8_t half[] = {1, 2, 2}, full[] = {1, 1, 1};
    uint32_t width = (uint32_t)g_rand_int_range(rand, 97, 260),
             height = (uint32_t)g_rand_int_range(rand, 65, 200), n = i % 3 ? 3 : 1;
    test_picture_init(&picture, scenes[i % G_N_ELEMENTS(scenes)], width, height, n, i % 2 ? 10 : 8,
                      false, i % 4 == 1 ? half : full, full, 0, 0);
    for (size_t t = 0; t < G_N_ELEMENTS(targets); t++)
      check_ceilings(targets[t], (int)(i + t) % 2, &picture);
    test_picture_clear(&picture);
  }
  g_rand_free(rand);
}

/* Ceilings of components limit a target as well: they only take bytes away, from the components
 * that are above them, and it costs about what it costs a whole frame. */
static void check_components(const char *target, int coder, const TestPicture *picture)
{
  Cj2kEncoderParams params = params_of(target, coder);
  GBytes *plain = test_encode_valid(&params, picture);
  uint64_t size = g_bytes_get_size(plain);
  double best = 0;

  for (uint64_t ceiling = 3000;; ceiling += ceiling / 3) {
    params.max_component_bytes = ceiling;
    GBytes *bytes = test_encode_valid(&params, picture);
    uint64_t used = g_bytes_get_size(bytes);
    g_assert_cmpuint(used, <=, size);
    if (used == size) {
      g_assert_true(g_bytes_equal(bytes, plain));
      g_bytes_unref(bytes);
      break;
    }
    g_assert_cmpuint(used, <=, picture->num_components * ceiling + 1000);
    /* A ceiling of the frame above that changes nothing for the worse. */
    params.max_frame_bytes = used + used / 4;
    GBytes *both = test_encode_valid(&params, picture);
    g_assert_cmpuint(g_bytes_get_size(both), <=, used);
    g_assert_cmpfloat(psnr_of(picture, both), >=, psnr_of(picture, bytes) - MAX_FALL_COMPONENT);
    g_bytes_unref(both);
    params.max_frame_bytes = 0;
    Cj2kEncoderParams whole = params_of(target, coder);
    whole.max_frame_bytes = used;
    GBytes *other = test_encode_valid(&whole, picture);
    double psnr = psnr_of(picture, bytes), of_whole = psnr_of(picture, other);
    g_test_message("%s, %s, %ux%u: component of %u bytes: %u bytes, %.2f dB; frame: %.2f dB",
                   target, coder ? "HT" : "MQ", picture->width, picture->height, (guint)ceiling,
                   (guint)used, psnr, of_whole);
    g_assert_cmpfloat(psnr, >=, best - MAX_FALL_COMPONENT);
    g_assert_cmpfloat(psnr, >=, of_whole - MAX_COST_COMPONENT);
    best = MAX(best, psnr);
    g_bytes_unref(bytes);
    g_bytes_unref(other);
  }
  g_bytes_unref(plain);
}

static void test_components(void)
{
  static const Scene scenes[] = {SCENE_TEXT, SCENE_NOISE, SCENE_NATURAL};

  for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++)
    for (uint32_t n = 1; n <= 3; n += 2) {
      TestPicture picture;
      test_picture_init(&picture, scenes[i], 200, 150, n, i ? 8 : 12, false, NULL, NULL, 0, 0);
      for (int coder = 0; coder < 2; coder++)
        check_components(n == 1 ? "rate-control=quality quality=95 visual-weights=none"
                                : "rate-control=psnr psnr=42",
                         coder, &picture);
      test_picture_clear(&picture);
    }
}

/* A lossless frame does not give bytes away; the error names the component. */
static void test_lossless_component(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NOISE, 64, 48, 3, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params = params_of("rate-control=lossless max-component-bytes=2000", coder);
    Cj2kError error = {0};
    g_assert_null(test_encode(&params, &picture, &error));
    g_assert_nonnull(strstr(error.text, "component 0 of the lossless frame needs "));
    g_assert_nonnull(strstr(error.text, "more than the 2000 that are allowed"));
  }
  test_picture_clear(&picture);
}

/* Headers take a large part of the bytes: MQ passes end separately in small precincts, and HT
 * blocks are small. */
static void check_component_rise(int coder, const TestPicture *picture)
{
  Cj2kEncoderParams params =
      params_of(coder ? "rate-control=cbr num-resolutions=1 codeblock-width=16 codeblock-height=4"
                      : "rate-control=cbr num-resolutions=1 codeblock-width=32 precincts=16x16 "
                        "codeblock-style=bypass+reset+termall reversible-transform=true mct=off",
                coder);
  double best = 0;

  params.max_component_bytes = 8000;
  for (uint64_t budget = 12000; budget < 100000; budget += budget / 3) {
    params.max_frame_bytes = budget;
    GBytes *bytes = test_encode_valid(&params, picture);
    double psnr = psnr_of(picture, bytes), size = (double)g_bytes_get_size(bytes);
    g_test_message("%s, %u bytes, %.0f used: %.2f dB", coder ? "HT" : "MQ", (guint)budget, size,
                   psnr);
    g_assert_cmpfloat(size, <=, MIN((double)budget, 3 * 8000 + 1000));
    g_assert_cmpfloat(psnr, >=, MAX(best - MAX_FALL, 25));
    best = MAX(best, psnr);
    g_bytes_unref(bytes);
  }
}

static void test_component_rise(void)
{
  static const Scene scenes[] = {SCENE_NATURAL, SCENE_TEXT, SCENE_SINE};

  for (size_t i = 0; i < 2 * G_N_ELEMENTS(scenes); i++) {
    TestPicture picture;
    test_picture_init(&picture, scenes[i / 2], 128, 90, 3, 10, false, NULL, NULL, 0, 0);
    check_component_rise(i % 2, &picture);
    test_picture_clear(&picture);
  }
}

static void test_same_ceiling(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NOISE, 160, 100, 3, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    static const char *const ceilings[] = {"max-frame-bytes=3000", "bits-per-pixel=1.5",
                                           "bitrate=600 framerate=25"};
    GBytes *all[G_N_ELEMENTS(ceilings)];
    for (size_t i = 0; i < G_N_ELEMENTS(ceilings); i++) {
      Cj2kEncoderParams params = params_of("quality=90", coder);
      test_set_options(&params, ceilings[i]);
      all[i] = test_encode_valid(&params, &picture);
      g_assert_cmpuint(g_bytes_get_size(all[i]), <=, 3000);
      g_assert_true(g_bytes_equal(all[i], all[0]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(ceilings); i++)
      g_bytes_unref(all[i]);
  }
  test_picture_clear(&picture);
}

#define FRAMES 21

/* Frames of which a ceiling binds some: each has the bytes that it has alone. */
static void test_sequences(void)
{
  static const Scene scenes[] = {SCENE_NATURAL, SCENE_SINE, SCENE_NOISE, SCENE_BLACK};
  TestPicture frames[FRAMES];
  GBytes *alone[FRAMES];

  for (int i = 0; i < FRAMES; i++)
    test_picture_init(&frames[i], scenes[i / 3 % 4], 120, 90, 3, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params = params_of("psnr=42 max-frame-bytes=4000", coder);
    int limited = 0;
    for (int i = 0; i < FRAMES; i++) {
      alone[i] = test_encode_valid(&params, &frames[i]);
      limited += g_bytes_get_size(alone[i]) > 3800;
      g_assert_cmpuint(g_bytes_get_size(alone[i]), <=, 4000);
    }
    g_assert_cmpint(limited, >, 2);
    g_assert_cmpint(limited, <, FRAMES - 2);
    for (uint32_t in_flight = 1; in_flight <= 16; in_flight += 5) {
      Cj2kError error = {0};
      Cj2kPacket packet;
      params.frames_in_flight = in_flight;
      params.num_threads = 1 + in_flight % 3;
      Cj2kEncoder *encoder =
          cj2k_encoder_open(&params, &frames[0].image, &frames[0].layout, &error);
      for (uint32_t submitted = 0, received = 0; received < FRAMES; received++) {
        for (; submitted < FRAMES && submitted - received < in_flight; submitted++)
          cj2k_encoder_submit(encoder, &frames[submitted].picture, NULL, &error);
        g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
        g_assert_cmpint(packet.status, ==, CJ2K_OK);
        g_assert_false(packet.fallback);
        g_assert_cmpmem(packet.data, packet.size, g_bytes_get_data(alone[received], NULL),
                        g_bytes_get_size(alone[received]));
        cj2k_encoder_release(encoder, &packet);
      }
      cj2k_encoder_close(encoder);
    }
    for (int i = 0; i < FRAMES; i++)
      g_bytes_unref(alone[i]);
  }
  for (int i = 0; i < FRAMES; i++)
    test_picture_clear(&frames[i]);
}

int main(int argc, char **argv)
{
  backend = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(backend))
    return 0;
  g_test_add_func("/rate-ceiling/ceilings", test_ceilings);
  g_test_add_func("/rate-ceiling/components", test_components);
  g_test_add_func("/rate-ceiling/lossless-component", test_lossless_component);
  g_test_add_func("/rate-ceiling/component-rise", test_component_rise);
  g_test_add_func("/rate-ceiling/same", test_same_ceiling);
  g_test_add_func("/rate-ceiling/sequences", test_sequences);
  return g_test_run();
}
