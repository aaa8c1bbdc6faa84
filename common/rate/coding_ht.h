/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HT blocks with the current steps: measuring, coding at plane 0 or at chosen planes, layout. */
#ifndef CJ2K_RATE_CODING_HT_H
#define CJ2K_RATE_CODING_HT_H

#include "frame.h"

/* A frame with all blocks at plane 0. */
typedef struct {
  double base;           /* that of its steps, if the range has ratios; else set by the caller */
  uint64_t total;        /* bytes of the codestream */
  uint64_t useful;       /* `total` without the bytes by which components exceed their ceilings */
  uint64_t header_bytes; /* part of `total`; not known if `cut` */
  bool fits;             /* it is within the ceilings */
  double estimate;       /* with a range: in proportion to bytes (cj2k_ht_estimate_bytes) */
  double last;           /* the same, the last one of the frame; */
  double last_base;      /* and the base that it was made for */
  bool left_out;         /* it was out of range: nothing but that is known */
  bool cut;              /* the back end has cut it by now, as was foreseen */
} Cj2kHtCoded;

/* What is measured for a small cut: planes, each so many-th block. If the frame learnt from an
 * earlier one, its excess is mostly below the part CUT_PART of the budget, for which that stride
 * leaves enough blocks to choose from. */
#define CJ2K_HT_CUT_PLANES 2
#define CJ2K_HT_CUT_STRIDE 11
#define CJ2K_HT_CUT_PART   0.015

/* What is likely to follow when all blocks are coded at plane 0. */
typedef enum {
  CJ2K_HT_NOT_KNOWN = 0,
  CJ2K_HT_STAYS,    /* nothing, whatever the frame takes within its ceilings */
  CJ2K_HT_SMALL_CUT /* a small cut, or nothing; else other steps are searched */
} Cj2kHtOutlook;

/* The part of a budget from which on a frame that learnt from an earlier one is accepted. */
#define CJ2K_HT_USED 0.985

/* Codes all blocks at plane 0, retains everything and lays it out. With an outlook the back end may
 * do at once what is likely to follow. range: nothing is coded unless the estimate is in it; if it
 * has ratios, the base for the estimate becomes that of the frame's steps. NULL: no estimate. */
Cj2kStatus cj2k_ht_code_all(Cj2kRateFrame *frame, Cj2kHtOutlook outlook,
                            const Cj2kEstimateRange *range, Cj2kHtCoded *coded);
/* Measures the lengths of each stride-th block at the `count` lowest planes. */
Cj2kStatus cj2k_ht_measure_lengths(Cj2kRateFrame *frame, uint32_t stride, uint8_t count,
                                   Cj2kMeasured *measured);
/* Estimates what all blocks take at plane 0 with the current steps, in proportion to bytes. */
Cj2kStatus cj2k_ht_estimate_bytes(Cj2kRateFrame *frame, double *bytes);
/* The range of such estimates from `least` to `most` bytes. */
Cj2kEstimateRange cj2k_ht_estimate_range(const Cj2kRateFrame *frame, double least, double most);
/* Measures each stride-th block at planes first .. first + count - 1 and makes hulls of the
 * results; the other blocks remain as they were coded. */
Cj2kStatus cj2k_ht_measure(Cj2kRateFrame *frame, uint32_t stride, uint8_t first, uint8_t count,
                           Cj2kMeasured *measured);
/* Chooses planes within the ceilings from the measured ones and lays them out. *header_bytes: on
 * input those of another layout of the frame, 0: unknown; on output those of this layout. */
Cj2kStatus cj2k_ht_choose_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured,
                                 uint64_t *header_bytes);
/* If the layout is from sizes that the back end knows, leaves the packets to it, or has the host
 * make them. Call it when rate control is done. */
Cj2kStatus cj2k_ht_finish_layout(Cj2kRateFrame *frame);
/* Leaves the packets of a frame that the back end has cut to it. */
void cj2k_ht_leave_cut(Cj2kRateFrame *frame);
/* Chooses planes as above and has place() code and lay them out, if it can, and if the frame will
 * surely be left as it is then. header_bytes: as above. */
bool cj2k_ht_leave_planes(Cj2kRateFrame *frame, const Cj2kMeasured *measured,
                          uint64_t header_bytes);
/* Codes the planes chosen last, and checks that the blocks are as measured; or has place() do so
 * later, together with its own work. */
Cj2kStatus cj2k_ht_code_planes(Cj2kRateFrame *frame);

#endif
