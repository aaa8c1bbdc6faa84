/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The HT cleanup pass: from analysed quads to the bytes of MagSgn, MEL and VLC (T.814 7.3, 7.1). */
#include "ht_bits.h"
#include "ht_encode.h"

typedef struct {
  const Cj2kHtTables *tables;
  Cj2kHtBits magsgn, vlc, events;
} Writer;

/* m_n bits of each significant sample: the bound less one where e_k tells the highest bit. */
static inline void put_magsgn(Cj2kHtBits *out, const uint32_t v[4], uint32_t rho, uint32_t bound,
                              uint32_t known)
{
  if (rho == 0)
    return;
  uint64_t bits[4];
  uint32_t m[4];
  for (uint32_t n = 0; n < 4; n++) {
    m[n] = rho >> n & 1 ? bound - (known >> n & 1) : 0;
    bits[n] = v[n] & ((UINT64_C(1) << m[n]) - 1);
  }
  if (bound <= 14) { /* at most 56 bits */
    cj2k_put_bits(out, bits[0] | bits[1] << m[0] | (bits[2] | bits[3] << m[2]) << (m[0] + m[1]),
                  m[0] + m[1] + m[2] + m[3]);
    return;
  }
  for (uint32_t n = 0; n < 4; n++)
    cj2k_put_bits(out, bits[n], m[n]);
}

/* All bits of one row: for each pair of quads their codewords and residuals, MEL events where the
 * context is 0. */
static inline __attribute__((always_inline)) void put_row(Writer *writer, const Cj2kHtQuadRow *row,
                                                          const uint8_t *above, uint32_t cols,
                                                          bool first_row)
{
  Writer w = *writer;
  const uint16_t *table = w.tables->encode[first_row ? 0 : 1];
  const uint64_t *pair = w.tables->uvlc_pair[first_row ? 0 : 1];
  uint32_t left = 0; /* rho of the quad before */
  for (uint32_t q = 0; q < cols; q += 2) {
    uint64_t code = 0, events = 0;
    uint32_t length = 0, num_events = 0;
    for (uint32_t i = q; i < MIN(q + 2, cols); i++) {
      uint32_t rho = row->rho[1 + i], context;
      if (first_row)
        context = ((left | left >> 1) & 1) | (left >> 1 & 6);
      else
        context = ((above[i] >> 3 | above[1 + i] >> 1) & 1) | (left > 3) << 1 |
                  ((above[1 + i] >> 3 | above[2 + i] >> 1) & 1) << 2;
      uint32_t entry = table[context << 8 | rho << 4 | row->eps[i]];
      code |= (uint64_t)CJ2K_HT_ENC_CODEWORD(entry) << length;
      length += CJ2K_HT_ENC_LENGTH(entry);
      if (context == 0)
        events |= (uint64_t)(rho != 0) << num_events++;
      put_magsgn(&w.magsgn, row->v + 4 * i, rho, row->bound[i], CJ2K_HT_ENC_EK(entry));
      left = rho;
    }
    uint32_t u0 = row->u[q], u1 = row->u[q + 1];
    if (first_row && u0 > 0 && u1 > 0)
      events |= (uint64_t)(MIN(u0, u1) > 2) << num_events++;
    uint64_t residuals = u0 < CJ2K_HT_UVLC_PAIR && u1 < CJ2K_HT_UVLC_PAIR
                             ? pair[u0 << 4 | u1]
                             : cj2k_ht_uvlc_code(u0, u1, first_row);
    code |= CJ2K_HT_UVLC_CODE_BITS(residuals) << length;
    cj2k_put_bits(&w.vlc, code, length + CJ2K_HT_UVLC_CODE_LENGTH(residuals));
    cj2k_put_bits(&w.events, events, num_events);
  }
  *writer = w;
}

/* --- MEL --- */

typedef struct {
  uint8_t *out;
  uint32_t byte, room; /* the byte being made and the bits it still takes */
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

/* The next event that is one, at or after `from`; `count` when there is none. Bits from `count` on
 * are anything. */
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

/* Adaptive run-length code (T.814 7.3.3). A run that the end cuts off is coded as if it went on. */
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

/* Fills the last byte with ones; one that is FF is not needed, since the decoder reads ones behind
 * the end. */
static uint32_t finish_magsgn(uint8_t *out, size_t length, const Cj2kHtRest *rest)
{
  if (rest->count == 0)
    return (uint32_t)(length - (rest->stuffed ? 1 : 0));
  uint32_t byte = (rest->bits | 0xFFu << rest->count) & (0xFFu >> rest->stuffed);
  out[length] = (uint8_t)byte;
  return (uint32_t)(length + (byte != 0xFF));
}

/* MEL ends, filled with zeros, and VLC begins, seen from the front, in one byte when no bit of one
 * contradicts the other (T.814 7.1.1) and the VLC has another byte behind it for Scup. */
static void join_mel_vlc(Cj2kHtEncodeScratch *s, const MelBytes *mel, const Cj2kHtRest *vlc,
                         Cj2kHtCleanup *c)
{
  uint32_t mel_byte = mel->byte << mel->room, mel_mask = 0xFFu << mel->room & 0xFF;
  uint32_t vlc_mask = (1u << vlc->count) - 1, both = mel_byte | vlc->bits;
  uint8_t *vlc_end =
      s->vlc_bytes + sizeof s->vlc_bytes - 1; /* the very last byte belongs to Scup */
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

uint32_t cj2k_ht_encode_cleanup(Cj2kHtEncodeScratch *s, const Cj2kBlockSource *source,
                                uint32_t plane, Cj2kHtCleanup *cleanup)
{
  uint32_t cols = (source->width + 1u) / 2, significant = 0;
  Writer w = {.tables = cj2k_ht_tables(),
              .magsgn.out = s->magsgn,
              .vlc.out = s->vlc,
              .events.out = s->events};
  cj2k_put_bits(&w.vlc, 15, 4); /* the lower four bits of Scup */
  for (uint32_t y = 0; y < source->height; y += 2) {
    Cj2kHtQuadRow *row = &s->row[y >> 1 & 1], *above = &s->row[~y >> 1 & 1];
    cj2k_ht_analyse_row(source, plane, y, y == 0, above, row);
    for (uint32_t q = 0; q < cols; q++)
      significant |= row->rho[1 + q];
    if (y == 0)
      put_row(&w, row, NULL, cols, true);
    else
      put_row(&w, row, above->rho, cols, false);
  }
  if (!significant)
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
