/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * measure-parts [OPTION...] NAME PARAMETERS
 *
 * Decodes generated video, 4:2:2 with 10 bits, whose codestreams come in equal parts over most of
 * the frame's time: part k of n of a frame is there (k + 1) / n * 0.96 frames after the frame's
 * begin, as from a network that is paced. PARAMETERS are those of the encoder, "name=value
 * name=value". Prints a line with NAME and four times in milliseconds for each frame: from its
 * first part to its first row, from its last part to its last row, and what the thread that appends
 * takes for all parts of a frame, together and for the longest one. With --whole the frame is
 * submitted with its last part. With --backend cuda the pictures lie in pinned memory.
 */
#include "tests/unit/encoder-pictures.h"

#include <stdlib.h>

#define STREAMS 2  /* that are sent in turn */
#define WARM_UP 10 /* frames that are not counted */
#define SPAN    0.96

static gint frames = 100, width = 1920, height = 1080, rate = 25, parts = 34, threads;
static gboolean whole;
static gchar *backend;

typedef struct {
  Cj2kDecoder *decoder;
  GBytes *streams[STREAMS];
  gint64 start;
  gint64 first_row, last_row; /* of the frame at hand; 0: none yet */
  gint64 busy, longest;       /* of the frame at hand */
} Run;

static void rows_ready(void *user, const Cj2kPicture *picture, uint32_t first, uint32_t end)
{
  Run *run = user;
  (void)picture, (void)end;
  run->last_row = g_get_monotonic_time();
  if (!first)
    run->first_row = run->last_row;
}

static GBytes *encode(const char *options, Scene scene)
{
  static const uint8_t dx[] = {1, 2, 2};
  Cj2kEncoderParams params;
  TestPicture picture;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_picture_init(&picture, scene, (uint32_t)width, (uint32_t)height, 3, 10, false, dx, NULL, 0,
                    0);
  GBytes *bytes = test_encode_valid(&params, &picture);
  test_picture_clear(&picture);
  return bytes;
}

static void open_decoder(Run *run)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = backend && !strcmp(backend, "cuda") ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU;
  params.num_threads = (uint32_t)threads;
  params.frames_in_flight = 1;
  run->decoder = cj2k_decoder_open(&params, &error);
  if (!run->decoder)
    g_error("%s", error.text);
}

/* When part `part` of a frame is there. */
static gint64 part_time(const Run *run, gint frame, gint part)
{
  double periods = frame + SPAN * (part + 1) / parts;
  return run->start + (gint64)(periods * G_USEC_PER_SEC / rate);
}

static void wait_until(gint64 time)
{
  gint64 now = g_get_monotonic_time();
  if (time > now)
    g_usleep((gulong)(time - now));
}

static void must(Cj2kStatus status, const Cj2kError *error)
{
  if (status != CJ2K_OK)
    g_error("%s", error->text);
}

/* Adds one part; the last one ends the frame. */
static void add_part(Run *run, const uint8_t *data, gsize size, gint part)
{
  Cj2kError error = {0};
  gsize from = size * (gsize)part / (gsize)parts, to = size * (gsize)(part + 1) / (gsize)parts;
  gint64 begin = g_get_monotonic_time();
  must(cj2k_decoder_append(run->decoder, data + from, to - from, &error), &error);
  if (part + 1 == parts)
    must(cj2k_decoder_end(run->decoder, &error), &error);
  gint64 taken = g_get_monotonic_time() - begin;
  run->busy += taken;
  run->longest = MAX(run->longest, taken);
}

static void receive(Run *run)
{
  Cj2kFrame frame;
  if (cj2k_decoder_receive(run->decoder, &frame) != CJ2K_OK || frame.status != CJ2K_OK ||
      frame.fallback)
    g_error("a frame has failed: %s", frame.error.text);
  if (whole)
    run->first_row = run->last_row = g_get_monotonic_time();
  cj2k_decoder_release(run->decoder, &frame);
}

static void decode(Run *run, gint frame)
{
  Cj2kError error = {0};
  gsize size;
  const uint8_t *data = g_bytes_get_data(run->streams[frame % STREAMS], &size);
  run->first_row = run->last_row = run->busy = run->longest = 0;
  if (whole) {
    wait_until(part_time(run, frame, parts - 1));
    must(cj2k_decoder_submit(run->decoder, data, size, NULL, NULL, NULL, &error), &error);
  } else {
    must(cj2k_decoder_begin(run->decoder, NULL, NULL, NULL, rows_ready, run, &error), &error);
    for (gint part = 0; part < parts; part++) {
      wait_until(part_time(run, frame, part));
      add_part(run, data, size, part);
    }
  }
  receive(run);
}

static void print_times(const Run *run, const char *name, gint frame)
{
  printf("%s\t%.3f\t%.3f\t%.3f\t%.3f\n", name,
         (double)(run->first_row - part_time(run, frame, 0)) / 1000,
         (double)(run->last_row - part_time(run, frame, parts - 1)) / 1000,
         (double)run->busy / 1000, (double)run->longest / 1000);
}

int main(int argc, char **argv)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &frames, "Frames to measure", "N"},
      {"width", 0, 0, G_OPTION_ARG_INT, &width, "Columns", "N"},
      {"height", 0, 0, G_OPTION_ARG_INT, &height, "Rows", "N"},
      {"rate", 0, 0, G_OPTION_ARG_INT, &rate, "Frames per second", "N"},
      {"parts", 0, 0, G_OPTION_ARG_INT, &parts, "Parts of a frame", "N"},
      {"threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the decoder; 0 = one a core", "N"},
      {"whole", 0, 0, G_OPTION_ARG_NONE, &whole, "Submit frames whole", NULL},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "cpu or cuda", "NAME"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("NAME PARAMETERS");
  GError *error = NULL;
  Run run = {.start = 0};
  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 3 || parts < 1 || rate < 1)
    g_error("%s", error ? error->message : "two arguments are needed");
  g_option_context_free(context);
  run.streams[0] = encode(argv[2], SCENE_SINE);
  run.streams[1] = encode(argv[2], SCENE_NATURAL);
  open_decoder(&run);
  run.start = g_get_monotonic_time() + 100000;
  for (gint i = 0; i < frames + WARM_UP; i++) {
    decode(&run, i);
    if (i >= WARM_UP)
      print_times(&run, argv[1], i);
  }
  cj2k_decoder_close(run.decoder);
  for (guint i = 0; i < STREAMS; i++)
    g_bytes_unref(run.streams[i]);
  return 0;
}
