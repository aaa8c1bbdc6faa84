/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stages of the HT block encoder, private to this folder:
 *
 *   samples -> quads of a row (analysis) -> raw bits of MEL, VLC, MagSgn -> stuffed bytes, joined
 *
 * A bit string depends on the samples alone, never on bits written before, so each stage can
 * process many quads at once. docs/ht-coder.md lists the choices that the standard leaves open.
 */
#ifndef CJ2K_CPU_HT_ENCODE_H
#define CJ2K_CPU_HT_ENCODE_H

#include "bits.h"
#include "common/cpu/blockcoder.h"
#include "common/shared/ht_tables.h"
#include "distortion.h"
#include "stripes.h"

#define CJ2K_HT_ENC_MAX_COLS 528 /* quads of a row, with padding for vector stores */
/* Fewer than 1280 quads; 4 samples of up to 32 bits each. */
#define CJ2K_HT_ENC_MAGSGN_BYTES (1280 * 4 * 4 + 64)
#define CJ2K_HT_ENC_VLC_BYTES    (640 * 38 / 8 + 512 * 5 + 64)
#define CJ2K_HT_ENC_EVENT_BYTES  512
#define CJ2K_HT_ENC_MEL_BYTES    1280
#define CJ2K_HT_ENC_REFINE_BYTES 1088

/*
 * One analysed row of quads. The samples of a quad are in the order top left, bottom left, top
 * right, bottom right. Entries around the block are 0, so that neighbours outside are
 * insignificant.
 *
 * Bits of a quad; bits 10..0 are the index into Cj2kHtTables.encode:
 *
 *   3..0    eps: samples whose exponent is the quad's largest; 0 when u is 0
 *   7..4    rho
 *   10..8   context c_q
 *   21..16  U_q
 *   31..24  u
 */
#define CJ2K_HT_ENC_INDEX(quad)   ((quad)&0x7FF)
#define CJ2K_HT_ENC_EPS(quad)     ((quad)&15)
#define CJ2K_HT_ENC_CONTEXT(quad) ((quad)&0x700)
#define CJ2K_HT_ENC_RHO(quad)     ((quad) >> 4 & 15)
#define CJ2K_HT_ENC_BOUND(quad)   ((quad) >> 16 & 63)
#define CJ2K_HT_ENC_U(quad)       ((quad) >> 24)
#define CJ2K_HT_ENC_PAD           8

typedef struct {
  uint32_t quad[CJ2K_HT_ENC_PAD + CJ2K_HT_ENC_MAX_COLS + CJ2K_HT_ENC_PAD]; /* from [PAD] on */
  uint32_t v[4 * CJ2K_HT_ENC_MAX_COLS]; /* 2 (mu - 1) + sign; 0 when insignificant */
  uint32_t known[CJ2K_HT_ENC_MAX_COLS]; /* e_k of the chosen codeword */
  /* Exponents of the lower samples of quad q, for the row below: left at [PAD + 2 q], right at
   * [PAD + 2 q + 1]. */
  uint8_t lower[CJ2K_HT_ENC_PAD + 2 * CJ2K_HT_ENC_MAX_COLS + 16];
} Cj2kHtQuadRow;

typedef struct Cj2kHtEncodeScratch {
  Cj2kHtQuadRow row[2]; /* the current row and the one above; they swap */
  uint8_t magsgn[CJ2K_HT_ENC_MAGSGN_BYTES];
  uint8_t vlc[CJ2K_HT_ENC_VLC_BYTES];
  uint8_t events[CJ2K_HT_ENC_EVENT_BYTES];
  uint8_t refine[CJ2K_HT_ENC_REFINE_BYTES];
  uint8_t magsgn_bytes[CJ2K_HT_ENC_MAGSGN_BYTES * 8 / 7];
  uint8_t mel_bytes[CJ2K_HT_ENC_MEL_BYTES];
  uint8_t vlc_bytes[CJ2K_HT_ENC_VLC_BYTES * 8 / 7]; /* filled from its end */
  uint8_t refine_bytes[CJ2K_HT_ENC_REFINE_BYTES * 8 / 7];
  uint8_t segment[2 * CJ2K_HT_ENC_REFINE_BYTES * 8 / 7]; /* SigProp and MagRef */
  uint16_t sigma[CJ2K_HT_MAX_GROUPS];
} Cj2kHtEncodeScratch;

