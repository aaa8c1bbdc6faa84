/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transforms of the CPU back end (T.800 annexes E, F, G) with the arithmetic of docs/arithmetic.md.
 *
 * The caller divides the work: each function processes a given range, and ranges may run on
 * different threads. The result does not depend on the division. Nothing here allocates.
 */
#ifndef CJ2K_CPU_DWT_TRANSFORM_H
#define CJ2K_CPU_DWT_TRANSFORM_H

#include "common/codestream/plan.h"

/* ------------------------------------------------------------------ coefficients, annexes E, H ---
 */

/*
 * Reconstruction (E.1.1.2, E.1.2.2, H.1): turns samples of the block decoder into coefficients: ROI
 * scaling is undone, then dequantisation. in[height][in_stride] to out[height][out_stride] of
 * int32_t (reversible) or float. in and out may be the same where both are 32 bits wide.
 */
void cj2k_reconstruct(const uint32_t *in, size_t in_stride, uint32_t width, uint32_t height,
                      uint8_t roi_shift, bool reversible, float scale, void *out,
                      size_t out_stride);
void cj2k_reconstruct_wide(const uint64_t *in, size_t in_stride, uint32_t width, uint32_t height,
                           uint8_t roi_shift, bool reversible, float scale, void *out,
                           size_t out_stride);

/* Quantisation (E.1.1.1): int32_t or float coefficients to sign-magnitude indices. in and out may
 * be the same. */
void cj2k_quantise(const void *in, size_t in_stride, uint32_t width, uint32_t height,
                   bool reversible, float inv_scale, uint32_t *out, size_t out_stride);

/* ------------------------------------------------------------------------------ DWT, annex F ---
 */

/* A rectangle of coefficients or samples: int32_t with the 5/3 filter, float with the 9/7. */
typedef struct {
  void *data;    /* sample at (rect.x0, rect.y0) */
  size_t stride; /* in samples */
  Cj2kRect rect; /* absolute position, gives parity (empty is legal) */
} Cj2kSamples;

/* The four bands of one level, indexed by Cj2kOrientation. */
typedef struct {
  Cj2kSamples band[4];
} Cj2kBands;

/* Bytes of scratch memory for one rows state or one call of *_level; 64-byte aligned. */
size_t cj2k_dwt_scratch_size(uint32_t width);

/* State of the vertical filter; private to this folder. Positions are absolute. */
typedef struct {
  bool reversible, inverse;
  uint32_t width;
  uint32_t odd_x;     /* parity of the first column */
  int64_t row0, row1; /* requested rows */
  int64_t lo, hi;     /* the same with their halo: the rows that the filter reads */
  int64_t next;       /* row to fill next */
  int64_t trigger;    /* row after which the next round of lifting steps is due */
  int64_t lifted;     /* rows below this one are final, and no step reads them any more */
  int64_t emitted;    /* row to return next, row0..row1 */
  char *ring;         /* the latest rows, `ring_pitch` bytes apart */
  size_t ring_pitch;
  char *direct; /* NULL, or memory of the rows row0..row1 in place of the ring */
  size_t direct_pitch;
  const char *source; /* NULL, or memory of the rows lo..hi before the first step */
  size_t source_pitch;
  void *temp; /* of the horizontal filter */
} Cj2kDwtRows;

/*
 * Inverse DWT, one level (2D_SR, F.3.2), row by row: after init each call of next returns one of
 * the output rows [row0, row1) (absolute y of `out`) with all columns, from the first on. The row
 * is in the scratch memory; it may be overwritten and is valid until the next call with this state.
 * For the component transform several states return the rows of several components in lock-step.
 */
typedef struct {
  Cj2kDwtRows rows;
  Cj2kBands bands; /* of a plane: only [CJ2K_LL] */
  bool plane;
} Cj2kIdwtRows;
void cj2k_idwt_rows_init(Cj2kIdwtRows *state, bool reversible, const Cj2kBands *bands,
                         const Cj2kRect *out, uint32_t row0, uint32_t row1, void *scratch);
