/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Selection of the passes of each code-block: post-compression rate-distortion optimisation (T.800
 * J.14).
 *
 * Each block has options, each with more bytes and less error than the one before: the passes of an
 * MQ block, the bit-planes of an HT block. Those on the convex hull are taken in the order of their
 * slopes over the whole frame, until the bytes are used up. Slopes are stored as 65536 classes of
 * logarithmic width, so that the slope of a cut is found in a histogram. The rest of the budget is
 * filled inside one class, block after block.
 */
#ifndef CJ2K_RATE_SELECTION_H
#define CJ2K_RATE_SELECTION_H

#include "common/runtime/threads.h"
#include "common/shared/hull.h"

/* Bytes are added up by groups of slope classes, so that a sum over classes has two short parts. */
#define CJ2K_SLOPE_GROUP  256
#define CJ2K_SLOPE_GROUPS (CJ2K_SLOPE_CLASSES / CJ2K_SLOPE_GROUP)

/* The options on all hulls. */
typedef struct {
  Cj2kPlan *plan; /* not a reference */
  Cj2kThreads *threads;
  const Cj2kHullPoint *points; /* one block after the other */
  Cj2kHullPoint *own;          /* memory of `points` of HT, and of MQ with weights */
  size_t own_size;             /* its number of points */
  /* Per block: by what all its gains are multiplied; NULL: 1. Set it before the hulls. Not owned.
   */
  const double *block_weights;
  /* 1, or the stride of the blocks that were measured; all others have `fixed` bytes, per block, as
   * their only option. */
  uint32_t stride;
  const uint32_t *fixed;
  uint8_t fixed_option;
  uint32_t *first;                    /* per block: index of its first option */
  uint8_t *counts;                    /* per block: number of options above its component's floor */
  uint8_t *all_counts;                /* per block: number of options */
  uint16_t *components;               /* per block: its component */
  uint32_t *floors;                   /* per component: slope that its options must exceed */
  uint64_t *sums;                     /* per slope class: bytes */
  uint64_t groups[CJ2K_SLOPE_GROUPS]; /* per group of classes: bytes */
  uint32_t lowest, highest;           /* other classes are empty; lowest > highest: all are empty */
  uint64_t above[CJ2K_SLOPE_GROUPS];  /* per group of classes: bytes in the groups above it */
  uint64_t total;                     /* bytes in all classes */
  uint32_t header_bytes; /* added to each block's first option when its slope is computed */
  uint64_t version;      /* another one with each change of points or floors */
} Cj2kHulls;

/* What is retained of each block. */
typedef struct {
  uint8_t *options;  /* per block: the retained option, 0: none */
  uint32_t *lengths; /* per block: bytes of that option */
  /* Of a cut through hulls: */
  uint8_t *taken; /* per block: options on its hull up to the retained one */
  uint16_t *last; /* per block: slope of the retained option; UINT16_MAX: there is none */
  uint16_t *next; /* per block: slope of the next option; 0: there is none */
  /* The hulls of that cut, and their version; NULL: it is none, or of hulls with a stride. The next
   * cut through the same ones begins there, and reads only options that change. */
  const Cj2kHulls *hulls;
  uint64_t version;
} Cj2kSelection;

void cj2k_selection_init(Cj2kSelection *selection, uint32_t num_blocks);
void cj2k_selection_clear(Cj2kSelection *selection);
/* Retains everything that was coded; it is not a cut. */
void cj2k_selection_retain_all(Cj2kSelection *selection, const Cj2kEncodedBlock *blocks,
                               uint32_t num_blocks);

/* max_planes: the largest num_planes for cj2k_hulls_set_planes; 0: it is not called. */
void cj2k_hulls_init(Cj2kHulls *hulls, Cj2kPlan *plan, uint32_t max_planes, Cj2kThreads *threads);
void cj2k_hulls_clear(Cj2kHulls *hulls);

/* Sets hulls that the blocks already have and that the caller keeps. sums NULL: they are computed
 * here. */
void cj2k_hulls_set_points(Cj2kHulls *hulls, const Cj2kEncodedBlock *blocks,
                           const Cj2kHullPoint *points, const Cj2kSlopeSums *sums);
/* Makes hulls of HT blocks from measured lengths and distortions; option n is a cleanup pass at
 * plane first_plane + num_planes - n. With stride > 1 only each stride-th block was measured; the
 * others always retain their lowest plane, of fixed[block] bytes, which the caller keeps. */
void cj2k_hulls_set_planes(Cj2kHulls *hulls, const uint32_t *lengths, const uint64_t *distortions,
                           uint32_t num_planes, const double *weights, uint32_t stride,
                           const uint32_t *fixed);

/* Sets the slope that a component's options must exceed; new hulls reset it to 0. */
void cj2k_hulls_set_floor(Cj2kHulls *hulls, uint32_t component, uint32_t slope);
/* The same for all components. */
void cj2k_hulls_set_floors(Cj2kHulls *hulls, uint32_t slope);

/*
 * A cut is a slope class: all options above it are retained. Returns the lowest one whose options
 * have at most `bytes`; 0: all options with a gain.
 */
uint32_t cj2k_hulls_cut(const Cj2kHulls *hulls, uint64_t bytes);
/* Bytes that a cut retains, of all components or of one. */
uint64_t cj2k_hulls_bytes(const Cj2kHulls *hulls, uint32_t slope);
uint64_t cj2k_hulls_component_bytes(const Cj2kHulls *hulls, uint32_t component, uint32_t slope);
/* Error that the options of a cut save, and that the other options would save, computed from the
 * middle of their slope classes. */
typedef struct {
  double taken, left;
} Cj2kHullGains;
Cj2kHullGains cj2k_hulls_gains(const Cj2kHulls *hulls, const Cj2kSelection *cut);
/* Sets `selection` to what a cut retains. */
void cj2k_hulls_apply(const Cj2kHulls *hulls, uint32_t slope, Cj2kSelection *selection);
/* Like cj2k_hulls_apply with the cut for `bytes`, which is returned, but filled up with options a
 * little below it, block after block; *taken: the bytes of all. */
uint32_t cj2k_hulls_take(const Cj2kHulls *hulls, uint64_t bytes, Cj2kSelection *selection,
                         uint64_t *taken);

#endif
