/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strides.h"

#include <stddef.h>

#define SAMPLED_BLOCKS 640 /* minimum number of blocks in a sample */
#define MOST           61
#define QUADS          131072 /* minimum number of quads of an estimate, if there are as many */
#define MOST_ROWS      16

static const uint32_t strides[] = {1, 2, 3, 5, 7, 11, 13, 17, 23, 29, 37, 47, 61, 79, 97, 127};
#define NUM_STRIDES (sizeof strides / sizeof *strides)

uint32_t cj2k_sample_stride(uint32_t num_blocks)
{
  size_t i = 0;

  while (i + 1 < NUM_STRIDES && num_blocks / strides[i + 1] >= SAMPLED_BLOCKS)
    i++;
  return strides[i];
}

uint32_t cj2k_stride_at_most(double most)
{
  size_t i = 0;

  while (i + 1 < NUM_STRIDES && strides[i + 1] <= MOST && strides[i + 1] <= most)
    i++;
  return strides[i];
}

uint32_t cj2k_estimate_stride(uint64_t num_coefficients)
{
  uint64_t quads = num_coefficients / 4;
  uint32_t stride = 1;

  while (stride < MOST_ROWS && quads / (2 * stride) >= QUADS)
    stride *= 2;
  return stride;
}
