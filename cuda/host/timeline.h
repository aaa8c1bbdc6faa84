/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Times of the GPU's work: events between the steps of a stream, whose times are given to the
 * caller's trace function. Without such a function nothing is recorded.
 */
#ifndef CJ2K_CUDA_HOST_TIMELINE_H
#define CJ2K_CUDA_HOST_TIMELINE_H

#include "common/cj2k.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* The timeline of a back end, with the origin of its times. */
typedef struct {
  Cj2kTrace trace;
  void *user;
  cudaEvent_t origin;
  double host_origin; /* the same moment by the host's clock, in milliseconds */
  bool sparing;       /* few frames are timed, see cj2k_cuda_times_next */
} Cj2kCudaTimeline;

cudaError_t cj2k_cuda_timeline_open(Cj2kCudaTimeline *timeline, Cj2kTrace trace, void *user);
void cj2k_cuda_timeline_close(Cj2kCudaTimeline *timeline);

#define CJ2K_CUDA_MARKS 64 /* of a slot between two reports; further ones are left out */

/* The marks of a slot, on all streams that it uses. */
typedef struct {
  const Cj2kCudaTimeline *timeline;
  uint32_t stream; /* the number that the trace function gets */
  uint32_t count;
  cudaEvent_t events[CJ2K_CUDA_MARKS];
  const char *stages[CJ2K_CUDA_MARKS];
  cudaStream_t streams[CJ2K_CUDA_MARKS];
  double host[CJ2K_CUDA_MARKS]; /* for marks without a stage: milliseconds since the origin */
} Cj2kCudaMarks;

/*
 * Which frames of a slot are timed for the statistics. Each time takes two events, calls into the
 * driver that bound many streams in one process; so in a crowded one (common/runtime/spin.h) only
 * one frame in CJ2K_CUDA_TIMED_FRAMES is timed, and the others count with its times. The same with
 * `sparing`, for codecs with several frames in flight: the calls of their threads wait for each
 * other as well. And if it is `dear`, because a frame that is timed takes many more calls.
 */
#define CJ2K_CUDA_TIMED_FRAMES 16
bool cj2k_cuda_times_next(const Cj2kCudaTimeline *timeline, bool dear, uint32_t *frames);

#define CJ2K_CUDA_BEGIN "" /* a stage, see below */

/* Marks the end of `stage` (a string that lives as long as the slot), which began at the stream's
 * mark before. NULL: marks the begin of the next stage by the host's clock; it begins then, or when
 * the stream gets there. An event in its place would have to wait in the queue of copies behind
 * those of other streams, and would delay the next stage. CJ2K_CUDA_BEGIN: marks the begin of the
 * next stage by an event, for streams that have no copies to wait for. */
cudaError_t cj2k_cuda_mark(Cj2kCudaMarks *marks, const char *stage, cudaStream_t stream);
/* Reports all marks, which the stream must have passed, to the trace function and removes them. */
void cj2k_cuda_marks_report(Cj2kCudaMarks *marks);
void cj2k_cuda_marks_free(Cj2kCudaMarks *marks);

#endif
