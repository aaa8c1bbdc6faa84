/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The convex hull of what a code-block offers: options, each with more bytes and less error than
 * the one before. Slopes are put into 65536 classes of logarithmic width.
 */
#ifndef CJ2K_RATE_HULL_H
#define CJ2K_RATE_HULL_H

#include "common/codestream/coded.h"

#define CJ2K_SLOPE_CLASSES 65536
#define CJ2K_SLOPE_OCTAVE  256 /* classes of slopes up to twice another */

/* An option as its block offers it. */
typedef struct {
  uint32_t length;
  uint8_t option;
  double gain; /* error saved */
} Cj2kHullOption;

/* Makes the hull of `count` options, at most CJ2K_MAX_PASSES, of growing length; `weight` is what a
 * unit of gain is worth. Returns its number of points. */
uint32_t cj2k_hull_of_options(const Cj2kHullOption *options, uint32_t count, double weight,
                              Cj2kHullPoint *points);
/* The same of the passes of an MQ block; option n: the first n passes. */
uint32_t cj2k_hull_of_passes(const Cj2kPassEnd *passes, uint32_t count, double weight,
                             Cj2kHullPoint *points);

/* Bytes of all options of a frame by their slopes. */
typedef struct {
  const uint64_t *bytes;    /* per class of slopes */
  uint32_t lowest, highest; /* other classes are empty; lowest > highest: all are */
} Cj2kSlopeSums;

/* A slope itself: error per byte, at the lower end of its class. */
double cj2k_slope_value(uint32_t slope);

#endif
