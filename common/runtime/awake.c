/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "awake.h"

#include "spin.h"

#define MAX_AWAKE 15   /* most threads that spin while they wait for a loop */
#define AWAKE_US  1000 /* longest time that they spin, in microseconds */
#define SPINS     64   /* rounds between two looks at the clock */
#define SLEEP_US  50 /* sleep of a caller that has spun too long for the others, in microseconds */

void cj2k_awake_init(Cj2kAwake *awake)
{
  *awake = (Cj2kAwake){.lanes = 0};
  g_mutex_init(&awake->lock);
}

void cj2k_awake_clear(Cj2kAwake *awake)
{
  g_mutex_clear(&awake->lock);
}

guint cj2k_awake_invite(Cj2kAwake *awake, uint32_t count)
{
  guint invited = 0;

  __atomic_store_n(&awake->until, g_get_monotonic_time() + AWAKE_US, __ATOMIC_RELAXED);
  for (uint32_t lane = 1; lane <= MIN(count, MAX_AWAKE); lane++) {
    if (__atomic_load_n(&awake->lanes, __ATOMIC_SEQ_CST) & 1u << lane)
      continue;
    if (!cj2k_spin_take())
      break;
    if (__atomic_fetch_or(&awake->lanes, 1u << lane, __ATOMIC_SEQ_CST) & 1u << lane)
      cj2k_spin_give(); /* another frame of this codec was faster */
    else
      invited |= 1u << lane;
  }
  return invited;
}

static void give_lane(Cj2kAwake *awake, uint32_t lane)
{
  __atomic_and_fetch(&awake->lanes, ~(1u << lane), __ATOMIC_SEQ_CST);
  cj2k_spin_give();
}

void cj2k_awake_refuse(Cj2kAwake *awake, guint lanes)
{
  for (uint32_t lane = 1; lane <= MAX_AWAKE; lane++)
    if (lanes & 1u << lane)
      give_lane(awake, lane);
}

void cj2k_awake_rest(Cj2kAwake *awake)
{
  __atomic_store_n(&awake->until, 0, __ATOMIC_RELAXED);
}

static inline void pause_a_little(void)
{
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

static void awake_work(Cj2kAwake *awake, uint32_t lane)
{
  uint32_t i;
  while ((i = __atomic_fetch_add(&awake->next, 1, __ATOMIC_RELAXED)) < awake->n)
    awake->fn(awake->ctx, i, lane);
}

/* Whether a time that was set to the next AWAKE_US has not come yet. Where the clock has jumped
 * back it would seem to be farther away: that counts as come, or threads would spin all the while.
 */
static bool is_within(gint64 until)
{
  gint64 left = until - g_get_monotonic_time();
  return left > 0 && left <= AWAKE_US;
}

void cj2k_awake_stay(Cj2kAwake *awake, uint32_t lane)
{
  guint last = 0;

  do {
    for (uint32_t i = 0; i < SPINS; i++) {
      guint turn = __atomic_load_n(&awake->turn, __ATOMIC_SEQ_CST);
      if (turn % 2 == 0 || turn == last) {
        pause_a_little();
        continue;
      }
      /* Either the closing thread sees that this thread is active, or this thread sees that `turn`
       * has changed. */
      __atomic_add_fetch(&awake->active, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&awake->turn, __ATOMIC_SEQ_CST) == turn)
        awake_work(awake, lane);
      __atomic_sub_fetch(&awake->active, 1, __ATOMIC_SEQ_CST);
      last = turn;
    }
  } while (is_within(__atomic_load_n(&awake->until, __ATOMIC_RELAXED)));
  give_lane(awake, lane);
}

/* Waits until all threads have left the loop. That is soon, unless one of them has lost its
 * processor, perhaps to this very thread because its priority is higher; so this thread sleeps
 * after a while. */
static void wait_for_active(Cj2kAwake *awake)
{
  gint64 until = g_get_monotonic_time() + AWAKE_US;

  while (__atomic_load_n(&awake->active, __ATOMIC_SEQ_CST)) {
    for (uint32_t i = 0; i < SPINS && __atomic_load_n(&awake->active, __ATOMIC_SEQ_CST); i++)
      pause_a_little();
    if (!is_within(until))
      g_usleep(SLEEP_US);
  }
}

bool cj2k_awake_for(Cj2kAwake *awake, uint32_t n,
                    void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx)
{
  if (!__atomic_load_n(&awake->lanes, __ATOMIC_SEQ_CST) || !g_mutex_trylock(&awake->lock))
    return false;
  awake->fn = fn;
  awake->ctx = ctx;
  awake->n = n;
  __atomic_store_n(&awake->next, 0, __ATOMIC_RELAXED);
  __atomic_add_fetch(&awake->turn, 1, __ATOMIC_SEQ_CST);
  awake_work(awake, 0);
  __atomic_add_fetch(&awake->turn, 1, __ATOMIC_SEQ_CST);
  wait_for_active(awake);
  g_mutex_unlock(&awake->lock);
  return true;
}
