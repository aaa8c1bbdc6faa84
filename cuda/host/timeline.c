/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "timeline.h"

#include "common/runtime/spin.h"

#include "ranges.h"

#include <stdbool.h>
#include <string.h>
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
  for (int i = 0; i < 2 && result == cudaSuccess; i++) { /* the first round warms up */
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

/* Records the next free event, which is created at its first use. */
static cudaError_t record(Cj2kCudaMarks *marks, cudaStream_t stream)
{
  cudaEvent_t *event = &marks->events[marks->count];
  cudaError_t result = *event ? cudaSuccess : cudaEventCreate(event);
  return result == cudaSuccess ? cudaEventRecord(*event, stream) : result;
}

bool cj2k_cuda_times_next(const Cj2kCudaTimeline *timeline, bool dear, uint32_t *frames)
{
  bool few = !timeline->trace && (dear || timeline->sparing || cj2k_spin_crowded());
  return !few || (*frames)++ % CJ2K_CUDA_TIMED_FRAMES == 0;
}

cudaError_t cj2k_cuda_mark(Cj2kCudaMarks *marks, const char *stage, cudaStream_t stream)
{
  cj2k_cuda_range_mark(stage);
  if (!marks->timeline || !marks->timeline->trace || marks->count == CJ2K_CUDA_MARKS)
    return cudaSuccess;
  cudaError_t result = stage ? record(marks, stream) : cudaSuccess;
  if (!stage)
    marks->host[marks->count] = host_ms() - marks->timeline->host_origin;
  marks->streams[marks->count] = stream;
  if (result == cudaSuccess)
    marks->stages[marks->count++] = stage;
  return result;
}

static bool is(const char *stage, const char *name)
{
  return stage && !strcmp(stage, name);
}

/* When the work that ends at mark `i` began, at the earliest, as known from the marks before it.
 * Uploads come first in each frame or slice: later stages wait for them, unless a mark
 * CJ2K_CUDA_BEGIN gives the time. */
static double reached(const Cj2kCudaMarks *marks, const double *times, uint32_t i)
{
  bool copy = is(marks->stages[i], "upload");
  double latest = 0;
  for (uint32_t k = 0; k < i; k++) {
    bool same = marks->streams[k] == marks->streams[i];
    bool begins = same && is(marks->stages[k], CJ2K_CUDA_BEGIN);
    bool counts = same || (is(marks->stages[k], "upload") && !copy);
    if (begins || (counts && times[k] > latest))
      latest = times[k];
  }
  return latest;
}

void cj2k_cuda_marks_report(Cj2kCudaMarks *marks)
{
  const Cj2kCudaTimeline *timeline = marks->timeline;
  double times[CJ2K_CUDA_MARKS];
  for (uint32_t i = 0; i < marks->count; i++) {
    const char *stage = marks->stages[i];
    float passed = 0;
    if (stage && cudaEventElapsedTime(&passed, timeline->origin, marks->events[i]) != cudaSuccess)
      break;
    times[i] = stage ? passed : marks->host[i];
    if (!stage || is(stage, CJ2K_CUDA_BEGIN))
      continue;
    double begin = reached(marks, times, i);
    timeline->trace(timeline->user, marks->stream, stage, begin,
                    times[i] > begin ? times[i] : begin);
  }
  marks->count = 0;
}

void cj2k_cuda_marks_free(Cj2kCudaMarks *marks)
{
  for (uint32_t i = 0; i < CJ2K_CUDA_MARKS; i++)
    if (marks->events[i])
      cudaEventDestroy(marks->events[i]);
}
