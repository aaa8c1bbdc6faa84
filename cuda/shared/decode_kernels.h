/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernels of the CUDA back end, seen from C: plain structs of device pointers, and launchers
 * that only enqueue work on a stream and return what the launch said. Arithmetic and results are
 * those of docs/arithmetic.md and docs/ht-coder.md, bit for bit.
 */
#ifndef CJ2K_CUDA_KERNELS_H
#define CJ2K_CUDA_KERNELS_H

#include "common/codestream/coded.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

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

/* Octets of an MQ block (mq/octet.cuh), and words of its state in shared memory: two for each, and
 * three sets of them, which are in registers as long as they fit. */
#define CJ2K_CUDA_MQ_OCTETS(width, height) (((width) + 7u) / 8u * (((height) + 3u) / 4u))
#define CJ2K_CUDA_MQ_WORDS(octets)                                                                 \
  (2u * (octets) + ((octets) > 32u ? 3u * (((octets) + 31u) / 32u) : 0))

/* Quad records of a block: rows of `cj2k_cuda_quad_stride (width)`, one row for two sample rows. */
#define CJ2K_CUDA_QUAD_STRIDE(width) ((((width) + 1u) / 2u + 3u) & ~3u)

/* A frame's blocks on the device, to be decoded. */
typedef struct {
  const Cj2kCudaBlock *blocks;
  const Cj2kCodedBlock *coded; /* as the packets gave them */
  const Cj2kSegment *segments;
  const uint8_t *data;     /* codestream, then side buffer; readable for 16 bytes more */
  const uint32_t *order;   /* numbers of the HT blocks, alike ones next to each other */
  const uint32_t *refined; /* numbers of those with refinement passes */
  const uint32_t *mq;      /* numbers of the MQ blocks */
  uint32_t num_blocks, num_ht, num_refined, num_mq;
  uint32_t max_width;       /* of any block */
  uint32_t width_bits;      /* all widths or-ed */
  uint32_t mq_octets;       /* of any MQ block, at most */
  uint32_t mq_words;        /* of state in shared memory that any MQ block needs */
  const uint32_t *mq_warps; /* first of `mq` that a warp decodes; num_mq_warps + 1 */
  uint32_t num_mq_warps;
  uint32_t mq_lanes;          /* that any warp decodes, at most: 4, 8, 16 or 32 */
  const uint32_t *mq_offsets; /* of the bit-planes of the blocks in `mq` */
  uint32_t *mq_planes;        /* workspace: state, signs, and the bit-planes with passes */
  uint64_t mq_plane_words;
  uint32_t *mq_passes;    /* workspace: decoded, of the blocks in `mq` */
  uint32_t alone;         /* no other frame is in flight: latency counts */
  uint32_t *quads;        /* workspace */
  void *coefficients;     /* out */
  uint8_t *zeros;         /* per block, kept from frame to frame: its coefficients are zeros */
  uint8_t *corrupt_flags; /* per block, zero before; set where a stage found the block corrupt */
  uint32_t *corrupt;      /* number of these */
} Cj2kCudaDecodeBlocks;

/* HT cleanup, first step: MEL and VLC to quad records (T.814 7.3.3 to 7.3.6), a thread a block. */
cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Second step: MagSgn to coefficients (T.814 7.3.7), dequantised; a warp or half a warp a block.
 * Blocks without passes and corrupt ones become zeros, and so do MQ blocks for now. Blocks with
 * refinement passes get half units, for the next step. */
cudaError_t cj2k_cuda_ht_decode_magsgn(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Third step, when num_refined: SigProp, a thread a block, which takes the place of the blocks'
 * quad records; then MagRef (T.814 7.4, 7.5) and dequantisation, a warp a block. */
cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* MQ blocks (T.800 annexes C, D): decoded and dequantised. They are zeros before. */
cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
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
  Cj2kCudaPlane band[4];  /* by Cj2kOrientation */
  Cj2kCudaPlane out;      /* not used by the last level */
  uint32_t width, height; /* of the output */
  uint8_t odd_x, odd_y;   /* parity of its first sample */
  uint8_t reversible;
  uint8_t is_plane; /* last level only: no decomposition, band[CJ2K_LL] is the output */
} Cj2kCudaLevel;

