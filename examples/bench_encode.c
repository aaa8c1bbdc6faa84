/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench encode: one picture over and over. */
#include "bench.h"

#include "encode_options.h"

#include "config.h"
#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#include <string.h>

typedef struct {
  Cj2kEncoder *encoder;
  uint32_t in_flight;
  BenchPicture pictures[16];
  gint64 submitted[16];
  GArray *latencies;
} Bench;

static int fail(const char *path, const char *why)
{
  fprintf(stderr, "cj2k-bench: %s: %s\n", path, why);
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
      if (cj2k_encoder_submit(bench->encoder, &bench->pictures[place].picture, NULL, error) !=
          CJ2K_OK)
        return false;
      continue;
    }
    Cj2kPacket packet;
    cj2k_encoder_receive(bench->encoder, &packet);
    double ms =
        (double)(g_get_monotonic_time() - bench->submitted[received++ % bench->in_flight]) / 1000;
    g_array_append_val(bench->latencies, ms);
    *error = packet.error;
    cj2k_encoder_release(bench->encoder, &packet);
    if (packet.status != CJ2K_OK)
      return false;
  }
  return true;
}

static Cj2kStats difference(const Cj2kStats *a, const Cj2kStats *b)
{
  Cj2kStats d = *a;
  d.frames -= b->frames;
  d.bytes -= b->bytes;
  d.fallbacks -= b->fallbacks;
  d.ms_packets -= b->ms_packets;
  d.ms_block_coder -= b->ms_block_coder;
  d.ms_transform -= b->ms_transform;
  return d;
}

/* Frames to warm up, then those that count. */
static int measure(Bench *bench, const BenchOptions *options, const char *where,
                   const EncodeInput *input, const char *path)
{
  Cj2kError error = {0};
  Cj2kStats before, after;

  if (!run(bench, MAX(bench->in_flight, 2), &error))
    return fail(path, error.text);
  g_array_set_size(bench->latencies, 0);
  cj2k_encoder_get_stats(bench->encoder, &before);
  gint64 begin = g_get_monotonic_time();
  if (!run(bench, (uint32_t)options->frames, &error))
    return fail(path, error.text);
  BenchResult result = {.operation = "encode",
                        .file = path,
                        .backend = bench_backends[cj2k_encoder_backend(bench->encoder)],
                        .output = where,
                        .in_flight = bench->in_flight,
                        .threads =
                            options->threads ? (uint32_t)options->threads : g_get_num_processors(),
                        .pixels = (uint64_t)input->image.width * input->image.height,
                        .seconds = (double)(g_get_monotonic_time() - begin) / 1e6,
                        .latencies = bench->latencies};
  cj2k_encoder_get_stats(bench->encoder, &after);
  result.stats = difference(&after, &before);
  result.bytes = result.stats.bytes;
  bench_print(&result);
  return BENCH_OK;
}

/* Copies the image into a picture of the benchmark's own memory. */
static bool upload(const Image *image, const BenchPicture *picture)
{
  for (uint32_t c = 0; c < image->num_planes; c++) {
    const ImagePlane *from = &image->planes[c];
    const Cj2kPlane *to = &picture->picture.planes[c];
    size_t row = (size_t)from->width * from->bytes;
#ifdef CJ2K_HAVE_CUDA
    if (picture->picture.memory == CJ2K_MEMORY_CUDA) {
      if (cudaMemcpy2D(to->data, to->pitch, from->data, from->pitch, row, from->height,
                       cudaMemcpyHostToDevice) != cudaSuccess)
        return false;
      continue;
    }
#endif
    for (uint32_t y = 0; y < from->height; y++)
      memcpy((uint8_t *)to->data + y * to->pitch, from->data + y * from->pitch, row);
  }
  return true;
}

static bool prepare(Bench *bench, const Image *image, const EncodeInput *input, bool device)
{
  Cj2kMemoryKind memory = device ? CJ2K_MEMORY_CUDA
                          : cj2k_encoder_backend(bench->encoder) == CJ2K_BACKEND_CUDA
                              ? CJ2K_MEMORY_PINNED
                              : CJ2K_MEMORY_HOST;
  Cj2kComponent *shapes = g_new0(Cj2kComponent, image->num_planes);
  bool ok = true;

  for (uint32_t c = 0; c < image->num_planes; c++)
    shapes[c] = (Cj2kComponent){.x1 = image->planes[c].width, .y1 = image->planes[c].height};
  for (uint32_t i = 0; i < bench->in_flight && ok; i++)
    ok = bench_picture_new(&bench->pictures[i], &input->layout, shapes, memory) &&
         upload(image, &bench->pictures[i]);
  g_free(shapes);
  return ok;
}

static int bench_file(const BenchOptions *options, const EncodeOptions *encode,
                      const Cj2kEncoderParams *params, const char *path)
{
  char why[IMAGE_WHY];
  Cj2kError error = {0};
  EncodeInput input;
  Image image;
  bool device = options->output && !strcmp(options->output, "device");

  if (!encode_options_read(encode, path, &image, why))
    return fail(path, why);
  encode_input_init(&input, &image, params);
  Bench bench = {.in_flight = params->frames_in_flight};
  bench.latencies = g_array_new(FALSE, FALSE, sizeof(double));
  bench.encoder = cj2k_encoder_open(params, &input.image, &input.layout, &error);
  int result;
  if (!bench.encoder)
    result = fail(path, error.text);
  else if (!prepare(&bench, &image, &input, device))
    result = fail(path, "no memory for a picture");
  else
    result = measure(&bench, options, device ? "device" : "host", &input, path);
  cj2k_encoder_close(bench.encoder);
  for (uint32_t i = 0; i < bench.in_flight; i++)
    bench_picture_free(&bench.pictures[i]);
  g_array_unref(bench.latencies);
  encode_input_clear(&input);
  image_clear(&image);
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

  encode_options_init(&encode);
  bench_add_options(context, &options);
  g_option_context_add_group(context, encode_options_group(&encode));
  if (!g_option_context_parse(context, &argc, &argv, &error))
    why = error->message;
  else if (argc < 2)
    why = "encode needs a file";
  else if (!(why = bench_check_options(&options)) && !encode_options_params(&encode, &params, text))
    why = text;
  int result = why ? BENCH_USAGE : BENCH_OK;
  if (why)
    fprintf(stderr, "cj2k-bench: %s\n", why);
  if (!why && options.backend)
    bench_find_backend(options.backend, &params.backend);
  if (!why) {
    params.num_threads = (uint32_t)options.threads;
    params.frames_in_flight = (uint32_t)options.in_flight;
  }
  for (int i = 1; result == BENCH_OK && i < argc; i++)
    result = bench_file(&options, &encode, &params, argv[i]);
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&encode);
  g_free(options.backend);
  g_free(options.output);
  return result;
}
