/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rate-effort=best: with HT more PSNR at the same budget, and targets of PSNR that are met; every
 * size of picture and code-block; the same bytes at all numbers of threads and frames in flight. It
 * changes nothing where there are no step sizes or no HT.
 */
#include "encoder-pictures.h"

static Cj2kEncoderParams params_of(const char *options)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  return params;
}

static double psnr_of(const TestPicture *picture, GBytes *bytes)
{
  double error = test_error(picture, bytes, 0);

  return error > 0 ? -10 * log10(error) : 200;
}

static GBytes *encode(const TestPicture *picture, const char *options, Cj2kRateEffort effort)
{
  Cj2kEncoderParams params = params_of(options);

  params.rate_effort = effort;
  return test_encode_valid(&params, picture);
}

static void test_gain(void)
{
  static const uint8_t one[] = {1, 1, 1}, two[] = {1, 2, 2};
  static const struct {
    Scene scene;
    uint32_t width, height, n, x0;
    const uint8_t *dx, *dy;
    const char *options;
    uint64_t budget;
    double least; /* gain in dB */
  } cases[] = {
      {SCENE_NOISE, 203, 141, 3, 0, one, one, "max-frame-bytes=30000", 30000, 0.1},
      {SCENE_SINE, 333, 222, 3, 1, two, one, "max-frame-bytes=40000", 40000, 0.1},
      {SCENE_SINE, 320, 240, 3, 0, two, two, "max-frame-bytes=15000 visual-weights=none", 15000,
       0.1},
      {SCENE_NATURAL, 211, 150, 1, 3, one, one,
       "max-frame-bytes=12000 tile-width=64 tile-height=51 codeblock-width=16 codeblock-height=32",
       12000, 0.1},
      {SCENE_TEXT, 200, 150, 1, 0, one, one, "max-frame-bytes=9000", 9000, 0.1},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    TestPicture picture;
    gchar *options = g_strconcat("block-coder=ht ", cases[i].options, NULL);
    test_picture_init(&picture, cases[i].scene, cases[i].width, cases[i].height, cases[i].n, 10,
                      false, cases[i].dx, cases[i].dy, cases[i].x0, cases[i].x0);
    Cj2kEncoderParams params = params_of(options);
    params.image_x0 = params.image_y0 = cases[i].x0;
    GBytes *fast = test_encode_valid(&params, &picture);
    params.rate_effort = CJ2K_EFFORT_BEST;
    GBytes *best = test_encode_valid(&params, &picture);
    double gain = psnr_of(&picture, best) - psnr_of(&picture, fast);
    g_assert_cmpuint(g_bytes_get_size(best), <=, cases[i].budget);
    g_test_message("case %zu: %.3f dB more, %zu and %zu bytes", i, gain, g_bytes_get_size(fast),
                   g_bytes_get_size(best));
    if (gain < cases[i].least)
      g_error("case %zu: %.3f dB", i, gain);
    g_bytes_unref(fast);
    g_bytes_unref(best);
    g_free(options);
    test_picture_clear(&picture);
  }
}

/* A target of PSNR is met as with fast, with fewer bytes. */
static void test_psnr(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_SINE, 301, 207, 3, 10, false, NULL, NULL, 0, 0);
  for (int target = 44; target <= 56; target += 6) {
    gchar *options = g_strdup_printf("block-coder=ht psnr=%d mct=off", target);
    GBytes *fast = encode(&picture, options, CJ2K_EFFORT_FAST),
           *best = encode(&picture, options, CJ2K_EFFORT_BEST);
    g_assert_cmpfloat(fabs(psnr_of(&picture, best) - psnr_of(&picture, fast)), <, 0.1);
    g_assert_cmpfloat((double)g_bytes_get_size(best), <, 0.985 * (double)g_bytes_get_size(fast));
    g_bytes_unref(fast);
    g_bytes_unref(best);
    g_free(options);
  }
  test_picture_clear(&picture);
}