/* The same for a tile-component without decomposition (NL = 0): rows of `plane`, copied. */
void cj2k_idwt_rows_init_plane(Cj2kIdwtRows *state, bool reversible, const Cj2kSamples *plane,
                               uint32_t row0, uint32_t row1, void *scratch);
void *cj2k_idwt_rows_next(Cj2kIdwtRows *state);

/* One level of the inverse DWT into memory, output rows [row0, row1) of out->rect. */
void cj2k_idwt_level(bool reversible, const Cj2kBands *bands, const Cj2kSamples *out, uint32_t row0,
                     uint32_t row1, void *scratch);

/* Which coefficients are quantised when they are stored; such bands hold uint32_t sign-magnitude
 * indices (cj2k_quantise()). */
typedef struct {
  bool high;          /* quantise HL, LH, HH */
  bool low;           /* quantise LL (the last level) */
  float inv_scale[4]; /* by Cj2kOrientation; unused when reversible */
} Cj2kBandQuantiser;

/*
 * Forward DWT, one level (2D_SD, F.4.2), row by row. It writes the band rows that belong to the
 * rows [row0, row1) of `in`: low-pass rows at even y, high-pass rows at odd y. The input rows
 * [first_row, end_row), which include a halo, are given in order: write one into
 * cj2k_fdwt_rows_slot() (width samples, int32_t or float), then call cj2k_fdwt_rows_push(). After
 * the last push all is stored. bands->band[CJ2K_LL].data is the input of the next level.
 */
typedef struct {
  Cj2kDwtRows rows;
  Cj2kBands bands;
  Cj2kBandQuantiser quantiser;
  bool plane;
} Cj2kFdwtRows;
void cj2k_fdwt_rows_init(Cj2kFdwtRows *state, bool reversible, const Cj2kRect *in,
                         const Cj2kBands *bands, const Cj2kBandQuantiser *quantiser, uint32_t row0,
                         uint32_t row1, void *scratch, uint32_t *first_row, uint32_t *end_row);
/* The same without decomposition (NL = 0): rows are copied to `plane`, quantised if quantiser->low.
 */
void cj2k_fdwt_rows_init_plane(Cj2kFdwtRows *state, bool reversible, const Cj2kSamples *plane,
                               const Cj2kBandQuantiser *quantiser, uint32_t row0, uint32_t row1,
                               void *scratch, uint32_t *first_row, uint32_t *end_row);
void *cj2k_fdwt_rows_slot(Cj2kFdwtRows *state);
void cj2k_fdwt_rows_push(Cj2kFdwtRows *state);

/* One level of the forward DWT of `in` in memory (unchanged afterwards); quantiser may be NULL. */
void cj2k_fdwt_level(bool reversible, const Cj2kSamples *in, const Cj2kBands *bands,
                     const Cj2kBandQuantiser *quantiser, uint32_t row0, uint32_t row1,
                     void *scratch);

/* ---------------------------------------------------------- component transform, annex G --- */

/* Inverse and forward component transform (G.2, G.3), in place, of three rows of n samples: int32_t
 * (RCT) or float (ICT). */
void cj2k_inverse_mct(bool reversible, void *c0, void *c1, void *c2, size_t n);
void cj2k_forward_mct(bool reversible, void *c0, void *c1, void *c2, size_t n);

/* Rounding, DC shift (G.1.2) and clamp: turns a row of coefficients into int32_t samples in the
 * range of the component; depth is at most 31, or 32 when signed. in and out may be the same. */
void cj2k_finish_row(bool reversible, uint8_t depth, bool is_signed, const void *in, int32_t *out,
                     size_t n);
/* DC shift (G.1.1) of samples, which become int32_t or float. in and out may be the same. */
void cj2k_start_row(bool reversible, uint8_t depth, bool is_signed, const int32_t *in, void *out,
                    size_t n);

#endif
