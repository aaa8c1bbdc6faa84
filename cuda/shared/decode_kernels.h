/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernels of the decoding direction: plain structs of device pointers, and
 * launchers that only enqueue work on a stream and return the error of the launch. Arithmetic and
 * results are those of docs/arithmetic.md and docs/ht-coder.md, bit for bit.
 */
#ifndef CJ2K_CUDA_SHARED_DECODE_KERNELS_H
#define CJ2K_CUDA_SHARED_DECODE_KERNELS_H

#include "common/codestream/coded.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------- code-blocks --- */

/*
 * Coefficients. A band has one of two forms. `narrow`: int16_t, which halves the memory and what
 * kernels read and write; reversible as integers, irreversible as half units (twice the quantiser
 * index, plus the middle of the interval; docs/arithmetic.md), which the inverse DWT multiplies by
 * the band's scale when it loads them. Else 32 bits: int32_t, or dequantised fp32. Both give the
 * same samples: half units are multiplied once, as fp32, here or there. A band can be narrow if it
 * has no ROI shift and no more bit-planes than these; HT blocks of codestreams that are not valid
 * may have values of up to 1.375 times 2^Mb.
 */
#define CJ2K_CUDA_NARROW_REVERSIBLE   14
#define CJ2K_CUDA_NARROW_IRREVERSIBLE 13

/* The properties of a code-block that follow from the geometry: the same for all frames. */
typedef struct {
  uint64_t offset; /* index of its first sample in the coefficient array, which is taken for an
                      array of samples of its size; UINT64_MAX: not decoded */
  uint64_t quads;  /* index of its first quad record in the quad array */
  uint32_t band;   /* index into `steps` */
  uint32_t stride; /* its band's stride, in samples */
  uint16_t width, height;
  uint8_t roi_shift, orientation, style;
  uint8_t reversible : 4, narrow : 4; /* no bit is left over: tables are compared as bytes */
} Cj2kCudaBlock;

/* The properties of a band that follow from its quantiser, which may change from frame to frame. */
typedef struct {
  float scale;
  uint32_t num_bitplanes; /* Mb plus the ROI shift */
} Cj2kCudaBandStep;

/* The number of octets of an MQ block (mq/octet.cuh). */
#define CJ2K_CUDA_MQ_OCTETS(width, height) (((width) + 7u) / 8u * (((height) + 3u) / 4u))

/* Blocks of more octets are large. */
#define CJ2K_CUDA_MQ_SMALL 32u

/* Where large blocks fill warps, so many stripes of each are in shared memory at a time
 * (mq/decode_window.cuh); else all are. `octets` is the largest number of a block, `lanes` the
 * largest number of blocks of a warp. */
#define CJ2K_CUDA_MQ_WINDOW                    4u
#define CJ2K_CUDA_MQ_HAS_WINDOW(octets, lanes) ((octets) > CJ2K_CUDA_MQ_SMALL && (lanes) == 32u)

/* 32-bit words of a block's state in shared memory, which has `held` octets of it: two for each,
 * and three sets of all octets, which up to 32 are in registers. */
#define CJ2K_CUDA_MQ_WORDS(octets, held)                                                           \
  (2u * (held) + ((octets) > CJ2K_CUDA_MQ_SMALL ? 3u * (((octets) + 31u) / 32u) : 0))

/* 32-bit words of a block in `planes`: for each octet two of state, one of signs, one for each
 * bit-plane with passes, and if there are large blocks one of significance. Rounded up to a
 * multiple of four, because so many are read at once. With BYPASS there follow as many
 * Cj2kCudaRawBits as the block has raw magnitude refinement passes. */
#define CJ2K_CUDA_MQ_PLANE_WORDS(octets, passes, large)                                            \
  (((4u + cj2k_pass_depth((passes)-1u) + (large)) * (octets) + 3u) & ~3u)

/* Raw magnitude refinement passes of a block with BYPASS: every third pass from the twelfth on
 * (T.800 table D.9), of bit-planes from this one on, counted as in cj2k_pass_depth(). */
