/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench decode: decodes one codestream repeatedly. */
#include "bench.h"

#include "image.h"
#include "tool_options.h"

#include "common/options/decoder_options.h"
#include "common/samples/video_formats.h"

#include <string.h>

typedef struct {
  BenchRun run;
  uint8_t *file; /* bytes of the file */
  const uint8_t *data;
  size_t size;
  void *pinned; /* a copy of the codestream in pinned memory */
  Cj2kDecoder *decoder;
  Cj2kSampleLayout *samples; /* of the planar layout */
  Cj2kLayout layout;
} Bench;

typedef struct {
  BenchOptions bench;
  char *format;
  ToolOptions tool;
  Cj2kDecoderParams params;
} Options;

static Cj2kStatus submit(BenchRun *run, uint32_t index, Cj2kError *error)
{
  Bench *bench = (Bench *)run;
  return cj2k_decoder_submit(bench->decoder, bench->data, bench->size, &bench->layout,
                             &run->pictures[index].picture, NULL, error);
}

static Cj2kStatus receive(BenchRun *run, Cj2kError *error)
{
  Bench *bench = (Bench *)run;
  Cj2kFrame frame;
  cj2k_decoder_receive(bench->decoder, &frame);
  *error = frame.error;
  cj2k_decoder_release(bench->decoder, &frame);
  return frame.status;
}

static void get_stats(BenchRun *run, Cj2kStats *stats)
{
  cj2k_decoder_get_stats(((Bench *)run)->decoder, stats);
}

/* Sets the layout of a video format. false: the image does not have its components (alpha may be
 * missing). */
static bool set_video_layout(Bench *bench, const char *name, const Cj2kImage *image)
{
  const Cj2kVideoFormat *format = cj2k_video_format_find(name);
  if (!format || image->num_components > format->num_components ||
      (image->num_components < 3) != (format->num_components < 3))
    return false;
  for (uint32_t c = 0; c < image->num_components; c++)
    if (image->components[c].dx != cj2k_video_format_dx(format, c) ||
        image->components[c].dy != cj2k_video_format_dy(format, c))
      return false;
  cj2k_video_format_layout(format, &bench->layout);
  return true;
}

/* Opens the decoder and allocates a picture for each frame in flight. */
static int prepare(Bench *bench, const Options *options, const Cj2kDecoderParams *params)
{
  Cj2kError error;
  Cj2kImage image;
  Cj2kComponent *components;
  BenchRun *run = &bench->run;
  bench->decoder = cj2k_decoder_open(params, &error);
  if (!bench->decoder ||
      cj2k_decoder_read_header(bench->decoder, bench->data, bench->size, &image, &error) != CJ2K_OK)
    return bench_fail(run->file, error.text);
  run->backend = cj2k_decoder_backend(bench->decoder);
  run->pixels = (uint64_t)(image.x1 - image.x0) * (image.y1 - image.y0);
  bench->pinned = cj2k_decoder_alloc(bench->decoder, CJ2K_MEMORY_PINNED, bench->size);
  if (bench->pinned) /* as a capture card or a network stack provides it */
    bench->data = memcpy(bench->pinned, bench->data, bench->size);
  bench->samples = g_new(Cj2kSampleLayout, image.num_components);
  cj2k_layout_planar(&image, bench->samples, &bench->layout);
  if (options->format && !set_video_layout(bench, options->format, &image))
    return bench_fail(run->file, "the components of the image do not match --format");
  components = g_new(Cj2kComponent, bench->layout.num_components);
  for (uint32_t c = 0; c < bench->layout.num_components; c++) /* alpha is as large as the first */
    components[c] = image.components[c < image.num_components ? c : 0];
  bool ok = true;
  for (uint32_t i = 0; i < run->in_flight && ok; i++)
    ok = bench_picture_new(&run->pictures[i], &bench->layout, components,
                           bench_memory_kind(run->backend, &options->bench));
  g_free(components);
  return ok ? BENCH_OK : bench_fail(run->file, "no memory for a picture");
}

static void close_run(BenchRun *run)
{
  Bench *bench = (Bench *)run;
  if (bench->decoder)
    cj2k_decoder_free(bench->decoder, CJ2K_MEMORY_PINNED, bench->pinned);
  cj2k_decoder_close(bench->decoder);
  for (uint32_t i = 0; i < run->in_flight; i++)
    bench_picture_free(&run->pictures[i]);
  g_free(bench->samples);
  g_free(bench->file);
  g_free(bench);
}

static BenchRun *open_run(const void *user, const char *path, BenchTimeline *timeline, int *status)
{
  const Options *options = user;
  char why[IMAGE_WHY];
  size_t size;
  uint8_t *data = image_load_file(path, &size, why);
  if (!data) {
    g_printerr("cj2k-bench: %s\n", why);
    *status = BENCH_FAILED;
    return NULL;
  }
  Cj2kDecoderParams params = options->params;
  Bench *bench = g_new(Bench, 1);
  *bench = (Bench){.run = {.submit = submit,
                           .receive = receive,
                           .get_stats = get_stats,
                           .operation = "decode",
                           .file = path,
                           .output = options->bench.output ? options->bench.output : "host",
                           .in_flight = params.frames_in_flight,
                           .timeline = timeline},
                   .data = data,
                   .file = data,
                   .size = size};
  params.trace = bench_timeline_trace(timeline);
  params.trace_user = timeline;
  if ((*status = prepare(bench, options, &params)) == BENCH_OK)
    return &bench->run;
  close_run(&bench->run);
  return NULL;
}

static const char *check(const Options *options)
{
  if (options->format && !cj2k_video_format_find(options->format))
    return "--format is not the name of a video format";
  return bench_check_options(&options->bench);
}

int bench_decode(int argc, char **argv)
{
  Options options = {.bench = {.frames = 20}};
  const GOptionEntry entries[] = {
      {"format", 0, 0, G_OPTION_ARG_STRING, &options.format,
       "Decode to this video format of GStreamer (default: planes of the image's own depth)",
       "NAME"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("FILE...");
  g_option_context_set_summary(context, "Decode frames and print their rate and latency.");
  GError *error = NULL;
  cj2k_decoder_params_init(&options.params);
  tool_options_init(&options.tool, &cj2k_decoder_options, &options.params);
  bench_add_options(context, &options.bench);
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(
      context, tool_options_group(&options.tool, "decode", "Decoding:", "Decoding options"));
  const char *why = NULL;
  if (!tool_options_parse(&options.tool, context, &argc, &argv, &error))
    why = error->message;
  else if (argc < 2)
    why = "decode needs a file";
  else
    why = check(&options);
  int result = BENCH_OK;
  if (why) {
    g_printerr("cj2k-bench: %s\n", why);
    result = BENCH_USAGE;
  } else {
    const BenchOpener opener = {open_run, close_run, &options};
    options.bench.threads = options.params.num_threads;
    bench_choose_gpu(&options.bench, &options.params.cuda_device);
    result = bench_files(&options.bench, &opener, argv + 1, argc - 1);
  }
  g_clear_error(&error);
  g_option_context_free(context);
  bench_clear_options(&options.bench);
  tool_options_clear(&options.tool);
  g_free(options.format);
  return result;
}