/* Context c_q (T.814 7.3.5); above: the quad above, between its neighbours. */
static inline uint32_t cj2k_ht_context(bool first, const uint32_t *above, uint32_t left)
{
  uint32_t w = CJ2K_HT_ENC_RHO(left);
  if (first)
    return ((w | w >> 1) & 1) | (w >> 1 & 6);
  uint32_t nw = CJ2K_HT_ENC_RHO(above[-1]), n = CJ2K_HT_ENC_RHO(above[0]),
           ne = CJ2K_HT_ENC_RHO(above[1]);
  return ((nw >> 3 | n >> 1) & 1) | (w > 3) << 1 | ((n >> 3 | ne >> 1) & 1) << 2;
}

/* A coded cleanup pass: lengths of its three parts, which are in the scratch. */
typedef struct {
  uint32_t magsgn, mel, vlc; /* bytes */
} Cj2kHtCleanup;

/*
 * Analyses the row of quads at row y of the block (T.814 7.3.4, 7.3.5), with samples shifted down
 * by `plane`. first: there is no row above. Writes all of *row but `known`.
 */
typedef void Cj2kHtAnalyseRow(const Cj2kBlockSource *source, uint32_t plane, uint32_t y, bool first,
                              const Cj2kHtQuadRow *above, Cj2kHtQuadRow *row);
/* Writes the MagSgn bits of an analysed row, without those that `known` makes superfluous
 * (T.814 7.3.8). */
typedef void Cj2kHtPutMagSgn(const Cj2kHtQuadRow *row, uint32_t cols, Cj2kHtBits *out);

Cj2kHtAnalyseRow cj2k_ht_analyse_row;
Cj2kHtPutMagSgn cj2k_ht_put_magsgn;

#if defined(__x86_64__) && defined(__GNUC__)
#define CJ2K_HT_ENC_AVX2
/* The same with AVX2, for exponents up to this limit: two samples fit into one cj2k_put_bits(). */
#define CJ2K_HT_ENC_AVX2_MAX_EXPONENT 28
Cj2kHtAnalyseRow cj2k_ht_analyse_row_avx2;
Cj2kHtPutMagSgn cj2k_ht_put_magsgn_avx2;
#endif

/* Codes the cleanup pass at a plane into the scratch. Returns its length (Lcup), 0 when no sample
 * is significant. */
uint32_t cj2k_ht_encode_cleanup(Cj2kHtEncodeScratch *scratch, const Cj2kBlockSource *source,
                                uint32_t plane, Cj2kHtCleanup *cleanup);
/* Writes the bytes of a coded cleanup pass to out. */
void cj2k_ht_write_cleanup(const Cj2kHtEncodeScratch *scratch, const Cj2kHtCleanup *cleanup,
                           uint8_t *out);

/*
 * Code SigProp, then MagRef (T.814 7.4, 7.5), at plane - 1 behind a cleanup pass at `plane`. The
 * capacity of out is CJ2K_HT_ENC_REFINE_BYTES * 8 / 7 bytes for each. They return the number of
 * bytes. last: no MagRef pass follows. The gain of the pass is added to *gain unless gain is NULL.
 */
uint32_t cj2k_ht_encode_sigprop(Cj2kHtEncodeScratch *scratch, const Cj2kBlockSource *source,
                                uint32_t plane, bool last, uint8_t *out, Cj2kHtGain *gain);
uint32_t cj2k_ht_encode_magref(Cj2kHtEncodeScratch *scratch, const Cj2kBlockSource *source,
                               uint32_t plane, uint8_t *out, Cj2kHtGain *gain);

#endif
