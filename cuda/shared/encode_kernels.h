/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernels of the encoding direction: plain structs of device pointers, and
 * launchers that only enqueue work on a stream and return the error of the launch.
 */
#ifndef CJ2K_CUDA_SHARED_ENCODE_KERNELS_H
#define CJ2K_CUDA_SHARED_ENCODE_KERNELS_H

#include "common/backend.h"
#include "common/shared/ht_tables.h"
#include "common/shared/xyz.h"
#include "copy_small.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------- forward DWT --- */

/* One level of one tile-component (T.800 F.4.2). Offsets are in samples, into the slot's arrays. */
typedef struct {
  Cj2kRect rect;    /* of the input, absolute; never empty */
  uint64_t in;      /* in the low-pass workspace; not used by the top level */
  uint64_t band[4]; /* by Cj2kOrientation: in the coefficients, or in the low-pass workspace for an
                       LL that is decomposed further */
  uint32_t in_stride;
  uint32_t stride[4];
  uint8_t reversible;
  uint8_t ll_is_band; /* LL is not decomposed further and goes to the coefficients */
} Cj2kCudaForwardLevel;

/* The slot's arrays: int32_t or float. */
typedef struct {
  uint32_t *coefficients, *lowpass;
} Cj2kCudaCoefficients;

/* Levels that one launch does together: all reversible or none. */
typedef struct {
  const Cj2kCudaForwardLevel *levels; /* on the device */
  uint32_t count, width, height;      /* inputs of up to width x height */
  uint32_t first_pair, end_pair; /* pairs of rows; the filter also reads two rows around them */
  bool reversible;
} Cj2kCudaLevels;

cudaError_t cj2k_cuda_fdwt(const Cj2kCudaLevels *launch, const Cj2kCudaCoefficients *arrays,
                           cudaStream_t stream);

#define CJ2K_CUDA_MAX_PITCH ((1u << 27) - 1)

/* A plane of a picture on the device. */
typedef struct {
  const uint8_t *data;
  uint32_t pitch; /* bytes */
} Cj2kCudaInputPlane;

/* Conversion of the picture's words to the samples of a component. */
typedef struct {
  Cj2kSampleLayout layout;
  uint32_t x, y;  /* position of the tile-component's first sample in the plane, in samples */
  uint8_t depth;  /* to which samples are shifted (cj2k_unpack_row) */
  int32_t offset; /* DC level shift (T.800 G.1.1) */
} Cj2kCudaInput;

/* The top level of one tile-component, or of three that share a component transform: unpacking, DC
 * shift, RCT or ICT (T.800 annex G), first level of the DWT. */
typedef struct {
  Cj2kCudaForwardLevel level[3];
  Cj2kCudaInput input[3];
  uint8_t mct;
  uint8_t no_levels; /* no decomposition: samples are stored in band[CJ2K_LL] */
} Cj2kCudaTop;

typedef enum {
  CJ2K_CUDA_LOAD_ANY = 0, /* word by word */
  /* Unsigned samples that need no shift and no conversion: */
  CJ2K_CUDA_LOAD_16, /* little-endian words of 2 bytes side by side, rows at multiples of 8 */
  CJ2K_CUDA_LOAD_8,  /* bytes side by side, rows at multiples of 4 */
} Cj2kCudaLoad;

/* Top levels that one launch does together. */
typedef struct {
  const Cj2kCudaTop *tops; /* on the device */
  Cj2kCudaTop first;       /* tops[0], for launches of one */
  uint32_t count, width, height;
  uint32_t first_pair, end_pair; /* pairs of rows; the filter also reads two rows around them */
  uint8_t num_components;        /* 1 or 3 */
  uint8_t reversible;
  Cj2kCudaLoad load;
  const Cj2kCudaInputPlane *planes; /* on the device */
  const Cj2kXyzTables *xyz;         /* on the device; NULL: no conversion */
} Cj2kCudaTopLevel;

cudaError_t cj2k_cuda_fdwt_top(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                               cudaStream_t stream);
/* The same for tile-components without decomposition. */
cudaError_t cj2k_cuda_unpack(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                             cudaStream_t stream);

