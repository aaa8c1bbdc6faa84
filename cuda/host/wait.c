/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wait.h"

#include "common/runtime/spin.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* Sleep between two looks at an event, in microseconds: in a process that is crowded, and else. */
#define CROWDED_US 50
#define LOOK_US    25
#define SLACK_NS   1000 /* by which such a sleep may be longer, in nanoseconds */
#define BRIEF_US   200  /* time for which a thread spins, in microseconds */
#define ROUND      32   /* waits after which the least time is found anew */
/* Longest sleep, in microseconds: before the first look, because frames that took longer may have
 * been in a jam, and between looks, because some frames take long. */
#define MOST_US 1000
/* Of the time since the first look: the next sleep in a crowded process. */
#define JAM_PART 8

/* Sets by how many nanoseconds the kernel may prolong the sleeps of this thread, so that it wakes
 * several threads at once; 0: the thread's own value of before. Returns what it was, 0: unknown. */
static unsigned long set_slack(unsigned long nanoseconds)
{
#ifdef __linux__
  int before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
  return before > 0 ? (unsigned long)before : 0;
#else
  return nanoseconds;
#endif
}

/* Three quarters of the least time that the last waits took. Only a crowded process makes use of
 * it: with a few streams a core that sleeps for longer wakes up later than what is saved is worth.
 */
static uint32_t first_sleep(const Cj2kCudaPatience *patience)
{
  if (!patience || !cj2k_spin_crowded())
    return 0;
  return MIN(MIN(patience->least[0], patience->least[1]) / 4 * 3, MOST_US);
}

static void learn(Cj2kCudaPatience *patience, uint32_t us)
{
  if (!patience)
    return;
  patience->least[0] = MIN(patience->least[0], us);
  if (++patience->waits < ROUND)
    return;
  *patience = (Cj2kCudaPatience){.least = {UINT32_MAX, patience->least[0]}};
}

static cudaError_t sleep_and_look(cudaEvent_t event, uint32_t us)
{
  (void)cudaGetLastError(); /* else the next launch would report "not ready" as its error */
  g_usleep(us);
  return cudaEventQuery(event);
}

/* Looks again from time to time after the first look; in a crowded process less often if that has
 * lasted for long. In a jam frames of a hundred streams take many milliseconds each, and to look
 * for all of them every 50 microseconds took most of the processor time. */
static cudaError_t look_again(cudaEvent_t event)
{
  cudaError_t result = cudaErrorNotReady;
  gint64 first_look = g_get_monotonic_time();

  while (result == cudaErrorNotReady) {
    uint32_t us = LOOK_US;
    if (cj2k_spin_crowded())
      us = (uint32_t)CLAMP((g_get_monotonic_time() - first_look) / JAM_PART, CROWDED_US, MOST_US);
    result = sleep_and_look(event, us);
  }
  return result;
}

/* Looks at the event from time to time. Sleeps are as short as they are asked for: usually Linux
 * takes up to 50 microseconds more, as long again as the sleep itself. */
static cudaError_t look_until_done(cudaEvent_t event, Cj2kCudaPatience *patience)
{
  gint64 begin = g_get_monotonic_time();
  uint32_t us = cj2k_spin_crowded() ? CROWDED_US : LOOK_US, first = first_sleep(patience);
  unsigned long before = set_slack(SLACK_NS);
  cudaError_t result = sleep_and_look(event, MAX(first, us));
  bool in_time = result == cudaErrorNotReady;

  if (in_time)
    result = look_again(event);
  set_slack(before);
  /* If it was done at the first look, nobody knows for how long: from now on the first sleep is
   * less than half as long. */
  learn(patience, in_time ? (uint32_t)(g_get_monotonic_time() - begin) : first / 2);
  return result;
}

cudaError_t cj2k_cuda_wait(const Cj2kCudaDevice *device, cudaEvent_t event, bool at_once,
                           Cj2kCudaPatience *patience)
{
  if (!at_once || !cj2k_cuda_is_quiet(device))
    return cudaEventSynchronize(event);
  cudaError_t result = cudaEventQuery(event);
  if (result == cudaErrorNotReady)
    return look_until_done(event, patience);
  learn(patience, 0);
  return result;
}

cudaError_t cj2k_cuda_wait_briefly(const Cj2kCudaDevice *device, cudaEvent_t event)
{
  gint64 end = g_get_monotonic_time() + BRIEF_US;
  cudaError_t result = cudaErrorNotReady;

  while (result == cudaErrorNotReady && !cj2k_spin_crowded() && g_get_monotonic_time() < end) {
    result = cudaEventQuery(event);
    if (result == cudaErrorNotReady)
      (void)cudaGetLastError(); /* as above */
  }
  return result == cudaErrorNotReady ? cj2k_cuda_wait(device, event, true, NULL) : result;
}
