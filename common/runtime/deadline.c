/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deadline.h"

#include <glib.h>

#define STEPS 256 /* work between two looks at the clock */

static _Thread_local struct {
  gint64 until; /* monotonic, microseconds; 0: no limit */
  gint64 now;   /* the last look at the clock */
  uint32_t milliseconds, steps;
  bool passed;
  uint64_t items, most_items;
} deadline = {.most_items = UINT64_MAX};

void cj2k_deadline_begin(uint32_t milliseconds)
{
  deadline.now = milliseconds ? g_get_monotonic_time() : 0;
  deadline.until = milliseconds ? deadline.now + (gint64)milliseconds * 1000 : 0;
  deadline.milliseconds = milliseconds;
  deadline.steps = 0;
  deadline.passed = false;
  deadline.items = 0;
  deadline.most_items = UINT64_MAX;
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

static Cj2kStatus too_many_items(Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                        "the headers announce more precincts and code-blocks than are allowed for "
                        "their bytes unless max-memory is set");
}

Cj2kStatus cj2k_deadline_check(uint32_t work, Cj2kError *error)
{
  if (deadline.items > deadline.most_items)
    return too_many_items(error);
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

void cj2k_deadline_limit_items(uint64_t items)
{
  deadline.most_items = items;
}

uint64_t cj2k_deadline_items(void)
{
  return deadline.items;
}

Cj2kStatus cj2k_deadline_count_items(uint64_t items, Cj2kError *error)
{
  deadline.items += items;
  return deadline.items > deadline.most_items ? too_many_items(error) : CJ2K_OK;
}
