/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stage-equal [--threads] [FILE...]
 *
 * Compares the GPU's back end with the CPU's after every stage, bit for bit: both are driven step
 * by step through common/backend.h, over a table of layouts, sizes and options, and with each
 * codestream FILE. Encoding: images between the levels of the DWT, coefficients of each band,
 * measured and coded blocks. Decoding: coefficients, images between levels, samples. Prints a line
 * of TAP for each stage, with the first difference. --threads compares the CPU with several threads
 * with the CPU with one thread instead. Without --threads it skips if there is no GPU.
 */
#include "config.h"

#include "stages.h"

#include "common/runtime/threads.h"

#include <stdio.h>
#include <string.h>

#define SOME_THREADS 5

#define STEP(n)  (1.0 / (n))
#define LOSSLESS 0
#define BYPASS   CJ2K_STYLE_BYPASS
#define RESET    CJ2K_STYLE_RESET
#define TERMALL  CJ2K_STYLE_TERMALL
#define CAUSAL   CJ2K_STYLE_CAUSAL
#define PTERM    CJ2K_STYLE_PTERM
#define SEGMARK  CJ2K_STYLE_SEGMARK

static const Case cases[] = {
    {"grey8", 1, 1, LOSSLESS, 64, 64, 3, 0, 1, 1},
    {"grey8", 61, 1, STEP(512), 32, 32, 4, 0, 3, 5},
    {"grey8", 1, 61, LOSSLESS, 32, 32, 4, 0, 3, 5, .mq = true},
    {"grey8", 160, 121, STEP(512), 64, 64, 1, .one_in_flight = true},
    {"grey8", 160, 121, LOSSLESS, 64, 64, 1, .mq = true},
    {"grey8", 333, 260, LOSSLESS, 64, 64, 7, 0, 1, 1, .one_in_flight = true},
    {"grey8", 333, 260, STEP(256), 16, 256, 2, 0, 0, 1, .mq = true, .style = CAUSAL},
    {"grey8", 1100, 40, STEP(256), 1024, 4, 3, .refined = true},
    {"grey12-signed", 97, 64, STEP(1024), 32, 32, 4},
    {"grey12-signed", 97, 64, LOSSLESS, 32, 32, 4, .mq = true, .style = BYPASS | PTERM},
    {"grey16", 130, 257, LOSSLESS, 64, 64, 6},
    {"grey16", 130, 257, STEP(65536), 64, 64, 6, .mq = true, .style = RESET | SEGMARK},
    {"rgb8", 320, 201, LOSSLESS, 64, 64, 6, .one_in_flight = true},
    {"rgb8", 320, 201, STEP(256), 32, 32, 6, .mq = true, .style = BYPASS, .drop_divisor = 3},
    {"rgb8", 133, 99, STEP(300), 64, 64, 1, .no_mct = true},
    {"rgb8", 133, 99, LOSSLESS, 4, 4, 4, .mq = true, .style = TERMALL, .roi = 9},
    {"rgb12", 399, 271, STEP(4096), 64, 64, 6, .one_in_flight = true},
    {"rgb12", 399, 271, STEP(4096), 32, 32, 6, 0, 5, 3, .mq = true},
    {"rgb12", 399, 271, LOSSLESS, 32, 32, 5, 0, 1, 1, .refined = true},
    {"rgb12", 300, 200, STEP(2048), 64, 64, 4, 97, 11, 7},
    {"rgb12", 300, 200, LOSSLESS, 64, 32, 4, 128, 3, 5, .mq = true, .style = BYPASS | TERMALL},
    {"rgb12", 300, 200, STEP(2048), 32, 32, 3, 61, 3, 5, .no_mct = true, .reduce = 1},
    {"rgb12", 300, 200, STEP(1024), 32, 32, 6, .xyz = true},
    {"rgb12", 300, 200, STEP(4096), 64, 64, 6, .missing_planes = 5},
    {"rgb12", 300, 200, STEP(4096), 32, 64, 6, .mq = true, .missing_planes = 4, .drop_divisor = 2},
    {"rgb12", 300, 200, STEP(1024), 64, 64, 5, .roi = 11},
    {"rgb12", 300, 200, STEP(1024), 64, 64, 5, .mq = true, .roi = 13, .reduce = 2},
    {"rgb12-be", 150, 81, STEP(1024), 64, 64, 6, .one_in_flight = true},
    {"rgb8-packed", 150, 515, STEP(256), 64, 64, 6, .one_in_flight = true},
    {"rgba8-packed", 150, 81, LOSSLESS, 64, 64, 6},
    {"yuv422p10", 262, 131, STEP(1024), 64, 64, 5, .refined = true},
    {"yuv422p10", 262, 131, LOSSLESS, 32, 32, 6, .mq = true, .style = CAUSAL | BYPASS},
    {"yuv420p8", 322, 241, STEP(400), 64, 64, 6},
    {"yuv420p8", 322, 241, LOSSLESS, 32, 32, 4, 100, 3, 1},
    {"yuv420p8", 321, 243, STEP(400), 32, 32, 5, 0, 1, 1, .mq = true, .one_in_flight = true},
    {"uyvy", 260, 64, STEP(300), 64, 64, 6},
    {"v210", 260, 264, STEP(1024), 64, 64, 6, .one_in_flight = true},
    {"v210", 192, 108, LOSSLESS, 32, 32, 4, .mq = true},
    {"uyvp", 192, 108, STEP(1024), 64, 64, 6},
    {"rgb12", 1280, 720, LOSSLESS, 64, 64, 6, .one_in_flight = true},
    {"rgb12", 1001, 703, STEP(4096), 32, 32, 6, 0, 1, 1, .mq = true},
    {"yuv422p10", 1280, 720, STEP(1024), 64, 64, 6},
    {"rgb12", 399, 271, STEP(4096), 32, 32, 6, 0, 5, 3, .one_in_flight = true},
    {"rgb12", 399, 271, STEP(16), 32, 32, 6, .one_in_flight = true},
    {"rgb12", 1280, 720, STEP(4096), 32, 32, 6, .one_in_flight = true},
    {"rgb12", 300, 200, LOSSLESS, 16, 16, 4, .refined = true, .one_in_flight = true},
    {"yuv422p10", 262, 131, STEP(1024), 64, 64, 5, .refined = true, .one_in_flight = true},
    {"rgb8", 133, 99, STEP(300), 4, 4, 4, .one_in_flight = true},
    {"grey8", 61, 1, STEP(512), 32, 32, 4, 0, 3, 5, .one_in_flight = true},
    {"grey8", 1, 61, LOSSLESS, 32, 32, 4, 0, 3, 5, .one_in_flight = true},
    {"grey8", 40, 1100, STEP(256), 4, 1024, 3, .refined = true, .one_in_flight = true},
    {"grey12-signed", 97, 64, LOSSLESS, 64, 16, 3, .one_in_flight = true},
    {"grey8", 1, 1, STEP(512), 64, 64, 3, 0, 1, 1, .best = true},
    {"grey8", 61, 1, STEP(512), 32, 32, 4, 0, 3, 5, .best = true},
    {"grey8", 1100, 40, STEP(256), 1024, 4, 3, .best = true},
    {"grey8", 40, 1100, STEP(256), 4, 1024, 3, .best = true, .one_in_flight = true},
    {"grey16", 130, 257, STEP(65536), 64, 64, 6, .best = true},
    {"rgb8", 133, 99, STEP(100), 4, 4, 4, .best = true, .no_mct = true},
    {"rgb12", 300, 200, STEP(2048), 64, 64, 4, 97, 11, 7, .best = true},
    {"rgb12", 300, 200, STEP(4096), 64, 64, 6, .missing_planes = 5, .best = true},
    {"rgb12", 399, 271, LOSSLESS, 32, 32, 5, 0, 1, 1, .best = true},
    {"yuv422p10", 1280, 720, STEP(512), 64, 64, 6, .best = true, .one_in_flight = true},
};

