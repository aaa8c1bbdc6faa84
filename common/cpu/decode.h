/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CPU decode back end, inside: a slot and its two stages. BLOCK CODER (decode_blocks.c) fills
 * the coefficient bands, TRANSFORM (decode_rows.c) makes rows of samples of them and packs these
 * into the picture.
 */
#ifndef CJ2K_CPU_DECODE_H
#define CJ2K_CPU_DECODE_H

#include "blockcoder.h"
#include "common/backend.h"
#include "common/cpu/dwt/transform.h"
#include "common/samples/layout.h"

#include <glib.h>
#include <stdbool.h>

/* A component's way through one strip of the last level: inverse DWT row by row, its place in the
 * picture. */
typedef struct {
  Cj2kIdwtRows idwt;
  const Cj2kPlanTileComp *tc;
  const Cj2kSampleLayout *layout; /* NULL: not put out, only part of the component transform */
  uint32_t row0, row1;            /* its rows of the strip; none: 0, 0 */
  uint32_t x, width;              /* its columns */
} Cj2kFinishRows;

/* Memory of one lane of a parallel for, made when the lane is first used. */
typedef struct {
  Cj2kBlockScratch *block_scratch;
  uint32_t *block;        /* one block's samples out of the block decoder */
  uint64_t *wide_block;   /* the same for blocks of more than 30 bit-planes */
  Cj2kFinishRows *finish; /* of the components of one group */
  char *rows;             /* their DWT scratch, one after the other */
} Cj2kDecodeLane;

/* Rows [row0, row1) (absolute) of resolution r of a tile-component. */
typedef struct {
  uint32_t tile_comp, r;
  uint32_t row0, row1;
} Cj2kDecodeStrip;

/* Components of a tile that are finished row by row in lock-step, because they share a component
 * transform or lie in the same plane; rows are those of the components' own place in the picture.
 */
typedef struct {
  uint32_t tile;
  uint32_t group; /* in slot->groups */
  uint32_t row0, row1;
} Cj2kFinishStrip;

typedef struct {
  uint32_t first; /* in slot->group_components */
  uint32_t count;
} Cj2kComponentGroup;

struct Cj2kDecodeSlot {
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* what everything below was made for, a reference */
  void *coefficients, *lowpass;
  uint64_t coefficients_size, lowpass_size; /* bytes allocated */
  uint32_t max_width;                       /* of any tile-component put out */

  Cj2kDecodeLane *lanes; /* one a thread */
  size_t row_scratch;    /* bytes of DWT scratch of one component */
  gint out_of_memory;    /* atomic: some lane could not be made */

  GArray *strips;                        /* Cj2kDecodeStrip, ordered by r = 1, 2 ... */
  guint strips_end[CJ2K_MAX_LEVELS + 1]; /* where those of r end */

  Cj2kLayout layout; /* what groups and finish strips were made for, a copy */
  Cj2kPlaneUse *planes;
  Cj2kComponent *components; /* sizes of what is put out */
  uint32_t *group_components;
  Cj2kComponentGroup *groups;
  uint32_t num_groups, max_group;
  GArray *finish; /* Cj2kFinishStrip */
  bool serial_packing;
  GMutex packing; /* several tiles write to the same words */

  Cj2kDecodeResult result;
};

/* NULL and slot->out_of_memory when there is none. */
Cj2kDecodeLane *cj2k_decode_lane(Cj2kDecodeSlot *slot, uint32_t lane);

/* BLOCK CODER: every code-block of the frame into its band. Returns how many were corrupt. */
uint32_t cj2k_decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded);

/* Lists the strips of every inverse DWT level but the last, when the plan changed. */
void cj2k_decode_list_strips(Cj2kDecodeSlot *slot);
/* Lists those of the last one, with component transform and packing, when plan or layout changed.
 */
void cj2k_decode_list_finish(Cj2kDecodeSlot *slot, const Cj2kLayout *layout);

/* TRANSFORM: the bands into the picture. */
void cj2k_decode_rows(Cj2kDecodeSlot *slot, const Cj2kPicture *picture);

#endif
