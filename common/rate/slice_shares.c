/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slice_shares.h"

#include <math.h>

/* The entry of Cj2kRateMemory.slices that holds a slice, maybe with others. */
static uint32_t part_of(const Cj2kSliceShares *shares, uint32_t slice)
{
  return (uint32_t)((uint64_t)slice * CJ2K_RATE_SLICES / shares->count);
}

void cj2k_slice_shares_init(Cj2kSliceShares *shares, uint32_t count)
{
  *shares = (Cj2kSliceShares){.count = count};
  shares->expected = g_new0(double, count);
  shares->at_plane = g_malloc0(CJ2K_SLICE_PLANES * sizeof *shares->at_plane);
}

void cj2k_slice_shares_clear(Cj2kSliceShares *shares)
{
  g_free(shares->expected);
  g_free(shares->at_plane);
}

void cj2k_slice_shares_recall(Cj2kSliceShares *shares, const Cj2kRateMemory *memory, double bytes)
{
  uint32_t slices[CJ2K_RATE_SLICES] = {0}; /* in each part */

  for (uint32_t i = 0; i < shares->count; i++)
    slices[part_of(shares, i)]++;
  for (uint32_t i = 0; i < shares->count; i++) {
    uint32_t part = part_of(shares, i);
    double share = memory->slices[part] / slices[part];
    shares->expected[i] = share * bytes / memory->total;
  }
}

double cj2k_slice_shares_behind(const Cj2kSliceShares *shares, uint32_t slice)
{
  double bytes = 0;

  for (uint32_t i = slice + 1; i < shares->count; i++)
    bytes += shares->expected[i];
  return bytes;
}

void cj2k_slice_shares_note(Cj2kSliceShares *shares, uint32_t slice,
                            const double bytes[CJ2K_SLICE_PLANES])
{
  for (uint32_t p = 0; p < CJ2K_SLICE_PLANES; p++)
    shares->at_plane[p][part_of(shares, slice)] += bytes[p];
}

/* Bytes of the frame at plane p. */
static double total_at(const Cj2kSliceShares *shares, uint32_t p)
{
  double total = 0;

  for (uint32_t i = 0; i < CJ2K_RATE_SLICES; i++)
    total += shares->at_plane[p][i];
  return total;
}

void cj2k_slice_shares_remember(const Cj2kSliceShares *shares, double base, double aim,
                                Cj2kRateMemory *memory)
{
  double octaves = 0, below = 0, total = total_at(shares, 0);
  uint32_t p = 0;

  while (total > aim && p + 1 < CJ2K_SLICE_PLANES) {
    below = total;
    total = total_at(shares, ++p);
  }
  if (p && below > total)
    octaves = CLAMP(log(total / aim) / log(total / below), 0, 1);
  memory->base = ldexp(base, (int)p) * exp2(-octaves);
  memory->total = octaves > 0 ? total * pow(below / total, octaves) : total;
  for (uint32_t i = 0; i < CJ2K_RATE_SLICES; i++) {
    double coarse = shares->at_plane[p][i], fine = p ? shares->at_plane[p - 1][i] : coarse;
    memory->slices[i] = coarse > 0 ? (float)(coarse * pow(fine / coarse, octaves)) : 0;
  }
}
