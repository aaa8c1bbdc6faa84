/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernels that cut a frame of MQ code-blocks to its budget, so that the GPU can
 * go on from hulls to the codestream without asking the host. They do what the host does in the
 * usual case (Cj2kAheadJob in common/backend.h), with the same numbers, and leave all else to it.
 */
#ifndef CJ2K_CUDA_MQ_CUT_H
#define CJ2K_CUDA_MQ_CUT_H

#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/cut.h"
#include "cuda/shared/headers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is taken of a block. */
typedef struct {
  uint32_t length; /* bytes */
  uint16_t next;   /* slope of the next point on its hull; 0: there is none */
  uint8_t taken;   /* points */
  uint8_t passes;  /* of the last of them */
} Cj2kCudaMqTaken;

/* What is known of a cut. */
typedef struct {
  Cj2kCudaCutResult
      result;            /* CJ2K_CUDA_CUT_SOME: records of blocks say what is retained. No list */
  uint32_t slope, pad;   /* 0: nothing is cut */
  uint64_t all;          /* bytes of all points above slope 0 */
  uint64_t bytes, above; /* for blocks; of points above the slope */
  uint64_t headers;      /* bytes of headers beyond those of empty packets, as counted */
} Cj2kCudaMqCutState;

/* Arrays are on the device if nothing else is said. */
typedef struct {
  Cj2kCudaMqCode frame;    /* coded blocks, with hulls */
  Cj2kCudaHeaders packets; /* without `cut`; what is not of blocks is workspace */
  uint32_t num_bands;
  /* As in Cj2kAheadJob. */
  uint64_t least, budget, margin, header_bytes, empty_bytes;
  Cj2kCudaMqTaken *taken; /* workspace, per block */
  bool plt;               /* as in Cj2kHeaderSource, with the next one */
  uint32_t markers;

  /* Output, on the device and, for the host, in pinned memory. */
  Cj2kCudaMqCutState *state, *host_state;
  uint64_t *bands, *host_bands;       /* per band: bytes of points above the slope */
  Cj2kCudaMqFrameCounts *host_counts; /* a copy of frame.counts */
} Cj2kCudaMqCut;

/* Cuts a frame, and sets what is retained in the records of its blocks. */
cudaError_t cj2k_cuda_mq_cut(const Cj2kCudaMqCut *cut, cudaStream_t stream);

/* A part of it: adds to state->headers those of packets with what is taken of their blocks. */
cudaError_t cj2k_cuda_mq_count(const Cj2kCudaMqCut *cut, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
