/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "timeline.h"

#include <time.h>

static double host_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

cudaError_t cj2k_cuda_timeline_open(Cj2kCudaTimeline *timeline, Cj2kTrace trace, void *user)
{
  if (!trace)
    return cudaSuccess;
  cudaError_t result = cudaEventCreate(&timeline->origin);
  for (int i = 0; i < 2 && result == cudaSuccess; i++) { /* once to warm up */
    double before = host_ms();
    result = cudaEventRecord(timeline->origin, cudaStreamPerThread);
    if (result == cudaSuccess)
      result = cudaEventSynchronize(timeline->origin);
    timeline->host_origin = (before + host_ms()) / 2;
  }
  timeline->user = user;
  timeline->trace = result == cudaSuccess ? trace : NULL;
  return result;
}

void cj2k_cuda_timeline_close(Cj2kCudaTimeline *timeline)
{
  if (timeline->origin)
    cudaEventDestroy(timeline->origin);
  timeline->origin = NULL;
  timeline->trace = NULL;
}

cudaError_t cj2k_cuda_mark(Cj2kCudaMarks *marks, const char *stage, cudaStream_t stream)
{
  if (!marks->timeline || !marks->timeline->trace || marks->count == CJ2K_CUDA_MARKS)
    return cudaSuccess;
  cudaEvent_t *event = &marks->events[marks->count];
  cudaError_t result = *event || !stage ? cudaSuccess : cudaEventCreate(event);
  if (result == cudaSuccess && stage)
    result = cudaEventRecord(*event, stream);
  if (!stage)
    marks->host[marks->count] = host_ms() - marks->timeline->host_origin;
  if (result == cudaSuccess)
    marks->stages[marks->count++] = stage;
  return result;
}

void cj2k_cuda_marks_report(Cj2kCudaMarks *marks)
{
  const Cj2kCudaTimeline *timeline = marks->timeline;
  double begin = 0;
  for (uint32_t i = 0; i < marks->count; i++) {
    float end = 0;
    if (!marks->stages[i]) {
      begin = marks->host[i] > begin ? marks->host[i] : begin;
      continue;
    }
    if (cudaEventElapsedTime(&end, timeline->origin, marks->events[i]) != cudaSuccess)
      break;
    timeline->trace(timeline->user, marks->stream, marks->stages[i], begin,
                    end > begin ? end : begin);
    begin = end > begin ? end : begin;
  }
  marks->count = 0;
}

void cj2k_cuda_marks_free(Cj2kCudaMarks *marks)
{
  for (uint32_t i = 0; i < CJ2K_CUDA_MARKS; i++)
    if (marks->events[i])
      cudaEventDestroy(marks->events[i]);
}
