/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT: the steps with which all blocks at plane 0 take a wanted number of bytes. Lengths of a sample
 * of blocks lead there, then the blocks are really coded. Where an earlier frame is known, its
 * steps replace the samples.
 */
#ifndef CJ2K_RATE_SEARCH_HT_H
#define CJ2K_RATE_SEARCH_HT_H

#include "base_search.h"
#include "coding_ht.h"

typedef struct {
  Cj2kBaseSearch search; /* what is known of bases by now */
  Cj2kHtCoded coded;     /* the last one, whose steps are in force */
  bool recalled;         /* the search began at the result of an earlier frame */
  Cj2kRateMemory memory; /* for later frames */
} Cj2kHtSearch;

/* Searches steps with which the frame takes a little more than its budget, and codes with them. */
Cj2kStatus cj2k_ht_search(Cj2kRateFrame *frame, Cj2kHtSearch *search);
/* Goes on with the search for the finest steps that fit, and codes with them: for when steps that
 * are too fine leave too much of the budget unused after planes are cut off. whole: until the
 * budget is full. */
Cj2kStatus cj2k_ht_search_below(Cj2kRateFrame *frame, bool whole, Cj2kHtSearch *search);

#endif
