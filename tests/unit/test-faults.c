/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Faults of the system: threads that cannot be started, and memory that cannot be had. This program
 * replaces pthread_create and the functions by which the library asks for memory whose size follows
 * from a picture or a codestream; each call of a run fails once. The library must say so, and the
 * next frame must be as good as ever. (Small blocks of a fixed size come from g_new, which ends the
 * program if there is no memory.)
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "common/runtime/threads.h"
#include "encoder-pictures.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Counts calls; the one that brings the number to 0 fails. Negative: none does. */
static gint threads_left = -1, memory_left = -1; /* atomic */

static bool fails(gint *left)
{
  return g_atomic_int_get(left) >= 0 && g_atomic_int_add(left, -1) == 0;
}

/* All threads from this one on fail. */
static gint no_threads; /* atomic */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *data)
{
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real)
    real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
  if (fails(&threads_left))
    g_atomic_int_set(&no_threads, true);
  return g_atomic_int_get(&no_threads) ? EAGAIN : real(thread, attributes, run, data);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
  static int (*real)(void **, size_t, size_t);
  if (!real)
    real = (__typeof__(real))dlsym(RTLD_NEXT, "posix_memalign");
  return fails(&memory_left) ? ENOMEM : real(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
  static void *(*real)(size_t, size_t);
  if (!real)
    real = (__typeof__(real))dlsym(RTLD_NEXT, "aligned_alloc");
  return fails(&memory_left) ? NULL : real(alignment, size);
}

gpointer g_try_malloc(gsize size)
{
  return fails(&memory_left) ? NULL : g_malloc(size);
}

gpointer g_try_malloc_n(gsize count, gsize size)
{
  return fails(&memory_left) ? NULL : g_malloc_n(count, size);
}

gpointer g_try_malloc0(gsize size)
{
  return fails(&memory_left) ? NULL : g_malloc0(size);
}

gpointer g_try_malloc0_n(gsize count, gsize size)
{
  return fails(&memory_left) ? NULL : g_malloc0_n(count, size);
}

gpointer g_try_realloc(gpointer memory, gsize size)
{
  return fails(&memory_left) ? NULL : g_realloc(memory, size);
}

gpointer g_try_realloc_n(gpointer memory, gsize count, gsize size)
{
  return fails(&memory_left) ? NULL : g_realloc_n(memory, count, size);
}

/* ------------------------------------------------------------------------ a run --- */

typedef struct {
  TestPicture picture;
  Cj2kEncoderParams params;
  GBytes *expected; /* codestream without a fault */
  guint errors;     /* frames and codecs that failed */
} Run;

static void run_init(Run *run, const char *options)
{
  Cj2kError error = {0};
  memset(run, 0, sizeof *run);
  test_picture_init(&run->picture, SCENE_SINE, 90, 60, 3, 8, false, NULL, NULL, 0, 0);
  cj2k_encoder_params_init(&run->params);
  run->params.backend = CJ2K_BACKEND_CPU;
  run->params.num_threads = 3;
  run->params.frames_in_flight = 1;
  test_set_options(&run->params, options);
  run->expected = test_encode(&run->params, &run->picture, &error);
  g_assert_nonnull(run->expected);
}

static void run_clear(Run *run)
{
  g_bytes_unref(run->expected);
  test_picture_clear(&run->picture);
}

/* A failure must have this status and a text. */
static void check_error(Run *run, Cj2kStatus status, const Cj2kError *error)
{
  g_assert_cmpint(status, ==, CJ2K_ERROR_MEMORY);
  g_assert_cmpstr(error->text, !=, "");
  run->errors++;
}

/* Two frames with one encoder, of which one at most may fail. false: it could not be opened. */
static void encode_twice(Run *run)
{
  Cj2kError error = {0};
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&run->params, &run->picture.image, &run->picture.layout, &error);
  if (!encoder) {
    check_error(run, error.code, &error);
    return;
  }
  for (int i = 0; i < 2; i++) {
    Cj2kPacket packet;
    Cj2kStatus status = cj2k_encoder_submit(encoder, &run->picture.picture, NULL, &error);
    if (status != CJ2K_OK) {
      check_error(run, status, &error);
      continue;
    }
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    /* Later frames of a constant rate depend on the ones before. */
    if (packet.status == CJ2K_OK && (i == 0 || run->params.rate_control == CJ2K_RATE_LOSSLESS))
      g_assert_cmpmem(packet.data, packet.size, g_bytes_get_data(run->expected, NULL),
                      g_bytes_get_size(run->expected));
    else if (packet.status != CJ2K_OK)
      check_error(run, packet.status, &packet.error);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
}

static void decode_twice(Run *run)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  gsize size;
  const uint8_t *data = g_bytes_get_data(run->expected, &size);
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = 3;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder) {
    check_error(run, error.code, &error);
    return;
  }
  for (int i = 0; i < 2; i++) {
    Cj2kFrame frame;
    Cj2kStatus status = cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error);
    if (status != CJ2K_OK) {
      check_error(run, status, &error);
      continue;
    }
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    if (frame.status == CJ2K_OK)
      g_assert_cmpuint(frame.corrupt_blocks, ==, 0);
    else
      check_error(run, frame.status, &frame.error);
    cj2k_decoder_release(decoder, &frame);
  }
  cj2k_decoder_close(decoder);
}