/* levels[count] on the device, all reversible or none, of sizes up to width x height; `rows` (even)
 * of each are one warp's. */
cudaError_t cj2k_cuda_idwt(const Cj2kCudaLevel *levels, uint32_t count, bool reversible,
                           uint32_t width, uint32_t height, uint32_t rows, cudaStream_t stream);

/* How samples become bits in words that belong to them alone, evenly spaced (docs/arithmetic.md,
 * layout depth). */
typedef struct {
  uint32_t plane;  /* of the outputs; UINT32_MAX: not put out */
  uint32_t x, y;   /* of the tile-component's first sample in the component's picture */
  uint32_t first;  /* byte offset of sample 0 in its row */
  uint32_t stride; /* bytes from sample to sample */
  uint32_t word_bytes;
  uint32_t swapped;
  uint32_t offset, round, down, up, mask, shift;
  int32_t most;
  int32_t dc, lo, hi;     /* DC offset, and the component's range after it */
  float dc_f, lo_f, hi_f; /* the same */
  uint32_t direct; /* a sample's bits are the word: none of the conversions above does anything */
} Cj2kCudaStore;

/* The last level with what follows: component transform, DC shift, clamp, store. */
typedef struct {
  Cj2kCudaLevel level[3];
  Cj2kCudaStore store[3];
} Cj2kCudaFinish;

/* A plane of the picture, or of samples on their way to one. */
typedef struct {
  uint8_t *data;
  uint64_t pitch; /* bytes */
} Cj2kCudaOutput;

/* finish[count] and outputs[] (by store.plane) on the device. three: level[0..2] go through RCT or
 * ICT; else only level[0] is there. */
cudaError_t cj2k_cuda_finish(const Cj2kCudaFinish *finish, uint32_t count, bool three,
                             bool reversible, bool is_plane, uint32_t width, uint32_t height,
                             uint32_t rows, const Cj2kCudaOutput *outputs, cudaStream_t stream);

/* Where the three components of a tile go as 16-bit words, and the words are the samples. */
typedef struct {
  uint8_t *row[3];   /* of the first row, multiples of 8 */
  uint32_t pitch[3]; /* bytes, multiples of 8 */
} Cj2kCudaDirect;

/* Does component k of this entry (on the host) go as 16-bit words, which are the samples, to a
 * place for vectors of four when the output is aligned (on the host, too: data and pitch)? */
bool cj2k_cuda_finish_has_words(const Cj2kCudaFinish *finish, uint32_t k);
bool cj2k_cuda_finish_is_aligned(const Cj2kCudaOutput *outputs, uint32_t count);
/* cj2k_cuda_finish for entries of one such component each, to aligned outputs. */
cudaError_t cj2k_cuda_finish_words(const Cj2kCudaFinish *finish, uint32_t count, bool reversible,
                                   uint32_t width, uint32_t height, uint32_t rows,
                                   const Cj2kCudaOutput *outputs, cudaStream_t stream);

/* Can this entry (on the host, like `outputs`) be done by cj2k_cuda_finish_direct? Sets *direct
 * then. The entry is one that goes through RCT or ICT. */
bool cj2k_cuda_finish_is_direct(const Cj2kCudaFinish *finish, const Cj2kCudaOutput *outputs,
                                Cj2kCudaDirect *direct);
/* cj2k_cuda_finish for one such entry. */
cudaError_t cj2k_cuda_finish_direct(const Cj2kCudaFinish *finish, const Cj2kCudaDirect *direct,
                                    uint32_t rows, cudaStream_t stream);

/* ------------------------------------------------------------------------------ packing --- */

/* A plane whose words hold several samples, or bits that no sample owns: whole units, from planes
 * of 16-bit words. */
typedef struct {
  uint32_t count; /* of components that lie here; 0: only the fill */
  Cj2kCudaOutput source[4];
  uint32_t width[4], height[4];
  Cj2kSampleLayout layout[4]; /* the sources hold the layout's bits already */
  uint32_t unit_bytes, units, rows;
  uint8_t fill[64]; /* a unit's bits that no sample writes */
} Cj2kCudaPack;

/* row_bytes: what may be written of a row; the last unit may end there. */
cudaError_t cj2k_cuda_pack(const Cj2kCudaPack *pack, const Cj2kCudaOutput *plane, size_t row_bytes,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
