/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the coefficients of each band lie on the device, and in which of the two forms of
 * decode_kernels.h. The bands of a decomposition level have one form, in all tile-components,
 * because a kernel makes three components in lock-step. LL bands have 32 bits, as have the images
 * between the levels. Bands that the last level does not read come first: their memory is free
 * before it begins (decode_overlay.c).
 */
#include "decode.h"

static uint32_t level_of(const Cj2kPlan *plan, const Cj2kPlanBand *band)
{
  return plan->tile_comps[band->tile_comp].num_levels + 1u - band->resolution;
}

static bool may_be_narrow(const Cj2kPlanBand *band)
{
  return !band->roi_shift &&
         band->num_bitplanes <=
             (band->reversible ? CJ2K_CUDA_NARROW_REVERSIBLE : CJ2K_CUDA_NARROW_IRREVERSIBLE);
}

uint32_t cj2k_cuda_decode_wide_levels(const Cj2kPlan *plan)
{
  uint32_t wide = 0;

  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kPlanBand *band = &plan->bands[b];
    if (band->offset != UINT64_MAX && band->orientation != CJ2K_LL && !may_be_narrow(band))
      wide |= 1u << (level_of(plan, band) - 1);
  }
  return wide;
}

/* Is a band read by the last level, rather than by one before it? */
static bool is_last(const Cj2kPlan *plan, const Cj2kPlanBand *band)
{
  return MAX(band->resolution, 1) >= plan->tile_comps[band->tile_comp].reduced_levels;
}

/* Places the bands of the last level, or all others, from `end` on. Returns where they end. */
static uint64_t place_bands(Cj2kDecodeSlot *slot, bool last, uint64_t end)
{
  Cj2kCudaDecodeTables *tables = &slot->tables;
  const Cj2kPlan *plan = tables->plan;

  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kPlanBand *band = &plan->bands[b];
    Cj2kCudaBandPlace *place = &tables->places[b];
    if (is_last(plan, band) != last)
      continue;
    *place = (Cj2kCudaBandPlace){.offset = UINT64_MAX};
    if (band->offset == UINT64_MAX)
      continue;
    place->narrow =
        band->orientation != CJ2K_LL && !(tables->wide_levels >> (level_of(plan, band) - 1) & 1);
    place->offset = end;
    end += (uint64_t)band->stride * (band->rect.y1 - band->rect.y0) * (place->narrow ? 2 : 4);
  }
  return end;
}

uint64_t cj2k_cuda_decode_place_bands(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeTables *tables = &slot->tables;

  tables->places = g_renew(Cj2kCudaBandPlace, tables->places, tables->plan->num_bands);
  tables->early = place_bands(slot, false, 0);
  return place_bands(slot, true, tables->early);
}
