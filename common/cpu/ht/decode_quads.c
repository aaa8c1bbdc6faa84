/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "quads.h"

static void mel_fill(Cj2kHtMel *mel)
{
  while (mel->count <= 56) {
    uint32_t byte = 0xFF; /* ones behind the end */
    if (mel->next <= mel->last) {
      byte = *mel->next;
      if (mel->next == mel->last)
        byte |= 0x0F;
      mel->next++;
    }
    uint32_t length = 8 - mel->after_ff;
    mel->bits |= (uint64_t)(byte & (0xFFu >> mel->after_ff)) << (64 - mel->count - length);
    mel->count += length;
    mel->after_ff = byte == 0xFF;
  }
}

void cj2k_ht_mel_decode(Cj2kHtMel *mel)
{
  while (mel->num_events < CJ2K_HT_MEL_EVENTS) {
    if (mel->count < 6)
      mel_fill(mel);
    uint32_t exponent = cj2k_ht_mel_exponent[mel->state];
    if (mel->bits >> 63) {
      mel->num_events += 1u << exponent;
      mel->bits <<= 1;
      mel->count -= 1;
      mel->state += mel->state < CJ2K_HT_MEL_STATES - 1;
    } else {
      mel->num_events += (uint32_t)(mel->bits >> (63 - exponent));
      mel->events |= UINT64_C(1) << mel->num_events++;
      mel->bits <<= 1 + exponent;
      mel->count -= 1 + exponent;
      mel->state -= mel->state > 0;
    }
  }
}

/* The prefix of a residual's u-VLC code (T.814 table 3): what it stands for, and how many bits of
 * suffix follow. */
typedef struct {
  uint8_t length, value, suffix_bits;
} UvlcPrefix;

typedef struct {
  uint64_t bits; /* the next bit is the lowest */
  uint32_t used;
} UvlcReader;

static uint32_t take_bits(UvlcReader *reader, uint32_t count)
{
  uint32_t bits = (uint32_t)reader->bits & ((1u << count) - 1);
  reader->bits >>= count;
  reader->used += count;
  return bits;
}

/* The codewords 1, 01, 001 and 000, by the next three bits. */
static UvlcPrefix take_prefix(UvlcReader *reader)
{
  static const UvlcPrefix prefixes[8] = {{3, 5, 5}, {1, 1, 0}, {2, 2, 0}, {1, 1, 0},
                                         {3, 3, 1}, {1, 1, 0}, {2, 2, 0}, {1, 1, 0}};
  UvlcPrefix prefix = prefixes[reader->bits & 7];
  take_bits(reader, prefix.length);
  return prefix;
}

/* Prefixes of both quads, then suffixes of both, then their extensions (T.814 7.3.6). */
uint32_t cj2k_ht_decode_long_uvlc(uint64_t bits, uint32_t mode, bool first_row, uint32_t u[2])
{
  UvlcReader reader = {.bits = bits};
  UvlcPrefix first = {0}, second = {0};
  uint32_t bias = mode == 4 ? 2 : 0;

  if (mode >= 3 || mode == 1)
    first = take_prefix(&reader);
  if (mode == 3 && first_row && first.value > 2) /* then the other is 1 or 2 */
    second.value = (uint8_t)(1 + take_bits(&reader, 1));
  else if (mode >= 2)
    second = take_prefix(&reader);
  uint32_t first_suffix = take_bits(&reader, first.suffix_bits);
  uint32_t second_suffix = take_bits(&reader, second.suffix_bits);
  u[0] = first.value + first_suffix + bias;
  u[1] = second.value + second_suffix + bias;
  if (first_suffix >= 28)
    u[0] += 4 * take_bits(&reader, 4);
  if (second_suffix >= 28)
    u[1] += 4 * take_bits(&reader, 4);
  return reader.used;
}

/* In a record the bits of rho for the bottom left (7) and the bottom right sample (9) are already
 * at the places of the summands 1 and 4 of a table index. */
