/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the fuzz targets share. A target is a program fuzz-*.c with LLVMFuzzerTestOneInput(), which
 * is linked with libFuzzer, or with replay.c, which runs it on files. It must depend on its input
 * alone, so that a file that once failed always fails.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of libFuzzer: changes data[0..size) at random, up to max_size bytes, and returns the new size. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
/* Of a target that has its own way to change inputs (codestream-mutator.c). */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Ends the program, with a message, if a property does not hold. */
#define FUZZ_CHECK(condition, ...)                                                                 \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                              \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fputc('\n', stderr);                                                                         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* Takes values from the front of an input; past its end they are 0. */
typedef struct {
  const uint8_t *at, *end;
} FuzzInput;

static inline FuzzInput fuzz_input(const uint8_t *data, size_t size)
{
  return (FuzzInput){data, data + size};
}

static inline size_t fuzz_left(const FuzzInput *in)
{
  return (size_t)(in->end - in->at);
}

/* A number of 1 to 8 bytes, little-endian. */
static inline uint64_t fuzz_take(FuzzInput *in, unsigned bytes)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes && in->at < in->end; i++)
    value |= (uint64_t)*in->at++ << 8 * i;
  return value;
}

/* A number in first..last, from one or two bytes. */
static inline uint32_t fuzz_range(FuzzInput *in, uint32_t first, uint32_t last)
{
  uint32_t choices = last - first + 1;
  return first + (uint32_t)fuzz_take(in, choices > 256 ? 2 : 1) % choices;
}

/* A copy of the exact size, so that a sanitizer sees reads behind its end; g_free. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
  uint8_t *copy = g_malloc(size ? size : 1);
  if (size)
    memcpy(copy, data, size);
  return copy;
}

#endif
