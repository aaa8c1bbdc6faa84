/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The convex hull of the options of a code-block. An option is a number of passes (MQ) or a
 * bit-plane (HT); each one has more bytes and less error than the one before. Slopes are stored as
 * one of 65536 classes of logarithmic width.
 */
#ifndef CJ2K_SHARED_HULL_H
#define CJ2K_SHARED_HULL_H

#include "common/codestream/coded.h"

#define CJ2K_SLOPE_CLASSES 65536
#define CJ2K_SLOPE_OCTAVE  256 /* classes between a slope and its double */

/* Approximate bytes of packet header for an HT block that is not left out. */
#define CJ2K_HULL_HEADER_BYTES 2
/* Slope classes below a cut whose options fill up the rest of the budget: up to NEAR, two octaves,
 * until less than 1/FILLED is left, then up to FAR until less than 1/NEARLY_FILLED is. */
#define CJ2K_CUT_NEAR          512
#define CJ2K_CUT_FAR           16384
#define CJ2K_CUT_FILLED        16384
#define CJ2K_CUT_NEARLY_FILLED 256

/* One option of a block. */
typedef struct {
  uint32_t length;
  uint8_t option;
  double gain; /* squared error saved */
} Cj2kHullOption;

/* Computes the hull of `count` options of increasing length, at most CJ2K_MAX_PASSES. Gains are
 * multiplied by `weight`. Returns the number of points. */
uint32_t cj2k_hull_of_options(const Cj2kHullOption *options, uint32_t count, double weight,
                              Cj2kHullPoint *points);
/* The same for the passes of an MQ block; option n is the first n passes. */
uint32_t cj2k_hull_of_passes(const Cj2kPassEnd *passes, uint32_t count, double weight,
                             Cj2kHullPoint *points);

/* How many bytes the options of a frame have at each slope. */
typedef struct {
  const uint64_t *bytes;    /* one sum per slope class */
  uint32_t lowest, highest; /* classes outside are empty; lowest > highest: all are empty */
} Cj2kSlopeSums;

/* The slope, in error per byte, at the lower end of a class. */
double cj2k_slope_value(uint32_t slope);
/* The class of a slope. */
uint16_t cj2k_slope_class(double slope);

#endif
