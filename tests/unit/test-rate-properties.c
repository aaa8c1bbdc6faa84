/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Properties of every frame with a budget, over pictures, sizes, code-block sizes and both block
 * coders:
 *   - no codestream exceeds its budget;
 *   - PSNR never falls by more than MAX_FALL when the budget grows, nor below that of half of it;
 *   - the budget is used, unless all bit-planes are retained;
 *   - the picture is as good as one of the same size made by quality or by step;
 *   - the number of threads does not change a byte.
 * CJ2K_TESTS_LONG=1 tests all pictures and many more budgets.
 */
#include "effort.h"
#include "encoder-pictures.h"

#define MAX_FALL 0.05 /* dB that a larger budget may lose */
/* The 5/3 filter rounds, so that errors of its bands do not add up as exactly. */
#define MAX_FALL_REVERSIBLE 0.1
#define MIN_USED            0.97
#define MIN_USED_MQ         0.99 /* of each frame of a sequence that moves and cuts */
#define MAX_DEFICIT         0.15 /* dB by which another rate control of the same size may be better */
#define MAX_UNUSED          12   /* bytes that may always stay unused */
/* Below this PSNR nearly all coefficients are left out. Their errors are correlated then, which the
 * encoder's estimate, a sum over coefficients, does not include. */
#define LOW_PSNR          10
#define MAX_FALL_LOW_PSNR 0.07
/* Below SMALL_FACTOR times the size of the headers single code-blocks decide the result. */
#define SMALL_FACTOR     4
#define MAX_UNUSED_SMALL 16
/* The same limits for a picture that is flat except for a few blocks. */
#define MAX_FALL_FEW_BLOCKS   0.5
#define MAX_UNUSED_FEW_BLOCKS 64
/* Smaller pictures are not compared with other rate controls. */
#define MIN_SAMPLES 100
#define LOSSLESS    200 /* dB */

typedef struct {
  Scene scene;
  uint32_t width, height, components;
  uint8_t depth;
  uint32_t block_width, block_height;
  bool is_long;    /* only tested with CJ2K_TESTS_LONG=1 */
  bool reversible; /* 5/3 filter, whose steps no rate control can change */
} Case;

static const Case cases[] = {
    {SCENE_NATURAL, 1, 1, 1, 8, 64, 64, false},
    {SCENE_NATURAL, 3, 2, 3, 8, 64, 64, false},
    {SCENE_NOISE, 7, 33, 1, 12, 8, 8, false},
    {SCENE_SINE, 33, 17, 1, 8, 4, 4, true},
    {SCENE_TEXT, 64, 64, 1, 8, 64, 64, false},
    {SCENE_NATURAL, 64, 64, 1, 8, 64, 64, true},
    {SCENE_NATURAL, 129, 97, 3, 10, 32, 32, false},
    {SCENE_NATURAL, 256, 200, 1, 8, 8, 8, true},
    {SCENE_NOISE, 100, 80, 3, 8, 64, 64, true},
    {SCENE_BLACK, 300, 200, 3, 8, 64, 64, false},
    {SCENE_CHECKER, 130, 90, 1, 8, 32, 32, true},
    {SCENE_SINE, 320, 240, 3, 8, 64, 64, false},
    {SCENE_SINE, 500, 400, 1, 12, 16, 64, true},
    {SCENE_TEXT, 200, 150, 1, 8, 16, 16, true},
    {SCENE_TEXT, 333, 222, 3, 8, 64, 64, true},
    {SCENE_BRIGHT, 200, 150, 1, 8, 32, 32, false},
    {SCENE_BRIGHT, 640, 480, 3, 8, 64, 64, true},
    {SCENE_NATURAL, 700, 500, 3, 12, 64, 64, true},
    {SCENE_NATURAL, 193, 236, 3, 12, 16, 16, false, true},
    {SCENE_SINE, 255, 139, 1, 8, 32, 32, true, true},
};

