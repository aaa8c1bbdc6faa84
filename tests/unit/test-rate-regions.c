/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions of interest: their PSNR rises with their weight, no budget is exceeded, and neither
 * threads nor earlier frames change a byte. Over pictures, odd sizes, sub-sampling, tiles and both
 * block coders.
 *
 * test-rate-regions [--backend cuda] [GLib's options]
 */
#include "encoder-pictures.h"

static Cj2kBackendKind backend;

typedef struct {
  double inside, outside; /* PSNR in dB */
} Result;

static Cj2kEncoderParams params_of(int coder, const char *options)
{
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.block_coder = (Cj2kBlockCoder)coder;
  params.codeblock_width = params.codeblock_height = 32;
  test_set_options(&params, options);
  return params;
}

static bool is_inside(const Cj2kRegion *region, uint32_t x, uint32_t y)
{
  return x >= region->x && x - region->x < region->width && y >= region->y &&
         y - region->y < region->height;
}

static Result measure(const TestPicture *picture, GBytes *bytes, const Cj2kRegion *region)
{
  double sums[2] = {1e-12, 1e-12};
  gsize counts[2] = {1, 1}, n, at = 0;
  double *differences = test_differences(picture, bytes, 0, &n);

  for (uint32_t c = 0; c < picture->num_components; c++) {
    const Cj2kComponent *component = &picture->components[c];
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      for (uint32_t x = 0; x < component->x1 - component->x0; x++, at++) {
        bool inside = is_inside(region, x * component->dx, y * component->dy);
        sums[inside] += differences[at] * differences[at];
        counts[inside]++;
      }
  }
  g_assert_cmpuint(at, ==, n);
  g_free(differences);
  return (Result){-10 * log10(sums[1] / (double)counts[1]),
                  -10 * log10(sums[0] / (double)counts[0])};
}

/* A larger weight gives the region more; one below 1 less. */
static void check_weights(int coder, const TestPicture *picture, const Cj2kRegion *where,
                          const char *options)
{
  static const double weights[] = {1.0 / 16, 1, 4, 16, 64};
  Cj2kEncoderParams params = params_of(coder, options);
  double last = 0, at_1 = 0;

  params.num_regions = 1;
  params.regions[0] = *where;
  for (size_t i = 0; i < G_N_ELEMENTS(weights); i++) {
    params.regions[0].weight = weights[i];
    GBytes *bytes = test_encode_valid(&params, picture);
    g_assert_cmpuint(g_bytes_get_size(bytes), <=, params.max_frame_bytes);
    g_assert_cmpfloat((double)g_bytes_get_size(bytes), >=, 0.95 * (double)params.max_frame_bytes);
    Result result = measure(picture, bytes, where);
    if (result.inside < last - 0.1)
      g_error("%s, %s, %ux%u: weight %g gives %.2f dB, less gives %.2f", options,
              coder ? "HT" : "MQ", picture->width, picture->height, weights[i], result.inside,
              last);
    last = MAX(last, result.inside);
    if (weights[i] == 1)
      at_1 = result.inside;
    g_bytes_unref(bytes);
  }
  if (last < at_1 + 2)
    g_error("%s, %s, %ux%u: weight 64 gives %.2f dB, weight 1 %.2f", options, coder ? "HT" : "MQ",
            picture->width, picture->height, last, at_1);
}

static void test_weights(void)
{
  static const struct {
    Scene scene;
    uint32_t width, height, dx, dy;
    Cj2kRegion region;
    const char *options;
  } cases[] = {
      {SCENE_NOISE,
       301,
       203,
       1,
       1,
       {.x = 33, .y = 17, .width = 131, .height = 97},
       "max-frame-bytes=30000"},
      {SCENE_NOISE,
       257,
       190,
       2,
       1,
       {.x = 120, .y = 1, .width = 137, .height = 80},
       "max-frame-bytes=20000"},
      {SCENE_NOISE,
       260,
       190,
       2,
       2,
       {.x = 0, .y = 100, .width = 99, .height = 90},
       "max-frame-bytes=9000 tile-width=128 tile-height=96 tile-offset-x=0"},
      {SCENE_SINE,
       320,
       240,
       1,
       1,
       {.x = 64, .y = 64, .width = 128, .height = 96},
       "max-frame-bytes=8000 image-offset-x=5 image-offset-y=3"},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    const uint8_t dx[] = {1, (uint8_t)cases[i].dx, (uint8_t)cases[i].dx},
                  dy[] = {1, (uint8_t)cases[i].dy, (uint8_t)cases[i].dy};
    bool offset = strstr(cases[i].options, "offset-x=5");
    TestPicture picture;
    test_picture_init(&picture, cases[i].scene, cases[i].width, cases[i].height, 3, 10, false, dx,
                      dy, offset ? 5 : 0, offset ? 3 : 0);
    if (cases[i].dx > 1)
      picture.image.colour = CJ2K_COLOUR_SYCC;
    for (int coder = 0; coder < 2; coder++)
      check_weights(coder, &picture, &cases[i].region, cases[i].options);
    test_picture_clear(&picture);
  }
}

/* Regions that change nothing: outside of the picture, or of weight 1. */
static void test_without_effect(void)
{
  static const char *const rois[] = {"roi=5000,5000,20,20,8", "roi=4294967295,0,4294967295,1,8",
                                     "roi=10,10,30,30,1"};
  TestPicture picture;

  test_picture_init(&picture, SCENE_NOISE, 133, 99, 1, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++)
    for (size_t i = 0; i < G_N_ELEMENTS(rois); i++) {
      Cj2kEncoderParams params = params_of(coder, "max-frame-bytes=3000");
      test_set_options(&params, rois[i]);
      GBytes *bytes = test_encode_valid(&params, &picture);
      g_assert_cmpuint(g_bytes_get_size(bytes), <=, 3000);
      g_assert_cmpuint(g_bytes_get_size(bytes), >=, 2850);
      g_bytes_unref(bytes);
    }
  test_picture_clear(&picture);
}

#define FRAMES 20

/* Regions change from frame to frame; the bytes are the same for all threads and frames in flight.
 */
static void test_in_flight(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NOISE, 150, 110, 3, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    GBytes *first[FRAMES] = {NULL};
    for (uint32_t in_flight = 1; in_flight <= 16; in_flight += 5) {
      Cj2kEncoderParams params = params_of(coder, "max-frame-bytes=6000");
      Cj2kError error = {0};
      Cj2kPacket packet;
      params.frames_in_flight = in_flight;
      params.num_threads = 1 + in_flight % 3;
      Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
      for (uint32_t submitted = 0, received = 0; received < FRAMES; received++) {
        for (; submitted < FRAMES && submitted - received < in_flight; submitted++) {
          params.num_regions = submitted % 3;
          params.regions[0] = (Cj2kRegion){submitted * 3, submitted, 40, 30, 8};
          params.regions[1] = (Cj2kRegion){100, 50, 50, 60, 0.25};
          g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
          cj2k_encoder_submit(encoder, &picture.picture, NULL, &error);
        }
        g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
        g_assert_cmpint(packet.status, ==, CJ2K_OK);
        g_assert_false(packet.fallback);
        g_assert_cmpuint(packet.size, <=, 6000);
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
  }
  test_picture_clear(&picture);
}

/* A region of which no sample is in the picture is named by a warning. */
static void test_outside(void)
{
  static const char *const places[] = {"64,0,9,9,4", "0,48,9,9,4", "1,1,9,9,4;70,50,1,1,2"};
  Cj2kError error = {0};
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 64, 48, 1, 8, false, NULL, NULL, 0, 0);
  for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
    Cj2kEncoderParams params = params_of(0, "max-frame-bytes=4000");
    g_assert_cmpint(cj2k_encoder_params_set(&params, "roi", places[i], &error), ==, CJ2K_OK);
    Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
    gchar *says = g_strdup_printf("roi: region %u at", params.num_regions - 1);
    g_assert_nonnull(strstr(cj2k_encoder_warning(encoder), says));
    g_assert_nonnull(strstr(cj2k_encoder_warning(encoder), "64 x 48"));
    cj2k_encoder_close(encoder);
    g_free(says);
  }
  test_picture_clear(&picture);
}

