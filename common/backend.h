/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The seam between the core and its back ends. A back end owns frame slots and does TRANSFORM and BLOCK CODER for a
 * whole frame; headers, plans, packets and rate decisions are the core's. One table of functions a direction.
 *
 * A slot is used by one frame at a time. start() may return before the work is done; wait() ends when it is. Slots
 * are allocated when a plan is set and keep their memory: no allocation in start() in steady state. Slots of one back
 * end are used from several threads at once; a slot's start() and wait() may come from different threads.
 */
#ifndef CJ2K_BACKEND_H
#define CJ2K_BACKEND_H

#include "codestream/coded.h"
#include "threads.h"

typedef struct Cj2kDecodeSlot Cj2kDecodeSlot; /* opaque, per back end */

typedef struct {
  const Cj2kPlan *plan;
  const Cj2kCodedFrame *coded; /* stays valid until wait() returned */
  const Cj2kLayout *layout;
  const Cj2kPicture *picture;
} Cj2kDecodeJob;

typedef struct {
  uint32_t corrupt_blocks;
  double ms_block_coder, ms_transform;
} Cj2kDecodeResult;

typedef struct Cj2kDecodeBackend {
  const char *name; /* "cpu", "cuda" */
  /* Opens the back end for a decoder, whose threads it may use until close. NULL and *error when it cannot be used
   * here. */
  void *(*open) (const Cj2kDecoderParams *params, Cj2kThreads *threads, Cj2kError *error);
  void (*close) (void *backend);
  Cj2kDecodeSlot *(*slot_new) (void *backend, Cj2kError *error);
  void (*slot_free) (void *backend, Cj2kDecodeSlot *slot);
  /* CJ2K_ERROR_UNSUPPORTED: this frame is the CPU back end's (counted as fallback). */
  Cj2kStatus (*start) (void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error);
  Cj2kStatus (*wait) (void *backend, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error);
} Cj2kDecodeBackend;

/*
 * Encoding goes through the back end in two steps, with the rate decision of the core between them:
 *
 *   analyse   unpack, component transform, DWT, quantisation with the step sizes of this frame; then what the rate
 *             control has to know: MQ: every block fully coded, with its pass ends; HT: for each block the exact
 *             cleanup lengths and distortions at the bit-planes asked for.
 *   code      the blocks as decided (HT: at which bit-plane, with how many refinement passes; MQ: nothing left to
 *             do), bytes and records to the host.
 */
typedef struct Cj2kEncodeSlot Cj2kEncodeSlot;

typedef struct {
  const Cj2kPlan *plan;
  const Cj2kLayout *layout;
  const Cj2kPicture *picture;
  Cj2kBlockCoder coder;
  bool rgb_to_xyz;
  const float *inv_scale;  /* per band of the plan; this frame's (the plan's own are the base step sizes') */
  uint8_t analyse_planes;  /* HT: how many planes, from 0 up, to measure; 0: rate does not depend on it */
  uint8_t lowest_plane;    /* MQ: planes below are never coded */
} Cj2kEncodeJob;

/* The HT decision for one block: cleanup at `plane`, `passes` in all (0: block left out, 1..3). */
typedef struct {
  uint8_t plane;
  uint8_t passes;
} Cj2kHtChoice;

/* What analyse found. Arrays belong to the slot, valid until its next analyse. */
typedef struct {
  Cj2kEncodedBlock *blocks;   /* MQ: per block of the plan, complete; HT: after code */
  Cj2kPassEnd *passes;        /* MQ: indexed by first_pass; HT: after code */
  const uint8_t *bytes;       /* of all blocks, host memory */
  uint32_t *ht_lengths;       /* [block][analyse_planes] exact cleanup bytes */
  uint64_t *ht_distortions;   /* [block][analyse_planes] remaining squared error when coded down to that plane with
                                 midpoint reconstruction, in (step/16)^2 */
} Cj2kEncodeAnalysis;

typedef struct Cj2kEncodeBackend {
  const char *name;
  void *(*open) (const Cj2kEncoderParams *params, Cj2kThreads *threads, Cj2kError *error);
  void (*close) (void *backend);
  Cj2kEncodeSlot *(*slot_new) (void *backend, Cj2kError *error);
  void (*slot_free) (void *backend, Cj2kEncodeSlot *slot);
  /* Both start work; wait ends when the step is done and its results are on the host. */
  Cj2kStatus (*analyse) (void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job, Cj2kError *error);
  Cj2kStatus (*code) (void *backend, Cj2kEncodeSlot *slot, const Cj2kHtChoice *choices, Cj2kError *error);
  Cj2kStatus (*wait) (void *backend, Cj2kEncodeSlot *slot, Cj2kEncodeAnalysis *result, Cj2kError *error);
} Cj2kEncodeBackend;

const Cj2kDecodeBackend *cj2k_cpu_decode_backend (void);
const Cj2kEncodeBackend *cj2k_cpu_encode_backend (void);
/* NULL in a build without CUDA. */
const Cj2kDecodeBackend *cj2k_cuda_decode_backend (void);
const Cj2kEncodeBackend *cj2k_cuda_encode_backend (void);

#endif
