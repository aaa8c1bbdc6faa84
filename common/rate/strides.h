/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strides of samples: each so many-th block stands for all. They are primes, so that samples do not
 * fall into the same column of blocks again and again.
 */
#ifndef CJ2K_RATE_STRIDES_H
#define CJ2K_RATE_STRIDES_H

#include <stdint.h>

/* The largest stride that leaves enough blocks to stand for all. */
uint32_t cj2k_sample_stride(uint32_t num_blocks);
/* The largest stride that is not above `most`, and not above 61; 1: there is none. */
uint32_t cj2k_stride_at_most(double most);

#endif
