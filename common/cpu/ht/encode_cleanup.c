/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The HT cleanup pass: from analysed quads to the bytes of MagSgn, MEL and VLC (T.814 7.3, 7.1). */
#include "bits.h"
#include "encode.h"

/* MEL events, gathered for the whole block. */
typedef struct {
  uint64_t bits;
  uint32_t count;
} Events;

static inline void add_event(Events *e, bool is_coded, bool event)
{
  e->bits |= (uint64_t)(is_coded & event) << e->count;
  e->count += is_coded;
}

/*
 * Writes the codewords and residuals of a row, pair by pair, and MEL events where the context is 0
 * (T.814 7.3.5, 7.3.6). Fills row->known with the MagSgn bits that the codewords imply.
 */
static inline __attribute__((always_inline)) void put_vlc(const Cj2kHtTables *tables,
                                                          Cj2kHtQuadRow *row, uint32_t cols,
                                                          bool first_row, Cj2kHtBits *vlc,
                                                          Cj2kHtBits *events)
{
  const uint16_t *table = tables->encode[first_row ? 0 : 1];
  const uint64_t *pair = tables->uvlc_pair[first_row ? 0 : 1];
  const uint32_t *quad = row->quad + CJ2K_HT_ENC_PAD;
  Cj2kHtBits out = *vlc;
  Events e = {0, 0};
  for (uint32_t q = 0; q < cols; q += 2) {
    uint32_t first = quad[q], second = q + 1 < cols ? quad[q + 1] : 0;
    uint32_t entry0 = table[CJ2K_HT_ENC_INDEX(first)], entry1 = table[CJ2K_HT_ENC_INDEX(second)];
    uint32_t u0 = CJ2K_HT_ENC_U(first), u1 = CJ2K_HT_ENC_U(second);
    row->known[q] = CJ2K_HT_ENC_EK(entry0);
    row->known[q + 1] = CJ2K_HT_ENC_EK(entry1);
    add_event(&e, CJ2K_HT_ENC_CONTEXT(first) == 0, CJ2K_HT_ENC_RHO(first) != 0);
    add_event(&e, q + 1 < cols && CJ2K_HT_ENC_CONTEXT(second) == 0, CJ2K_HT_ENC_RHO(second) != 0);
    if (first_row)
      add_event(&e, u0 > 0 && u1 > 0, MIN(u0, u1) > 2);
    if (e.count > 48) {
      cj2k_put_bits(events, e.bits, e.count);
      e = (Events){0, 0};
    }
    uint64_t residuals = u0 < CJ2K_HT_UVLC_PAIR && u1 < CJ2K_HT_UVLC_PAIR
                             ? pair[u0 << 4 | u1]
                             : cj2k_ht_uvlc_code(u0, u1, first_row);
    uint32_t length0 = CJ2K_HT_ENC_LENGTH(entry0), length = length0 + CJ2K_HT_ENC_LENGTH(entry1);
    uint64_t code = CJ2K_HT_ENC_CODEWORD(entry0) | CJ2K_HT_ENC_CODEWORD(entry1) << length0 |
                    CJ2K_HT_UVLC_CODE_BITS(residuals) << length;
    cj2k_put_bits(&out, code, length + CJ2K_HT_UVLC_CODE_LENGTH(residuals));
  }
  cj2k_put_bits(events, e.bits, e.count);
  *vlc = out;
}

/* --- MEL --- */

typedef struct {
  uint8_t *out;
  uint32_t byte, room; /* the current byte and how many bits are free in it */
} MelBytes;

static void put_mel(MelBytes *m, uint32_t bits, uint32_t length)
{
  while (length > 0) {
    m->byte = m->byte << 1 | (bits >> --length & 1);
    if (--m->room == 0) {
      *m->out++ = (uint8_t)m->byte;
      m->room = m->byte == 0xFF ? 7 : 8;
      m->byte = 0;
    }
  }
}

/* The position of the next event that is one, at or behind `from`; `count` when there is none. Bits
 * from `count` on are undefined. */
static uint32_t next_one(const uint8_t *events, uint32_t from, uint32_t count)
{
  while (from < count) {
    uint64_t word = cj2k_load_le64(events + (from >> 3)) >> (from & 7);
    if (word) {
      from += (uint32_t)__builtin_ctzll(word);
      return MIN(from, count);
    }
    from = (from & ~7u) + 64;
  }
  return count;
}

/* The adaptive run-length code (T.814 7.3.3). The last run is coded as if it continued. */
static void code_mel(MelBytes *m, const uint8_t *events, uint32_t count)
{
  uint32_t state = 0;
  for (uint32_t at = 0; at < count;) {
    uint32_t one = next_one(events, at, count), run = one - at;
    while (run >= 1u << cj2k_ht_mel_exponent[state]) {
      run -= 1u << cj2k_ht_mel_exponent[state];
      put_mel(m, 1, 1);
      state += state < CJ2K_HT_MEL_STATES - 1;
    }
    if (one < count) {
      put_mel(m, run, 1 + cj2k_ht_mel_exponent[state]);
      state -= state > 0;
    } else if (run > 0) {
      put_mel(m, 1, 1);
    }
    at = one + 1;
  }
}

/* --- joining --- */

/* Fills the last byte with ones. If that makes FF the byte is left out, since the decoder reads
 * ones behind the end. */
static uint32_t finish_magsgn(uint8_t *out, size_t length, const Cj2kHtRest *rest)
{
  if (rest->count == 0)
    return (uint32_t)(length - (rest->stuffed ? 1 : 0));
  uint32_t byte = (rest->bits | 0xFFu << rest->count) & (0xFFu >> rest->stuffed);
  out[length] = (uint8_t)byte;
  return (uint32_t)(length + (byte != 0xFF));
}

