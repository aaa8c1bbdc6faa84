/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Visual weights: their values, and properties of every frame with a budget and such weights. The
 * measure is computed here in another way than in the encoder: the DCT of the error image, weighted
 * by the contrast sensitivity at each frequency.
 *   - no codestream exceeds its budget, and the budget is used;
 *   - visible errors never grow by more than MAX_FALL when the budget grows;
 *   - visible errors are smaller than without visual weights, and PSNR is lower.
 */
#include "encoder-pictures.h"

#include "common/encoder/params.h"
#include "common/rate/visual.h"

#define DISTANCE     25.0
#define LUMA_DECAY   6.3277
#define CHROMA_DECAY 2.3866
/* The encoder works with means over bands, and without the rounding of samples. */
#define MAX_FALL 0.25 /* dB */
#define MIN_USED 0.97
/* dB by which a picture may be worse than without weights. Black on white is clipped, which the
 * encoder does not know (docs/rate-control.md). */
#define MAX_DEFICIT      0.25
#define MAX_DEFICIT_TEXT 1

/* --- weights --- */

typedef struct {
  Cj2kPlan *plan;
  double *weights;
} Weighted;

static Weighted weigh(uint32_t components, uint8_t dx, uint8_t dy, bool mct, Cj2kSeenAs seen_as,
                      double distance)
{
  static const uint8_t one[] = {1, 1, 1};
  const uint8_t all_dx[] = {1, dx, dx}, all_dy[] = {1, dy, dy};
  TestPicture picture;
  Cj2kEncoderParams params;
  Cj2kEncoderSetup setup;
  Weighted weighted;

  test_picture_init(&picture, SCENE_BLACK, 512, 512, components, 8, false, dx > 1 ? all_dx : one,
                    dy > 1 ? all_dy : one, 0, 0);
  cj2k_encoder_params_init(&params);
  params.mct = mct ? CJ2K_MCT_ON : CJ2K_MCT_OFF;
  params.tile_width = 256;
  g_assert_cmpint(cj2k_setup_init(&setup, &params, &picture.image, &picture.layout, NULL), ==,
                  CJ2K_OK);
  Cj2kHeader *header = cj2k_setup_header(&setup);
  g_assert_cmpint(cj2k_plan_new(header, 0, 0, &weighted.plan, NULL), ==, CJ2K_OK);
  weighted.weights = g_new0(double, weighted.plan->num_bands);
  cj2k_visual_weights(weighted.plan, seen_as, distance, weighted.weights);
  cj2k_header_unref(header);
  cj2k_setup_clear(&setup);
  test_picture_clear(&picture);
  return weighted;
}

static void weighted_clear(Weighted *weighted)
{
  cj2k_plan_unref(weighted->plan);
  g_free(weighted->weights);
}

/* The weight of a band of the last tile. */
static double weight_at(const Weighted *weighted, uint32_t component, uint32_t resolution,
                        uint32_t orientation)
{
  const Cj2kPlan *plan = weighted->plan;

  for (uint32_t b = plan->num_bands; b-- > 0;) {
    const Cj2kPlanBand *band = &plan->bands[b];
    if (plan->tile_comps[band->tile_comp].component == component &&
        band->resolution == resolution && band->orientation == orientation)
      return weighted->weights[b];
  }
  g_assert_not_reached();
}

#define TOP 5 /* the highest of six resolutions */

static void test_luma(void)
{
  Weighted w = weigh(1, 1, 1, false, CJ2K_SEEN_AS_LUMA, DISTANCE);

  g_assert_cmpfloat(weight_at(&w, 0, 0, CJ2K_LL), >, 0.9);
  g_assert_cmpfloat(weight_at(&w, 0, 0, CJ2K_LL), <, 1);
  for (uint32_t r = 1; r <= TOP; r++) {
    double hl = weight_at(&w, 0, r, CJ2K_HL), hh = weight_at(&w, 0, r, CJ2K_HH);
    double octave = ldexp(DISTANCE, (int)r - TOP); /* samples per degree at this resolution */
    g_assert_cmpfloat(hl, ==, weight_at(&w, 0, r, CJ2K_LH));
    g_assert_cmpfloat(hh, <, hl);
    /* Between the sensitivities at both ends of the band's octave. */
    g_assert_cmpfloat(hl, <, exp(-0.2 * octave / LUMA_DECAY));
    g_assert_cmpfloat(hl, >, exp(-0.6 * octave / LUMA_DECAY));
    g_assert_cmpfloat(hh, <, exp(-0.3 * octave / LUMA_DECAY));
  }
  weighted_clear(&w);
}

