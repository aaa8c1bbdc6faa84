/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock that jumps. A program that includes this file replaces clock_gettime, by which GLib and
 * GStreamer read all clocks, and says what is added to the time. Clocks of this kind are seen where
 * a virtual machine is moved or restored, and with faulty drivers.
 */
#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#ifndef _GNU_SOURCE
#error "RTLD_NEXT needs _GNU_SOURCE, defined before the first include"
#endif
#include <dlfcn.h>
#include <glib.h>
#include <time.h>

#define CLOCK_HOUR 3600 /* seconds */

/* Atomic: seconds that are added to the time. At first a thousand hours, because clocks that count
 * from the start of a machine must stay positive when they are set back (GLib). */
static gint clock_shift = 1000 * CLOCK_HOUR;
static gint clock_restless; /* atomic: each look at the clock jumps up to an hour to or fro */
static guint clock_looks;   /* atomic */

int clock_gettime(clockid_t id, struct timespec *time)
{
  static int (*real)(clockid_t, struct timespec *);
  if (!real)
    real = (__typeof__(real))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, time);
  if (result == 0 && (id == CLOCK_MONOTONIC || id == CLOCK_REALTIME)) {
    time->tv_sec += g_atomic_int_get(&clock_shift);
    if (g_atomic_int_get(&clock_restless)) {
      guint look = (guint)g_atomic_int_add((gint *)&clock_looks, 1);
      time->tv_sec += (gint)(look * 2654435761u >> 8) % CLOCK_HOUR - CLOCK_HOUR / 2;
    }
  }
  return result;
}

static inline void clock_jump(gint seconds)
{
  g_atomic_int_add(&clock_shift, seconds);
}

#endif
