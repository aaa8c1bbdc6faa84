/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stream with a status: after the first failure no further CUDA call is made. Hence a step is a
 * plain sequence of calls, and its caller checks the status once at the end. All queues of a slot
 * share its status and its marks.
 *
 * Code other than CUDA calls still runs after a failure: check cj2k_cuda_queue_ok() before touching
 * host memory of the slot, because it may not have been allocated.
 */
#ifndef CJ2K_CUDA_HOST_QUEUE_H
#define CJ2K_CUDA_HOST_QUEUE_H

#include "device.h"
#include "timeline.h"

typedef struct {
  const Cj2kCudaDevice *device;
  cudaStream_t stream; /* NULL: the slot does not have this queue */
  cudaError_t *status; /* the first failure since the caller set it to cudaSuccess */
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

/* Makes later work on the stream wait for the event; the host does not wait. */
static inline void cj2k_cuda_queue_wait(const Cj2kCudaQueue *queue, cudaEvent_t event)
{
  CJ2K_CUDA_DO(queue, cudaStreamWaitEvent(queue->stream, event, 0));
}

/* Makes later work on a queue wait for all that another one has so far; the host does not wait. */
static inline void cj2k_cuda_queue_follow(const Cj2kCudaQueue *queue, const Cj2kCudaQueue *other,
                                          cudaEvent_t event)
{
  cj2k_cuda_queue_record(other, event);
  cj2k_cuda_queue_wait(queue, event);
}

/* Lets work on `side` begin behind all that `queue` has so far, and run beside what that gets
 * later, unless they are the same stream. The timeline gets a mark there, else it would show the
 * work from the last mark of `side` on. */
static inline void cj2k_cuda_queue_fork(const Cj2kCudaQueue *queue, const Cj2kCudaQueue *side,
                                        cudaEvent_t event)
{
  if (side->stream == queue->stream)
    return;
  cj2k_cuda_queue_follow(side, queue, event);
  cj2k_cuda_queue_mark(side, CJ2K_CUDA_BEGIN);
}

/* Ends that: later work on `queue` is behind all that both have so far, and has a mark for the same
 * reason. */
static inline void cj2k_cuda_queue_join(const Cj2kCudaQueue *queue, const Cj2kCudaQueue *side,
                                        cudaEvent_t event)
{
  if (side->stream == queue->stream)
    return;
  cj2k_cuda_queue_follow(queue, side, event);
  cj2k_cuda_queue_mark(queue, CJ2K_CUDA_BEGIN);
}

/* Copies bytes [from, to) of an array on the device to the same place of its host copy. */
static inline void cj2k_cuda_queue_download(const Cj2kCudaQueue *queue, const Cj2kCudaMemory *host,
                                            const Cj2kCudaMemory *device, uint64_t from,
                                            uint64_t to)
{
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_copy_against(queue->device, (char *)host->data + from,
                                      (const char *)device->data + from, to - from, queue->stream));
}

static inline void cj2k_cuda_queue_reserve(const Cj2kCudaQueue *queue, Cj2kCudaMemory *memory,
                                           size_t size)
{
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(queue->device, memory, size));
}

/* Reserves memory for both sides of a pair. */
static inline void cj2k_cuda_queue_reserve_pair(const Cj2kCudaQueue *queue, Cj2kCudaPair *pair,
                                                size_t size)
{
  pair->host.host = true;
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(queue->device, &pair->device, size));
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve(queue->device, &pair->host, size));
}

#endif
