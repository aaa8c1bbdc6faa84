/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The scan of SigProp and MagRef (T.814 7.4, 7.5): stripes of 4 rows, in a stripe groups of 4
 * columns, in a group column by column. A group has 16 bits; bit 4 * column + row is a sample.
 */
#ifndef CJ2K_CPU_HT_STRIPES_H
#define CJ2K_CPU_HT_STRIPES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define CJ2K_HT_MAX_STRIPE_GROUPS 256

/* Significance of a block after its cleanup pass is sigma[stripe][groups + 1]. The last entry of
 * each stripe is zero, and so is one more stripe at the end. */
#define CJ2K_HT_MAX_GROUPS (4096 / 4 + 2 * 256)

static inline uint32_t cj2k_ht_groups(uint32_t width)
{
  return (width + 3) / 4;
}

/* Samples of group g of the stripe at row y that lie in the block. */
static inline uint32_t cj2k_ht_inside(uint32_t width, uint32_t height, uint32_t y, uint32_t g)
{
  uint32_t cols = MIN(width - 4 * g, 4), rows = MIN(height - y, 4);
  return (0x1111u * ((1u << rows) - 1)) & ((1u << 4 * cols) - 1);
}

/* The neighbours of sample i within its group. */
static inline uint32_t cj2k_ht_neighbours(uint32_t i)
{
  static const uint16_t near_to[16] = {
      0x0032, 0x0075, 0x00EA, 0x00C4, 0x0323, 0x0757, 0x0EAE, 0x0C4C,
      0x3230, 0x7570, 0xEAE0, 0xC4C0, 0x2300, 0x5700, 0xAE00, 0x4C00,
  };
  return near_to[i];
}

/* State of a SigProp pass between two groups. */
typedef struct {
  const uint16_t *sigma; /* of this stripe */
  uint32_t groups;
  bool causal;
  uint32_t left, left_above, left_below;         /* last column of the previous group, bits 3..0 */
  uint16_t above[CJ2K_HT_MAX_STRIPE_GROUPS + 1]; /* the stripe above, after SigProp */
} Cj2kHtSigProp;

static inline void cj2k_ht_sigprop_start_stripe(Cj2kHtSigProp *s, const uint16_t *sigma)
{
  s->sigma = sigma;
  s->left = s->left_above = s->left_below = 0;
}

/* Samples of group g that have a significant neighbour before the group is coded. */
static inline uint32_t cj2k_ht_sigprop_members(const Cj2kHtSigProp *s, uint32_t g)
{
  /* Windows of six columns: the four of the group and one on each side. */
  const uint32_t top_row = 0x111111, bottom_row = 0x888888;
  const uint16_t *below = s->sigma + s->groups + 1;
  uint32_t here = s->left | (uint32_t)s->sigma[g] << 4 | (s->sigma[g + 1] & 15u) << 20;
  uint32_t over = s->left_above | (uint32_t)s->above[g] << 4 | (s->above[g + 1] & 15u) << 20;
  uint32_t under = s->left_below | (uint32_t)below[g] << 4 | (below[g + 1] & 15u) << 20;
  uint32_t near =
      here | (here & ~bottom_row) << 1 | (here & ~top_row) >> 1 | (over & bottom_row) >> 3;
  if (!s->causal)
    near |= (under & top_row) << 3;
  near |= near << 4 | near >> 4;
  return near >> 4 & 0xFFFF;
}

/* Advances to the next group; fresh: the samples that became significant. */
static inline void cj2k_ht_sigprop_next(Cj2kHtSigProp *s, uint32_t g, uint32_t fresh)
{
  s->left = (s->sigma[g] | fresh) >> 12;
  s->left_above = s->above[g] >> 12;
  s->left_below = s->sigma[s->groups + 1 + g] >> 12;
  s->above[g] = (uint16_t)(s->sigma[g] | fresh);
}

#endif
