/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rate control: budgets are never exceeded and well used, targets are met, and the selection is
 * optimal. */
#include "common/codestream/markers.h"
#include "common/encoder/params.h"
#include "common/rate/budget.h"
#include "common/rate/coding_ht.h"
#include "common/rate/estimate_ht.h"
#include "common/rate/phases.h"
#include "common/rate/selection.h"
#include "common/rate/steps.h"
#include "effort.h"
#include "encoder-pictures.h"

static double psnr(const TestPicture *picture, GBytes *bytes)
{
  return -10 * log10(test_error(picture, bytes, 0));
}

/* --- budgets --- */

/* Natural pictures: the budget is used to the required percentage, and more bytes give more
 * quality. */
static void test_natural(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 700, 500, 3, 12, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++)
    for (int reversible = 0; reversible < 2; reversible++) {
      double last = 0;
      for (double rate = 0.5; rate <= 8; rate *= 2) {
        Cj2kEncoderParams params;
        cj2k_encoder_params_init(&params);
        params.backend = CJ2K_BACKEND_CPU;
        params.rate_control = CJ2K_RATE_CBR;
        params.reversible_transform = reversible;
        params.block_coder = (Cj2kBlockCoder)coder;
        params.max_frame_bytes = (uint64_t)(rate * 700 * 500 / 8);
        GBytes *bytes = test_encode_valid(&params, &picture);
        double used = (double)g_bytes_get_size(bytes) / (double)params.max_frame_bytes;
        g_assert_cmpfloat(used, <=, 1);
        g_assert_cmpfloat(used, >=, coder ? 0.97 : 0.99);
        double quality = psnr(&picture, bytes);
        g_test_message("coder %d reversible %d, %.2f bpp: %.2f dB", coder, reversible, rate,
                       quality);
        g_assert_cmpfloat(quality, >, last);
        last = quality;
        g_bytes_unref(bytes);
      }
    }
  test_picture_clear(&picture);
}

typedef struct {
  int frames;
  double least, sum; /* share of the budget that was used; dB */
} Tally;

static void add_natural(Tally *tally, const TestPicture *picture, const Cj2kPacket *packet,
                        double budget)
{
  GBytes *bytes = g_bytes_new_static(packet->data, packet->size);

  tally->frames++;
  tally->least = MIN(tally->least, (double)packet->size / budget);
  tally->sum += psnr(picture, bytes);
  g_bytes_unref(bytes);
}

/* Natural pictures, noise, black and checkerboard in turn in one encoder: no frame exceeds its
 * budget, and natural ones use it, whatever preceded them. */
static void test_hostile(void)
{
  TestPicture pictures[4];
  int frames = (int)test_effort(40, 60, 500);

  for (int s = 0; s < 4; s++)
    test_picture_init(&pictures[s], (Scene)s, 300, 200, 3, 12, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params;
    Cj2kError error = {0};
    GRand *rand = g_rand_new_with_seed(11);
    Tally tally = {.least = 1};
    cj2k_encoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.rate_control = CJ2K_RATE_CBR;
    params.block_coder = (Cj2kBlockCoder)coder;
    params.bits_per_pixel = 3;
    params.frames_in_flight = 1;
    Cj2kEncoder *encoder =
        cj2k_encoder_open(&params, &pictures[0].image, &pictures[0].layout, &error);
    for (int i = 0; i < frames; i++) {
      Cj2kPacket packet;
      /* the budget changes between frames */
      params.bits_per_pixel = i < 30 ? 3 : 0.2 + i % 7;
      g_assert_cmpint(cj2k_encoder_set_rate(encoder, &params, &error), ==, CJ2K_OK);
      int s = g_rand_int_range(rand, 0, 4);
      g_assert_cmpint(cj2k_encoder_submit(encoder, &pictures[s].picture, NULL, &error), ==,
                      CJ2K_OK);
      g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
      if (packet.status != CJ2K_OK)
        g_error("frame %d: %s", i, packet.error.text);
      g_assert_cmpuint(packet.size, <=, (gsize)(params.bits_per_pixel * 300 * 200 / 8));
      if (s == SCENE_NATURAL)
        add_natural(&tally, &pictures[s], &packet, params.bits_per_pixel * 300 * 200 / 8);
      cj2k_encoder_release(encoder, &packet);
    }
    cj2k_encoder_close(encoder);
    g_rand_free(rand);
    g_test_message("coder %d: %d natural frames, %.2f %% used and more, %.2f dB on average", coder,
                   tally.frames, 100 * tally.least, tally.sum / tally.frames);
    g_assert_cmpfloat(tally.least, >=, coder ? 0.97 : 0.99);
  }
  for (int s = 0; s < 4; s++)
    test_picture_clear(&pictures[s]);
}

