/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stream as a frame slot sees it, with a status that sticks: after the first failure nothing more
 * is called. Calls thus stand one below the other, and whoever began the step looks at the status
 * once. All queues of a slot share its status and its marks.
 *
 * What is not a call of CUDA's still happens after a failure: before host memory of the slot is
 * touched cj2k_cuda_queue_ok() must be true, or the memory may not be there.
 */
#ifndef CJ2K_CUDA_QUEUE_H
#define CJ2K_CUDA_QUEUE_H

#include "device.h"
#include "timeline.h"

typedef struct {
  cudaStream_t stream; /* NULL: the slot does without this queue */
  cudaError_t *status; /* the first failure since it was set to cudaSuccess */
  Cj2kCudaMarks *marks;
} Cj2kCudaQueue;

/* As CJ2K_CUDA_TRY, with the status of a queue. */
#define CJ2K_CUDA_DO(queue, call) CJ2K_CUDA_TRY(*(queue)->status, call)

static inline bool cj2k_cuda_queue_ok(const Cj2kCudaQueue *queue)
{
  return *queue->status == cudaSuccess;
}

static inline void cj2k_cuda_queue_mark(const Cj2kCudaQueue *queue, const char *stage)
{
  CJ2K_CUDA_DO(queue, cj2k_cuda_mark(queue->marks, stage, queue->stream));
}

static inline void cj2k_cuda_queue_record(const Cj2kCudaQueue *queue, cudaEvent_t event)
{
  CJ2K_CUDA_DO(queue, cudaEventRecord(event, queue->stream));
}

/* What follows on the stream waits for the event; the host does not. */
static inline void cj2k_cuda_queue_wait(const Cj2kCudaQueue *queue, cudaEvent_t event)
{
  CJ2K_CUDA_DO(queue, cudaStreamWaitEvent(queue->stream, event, 0));
}

/* Bytes [from, to) of an array of the device's to the same place of its copy on the host. */
static inline void cj2k_cuda_queue_download(const Cj2kCudaQueue *queue, const Cj2kCudaMemory *host,
                                            const Cj2kCudaMemory *device, uint64_t from,
                                            uint64_t to)
{
  CJ2K_CUDA_DO(queue, cudaMemcpyAsync((char *)host->data + from, (const char *)device->data + from,
                                      to - from, cudaMemcpyDeviceToHost, queue->stream));
}

static inline void cj2k_cuda_queue_reserve(const Cj2kCudaQueue *queue, Cj2kCudaMemory *memory,
                                           size_t size)
{
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(memory, size));
}

/* Both sides of a pair. */
static inline void cj2k_cuda_queue_reserve_pair(const Cj2kCudaQueue *queue, Cj2kCudaPair *pair,
                                                size_t size)
{
  pair->host.host = true;
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(&pair->device, size));
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(&pair->host, size));
}

#endif
