/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parallel loops run each index once, and no lane twice at a time, whichever threads help. */
#include "common/runtime/threads.h"

#include <glib.h>
#include <string.h>

#define THREADS 6
#define MOST    4096
#define INNER   20 /* calls of a loop in a loop */

typedef struct {
  Cj2kThreads *threads;
  gint done[MOST]; /* how often an index was run */
  gint inner;      /* calls of loops in the loop */
  gint busy[THREADS];
  gint wrong; /* calls that met another one on their lane, or one that is not there */
  gint lanes; /* a bit for each that was used */
} Loop;

static void run_inner(void *ctx, uint32_t index, uint32_t lane)
{
  Loop *loop = ctx;

  if (index >= INNER || lane >= cj2k_threads_count(loop->threads))
    g_atomic_int_inc(&loop->wrong);
  g_atomic_int_inc(&loop->inner);
}

static void run_index(void *ctx, uint32_t index, uint32_t lane)
{
  Loop *loop = ctx;

  if (lane >= cj2k_threads_count(loop->threads) || g_atomic_int_add(&loop->busy[lane], 1)) {
    g_atomic_int_inc(&loop->wrong);
    return;
  }
  g_atomic_int_or((guint *)&loop->lanes, 1u << lane);
  g_atomic_int_inc(&loop->done[index]);
  if (index % 64 == 0)
    g_usleep(20);
  g_atomic_int_add(&loop->busy[lane], -1);
  if (index % 100 == 0)
    cj2k_parallel_for(loop->threads, INNER, run_inner, loop);
}

/* Returns the lanes that took part. */
static guint run_loop(Cj2kThreads *threads, uint32_t n)
{
  Loop loop = {.threads = threads};

  cj2k_parallel_for(threads, n, run_index, &loop);
  g_assert_cmpint(loop.wrong, ==, 0);
  g_assert_cmpuint((guint)loop.inner, ==, (n + 99) / 100 * INNER);
  for (uint32_t i = 0; i < MOST; i++)
    g_assert_cmpint(loop.done[i], ==, i < n);
  return (guint)loop.lanes;
}

static uint32_t size_of_round(uint32_t round)
{
  static const uint32_t sizes[] = {0, 1, 2, 3, THREADS, 100, 1000, MOST};
  return sizes[round % G_N_ELEMENTS(sizes)];
}

static void test_loops(void)
{
  for (uint32_t count = 1; count <= THREADS; count++) {
    Cj2kThreads *threads = cj2k_threads_new(count);
    guint lanes = 0;
    g_assert_cmpuint(cj2k_threads_count(threads), ==, count);
    for (uint32_t round = 0; round < 100; round++)
      lanes |= run_loop(threads, size_of_round(round));
    g_assert_cmpuint(lanes, ==, (1u << count) - 1);
    cj2k_threads_free(threads);
  }
  run_loop(NULL, MOST);
}

/* Threads that are awake, that fall asleep between loops, and that are woken again. */
static void test_awake(void)
{
  Cj2kThreads *threads = cj2k_threads_new(THREADS);
  guint lanes = 0;

  for (uint32_t round = 0; round < 400; round++) {
    if (round % 3 != 2)
      cj2k_threads_wake(threads, round % 5 ? THREADS - 2 : 100);
    if (round % 7 == 0)
      g_usleep(2000);
    for (uint32_t i = 0; i <= round % 4; i++)
      lanes |= run_loop(threads, size_of_round(round + i));
    if (round % 2)
      cj2k_threads_rest(threads);
  }
  g_assert_cmpuint(lanes, ==, (1u << THREADS) - 1);
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

/* Loops of several frames at once, while this thread wakes others and runs loops of its own. */
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

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/threads/loops", test_loops);
  g_test_add_func("/threads/awake", test_awake);
  g_test_add_func("/threads/frames", test_frames);
  return g_test_run();
}