/* PSNR in dB above which the rounding of samples decides. */
static double psnr_limit(const Case *c)
{
  return 6.02 * c->depth;
}

typedef struct {
  gsize size; /* 0: refused */
  double psnr;
} Outcome;

static Outcome encode(const Cj2kEncoderParams *params, const TestPicture *picture, Cj2kError *error)
{
  Outcome outcome = {0};
  GBytes *bytes = test_encode(params, picture, error);

  if (!bytes)
    return outcome;
  double e = test_error(picture, bytes, 0);
  outcome.size = g_bytes_get_size(bytes);
  outcome.psnr = e > 0 ? MIN(-10 * log10(e), LOSSLESS) : LOSSLESS;
  g_bytes_unref(bytes);
  return outcome;
}

static void set_params(Cj2kEncoderParams *params, const Case *c, int coder)
{
  cj2k_encoder_params_init(params);
  params->backend = CJ2K_BACKEND_CPU;
  params->block_coder = (Cj2kBlockCoder)coder;
  params->codeblock_width = c->block_width;
  params->codeblock_height = c->block_height;
  params->reversible_transform = c->reversible;
}

static void describe(char text[200], const Case *c, int coder, uint64_t budget, Outcome outcome)
{
  g_snprintf(text, 200,
             "scene %d, %ux%u, %u components, blocks of %ux%u, %s%s, %" G_GUINT64_FORMAT
             " bytes: %zu used, %.3f dB",
             c->scene, c->width, c->height, c->components, c->block_width, c->block_height,
             coder ? "HT" : "MQ", c->reversible ? ", 5/3" : "", budget, outcome.size, outcome.psnr);
}

static Outcome encode_budget(const Case *c, int coder, const TestPicture *picture, uint64_t budget)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};

  set_params(&params, c, coder);
  params.rate_control = CJ2K_RATE_CBR;
  params.max_frame_bytes = budget;
  Outcome outcome = encode(&params, picture, &error);
  if (!outcome.size)
    g_error("%" G_GUINT64_FORMAT " bytes: %s", budget, error.text);
  g_assert_cmpuint(outcome.size, <=, budget);
  return outcome;
}

/* The size that the error reports as needed; encoding succeeds with it, and fails with one byte
 * less. */
static uint64_t least_budget(const Case *c, int coder, const TestPicture *picture)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};

  set_params(&params, c, coder);
  params.rate_control = CJ2K_RATE_CBR;
  params.max_frame_bytes = 20;
  g_assert_cmpuint(encode(&params, picture, &error).size, ==, 0);
  const char *at = strstr(error.text, "too small: headers need ");
  g_assert_nonnull(at);
  uint64_t least = g_ascii_strtoull(at + strlen("too small: headers need "), NULL, 10);
  params.max_frame_bytes = least - 1;
  g_assert_cmpuint(encode(&params, picture, &error).size, ==, 0);
  encode_budget(c, coder, picture, least);
  return least;
}

