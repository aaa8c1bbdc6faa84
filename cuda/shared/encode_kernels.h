/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernels of the encoding direction, seen from C: as decode_kernels.h does for decoding, plain
 * structs of device pointers and launchers that only enqueue work on a stream.
 */
#ifndef CJ2K_CUDA_ENCODE_KERNELS_H
#define CJ2K_CUDA_ENCODE_KERNELS_H

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
  uint64_t in;      /* low-pass workspace; not used by the top level */
  uint64_t band[4]; /* by Cj2kOrientation: coefficients, or low-pass workspace for an LL that is
                       divided further */
  uint32_t in_stride;
  uint32_t stride[4];
  uint8_t reversible;
  uint8_t ll_is_band; /* LL is the last one and goes to the coefficients */
} Cj2kCudaForwardLevel;

/* The slot's arrays: int32_t or float. */
typedef struct {
  uint32_t *coefficients, *lowpass;
} Cj2kCudaCoefficients;

/* Levels that one launch can do together: all reversible or none. */
typedef struct {
  const Cj2kCudaForwardLevel *levels; /* on the device */
  uint32_t count, width, height;      /* inputs of up to width x height */
  uint32_t first_pair, end_pair;      /* of rows; the filter reaches two rows further */
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

/* How the samples of a component come out of the picture. */
typedef struct {
  Cj2kSampleLayout layout;
  uint32_t x, y;  /* of the tile-component's first sample in the plane, in samples */
  uint8_t depth;  /* that samples are shifted to (cj2k_unpack_row) */
  int32_t offset; /* DC level shift (T.800 G.1.1) */
} Cj2kCudaInput;

/* The top level of one tile-component, or of three that share a component transform: unpacking, DC
 * shift, RCT or ICT (T.800 annex G), first level of the DWT. */
typedef struct {
  Cj2kCudaForwardLevel level[3];
  Cj2kCudaInput input[3];
  uint8_t mct;
  uint8_t no_levels; /* no decomposition: samples go to band[CJ2K_LL] */
} Cj2kCudaTop;

typedef enum {
  CJ2K_CUDA_LOAD_ANY = 0, /* word by word */
  /* Unsigned samples that need no shift and no conversion: */
  CJ2K_CUDA_LOAD_16, /* little-endian words of 2 bytes side by side, rows at multiples of 8 */
  CJ2K_CUDA_LOAD_8,  /* bytes side by side, rows at multiples of 4 */
} Cj2kCudaLoad;

/* Tops that one launch can do together. */
typedef struct {
  const Cj2kCudaTop *tops; /* on the device */
  Cj2kCudaTop first;       /* tops[0], for launches of one */
  uint32_t count, width, height;
  uint32_t first_pair, end_pair; /* of rows; the filter reaches two rows further */
  uint8_t num_components;        /* 1 or 3 */
  uint8_t reversible;
  Cj2kCudaLoad load;
  const Cj2kCudaInputPlane *planes; /* on the device */
  const Cj2kXyzTables *xyz;         /* on the device; NULL: no conversion */
} Cj2kCudaTopLevel;

cudaError_t cj2k_cuda_fdwt_top(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                               cudaStream_t stream);
/* The same for tops without decomposition. */
cudaError_t cj2k_cuda_unpack(const Cj2kCudaTopLevel *top, const Cj2kCudaCoefficients *arrays,
                             cudaStream_t stream);

/* ----------------------------------------------------------------------- HT block coder --- */

/* A code-block of the plan. */
typedef struct {
  uint64_t offset; /* of its first sample in the coefficient array */
  uint64_t area;   /* samples of the blocks before, in whole pairs of quads */
  uint32_t stride; /* of its band, in samples */
  uint32_t band;
  uint16_t width, height;
  uint8_t reversible;
  uint8_t orientation; /* Cj2kOrientation */
  uint8_t style;       /* CJ2K_STYLE_* */
  uint8_t pad;
} Cj2kCudaEncodeBlock;

/* u-VLC code of one residual u, index u (T.814 table 3). */
#define CJ2K_CUDA_UVLC_CODES          128
#define CJ2K_CUDA_UVLC_PREFIX(e)      ((e)&7u)
#define CJ2K_CUDA_UVLC_PREFIX_BITS(e) ((e) >> 3 & 3u)
#define CJ2K_CUDA_UVLC_SUFFIX(e)      ((e) >> 5 & 31u)
#define CJ2K_CUDA_UVLC_SUFFIX_BITS(e) ((e) >> 10 & 7u)
#define CJ2K_CUDA_UVLC_EXT(e)         ((e) >> 13 & 15u)
#define CJ2K_CUDA_UVLC_EXT_BITS(e)    ((e) >> 17 & 7u)

/* MEL's bits for some zeros and then a one, out of a state, and the state then (T.814 7.3.3). */
#define CJ2K_CUDA_MEL_ZEROS     32
#define CJ2K_CUDA_MEL_BITS(e)   ((e)&0xFFFFu)
#define CJ2K_CUDA_MEL_LENGTH(e) ((e) >> 16 & 0xFFu)
#define CJ2K_CUDA_MEL_STATE(e)  ((e) >> 24)

/* Tables of the cleanup encoder; a multiple of 4 bytes. */
typedef struct {
  uint16_t encode[2][8 << 8]; /* as in Cj2kHtTables */
  uint32_t uvlc[CJ2K_CUDA_UVLC_CODES];
  uint32_t
      pairs[256]; /* [u of first << 4 | u of second] below the first row: code | length << 16 */
  uint32_t mel[CJ2K_HT_MEL_STATES * CJ2K_CUDA_MEL_ZEROS]; /* [state][zeros] */
} Cj2kCudaEncodeTables;

/* What kernels add up; zero before. */
typedef struct {
  uint64_t bytes;     /* of all blocks, each a multiple of CJ2K_CUDA_BLOCK_ALIGNMENT */
  uint64_t saturated; /* as in Cj2kEncodeResult */
  uint64_t failed;    /* blocks that have no legal form */
} Cj2kCudaEncodeCounts;

#define CJ2K_CUDA_BLOCK_ALIGNMENT 16

/* Blocks on the device, of a frame whose coefficients are there. */
typedef struct {
  const Cj2kCudaEncodeBlock *blocks;
  const Cj2kCudaEncodeTables *tables;
  const uint32_t *coefficients;
  const Cj2kFrameQuantiser *quantisers; /* per band */
  uint32_t num_blocks, stride;          /* only blocks b with b % stride == 0 */
  const uint32_t *order;                /* code: only these num_blocks; NULL: all, in order */
  uint8_t again; /* code: coded before, with their saturated samples counted */
  Cj2kCudaEncodeCounts *counts;

  /* code */
  const Cj2kHtChoice *choices; /* per block; NULL: all, at plane 0 */
  uint8_t *scratch;            /* cj2k_cuda_ht_scratch_size () bytes */
  uint32_t scratch_bits;       /* for each sample, see there */
  uint8_t *bytes;              /* out, in any order; nothing is written behind capacity;
                                  page-locked host memory: no copy follows */
  uint64_t capacity;
  Cj2kEncodedBlock *coded; /* per block, out */
  Cj2kPassLength *passes;

  /* measure */
  uint32_t first_plane, num_planes;
  uint32_t *lengths;     /* [block][num_planes] */
  uint64_t *distortions; /* [block][num_planes + 1] */
  uint64_t *band_errors; /* per band; zero before */
} Cj2kCudaEncodeBlocks;

/* Room that the bits of one sample take at most before all bytes of a block have their place, in
 * bits, when quantiser indices have up to num_bitplanes bits. */
#define CJ2K_CUDA_SCRATCH_BITS(num_bitplanes) ((((num_bitplanes) + 1u) * 16u + 14u) / 15u + 8u)
/* Samples of a block in whole pairs of quads. */
#define CJ2K_CUDA_BLOCK_AREA(width, height)                                                        \
  ((uint64_t)(((width) + 3u) & ~3u) * (((height) + 1u) & ~1u))
/* Where the scratch of block b begins; area: of the blocks before it. */
#define CJ2K_CUDA_SCRATCH_OFFSET(area, bits, b)                                                    \
  ((((uint64_t)(area) * (bits) >> 3) & ~(uint64_t)15) + (uint64_t)(b)*128)

/* HT cleanup passes (T.814 7.3), quantised on the way in; a warp a block. Distortions of passes are
 * not computed: measure gives them. */
cudaError_t cj2k_cuda_ht_encode(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);
/* Lengths and distortions of cleanup passes, as Cj2kEncodeResult has them. */
cudaError_t cj2k_cuda_ht_measure(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);
/* Squared error of the quantisation itself, per band. */
cudaError_t cj2k_cuda_band_errors(const Cj2kCudaEncodeBlocks *frame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
