/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the largest selection within the ceilings. The cost of a cut through the hulls is not
 * estimated but found by an exact layout with every packet header, marker segment and tile-part.
 * The caller supplies the function that lays out, so that no back end is needed here.
 */
#ifndef CJ2K_RATE_FIT_H
#define CJ2K_RATE_FIT_H

#include "ceilings.h"
#include "selection.h"

typedef struct {
  const Cj2kCeilings *ceilings;
  uint64_t least_bytes; /* bytes of a codestream without any block */
  bool ht;              /* options are bit-planes with one pass instead of numbers of passes */
  /* Lays a selection out and sets *size. */
  Cj2kStatus (*lay_out)(void *ctx, const Cj2kSelection *selection, Cj2kCodestreamSize *size);
  /* Optional: the bytes of its headers, almost exactly. It takes less time than a layout. */
  uint64_t (*count_headers)(void *ctx, const Cj2kSelection *selection);
  void *ctx;
} Cj2kFitTask;

typedef struct {
  uint32_t slope;          /* slope of the cut; 0: everything with a gain is retained */
  uint64_t header_bytes;   /* in: of another layout, 0: unknown; out: of this layout */
  Cj2kCodestreamSize size; /* of the last layout, which is that of the selection */
  /* Out, of the first try: its slope, and the bytes of headers for which it left room. */
  uint32_t first_slope;
  uint64_t first_header_bytes;
} Cj2kFit;

/* Finds the largest selection within the frame's ceiling; without a ceiling everything is retained.
 * If not even an empty selection fits, the result is the empty one. */
Cj2kStatus cj2k_fit_frame(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                          Cj2kFit *fit);
/* What cj2k_fit_frame would try first, for who finds its size in another way: it is the result if
 * it has *least bytes or more, and not more than the ceiling of the frame. false: there is no
 * ceiling, or a small one, for which other tries would probably follow, or nothing is cut. Of *fit,
 * what is of the first try is set. */
bool cj2k_fit_first(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                    Cj2kFit *fit, uint64_t *least);
/* What cj2k_fit_first leaves free of the budget besides headers, if their size is known. false: it
 * returns false for such a budget. */
bool cj2k_fit_margin(const Cj2kFitTask *task, uint64_t *margin);
/* The least bytes with which its result is enough. */
uint64_t cj2k_fit_least(const Cj2kFitTask *task);
/* Call it after cj2k_fit_frame: raises the floors of components that exceed their ceilings, and
 * gives the freed bytes to the others. CJ2K_ERROR_ARGUMENT if headers alone exceed a ceiling. */
Cj2kStatus cj2k_fit_components(const Cj2kFitTask *task, Cj2kHulls *hulls, Cj2kSelection *selection,
                               Cj2kFit *fit, Cj2kError *error);

#endif
