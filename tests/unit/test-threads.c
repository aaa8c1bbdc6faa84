/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parallel loops run each index once and never use a lane twice at a time, whichever threads
 * help. */
#include "common/runtime/spin.h"
#include "common/runtime/threads.h"
#include "tests/support/crowd.h"

#include <glib.h>
#include <string.h>

#define THREADS      6
#define MAX_INDICES  4096
#define INNER_LENGTH 20 /* length of the nested loops */

typedef struct {
  Cj2kThreads *threads;
  gint runs[MAX_INDICES]; /* how often each index was run */
  gint inner;             /* calls from nested loops */
  gint busy[THREADS];
  gint errors; /* calls on a lane that was in use, or on a lane out of range */
  gint lanes;  /* one bit for each lane that was used */
} Loop;

static void run_inner_index(void *ctx, uint32_t index, uint32_t lane)
{
  Loop *loop = ctx;

  if (index >= INNER_LENGTH || lane >= cj2k_threads_count(loop->threads))
    g_atomic_int_inc(&loop->errors);
  g_atomic_int_inc(&loop->inner);
}

static void run_index(void *ctx, uint32_t index, uint32_t lane)
{
  Loop *loop = ctx;

  if (lane >= cj2k_threads_count(loop->threads) || g_atomic_int_add(&loop->busy[lane], 1)) {
    g_atomic_int_inc(&loop->errors);
    return;
  }
  g_atomic_int_or((guint *)&loop->lanes, 1u << lane);
  g_atomic_int_inc(&loop->runs[index]);
  if (index % 64 == 0)
    g_usleep(20);
  g_atomic_int_add(&loop->busy[lane], -1);
  if (index % 100 == 0)
    cj2k_parallel_for(loop->threads, INNER_LENGTH, run_inner_index, loop);
}

typedef void (*ParallelFor)(Cj2kThreads *threads, uint32_t n,
                            void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx);

/* Returns the lanes that were used. */
static guint run_with(ParallelFor parallel_for, Cj2kThreads *threads, uint32_t n)
{
  Loop loop = {.threads = threads};

  parallel_for(threads, n, run_index, &loop);
  g_assert_cmpint(loop.errors, ==, 0);
  g_assert_cmpuint((guint)loop.inner, ==, (n + 99) / 100 * INNER_LENGTH);
  for (uint32_t i = 0; i < MAX_INDICES; i++)
    g_assert_cmpint(loop.runs[i], ==, i < n);
  return (guint)loop.lanes;
}

/* On a busy machine a loop may be done before other threads have come; so many loops are tried. */
#define MOST_ROUNDS 20000u

static guint run_loop(Cj2kThreads *threads, uint32_t n)
{
  return run_with(cj2k_parallel_for, threads, n);
}

static uint32_t size_of_round(uint32_t round)
{
  static const uint32_t sizes[] = {0, 1, 2, 3, THREADS, 100, 1000, MAX_INDICES};
  return sizes[round % G_N_ELEMENTS(sizes)];
}

/* Short loops: in the caller alone while no thread is awake, else with those that are. */
static void test_short(void)
{
  Cj2kThreads *threads = cj2k_threads_new(THREADS);
  guint lanes = 0;

  for (uint32_t round = 0; round < 20; round++)
    g_assert_cmpuint(run_with(cj2k_parallel_for_short, threads, size_of_round(round)) & ~1u, ==, 0);
  for (uint32_t round = 0; round < 400 && !(lanes & ~1u); round++) {
    cj2k_threads_wake(threads, THREADS - 1);
    lanes |= run_with(cj2k_parallel_for_short, threads, MAX_INDICES);
    cj2k_threads_rest(threads);
  }
  g_assert_cmpuint(lanes & ~1u, !=, 0);
  cj2k_threads_free(threads);
}

static void test_loops(void)
{
  for (uint32_t count = 1; count <= THREADS; count++) {
    Cj2kThreads *threads = cj2k_threads_new(count);
    guint lanes = 0;
    g_assert_cmpuint(cj2k_threads_count(threads), ==, count);
    guint all = (1u << count) - 1;
    for (uint32_t round = 0; round < 100 || (lanes != all && round < MOST_ROUNDS); round++)
      lanes |= run_loop(threads, size_of_round(round));
    g_assert_cmpuint(lanes, ==, all);
    cj2k_threads_free(threads);
  }
  run_loop(NULL, MAX_INDICES);
}

