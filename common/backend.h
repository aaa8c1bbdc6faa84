/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The seam between the core and its back ends. A back end owns frame slots and does TRANSFORM and
 * BLOCK CODER for a whole frame; headers, plans, packets and rate decisions are the core's. One
 * table of functions a direction.
 *
 * A slot is used by one frame at a time. start() may return before the work is done; wait() ends
 * when it is. Slots are allocated when a plan is set and keep their memory: no allocation in
 * start() in steady state. Slots of one back end are used from several threads at once; a slot's
 * start() and wait() may come from different threads.
 */
#ifndef CJ2K_BACKEND_H
#define CJ2K_BACKEND_H

#include "common/codestream/coded.h"
#include "common/runtime/threads.h"
#include "common/shared/hull.h"

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

/* Memory of a back end's own, for pictures; the CPU back end has none (NULL functions). */
typedef struct {
  void *(*alloc)(void *backend, Cj2kMemoryKind kind, size_t size); /* NULL: there is none */
  void (*free)(void *backend, Cj2kMemoryKind kind, void *memory);
  /* Copies rows between host and device memory, whichever way, on `cuda_stream` when it is not NULL
   * (Cj2kPicture), and waits for it. */
  Cj2kStatus (*copy)(void *backend, void *cuda_stream, const Cj2kPlane *to, const Cj2kPlane *from,
                     size_t row_bytes, uint32_t rows, Cj2kError *error);
} Cj2kBackendMemory;

/* backend_memory.c. What cj2k_decoder_alloc promises, also for a back end without memory of its
 * own. */
void *cj2k_memory_alloc(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                        size_t size);
void cj2k_memory_free(const Cj2kBackendMemory *functions, void *backend, Cj2kMemoryKind kind,
                      void *memory);

typedef struct Cj2kDecodeBackend {
  const char *name; /* "cpu", "cuda" */
  /* Opens the back end for a decoder, whose threads it may use until close. NULL and *error when it
   * cannot be used here. */
  void *(*open)(const Cj2kDecoderParams *params, Cj2kThreads *threads, Cj2kError *error);
  void (*close)(void *backend);
  Cj2kDecodeSlot *(*slot_new)(void *backend, Cj2kError *error);
  void (*slot_free)(void *backend, Cj2kDecodeSlot *slot);
  /* May be NULL, both. The packets of this frame's codestream are about to be read: it may be
   * fetched meanwhile. start() follows, with the same codestream, or abandon(), after which nobody
   * reads it any more. */
  void (*prefetch)(void *backend, Cj2kDecodeSlot *slot, const uint8_t *codestream, size_t size);
  void (*abandon)(void *backend, Cj2kDecodeSlot *slot);
  /* CJ2K_ERROR_UNSUPPORTED: this frame is the CPU back end's (counted as fallback). */
  Cj2kStatus (*start)(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                      Cj2kError *error);
  Cj2kStatus (*wait)(void *backend, Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                     Cj2kError *error);
  Cj2kBackendMemory memory;
} Cj2kDecodeBackend;

/*
 * Encoding goes through the back end in steps, with the rate decisions of the core between them.
 * All steps of one frame use one slot; the core calls them one after the other, each when the one
 * before was waited for, not always from the same thread.
 *
 * transform: unpack, component transform, DWT of all levels. The unquantised coefficients stay in
 * the slot, so that the next steps can be repeated with other step sizes.
 *
 * measure: HT: the exact cleanup lengths, and the distortions, of every block (or of each
 * `stride`-th one) at some bit-planes, with given step sizes. Nothing is written.
 *
 * code: blocks as decided. MQ: every pass of every bit-plane, with hulls where it is still to be
 * decided which are kept. HT: one HT set at the chosen plane; blocks whose choice and step sizes
 * did not change since the slot's last code() of this frame keep their bytes. Records go to the
 * host, and bytes where they are not gathered.
 *
 * gather: MQ, after code(): the bytes that are kept go to the host. Other lengths may be asked for
 * again.
 */
typedef struct Cj2kEncodeSlot Cj2kEncodeSlot;

/* The quantiser of a band for one frame: the plan's own is the one of the base step sizes. */
typedef struct {
  float inv_scale;       /* docs/arithmetic.md; unused when the band is reversible */
  uint8_t num_bitplanes; /* Mb; larger magnitudes saturate to 2^Mb - 1 and are counted */
} Cj2kFrameQuantiser;