/* From further away nothing is seen better; from very near everything is. */
static void test_distance(void)
{
  Weighted near = weigh(3, 1, 1, true, CJ2K_SEEN_AS_RGB, 5);
  Weighted far = weigh(3, 1, 1, true, CJ2K_SEEN_AS_RGB, 1000);

  for (uint32_t b = 0; b < near.plan->num_bands; b++) {
    g_assert_cmpfloat(far.weights[b], <=, near.weights[b]);
    g_assert_cmpfloat(far.weights[b], >=, 0.02);
    g_assert_cmpfloat(near.weights[b], <, 1.11);
  }
  weighted_clear(&near);
  weighted_clear(&far);
}

/* Colour differences count less than luma at high frequencies; of RGB that the ICT transforms, as
 * much as of Y'CbCr. */
static void test_colour(void)
{
  static const double norms[] = {1.7320508, 1.8051072, 1.5734183};
  Weighted ycc = weigh(3, 1, 1, false, CJ2K_SEEN_AS_YCC, DISTANCE);
  Weighted rgb = weigh(3, 1, 1, true, CJ2K_SEEN_AS_RGB, DISTANCE);

  for (uint32_t r = 1; r <= TOP; r++)
    for (uint32_t c = 0; c < 3; c++) {
      double own = weight_at(&ycc, c, r, CJ2K_HL);
      if (c)
        g_assert_cmpfloat(own, <, weight_at(&ycc, 0, r, CJ2K_HL));
      if (own > 0.05) /* above the least weight */
        g_assert_cmpfloat(fabs(weight_at(&rgb, c, r, CJ2K_HL) * norms[c] / norms[0] / own - 1), <,
                          1e-3);
    }
  weighted_clear(&ycc);
  weighted_clear(&rgb);
}

/* The highest frequencies of a component with every second sample are those of the image's second
 * level; with every second column, only horizontally. */
static void test_subsampling(void)
{
  Weighted full = weigh(3, 1, 1, false, CJ2K_SEEN_AS_YCC, DISTANCE);
  Weighted quarter = weigh(3, 2, 2, false, CJ2K_SEEN_AS_YCC, DISTANCE);
  Weighted half = weigh(3, 2, 1, false, CJ2K_SEEN_AS_YCC, DISTANCE);

  for (uint32_t o = CJ2K_HL; o <= CJ2K_HH; o++) {
    double same = weight_at(&full, 1, TOP - 1, o);
    g_assert_cmpfloat(fabs(weight_at(&quarter, 1, TOP, o) / same - 1), <, 0.08);
    g_assert_cmpfloat(weight_at(&quarter, 0, TOP, o), ==, weight_at(&full, 0, TOP, o));
  }
  g_assert_cmpfloat(weight_at(&half, 1, TOP, CJ2K_HL), >, weight_at(&half, 1, TOP, CJ2K_LH));
  weighted_clear(&full);
  weighted_clear(&quarter);
  weighted_clear(&half);
}

/* Grey of R'G'B', of X'Y'Z' and of the ICT of both is luma alone. G is seen best, B least. */
static void test_primaries(void)
{
  Weighted rgb = weigh(3, 1, 1, false, CJ2K_SEEN_AS_RGB, DISTANCE);
  Weighted xyz = weigh(3, 1, 1, true, CJ2K_SEEN_AS_XYZ, DISTANCE);
  Weighted ict = weigh(3, 1, 1, true, CJ2K_SEEN_AS_RGB, DISTANCE);

  g_assert_cmpfloat(weight_at(&rgb, 1, TOP, CJ2K_HL), >, weight_at(&rgb, 0, TOP, CJ2K_HL));
  g_assert_cmpfloat(weight_at(&rgb, 0, TOP, CJ2K_HL), >, weight_at(&rgb, 2, TOP, CJ2K_HL));
  g_assert_cmpfloat(fabs(weight_at(&xyz, 0, TOP, CJ2K_HL) / weight_at(&ict, 0, TOP, CJ2K_HL) - 1),
                    <, 1e-3);
  /* X' without Y' is a luminance error of the ICT's third component. */
  g_assert_cmpfloat(weight_at(&xyz, 2, TOP, CJ2K_HL), >, 2 * weight_at(&ict, 2, TOP, CJ2K_HL));
  weighted_clear(&rgb);
  weighted_clear(&xyz);
  weighted_clear(&ict);
}

/* --- the visible error of a picture --- */

