/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits of the host for a GPU (cuda/host/wait.h), with a clock that goes on only when a thread
 * sleeps, and an event that is done at a time of that clock. A wait must not end late, whatever the
 * waits before it were like, and in a crowded process it must not look more often than it has to.
 */
#include "cuda/host/wait.h"
#include "tests/support/crowd.h"

#include <glib.h>

#define LOOK_US    25 /* between two looks: with few streams, and in a crowded process */
#define CROWDED_US 50
#define WAKE_US    5    /* that a sleep takes longer than it was asked for */
#define MOST_US    1000 /* the longest sleep, before the first look and between others */
#define JAM_PART   8  /* of the time since the first look: the longest sleep in a crowded process */
#define LEARNING   64 /* waits after which the least time of the last ones is known */

static const Cj2kCudaDevice quiet = {.one_in_flight = true};

static gint64 now = 1, done_at; /* microseconds */
static uint32_t looks;

/* --- in place of those of GLib and CUDA --- */

gint64 g_get_monotonic_time(void)
{
  return now;
}

void g_usleep(gulong us)
{
  now += (gint64)us + WAKE_US;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
  (void)event;
  looks++;
  return now >= done_at ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaGetLastError(void)
{
  return cudaSuccess;
}

/* --- the waits --- */

/* Waits for work that takes `us`. Returns by how much longer the wait was. */
static uint32_t wait_for(Cj2kCudaPatience *patience, uint32_t us)
{
  looks = 0;
  done_at = now + us;
  g_assert_cmpint(cj2k_cuda_wait(&quiet, NULL, true, patience), ==, cudaSuccess);
  g_assert_cmpint(now, >=, done_at);
  return (uint32_t)(now - done_at);
}

static void wait_often(Cj2kCudaPatience *patience, uint32_t us, uint32_t waits)
{
  for (uint32_t i = 0; i < waits; i++)
    wait_for(patience, us);
}

/* By how much a wait of so many microseconds may be longer in a crowded process. */
static uint32_t may_be_late(uint32_t us)
{
  return CLAMP(us / JAM_PART, CROWDED_US, MOST_US) + WAKE_US;
}

/* --- tests --- */

static void test_few_streams(void)
{
  Cj2kCudaPatience patience = {0};

  g_assert_false(cj2k_spin_crowded());
  for (uint32_t i = 0; i < 3 * LEARNING; i++) {
    g_assert_cmpuint(wait_for(&patience, 700), <=, LOOK_US + WAKE_US);
    g_assert_cmpuint(looks, ==, 1 + (700 + LOOK_US + WAKE_US - 1) / (LOOK_US + WAKE_US));
  }
}

static void test_few_looks(void)
{
  Cj2kCudaPatience patience = {0};
  guint codecs = test_crowd();

  wait_for(&patience, 400); /* so soon after the first look that sleeps are not longer */
  g_assert_cmpuint(looks, ==, 1 + (400 + CROWDED_US + WAKE_US - 1) / (CROWDED_US + WAKE_US));
  wait_often(&patience, 700, LEARNING);
  for (uint32_t i = 0; i < LEARNING; i++) {
    g_assert_cmpuint(wait_for(&patience, 700), <=, CROWDED_US + WAKE_US);
    g_assert_cmpuint(looks, <=, 6); /* at once, after most of it, and while the rest lasts */
  }
  test_disperse(codecs);
}

/* Whatever the times are: a wait that is as long as three quarters of all before it is not late. */
static void test_changing_times(void)
{
  Cj2kCudaPatience patience = {0};
  guint codecs = test_crowd();

  for (uint32_t i = 0; i < 10000; i++) {
    uint32_t us = (uint32_t)g_test_rand_int_range(400, 530);
    if (g_test_rand_int_range(0, 10) == 0)
      us *= (uint32_t)g_test_rand_int_range(2, 40);
    g_assert_cmpuint(wait_for(&patience, us), <=, may_be_late(us));
  }
  test_disperse(codecs);
}

/* In a jam waits are many times as long as they were. Looks become fewer, up to one in MOST_US;
 * those of a few streams do not. */
static void test_jam(void)
{
  Cj2kCudaPatience patience = {0};
  guint codecs = test_crowd();

  wait_often(&patience, 700, 2 * LEARNING);
  for (uint32_t us = 1000; us <= 1024000; us *= 2) {
    Cj2kCudaPatience now_known = patience;
    g_assert_cmpuint(wait_for(&now_known, us), <=, may_be_late(us));
    /* 8 that are 50 apart, then each an eighth later than the one before up to 8 MOST_US: log 20 /
     * log 9/8 */
    g_assert_cmpuint(looks, <=, 2 + 8 + 26 + us / MOST_US);
  }
  test_disperse(codecs);
  g_assert_cmpuint(wait_for(&patience, 16000), <=, LOOK_US + WAKE_US);
  g_assert_cmpuint(looks, >, 16000 / (LOOK_US + WAKE_US));
}

/* Frames become easier: waits are late for a few frames only, and never by more than a sleep. */
static void test_shorter_times(void)
{
  guint codecs = test_crowd();

  for (uint32_t before = 100; before < 100000; before = before * 3 / 2)
    for (uint32_t after = 0; after < before; after += 1 + before / 7) {
      Cj2kCudaPatience patience = {0};
      wait_often(&patience, before, 2 * LEARNING);
      for (uint32_t i = 0; i < LEARNING; i++) {
        uint32_t late = wait_for(&patience, after);
        g_assert_cmpuint(late, <=, MOST_US + WAKE_US);
        if (i >= 4)
          g_assert_cmpuint(late, <=, may_be_late(after));
      }
    }
  test_disperse(codecs);
}

/* A frame that is there at once, and waits of which nothing is known. */
static void test_nothing_known(void)
{
  Cj2kCudaPatience patience = {0};
  guint codecs = test_crowd();

  wait_often(&patience, 700, 2 * LEARNING);
  g_assert_cmpuint(wait_for(&patience, 0), ==, 0);
  g_assert_cmpuint(wait_for(&patience, 60), <=, CROWDED_US + WAKE_US);
  for (uint32_t i = 0; i < LEARNING; i++)
    g_assert_cmpuint(wait_for(NULL, i * 40), <=, may_be_late(i * 40));
  test_disperse(codecs);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/wait/few-streams", test_few_streams);
  g_test_add_func("/wait/few-looks", test_few_looks);
  g_test_add_func("/wait/changing-times", test_changing_times);
  g_test_add_func("/wait/jam", test_jam);
  g_test_add_func("/wait/shorter-times", test_shorter_times);
  g_test_add_func("/wait/nothing-known", test_nothing_known);
  return g_test_run();
}
