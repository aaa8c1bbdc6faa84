/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decrease of the squared error by HT coding passes, in squared half units, exact. */
#ifndef CJ2K_CPU_HT_DISTORTION_H
#define CJ2K_CPU_HT_DISTORTION_H

#include "common/cpu/blockcoder.h"

__extension__ typedef unsigned __int128 Cj2kHtGain;

/*
 * The gain of decoding one sample down to a plane: its squared error when it is zero minus that of
 * its reconstruction. The true value is taken as the quantiser index when reversible, else as the
 * middle of its interval.
 */
static inline Cj2kHtGain cj2k_ht_sample_gain(uint32_t sample, uint32_t plane, bool reversible)
{
  uint64_t magnitude = sample & 0x7FFFFFFF, mu = magnitude >> plane, half = reversible ? 0 : 1;
  /* plane is below 31. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
  uint64_t decoded = mu ? 2 * (mu << plane) + (plane == 0 ? half : UINT64_C(1) << plane) : 0;
  return (Cj2kHtGain)decoded * (2 * (2 * magnitude + half) - decoded);
}

/* The gain of a cleanup pass at a plane. */
Cj2kHtGain cj2k_ht_cleanup_gain(const Cj2kBlockSource *source, uint32_t plane);

/* A gain in units of (step / 16)^2, saturating at UINT64_MAX. */
uint64_t cj2k_ht_distortion(Cj2kHtGain gain);

#endif
