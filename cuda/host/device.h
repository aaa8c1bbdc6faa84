/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The GPU a back end works on: its choice, its context, errors as Cj2kError, and memory that grows
 * but is never freed while frames run.
 */
#ifndef CJ2K_CUDA_DEVICE_H
#define CJ2K_CUDA_DEVICE_H

#include "common/cj2k.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

typedef struct {
  int ordinal;
  CUcontext context;                   /* the caller's, or the device's primary one */
  CUresult (*push)(CUcontext context); /* the driver's */
  CUresult (*pop)(CUcontext *context);
} Cj2kCudaDevice;

/* Starts device `ordinal` (-1: the first that works), in `context` (a CUcontext) or, where that is
 * NULL, in its primary context. CJ2K_ERROR_DEVICE says why not. */
Cj2kStatus cj2k_cuda_device_open(Cj2kCudaDevice *device, int ordinal, void *context,
                                 Cj2kError *error);

/* Makes the context current on this thread, and what was current before again. Every entry into the
 * back end is between the two, so that a caller's own work on another GPU is left alone. */
bool cj2k_cuda_enter(const Cj2kCudaDevice *device);
void cj2k_cuda_leave(const Cj2kCudaDevice *device);

/* CJ2K_OK, or *error with what was being done and CUDA's own words; out of memory is
 * CJ2K_ERROR_MEMORY. */
Cj2kStatus cj2k_cuda_check(cudaError_t result, const char *doing, Cj2kError *error);

/* Evaluates `call`, an expression of type cudaError_t, where nothing has failed yet. */
#define CJ2K_CUDA_TRY(status, call)                                                                \
  do {                                                                                             \
    if ((status) == cudaSuccess)                                                                   \
      (status) = (call);                                                                           \
  } while (0)

/* Memory of a slot: device or page-locked host memory, kept until it is too small. Contents are
 * lost when it grows. */
typedef struct {
  void *data;
  size_t size;
  bool host;
} Cj2kCudaMemory;

/* The same array on both sides of the bus. */
typedef struct {
  Cj2kCudaMemory device, host;
} Cj2kCudaPair;

cudaError_t cj2k_cuda_reserve(Cj2kCudaMemory *memory, size_t size);
/* For what is of another size with each frame: when it grows, by a quarter more than is needed. */
cudaError_t cj2k_cuda_reserve_more(Cj2kCudaMemory *memory, size_t size);
void cj2k_cuda_release(Cj2kCudaMemory *memory);
void cj2k_cuda_release_pair(Cj2kCudaPair *pair);

/* Of what is NULL there is nothing to destroy. */
void cj2k_cuda_destroy_event(cudaEvent_t event);
void cj2k_cuda_destroy_stream(cudaStream_t stream);

/* Memory for pictures (Cj2kBackendMemory): page-locked or of the device. */
void *cj2k_cuda_alloc(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, size_t size);
void cj2k_cuda_free(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, void *memory);
Cj2kStatus cj2k_cuda_copy(const Cj2kCudaDevice *device, void *cuda_stream, const Cj2kPlane *to,
                          const Cj2kPlane *from, size_t row_bytes, uint32_t rows, Cj2kError *error);

/* What is queued on `stream` from now on comes behind what is queued on the picture's own stream;
 * nothing happens where the picture has none. `event` is the caller's, to be used for nothing else
 * and created without timing. */
cudaError_t cj2k_cuda_follow_picture(cudaStream_t stream, const Cj2kPicture *picture,
                                     cudaEvent_t event);

#endif
