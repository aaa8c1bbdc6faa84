/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spin.h"

#include <glib.h>

#define SHARE 4 /* one in so many cores may spin */

static gint codecs;   /* atomic */
static gint spinning; /* atomic */

static gint limit(void)
{
  static gsize known;
  if (g_once_init_enter(&known))
    g_once_init_leave(&known, MAX(g_get_num_processors() / SHARE, 1));
  return (gint)known;
}

void cj2k_spin_join(void)
{
  g_atomic_int_inc(&codecs);
}

void cj2k_spin_leave(void)
{
  g_atomic_int_add(&codecs, -1);
}

bool cj2k_spin_take(void)
{
  if (g_atomic_int_get(&codecs) > limit())
    return false;
  if (g_atomic_int_add(&spinning, 1) < limit())
    return true;
  g_atomic_int_add(&spinning, -1);
  return false;
}

void cj2k_spin_give(void)
{
  g_atomic_int_add(&spinning, -1);
}
