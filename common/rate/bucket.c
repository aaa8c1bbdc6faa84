/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket.h"

#include <math.h>

/* Bytes of frames are about proportional to base^-POWER. */
#define POWER 0.9
/* A deviation from half full is made up for in 1/PATIENCE of the window, but in no fewer than
 * MIN_PATIENCE frames. */
#define PATIENCE     4
#define MIN_PATIENCE 16
/* A frame is planned to take at least 1/RANGE and at most RANGE times the average. */
#define RANGE 2.0

void cj2k_bucket_init(Cj2kRateBucket *bucket, const Cj2kRateHistory *history)
{
  *bucket = (Cj2kRateBucket){.history = history};
  g_mutex_init(&bucket->lock);
  g_cond_init(&bucket->changed);
}

void cj2k_bucket_clear(Cj2kRateBucket *bucket)
{
  g_mutex_clear(&bucket->lock);
  g_cond_clear(&bucket->changed);
}

uint64_t cj2k_average_least(uint64_t rate)
{
  return rate - rate / 2;
}

static Cj2kBucketEntry *entry_of(Cj2kRateBucket *bucket, uint64_t number)
{
  return &bucket->entries[number % CJ2K_RATE_MEMORY];
}

static double capacity_of(const Cj2kAverage *average)
{
  return (double)average->rate * average->window;
}

/* What the bucket may hold after a frame: less and less towards the end of a period, at whose last
 * frame it is half full. Frames of half the average, the least ceiling, keep to that. */
static double capacity_after(const Cj2kRateBucket *bucket, uint64_t number,
                             const Cj2kAverage *average)
{
  double half = capacity_of(average) / 2;
  uint64_t period = bucket->history->period;

  if (!period)
    return 2 * half;
  uint64_t in_period = (bucket->history->first_film % period + number - 1) % period;
  double left = (double)(period - 1 - in_period) * (double)average->rate / 2;
  return half + MIN(half, left);
}

/* --- what is known --- */

static double after(double level, uint64_t size, const Cj2kAverage *average)
{
  return MAX(level + (double)size - (double)average->rate, 0);
}

/* Adds a frame that is done to the state. */
static void count(Cj2kRateBucket *bucket, uint64_t number)
{
  const Cj2kBucketEntry *entry = entry_of(bucket, number);
  const Cj2kOutcome *outcome = &entry->outcome;

  bucket->counted = number;
  bucket->level = after(bucket->level, outcome->size, &entry->average);
  if (!outcome->size || !(outcome->base > 0))
    return;
  double own = (double)outcome->demand * pow(outcome->base, POWER);
  uint32_t most = MAX(entry->average.window / 2, 1);
  bucket->num_frames = MIN(bucket->num_frames + 1, most);
  bucket->complexity += (own - bucket->complexity) / bucket->num_frames;
}

/* Begins anew before frame `number`: the bucket is half full, and nothing is known. */
static void restart(Cj2kRateBucket *bucket, uint64_t number)
{
  bucket->counted = number - 1;
  bucket->level = capacity_of(&entry_of(bucket, number)->average) / 2;
  bucket->complexity = 0;
  bucket->num_frames = 0;
}

/* --- plans --- */

/* The base of steps with which frames as those before keep the average, and bring the bucket back
 * to half full. `expected`: its level if the frames under way take what their plans expect. */
static double base_of(const Cj2kRateBucket *bucket, Cj2kBucketEntry *entry, double expected)
{
  const Cj2kAverage *average = &entry->average;
  double rate = (double)average->rate, patience = MAX(average->window / PATIENCE, MIN_PATIENCE);
  double wanted = rate + (capacity_of(average) / 2 - expected) / patience;

  entry->wanted = CLAMP(wanted, rate / RANGE, rate * RANGE);
  if (!(bucket->complexity > 0)) {
    entry->wanted = rate;
    return 0;
  }
  return pow(bucket->complexity / entry->wanted, 1 / POWER);
}