/* Every budget from zero to more than lossless needs: a codestream that fits, or an error that says
 * that none can. */
static void test_all_budgets(void)
{
  TestPicture picture;
  uint32_t refused = 0, made = 0;

  test_picture_init(&picture, SCENE_NATURAL, 60, 50, 1, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++)
    for (uint64_t budget = 20; budget < 6000; budget += budget / 4 + 1) {
      Cj2kEncoderParams params;
      Cj2kError error = {0};
      cj2k_encoder_params_init(&params);
      params.backend = CJ2K_BACKEND_CPU;
      params.rate_control = CJ2K_RATE_CBR;
      params.block_coder = (Cj2kBlockCoder)coder;
      params.reversible_transform = budget % 2;
      params.max_frame_bytes = budget;
      GBytes *bytes = test_encode(&params, &picture, &error);
      if (bytes) {
        g_assert_cmpuint(g_bytes_get_size(bytes), <=, budget);
        test_error(&picture, bytes, 0);
        g_bytes_unref(bytes);
        made++;
      } else {
        g_assert_nonnull(strstr(error.text, "budget"));
        g_assert_cmpuint(budget, <, 200);
        refused++;
      }
    }
  g_assert_cmpuint(refused, >=, 4);
  g_assert_cmpuint(made, >=, 20);
  test_picture_clear(&picture);
}

/* In CPRL order with a tile-part for each component, Psot is the size of a component. */
static void test_component_budget(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 400, 300, 3, 12, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params;
    gsize size, at = 2;
    uint32_t parts = 0;
    cj2k_encoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.rate_control = CJ2K_RATE_CBR;
    params.block_coder = (Cj2kBlockCoder)coder;
    params.max_frame_bytes = 60000;
    params.max_component_bytes = 18000;
    params.mct = CJ2K_MCT_OFF;
    params.progression = CJ2K_CPRL;
    params.tile_parts = CJ2K_TILE_PARTS_COMPONENT;
    GBytes *bytes = test_encode_valid(&params, &picture);
    const uint8_t *data = g_bytes_get_data(bytes, &size);
    g_assert_cmpuint(size, <=, 60000);
    g_assert_cmpuint(size, >, 3 * 16000);
    while (cj2k_get16(data + at) != CJ2K_EOC) {
      uint32_t length = 2u + cj2k_get16(data + at + 2);
      if (cj2k_get16(data + at) == CJ2K_SOT) {
        length = cj2k_get32(data + at + 6);
        g_assert_cmpuint(length, <=, 18000);
        parts++;
      }
      at += length;
    }
    g_assert_cmpuint(parts, ==, 3);
    g_bytes_unref(bytes);
  }
  test_picture_clear(&picture);
}

/* Bytes that a ceiling denies to luminance go to the other components, with steps fine enough to
 * use them. */
static void test_component_rest(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 400, 300, 3, 12, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    uint64_t frame_bytes = 60000;
    for (uint64_t part = 40; part >= 36; part -= 4) {
      Cj2kEncoderParams params;
      cj2k_encoder_params_init(&params);
      params.backend = CJ2K_BACKEND_CPU;
      params.rate_control = CJ2K_RATE_CBR;
      params.block_coder = (Cj2kBlockCoder)coder;
      params.max_frame_bytes = frame_bytes;
      GBytes *unlimited = test_encode_valid(&params, &picture);
      params.max_component_bytes = frame_bytes * part / 100;
      GBytes *bytes = test_encode_valid(&params, &picture);
      g_test_message("coder %d, %u %% for a component: %u bytes, %u without", coder, (guint)part,
                     (guint)g_bytes_get_size(bytes), (guint)g_bytes_get_size(unlimited));
      g_assert_cmpuint(g_bytes_get_size(bytes), <=, frame_bytes);
      g_assert_cmpuint(g_bytes_get_size(bytes), >=, frame_bytes / 100 * 97);
      g_assert_false(g_bytes_equal(unlimited, bytes)); /* the ceiling had an effect */
      g_bytes_unref(unlimited);
      g_bytes_unref(bytes);
    }
  }
  test_picture_clear(&picture);
}

/* --- layers --- */

