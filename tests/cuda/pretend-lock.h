/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks of the runtime that pretends. A program may not rely on the order in which its threads call
 * CUDA, so ThreadSanitizer must not see it either: else whatever one thread does before such a call
 * would look done for another thread behind a later call. Files that use these locks are not
 * compiled for ThreadSanitizer (tests/meson.build), which sees their copies all the same.
 */
#ifndef TESTS_CUDA_PRETEND_LOCK_H
#define TESTS_CUDA_PRETEND_LOCK_H

#include <glib.h>

/* Of ThreadSanitizer; absent in programs without it. */
void AnnotateIgnoreSyncBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreSyncEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));

/* Memory that is made or freed with the lock held is not looked at either. */
static inline void pretend_lock(GMutex *lock)
{
  if (AnnotateIgnoreSyncBegin) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  g_mutex_lock(lock);
}

static inline void pretend_unlock(GMutex *lock)
{
  g_mutex_unlock(lock);
  if (AnnotateIgnoreSyncEnd) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  }
}

#endif
