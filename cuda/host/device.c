/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device.h"

#include "common/runtime/error.h"
#include "common/runtime/spin.h"
#include "cuda/shared/copy_small.h"

#include <glib.h>
#include <string.h>

#define MOST_BYTES  (4 << 20) /* that a kernel copies */
#define START_TRIES 5         /* times that a context is asked for */
#define START_US    200000    /* between them, in microseconds */

/* Gets a driver function through the runtime, which opens libcuda when it is first used, so that
 * this code can be loaded without libcuda. */
static bool driver_function(const char *name, void *function)
{
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult how;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how) !=
          cudaSuccess ||
      how != cudaDriverEntryPointSuccess)
    return false;
  memcpy(function, &found, sizeof found);
  return true;
}

bool cj2k_cuda_enter(const Cj2kCudaDevice *device)
{
  return device->push(device->context) == CUDA_SUCCESS;
}

void cj2k_cuda_leave(const Cj2kCudaDevice *device)
{
  CUcontext popped;
  /* The error of a call that was not needed would be reported by this thread's next launch. */
  (void)cudaGetLastError();
  device->pop(&popped);
}

/* What ran out of memory need not be an allocation of the pool's, which it has looked for in itself
 * already: a launch or a stream needs memory as well, and only the driver has it. */
static void leave_memory(const Cj2kCudaDevice *device)
{
  if (!cj2k_cuda_enter(device))
    return;
  cj2k_cuda_engine_run_short(device->engine);
  cj2k_cuda_leave(device);
}

Cj2kStatus cj2k_cuda_no_context(Cj2kError *error)
{
  return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "CUDA: the device's context is gone");
}

Cj2kStatus cj2k_cuda_check(const Cj2kCudaDevice *device, cudaError_t result, const char *doing,
                           Cj2kError *error)
{
  if (result == cudaSuccess)
    return CJ2K_OK;
  Cj2kStatus status = result == cudaErrorMemoryAllocation ? CJ2K_ERROR_MEMORY : CJ2K_ERROR_DEVICE;
  if (status == CJ2K_ERROR_MEMORY && device)
    leave_memory(device);
  (void)cudaGetLastError(); /* else the next launch would report it again */
  return cj2k_error_set(error, status, "CUDA: %s: %s", doing, cudaGetErrorString(result));
}

/* Makes a primary context. The driver may refuse one while other processes start as well: of
 * sixteen that began at once three failed. So it is asked again a few times. */
static cudaError_t make_context(int ordinal, CUcontext *context)
{
  CUresult (*retain)(CUcontext *, CUdevice);
  CUresult result = CUDA_ERROR_UNKNOWN;

  if (!driver_function("cuDevicePrimaryCtxRetain", &retain))
    return cudaErrorInsufficientDriver;
  for (int i = 0; i < START_TRIES; i++) {
    if (i)
      g_usleep(START_US);
    result = retain(context, ordinal);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_DEVICE)
      break;
  }
  /* The runtime's errors have the numbers of the driver's. */
  return (cudaError_t)result;
}

/* Starts a device in the given context. Without one it retains the device's primary context for the
 * life of the process, as the runtime itself would. */
static cudaError_t start(Cj2kCudaDevice *device, void *context)
{
  if (!driver_function("cuCtxPushCurrent", &device->push) ||
      !driver_function("cuCtxPopCurrent", &device->pop))
    return cudaErrorInsufficientDriver;
  device->context = context;
  if (!context) {
    cudaError_t made = make_context(device->ordinal, &device->context);
    if (made != cudaSuccess)
      return made;
  }
  if (!cj2k_cuda_enter(device))
    return cudaErrorInvalidDevice;
  int same_address = 0;
  cudaError_t result = cudaFree(NULL);
  CJ2K_CUDA_TRY(result,
                cudaDeviceGetAttribute(&same_address, cudaDevAttrCanUseHostPointerForRegisteredMem,
                                       device->ordinal));
  device->maps_pinned = same_address;
  cj2k_cuda_leave(device);
  return result;
}