/* ----------------------------------------------------------------------- HT block coder --- */

/* A code-block of the plan. */
typedef struct {
  uint64_t offset; /* index of its first sample in the coefficient array */
  uint64_t area;   /* CJ2K_CUDA_BLOCK_AREA of all blocks before it */
  uint32_t stride; /* its band's stride, in samples */
  uint32_t band;
  uint16_t width, height;
  uint8_t reversible;
  uint8_t orientation; /* Cj2kOrientation */
  uint8_t style;       /* CJ2K_STYLE_* */
  uint8_t pad;
} Cj2kCudaEncodeBlock;

/* An entry of the u-VLC table, by residual u (T.814 table 3). */
#define CJ2K_CUDA_UVLC_CODES          128
#define CJ2K_CUDA_UVLC_PREFIX(e)      ((e)&7u)
#define CJ2K_CUDA_UVLC_PREFIX_BITS(e) ((e) >> 3 & 3u)
#define CJ2K_CUDA_UVLC_SUFFIX(e)      ((e) >> 5 & 31u)
#define CJ2K_CUDA_UVLC_SUFFIX_BITS(e) ((e) >> 10 & 7u)
#define CJ2K_CUDA_UVLC_EXT(e)         ((e) >> 13 & 15u)
#define CJ2K_CUDA_UVLC_EXT_BITS(e)    ((e) >> 17 & 7u)

/* An entry of the MEL table: the bits for a number of events 0 and then an event 1 in a state, and
 * the state after them (T.814 7.3.3). */
#define CJ2K_CUDA_MEL_ZEROS     32
#define CJ2K_CUDA_MEL_BITS(e)   ((e)&0xFFFFu)
#define CJ2K_CUDA_MEL_LENGTH(e) ((e) >> 16 & 0xFFu)
#define CJ2K_CUDA_MEL_STATE(e)  ((e) >> 24)

/* Tables of the cleanup encoder; the size is a multiple of 4 bytes. */
typedef struct {
  uint16_t encode[2][8 << 8]; /* as in Cj2kHtTables */
  uint32_t uvlc[CJ2K_CUDA_UVLC_CODES];
  uint32_t pairs[256]; /* [u of first << 4 | u of second], not first row: code | length << 16 */
  uint32_t mel[CJ2K_HT_MEL_STATES * CJ2K_CUDA_MEL_ZEROS]; /* [state][zeros] */
} Cj2kCudaEncodeTables;

/* Counters that kernels add to; initially 0. */
typedef struct {
  uint64_t bytes;     /* of all blocks, each rounded up to CJ2K_CUDA_BLOCK_ALIGNMENT */
  uint64_t saturated; /* as in Cj2kEncodeResult */
  uint64_t failed;    /* blocks that cannot be coded legally */
  uint64_t unlike;    /* blocks of a list of Cj2kCudaAgain that have another length */
  uint64_t estimates[CJ2K_MOST_ESTIMATES]; /* as in Cj2kEncodeResult */
  uint32_t estimated[CJ2K_MOST_ESTIMATES]; /* thread blocks that have added to them */
  uint32_t settled;                        /* 1: no further one is made */
  uint32_t left_out; /* 1: they are out of range, so that blocks get no bytes from now on */
  uint32_t pad;
} Cj2kCudaEncodeCounts;

/* A block that is coded again, into the room that it has. */
typedef struct {
  uint32_t block;
  uint32_t length; /* as measured; at most that of the last coding */
  Cj2kHtChoice choice;
} Cj2kCudaAgain;

#define CJ2K_CUDA_BLOCK_ALIGNMENT 16

/* What measuring needs besides the blocks; arrays are on the device. */
typedef struct {
  uint32_t first_plane, num_planes;
  uint32_t *lengths;      /* output, [block][num_planes] */
  uint64_t *distortions;  /* output, [block][num_planes]; NULL: not wanted */
  uint64_t *band_errors;  /* output, per band; initially 0 */
  uint8_t first_is_coded; /* blocks are coded at first_plane, 0, as well, which gives the lengths:
                             only distortions of that plane are measured */
} Cj2kCudaMeasure;

