/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the quads of HT cleanup passes take, estimated without coding them. Rate control compares
 * the estimates of two frames, or of one frame with two step sizes, in which most errors cancel
 * out. Both back ends compile this header.
 *
 * A significant quad takes about its exponent for each significant sample (MagSgn), its codeword
 * (VLC), and a residual that grows with the difference to its neighbours' exponents. One without
 * significant samples takes a codeword where it has significant neighbours, and hardly anything
 * elsewhere (MEL). Of the neighbours only the one to the left is looked at. The numbers are those
 * that fit the lengths of 792 codings of natural pictures best; docs/rate-control.md has the
 * remaining errors.
 */
#ifndef CJ2K_SHARED_HT_ESTIMATE_H
#define CJ2K_SHARED_HT_ESTIMATE_H

#include "ht_quantise.h"

/* Sixteenths of a bit: for each significant sample and unit of the exponent; for a significant
 * quad; for each unit by which its exponent differs from that of the quad to the left; for a quad
 * that has no significant sample, but a significant quad to its left. */
#define CJ2K_HT_ESTIMATE_SAMPLE     15
#define CJ2K_HT_ESTIMATE_QUAD       83
#define CJ2K_HT_ESTIMATE_DIFFERENCE 19
#define CJ2K_HT_ESTIMATE_ZERO       63

/* A quad with `significant` significant samples. exponent: that of its largest sample; left: that
 * of the quad to the left, 0 at the left edge of the code-block. In sixteenths of a bit. */
CJ2K_HT_RULE uint32_t cj2k_ht_estimate_quad(uint32_t significant, uint32_t exponent, uint32_t left)
{
  uint32_t difference = exponent > left ? exponent - left : left - exponent;

  if (!significant)
    return left ? CJ2K_HT_ESTIMATE_ZERO : 0;
  return CJ2K_HT_ESTIMATE_QUAD + CJ2K_HT_ESTIMATE_SAMPLE * significant * exponent +
         CJ2K_HT_ESTIMATE_DIFFERENCE * difference;
}

/* The first row of quads of code-block b that is looked at, of each `stride` rows, a power of two;
 * all of them have their turn in successive code-blocks. */
CJ2K_HT_RULE uint32_t cj2k_ht_estimate_first_row(uint32_t b, uint32_t stride)
{
  return b * 3 % stride;
}

#endif