static void test_layers(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 400, 300, 1, 10, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    Cj2kEncoderParams params;
    double last = 1;
    cj2k_encoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.block_coder = (Cj2kBlockCoder)coder;
    params.rate_control = CJ2K_RATE_LOSSLESS;
    params.num_layers = 4;
    params.layer_rates[0] = 0.5;
    params.layer_rates[1] = 1;
    params.layer_rates[2] = 2;
    GBytes *bytes = test_encode_valid(&params, &picture);
    for (uint16_t layers = 1; layers <= 4; layers++) {
      double error = test_error(&picture, bytes, layers);
      g_assert_cmpfloat(error, <, last);
      last = error;
    }
    g_assert_cmpfloat(last, ==, 0);
    g_bytes_unref(bytes);
  }
  test_picture_clear(&picture);
}

/* Each layer of an MQ codestream is nearly as good as a codestream made for its rate. */
static void test_layer_rates(void)
{
  static const double rates[] = {0.5, 1, 2};
  TestPicture picture;
  Cj2kEncoderParams params;

  test_picture_init(&picture, SCENE_NATURAL, 500, 400, 1, 8, false, NULL, NULL, 0, 0);
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.rate_control = CJ2K_RATE_CBR;
  params.bits_per_pixel = 4;
  params.num_layers = 4;
  memcpy(params.layer_rates, rates, sizeof rates);
  GBytes *layered = test_encode_valid(&params, &picture);
  params.num_layers = 1;
  for (uint16_t l = 0; l < 3; l++) {
    params.bits_per_pixel = rates[l];
    GBytes *alone = test_encode_valid(&params, &picture);
    double with_layers = -10 * log10(test_error(&picture, layered, l + 1));
    /* A separate codestream has the steps that are best for its rate. */
    g_assert_cmpfloat(fabs(with_layers - psnr(&picture, alone)), <, 1.5);
    g_bytes_unref(alone);
  }
  g_bytes_unref(layered);
  test_picture_clear(&picture);
}

/* --- quality, step, PSNR --- */

static void test_psnr(void)
{
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 400, 300, 3, 12, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++)
    for (double target = 30; target <= 60; target += 10) {
      Cj2kEncoderParams params;
      cj2k_encoder_params_init(&params);
      params.backend = CJ2K_BACKEND_CPU;
      params.rate_control = CJ2K_RATE_PSNR;
      params.block_coder = (Cj2kBlockCoder)coder;
      params.psnr = target;
      GBytes *bytes = test_encode_valid(&params, &picture);
      g_test_message("coder %d, %.1f dB requested, %.3f dB reached", coder, target,
                     psnr(&picture, bytes));
      g_assert_cmpfloat(fabs(psnr(&picture, bytes) - target), <, target < 40 ? 0.8 : 0.4);
      g_bytes_unref(bytes);
    }
  test_picture_clear(&picture);
}

/* The PSNR of a small picture with a budget. */
static double layered_psnr(Scene scene, uint64_t budget, uint16_t num_layers)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  TestPicture picture;

  test_picture_init(&picture, scene, 131, 97, 1, 8, false, NULL, NULL, 0, 0);
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.block_coder = CJ2K_CODER_HT;
  params.codeblock_width = params.codeblock_height = 32;
  params.rate_control = CJ2K_RATE_CBR;
  params.max_frame_bytes = budget;
  params.num_layers = num_layers;
  GBytes *bytes = test_encode(&params, &picture, &error);
  g_assert_nonnull(bytes);
  double psnr = -10 * log10(test_error(&picture, bytes, 0));
  g_bytes_unref(bytes);
  test_picture_clear(&picture);
  return psnr;
}

/* The choice of steps does not depend on the layers of blocks. */
static void test_ht_layers(void)
{
  static const struct {
    Scene scene;
    uint64_t budget;
  } cases[] = {{SCENE_NATURAL, 800}, {SCENE_NATURAL, 1421}, {SCENE_CHECKER, 800}};

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    double one = layered_psnr(cases[i].scene, cases[i].budget, 1);
    double three = layered_psnr(cases[i].scene, cases[i].budget, 3);
    g_test_message("one layer %.3f dB, three layers %.3f dB", one, three);
    g_assert_cmpfloat(three, >=, one - 0.15);
  }
}

