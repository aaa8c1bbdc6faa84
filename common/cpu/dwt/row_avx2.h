/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inner part of the horizontal filter with all lifting steps in registers. The operations on
 * each sample and their order are those of row.c, so the results are the same bits.
 */
#ifndef CJ2K_CPU_DWT_ROW_AVX2_H
#define CJ2K_CPU_DWT_ROW_AVX2_H

#include "lift.h"

/*
 * A pair is a low-pass sample and the high-pass sample right of it. Of `pairs` pairs in low[] and
 * high[] (out: 2 * pairs interleaved samples) these functions compute [*first, *end) and write
 * no samples of other pairs; neighbours are read, nothing is mirrored. Both are 0 when the
 * processor or the build has no AVX2, or the row is too short.
 */
void cj2k_dwt_pairs_synthesise(const Cj2kLift *lift, const void *low, const void *high, void *out,
                               size_t pairs, size_t *first, size_t *end);
void cj2k_dwt_pairs_analyse(const Cj2kLift *lift, const void *in, void *low, void *high,
                            size_t pairs, size_t *first, size_t *end);

#endif
