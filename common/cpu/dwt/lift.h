/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lifting steps of the 5/3 and 9/7 filters (T.800 F.3.8, F.4.8), for rows and columns. Each filter
 * in each direction is a list of steps `x[n] += f(x[n-1] + x[n+1])` on samples of alternating
 * parity.
 */
#ifndef CJ2K_CPU_DWT_LIFT_H
#define CJ2K_CPU_DWT_LIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CJ2K_MAX_LIFT_STEPS 4

typedef struct {
  float factor; /* 9/7: x += factor * (a + b) */
  int32_t round;
  int32_t shift;
  int32_t negate; /* 5/3: x += (a + b + round) >> shift, or -= when negate is -1 */
} Cj2kLiftStep;

typedef struct {
  bool reversible;
  uint8_t num_steps;    /* 2 or 4 */
  uint8_t first_parity; /* parity of the positions that the first step changes; it alternates */
  Cj2kLiftStep steps[CJ2K_MAX_LIFT_STEPS];
} Cj2kLift;

const Cj2kLift *cj2k_lift_get(bool reversible, bool inverse);

/* One step for n samples: dst[i] = src[i] + f(a[i] + b[i]). dst may be src. a and b may overlap
 * each other but not dst. */
void cj2k_lift_step(const Cj2kLift *lift, unsigned step, void *dst, const void *src, const void *a,
                    const void *b, size_t n);

/*
 * All steps in one pass, where the six (5/3: four) rows p, p-1 ... exist and none is mirrored: step
 * k changes row p-1-k, in the order of k. raw[k] is row p-k before its first step (k = 0..2);
 * row[k] is the place of row p-k from its first step on (k = 1..5).
 */
void cj2k_lift_rows(const Cj2kLift *lift, const void *const raw[3], void *const row[6], size_t n);

#endif
