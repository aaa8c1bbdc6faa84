/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CUDA encode back end, inside: what is the same for all slots, and a slot, which is all that
 * one frame in flight needs: one stream, the picture, coefficients and results. TRANSFORM is in
 * encode_transform.c, BLOCK CODER in encode_blocks.c and encode_mq.c. Functions that enqueue work
 * return what CUDA said; the device is current when they are called.
 */
#ifndef CJ2K_CUDA_ENCODE_H
#define CJ2K_CUDA_ENCODE_H

#include "device.h"
#include "encode_kernels.h"
#include "mq_code.h"
#include "timeline.h"

#include <glib.h>

/* Levels that one launch does together, in `levels` on the device. */
typedef struct {
  uint32_t first, count, width, height;
  bool reversible;
} Cj2kCudaLevelGroup;

typedef struct {
  Cj2kCudaDevice device;
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference */
  bool ht, blocking;
  Cj2kCudaTimeline timeline;
  gint slots; /* made so far: their numbers */
  GMutex lock;
  Cj2kCudaMemory levels;          /* Cj2kCudaForwardLevel, below the top ones */
  GArray *groups;                 /* Cj2kCudaLevelGroup, in order of execution */
  Cj2kCudaMemory blocks;          /* Cj2kCudaEncodeBlock, per block */
  uint64_t area;                  /* of all blocks, as in Cj2kCudaEncodeBlock */
  uint32_t max_width, max_height; /* of any block */
  bool many_segments;             /* MQ: a pass may end one */
  Cj2kCudaMemory tables;          /* Cj2kCudaEncodeTables */
  Cj2kCudaMemory xyz;             /* Cj2kXyzTables; made when first needed, guarded by lock */
} Cj2kCudaEncoder;

/* Tops that one launch does together. */
typedef struct {
  uint32_t first;
  bool no_levels;
  Cj2kCudaTopLevel launch;
} Cj2kCudaTopGroup;

/* What the last step was, and so what wait() has to fetch. */
typedef enum {
  CJ2K_CUDA_STEP_NONE = 0,
  CJ2K_CUDA_STEP_TRANSFORM,
  CJ2K_CUDA_STEP_MEASURE,
  CJ2K_CUDA_STEP_CODE
} Cj2kCudaStep;

struct Cj2kEncodeSlot {
  Cj2kCudaEncoder *encoder;
  cudaStream_t stream;
  cudaEvent_t begin, transformed, started, done;
  Cj2kCudaMarks marks;
  Cj2kCudaStep step;
  bool transform_timed; /* the times of a transform are still to be read */

  /* TRANSFORM */
  Cj2kCudaMemory picture,
      staging; /* planes of a picture in host memory; pageable ones go through staging */
  Cj2kCudaMemory planes, host_planes; /* Cj2kCudaInputPlane; the second as last uploaded */
  uint32_t num_planes;
  uint8_t *alignments; /* of planes, that the groups were made for */
  Cj2kCudaMemory tops; /* Cj2kCudaTop */
  GArray *top_groups;  /* Cj2kCudaTopGroup; empty: to be made */
  Cj2kCudaMemory coefficients, lowpass;

  /* BLOCK CODER */
  Cj2kCudaMemory quantisers, host_quantisers;
  Cj2kCudaMemory choices, host_choices;
  Cj2kCudaMemory scratch;
  Cj2kCudaMemory bytes, host_bytes;       /* of all blocks */
  uint64_t fetched;                       /* bytes that code() has already told to come */
  Cj2kCudaMemory coded, host_coded;       /* counts, Cj2kEncodedBlock, HT: Cj2kPassEnd */
  Cj2kCudaMemory measured, host_measured; /* counts, band errors, distortions, lengths */
  Cj2kCudaEncodeBlocks job;               /* of the last step */

  /* BLOCK CODER, MQ */
  Cj2kCudaMemory symbols, work, room; /* between its kernels; work: what has a size per block */
  Cj2kCudaMemory passes, host_passes; /* Cj2kPassEnd */
  uint64_t fetched_passes;            /* as `fetched` */
  Cj2kCudaMqCode mq;                  /* of the last code() */
};

/* Makes the lists of levels and copies them to the device; once. */
cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder);
/* Enqueues upload and all levels. */
cudaError_t cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);

/* Copies blocks and tables to the device; once. */
cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
cudaError_t cj2k_cuda_encode_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* What every step of the block coder begins with. */
cudaError_t cj2k_cuda_encode_begin(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* The largest number of bit-planes that indices may have. */
uint32_t cj2k_cuda_encode_max_bitplanes(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* The first `size` bytes, of which `fetched` have been told to come, of an array of the device's
 * are on the host. */
cudaError_t cj2k_cuda_encode_fetch_rest(Cj2kEncodeSlot *slot, const Cj2kCudaMemory *host,
                                        const Cj2kCudaMemory *device, uint64_t fetched,
                                        uint64_t size);
/* After `done`: results on the host. */
cudaError_t cj2k_cuda_encode_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

/* encode_mq.c. The same for MQ. */
cudaError_t cj2k_cuda_encode_mq_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
cudaError_t cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

#endif