/* Sizes at which quads are cut, and all shapes of code-blocks; a strict decoder takes them. */
static void test_sizes(void)
{
  static const char *const blocks[] = {
      "codeblock-width=4 codeblock-height=4", "codeblock-width=1024 codeblock-height=4",
      "codeblock-width=4 codeblock-height=1024", "codeblock-width=32 codeblock-height=64"};
  static const uint32_t sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 3}, {17, 33}, {64, 31}};

  for (size_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
    TestPicture picture;
    test_picture_init(&picture, SCENE_NOISE, sizes[s][0], sizes[s][1], 3, 16, false, NULL, NULL, 0,
                      0);
    for (size_t b = 0; b < G_N_ELEMENTS(blocks); b++)
      for (int q = 0; q < 3; q++) {
        static const double steps[] = {0.3, 0.01, 1e-6};
        Cj2kEncoderParams params = params_of(blocks[b]);
        params.block_coder = CJ2K_CODER_HT;
        params.quant_step = steps[q];
        params.rate_effort = CJ2K_EFFORT_BEST;
        GBytes *bytes = test_encode_valid(&params, &picture);
        /* Without a transform a coefficient would be off by one and a half steps at most. */
        g_assert_cmpfloat(sqrt(test_error(&picture, bytes, 0)), <, 2.5 * steps[q] + 1e-5);
        g_bytes_unref(bytes);
      }
    test_picture_clear(&picture);
  }
}

static void test_without_effect(void)
{
  static const char *const options[] = {
      "block-coder=mq quality=80", "block-coder=ht rate-control=lossless",
      "block-coder=ht reversible-transform=true max-frame-bytes=6000"};
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 120, 90, 3, 8, false, NULL, NULL, 0, 0);
  for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
    Cj2kEncoderParams params = params_of(options[i]);
    Cj2kError error = {0};
    GBytes *fast = encode(&picture, options[i], CJ2K_EFFORT_FAST),
           *best = encode(&picture, options[i], CJ2K_EFFORT_BEST);
    g_assert_true(g_bytes_equal(fast, best));
    params.rate_effort = CJ2K_EFFORT_BEST;
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
    const char *warning = cj2k_encoder_warning(encoder);
    g_assert_true(warning && strstr(warning, "rate-effort best has an effect"));
    cj2k_encoder_close(encoder);
    g_bytes_unref(fast);
    g_bytes_unref(best);
  }
  test_picture_clear(&picture);
}

#define FRAMES 20

static void test_in_flight(void)
{
  TestPicture picture;
  GBytes *first[FRAMES];

  test_picture_init(&picture, SCENE_SINE, 150, 110, 3, 8, false, NULL, NULL, 0, 0);
  for (uint32_t in_flight = 1; in_flight <= 16; in_flight += 5) {
    Cj2kEncoderParams params =
        params_of("block-coder=ht max-frame-bytes=6000 rate-effort=best codeblock-width=32");
    Cj2kError error = {0};
    Cj2kPacket packet;
    params.frames_in_flight = in_flight;
    params.num_threads = 1 + in_flight % 3;
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
    for (uint32_t submitted = 0, received = 0; received < FRAMES; received++) {
      for (; submitted < FRAMES && submitted - received < in_flight; submitted++)
        g_assert_cmpint(cj2k_encoder_submit(encoder, &picture.picture, NULL, &error), ==, CJ2K_OK);
      g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
      g_assert_cmpint(packet.status, ==, CJ2K_OK);
      if (in_flight == 1)
        first[received] = g_bytes_new(packet.data, packet.size);
      else
        g_assert_cmpmem(packet.data, packet.size, g_bytes_get_data(first[received], NULL),
                        g_bytes_get_size(first[received]));
      cj2k_encoder_release(encoder, &packet);
    }
    cj2k_encoder_close(encoder);
  }
  for (uint32_t i = 0; i < FRAMES; i++)
    g_bytes_unref(first[i]);
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate-effort/gain", test_gain);
  g_test_add_func("/rate-effort/psnr", test_psnr);
  g_test_add_func("/rate-effort/sizes", test_sizes);
  g_test_add_func("/rate-effort/without-effect", test_without_effect);
  g_test_add_func("/rate-effort/in-flight", test_in_flight);
  return g_test_run();
}
