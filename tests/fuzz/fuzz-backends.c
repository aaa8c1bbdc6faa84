/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fuzz-backends [--backend cuda] [--inputs N] [--seconds N] [--seed N] [--save FOLDER] PATH...
 *
 * Damages codestreams (files, and the files of folders) by the thousand, and decodes each with one
 * thread of the CPU back end and with another decoder in the same process: one of the GPU, or
 * without --backend one of three threads. Status, reason, counts and samples must be the same. Now
 * and then, and at the end, an intact codestream must be decoded as well as ever, and by the back
 * end that was asked for.
 *
 * --inputs and --seconds say when to stop (default: 1000 inputs). What differs is written to the
 * folder of --save. The same --seed gives the same inputs. Prints TAP; skips without a GPU.
 */
#include "cj2k.h"
#include "fuzz.h"

#include <signal.h>
#include <unistd.h>

#define KINDS       4         /* of decoders */
#define IN_FLIGHT   4         /* inputs */
#define MAX_SIZE    (1 << 16) /* of an input: what codestream-mutator.c takes */
#define MAX_MEMORY  (8 << 20) /* of a frame */
#define CHECK_EVERY 500       /* inputs */
#define HANG_AFTER  60        /* seconds */
#define MAX_FINDS   10

typedef struct {
  gchar *backend, *save;
  gint inputs, seconds, seed;
  gchar **paths;
} Options;

typedef struct {
  gchar *name;
  guint8 *data;
  gsize size;
} Stream;

typedef struct {
  const Options *options;
  GArray *streams; /* Stream */
  GBytes *intact;
  Cj2kDecoder *one[KINDS], *other[KINDS];
  guint inputs, decoded, fallbacks, finds;
} Run;

static GRand *random_numbers;
static gchar *hang_text; /* what is said if the current inputs are not decoded */

/* --------------------------------------------------------------------------------- damage --- */

/* One of the usual small changes; in place of libFuzzer's function of this name. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
  if (!size)
    return 0;
  size_t at = (size_t)g_rand_int_range(random_numbers, 0, (gint32)size);
  size_t length = (size_t)1 << g_rand_int_range(random_numbers, 0, 6);
  size_t count = MIN(length, size - at);
  switch (g_rand_int_range(random_numbers, 0, 7)) {
  case 0: data[at] ^= (uint8_t)(1 << g_rand_int_range(random_numbers, 0, 8)); break;
  case 1: data[at] = (uint8_t)g_rand_int(random_numbers); break;
  case 2: data[at] = (uint8_t)(data[at] + g_rand_int_range(random_numbers, -4, 5)); break;
  case 3: data[at] = g_rand_boolean(random_numbers) ? 0xff : 0; break;
  case 4: /* cut out */
    memmove(data + at, data + at + count, size - at - count);
    return size - count;
  case 5: /* repeat */
    count = MIN(count, max_size > size ? max_size - size : 0);
    memmove(data + at + count, data + at, size - at);
    return size + count;
  default: /* copy from elsewhere */
    memmove(data + at,
            data + (size_t)g_rand_int_range(random_numbers, 0, (gint32)(size - count + 1)), count);
  }
  return size;
}

/* A damaged copy of one of the codestreams, in `data` of MAX_SIZE bytes; returns its size. */
static size_t make_input(const Run *run, uint8_t *data)
{
  guint which = (guint)g_rand_int_range(random_numbers, 0, (gint32)run->streams->len);
  const Stream *stream = &g_array_index(run->streams, Stream, which);
  size_t size = stream->size;
  memcpy(data, stream->data, size);
  for (gint i = g_rand_int_range(random_numbers, 1, 5); i > 0 && size; i--)
    size = LLVMFuzzerCustomMutator(data, size, MAX_SIZE, g_rand_int(random_numbers));
  return size;
}

/* -------------------------------------------------------------------------------- compare --- */