/* Joins the last byte of MEL, filled with zeros, and the last byte of VLC, which is its first one
 * in memory. They share a byte when their bits do not contradict each other (T.814 7.1.1) and VLC
 * has another byte for Scup. */
static void join_mel_vlc(Cj2kHtEncodeScratch *s, const MelBytes *mel, const Cj2kHtRest *vlc,
                         Cj2kHtCleanup *c)
{
  uint32_t mel_byte = mel->byte << mel->room, mel_mask = 0xFFu << mel->room & 0xFF;
  uint32_t vlc_mask = (1u << vlc->count) - 1, both = mel_byte | vlc->bits;
  uint8_t *vlc_end = s->vlc_bytes + sizeof s->vlc_bytes - 1; /* the last byte is for Scup */
  if ((mel_mask | vlc_mask) == 0)
    return;
  if (((both ^ mel_byte) & mel_mask) == 0 && ((both ^ vlc->bits) & vlc_mask) == 0 && both != 0xFF &&
      c->vlc > 1) {
    s->mel_bytes[c->mel++] = (uint8_t)both;
    return;
  }
  s->mel_bytes[c->mel++] = (uint8_t)mel_byte;
  vlc_end[-(ptrdiff_t)c->vlc] = (uint8_t)vlc->bits;
  c->vlc++;
}

typedef struct {
  Cj2kHtBits magsgn, vlc, events;
} Strings;

/* Writes the bits of the three parts. Returns whether a sample is significant. */
static bool put_all_rows(Cj2kHtEncodeScratch *s, const Cj2kBlockSource *source, uint32_t plane,
                         Strings *strings)
{
  const Cj2kHtTables *tables = cj2k_ht_tables();
  Cj2kHtAnalyseRow *analyse = cj2k_ht_analyse_row;
  Cj2kHtPutMagSgn *put_magsgn = cj2k_ht_put_magsgn;
#ifdef CJ2K_HT_ENC_AVX2
  /* mu is below 2^(Mb - p), so that 2 mu - 1 takes one bit more */
  if (source->num_bitplanes - plane < CJ2K_HT_ENC_AVX2_MAX_EXPONENT &&
      __builtin_cpu_supports("avx2")) {
    analyse = cj2k_ht_analyse_row_avx2;
    put_magsgn = cj2k_ht_put_magsgn_avx2;
  }
#endif
  uint32_t cols = (source->width + 1u) / 2, significant = 0;
  for (uint32_t y = 0; y < source->height; y += 2) {
    Cj2kHtQuadRow *row = &s->row[y >> 1 & 1], *above = &s->row[~y >> 1 & 1];
    analyse(source, plane, y, y == 0, above, row);
    for (uint32_t q = 0; q < cols; q++)
      significant |= CJ2K_HT_ENC_RHO(row->quad[CJ2K_HT_ENC_PAD + q]);
    if (y == 0)
      put_vlc(tables, row, cols, true, &strings->vlc, &strings->events);
    else
      put_vlc(tables, row, cols, false, &strings->vlc, &strings->events);
    put_magsgn(row, cols, &strings->magsgn);
  }
  return significant != 0;
}

uint32_t cj2k_ht_encode_cleanup(Cj2kHtEncodeScratch *s, const Cj2kBlockSource *source,
                                uint32_t plane, Cj2kHtCleanup *cleanup)
{
  Strings w = {.magsgn.out = s->magsgn, .vlc.out = s->vlc, .events.out = s->events};
  cj2k_put_bits(&w.vlc, 15, 4); /* the lower four bits of Scup */
  if (!put_all_rows(s, source, plane, &w))
    return 0;

  Cj2kHtRest rest;
  size_t magsgn_bits = cj2k_bits_put(&w.magsgn, s->magsgn),
         vlc_bits = cj2k_bits_put(&w.vlc, s->vlc);
  size_t length = cj2k_ht_stuff_forward(s->magsgn, magsgn_bits, s->magsgn_bytes, &rest);
  cleanup->magsgn = finish_magsgn(s->magsgn_bytes, length, &rest);

  MelBytes mel = {s->mel_bytes, 0, 8};
  code_mel(&mel, s->events, (uint32_t)cj2k_bits_put(&w.events, s->events));
  cleanup->mel = (uint32_t)(mel.out - s->mel_bytes);
  uint8_t *vlc_end = s->vlc_bytes + sizeof s->vlc_bytes - 1;
  cleanup->vlc = 1 + (uint32_t)cj2k_ht_stuff_backward(s->vlc, vlc_bits, vlc_end, &rest);
  join_mel_vlc(s, &mel, &rest, cleanup);
  return cleanup->magsgn + cleanup->mel + cleanup->vlc;
}

void cj2k_ht_write_cleanup(const Cj2kHtEncodeScratch *s, const Cj2kHtCleanup *c, uint8_t *out)
{
  uint32_t suffix = c->mel + c->vlc; /* Scup */
  memcpy(out, s->magsgn_bytes, c->magsgn);
  memcpy(out + c->magsgn, s->mel_bytes, c->mel);
  memcpy(out + c->magsgn + c->mel, s->vlc_bytes + sizeof s->vlc_bytes - c->vlc, c->vlc);
  uint8_t *end = out + c->magsgn + suffix;
  end[-1] = (uint8_t)(suffix >> 4);
  end[-2] = (uint8_t)((end[-2] & 0xF0) | (suffix & 15));
}