static void test_refused(void)
{
  static const char *const malformed[] = {
      "1,2,3,4",    "1,2,3,4,",    "1,2,0,4,2",   "1,2,3,4,0",          "1,2,3,4,65",
      "1,2,3,4,2;", "-1,2,3,4,2",  "1,2,3,4,2 ",  "1;2;3;4;2",          "x",
      ";",          "1,2,3,4,nan", "1,2,3,4,5,6", "1,2,3,99999999999,2"};
  static const char *const modes[] = {"rate-control=quality", "psnr=40 max-frame-bytes=4000",
                                      "rate-control=lossless", "average-bitrate=1000 framerate=25"};
  Cj2kEncoderParams params = params_of(0, "max-frame-bytes=4000");
  Cj2kError error = {0};
  TestPicture picture;

  for (size_t i = 0; i < G_N_ELEMENTS(malformed); i++) {
    if (cj2k_encoder_params_set(&params, "roi", malformed[i], &error) == CJ2K_OK)
      g_error("%s is accepted", malformed[i]);
    g_assert_nonnull(strstr(error.text, "x,y,w,h,weight"));
    g_assert_cmpuint(params.num_regions, ==, 0);
  }
  test_set_options(&params, "roi=1,2,3,4,2;5,6,7,8,0.5");
  g_assert_cmpuint(params.num_regions, ==, 2);
  g_assert_cmpuint(params.regions[1].height, ==, 8);
  g_assert_cmpfloat(params.regions[1].weight, ==, 0.5);
  test_set_options(&params, "roi=");
  g_assert_cmpuint(params.num_regions, ==, 0);
  test_picture_init(&picture, SCENE_NATURAL, 64, 48, 1, 8, false, NULL, NULL, 0, 0);
  for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
    params = params_of(0, modes[i]);
    test_set_options(&params, "roi=1,2,3,4,2");
    g_assert_null(test_encode(&params, &picture, &error));
    g_assert_nonnull(strstr(error.text, "roi needs rate-control cbr"));
  }
  params = params_of(0, "max-frame-bytes=4000");
  params.num_regions = 1;
  params.regions[0] = (Cj2kRegion){0, 0, 10, 10, NAN};
  g_assert_null(test_encode(&params, &picture, &error));
  params.num_regions = CJ2K_MAX_REGIONS + 1;
  g_assert_null(test_encode(&params, &picture, &error));
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  backend = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(backend))
    return 0;
  g_test_add_func("/rate-regions/weights", test_weights);
  g_test_add_func("/rate-regions/without-effect", test_without_effect);
  g_test_add_func("/rate-regions/in-flight", test_in_flight);
  g_test_add_func("/rate-regions/outside", test_outside);
  g_test_add_func("/rate-regions/refused", test_refused);
  return g_test_run();
}
