/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decodes each codestream and JP2 file of the shared test data, cut off at 64 positions and with
 * 200 single bytes changed (a tenth of each unless CJ2K_TESTS_LONG=1), and the complete stream
 * again afterwards.
 *
 * A decoder may refuse a damaged stream with an error text, or decode what is left. It must not
 * crash, hang, leak or take much memory, and a stream that is cut off after its first tile-part
 * header must still give a picture. Each stream is decoded in a separate process: after a crash,
 * which is one failed case, a new process continues with the next case.
 */
#define _GNU_SOURCE /* memmem */

#include "cj2k.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUM_CUTS  64
#define NUM_FLIPS 200
#define NUM_CASES (NUM_CUTS + NUM_FLIPS + 1) /* the last case is the complete stream */

/* Memory shared with the decoding process: its progress and its results. */
typedef struct {
  int current; /* number of the case being decoded */
  bool failed;
  char why[400];
} Progress;

typedef struct {
  const char *name;
  guint8 *data;
  gsize size;
  gsize first_body; /* offset behind the first SOD; `size` if there is none */
} Stream;

static int tap_count, tap_failed;

static void tap(bool good, const char *name, const char *what, const char *why)
{
  tap_count++;
  tap_failed += !good;
  printf("%sok %d - %s %s\n", good ? "" : "not ", tap_count, name, what);
  if (!good)
    printf("# %s\n", why);
  fflush(stdout);
}

/* Byte offset behind the first SOD marker (T.800 A.4.3), found by following the marker segments
 * before it. In a JP2 file the codestream begins where SIZ follows SOC. */
static gsize find_first_body(const guint8 *data, gsize size)
{
  static const guint8 soc_siz[] = {0xFF, 0x4F, 0xFF, 0x51};
  const guint8 *soc = memmem(data, size, soc_siz, sizeof soc_siz);
  gsize at = soc ? (gsize)(soc - data) + 2 : size;

  while (at + 4 <= size && data[at] == 0xFF) {
    if (data[at + 1] == 0x93)
      return at + 2;
    at += 2 + ((gsize)data[at + 2] << 8 | data[at + 3]);
  }
  return size;
}

static bool is_chosen(int index)
{
  static int is_long = -1;

  if (is_long < 0)
    is_long = g_strcmp0(g_getenv("CJ2K_TESTS_LONG"), "1") == 0;
  return is_long || index % 10 == 3 || index == NUM_CASES - 1;
}

/* The bytes of case `index`, in a new allocation of the exact size, so that a sanitizer detects
 * reads behind its end. */
static guint8 *make_case(const Stream *stream, int index, gsize *size, char **what)
{
  guint8 *data;

  *size = stream->size;
  if (index < NUM_CUTS) {
    *size = stream->size * (index + 1) / (NUM_CUTS + 1);
    *what = g_strdup_printf("cut at byte %zu", *size);
  }
  data = g_memdup2(stream->data, *size);
  if (index >= NUM_CUTS && index < NUM_CUTS + NUM_FLIPS) {
    GRand *rand = g_rand_new_with_seed(0x15444 + index);
    /* Every other change is in the headers, which random positions would rarely hit. */
    gsize end = index & 1 ? MIN(*size, MAX(stream->first_body, 64)) : *size;
    gsize at = g_rand_int_range(rand, 0, end);
    guint8 flip = g_rand_int_range(rand, 1, 256);

    data[at] ^= flip;
    *what = g_strdup_printf("byte %zu changed by 0x%02x", at, flip);
    g_rand_free(rand);
  } else if (index >= NUM_CUTS) {
    *what = g_strdup("whole stream afterwards");
  }
  return data;
}

/* Decodes one case. NULL, or what is wrong with the result (to be freed). */
static char *try_case(Cj2kDecoder *decoder, const Stream *stream, int index, const guint8 *data,
                      gsize size)
{
  Cj2kError error = {0};
  Cj2kFrame frame = {0};
  if (size % 2) /* empty packets count as missing */
    cj2k_decoder_next_is_damaged(decoder);
  Cj2kStatus status = cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error);
  bool must_decode = (index < NUM_CUTS && size > stream->first_body) || index == NUM_CASES - 1;
  char *why = NULL;

  if (status == CJ2K_OK) {
    if (cj2k_decoder_receive(decoder, &frame) != CJ2K_OK)
      return g_strdup("submitted, but not received");
    status = frame.status;
    error = frame.error;
    cj2k_decoder_release(decoder, &frame);
  }
  if (must_decode && status != CJ2K_OK)
    why = g_strdup_printf("nothing decoded: %s: %s", cj2k_status_name(status), error.text);
  else if (status != CJ2K_OK && error.text[0] == '\0')
    why = g_strdup_printf("%s without a reason", cj2k_status_name(status));
  else if (status == CJ2K_ERROR_ARGUMENT || status == CJ2K_ERROR_DEVICE)
    why = g_strdup_printf("%s: %s", cj2k_status_name(status), error.text);
  return why;
}

