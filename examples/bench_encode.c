/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench encode: encodes one picture repeatedly, or pictures that move. */
#include "bench_film.h"

#include <stdio.h>
#include <string.h>

#define MAX_PLANES 4

typedef struct {
  BenchRun run;
  Cj2kEncoder *encoder;
  BenchFilm film; /* one frame of it over and over, or frames that move */
  bool moving;
  uint32_t number;                         /* of the next frame */
  Cj2kPicture windows[CJ2K_MAX_IN_FLIGHT]; /* frames in flight that move */
  Cj2kPlane planes[CJ2K_MAX_IN_FLIGHT][MAX_PLANES];
  const char *write; /* a file for the first codestream, until it is written */
} Bench;

typedef struct {
  BenchOptions bench;
  EncodeOptions encode;
  char *write, *moving;
  uint32_t width, height; /* of `moving`; 0: the picture does not move */
} Options;

static Cj2kStatus submit(BenchRun *run, uint32_t index, Cj2kError *error)
{
  Bench *bench = (Bench *)run;
  Cj2kPicture *window = &bench->windows[index];

  if (!bench->moving)
    return cj2k_encoder_submit(bench->encoder, &run->pictures[index].picture, NULL, error);
  *window = (Cj2kPicture){bench->film.picture.picture.memory, bench->film.input.layout.num_planes,
                          bench->planes[index], NULL};
  bench_film_frame(&bench->film, 0, bench->number++, bench->planes[index]);
  return cj2k_encoder_submit(bench->encoder, window, NULL, error);
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

/* Makes the pictures that are submitted. With one that moves, its windows are. */
static bool load(Bench *bench, Cj2kMemoryKind memory)
{
  const EncodeInput *input = &bench->film.input;
  BenchRun *run = &bench->run;

  if (bench->moving)
    return bench_film_load(&bench->film, memory);
  for (uint32_t i = 0; i < run->in_flight; i++)
    if (!bench_picture_new(&run->pictures[i], &input->layout, input->components, memory) ||
        !bench_picture_fill(&run->pictures[i], &input->layout, input->components, input->planes))
      return false;
  return true;
}

static int prepare(Bench *bench, const BenchOptions *options, const Cj2kEncoderParams *params)
{
  const BenchFilm *film = &bench->film;
  BenchRun *run = &bench->run;
  Cj2kError error = {0};

  bench->encoder = cj2k_encoder_open(params, &film->image, &film->input.layout, &error);
  if (!bench->encoder) {
    bench_fail(run->file, error.text);
    return error.code == CJ2K_ERROR_ARGUMENT ? BENCH_USAGE : BENCH_FAILED;
  }
  run->backend = cj2k_encoder_backend(bench->encoder);
  run->pixels = (uint64_t)film->image.width * film->image.height;
  if (!load(bench, bench_memory_kind(run->backend, options)))
    return bench_fail(run->file, "no memory for a picture");
  return BENCH_OK;
}

static void close_run(BenchRun *run)
{
  Bench *bench = (Bench *)run;

  cj2k_encoder_close(bench->encoder);
  for (uint32_t i = 0; i < run->in_flight; i++)
    bench_picture_free(&run->pictures[i]);
  bench_film_close(&bench->film);
  g_free(bench);
}

static BenchRun *open_run(const void *user, const char *path, BenchTimeline *timeline, int *status)
{
  const Options *options = user;
  Cj2kEncoderParams params = options->encode.params;
  const char *file = *path ? path : NULL; /* none: a picture that is made */
  char why[IMAGE_WHY];
  bool known = !file || encode_input_check(&options->encode, file, why);

  *status = known ? BENCH_FAILED : BENCH_USAGE;
  Bench *bench = g_new0(Bench, 1);
  bench->moving = options->width > 0;
  if (!known || !bench_film_open(&bench->film, &options->encode, file, options->width,
                                 options->height, why)) {
    g_printerr("cj2k-bench: %s\n", why);
    g_free(bench);
    return NULL;
  }
  bench->run = (BenchRun){.submit = submit,
                          .receive = receive,
                          .get_stats = get_stats,
                          .operation = "encode",
                          .file = file ? file : "made",
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

/* Checks the options. Returns a message, or NULL when they are valid. */
static const char *check(Options *options, int files)
{
  int end = 0;

  if (options->moving &&
      (sscanf(options->moving, "%ux%u%n", &options->width, &options->height, &end) != 2 ||
       options->moving[end] || options->width - 1 > 16383 || options->height - 1 > 16383))
    return "--moving is WIDTHxHEIGHT, each 1 to 16384";
  if (!files && !options->moving)
    return "encode needs a file";
  return bench_check_options(&options->bench);
}

int bench_encode(int argc, char **argv)
{
  static char *made[] = {(char *)""};
  Options options = {.bench = {.frames = 20}};
  BenchOptions *bench = &options.bench;
  const GOptionEntry entries[] = {{"write", 0, 0, G_OPTION_ARG_FILENAME, &options.write,
                                   "Also write the first codestream", "FILE"},
                                  {"moving", 0, 0, G_OPTION_ARG_STRING, &options.moving,
                                   "Frames are a window of this size that moves over FILE, with a "
                                   "cut every 48 frames;\n                               without "
                                   "FILE over a picture that is made",
                                   "WIDTHxHEIGHT"},
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
  else
    why = check(&options, argc - 1);
  if (why) {
    g_printerr("cj2k-bench: %s\n", why);
    result = BENCH_USAGE;
  } else {
    const BenchOpener opener = {open_run, close_run, &options};
    bench->threads = options.encode.params.num_threads;
    bench_choose_gpu(bench, &options.encode.params.cuda_device);
    result = bench_files(bench, &opener, argc > 1 ? argv + 1 : made, MAX(argc - 1, 1));
  }
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&options.encode);
  bench_clear_options(bench);
  g_free(options.write);
  g_free(options.moving);
  return result;
}
