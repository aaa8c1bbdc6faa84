/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which coefficients the first rows of a picture determine, for a forward DWT that follows rows as
 * they come. Rows of the picture are counted on the reference grid from its top; a component with
 * sub-sampling is there down to the last row that begins above `rows`.
 */
#ifndef CJ2K_CODESTREAM_PLAN_ROWS_H
#define CJ2K_CODESTREAM_PLAN_ROWS_H

#include "plan.h"
#include "progression.h"

/* The row of resolution r of a tile-component, absolute, up to which its bands are determined: at
 * r >= 1 its HL, LH, HH, and the rows of resolution r - 1 (LL) that these rows give; at r = 0 its
 * LL band. */
uint32_t cj2k_plan_rows_made(const Cj2kPlan *plan, const Cj2kPlanTileComp *tc, uint32_t r,
                             uint32_t rows);

/* Rows of the whole picture. */
uint32_t cj2k_plan_rows_all(const Cj2kPlan *plan);

/* With one tile: the least number of rows, at least `least`, with which all code-blocks of the
 * packet's precinct are determined. */
uint32_t cj2k_plan_rows_needed(const Cj2kPlan *plan, const Cj2kPacketId *packet, uint32_t least);

#endif