/* Threads that are awake, that fall asleep between loops, and that are woken again. */
static void test_awake(void)
{
  Cj2kThreads *threads = cj2k_threads_new(THREADS);
  guint lanes = 0, all = (1u << THREADS) - 1;

  for (uint32_t round = 0; round < 400 || (lanes != all && round < MOST_ROUNDS); round++) {
    if (round % 3 != 2)
      cj2k_threads_wake(threads, round % 5 ? THREADS - 2 : 100);
    if (round % 7 == 0)
      g_usleep(2000);
    for (uint32_t i = 0; i <= round % 4; i++)
      lanes |= run_loop(threads, size_of_round(round + i));
    if (round % 2)
      cj2k_threads_rest(threads);
  }
  g_assert_cmpuint(lanes, ==, all);
  cj2k_threads_free(threads);
}

typedef struct {
  Cj2kThreads *threads;
  GMutex lock;
  GCond changed;
  uint32_t left;
} Frames;

static void run_frame(void *ctx)
{
  Frames *frames = ctx;

  for (uint32_t round = 0; round < 40; round++)
    run_loop(frames->threads, size_of_round(round));
  g_mutex_lock(&frames->lock);
  frames->left--;
  g_cond_signal(&frames->changed);
  g_mutex_unlock(&frames->lock);
}

/* Loops of several frames at once, while this thread wakes others and runs loops itself. */
static void test_frames(void)
{
  Frames frames = {.threads = cj2k_threads_new(THREADS), .left = 12};

  g_mutex_init(&frames.lock);
  g_cond_init(&frames.changed);
  for (uint32_t i = frames.left; i; i--)
    cj2k_threads_start(frames.threads, run_frame, &frames);
  for (uint32_t round = 0; round < 40; round++) {
    cj2k_threads_wake(frames.threads, 2);
    run_loop(frames.threads, size_of_round(round));
  }
  cj2k_threads_rest(frames.threads);
  g_mutex_lock(&frames.lock);
  while (frames.left)
    g_cond_wait(&frames.changed, &frames.lock);
  g_mutex_unlock(&frames.lock);
  cj2k_threads_free(frames.threads);
  g_mutex_clear(&frames.lock);
  g_cond_clear(&frames.changed);
}

/* Runs loops until all lanes were used. */
static void use_all_lanes(Cj2kThreads *threads)
{
  guint lanes = 0, all = (1u << THREADS) - 1;

  for (uint32_t round = 0; round < MOST_ROUNDS && lanes != all; round++)
    lanes |= run_loop(threads, MAX_INDICES);
  g_assert_cmpuint(lanes, ==, all);
}

/* The limit holds always, or in a crowded process only, and until it is removed. */
static void test_limit(void)
{
  Cj2kThreads *threads = cj2k_threads_new(THREADS);
  guint codecs = test_crowd(), lanes = 0;

  cj2k_threads_limit(threads, 2, true);
  for (uint32_t round = 0; round < 50; round++)
    lanes |= run_loop(threads, MAX_INDICES);
  g_assert_cmpuint(lanes & ~3u, ==, 0);
  cj2k_threads_limit(threads, 0, false);
  use_all_lanes(threads);
  cj2k_threads_limit(threads, 2, true);
  test_disperse(codecs);
  use_all_lanes(threads);
  cj2k_threads_limit(threads, 2, false);
  for (uint32_t round = 0; round < 50; round++)
    g_assert_cmpuint(run_loop(threads, MAX_INDICES) & ~3u, ==, 0);
  cj2k_threads_free(threads);
}

typedef struct {
  gint running, most, left; /* atomic */
  gint wanted;              /* frames wait until so many run at once, or until a time */
  gint64 until;
} Crowd;

/* A frame that waits for others to run beside it. */
static void run_beside(void *data)
{
  Crowd *crowd = data;
  gint running = g_atomic_int_add(&crowd->running, 1) + 1, most;

  do {
    most = g_atomic_int_get(&crowd->most);
  } while (running > most && !g_atomic_int_compare_and_exchange(&crowd->most, most, running));
  while (g_atomic_int_get(&crowd->most) < crowd->wanted && g_get_monotonic_time() < crowd->until)
    g_usleep(200);
  g_atomic_int_add(&crowd->running, -1);
  g_atomic_int_add(&crowd->left, -1);
}

/* Runs frames, which wait for `wanted` at once, but at most so many milliseconds. Returns how many
 * ran at once at most. */
