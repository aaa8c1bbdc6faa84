/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * First step of the HT cleanup pass: the MEL and VLC segments become quad records (T.814 7.3.3
 * to 7.3.6). It is one long chain of table look-ups, so the loop has no branch that depends on the
 * data: MEL events are decoded ahead into a window of bits, a quad that has no codeword takes an
 * entry of length 0, and pairs of quads use one look-up for both residuals.
 */
#include "ht_bits.h"
#include "ht_decode.h"
#include "ht_tables.h"

/* Adaptive run-length decoder (T.814 7.3.3) with a window of decoded events. */
typedef struct {
  const uint8_t *next, *last; /* last: the byte that the VLC segment shares */
  uint64_t bits;              /* first bit highest */
  uint32_t count;
  uint32_t state;
  bool after_ff;
  uint64_t events; /* first event lowest */
  uint32_t num_events;
} Mel;

/* Events that a window always has when a group of pairs begins; a codeword adds up to 32. */
#define MEL_EVENTS 32

static void mel_fill(Mel *mel)
{
  while (mel->count <= 56) {
    uint32_t byte = 0xFF; /* after the end: ones */
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

static void mel_decode(Mel *mel)
{
  while (mel->num_events < MEL_EVENTS) {
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

/* The u-VLC code of a pair, step by step: long codes, and extensions. Returns the bits used. */
static uint32_t decode_long_uvlc(uint64_t bits, uint32_t mode, bool first_row, uint32_t u[2])
{
  const uint32_t suffix_bits[4] = {0, 0, 1, 5};
  uint32_t used = 0, suffix_length[2] = {0, 0};
  u[0] = u[1] = 0;
  for (uint32_t i = 0; i < 2; i++) {
    if (mode < 3 && !(mode >> i & 1))
      continue;
    if (i == 1 && mode == 3 && first_row && u[0] > 2) {
      u[1] = 1 + (uint32_t)(bits >> used & 1);
      used += 1;
      continue;
    }
    uint32_t prefix = (uint32_t)(bits >> used) & 7;
    uint32_t kind = prefix & 1 ? 0 : prefix & 2 ? 1 : prefix & 4 ? 2 : 3;
    used += kind < 2 ? kind + 1 : 3;
    u[i] = kind < 3 ? kind + 1 : 5;
    suffix_length[i] = suffix_bits[kind];
  }
  uint32_t suffix[2];
  for (uint32_t i = 0; i < 2; i++) {
    suffix[i] = (uint32_t)(bits >> used) & ((1u << suffix_length[i]) - 1);
    used += suffix_length[i];
    u[i] += suffix[i] + (mode == 4 ? 2 : 0);
  }
  for (uint32_t i = 0; i < 2; i++) {
    if (suffix[i] < 28)
      continue;
    u[i] += 4 * ((uint32_t)(bits >> used) & 15);
    used += 4;
  }
  return used;
}

/* Where the decoder stands. */
typedef struct {
  const Cj2kHtTables *tables;
  const uint8_t *next; /* next byte of the VLC bits */
  uint64_t bits;       /* `count` bits that come before it */
  uint32_t count;
  const uint32_t *above;
  Mel mel;
} Quads;

/* The part of it that changes with each quad. */
typedef struct {
  uint64_t bits, events;
  uint32_t used, used_events;
} Cursor;

/* One quad: its record, without codeword when context and MEL event are zero. index: context << 7.
 */
static inline uint32_t decode_quad(Cursor *c, const uint32_t *table, uint32_t index)
{
  uint32_t uses_mel = index == 0, silent = uses_mel & ~(uint32_t)c->events;
  uint32_t record = table[index | (c->bits & 127)] & (silent - 1);
  c->events >>= uses_mel;
  c->used_events += uses_mel;
  c->bits >>= record & 63;
  c->used += record & 63;
  return record;
}

/* The residuals of a pair, into their records. */
static inline void decode_residuals(Cursor *c, const uint32_t *uvlc, uint32_t *first,
                                    uint32_t *second, bool first_row)
{
  uint32_t mode = (*first >> CJ2K_HT_UOFF_SHIFT & 1) | (*second >> CJ2K_HT_UOFF_SHIFT & 1) << 1;
  if (first_row && mode == 3) {
    mode += (uint32_t)c->events & 1;
    c->events >>= 1;
    c->used_events += 1;
  }
  uint32_t entry = uvlc[mode << CJ2K_HT_UVLC_BITS | (c->bits & ((1u << CJ2K_HT_UVLC_BITS) - 1))];
  if (G_UNLIKELY(entry & CJ2K_HT_UVLC_LONG)) {
    uint32_t u[2];
    c->used += decode_long_uvlc(c->bits, mode, first_row, u);
    *first |= u[0] << CJ2K_HT_U_SHIFT;
    *second |= u[1] << CJ2K_HT_U_SHIFT;
    return;
  }
  c->used += entry & 63;
  *first |= entry & 63u << CJ2K_HT_U_SHIFT;
  *second |= entry << (CJ2K_HT_U_SHIFT - CJ2K_HT_UVLC_U1_SHIFT) & 63u << CJ2K_HT_U_SHIFT;
}

/* A row of quads, in pairs. above: the part of the contexts that the row above gives. */
static inline __attribute__((always_inline)) void decode_row(Quads *s, uint32_t *row, uint32_t cols,
                                                             bool first_row)
{
  const uint32_t group =
      first_row ? MEL_EVENTS / 3 * 2 : MEL_EVENTS; /* quads; a pair uses up to 3 or 2 events */
  const uint32_t *table = s->tables->vlc[first_row ? 0 : 1], *above = s->above;
  const uint32_t *uvlc = first_row ? s->tables->uvlc_first : s->tables->uvlc_other;
  const uint8_t *next = s->next;
  uint64_t bits = s->bits;
  uint32_t count = s->count, context = 0;
  for (uint32_t start = 0; start < cols; start += group) {
    mel_decode(&s->mel);
    Cursor c = {.events = s->mel.events};
    for (uint32_t q = start; q < MIN(start + group, cols); q += 2) {
      /* At least 56 bits; a pair uses up to 38. */
      bits |= cj2k_load_le64(next) << count;
      next += (63 - count) >> 3;
      count |= 56;
      c.bits = bits;
      c.used = 0;
      uint32_t first = decode_quad(&c, table, first_row ? context : context | above[q]), second = 0;
      context = first >> CJ2K_HT_CTX_SHIFT;
      if (q + 1 < cols)
        second = decode_quad(&c, table, first_row ? context : context | above[q + 1]);
      context = second >> CJ2K_HT_CTX_SHIFT;
      decode_residuals(&c, uvlc, &first, &second, first_row);
      row[q] = first;
      row[q + 1] = second;
      bits >>= c.used;
      count -= c.used;
    }
    s->mel.events = c.events;
    s->mel.num_events -= c.used_events;
  }
  s->next = next;
  s->bits = bits;
  s->count = count;
}

/* The contexts of the row below (T.814 7.3.5): 1 (n | nw) + 4 (ne | nf), as table indices. The bits
 * of rho in a record, 7 for the bottom left and 9 for the bottom right sample, are already where 1
 * and 4 must go. */
static void contexts_from_above(uint32_t *above, const uint32_t *row, uint32_t cols)
{
  for (uint32_t q = 0; q < cols; q++) {
    uint32_t left = row[(ptrdiff_t)q - 1], right = row[q + 1];
    above[q] = ((row[q] | left >> 2) & 1u << 7) | ((row[q] | right << 2) & 1u << 9);
  }
}

bool cj2k_ht_decode_quads(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                          uint32_t height)
{
  uint32_t cols = cj2k_ht_quad_cols(width), even_cols = (cols + 1) & ~1u;
  uint32_t stride = cj2k_ht_quad_stride(width);
  const uint8_t *suffix = set->cleanup + set->cleanup_length - set->suffix_length;
  size_t vlc_bits = cj2k_ht_destuff_backward(suffix, set->suffix_length - 1, true, scratch->vlc);
  memset(scratch->vlc + (vlc_bits >> 3) + 1, 0,
         3 * even_cols + 32); /* what one row may read behind the end */
  memset(scratch->quads, 0, CJ2K_HT_QUAD_PAD * sizeof *scratch->quads);

  Quads s = {.tables = cj2k_ht_tables(),
             .next = scratch->vlc,
             .above = scratch->above,
             .mel = {.next = suffix, .last = suffix + set->suffix_length - 2}};
  const uint8_t *vlc_end = scratch->vlc + (vlc_bits >> 3) + 1;
  uint32_t *row = scratch->quads + CJ2K_HT_QUAD_PAD;
  for (uint32_t y = 0; y < height; y += 2, row += stride) {
    if (y == 0) {
      decode_row(&s, row, cols, true);
    } else {
      contexts_from_above(scratch->above, row - stride, even_cols);
      decode_row(&s, row, cols, false);
    }
    memset(row + even_cols, 0, (stride - even_cols) * sizeof *row);
    if (s.next > vlc_end + 8)
      return false; /* far behind the end of the segment */
  }
  return 8 * (size_t)(s.next - scratch->vlc) - s.count <= vlc_bits;
}
