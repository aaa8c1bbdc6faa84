/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What to keep of each code-block: post-compression rate-distortion optimisation (T.800 J.14).
 *
 * Each block offers options, each with more bytes and less error than the one before: the passes of
 * an MQ block, the bit-planes of an HT block. Those on the convex hull are taken in the order of
 * their slopes over the whole frame, until the bytes are used up. Slopes are put into 65536 classes
 * of logarithmic width, so that finding the right slope is a walk along a histogram, and what is
 * left over is filled up inside one class, block after block.
 */
#ifndef CJ2K_RATE_SELECTION_H
#define CJ2K_RATE_SELECTION_H

#include "../codestream/coded.h"
#include "../threads.h"

#define CJ2K_SLOPE_CLASSES 65536

/* One option on a block's hull. */
typedef struct {
  uint32_t bytes; /* more than the option before */
  float gain;     /* error it saves */
  uint16_t slope; /* class of the error it saves per byte; falls along the hull */
  uint8_t option; /* as the caller counts them */
} Cj2kHullPoint;

typedef struct {
  Cj2kPlan *plan; /* not a reference */
  uint32_t max_points;
  Cj2kHullPoint *points; /* [block][max_points] */
  uint8_t *counts;       /* per block */
  uint16_t *components;  /* per block */
  uint64_t *histogram;   /* bytes in each class of slopes */
  uint32_t *floors;      /* per component: slopes that its options must be above in any case */
} Cj2kHulls;

void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_points);
void cj2k_hulls_clear(Cj2kHulls *hulls);

/* Hulls of MQ blocks; option n: the first n passes. weights per band: what a unit of distortion is
 * worth. With stride > 1 only each stride-th block was coded, the others offer nothing. */
void cj2k_hulls_set_passes(Cj2kHulls *hulls, const Cj2kEncodedBlock *blocks,
                           const Cj2kPassEnd *passes, const double *weights, uint32_t stride,
                           Cj2kThreads *threads);
/* Hulls of HT blocks, from what measure found; option n: cleanup at plane first_plane + num_planes
 * - n. With stride > 1 only each stride-th block was measured; the others keep their lowest plane,
 * of fixed[block] bytes, in any case. */
void cj2k_hulls_set_planes(Cj2kHulls *hulls, const uint32_t *lengths, const uint64_t *distortions,
                           uint32_t num_planes, const double *weights, uint32_t stride,
                           const uint32_t *fixed, Cj2kThreads *threads);

/* Sets the slope that a component's options must be above; setting new hulls makes it 0 again. */
void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope);

/* Where to stop: all options whose slope is above `slope` are kept, and the first `extra` of those
 * in that class. */
typedef struct {
  uint32_t slope;
  uint64_t extra;
} Cj2kCut;

/* The lowest cut without extra whose kept options have at most `bytes`. */
Cj2kCut cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes);
/* Bytes of what a cut without extra keeps. */
uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope);
/* Error that it saves. */
double cj2k_hulls_gain(const Cj2kHulls *hulls, uint32_t slope);
/* Adds to a cut without extra as many options of its own class as have at most `bytes`, counting
 * `overhead` more for each. */
Cj2kCut cj2k_hulls_fill(const Cj2kHulls *hulls, Cj2kCut cut, uint64_t bytes, uint32_t overhead);
/* The option of each block under a cut; 0: none. */
void cj2k_hulls_apply(const Cj2kHulls *hulls, Cj2kCut cut, uint8_t *options);

/* The slope itself: error per byte, at the lower end of its class. */
double cj2k_slope_value(uint32_t slope);

#endif
