/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transforms of the CPU back end (T.800 annexes E, F, G), arithmetic as in docs/arithmetic.md.
 *
 * Parallelism is the caller's: each function works on a given range, ranges may run on different threads, the result
 * never depends on how the work was cut.
 */
#ifndef CJ2K_CPU_TRANSFORM_H
#define CJ2K_CPU_TRANSFORM_H

#include "../codestream/plan.h"

/* A rectangle of coefficients or samples: int32_t or float, told by `reversible`. */
typedef struct {
  void *data;      /* sample at (rect.x0, rect.y0) */
  size_t stride;   /* in samples */
  Cj2kRect rect;   /* absolute position, gives parity (empty is legal) */
} Cj2kSamples;

/*
 * Reconstruction: block decoder output -> coefficient plane (ROI descale, dequantise). in[height][in_stride] to
 * out[height][out_stride] of int32_t (reversible) or float.
 */
void cj2k_reconstruct (const uint32_t *in, size_t in_stride, uint32_t width, uint32_t height, uint8_t roi_shift,
    bool reversible, float scale, void *out, size_t out_stride);
void cj2k_reconstruct_wide (const uint64_t *in, size_t in_stride, uint32_t width, uint32_t height, uint8_t roi_shift,
    bool reversible, float scale, void *out, size_t out_stride);

/* Quantisation: int32_t or float coefficients -> sign-magnitude indices. In place allowed. */
void cj2k_quantise (const void *in, size_t in_stride, uint32_t width, uint32_t height, bool reversible, float inv_scale,
    uint32_t *out, size_t out_stride);

/*
 * One level of the inverse DWT (2D_SR, F.3.2) for output rows [row0, row1) of out->rect (absolute y), all columns.
 * `scratch` has cj2k_dwt_scratch_size (width of out) bytes, 64-byte aligned. Bands ll hl lh hh as in the plan.
 */
size_t cj2k_dwt_scratch_size (uint32_t width);
void cj2k_idwt_level (bool reversible, const Cj2kSamples *ll, const Cj2kSamples *hl, const Cj2kSamples *lh,
    const Cj2kSamples *hh, const Cj2kSamples *out, uint32_t row0, uint32_t row1, void *scratch);
/* The same, rows delivered in order, in a buffer of the scratch, to `sink` instead of to memory (last level, so that
 * colour transform and packing find them in cache). */
typedef void (*Cj2kRowSink) (void *ctx, uint32_t y, const void *row);
void cj2k_idwt_level_rows (bool reversible, const Cj2kSamples *ll, const Cj2kSamples *hl, const Cj2kSamples *lh,
    const Cj2kSamples *hh, const Cj2kSamples *out, uint32_t row0, uint32_t row1, void *scratch, Cj2kRowSink sink,
    void *ctx);

/* One level of the forward DWT (2D_SD, F.4.2) of in; writes band rows that belong to input rows [row0, row1). */
void cj2k_fdwt_level (bool reversible, const Cj2kSamples *in, const Cj2kSamples *ll, const Cj2kSamples *hl,
    const Cj2kSamples *lh, const Cj2kSamples *hh, uint32_t row0, uint32_t row1, void *scratch);

/* Inverse component transform of n samples in place; three rows of int32_t (RCT) or float (ICT). */
void cj2k_inverse_mct (bool reversible, void *c0, void *c1, void *c2, size_t n);
void cj2k_forward_mct (bool reversible, void *c0, void *c1, void *c2, size_t n);

/* DC shift, rounding, clamp: a row of coefficients to samples (int32_t, in the component's range). In place allowed. */
void cj2k_finish_row (bool reversible, uint8_t depth, bool is_signed, const void *in, int32_t *out, size_t n);
/* DC shift of samples to int32_t or float. */
void cj2k_start_row (bool reversible, uint8_t depth, bool is_signed, const int32_t *in, void *out, size_t n);

/*
 * Packing: samples of component c, columns [x, x+n) of a row (relative to the component's first column), into the
 * plane row that starts at `row`. Words that several components share must be zero before (cj2k_pack_begin_row writes
 * the fill); x need not be a multiple of unit_samples.
 */
void cj2k_pack_begin_row (const Cj2kLayout *layout, uint32_t plane, uint8_t *row, uint32_t width);
void cj2k_pack_row (const Cj2kSampleLayout *layout, uint8_t depth, bool is_signed, const int32_t *in, uint32_t x,
    uint32_t n, uint8_t *row);
/* Unpacking of the same: into int32_t samples, shifted down to `depth` when the layout has more bits. */
void cj2k_unpack_row (const Cj2kSampleLayout *layout, uint8_t depth, const uint8_t *row, uint32_t x, uint32_t n,
    int32_t *out);

#endif
