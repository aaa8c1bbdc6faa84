/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history.h"

#include <math.h>

#define MOST_DRIFT                                                                                 \
  0.05 /* what is further off is a change of scene, and says nothing of the next                   \
        */

void cj2k_history_init(Cj2kRateHistory *history, uint32_t lag)
{
  *history = (Cj2kRateHistory){.lag = lag};
  g_mutex_init(&history->lock);
  g_cond_init(&history->recorded);
}

void cj2k_history_clear(Cj2kRateHistory *history)
{
  g_mutex_clear(&history->lock);
  g_cond_clear(&history->recorded);
}

uint64_t cj2k_history_teacher(const Cj2kRateHistory *history, uint64_t number)
{
  uint64_t before = number - 1; /* frames since the last one that began anew */

  if (history->period)
    before = MIN(before, (history->first_film % history->period + before) % history->period);
  return before ? number - MIN(before, history->lag) : 0;
}

bool cj2k_history_recall(Cj2kRateHistory *history, uint64_t number, Cj2kRateMemory *memory,
                         bool *interrupted)
{
  uint64_t teacher = cj2k_history_teacher(history, number);
  uint32_t place = teacher % CJ2K_RATE_MEMORY;
  bool known = false;

  if (!teacher)
    return false;
  g_mutex_lock(&history->lock);
  while (!(known = history->numbers[place] == teacher) &&
         !(interrupted && history->starving && history->starving < number))
    g_cond_wait(&history->recorded, &history->lock);
  if (known) {
    *memory = history->entries[place];
  } else {
    history->starving = 0;
    *interrupted = true;
  }
  g_mutex_unlock(&history->lock);
  return known && memory->base > 0;
}

void cj2k_history_interrupt(Cj2kRateHistory *history, uint64_t number)
{
  g_mutex_lock(&history->lock);
  history->starving = number;
  g_cond_broadcast(&history->recorded);
  g_mutex_unlock(&history->lock);
}

void cj2k_history_withdraw(Cj2kRateHistory *history, uint64_t number)
{
  g_mutex_lock(&history->lock);
  if (history->starving == number)
    history->starving = 0;
  g_mutex_unlock(&history->lock);
}

void cj2k_history_record(Cj2kRateHistory *history, uint64_t number, const Cj2kRateMemory *memory)
{
  uint32_t place = number % CJ2K_RATE_MEMORY;

  g_mutex_lock(&history->lock);
  if (history->numbers[place] < number) {
    history->numbers[place] = number;
    history->entries[place] = *memory;
    g_cond_broadcast(&history->recorded);
  }
  g_mutex_unlock(&history->lock);
}

double cj2k_history_drift(double drift, double ratio)
{
  double error = ratio > 0 ? log(ratio) : -1;

  return fabs(error) < MOST_DRIFT ? CLAMP(drift + error / 2, -MOST_DRIFT, MOST_DRIFT) : 0;
}
