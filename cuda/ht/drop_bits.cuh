// SPDX-License-Identifier: LGPL-2.1-or-later
/* Stuffed bits (T.814 7.1). */
#pragma once

#include <cstdint>

/* Removes the bits at `places` from a word and closes the gaps. Mostly there is none to remove. */
__device__ __forceinline__ uint32_t drop_bits(uint32_t word, uint32_t places)
{
  while (places) { /* highest first */
    uint32_t place = 31 - __clz(places), below = (1u << place) - 1;
    word = (word & below) | (word >> 1 & ~below);
    places &= below;
  }
  return word;
}
