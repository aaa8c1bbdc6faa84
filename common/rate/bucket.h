/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The average rate of a film: a leaky bucket. Each frame adds its bytes and `rate` bytes leave with
 * it, but never more than there are; the content must not exceed window * rate. Any number k of
 * successive frames then takes at most (k + window) * rate bytes. The bucket begins half full and
 * is at most half full again when a period of the rate history ends (history.h), so that no whole
 * period exceeds its average.
 *
 * The plan of a frame, its ceiling and the base of its steps, follows from the exact sizes of the
 * frames up to the one that it learns from (cj2k_history_teacher), and from nothing but the
 * ceilings of the frames since: these count as if they used them. Plans are hence the same for all
 * numbers of frames in flight.
 */
#ifndef CJ2K_RATE_BUCKET_H
#define CJ2K_RATE_BUCKET_H

#include "history.h"

/* What a frame is planned from; set when the frame is submitted. */
typedef struct {
  uint64_t rate;   /* bytes a frame; 0: there is no average */
  uint32_t window; /* frames */
  uint64_t peak;   /* ceiling of the frame for other reasons; UINT64_MAX: none */
} Cj2kAverage;

typedef struct {
  uint64_t ceiling; /* not above the peak */
  double base;      /* of steps that keep the average with equal quality; 0: nothing is known yet */
} Cj2kPlanned;

/* How a frame turned out. */
typedef struct {
  uint64_t size;   /* bytes; 0: it failed */
  uint64_t demand; /* bytes that it would have with steps of `base`, without ceilings */
  double base;     /* 0: unknown */
} Cj2kOutcome;

typedef struct {
  uint64_t number; /* 0: none */
  Cj2kAverage average;
  Cj2kPlanned plan;
  double wanted; /* bytes that `plan` expects */
  bool done;
  Cj2kOutcome outcome;
} Cj2kBucketEntry;

/* Shared by all frames in flight. */
typedef struct {
  GMutex lock;
  GCond changed;
  const Cj2kRateHistory *history; /* its period */
  Cj2kBucketEntry entries[CJ2K_RATE_MEMORY];
  uint64_t planned; /* number of the last frame that has a plan */
  uint64_t counted; /* number of the last frame in `level` and `complexity` */
  double level;     /* bytes in the bucket after that frame */
  /* Mean of the bytes of frames, each multiplied by base^POWER; 0: unknown. `num_frames` are in it.
   */
  double complexity;
  uint32_t num_frames;
  uint64_t starving; /* as in Cj2kRateHistory */
} Cj2kRateBucket;

/* For statistics. */
typedef struct {
  uint64_t rate, capacity, level; /* bytes; of the last frame that is done */
} Cj2kBucketState;

void cj2k_bucket_init(Cj2kRateBucket *bucket, const Cj2kRateHistory *history);
void cj2k_bucket_clear(Cj2kRateBucket *bucket);

/* Call it for each frame in order of submission. */
void cj2k_bucket_announce(Cj2kRateBucket *bucket, uint64_t number, const Cj2kAverage *average);
/* The plan of a frame that has an average; waits for frames that it depends on. Always the same
 * result for a frame. *interrupted is set, and there is no plan, if the frame must not wait any
 * longer, because an earlier one needs its slot. */
Cj2kPlanned cj2k_bucket_plan(Cj2kRateBucket *bucket, uint64_t number, bool *interrupted);
/* As cj2k_history_interrupt and cj2k_history_withdraw. */
void cj2k_bucket_interrupt(Cj2kRateBucket *bucket, uint64_t number);
void cj2k_bucket_withdraw(Cj2kRateBucket *bucket, uint64_t number);
/* Must be called for each frame; only the first call has an effect. */
void cj2k_bucket_record(Cj2kRateBucket *bucket, uint64_t number, const Cj2kOutcome *outcome);
Cj2kBucketState cj2k_bucket_state(Cj2kRateBucket *bucket);

/* The least ceiling of a frame, which must have room for headers. */
uint64_t cj2k_average_least(uint64_t rate);

#endif
