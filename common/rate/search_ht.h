/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HT: finds the steps with which all blocks at plane 0 have a given size. Lengths of a sample of
 * blocks give a first base, then all blocks are coded. If an earlier frame is known, its steps
 * replace the samples, and the back end takes those around them that an estimate of how much the
 * picture has changed asks for.
 */
#ifndef CJ2K_RATE_SEARCH_HT_H
#define CJ2K_RATE_SEARCH_HT_H

#include "base_search.h"
#include "coding_ht.h"
#include "estimate_ht.h"

typedef struct {
  Cj2kBaseSearch search;   /* bounds of the base found so far */
  Cj2kHtCoded coded;       /* the last one, with the current steps */
  bool recalled;           /* the search started from the result of an earlier frame */
  double first_total;      /* then: bytes with the base that the earlier frame suggested, by the
                              estimate if it was coded with another one */
  bool found;              /* the size is in the window, or fits with the finest possible steps */
  Cj2kHtEstimate estimate; /* the last one */
  Cj2kRateMemory memory;   /* for later frames */
} Cj2kHtSearch;

/* Searches steps with which the frame takes a little more than its budget, and codes with them. */
Cj2kStatus cj2k_ht_search(Cj2kRateFrame *frame, Cj2kHtSearch *search);
/* Continues the search for the finest steps that fit, and codes with them; for frames in which
 * cutting planes leaves too much of the budget unused. whole: until the budget is full. */
Cj2kStatus cj2k_ht_search_below(Cj2kRateFrame *frame, bool whole, Cj2kHtSearch *search);

#endif
