/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which rows the precincts of a frame determine that has only some of them, for an inverse DWT that
 * follows packets as they come. Frames have one tile. Nothing here depends on a back end.
 */
#ifndef CJ2K_CODESTREAM_PLAN_PARTS_H
#define CJ2K_CODESTREAM_PLAN_PARTS_H

#include "plan.h"
#include "progression.h"

#include <glib.h>

/* How far a frame has come. Set it to all zeros first. */
typedef struct {
  const Cj2kPlan *plan;
  uint32_t *row_first;   /* per resolution of the plan: its first row of precincts in row_missing */
  uint32_t *row_missing; /* per row of precincts: precincts that are missing */
  uint32_t *rows_whole;  /* per resolution: rows of precincts from the first on that are complete */
  uint32_t *rows_done;   /* per resolution: row, absolute, up to which its image was made */
} Cj2kPlanParts;

/* A frame begins, of which nothing is there. The plan must stay valid until it ends. */
void cj2k_plan_parts_begin(Cj2kPlanParts *parts, const Cj2kPlan *plan);
void cj2k_plan_parts_clear(Cj2kPlanParts *parts);

/* Notes that the packet's precinct is complete, once for each precinct, and appends the numbers of
 * its code-blocks, uint32_t, to the list, if there is one. */
void cj2k_plan_parts_add(Cj2kPlanParts *parts, const Cj2kPacketId *packet, GArray *blocks);

/* The row, absolute, up to which the image of resolution r of a tile-component can be made, given
 * what was taken of the resolutions between 0 and r. */
uint32_t cj2k_plan_parts_ready(const Cj2kPlanParts *parts, const Cj2kPlanTileComp *tc, uint32_t r);
/* Takes the rows [*first, *end), absolute, of the image of resolution r >= 1 that have become
 * possible since the last call. false: there are none. Lower resolutions are taken first. */
bool cj2k_plan_parts_take(Cj2kPlanParts *parts, const Cj2kPlanTileComp *tc, uint32_t r,
                          uint32_t *first, uint32_t *end);

/* Takes all rows of all resolutions that have become possible. Returns the rows of the reference
 * grid, from the top of the image, for which all components are complete; UINT32_MAX: all. */
uint32_t cj2k_plan_parts_take_all(Cj2kPlanParts *parts);
/* Rows of the reference grid, from the top of the image, for which component c is complete if
 * `done` rows of it were written; UINT32_MAX: all. */
uint32_t cj2k_plan_parts_rows(const Cj2kPlan *plan, uint32_t c, uint32_t done);

#endif
