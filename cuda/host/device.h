/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The GPU of a back end: choice of the device, its context, errors as Cj2kError, and memory that
 * grows but is never freed while frames run.
 */
#ifndef CJ2K_CUDA_HOST_DEVICE_H
#define CJ2K_CUDA_HOST_DEVICE_H

#include "common/cj2k.h"
#include "engine.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

typedef struct {
  int ordinal;
  CUcontext context;                   /* the caller's, or the device's primary one */
  CUresult (*push)(CUcontext context); /* functions of the driver */
  CUresult (*pop)(CUcontext *context);
  Cj2kCudaEngine *engine; /* of this context */
  bool maps_pinned;       /* kernels reach memory that was pinned later at the host's address */
  /* Set after cj2k_cuda_device_open: */
  bool low_latency;   /* the codec's threads may spin */
  bool one_in_flight; /* the codec has one frame in flight */
} Cj2kCudaDevice;

/* The number of GPUs. CJ2K_ERROR_DEVICE: there is none; *error says why. */
Cj2kStatus cj2k_cuda_count(int *number, Cj2kError *error);

/* Starts device `ordinal` (-1: the first that works) in `context` (a CUcontext; NULL: the device's
 * primary context). CJ2K_ERROR_DEVICE: there is none; *error says why. */
Cj2kStatus cj2k_cuda_device_open(Cj2kCudaDevice *device, int ordinal, void *context,
                                 Cj2kError *error);
/* Ends the use of a device that was started, whose context is current. */
void cj2k_cuda_device_close(const Cj2kCudaDevice *device);

/* enter() makes the context current on this thread; leave() restores the one before. Every function
 * of the back end calls both, so that the caller's own work on another GPU is not disturbed. What
 * frees memory does so as well if enter() fails, and then does not call leave(). */
bool cj2k_cuda_enter(const Cj2kCudaDevice *device);
void cj2k_cuda_leave(const Cj2kCudaDevice *device);

/* Converts a CUDA error: *error gets `doing` (what was being done) and CUDA's text. Out of memory
 * is CJ2K_ERROR_MEMORY, and the driver then gets the memory and the streams that the device's
 * engine keeps (NULL: there is none yet). */
Cj2kStatus cj2k_cuda_check(const Cj2kCudaDevice *device, cudaError_t result, const char *doing,
                           Cj2kError *error);
/* Sets the error of a context that cannot be entered. Returns CJ2K_ERROR_DEVICE. */
Cj2kStatus cj2k_cuda_no_context(Cj2kError *error);

/* Evaluates `call`, an expression of type cudaError_t, unless an earlier call has failed. */
#define CJ2K_CUDA_TRY(status, call)                                                                \
  do {                                                                                             \
    if ((status) == cudaSuccess)                                                                   \
      (status) = (call);                                                                           \
  } while (0)

/* Device or pinned host memory of a slot, kept until it is too small. Its contents are lost when it
 * grows. */
typedef struct {
  void *data;
  size_t size; /* that was asked for */
  bool host;
  size_t room;        /* that it has; somewhat more if another codec had it before */
  Cj2kCudaPool *pool; /* where it goes */
} Cj2kCudaMemory;

/* An array that exists both on the device and on the host. */
typedef struct {
  Cj2kCudaMemory device, host;
} Cj2kCudaPair;

/* New memory is zero: kernels and copies may read past what was written to an array (the padding of
 * rows, bytes behind the data), and must not find what another process or codec left there. Work
 * may still use memory that is too small: CUDA waits for it before that is freed. */
cudaError_t cj2k_cuda_reserve(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory, size_t size);
/* Copies an array to the device; it is there when this returns. cudaMemcpy() may return earlier if
 * the array is in pageable memory, and it copies on the default stream, for which the streams of
 * the back end do not wait: a kernel could find what was there before. */
cudaError_t cj2k_cuda_send(void *device, const void *host, size_t size);
/* For arrays whose size differs from frame to frame: grows to a quarter more than is needed. */
cudaError_t cj2k_cuda_reserve_more(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory,
                                   size_t size);
/* For bytes of codestreams, of which a frame may have any number: room for `likely` from the begin;
 * what needs more after all gets half as much again, because CUDA holds up all streams meanwhile.
 */
cudaError_t cj2k_cuda_reserve_bytes(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory,
                                    size_t size, size_t likely);
/* Gives memory back, for other codecs. No work may use it any more. */
void cj2k_cuda_release(Cj2kCudaMemory *memory);
void cj2k_cuda_release_pair(Cj2kCudaPair *pair);

/* Does nothing with NULL. */
void cj2k_cuda_destroy_event(cudaEvent_t event);

/* Memory for pictures (Cj2kBackendMemory): pinned or on the device. */
void *cj2k_cuda_alloc(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, size_t size);
void cj2k_cuda_free(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, void *memory);
Cj2kStatus cj2k_cuda_copy(const Cj2kCudaDevice *device, void *cuda_stream, const Cj2kPlane *to,
                          const Cj2kPlane *from, size_t row_bytes, uint32_t rows, Cj2kError *error);

/* Cj2kBackendMemory.pin and unpin. */
bool cj2k_cuda_pin(const Cj2kCudaDevice *device, void *memory, size_t size);
void cj2k_cuda_unpin(const Cj2kCudaDevice *device, void *memory);

/* Is this address in the device's memory? */
bool cj2k_cuda_owns(const Cj2kCudaDevice *device, const void *memory);

/* Does this codec save the cores: it was not asked for low latency, or the process is crowded
 * (common/runtime/spin.h)? Then no thread spins, few share a loop, and a frame takes fewer calls
 * into the driver. */
bool cj2k_cuda_is_quiet(const Cj2kCudaDevice *device);

/* Enqueues a copy between device memory and pinned memory, either way: by a kernel, which waits for
 * no copies of other streams, if there are at most `most` bytes and a kernel can do it, else by a
 * copy engine. */
cudaError_t cj2k_cuda_copy_up_to(const Cj2kCudaDevice *device, void *to, const void *from,
                                 size_t size, size_t most, cudaStream_t stream);

/* Enqueues a copy of a codestream or of records, between device memory and pinned memory, against
 * the direction of the pictures. If the codec is quiet and has one frame in flight a kernel does
 * it, unless it is much, so that the codec uses the copy engine of one direction only: streams that
 * use both in turn make the engines wait for each other, and with encoders and decoders side by
 * side the bus then carries little more than half of what it can. With several frames in flight
 * kernels have more to do than the bus. */
cudaError_t cj2k_cuda_copy_against(const Cj2kCudaDevice *device, void *to, const void *from,
                                   size_t size, cudaStream_t stream);

/* Makes later work on `stream` wait for the work that is queued on the picture's own stream; does
 * nothing if the picture has none. `event` must be created without timing and be used for nothing
 * else. */
cudaError_t cj2k_cuda_follow_picture(cudaStream_t stream, const Cj2kPicture *picture,
                                     cudaEvent_t event);

#endif
