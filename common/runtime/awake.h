/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that were woken ahead of a loop and spin until it begins, because waking them when it
 * begins would take longer than the loop. A thread has a lane of its own, from 1 on; the caller of
 * a loop has lane 0.
 */
#ifndef CJ2K_RUNTIME_AWAKE_H
#define CJ2K_RUNTIME_AWAKE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The threads that are awake, and the loop that they take part in.
 *
 * Order of memory: opening a loop writes fn, ctx, n and next, and then raises `turn`, which
 * publishes them to each thread that reads the odd value. Closing raises `turn` again and waits
 * until `active` is 0, so that the next opening cannot write fn while a thread still reads it. A
 * thread that enters raises `active` and then reads `turn`; the one that closes raises `turn` and
 * then reads `active`. At least one of them must see what the other one did, which only
 * sequentially consistent operations guarantee: with acquire and release both could read the old
 * value. Lowering `active` publishes what the thread's calls of fn wrote to the thread that waits
 * for 0. tests/unit/test-barrier.c has these steps as a model and tries all their orders; who
 * changes one changes both.
 */
typedef struct {
  GMutex lock;  /* held while a loop is open */
  guint lanes;  /* atomic: bit i is set while a woken thread has lane i. It publishes nothing else;
                   the order is as strong as can be because that costs nothing here */
  guint turn;   /* atomic: odd while a loop is open; rises with each opening and closing */
  guint active; /* atomic: threads that may be in the loop */
  gint64 until; /* atomic, relaxed: time at which the threads go back to sleep. A thread that reads
                   an old value sleeps or spins a little too long, nothing more */
  void (*fn)(void *ctx, uint32_t index, uint32_t lane);
  void *ctx;
  uint32_t n;
  guint next; /* atomic, relaxed: first index that nobody has taken. It only divides the work; what
                 the work reads and writes is published by `turn` and `active` */
} Cj2kAwake;

void cj2k_awake_init(Cj2kAwake *awake);
void cj2k_awake_clear(Cj2kAwake *awake);

/* Lanes 1 to `count`, at most 15, are to be awake for a millisecond from now on. Returns those that
 * are not, and may be, as bits: for each of them a thread has to be sent to cj2k_awake_stay, or it
 * has to be given back. */
guint cj2k_awake_invite(Cj2kAwake *awake, uint32_t count);
/* Gives lanes back that no thread was sent for. */
void cj2k_awake_refuse(Cj2kAwake *awake, guint lanes);
/* Spins, and takes part in each loop that is opened, until it is time to sleep. */
void cj2k_awake_stay(Cj2kAwake *awake, uint32_t lane);
/* It is time to sleep. */
void cj2k_awake_rest(Cj2kAwake *awake);

/* A parallel for on the threads that are awake. false: there are none, or another loop has them;
 * nothing was done. */
bool cj2k_awake_for(Cj2kAwake *awake, uint32_t n,
                    void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx);

#endif
