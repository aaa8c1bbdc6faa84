/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CUDA streams that the codecs of a context have given back, for those that come. To create or to
 * destroy one takes the driver's lock, so that each codec that came or went would hold up the calls
 * of all others.
 *
 * At most as many are kept as are in use, and none while the engine's pool keeps no memory
 * (pool.h): a second for lack of memory, which the driver needs for streams as well, and for ever
 * once work may never end.
 *
 * The context is current when a function is called. All functions may be called by any thread.
 */
#ifndef CJ2K_CUDA_HOST_STREAMS_H
#define CJ2K_CUDA_HOST_STREAMS_H

#include "engine.h"

#include <cuda_runtime_api.h>

/* Gets a stream that does not wait for the default stream: one that is kept if there is one of this
 * priority (as of cudaStreamCreateWithPriority; 0: the ordinary one), else a new one. After an
 * error *stream is NULL. */
cudaError_t cj2k_cuda_take_stream(Cj2kCudaEngine *engine, int priority, cudaStream_t *stream);
/* Takes a stream back; does nothing with NULL. The codec has waited for all work on it. If that
 * failed, the pool is lost, and the stream is destroyed. */
void cj2k_cuda_give_stream(Cj2kCudaEngine *engine, cudaStream_t stream);

/* Destroys what is kept if the pool keeps nothing. */
void cj2k_cuda_trim_streams(Cj2kCudaEngine *engine);

/* Of an engine that begins, and of one all of whose streams were given back. */
void cj2k_cuda_streams_init(Cj2kCudaStreams *streams);
void cj2k_cuda_streams_clear(Cj2kCudaStreams *streams);

#endif