/* A larger quality or a smaller step gives more bytes and less error. */
static void test_quality(void)
{
  static const uint32_t qualities[] = {1, 10, 30, 50, 65, 75, 85, 95, 97, 99, 100};
  TestPicture picture;

  test_picture_init(&picture, SCENE_NATURAL, 300, 200, 3, 8, false, NULL, NULL, 0, 0);
  for (int coder = 0; coder < 2; coder++) {
    double last_psnr = 0;
    gsize last_size = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(qualities); i++) {
      Cj2kEncoderParams params;
      cj2k_encoder_params_init(&params);
      params.backend = CJ2K_BACKEND_CPU;
      params.block_coder = (Cj2kBlockCoder)coder;
      params.quality = qualities[i];
      GBytes *bytes = test_encode_valid(&params, &picture);
      double quality = psnr(&picture, bytes);
      g_assert_cmpfloat(quality, >, last_psnr);
      g_assert_cmpuint(g_bytes_get_size(bytes), >, last_size);
      last_psnr = quality;
      last_size = g_bytes_get_size(bytes);
      g_bytes_unref(bytes);
    }
    g_assert_cmpfloat(last_psnr, >, 45);
  }
  test_picture_clear(&picture);
}

/* --- step sizes --- */

/* The rules of bands lead to the quantisers and weights of rate control, for any base. */
static void check_rules(Cj2kFrameSteps *steps, const Cj2kPlan *plan)
{
  Cj2kStepRule *rules = g_new(Cj2kStepRule, plan->num_bands);

  cj2k_frame_steps_rules(steps, plan, rules);
  for (double base = 1e-9; base < 2; base *= 1.037) {
    cj2k_frame_steps_set(steps, plan, base, NULL);
    for (uint32_t b = 0; b < plan->num_bands; b++) {
      Cj2kFrameQuantiser quantiser = {0};
      double weight;
      cj2k_step_choose(&rules[b], base, &quantiser, &weight);
      g_assert_cmpfloat(quantiser.inv_scale, ==, steps->quantisers[b].inv_scale);
      g_assert_cmpuint(quantiser.num_bitplanes, ==, steps->quantisers[b].num_bitplanes);
      g_assert_cmpfloat(weight, ==, steps->weights[b]);
    }
  }
  g_free(rules);
}

static const Cj2kEstimateRange some_range = {.least = 5,
                                             .most = 40,
                                             .sure_least = 10,
                                             .sure_most = 30,
                                             .base = 2,
                                             .least_base = 0.1,
                                             .most_base = 10,
                                             .finest = true,
                                             .near = {3, {0.5, 1, 1.5}, {10, 20, 30}},
                                             .far = {2, {0.25, 4}, {4, 1000}}};

/* Each ratio is for the estimates above those of the one before. Estimates that are not sure are
 * followed by another one, as long as there may be. */
static void test_estimate_bases(void)
{
  const Cj2kEstimateRange *range = &some_range;

  for (uint64_t estimate = 0; estimate <= 50; estimate++) {
    double base = 2, last = base;
    bool is_in = estimate >= 5 && estimate <= 40, sure = estimate >= 10 && estimate <= 30;
    g_assert_cmpint(cj2k_estimate_judge(range, 0, estimate, &base), ==,
                    sure ? CJ2K_ESTIMATE_IN : CJ2K_ESTIMATE_AGAIN);
    g_assert_cmpfloat(base, ==,
                      estimate < 5     ? 0.5
                      : estimate <= 10 ? 1
                      : estimate <= 20 ? 2
                      : estimate <= 40 ? 3
                                       : 8);
    g_assert_cmpint(cj2k_estimate_judge(range, CJ2K_MOST_ESTIMATES - 1, estimate, &last), ==,
                    is_in ? CJ2K_ESTIMATE_IN : CJ2K_ESTIMATE_OUT);
    g_assert_cmpfloat(last, ==, is_in ? base : 2);
  }
}

static void check_outcome(const Cj2kEstimateRange *range, const uint64_t *estimates,
                          Cj2kEstimateOutcome expected)
{
  const Cj2kEstimateOutcome outcome = cj2k_estimate_follow(range, estimates);

  g_assert_cmpint(outcome.verdict, ==, expected.verdict);
  g_assert_cmpuint(outcome.last, ==, expected.last);
  g_assert_cmpfloat(outcome.last_base, ==, expected.last_base);
  if (outcome.verdict == CJ2K_ESTIMATE_IN)
    g_assert_cmpfloat(outcome.base, ==, expected.base);
}

