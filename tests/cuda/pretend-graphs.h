/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pretended kernels tell pretend-graphs.c. */
#ifndef TESTS_CUDA_PRETEND_GRAPHS_H
#define TESTS_CUDA_PRETEND_GRAPHS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Does work of a stream: at once, or when a graph is launched that has captured it. arguments:
 * `size` bytes, which are copied. */
cudaError_t pretend_put(void (*run)(const void *arguments), const void *arguments, size_t size);
/* Is the work that this thread does that of a graph? */
bool pretend_in_graph(void);

#endif
