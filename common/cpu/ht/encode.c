/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"
#include "decode.h"

#include <string.h>

static void end_pass(Cj2kPassEnd *pass, uint32_t length, bool terminated, Cj2kHtGain gain)
{
  if (!pass)
    return;
  pass->length = length;
  pass->terminated = terminated;
  pass->distortion = cj2k_ht_distortion(gain);
}

/* Codes the refinement passes and appends them to the cleanup pass; updates *result. false: out is
 * too small. */
static bool encode_refinement(Cj2kHtEncodeScratch *ht, const Cj2kBlockSource *source,
                              uint32_t plane, uint8_t refinements, Cj2kHtGain gain, uint8_t *out,
                              uint32_t capacity, Cj2kPassEnd *passes, Cj2kBlockResult *result)
{
  uint32_t cleanup = result->length;
  bool both = refinements > 1;
  Cj2kHtGain *sum = passes ? &gain : NULL;
  uint32_t length = cj2k_ht_encode_sigprop(ht, source, plane, !both, ht->segment, sum);
  if (!both && length == 0)
    return true; /* the refinement is empty */
  end_pass(passes ? &passes[1] : NULL, cleanup + length, !both, gain);
  if (both) {
    length += cj2k_ht_encode_magref(ht, source, plane, ht->segment + length, sum);
    end_pass(passes ? &passes[2] : NULL, cleanup + length, true, gain);
  }
  if (length > capacity - cleanup)
    return false;
  memcpy(out + cleanup, ht->segment, length);
  result->length = cleanup + length;
  result->num_passes = both ? 3 : 2;
  return true;
}

bool cj2k_ht_encode_block(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source, uint8_t plane,
                          uint8_t refinements, uint8_t *out, uint32_t capacity,
                          Cj2kPassEnd passes[3], Cj2kBlockResult *result)
{
  Cj2kHtEncodeScratch *ht = scratch->ht_encode;
  Cj2kHtCleanup cleanup;
  *result = (Cj2kBlockResult){0};
  if (plane >= source->num_bitplanes)
    return true;
  uint32_t length = cj2k_ht_encode_cleanup(ht, source, plane, &cleanup);
  if (length == 0)
    return true;
  if (length > capacity || cleanup.mel + cleanup.vlc > CJ2K_HT_MAX_SCUP)
    return false;
  cj2k_ht_write_cleanup(ht, &cleanup, out);
  result->num_passes = 1;
  result->zero_bitplanes = (uint8_t)(source->num_bitplanes - 1 - plane);
  result->length = length;
  Cj2kHtGain gain = passes ? cj2k_ht_cleanup_gain(source, plane) : 0;
  end_pass(passes, length, true, gain);
  if (refinements == 0 || plane == 0)
    return true;
  return encode_refinement(ht, source, plane, refinements, gain, out, capacity, passes, result);
}

void cj2k_ht_cleanup_lengths(Cj2kBlockScratch *scratch, const Cj2kBlockSource *source,
                             uint8_t first, uint8_t count, uint32_t *lengths)
{
  Cj2kHtCleanup cleanup;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t plane = first + i;
    lengths[i] = plane < source->num_bitplanes
                     ? cj2k_ht_encode_cleanup(scratch->ht_encode, source, plane, &cleanup)
                     : 0;
  }
}

uint64_t cj2k_ht_cleanup_distortion(const Cj2kBlockSource *source, uint8_t plane)
{
  return cj2k_ht_distortion(cj2k_ht_cleanup_gain(source, plane));
}
