/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "call-faults.h"

#include "pretend-lock.h"

#include <cuda.h>
#include <glib.h>
#include <string.h>

static struct {
  gint armed; /* atomic */
  gint calls; /* atomic: since it was armed */
  gint number;
  cudaError_t error;
  FaultExtent extent;
  const char *only;    /* NULL: all functions */
  const char *failed;  /* atomic: name of the first function that failed */
  const char *refused; /* atomic: name of a function that always fails */
} fault;

static gint alive;          /* atomic */
static gint graph_events;   /* atomic */
static gint blind_launches; /* atomic */

/* A call that fails is the thread's last error, until cudaGetLastError() is called. */
static __thread cudaError_t last_error;
static __thread bool launch_failed; /* and the library has not asked for the error yet */

void call_faults_arm(uint32_t number, cudaError_t error, FaultExtent extent)
{
  g_assert(!g_atomic_int_get(&fault.armed));
  fault.number = (gint)number;
  fault.error = error;
  fault.extent = extent;
  g_atomic_int_set(&fault.calls, 0);
  g_atomic_pointer_set(&fault.failed, NULL);
  g_atomic_int_set(&fault.armed, true);
}

void call_faults_only(const char *text)
{
  g_assert(!g_atomic_int_get(&fault.armed));
  fault.only = text;
}

void call_faults_refuse(const char *name)
{
  fault.error = cudaErrorMemoryAllocation;
  g_atomic_pointer_set(&fault.refused, name);
}

const char *call_faults_disarm(void)
{
  g_atomic_int_set(&fault.armed, false);
  return g_atomic_pointer_get(&fault.failed);
}

int call_faults_graph_events(void)
{
  return g_atomic_int_get(&graph_events);
}

uint32_t call_faults_count(void)
{
  return (uint32_t)g_atomic_int_get(&fault.calls);
}

int call_faults_alive(void)
{
  return g_atomic_int_get(&alive);
}

typedef enum { ALLOCATES, WORKS, HANDLES_CONTEXT } CallKind;

/* Counts a call. Does it fail? The context of a lost GPU can be made current all the same. */
static bool fails(const char *name, CallKind kind)
{
  if (g_strcmp0(name, g_atomic_pointer_get(&fault.refused)) == 0)
    return true;
  if (!g_atomic_int_get(&fault.armed) || (fault.only && !strstr(name, fault.only)))
    return false;
  gint call = g_atomic_int_add(&fault.calls, 1);
  if (call < fault.number || (call > fault.number && fault.extent == FAULT_ONCE) ||
      (fault.extent == FAULT_MEMORY && kind != ALLOCATES) ||
      (fault.extent == FAULT_FROM && kind == HANDLES_CONTEXT))
    return false;
  g_atomic_pointer_compare_and_exchange(&fault.failed, NULL, name);
  return true;
}

/* All calls fail. */
static bool is_lost(void)
{
  return g_atomic_int_get(&fault.armed) && fault.extent == FAULT_FROM &&
         g_atomic_int_get(&fault.calls) > fault.number;
}

static cudaError_t failure(void)
{
  if (fault.extent == FAULT_ONCE) /* else nothing is left of it when the fault is over */
    last_error = fault.error;
  return fault.error;
}

/* Declares the runtime's function and begins the one that replaces it. */
#define REPLACED(name, parameters)                                                                 \
  cudaError_t __real_##name parameters;                                                            \
  cudaError_t __wrap_##name parameters;                                                            \
  cudaError_t __wrap_##name parameters

