/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "workers.h"

#include <unistd.h>

/* A worker that is not needed ends after this time. Shorter than people notice, longer than the
 * pauses of a stream: starting a thread takes some ten microseconds. */
#define IDLE_US   (3 * G_USEC_PER_SEC)
#define MAX_WOKEN 256 /* workers that are woken when the lock has been released */

/* A thread. What was allocated for one that has ended is used for the next one, and is there until
 * all workers end: who has called a worker signals `wake` without the lock. */
typedef struct Worker {
  Cj2kWorkers *workers;
  GThread *thread; /* NULL: none */
  GCond wake;
  Cj2kShare *share;    /* for which it was called, or works; NULL: it is idle */
  bool helps;          /* it is one of the helpers */
  struct Worker *next; /* in the list that it is in, of the three below */
} Worker;

/* The lock guards all but cores, process and users. */
struct Cj2kWorkers {
  GMutex lock;
  uint32_t cores;
  pid_t process;
  uint32_t users;   /* open shares; guarded by the process's lock */
  uint32_t count;   /* threads */
  uint32_t helpers; /* workers that help with a loop, or were called to */
  bool closing;
  Worker *idle;   /* the one that was busy last comes first: its memory is still in caches, and the
                     others can end */
  Worker *called; /* still to be signalled, when the lock is released */
  Worker *spare;  /* without a thread */
  GPtrArray *all; /* every Worker */
  GQueue waiting; /* shares with work for which no worker could be called, the next one first */
  GThread *ended; /* the last thread that has ended by itself, to be joined */
};

static struct {
  GMutex lock;
  Cj2kWorkers *workers; /* NULL: no share is open */
} process;

/* --- threads --- */

static gpointer run(gpointer data);

/* NULL: the system refuses. */
static Worker *start(Cj2kWorkers *workers)
{
  Worker *worker = workers->spare;

  if (!worker) {
    worker = g_new0(Worker, 1);
    worker->workers = workers;
    g_cond_init(&worker->wake);
    g_ptr_array_add(workers->all, worker);
  } else {
    workers->spare = worker->next;
  }
  worker->thread = g_thread_try_new("cj2k", run, worker, NULL);
  if (worker->thread) {
    workers->count++;
    return worker;
  }
  worker->next = workers->spare;
  workers->spare = worker;
  return NULL;
}

/* The end of a worker that is not needed. Releases the lock. Each joins the one that has ended
 * before it, so that no more than one is left. */
static void leave(Worker *worker)
{
  Cj2kWorkers *workers = worker->workers;
  GThread *before = workers->ended;

  workers->ended = worker->thread;
  worker->thread = NULL;
  worker->next = workers->spare;
  workers->spare = worker;
  workers->count--;
  g_mutex_unlock(&workers->lock);
  if (before)
    g_thread_join(before);
}

static Cj2kWorkers *workers_new(void)
{
  Cj2kWorkers *workers = g_new0(Cj2kWorkers, 1);

  workers->cores = g_get_num_processors();
  workers->process = getpid();
  workers->all = g_ptr_array_new();
  g_mutex_init(&workers->lock);
  return workers;
}

/* Ends all workers, none of which has work. */
static void workers_free(Cj2kWorkers *workers)
{
  g_mutex_lock(&workers->lock);
  workers->closing = true;
  for (guint i = 0; i < workers->all->len; i++)
    g_cond_signal(&((Worker *)workers->all->pdata[i])->wake);
  g_mutex_unlock(&workers->lock);
  for (guint i = 0; i < workers->all->len; i++) {
    Worker *worker = workers->all->pdata[i];
    if (worker->thread)
      g_thread_join(worker->thread);
    g_cond_clear(&worker->wake);
    g_free(worker);
  }
  if (workers->ended)
    g_thread_join(workers->ended);
  g_ptr_array_unref(workers->all);
  g_mutex_clear(&workers->lock);
  g_free(workers);
}

/* --- which share a worker works for --- */

/* Is there work for which no worker is on its way, and may the share have one more? */
static bool lacks_worker(const Cj2kShare *share)
{
  return share->running < share->most && share->jobs + share->offers > share->coming;
}

static bool may_help(const Cj2kShare *share)
{
  return share->offers && share->workers->helpers < MAX(share->workers->cores, share->count);
}

/* May a worker be called for what the share lacks? It is called as a helper if those on their way
 * are enough for the jobs. */
static bool may_call(const Cj2kShare *share)
{
  return lacks_worker(share) && (share->jobs > share->coming || may_help(share));
}

static void call(Cj2kShare *share, Worker *worker)
{
  worker->share = share;
  worker->helps = share->jobs <= share->coming;
  share->workers->helpers += worker->helps;
  share->running++;
  share->coming++;
}

/* Brings the share into the list of those that wait, or out of it. One that goes on waiting keeps
 * its place. */
static void note_waiting(Cj2kShare *share)
{
  GQueue *waiting = &share->workers->waiting;
  bool waits = lacks_worker(share);

  if (waits == share->waits)
    return;
  share->waits = waits;
  if (waits)
    g_queue_push_tail_link(waiting, &share->link);
  else
    g_queue_unlink(waiting, &share->link);
}

/* Calls idle workers and new ones, as many as the share lacks. */
static void call_workers(Cj2kShare *share)
{
  Cj2kWorkers *workers = share->workers;

  while (may_call(share)) {
    Worker *worker = workers->idle;
    if (worker) {
      workers->idle = worker->next;
      worker->next = workers->called;
      workers->called = worker;
    } else if (!(worker = start(workers))) {
      break;
    }
    call(share, worker);
  }
  note_waiting(share);
}

static Worker *next_called(Cj2kWorkers *workers)
{
  Worker *worker = workers->called;

  if (worker)
    workers->called = worker->next;
  return worker;
}

