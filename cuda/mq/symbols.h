/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MQ code-blocks (T.800 annexes C, D) are encoded in two steps: context modelling turns samples
 * into symbols (contexts.cu), arithmetic coding turns symbols into bytes (encode.cu). Between the
 * two steps the symbols are in device memory, as described here.
 */
#ifndef CJ2K_CUDA_MQ_SYMBOLS_H
#define CJ2K_CUDA_MQ_SYMBOLS_H

#include "cuda/shared/encode_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A symbol is a byte: the label of its context (tables/mq_contexts.h) in bits 4..0, the decision in
 * bit 5. Every pass but raw ones ends with CJ2K_CUDA_MQ_END, even if it has no symbols, and before
 * that as many CJ2K_CUDA_MQ_NOP as make it the last of four bytes.
 *
 * Raw passes (T.800 D.6) are apart from the others, so that the coder, two threads for each block,
 * does not meet them: one below the other from the end of the block's room downwards. On top a raw
 * pass has the number of its bits as a word, and below that so many symbols, of which only the
 * decisions count, from a multiple of four bytes on.
 */
#define CJ2K_CUDA_MQ_LABEL(symbol) ((symbol)&31u)
#define CJ2K_CUDA_MQ_NOP           19u /* the label of a context that codes nothing */
#define CJ2K_CUDA_MQ_END           (0x40u | CJ2K_CUDA_MQ_NOP)

/* Symbols of a block begin at multiples of this, and the bytes up to the next one may be read. */
#define CJ2K_CUDA_MQ_ALIGNMENT 16u

/* The symbols of a block: its passes from the first bit-plane with a one down to lowest_plane. */
typedef struct {
  uint64_t first_symbol;       /* in the frame's symbols */
  uint32_t num_symbols;        /* of all passes but raw ones, with their ends and fillers */
  uint32_t raw_begin, raw_end; /* of raw passes, in bytes from first_symbol on */
  uint8_t num_passes;          /* 0: all samples are zero, or there was no room for the symbols */
  uint8_t zero_bitplanes;      /* as in Cj2kEncodedBlock; all if there are no passes */
  uint8_t pad[2];
} Cj2kCudaMqBlock;

/* Bytes of a raw pass of so many bits among the symbols, and how many more than its bits they are
 * at most. */
#define CJ2K_CUDA_MQ_RAW_PASS(bits) (4u + (((bits) + 3u) & ~3u))
#define CJ2K_CUDA_MQ_RAW_MORE       7u

/* Counters that the kernel adds to; initially 0. */
typedef struct {
  uint64_t symbols;   /* bytes of room that all blocks need; nothing is written behind capacity */
  uint64_t saturated; /* as in Cj2kEncodeResult */
} Cj2kCudaMqCounts;

/* Octets (contexts.cuh) of a code-block. */
#define CJ2K_CUDA_MQ_BLOCK_OCTETS(width, height) ((((width) + 7u) / 8u) * (((height) + 3u) / 4u))

/* Input and output of context modelling; arrays are on the device. */
typedef struct {
  const Cj2kCudaEncodeBlock *blocks;
  const uint32_t *coefficients;
  const Cj2kFrameQuantiser *quantisers; /* per band */
  uint32_t num_blocks, stride;          /* only blocks b with b % stride == 0 */
  const uint32_t *numbers; /* of num_blocks blocks (stride 1), on the device or in pinned host
                              memory: only these; NULL: all */
  uint32_t lowest_plane;   /* bit-planes below it are not coded */
  uint32_t max_width, max_height; /* of the blocks' nominal size */
  uint32_t max_planes;            /* the largest num_bitplanes of the quantisers, 1..31 */
  Cj2kCudaMqCounts *counts;
  uint8_t *symbols;           /* output, blocks in any order */
  uint64_t capacity;          /* a multiple of CJ2K_CUDA_MQ_ALIGNMENT */
  Cj2kCudaMqBlock *mq_blocks; /* output, per block */
  uint64_t *distortions;      /* output, [block][CJ2K_CUDA_MQ_PASSES (max_planes)], cumulative */
} Cj2kCudaMqContexts;

/* The most passes of a block of max_planes bit-planes. */
#define CJ2K_CUDA_MQ_PASSES(max_planes) (3u * (max_planes)-2u)

/* Quantises the coefficients of all blocks and models their contexts. */
cudaError_t cj2k_cuda_mq_contexts(const Cj2kCudaMqContexts *frame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
