/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only interface of rate control to the back end: a function for each verb of common/backend.h.
 * Each has all its inputs as parameters and returns when its results are on the host, so that no
 * call depends on the state that another one left. Only gathering has two functions, so that other
 * work can be done meanwhile.
 */
#ifndef CJ2K_RATE_CODING_H
#define CJ2K_RATE_CODING_H

#include "common/backend.h"

/* Memory for the codestream. */
typedef struct {
  uint8_t *out;
  bool pinned;
  uint64_t size;
} Cj2kPlaceTarget;

/* A slot that is lent to a frame. */
typedef struct {
  const Cj2kEncodeBackend *backend;
  void *data; /* the back end's object */
  Cj2kEncodeSlot *slot;
  bool may_place;     /* the frame is written as a whole, so that place() may bring its bytes */
  bool placed;        /* code() has left them to it */
  bool keeps_room;    /* place() can code blocks again */
  bool makes_packets; /* place() can make packets as well */
  /* Where place() would put packets, so that code() may do that at once; out NULL: not known. */
  Cj2kPlaceTarget target;
  const Cj2kAgainJob *again;   /* those that it is left to code; NULL: none */
  const Cj2kRetainJob *retain; /* passes that are in packets; NULL: all */
  bool cut;                    /* those that code() has cut are */
  bool gathering;              /* gather or place have begun; the next verb waits for it */
  bool interrupted; /* an earlier frame needs the slot: no verb does anything but CJ2K_ERROR_MEMORY
                     */
  double ms_transform, ms_block_coder; /* time of all verbs */
} Cj2kFrameCoder;

/* The result of measure. The arrays belong to the slot and are valid until its next verb. */
typedef struct {
  uint32_t stride; /* as requested */
  uint8_t first_plane, num_planes;
  const uint32_t *lengths;     /* [block][num_planes] */
  const uint64_t *distortions; /* [block][num_planes] */
  const uint64_t *band_errors; /* per band */
  uint64_t estimate;           /* as in Cj2kEncodeResult */
} Cj2kMeasured;

/* The result of code. The arrays belong to the slot and are valid until its next verb except
 * gather, which changes offsets in `blocks`. */
typedef struct {
  const Cj2kEncodedBlock *blocks;
  const Cj2kPassLength *passes;
  const uint32_t *lengths;     /* those of blocks; NULL: only there */
  const uint32_t *header_bits; /* in place of passes; NULL: not made */
  const Cj2kHullPoint *points;
  Cj2kSlopeSums slopes;               /* bytes NULL: the back end has not computed the sums */
  const Cj2kPassCut *cut;             /* in place of all that is above; NULL: not cut */
  bool cut_ahead;                     /* as in Cj2kEncodeResult */
  const uint8_t *bytes;               /* NULL: fetched by gather or place */
  const Cj2kPacketSize *packet_sizes; /* as in Cj2kEncodeResult */
  /* With job->range; if that says so, they are all that is valid. */
  uint64_t estimates[CJ2K_MOST_ESTIMATES];
} Cj2kCodedBlocks;

/* CJ2K_ERROR_MEMORY if the coder is interrupted. */
Cj2kStatus cj2k_coder_check(const Cj2kFrameCoder *coder, Cj2kError *error);
Cj2kStatus cj2k_coder_transform(Cj2kFrameCoder *coder, const Cj2kTransformJob *job,
                                Cj2kError *error);
/* The same in parts: see transform_rows in common/backend.h. */
Cj2kStatus cj2k_coder_transform_rows(Cj2kFrameCoder *coder, const Cj2kTransformJob *job,
                                     uint32_t done, uint32_t rows, Cj2kError *error);
Cj2kStatus cj2k_coder_measure(Cj2kFrameCoder *coder, const Cj2kMeasureJob *job,
                              Cj2kMeasured *measured, Cj2kError *error);
/* *saturated: number of coefficients that exceed the bit-planes of their bands. */
Cj2kStatus cj2k_coder_code(Cj2kFrameCoder *coder, const Cj2kCodeJob *job, Cj2kCodedBlocks *coded,
                           uint64_t *saturated, Cj2kError *error);

/* True if code() has left the bytes to gather. */
bool cj2k_coder_gathers(const Cj2kFrameCoder *coder);
/* Starts to fetch the bytes of the blocks that were coded last. */
Cj2kStatus cj2k_coder_begin_gather(Cj2kFrameCoder *coder, const Cj2kGatherJob *job,
                                   Cj2kError *error);
/* Waits for the bytes and sets *bytes. */
Cj2kStatus cj2k_coder_end_gather(Cj2kFrameCoder *coder, const uint8_t **bytes, Cj2kError *error);
/* Brings the bytes of the codestream's blocks to their places, if coder->placed is set, after it
 * has coded those of coder->again (job->again, retain and cut are not used). */
Cj2kStatus cj2k_coder_place(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job, Cj2kError *error);
/* The same in two steps, between which other work can be done. end: waits for the bytes. */
Cj2kStatus cj2k_coder_begin_place(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job, Cj2kError *error);
Cj2kStatus cj2k_coder_end_place(Cj2kFrameCoder *coder, Cj2kError *error);
/* The same as place() for a job with `packets`. *sizes: as in Cj2kEncodeResult. */
Cj2kStatus cj2k_coder_place_packets(Cj2kFrameCoder *coder, const Cj2kPlaceJob *job,
                                    const Cj2kPacketSize **sizes, Cj2kError *error);
/* The error of blocks that took other bytes than measured. */
Cj2kStatus cj2k_coder_unlike(Cj2kError *error);
/* Waits for a gather whose bytes are not needed. */
void cj2k_coder_finish(Cj2kFrameCoder *coder);

#endif
