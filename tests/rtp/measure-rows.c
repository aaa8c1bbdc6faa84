/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * measure-rows [OPTION...] NAME PARAMETERS
 *
 * Encodes generated video, 4:2:2 with 10 bits, whose rows come at the pace of the video: row y of
 * frame n is there (n * every + (y + 1) / lines) / rate seconds after the begin, as from a camera.
 * Each row is announced when it is there (cj2k_encoder_append), with --whole all of them with the
 * last one. PARAMETERS are those of the encoder, "name=value name=value". Prints a line with NAME
 * and four times in milliseconds for each frame: from its first row to its first slice, from its
 * first row to its last slice, from its last row to its first slice, which may be negative, and
 * from its last row to its last slice. Without slices the slices are the frame that is received.
 * With --backend cuda the pictures lie in pinned memory.
 */
#include "tests/support/parameters.h"

#define PICTURES 4  /* that are sent in turn */
#define WARM_UP  10 /* frames that are not counted */

static gint frames = 100, width = 1920, height = 1080, lines = 1125, rate = 25, every = 1, threads;
static gboolean whole;
static gchar *backend;

/* When the slices of a frame left. */
typedef struct {
  gint64 first, last;
} Left;

typedef struct {
  Cj2kEncoder *encoder;
  Cj2kMemoryKind memory;
  Cj2kPicture pictures[PICTURES];
  Cj2kPlane planes[PICTURES][3];
  gint64 start;
  Left *left;
  bool slices;
  GAsyncQueue *sent; /* an entry for each frame that can be received */
} Run;

static void take(void *slice_user, void *user, const uint8_t *data, size_t size, bool last)
{
  Left *left = user;
  (void)slice_user;
  (void)size;
  left->last = g_get_monotonic_time();
  if (!left->first)
    left->first = left->last;
  if (last && !data)
    g_error("a frame has failed");
}

/* Waves and noise, which take more bits than the budget at any common rate. */
static void make_picture(Run *run, guint number)
{
  guint32 state = 1 + number;
  for (guint c = 0; c < 3; c++) {
    gint columns = c ? width / 2 : width;
    guint16 *samples = cj2k_encoder_alloc(run->encoder, run->memory,
                                          (gsize)columns * (gsize)height * sizeof *samples);
    if (!samples)
      g_error("no memory for pictures");
    for (gint y = 0; y < height; y++)
      for (gint x = 0; x < columns; x++) {
        gint wave = ABS((x + y / 2 + (gint)number * 16) % 256 - 128);
        state = state * 1664525 + 1013904223;
        samples[(gsize)y * (gsize)columns + (gsize)x] = (guint16)(400 + wave + (gint)(state >> 27));
      }
    run->planes[number][c] = (Cj2kPlane){.data = samples, .pitch = (size_t)columns * 2};
  }
  run->pictures[number] =
      (Cj2kPicture){.memory = run->memory, .num_planes = 3, .planes = run->planes[number]};
}

static void open_encoder(Run *run, const char *options)
{
  static const Cj2kComponent components[] = {{.dx = 1, .dy = 1, .depth = 10},
                                             {.dx = 2, .dy = 1, .depth = 10},
                                             {.dx = 2, .dy = 1, .depth = 10}};
  const Cj2kEncoderImage image = {.width = (uint32_t)width,
                                  .height = (uint32_t)height,
                                  .num_components = 3,
                                  .components = components,
                                  .colour = CJ2K_COLOUR_SYCC};
  Cj2kSampleLayout samples[3];
  const Cj2kLayout layout = {.num_components = 3, .num_planes = 3, .samples = samples};
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  for (guint c = 0; c < 3; c++)
    samples[c] = (Cj2kSampleLayout){
        .plane = (uint16_t)c, .unit_bytes = 2, .unit_samples = 1, .word_bytes = 2, .depth = 10};
  cj2k_encoder_params_init(&params);
  test_set_options(&params, options);
  params.backend = backend && !strcmp(backend, "cuda") ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU;
  run->memory = params.backend == CJ2K_BACKEND_CUDA ? CJ2K_MEMORY_PINNED : CJ2K_MEMORY_HOST;
  params.frames_in_flight = 2; /* the first rows of a frame come before the last one is received */
  params.num_threads = (uint32_t)threads;
  params.slice_ready = take;
  run->slices = params.slices || params.latency_profile != CJ2K_LATENCY_FRAME;
  run->encoder = cj2k_encoder_open(&params, &image, &layout, &error);
  if (!run->encoder)
    g_error("%s", error.text);
}

