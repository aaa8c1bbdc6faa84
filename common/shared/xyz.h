/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * R'G'B' to X'Y'Z' for digital cinema (SMPTE ST 428-1): 12 bits, gamma 2.6, white at 48 cd/m2 of a
 * full scale of 52.37; or from PQ or HLG to PQ, which has a full scale of 10000 cd/m2. The tables
 * are computed once in double precision on the host; CPU and GPU use the same tables and the order
 * of operations that docs/arithmetic.md gives.
 */
#ifndef CJ2K_SHARED_XYZ_H
#define CJ2K_SHARED_XYZ_H

#include "common/cj2k.h"

#include <stddef.h>
#include <stdint.h>

#define CJ2K_XYZ_MAX_DEPTH 16
#define CJ2K_XYZ_BINS      16384 /* equal intervals of the fourth root of a linear value in 0..1 */

typedef struct {
  uint8_t depth;                         /* of R'G'B', 1..16 */
  float linear[1 << CJ2K_XYZ_MAX_DEPTH]; /* R'G'B' code -> linear light 0..1 */
  float matrix[9];                       /* linear RGB -> linear XYZ, times 48 / 52.37 or (PQ) 1 */
  float threshold[4097]; /* smallest linear value of each X'Y'Z' code; [4096] is infinite */
  uint16_t base[CJ2K_XYZ_BINS + 1]; /* code of the lowest value of a bin; a value of the bin has
                                       this code or the next */
  bool hlg; /* light is multiplied by `gain` of its luminance; only the CPU back end does it */
  /* HLG: the OOTF at the lower end of each bin of scene luminance; values between are interpolated.
   */
  float gain[CJ2K_XYZ_BINS + 2];
} Cj2kXyzTables;

/* Fills *tables. The struct has about 300 KB: too large for a stack. */
void cj2k_xyz_tables_init(Cj2kXyzTables *tables, uint8_t depth, Cj2kTransfer transfer,
                          Cj2kPrimaries primaries);
/* Completes tables of CJ2K_TRANSFER_HLG: the light of the scene becomes that of a display with this
 * peak in cd/m2 and no black level, peak * Ys^(gamma - 1), with the system gamma of BT.2100 table 5
 * (note 5f) from 400 to 2000 cd/m2, else that of BT.2390 (section 6.2). */
void cj2k_xyz_tables_init_hlg(Cj2kXyzTables *tables, double peak);
/* Converts n unsigned samples in place: rows of R', G', B' become X', Y', Z' of 12 bits. */
void cj2k_rgb_to_xyz(const Cj2kXyzTables *tables, int32_t *r, int32_t *g, int32_t *b, size_t n);

#endif
