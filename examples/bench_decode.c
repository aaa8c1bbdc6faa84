/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench decode: one codestream over and over. */
#include "bench.h"

#include "image.h"

#include <string.h>

typedef struct {
  const uint8_t *data;
  size_t size;
  void *pinned; /* a copy of the codestream that the back end uploads fastest */
  Cj2kDecoder *decoder;
  uint32_t in_flight;
  Cj2kSampleLayout *samples;
  Cj2kLayout layout;
  BenchPicture pictures[16];
  gint64 submitted[16];
  GArray *latencies;
} Bench;

static int fail(const char *path, const Cj2kError *error)
{
  fprintf(stderr, "cj2k-bench: %s: %s\n", path, error->text);
  return BENCH_FAILED;
}

/* Submits `frames` frames, as many in flight as allowed. */
static bool run(Bench *bench, uint32_t frames, Cj2kError *error)
{
  uint32_t submitted = 0, received = 0;
  while (received < frames) {
    if (submitted < frames && submitted - received < bench->in_flight) {
      uint32_t place = submitted++ % bench->in_flight;
      bench->submitted[place] = g_get_monotonic_time();
      if (cj2k_decoder_submit(bench->decoder, bench->data, bench->size, &bench->layout,
                              &bench->pictures[place].picture, NULL, error) != CJ2K_OK)
        return false;
      continue;
    }
    Cj2kFrame frame;
    cj2k_decoder_receive(bench->decoder, &frame);
    double ms =
        (double)(g_get_monotonic_time() - bench->submitted[received++ % bench->in_flight]) / 1000;
    g_array_append_val(bench->latencies, ms);
    *error = frame.error;
    cj2k_decoder_release(bench->decoder, &frame);
    if (frame.status != CJ2K_OK)
      return false;
  }
  return true;
}

static Cj2kStats difference(const Cj2kStats *a, const Cj2kStats *b)
{
  Cj2kStats d = *a;
  d.frames -= b->frames;
  d.bytes -= b->bytes;
  d.corrupt_blocks -= b->corrupt_blocks;
  d.fallbacks -= b->fallbacks;
  d.ms_header -= b->ms_header;
  d.ms_packets -= b->ms_packets;
  d.ms_block_coder -= b->ms_block_coder;
  d.ms_transform -= b->ms_transform;
  return d;
}

/* Frames to warm up, then those that count. */
static int measure(Bench *bench, const BenchOptions *options, const char *path,
                   const Cj2kImage *image)
{
  Cj2kError error;
  Cj2kStats before, after;
  if (!run(bench, MAX(bench->in_flight, 2), &error))
    return fail(path, &error);
  g_array_set_size(bench->latencies, 0);
  cj2k_decoder_get_stats(bench->decoder, &before);
  gint64 begin = g_get_monotonic_time();
  if (!run(bench, (uint32_t)options->frames, &error))
    return fail(path, &error);
  BenchResult result = {.operation = "decode",
                        .file = path,
                        .backend = bench_backends[cj2k_decoder_backend(bench->decoder)],
                        .output = options->output ? options->output : "host",
                        .in_flight = bench->in_flight,
                        .threads =
                            options->threads ? (uint32_t)options->threads : g_get_num_processors(),
                        .pixels = (uint64_t)(image->x1 - image->x0) * (image->y1 - image->y0),
                        .seconds = (double)(g_get_monotonic_time() - begin) / 1e6,
                        .latencies = bench->latencies};
  cj2k_decoder_get_stats(bench->decoder, &after);
  result.stats = difference(&after, &before);
  result.bytes = result.stats.bytes;
  bench_print(&result);
  return BENCH_OK;
}

static Cj2kMemoryKind memory_kind(const Bench *bench, const BenchOptions *options)
{
  if (options->output && !strcmp(options->output, "device"))
    return CJ2K_MEMORY_CUDA;
  return cj2k_decoder_backend(bench->decoder) == CJ2K_BACKEND_CUDA ? CJ2K_MEMORY_PINNED
                                                                   : CJ2K_MEMORY_HOST;
}

