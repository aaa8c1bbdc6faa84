/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a packet header says of the passes of a block, in words (common/codestream/header_bits.h),
 * as the writer of any passes makes it. */
#ifndef TESTS_UNIT_HEADER_WORDS_H
#define TESTS_UNIT_HEADER_WORDS_H

#include "common/codestream/write_lengths.h"

#include <glib.h>
#include <string.h>

#define MAX_HEADER_WORDS (2 * CJ2K_MAX_PASSES)

/* Of n passes, more than 0. Returns the number of words. */
static inline uint32_t make_header_words(const Cj2kPassLength *passes, uint32_t n, uint32_t *words)
{
  const Cj2kEncodedBlock block = {0};
  const Cj2kPacketSource source = {.blocks = &block, .passes = passes};
  Cj2kByteBuffer bytes = {0};
  Cj2kPlainBits bits;
  uint8_t lblock = 3;

  cj2k_plain_begin(&bits, &bytes);
  cj2k_send_num_passes(&bits, n);
  cj2k_send_lengths(&bits, &source, 0, 0, n, false, &lblock);
  words[0] = (uint32_t)cj2k_plain_end(&bits);
  uint32_t count = cj2k_header_words(words[0]);
  g_assert_cmpuint(count, <=, MAX_HEADER_WORDS);
  g_assert_nonnull(bytes.data);
  words[count - 1] = count > 1 ? 0 : words[0];
  memcpy(words + 1, bytes.data, (words[0] + 7) / 8);
  for (uint32_t i = 1; i < count; i++)
    words[i] = GUINT32_FROM_BE(words[i]);
  g_free(bytes.data);
  return count;
}

#endif
