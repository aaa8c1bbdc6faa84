/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files that build a Plan share. */
#ifndef CJ2K_CODESTREAM_PLAN_INTERNAL_H
#define CJ2K_CODESTREAM_PLAN_INTERNAL_H

#include "plan.h"

/*
 * L2 norm of one synthesis basis vector of a band, normalised as T.800 Annex F (low-pass DC gain
 * 1): level d = 1 is the finest, orientation LL only for the last level; d = 0 is the image itself.
 */
double cj2k_band_norm(bool reversible, uint32_t level, Cj2kOrientation orientation);
/* The same of component c in RCT or ICT (Annex G): how much a unit there adds to the three outputs.
 */
double cj2k_mct_norm(bool reversible, uint32_t component);

/* A band's quantiser (E.1): Mb, step size, scales of docs/arithmetic.md, norm. Needs band's
 * resolution, orientation, and the extents of the resolutions of its tile-component, resolutions[0]
 * being the lowest. */
void cj2k_plan_quantiser(const Cj2kQuantisation *quantisation, const Cj2kPlanTileComp *tile_comp,
                         const Cj2kPlanResolution *resolutions, Cj2kPlanBand *band);

/* Checks that component c of tile t has steps for all its bands (CJ2K_ERROR_CODESTREAM). */
Cj2kStatus cj2k_plan_check_steps(const Cj2kTileCoding *tile, uint32_t t, uint32_t c,
                                 Cj2kError *error);

#endif
