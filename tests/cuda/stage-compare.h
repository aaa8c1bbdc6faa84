/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparison, bit for bit, of what two back ends hold after the same stage. Each function returns
 * whether both are equal; if not, `why` describes the first difference.
 */
#ifndef TESTS_CUDA_STAGE_COMPARE_H
#define TESTS_CUDA_STAGE_COMPARE_H

#include "pictures.h"
#include "slot-arrays.h"

typedef struct {
  const Cj2kPlan *plan;
  const char *names[2]; /* names of the back ends */
  char why[600];
} Comparison;

/* Every coefficient of every band that the slot stores. */
bool compare_coefficients(Comparison *c, const SlotArrays arrays[2]);
/* The image of every resolution between the LL band and the tile-component. */
bool compare_lowpass(Comparison *c, const SlotArrays arrays[2]);

bool compare_estimate(Comparison *c, const Cj2kEncodeResult results[2]);
/* Of `planes` bit-planes from first_plane on: length and distortion of each block's cleanup pass,
 * and the error of each band. */
bool compare_measured(Comparison *c, const Cj2kEncodeResult results[2], uint32_t first_plane,
                      uint32_t planes);

/* What is compared of coded blocks in addition to length, number of passes and missing
 * bit-planes. */
typedef enum {
  CODED_BYTES = 1,
  CODED_PASSES = 2,
  CODED_HULLS = 4,       /* with their sums by slope */
  CODED_SATURATED = 8,   /* number of saturated coefficients in the frame */
  CODED_HEADER_BITS = 16 /* of the second back end, beside those that follow from the passes of the
                            first one, or its passes if it makes none */
} CodedParts;
/* retained: the number of bytes that exist of each block; NULL: all. */
bool compare_coded(Comparison *c, const Cj2kEncodeResult results[2], unsigned parts,
                   const uint32_t *retained);

/* Every sample, then the bits that belong to no sample. */
bool compare_samples(Comparison *c, const Cj2kLayout *layout, const Target targets[2]);

#endif