#define CJ2K_CUDA_MQ_RAW_PLANES(passes) ((passes) > 11u ? ((passes)-9u) / 3u : 0)
#define CJ2K_CUDA_MQ_FIRST_RAW_PLANE    4u

/* The bits of such a pass, and of the rest of its segment, where it begins. */
typedef struct {
  const uint8_t *next, *end; /* bytes of the segment that have not been read */
  uint64_t queue;            /* bits that have been read, the first one highest */
  uint32_t count;            /* of them, less than 64 */
  uint32_t after_ff;         /* the last byte that was read is 0xFF */
} Cj2kCudaRawBits;

/* Stride of a block's quad records. There is one row of records for two rows of samples. */
#define CJ2K_CUDA_QUAD_STRIDE(width) ((((width) + 1u) / 2u + 3u) & ~3u)

#define CJ2K_CUDA_NO_BLOCK UINT32_MAX /* an entry of ht.order that is no block */

/* The HT blocks of a frame. */
typedef struct {
  const uint32_t *order;   /* their numbers, similar blocks next to each other; from some place on
                              CJ2K_CUDA_NO_BLOCK in lists that are longer than there are blocks */
  const uint32_t *refined; /* the numbers of those with refinement passes */
  uint32_t count, num_refined;
  uint32_t *quads; /* workspace: quad records */
} Cj2kCudaHtBlocks;

/* The MQ blocks of a frame. The arrays `offsets` and `passes` have the order of `order`. */
typedef struct {
  const uint32_t *order; /* their numbers, similar blocks next to each other */
  const uint32_t *warps; /* by warp: index into `order` of its first block; num_warps + 1 entries */
  uint32_t count, num_warps;
  uint32_t lanes;          /* the largest number of blocks of a warp: 4, 8, 16 or 32 */
  uint32_t max_octets;     /* the largest number of octets of a block */
  uint32_t words;          /* words of state in shared memory that suffice for any block */
  uint32_t raw_planes;     /* the largest number of raw magnitude refinement passes of a block */
  const uint32_t *offsets; /* places of the blocks in `planes` */
  uint32_t *planes;        /* workspace: state, signs, and the bit-planes with passes;
                              CJ2K_CUDA_MQ_PLANE_WORDS and those of raw passes for each block */
  uint64_t plane_words;    /* size of `planes` */
  uint32_t *passes; /* workspace: decoded passes, with raw ones that follow in the next step */
} Cj2kCudaMqBlocks;

/* What counts of the decoding of blocks. */
typedef enum {
  CJ2K_CUDA_AIM_THROUGHPUT = 0, /* others are likely on the GPU as well */
  CJ2K_CUDA_AIM_LATENCY,        /* the GPU is likely free: few codecs, and one frame or a part */
  CJ2K_CUDA_AIM_LEAVE_ROOM, /* the same, but blocks decoded beside these are needed first, so that
                               these are decoded as for throughput */
} Cj2kCudaDecodeAim;

/* The blocks of a frame that are decoded; arrays are on the device. Where only some blocks of a
 * frame are decoded, they are counted in the order of `numbers` everywhere but in `blocks` and
 * `zeros`. */
typedef struct {
  const Cj2kCudaBlock *blocks;
  const uint32_t *numbers;       /* of the blocks, in the frame; NULL: all blocks of the frame */
  const Cj2kCudaBandStep *steps; /* by band */
  const Cj2kCodedBlock *coded;   /* as parsed from the packets */
  const Cj2kSegment *segments;
  const uint8_t *data; /* codestream and side buffer; aligned to 16 bytes, 16 more are readable */
  Cj2kCudaHtBlocks ht;
  Cj2kCudaMqBlocks mq;
  uint32_t num_blocks;
  uint32_t max_width;  /* of any block */
  uint32_t width_bits; /* all widths or'ed */
  Cj2kCudaDecodeAim aim;
  void *coefficients;     /* output */
  uint8_t *zeros;         /* per block, kept from frame to frame: its coefficients are zeros; NULL:
                             they may be anything */
  uint8_t *corrupt_flags; /* per block, initially 0; set by a kernel that finds the block corrupt */
  uint32_t *corrupt;      /* to this the number of corrupt blocks is added */
} Cj2kCudaDecodeBlocks;

