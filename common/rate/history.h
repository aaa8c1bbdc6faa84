/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What later frames learn from a frame, so that they need not search from the start. A frame learns
 * from the one `lag` before it, however many are in flight, so that the bytes do not depend on that
 * number. The first `lag` frames learn from frame 1.
 *
 * Everything is forgotten at frames of the film whose number is a multiple of the period. These
 * begin like frame 1, so that a film that is cut there and encoded in parts has the same bytes.
 */
#ifndef CJ2K_RATE_HISTORY_H
#define CJ2K_RATE_HISTORY_H

#include "steps.h"

#include <glib.h>

/* The lag is the number of frames that can be coded at one time; behind a cut so many learn from
 * another scene. MQ frames, which take longer, need more of them on a GPU. */
#define CJ2K_RATE_LAG_HT 6
#define CJ2K_RATE_LAG_MQ 8
#define CJ2K_RATE_LAG    CJ2K_RATE_LAG_MQ /* the greatest */
#define CJ2K_RATE_SLICES 64
/* Entries, of frames by their numbers. The oldest that is needed is that from which the oldest
 * frame in flight learns, or the one before. */
#define CJ2K_RATE_MEMORY 128

typedef struct {
  double base;      /* base of the frame's steps; MQ: the one that its slope suggests; 0: unknown */
  double total;     /* HT: bytes of the frame at plane 0 */
  double power;     /* HT: bytes are proportional to base^-power */
  double drift;     /* HT: expected growth, as a logarithm */
  double scale;     /* HT: `total` is so many times the frame's estimate; 0: unknown */
  uint64_t budget;  /* MQ: budget of the frame */
  uint64_t headers; /* MQ: bytes of headers, or those counted for the first selection; 0: unknown */
  Cj2kStepFactors factors;        /* MQ: factors of the frame's steps */
  float slices[CJ2K_RATE_SLICES]; /* bytes of its slices at plane 0, in as many parts */
} Cj2kRateMemory;

/* Shared by all frames in flight. */
typedef struct {
  GMutex lock;
  GCond recorded;
  uint32_t lag;                       /* at most CJ2K_RATE_LAG */
  uint64_t numbers[CJ2K_RATE_MEMORY]; /* number of the frame of each entry, from 1; 0: none */
  Cj2kRateMemory entries[CJ2K_RATE_MEMORY];
  uint64_t period;     /* 0: nothing is ever forgotten */
  uint64_t first_film; /* number in the film, counted from 0, of frame 1 */
  uint64_t starving;   /* number of a frame that needs the slot of a later one; 0: none */
} Cj2kRateHistory;

void cj2k_history_init(Cj2kRateHistory *history, uint32_t lag);
void cj2k_history_clear(Cj2kRateHistory *history);

/* The number of the frame from which frame `number` learns; 0: none. */
uint64_t cj2k_history_teacher(const Cj2kRateHistory *history, uint64_t number);
/* What frame `number` learns; waits until it has been recorded. false: nothing is known. If
 * `interrupted` is not NULL, it is set when the frame must not wait any longer, because an earlier
 * one needs its slot. */
bool cj2k_history_recall(Cj2kRateHistory *history, uint64_t number, Cj2kRateMemory *memory,
                         bool *interrupted);
/* Frame `number` waits for a slot. A later frame that waits for what this one records, or will do
 * so, is interrupted; only one. */
void cj2k_history_interrupt(Cj2kRateHistory *history, uint64_t number);
/* Frame `number` has a slot and needs that of no other one. What an earlier frame has asked for in
 * the meantime stays. */
void cj2k_history_withdraw(Cj2kRateHistory *history, uint64_t number);
/* Records what later frames learn from frame `number`. It must be called for each frame; only the
 * first call has an effect, because others may already have used it. */
void cj2k_history_record(Cj2kRateHistory *history, uint64_t number, const Cj2kRateMemory *memory);

/* The expected growth, as a logarithm, until the next frame that learns from this one, from the
 * growth that was expected and the ratio by which that was wrong. */
double cj2k_history_drift(double drift, double ratio);

#endif
