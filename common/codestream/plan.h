/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plan: the geometry that follows from a Header (T.800 Annex B), as flat arrays of plain structs
 * that refer to each other by index, so that they can be copied to a GPU unchanged. A plan is built
 * when the header changes, is immutable, and is shared by frames.
 *
 * Order of the arrays: tile by tile, component by component, resolution r = 0 (lowest) upwards,
 * bands LL | HL LH HH, precincts in raster order, and the code-blocks of one (precinct, band)
 * contiguous in raster order, the bands of a precinct one after the other.
 */
#ifndef CJ2K_CODESTREAM_PLAN_H
#define CJ2K_CODESTREAM_PLAN_H

#include "header.h"

typedef struct {
  uint32_t x0, y0, x1, y1;
} Cj2kRect;

typedef enum { CJ2K_LL = 0, CJ2K_HL = 1, CJ2K_LH = 2, CJ2K_HH = 3 } Cj2kOrientation;

/* A code-block (B.7): its area on the band's grid, clipped to precinct and band. Never empty. */
typedef struct {
  uint32_t band; /* index into plan->bands */
  uint32_t x, y; /* offset of its first sample from the band's first sample */
  uint16_t width, height;
} Cj2kPlanBlock;

/* A sub-band of a tile-component (B.5). Its coefficients are width x height at `offset`, rows
 * `stride` apart. */
typedef struct {
  Cj2kRect rect;
  uint32_t tile_comp;
  uint8_t orientation;   /* Cj2kOrientation */
  uint8_t resolution;    /* r */
  uint8_t num_bitplanes; /* Mb (E-2), before the ROI shift */
  uint8_t roi_shift;     /* s */
  uint8_t block_style;   /* CJ2K_STYLE_* */
  uint8_t reversible;
  uint8_t log2_block_width, log2_block_height; /* xcb', ycb' (B-17, B-18) */
  float scale, inv_scale;                      /* docs/arithmetic.md */
  double step;                                 /* delta_b (E-3) */
  double norm;     /* L2 norm of the synthesis basis vectors of this band, for distortion weights;
                      includes the norm of the component transform if mct */
  uint64_t offset; /* first sample, in the frame's coefficient array (in samples; multiple of 32) */
  uint32_t stride; /* in samples, multiple of 32 */
  uint32_t first_block,
      num_blocks; /* all precincts together are contiguous only per precinct: see precincts */
} Cj2kPlanBand;

/* What one precinct holds of one band: a grid of code-blocks. */
typedef struct {
  uint32_t first_block;
  uint32_t blocks_x, blocks_y; /* 0 x 0 if the precinct has no block of this band */
  uint32_t first_node; /* of the two tag trees (inclusion, zero bit-planes), in nodes, frame-wide */
} Cj2kPlanPrecinctBand;

typedef struct {
  Cj2kPlanPrecinctBand band[3]; /* 1 (LL) or 3 (HL LH HH) used */
} Cj2kPlanPrecinct;

typedef struct {
  Cj2kRect rect;                                     /* trx0.. (B-14) */
  uint8_t log2_precinct_width, log2_precinct_height; /* PPx, PPy */
  uint8_t num_bands;                                 /* 1 or 3 */
  uint32_t first_band;
  uint32_t precincts_x,
      precincts_y; /* numprecincts wide, high (B-16); both 0 when the resolution is empty */
  uint32_t first_precinct;
  /* Reconstructed LL of this resolution (r < NL), for the inverse DWT; r = NL is the tile-component
   * itself. */
  uint64_t offset; /* in the frame's low-pass workspace, in samples */
  uint32_t stride;
} Cj2kPlanResolution;

typedef struct {
  Cj2kRect rect; /* tcx0.. (B-12) */
  uint32_t tile, component;
  uint32_t first_resolution;
  uint8_t num_levels;     /* NL; NL+1 resolutions */
  uint8_t reduced_levels; /* levels that are synthesised: NL - reduce */
  uint8_t reversible;
  uint8_t mct; /* the component takes part in RCT or ICT */
  uint8_t is_signed, depth;
  Cj2kRect out; /* rect of the resolution that is output (= rect without reduce), absolute */
} Cj2kPlanTileComp;

typedef struct {
  Cj2kRect rect;            /* tx0.. (B-7..10) */
  uint32_t first_tile_comp; /* num_components of them */
  uint8_t mct;
  uint16_t num_layers;
} Cj2kPlanTile;

typedef struct Cj2kPlan {
  Cj2kHeader *header; /* a reference is held */
  /* The plan that owns the arrays other than `bands`, which is this one or an earlier one with
   * other quantiser steps (a reference is then held). */
  struct Cj2kPlan *geometry;
  uint8_t reduce;
  uint32_t num_components;
  Cj2kRect *component_out; /* per component: area that is output (after reduce), absolute */
  uint32_t num_tiles, num_tile_comps, num_resolutions, num_bands, num_precincts, num_blocks;
  Cj2kPlanTile *tiles;
  Cj2kPlanTileComp *tile_comps;
  Cj2kPlanResolution *resolutions;
  Cj2kPlanBand *bands;
  Cj2kPlanPrecinct *precincts;
  Cj2kPlanBlock *blocks;
  uint64_t num_coefficients; /* samples of the coefficient array, bands padded to their stride */
  uint64_t num_lowpass;      /* samples of the low-pass workspace */
  uint64_t num_nodes;        /* tag-tree nodes of each of the two kinds */
  int ref_count;             /* atomic */
} Cj2kPlan;

/*
 * Builds a plan. With reduce > 0 the blocks of discarded resolutions still exist, because their
 * packets must be read, but their coefficients have no memory (offset is UINT64_MAX) and are not
 * decoded. Returns CJ2K_ERROR_LIMIT if plan, coefficients and workspace together exceed max_memory
 * bytes (0: no limit), CJ2K_ERROR_ARGUMENT if reduce > NL of a component.
 */
Cj2kStatus cj2k_plan_new(Cj2kHeader *header, uint8_t reduce, uint64_t max_memory, Cj2kPlan **plan,
                         Cj2kError *error);
/*
 * Replaces *plan (NULL: there is none yet) by the plan of `header`, with the arguments and errors
 * of cj2k_plan_new; after an error it is NULL. A plan of the same header stays. If the headers
 * differ in quantisation only, as those of a film under rate control do, the new plan shares the
 * arrays of the old one but for its bands.
 */
Cj2kStatus cj2k_plan_renew(Cj2kPlan **plan, Cj2kHeader *header, uint8_t reduce, uint64_t max_memory,
                           Cj2kError *error);
/* Do two plans differ at most in their header and in num_bitplanes, scales and steps of their
 * bands? NULL: no. */
static inline bool cj2k_plan_same_geometry(const Cj2kPlan *a, const Cj2kPlan *b)
{
  return a && b && a->geometry == b->geometry;
}
/* Bytes that a lossy codestream rarely exceeds: a sixth of what the samples take. Memory for
 * codestreams has room for as many from the begin, because films begin with frames that are next to
 * nothing, and making room later holds up the frames that are on their way. */
uint64_t cj2k_plan_likely_bytes(const Cj2kPlan *plan);
Cj2kPlan *cj2k_plan_ref(Cj2kPlan *plan);
void cj2k_plan_unref(Cj2kPlan *plan);

#endif
