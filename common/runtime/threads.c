/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "threads.h"

#include "spin.h"

#include <glib.h>
#include <stdbool.h>

#define MAX_THREADS 256
#define MAX_AWAKE   15   /* most threads that spin while they wait for a loop */
#define AWAKE_US    1000 /* longest time that they spin, in microseconds */
#define SPINS       64   /* rounds between two looks at the clock */
/* Beside a GPU: samples of a frame for each lane, lanes if the size is not known, most lanes. */
#define SAMPLES_PER_LANE (1 << 22)
#define UNKNOWN_LANES    2
#define MOST_LANES       4
#define SLEEP_US         50 /* sleep of a caller that has spun too long for the others, in microseconds */

/*
 * The threads that were woken ahead of a loop, and the loop that they take part in.
 *
 * Order of memory: opening a loop writes fn, ctx, n and next, and then raises `turn`, which
 * publishes them to each thread that reads the odd value. Closing raises `turn` again and waits
 * until `active` is 0, so that the next opening cannot write fn while a thread still reads it. A
 * thread that enters raises `active` and then reads `turn`; the one that closes raises `turn` and
 * then reads `active`. At least one of them must see what the other one did, which only
 * sequentially consistent operations guarantee: with acquire and release both could read the old
 * value. Lowering `active` publishes what the thread's calls of fn wrote to the thread that waits
 * for 0. tests/unit/test-barrier.c has these steps as a model and tries all their orders; who
 * changes one changes both.
 */
typedef struct {
  GMutex lock;  /* held while a loop is open */
  guint lanes;  /* atomic: bit i is set while a woken thread has lane i. It publishes nothing else;
                   the order is as strong as can be because that costs nothing here */
  guint turn;   /* atomic: odd while a loop is open; rises with each opening and closing */
  guint active; /* atomic: threads that may be in the loop */
  gint64 until; /* atomic, relaxed: time at which the threads go back to sleep. A thread that reads
                   an old value sleeps or spins a little too long, nothing more */
  void (*fn)(void *ctx, uint32_t index, uint32_t lane);
  void *ctx;
  uint32_t n;
  guint next; /* atomic, relaxed: first index that nobody has taken. It only divides the work; what
                 the work reads and writes is published by `turn` and `active` */
} Awake;

struct Cj2kThreads {
  GThreadPool *pool;
  uint32_t count;
  gint limit;        /* atomic: lanes of a loop; 0: no limit. A hint: any value that it had is good,
                        and so is any of crowded_only */
  gint crowded_only; /* atomic: the limit holds while the process is crowded */
  guint64 next_order; /* order of the next job; guarded by lock */
  GMutex lock;
  Awake awake;
};

/* One parallel for. The caller and each queued invitation hold a reference: a thread may take up an
 * invitation after the loop is over, and then finds nothing to do. */
typedef struct {
  void (*fn)(void *ctx, uint32_t index, uint32_t lane);
  void *ctx;
  uint32_t n;
  guint next;   /* atomic: first index that nobody has taken. It only divides the work: the lock of
                   the pool's queue publishes what helpers read, `lock` what they wrote */
  guint refs;   /* atomic. Whoever lowers it to 0 frees the loop and must see all uses before */
  guint lanes;  /* lanes given out; guarded by lock */
  guint active; /* helpers at work; guarded by lock */
  bool closed;  /* no helper may begin any more; guarded by lock */
  GMutex lock;
  GCond idle;
} Loop;

/* An entry of the pool's queue: a whole frame (fn), an invitation to help with a loop (loop), or an
 * invitation to spin until one begins (threads and lane). */
typedef struct {
  guint64 order;
  Loop *loop;
  Cj2kThreads *threads;
  uint32_t lane;
  void (*fn)(void *ctx);
  void *ctx;
} Job;

static void loop_unref(Loop *loop)
{
  if (!g_atomic_int_dec_and_test((gint *)&loop->refs))
    return;
  g_mutex_clear(&loop->lock);
  g_cond_clear(&loop->idle);
  g_free(loop);
}

static void loop_work(Loop *loop, uint32_t lane)
{
  uint32_t i;
  while ((i = (uint32_t)g_atomic_int_add((gint *)&loop->next, 1)) < loop->n)
    loop->fn(loop->ctx, i, lane);
  /* Keeps `next` from ever wrapping around, however many helpers come late. */
  g_atomic_int_set((gint *)&loop->next, (gint)loop->n);
}

/* Helps with another thread's loop, unless it is over. */
static void loop_help(Loop *loop)
{
  g_mutex_lock(&loop->lock);
  bool join = !loop->closed;
  uint32_t lane = loop->lanes;
  if (join) {
    loop->lanes++;
    loop->active++;
  }
  g_mutex_unlock(&loop->lock);
  if (join) {
    loop_work(loop, lane);
    g_mutex_lock(&loop->lock);
    if (--loop->active == 0)
      g_cond_signal(&loop->idle);
    g_mutex_unlock(&loop->lock);
  }
  loop_unref(loop);
}