/* The blocks of a frame that are coded or measured; arrays are on the device. */
typedef struct {
  const Cj2kCudaEncodeBlock *blocks;
  const Cj2kCudaEncodeTables *tables;
  const uint32_t *coefficients;
  const Cj2kFrameQuantiser *quantisers; /* per band */
  uint32_t num_blocks, stride;          /* only blocks b with b % stride == 0 */
  const uint32_t *order; /* the numbers of the blocks, on the device or in pinned host memory; NULL:
                            all, in order */
  const Cj2kCudaAgain *list;  /* code: in place of `order` and `choices`, for blocks that were coded
                                 before with the same quantisers; NULL: not */
  const uint32_t *num_listed; /* with `list`: only so many of them, on the device or in pinned host
                                 memory; NULL: num_blocks */
  uint8_t again;              /* code: coded before, so that saturated samples have been counted */
  Cj2kCudaEncodeCounts *counts;

  /* code */
  const Cj2kHtChoice *choices; /* per block; NULL: all, at plane 0 */
  uint8_t *scratch;            /* cj2k_cuda_ht_scratch_size () bytes */
  uint32_t scratch_bits;       /* for each sample: CJ2K_CUDA_SCRATCH_BITS */
  uint8_t *bytes;              /* output, blocks in any order, nothing behind capacity; may be
                                  pinned host memory, so that no copy follows */
  uint64_t capacity;
  Cj2kEncodedBlock *coded; /* output, per block */
  Cj2kPassLength *passes;
  uint32_t *lengths;

  Cj2kCudaMeasure measure;

  /* HT with rate-effort=best, no block reversible: room for as many quantiser indices as there are
   * coefficients, which are chosen before blocks are coded or measured; else NULL. */
  int32_t *indices;
} Cj2kCudaEncodeBlocks;

/* What making an estimate needs besides the blocks; pointers are to device memory. */
typedef struct {
  uint32_t quad_rows;             /* the estimate is made from one in so many rows of quads */
  uint32_t num_bands;             /* of the plan */
  const Cj2kEstimateRange *range; /* NULL: nothing depends on the estimate */
  /* If the range has ratios, the base for the estimate gives the quantisers and weights of bands.
   * rules NULL: it has none. */
  const Cj2kStepRule *rules;
  Cj2kFrameQuantiser *quantisers; /* those of the frame, which are read first */
  double *weights;
} Cj2kCudaEstimate;

/* Scratch memory for one sample, in bits: as much as its coded bits can take if quantiser indices
 * have up to num_bitplanes bits. A block is coded into scratch memory and then moved to its place.
 */
#define CJ2K_CUDA_SCRATCH_BITS(num_bitplanes) ((((num_bitplanes) + 1u) * 16u + 14u) / 15u + 8u)
/* Samples of a block whose size is rounded up to whole pairs of quads. */
#define CJ2K_CUDA_BLOCK_AREA(width, height)                                                        \
  ((uint64_t)(((width) + 3u) & ~3u) * (((height) + 1u) & ~1u))
/* Offset of the scratch memory of block b; area: of the blocks before it. */
#define CJ2K_CUDA_SCRATCH_OFFSET(area, bits, b)                                                    \
  ((((uint64_t)(area) * (bits) >> 3) & ~(uint64_t)15) + (uint64_t)(b)*128)

/* Quantises and codes HT cleanup passes (T.814 7.3), a warp for each block. It does not compute
 * distortions; cj2k_cuda_ht_measure does. */
cudaError_t cj2k_cuda_ht_encode(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);
/* Measures lengths and distortions of cleanup passes, as in Cj2kEncodeResult. */
cudaError_t cj2k_cuda_ht_measure(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);
/* Adds the estimate to the counts, and with `rules` those that follow from it. If they are not in
 * the range, blocks that kernels with these counts begin from then on have no bytes,
 * unless they are of a list; blocks to be measured keep what their results were before. */
cudaError_t cj2k_cuda_ht_estimate(const Cj2kCudaEncodeBlocks *frame,
                                  const Cj2kCudaEstimate *estimate, cudaStream_t stream);
/* Measures the squared error of the quantisation itself, per band. */
cudaError_t cj2k_cuda_band_errors(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
