// SPDX-License-Identifier: LGPL-2.1-or-later
/* Shared by the kernels of the HT block decoder. */
#pragma once

#include "drop_bits.cuh"

#include "cuda/shared/bytes.cuh"

extern "C" {
#include "common/shared/ht_tables.h"
}

/* The HT set that is decoded of a block, as in common/cpu/ht/decode.h. Packet parsing has reduced
 * the block to one cleanup segment and at most one refinement segment. */
struct HtSet {
  const uint8_t *cleanup;
  uint32_t cleanup_length, suffix_length, refinement_length;
  uint32_t plane;        /* p */
  uint32_t max_exponent; /* no U_q may be larger */
  uint32_t num_passes;   /* 1..3 */
};

/* Fills `set` from the block's record and from Scup (T.814 7.1.1). false: the block is corrupt. */
__device__ __forceinline__ bool find_set(const Cj2kCudaDecodeBlocks &frame, uint32_t b,
                                         const Block &block, HtSet &set)
{
  const Cj2kCodedBlock coded = frame.coded[b];
  const Cj2kSegment *segments = frame.segments + coded.first_segment;
  set.cleanup = frame.data + coded.offset;
  set.cleanup_length = segments[0].length;
  set.num_passes = 1;
  set.refinement_length = 0;
  if (coded.num_segments > 1 && segments[1].length) {
    set.refinement_length = segments[1].length;
    set.num_passes = 1 + segments[1].passes;
  }
  if (coded.zero_bitplanes >= block.num_bitplanes || set.cleanup_length < 2)
    return false;
  set.plane = block.num_bitplanes - 1 - coded.zero_bitplanes;
  if (set.plane == 0 && set.num_passes > 1)
    return false;
  const uint8_t *end = set.cleanup + set.cleanup_length;
  set.suffix_length = (uint32_t)end[-1] << 4 | (end[-2] & 15);
  set.max_exponent = min(min(coded.zero_bitplanes + 2u, 63u), 31u - set.plane);
  return set.suffix_length >= 2 && set.suffix_length <= min(set.cleanup_length, 4079u);
}
