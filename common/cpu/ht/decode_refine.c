/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HT SigProp and MagRef passes (T.814 7.4, 7.5), at bit-plane p - 1. */
#include "bits.h"
#include "common/shared/ht_tables.h"
#include "decode.h"
#include "stripes.h"

typedef struct {
  void *samples;
  size_t stride;
  uint32_t width, height, groups;
  uint8_t plane;
  bool causal;
} Block;

/* Moves rho of a quad to two columns of a group. */
static inline uint32_t spread_rho(uint32_t record)
{
  uint32_t rho = record >> CJ2K_HT_RHO_SHIFT;
  return (rho & 3) | (rho & 12) << 2;
}

static void collect_sigma(const Block *b, const uint32_t *quads, uint32_t quad_stride,
                          uint16_t *sigma)
{
  for (uint32_t y = 0; y < b->height; y += 4, quads += 2 * quad_stride) {
    bool two = b->height - y > 2;
    for (uint32_t g = 0; g < b->groups; g++) {
      const uint32_t *upper = quads + 2 * g, *lower = upper + quad_stride;
      uint32_t bits = spread_rho(upper[0]) | spread_rho(upper[1]) << 8;
      if (two)
        bits |= (spread_rho(lower[0]) | spread_rho(lower[1]) << 8) << 2;
      *sigma++ = (uint16_t)(bits & cj2k_ht_inside(b->width, b->height, y, g));
    }
    *sigma++ = 0;
  }
  memset(sigma, 0, (b->groups + 1) * sizeof *sigma);
}

static inline void set_sample(const Block *b, uint32_t x, uint32_t y, uint64_t magnitude,
                              uint64_t sign, bool wide)
{
  size_t at = y * b->stride + x;
  if (wide)
    ((uint64_t *)b->samples)[at] = magnitude | sign << 63;
  else
    ((uint32_t *)b->samples)[at] = (uint32_t)(magnitude | sign << 31);
}

/* SigProp of the group at x, y: first the magnitude bits of its members, to which a sample is added
 * when a neighbour before it becomes significant, then the signs of the samples that became
 * significant. Returns those and advances *pos. */
static inline uint32_t sigprop_group(const Block *b, const uint8_t *bits, size_t *pos,
                                     uint32_t members, uint32_t candidates, uint32_t x, uint32_t y,
                                     bool wide)
{
  uint64_t word = cj2k_bits_at(bits, *pos); /* up to 16 + 16 bits */
  uint32_t used = 0, fresh = 0;
  while (members) {
    uint32_t i = (uint32_t)__builtin_ctz(members);
    members &= members - 1;
    if (word >> used++ & 1) {
      fresh |= 1u << i;
      members |= cj2k_ht_neighbours(i) & candidates & ~0u << i;
    }
  }
  for (uint32_t rest = fresh; rest; rest &= rest - 1) {
    uint32_t i = (uint32_t)__builtin_ctz(rest);
    set_sample(b, x + i / 4, y + i % 4, UINT64_C(3) << (b->plane - 1), word >> used++ & 1, wide);
  }
  *pos += used;
  return fresh;
}

static inline __attribute__((always_inline)) void sigprop(const Block *b, const uint8_t *bits,
                                                          const uint16_t *sigma, bool wide)
{
  Cj2kHtSigProp s = {.groups = b->groups, .causal = b->causal};
  size_t pos = 0;
  for (uint32_t y = 0; y < b->height; y += 4, sigma += b->groups + 1) {
    cj2k_ht_sigprop_start_stripe(&s, sigma);
    for (uint32_t g = 0; g < b->groups; g++) {
      uint32_t candidates = cj2k_ht_inside(b->width, b->height, y, g) & ~(uint32_t)sigma[g];
      uint32_t members = cj2k_ht_sigprop_members(&s, g) & candidates, fresh = 0;
      if (members)
        fresh = sigprop_group(b, bits, &pos, members, candidates, 4 * g, y, wide);
      cj2k_ht_sigprop_next(&s, g, fresh);
    }
  }
}

/* MagRef: one bit for each sample that the cleanup pass made significant. The bit moves the
 * midpoint by a quarter of its interval. */
static inline __attribute__((always_inline)) void magref(const Block *b, const uint8_t *bits,
                                                         const uint16_t *sigma, bool wide)
{
  size_t pos = 0;
  uint64_t quarter = UINT64_C(1) << (b->plane - 1);
  for (uint32_t y = 0; y < b->height; y += 4, sigma += b->groups + 1) {
    for (uint32_t g = 0; g < b->groups; g++) {
      uint64_t word = cj2k_bits_at(bits, pos);
      for (uint32_t rest = sigma[g]; rest; rest &= rest - 1, word >>= 1, pos++) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        size_t at = (y + i % 4) * b->stride + 4 * g + i / 4;
        uint64_t change = word & 1 ? quarter : -quarter;
        if (wide)
          ((uint64_t *)b->samples)[at] += change;
        else
          ((uint32_t *)b->samples)[at] += (uint32_t)change;
      }
    }
  }
}

/* Loads as many bits as one pass may need; zeros follow the end. Both passes may use all bytes of
 * the segment. An overlap is not checked, since a stuffing bit of one pass may be a data bit of the
 * other. */
static void load_bits(uint8_t *out, const Cj2kHtSet *set, bool backward)
{
  size_t length = MIN(set->refinement_length, CJ2K_HT_REFINE_BYTES);
  const uint8_t *in = set->refinement + (backward ? set->refinement_length - length : 0);
  size_t bits = backward ? cj2k_ht_destuff_backward(in, length, false, out)
                         : cj2k_ht_destuff_forward(in, length, out);
  size_t bytes = (bits >> 3) + 1;
  memset(out + bytes, 0, CJ2K_HT_REFINE_BYTES + 64 - bytes);
}

void cj2k_ht_refine(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, const Cj2kBlockInput *in,
                    void *samples, size_t stride, bool wide)
{
  Block b = {.samples = samples,
             .stride = stride,
             .width = in->width,
             .height = in->height,
             .groups = cj2k_ht_groups(in->width),
             .plane = set->plane,
             .causal = (in->style & CJ2K_STYLE_CAUSAL) != 0};
  collect_sigma(&b, scratch->quads + CJ2K_HT_QUAD_PAD, cj2k_ht_quad_stride(in->width),
                scratch->sigma);
  load_bits(scratch->refine, set, false);
  if (wide)
    sigprop(&b, scratch->refine, scratch->sigma, true);
  else
    sigprop(&b, scratch->refine, scratch->sigma, false);
  if (set->num_passes < 3)
    return;
  load_bits(scratch->refine, set, true);
  if (wide)
    magref(&b, scratch->refine, scratch->sigma, true);
  else
    magref(&b, scratch->refine, scratch->sigma, false);
}
