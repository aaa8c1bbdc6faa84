/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Codecs on a GPU, of which there are none, for tests of what a crowded process does. */
#ifndef TESTS_SUPPORT_CROWD_H
#define TESTS_SUPPORT_CROWD_H

#include "common/runtime/spin.h"

#include <glib.h>

/* Announces as many codecs as it takes for the process to be crowded. Returns their number. */
static inline guint test_crowd(void)
{
  guint codecs = 0;

  while (!cj2k_spin_crowded()) {
    cj2k_spin_join();
    codecs++;
  }
  return codecs;
}

static inline void test_disperse(guint codecs)
{
  while (codecs-- > 0)
    cj2k_spin_leave();
}

#endif
