/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernels of the CUDA back end, seen from C: plain structs of device pointers, and launchers
 * that only enqueue work on a stream and return what the launch said. Arithmetic and results are
 * those of docs/arithmetic.md and docs/ht-coder.md, bit for bit.
 */
#ifndef CJ2K_CUDA_KERNELS_H
#define CJ2K_CUDA_KERNELS_H

#include "../common/codestream/coded.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------- code-blocks --- */

/* What does not change from frame to frame about a code-block of the plan. */
typedef struct {
  uint64_t offset; /* of its first sample in the coefficient array; UINT64_MAX: not decoded */
  uint64_t quads;  /* of its first quad record in the quad array */
  float scale;     /* of its band */
  uint32_t stride; /* of its band, in samples */
  uint16_t width, height;
  uint8_t num_bitplanes; /* Mb and ROI shift */
  uint8_t roi_shift, reversible, orientation, style;
  uint8_t pad[3];
} Cj2kCudaBlock;

/* Quad records of a block: rows of `cj2k_cuda_quad_stride (width)`, one row for two sample rows. */
#define CJ2K_CUDA_QUAD_STRIDE(width) ((((width) + 1u) / 2u + 3u) & ~3u)

/* A frame's blocks on the device, to be decoded. */
typedef struct {
  const Cj2kCudaBlock *blocks;
  const Cj2kCodedBlock *coded; /* as the packets gave them */
  const Cj2kSegment *segments;
  const uint8_t *data;   /* codestream, then side buffer; readable for 16 bytes more */
  const uint32_t *order; /* block numbers: HT ones, alike ones next to each other */
  uint32_t num_blocks, num_ht, num_refined, num_mq;
  uint32_t *quads;        /* workspace */
  void *coefficients;     /* out */
  uint8_t *corrupt_flags; /* per block, zero before; set where a stage found the block corrupt */
  uint32_t *corrupt;      /* number of these */
} Cj2kCudaDecodeBlocks;

/* HT cleanup, first step: MEL and VLC to quad records (T.814 7.3.3 to 7.3.6), a thread a block. */
cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Second step: MagSgn to coefficients (T.814 7.3.7), dequantised; a warp or half a warp a block.
 * Blocks without passes and corrupt ones become zeros, MQ blocks are left alone. Blocks with
 * refinement passes get half units, for the next step. */
cudaError_t cj2k_cuda_ht_decode_magsgn(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Third step, when num_refined: SigProp and MagRef (T.814 7.4, 7.5), then dequantisation. */
cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Copies the HT tables to the current device; once a device. */
cudaError_t cj2k_cuda_ht_init(void);

/* -------------------------------------------------------------------------- inverse DWT --- */

/* A plane of int32_t or float on the device. */
typedef struct {
  void *data;
  uint32_t stride; /* in samples */
} Cj2kCudaPlane;

/* One level of one tile-component: four bands make `out`. */
typedef struct {
  Cj2kCudaPlane band[4]; /* by Cj2kOrientation */
  Cj2kCudaPlane out;     /* not used by the last level */
  Cj2kRect rect;         /* of the output, absolute */
  uint32_t reversible;
  uint32_t is_plane; /* last level only: no decomposition, band[CJ2K_LL] is the output */
} Cj2kCudaLevel;

/* levels[count] on the device, of any sizes up to width x height. */
cudaError_t cj2k_cuda_idwt(const Cj2kCudaLevel *levels, uint32_t count, uint32_t width,
                           uint32_t height, cudaStream_t stream);

/* The last level with what follows: component transform, DC shift, clamp, store. */
typedef struct {
  Cj2kCudaLevel level[3];
  uint32_t num_components; /* 1, or 3 that go through RCT or ICT */
  struct Cj2kCudaOutput {
    uint32_t x, y;  /* of rect's first sample in the component's picture area */
    uint32_t plane; /* of the picture; UINT32_MAX: not put out */
    uint8_t depth, is_signed;
    Cj2kSampleLayout layout; /* one sample a word */
  } out[3];
} Cj2kCudaFinish;

typedef struct {
  void *data[CJ2K_MAX_PLANES];
  uint64_t pitch[CJ2K_MAX_PLANES]; /* bytes */
} Cj2kCudaPicture;

cudaError_t cj2k_cuda_finish(const Cj2kCudaFinish *finish, uint32_t count, uint32_t width,
                             uint32_t height, bool three, const Cj2kCudaPicture *picture,
                             cudaStream_t stream);

/* ------------------------------------------------------------------------------ packing --- */

/* Layouts in which words hold several samples: from planes of 16-bit words, a thread a unit. */
typedef struct {
  const uint16_t *samples[4]; /* planes of the components that lie in this plane */
  uint64_t stride[4];         /* in samples */
  uint32_t width[4];
  Cj2kSampleLayout layout[4];
  uint32_t count;
  uint32_t units, rows;
  uint8_t fill[32]; /* a unit's bits that no sample owns */
} Cj2kCudaPack;

cudaError_t cj2k_cuda_pack(const Cj2kCudaPack *pack, void *plane, uint64_t pitch,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
