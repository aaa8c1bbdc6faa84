/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "distortion.h"
#include "common/runtime/simd.h"

#define MAX_FAST_MAGNITUDE ((1u << 21) - 1) /* the sum of 4096 gains fits into 64 bits */

static uint32_t all_bits(const Cj2kBlockSource *source)
{
  uint32_t bits = 0;
  for (uint32_t y = 0; y < source->height; y++)
    for (uint32_t x = 0; x < source->width; x++)
      bits |= source->samples[y * source->stride + x];
  return bits & 0x7FFFFFFF;
}

/* The sum of cj2k_ht_sample_gain() of n samples with magnitudes up to MAX_FAST_MAGNITUDE. */
CJ2K_SIMD static uint64_t row_gain(const uint32_t *row, uint32_t n, uint32_t plane, bool reversible)
{
  uint32_t half = reversible ? 0 : 1, middle = plane == 0 ? half : 1u << plane;
  uint64_t sum = 0;
  for (uint32_t x = 0; x < n; x++) {
    uint32_t magnitude = row[x] & 0x7FFFFFFF, mu = magnitude >> plane;
    uint32_t decoded = mu ? 2 * (mu << plane) + middle : 0;
    sum += (uint64_t)decoded * (2 * (2 * magnitude + half) - decoded);
  }
  return sum;
}

Cj2kHtGain cj2k_ht_cleanup_gain(const Cj2kBlockSource *source, uint32_t plane)
{
  Cj2kHtGain sum = 0;
  bool fast = all_bits(source) <= MAX_FAST_MAGNITUDE;
  for (uint32_t y = 0; y < source->height; y++) {
    const uint32_t *row = source->samples + y * source->stride;
    if (fast)
      sum += row_gain(row, source->width, plane, source->reversible);
    else
      for (uint32_t x = 0; x < source->width; x++)
        sum += cj2k_ht_sample_gain(row[x], plane, source->reversible);
  }
  return sum;
}

uint64_t cj2k_ht_distortion(Cj2kHtGain gain)
{
  return gain > UINT64_MAX / 64 ? UINT64_MAX : (uint64_t)gain * 64;
}
