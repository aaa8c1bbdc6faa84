/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CUDA encode back end, inside: what is the same for all slots, and a slot, which is all that
 * one frame in flight needs: streams, the picture, coefficients and results. TRANSFORM is in
 * encode_transform.c, BLOCK CODER in encode_blocks.c and encode_mq.c. Functions that enqueue work
 * return what CUDA said; the device is current when they are called.
 */
#ifndef CJ2K_CUDA_ENCODE_H
#define CJ2K_CUDA_ENCODE_H

#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/encode_kernels.h"
#include "device.h"
#include "timeline.h"

#include <glib.h>

/* Levels that one launch does together, in `levels` on the device. */
typedef struct {
  uint32_t depth; /* below the top level */
  uint32_t first, count, width, height;
  bool reversible;
} Cj2kCudaLevelGroup;

#define CJ2K_CUDA_MAX_SLICES 5

/* Slices of rows of a frame (encode_slices.c); one when frames overlap each other. */
typedef struct {
  uint32_t count;
  uint32_t levels;                            /* that are done slice by slice: 1 or 2 */
  uint32_t end_pair[2][CJ2K_CUDA_MAX_SLICES]; /* of rows, by level; UINT32_MAX: all */
  /* Places in encoder->order: blocks that can be coded behind each slice; at last the others. */
  uint32_t first_block[CJ2K_CUDA_MAX_SLICES + 2];
} Cj2kCudaSlices;

typedef struct {
  Cj2kCudaDevice device;
  Cj2kThreads *threads;
  Cj2kPlan *plan; /* a reference */
  bool ht, blocking;
  bool launches_late; /* kernels are launched when their picture is there */
  uint32_t helpers;   /* that wait for the GPU's results without sleeping */
  /* Of all slots, so that pictures come one after the other, each with the whole bus: those that
   * came together would also be coded together, with the bus idle. */
  cudaStream_t upload;
  GMutex upload_lock;
  /* Of all slots: what is short and comes late must not wait for kernels of other frames, as it
   * would in the streams of the slots. */
  cudaStream_t gather;
  Cj2kCudaTimeline timeline;
  gint slots; /* made so far: their numbers */
  GMutex lock;
  Cj2kCudaMemory levels; /* Cj2kCudaForwardLevel, below the top ones */
  GArray *groups;        /* Cj2kCudaLevelGroup, in order of execution */
  Cj2kCudaMemory blocks; /* Cj2kCudaEncodeBlock, per block */
  Cj2kCudaSlices slices;
  Cj2kCudaMemory order;           /* uint32_t: numbers of the blocks, by slice */
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

/* Counts when a slice is coded, with those before it. */
typedef struct {
  Cj2kCudaEncodeCounts counts;
  uint64_t pad; /* to a multiple of 16 bytes */
} Cj2kCudaPartCounts;

/* What the last step was, and so what wait() has to fetch. */
typedef enum {
  CJ2K_CUDA_STEP_NONE = 0,
  CJ2K_CUDA_STEP_TRANSFORM,
  CJ2K_CUDA_STEP_MEASURE,
  CJ2K_CUDA_STEP_CODE,
  CJ2K_CUDA_STEP_GATHER
} Cj2kCudaStep;

struct Cj2kEncodeSlot {
  Cj2kCudaEncoder *encoder;
  cudaStream_t stream;
  cudaEvent_t begin, transformed, started, done;
  Cj2kCudaMarks marks;
  cudaEvent_t uploaded;
  cudaEvent_t picture_ready; /* its own stream has finished the picture */
  /* With one frame in flight: a second stream for the block coder, and when which can go on. */
  cudaStream_t coder;
  cudaEvent_t sent, tops_coded, tops_done[CJ2K_CUDA_MAX_SLICES];
  /* A third one that brings bytes of the first slices, whose counts are here then, to the host. */
  cudaStream_t copier;
  cudaEvent_t part_coded[CJ2K_CUDA_MAX_SLICES];
  Cj2kCudaMemory host_parts; /* Cj2kCudaPartCounts */
  uint32_t num_parts;        /* still to be brought */
  cudaEvent_t mq_coded;      /* MQ with one frame in flight: the rest is short */
  cudaEvent_t arrived;       /* MQ: bytes that code() has told to come */
  Cj2kCudaStep step;
  bool in_slices;       /* the top level was done slice by slice */
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
  bool quantisers_sent, choices_sent; /* the device has what the host's copy says */
  bool all_coded;                     /* all blocks are coded at plane 0, with these quantisers */
  Cj2kCudaMemory again, host_again;   /* uint32_t: numbers of those that are coded once more */
  uint32_t num_again;                 /* 0: all */
  Cj2kCudaMemory scratch;
  Cj2kCudaMemory bytes, host_bytes;       /* of all blocks */
  uint64_t expected;                      /* of them, by the last frame */
  uint64_t fetched;                       /* that code() has already told to come */
  Cj2kCudaMemory coded, host_coded;       /* counts, Cj2kEncodedBlock; HT: Cj2kPassLength; MQ: bytes
                                             per class of slopes */
  Cj2kCudaMemory measured, host_measured; /* counts, band errors, distortions, lengths */
  Cj2kCudaEncodeBlocks job;               /* of the last step */

  /* BLOCK CODER, MQ */
  Cj2kCudaMemory symbols, work, room; /* between its kernels; work: what has a size per block */
  Cj2kCudaMemory passes, host_passes; /* Cj2kPassLength */
  Cj2kCudaMemory points, host_points; /* Cj2kHullPoint */
  uint64_t fetched_passes, fetched_points; /* as `fetched` */
  Cj2kCudaMemory weights, host_weights;
  Cj2kCudaMemory kept, host_kept; /* Cj2kCudaMqKept; bytes go to host_bytes by way of `gathered` */
  Cj2kCudaMemory gathered;
  bool pass_lengths;
  bool arriving;     /* what gather() is for comes already, up to `arrived` */
  Cj2kCudaMqCode mq; /* of the last code() */
};

/* Makes the lists of levels and copies them to the device; once. */
cudaError_t cj2k_cuda_encode_list_levels(Cj2kCudaEncoder *encoder);
/* Cuts the frame into slices; once. */
cudaError_t cj2k_cuda_encode_list_slices(Cj2kCudaEncoder *encoder);
/* Rows of a component of `rows` rows that must be there for a slice and those before. */
uint32_t cj2k_cuda_slice_rows(const Cj2kCudaSlices *slices, uint32_t slice, uint32_t rows);
/* Enqueues upload and all levels. */
cudaError_t cj2k_cuda_encode_transform(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);

/* Copies blocks and tables to the device; once. */
cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder);
cudaError_t cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
cudaError_t cj2k_cuda_encode_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* What every step of the block coder begins with. */
cudaError_t cj2k_cuda_encode_begin(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                   cudaStream_t stream);
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
/* Until records, or gathered bytes, are on the host. */
cudaError_t cj2k_cuda_encode_mq_wait(Cj2kEncodeSlot *slot);
cudaError_t cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);
cudaError_t cj2k_cuda_encode_mq_gather(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job);
/* What a code(), or a gather() behind it, found. */
void cj2k_cuda_encode_mq_result(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result);

#endif