/* DCT-II of `rows` rows of n samples each, `step` apart, with orthonormal vectors, in place. */
static void transform_rows(double *data, uint32_t rows, uint32_t pitch, uint32_t n, uint32_t step)
{
  double *table = g_new(double, (gsize)n *n), *line = g_new(double, n);

  for (uint32_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < n; i++)
      table[(gsize)k * n + i] = sqrt((k ? 2.0 : 1.0) / n) * cos(G_PI * (i + 0.5) * k / n);
  for (uint32_t r = 0; r < rows; r++) {
    double *row = data + (gsize)r * pitch;
    for (uint32_t k = 0; k < n; k++) {
      line[k] = 0;
      for (uint32_t i = 0; i < n; i++)
        line[k] += table[(gsize)k * n + i] * row[(gsize)i * step];
    }
    for (uint32_t k = 0; k < n; k++)
      row[(gsize)k * step] = line[k];
  }
  g_free(table);
  g_free(line);
}

static double visible_energy(double *plane, uint32_t width, uint32_t height, double decay)
{
  double sum = 0;

  transform_rows(plane, height, width, width, 1);
  transform_rows(plane, width, 1, height, width);
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++) {
      double f = hypot(x / 2.0 / width, y / 2.0 / height) * DISTANCE;
      double seen = MAX(exp(-f / decay), 0.02) * plane[(gsize)y * width + x];
      sum += seen * seen;
    }
  return sum;
}

/* R'G'B' to luma and colour differences that make the same squared error of grey. */
static void to_opponents(double *planes, gsize size)
{
  for (gsize i = 0; i < size; i++) {
    double r = planes[i], g = planes[size + i], b = planes[2 * size + i];
    double luma = 0.299 * r + 0.587 * g + 0.114 * b;
    planes[i] = luma * sqrt(3);
    planes[size + i] = (b - luma) / 1.772 * sqrt(3);
    planes[2 * size + i] = (r - luma) / 1.402 * sqrt(3);
  }
}

typedef struct {
  gsize size;
  double visible, psnr; /* dB */
} Outcome;

static Outcome measure(const TestPicture *picture, GBytes *bytes)
{
  gsize count, size = (gsize)picture->width * picture->height;
  double *differences = test_differences(picture, bytes, 0, &count), energy = 0;

  if (picture->num_components == 3)
    to_opponents(differences, size);
  for (uint32_t c = 0; c < picture->num_components; c++)
    energy += visible_energy(differences + c * size, picture->width, picture->height,
                             c ? CHROMA_DECAY : LUMA_DECAY);
  g_free(differences);
  return (Outcome){g_bytes_get_size(bytes), -10 * log10(energy / (double)count + 1e-12),
                   -10 * log10(test_error(picture, bytes, 0) + 1e-12)};
}

static Outcome encode(const TestPicture *picture, const char *options, uint64_t budget)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.max_frame_bytes = budget;
  test_set_options(&params, options);
  GBytes *bytes = test_encode(&params, picture, &error);
  if (!bytes)
    g_error("%s, %" G_GUINT64_FORMAT " bytes: %s", options, budget, error.text);
  Outcome outcome = measure(picture, bytes);
  g_bytes_unref(bytes);
  if (budget)
    g_assert_cmpuint(outcome.size, <=, budget);
  return outcome;
}

/* --- properties --- */

typedef struct {
  Scene scene;
  uint32_t width, height, components;
  uint8_t depth;
  const char *options;
} Case;

static const Case cases[] = {
    {SCENE_NATURAL, 160, 120, 1, 8, "block-coder=ht"},
    {SCENE_NATURAL, 160, 120, 1, 8, "block-coder=mq"},
    {SCENE_NATURAL, 129, 97, 3, 10, "block-coder=ht codeblock-width=32 codeblock-height=32"},
    {SCENE_NATURAL, 129, 97, 3, 10, "block-coder=mq num-layers=3"},
    {SCENE_SINE, 150, 110, 3, 8, "block-coder=ht mct=off"},
    {SCENE_TEXT, 120, 100, 1, 12, "block-coder=mq tile-width=64"},
    {SCENE_NOISE, 64, 64, 3, 8, "block-coder=ht"},
};

static void check_budget(const Case *c, const TestPicture *picture, uint64_t budget, double *best)
{
  char *csf = g_strdup_printf("rate-control=cbr visual-weights=csf %s", c->options);
  char *none = g_strdup_printf("rate-control=cbr visual-weights=none %s", c->options);
  const double limit = 6.02 * c->depth; /* above it the rounding of samples decides */
  Outcome with = encode(picture, csf, budget), without = encode(picture, none, budget);

  g_test_message("%s: %" G_GUINT64_FORMAT
                 " bytes: %zu used, %.2f dB visible, %.2f dB PSNR; without "
                 "weights %.2f, %.2f dB",
                 csf, budget, with.size, with.visible, with.psnr, without.visible, without.psnr);
  if (with.psnr < limit)
    g_assert_cmpfloat((double)with.size, >=, MIN_USED * (double)budget - 12);
  g_assert_cmpfloat(with.visible, >=, MIN(*best, limit) - MAX_FALL);
  g_assert_cmpfloat(with.visible, >=,
                    MIN(without.visible, limit) -
                        (c->scene == SCENE_TEXT ? MAX_DEFICIT_TEXT : MAX_DEFICIT));
  *best = MAX(*best, with.visible);
  g_free(csf);
  g_free(none);
}

