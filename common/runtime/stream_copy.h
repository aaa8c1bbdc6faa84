/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies of many bytes that the processor does not read again, such as pictures on their way to a
 * GPU. memcpy() would first read what it overwrites, and leave in the caches what nobody asks for;
 * stores that go past the caches take two thirds of the time. Few bytes are better left to
 * memcpy(): the GPU reads them from the caches.
 */
#ifndef CJ2K_RUNTIME_STREAM_COPY_H
#define CJ2K_RUNTIME_STREAM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Copies `size` bytes; the two areas do not overlap. Others see them after cj2k_stream_end(). */
static inline void cj2k_stream_copy(uint8_t *to, const uint8_t *from, size_t size)
{
#ifdef __SSE2__
  size_t head = -(uintptr_t)to & 15; /* stores past the caches are aligned */

  head = head < size ? head : size;
  memcpy(to, from, head);
  to += head;
  from += head;
  for (size -= head; size >= 64; size -= 64, to += 64, from += 64) {
    __m128i bytes[4];
    memcpy(bytes, from, sizeof bytes);
    for (int i = 0; i < 4; i++)
      _mm_stream_si128((__m128i *)(void *)to + i, bytes[i]);
  }
#endif
  memcpy(to, from, size);
}

/* Ends copies of the calling thread. */
static inline void cj2k_stream_end(void)
{
#ifdef __SSE2__
  _mm_sfence();
#endif
}

#endif
