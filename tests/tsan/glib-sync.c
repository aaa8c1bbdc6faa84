/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shows ThreadSanitizer what GLib and GStreamer synchronise. It is preloaded into programs that are
 * built with -Db_sanitize=thread (tests/tsan/run.sh). ThreadSanitizer knows the functions of
 * pthread and the atomic operations of code that it compiled; distributions' GLib has locks of its
 * own (futex) and is not compiled with it, so that whatever these locks guard would look like a
 * race.
 *
 *   GMutex, GCond              replaced by pthread's
 *   GThreadPool, GAsyncQueue   replaced by ones that are made of these
 *   g_once_init                what happens before leave happens before enter returns
 *   reference counts           what happens before an unref happens before the object is freed
 *
 * Only these orders are declared, all of which GLib guarantees. No function, file or library is
 * left out of the check.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

/* Absent in programs without ThreadSanitizer, such as a shell that starts the test. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static void acquire(const void *address)
{
  if (__tsan_acquire && address)
    __tsan_acquire((void *)address);
}

static void release(const void *address)
{
  if (__tsan_release && address)
    __tsan_release((void *)address);
}

/* ---------------------------------------------------------------------- locks --- */

static pthread_mutex_t *mutex_of(GMutex *mutex)
{
  pthread_mutex_t *own = __atomic_load_n((pthread_mutex_t **)&mutex->p, __ATOMIC_ACQUIRE);
  if (own)
    return own;
  pthread_mutex_t *fresh = malloc(sizeof *fresh);
  pthread_mutex_init(fresh, NULL);
  if (__atomic_compare_exchange_n((pthread_mutex_t **)&mutex->p, &own, fresh, FALSE,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  pthread_mutex_destroy(fresh);
  free(fresh);
  return own;
}

void g_mutex_init(GMutex *mutex)
{
  mutex->p = NULL;
}

void g_mutex_clear(GMutex *mutex)
{
  if (!mutex->p)
    return;
  pthread_mutex_destroy(mutex->p);
  free(mutex->p);
  mutex->p = NULL;
}

void g_mutex_lock(GMutex *mutex)
{
  if (pthread_mutex_lock(mutex_of(mutex)))
    abort();
}

gboolean g_mutex_trylock(GMutex *mutex)
{
  return pthread_mutex_trylock(mutex_of(mutex)) == 0;
}

void g_mutex_unlock(GMutex *mutex)
{
  if (pthread_mutex_unlock(mutex_of(mutex)))
    abort();
}

static pthread_cond_t *cond_of(GCond *cond)
{
  pthread_cond_t *own = __atomic_load_n((pthread_cond_t **)&cond->p, __ATOMIC_ACQUIRE);
  if (own)
    return own;
  pthread_cond_t *fresh = malloc(sizeof *fresh);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(fresh, &attributes);
  pthread_condattr_destroy(&attributes);
  if (__atomic_compare_exchange_n((pthread_cond_t **)&cond->p, &own, fresh, FALSE, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return fresh;
  pthread_cond_destroy(fresh);
  free(fresh);
  return own;
}

void g_cond_init(GCond *cond)
{
  cond->p = NULL;
}

void g_cond_clear(GCond *cond)
{
  if (!cond->p)
    return;
  pthread_cond_destroy(cond->p);
  free(cond->p);
  cond->p = NULL;
}

void g_cond_wait(GCond *cond, GMutex *mutex)
{
  pthread_cond_wait(cond_of(cond), mutex_of(mutex));
}

gboolean g_cond_wait_until(GCond *cond, GMutex *mutex, gint64 end_time)
{
  struct timespec until = {.tv_sec = end_time / G_USEC_PER_SEC,
                           .tv_nsec = end_time % G_USEC_PER_SEC * 1000};
  return pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), &until) != ETIMEDOUT;
}

void g_cond_signal(GCond *cond)
{
  pthread_cond_signal(cond_of(cond));
}

void g_cond_broadcast(GCond *cond)
{
  pthread_cond_broadcast(cond_of(cond));
}

/* ---------------------------------------------------------------------- thread pools --- */

/* Replaced as a whole, because GLib's frees its own memory in another thread than it took it. */
typedef struct {
  GThreadPool base;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  GQueue jobs;
  GCompareDataFunc compare;
  gpointer compare_user;
  guint idle;
  gint max, busy; /* threads that may have a job, -1: any number; that have one */
  gboolean closing;
  GPtrArray *threads;
} Pool;

static gboolean may_take(Pool *pool)
{
  return !g_queue_is_empty(&pool->jobs) && (pool->max < 0 || pool->busy < pool->max);
}

static gpointer work(gpointer data)
{
  Pool *pool = data;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    pool->idle++;
    while (!may_take(pool) && !(pool->closing && g_queue_is_empty(&pool->jobs)))
      pthread_cond_wait(&pool->wake, &pool->lock);
    pool->idle--;
    if (!may_take(pool))
      break;
    gpointer job = g_queue_pop_head(&pool->jobs);
    pool->busy++;
    pthread_mutex_unlock(&pool->lock);
    pool->base.func(job, pool->base.user_data);
    pthread_mutex_lock(&pool->lock);
    pool->busy--;
    pthread_cond_broadcast(&pool->wake);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

GThreadPool *g_thread_pool_new(GFunc func, gpointer user_data, gint max_threads, gboolean exclusive,
                               GError **error)
{
  Pool *pool = g_new0(Pool, 1);
  (void)error;
  pool->base = (GThreadPool){func, user_data, exclusive};
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wake, NULL);
  g_queue_init(&pool->jobs);
  pool->max = max_threads;
  pool->threads = g_ptr_array_new();
  return &pool->base;
}

gboolean g_thread_pool_set_max_threads(GThreadPool *thread_pool, gint max_threads, GError **error)
{
  Pool *pool = (Pool *)thread_pool;
  (void)error;
  pthread_mutex_lock(&pool->lock);
  pool->max = max_threads;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  return TRUE;
}

/* As many as there may be: threads are started when jobs come. */
guint g_thread_pool_get_num_threads(GThreadPool *thread_pool)
{
  Pool *pool = (Pool *)thread_pool;
  pthread_mutex_lock(&pool->lock);
  gint max = pool->max;
  pthread_mutex_unlock(&pool->lock);
  return (guint)max;
}

void g_thread_pool_set_sort_function(GThreadPool *thread_pool, GCompareDataFunc func,
                                     gpointer user_data)
{
  Pool *pool = (Pool *)thread_pool;
  pthread_mutex_lock(&pool->lock);
  pool->compare = func;
  pool->compare_user = user_data;
  pthread_mutex_unlock(&pool->lock);
}

gboolean g_thread_pool_push(GThreadPool *thread_pool, gpointer data, GError **error)
{
  Pool *pool = (Pool *)thread_pool;
  (void)error;
  pthread_mutex_lock(&pool->lock);
  if (pool->compare)
    g_queue_insert_sorted(&pool->jobs, data, pool->compare, pool->compare_user);
  else
    g_queue_push_tail(&pool->jobs, data);
  if (pool->idle < g_queue_get_length(&pool->jobs) &&
      (pool->max < 0 || pool->threads->len < (guint)pool->max))
    g_ptr_array_add(pool->threads, g_thread_new("pool", work, pool));
  pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  return TRUE;
}

void g_thread_pool_free(GThreadPool *thread_pool, gboolean immediate, gboolean wait)
{
  Pool *pool = (Pool *)thread_pool;
  pthread_mutex_lock(&pool->lock);
  if (immediate)
    g_queue_clear(&pool->jobs);
  pool->closing = TRUE;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
  if (!wait)
    return; /* its memory is left */
  for (guint i = 0; i < pool->threads->len; i++)
    g_thread_join(pool->threads->pdata[i]);
  g_ptr_array_unref(pool->threads);
  pthread_mutex_destroy(&pool->lock);
  pthread_cond_destroy(&pool->wake);
  g_free(pool);
}

/* ---------------------------------------------------------------------- queues --- */

/* Replaced for the same reason. GAsyncQueue is opaque; these are all functions of it that GStreamer
 * and the tests call. */
typedef struct {
  GMutex mutex;
  GCond wake;
  GQueue items;
  GDestroyNotify destroy;
  gint refs;
} Queue;

GAsyncQueue *g_async_queue_new_full(GDestroyNotify item_free_func)
{
  Queue *queue = g_new0(Queue, 1);
  g_queue_init(&queue->items);
  queue->destroy = item_free_func;
  queue->refs = 1;
  return (GAsyncQueue *)queue;
}

GAsyncQueue *g_async_queue_new(void)
{
  return g_async_queue_new_full(NULL);
}

GAsyncQueue *g_async_queue_ref(GAsyncQueue *queue)
{
  __atomic_add_fetch(&((Queue *)queue)->refs, 1, __ATOMIC_SEQ_CST);
  return queue;
}

void g_async_queue_unref(GAsyncQueue *data)
{
  Queue *queue = (Queue *)data;
  if (__atomic_sub_fetch(&queue->refs, 1, __ATOMIC_SEQ_CST))
    return;
  while (!g_queue_is_empty(&queue->items)) {
    gpointer item = g_queue_pop_head(&queue->items);
    if (queue->destroy)
      queue->destroy(item);
  }
  g_mutex_clear(&queue->mutex);
  g_cond_clear(&queue->wake);
  g_free(queue);
}

void g_async_queue_push(GAsyncQueue *data, gpointer item)
{
  Queue *queue = (Queue *)data;
  g_mutex_lock(&queue->mutex);
  g_queue_push_tail(&queue->items, item);
  g_cond_signal(&queue->wake);
  g_mutex_unlock(&queue->mutex);
}

/* `until`: 0 does not wait, -1 waits without end. */
static gpointer pop(GAsyncQueue *data, gint64 until)
{
  Queue *queue = (Queue *)data;
  gboolean wait = until != 0;
  g_mutex_lock(&queue->mutex);
  while (g_queue_is_empty(&queue->items) && wait) {
    if (until < 0)
      g_cond_wait(&queue->wake, &queue->mutex);
    else
      wait = g_cond_wait_until(&queue->wake, &queue->mutex, until);
  }
  gpointer item = g_queue_pop_head(&queue->items);
  g_mutex_unlock(&queue->mutex);
  return item;
}

gpointer g_async_queue_pop(GAsyncQueue *queue)
{
  return pop(queue, -1);
}

gpointer g_async_queue_try_pop(GAsyncQueue *queue)
{
  return pop(queue, 0);
}

gpointer g_async_queue_timeout_pop(GAsyncQueue *queue, guint64 timeout)
{
  return pop(queue, g_get_monotonic_time() + (gint64)timeout);
}

gint g_async_queue_length(GAsyncQueue *data)
{
  Queue *queue = (Queue *)data;
  g_mutex_lock(&queue->mutex);
  gint length = (gint)g_queue_get_length(&queue->items);
  g_mutex_unlock(&queue->mutex);
  return length;
}

void g_async_queue_lock(GAsyncQueue *queue)
{
  g_mutex_lock(&((Queue *)queue)->mutex);
}

void g_async_queue_unlock(GAsyncQueue *queue)
{
  g_mutex_unlock(&((Queue *)queue)->mutex);
}

gpointer g_async_queue_try_pop_unlocked(GAsyncQueue *queue)
{
  return g_queue_pop_head(&((Queue *)queue)->items);
}

/* ---------------------------------------------------------------------- once --- */

/* GLib's own function of this name; *known keeps it. Several threads may look for it at once. */
static gpointer original(gpointer *known, const char *name)
{
  gpointer function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
  if (!function) {
    function = dlsym(RTLD_NEXT, name);
    __atomic_store_n(known, function, __ATOMIC_RELEASE);
  }
  return function;
}

gboolean(g_once_init_enter)(volatile void *location)
{
  static gpointer known;
  gboolean (*enter)(volatile void *) =
      (gboolean(*)(volatile void *))original(&known, "g_once_init_enter");
  gboolean first = enter(location);
  acquire((void *)location);
  return first;
}

void(g_once_init_leave)(volatile void *location, gsize result)
{
  static gpointer known;
  void (*leave)(volatile void *, gsize) =
      (void (*)(volatile void *, gsize))original(&known, "g_once_init_leave");
  release((void *)location);
  leave(location, result);
}

/* ---------------------------------------------------------------------- reference counts --- */

/* Of GLib, GObject and GStreamer; their headers are not needed for these. */
#define UNREF(name)                                                                                \
  void name(gpointer object);                                                                      \
  void name(gpointer object)                                                                       \
  {                                                                                                \
    static gpointer known;                                                                         \
    void (*unref)(gpointer) = (void (*)(gpointer))original(&known, #name);                         \
    release(object);                                                                               \
    acquire(object);                                                                               \
    unref(object);                                                                                 \
  }
UNREF(g_object_unref)
UNREF(gst_mini_object_unref)
UNREF(gst_object_unref)