/* NULL, or in what the frames differ. */
static const char *difference(const Cj2kFrame *a, const Cj2kFrame *b)
{
  if (a->status != b->status || (a->status != CJ2K_OK && strcmp(a->error.text, b->error.text) != 0))
    return "status or reason";
  if (a->corrupt_blocks != b->corrupt_blocks || a->truncated != b->truncated ||
      a->concealed_packets != b->concealed_packets || a->concealed_blocks != b->concealed_blocks)
    return "counts";
  for (uint32_t c = 0; a->status == CJ2K_OK && c < a->image.num_components; c++) {
    const Cj2kComponent *component = &a->image.components[c];
    const Cj2kPlane *plane = &a->picture.planes[c], *other = &b->picture.planes[c];
    size_t row = (size_t)(component->x1 - component->x0) * a->layout.samples[c].word_bytes;
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      if (memcmp((uint8_t *)plane->data + y * plane->pitch,
                 (uint8_t *)other->data + y * other->pitch, row) != 0)
        return "samples";
  }
  return NULL;
}

static void tell(Run *run, const char *what, const Cj2kFrame *a, const Cj2kFrame *b,
                 const uint8_t *data, size_t size)
{
  run->finds++;
  printf("# input %u differs in %s: status %d \"%s\", %u corrupt; status %d \"%s\", %u corrupt\n",
         run->inputs, what, a->status, a->error.text, a->corrupt_blocks, b->status, b->error.text,
         b->corrupt_blocks);
  if (!run->options->save)
    return;
  gchar *name =
      g_strdup_printf("%s/seed-%d-input-%u", run->options->save, run->options->seed, run->inputs);
  if (g_mkdir_with_parents(run->options->save, 0777) ||
      !g_file_set_contents(name, (const gchar *)data, (gssize)size, NULL))
    printf("# %s cannot be written\n", name);
  g_free(name);
}

/* Submits to a decoder of which fewer than IN_FLIGHT frames are in flight. */
static void submit(Cj2kDecoder *decoder, const uint8_t *data, size_t size)
{
  Cj2kError error = {0};
  Cj2kStatus status = cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error);
  FUZZ_CHECK(status == CJ2K_OK, "submit: %s", error.text);
}

static void receive(Run *run, uint32_t kind, const uint8_t *data, size_t size)
{
  Cj2kFrame a, b;
  FUZZ_CHECK(cj2k_decoder_receive(run->one[kind], &a) == CJ2K_OK, "no frame");
  FUZZ_CHECK(cj2k_decoder_receive(run->other[kind], &b) == CJ2K_OK, "no frame");
  const char *what = difference(&a, &b);
  if (what)
    tell(run, what, &a, &b, data, size);
  run->inputs++;
  run->decoded += a.status == CJ2K_OK;
  run->fallbacks += b.status == CJ2K_OK && b.fallback;
  cj2k_decoder_release(run->one[kind], &a);
  cj2k_decoder_release(run->other[kind], &b);
}

/* Decodes IN_FLIGHT inputs with decoders of one kind. */
static void compare_some(Run *run)
{
  static uint8_t inputs[IN_FLIGHT][MAX_SIZE];
  uint8_t *copies[IN_FLIGHT]; /* of the exact size, so that a sanitizer sees reads behind them */
  size_t sizes[IN_FLIGHT];
  uint32_t kind = (uint32_t)g_rand_int_range(random_numbers, 0, KINDS);
  for (int i = 0; i < IN_FLIGHT; i++) {
    sizes[i] = make_input(run, inputs[i]);
    copies[i] = fuzz_copy(inputs[i], sizes[i]);
    submit(run->one[kind], copies[i], sizes[i]);
    submit(run->other[kind], copies[i], sizes[i]);
  }
  for (int i = 0; i < IN_FLIGHT; i++)
    receive(run, kind, copies[i], sizes[i]);
  for (int i = 0; i < IN_FLIGHT; i++)
    g_free(copies[i]);
}

