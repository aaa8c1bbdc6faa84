/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads of one encoder or decoder: a fixed number of them does everything, whole frames as well
 * as the pieces that a frame is cut into. A thread that is done with its own frame helps with
 * another one's pieces, so that one frame in flight uses all threads and many frames in flight
 * never use more.
 */
#ifndef CJ2K_THREADS_H
#define CJ2K_THREADS_H

#include <stdint.h>

typedef struct Cj2kThreads Cj2kThreads;

/* num_threads 0: as many as there are cores; at most 256. NULL when no thread can be started. */
Cj2kThreads *cj2k_threads_new(uint32_t num_threads);
/* Waits for what was started, which must not start anything itself by then. NULL is allowed. */
void cj2k_threads_free(Cj2kThreads *threads);
/* Threads in all, at least 1 (also for NULL): the number of lanes of a parallel for. */
uint32_t cj2k_threads_count(const Cj2kThreads *threads);

/* Runs fn(ctx) on one of the threads, after what was started before and was not taken up yet. */
void cj2k_threads_start(Cj2kThreads *threads, void (*fn)(void *ctx), void *ctx);

/*
 * Calls fn(ctx, i, lane) for each i in [0, n), in ascending order of starting, and returns when all
 * calls have returned. The caller takes part, on lane 0; others join when they are free. No two
 * calls at the same time have the same lane (of this parallel for; lane < cj2k_threads_count), so
 * that lane can index scratch memory. May be called on a thread of the pool. threads NULL: all
 * calls on the caller.
 */
void cj2k_parallel_for(Cj2kThreads *threads, uint32_t n,
                       void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx);

/*
 * A parallel for comes soon, and each microsecond counts: `count` threads, at most 15 and
 * all but one, wake up and wait for it without sleeping, a millisecond at most. They do all that is
 * parallel until rest() sends them back to sleep. For one caller at a time.
 */
void cj2k_threads_wake(Cj2kThreads *threads, uint32_t count);
void cj2k_threads_rest(Cj2kThreads *threads);

#endif
