/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "threads.h"

#include <glib.h>
#include <stdbool.h>

#define MAX_THREADS 256

struct Cj2kThreads {
  GThreadPool *pool;
  uint32_t count;
  guint64 next_order; /* of the next job; guarded by lock */
  GMutex lock;
};

/* One parallel for. The caller and each queued invitation hold a reference: an invitation may be
 * taken up after the loop is over, and then finds nothing to do. */
typedef struct {
  void (*fn)(void *ctx, uint32_t index, uint32_t lane);
  void *ctx;
  uint32_t n;
  guint next;   /* atomic: first index that nobody has taken */
  guint refs;   /* atomic */
  guint lanes;  /* given out; guarded by lock */
  guint active; /* helpers at work; guarded by lock */
  bool closed;  /* no helper may begin any more; guarded by lock */
  GMutex lock;
  GCond idle;
} Loop;

/* What waits in the pool's queue: a whole frame, or the invitation to help with a loop. */
typedef struct {
  guint64 order;
  Loop *loop;
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

/* Takes part in somebody's loop, unless it is over. */
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

static void run_job(gpointer data, gpointer user)
{
  Job job = *(Job *)data;
  (void)user;
  g_free(data);
  if (job.loop)
    loop_help(job.loop);
  else
    job.fn(job.ctx);
}

/* Helping comes before new frames: it brings the frame that was begun first to its end. */
static gint compare_jobs(gconstpointer a, gconstpointer b, gpointer user)
{
  const Job *x = a, *y = b;
  (void)user;
  if (!x->loop != !y->loop)
    return x->loop ? -1 : 1;
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

Cj2kThreads *cj2k_threads_new(uint32_t num_threads)
{
  Cj2kThreads *threads = g_new0(Cj2kThreads, 1);
  threads->count = CLAMP(num_threads ? num_threads : g_get_num_processors(), 1, MAX_THREADS);
  threads->pool = g_thread_pool_new(run_job, NULL, (gint)threads->count, TRUE, NULL);
  if (!threads->pool) {
    g_free(threads);
    return NULL;
  }
  g_mutex_init(&threads->lock);
  g_thread_pool_set_sort_function(threads->pool, compare_jobs, NULL);
  return threads;
}

void cj2k_threads_free(Cj2kThreads *threads)
{
  if (!threads)
    return;
  g_thread_pool_free(threads->pool, FALSE, TRUE);
  g_mutex_clear(&threads->lock);
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

static void run_alone(uint32_t n, void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  for (uint32_t i = 0; i < n; i++)
    fn(ctx, i, 0);
}

void cj2k_parallel_for(Cj2kThreads *threads, uint32_t n,
                       void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  uint32_t helpers = MIN(cj2k_threads_count(threads), n) - (n > 0);
  if (helpers == 0 || n > INT32_MAX - MAX_THREADS) {
    run_alone(n, fn, ctx);
    return;
  }
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
