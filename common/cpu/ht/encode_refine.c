/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT SigProp and MagRef passes (T.814 7.4, 7.5, 7.1.4, 7.1.5), at bit-plane p - 1. SigProp is
 * written forwards, MagRef backwards; both fill their last byte with zeros. They never share a
 * byte.
 */
#include "bits.h"
#include "encode.h"

static void collect_sigma(const Cj2kBlockSource *source, uint32_t plane, uint16_t *sigma)
{
  uint32_t groups = cj2k_ht_groups(source->width);
  memset(sigma, 0, (groups + 1) * ((source->height + 3u) / 4 + 1) * sizeof *sigma);
  for (uint32_t y = 0; y < source->height; y++) {
    uint16_t *stripe = sigma + y / 4 * (groups + 1);
    const uint32_t *row = source->samples + y * source->stride;
    for (uint32_t x = 0; x < source->width; x++) {
      uint32_t significant = (row[x] & 0x7FFFFFFF) >> plane != 0;
      stripe[x / 4] = (uint16_t)(stripe[x / 4] | significant << (4 * (x % 4) + y % 4));
    }
  }
}

/* Sample i of a group whose first sample is *first. */
static inline uint32_t group_sample(const uint32_t *first, size_t stride, uint32_t i)
{
  return first[i % 4 * stride + i / 4];
}

/* Codes the members in order, to which the neighbours of a sample that becomes significant are
 * added, then the signs. Returns the samples that became significant. */
static uint32_t put_sigprop_group(Cj2kHtBits *out, const uint32_t *first, size_t stride,
                                  uint32_t bit_plane, uint32_t members, uint32_t candidates)
{
  uint64_t bits = 0;
  uint32_t length = 0, fresh = 0;
  while (members) {
    uint32_t i = (uint32_t)__builtin_ctz(members);
    uint32_t bit = group_sample(first, stride, i) >> bit_plane & 1;
    members &= members - 1;
    bits |= (uint64_t)bit << length++;
    if (bit) {
      fresh |= 1u << i;
      members |= cj2k_ht_neighbours(i) & candidates & ~0u << i;
    }
  }
  for (uint32_t rest = fresh; rest; rest &= rest - 1) {
    uint32_t i = (uint32_t)__builtin_ctz(rest);
    bits |= (uint64_t)(group_sample(first, stride, i) >> 31) << length++;
  }
  cj2k_put_bits(out, bits, length);
  return fresh;
}

/* Fills the last byte with zeros. The segment must not end with FF. In the last pass zero bytes at
 * the end are left out, since the decoder reads zeros behind the end. */
static uint32_t finish_sigprop(uint8_t *out, size_t length, const Cj2kHtRest *rest, bool last)
{
  if (rest->count > 0 || rest->stuffed)
    out[length++] = (uint8_t)rest->bits;
  while (last && length > 0 && out[length - 1] == 0 && (length < 2 || out[length - 2] != 0xFF))
    length--;
  return (uint32_t)length;
}

uint32_t cj2k_ht_encode_sigprop(Cj2kHtEncodeScratch *scratch, const Cj2kBlockSource *source,
                                uint32_t plane, bool last, uint8_t *out, Cj2kHtGain *gain)
{
  Cj2kHtSigProp s = {.groups = cj2k_ht_groups(source->width),
                     .causal = (source->style & CJ2K_STYLE_CAUSAL) != 0};
  Cj2kHtBits bits = {.out = scratch->refine};
  const uint16_t *sigma = scratch->sigma;
  collect_sigma(source, plane, scratch->sigma);
  for (uint32_t y = 0; y < source->height; y += 4, sigma += s.groups + 1) {
    cj2k_ht_sigprop_start_stripe(&s, sigma);
    for (uint32_t g = 0; g < s.groups; g++) {
      const uint32_t *first = source->samples + y * source->stride + 4 * g;
      uint32_t candidates =
          cj2k_ht_inside(source->width, source->height, y, g) & ~(uint32_t)sigma[g];
      uint32_t members = cj2k_ht_sigprop_members(&s, g) & candidates, fresh = 0;
      if (members)
        fresh = put_sigprop_group(&bits, first, source->stride, plane - 1, members, candidates);
      for (uint32_t rest = fresh; gain && rest; rest &= rest - 1)
        *gain +=
            cj2k_ht_sample_gain(group_sample(first, source->stride, (uint32_t)__builtin_ctz(rest)),
                                plane - 1, source->reversible);
      cj2k_ht_sigprop_next(&s, g, fresh);
    }
  }
  Cj2kHtRest rest;
  size_t length =
      cj2k_ht_stuff_forward(scratch->refine, cj2k_bits_put(&bits, scratch->refine), out, &rest);
  return finish_sigprop(out, length, &rest, last);
}

uint32_t cj2k_ht_encode_magref(Cj2kHtEncodeScratch *scratch, const Cj2kBlockSource *source,
                               uint32_t plane, uint8_t *out, Cj2kHtGain *gain)
{
  uint32_t groups = cj2k_ht_groups(source->width);
  Cj2kHtBits bits = {.out = scratch->refine};
  const uint16_t *sigma = scratch->sigma;
  for (uint32_t y = 0; y < source->height; y += 4, sigma += groups + 1) {
    for (uint32_t g = 0; g < groups; g++) {
      const uint32_t *first = source->samples + y * source->stride + 4 * g;
      uint32_t word = 0, length = 0;
      for (uint32_t rest = sigma[g]; rest; rest &= rest - 1) {
        uint32_t sample = group_sample(first, source->stride, (uint32_t)__builtin_ctz(rest));
        word |= (sample >> (plane - 1) & 1) << length++;
        if (gain)
          *gain += cj2k_ht_sample_gain(sample, plane - 1, source->reversible) -
                   cj2k_ht_sample_gain(sample, plane, source->reversible);
      }
      cj2k_put_bits(&bits, word, length);
    }
  }
  Cj2kHtRest rest;
  uint8_t *end = scratch->refine_bytes + sizeof scratch->refine_bytes;
  size_t length =
      cj2k_ht_stuff_backward(scratch->refine, cj2k_bits_put(&bits, scratch->refine), end, &rest);
  if (rest.count > 0)
    end[-(ptrdiff_t)++length] = (uint8_t)rest.bits;
  memcpy(out, end - length, length);
  return (uint32_t)length;
}