/* The intact codestream, which must be decoded by the wanted back end. NULL, or what is wrong. */
static const char *check_intact(const Run *run, Cj2kDecoder *decoder)
{
  Cj2kFrame a, b;
  gsize size;
  const uint8_t *data = g_bytes_get_data(run->intact, &size);
  submit(run->one[0], data, size);
  submit(decoder, data, size);
  FUZZ_CHECK(cj2k_decoder_receive(run->one[0], &a) == CJ2K_OK, "no frame");
  FUZZ_CHECK(cj2k_decoder_receive(decoder, &b) == CJ2K_OK, "no frame");
  const char *what = b.status != CJ2K_OK ? "status" : b.fallback ? "back end" : difference(&a, &b);
  if (b.status != CJ2K_OK)
    printf("# intact codestream: %s\n", b.error.text);
  cj2k_decoder_release(run->one[0], &a);
  cj2k_decoder_release(decoder, &b);
  return what;
}

/* ------------------------------------------------------------------------------------ run --- */

static Cj2kDecoder *open_decoder(const Options *options, uint32_t kind, bool one, Cj2kError *error)
{
  Cj2kDecoderParams params;
  bool cuda = !one && g_strcmp0(options->backend, "cuda") == 0;
  cj2k_decoder_params_init(&params);
  params.backend = cuda ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU;
  params.num_threads = one ? 1 : cuda ? 0 : 3;
  params.frames_in_flight = IN_FLIGHT;
  params.max_memory = MAX_MEMORY;
  params.strict = kind == 1;
  params.reduce = kind == 2 ? 1 : 0;
  params.max_layers = kind == 3 ? 1 : 0;
  return cj2k_decoder_open(&params, error);
}

static void add_stream(GArray *streams, const gchar *path)
{
  Stream stream = {.name = g_path_get_basename(path)};
  gchar *text = NULL;
  if (g_file_get_contents(path, &text, &stream.size, NULL) && stream.size > 0 &&
      stream.size <= MAX_SIZE) {
    stream.data = (guint8 *)text;
    g_array_append_val(streams, stream);
    return;
  }
  g_free(text);
  g_free(stream.name);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
  return strcmp(((const Stream *)a)->name, ((const Stream *)b)->name);
}

static GArray *read_streams(gchar *const *paths)
{
  GArray *streams = g_array_new(FALSE, FALSE, sizeof(Stream));
  for (; paths && *paths; paths++) {
    GDir *dir = g_dir_open(*paths, 0, NULL);
    const gchar *name;
    if (!dir)
      add_stream(streams, *paths);
    while (dir && (name = g_dir_read_name(dir))) {
      gchar *path = g_build_filename(*paths, name, NULL);
      add_stream(streams, path);
      g_free(path);
    }
    g_clear_pointer(&dir, g_dir_close);
  }
  g_array_sort(streams, by_name);
  return streams;
}

/* The first of the codestreams that the CPU decodes without any complaint. NULL: none. */
static GBytes *find_intact(const Run *run)
{
  for (guint i = 0; i < run->streams->len; i++) {
    const Stream *stream = &g_array_index(run->streams, Stream, i);
    Cj2kFrame frame;
    submit(run->one[1], stream->data, stream->size);
    FUZZ_CHECK(cj2k_decoder_receive(run->one[1], &frame) == CJ2K_OK, "no frame");
    bool good = frame.status == CJ2K_OK;
    cj2k_decoder_release(run->one[1], &frame);
    if (good)
      return g_bytes_new(stream->data, stream->size);
  }
  return NULL;
}

static void hung(int signal)
{
  (void)signal;
  _exit(write(STDOUT_FILENO, hang_text, strlen(hang_text)) > 0 ? 1 : 2);
}

