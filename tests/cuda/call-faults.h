/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A layer between the library and the CUDA runtime, in which a chosen call fails. The linker's
 * --wrap sends each call of the library through it, so that programs with it are otherwise those of
 * any other test.
 */
#ifndef TESTS_CUDA_CALL_FAULTS_H
#define TESTS_CUDA_CALL_FAULTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
  FAULT_ONCE,   /* one call fails */
  FAULT_FROM,   /* that call and all later ones fail, as when a GPU is lost */
  FAULT_MEMORY, /* from then on no memory can be allocated; other calls succeed */
} FaultExtent;

/* Lets call `number` (0: the next one) fail with `error`. Calls of all threads are counted. */
void call_faults_arm(uint32_t number, cudaError_t error, FaultExtent extent);
/* The next that are armed are calls of functions with this text in their names, and only those are
 * counted; NULL: all. */
void call_faults_only(const char *text);
/* From now on calls of this function fail, which count for nothing else; NULL: none. */
void call_faults_refuse(const char *name);
/* All calls succeed again. Returns the name of the function that failed first; NULL: none did. */
const char *call_faults_disarm(void);
/* Calls since call_faults_arm(). */
uint32_t call_faults_count(void);
/* Allocations, streams and events that exist. */
int call_faults_alive(void);
/* Kernels that were launched after one that failed, before the library asked for the error. */
int call_faults_blind_launches(void);
/* The kernels that have been launched since the last call, as a set of bits. */
uint64_t call_faults_kernels(void);
/* Events so far that graphs record, for which the host can wait. */
int call_faults_graph_events(void);
/* Copies between host and device, in either direction, and does not fail. */
bool call_faults_copy(void *to, const void *from, size_t size);

#endif