static inline void pause_a_little(void)
{
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

static void awake_work(Awake *awake, uint32_t lane)
{
  uint32_t i;
  while ((i = __atomic_fetch_add(&awake->next, 1, __ATOMIC_RELAXED)) < awake->n)
    awake->fn(awake->ctx, i, lane);
}

/* Whether a time that was set to the next AWAKE_US has not come yet. Where the clock has jumped
 * back it would seem to be farther away: that counts as come, or threads would spin all the while.
 */
static bool is_within(gint64 until)
{
  gint64 left = until - g_get_monotonic_time();
  return left > 0 && left <= AWAKE_US;
}

/* Spins and takes part in each loop that is opened, until it is time to sleep. */
static void stay_awake(Awake *awake, uint32_t lane)
{
  guint last = 0;

  do {
    for (uint32_t i = 0; i < SPINS; i++) {
      guint turn = __atomic_load_n(&awake->turn, __ATOMIC_SEQ_CST);
      if (turn % 2 == 0 || turn == last) {
        pause_a_little();
        continue;
      }
      /* Either the closing thread sees that this thread is active, or this thread sees that `turn`
       * has changed. */
      __atomic_add_fetch(&awake->active, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&awake->turn, __ATOMIC_SEQ_CST) == turn)
        awake_work(awake, lane);
      __atomic_sub_fetch(&awake->active, 1, __ATOMIC_SEQ_CST);
      last = turn;
    }
  } while (is_within(__atomic_load_n(&awake->until, __ATOMIC_RELAXED)));
  __atomic_and_fetch(&awake->lanes, ~(1u << lane), __ATOMIC_SEQ_CST);
  cj2k_spin_give();
}

/* Waits until all threads have left the loop. That is soon, unless one of them has lost its
 * processor, perhaps to this very thread because its priority is higher; so this thread sleeps
 * after a while. */
static void wait_for_active(Awake *awake)
{
  gint64 until = g_get_monotonic_time() + AWAKE_US;

  while (__atomic_load_n(&awake->active, __ATOMIC_SEQ_CST)) {
    for (uint32_t i = 0; i < SPINS && __atomic_load_n(&awake->active, __ATOMIC_SEQ_CST); i++)
      pause_a_little();
    if (!is_within(until))
      g_usleep(SLEEP_US);
  }
}

/* A parallel for on the threads that are awake. */
static void awake_for(Awake *awake, uint32_t n,
                      void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  awake->fn = fn;
  awake->ctx = ctx;
  awake->n = n;
  __atomic_store_n(&awake->next, 0, __ATOMIC_RELAXED);
  __atomic_add_fetch(&awake->turn, 1, __ATOMIC_SEQ_CST);
  awake_work(awake, 0);
  __atomic_add_fetch(&awake->turn, 1, __ATOMIC_SEQ_CST);
  wait_for_active(awake);
}

static void run_job(gpointer data, gpointer user)
{
  Job job = *(Job *)data;
  (void)user;
  g_free(data);
  if (job.loop)
    loop_help(job.loop);
  else if (job.lane)
    stay_awake(&job.threads->awake, job.lane);
  else
    job.fn(job.ctx);
}

