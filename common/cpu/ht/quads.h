/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * First step of the HT cleanup pass: the MEL and VLC segments become quad records (T.814 7.3.3
 * to 7.3.6).
 *
 * It is one long chain of table look-ups, which leaves most of a processor idle. The steps are in
 * this header so that callers can interleave them with other work. No branch depends on the data:
 * MEL events are decoded ahead into a window of bits, a quad without a codeword has an entry of
 * length 0, and the residuals of a pair of quads take one look-up.
 */
#ifndef CJ2K_CPU_HT_QUADS_H
#define CJ2K_CPU_HT_QUADS_H

#include "bits.h"
#include "common/shared/ht_tables.h"
#include "decode.h"

/* Adaptive run-length decoder (T.814 7.3.3) with a window of decoded events. */
typedef struct {
  const uint8_t *next, *last; /* last: the byte that the VLC segment shares */
  uint64_t bits;              /* first bit highest */
  uint32_t count;
  uint32_t state;
  bool after_ff;
  uint64_t events; /* first event lowest */
  uint32_t num_events;
} Cj2kHtMel;

/* How many quads may be decoded before the window of events must be filled again. A pair takes up
 * to 3 events in the first row and 2 in others. The window holds 64 events: a codeword adds up to
 * 32 events to fewer than 32. */
#define CJ2K_HT_MEL_EVENTS       32
#define CJ2K_HT_GROUP_FIRST_ROW  (CJ2K_HT_MEL_EVENTS / 3 * 2)
#define CJ2K_HT_GROUP_OTHER_ROWS CJ2K_HT_MEL_EVENTS

/* State of the decoder of a block between two groups of quads. */
typedef struct {
  const Cj2kHtTables *tables;
  const uint8_t *next, *end; /* next byte of the VLC bits, one after their last */
  uint64_t bits;             /* at least `count` bits that come before `next` */
  uint32_t count;
  uint32_t context; /* contribution of the last quad to the next context, as table index */
  Cj2kHtMel mel;
} Cj2kHtQuads;

/* Loads the MEL and VLC segments. */
void cj2k_ht_quads_start(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                         Cj2kHtQuads *quads);
/* Fills the window of MEL events. */
void cj2k_ht_mel_decode(Cj2kHtMel *mel);
/* The contributions of a row of quads to the contexts of the row below, (n | nw) + 4 (ne | nf), as
 * table indices (T.814 7.3.5). */
void cj2k_ht_contexts_below(const uint32_t *row, uint32_t cols, uint32_t *above);
/* Ends a row: fills it with zeros up to the stride. false: it was read far behind the end of the
 * segment. */
bool cj2k_ht_quads_end_row(Cj2kHtQuads *quads, uint32_t *row, uint32_t width);
/* Ends the block. false: it has used more bits than the segment has. */
bool cj2k_ht_quads_finish(const Cj2kHtDecodeScratch *scratch, const Cj2kHtQuads *quads);

/* Decode the first row of a block and any other row. */
void cj2k_ht_decode_first_row(Cj2kHtQuads *quads, uint32_t *row, uint32_t cols);
void cj2k_ht_decode_other_row(Cj2kHtQuads *quads, const uint32_t *above, uint32_t *row,
                              uint32_t cols);

/* Decodes a u-VLC code of a pair that is too long for the tables or has an extension. Returns the
 * number of bits used. */
uint32_t cj2k_ht_decode_long_uvlc(uint64_t bits, uint32_t mode, bool first_row, uint32_t u[2]);

/* The part of the state that changes from pair to pair; callers keep it in registers. */
typedef struct {
  const uint8_t *next;
  uint64_t bits, events;
  uint32_t count, used_events, context;
} Cj2kHtChain;

static inline Cj2kHtChain cj2k_ht_chain_begin(Cj2kHtQuads *quads)
{
  cj2k_ht_mel_decode(&quads->mel);
  return (Cj2kHtChain){.next = quads->next,
                       .bits = quads->bits,
                       .count = quads->count,
                       .context = quads->context,
                       .events = quads->mel.events};
}

static inline void cj2k_ht_chain_end(Cj2kHtQuads *quads, const Cj2kHtChain *c)
{
  quads->next = c->next;
  quads->bits = c->bits;
  quads->count = c->count;
  quads->context = c->context;
  quads->mel.events = c->events;
  quads->mel.num_events -= c->used_events;
}

/* Decodes a quad and returns its record; the quad has no codeword when context and MEL event are
 * zero. `above` is the row above's contribution to the context. */
static inline uint32_t cj2k_ht_decode_quad(Cj2kHtChain *c, const uint32_t *table, uint32_t above)
{
  const uint32_t *entries = table + above + c->context;
  uint32_t uses_mel = (above | c->context) == 0, silent = uses_mel & ~(uint32_t)c->events;
  uint32_t record = entries[c->bits & 127] & (silent - 1);
  c->events >>= uses_mel;
  c->used_events += uses_mel;
  c->bits >>= record & 63;
  c->count -= record & 63;
  c->context = record >> CJ2K_HT_CTX_SHIFT;
  return record;
}

/* Decodes two quads and their residuals into row[0] and row[1]; the second is 0 when it does not
 * exist. above[]: contributions of the row above to the contexts; not read in the first row. */
static inline __attribute__((always_inline)) void
cj2k_ht_decode_pair(Cj2kHtChain *c, const Cj2kHtTables *tables, const uint32_t *above,
                    uint32_t *row, bool has_second, bool first_row)
{
  const uint32_t *table = tables->vlc[first_row ? 0 : 1];
  const uint32_t *uvlc = first_row ? tables->uvlc_first : tables->uvlc_other;
  /* At least 56 bits; a pair uses up to 38. */
  c->bits |= cj2k_load_le64(c->next) << c->count;
  c->next += (63 - c->count) >> 3;
  c->count |= 56;
  uint32_t first = cj2k_ht_decode_quad(c, table, first_row ? 0 : above[0]), second = 0;
  if (has_second)
    second = cj2k_ht_decode_quad(c, table, first_row ? 0 : above[1]);
  uint32_t mode = (first >> CJ2K_HT_UOFF_SHIFT & 1) | (second >> CJ2K_HT_UOFF_SHIFT & 1) << 1;
  if (first_row && mode == 3) {
    mode += (uint32_t)c->events & 1;
    c->events >>= 1;
    c->used_events += 1;
  }
  uint32_t entry = uvlc[mode << CJ2K_HT_UVLC_BITS | (c->bits & ((1u << CJ2K_HT_UVLC_BITS) - 1))];
  uint32_t used = entry & 63;
  if (G_UNLIKELY(entry & CJ2K_HT_UVLC_LONG)) {
    uint32_t u[2];
    used = cj2k_ht_decode_long_uvlc(c->bits, mode, first_row, u);
    row[0] = first | u[0] << CJ2K_HT_U_SHIFT;
    row[1] = second | u[1] << CJ2K_HT_U_SHIFT;
  } else {
    row[0] = first | (entry & 63u << CJ2K_HT_U_SHIFT);
    row[1] = second | (entry << (CJ2K_HT_U_SHIFT - CJ2K_HT_UVLC_U1_SHIFT) & 63u << CJ2K_HT_U_SHIFT);
  }
  c->bits >>= used;
  c->count -= used;
}

#endif
