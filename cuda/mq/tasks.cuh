/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which code-blocks the kernels of MQ encoding work on: tasks, counted from 0. */
#ifndef CJ2K_CUDA_MQ_TASKS_CUH
#define CJ2K_CUDA_MQ_TASKS_CUH

#include "symbols.h"

namespace {

/* The number of blocks that are coded. */
__host__ __device__ inline uint32_t num_tasks(const Cj2kCudaMqContexts &frame)
{
  return frame.num_blocks ? (frame.num_blocks - 1) / frame.stride + 1 : 0;
}

/* The number of a task's block in the frame. */
__device__ inline uint32_t block_of(const Cj2kCudaMqContexts &frame, uint32_t task)
{
  return frame.numbers ? frame.numbers[task] : task * frame.stride;
}

} // namespace

#endif