/* ---------------------------------------------------------------------------------- TAP --- */

void stage_done(Stages *stages, const char *title, const char *stage, bool ok, const char *why)
{
  stages->failed += !ok;
  printf("%s %u - %s: %s\n", ok ? "ok" : "not ok", ++stages->count, title, stage);
  if (!ok)
    printf("# %s\n", why);
}

void stage_skipped(Stages *stages, const char *title, const char *stage, const char *why)
{
  printf("ok %u - %s: %s # SKIP %s\n", ++stages->count, title, stage, why);
}

/* -------------------------------------------------------------------------------- cases --- */

static char *name_case(const Case *test)
{
  GString *s = g_string_new(NULL);

  g_string_append_printf(s, "%s %ux%u", test->format, test->width, test->height);
  if (test->step > 0)
    g_string_append_printf(s, " step 1/%g", 1 / test->step);
  else
    g_string_append(s, " lossless");
  g_string_append_printf(s, ", blocks %ux%u, %u resolutions", test->block_width, test->block_height,
                         test->num_resolutions);
  if (test->tile)
    g_string_append_printf(s, ", tiles %u", test->tile);
  if (test->x0 || test->y0)
    g_string_append_printf(s, ", offset %u %u", test->x0, test->y0);
  g_string_append_printf(s, ", %s", test->mq ? "MQ" : test->refined ? "HT refined" : "HT");
  if (test->best)
    g_string_append(s, ", best effort");
  if (test->style)
    g_string_append_printf(s, ", style 0x%02x", test->style);
  if (test->roi)
    g_string_append_printf(s, ", ROI %u", test->roi);
  return g_string_free(s, FALSE);
}