static void plan(Cj2kRateBucket *bucket, uint64_t number)
{
  Cj2kBucketEntry *entry = entry_of(bucket, number);
  const Cj2kAverage *average = &entry->average;
  double rate = (double)average->rate;

  bucket->planned = number;
  if (!average->rate)
    return;
  double most = bucket->level, expected = most;
  for (uint64_t i = bucket->counted + 1; i < number; i++) {
    const Cj2kBucketEntry *under_way = entry_of(bucket, i);
    most = after(most, under_way->plan.ceiling, average);
    expected = MAX(expected + under_way->wanted - rate, 0);
  }
  double room = capacity_after(bucket, number, average) - most;
  /* The frames that follow before this one's size is known share the room. */
  double ceiling = rate + (room > 0 ? room / bucket->history->lag : room);
  uint64_t bytes = ceiling < 0x1p62 ? (uint64_t)MAX(ceiling, 0) : (uint64_t)1 << 62;
  entry->plan.ceiling = MIN(MAX(bytes, cj2k_average_least(average->rate)), average->peak);
  entry->plan.base = base_of(bucket, entry, expected);
  entry->wanted = MIN(entry->wanted, (double)entry->plan.ceiling);
}

/* Plans the next frame. false: frames that it depends on are not done. */
static bool plan_next(Cj2kRateBucket *bucket)
{
  uint64_t number = bucket->planned + 1;
  uint64_t teacher = cj2k_history_teacher(bucket->history, number);

  if (!teacher)
    restart(bucket, number);
  for (uint64_t i = bucket->counted + 1; i <= teacher; i++) {
    if (!entry_of(bucket, i)->done)
      return false;
    count(bucket, i);
  }
  plan(bucket, number);
  return true;
}

void cj2k_bucket_announce(Cj2kRateBucket *bucket, uint64_t number, const Cj2kAverage *average)
{
  g_mutex_lock(&bucket->lock);
  *entry_of(bucket, number) = (Cj2kBucketEntry){.number = number, .average = *average};
  g_mutex_unlock(&bucket->lock);
}

Cj2kPlanned cj2k_bucket_plan(Cj2kRateBucket *bucket, uint64_t number, bool *interrupted)
{
  Cj2kPlanned planned = {0};

  g_mutex_lock(&bucket->lock);
  while (bucket->planned < number && !*interrupted) {
    if (plan_next(bucket))
      continue;
    *interrupted = bucket->starving && bucket->starving < number;
    if (!*interrupted)
      g_cond_wait(&bucket->changed, &bucket->lock);
  }
  if (*interrupted)
    bucket->starving = 0;
  else
    planned = entry_of(bucket, number)->plan;
  g_mutex_unlock(&bucket->lock);
  return planned;
}

void cj2k_bucket_interrupt(Cj2kRateBucket *bucket, uint64_t number)
{
  g_mutex_lock(&bucket->lock);
  bucket->starving = number;
  g_cond_broadcast(&bucket->changed);
  g_mutex_unlock(&bucket->lock);
}

void cj2k_bucket_withdraw(Cj2kRateBucket *bucket, uint64_t number)
{
  g_mutex_lock(&bucket->lock);
  if (bucket->starving == number)
    bucket->starving = 0;
  g_mutex_unlock(&bucket->lock);
}

void cj2k_bucket_record(Cj2kRateBucket *bucket, uint64_t number, const Cj2kOutcome *outcome)
{
  g_mutex_lock(&bucket->lock);
  Cj2kBucketEntry *entry = entry_of(bucket, number);
  if (entry->number == number && !entry->done) {
    entry->outcome = *outcome;
    entry->done = true;
    g_cond_broadcast(&bucket->changed);
  }
  g_mutex_unlock(&bucket->lock);
}

Cj2kBucketState cj2k_bucket_state(Cj2kRateBucket *bucket)
{
  Cj2kBucketState state = {0};

  g_mutex_lock(&bucket->lock);
  double level = bucket->level;
  for (uint64_t i = MAX(bucket->counted, 1); i <= bucket->planned; i++) {
    const Cj2kBucketEntry *entry = entry_of(bucket, i);
    if (!entry->done)
      break;
    if (i > bucket->counted)
      level = after(level, entry->outcome.size, &entry->average);
    state = (Cj2kBucketState){entry->average.rate, (uint64_t)capacity_of(&entry->average),
                              (uint64_t)level};
  }
  g_mutex_unlock(&bucket->lock);
  return state;
}
