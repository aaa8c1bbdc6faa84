/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench encode: one picture over and over. */
#include "bench.h"

#include "encode_input.h"

#include <string.h>

typedef struct {
  BenchRun run;
  Cj2kEncoder *encoder;
} Bench;

static Cj2kStatus submit(BenchRun *run, uint32_t place, Cj2kError *error)
{
  return cj2k_encoder_submit(((Bench *)run)->encoder, &run->pictures[place].picture, NULL, error);
}

static Cj2kStatus receive(BenchRun *run, Cj2kError *error)
{
  Bench *bench = (Bench *)run;
  Cj2kPacket packet;

  cj2k_encoder_receive(bench->encoder, &packet);
  *error = packet.error;
  cj2k_encoder_release(bench->encoder, &packet);
  return packet.status;
}

static void get_stats(BenchRun *run, Cj2kStats *stats)
{
  cj2k_encoder_get_stats(((Bench *)run)->encoder, stats);
}

static int prepare(Bench *bench, const BenchOptions *options, const Cj2kEncoderParams *params,
                   const EncodeInput *input)
{
  BenchRun *run = &bench->run;
  Cj2kError error = {0};

  bench->encoder = cj2k_encoder_open(params, &input->image, &input->layout, &error);
  if (!bench->encoder)
    return bench_fail(run->file, error.text);
  run->backend = cj2k_encoder_backend(bench->encoder);
  run->pixels = (uint64_t)input->image.width * input->image.height;
  for (uint32_t i = 0; i < run->in_flight; i++)
    if (!bench_picture_new(&run->pictures[i], &input->layout, input->components,
                           bench_memory_kind(run, options)) ||
        !bench_picture_fill(&run->pictures[i], &input->layout, input->components, input->planes))
      return bench_fail(run->file, "no memory for a picture");
  return BENCH_OK;
}

static int bench_file(const BenchOptions *options, const EncodeOptions *encode,
                      Cj2kEncoderParams *params, const char *path)
{
  char why[IMAGE_WHY];
  EncodeInput input;

  if (!encode_input_read(&input, encode, params, path, why))
    return bench_fail(path, why);
  Bench bench = {.run = {.submit = submit,
                         .receive = receive,
                         .get_stats = get_stats,
                         .operation = "encode",
                         .file = path,
                         .output = options->output ? options->output : "host",
                         .in_flight = params->frames_in_flight}};
  bench_timeline_init(&bench.run.timeline, options);
  params->trace = bench_timeline_trace(&bench.run.timeline);
  params->trace_user = &bench.run.timeline;
  int result = prepare(&bench, options, params, &input);
  if (result == BENCH_OK)
    result = bench_measure(&bench.run, options);
  cj2k_encoder_close(bench.encoder);
  for (uint32_t i = 0; i < bench.run.in_flight; i++)
    bench_picture_free(&bench.run.pictures[i]);
  bench_timeline_clear(&bench.run.timeline);
  encode_input_clear(&input);
  return result;
}

int bench_encode(int argc, char **argv)
{
  BenchOptions options = {.frames = 20, .in_flight = 2};
  EncodeOptions encode;
  Cj2kEncoderParams params;
  GOptionContext *context = g_option_context_new("FILE...");
  GError *error = NULL;
  char text[IMAGE_WHY];
  const char *why = NULL;
  int result = BENCH_OK;

  encode_options_init(&encode);
  bench_add_options(context, &options);
  g_option_context_add_group(context, encode_options_group(&encode));
  if (!g_option_context_parse(context, &argc, &argv, &error))
    why = error->message;
  else if (argc < 2)
    why = "encode needs a file";
  else if (!(why = bench_check_options(&options)) && !encode_options_params(&encode, &params, text))
    why = text;
  if (why) {
    g_printerr("cj2k-bench: %s\n", why);
    result = BENCH_USAGE;
  } else {
    if (options.backend)
      bench_find_backend(options.backend, &params.backend);
    params.num_threads = (uint32_t)options.threads;
    params.frames_in_flight = (uint32_t)options.in_flight;
  }
  for (int i = 1; result == BENCH_OK && i < argc; i++)
    result = bench_file(&options, &encode, &params, argv[i]);
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&encode);
  bench_clear_options(&options);
  return result;
}
