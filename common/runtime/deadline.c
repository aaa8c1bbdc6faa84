/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deadline.h"

#include <glib.h>

#define STEPS 256 /* work between two looks at the clock */

static _Thread_local struct {
  gint64 until; /* monotonic, microseconds; 0: no limit */
  gint64 now;   /* the last look at the clock */
  uint32_t milliseconds, steps;
  bool passed;
} deadline;

void cj2k_deadline_begin(uint32_t milliseconds)
{
  deadline.now = milliseconds ? g_get_monotonic_time() : 0;
  deadline.until = milliseconds ? deadline.now + (gint64)milliseconds * 1000 : 0;
  deadline.milliseconds = milliseconds;
  deadline.steps = 0;
  deadline.passed = false;
}

void cj2k_deadline_end(void)
{
  cj2k_deadline_begin(0);
}

/* Looks at the clock. Where it has jumped back, time counts on from there. */
static bool is_over(void)
{
  gint64 now = g_get_monotonic_time();
  if (now < deadline.now)
    deadline.until -= deadline.now - now;
  deadline.now = now;
  return now > deadline.until;
}

Cj2kStatus cj2k_deadline_check(uint32_t work, Cj2kError *error)
{
  if (!deadline.until)
    return CJ2K_OK;
  deadline.steps += work;
  if (deadline.steps >= STEPS) {
    deadline.steps = 0;
    deadline.passed |= is_over();
  }
  if (!deadline.passed)
    return CJ2K_OK;
  return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                        "the headers of the frame need more than the %u ms that max-time allows",
                        deadline.milliseconds);
}
