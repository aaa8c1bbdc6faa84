/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k-bench live: streams side by side, each with an encoder and a decoder of its own, at the pace
 * of a frame rate. Pictures move and cut. What is measured is what a live user sees: latencies,
 * frames that are late, processor time, memory and energy.
 */
#include "bench.h"
#include "bench_film.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_STREAMS 1024
#define MAX_PLANES  4
#define RING        (BENCH_MAX_IN_FLIGHT + 2) /* frames between submit and receive, and one more */
#define WARM_UP     10                        /* first frames of a stream, which are not counted */
#define STORED      (2 * BENCH_FILM_SHOT)     /* codestreams that are decoded over and over */

typedef struct {
  BenchOptions bench;
  EncodeOptions encode;
  char *direction, *size;
  int streams;
  double fps;
  /* of the above */
  bool encodes, decodes;
  uint32_t width, height;
} Options;

/* A codestream on its way from the encoder to the decoder. */
typedef struct {
  uint8_t *data;
  size_t size, capacity;
} Bytes;

typedef struct Live Live;

typedef struct {
  Live *live;
  uint32_t number;
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;
  GAsyncQueue *encoding, *decoding; /* frame number + 1 of each frame in flight; LAST: the end */
  GThread *threads[3];
  gint64 due[RING], handed_over[RING]; /* when frame i % RING was due, and reached the decoder */
  Cj2kPlane planes[RING][MAX_PLANES];
  Cj2kPicture inputs[RING];
  Bytes coded[RING];
  BenchPicture outputs[RING];
  GArray *encode_ms, *decode_ms; /* double: latency of each frame after the first WARM_UP */
  uint64_t bytes;
} Stream;

struct Live {
  const Options *options;
  BenchFilm film;
  Stream *streams;
  Bytes stored[STORED];
  gint64 begin; /* when frame 0 of stream 0 is due */
  gint failed;  /* atomic */
  BenchMemory before, after;
  Cj2kBackendKind backend;
};

#define LAST GINT_TO_POINTER(-1)

/* Says once why the measurement ends, and ends it. */
static void fail(Live *live, const char *doing, const Cj2kError *error)
{
  if (g_atomic_int_compare_and_exchange(&live->failed, 0, 1))
    g_printerr("cj2k-bench: %s: %s\n", doing, error->text);
}

static void store(Bytes *bytes, const uint8_t *data, size_t size)
{
  if (size > bytes->capacity) {
    bytes->capacity = size + size / 4;
    bytes->data = g_realloc(bytes->data, bytes->capacity);
  }
  memcpy(bytes->data, data, size);
  bytes->size = size;
}

/* ------------------------------------------------------------------- threads of a stream --- */

static void note(GArray *latencies, uint32_t number, gint64 since)
{
  double ms = (double)(g_get_monotonic_time() - since) / 1000;
  if (number >= WARM_UP)
    g_array_append_val(latencies, ms);
}

/* Hands codestream i to the decoder. */
static bool submit_codestream(Stream *stream, uint32_t i, const Bytes *coded)
{
  Live *live = stream->live;
  Cj2kError error;
  stream->handed_over[i % RING] = g_get_monotonic_time();
  if (cj2k_decoder_submit(
          stream->decoder, coded->data, coded->size, &live->film.input.layout,
          &stream->outputs[i % (live->options->encode.params.frames_in_flight + 1)].picture, NULL,
          &error) == CJ2K_OK) {
    g_async_queue_push(stream->decoding, GUINT_TO_POINTER(i + 1));
    return true;
  }
  fail(live, "decoding", &error);
  return false;
}

static bool submit_picture(Stream *stream, uint32_t i)
{
  Live *live = stream->live;
  Cj2kError error;
  Cj2kPicture *picture = &stream->inputs[i % RING];
  picture->planes = stream->planes[i % RING];
  picture->num_planes = live->film.input.layout.num_planes;
  picture->memory = live->film.picture.picture.memory;
  bench_film_frame(&live->film, stream->number, i, picture->planes);
  if (cj2k_encoder_submit(stream->encoder, picture, NULL, &error) == CJ2K_OK) {
    g_async_queue_push(stream->encoding, GUINT_TO_POINTER(i + 1));
    return true;
  }
  fail(live, "encoding", &error);
  return false;
}