/* The HT decision for one block: cleanup at `plane`, `passes` in all (0: block left out, 1..3). */
typedef struct {
  uint8_t plane;
  uint8_t passes;
} Cj2kHtChoice;

typedef struct {
  const Cj2kPlan *plan;
  const Cj2kLayout *layout;
  const Cj2kPicture *picture; /* only transform reads it */
  Cj2kBlockCoder coder;
  bool rgb_to_xyz;
  Cj2kTransfer xyz_transfer;            /* the same for all frames of a back end object */
  const Cj2kFrameQuantiser *quantisers; /* per band of the plan */
  uint32_t stride;     /* measure, MQ code: only blocks b with b % stride == 0 (1: all); others get
                          nothing */
  uint8_t first_plane; /* measure: planes first_plane .. first_plane + num_planes - 1 */
  uint8_t num_planes;
  bool distortions;      /* measure: also fill ht_distortions */
  bool band_errors;      /* measure: also fill band_errors */
  uint8_t lowest_plane;  /* MQ code: planes below are never coded */
  const double *weights; /* MQ code: per band, what a unit of distortion is worth; NULL: no hulls
                            are wanted */
  bool pass_lengths;     /* MQ code: wanted */
  const uint32_t *kept_lengths; /* gather: per block, bytes from its first one on; NULL: all, and no
                                   others were asked for since code() */
  const Cj2kHtChoice *choices;  /* HT code: per block; NULL: all blocks, plane 0, cleanup only */
} Cj2kEncodeJob;

/* What a step found. Arrays belong to the slot, valid until its next step; those of code() also
 * after gather(), which sets other offsets in `blocks`. */
typedef struct {
  Cj2kEncodedBlock *blocks; /* code: per block of the plan */
  Cj2kPassLength *passes;   /* code: indexed by first_pass; MQ: where they are wanted */
  Cj2kHullPoint *points;    /* code with weights: indexed by first_point */
  Cj2kSlopeSums slopes;     /* code with weights: of all points; bytes NULL: not summed up */
  const uint8_t *bytes;     /* code or gather: of all blocks, host memory */
  uint32_t *ht_lengths;     /* measure: [block][num_planes] exact cleanup bytes */
  uint64_t *ht_distortions; /* measure: [block][num_planes] decrease of the block's squared error,
                               in (step/16)^2, as cj2k_ht_cleanup_distortion says it */
  uint64_t
      *band_errors; /* measure: per band, squared quantisation error at plane 0 in (step/1024)^2 of
                       the true coefficients: e = q ? trunc ((t - q - 0.5f) * 1024.0f) : trunc (t *
                       1024.0f), t = |v| * inv_scale in fp32, sum of e^2 */
  uint64_t saturated;                  /* coefficients that did not fit into Mb */
  double ms_transform, ms_block_coder; /* of this step */
} Cj2kEncodeResult;

typedef struct Cj2kEncodeBackend {
  const char *name;
  /* `plan` (the back end takes a reference) and `threads` (the encoder's, for work on the host)
   * hold for the life of the back end object. */
  void *(*open)(const Cj2kEncoderParams *params, Cj2kPlan *plan, Cj2kThreads *threads,
                Cj2kError *error);
  void (*close)(void *backend);
  Cj2kEncodeSlot *(*slot_new)(void *backend, Cj2kError *error);
  void (*slot_free)(void *backend, Cj2kEncodeSlot *slot);
  /* Each starts work and may return before it is done; wait ends when it is and its results are on
   * the host. CJ2K_ERROR_UNSUPPORTED from transform: this frame is the CPU back end's (counted as
   * fallback). */
  Cj2kStatus (*transform)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                          Cj2kError *error);
  Cj2kStatus (*measure)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                        Cj2kError *error);
  Cj2kStatus (*code)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                     Cj2kError *error);
  /* NULL: code() gives all bytes at once. */
  Cj2kStatus (*gather)(void *backend, Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                       Cj2kError *error);
  Cj2kStatus (*wait)(void *backend, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                     Cj2kError *error);
  Cj2kBackendMemory memory;
} Cj2kEncodeBackend;

const Cj2kDecodeBackend *cj2k_cpu_decode_backend(void);
const Cj2kEncodeBackend *cj2k_cpu_encode_backend(void);
/* NULL in a build without CUDA. */
const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void);
const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void);

#endif
