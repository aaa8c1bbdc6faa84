/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k-bench live: streams side by side, each with an encoder and a decoder of its own, at the pace
 * of a frame rate, in one process or in several. Pictures move and cut. What is measured is what a
 * live user sees: latencies, frames that are late, processor time, memory and energy.
 */
#include "bench_live.h"

#include "bench_gpus.h"

#include <stdio.h>
#include <string.h>

#define MAX_STREAMS   1024
#define MAX_PROCESSES 256
#define START_US      50000 /* until all processes know that all have come */

/* Ends the measurement. false: it has ended already. */
static bool give_up(Live *live)
{
  bool first = g_atomic_int_compare_and_exchange(&live->failed, 0, 1);
  g_mutex_lock(&live->lock);
  g_cond_broadcast(&live->changed);
  g_mutex_unlock(&live->lock);
  return first;
}

void live_fail(Live *live, const char *doing, const char *why)
{
  if (give_up(live))
    g_printerr("cj2k-bench: %s: %s\n", doing, why);
}

void live_store(LiveBytes *bytes, const uint8_t *data, size_t size)
{
  if (size > bytes->capacity) {
    bytes->capacity = size + size / 4;
    bytes->data = g_realloc(bytes->data, bytes->capacity);
  }
  memcpy(bytes->data, data, size);
  bytes->size = size;
}

/* ------------------------------------------------------------------------------- streams --- */

uint32_t live_warm_up(const LiveStream *stream)
{
  return LIVE_WARM_UP + (uint32_t)stream->live->options->streams - 1 - stream->number;
}

/* Streams of the processes before this one. */
static uint32_t streams_before(const Live *live)
{
  return (uint32_t)(live->process * live->options->streams);
}

/* The frame of its film that a stream shows as its frame i. Streams of a process start a frame
 * apart, so that one cuts after the other; so do those of the next process, unless all are to cut
 * at the same time. */
static uint32_t film_frame(const LiveStream *stream, uint32_t i)
{
  const Live *live = stream->live;
  return i + (live->options->cut_together ? stream->number : streams_before(live));
}

void live_frame(const LiveStream *stream, uint32_t i, Cj2kPlane *planes)
{
  const Live *live = stream->live;
  bench_film_frame(&live->film, streams_before(live) + stream->number, film_frame(stream, i),
                   planes);
}

const LiveBytes *live_codestream(const LiveStream *stream, uint32_t i)
{
  return &stream->live->stored[film_frame(stream, i) % LIVE_STORED];
}

static void note(const LiveStream *stream, GArray *latencies, uint32_t *late_at_start, uint32_t i,
                 gint64 since)
{
  double ms = (double)(g_get_monotonic_time() - since) / 1000;
  if (!stream->due[i % LIVE_RING])
    return;
  if (i >= live_warm_up(stream))
    g_array_append_val(latencies, ms);
  else
    *late_at_start += ms > 1000 / stream->live->options->fps;
}

/* A frame has gone all its way. */
static void become_warm(LiveStream *stream)
{
  Live *live = stream->live;
  if (g_atomic_int_get(&stream->warm))
    return;
  g_mutex_lock(&live->lock);
  g_atomic_int_set(&stream->warm, true);
  g_cond_broadcast(&live->changed);
  g_mutex_unlock(&live->lock);
}

void live_encoded(LiveStream *stream, uint32_t i, size_t size)
{
  note(stream, stream->encode_ms, &stream->late_encoding, i, stream->due[i % LIVE_RING]);
  stream->bytes += size;
  if (!stream->live->options->decodes)
    become_warm(stream);
}

void live_decoded(LiveStream *stream, uint32_t i)
{
  note(stream, stream->decode_ms, &stream->late_decoding, i, stream->handed_over[i % LIVE_RING]);
  become_warm(stream);
}

