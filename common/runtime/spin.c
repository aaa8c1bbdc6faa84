/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spin.h"

#include <glib.h>

#define FEW 2 /* codecs that may use most of the cores */

/* Both are counts that publish nothing else, so that any order of memory would do. A thread that
 * reads a count just before it changes spins or sleeps once when it should not. */
static gint codecs;  /* atomic */
static gint helpers; /* atomic: helpers that spin */

static gint cores(void)
{
  static gsize known;
  if (g_once_init_enter(&known))
    g_once_init_leave(&known, g_get_num_processors());
  return (gint)known;
}

/* A quarter of the cores. */
static gint quarter(void)
{
  return MAX(cores() / 4, 1);
}

void cj2k_spin_join(void)
{
  g_atomic_int_inc(&codecs);
}

void cj2k_spin_leave(void)
{
  g_atomic_int_add(&codecs, -1);
}

bool cj2k_spin_crowded(void)
{
  return g_atomic_int_get(&codecs) > MAX(quarter(), FEW);
}

bool cj2k_spin_take(void)
{
  gint limit = g_atomic_int_get(&codecs) <= FEW ? cores() * 3 / 4 : quarter();
  if (cj2k_spin_crowded())
    return false;
  if (g_atomic_int_add(&helpers, 1) < limit)
    return true;
  g_atomic_int_add(&helpers, -1);
  return false;
}

void cj2k_spin_give(void)
{
  g_atomic_int_add(&helpers, -1);
}
