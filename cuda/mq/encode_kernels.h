/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The second step of MQ encoding: symbols (symbols.h) to codeword segments, pass ends and
 * records of blocks.
 */
#ifndef CJ2K_CUDA_MQ_ENCODE_KERNELS_H
#define CJ2K_CUDA_MQ_ENCODE_KERNELS_H

#include "symbols.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The state of the coder at the end of a pass. `state` has A in bits 31 to 16, B in 15 to 8 and CT
 * in 7 to 4. If a segment ends here, bits 3 to 0 are the number of its bytes behind `at`. Marks of
 * raw segments have only the places.
 */
typedef struct {
  uint32_t start; /* of the segment, in bytes from the start of the block's room */
  int32_t
      at; /* place in the segment. MQ: of B, -1 before its first byte; raw: the end of the bits */
  uint32_t state;
  uint32_t c;
} Cj2kCudaMqMark;

/* Counters that the kernels of both steps add to; initially 0. */
typedef struct {
  Cj2kCudaEncodeCounts coded; /* bytes: of all blocks; failed: blocks longer than their room */
  Cj2kCudaMqCounts modelled;
  uint64_t passes;  /* of all blocks; with header_bits: words */
  uint64_t room;    /* taken by all blocks, in bytes */
  uint64_t points;  /* of all hulls */
  uint64_t lengths; /* bytes of all blocks that have hulls */
  uint64_t pad;     /* a multiple of 16 bytes */
  /* The highest slope class of all points, and by how much the lowest is below CJ2K_SLOPE_CLASSES.
   * Both are 0 if there are no points. */
  uint32_t highest_slope, lowest_slope_below;
} Cj2kCudaMqFrameCounts;

/* Input and output of coding and hulls; arrays are on the device. */
typedef struct {
  Cj2kCudaMqContexts contexts; /* those of the first step */
  Cj2kCudaMqFrameCounts *counts;
  uint32_t symbol_room;  /* bytes of room for 16 symbols */
  uint32_t *order;       /* workspace: numbers of blocks */
  uint8_t *room;         /* workspace: segments at full length, CJ2K_CUDA_MQ_ROOM and
                            CJ2K_CUDA_MQ_RAW_ROOM per block */
  uint64_t *rooms;       /* workspace, per block: offset of its room */
  Cj2kCudaMqMark *marks; /* workspace: [block][CJ2K_CUDA_MQ_PASSES (contexts.max_planes)] */
  uint8_t *bytes;        /* output, blocks in any order; nothing is written behind capacity */
  uint64_t capacity;
  Cj2kEncodedBlock *coded; /* output, per block; it has no passes if something had no room that its
                              header bits need */
  Cj2kPassLength *passes; /* output, blocks in any order; nothing is written behind pass_capacity */
  uint32_t *header_bits;  /* output in place of passes: what packet headers say of them if all are
                             retained (common/codestream/header_bits.h); the same capacity, in words.
                             Without hulls. NULL: passes */
  uint64_t pass_capacity;

  /* hulls */
  const double *weights; /* per band */
  Cj2kHullPoint *points; /* output, blocks in any order; never more than pass_capacity */
  uint64_t *slope_bytes; /* CJ2K_SLOPE_CLASSES, initially 0: bytes of all points of a class */
} Cj2kCudaMqCode;

/* Bytes of room for a block. A segment begins at a word, behind one that is not used, and may have
 * five bytes more than its symbols need. */
#define CJ2K_CUDA_MQ_ROOM(symbols, symbol_room, segments)                                          \
  ((((uint64_t)(symbols) + 15u) / 16u * (symbol_room) + 16u * (uint64_t)(segments) + 31u) &        \
   ~(uint64_t)15u)

/* Bytes of room for the raw segments of a block, behind those. Each bit takes a seventh of a byte
 * at most, less than a symbol has, and a segment less than eight bytes more, with what aligns the
 * next one. */
#define CJ2K_CUDA_MQ_RAW_ROOM(bits, segments)                                                      \
  (((uint64_t)(bits) / 7u + 8u * (uint64_t)(segments) + 15u) & ~(uint64_t)15u)

/* The most room that blocks with so many symbols in all, raw bits among them, may need: each one's
 * is rounded up by itself, twice. segments: of a block, at most. */
static inline uint64_t cj2k_cuda_mq_whole_room(uint64_t symbols, uint32_t symbol_room,
                                               uint32_t num_blocks, uint32_t segments)
{
  uint64_t of_block = CJ2K_CUDA_MQ_ROOM(0, symbol_room, segments) + symbol_room +
                      CJ2K_CUDA_MQ_RAW_ROOM(0, segments) + 2 * 16;

  return CJ2K_CUDA_MQ_ROOM(symbols, symbol_room, 0) + num_blocks * of_block;
}

/* Codes the symbols of all blocks. frame->contexts must be what cj2k_cuda_mq_contexts () was called
 * with. If there was too little room for symbols, it does nothing. */
cudaError_t cj2k_cuda_mq_code(const Cj2kCudaMqCode *frame, cudaStream_t stream);

/* Computes the hulls of all blocks, with exactly the results of common/shared/hull.h (hulls.cu). If
 * there was too little room in any step, there are no points. */
cudaError_t cj2k_cuda_mq_hulls(const Cj2kCudaMqCode *frame, cudaStream_t stream);

/* What is retained of blocks whose packets are made by the kernels of cuda/shared/headers.h. */
typedef struct {
  const uint8_t *passes;   /* per block, in pinned host memory, like the next one */
  const uint32_t *lengths; /* per block: bytes of these passes, in one segment */
  uint32_t num_blocks;
  Cj2kEncodedBlock *blocks; /* their records, in which the same is set */
} Cj2kCudaMqRetain;

cudaError_t cj2k_cuda_mq_retain(const Cj2kCudaMqRetain *retain, cudaStream_t stream);

/* The retained bytes of a block: its first ones. */
typedef struct {
  uint64_t to;     /* place in `out` */
  uint32_t length; /* bytes */
  uint32_t pad;
} Cj2kCudaMqRetained;

typedef struct {
  const Cj2kEncodedBlock *blocks;
  const Cj2kCudaMqRetained *retained; /* per block */
  uint32_t num_blocks;
  const uint8_t *bytes; /* blocks begin at multiples of 4 */
  uint8_t *out;         /* a multiple of 4 */
} Cj2kCudaMqGather;

/* Copies the retained bytes of all blocks to their places. */
cudaError_t cj2k_cuda_mq_gather(const Cj2kCudaMqGather *gather, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