/* The estimates behind the last one that is needed do not count. No base is beyond the limits. */
static void test_estimates(void)
{
  Cj2kEstimateRange range = some_range;

  check_outcome(&range, (uint64_t[]){15, 99, 99}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 0, 2, 2});
  check_outcome(&range, (uint64_t[]){50, 15, 99}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 1, 8, 8});
  check_outcome(&range, (uint64_t[]){50, 30, 99},
                (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 1, 8, 10}); /* not 12 */
  check_outcome(&range, (uint64_t[]){50, 8, 9}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 2, 4, 2});
  check_outcome(&range, (uint64_t[]){50, 50, 50}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_OUT, 2, 10});
  check_outcome(&range, (uint64_t[]){4, 4, 4},
                (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 2, 0.125, 0.1});
  range.least_base = 0.3; /* too small, but there are no finer steps */
  check_outcome(&range, (uint64_t[]){4, 4, 4},
                (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 2, 0.3, 0.3});
  range.most_base = 2; /* nor coarser ones: another estimate would be the same */
  check_outcome(&range, (uint64_t[]){50, 15, 15}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_OUT, 0, 2});
  check_outcome(&range, (uint64_t[]){35, 15, 15}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 0, 2, 2});
  range.most_base = 10;
  range.finest = false;
  check_outcome(&range, (uint64_t[]){4, 4, 4}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_OUT, 2, 0.3});
  range.far.count = 0;
  check_outcome(&range, (uint64_t[]){50, 15, 15}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_OUT, 0, 2});
  range.near.count = 0; /* nothing is chosen */
  check_outcome(&range, (uint64_t[]){40, 99, 99}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_IN, 0, 2, 2});
  check_outcome(&range, (uint64_t[]){41, 15, 15}, (Cj2kEstimateOutcome){CJ2K_ESTIMATE_OUT, 0, 2});
}

static void check_ratios(const Cj2kBaseRatios *ratios)
{
  g_assert_cmpuint(ratios->count, <=, CJ2K_MOST_RATIOS);
  for (uint32_t i = 1; i < ratios->count; i++) {
    g_assert_cmpfloat(ratios->ratios[i], >, ratios->ratios[i - 1]);
    g_assert_cmpuint(ratios->ends[i], >, ratios->ends[i - 1]);
  }
}

/* If bytes are proportional to base^-power, whatever the picture takes with one base, estimates
 * lead to another one with which it takes the target, but for half a step of bases; unless that is
 * too far away. known: the power for which the range was made; where it is another one, the last
 * estimate still leads close to the target. */
static void check_ways(const Cj2kRateFrame *frame, const Cj2kEstimateRange *range, double power,
                       double known)
{
  const double unit = (double)cj2k_ht_estimate_range(frame, 0, 1e6).most / 1e6;
  const double wrong = fabs(power / known - 1);

  for (double far = -2; far <= 2; far += 0.01) {
    uint64_t estimates[CJ2K_MOST_ESTIMATES];
    Cj2kEstimateVerdict verdict = CJ2K_ESTIMATE_AGAIN;
    double base = range->base;
    for (uint32_t i = 0; verdict == CJ2K_ESTIMATE_AGAIN; i++) {
      estimates[i] = (uint64_t)(1e6 * exp(far - power * log(base / range->base)) * unit);
      verdict = cj2k_estimate_judge(range, i, estimates[i], &base);
    }
    if (verdict == CJ2K_ESTIMATE_OUT) {
      double wanted = range->base * exp(far / power);
      bool too_far = (fabs(far) * wrong + 0.04) * wrong > 0.008;
      g_assert_true(too_far || wanted < range->base / 3.6 || wanted > range->most_base);
      continue;
    }
    g_assert_cmpfloat(base, >=, range->least_base);
    if (base > range->least_base && base < range->most_base)
      g_assert_cmpfloat(fabs(far - power * log(base / range->base)), <,
                        power * 0.0028 + 0.1 * wrong);
  }
}

/* The ratios around a base, of which the middle one is 1, and the estimates for which they are. */
static void check_bases(Cj2kPlan *plan, double middle, double power)
{
  Cj2kRateEncoder encoder = {.plan = plan, .estimate_stride = 4};
  const Cj2kRateFrame frame = {.encoder = &encoder, .least_visual = 1};
  double least = cj2k_least_base(&frame), base = cj2k_useful_base(&frame, middle), chosen = base;
  const Cj2kEstimateRange range = cj2k_ht_bases_around(&frame, base, power, 1e6);
  uint64_t target = cj2k_ht_estimate_range(&frame, 0, 1e6).most;

  g_assert_cmpuint(range.near.count % 2, ==, 1);
  g_assert_cmpfloat(range.near.ratios[range.near.count / 2], ==, 1);
  g_assert_cmpfloat(range.far.ratios[0], <, 0.6);
  check_ratios(&range.near);
  check_ratios(&range.far);
  g_assert_cmpfloat(range.base, ==, base);
  g_assert_cmpfloat(range.least_base, ==, MAX(least, base / 4));
  g_assert_true(range.finest == (base / 4 <= least));
  g_assert_cmpint(cj2k_estimate_judge(&range, 0, target, &chosen), ==, CJ2K_ESTIMATE_IN);
  g_assert_cmpfloat(chosen, ==, base);
  g_assert_cmpuint(range.most, >=, target);
  g_assert_cmpuint(range.least, <=, target);
  for (double other = 0.8; other < 1.3; other += 0.1)
    check_ways(&frame, &range, power * other, power);
}