void cj2k_ht_contexts_below(const uint32_t *row, uint32_t cols, uint32_t *above)
{
  for (uint32_t q = 0; q < cols; q++) {
    uint32_t left = row[(ptrdiff_t)q - 1], right = row[q + 1];
    above[q] = ((row[q] | left >> 2) & 1u << 7) | ((row[q] | right << 2) & 1u << 9);
  }
}

void cj2k_ht_quads_start(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                         Cj2kHtQuads *quads)
{
  const uint8_t *suffix = set->cleanup + set->cleanup_length - set->suffix_length;
  size_t bits = cj2k_ht_destuff_backward(suffix, set->suffix_length - 1, true, scratch->vlc);
  uint8_t *end = scratch->vlc + (bits >> 3) + 1;
  scratch->vlc_bits = bits;
  memset(end, 0, 3 * (width / 2 + 2) + 32); /* as far as one row may read behind the end */
  memset(scratch->quads, 0, CJ2K_HT_QUAD_PAD * sizeof *scratch->quads);
  *quads = (Cj2kHtQuads){.tables = cj2k_ht_tables(),
                         .next = scratch->vlc,
                         .end = end,
                         .mel = {.next = suffix, .last = suffix + set->suffix_length - 2}};
}

bool cj2k_ht_quads_end_row(Cj2kHtQuads *quads, uint32_t *row, uint32_t width)
{
  uint32_t even_cols = (cj2k_ht_quad_cols(width) + 1) & ~1u;
  memset(row + even_cols, 0, (cj2k_ht_quad_stride(width) - even_cols) * sizeof *row);
  quads->context = 0;
  return quads->next <= quads->end + 8; /* up to 8 bytes are read ahead */
}

bool cj2k_ht_quads_finish(const Cj2kHtDecodeScratch *scratch, const Cj2kHtQuads *quads)
{
  return 8 * (size_t)(quads->next - scratch->vlc) - quads->count <= scratch->vlc_bits;
}

void cj2k_ht_decode_first_row(Cj2kHtQuads *quads, uint32_t *row, uint32_t cols)
{
  for (uint32_t start = 0; start < cols; start += CJ2K_HT_GROUP_FIRST_ROW) {
    Cj2kHtChain c = cj2k_ht_chain_begin(quads);
    for (uint32_t q = start; q < MIN(start + CJ2K_HT_GROUP_FIRST_ROW, cols); q += 2)
      cj2k_ht_decode_pair(&c, quads->tables, NULL, row + q, q + 1 < cols, true);
    cj2k_ht_chain_end(quads, &c);
  }
}

void cj2k_ht_decode_other_row(Cj2kHtQuads *quads, const uint32_t *above, uint32_t *row,
                              uint32_t cols)
{
  for (uint32_t start = 0; start < cols; start += CJ2K_HT_GROUP_OTHER_ROWS) {
    Cj2kHtChain c = cj2k_ht_chain_begin(quads);
    for (uint32_t q = start; q < MIN(start + CJ2K_HT_GROUP_OTHER_ROWS, cols); q += 2)
      cj2k_ht_decode_pair(&c, quads->tables, above + q, row + q, q + 1 < cols, false);
    cj2k_ht_chain_end(quads, &c);
  }
}

bool cj2k_ht_decode_quads(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                          uint32_t height)
{
  uint32_t cols = cj2k_ht_quad_cols(width), stride = cj2k_ht_quad_stride(width);
  uint32_t *row = scratch->quads + CJ2K_HT_QUAD_PAD;
  Cj2kHtQuads quads;
  cj2k_ht_quads_start(scratch, set, width, &quads);
  for (uint32_t y = 0; y < height; y += 2, row += stride) {
    if (y == 0) {
      cj2k_ht_decode_first_row(&quads, row, cols);
    } else {
      cj2k_ht_contexts_below(row - stride, cols + 1, scratch->above);
      cj2k_ht_decode_other_row(&quads, scratch->above, row, cols);
    }
    if (!cj2k_ht_quads_end_row(&quads, row, width))
      return false;
  }
  return cj2k_ht_quads_finish(scratch, &quads);
}
