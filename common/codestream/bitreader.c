/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bitreader.h"

/* Number of bits that byte i of the data holds. */
static uint32_t bits_of_byte(const Cj2kBitReader *bits, size_t i)
{
  return i > 0 && i - 1 < bits->size && bits->data[i - 1] == 0xff ? 7 : 8;
}

/* Number of bytes from which at least one bit was taken. */
static size_t bytes_taken(const Cj2kBitReader *bits)
{
  size_t next = bits->next;
  uint32_t unread = bits->count;

  while (next > 0 && unread >= bits_of_byte(bits, next - 1)) {
    next--;
    unread -= bits_of_byte(bits, next);
  }
  return next;
}

bool cj2k_bits_overrun(const Cj2kBitReader *bits)
{
  return bits->next > bits->size && bytes_taken(bits) > bits->size;
}

size_t cj2k_bits_finish(const Cj2kBitReader *bits)
{
  size_t used = bytes_taken(bits);

  if (used > 0 && used <= bits->size && bits->data[used - 1] == 0xff)
    used++;
  return used;
}