/* The camera: a frame each period, streams with phases spread evenly over it. */
static gpointer pace(gpointer data)
{
  Stream *stream = data;
  Live *live = stream->live;
  const Options *options = live->options;
  double period = 1e6 / options->fps;
  double phase = period * stream->number / options->streams;
  uint32_t frames = (uint32_t)options->bench.frames + WARM_UP;
  bool ok = true;
  for (uint32_t i = 0; ok && i < frames && !g_atomic_int_get(&live->failed); i++) {
    gint64 due = live->begin + (gint64)(phase + period * i), now = g_get_monotonic_time();
    if (due > now)
      g_usleep((gulong)(due - now));
    stream->due[i % RING] = due;
    ok = options->encodes ? submit_picture(stream, i)
                          : submit_codestream(stream, i, &live->stored[i % STORED]);
  }
  g_async_queue_push(options->encodes ? stream->encoding : stream->decoding, LAST);
  return NULL;
}

static bool receive_codestream(Stream *stream, uint32_t i)
{
  Live *live = stream->live;
  Cj2kPacket packet;
  cj2k_encoder_receive(stream->encoder, &packet);
  if (packet.status == CJ2K_OK) {
    note(stream->encode_ms, i, stream->due[i % RING]);
    stream->bytes += packet.size;
    if (live->options->decodes)
      store(&stream->coded[i % RING], packet.data, packet.size);
  } else {
    fail(live, "encoding", &packet.error);
  }
  cj2k_encoder_release(stream->encoder, &packet);
  return packet.status == CJ2K_OK;
}

static gpointer take_codestreams(gpointer data)
{
  Stream *stream = data;
  bool decodes = stream->live->options->decodes, ok = true;
  gpointer frame;
  while ((frame = g_async_queue_pop(stream->encoding)) != LAST) {
    uint32_t i = GPOINTER_TO_UINT(frame) - 1;
    ok = receive_codestream(stream, i) && ok;
    if (decodes && ok)
      ok = submit_codestream(stream, i, &stream->coded[i % RING]);
  }
  g_async_queue_push(stream->decoding, LAST);
  return NULL;
}

static gpointer take_pictures(gpointer data)
{
  Stream *stream = data;
  gpointer number;
  while ((number = g_async_queue_pop(stream->decoding)) != LAST) {
    uint32_t i = GPOINTER_TO_UINT(number) - 1;
    Cj2kFrame frame;
    cj2k_decoder_receive(stream->decoder, &frame);
    if (frame.status == CJ2K_OK)
      note(stream->decode_ms, i, stream->handed_over[i % RING]);
    else
      fail(stream->live, "decoding", &frame.error);
    cj2k_decoder_release(stream->decoder, &frame);
  }
  return NULL;
}

/* --------------------------------------------------------------------- streams, all of them --- */

static bool open_stream(Live *live, uint32_t number, Cj2kError *error)
{
  const Options *options = live->options;
  const Cj2kEncoderParams *params = &options->encode.params;
  Stream *stream = &live->streams[number];
  *stream = (Stream){.live = live,
                     .number = number,
                     .encoding = g_async_queue_new(),
                     .decoding = g_async_queue_new(),
                     .encode_ms = g_array_new(FALSE, FALSE, sizeof(double)),
                     .decode_ms = g_array_new(FALSE, FALSE, sizeof(double))};
  if (options->encodes)
    stream->encoder = cj2k_encoder_open(params, &live->film.image, &live->film.input.layout, error);
  if (options->encodes && !stream->encoder)
    return false;
  if (!options->decodes)
    return true;
  Cj2kDecoderParams decoding;
  cj2k_decoder_params_init(&decoding);
  decoding.backend = params->backend;
  decoding.cuda_device = params->cuda_device;
  decoding.num_threads = params->num_threads;
  decoding.frames_in_flight = params->frames_in_flight;
  stream->decoder = cj2k_decoder_open(&decoding, error);
  for (uint32_t i = 0; stream->decoder && i < params->frames_in_flight + 1; i++)
    if (!bench_picture_new(&stream->outputs[i], &live->film.input.layout, live->film.components,
                           live->film.picture.picture.memory)) {
      g_snprintf(error->text, sizeof error->text, "no memory for a picture");
      return false;
    }
  return stream->decoder != NULL;
}

