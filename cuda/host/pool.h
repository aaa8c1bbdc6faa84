/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that the codecs of a CUDA context have given back, for those that come: on the device, or
 * pinned on the host. To allocate or to free either stops all streams of the process for a moment,
 * so that each stream that came or went would make the frames of the others late.
 *
 * What is kept has bounds: idle memory is at most as much as what is in use, both together are at
 * most what was in use at one time, and what has been idle for some seconds is freed when memory is
 * next allocated or given back. For a second after a codec has reported that the driver has no
 * memory (run_short) nothing is kept. With the last codec everything goes (engine.h).
 *
 * The context is current when a function is called. All functions may be called by any thread.
 */
#ifndef CJ2K_CUDA_HOST_POOL_H
#define CJ2K_CUDA_HOST_POOL_H

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdbool.h>

typedef struct {
  size_t used, most, idle; /* bytes that codecs have, the most that they had, bytes that are kept */
} Cj2kCudaPoolSums;

typedef struct {
  GMutex lock;              /* of all that follows; no CUDA call is made with it held */
  GArray *blocks;           /* of idle memory; the one that was given back first comes first */
  Cj2kCudaPoolSums sums[2]; /* on the device, on the host */
  gint64 scarce_until;      /* nothing is kept before this time */
  gint lost;                /* atomic: nothing is kept any more */
} Cj2kCudaPool;

void cj2k_cuda_pool_init(Cj2kCudaPool *pool);
/* Frees all that is kept. Nothing may be in use. */
void cj2k_cuda_pool_clear(Cj2kCudaPool *pool);

/* Gets memory, all zeros: what is kept if its size fits, else new. *room: its bytes, which are
 * `size` or somewhat more. After an error *data is NULL. */
cudaError_t cj2k_cuda_pool_take(Cj2kCudaPool *pool, bool host, size_t size, void **data,
                                size_t *room);
/* Takes memory back. No work may use it any more. */
void cj2k_cuda_pool_give(Cj2kCudaPool *pool, bool host, void *data, size_t room);
/* The same for memory that work may still use: CUDA waits for that work and frees it. */
void cj2k_cuda_pool_free(Cj2kCudaPool *pool, bool host, void *data, size_t room);

/* New memory that is not counted and must not be given back, but freed: for pictures, whose owners
 * do not say when work has ended. As take(), frees what is kept if there is not enough memory. */
cudaError_t cj2k_cuda_pool_allocate(Cj2kCudaPool *pool, bool host, size_t size, void **data);

/* The driver lacks memory, perhaps for something else than an allocation: what is kept is freed,
 * and so is for a second what comes, such as the memory of a slot that is given up for this reason.
 */
void cj2k_cuda_pool_run_short(Cj2kCudaPool *pool);

/* The GPU may have gone, or work that uses memory may never end: what is kept is freed, and so is
 * all that comes, which a codec must not find in its place later. */
void cj2k_cuda_pool_lose(Cj2kCudaPool *pool);
bool cj2k_cuda_pool_is_lost(const Cj2kCudaPool *pool);

/* False: nothing that comes is kept now, for one of these two reasons. */
bool cj2k_cuda_pool_keeps(Cj2kCudaPool *pool);

#endif
