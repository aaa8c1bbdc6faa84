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

#include "common/runtime/threads.h"
#include "common/shared/hull.h"

/* The options on all hulls. */
typedef struct {
  Cj2kPlan *plan; /* not a reference */
  Cj2kThreads *threads;
  const Cj2kHullPoint *points; /* those of a block one after the other */
  Cj2kHullPoint *own;          /* HT */
  uint32_t *first;             /* per block: its first option */
  uint8_t *counts;             /* per block: options above its component's floor */
  uint8_t *all_counts;         /* per block: options */
  uint16_t *components;        /* per block */
  uint32_t *floors; /* per component: slopes that its options must be above in any case */
  uint64_t *above;  /* per class of slopes from lowest to highest: bytes in those above it */
  uint32_t lowest, highest; /* other classes are empty; lowest > highest: all are */
  uint64_t total;           /* bytes in all classes */
  uint32_t header_bytes;    /* that slopes of first options count, besides those of the option */
} Cj2kHulls;

/* What is retained of each block. */
typedef struct {
  uint8_t *options;  /* per block: the retained option, 0: none */
  uint32_t *lengths; /* per block: its bytes */
  /* Of a cut through hulls: */
  uint8_t *taken; /* per block: options on its hull up to the retained one */
  uint16_t *next; /* per block: slope of the one behind these; 0: there is none */
} Cj2kSelection;

void cj2k_selection_init(Cj2kSelection *selection, uint32_t num_blocks);
void cj2k_selection_clear(Cj2kSelection *selection);
/* Retains everything that was coded; it is not a cut. */
void cj2k_selection_retain_all(Cj2kSelection *selection, const Cj2kEncodedBlock *blocks,
                               uint32_t num_blocks);

/* max_planes: that set_planes may be given at most; 0: it is not called. */
void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_planes, Cj2kThreads *threads);
void cj2k_hulls_clear(Cj2kHulls *hulls);

/* Hulls that blocks have already, which stay with the caller. sums: NULL: are made here. */
void cj2k_hulls_set_points(Cj2kHulls *hulls, const Cj2kEncodedBlock *blocks,
                           const Cj2kHullPoint *points, const Cj2kSlopeSums *sums);
/* Hulls of HT blocks, from what measure found; option n: cleanup at plane first_plane + num_planes
 * - n. With stride > 1 only each stride-th block was measured; the others keep their lowest plane,
 * of fixed[block] bytes, in any case. */
void cj2k_hulls_set_planes(Cj2kHulls *hulls, const uint32_t *lengths, const uint64_t *distortions,
                           uint32_t num_planes, const double *weights, uint32_t stride,
                           const uint32_t *fixed);

/* Sets the slope that a component's options must be above; setting new hulls makes it 0 again. */
void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope);

/*
 * A cut is a slope class: all options above it are retained. Returns the lowest one whose options
 * have at most `bytes`; 0: all options with a gain.
 */
uint32_t cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes);
/* Bytes that a cut retains, of all components or of one. */
uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope);
uint64_t cj2k_hulls_component_bytes(const Cj2kHulls *hulls, uint32_t component, uint32_t slope);
/* Error that the options of a cut save, and that the others would, by the middles of their slopes'
 * classes. */
typedef struct {
  double taken, left;
} Cj2kHullGains;
Cj2kHullGains cj2k_hulls_gains(const Cj2kHulls *hulls, const Cj2kSelection *cut);
/* Sets `selection` to what a cut retains. */
void cj2k_hulls_apply(const Cj2kHulls *hulls, uint32_t slope, Cj2kSelection *selection);
/* The same with the cut for `bytes`, which is returned, filled up with options a little below it,
 * block after block; *taken: the bytes of them all. */
uint32_t cj2k_hulls_take(const Cj2kHulls *hulls, uint64_t bytes, Cj2kSelection *selection,
                         uint64_t *taken);

#endif
