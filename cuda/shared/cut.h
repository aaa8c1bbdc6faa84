/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernel that cuts a frame of HT code-blocks to its budget, so that the GPU can
 * go on from coded blocks to the codestream without asking the host. It does what the host does in
 * the usual case (Cj2kAheadJob in common/backend.h), with the same numbers, and leaves all else to
 * it.
 */
#ifndef CJ2K_CUDA_SHARED_CUT_H
#define CJ2K_CUDA_SHARED_CUT_H

#include "common/codestream/header_bits.h"
#include "encode_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CJ2K_CUDA_CUT_PLANES 2    /* measured of each block */
#define CJ2K_CUDA_CUT_BLOCKS 3072 /* measured blocks, at most */

typedef enum {
  CJ2K_CUDA_CUT_NONE = 0, /* the host decides */
  CJ2K_CUDA_CUT_WHOLE,    /* all blocks stay at plane 0 */
  CJ2K_CUDA_CUT_SOME,     /* the listed blocks are coded again */
} Cj2kCudaCutState;

typedef struct {
  uint32_t state; /* Cj2kCudaCutState */
  uint32_t count; /* of listed blocks */
} Cj2kCudaCutResult;

/* As in Cj2kAheadJob. */
typedef struct {
  uint64_t least, budget, most, margin;
} Cj2kCudaCutLimits;

/* Arrays are on the device if nothing else is said. */
typedef struct {
  const Cj2kCudaEncodeBlock *blocks;
  uint32_t num_blocks, stride;        /* blocks b with b % stride == 0 have been measured */
  const Cj2kCudaEncodeCounts *counts; /* of the coded blocks */
  uint64_t capacity;                  /* bytes for which coded blocks had room */
  const uint32_t *coded;              /* per block: its length at plane 0 */
  const uint32_t *lengths; /* [block][plane], as measured at plane 1; NULL: nothing is cut, and what
                              belongs to cutting is not there */
  const uint64_t *distortions; /* likewise, at planes 0 and 1 */
  const double *weights;       /* per band, likewise */
  const Cj2kPacketSize *sizes; /* per precinct: packets with all blocks at plane 0 */
  /* In pinned host memory, so that a graph can be launched with others each time: */
  const Cj2kCudaCutLimits *limits;
  const Cj2kPacketStep *steps; /* num_steps, as in Cj2kPacketSteps with what follows */
  uint32_t num_steps, behind_header, behind_all, sop;
  bool plt;

  /* Output: on the device, and in pinned memory for the host. */
  Cj2kCudaCutResult *result, *host_result;
  Cj2kEncodedBlock *records;       /* of the coded blocks; those of listed ones become what coding
                                      again makes of them */
  Cj2kCudaAgain *list, *host_list; /* CJ2K_CUDA_CUT_BLOCKS */
  uint32_t *host_lengths;          /* a copy of what was measured */
  uint64_t *host_distortions;
} Cj2kCudaCut;

cudaError_t cj2k_cuda_ht_cut(const Cj2kCudaCut *cut, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
