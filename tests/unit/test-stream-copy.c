/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies past the caches (stream_copy.h): the bytes of memcpy(), and none beside them, at each
 * place within a line of a cache and with each number of bytes of a few lines. */
#include "common/runtime/stream_copy.h"

#include <glib.h>

#define LINE  64
#define BYTES (4 * LINE + 3)
#define SPACE (LINE + BYTES + LINE)

static void check(uint32_t to, uint32_t from, size_t size)
{
  uint8_t source[SPACE], found[SPACE], expected[SPACE];

  for (uint32_t i = 0; i < SPACE; i++) {
    source[i] = (uint8_t)(i * 37 + size);
    found[i] = expected[i] = (uint8_t)~i;
  }
  memcpy(expected + to, source + from, size);
  cj2k_stream_copy(found + to, source + from, size);
  cj2k_stream_end();
  g_assert_cmpmem(found, SPACE, expected, SPACE);
}

static void test_each_place(void)
{
  for (size_t size = 0; size <= BYTES; size++)
    for (uint32_t to = 0; to < LINE; to++)
      for (uint32_t from = 0; from < LINE; from += 7)
        check(to, from, size);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/stream-copy/each-place", test_each_place);
  return g_test_run();
}
