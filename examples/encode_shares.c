/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_shares.h"

#include <glib.h>
#include <math.h>

#define LEAST     8  /* part of the average below which no frame falls that could use more */
#define BISECTION 60 /* steps; the range of factors is 2^40 */

typedef struct {
  const EncodeShareRule *rule;
  const uint64_t *demands;
  double *shares;
  bool *fixed; /* the window limits this frame */
  size_t n;
} Sharing;

/* A run of frames, `first` to `last`. */
typedef struct {
  size_t first, last;
} Run;

static double share_at(const Sharing *s, size_t i, double factor)
{
  double demand = (double)s->demands[i], least = MIN(demand, s->rule->average / LEAST);

  return MIN(MAX(demand * factor, least), s->rule->peak);
}

/* Gives `total` bytes to the frames of a run that are not fixed, or as many as they may take. */
static void fill(Sharing *s, Run run, double total)
{
  double low = 0x1p-20, high = 0x1p20;

  for (int step = 0; step < BISECTION; step++) {
    double factor = sqrt(low * high), sum = 0;
    for (size_t i = run.first; i <= run.last; i++)
      sum += s->fixed[i] ? 0 : share_at(s, i, factor);
    *(sum > total ? &high : &low) = factor;
  }
  for (size_t i = run.first; i <= run.last; i++)
    if (!s->fixed[i])
      s->shares[i] = share_at(s, i, low);
}

/* Finds the first run of frames that overflows the bucket, which begins half full and loses the
 * average with each frame, as far as there is as much: up to where it holds most. *room: what the
 * run may take. */
static bool find_overflow(const Sharing *s, Run *run, double *room)
{
  double average = s->rule->average, capacity = average * s->rule->window;
  double level = capacity / 2, begin = level, most = capacity * (1 + 1e-9);
  bool found = false;

  run->first = 0;
  for (size_t i = 0; i < s->n; i++) {
    level += s->shares[i] - average;
    if (level <= 0) {
      if (found)
        return true;
      level = begin = 0;
      run->first = i + 1;
    } else if (level > most) {
      found = true;
      most = level;
      run->last = i;
      *room = capacity - begin + average * (double)(i - run->first + 1);
    }
  }
  return found;
}

static double sum_of_fixed(const Sharing *s, Run run)
{
  double sum = 0;

  for (size_t i = run.first; i <= run.last; i++)
    sum += s->fixed[i] ? s->shares[i] : 0;
  return sum;
}

/* Takes from a run what is too much. A run whose frames are all fixed is scaled down. */
static void limit(Sharing *s, Run run, double room)
{
  double fixed = sum_of_fixed(s, run), sum = 0;

  fill(s, run, MAX(room - fixed, 0));
  for (size_t i = run.first; i <= run.last; i++)
    sum += s->shares[i];
  for (size_t i = run.first; i <= run.last; i++) {
    if (sum > room)
      s->shares[i] *= room / sum;
    s->fixed[i] = true;
  }
}

void encode_shares(const EncodeShareRule *rule, const uint64_t *demands, size_t n, uint64_t *shares)
{
  Sharing s = {rule, demands, g_new0(double, n + 1), g_new0(bool, n + 1), n};
  Run all = {0, n ? n - 1 : 0}, run;
  double room;

  if (n)
    fill(&s, all, rule->average * (double)n);
  while (n && find_overflow(&s, &run, &room)) {
    limit(&s, run, room);
    fill(&s, all, MAX(rule->average * (double)n - sum_of_fixed(&s, all), 0));
  }
  for (size_t i = 0; i < n; i++)
    shares[i] = (uint64_t)s.shares[i];
  g_free(s.shares);
  g_free(s.fixed);
}
