/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small copies that do not wait for the copy engine, seen from C. */
#ifndef CJ2K_CUDA_COPY_SMALL_H
#define CJ2K_CUDA_COPY_SMALL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Between memory of the device and page-locked memory, either way; both at multiples of 16.
 * Enqueues a kernel. */
cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