/* The decoding process: decodes cases from `first` to `last`, and records the first failure. */
static void decode_cases(const Stream *stream, int first, int last, Progress *progress)
{
  Cj2kDecoderParams params;
  Cj2kDecoder *decoder;
  Cj2kError error = {0};
  bool slow = g_strcmp0(g_getenv("CJ2K_SANITIZED"), "1") == 0;

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = 2;
  params.conceal = CJ2K_CONCEAL_PREVIOUS;
  decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("no decoder: %s", error.text);
  for (int i = first; i <= last; i++) {
    char *what = NULL, *why;
    guint8 *data;
    gsize size;

    if (!is_chosen(i))
      continue;
    data = make_case(stream, i, &size, &what);
    progress->current = i;
    alarm(slow ? 30 : 10);
    why = try_case(decoder, stream, i, data, size);
    alarm(0);
    if (why && !progress->failed) {
      progress->failed = true;
      g_snprintf(progress->why, sizeof progress->why, "%s: %s", what, why);
    }
    g_free(why);
    g_free(what);
    g_free(data);
  }
  cj2k_decoder_close(decoder);
}

/* Runs the cases [first, last) in separate processes and prints the result as one line. */
static void run_cases(const Stream *stream, const char *title, int first, int last,
                      Progress *progress)
{
  bool sanitized = g_strcmp0(g_getenv("CJ2K_SANITIZED"), "1") == 0;
  GString *why = g_string_new(NULL);
  int crashes = 0;

  memset(progress, 0, sizeof *progress);
  while (first <= last && crashes < 5) {
    struct rusage usage;
    int status;
    pid_t child = fork();

    if (child == 0) {
      decode_cases(stream, first, last, progress);
      exit(0);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0)
      g_error("fork or wait failed");
    if (usage.ru_maxrss > 1024L * 1024 * (sanitized ? 3 : 1))
      g_string_append_printf(why, "%ld MiB of memory; ", usage.ru_maxrss / 1024);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    {
      char *what = NULL;
      gsize size;

      g_free(make_case(stream, progress->current, &size, &what));
      if (WIFSIGNALED(status))
        g_string_append_printf(why, "%s: signal %d%s; ", what, WTERMSIG(status),
                               WTERMSIG(status) == SIGALRM ? " (too slow)" : "");
      else
        g_string_append_printf(why, "%s or at the end: exit status %d; ", what,
                               WEXITSTATUS(status));
      g_free(what);
    }
    crashes++;
    first = progress->current + 1;
  }
  if (progress->failed)
    g_string_append(why, progress->why);
  tap(why->len == 0, stream->name, title, why->str);
  g_string_free(why, TRUE);
}

static void test_stream(const char *folder, const char *name, Progress *progress)
{
  char *path = g_build_filename(folder, name, NULL);
  Stream stream = {.name = name};
  GError *error = NULL;

  if (!g_file_get_contents(path, (char **)&stream.data, &stream.size, &error))
    g_error("%s", error->message);
  stream.first_body = find_first_body(stream.data, stream.size);
  run_cases(&stream, "cut short", 0, NUM_CUTS - 1, progress);
  run_cases(&stream, "with bytes changed", NUM_CUTS, NUM_CASES - 1, progress);
  g_free(stream.data);
  g_free(path);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Tests all files of root/part with this suffix; false if nothing has been tested so far. */
static bool test_folder(const char *root, const char *part, const char *suffix, Progress *progress)
{
  char *folder = g_build_filename(root, part, NULL);
  GDir *dir = g_dir_open(folder, 0, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, suffix))
      g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, by_name);
  for (guint i = 0; i < names->len; i++)
    test_stream(folder, names->pdata[i], progress);
  g_clear_pointer(&dir, g_dir_close);
  g_ptr_array_unref(names);
  g_free(folder);
  return tap_count > 0;
}

int main(void)
{
  const char *root = g_getenv("CJ2K_SHARED");
  Progress *progress =
      mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (!root)
    root = g_getenv("CJ2K_SHARED_DEFAULT");
  if (progress == MAP_FAILED || !root || !test_folder(root, "conformance", ".j2k", progress)) {
    printf("1..0 # SKIP no conformance streams; CJ2K_SHARED names their folder\n");
    return 0;
  }
  test_folder(root, "jp2", ".jp2", progress);
  printf("1..%d\n", tap_count);
  return tap_failed ? 1 : 0;
}