/* When row `row` of a frame is there. */
static gint64 row_time(const Run *run, gint frame, gint row)
{
  return run->start +
         ((gint64)frame * every * lines + row + 1) * G_USEC_PER_SEC / ((gint64)lines * rate);
}

static void wait_until(gint64 time)
{
  gint64 now = g_get_monotonic_time();
  if (time > now)
    g_usleep((gulong)(time - now));
}

static gpointer receive_all(gpointer data)
{
  const Run *run = data;
  for (gint i = 0; i < frames + WARM_UP; i++) {
    Cj2kPacket packet;
    g_async_queue_pop(run->sent);
    if (cj2k_encoder_receive(run->encoder, &packet) != CJ2K_OK || packet.status != CJ2K_OK)
      g_error("frame %d: %s", i, packet.error.text);
    if (!run->slices)
      run->left[i].first = run->left[i].last = g_get_monotonic_time();
    cj2k_encoder_release(run->encoder, &packet);
  }
  return NULL;
}

/* Announces rows as they come. */
static void send_rows(const Run *run, gint frame)
{
  Cj2kError error = {0};
  gint rows = 0;
  if (cj2k_encoder_begin(run->encoder, &run->pictures[frame % PICTURES], &run->left[frame],
                         &error) != CJ2K_OK)
    g_error("%s", error.text);
  while (rows < height) {
    wait_until(row_time(run, frame, rows));
    gint64 now = g_get_monotonic_time();
    while (rows < height && row_time(run, frame, rows) <= now)
      rows++;
    if (cj2k_encoder_append(run->encoder, (uint32_t)rows, &error) != CJ2K_OK)
      g_error("%s", error.text);
  }
  cj2k_encoder_end(run->encoder, &error);
}

static void send_whole(const Run *run, gint frame)
{
  Cj2kError error = {0};
  wait_until(row_time(run, frame, height - 1));
  if (cj2k_encoder_submit(run->encoder, &run->pictures[frame % PICTURES], &run->left[frame],
                          &error) != CJ2K_OK)
    g_error("%s", error.text);
}

static void print_times(const Run *run, const char *name)
{
  for (gint i = WARM_UP; i < frames + WARM_UP; i++) {
    gint64 first = row_time(run, i, 0), last = row_time(run, i, height - 1);
    const Left *left = &run->left[i];
    printf("%s\t%.3f\t%.3f\t%.3f\t%.3f\n", name, (double)(left->first - first) / 1000,
           (double)(left->last - first) / 1000, (double)(left->first - last) / 1000,
           (double)(left->last - last) / 1000);
  }
}

int main(int argc, char **argv)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &frames, "Frames to measure", "N"},
      {"width", 0, 0, G_OPTION_ARG_INT, &width, "Columns", "N"},
      {"height", 0, 0, G_OPTION_ARG_INT, &height, "Rows", "N"},
      {"lines", 0, 0, G_OPTION_ARG_INT, &lines, "Rows with those of the blanking", "N"},
      {"rate", 0, 0, G_OPTION_ARG_INT, &rate, "Frames per second", "N"},
      {"every", 0, 0, G_OPTION_ARG_INT, &every,
       "Send one of N frames, where the machine is too slow for all of them", "N"},
      {"threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the encoder; 0 = one a core", "N"},
      {"whole", 0, 0, G_OPTION_ARG_NONE, &whole, "Submit pictures whole", NULL},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "cpu or cuda", "NAME"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("NAME PARAMETERS");
  GError *error = NULL;
  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 3)
    g_error("%s", error ? error->message : "two arguments are needed");
  g_option_context_free(context);
  Run run = {.sent = g_async_queue_new(), .left = g_new0(Left, frames + WARM_UP)};
  open_encoder(&run, argv[2]);
  for (guint i = 0; i < PICTURES; i++)
    make_picture(&run, i);
  GThread *receiver = g_thread_new("receiver", receive_all, &run);
  run.start = g_get_monotonic_time() + 100000;
  for (gint i = 0; i < frames + WARM_UP; i++) {
    (whole ? send_whole : send_rows)(&run, i);
    g_async_queue_push(run.sent, &run);
  }
  g_thread_join(receiver);
  print_times(&run, argv[1]);
  for (guint i = 0; i < PICTURES; i++)
    for (guint c = 0; c < 3; c++)
      cj2k_encoder_free(run.encoder, run.memory, run.planes[i][c].data);
  cj2k_encoder_close(run.encoder);
  g_async_queue_unref(run.sent);
  g_free(run.left);
  return 0;
}