/* Invitations come before new frames, so that frames that were begun are finished first. */
static gint compare_jobs(gconstpointer a, gconstpointer b, gpointer user)
{
  const Job *x = a, *y = b;
  (void)user;
  if (!x->fn != !y->fn)
    return x->fn ? 1 : -1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static void push(Cj2kThreads *threads, Job job)
{
  Job *queued = g_new(Job, 1);
  *queued = job;
  g_mutex_lock(&threads->lock);
  queued->order = threads->next_order++;
  g_mutex_unlock(&threads->lock);
  g_thread_pool_push(threads->pool, queued, NULL);
}

/* Makes a pool of `count` threads, or of as many as can be started; NULL: not even one. Threads are
 * added to a pool of one, because g_thread_pool_new() of newer GLib frees a pool of which not all
 * threads can be started while the others run in it. */
static GThreadPool *start_pool(uint32_t count)
{
  GError *error = NULL;
  GThreadPool *pool = g_thread_pool_new(run_job, NULL, 1, TRUE, &error);

  if (error) { /* older GLib makes a pool without a thread */
    g_error_free(error);
    if (pool)
      g_thread_pool_free(pool, TRUE, FALSE);
    return NULL;
  }
  if (!g_thread_pool_set_max_threads(pool, (gint)count, NULL))
    g_thread_pool_set_max_threads(pool, (gint)g_thread_pool_get_num_threads(pool), NULL);
  return pool;
}

Cj2kThreads *cj2k_threads_new(uint32_t num_threads)
{
  uint32_t count = CLAMP(num_threads ? num_threads : g_get_num_processors(), 1, MAX_THREADS);
  GThreadPool *pool = start_pool(count);
  if (!pool)
    return NULL;
  Cj2kThreads *threads = g_new0(Cj2kThreads, 1);
  threads->pool = pool;
  threads->count = g_thread_pool_get_num_threads(pool);
  g_mutex_init(&threads->lock);
  g_mutex_init(&threads->awake.lock);
  g_thread_pool_set_sort_function(threads->pool, compare_jobs, NULL);
  return threads;
}

void cj2k_threads_limit(Cj2kThreads *threads, uint32_t lanes, bool crowded_only)
{
  g_atomic_int_set(&threads->crowded_only, crowded_only);
  g_atomic_int_set(&threads->limit, (gint)lanes);
}

void cj2k_threads_use(Cj2kThreads *threads, uint32_t most)
{
  /* Threads that cannot be started again are missing, which only makes the codec slower. */
  g_thread_pool_set_max_threads(threads->pool,
                                (gint)MIN(most ? most : threads->count, threads->count), NULL);
}

uint32_t cj2k_threads_beside_gpu(uint32_t frames_in_flight, uint64_t samples)
{
  if (frames_in_flight > 2)
    return 0;
  return samples ? (uint32_t)CLAMP(samples / SAMPLES_PER_LANE, 1, MOST_LANES) : UNKNOWN_LANES;
}

void cj2k_threads_free(Cj2kThreads *threads)
{
  if (!threads)
    return;
  g_thread_pool_free(threads->pool, FALSE, TRUE);
  g_mutex_clear(&threads->lock);
  g_mutex_clear(&threads->awake.lock);
  g_free(threads);
}

uint32_t cj2k_threads_count(const Cj2kThreads *threads)
{
  return threads ? threads->count : 1;
}

void cj2k_threads_start(Cj2kThreads *threads, void (*fn)(void *ctx), void *ctx)
{
  push(threads, (Job){.fn = fn, .ctx = ctx});
}

void cj2k_threads_wake(Cj2kThreads *threads, uint32_t count)
{
  uint32_t limit = MIN(MIN(count, MAX_AWAKE), threads->count - 1);
  Awake *awake = &threads->awake;

  __atomic_store_n(&awake->until, g_get_monotonic_time() + AWAKE_US, __ATOMIC_RELAXED);
  for (uint32_t lane = 1; lane <= limit; lane++) {
    if (__atomic_load_n(&awake->lanes, __ATOMIC_SEQ_CST) & 1u << lane)
      continue;
    if (!cj2k_spin_take())
      return;
    if (__atomic_fetch_or(&awake->lanes, 1u << lane, __ATOMIC_SEQ_CST) & 1u << lane)
      cj2k_spin_give(); /* another frame of this codec was faster */
    else
      push(threads, (Job){.threads = threads, .lane = lane});
  }
}

void cj2k_threads_rest(Cj2kThreads *threads)
{
  __atomic_store_n(&threads->awake.until, 0, __ATOMIC_RELAXED);
}

static void run_alone(uint32_t n, void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  for (uint32_t i = 0; i < n; i++)
    fn(ctx, i, 0);
}

/* Lanes that a loop may use. */
static uint32_t lanes_now(const Cj2kThreads *threads)
{
  uint32_t limit = threads ? (uint32_t)g_atomic_int_get(&threads->limit) : 0;
  uint32_t count = cj2k_threads_count(threads);
  bool holds = limit && (!g_atomic_int_get(&threads->crowded_only) || cj2k_spin_crowded());
  return holds ? MIN(limit, count) : count;
}

/* Runs the loop with the threads that are awake. Returns false if there are none, or another loop
 * has them. */
static bool run_awake(Cj2kThreads *threads, uint32_t n,
                      void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  if (!__atomic_load_n(&threads->awake.lanes, __ATOMIC_SEQ_CST) ||
      !g_mutex_trylock(&threads->awake.lock))
    return false;
  awake_for(&threads->awake, n, fn, ctx);
  g_mutex_unlock(&threads->awake.lock);
  return true;
}

void cj2k_parallel_for_short(Cj2kThreads *threads, uint32_t n,
                             void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  if (lanes_now(threads) < 2 || n < 2 || n > INT32_MAX - MAX_THREADS ||
      !run_awake(threads, n, fn, ctx))
    run_alone(n, fn, ctx);
}

void cj2k_parallel_for(Cj2kThreads *threads, uint32_t n,
                       void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  uint32_t helpers = MIN(lanes_now(threads), n) - (n > 0);
  if (helpers == 0 || n > INT32_MAX - MAX_THREADS) {
    run_alone(n, fn, ctx);
    return;
  }
  if (run_awake(threads, n, fn, ctx))
    return;
  Loop *loop = g_new0(Loop, 1);
  *loop = (Loop){.fn = fn, .ctx = ctx, .n = n, .lanes = 1, .refs = helpers + 1};
  g_mutex_init(&loop->lock);
  g_cond_init(&loop->idle);
  for (uint32_t i = 0; i < helpers; i++)
    push(threads, (Job){.loop = loop});
  loop_work(loop, 0);

  g_mutex_lock(&loop->lock);
  loop->closed = true;
  while (loop->active)
    g_cond_wait(&loop->idle, &loop->lock);
  g_mutex_unlock(&loop->lock);
  loop_unref(loop);
}