/* Nothing is done by a call that fails. */
#define STARTS(name, parameters, arguments)                                                        \
  REPLACED(name, parameters)                                                                       \
  {                                                                                                \
    return fails(#name, WORKS) ? failure() : __real_##name arguments;                              \
  }

/* The failure is that of the work that was waited for. */
#define WAITS(name, parameters, arguments)                                                         \
  REPLACED(name, parameters)                                                                       \
  {                                                                                                \
    cudaError_t result = __real_##name arguments;                                                  \
    return fails(#name, WORKS) ? failure() : result;                                               \
  }

#define MAKES(name, kind, parameters, arguments)                                                   \
  REPLACED(name, parameters)                                                                       \
  {                                                                                                \
    if (fails(#name, kind))                                                                        \
      return failure();                                                                            \
    cudaError_t result = __real_##name arguments;                                                  \
    g_atomic_int_add(&alive, result == cudaSuccess);                                               \
    return result;                                                                                 \
  }

/* Frees in any case: what counts is that the library has tried. */
#define FREES(name, parameters, argument)                                                          \
  REPLACED(name, parameters)                                                                       \
  {                                                                                                \
    cudaError_t result = __real_##name(argument);                                                  \
    g_atomic_int_add(&alive, (argument) ? -1 : 0);                                                 \
    return fails(#name, WORKS) ? failure() : result;                                               \
  }

MAKES(cudaMalloc, ALLOCATES, (void **memory, size_t size), (memory, size))
MAKES(cudaHostAlloc, ALLOCATES, (void **memory, size_t size, unsigned flags), (memory, size, flags))
MAKES(cudaHostRegister, ALLOCATES, (void *memory, size_t size, unsigned flags),
      (memory, size, flags))
MAKES(cudaStreamCreateWithPriority, WORKS, (cudaStream_t * stream, unsigned flags, int priority),
      (stream, flags, priority))
MAKES(cudaEventCreate, WORKS, (cudaEvent_t * event), (event))
MAKES(cudaEventCreateWithFlags, WORKS, (cudaEvent_t * event, unsigned flags), (event, flags))

MAKES(cudaGraphInstantiate, WORKS,
      (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags), (exec, graph, flags))

FREES(cudaFree, (void *memory), memory)
FREES(cudaFreeHost, (void *memory), memory)
FREES(cudaHostUnregister, (void *memory), memory)
FREES(cudaStreamDestroy, (cudaStream_t stream), stream)
FREES(cudaEventDestroy, (cudaEvent_t event), event)
FREES(cudaGraphDestroy, (cudaGraph_t graph), graph)
FREES(cudaGraphExecDestroy, (cudaGraphExec_t exec), exec)

WAITS(cudaStreamSynchronize, (cudaStream_t stream), (stream))
WAITS(cudaEventSynchronize, (cudaEvent_t event), (event))
WAITS(cudaEventQuery, (cudaEvent_t event), (event))

STARTS(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
       (stream, mode))
STARTS(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))

/* Ends the capture in any case, and with it makes a graph. */
REPLACED(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph))
{
  cudaError_t result = __real_cudaStreamEndCapture(stream, graph);
  g_atomic_int_add(&alive, *graph != NULL);
  return fails("cudaStreamEndCapture", WORKS) ? failure() : result;
}

STARTS(cudaGetDeviceCount, (int *count), (count))
STARTS(cudaDriverGetVersion, (int *version), (version))
STARTS(cudaGetDevice, (int *device), (device))
STARTS(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
       (value, attribute, device))
STARTS(cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value),
       (function, attribute, value))
STARTS(cudaPointerGetAttributes, (struct cudaPointerAttributes * attributes, const void *memory),
       (attributes, memory))
STARTS(cudaEventElapsedTime, (float *ms, cudaEvent_t begin, cudaEvent_t end), (ms, begin, end))
STARTS(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
REPLACED(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags))
{
  g_atomic_int_add(&graph_events, flags == cudaEventRecordExternal);
  return fails("cudaEventRecordWithFlags", WORKS)
             ? failure()
             : __real_cudaEventRecordWithFlags(event, stream, flags);
}

STARTS(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
       (stream, status))
STARTS(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
       (stream, event, flags))
STARTS(cudaMemcpyAsync,
       (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream),
       (to, from, size, kind, stream))
STARTS(cudaMemcpy2DAsync,
       (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
        enum cudaMemcpyKind kind, cudaStream_t stream),
       (to, to_pitch, from, from_pitch, width, height, kind, stream))
STARTS(cudaMemcpyToSymbolAsync,
       (const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind,
        cudaStream_t stream),
       (symbol, from, size, offset, kind, stream))
STARTS(cudaMemsetAsync, (void *memory, int value, size_t size, cudaStream_t stream),
       (memory, value, size, stream))

/* The kernels that were launched at all; their numbers here are bits of `launched`. */
static GPtrArray *kernels; /* protected by kernels_lock */
static GMutex kernels_lock;
static uint64_t launched;

static void note_kernel(const void *kernel)
{
  guint number;
  pretend_lock(&kernels_lock);
  if (!kernels)
    kernels = g_ptr_array_new();
  if (!g_ptr_array_find(kernels, kernel, &number)) {
    number = kernels->len;
    g_ptr_array_add(kernels, (gpointer)kernel);
  }
  g_assert_cmpuint(number, <, 64);
  launched |= (uint64_t)1 << number;
  pretend_unlock(&kernels_lock);
}

uint64_t call_faults_kernels(void)
{
  pretend_lock(&kernels_lock);
  uint64_t result = launched;
  launched = 0;
  pretend_unlock(&kernels_lock);
  return result;
}

/* Kernels are launched by one of these, by CUDA 13 and by CUDA 12. One kernel works on what those
 * before it wrote: after a launch that failed there must not be another until the library has asked
 * for the error. */
#define LAUNCHES(name, parameters, arguments)                                                      \
  REPLACED(name, parameters)                                                                       \
  {                                                                                                \
    if (launch_failed)                                                                             \
      g_atomic_int_inc(&blind_launches);                                                           \
    launch_failed |= fails(#name, WORKS);                                                          \
    if (launch_failed)                                                                             \
      return failure();                                                                            \
    note_kernel((const void *)kernel);                                                             \
    return __real_##name arguments;                                                                \
  }

#ifdef HAVE_KERNEL_HANDLES
LAUNCHES(__cudaLaunchKernel,
         (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t memory,
          cudaStream_t stream),
         (kernel, grid, block, arguments, memory, stream))
#else
LAUNCHES(cudaLaunchKernel,
         (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t memory,
          cudaStream_t stream),
         (kernel, grid, block, arguments, memory, stream))
#endif

int call_faults_blind_launches(void)
{
  return g_atomic_int_get(&blind_launches);
}

bool call_faults_copy(void *to, const void *from, size_t size)
{
  return __real_cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, cudaStreamPerThread) ==
             cudaSuccess &&
         __real_cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess;
}

/* Not counted: it reports failures of other calls. */
REPLACED(cudaGetLastError, (void))
{
  cudaError_t result = __real_cudaGetLastError();
  if (last_error != cudaSuccess)
    result = last_error;
  last_error = cudaSuccess;
  launch_failed = false;
  return is_lost() ? fault.error : result;
}

/* ------------------------------------------------------------------ functions of the driver --- */

/* Written by each codec that is opened, always the same. */
static CUresult (*real_push)(CUcontext), (*real_pop)(CUcontext *),
    (*real_retain)(CUcontext *, CUdevice);

static CUresult push(CUcontext context)
{
  return fails("cuCtxPushCurrent", HANDLES_CONTEXT)
             ? CUDA_ERROR_INVALID_CONTEXT
             : __atomic_load_n(&real_push, __ATOMIC_ACQUIRE)(context);
}

/* Restores the caller's context in any case, on which tests rely as well. */
static CUresult pop(CUcontext *context)
{
  CUresult result = __atomic_load_n(&real_pop, __ATOMIC_ACQUIRE)(context);
  return fails("cuCtxPopCurrent", HANDLES_CONTEXT) ? CUDA_ERROR_INVALID_CONTEXT : result;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
  return fails("cuDevicePrimaryCtxRetain", HANDLES_CONTEXT)
             ? CUDA_ERROR_DEVICE_UNAVAILABLE
             : __atomic_load_n(&real_retain, __ATOMIC_ACQUIRE)(context, device);
}

/* The library gets functions of the driver here, and calls them by their addresses. */
REPLACED(cudaGetDriverEntryPointByVersion,
         (const char *name, void **function, unsigned version, unsigned long long flags,
          enum cudaDriverEntryPointQueryResult *how))
{
  static const struct {
    const char *name;
    void *real, *replacement; /* addresses of pointers to functions */
  } replaced[] = {{"cuCtxPushCurrent", &real_push, (void *)push},
                  {"cuCtxPopCurrent", &real_pop, (void *)pop},
                  {"cuDevicePrimaryCtxRetain", &real_retain, (void *)retain}};
  if (fails("cudaGetDriverEntryPointByVersion", WORKS))
    return failure();
  cudaError_t result = __real_cudaGetDriverEntryPointByVersion(name, function, version, flags, how);
  for (guint i = 0; i < G_N_ELEMENTS(replaced) && result == cudaSuccess; i++)
    if (strcmp(name, replaced[i].name) == 0) {
      __atomic_store_n((void **)replaced[i].real, *function, __ATOMIC_RELEASE);
      *function = replaced[i].replacement;
    }
  return result;
}
