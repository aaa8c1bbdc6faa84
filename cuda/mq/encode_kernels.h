/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The second step of MQ encoding: symbols (symbols.h) to codeword segments, pass ends and
 * records of blocks.
 */
#ifndef CJ2K_CUDA_MQ_CODE_H
#define CJ2K_CUDA_MQ_CODE_H

#include "symbols.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where the coder stood at the end of a pass. `state` has A in bits 31..16, B in 15..8, CT in 7..4,
 * and in 3..0, when a segment ends here, how many bytes that has behind `at`. Of raw segments only
 * the places count.
 */
typedef struct {
  uint32_t start; /* of the segment, in bytes from the block's room */
  int32_t at;     /* MQ: of B in the segment, -1 before its first byte; raw: the end of the bits */
  uint32_t state;
  uint32_t c;
} Cj2kCudaMqMark;

/* What the kernels of both steps add up; zero before. */
typedef struct {
  Cj2kCudaEncodeCounts coded; /* bytes: of all blocks; failed: blocks longer than their room */
  Cj2kCudaMqCounts modelled;
  uint64_t passes; /* of all blocks */
  uint64_t room;   /* handed out */
  uint64_t points; /* of all hulls */
  /* Classes of slopes of all points: the highest, and by how much the lowest is below
   * CJ2K_SLOPE_CLASSES; both 0: there are no points. */
  uint32_t highest_slope, lowest_slope_below;
} Cj2kCudaMqFrameCounts;

typedef struct {
  Cj2kCudaMqContexts contexts; /* the first step's */
  Cj2kCudaMqFrameCounts *counts;
  bool alone;            /* no other frame is in flight: latency counts */
  uint32_t symbol_room;  /* bytes of room for 16 symbols */
  uint32_t *order;       /* workspace: numbers of blocks */
  uint8_t *room;         /* workspace: bytes of blocks as they come, CJ2K_CUDA_MQ_ROOM in all */
  uint64_t *rooms;       /* workspace, per block */
  Cj2kCudaMqMark *marks; /* workspace: [block][CJ2K_CUDA_MQ_PASSES (contexts.max_planes)] */
  uint8_t *bytes;        /* out, blocks in any order; nothing is written behind capacity */
  uint64_t capacity;
  Cj2kEncodedBlock *coded; /* per block, out */
  Cj2kPassLength *passes;  /* out, blocks in any order; nothing is written behind pass_capacity */
  uint64_t pass_capacity;

  /* hulls */
  const double *weights; /* per band */
  Cj2kHullPoint *points; /* out, blocks in any order: pass_capacity, of which there are not more */
  uint64_t *slope_bytes; /* CJ2K_SLOPE_CLASSES, zero before: bytes of all points of a class */
} Cj2kCudaMqCode;

/* Room of a block. A segment begins at a word, with one before it that is not used, and ends with
 * up to five bytes more than its symbols ask for. */
#define CJ2K_CUDA_MQ_ROOM(symbols, symbol_room, segments)                                          \
  ((((uint64_t)(symbols) + 15u) / 16u * (symbol_room) + 16u * (uint64_t)(segments) + 31u) &        \
   ~(uint64_t)15u)

/* Both steps have to be told of the same frame. Where the first one had too little room for symbols
 * this one does nothing. */
cudaError_t cj2k_cuda_mq_code(const Cj2kCudaMqCode *frame, cudaStream_t stream);

/* hulls.cu. What common/shared/hull.h says of the passes that were coded, to the same bits. Where
 * there was too little room for anything there are no points. */
cudaError_t cj2k_cuda_mq_hulls(const Cj2kCudaMqCode *frame, cudaStream_t stream);

/* What is kept of a block. */
typedef struct {
  uint64_t to;     /* in `out` */
  uint32_t length; /* bytes from the block's first one on */
  uint32_t pad;
} Cj2kCudaMqKept;

typedef struct {
  const Cj2kEncodedBlock *blocks;
  const Cj2kCudaMqKept *kept; /* per block */
  uint32_t num_blocks;
  const uint8_t *bytes; /* blocks begin at multiples of 4 */
  uint8_t *out;         /* a multiple of 4 */
} Cj2kCudaMqGather;

/* Puts together what is kept. */
cudaError_t cj2k_cuda_mq_gather(const Cj2kCudaMqGather *gather, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