static void close_stream(Stream *stream)
{
  if (!stream->live)
    return;
  cj2k_encoder_close(stream->encoder);
  cj2k_decoder_close(stream->decoder);
  for (uint32_t i = 0; i < RING; i++) {
    g_free(stream->coded[i].data);
    if (stream->outputs[i].memory)
      bench_picture_free(&stream->outputs[i]);
  }
  g_async_queue_unref(stream->encoding);
  g_async_queue_unref(stream->decoding);
  g_array_unref(stream->encode_ms);
  g_array_unref(stream->decode_ms);
}

/* Codestreams for streams that only decode. */
static bool encode_stored(Live *live, Cj2kError *error)
{
  const Options *options = live->options;
  Cj2kEncoder *encoder = cj2k_encoder_open(&options->encode.params, &live->film.image,
                                           &live->film.input.layout, error);
  Cj2kPlane planes[MAX_PLANES];
  Cj2kPicture picture = {live->film.picture.picture.memory, live->film.input.layout.num_planes,
                         planes, NULL};
  Cj2kStatus status = encoder ? CJ2K_OK : CJ2K_ERROR_DEVICE;
  for (uint32_t i = 0; i < STORED && status == CJ2K_OK; i++) {
    Cj2kPacket packet;
    bench_film_frame(&live->film, 0, i, planes);
    status = cj2k_encoder_submit(encoder, &picture, NULL, error);
    if (status != CJ2K_OK)
      break;
    cj2k_encoder_receive(encoder, &packet);
    status = packet.status;
    *error = packet.error;
    if (status == CJ2K_OK)
      store(&live->stored[i], packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  return status == CJ2K_OK;
}

/* Runs all streams to their end. */
static void run_streams(Live *live)
{
  const Options *options = live->options;
  live->begin = g_get_monotonic_time() + 50000; /* until all threads have started */
  for (int s = 0; s < options->streams; s++) {
    Stream *stream = &live->streams[s];
    if (options->decodes)
      stream->threads[2] = g_thread_new("pictures", take_pictures, stream);
    if (options->encodes)
      stream->threads[1] = g_thread_new("codestreams", take_codestreams, stream);
    stream->threads[0] = g_thread_new("camera", pace, stream);
  }
  for (int s = 0; s < options->streams; s++)
    for (uint32_t t = 0; t < G_N_ELEMENTS(live->streams[s].threads); t++)
      if (live->streams[s].threads[t])
        g_thread_join(live->streams[s].threads[t]);
}

/* -------------------------------------------------------------------------------- result --- */

/* Prints the latencies of a direction: of all streams, and the p99 of the median and of the worst
 * stream. Sorts the arrays. */
static void print_latencies(const Live *live, const char *name, bool encode)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(double)),
         *p99 = g_array_new(FALSE, FALSE, sizeof(double));
  double period = 1000 / live->options->fps;
  uint64_t late = 0;
  for (int s = 0; s < live->options->streams; s++) {
    GArray *one = encode ? live->streams[s].encode_ms : live->streams[s].decode_ms;
    bench_sort(one);
    double own = bench_percentile(one, 0.99);
    g_array_append_val(p99, own);
    g_array_append_vals(all, one->data, one->len);
  }
  bench_sort(all);
  bench_sort(p99);
  for (guint i = 0; i < all->len; i++)
    late += g_array_index(all, double, i) > period;
  printf("\"%s\":{\"frames\":%u,\"late\":%llu,\"ms_p50\":%.3f,\"ms_p99\":%.3f,\"ms_p99.9\":%.3f,"
         "\"ms_max\":%.3f,\"ms_p99_median_stream\":%.3f,\"ms_p99_worst_stream\":%.3f},",
         name, all->len, (unsigned long long)late, bench_percentile(all, 0.5),
         bench_percentile(all, 0.99), bench_percentile(all, 0.999), bench_percentile(all, 1),
         bench_percentile(p99, 0.5), bench_percentile(p99, 1));
  g_array_unref(all);
  g_array_unref(p99);
}

