/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies as work of a stream, which graphs can capture, for programs that are linked with
 * pretend-runtime.c and pretend-graphs.c. */
#include "cuda/shared/copy_small.h"
#include "pretend-graphs.h"

#include <glib.h>
#include <string.h>

typedef struct {
  void *to, *clear;
  const void *from;
  size_t size, clear_size;
} Copy;

static void do_copy(const void *arguments)
{
  const Copy *copy = arguments;

  if (copy->size)
    memcpy(copy->to, copy->from, copy->size);
  if (copy->clear_size)
    memset(copy->clear, 0, copy->clear_size);
}

cudaError_t cj2k_cuda_copy_and_clear(void *to, const void *from, size_t size, void *clear,
                                     size_t clear_size, cudaStream_t stream)
{
  const Copy copy = {to, clear, from, size, clear_size};

  (void)stream;
  g_assert_cmpuint(((uintptr_t)to | (uintptr_t)from | (uintptr_t)clear) % 16, ==, 0);
  return pretend_put(do_copy, &copy, sizeof copy);
}

cudaError_t cj2k_cuda_copy_small(void *to, const void *from, size_t size, cudaStream_t stream)
{
  return cj2k_cuda_copy_and_clear(to, from, size, NULL, 0, stream);
}

/* As the kernel does, which reads target and size when it runs. */
typedef struct {
  const Cj2kCudaCopyTarget *target;
  const void *from;
  const uint64_t *size;
} KnownCopy;

static void do_known_copy(const void *arguments)
{
  const KnownCopy *known = arguments;

  if (*known->size <= known->target->most)
    memcpy(known->target->to, known->from, *known->size);
}

cudaError_t cj2k_cuda_copy_known(const Cj2kCudaCopyTarget *target, const void *from,
                                 const uint64_t *size, size_t room, cudaStream_t stream)
{
  const KnownCopy known = {target, from, size};

  (void)room, (void)stream;
  return pretend_put(do_known_copy, &known, sizeof known);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  const Copy copy = {.to = to, .from = from, .size = size};

  (void)kind, (void)stream;
  return pretend_put(do_copy, &copy, sizeof copy);
}
