/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "threads.h"

#include "awake.h"
#include "spin.h"
#include "workers.h"

#include <glib.h>
#include <stdbool.h>

#define MAX_THREADS 256
/* Beside a GPU: samples of a frame for each lane, lanes if the size is not known, most lanes. */
#define SAMPLES_PER_LANE (1 << 22)
#define UNKNOWN_LANES    2
#define MOST_LANES       4

/* The lock of the share guards jobs, loops and lanes. Each lane and each place of a loop is one of
 * the share's offers. */
struct Cj2kThreads {
  Cj2kShare share;
  gint limit;        /* atomic: lanes of a loop; 0: no limit. A hint: any value that it had is good,
                        and so is any of crowded_only */
  gint crowded_only; /* atomic: the limit holds while the process is crowded */
  GQueue jobs;       /* whole frames, in the order in which they start */
  GQueue loops;      /* loops with places for helpers, the oldest first */
  guint lanes;       /* lanes of `awake`, as bits, for which a thread has to come */
  Cj2kAwake awake;
};

typedef struct {
  GList link;
  void (*fn)(void *ctx);
  void *ctx;
} Job;

/* One parallel for, on the stack of its caller. */
typedef struct {
  void (*fn)(void *ctx, uint32_t index, uint32_t lane);
  void *ctx;
  uint32_t n;
  guint next; /* atomic: first index that nobody has taken. It only divides the work: the lock
                 publishes what helpers read and what they wrote */
  /* Guarded by the lock of the share. */
  GList link;
  uint32_t places; /* helpers that may still join */
  uint32_t lanes;  /* given out */
  uint32_t active; /* helpers at work */
  bool waits;      /* the caller waits for them */
  GCond idle;
} Loop;

/* --- what workers take --- */

static void run_job(const Cj2kWork *work)
{
  Job job = *(Job *)work->object;

  g_free(work->object);
  job.fn(job.ctx);
}

/* `next` cannot wrap around: everyone who works on the loop raises it once more than needed. */
static void loop_work(Loop *loop, uint32_t lane)
{
  uint32_t i;
  while ((i = (uint32_t)g_atomic_int_add((gint *)&loop->next, 1)) < loop->n)
    loop->fn(loop->ctx, i, lane);
}

static void help(const Cj2kWork *work)
{
  loop_work(work->object, work->lane);
}

static void end_help(const Cj2kWork *work)
{
  Loop *loop = work->object;

  if (--loop->active == 0 && loop->waits)
    g_cond_signal(&loop->idle);
}

static void stay_awake(const Cj2kWork *work)
{
  cj2k_awake_stay(work->object, work->lane);
}

static Cj2kWork take_lane(Cj2kThreads *threads)
{
  uint32_t lane = (uint32_t)g_bit_nth_lsf(threads->lanes, -1);

  threads->lanes &= ~(1u << lane);
  return (Cj2kWork){.run = stay_awake, .object = &threads->awake, .lane = lane, .helps = true};
}

static Cj2kWork take_place(Cj2kThreads *threads)
{
  Loop *loop = threads->loops.head->data;

  loop->active++;
  if (--loop->places == 0)
    g_queue_unlink(&threads->loops, &loop->link);
  return (Cj2kWork){
      .run = help, .end = end_help, .object = loop, .lane = loop->lanes++, .helps = true};
}

/* Helpers come before new frames, so that frames that were begun are finished first. */
static void take(void *owner, bool may_help, Cj2kWork *work)
{
  Cj2kThreads *threads = owner;

  if (may_help) {
    threads->share.offers--;
    *work = threads->lanes ? take_lane(threads) : take_place(threads);
    return;
  }
  threads->share.jobs--;
  *work = (Cj2kWork){.run = run_job, .object = g_queue_pop_head_link(&threads->jobs)->data};
}

/* --- a share --- */

Cj2kThreads *cj2k_threads_new(uint32_t num_threads)
{
  Cj2kThreads *threads = g_new0(Cj2kThreads, 1);
  uint32_t count = CLAMP(num_threads ? num_threads : g_get_num_processors(), 1, MAX_THREADS);

  threads->share = (Cj2kShare){.owner = threads, .take = take, .count = count, .most = count};
  if (!cj2k_share_open(&threads->share)) {
    g_free(threads);
    return NULL;
  }
  cj2k_awake_init(&threads->awake);
  return threads;
}

/* Nobody needs to spin any more in lanes for which no thread has come yet. */
static void refuse_lanes(Cj2kThreads *threads)
{
  cj2k_share_lock(&threads->share);
  guint lanes = threads->lanes;
  threads->lanes = 0;
  threads->share.offers -= (uint32_t)__builtin_popcount(lanes);
  cj2k_share_unlock(&threads->share);
  cj2k_awake_refuse(&threads->awake, lanes);
}

