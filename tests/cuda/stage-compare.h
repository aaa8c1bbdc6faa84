/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What two back ends hold behind the same stage, bit by bit. Each function returns whether both are
 * the same, and else says in `why` where the first difference is.
 */
#ifndef STAGE_COMPARE_H
#define STAGE_COMPARE_H

#include "pictures.h"
#include "slot-arrays.h"

typedef struct {
  const Cj2kPlan *plan;
  const char *names[2]; /* of the back ends */
  char why[600];
} Comparison;

/* Every coefficient of every band that has a place. */
bool compare_coefficients(Comparison *c, const SlotArrays arrays[2]);
/* The image of every resolution between the LL band and the tile-component. */
bool compare_lowpass(Comparison *c, const SlotArrays arrays[2]);

/* Of `planes` bit-planes from first_plane on: lengths and distortions of each block's cleanup pass;
 * errors of each band. */
bool compare_measured(Comparison *c, const Cj2kEncodeResult results[2], uint32_t first_plane,
                      uint32_t planes);

/* What is compared of coded blocks beside length, passes and missing bit-planes. */
typedef enum {
  CODED_BYTES = 1,
  CODED_PASSES = 2,
  CODED_HULLS = 4,    /* and their sums by slope */
  CODED_SATURATED = 8 /* coefficients, of the frame */
} CodedParts;
/* kept: per block, bytes that are there; NULL: all. */
bool compare_coded(Comparison *c, const Cj2kEncodeResult results[2], unsigned parts,
                   const uint32_t *kept);

/* Every sample, then the bits that no sample owns. */
bool compare_samples(Comparison *c, const Cj2kLayout *layout, const Target targets[2]);

#endif