/* Wakes those that were called, with the lock held. */
static void wake_called(Cj2kWorkers *workers)
{
  for (Worker *worker; (worker = next_called(workers));)
    g_cond_signal(&worker->wake);
}

/* Wakes them when the lock is out of their way; if they are many, the last ones. Without the lock
 * the list could change: a worker may wake by itself and be called again. */
static void unlock(Cj2kWorkers *workers)
{
  Worker *last[MAX_WOKEN];
  guint count = 0;

  while (count < MAX_WOKEN && (last[count] = next_called(workers)))
    count++;
  wake_called(workers);
  g_mutex_unlock(&workers->lock);
  for (guint i = 0; i < count; i++)
    g_cond_signal(&last[i]->wake);
}

/* Lets a worker that is free work for the share that is next, which then is the last. */
static bool serve_waiting(Worker *worker)
{
  for (GList *link = worker->workers->waiting.head; link; link = link->next) {
    Cj2kShare *share = link->data;
    if (!may_call(share))
      continue;
    call(share, worker);
    g_queue_unlink(&worker->workers->waiting, link);
    share->waits = false;
    note_waiting(share);
    return true;
  }
  return false;
}

/* --- a worker --- */

static void become_idle(Worker *worker)
{
  worker->next = worker->workers->idle;
  worker->workers->idle = worker;
}

static void remove_idle(Worker *worker)
{
  Worker **place = &worker->workers->idle;

  while (*place != worker)
    place = &(*place)->next;
  *place = worker->next;
}

/* Waits as one of the idle ones. false: the worker has to end. A thread for each core stays. */
static bool wait_for_call(Worker *worker)
{
  Cj2kWorkers *workers = worker->workers;
  gint64 until = g_get_monotonic_time() + IDLE_US;

  wake_called(workers);
  while (!worker->share && !workers->closing) {
    if (workers->count <= workers->cores) {
      g_cond_wait(&worker->wake, &workers->lock);
    } else if (!g_cond_wait_until(&worker->wake, &workers->lock, until) && !worker->share &&
               !workers->closing && workers->count > workers->cores) {
      remove_idle(worker);
      return false;
    }
  }
  return worker->share != NULL;
}

/* Takes work of the share that the worker was called for. false: others have done it. */
static bool arrive(Worker *worker, Cj2kWork *work)
{
  Cj2kShare *share = worker->share;

  share->coming--;
  share->workers->helpers -= worker->helps;
  worker->helps = false;
  bool help = may_help(share);
  if (!help && !share->jobs)
    return false;
  share->take(share->owner, help, work);
  worker->helps = work->helps;
  share->workers->helpers += worker->helps;
  call_workers(share);
  return true;
}

static void depart(Worker *worker)
{
  Cj2kShare *share = worker->share;

  share->running--;
  share->workers->helpers -= worker->helps;
  worker->helps = false;
  worker->share = NULL;
  note_waiting(share);
  if (share->closing)
    g_cond_signal(&share->done);
}

static gpointer run(gpointer data)
{
  Worker *worker = data;
  Cj2kWorkers *workers = worker->workers;
  Cj2kWork work;

  g_mutex_lock(&workers->lock);
  while (worker->share || wait_for_call(worker)) {
    Cj2kShare *share = worker->share;
    if (arrive(worker, &work)) {
      unlock(workers);
      work.run(&work);
      g_mutex_lock(&workers->lock);
      if (work.end)
        work.end(&work);
    }
    depart(worker);
    if (!serve_waiting(worker))
      become_idle(worker);
    else if (worker->share != share)
      call_workers(share); /* others were first; its jobs must not wait for this worker */
  }
  if (workers->closing)
    g_mutex_unlock(&workers->lock);
  else
    leave(worker);
  return NULL;
}

/* --- shares --- */

/* The workers of this process, with at least one thread; NULL: the system refuses. A child that was
 * forked has none of its parent's threads and begins anew. Called with the process's lock held. */
static Cj2kWorkers *join_workers(void)
{
  Cj2kWorkers *workers = process.workers;

  if (workers && workers->process == getpid()) {
    workers->users++;
    return workers;
  }
  workers = workers_new();
  g_mutex_lock(&workers->lock);
  Worker *first = start(workers);
  if (first)
    become_idle(first);
  g_mutex_unlock(&workers->lock);
  if (!first) {
    workers_free(workers);
    return NULL;
  }
  workers->users = 1;
  process.workers = workers;
  return workers;
}

bool cj2k_share_open(Cj2kShare *share)
{
  g_mutex_lock(&process.lock);
  share->workers = join_workers();
  g_mutex_unlock(&process.lock);
  share->link.data = share;
  g_cond_init(&share->done);
  return share->workers != NULL;
}

void cj2k_share_close(Cj2kShare *share)
{
  Cj2kWorkers *workers = share->workers;

  g_mutex_lock(&workers->lock);
  share->closing = true;
  while (share->running || share->jobs || share->offers)
    g_cond_wait(&share->done, &workers->lock);
  g_mutex_unlock(&workers->lock);
  g_cond_clear(&share->done);

  g_mutex_lock(&process.lock);
  bool last = --workers->users == 0;
  if (last && process.workers == workers)
    process.workers = NULL;
  g_mutex_unlock(&process.lock);
  if (last)
    workers_free(workers);
}

void cj2k_share_lock(Cj2kShare *share)
{
  g_mutex_lock(&share->workers->lock);
}

void cj2k_share_unlock(Cj2kShare *share)
{
  call_workers(share);
  unlock(share->workers);
}

void cj2k_share_wait(Cj2kShare *share, GCond *condition)
{
  g_cond_wait(condition, &share->workers->lock);
}