static void set_params(const Case *test, Cj2kEncoderParams *params)
{
  cj2k_encoder_params_init(params);
  params->block_coder = test->mq ? CJ2K_CODER_MQ : CJ2K_CODER_HT;
  params->codeblock_style = test->style;
  params->rate_control = test->step > 0 ? CJ2K_RATE_QSTEP : CJ2K_RATE_LOSSLESS;
  params->quant_step = test->step;
  params->rate_effort = test->best ? CJ2K_EFFORT_BEST : CJ2K_EFFORT_FAST;
  params->frames_in_flight = test->one_in_flight ? 1 : 2;
  params->low_latency = test->one_in_flight;
  params->codeblock_width = test->block_width;
  params->codeblock_height = test->block_height;
  params->num_resolutions = test->num_resolutions;
  params->tile_width = params->tile_height = test->tile;
  params->image_x0 = test->x0;
  params->image_y0 = test->y0;
  params->tile_x0 = test->tile ? test->x0 / 2 : test->x0;
  params->tile_y0 = test->tile ? test->y0 / 2 : test->y0;
  params->mct = test->no_mct ? CJ2K_MCT_OFF : CJ2K_MCT_AUTO;
  params->rgb_to_xyz = test->xyz;
}

static bool frame_init(StageFrame *frame, const Case *test, Cj2kError *error)
{
  const Format *format = find_format(test->format);
  PictureKind kind;
  Cj2kEncoderParams params;

  picture_kind_init(&kind, format, test->width, test->height);
  *frame = (StageFrame){.test = test, .title = name_case(test), .format = format};
  frame->layout = kind.layout;
  set_params(test, &params);
  if (cj2k_setup_init(&frame->setup, &params, &kind.image, &frame->layout, error) != CJ2K_OK)
    return false;
  frame->header = cj2k_setup_header(&frame->setup);
  return true;
}

static void frame_clear(StageFrame *frame)
{
  g_clear_pointer(&frame->header, cj2k_header_unref);
  cj2k_setup_clear(&frame->setup);
  g_free(frame->title);
}

static void check_case(Stages *stages, const Case *test)
{
  Cj2kError error = {0};
  StageFrame frame;
  Coded coded;

  coded_init(&coded);
  if (frame_init(&frame, test, &error)) {
    check_encoding(stages, &frame, &coded);
    check_decoding_case(stages, &frame, &coded);
  } else {
    stage_done(stages, frame.title, "parameters", false, error.text);
  }
  frame_clear(&frame);
  coded_clear(&coded);
}

/* -------------------------------------------------------------------------------- sides --- */

static Side cpu_side(const char *name, uint32_t threads)
{
  return (Side){.name = name,
                .encode = cj2k_cpu_encode_backend(),
                .decode = cj2k_cpu_decode_backend(),
                .read_encoded = read_encoded_cpu,
                .read_decoded = read_decoded_cpu,
                .threads = cj2k_threads_new(threads)};
}

/* false: there is no GPU; the line of TAP that says so was printed. */
static bool set_sides(Stages *stages, bool threads)
{
  if (threads) {
    stages->sides[0] = cpu_side("one thread", 1);
    stages->sides[1] = cpu_side("several threads", SOME_THREADS);
    return true;
  }
#ifdef CJ2K_HAVE_CUDA
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  void *probe = cj2k_cuda_decode_backend()->open(&params, NULL, &error);
  if (!probe) {
    printf("1..0 # SKIP %s\n", error.text);
    return false;
  }
  cj2k_cuda_decode_backend()->close(probe);
  stages->sides[0] = cpu_side("CPU", 0);
  stages->sides[1] = (Side){.name = "GPU",
                            .encode = cj2k_cuda_encode_backend(),
                            .decode = cj2k_cuda_decode_backend(),
                            .read_encoded = read_encoded_cuda,
                            .read_decoded = read_decoded_cuda,
                            .threads = cj2k_threads_new(0)};
  return true;
#else
  printf("1..0 # SKIP built without CUDA\n");
  return false;
#endif
}

int main(int argc, char **argv)
{
  Stages stages = {0};
  bool threads = argc > 1 && !strcmp(argv[1], "--threads");

  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!set_sides(&stages, threads))
    return 0;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    check_case(&stages, &cases[i]);
  for (int i = threads ? 2 : 1; i < argc; i++)
    check_decoding_file(&stages, argv[i]);
  cj2k_threads_free(stages.sides[0].threads);
  cj2k_threads_free(stages.sides[1].threads);
  printf("1..%u\n", stages.count);
  return stages.failed != 0;
}
