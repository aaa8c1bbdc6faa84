/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internals of the CPU decode back end: a slot and its two stages. BLOCK CODER (decode_blocks.c)
 * fills the bands with coefficients, TRANSFORM (decode_rows.c) turns them into rows of samples and
 * packs these into the picture.
 */
#ifndef CJ2K_CPU_DECODE_H
#define CJ2K_CPU_DECODE_H

#include "blockcoder.h"
#include "common/backend.h"
#include "common/codestream/plan_parts.h"
#include "common/cpu/dwt/transform.h"
#include "common/samples/layout.h"

#include <glib.h>
#include <stdbool.h>

/* State of one component in one strip of the last level: the inverse DWT, row by row, and the place
 * of its samples in the picture. */
typedef struct {
  Cj2kIdwtRows idwt;
  const Cj2kPlanTileComp *tc;
  const Cj2kSampleLayout *layout; /* NULL: not stored, needed for the component transform only */
  uint32_t row0, row1;            /* rows that it has in the strip; none: 0, 0 */
  uint32_t x, width;              /* its columns */
} Cj2kFinishRows;

/* Memory of one lane of a parallel for, allocated when the lane is first used. */
typedef struct {
  Cj2kBlockScratch *block_scratch;
  uint32_t *block;        /* samples of one decoded block */
  uint64_t *wide_block;   /* the same for blocks of more than 30 bit-planes */
  Cj2kFinishRows *finish; /* of the components of one group */
  char *rows;             /* DWT scratch of each of them */
} Cj2kDecodeLane;

/* Rows [row0, row1) (absolute) of resolution r of a tile-component. */
typedef struct {
  uint32_t tile_comp, r;
  uint32_t row0, row1;
} Cj2kDecodeStrip;

/* Rows of a group of components of one tile, counted from the top of the picture's component. The
 * group is processed in lock-step, row by row, because its components share a component transform
 * or lie in the same plane. */
typedef struct {
  uint32_t tile;
  uint32_t group; /* in slot->finish.groups */
  uint32_t row0, row1;
} Cj2kFinishStrip;

typedef struct {
  uint32_t first; /* in slot->finish.group_components */
  uint32_t count;
} Cj2kComponentGroup;

/* Coefficients of all bands, and the images between the levels of the DWT (decode.c). */
typedef struct {
  void *coefficients, *lowpass;
  uint64_t coefficients_size, lowpass_size; /* bytes allocated */
} Cj2kDecodeMemory;

/* Memory of the threads (decode.c). */
typedef struct {
  Cj2kDecodeLane *of; /* one a thread */
  size_t row_scratch; /* bytes of DWT scratch of one component */
  gint out_of_memory; /* atomic: a lane could not be allocated */
} Cj2kDecodeLanes;

/* Work of all levels but the last, which follows from the plan (decode_plan.c). */
typedef struct {
  GArray *strips;                  /* Cj2kDecodeStrip, ordered by r = 1, 2 ... */
  guint ends[CJ2K_MAX_LEVELS + 1]; /* index behind the last strip of r */
} Cj2kDecodeLevels;

/* Work of the last level, which follows from plan and layout (decode_plan.c). */
typedef struct {
  Cj2kLayout layout; /* a copy */
  Cj2kPlaneUse *planes;
  Cj2kComponent *components; /* sizes of the decoded components */
  uint32_t *group_components;
  Cj2kComponentGroup *groups;
  uint32_t num_groups, max_group;
  GArray *strips; /* Cj2kFinishStrip */
  bool serial_packing;
  GMutex packing; /* guards words that samples of several tiles share */
} Cj2kDecodeFinish;

/* How far a frame has come whose packets come in parts (decode_parts.c). */
typedef struct {
  Cj2kPlanParts rows;
  uint32_t *group_done; /* per component group: rows that were written */
  GArray *blocks;       /* uint32_t: code-blocks of the precincts that were added */
  GArray *strips;       /* Cj2kDecodeStrip or Cj2kFinishStrip of the work that is due */
  uint32_t corrupt_blocks;
} Cj2kDecodeParts;

struct Cj2kDecodeSlot {
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference; everything below belongs to it */
  Cj2kDecodeMemory memory;
  Cj2kDecodeLanes lanes;
  Cj2kDecodeLevels levels;
  Cj2kDecodeFinish finish;
  Cj2kDecodeParts parts;
  Cj2kDecodeResult result;
};

/* The memory of a lane. NULL, with slot->lanes.out_of_memory set, when it cannot be allocated. */
Cj2kDecodeLane *cj2k_decode_lane(Cj2kDecodeSlot *slot, uint32_t lane);

/* BLOCK CODER: decodes all code-blocks of the frame into their bands. Returns how many were
 * corrupt. */
uint32_t cj2k_decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded);
/* The same for some blocks, by their numbers in the plan; only those that the block coder finds
 * corrupt are counted. */
uint32_t cj2k_decode_some_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const uint32_t *blocks, uint32_t count);

void cj2k_decode_levels_init(Cj2kDecodeLevels *levels);
void cj2k_decode_levels_clear(Cj2kDecodeLevels *levels);
void cj2k_decode_finish_init(Cj2kDecodeFinish *finish);
void cj2k_decode_finish_clear(Cj2kDecodeFinish *finish);
/* Lists the strips of all inverse DWT levels but the last; called when the plan changes. */
void cj2k_decode_list_strips(Cj2kDecodeSlot *slot);
/* Lists the strips of the last level, which includes component transform and packing; called when
 * plan or layout change. */
void cj2k_decode_list_finish(Cj2kDecodeSlot *slot, const Cj2kLayout *layout);

/* TRANSFORM: turns the bands into the picture. */
void cj2k_decode_rows(Cj2kDecodeSlot *slot, const Cj2kPicture *picture);

/* Parts of it: what no component writes, some rows of images of resolution r, and some rows of the
 * picture. */
void cj2k_decode_fill(Cj2kDecodeSlot *slot, const Cj2kPicture *picture);
void cj2k_decode_level_strips(Cj2kDecodeSlot *slot, const GArray *strips);
void cj2k_decode_finish_strips(Cj2kDecodeSlot *slot, const Cj2kPicture *picture,
                               const GArray *strips);

/* Both stages of a frame of one tile whose packets come in parts. begin(): after the plan and the
 * layout were set. blocks(): decodes the code-blocks of precincts and returns how many were
 * corrupt. rows(): writes all rows that have become possible; returns how many rows of the picture
 * are complete, on the reference grid. */
void cj2k_decode_parts_begin(Cj2kDecodeSlot *slot, const Cj2kPicture *picture);
uint32_t cj2k_decode_parts_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                  const Cj2kPacketId *precincts, uint32_t count);
uint32_t cj2k_decode_parts_rows(Cj2kDecodeSlot *slot, const Cj2kPicture *picture);
void cj2k_decode_parts_clear(Cj2kDecodeSlot *slot);

#endif