/* ------------------------------------------------------------------------ tests --- */

static const char *const options[] = {
    "rate-control=lossless",
    "block-coder=ht max-frame-bytes=4000",
    "max-frame-bytes=4000 num-layers=3 progression-order=rpcl precincts=32x32",
};

static void test_memory(gconstpointer data)
{
  Run run;
  guint number = 0, failed = 0;
  run_init(&run, options[GPOINTER_TO_UINT(data)]);
  for (bool reached = true; reached; number++) {
    run.errors = 0;
    g_atomic_int_set(&memory_left, (gint)number);
    encode_twice(&run);
    decode_twice(&run);
    reached = g_atomic_int_get(&memory_left) < 0;
    g_atomic_int_set(&memory_left, -1);
    /* One allocation failed: at most one frame, or one codec, has suffered. */
    g_assert_cmpuint(run.errors, <=, 1);
    failed += run.errors;
  }
  g_test_message("%u allocations, %u of them needed", number - 1, failed);
  g_assert_cmpuint(failed, >, 10);
  run_clear(&run);
}

static guint threads_at_first; /* before any codec */

static guint num_threads(void)
{
  GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
  guint count = 0;
  while (tasks && g_dir_read_name(tasks))
    count++;
  g_clear_pointer(&tasks, g_dir_close);
  return count;
}

/* Lets thread number `number` from now on, and all behind it, fail; -1: none. Waits until
 * earlier threads have ended. */
static void break_threads(gint number)
{
  while (num_threads() > threads_at_first)
    g_usleep(1000);
  g_atomic_int_set(&no_threads, false);
  g_atomic_int_set(&threads_left, number);
}

static void test_threads(void)
{
  Run run;
  break_threads(-1);
  run_init(&run, options[1]);
  for (gint number = 0; number <= 3; number++) {
    run.errors = 0;
    break_threads(number);
    encode_twice(&run);
    break_threads(number);
    decode_twice(&run);
    break_threads(-1);
    /* Without any thread nothing can be opened; with fewer than were requested all goes on. */
    g_assert_cmpuint(run.errors, ==, number == 0 ? 2 : 0);
  }
  run_clear(&run);
}

/* --- turns --- */

#define CODECS 3
#define JOBS   5

typedef struct {
  gint open;    /* atomic: the only thread may go on */
  gint entered; /* atomic: it waits */
  guint order[CODECS * JOBS], done;
} Turns;

typedef struct {
  Turns *turns;
  guint codec;
} Turn;

static void wait_for_opening(void *ctx)
{
  Turns *turns = ctx;
  g_atomic_int_set(&turns->entered, 1);
  while (!g_atomic_int_get(&turns->open))
    g_usleep(500);
}

static void take_turn(void *ctx)
{
  Turn *turn = ctx;
  turn->turns->order[turn->turns->done++] = turn->codec;
}

/* Where no thread can be started, the one that there is works for the codecs in turn, not for all
 * jobs of one first. */
static void test_turns(void)
{
  Turns turns = {.done = 0};
  Turn jobs[CODECS] = {{&turns, 0}, {&turns, 1}, {&turns, 2}};
  Cj2kThreads *codecs[CODECS], *first;
  break_threads(1);
  first = cj2k_threads_new(1);
  cj2k_threads_start(first, wait_for_opening, &turns);
  while (!g_atomic_int_get(&turns.entered))
    g_usleep(500);
  for (guint i = 0; i < CODECS; i++) {
    codecs[i] = cj2k_threads_new(2);
    g_assert_nonnull(codecs[i]);
    for (guint j = 0; j < JOBS; j++)
      cj2k_threads_start(codecs[i], take_turn, &jobs[i]);
  }
  g_atomic_int_set(&turns.open, 1);
  for (guint i = 0; i < CODECS; i++)
    cj2k_threads_free(codecs[i]);
  cj2k_threads_free(first);
  for (guint i = 0; i < CODECS * JOBS; i++)
    g_assert_cmpuint(turns.order[i], ==, i % CODECS);
  break_threads(-1);
}

int main(int argc, char **argv)
{
  /* GLib before 2.76 has an allocator of its own for small blocks, which ends the program if it
   * gets no memory; it reads the variable before main(). */
  if (g_strcmp0(g_getenv("G_SLICE"), "always-malloc") != 0) {
    g_setenv("G_SLICE", "always-malloc", TRUE);
    execv("/proc/self/exe", argv);
  }
  g_test_init(&argc, &argv, NULL);
  threads_at_first = num_threads();
  for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
    gchar *path = g_strdup_printf("/faults/memory/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_memory);
    g_free(path);
  }
  g_test_add_func("/faults/threads", test_threads);
  g_test_add_func("/faults/turns", test_turns);
  return g_test_run();
}