/* Waits for the stream to be warm, until `end` (0: as long as it takes). */
static bool wait_until_warm(LiveStream *stream, gint64 end)
{
  Live *live = stream->live;
  bool waits = true;
  g_mutex_lock(&live->lock);
  while (waits && !g_atomic_int_get(&stream->warm) && !g_atomic_int_get(&live->failed))
    if (end)
      waits = g_cond_wait_until(&live->changed, &live->lock, end);
    else
      g_cond_wait(&live->changed, &live->lock);
  g_mutex_unlock(&live->lock);
  return g_atomic_int_get(&stream->warm);
}

/* Hands frames over until the first one is there: an element may keep it for later ones to come.
 * Returns how many there were. */
static uint32_t warm_up(LiveStream *stream)
{
  Live *live = stream->live;
  gint64 period = (gint64)(1e6 / live->options->fps);
  uint32_t i = 0;
  bool ok = true, warm = false;
  while (ok && !warm && i < LIVE_WARM_UP && !g_atomic_int_get(&live->failed)) {
    ok = live->way->submit(stream, i++);
    warm = wait_until_warm(stream, g_get_monotonic_time() + period);
  }
  if (ok && !warm)
    live_fail(live, "warming up", "no frame comes out");
  return i;
}

/* false: the measurement has failed. */
static bool wait_for_begin(Live *live)
{
  g_mutex_lock(&live->lock);
  while (!live->begin && !g_atomic_int_get(&live->failed))
    g_cond_wait(&live->changed, &live->lock);
  g_mutex_unlock(&live->lock);
  return !g_atomic_int_get(&live->failed);
}

/* From the begin to the first frame of a stream, in periods: those of a process start a frame
 * apart, and those of all processes are spread evenly over the period. */
static double start_of(const LiveStream *stream)
{
  const Live *live = stream->live;
  int processes = live->options->processes;
  double place = (double)stream->number * processes + live->process;
  return stream->number + place / ((double)live->options->streams * processes);
}

void live_pace(LiveStream *stream)
{
  Live *live = stream->live;
  const LiveOptions *options = live->options;
  double period = 1e6 / options->fps, start = period * start_of(stream);
  uint32_t frames = (uint32_t)options->bench.frames + live_warm_up(stream);
  uint32_t first = warm_up(stream);
  bool ok = wait_for_begin(live);
  for (uint32_t i = first; ok && i < frames && !g_atomic_int_get(&live->failed); i++) {
    gint64 due = live->begin + (gint64)(start + period * i), now = g_get_monotonic_time();
    if (due > now)
      g_usleep((gulong)(due - now));
    stream->due[i % LIVE_RING] = due;
    ok = live->way->submit(stream, i);
  }
}

static bool open_stream(Live *live, uint32_t number, Cj2kError *error)
{
  LiveStream *stream = &live->streams[number];
  *stream = (LiveStream){.live = live,
                         .number = number,
                         .encode_ms = g_array_new(FALSE, FALSE, sizeof(double)),
                         .decode_ms = g_array_new(FALSE, FALSE, sizeof(double))};
  return live->way->open(stream, error);
}

static void close_stream(LiveStream *stream)
{
  if (!stream->live)
    return;
  stream->live->way->close(stream);
  g_array_unref(stream->encode_ms);
  g_array_unref(stream->decode_ms);
}

