/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The door of rate control to the back end: one function for each verb of common/backend.h. Each is
 * given all that it needs and returns its results when they are on the host, so that no call
 * depends on what another one left. Only gathering is divided into two, for work meanwhile.
 */
#ifndef CJ2K_RATE_CODING_H
#define CJ2K_RATE_CODING_H

#include "common/backend.h"

/* A slot that is lent to a frame. */
typedef struct {
  const Cj2kEncodeBackend *backend;
  void *data; /* the back end's object */
  Cj2kEncodeSlot *slot;
  bool gathering; /* a gather has begun and was not waited for; the next step does that */
  double ms_transform, ms_block_coder; /* of all steps */
} Cj2kFrameCoder;

/* What measure found. The arrays are the slot's, until its next step. */
typedef struct {
  uint32_t stride; /* as it was asked for */
  uint8_t first_plane, num_planes;
  const uint32_t *lengths;     /* [block][num_planes] */
  const uint64_t *distortions; /* [block][num_planes] */
  const uint64_t *band_errors; /* per band */
} Cj2kMeasured;

/* What was coded. The arrays are the slot's, until its next step but gather, which changes offsets
 * in `blocks`. */
typedef struct {
  const Cj2kEncodedBlock *blocks;
  const Cj2kPassLength *passes;
  const Cj2kHullPoint *points;
  Cj2kSlopeSums slopes; /* bytes NULL: the back end has not summed them */
  const uint8_t *bytes; /* NULL: gather brings them */
} Cj2kCodedBlocks;

Cj2kStatus cj2k_coder_transform(Cj2kFrameCoder *coder, const Cj2kTransformJob *job,
                                Cj2kError *error);
Cj2kStatus cj2k_coder_measure(Cj2kFrameCoder *coder, const Cj2kMeasureJob *job,
                              Cj2kMeasured *measured, Cj2kError *error);
/* *saturated: how many coefficients did not fit into their band's bit-planes. */
Cj2kStatus cj2k_coder_code(Cj2kFrameCoder *coder, const Cj2kCodeJob *job, Cj2kCodedBlocks *coded,
                           uint64_t *saturated, Cj2kError *error);

/* Does code() leave the bytes to gather? */
bool cj2k_coder_gathers(const Cj2kFrameCoder *coder);
/* Starts to bring the bytes of what was coded last to the host. */
Cj2kStatus cj2k_coder_begin_gather(Cj2kFrameCoder *coder, const Cj2kGatherJob *job,
                                   Cj2kError *error);
/* Waits for them and sets *bytes. */
Cj2kStatus cj2k_coder_end_gather(Cj2kFrameCoder *coder, const uint8_t **bytes, Cj2kError *error);
/* Waits for a gather that has begun, whose bytes nobody needs. */
void cj2k_coder_finish(Cj2kFrameCoder *coder);

#endif
