/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engine of a CUDA context: what the codecs of this process share that are open on it, on the
 * primary context of a GPU or on one that the application gave. It is made with the first of them
 * and goes with the last, so that no memory is left in a context that its owner destroys.
 */
#ifndef CJ2K_CUDA_HOST_ENGINE_H
#define CJ2K_CUDA_HOST_ENGINE_H

#include "pool.h"

#include <cuda.h>

/* CUDA streams (streams.h). */
typedef struct {
  GMutex lock;         /* of the lists; no CUDA call is made with it held */
  GArray *used, *idle; /* that codecs have; that are kept, the one given back first comes first */
} Cj2kCudaStreams;

typedef struct {
  CUcontext context;
  uint32_t codecs; /* that have it; protected by the lock of the process's list */
  Cj2kCudaPool pool;
  Cj2kCudaStreams streams;
  GMutex tables_lock; /* no CUDA call is made with it held */
  GPtrArray *tables;  /* that codecs have (table.h) */
} Cj2kCudaEngine;

/* The context's engine, for one more codec. */
Cj2kCudaEngine *cj2k_cuda_engine_open(CUcontext context);
/* The driver has run out of memory: gives it all that is kept for codecs to come; for a second
 * nothing is kept (pool.h). The context is current. */
void cj2k_cuda_engine_run_short(Cj2kCudaEngine *engine);
/* The codec has given back all that it had from the engine; the context is current. */
void cj2k_cuda_engine_close(Cj2kCudaEngine *engine);

#endif
