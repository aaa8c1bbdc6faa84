/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/runtime/error.h"
#include "plan_internal.h"

#include <math.h>

/* The 9/7 scaling factor of one level and direction that lifting leaves out (docs/arithmetic.md). A
 * single sample is not transformed, only halved at an odd position (F.3.6). */
static double level_gain(bool high, uint32_t extent)
{
  const double k = 1.230174104914001;

  if (extent == 1)
    return high ? 0.5 : 1.0;
  return high ? 1 / k : k;
}

/* Product of the factors of all levels from the band up to the resolution that is output. */
static double synthesis_gain(const Cj2kPlanTileComp *tile_comp,
                             const Cj2kPlanResolution *resolutions, const Cj2kPlanBand *band)
{
  bool high_x = band->orientation == CJ2K_HL || band->orientation == CJ2K_HH;
  bool high_y = band->orientation == CJ2K_LH || band->orientation == CJ2K_HH;
  double gain = 1;

  for (uint32_t r = band->resolution ? band->resolution : 1; r <= tile_comp->reduced_levels; r++) {
    const Cj2kRect *rect = &resolutions[r].rect;
    bool own = r == band->resolution;

    gain *= level_gain(own && high_x, rect->x1 - rect->x0);
    gain *= level_gain(own && high_y, rect->y1 - rect->y0);
  }
  return gain;
}

void cj2k_plan_quantiser(const Cj2kQuantisation *quantisation, const Cj2kPlanTileComp *tile_comp,
                         const Cj2kPlanResolution *resolutions, Cj2kPlanBand *band)
{
  static const uint8_t log2_gain[4] = {0, 1, 1, 2}; /* table E.1 */
  uint32_t levels = tile_comp->num_levels;
  uint32_t level = band->resolution ? levels - band->resolution + 1u : levels;
  uint32_t b = band->resolution ? 3u * (band->resolution - 1u) + band->orientation : 0;
  int exponent, mantissa, bitplanes;

  if (quantisation->style == 1) {
    /* E-5; a band whose exponent gets negative has no bit-planes. */
    exponent = quantisation->exponent[0] - (int)(levels - level);
    mantissa = quantisation->mantissa[0];
    if (exponent < 0)
      exponent = 0;
  } else {
    exponent = quantisation->exponent[b];
    mantissa = quantisation->mantissa[b];
  }
  bitplanes = quantisation->guard_bits + exponent - 1; /* E-2 */
  band->num_bitplanes = bitplanes > 0 ? (uint8_t)bitplanes : 0;
  band->norm = cj2k_band_norm(tile_comp->reversible, level, (Cj2kOrientation)band->orientation);
  if (tile_comp->mct)
    band->norm *= cj2k_mct_norm(tile_comp->reversible, tile_comp->component);
  if (tile_comp->reversible) {
    band->step = 1;
    band->scale = band->inv_scale = 0;
  } else {
    double gain = synthesis_gain(tile_comp, resolutions, band);
    int log2_range = tile_comp->depth + log2_gain[band->orientation]; /* E-4 */

    band->step = ldexp(1 + mantissa / 2048.0, log2_range - exponent); /* E-3 */
    band->scale = (float)(0.5 * band->step * gain);
    band->inv_scale = (float)(1 / (band->step * gain));
  }
}

Cj2kStatus cj2k_plan_check_steps(const Cj2kTileCoding *tile, uint32_t t, uint32_t c,
                                 Cj2kError *error)
{
  const Cj2kQuantisation *quantisation = &tile->quantisation[c];
  uint32_t needed = quantisation->style == 1 ? 1 : 3u * tile->coding[c].num_levels + 1;

  if (quantisation->num_steps < needed)
    return cj2k_error_set(error, CJ2K_ERROR_CODESTREAM,
                          "component %u of tile %u has %u quantiser steps and needs %u", c, t,
                          quantisation->num_steps, needed);
  return CJ2K_OK;
}
