/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C interface to the kernel that puts the bytes of code-blocks to their places in a codestream. */
#ifndef CJ2K_CUDA_SHARED_PLACE_H
#define CJ2K_CUDA_SHARED_PLACE_H

#include "common/codestream/coded.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const Cj2kByteRun *runs; /* in pinned host memory or on the device */
  uint32_t num_runs;
  const uint8_t *bytes; /* from here on `from` counts; a multiple of 4 */
  uint8_t *out;         /* from here on `to` counts; a multiple of 4 */
} Cj2kCudaPlace;

/* Copies all runs. Of `bytes`, whole words are read that have a byte of a run. */
cudaError_t cj2k_cuda_place(const Cj2kCudaPlace *place, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