/* HT cleanup, first step: MEL and VLC to quad records (T.814 7.3.3 to 7.3.6), one thread for each
 * block. */
cudaError_t cj2k_cuda_ht_decode_quads(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Second step: MagSgn to coefficients (T.814 7.3.7) in the form of the band; a warp or half a warp
 * for each block. Blocks without passes, corrupt blocks and, until cj2k_cuda_mq_decode, MQ blocks
 * become zeros. Blocks with refinement passes get half units, for the third step, or if they are
 * narrow whole units. */
cudaError_t cj2k_cuda_ht_decode_magsgn(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Both steps side by side, for which some frames are suited: few blocks for latency, not wide. The
 * second step of a block then ends shortly after its first one. */
bool cj2k_cuda_ht_is_joint(const Cj2kCudaDecodeBlocks *frame);
cudaError_t cj2k_cuda_ht_decode_joint(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Third step, if ht.num_refined > 0: SigProp, one thread for each block, whose results overwrite
 * the quad records; then MagRef (T.814 7.4, 7.5) to coefficients in the form of the band, a warp
 * for each block. */
cudaError_t cj2k_cuda_ht_decode_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Decodes MQ blocks (T.800 annexes C, D) to coefficients in the form of the band, which must be
 * zeros. */
cudaError_t cj2k_cuda_mq_decode(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* A part of it: reads raw magnitude refinement passes into the bit-planes, when all other passes
 * have been decoded. */
cudaError_t cj2k_cuda_mq_refine(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
/* Copies the HT tables to the current device; needed once for each device. */
cudaError_t cj2k_cuda_ht_init(void);

/* -------------------------------------------------------------------------- inverse DWT --- */

/* A plane of int32_t or float on the device, or of int16_t if it is a narrow band. */
typedef struct {
  void *data;
  uint32_t stride; /* in samples */
} Cj2kCudaPlane;

/* One level of one tile-component: four bands make `out`. */
typedef struct {
  Cj2kCudaPlane band[4];  /* by Cj2kOrientation */
  Cj2kCudaPlane out;      /* not used by the last level */
  uint32_t width, height; /* of the output */
  uint32_t first_step;  /* index of HL into the steps of the bands, LH and HH follow; for narrow */
  uint8_t odd_x, odd_y; /* parity of its first sample */
  uint8_t reversible;
  uint8_t narrow;   /* HL, LH and HH are */
  uint8_t is_plane; /* last level only: no decomposition, band[CJ2K_LL] is the output */
} Cj2kCudaLevel;

/* Rows [first, end) of a level, counted from the even row at or before its first one; of a
 * component without decomposition, from its first one. */
typedef struct {
  uint32_t first, end;
} Cj2kCudaRows;

/* How rows are divided among warps. */
typedef struct {
  uint32_t width, height;     /* of the largest entries, or the height of the largest range */
  uint32_t rows;              /* that a warp does; even */
  const Cj2kCudaRows *ranges; /* by entry, on the device: only these rows are made, from rows that
                                 are there; NULL: all rows */
} Cj2kCudaStrips;

/* What all entries of a launch have in common. */
typedef struct {
  bool reversible, narrow, is_plane; /* as in Cj2kCudaLevel */
  bool three; /* entries of the last level: level[0..2] go through RCT or ICT; else only level[0] is
                 used */
} Cj2kCudaKind;

/* levels[count] on the device. steps: by band, as for the code-blocks. */
cudaError_t cj2k_cuda_idwt(const Cj2kCudaLevel *levels, uint32_t count, Cj2kCudaKind kind,
                           const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                           cudaStream_t stream);

/* DC level shift of a component, and its range after the shift, as integers and as floats. */
typedef struct {
  int32_t dc, lo, hi;
  float dc_f, lo_f, hi_f;
} Cj2kCudaRange;

/* Conversion of samples to words that hold one sample each and are evenly spaced
 * (docs/arithmetic.md, layout depth). */
typedef struct {
  uint32_t plane;  /* index into the outputs; UINT32_MAX: not stored */
  uint32_t x, y;   /* position of the tile-component's first sample in the component's picture */
  uint32_t first;  /* byte offset of sample 0 in its row */
  uint32_t stride; /* bytes from sample to sample */
  uint32_t word_bytes;
  uint32_t swapped;
  uint32_t offset, round, down, up, mask, shift;
  int32_t most;
  Cj2kCudaRange range;
  uint32_t direct; /* the word is the sample: none of the conversions above is needed */
} Cj2kCudaStore;

/* The last level with the steps that follow: component transform, DC shift, clamp, store. */
typedef struct {
  Cj2kCudaLevel level[3];
  Cj2kCudaStore store[3];
} Cj2kCudaFinish;

/* A plane of the picture, or of samples that will be packed into one. */
typedef struct {
  uint8_t *data;
  uint64_t pitch; /* bytes */
} Cj2kCudaOutput;

/* finish[count] and outputs[] (by store.plane) on the device. */
cudaError_t cj2k_cuda_finish(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                             const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                             const Cj2kCudaOutput *outputs, cudaStream_t stream);

/* The destination of the three components of a tile as 16-bit words that are the samples. */
typedef struct {
  uint8_t *row[3];   /* addresses of the first rows, multiples of 8 */
  uint32_t pitch[3]; /* bytes, multiples of 8 */
} Cj2kCudaDirect;

/* Is component k of this entry (in host memory) stored as 16-bit words that are the samples, at
 * places that are aligned for vectors of four if the output is aligned? */
bool cj2k_cuda_finish_has_words(const Cj2kCudaFinish *finish, uint32_t k);
/* Are data and pitch of these outputs (in host memory) aligned in that way? */
bool cj2k_cuda_finish_is_aligned(const Cj2kCudaOutput *outputs, uint32_t count);
/* cj2k_cuda_finish for entries of one component each, for which both are true. */
cudaError_t cj2k_cuda_finish_words(const Cj2kCudaFinish *finish, uint32_t count, Cj2kCudaKind kind,
                                   const Cj2kCudaStrips *strips, const Cj2kCudaBandStep *steps,
                                   const Cj2kCudaOutput *outputs, cudaStream_t stream);

/* Can cj2k_cuda_finish_direct do this entry, which goes through RCT or ICT? Sets *direct if so.
 * `finish` and `outputs` are in host memory. */
bool cj2k_cuda_finish_is_direct(const Cj2kCudaFinish *finish, const Cj2kCudaOutput *outputs,
                                Cj2kCudaDirect *direct);
/* cj2k_cuda_finish for one such entry. `range` is in host memory; NULL: all rows. */
cudaError_t cj2k_cuda_finish_direct(const Cj2kCudaFinish *finish, const Cj2kCudaDirect *direct,
                                    uint32_t rows, const Cj2kCudaRows *range,
                                    const Cj2kCudaBandStep *steps, cudaStream_t stream);

/* ------------------------------------------------------------------------------ packing --- */

/* A plane whose words hold several samples, or bits that belong to no sample. It is packed by whole
 * units from planes of 16-bit words. */
typedef struct {
  uint32_t count; /* number of components in this plane; 0: only the fill */
  Cj2kCudaOutput source[4];
  uint32_t width[4], height[4];
  Cj2kSampleLayout layout[4]; /* the sources hold the layout's bits already */
  uint32_t unit_bytes, units;
  uint32_t first_row, rows; /* rows first_row .. rows - 1 are packed */
  uint8_t fill[64];         /* the bits of a unit that belong to no sample */
} Cj2kCudaPack;

/* row_bytes: the bytes of a row that may be written; the last unit is cut off there. */
cudaError_t cj2k_cuda_pack(const Cj2kCudaPack *pack, const Cj2kCudaOutput *plane, size_t row_bytes,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