void cj2k_threads_free(Cj2kThreads *threads)
{
  if (!threads)
    return;
  refuse_lanes(threads);
  cj2k_share_close(&threads->share);
  cj2k_awake_clear(&threads->awake);
  g_free(threads);
}

uint32_t cj2k_threads_count(const Cj2kThreads *threads)
{
  return threads ? threads->share.count : 1;
}

void cj2k_threads_limit(Cj2kThreads *threads, uint32_t lanes, bool crowded_only)
{
  g_atomic_int_set(&threads->crowded_only, crowded_only);
  g_atomic_int_set(&threads->limit, (gint)lanes);
}

uint32_t cj2k_threads_lanes(const Cj2kThreads *threads)
{
  uint32_t limit = threads ? (uint32_t)g_atomic_int_get(&threads->limit) : 0;
  uint32_t count = cj2k_threads_count(threads);
  bool holds = limit && (!g_atomic_int_get(&threads->crowded_only) || cj2k_spin_crowded());
  return holds ? MIN(limit, count) : count;
}

void cj2k_threads_use(Cj2kThreads *threads, uint32_t most)
{
  Cj2kShare *share = &threads->share;

  cj2k_share_lock(share);
  share->most = MIN(most ? most : share->count, share->count);
  cj2k_share_unlock(share);
}

uint32_t cj2k_threads_beside_gpu(uint32_t frames_in_flight, uint64_t samples)
{
  if (frames_in_flight > 2)
    return 0;
  return samples ? (uint32_t)CLAMP(samples / SAMPLES_PER_LANE, 1, MOST_LANES) : UNKNOWN_LANES;
}

void cj2k_threads_start(Cj2kThreads *threads, void (*fn)(void *ctx), void *ctx)
{
  Job *job = g_new(Job, 1);

  *job = (Job){.link = {.data = job}, .fn = fn, .ctx = ctx};
  cj2k_share_lock(&threads->share);
  g_queue_push_tail_link(&threads->jobs, &job->link);
  threads->share.jobs++;
  cj2k_share_unlock(&threads->share);
}

void cj2k_threads_wake(Cj2kThreads *threads, uint32_t count)
{
  guint lanes = cj2k_awake_invite(&threads->awake, MIN(count, threads->share.count - 1));

  if (!lanes)
    return;
  cj2k_share_lock(&threads->share);
  threads->lanes |= lanes;
  threads->share.offers += (uint32_t)__builtin_popcount(lanes);
  cj2k_share_unlock(&threads->share);
}

bool cj2k_threads_are_awake(const Cj2kThreads *threads)
{
  return threads && __atomic_load_n(&threads->awake.lanes, __ATOMIC_SEQ_CST);
}

void cj2k_threads_rest(Cj2kThreads *threads)
{
  cj2k_awake_rest(&threads->awake);
}

/* --- loops --- */

static void run_alone(uint32_t n, void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  for (uint32_t i = 0; i < n; i++)
    fn(ctx, i, 0);
}

void cj2k_parallel_for_short(Cj2kThreads *threads, uint32_t n,
                             void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  if (cj2k_threads_lanes(threads) < 2 || n < 2 || n > INT32_MAX - MAX_THREADS ||
      !cj2k_awake_for(&threads->awake, n, fn, ctx))
    run_alone(n, fn, ctx);
}

/* Lets helpers join. */
static void open_loop(Cj2kThreads *threads, Loop *loop)
{
  cj2k_share_lock(&threads->share);
  g_queue_push_tail_link(&threads->loops, &loop->link);
  threads->share.offers += loop->places;
  cj2k_share_unlock(&threads->share);
}

/* Waits for helpers that have joined; no more can. */
static void close_loop(Cj2kThreads *threads, Loop *loop)
{
  cj2k_share_lock(&threads->share);
  if (loop->places) {
    threads->share.offers -= loop->places;
    g_queue_unlink(&threads->loops, &loop->link);
  }
  loop->waits = true;
  while (loop->active)
    cj2k_share_wait(&threads->share, &loop->idle);
  cj2k_share_unlock(&threads->share);
}

void cj2k_parallel_for(Cj2kThreads *threads, uint32_t n,
                       void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  uint32_t helpers = MIN(cj2k_threads_lanes(threads), n) - (n > 0);
  if (helpers == 0 || n > INT32_MAX - MAX_THREADS) {
    run_alone(n, fn, ctx);
    return;
  }
  if (cj2k_awake_for(&threads->awake, n, fn, ctx))
    return;
  Loop loop = {.fn = fn, .ctx = ctx, .n = n, .lanes = 1, .places = helpers};
  loop.link.data = &loop;
  g_cond_init(&loop.idle);
  open_loop(threads, &loop);
  loop_work(&loop, 0);
  close_loop(threads, &loop);
  g_cond_clear(&loop.idle);
}
