/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What packet headers say of a code-block's passes (T.800 B.10.6, B.10.7): their number, and the
 * lengths of its codeword segments.
 */
#ifndef CJ2K_CODESTREAM_WRITE_LENGTHS_H
#define CJ2K_CODESTREAM_WRITE_LENGTHS_H

#include "bitwriter.h"
#include "header_bits.h"
#include "write_packets.h"

/* Bytes of block b's first `passes` passes. */
static inline uint32_t cj2k_retained_bytes(const Cj2kPacketSource *source, uint32_t b,
                                           uint32_t passes)
{
  return passes ? source->passes[source->blocks[b].first_pass + passes - 1].length : 0;
}

/* Bytes that block b has in a layer, which keeps passes [before, after) of it. */
static inline uint32_t cj2k_layer_bytes_of(const Cj2kPacketSource *source, uint32_t b,
                                           uint32_t before, uint32_t after)
{
  if (source->lengths)
    return source->lengths[b];
  return cj2k_retained_bytes(source, b, after) - cj2k_retained_bytes(source, b, before);
}

/* Codewords for the number of passes (table B.4). */
static inline void cj2k_send_num_passes(Cj2kPlainBits *bits, uint32_t n)
{
  uint32_t size, codeword = cj2k_passes_codeword(n, &size);

  cj2k_plain_put(bits, codeword, size);
}

static inline uint32_t cj2k_floor_log2(uint32_t n)
{
  return 31u - (uint32_t)__builtin_clz(n);
}

/* Style bits with which a segment may end before a block's last pass. */
#define CJ2K_STYLE_ENDS (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL | CJ2K_STYLE_HT)

/* Bits that lengths need above floor_log2 of their passes. */
static inline uint32_t cj2k_length_bits(uint32_t length, uint32_t passes, uint32_t lblock)
{
  uint32_t size = length ? cj2k_floor_log2(length) + 1 : 0, saved = cj2k_floor_log2(passes);
  return size > lblock + saved ? size - saved : lblock;
}

/* Passes from one on, up to where a segment ends or the last, share one length (B.10.7.2). With
 * bypass alone it is known where that is: behind the tenth pass, then behind each refinement and
 * each cleanup pass (table D.9). */
static inline uint32_t cj2k_run_end(const Cj2kPassLength *passes, uint32_t from, uint32_t to,
                                    bool bypass)
{
  uint32_t end = from + 1;

  if (bypass)
    return MIN(from < 10 ? 10 : end + ((from - 10) % 3 == 0), to);
  while (end < to && !passes[end - 1].terminated)
    end++;
  return end;
}

/* Lblock's increment and the lengths of passes [from, to). */
static inline void cj2k_send_lengths(Cj2kPlainBits *out, const Cj2kPacketSource *source, uint32_t b,
                                     uint32_t from, uint32_t to, bool bypass, uint8_t *lblock)
{
  const Cj2kPassLength *passes = source->passes + source->blocks[b].first_pass;
  uint32_t begin = cj2k_retained_bytes(source, b, from), all = 0, n = 0;
  Cj2kPlainBits bits = *out; /* in registers */
  struct {
    uint32_t length, passes_log2;
  } runs[CJ2K_MAX_PASSES];

  for (uint32_t first = from, end; first < to; first = end, n++) {
    end = cj2k_run_end(passes, first, to, bypass);
    runs[n].length = passes[end - 1].length - begin;
    runs[n].passes_log2 = cj2k_floor_log2(end - first);
    all |= runs[n].length >> runs[n].passes_log2;
    begin = passes[end - 1].length;
  }
  uint32_t needed = cj2k_length_bits(all, 1, *lblock);
  cj2k_plain_put_ones(&bits, needed - *lblock);
  *lblock = (uint8_t)needed;
  for (uint32_t i = 0; i < n; i++)
    cj2k_plain_put(&bits, runs[i].length, needed + runs[i].passes_log2);
  *out = bits;
}

/* The same with bypass alone for the first passes, more than ten: after the segment of ten passes
 * segments come in pairs, of raw passes and of a cleanup pass. */
static inline void cj2k_send_bypass(Cj2kPlainBits *out, const Cj2kPassLength *passes,
                                    uint32_t count, uint8_t *lblock)
{
  uint32_t first = passes[9].length, before = first, all = first >> 3, num_pairs = (count - 10) / 3;
  uint32_t rest = (count - 10) % 3, last = 0;
  Cj2kPlainBits bits = *out; /* in registers */
  struct {
    uint32_t raw, cleanup;
  } pairs[CJ2K_MAX_PASSES / 3];

  passes += 10;
  for (uint32_t i = 0; i < num_pairs; i++, passes += 3) {
    uint32_t raw = passes[1].length - before, cleanup = passes[2].length - passes[1].length;
    before = passes[2].length;
    pairs[i].raw = raw;
    pairs[i].cleanup = cleanup;
    all |= raw >> 1 | cleanup;
  }
  if (rest) {
    last = passes[rest - 1].length - before;
    all |= last >> (rest - 1);
  }
  uint32_t n = cj2k_length_bits(all, 1, *lblock);
  cj2k_plain_put_ones(&bits, n - *lblock);
  *lblock = (uint8_t)n;
  cj2k_plain_put(&bits, first, n + 3);
  if (n <= 27)
    for (uint32_t i = 0; i < num_pairs; i++)
      cj2k_plain_put(&bits, (uint64_t)pairs[i].raw << n | pairs[i].cleanup, 2 * n + 1);
  else
    for (uint32_t i = 0; i < num_pairs; i++) {
      cj2k_plain_put(&bits, pairs[i].raw, n + 1);
      cj2k_plain_put(&bits, pairs[i].cleanup, n);
    }
  if (rest)
    cj2k_plain_put(&bits, last, n + rest - 1);
  *out = bits;
}

/* The same if all passes share one length. */
static inline void cj2k_send_length(Cj2kPlainBits *bits, uint32_t length, uint32_t passes,
                                    uint8_t *lblock)
{
  uint32_t needed = cj2k_length_bits(length, passes, *lblock);

  cj2k_plain_put_ones(bits, needed - *lblock);
  *lblock = (uint8_t)needed;
  cj2k_plain_put(bits, length, needed + cj2k_floor_log2(passes));
}

/* The number of passes, Lblock's increment and the lengths of a block, as the back end has made
 * them. */
static inline void cj2k_send_header_bits(Cj2kPlainBits *out, const uint32_t *words)
{
  Cj2kPlainBits bits = *out; /* in registers */
  uint32_t n = *words++;

  for (; n > 32; n -= 32)
    cj2k_plain_put(&bits, *words++, 32);
  if (n)
    cj2k_plain_put(&bits, *words >> (32 - n), n);
  *out = bits;
}

#endif