Cj2kStatus cj2k_cuda_count(int *number, Cj2kError *error)
{
  int driver = 0;
  cudaError_t result = cudaGetDeviceCount(number);
  if (result == cudaErrorInsufficientDriver && /* also the runtime's error if there is no driver */
      cudaDriverGetVersion(&driver) == cudaSuccess && !driver)
    return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "CUDA: there is no NVIDIA driver");
  if (result != cudaSuccess)
    return cj2k_cuda_check(NULL, result, "looking for a GPU", error);
  if (*number == 0)
    return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "there is no CUDA device");
  return CJ2K_OK;
}

Cj2kStatus cj2k_cuda_device_open(Cj2kCudaDevice *device, int ordinal, void *context,
                                 Cj2kError *error)
{
  int count = 0;
  cudaError_t result = cudaSuccess;
  if (cj2k_cuda_count(&count, error) != CJ2K_OK)
    return error ? error->code : CJ2K_ERROR_DEVICE;
  if (ordinal >= count)
    return cj2k_error_set(error, CJ2K_ERROR_DEVICE, "there is no CUDA device %d, only %d", ordinal,
                          count);
  int first = ordinal < 0 ? 0 : ordinal, last = ordinal < 0 ? count - 1 : ordinal;
  for (device->ordinal = first; device->ordinal <= last; device->ordinal++) {
    result = start(device, context);
    if (result == cudaSuccess) {
      device->engine = cj2k_cuda_engine_open(device->context);
      return CJ2K_OK;
    }
    (void)cudaGetLastError();
  }
  return cj2k_cuda_check(NULL, result, "starting the GPU", error);
}

void cj2k_cuda_device_close(const Cj2kCudaDevice *device)
{
  cj2k_cuda_engine_close(device->engine);
}

cudaError_t cj2k_cuda_reserve(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory, size_t size)
{
  if (memory->data && size <= memory->room) {
    memory->size = MAX(memory->size, size);
    return cudaSuccess;
  }
  if (memory->data)
    cj2k_cuda_pool_free(memory->pool, memory->host, memory->data, memory->room);
  memory->pool = &device->engine->pool;
  memory->size = memory->room = 0;
  size = size ? size : 1;
  cudaError_t result =
      cj2k_cuda_pool_take(memory->pool, memory->host, size, &memory->data, &memory->room);
  if (result == cudaSuccess)
    memory->size = size;
  return result;
}

cudaError_t cj2k_cuda_send(void *device, const void *host, size_t size)
{
  cudaError_t result =
      cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, cudaStreamPerThread);
  CJ2K_CUDA_TRY(result, cudaStreamSynchronize(cudaStreamPerThread));
  return result;
}

cudaError_t cj2k_cuda_reserve_more(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory,
                                   size_t size)
{
  return size <= memory->size ? cudaSuccess : cj2k_cuda_reserve(device, memory, size + size / 4);
}

cudaError_t cj2k_cuda_reserve_bytes(const Cj2kCudaDevice *device, Cj2kCudaMemory *memory,
                                    size_t size, size_t likely)
{
  if (size <= memory->size)
    return cudaSuccess;
  return cj2k_cuda_reserve(device, memory, MAX(size + size / (memory->size ? 2 : 4), likely));
}

void cj2k_cuda_release(Cj2kCudaMemory *memory)
{
  if (memory->data)
    cj2k_cuda_pool_give(memory->pool, memory->host, memory->data, memory->room);
  memory->data = NULL;
  memory->size = memory->room = 0;
}

void cj2k_cuda_release_pair(Cj2kCudaPair *pair)
{
  cj2k_cuda_release(&pair->device);
  cj2k_cuda_release(&pair->host);
}

void cj2k_cuda_destroy_event(cudaEvent_t event)
{
  if (event)
    cudaEventDestroy(event);
}