static gint run_frames(Cj2kThreads *threads, gint wanted, gint64 ms)
{
  Crowd crowd = {
      .left = 2 * THREADS, .wanted = wanted, .until = g_get_monotonic_time() + 1000 * ms};

  for (int i = 0; i < 2 * THREADS; i++)
    cj2k_threads_start(threads, run_beside, &crowd);
  while (g_atomic_int_get(&crowd.left))
    g_usleep(500);
  return crowd.most;
}

/* As many threads work as may, and all frames run. Each of the others does at most one job more, so
 * that so many rounds have more threads at most, however late these are. */
static void test_use(void)
{
  static const uint32_t numbers[] = {1, 2, 0, 1, 0, THREADS, 2, THREADS + 5, 1, 0};
  Cj2kThreads *threads = cj2k_threads_new(THREADS);

  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
    gint most = numbers[i] && numbers[i] < THREADS ? (gint)numbers[i] : THREADS, more = 0;
    cj2k_threads_use(threads, numbers[i]);
    for (guint round = 0; round < 2 * THREADS; round++)
      more += run_frames(threads, most + 1, 5) > most;
    g_assert_cmpint(more, <=, THREADS - most);
    g_assert_cmpint(run_frames(threads, most, 20000), >=, most);
    run_loop(threads, MAX_INDICES);
    g_assert_cmpuint(cj2k_threads_count(threads), ==, THREADS);
  }
  cj2k_threads_free(threads);
}

/* Beside a GPU: one lane for a small frame, more for a large one, no limit where throughput counts.
 */
static void test_beside_gpu(void)
{
  for (uint32_t n = 1; n <= 2; n++) {
    g_assert_cmpuint(cj2k_threads_beside_gpu(n, 1), ==, 1);
    g_assert_cmpuint(cj2k_threads_beside_gpu(n, 1920 * 1080 * 2), ==, 1);
    g_assert_cmpuint(cj2k_threads_beside_gpu(n, UINT64_MAX), ==, 4);
    g_assert_cmpuint(cj2k_threads_beside_gpu(n, 0), ==, 2);
  }
  for (uint32_t n = 3; n <= 16; n++)
    g_assert_cmpuint(cj2k_threads_beside_gpu(n, 1), ==, 0);
}

/* How many helpers get permission to spin; gives it back. */
static guint spinning_helpers(void)
{
  guint taken = 0;

  while (cj2k_spin_take())
    taken++;
  for (guint i = 0; i < taken; i++)
    cj2k_spin_give();
  return taken;
}

/* Helpers spin on three quarters of the cores beside two codecs, on a quarter beside more, and not
 * at all in a crowded process. */
static void test_spin(void)
{
  guint cores = g_get_num_processors(), share = MAX(cores / 4, 1);

  cj2k_spin_join();
  cj2k_spin_join();
  g_assert_cmpuint(spinning_helpers(), ==, cores * 3 / 4);
  g_assert_cmpuint(spinning_helpers(), ==, cores * 3 / 4);
  cj2k_spin_join();
  g_assert_cmpuint(spinning_helpers(), ==, cj2k_spin_crowded() ? 0 : share);
  guint codecs = 3 + test_crowd();
  g_assert_cmpuint(codecs, ==, MAX(share, 2) + 1);
  g_assert_cmpuint(spinning_helpers(), ==, 0);
  test_disperse(codecs);
  g_assert_cmpuint(spinning_helpers(), ==, cores * 3 / 4);
}

/* Pools that are woken and closed return all permissions. */
static void test_woken_pools(void)
{
  for (uint32_t round = 0; round < 50; round++) {
    Cj2kThreads *pools[4];
    for (uint32_t i = 0; i < G_N_ELEMENTS(pools); i++) {
      pools[i] = cj2k_threads_new(THREADS);
      cj2k_threads_wake(pools[i], THREADS);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(pools); i++) {
      run_loop(pools[i], MAX_INDICES);
      cj2k_threads_free(pools[i]);
    }
  }
  test_spin();
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/threads/loops", test_loops);
  g_test_add_func("/threads/short", test_short);
  g_test_add_func("/threads/awake", test_awake);
  g_test_add_func("/threads/frames", test_frames);
  g_test_add_func("/threads/limit", test_limit);
  g_test_add_func("/threads/use", test_use);
  g_test_add_func("/threads/beside-gpu", test_beside_gpu);
  g_test_add_func("/threads/spin", test_spin);
  g_test_add_func("/threads/woken-pools", test_woken_pools);
  return g_test_run();
}
