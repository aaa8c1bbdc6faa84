/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A GThreadPool without threads: a job runs when it is pushed. It takes the place of GLib's in
 * targets that open codecs of one thread by the thousand, because starting a thread under a
 * sanitizer takes longer than coding a small picture.
 */
#include "fuzz.h"

GThreadPool *g_thread_pool_new(GFunc func, gpointer user_data, gint max_threads, gboolean exclusive,
                               GError **error)
{
  GThreadPool *pool = g_new0(GThreadPool, 1);
  (void)max_threads, (void)error;
  *pool = (GThreadPool){func, user_data, exclusive};
  return pool;
}

gboolean g_thread_pool_set_max_threads(GThreadPool *pool, gint max_threads, GError **error)
{
  (void)pool, (void)max_threads, (void)error;
  return TRUE;
}

guint g_thread_pool_get_num_threads(GThreadPool *pool)
{
  (void)pool;
  return 1;
}

void g_thread_pool_set_sort_function(GThreadPool *pool, GCompareDataFunc func, gpointer user_data)
{
  (void)pool, (void)func, (void)user_data; /* there is never more than one job */
}

gboolean g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error)
{
  (void)error;
  pool->func(data, pool->user_data);
  return TRUE;
}

void g_thread_pool_free(GThreadPool *pool, gboolean immediate, gboolean wait_)
{
  (void)immediate, (void)wait_;
  g_free(pool);
}
