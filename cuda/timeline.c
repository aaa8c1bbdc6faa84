/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "timeline.h"

cudaError_t cj2k_cuda_timeline_open(Cj2kCudaTimeline *timeline, Cj2kTrace trace, void *user)
{
  if (!trace)
    return cudaSuccess;
  cudaError_t result = cudaEventCreate(&timeline->origin);
  if (result == cudaSuccess)
    result = cudaEventRecord(timeline->origin, cudaStreamPerThread);
  if (result == cudaSuccess)
    result = cudaEventSynchronize(timeline->origin);
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
  cudaError_t result = *event ? cudaSuccess : cudaEventCreate(event);
  if (result == cudaSuccess)
    result = cudaEventRecord(*event, stream);
  if (result == cudaSuccess)
    marks->stages[marks->count++] = stage;
  return result;
}

void cj2k_cuda_marks_report(Cj2kCudaMarks *marks)
{
  float begin = 0, end = 0;
  for (uint32_t i = 0; i < marks->count; i++, begin = end) {
    if (cudaEventElapsedTime(&end, marks->timeline->origin, marks->events[i]) != cudaSuccess)
      break;
    if (i && marks->stages[i])
      marks->timeline->trace(marks->timeline->user, marks->stream, marks->stages[i], begin, end);
  }
  marks->count = 0;
}

void cj2k_cuda_marks_free(Cj2kCudaMarks *marks)
{
  for (uint32_t i = 0; i < CJ2K_CUDA_MARKS; i++)
    if (marks->events[i])
      cudaEventDestroy(marks->events[i]);
}
