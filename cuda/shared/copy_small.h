/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C interface to copies that do without the copy engine. */
#ifndef CJ2K_CUDA_SHARED_COPY_SMALL_H
#define CJ2K_CUDA_SHARED_COPY_SMALL_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues a kernel that copies between device memory and pinned host memory, either way. Both
 * addresses are multiples of 16. */
cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream);
/* The same, and sets clear_size bytes at `clear`, a multiple of 16 too, to 0 by the same kernel:
 * one call into the driver in place of two. */
cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream);

/* Where a copy goes, and how many bytes it may have; in pinned memory, so that a graph can be
 * launched with others each time. */
typedef struct {
  void *to;
  uint64_t most;
} Cj2kCudaCopyTarget;

/* The same for what is known only when the kernel runs: *size bytes, on the device, or none if they
 * are more than target->most. room: bytes at `from`. */
cudaError_t cj2k_cuda_copy_known(const Cj2kCudaCopyTarget *target, const void *from,
                                 const uint64_t *size, size_t room, cudaStream_t stream);

/* cj2k_cuda_copy_small of so many bytes as are at *size, in pinned memory, when the kernel runs: a
 * graph copies another number each time. room: bytes at `to` and `from`; more are not copied. */
cudaError_t cj2k_cuda_copy_told(void *to, const void *from, const uint64_t *size, size_t room,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