static void check_budgets(const Case *c, int coder, const TestPicture *picture)
{
  double best = 0, ratio = test_effort(2.5, 1.5, 1.07);
  uint64_t least = least_budget(c, coder, picture);
  char text[200];

  for (uint64_t budget = least;; budget = MAX((uint64_t)((double)budget * ratio), budget + 3)) {
    Outcome outcome = encode_budget(c, coder, picture, budget);
    describe(text, c, coder, budget, outcome);
    bool small = budget < least * SMALL_FACTOR;
    /* All data are in a few HT blocks, whose sizes jump. */
    bool few_blocks = small && coder && c->scene == SCENE_BRIGHT && c->components == 3;
    uint64_t max_unused = few_blocks ? MAX_UNUSED_FEW_BLOCKS
                          : small    ? MAX_UNUSED_SMALL
                                     : MAX_UNUSED;
    double max_fall = few_blocks        ? MAX_FALL_FEW_BLOCKS
                      : c->reversible   ? MAX_FALL_REVERSIBLE
                      : best < LOW_PSNR ? MAX_FALL_LOW_PSNR
                                        : MAX_FALL;
    if (outcome.psnr < MIN(best, psnr_limit(c)) - max_fall)
      g_test_message("%s: a smaller budget gives %.3f dB", text, best), g_test_fail();
    if (budget / 2 >= least) {
      Outcome half = encode_budget(c, coder, picture, budget / 2);
      if (outcome.psnr < MIN(half.psnr, psnr_limit(c)) - max_fall)
        g_test_message("%s: half the budget gives %.3f dB", text, half.psnr), g_test_fail();
    }
    if (outcome.psnr == LOSSLESS)
      break;
    bool jumps = coder && c->scene == SCENE_CHECKER; /* all coefficients of a band are equal */
    if (!jumps && (double)outcome.size < MIN_USED * (double)budget &&
        outcome.size + max_unused < budget)
      g_test_message("%s: budget not used", text), g_test_fail();
    best = MAX(best, outcome.psnr);
  }
}

/* A codestream made with `params` is hardly better than one made for a budget of the same size. */
static void check_other(const Case *c, int coder, const TestPicture *picture,
                        const Cj2kEncoderParams *params, const char *name)
{
  Cj2kError error = {0};
  char text[200];
  Outcome other = encode(params, picture, &error);
  g_assert_cmpuint(other.size, >, 0);
  if (other.size <
      least_budget(c, coder, picture)) /* its headers are smaller than any with a budget */
    return;
  /* Sizes jump with the step, so that a comparison would be arbitrary. */
  if (coder && c->scene == SCENE_CHECKER)
    return;
  Outcome outcome = encode_budget(c, coder, picture, other.size);

  describe(text, c, coder, other.size, outcome);
  if (outcome.psnr < MIN(other.psnr, psnr_limit(c)) - MAX_DEFICIT)
    g_test_message("%s: %s gives %.3f", text, name, other.psnr), g_test_fail();
}

static void check_others(const Case *c, int coder, const TestPicture *picture)
{
  static const uint32_t qualities[] = {1, 40, 75, 97};
  char name[32];

  for (size_t i = 0; i < G_N_ELEMENTS(qualities); i++) {
    Cj2kEncoderParams params;
    set_params(&params, c, coder);
    params.quality = qualities[i];
    g_snprintf(name, sizeof name, "quality %u", qualities[i]);
    check_other(c, coder, picture, &params, name);
  }
  for (double step = 0.5; step > 0.0005; step /= test_effort(36, 6, 1.6)) {
    Cj2kEncoderParams params;
    set_params(&params, c, coder);
    params.rate_control = CJ2K_RATE_QSTEP;
    params.quant_step = (float)step;
    g_snprintf(name, sizeof name, "step %.5f", step);
    check_other(c, coder, picture, &params, name);
  }
}

static void check_threads(const Case *c, int coder, const TestPicture *picture)
{
  uint64_t budget = least_budget(c, coder, picture) + (uint64_t)c->width * c->height / 4;
  GBytes *first = NULL;

  for (uint32_t threads = 1; threads <= 3; threads++) {
    Cj2kEncoderParams params;
    Cj2kError error = {0};
    set_params(&params, c, coder);
    params.rate_control = CJ2K_RATE_CBR;
    params.max_frame_bytes = budget;
    params.num_threads = threads;
    GBytes *bytes = test_encode(&params, picture, &error);
    g_assert_nonnull(bytes);
    if (!first)
      first = g_bytes_ref(bytes);
    g_assert_true(g_bytes_equal(first, bytes));
    g_bytes_unref(bytes);
  }
  g_bytes_unref(first);
}

