/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The selection that fits: what a cut through the hulls costs is not estimated but laid out, with
 * every packet header, marker segment and tile-part, until the largest is found that keeps to the
 * ceilings. Who lays it out is the caller's affair, so that no back end is needed here.
 */
#ifndef CJ2K_RATE_FIT_H
#define CJ2K_RATE_FIT_H

#include "ceilings.h"
#include "selection.h"

typedef struct {
  const Cj2kCeilings *ceilings;
  uint64_t least_bytes; /* of a codestream without any block */
  bool ht;              /* options are bit-planes of one pass, not numbers of passes */
  /* Lays a selection out and sets *size. */
  Cj2kStatus (*lay_out)(void *ctx, const Cj2kSelection *selection, Cj2kCodestreamSize *size);
  void *ctx;
} Cj2kFitTask;

typedef struct {
  uint32_t slope;        /* of the cut; 0: everything that saves an error is kept */
  uint64_t header_bytes; /* before: of another layout of the frame, 0: unknown; then of this one */
  Cj2kCodestreamSize size; /* of the last layout, which is that of the selection */
} Cj2kFit;

/* Finds the largest selection under the frame's ceiling; without one, keeps all. Where not even
 * nothing at all fits, that is the selection. */
Cj2kStatus cj2k_fit_frame(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                          Cj2kFit *fit);
/* After cj2k_fit_frame: raises the floors of components above their ceilings, and gives the others
 * what they leave. CJ2K_ERROR_ARGUMENT if headers alone exceed a ceiling. */
Cj2kStatus cj2k_fit_components(const Cj2kFitTask *task, Cj2kHulls *hulls, Cj2kSelection *selection,
                               Cj2kFit *fit, Cj2kError *error);

#endif