typedef struct {
  double seconds, processor, energy; /* energy in joule; below 0: unknown */
} Usage;

static double processor_seconds(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static Usage usage_now(void)
{
  return (Usage){(double)g_get_monotonic_time() / 1e6, processor_seconds(), bench_energy()};
}

static void print(const Live *live, const Usage *before, const Usage *after)
{
  const Options *options = live->options;
  const Cj2kEncoderParams *params = &options->encode.params;
  double streams = options->streams, seconds = after->seconds - before->seconds;
  double frames = ((double)options->bench.frames + WARM_UP) * streams;
  double processor = after->processor - before->processor, bytes = 0;
  for (int s = 0; s < options->streams; s++)
    bytes += (double)live->streams[s].bytes;
  printf("{\"operation\":\"live\",\"backend\":\"%s\",\"version\":\"%s\",\"direction\":\"%s\","
         "\"streams\":%.0f,\"fps\":%g,\"width\":%u,\"height\":%u,\"in_flight\":%u,\"threads\":%u,",
         live->backend == CJ2K_BACKEND_CUDA ? "cuda" : "cpu", cj2k_version(), options->direction,
         streams, options->fps, live->film.image.width, live->film.image.height,
         params->frames_in_flight, params->num_threads);
  if (options->encodes) {
    print_latencies(live, "encode", true);
    printf("\"bytes\":%.0f,", bytes / frames);
  }
  if (options->decodes)
    print_latencies(live, "decode", false);
  printf("\"cores\":%.3f,\"cores_per_stream\":%.4f,\"processor_ms_per_frame\":%.3f,"
         "\"host_mb_per_stream\":%.1f,\"device_mb_per_stream\":%.1f",
         processor / seconds, processor / seconds / streams, processor * 1000 / frames,
         (live->after.host - live->before.host) / streams,
         (live->after.device - live->before.device) / streams);
  if (before->energy >= 0)
    printf(",\"joule_per_frame\":%.4f", (after->energy - before->energy) / frames);
  puts("}");
  fflush(stdout);
}

/* ------------------------------------------------------------------------------- options --- */

static int measure(Live *live)
{
  const Options *options = live->options;
  Cj2kError error = {0};
  bool ok = options->encodes || encode_stored(live, &error);
  live->before = bench_memory(live->backend);
  for (int s = 0; ok && s < options->streams; s++)
    ok = open_stream(live, (uint32_t)s, &error);
  if (!ok) {
    fail(live, "opening the streams", &error);
    return BENCH_FAILED;
  }
  Usage before = usage_now();
  run_streams(live);
  Usage after = usage_now();
  live->after = bench_memory(live->backend);
  if (g_atomic_int_get(&live->failed))
    return BENCH_FAILED;
  print(live, &before, &after);
  return BENCH_OK;
}

/* The back end that the streams will get, which decides the kind of memory. */
static bool find_backend(Live *live, Cj2kError *error)
{
  Cj2kEncoder *probe = cj2k_encoder_open(&live->options->encode.params, &live->film.image,
                                         &live->film.input.layout, error);
  if (!probe)
    return false;
  live->backend = cj2k_encoder_backend(probe);
  cj2k_encoder_close(probe);
  return true;
}

static int run(const Options *options, const char *path)
{
  Live live = {.options = options};
  Cj2kError error = {0};
  char why[IMAGE_WHY];
  int result = BENCH_FAILED;
  if (!bench_film_open(&live.film, &options->encode, path, options->width, options->height, why))
    g_printerr("cj2k-bench: %s\n", why);
  else if (!find_backend(&live, &error))
    g_printerr("cj2k-bench: %s\n", error.text);
  else if (!bench_film_load(&live.film, bench_memory_kind(live.backend, &options->bench)))
    g_printerr("cj2k-bench: no memory for the moving picture\n");
  else {
    live.streams = g_new0(Stream, options->streams);
    result = measure(&live);
    for (int s = 0; s < options->streams; s++)
      close_stream(&live.streams[s]);
    g_free(live.streams);
  }
  for (uint32_t i = 0; i < STORED; i++)
    g_free(live.stored[i].data);
  bench_film_close(&live.film);
  return result;
}

/* Sets what follows from the options. Returns a message, or NULL when they are valid. */
static const char *check(Options *options, bool has_file)
{
  if (!options->direction)
    options->direction = g_strdup("both");
  const char *direction = options->direction;
  if (!options->size && !has_file)
    options->size = g_strdup("1920x1080");
  if (options->size) {
    int end = 0;
    if (sscanf(options->size, "%ux%u%n", &options->width, &options->height, &end) != 2 ||
        options->size[end] || options->width - 1 > 16383 || options->height - 1 > 16383)
      return "--size is WIDTHxHEIGHT, each 1 to 16384";
  }
  options->encodes = strcmp(direction, "decode") != 0;
  options->decodes = strcmp(direction, "encode") != 0;
  if (options->encodes && options->decodes && strcmp(direction, "both") != 0)
    return "--direction is encode, decode or both";
  if (options->streams < 1 || options->streams > MAX_STREAMS)
    return "--streams is 1 to 1024";
  if (!(options->fps > 0 && options->fps <= 1000))
    return "--fps is above 0, up to 1000";
  return bench_check_options(&options->bench);
}

int bench_live(int argc, char **argv)
{
  Options options = {.bench = {.frames = 600}, .streams = 1, .fps = 60};
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options.bench.frames,
       "Frames of each stream (1..1000000; default 600); 10 more warm up", "N"},
      {"output", 0, 0, G_OPTION_ARG_STRING, &options.bench.output,
       "Memory of the pictures: host or device", "WHERE"},
      {"streams", 0, 0, G_OPTION_ARG_INT, &options.streams, "Streams side by side (default: 1)",
       "N"},
      {"fps", 0, 0, G_OPTION_ARG_DOUBLE, &options.fps, "Frames per second (default: 60)", "F"},
      {"direction", 0, 0, G_OPTION_ARG_STRING, &options.direction,
       "encode, decode, or both: each stream's codestreams are decoded (default)", "NAME"},
      {"size", 0, 0, G_OPTION_ARG_STRING, &options.size,
       "Size of a frame (default: that of FILE, otherwise 1920x1080)", "WIDTHxHEIGHT"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("[FILE]");
  GError *error = NULL;
  const char *why = NULL;
  int result = BENCH_USAGE;
  g_setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", FALSE); /* as the plugin does */
  g_option_context_set_summary(
      context, "Encode and decode streams side by side at a frame rate, and print latencies, late "
               "frames,\nprocessor time, memory and energy. Frames are a window that moves over "
               "FILE, with a cut every\n48 frames; without FILE over a picture that is made.");
  encode_options_init(&options.encode);
  options.encode.params.frames_in_flight = 1;
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, encode_options_group(&options.encode));
  if (!tool_options_parse(&options.encode.tool, context, &argc, &argv, &error))
    why = error->message;
  else if (argc > 2)
    why = "live needs no more than one file";
  else
    why = check(&options, argc == 2);
  if (why)
    g_printerr("cj2k-bench: %s\n", why);
  else
    result = run(&options, argc == 2 ? argv[1] : NULL);
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&options.encode);
  bench_clear_options(&options.bench);
  g_free(options.direction);
  g_free(options.size);
  return result;
}