static void test_budgets(gconstpointer data)
{
  const Case *c = data;
  TestPicture picture;
  uint64_t size = (uint64_t)c->width * c->height * c->components;
  double best = 0;

  test_picture_init(&picture, c->scene, c->width, c->height, c->components, c->depth, false, NULL,
                    NULL, 0, 0);
  for (uint64_t budget = MAX(size / 40, 700); budget < size * 3; budget = budget * 8 / 5)
    check_budget(c, &picture, budget, &best);
  test_picture_clear(&picture);
}

/* A budget that no steps use up: the frame has the finest ones. With 16 bits and the least weights
 * these are finer than any base can say. */
static void test_too_large(void)
{
  static const Scene scenes[] = {SCENE_BLACK, SCENE_SINE};
  static const char *const coders[] = {"mq", "ht"};

  for (uint32_t i = 0; i < G_N_ELEMENTS(scenes) * G_N_ELEMENTS(coders); i++)
    for (uint8_t depth = 8; depth <= 16; depth += 4) {
      const char *coder = coders[i % 2];
      TestPicture picture;
      char *options = g_strdup_printf("rate-control=cbr visual-weights=csf viewing-distance=1000 "
                                      "block-coder=%s",
                                      coder);
      test_picture_init(&picture, scenes[i / 2], 40, 30, 1, depth, false, NULL, NULL, 0, 0);
      Outcome outcome = encode(&picture, options, 20000);
      g_assert_cmpfloat(outcome.psnr, >, 6.02 * depth);
      test_picture_clear(&picture);
      g_free(options);
    }
}

/* psnr with weights is a weighted PSNR; with none it is PSNR. */
static void test_psnr(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 160, 120, 3, 8, false, NULL, NULL, 0, 0);
  for (double target = 30; target <= 42; target += 6) {
    char *options = g_strdup_printf("rate-control=psnr psnr=%g visual-weights=csf", target);
    Outcome outcome = encode(&picture, options, 0);
    /* What is left out of a band is its lower frequencies above all, which are seen better. */
    g_assert_cmpfloat(outcome.visible, >, target - 2.5);
    g_assert_cmpfloat(outcome.visible, <, target + 0.5);
    g_assert_cmpfloat(outcome.psnr, <, target);
    g_free(options);
  }
  Outcome plain = encode(&picture, "rate-control=psnr psnr=36 visual-weights=none", 0);
  g_assert_cmpfloat(fabs(plain.psnr - 36), <, 0.8);
  test_picture_clear(&picture);
}

/* A quality factor with csf, with none and with its own weights: three results; `none` has the
 * largest size. */
static void test_quality(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 160, 120, 3, 8, false, NULL, NULL, 0, 0);
  Outcome own = encode(&picture, "quality=60", 0);
  Outcome csf = encode(&picture, "quality=60 visual-weights=csf", 0);
  Outcome none = encode(&picture, "quality=60 visual-weights=none", 0);
  g_assert_cmpuint(own.size, !=, csf.size);
  g_assert_cmpuint(none.size, >, own.size);
  g_assert_cmpuint(none.size, >, csf.size);
  Outcome far = encode(&picture, "quality=60 visual-weights=csf viewing-distance=60", 0);
  g_assert_cmpuint(far.size, <, csf.size);
  /* At 100 the weights have faded out. */
  g_assert_cmpuint(encode(&picture, "quality=100 visual-weights=csf", 0).size, ==,
                   encode(&picture, "quality=100 visual-weights=none", 0).size);
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate-visual/luma", test_luma);
  g_test_add_func("/rate-visual/distance", test_distance);
  g_test_add_func("/rate-visual/colour", test_colour);
  g_test_add_func("/rate-visual/subsampling", test_subsampling);
  g_test_add_func("/rate-visual/primaries", test_primaries);
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    char *name = g_strdup_printf("/rate-visual/budgets/%u", (guint)i);
    g_test_add_data_func(name, &cases[i], test_budgets);
    g_free(name);
  }
  g_test_add_func("/rate-visual/psnr", test_psnr);
  g_test_add_func("/rate-visual/quality", test_quality);
  g_test_add_func("/rate-visual/too-large", test_too_large);
  return g_test_run();
}