/* The steps in QCD are those of the frame's quantisers, as close to the requested ones as a
 * mantissa permits. */
static void test_steps(void)
{
  TestPicture picture;
  Cj2kEncoderParams params;
  Cj2kEncoderSetup setup;
  Cj2kPlan *plan;
  Cj2kFrameSteps steps;

  test_picture_init(&picture, SCENE_BLACK, 100, 80, 3, 12, false, NULL, NULL, 0, 0);
  cj2k_encoder_params_init(&params);
  g_assert_cmpint(cj2k_setup_init(&setup, &params, &picture.image, &picture.layout, NULL), ==,
                  CJ2K_OK);
  Cj2kHeader *header = cj2k_setup_header(&setup);
  g_assert_cmpint(cj2k_plan_new(header, 0, 0, &plan, NULL), ==, CJ2K_OK);
  cj2k_frame_steps_init(&steps, plan, NULL, 0);
  for (double base = 1e-4; base < 0.3; base *= 1.37) {
    cj2k_frame_steps_set(&steps, plan, base, NULL);
    for (uint32_t b = 0; b < plan->num_bands; b++) {
      const Cj2kPlanBand *band = &plan->bands[b];
      const Cj2kQuantisation *q = &steps.components[plan->tile_comps[band->tile_comp].component];
      uint32_t i = band->resolution ? 3 * (band->resolution - 1u) + band->orientation : 0;
      static const int gain[] = {0, 1, 1, 2};
      double step =
          ldexp(1 + q->mantissa[i] / 2048.0, 12 + gain[band->orientation] - q->exponent[i]);
      double ratio = step * band->norm / (base * 4096);
      g_assert_cmpfloat(fabs(ratio - 1), <, 1.0 / 1500);
      g_assert_cmpfloat(
          fabs(steps.quantisers[b].inv_scale * step / (band->inv_scale * band->step) - 1), <, 1e-6);
      g_assert_cmpuint(steps.quantisers[b].num_bitplanes, ==, q->guard_bits + q->exponent[i] - 1u);
    }
  }
  g_assert_true(cj2k_frame_steps_set(&steps, plan, 1e-6, NULL));
  g_assert_false(cj2k_frame_steps_set(&steps, plan, 1e-9, NULL));
  check_rules(&steps, plan);
  for (double power = 0.3; power < 3.1; power *= 1.5)
    for (double base = CJ2K_MIN_BASE; base < 70; base *= 3)
      check_bases(plan, base, power);
  double *visual = g_new(double, plan->num_bands);
  for (uint32_t b = 0; b < plan->num_bands; b++)
    visual[b] = 1.0 / (1 + b % 7);
  steps.visual = visual;
  steps.finest = 1e-4;
  check_rules(&steps, plan);
  g_free(visual);
  cj2k_frame_steps_clear(&steps);
  cj2k_plan_unref(plan);
  cj2k_header_unref(header);
  cj2k_setup_clear(&setup);
  test_picture_clear(&picture);
}

/* Bands of many bits have smaller steps; the factors are those of the band's component and of its
 * index in QCD. */
static void test_phases(void)
{
  /* For 128 samples: 1/8, 1, 2, 4 and 25 bits each. */
  static const uint32_t lengths[] = {2, 16, 32, 64, 400};
  static const double factors[] = {1, 1, 1 - 0.5 * (0.2 / 0.7), 0.5 / 0.7, 0.5 / 0.7};
  Cj2kPlanTileComp tile_comps[] = {{.component = 0}, {.component = 7}};
  Cj2kPlanBand bands[5];
  Cj2kPlanBlock blocks[5];
  Cj2kPlan plan = {
      .num_blocks = 5, .num_bands = 5, .bands = bands, .tile_comps = tile_comps, .blocks = blocks};
  Cj2kStepFactors found;

  for (uint32_t b = 0; b < 5; b++) {
    bands[b] = (Cj2kPlanBand){.tile_comp = b == 4,
                              .resolution = (uint8_t)(b ? 1 + b / 4 : 0),
                              .orientation = (uint8_t)(b % 4)};
    blocks[b] = (Cj2kPlanBlock){.band = b, .width = 16, .height = 8};
  }
  cj2k_phase_factors(&plan, lengths, 1, &found);
  for (uint32_t b = 0; b < 5; b++)
    g_assert_cmpfloat(fabs(found.of[cj2k_step_factor_index(&plan, b)] - factors[b]), <, 1e-6);
  g_assert_cmpuint(cj2k_step_factor_index(&plan, 3), ==, 3);
  g_assert_cmpuint(cj2k_step_factor_index(&plan, 4), ==, 3 * CJ2K_MAX_BANDS + 3);
}

