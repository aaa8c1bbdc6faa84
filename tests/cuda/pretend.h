/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pretend-runtime.c knows of its memory. */
#ifndef TESTS_CUDA_PRETEND_H
#define TESTS_CUDA_PRETEND_H

#include "pretend-order.h"

#include <cuda_runtime_api.h>
#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Are all bytes from `memory` on in one allocation of device memory, or in pinned memory? Of none
 * it is enough that it is in one, or at its end. */
bool cj2k_pretend_holds(const void *memory, size_t size);

/* The bytes of all allocations of device memory. */
size_t cj2k_pretend_device_bytes(void);
/* How often device memory and pinned memory were allocated or freed so far. */
size_t cj2k_pretend_memory_calls(void);
/* The same for streams that were made or destroyed. */
size_t cj2k_pretend_stream_calls(void);
/* The priority of the stream that was made last. */
int cj2k_pretend_stream_priority(void);
/* Prints the sizes of all allocations of a megabyte and more, pinned memory among them. */
void cj2k_pretend_list(void);

/* Not 0: ordinary memory cannot be pinned. Atomic. */
extern gint cj2k_pretend_pins_nothing;

/* A kernel on this stream writes to device memory: what is downloaded from there must be done. */
void cj2k_pretend_writes(const void *memory, size_t size, cudaStream_t stream);
/* pretend-order.h */
PretendMoment cj2k_pretend_moment(cudaStream_t stream);
bool cj2k_pretend_is_after(cudaStream_t stream, const PretendMoment *moment);
void cj2k_pretend_record(cudaEvent_t event, cudaStream_t stream, bool captured);
void cj2k_pretend_wait(cudaStream_t stream, cudaEvent_t event);

#endif
