/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads of one encoder or decoder: its share of those of the process (workers.h). A fixed
 * number of them at most does everything at one time: whole frames, and the pieces that a frame is
 * divided into. A thread that has finished its frame helps with the pieces of another one, so that
 * a single frame in flight uses all threads of the share and many frames in flight never use more.
 */
#ifndef CJ2K_RUNTIME_THREADS_H
#define CJ2K_RUNTIME_THREADS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Cj2kThreads Cj2kThreads;

/* A share of num_threads threads (0: as many as there are cores), at most 256. They are started
 * when there is work for them; if the system does not allow so many, work waits for those that
 * there are. Returns NULL if the process has none and cannot start one. */
Cj2kThreads *cj2k_threads_new(uint32_t num_threads);
/* Waits for all jobs of this share, which must not start further jobs by then, and frees it. NULL
 * is allowed. */
void cj2k_threads_free(Cj2kThreads *threads);
/* Size of the share, which is also the number of lanes of a parallel for; 1 for NULL. */
uint32_t cj2k_threads_count(const Cj2kThreads *threads);

/* A parallel for uses no more than so many lanes; 0: no limit, as at first. `crowded_only`: the
 * limit holds while the process is crowded with codecs on GPUs (spin.h). */
void cj2k_threads_limit(Cj2kThreads *threads, uint32_t lanes, bool crowded_only);
/* The lanes that the host's part of the work needs beside a GPU, for frames of so many samples (0:
 * not known): few, because a frame is done before many threads have woken; but with more than two
 * frames in flight throughput counts, and there is no limit (0). */
uint32_t cj2k_threads_beside_gpu(uint32_t frames_in_flight, uint64_t samples);

/* Lanes that a parallel for would use now. 1 for NULL. */
uint32_t cj2k_threads_lanes(const Cj2kThreads *threads);

/* At most so many threads of the share work; 0: all. Each of the others ends its job first. */
void cj2k_threads_use(Cj2kThreads *threads, uint32_t most);

/* Queues fn(ctx) to run on one of the threads, after the jobs that are already queued. If the share
 * is not used up it starts at once, whatever the jobs of other codecs wait for; it may wait itself.
 */
void cj2k_threads_start(Cj2kThreads *threads, void (*fn)(void *ctx), void *ctx);

/*
 * Calls fn(ctx, i, lane) for each i in [0, n) and returns when all calls have returned. The calls
 * start in ascending order of i. The calling thread takes part on lane 0; other threads join when
 * they are free. Calls of one parallel for that run at the same time have different lanes below
 * cj2k_threads_count, so that the lane can index scratch memory. May be called in a
 * job. Calls must not wait for each other, nor for other jobs. With threads NULL the calling thread
 * makes all calls.
 */
void cj2k_parallel_for(Cj2kThreads *threads, uint32_t n,
                       void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx);
/*
 * The same for work that takes about as long as waking other threads, some ten microseconds: only
 * threads that are awake take part (cj2k_threads_wake). Waking costs more processor time than the
 * work, and with many frames in flight, or a caller that waits, no time is saved.
 */
void cj2k_parallel_for_short(Cj2kThreads *threads, uint32_t n,
                             void (*fn)(void *ctx, uint32_t index, uint32_t lane), void *ctx);

/* Are there threads that spin, or have been woken to (cj2k_threads_wake)? */
bool cj2k_threads_are_awake(const Cj2kThreads *threads);
/*
 * Prepares for a parallel for that comes within a millisecond and must start at once. Wakes `count`
 * threads, at most 15 and at most all but one, which spin until the loop begins. They take part in
 * every parallel for until rest() or until a millisecond has passed since the last wake(). Only one
 * thread at a time may call these functions.
 */
void cj2k_threads_wake(Cj2kThreads *threads, uint32_t count);
void cj2k_threads_rest(Cj2kThreads *threads);

#endif