/* Damages and compares until it is time to stop. NULL, or what is wrong with an intact one. */
static const char *compare_all(Run *run)
{
  const Options *options = run->options;
  gint64 begin = g_get_monotonic_time();
  const char *what = check_intact(run, run->other[0]);
  while (!what && run->finds < MAX_FINDS &&
         (options->seconds ? g_get_monotonic_time() - begin < options->seconds * G_USEC_PER_SEC
                           : run->inputs < (guint)options->inputs)) {
    g_free(hang_text);
    hang_text = g_strdup_printf("Bail out! inputs after %u are not decoded, seed %d\n", run->inputs,
                                options->seed);
    alarm(HANG_AFTER);
    compare_some(run);
    if (run->inputs % CHECK_EVERY < IN_FLIGHT)
      what = check_intact(run, run->other[0]);
  }
  alarm(0);
  return what;
}

static void run_all(Run *run)
{
  Cj2kError error = {0};
  const char *what = compare_all(run);
  printf("%sok 1 - %u damaged codestreams decoded alike\n", run->finds ? "not " : "", run->inputs);
  printf("# %u decoded, %u of them by the CPU in place of the GPU; from %u codestreams\n",
         run->decoded, run->fallbacks, run->streams->len);
  printf("%sok 2 - an intact one between them and after them%s%s\n", what ? "not " : "",
         what ? ": differs in " : "", what ? what : "");
  Cj2kDecoder *decoder = open_decoder(run->options, 0, false, &error);
  what = decoder ? check_intact(run, decoder) : error.text;
  printf("%sok 3 - a new decoder%s%s\n1..3\n", what ? "not " : "", what ? ": " : "",
         what ? what : "");
  run->finds += what != NULL;
  cj2k_decoder_close(decoder);
}

static void run_clear(Run *run)
{
  for (uint32_t kind = 0; kind < KINDS; kind++) {
    cj2k_decoder_close(run->one[kind]);
    cj2k_decoder_close(run->other[kind]);
  }
  for (guint i = 0; i < run->streams->len; i++) {
    g_free(g_array_index(run->streams, Stream, i).name);
    g_free(g_array_index(run->streams, Stream, i).data);
  }
  g_array_unref(run->streams);
  g_clear_pointer(&run->intact, g_bytes_unref);
  g_free(hang_text);
  g_rand_free(random_numbers);
}

static bool open_all(Run *run)
{
  Cj2kError error = {0};
  for (uint32_t kind = 0; kind < KINDS; kind++) {
    run->one[kind] = open_decoder(run->options, kind, true, &error);
    run->other[kind] = open_decoder(run->options, kind, false, &error);
    if (!run->one[kind] || !run->other[kind]) {
      printf("1..0 # SKIP %s\n", error.text);
      return false;
    }
  }
  run->intact = find_intact(run);
  if (!run->intact)
    printf("1..0 # SKIP no codestreams\n");
  return run->intact != NULL;
}

int main(int argc, char **argv)
{
  Options options = {.inputs = 1000, .seed = 1};
  const GOptionEntry entries[] = {
      {"backend", 0, 0, G_OPTION_ARG_STRING, &options.backend, "cuda, or cpu", NULL},
      {"inputs", 0, 0, G_OPTION_ARG_INT, &options.inputs, "how many", NULL},
      {"seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds, "how long, in place of that", NULL},
      {"seed", 0, 0, G_OPTION_ARG_INT, &options.seed, "of random numbers", NULL},
      {"save", 0, 0, G_OPTION_ARG_FILENAME, &options.save, "folder for what differs", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.paths, NULL, NULL},
      {NULL}};
  GOptionContext *context = g_option_context_new("PATH...");
  GError *error = NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error))
    g_error("%s", error->message);
  g_option_context_free(context);
  signal(SIGALRM, hung);
  random_numbers = g_rand_new_with_seed((guint32)options.seed);
  Run run = {.options = &options, .streams = read_streams(options.paths)};
  if (open_all(&run))
    run_all(&run);
  bool failed = run.finds > 0;
  run_clear(&run);
  g_strfreev(options.paths);
  g_free(options.backend);
  g_free(options.save);
  return failed ? 1 : 0;
}