/* --- selection --- */

#define BLOCKS 6
#define PASSES 5

/* Blocks with random passes of increasing length and distortion. */
static void random_passes(GRand *rand, Cj2kEncodedBlock *blocks, Cj2kPassEnd *passes)
{
  for (uint32_t b = 0; b < BLOCKS; b++) {
    uint32_t length = 0;
    uint64_t distortion = 0;
    blocks[b] = (Cj2kEncodedBlock){.first_pass = b * PASSES,
                                   .num_passes = (uint8_t)g_rand_int_range(rand, 0, PASSES + 1)};
    for (uint32_t p = 0; p < PASSES; p++) {
      length += (uint32_t)g_rand_int_range(rand, 0, 50);
      distortion += (uint64_t)g_rand_int_range(rand, 0, 10000);
      passes[b * PASSES + p] = (Cj2kPassEnd){.length = length, .distortion = distortion};
    }
  }
}

/* The largest gain of any selection of at most `bytes` bytes, found by trying all. */
static double best_gain(const Cj2kEncodedBlock *blocks, const Cj2kPassEnd *passes, uint32_t b,
                        int64_t bytes)
{
  if (b == BLOCKS)
    return 0;
  double best = best_gain(blocks, passes, b + 1, bytes);
  for (uint32_t p = 0; p < blocks[b].num_passes; p++) {
    const Cj2kPassEnd *end = &passes[b * PASSES + p];
    if (end->length <= bytes)
      best = MAX(best,
                 (double)end->distortion + best_gain(blocks, passes, b + 1, bytes - end->length));
  }
  return best;
}

/* The bytes of the selected passes; *gain: their gain. */
static uint64_t sum_options(const Cj2kEncodedBlock *blocks, const Cj2kPassEnd *passes,
                            const uint8_t *options, double *gain)
{
  uint64_t bytes = 0;

  *gain = 0;
  for (uint32_t b = 0; b < BLOCKS; b++)
    if (options[b]) {
      const Cj2kPassEnd *end = &passes[blocks[b].first_pass + options[b] - 1];
      *gain += (double)end->distortion;
      bytes += end->length;
    }
  return bytes;
}

/* Hulls of the blocks, and the bytes of each slope class. */
static void make_hulls(Cj2kHulls *hulls, Cj2kEncodedBlock *blocks, const Cj2kPassEnd *passes,
                       Cj2kHullPoint *points, uint64_t *classes)
{
  Cj2kSlopeSums sums = {.bytes = classes, .lowest = CJ2K_SLOPE_CLASSES};

  memset(classes, 0, CJ2K_SLOPE_CLASSES * sizeof *classes);
  for (uint32_t b = 0; b < BLOCKS; b++) {
    uint32_t first = blocks[b].first_point = b * PASSES;
    blocks[b].num_points = (uint8_t)cj2k_hull_of_passes(passes + blocks[b].first_pass,
                                                        blocks[b].num_passes, 1, points + first);
    for (uint32_t i = first; i < first + blocks[b].num_points; i++) {
      classes[points[i].slope] += points[i].bytes;
      sums.lowest = MIN(sums.lowest, points[i].slope);
      sums.highest = MAX(sums.highest, points[i].slope);
    }
  }
  cj2k_hulls_set_points(hulls, blocks, points, &sums);
}

/* Precomputed sums are equal to those computed from the points. */
static void check_sums(Cj2kPlan *plan, const Cj2kEncodedBlock *blocks, const Cj2kHullPoint *points,
                       const Cj2kHulls *hulls)
{
  Cj2kHulls other;

  cj2k_hulls_init(&other, plan, 0, NULL);
  cj2k_hulls_set_points(&other, blocks, points, NULL);
  g_assert_cmpuint(other.total, ==, hulls->total);
  g_assert_cmpuint(other.lowest, ==, hulls->lowest);
  g_assert_cmpuint(other.highest, ==, hulls->highest);
  for (uint32_t slope = 0; slope < CJ2K_SLOPE_CLASSES; slope++)
    g_assert_cmpuint(cj2k_hulls_bytes(&other, slope), ==, cj2k_hulls_bytes(hulls, slope));
  cj2k_hulls_clear(&other);
}