/* Opens the decoder and makes a picture for each frame in flight. */
static int prepare(Bench *bench, const BenchOptions *options, const Cj2kDecoderParams *params,
                   const char *path, Cj2kImage *image)
{
  Cj2kError error;
  bench->decoder = cj2k_decoder_open(params, &error);
  if (!bench->decoder ||
      cj2k_decoder_read_header(bench->decoder, bench->data, bench->size, image, &error) != CJ2K_OK)
    return fail(path, &error);
  bench->pinned = cj2k_decoder_alloc(bench->decoder, CJ2K_MEMORY_PINNED, bench->size);
  if (bench->pinned) /* where a capture card or a network stack would put it */
    bench->data = memcpy(bench->pinned, bench->data, bench->size);
  bench->samples = g_new(Cj2kSampleLayout, image->num_components);
  cj2k_layout_planar(image, bench->samples, &bench->layout);
  for (uint32_t i = 0; i < bench->in_flight; i++) {
    if (!bench_picture_new(&bench->pictures[i], &bench->layout, image->components,
                           memory_kind(bench, options))) {
      fprintf(stderr, "cj2k-bench: no %s memory for a picture\n",
              options->output ? options->output : "host");
      return BENCH_FAILED;
    }
  }
  return BENCH_OK;
}

static int bench_file(const BenchOptions *options, const Cj2kDecoderParams *params,
                      const char *path)
{
  char why[IMAGE_WHY];
  Cj2kImage image;
  size_t size;
  uint8_t *data = image_load_file(path, &size, why);
  if (!data) {
    fprintf(stderr, "cj2k-bench: %s\n", why);
    return BENCH_FAILED;
  }
  Bench bench = {.data = data, .size = size, .in_flight = params->frames_in_flight};
  bench.latencies = g_array_new(FALSE, FALSE, sizeof(double));
  int result = prepare(&bench, options, params, path, &image);
  if (result == BENCH_OK)
    result = measure(&bench, options, path, &image);
  if (bench.decoder)
    cj2k_decoder_free(bench.decoder, CJ2K_MEMORY_PINNED, bench.pinned);
  cj2k_decoder_close(bench.decoder);
  for (uint32_t i = 0; i < bench.in_flight; i++)
    bench_picture_free(&bench.pictures[i]);
  g_array_unref(bench.latencies);
  g_free(bench.samples);
  g_free(data);
  return result;
}

int bench_decode(int argc, char **argv)
{
  BenchOptions options = {.frames = 20, .in_flight = 2};
  int reduce = 0, layers = 0;
  const GOptionEntry entries[] = {
      {"reduce", 0, 0, G_OPTION_ARG_INT, &reduce, "Discard N resolution levels", "N"},
      {"layers", 0, 0, G_OPTION_ARG_INT, &layers, "Decode N quality layers (0: all)", "N"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("FILE...");
  GError *error = NULL;
  Cj2kDecoderParams params;
  bench_add_options(context, &options);
  g_option_context_add_main_entries(context, entries, NULL);
  const char *why = NULL;
  if (!g_option_context_parse(context, &argc, &argv, &error))
    why = error->message;
  else if (argc < 2)
    why = "decode needs a file";
  else if (reduce < 0 || reduce > CJ2K_MAX_LEVELS || layers < 0 || layers > UINT16_MAX)
    why = "--reduce must be 0 to 32, --layers 0 to 65535";
  else
    why = bench_check_options(&options);
  int result = why ? BENCH_USAGE : BENCH_OK;
  if (why)
    fprintf(stderr, "cj2k-bench: %s\n", why);
  cj2k_decoder_params_init(&params);
  if (options.backend)
    bench_find_backend(options.backend, &params.backend);
  params.num_threads = (uint32_t)MAX(options.threads, 0);
  params.frames_in_flight = (uint32_t)options.in_flight;
  params.reduce = (uint8_t)reduce;
  params.max_layers = (uint16_t)layers;
  for (int i = 1; result == BENCH_OK && i < argc; i++)
    result = bench_file(&options, &params, argv[i]);
  g_clear_error(&error);
  g_option_context_free(context);
  g_free(options.backend);
  g_free(options.output);
  return result;
}
