/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stages of the HT block decoder, private to this folder:
 *
 *   HT set  ->  quads (MEL, VLC)  ->  samples (MagSgn)  ->  SigProp, MagRef
 */
#ifndef CJ2K_CPU_HT_DECODE_H
#define CJ2K_CPU_HT_DECODE_H

#include "common/cpu/blockcoder.h"
#include "stripes.h"

/* Quads of a block: rows of quad records (ht_tables.h); the first record is at
 * quads[CJ2K_HT_QUAD_PAD]. Zeros, at least two, fill each row up to the stride, so that neighbours
 * outside the block are insignificant. */
#define CJ2K_HT_QUAD_PAD      8
#define CJ2K_HT_MAX_QUAD_COLS 520
#define CJ2K_HT_MAX_QUADS     (8 * 512 + 2 * CJ2K_HT_QUAD_PAD)
/* Bytes for the MagSgn bits of any block, which has fewer than 1280 quads of 4 samples of up to 63
 * bits; and for one row of quads of padding, since the position is checked once per row. */
#define CJ2K_HT_MAGSGN_BYTES (1280 * 4 * 63 / 8)
#define CJ2K_HT_MAGSGN_PAD   (512 * 4 * 63 / 8 + 64)
#define CJ2K_HT_MAX_SCUP     4079u
#define CJ2K_HT_VLC_PAD      2048 /* a row of quads consumes up to 256 * 38 bits */
/* SigProp has up to 2 bits for each of 4096 samples; every 8th bit may be a stuffing bit. */
#define CJ2K_HT_REFINE_BYTES 1280

typedef struct Cj2kHtDecodeScratch {
  uint32_t quads[CJ2K_HT_MAX_QUADS];
  uint32_t above[CJ2K_HT_MAX_QUAD_COLS]; /* context from the row of quads above */
  uint64_t line[CJ2K_HT_MAX_QUAD_COLS];  /* MagSgn values of the lowest samples above, see
                                            decode_magsgn.c */
  uint32_t lower[2][2 * CJ2K_HT_MAX_QUAD_COLS + 48]; /* the same in decode_avx2.c */
  uint64_t beyond[1024 + 8]; /* a row below the block, of 32-bit or 64-bit samples */
  uint8_t vlc[CJ2K_HT_MAX_SCUP + CJ2K_HT_VLC_PAD];
  size_t vlc_bits;
  uint8_t magsgn[CJ2K_HT_MAGSGN_BYTES + CJ2K_HT_MAGSGN_PAD];
  uint8_t refine[CJ2K_HT_REFINE_BYTES + 64];
  uint16_t sigma[CJ2K_HT_MAX_GROUPS]; /* see stripes.h */
} Cj2kHtDecodeScratch;

/* The one HT set of a block that is decoded (T.814 B.1): the last one that has a cleanup pass. */
typedef struct {
  const uint8_t *cleanup;     /* NULL: only placeholder passes, all samples are zero */
  const uint8_t *refinement;  /* SigProp forwards from its start, MagRef backwards from its end */
  uint32_t cleanup_length;    /* Lcup */
  uint32_t refinement_length; /* Lref */
  uint32_t suffix_length;     /* Scup */
  uint8_t num_passes;         /* 1..3 */
  uint8_t plane;              /* p: the cleanup pass codes bit-planes down to this one */
  uint8_t max_exponent;       /* no sample may have a larger U_q */
} Cj2kHtSet;

/* Finds the HT set to decode and checks its lengths (T.814 B.3, 7.1.1). false: corrupt. */
bool cj2k_ht_find_set(const Cj2kBlockInput *in, Cj2kHtSet *set);

static inline uint32_t cj2k_ht_quad_cols(uint32_t width)
{
  return (width + 1) / 2;
}

static inline uint32_t cj2k_ht_quad_stride(uint32_t width)
{
  return (cj2k_ht_quad_cols(width) + 2 + 7) & ~7u;
}

/* Decodes the MEL and VLC segments into quad records, scratch->quads (T.814 7.3.3 to 7.3.6). false:
 * corrupt. */
bool cj2k_ht_decode_quads(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                          uint32_t height);

/* Destuffs the MagSgn segment into scratch->magsgn and appends ones for one row of quads. Returns
 * the number of bits of the segment. */
size_t cj2k_ht_load_magsgn(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t quad_cols);

/*
 * Decodes quad records and the MagSgn segment into samples (T.814 7.3.7, 7.3.8) with half units.
 * They are uint32_t or, when wide, uint64_t. false: corrupt.
 */
bool cj2k_ht_decode_magsgn(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                           uint32_t height, void *samples, size_t stride, bool wide);

#if defined(__x86_64__) && defined(__GNUC__)
#define CJ2K_HT_AVX2
/* Both steps with AVX2, for set->max_exponent up to this limit, since the bits of a sample are
 * taken from 4 bytes. */
#define CJ2K_HT_AVX2_MAX_EXPONENT 25
bool cj2k_ht_decode_cleanup_avx2(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, uint32_t width,
                                 uint32_t height, uint32_t *samples, size_t stride);
#endif

/* Decodes SigProp and, when set->num_passes is 3, MagRef (T.814 7.4, 7.5) and updates the samples
 * of the cleanup pass. */
void cj2k_ht_refine(Cj2kHtDecodeScratch *scratch, const Cj2kHtSet *set, const Cj2kBlockInput *in,
                    void *samples, size_t stride, bool wide);

#endif
