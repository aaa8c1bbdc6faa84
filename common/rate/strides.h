/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strides of samples: each stride-th block stands for all. They are primes, so that the sampled
 * blocks are not always in the same columns.
 */
#ifndef CJ2K_RATE_STRIDES_H
#define CJ2K_RATE_STRIDES_H

#include <stdint.h>

/* The largest stride that leaves enough blocks. */
uint32_t cj2k_sample_stride(uint32_t num_blocks);
/* The largest stride up to `most` and up to 61; 1: there is none. */
uint32_t cj2k_stride_at_most(double most);
/* Of rows of quads: an estimate (estimate_ht.h) looks at one in so many of each block. A power of
 * two, the largest up to 16 that leaves enough quads. */
uint32_t cj2k_estimate_stride(uint64_t num_coefficients);

#endif
