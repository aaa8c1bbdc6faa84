/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much a test does. CJ2K_TESTS_LONG=1 asks for all of a long one. With sanitizers
 * (CJ2K_SANITIZED=1), with which a test takes at least four times as long, what repeats the same
 * code with other numbers is done less often: the same tests run whole without them.
 */
#ifndef TESTS_UNIT_EFFORT_H
#define TESTS_UNIT_EFFORT_H

#include <glib.h>
#include <stdbool.h>

static inline bool test_is_long(void)
{
  return g_strcmp0(g_getenv("CJ2K_TESTS_LONG"), "1") == 0;
}

static inline bool test_is_sanitized(void)
{
  return g_strcmp0(g_getenv("CJ2K_SANITIZED"), "1") == 0;
}

/* One of three: rounds with the sanitizer, usual ones, and those of a long run. */
static inline double test_effort(double sanitized, double usual, double most)
{
  return test_is_long() ? most : test_is_sanitized() ? sanitized : usual;
}

#endif
