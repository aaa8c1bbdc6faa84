/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the GPU did when: events between the steps of a stream, and the times between them for the
 * caller's trace function. Without such a function none of this does anything.
 */
#ifndef CJ2K_CUDA_TIMELINE_H
#define CJ2K_CUDA_TIMELINE_H

#include "common/cj2k.h"

#include <cuda_runtime_api.h>

/* One of a back end: where its times begin. */
typedef struct {
  Cj2kTrace trace;
  void *user;
  cudaEvent_t origin;
  double host_origin; /* the same moment by the host's clock, in milliseconds */
} Cj2kCudaTimeline;

cudaError_t cj2k_cuda_timeline_open(Cj2kCudaTimeline *timeline, Cj2kTrace trace, void *user);
void cj2k_cuda_timeline_close(Cj2kCudaTimeline *timeline);

#define CJ2K_CUDA_MARKS 64 /* of a stream between two reports; further ones are left out */

/* One of a slot, for all streams that it uses. */
typedef struct {
  const Cj2kCudaTimeline *timeline;
  uint32_t stream; /* the number that the trace function is told */
  uint32_t count;
  cudaEvent_t events[CJ2K_CUDA_MARKS];
  const char *stages[CJ2K_CUDA_MARKS];
  cudaStream_t streams[CJ2K_CUDA_MARKS];
  double host[CJ2K_CUDA_MARKS]; /* of marks without a stage: milliseconds since the origin */
} Cj2kCudaMarks;

#define CJ2K_CUDA_BEGIN "" /* a stage of marks */

/* From its mark before to this one the stream does `stage` (a string that lives as long as the
 * slot). NULL: nothing that counts; what follows begins now by the host's clock, or when the stream
 * gets there. An event in its place would stand in the queue of the copies before it, behind those
 * of other streams, and hold up what follows. CJ2K_CUDA_BEGIN: such an event, where the stream has
 * no copies to wait for; what follows begins there. */
cudaError_t cj2k_cuda_mark(Cj2kCudaMarks *marks, const char *stage, cudaStream_t stream);
/* Tells the trace function of all marks, which the stream has passed, and forgets them. */
void cj2k_cuda_marks_report(Cj2kCudaMarks *marks);
void cj2k_cuda_marks_free(Cj2kCudaMarks *marks);

#endif
