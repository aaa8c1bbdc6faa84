/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ranges that Nsight shows: what a thread of the host asks the GPU for. The Meson option nvtx turns
 * them on; else they cost nothing.
 */
#ifndef CJ2K_CUDA_RANGES_H
#define CJ2K_CUDA_RANGES_H

#include "config.h"

#ifdef CJ2K_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

/* From here to the range_end of the same thread; ranges may lie in each other. */
static inline void cj2k_cuda_range_begin(const char *name)
{
#ifdef CJ2K_NVTX
  nvtxRangePushA(name);
#else
  (void)name;
#endif
}

static inline void cj2k_cuda_range_end(void)
{
#ifdef CJ2K_NVTX
  nvtxRangePop();
#endif
}

/* A stage of a stream was put in its queue. */
static inline void cj2k_cuda_range_mark(const char *stage)
{
#ifdef CJ2K_NVTX
  if (stage && *stage)
    nvtxMarkA(stage);
#else
  (void)stage;
#endif
}

#endif
