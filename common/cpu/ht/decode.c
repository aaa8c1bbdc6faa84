/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include <glib.h>
#include <string.h>

/* Bit-planes that fit into 32-bit and 64-bit samples beside sign and half unit. */
#define MAX_PLANES      30
#define MAX_WIDE_PLANES 62

/*
 * Pass n of a block, counted from 0 with the placeholders, is the cleanup pass of HT set n / 3 when
 * n % 3 is 0. A segment that ends with such a pass is a cleanup segment; the passes before it in
 * the segment are placeholders and have no bytes. Refinement segments that follow belong to the
 * same set. An empty cleanup segment is a placeholder too.
 */
static uint32_t last_set(const Cj2kBlockInput *in, Cj2kHtSet *set)
{
  uint32_t pass = 0, offset = 0, index = 0;
  memset(set, 0, sizeof *set);
  for (uint32_t i = 0; i < in->num_segments; i++) {
    const Cj2kSegment *segment = &in->segments[i];
    if (segment->passes == 0 || segment->passes > CJ2K_MAX_PASSES ||
        segment->length > in->length - offset)
      break; /* the data is cut off; the segments before can be decoded */
    pass += segment->passes;
    if (segment->length > 0 && pass % 3 == 1) {
      index = pass / 3;
      set->cleanup = in->data + offset;
      set->cleanup_length = segment->length;
      set->refinement = set->cleanup + segment->length;
      set->refinement_length = 0;
      set->num_passes = 1;
    } else if (segment->length > 0 && set->cleanup && (pass - 1) / 3 == index) {
      set->refinement_length += segment->length;
      set->num_passes = (uint8_t)((pass - 1) % 3 + 1);
    }
    offset += segment->length;
  }
  return index;
}

bool cj2k_ht_find_set(const Cj2kBlockInput *in, Cj2kHtSet *set)
{
  uint32_t skipped = in->zero_bitplanes + last_set(in, set); /* S_blk */
  if (!set->cleanup)
    return true;
  if (skipped >= in->num_bitplanes || set->cleanup_length < 2)
    return false;
  set->plane = (uint8_t)(in->num_bitplanes - 1 - skipped);
  if (set->plane == 0 && set->num_passes > 1)
    return false; /* no bit-plane is left to refine */
  const uint8_t *end = set->cleanup + set->cleanup_length;
  set->suffix_length = (uint32_t)end[-1] << 4 | (end[-2] & 15);
  set->max_exponent = (uint8_t)MIN(skipped + 2, 63u);
  return set->suffix_length >= 2 &&
         set->suffix_length <= MIN(set->cleanup_length, CJ2K_HT_MAX_SCUP);
}

static bool decode_cleanup(Cj2kHtDecodeScratch *ht, const Cj2kHtSet *set, const Cj2kBlockInput *in,
                           void *samples, size_t stride, bool wide)
{
#ifdef CJ2K_HT_AVX2
  if (!wide && set->max_exponent <= CJ2K_HT_AVX2_MAX_EXPONENT && __builtin_cpu_supports("avx2"))
    return cj2k_ht_decode_cleanup_avx2(ht, set, in->width, in->height, samples, stride);
#endif
  return cj2k_ht_decode_quads(ht, set, in->width, in->height) &&
         cj2k_ht_decode_magsgn(ht, set, in->width, in->height, samples, stride, wide);
}

static bool decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, void *samples,
                         size_t stride, bool wide)
{
  Cj2kHtDecodeScratch *ht = scratch->ht_decode;
  Cj2kHtSet set;
  if (!cj2k_ht_find_set(in, &set))
    return false;
  if (!set.cleanup) {
    size_t size = wide ? sizeof(uint64_t) : sizeof(uint32_t);
    for (uint32_t y = 0; y < in->height; y++)
      memset((uint8_t *)samples + y * stride * size, 0, in->width * size);
    return true;
  }
  uint32_t planes = wide ? MAX_WIDE_PLANES : MAX_PLANES;
  if (set.plane >= planes)
    return false;
  set.max_exponent = (uint8_t)MIN(set.max_exponent, planes + 1 - set.plane);
  if (!decode_cleanup(ht, &set, in, samples, stride, wide))
    return false;
  if (set.num_passes > 1)
    cj2k_ht_refine(ht, &set, in, samples, stride, wide);
  return true;
}

bool cj2k_ht_decode_block(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in, uint32_t *samples,
                          size_t stride)
{
  return decode_block(scratch, in, samples, stride, false);
}

bool cj2k_ht_decode_block_wide(Cj2kBlockScratch *scratch, const Cj2kBlockInput *in,
                               uint64_t *samples, size_t stride)
{
  return decode_block(scratch, in, samples, stride, true);
}