static void test_case(gconstpointer data)
{
  const Case *c = data;
  TestPicture picture;

  if (c->is_long && !test_is_long()) {
    g_test_skip("runs only with CJ2K_TESTS_LONG=1");
    return;
  }
  test_picture_init(&picture, c->scene, c->width, c->height, c->components, c->depth, false, NULL,
                    NULL, 0, 0);
  int only = (int)(c - cases) / 2 % 2; /* of a short run */
  for (int coder = 0; coder < 2; coder++) {
    if (test_is_short() && coder != only)
      continue;
    check_budgets(c, coder, &picture);
    check_threads(c, coder, &picture);
    if (c->width * c->height >= MIN_SAMPLES && !c->reversible)
      check_others(c, coder, &picture);
  }
  test_picture_clear(&picture);
}

/* --- sequences --- */

#define WIDTH  160
#define HEIGHT 120
#define FRAMES 28
#define CUT    17 /* first frame of the second scene */

/* Frame i of a sequence: a picture that moves by some samples per frame, with a cut. */
static void copy_frame(TestPicture *frame, const TestPicture scenes[2], uint32_t i)
{
  const TestPicture *scene = &scenes[i >= CUT];

  for (uint32_t c = 0; c < 3; c++)
    for (uint32_t y = 0; y < HEIGHT; y++)
      memcpy((uint16_t *)frame->planes[c].data + (size_t)y * WIDTH,
             (const uint16_t *)scene->planes[c].data + (size_t)(y + i) * scene->width +
                 2 * (size_t)i,
             WIDTH * sizeof(uint16_t));
}

static void check_sequence(int coder, uint32_t in_flight, double bits)
{
  TestPicture frames[FRAMES], scenes[2];
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  double budget = bits * WIDTH * HEIGHT / 8;

  for (int s = 0; s < 2; s++)
    test_picture_init(&scenes[s], s ? SCENE_SINE : SCENE_NATURAL, WIDTH + 2 * FRAMES,
                      HEIGHT + FRAMES, 3, 10, false, NULL, NULL, 0, 0);
  for (uint32_t i = 0; i < FRAMES; i++) {
    test_picture_init(&frames[i], SCENE_BLACK, WIDTH, HEIGHT, 3, 10, false, NULL, NULL, 0, 0);
    copy_frame(&frames[i], scenes, i);
  }
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.block_coder = (Cj2kBlockCoder)coder;
  params.rate_control = CJ2K_RATE_CBR;
  params.bits_per_pixel = bits;
  params.frames_in_flight = in_flight;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &frames[0].image, &frames[0].layout, &error);
  g_assert_nonnull(encoder);
  for (uint32_t submitted = 0, received = 0; received < FRAMES; received++) {
    Cj2kPacket packet;
    for (; submitted < FRAMES && submitted - received < in_flight; submitted++)
      g_assert_cmpint(cj2k_encoder_submit(encoder, &frames[submitted].picture, NULL, &error), ==,
                      CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    g_assert_cmpfloat((double)packet.size, <=, budget);
    if ((double)packet.size < (coder ? MIN_USED : MIN_USED_MQ) * budget)
      g_test_message("%s, %.1f bits, %u in flight, frame %u: %zu of %.0f bytes",
                     coder ? "HT" : "MQ", bits, in_flight, received, packet.size, budget),
          g_test_fail();
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  for (uint32_t i = 0; i < FRAMES; i++)
    test_picture_clear(&frames[i]);
  test_picture_clear(&scenes[0]);
  test_picture_clear(&scenes[1]);
}

static void test_sequences(void)
{
  for (int coder = 0; coder < 2; coder++)
    for (uint32_t in_flight = 1; in_flight <= 4; in_flight += 3)
      for (double bits = 0.5; bits <= 8; bits *= test_effort(16, 16, 2))
        check_sequence(coder, in_flight, bits);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    char *name = g_strdup_printf("/rate-properties/%u", (guint)i);
    g_test_add_data_func(name, &cases[i], test_case);
    g_free(name);
  }
  g_test_add_func("/rate-properties/sequences", test_sequences);
  return g_test_run();
}
