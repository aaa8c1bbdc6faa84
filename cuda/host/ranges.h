/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ranges for Nsight: the steps in which a host thread enqueues work. The Meson option nvtx enables
 * them; without it they cost nothing.
 */
#ifndef CJ2K_CUDA_HOST_RANGES_H
#define CJ2K_CUDA_HOST_RANGES_H

#include "config.h"

#ifdef CJ2K_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

/* Begins a range, which ends at range_end on the same thread; ranges may be nested. */
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

/* Marks that a stage was enqueued. */
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
