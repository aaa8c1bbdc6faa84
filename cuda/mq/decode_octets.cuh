// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which octets (octet.cuh) of a code-block a coding pass visits, and in which order.
 *
 * There is a set of octets for each type of pass, a bit for each octet. Significance propagation
 * visits octets with a significant sample in or around them, refinement those with a significant
 * sample in them, cleanup those with samples that are neither significant nor coded in the
 * bit-plane yet. A set may contain more octets than necessary, never fewer.
 */
#pragma once

#include "decode_memory.cuh"

namespace {

/* A set has a word for each group of 32 octets. If there is only one group, the three words are in
 * registers, else (WIDE) in shared memory. */
template <uint32_t LANES, bool WIDE> struct OctetSets {
  static constexpr uint32_t kWord = OctetMemory<LANES, WIDE>::kWord;

  uint32_t address, groups;
  uint32_t significance, refinement, cleanup; /* not used if WIDE */

  __device__ __forceinline__ uint32_t get(uint32_t type, uint32_t group) const
  {
    if (WIDE)
      return shared_word(address + (type * groups + group) * kWord);
    return type == CJ2K_PASS_SIGNIFICANCE ? significance
           : type == CJ2K_PASS_CLEANUP    ? cleanup
                                          : refinement;
  }

  __device__ __forceinline__ void set(uint32_t type, uint32_t group, uint32_t octets)
  {
    if (WIDE)
      set_shared_word(address + (type * groups + group) * kWord, octets);
    else if (type == CJ2K_PASS_SIGNIFICANCE)
      significance = octets;
    else if (type == CJ2K_PASS_CLEANUP)
      cleanup = octets;
    else
      refinement = octets;
  }

  __device__ __forceinline__ void add(uint32_t type, uint32_t group, uint32_t octets)
  {
    if (WIDE)
      add_shared_bits(address + (type * groups + group) * kWord, octets);
    else if (type == CJ2K_PASS_SIGNIFICANCE)
      significance |= octets;
    else if (type == CJ2K_PASS_CLEANUP)
      cleanup |= octets;
    else
      refinement |= octets;
  }

  /* Removes all octets of a group but these. */
  __device__ __forceinline__ void keep(uint32_t type, uint32_t group, uint32_t octets)
  {
    if (WIDE)
      keep_shared_bits(address + (type * groups + group) * kWord, octets);
    else if (type == CJ2K_PASS_SIGNIFICANCE)
      significance &= octets;
    else if (type == CJ2K_PASS_CLEANUP)
      cleanup &= octets;
    else
      refinement &= octets;
  }

  /* Before the first pass: nothing is significant, all is left to the cleanup pass. */
  __device__ __forceinline__ void reset(uint32_t num_octets)
  {
    for (uint32_t g = 0; g < groups; g++) {
      set(CJ2K_PASS_SIGNIFICANCE, g, 0);
      set(CJ2K_PASS_REFINEMENT, g, 0);
      set(CJ2K_PASS_CLEANUP, g, 0xFFFFFFFFu >> (32 - min(num_octets - 32 * g, 32u)));
    }
  }

  /* Adds octets to the significance propagation set: bit 1 of `three` stands for `octet`, bits 0
   * and 2 for the ones before and behind it. Bits of octets that do not exist must be zero. WIDE
   * only. */
  __device__ __forceinline__ void add_near(uint32_t octet, uint32_t three)
  {
    /* Bit 0 has place octet - 1, so that the three can be in two groups. A group that does not
     * exist is another word of the same lane, to which nothing is added: faster than a branch. */
    uint32_t place = octet - 1, group = (uint32_t)((int32_t)place >> 5);
    add(CJ2K_PASS_SIGNIFICANCE, group, __funnelshift_l(0, three, place));
    add(CJ2K_PASS_SIGNIFICANCE, group + 1, __funnelshift_l(three, 0, place));
  }

  /* The samples `found` of `octet`, which is `bit` of `group`, have become significant. `beside`
   * is as in Visit. */
  __device__ __forceinline__ void add_significant(uint32_t octet, uint32_t group, uint32_t bit,
                                                  uint32_t found, uint32_t beside,
                                                  const BlockShape &shape)
  {
    uint32_t three = (2u | ((found & 0xF) ? 1u : 0u) | ((found >> 28) ? 4u : 0u)) & beside;
    bool up = found & kRow0, down = found & kRow3;
    uint32_t across = shape.across, num_octets = shape.num_octets;
    if (WIDE) {
      bool above = up && octet >= across, below = down && octet + across < num_octets;
      add_near(octet, three);
      add_near(octet - (above ? across : 0), above ? three : 0);
      add_near(octet + (below ? across : 0), below ? three : 0);
      add(CJ2K_PASS_REFINEMENT, group, bit);
    } else {
      uint32_t row = bit | (three & 1 ? bit >> 1 : 0) | (three & 4 ? bit << 1 : 0);
      row |= (up ? row >> across % 32 : 0) | (down ? row << across % 32 : 0);
      significance |= row & 0xFFFFFFFFu >> (32 - num_octets);
      refinement |= bit;
    }
  }
};

/* What passes leave in device memory for later visits of an octet. Only these visits need it, and
 * which octet is next is known early enough to load it ahead. */
struct alignas(8) OctetHistory {
  uint32_t coded;   /* samples coded in the significance propagation pass of this bit-plane */
  uint32_t refined; /* samples refined before */
};

/* The order of visits in a pass: group by group, lowest bit first. */
template <uint32_t LANES, bool WIDE> struct OctetWalk {
  OctetSets<LANES, WIDE> sets;
  uint32_t group, octets; /* octets of the group that are still to be visited */
  OctetHistory *histories;
  OctetHistory next_history; /* of the first one of `octets` */

  __device__ __forceinline__ uint32_t first() const
  {
    return 32 * group + place_of_first(octets);
  }

  __device__ __forceinline__ void load_history(uint32_t type)
  {
    if (octets && type != CJ2K_PASS_SIGNIFICANCE)
      next_history = histories[first()];
  }

  __device__ __forceinline__ void begin_pass(uint32_t type)
  {
    group = 0;
    octets = sets.get(type, 0);
    load_history(type);
  }

  /* Goes on to the next group with octets to visit, if need be. Returns false at the end of the
   * pass. */
  __device__ __forceinline__ bool find_octet(uint32_t type)
  {
    while (WIDE && octets == 0 && ++group < sets.groups) {
      octets = sets.get(type, group);
      load_history(type);
    }
    return octets != 0;
  }

  /* Behind a visit of the significance propagation pass. `rest`: samples are left to the cleanup
   * pass; `full`: all samples are significant. */
  __device__ __forceinline__ void leave_significance(uint32_t bit, bool rest, bool full)
  {
    sets.add(CJ2K_PASS_CLEANUP, group, rest ? bit : 0);
    sets.keep(CJ2K_PASS_CLEANUP, group, rest ? 0xFFFFFFFFu : ~bit);
    /* The visit may have added octets that come later in this pass. */
    octets |= sets.get(CJ2K_PASS_SIGNIFICANCE, group) & (0 - 2 * bit);
    sets.keep(CJ2K_PASS_SIGNIFICANCE, group, full ? ~bit : 0xFFFFFFFFu);
  }
};

} // namespace
