/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HT blocks with the steps in force: measured, coded at plane 0 or at chosen planes, laid out. */
#ifndef CJ2K_RATE_CODING_HT_H
#define CJ2K_RATE_CODING_HT_H

#include "frame.h"

/* A frame with all blocks at plane 0. */
typedef struct {
  double base;           /* of its steps; set by who searches them */
  uint64_t total;        /* bytes of the codestream; an estimate where that is surely too large */
  uint64_t useful;       /* the same without what components have above their ceilings */
  uint64_t header_bytes; /* of `total` */
  bool fits;             /* it was laid out, and keeps to the ceilings */
} Cj2kHtCoded;

/* Codes all blocks at plane 0, keeps everything and lays it out. */
Cj2kStatus cj2k_ht_code_all(Cj2kRateFrame *frame, Cj2kHtCoded *coded);
/* Measures the lengths of each stride-th block at the `count` lowest planes. */
Cj2kStatus cj2k_ht_measure_lengths(Cj2kRateFrame *frame, uint32_t stride, uint8_t count,
                                   Cj2kMeasured *measured);
/* Measures each stride-th block at planes first .. first + count - 1, and makes hulls of it; others
 * stay as coded. */
Cj2kStatus cj2k_ht_measure(Cj2kRateFrame *frame, uint32_t stride, uint8_t first, uint8_t count,
                           Cj2kMeasured *measured);
/* Chooses planes under the ceilings of what was measured, and lays them out. *header_bytes: of
 * another layout of the frame, 0: unknown; becomes that of this one. */
Cj2kStatus cj2k_ht_choose_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured,
                                 uint64_t *header_bytes);
/* Codes the planes that were chosen last, and makes sure that blocks are as they were measured. */
Cj2kStatus cj2k_ht_code_planes(Cj2kRateFrame *frame);

#endif