void *cj2k_cuda_alloc(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, size_t size)
{
  void *data = NULL;
  if (!cj2k_cuda_enter(device))
    return NULL;
  if (cj2k_cuda_pool_allocate(&device->engine->pool, kind == CJ2K_MEMORY_PINNED, MAX(size, 1),
                              &data) != cudaSuccess)
    (void)cudaGetLastError();
  cj2k_cuda_leave(device);
  return data;
}

/* The application's work may still use it: CUDA waits for that, and frees it. */
void cj2k_cuda_free(const Cj2kCudaDevice *device, Cj2kMemoryKind kind, void *data)
{
  bool entered = cj2k_cuda_enter(device);
  if (data && kind == CJ2K_MEMORY_PINNED)
    cudaFreeHost(data);
  else if (data)
    cudaFree(data);
  if (entered)
    cj2k_cuda_leave(device);
}

Cj2kStatus cj2k_cuda_copy(const Cj2kCudaDevice *device, void *cuda_stream, const Cj2kPlane *to,
                          const Cj2kPlane *from, size_t row_bytes, uint32_t rows, Cj2kError *error)
{
  if (!cj2k_cuda_enter(device))
    return cj2k_cuda_no_context(error);
  cudaStream_t stream = cuda_stream; /* NULL: the default stream */
  cudaError_t result = cudaMemcpy2DAsync(to->data, to->pitch, from->data, from->pitch, row_bytes,
                                         rows, cudaMemcpyDefault, stream);
  if (result == cudaSuccess)
    result = cudaStreamSynchronize(stream);
  cj2k_cuda_leave(device);
  return cj2k_cuda_check(device, result, "copying a picture", error);
}

bool cj2k_cuda_pin(const Cj2kCudaDevice *device, void *memory, size_t size)
{
  if (!cj2k_cuda_enter(device))
    return false;
  bool pinned = cudaHostRegister(memory, size, cudaHostRegisterPortable) == cudaSuccess;
  cj2k_cuda_leave(device);
  return pinned;
}

void cj2k_cuda_unpin(const Cj2kCudaDevice *device, void *memory)
{
  bool entered = cj2k_cuda_enter(device);
  (void)cudaHostUnregister(memory);
  if (entered)
    cj2k_cuda_leave(device);
}

bool cj2k_cuda_owns(const Cj2kCudaDevice *device, const void *memory)
{
  struct cudaPointerAttributes attributes;
  bool known = memory && cudaPointerGetAttributes(&attributes, memory) == cudaSuccess;
  (void)cudaGetLastError();
  return known && attributes.device == device->ordinal &&
         (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged);
}

bool cj2k_cuda_is_quiet(const Cj2kCudaDevice *device)
{
  return !device->low_latency || cj2k_spin_crowded();
}

cudaError_t cj2k_cuda_copy_up_to(const Cj2kCudaDevice *device, void *to, const void *from,
                                 size_t size, size_t most, cudaStream_t stream)
{
  bool aligned = (((uintptr_t)to | (uintptr_t)from) & 15) == 0;
  if (size <= most && aligned && device->maps_pinned)
    return cj2k_cuda_copy_small(to, from, size, stream);
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
}

cudaError_t cj2k_cuda_copy_against(const Cj2kCudaDevice *device, void *to, const void *from,
                                   size_t size, cudaStream_t stream)
{
  bool saves = device->one_in_flight && cj2k_cuda_is_quiet(device);
  return cj2k_cuda_copy_up_to(device, to, from, size, saves ? MOST_BYTES : 0, stream);
}

cudaError_t cj2k_cuda_follow_picture(cudaStream_t stream, const Cj2kPicture *picture,
                                     cudaEvent_t event)
{
  if (!picture->cuda_stream)
    return cudaSuccess;
  cudaError_t result = cudaEventRecord(event, picture->cuda_stream);
  return result == cudaSuccess ? cudaStreamWaitEvent(stream, event, 0) : result;
}
