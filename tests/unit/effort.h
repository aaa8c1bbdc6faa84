/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much a test does. CJ2K_TESTS_LONG=1 asks for all of a long one. CJ2K_TESTS_SHORT=1 asks to do
 * less often what repeats the same code with other numbers, on a machine where the same tests run
 * whole as well; so do sanitizers (CJ2K_SANITIZED=1), with which a test takes at least four times
 * as long.
 */
#ifndef TESTS_UNIT_EFFORT_H
#define TESTS_UNIT_EFFORT_H

#include <glib.h>
#include <stdbool.h>

static inline bool test_is_long(void)
{
  return g_strcmp0(g_getenv("CJ2K_TESTS_LONG"), "1") == 0;
}

static inline bool test_is_short(void)
{
  return !test_is_long() && (g_strcmp0(g_getenv("CJ2K_SANITIZED"), "1") == 0 ||
                             g_strcmp0(g_getenv("CJ2K_TESTS_SHORT"), "1") == 0);
}

/* One of three: rounds of a short run, usual ones, and those of a long run. */
static inline double test_effort(double fewest, double usual, double most)
{
  return test_is_long() ? most : test_is_short() ? fewest : usual;
}

#endif
