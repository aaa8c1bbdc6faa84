/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A CUDA runtime without a GPU, for tests of the host side: device memory is the host's, copies are
 * done at once, and kernels do nothing, but for the one that copies. All coefficients are therefore
 * zero, and so are the samples that are decoded. Sanitizers see what the host side does with
 * memory. What a real runtime refuses is refused: copies and memsets outside of allocations, and
 * launches of no threads. What overwrites memory must be ordered behind its downloads.
 *
 * It has the functions that the library calls, with the toolkit that was tested.
 */
#include "pretend-lock.h"
#include "pretend-order.h"
#include "pretend.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>

/* Called by code that nvcc generates. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t memory, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *memory, void *stream);
cudaError_t __cudaGetKernel(const void **kernel, const void *function);
cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t memory, cudaStream_t stream);

/* ------------------------------------------------------------------------------ kernels --- */

static const void *copy_kernel; /* the address by which the host knows it */
static __thread cudaStream_t launch_stream;
static __thread cudaError_t last_error; /* of a launch */

void **__cudaRegisterFatBinary(void *binary)
{
  return binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
  (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
  (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *size)
{
  (void)handle, (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid;
  (void)size;
  if (strstr(name, "copy_kernel"))
    copy_kernel = host;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
  (void)handle, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant;
  (void)global;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t memory, cudaStream_t stream)
{
  (void)memory;
  launch_stream = stream;
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
      block.x * block.y * block.z > 1024) {
    last_error = cudaErrorInvalidConfiguration;
    return 1; /* the kernel is not launched */
  }
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *memory, void *stream)
{
  *grid = *block = (dim3){1, 1, 1};
  *memory = 0;
  *(cudaStream_t *)stream = launch_stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(const void **kernel, const void *function)
{
  *kernel = function;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                               size_t memory, cudaStream_t stream)
{
  (void)grid, (void)block, (void)memory, (void)stream;
  if (kernel == copy_kernel) {
    memmove(*(void **)arguments[0], *(void **)arguments[1], *(size_t *)arguments[2]);
    if (*(size_t *)arguments[4])
      memset(*(void **)arguments[3], 0, *(size_t *)arguments[4]);
  }
  return cudaSuccess;
}

/* CUDA 12 */
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t memory, cudaStream_t stream)
{
  return __cudaLaunchKernel(kernel, grid, block, arguments, memory, stream);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
  (void)function, (void)attribute, (void)value;
  return cudaSuccess;
}

/* --------------------------------------------------------------- device, driver, context --- */

cudaError_t cudaGetDeviceCount(int *count)
{
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  (void)device;
  *value = attribute == cudaDevAttrMultiProcessorCount ? 4 : 64 * 1024;
  return cudaSuccess;
}

static __thread int depth; /* contexts that are pushed */

static CUresult push(CUcontext context)
{
  depth++;
  return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* A context that the library did not push is the caller's, which it must not pop. */
static CUresult pop(CUcontext *context)
{
  g_assert_cmpint(depth, >, 0);
  depth--;
  *context = NULL;
  return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
  static char primary; /* there is one device */

  (void)device;
  *context = (CUcontext)(void *)&primary;
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *how)
{
  (void)version, (void)flags;
  *function = strcmp(name, "cuCtxPushCurrent") == 0           ? (void *)push
              : strcmp(name, "cuCtxPopCurrent") == 0          ? (void *)pop
              : strcmp(name, "cuDevicePrimaryCtxRetain") == 0 ? (void *)retain
                                                              : NULL;
  *how = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
  cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
  return error == cudaErrorMemoryAllocation       ? "out of memory"
         : error == cudaErrorInvalidValue         ? "invalid argument"
         : error == cudaErrorInvalidConfiguration ? "invalid configuration argument"
                                                  : "some error";
}

/* ------------------------------------------------------------------------------- memory --- */

/* Allocations: address to size. */
static GTree *allocations;
static GMutex allocations_lock;
static size_t device_bytes; /* of device memory */
static size_t memory_calls; /* that made or freed memory */

static gint compare_addresses(gconstpointer a, gconstpointer b)
{
  return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static cudaError_t note(void *memory, size_t size, bool on_device)
{
  if (!memory)
    return cudaErrorMemoryAllocation;
  pretend_lock(&allocations_lock);
  device_bytes += on_device ? size : 0;
  memory_calls++;
  if (!allocations)
    allocations = g_tree_new(compare_addresses);
  g_tree_insert(allocations, memory, GSIZE_TO_POINTER(size));
  pretend_unlock(&allocations_lock);
  return cudaSuccess;
}

static cudaError_t forget(void *memory, bool on_device)
{
  if (!memory)
    return cudaSuccess;
  pretend_lock(&allocations_lock);
  memory_calls++;
  if (allocations && on_device) {
    size_t size = GPOINTER_TO_SIZE(g_tree_lookup(allocations, memory));
    device_bytes -= size;
    pretend_freed(memory, size);
  }
  bool was = allocations && g_tree_remove(allocations, memory);
  if (allocations && !g_tree_nnodes(allocations))
    g_clear_pointer(&allocations, g_tree_unref);
  pretend_unlock(&allocations_lock);
  if (!was)
    return cudaErrorInvalidValue;
  g_free(memory);
  return cudaSuccess;
}

size_t cj2k_pretend_device_bytes(void)
{
  pretend_lock(&allocations_lock);
  size_t bytes = device_bytes;
  pretend_unlock(&allocations_lock);
  return bytes;
}

size_t cj2k_pretend_memory_calls(void)
{
  pretend_lock(&allocations_lock);
  size_t number = memory_calls;
  pretend_unlock(&allocations_lock);
  return number;
}

#define LARGE 1000000

static gboolean list_one(gpointer address, gpointer size, gpointer data)
{
  (void)address, (void)data;
  if (GPOINTER_TO_SIZE(size) >= LARGE)
    g_print("#   %zu\n", GPOINTER_TO_SIZE(size));
  return FALSE;
}

void cj2k_pretend_list(void)
{
  pretend_lock(&allocations_lock);
  if (allocations)
    g_tree_foreach(allocations, list_one, NULL);
  pretend_unlock(&allocations_lock);
}

typedef struct {
  uintptr_t at, begin, end; /* `begin` to `end`: the allocation around `at`, or none */
} Around;

static gboolean find_around(gpointer address, gpointer size, gpointer data)
{
  Around *around = data;
  uintptr_t begin = (uintptr_t)address, end = begin + GPOINTER_TO_SIZE(size);
  if (around->at < begin || around->at > end)
    return begin > around->at;
  around->begin = begin;
  around->end = end;
  return around->at < end; /* else the next one may begin here */
}

static Around allocation_around(const void *memory)
{
  Around around = {.at = (uintptr_t)memory};
  pretend_lock(&allocations_lock);
  if (allocations)
    g_tree_foreach(allocations, find_around, &around);
  pretend_unlock(&allocations_lock);
  return around;
}

/* Ordinary memory that is pinned. It must be whole pages, be pinned once, and be made ordinary
 * again before it is freed, which is not seen here but where other memory gets its address. */
static GHashTable *pinned; /* address to size */
static GMutex pinned_lock;

static bool is_pinned(const void *memory, size_t size)
{
  uintptr_t at = (uintptr_t)memory;
  GHashTableIter iter;
  gpointer begin, bytes;
  bool found = false;
  pretend_lock(&pinned_lock);
  if (pinned) {
    g_hash_table_iter_init(&iter, pinned);
    while (!found && g_hash_table_iter_next(&iter, &begin, &bytes))
      found = at >= (uintptr_t)begin && at + size <= (uintptr_t)begin + GPOINTER_TO_SIZE(bytes);
  }
  pretend_unlock(&pinned_lock);
  return found;
}

bool cj2k_pretend_holds(const void *memory, size_t size)
{
  Around around = allocation_around(memory);
  return (around.begin && size <= around.end - around.at) || is_pinned(memory, size);
}

/* May a copy use it? Memory of others is not known, so only what begins in an allocation is. */
static bool may_copy(const void *memory, size_t size)
{
  Around around = allocation_around(memory);
  bool begins_inside = around.begin && around.at < around.end;
  return memory && (!begins_inside || size <= around.end - around.at);
}

/* As another process may have left it. */
cudaError_t cudaMalloc(void **memory, size_t size)
{
  *memory = g_try_malloc(size);
  if (*memory)
    memset(*memory, 0xA5, size);
  return note(*memory, size, true);
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
  (void)flags;
  *memory = g_try_malloc0(size);
  return note(*memory, size, false);
}

cudaError_t cudaFree(void *memory)
{
  return forget(memory, true);
}

cudaError_t cudaFreeHost(void *memory)
{
  return forget(memory, false);
}

gint cj2k_pretend_pins_nothing;

cudaError_t cudaHostRegister(void *memory, size_t size, unsigned flags)
{
  (void)flags;
  g_assert_cmpuint(((uintptr_t)memory | size) % 4096, ==, 0);
  if (g_atomic_int_get(&cj2k_pretend_pins_nothing))
    return cudaErrorMemoryAllocation;
  pretend_lock(&pinned_lock);
  if (!pinned)
    pinned = g_hash_table_new(NULL, NULL);
  bool is_new = g_hash_table_insert(pinned, memory, GSIZE_TO_POINTER(size));
  pretend_unlock(&pinned_lock);
  return is_new ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t cudaHostUnregister(void *memory)
{
  pretend_lock(&pinned_lock);
  bool was = pinned && g_hash_table_remove(pinned, memory);
  if (pinned && !g_hash_table_size(pinned))
    g_clear_pointer(&pinned, g_hash_table_unref);
  pretend_unlock(&pinned_lock);
  return was ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
  (void)memory;
  *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered};
  return cudaSuccess;
}

/* What was made as a stream or event. NULL: work on the stream is done when the call that enqueues
 * it returns, or the back end waits for it at once. */
static PretendObject *object_of(const void *object)
{
  return object == (const void *)cudaStreamPerThread ? NULL : (PretendObject *)object;
}

PretendMoment cj2k_pretend_moment(cudaStream_t stream)
{
  return pretend_moment(object_of(stream));
}

bool cj2k_pretend_is_after(cudaStream_t stream, const PretendMoment *moment)
{
  return pretend_is_after(object_of(stream), moment);
}

void cj2k_pretend_writes(const void *memory, size_t size, cudaStream_t stream)
{
  pretend_writes(object_of(stream), memory, size);
}

static void note_download(const void *from, size_t pitch, size_t width, size_t height,
                          enum cudaMemcpyKind kind, cudaStream_t stream)
{
  if (kind == cudaMemcpyDeviceToHost && object_of(stream))
    pretend_reads(object_of(stream), from, pitch, width, height);
}

/* Copies on the default stream, cudaMemcpy() among them, are missing on purpose: the streams of the
 * back end do not wait for it, so that a kernel may run before them. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  if (!size)
    return cudaSuccess;
  if (!may_copy(to, size) || !may_copy(from, size) ||
      !(cj2k_pretend_holds(to, size) || cj2k_pretend_holds(from, size)))
    return cudaErrorInvalidValue;
  cj2k_pretend_writes(to, size, stream);
  note_download(from, size, size, 1, kind, stream);
  memcpy(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
  note_download(from, from_pitch, width, height, kind, stream);
  for (size_t y = 0; y < height; y++)
    memcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width);
  return cudaSuccess;
}

/* Only kernels read it. */
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  (void)symbol, (void)from, (void)size, (void)offset, (void)kind, (void)stream;
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream)
{
  if (!cj2k_pretend_holds(memory, size))
    return cudaErrorInvalidValue;
  cj2k_pretend_writes(memory, size, stream);
  memset(memory, value, size);
  return cudaSuccess;
}

/* ------------------------------------------------------------------- streams and events --- */

static cudaError_t make(void *object, bool is_stream)
{
  *(PretendObject **)object = pretend_object_new(is_stream);
  return cudaSuccess;
}

static cudaError_t destroy(void *object)
{
  pretend_object_free(object);
  return cudaSuccess;
}

/* Sanitizers find one that was destroyed. */
static cudaError_t use(const void *object)
{
  if (object_of(object))
    pretend_object_check(object);
  return cudaSuccess;
}

static gint stream_calls;    /* atomic: that made or destroyed a stream */
static gint stream_priority; /* atomic: of the stream that was made last */

int cj2k_pretend_stream_priority(void)
{
  return g_atomic_int_get(&stream_priority);
}

size_t cj2k_pretend_stream_calls(void)
{
  return (size_t)g_atomic_int_get(&stream_calls);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
  g_assert_cmpuint(flags, ==, cudaStreamNonBlocking);
  g_atomic_int_set(&stream_priority, priority);
  g_atomic_int_inc(&stream_calls);
  return make(stream, true);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  g_atomic_int_inc(&stream_calls);
  return destroy(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  if (object_of(stream))
    pretend_host_waited(object_of(stream));
  return cudaSuccess;
}

void cj2k_pretend_wait(cudaStream_t stream, cudaEvent_t event)
{
  pretend_wait(object_of(stream), object_of(event));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void)flags;
  cj2k_pretend_wait(stream, event);
  return cudaSuccess;
}

/* Kernels of a graph do nothing, wherever they are launched. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void)mode;
  return use(stream);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  (void)use(stream);
  return make(graph, false);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
  *status = cudaStreamCaptureStatusNone;
  return use(stream);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
  (void)flags, (void)use(graph);
  return make(exec, false);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
  (void)use(stream);
  return use(exec);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
  return destroy(graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
  return destroy(exec);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
  return make(event, false);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
  (void)flags;
  return make(event, false);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  return destroy(event);
}

void cj2k_pretend_record(cudaEvent_t event, cudaStream_t stream, bool captured)
{
  pretend_record(object_of(event), object_of(stream), captured);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  cj2k_pretend_record(event, stream, false);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
  (void)flags;
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
  pretend_host_waited(object_of(event));
  return cudaSuccess;
}

/* Every other time nothing is done yet. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
  static gint calls;
  if (g_atomic_int_add(&calls, 1) % 2)
    return cudaErrorNotReady;
  pretend_host_waited(object_of(event));
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
  *ms = 0;
  (void)use(begin);
  return use(end);
}
