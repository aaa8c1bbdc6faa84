/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order in which a GPU would do the work of streams, as far as events and waits set it. The
 * pretended runtime does all work at once, so that samples are right though a kernel may overwrite
 * memory that another stream still downloads. Here each stream counts its downloads, and streams,
 * events and the host know how many of each stream are done before what they do next.
 */
#ifndef TESTS_CUDA_PRETEND_ORDER_H
#define TESTS_CUDA_PRETEND_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of memory of its own, so that what is used after it was freed, or not freed, is found. */
typedef struct PretendObject PretendObject;

PretendObject *pretend_object_new(bool is_stream);
void pretend_object_free(PretendObject *object);
/* Looks at it, as calls do that do not matter for the order. */
void pretend_object_check(const PretendObject *object);

/* cudaEventRecord and cudaStreamWaitEvent. captured: into a graph, for whose launches the host can
 * then not wait by the event. */
void pretend_record(PretendObject *event, const PretendObject *stream, bool captured);
void pretend_wait(PretendObject *stream, const PretendObject *event);
/* The host has waited for an event, or for all work of a stream. */
void pretend_host_waited(const PretendObject *object);

/* A download of rows of device memory. */
void pretend_reads(PretendObject *stream, const void *memory, size_t pitch, size_t width,
                   size_t height);
/* Work that writes to memory, on a stream or (NULL) at once: downloads must be done before. */
void pretend_writes(const PretendObject *stream, const void *memory, size_t size);
/* A moment of a stream, of what is enqueued so far. */
typedef struct {
  uint32_t place;
  uint64_t number;
} PretendMoment;

PretendMoment pretend_moment(PretendObject *stream);
/* Does what is enqueued now come after that? */
bool pretend_is_after(const PretendObject *stream, const PretendMoment *moment);
/* Memory is freed, for which CUDA waits for all work. */
void pretend_freed(const void *memory, size_t size);

#endif
