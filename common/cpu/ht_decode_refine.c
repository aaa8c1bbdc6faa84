/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT SigProp and MagRef passes (T.814 7.4, 7.5), at bit-plane p - 1. Significance is kept in groups
 * of 4 columns of one stripe: bit 4 * column + row.
 */
#include "ht_bits.h"
#include "ht_decode.h"
#include "ht_tables.h"

#define TOP_ROW    0x111111u /* in a window of six columns */
#define BOTTOM_ROW 0x888888u

typedef struct {
  void *samples;
  size_t stride;
  uint32_t width, height, groups; /* groups of a stripe; one more that is zero follows */
  uint8_t plane;
  bool causal;
} Block;

static inline uint32_t spread_rho(uint32_t record)
{
  uint32_t rho = record >> CJ2K_HT_RHO_SHIFT;
  return (rho & 3) | (rho & 12) << 2;
}

/* Samples of group g of stripe y that lie in the block. */
static inline uint32_t inside(const Block *b, uint32_t y, uint32_t g)
{
  uint32_t cols = MIN(b->width - 4 * g, 4), rows = MIN(b->height - y, 4);
  return 0x1111u * ((1u << rows) - 1) & ((1u << 4 * cols) - 1);
}

/* Significance after the cleanup pass: stripes, then one of zeros. */
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
      *sigma++ = (uint16_t)(bits & inside(b, y, g));
    }
    *sigma++ = 0;
  }
  memset(sigma, 0, (b->groups + 1) * sizeof *sigma);
}

/* Samples next to sample i of a group, within the group. */
static const uint16_t neighbours[16] = {
    0x0032, 0x0075, 0x00EA, 0x00C4, 0x0323, 0x0757, 0x0EAE, 0x0C4C,
    0x3230, 0x7570, 0xEAE0, 0xC4C0, 0x2300, 0x5700, 0xAE00, 0x4C00,
};

static inline void set_sample(const Block *b, uint32_t x, uint32_t y, uint64_t magnitude,
                              uint64_t sign, bool wide)
{
  size_t at = y * b->stride + x;
  if (wide)
    ((uint64_t *)b->samples)[at] = magnitude | sign << 63;
  else
    ((uint32_t *)b->samples)[at] = (uint32_t)(magnitude | sign << 31);
}

/* SigProp for one group: `members` are the samples next to significant ones, the rest becomes a
 * member when a neighbour before it becomes significant. Returns what became significant; moves
 * *pos. */
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
      members |= neighbours[i] & candidates & ~0u << i;
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
  uint16_t above[258] = {0}; /* significance of the stripe above after its SigProp */
  size_t pos = 0;
  for (uint32_t y = 0; y < b->height; y += 4, sigma += b->groups + 1) {
    const uint16_t *below = sigma + b->groups + 1;
    uint32_t left = 0, left_above = 0, left_below = 0; /* last columns of the group before */
    for (uint32_t g = 0; g < b->groups; g++) {
      /* Windows of six columns: one, the group's four, one. */
      uint32_t here = left | (uint32_t)sigma[g] << 4 | (sigma[g + 1] & 15u) << 20;
      uint32_t over = left_above | (uint32_t)above[g] << 4 | (above[g + 1] & 15u) << 20;
      uint32_t under = left_below | (uint32_t)below[g] << 4 | (below[g + 1] & 15u) << 20;
      uint32_t near =
          here | (here & ~BOTTOM_ROW) << 1 | (here & ~TOP_ROW) >> 1 | (over & BOTTOM_ROW) >> 3;
      if (!b->causal)
        near |= (under & TOP_ROW) << 3;
      near |= near << 4 | near >> 4;
      uint32_t candidates = inside(b, y, g) & ~(uint32_t)sigma[g];
      uint32_t members = near >> 4 & candidates, fresh = 0;
      if (members)
        fresh = sigprop_group(b, bits, &pos, members, candidates, 4 * g, y, wide);
      left = (sigma[g] | fresh) >> 12;
      left_above = above[g] >> 12;
      left_below = below[g] >> 12;
      above[g] = (uint16_t)(sigma[g] | fresh);
    }
  }
}

/* MagRef: one bit for each sample of the cleanup pass; the midpoint moves by a quarter of its
 * interval. */
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

/* Fills with zeros behind the end. Both passes may use all bytes of the segment; whether they
 * overlap is not checked, a stuffing bit of one may be a data bit of the other. */
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
  Block b = {samples,
             stride,
             in->width,
             in->height,
             (in->width + 3u) / 4,
             set->plane,
             (in->style & CJ2K_STYLE_CAUSAL) != 0};
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
