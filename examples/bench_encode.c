/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench encode: encodes one picture repeatedly. */
#include "bench.h"

#include "encode_input.h"

#include <string.h>

typedef struct {
  BenchRun run;
  Cj2kEncoder *encoder;
  EncodeInput input;
  const char *write; /* a file for the first codestream, until it is written */
} Bench;

typedef struct {
  BenchOptions bench;
  EncodeOptions encode;
  char *write;
} Options;

static Cj2kStatus submit(BenchRun *run, uint32_t index, Cj2kError *error)
{
  return cj2k_encoder_submit(((Bench *)run)->encoder, &run->pictures[index].picture, NULL, error);
}

static Cj2kStatus receive(BenchRun *run, Cj2kError *error)
{
  Bench *bench = (Bench *)run;
  Cj2kPacket packet;

  cj2k_encoder_receive(bench->encoder, &packet);
  *error = packet.error;
  if (bench->write && packet.status == CJ2K_OK) {
    if (!g_file_set_contents(bench->write, (const char *)packet.data, (gssize)packet.size, NULL))
      bench_fail(bench->write, "cannot be written");
    bench->write = NULL;
  }
  cj2k_encoder_release(bench->encoder, &packet);
  return packet.status;
}

static void get_stats(BenchRun *run, Cj2kStats *stats)
{
  cj2k_encoder_get_stats(((Bench *)run)->encoder, stats);
}

static int prepare(Bench *bench, const BenchOptions *options, const Cj2kEncoderParams *params)
{
  const EncodeInput *input = &bench->input;
  BenchRun *run = &bench->run;
  Cj2kError error = {0};

  bench->encoder = cj2k_encoder_open(params, &input->image, &input->layout, &error);
  if (!bench->encoder) {
    bench_fail(run->file, error.text);
    return error.code == CJ2K_ERROR_ARGUMENT ? BENCH_USAGE : BENCH_FAILED;
  }
  run->backend = cj2k_encoder_backend(bench->encoder);
  run->pixels = (uint64_t)input->image.width * input->image.height;
  for (uint32_t i = 0; i < run->in_flight; i++)
    if (!bench_picture_new(&run->pictures[i], &input->layout, input->components,
                           bench_memory_kind(run->backend, options)) ||
        !bench_picture_fill(&run->pictures[i], &input->layout, input->components, input->planes))
      return bench_fail(run->file, "no memory for a picture");
  return BENCH_OK;
}

static void close_run(BenchRun *run)
{
  Bench *bench = (Bench *)run;

  cj2k_encoder_close(bench->encoder);
  for (uint32_t i = 0; i < run->in_flight; i++)
    bench_picture_free(&run->pictures[i]);
  encode_input_clear(&bench->input);
  g_free(bench);
}

static BenchRun *open_run(const void *user, const char *path, BenchTimeline *timeline, int *status)
{
  const Options *options = user;
  Cj2kEncoderParams params = options->encode.params;
  char why[IMAGE_WHY];
  bool known = encode_input_check(&options->encode, path, why);

  *status = known ? BENCH_FAILED : BENCH_USAGE;
  Bench *bench = g_new0(Bench, 1);
  if (!known || !encode_input_read(&bench->input, &options->encode, &params, path, why)) {
    g_printerr("cj2k-bench: %s\n", why);
    g_free(bench);
    return NULL;
  }
  bench->run = (BenchRun){.submit = submit,
                          .receive = receive,
                          .get_stats = get_stats,
                          .operation = "encode",
                          .file = path,
                          .output = options->bench.output ? options->bench.output : "host",
                          .in_flight = params.frames_in_flight,
                          .timeline = timeline};
  bench->write = options->write;
  params.trace = bench_timeline_trace(timeline);
  params.trace_user = timeline;
  if ((*status = prepare(bench, &options->bench, &params)) == BENCH_OK)
    return &bench->run;
  close_run(&bench->run);
  return NULL;
}

int bench_encode(int argc, char **argv)
{
  Options options = {.bench = {.frames = 20}};
  BenchOptions *bench = &options.bench;
  const GOptionEntry entries[] = {{"write", 0, 0, G_OPTION_ARG_FILENAME, &options.write,
                                   "Also write the first codestream", "FILE"},
                                  G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("FILE...");
  GError *error = NULL;
  const char *why = NULL;
  int result = BENCH_OK;

  g_option_context_set_summary(context, "Encode frames and print their rate and latency.");
  encode_options_init(&options.encode);
  bench_add_options(context, bench);
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, encode_options_group(&options.encode));
  if (!tool_options_parse(&options.encode.tool, context, &argc, &argv, &error))
    why = error->message;
  else if (argc < 2)
    why = "encode needs a file";
  else
    why = bench_check_options(bench);
  if (why) {
    g_printerr("cj2k-bench: %s\n", why);
    result = BENCH_USAGE;
  } else {
    const BenchOpener opener = {open_run, close_run, &options};
    bench->threads = options.encode.params.num_threads;
    bench_choose_gpu(bench, &options.encode.params.cuda_device);
    result = bench_files(bench, &opener, argv + 1, argc - 1);
  }
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&options.encode);
  bench_clear_options(bench);
  g_free(options.write);
  return result;
}
