// SPDX-License-Identifier: LGPL-2.1-or-later
/* Classes of slopes, as in common/shared/hull.h. */
#pragma once

#include <cstdint>

namespace {

/* The class of a slope: exponent and 8 bits of the fraction of a positive float. */
__device__ uint32_t slope_class(double gain, uint32_t bytes)
{
  constexpr float kLargest = 3e38f;
  float slope = bytes ? (float)(gain / bytes) : kLargest;
  if (!(slope > 0))
    return 0;
  return __float_as_uint(slope < kLargest ? slope : kLargest) >> 15;
}

} // namespace