/* A selection by slope is optimal for the bytes that it takes. */
static void test_selection(void)
{
  Cj2kPlanBand band = {0};
  Cj2kPlanTileComp tile_comp = {0};
  Cj2kPlanBlock plan_blocks[BLOCKS] = {{0}};
  Cj2kPlan plan = {
      .num_blocks = BLOCKS, .bands = &band, .tile_comps = &tile_comp, .blocks = plan_blocks};
  Cj2kEncodedBlock blocks[BLOCKS];
  Cj2kPassEnd passes[BLOCKS * PASSES];
  Cj2kHullPoint points[BLOCKS * PASSES];
  uint64_t *classes = g_new(uint64_t, CJ2K_SLOPE_CLASSES);
  Cj2kSelection bare, filled;
  Cj2kHulls hulls;
  GRand *rand = g_rand_new_with_seed(5);
  uint32_t more = 0;

  cj2k_hulls_init(&hulls, &plan, 0, NULL);
  cj2k_selection_init(&bare, BLOCKS);
  cj2k_selection_init(&filled, BLOCKS);
  for (int round = 0; round < 200; round++) {
    double gain, filled_gain;
    random_passes(rand, blocks, passes);
    make_hulls(&hulls, blocks, passes, points, classes);
    if (round % 20 == 0)
      check_sums(&plan, blocks, points, &hulls);
    uint64_t budget = (uint64_t)g_rand_int_range(rand, 0, 900);
    uint32_t cut = cj2k_hulls_cut(&hulls, budget);
    cj2k_hulls_apply(&hulls, cut, &bare);
    uint64_t bytes = sum_options(blocks, passes, bare.options, &gain);
    g_assert_cmpuint(bytes, <=, budget);
    g_assert_cmpuint(bytes, ==, cj2k_hulls_bytes(&hulls, cut));
    g_assert_cmpuint(bytes, ==, cj2k_hulls_component_bytes(&hulls, 0, cut));
    /* Slopes in one class, 1/256 of an octave wide, count as equal. */
    g_assert_cmpfloat(gain, >=, best_gain(blocks, passes, 0, (int64_t)bytes) * (1 - 1.0 / 256));
    if (cut) /* one more class would exceed the budget */
      g_assert_cmpuint(cj2k_hulls_bytes(&hulls, cut - 1), >, budget);

    /* The rest of the budget is filled: no pass is lost, and the budget is not exceeded. */
    uint64_t taken;
    g_assert_cmpuint(cj2k_hulls_take(&hulls, budget, &filled, &taken), ==, cut);
    g_assert_cmpuint(taken, ==, sum_options(blocks, passes, filled.options, &filled_gain));
    g_assert_cmpuint(taken, <=, budget);
    g_assert_cmpfloat(filled_gain, >=, gain);
    for (uint32_t b = 0; b < BLOCKS; b++) {
      uint8_t option = filled.options[b];
      g_assert_cmpuint(option, >=, bare.options[b]);
      g_assert_cmpuint(filled.lengths[b], ==, option ? passes[b * PASSES + option - 1].length : 0);
    }
    more += taken > bytes;
  }
  g_assert_cmpuint(more, >=, 20);
  cj2k_hulls_clear(&hulls);
  cj2k_selection_clear(&bare);
  cj2k_selection_clear(&filled);
  g_free(classes);
  g_rand_free(rand);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate/selection", test_selection);
  g_test_add_func("/rate/ht-layers", test_ht_layers);
  g_test_add_func("/rate/steps", test_steps);
  g_test_add_func("/rate/estimate-bases", test_estimate_bases);
  g_test_add_func("/rate/estimates", test_estimates);
  g_test_add_func("/rate/phases", test_phases);
  g_test_add_func("/rate/natural", test_natural);
  g_test_add_func("/rate/hostile", test_hostile);
  g_test_add_func("/rate/all-budgets", test_all_budgets);
  g_test_add_func("/rate/component-budget", test_component_budget);
  g_test_add_func("/rate/component-rest", test_component_rest);
  g_test_add_func("/rate/layers", test_layers);
  g_test_add_func("/rate/layer-rates", test_layer_rates);
  g_test_add_func("/rate/psnr", test_psnr);
  g_test_add_func("/rate/quality", test_quality);
  return g_test_run();
}
