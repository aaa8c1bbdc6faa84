/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads of the process, which all its encoders and decoders share. Each codec has a share of
 * them (threads.h): so many workers may work for it at one time.
 *
 * A job may wait, for a GPU, for another frame, for rows of a picture or for the application, and
 * what it waits for may never come. So that no codec is held up by the jobs of another one, a job
 * of a codec whose share is not used up gets a worker at once: one that is idle, or a new one.
 * Whoever helps with a loop waits for nothing; helpers are never more than there are cores, or
 * threads that their codec may have. Codecs without work cost nothing: workers that have been idle
 * for a few seconds end until there are no more than cores, and with the last share all end.
 *
 * If the system refuses a thread, work waits until a worker is free. Shares that wait are served in
 * turn.
 */
#ifndef CJ2K_RUNTIME_WORKERS_H
#define CJ2K_RUNTIME_WORKERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Cj2kWorkers Cj2kWorkers;

/* What a worker has taken from a share. */
typedef struct Cj2kWork {
  void (*run)(const struct Cj2kWork *work);
  void (*end)(const struct Cj2kWork *work); /* called afterwards, with the lock held; NULL: none */
  void *object;
  uint32_t lane;
  bool helps; /* waits for nothing, so that it needs no thread if all cores have one */
} Cj2kWork;

typedef struct Cj2kShare {
  /* Set by the owner before it opens the share. */
  void *owner;
  /* Takes what is to be done first: of the places for helpers if `may_help`, which says that there
   * is one, else of the jobs. Called with the lock held. */
  void (*take)(void *owner, bool may_help, Cj2kWork *work);
  uint32_t count; /* most workers at any time */
  /* What is to be done, and how many workers may do it; the owner changes these with the lock held.
   */
  uint32_t jobs;
  uint32_t offers; /* places for helpers */
  uint32_t most;   /* workers at the moment, at most `count` */
  /* Of workers.c. */
  Cj2kWorkers *workers;
  uint32_t running; /* workers that work for the share, or were called to; guarded by the lock, as
                       are all that follow */
  uint32_t coming;  /* those of them that have not arrived yet */
  bool waits;       /* there is work for which no worker could be called */
  bool closing;
  GList link; /* of the shares that wait */
  GCond done; /* signalled when a worker has left a share that closes */
} Cj2kShare;

/* Opens a share whose first fields are set, the others 0. false: no thread can be started. */
bool cj2k_share_open(Cj2kShare *share);
/* Waits until nothing is left to be done. */
void cj2k_share_close(Cj2kShare *share);

/* The lock is one for all shares of the process: what is done between these is short. */
void cj2k_share_lock(Cj2kShare *share);
/* Calls workers for what has come to be done meanwhile. */
void cj2k_share_unlock(Cj2kShare *share);
/* Waits for the condition, with the lock held. */
void cj2k_share_wait(Cj2kShare *share, GCond *condition);

#endif
