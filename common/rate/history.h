/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What frames leave to later ones, so that these need not search from nothing. A frame learns from
 * the one CJ2K_RATE_LAG before it, however many are in flight, so that the bytes do not depend on
 * that number. The first frames learn from the very first.
 */
#ifndef CJ2K_RATE_HISTORY_H
#define CJ2K_RATE_HISTORY_H

#include "steps.h"

#include <glib.h>

#define CJ2K_RATE_LAG    8
#define CJ2K_RATE_MEMORY 32 /* entries; more than frames in flight and the lag */

typedef struct {
  double base;      /* of the frame's steps; MQ: the one that its slope suggests; 0: unknown */
  double total;     /* HT: bytes of the frame at plane 0 */
  double power;     /* HT: bytes grow as base^-power */
  double drift;     /* HT: expected growth, as a logarithm */
  uint64_t budget;  /* MQ: the frame's */
  uint64_t headers; /* MQ: bytes of headers; 0: unknown */
  Cj2kStepFactors factors; /* MQ */
} Cj2kRateMemory;

/* Used by all frames in flight at once. */
typedef struct {
  GMutex lock;
  GCond recorded;
  uint64_t numbers[CJ2K_RATE_MEMORY]; /* of the frames that the entries are of, from 1; 0: none */
  Cj2kRateMemory entries[CJ2K_RATE_MEMORY];
} Cj2kRateHistory;

void cj2k_history_init(Cj2kRateHistory *history);
void cj2k_history_clear(Cj2kRateHistory *history);

/* The frame that frame `number` learns from; 0: none. */
uint64_t cj2k_history_teacher(uint64_t number);
/* What frame `number` can learn; waits until that was recorded. false: nothing is known. */
bool cj2k_history_recall(Cj2kRateHistory *history, uint64_t number, Cj2kRateMemory *memory);
/* Records what frame `number` leaves. Each frame has to, and only its first call counts: others may
 * have learned from it. */
void cj2k_history_record(Cj2kRateHistory *history, uint64_t number, const Cj2kRateMemory *memory);

/* By how much frames are expected to grow until the next one that learns from this one, in
 * logarithms, from what was expected and how far off (as a ratio) that was. */
double cj2k_history_drift(double drift, double ratio);

#endif