/* Codestreams for streams that only decode. */
static bool encode_stored(Live *live, Cj2kError *error)
{
  const LiveOptions *options = live->options;
  Cj2kEncoder *encoder = cj2k_encoder_open(&options->encode.params, &live->film.image,
                                           &live->film.input.layout, error);
  Cj2kPlane planes[LIVE_MAX_PLANES];
  Cj2kPicture picture = {live->film.picture.picture.memory, live->film.input.layout.num_planes,
                         planes, NULL};
  Cj2kStatus status = encoder ? CJ2K_OK : CJ2K_ERROR_DEVICE;
  for (uint32_t i = 0; i < LIVE_STORED && status == CJ2K_OK; i++) {
    Cj2kPacket packet;
    bench_film_frame(&live->film, 0, i, planes);
    status = cj2k_encoder_submit(encoder, &picture, NULL, error);
    if (status != CJ2K_OK)
      break;
    cj2k_encoder_receive(encoder, &packet);
    status = packet.status;
    *error = packet.error;
    if (status == CJ2K_OK)
      live_store(&live->stored[i], packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  return status == CJ2K_OK;
}

/* Waits until the streams have warmed up. */
static void wait_for_warmth(const Live *live)
{
  int frames = LIVE_WARM_UP + live->options->streams - 1; /* of the first stream */
  gint64 warm = live->begin + (gint64)(frames * 1e6 / live->options->fps), now;

  while ((now = g_get_monotonic_time()) < warm && !g_atomic_int_get(&live->failed))
    g_usleep((gulong)MIN(warm - now, 100000));
}

/* Waits until all processes are here. Returns a time that is the same for all of them; below 0:
 * one has failed, which the parent tells. */
static gint64 meet(Live *live)
{
  gint64 time = g_atomic_int_get(&live->failed) ? -1 : live_meet(live->channel);
  if (time < 0)
    give_up(live);
  return time;
}

/* Starts the streams one after the other, and their clock when those of all processes are warm. */
static void start_streams(Live *live)
{
  for (int s = 0; s < live->options->streams; s++) {
    live->way->start(&live->streams[s]);
    (void)wait_until_warm(&live->streams[s], 0);
  }
  gint64 time = meet(live);
  g_mutex_lock(&live->lock);
  live->begin = time + START_US;
  g_cond_broadcast(&live->changed);
  g_mutex_unlock(&live->lock);
}

/* Runs all streams to their end. *warm: the usage when they had warmed up. */
static void run_streams(Live *live, LiveUsage *warm)
{
  const LiveOptions *options = live->options;
  start_streams(live);
  wait_for_warmth(live);
  *warm = live_usage();
  for (int s = 0; s < options->streams; s++)
    for (uint32_t t = 0; t < G_N_ELEMENTS(live->streams[s].threads); t++)
      if (live->streams[s].threads[t])
        g_thread_join(live->streams[s].threads[t]);
}

/* The streams may be on several GPUs. */
static BenchMemory memory_now(const Live *live)
{
  BenchMemory memory = bench_memory(live->backend);
  double device = bench_gpus_memory();

  if (live->backend == CJ2K_BACKEND_CUDA && device >= 0)
    memory.device = device;
  return memory;
}

/* Notes the GPUs that streams may use; with a list of GPUs, all that there are. */
static void choose_gpus(const Live *live)
{
  const Cj2kEncoderParams *params = &live->options->encode.params;

  if (live->backend == CJ2K_BACKEND_CUDA)
    bench_gpus_choose(params->cuda_devices ? -1 : params->cuda_device);
}

static int measure(Live *live)
{
  const LiveOptions *options = live->options;
  Cj2kError error = {0};
  bool ok = options->encodes || encode_stored(live, &error);
  choose_gpus(live);
  /* The GPUs' memory is that of all processes: with their contexts, and without their streams. */
  ok = ok && meet(live) >= 0;
  live->before = memory_now(live);
  ok = ok && meet(live) >= 0;
  for (int s = 0; ok && s < options->streams; s++)
    ok = open_stream(live, (uint32_t)s, &error);
  if (!ok) {
    live_fail(live, "opening the streams", error.text);
    return BENCH_FAILED;
  }
  LiveUsage before;
  run_streams(live, &before);
  LiveUsage after = live_usage();
  (void)meet(live);
  live->after = memory_now(live);
  (void)meet(live);
  if (g_atomic_int_get(&live->failed))
    return BENCH_FAILED;
  live_print(live, &before, &after);
  return BENCH_OK;
}

/* ------------------------------------------------------------------------------- options --- */

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

static int run(LiveOptions *options, const char *path, int process, int channel)
{
  Live live = {.options = options,
               .way = options->elements ? live_elements() : &live_library,
               .process = process,
               .channel = channel};
  Cj2kError error = {0};
  char why[IMAGE_WHY];
  int result = BENCH_FAILED;
  g_mutex_init(&live.lock);
  g_cond_init(&live.changed);
  bench_choose_gpu(&options->bench, &options->encode.params.cuda_device);
  if (!bench_film_open(&live.film, &options->encode, path, options->width, options->height, why))
    g_printerr("cj2k-bench: %s\n", why);
  else if (!find_backend(&live, &error))
    g_printerr("cj2k-bench: %s\n", error.text);
  else if (!bench_film_load(&live.film, bench_memory_kind(live.backend, &options->bench)))
    g_printerr("cj2k-bench: no memory for the moving picture\n");
  else {
    live.streams = g_new0(LiveStream, options->streams);
    result = measure(&live);
    for (int s = 0; s < options->streams; s++)
      close_stream(&live.streams[s]);
    g_free(live.streams);
  }
  for (uint32_t i = 0; i < LIVE_STORED; i++)
    g_free(live.stored[i].data);
  bench_film_close(&live.film);
  g_mutex_clear(&live.lock);
  g_cond_clear(&live.changed);
  return result;
}

typedef struct {
  LiveOptions *options;
  const char *path;
} Measurement;

static int run_process(void *ctx, int number, int channel)
{
  const Measurement *what = ctx;
  return run(what->options, what->path, number, channel);
}

/* Sets what follows from the options. Returns a message, or NULL when they are valid. */
static const char *check(LiveOptions *options, bool has_file)
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
  if (options->processes < 1 || options->processes > MAX_PROCESSES)
    return "--processes is 1 to 256";
  if (!(options->fps > 0 && options->fps <= 1000))
    return "--fps is above 0, up to 1000";
  if (options->elements && !live_elements())
    return "--elements: this build is without GStreamer";
  if (options->elements && has_file && !options->encode.format)
    return "--elements needs raw video as FILE, and --format";
  if (options->elements && options->bench.output)
    return "--elements has pictures in host memory; --output does not apply";
  return bench_check_options(&options->bench);
}

int bench_live(int argc, char **argv)
{
  LiveOptions options = {.bench = {.frames = 600}, .streams = 1, .processes = 1, .fps = 60};
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &options.bench.frames,
       "Frames of each stream (1..1000000; default 600), after 60 or more to warm up", "N"},
      {"output", 0, 0, G_OPTION_ARG_STRING, &options.bench.output,
       "Memory of the pictures: host or device", "WHERE"},
      {"streams", 0, 0, G_OPTION_ARG_INT, &options.streams, "Streams side by side (default: 1)",
       "N"},
      {"processes", 0, 0, G_OPTION_ARG_INT, &options.processes,
       "Processes with so many streams each; they begin together, and each prints a line (1..256; "
       "default 1)",
       "N"},
      {"fps", 0, 0, G_OPTION_ARG_DOUBLE, &options.fps, "Frames per second (default: 60)", "F"},
      {"direction", 0, 0, G_OPTION_ARG_STRING, &options.direction,
       "encode, decode, or both: each stream's codestreams are decoded (default)", "NAME"},
      {"elements", 0, 0, G_OPTION_ARG_NONE, &options.elements,
       "Through the elements cudaj2kenc and cudaj2kdec of the plugin that GStreamer finds", NULL},
      {"cut-together", 0, 0, G_OPTION_ARG_NONE, &options.cut_together,
       "All streams cut at the same time; else one a frame after the other", NULL},
      {"size", 0, 0, G_OPTION_ARG_STRING, &options.size,
       "Size of a frame (default: that of FILE, otherwise 1920x1080)", "WIDTHxHEIGHT"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("[FILE]");
  GError *error = NULL;
  const char *why = NULL;
  int result = BENCH_USAGE;
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
  Measurement what = {&options, argc == 2 ? argv[1] : NULL};
  if (why)
    g_printerr("cj2k-bench: %s\n", why);
  else if (options.processes > 1)
    result = live_processes(options.processes, run_process, &what);
  else
    result = run_process(&what, 0, -1);
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&options.encode);
  bench_clear_options(&options.bench);
  g_free(options.direction);
  g_free(options.size);
  return result;
}
