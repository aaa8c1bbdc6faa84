// SPDX-License-Identifier: LGPL-2.1-or-later
/* The distortion at the end of each pass (docs/mq-coder.md): what the passes gain, added up. */
#pragma once

#include "contexts_symbols.cuh"

namespace {

constexpr uint32_t kSmallPlanes = 16; /* below this plane the gains of a warp fit into 32 bits */

/* A sum of 128 bits. A distortion is its lower 64 bits, or the largest number that fits. */
struct Distortion {
  uint64_t low, high;

  /* Adds factor * sum * 2^shift. `sum` is signed, with a magnitude of up to 2^51; `shift` is 1 to
   * 63. */
  __device__ __forceinline__ void add(uint32_t shift, uint32_t factor, uint64_t sum)
  {
    int64_t more = (int64_t)sum * factor;
    uint64_t more_low = (uint64_t)more << shift;
    low += more_low;
    high += (uint64_t)(more >> (64 - shift)) + (low < more_low);
  }

  __device__ __forceinline__ uint64_t value() const
  {
    return high ? UINT64_MAX : low;
  }
};

template <uint32_t WARPS> struct PassGains {
  uint64_t *distortions;  /* output */
  uint32_t pass;          /* passes stored so far */
  Distortion *distortion; /* at the end of these; in shared memory, for thread 0 */
  bool reversible;

  /* Adds what a pass has gained, as Distortion::add (). */
  __device__ __forceinline__ void store(uint32_t thread, uint32_t shift, uint32_t factor,
                                        uint64_t sum)
  {
    if (thread == 0) {
      distortion->add(shift, factor, sum);
      distortions[pass] = distortion->value();
    }
    pass++;
  }

  /*
   * The gains of an octet in the passes of a bit-plane, as sums over samples with index q: those
   * that become significant in the significance propagation pass (0) or the cleanup pass (1) gain
   * 4q + 2 - 3 * 2^plane, reversible 4q - 3 * 2^plane; refined ones (2), a distance d away from the
   * value that they were reconstructed as, 2d - 2^plane. 2d is 4l + 2, with l the bits of q below
   * the plane, or their complement if the plane's bit is 0; reversible it is 4l, and 4 more if the
   * bit is 0. The bits of the lower planes are counted plane by plane.
   */
  template <typename Sum>
  __device__ __forceinline__ void sum_gains(const OctetPasses &passes, uint32_t plane,
                                            uint32_t ones, const uint32_t *planes,
                                            uint64_t sums[3]) const
  {
    uint32_t odd = reversible ? 0 : 2;
    Sum found = 0, found_cleaning = 0, refined_bits = 0;
    for (uint32_t k = plane; k-- > 0;) {
      uint32_t lower = planes[k * TeamMemory<WARPS>::kPitch];
      found = 2 * found + __popc(passes.found & lower);
      found_cleaning = 2 * found_cleaning + __popc(passes.found_cleaning & lower);
      refined_bits = 2 * refined_bits + __popc(passes.refining & ~(lower ^ ones));
    }
    Sum base = ((Sum)1 << plane) + odd, half = (Sum)1 << plane;
    uint32_t refining = __popc(passes.refining), zeros = __popc(passes.refining & ~ones);
    found = 4 * found + base * __popc(passes.found);
    found_cleaning = 4 * found_cleaning + base * __popc(passes.found_cleaning);
    refined_bits = 4 * refined_bits + (reversible ? 4 * zeros : 2 * refining) - half * refining;
    sums[0] = found;
    sums[1] = found_cleaning;
    sums[2] = refined_bits;
  }

  /* Adds the gains of the passes of a bit-plane and stores the distortion after each. `planes` is
   * the octet's word of bit-plane 0, `refinements` the number of refined samples of the block. */
  __device__ __forceinline__ void add(const OctetPasses &passes, uint32_t plane, uint32_t ones,
                                      const uint32_t *planes, uint32_t refinements,
                                      const Team<WARPS> &team)
  {
    uint64_t sums[3];
    if (plane < kSmallPlanes) {
      sum_gains<uint32_t>(passes, plane, ones, planes, sums);
      for (uint32_t i = 0; i < 3; i++)
        sums[i] = warp_sum_small((uint32_t)sums[i]);
      if (WARPS > 1) {
        for (uint32_t i = 0; i < 3; i++)
          sums[i] = team.lane == 0 ? (uint64_t)(int64_t)(int32_t)sums[i] : 0;
        team.add_up(sums);
      } else {
        sums[2] = (uint64_t)(int64_t)(int32_t)sums[2];
      }
    } else {
      sum_gains<uint64_t>(passes, plane, ones, planes, sums);
      team.add_up(sums);
    }
    bool exact = reversible && plane == 0;
    if (pass > 0) {
      store(team.thread, 6 + plane, exact ? 4 : 3, sums[0]);
      store(team.thread, 6 + plane, 1, exact ? sums[2] + refinements : sums[2]);
    }
    store(team.thread, 6 + plane, exact ? 4 : 3, sums[1]);
  }
};

} // namespace
