/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-up tables of the HT cleanup pass, computed once from the code tables of tables/ht_vlc.h
 * (T.814 annex C) and the u-VLC code (T.814 7.3.6, table 3). The struct is plain data: a GPU gets a
 * copy of it.
 */
#ifndef CJ2K_SHARED_HT_TABLES_H
#define CJ2K_SHARED_HT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A quad record: what MEL and VLC code about one quad. The entries of vlc[] have the same layout
 * with u = 0. Bits:
 *
 *   5..0    codeword length (only in vlc[])
 *   9..6    rho: significance of samples 0..3 (top left, bottom left, top right, bottom right)
 *   13..10  e_k: samples of which is known whether their exponent meets the bound
 *   17..14  e_1: samples whose exponent meets the bound
 *   18      u_off
 *   25..19  u, the unsigned residual
 *   31..29  contribution to the context of the right neighbour; >> 22 makes it a table index
 */
#define CJ2K_HT_RHO_SHIFT  6
#define CJ2K_HT_EK_SHIFT   10
#define CJ2K_HT_E1_SHIFT   14
#define CJ2K_HT_UOFF_SHIFT 18
#define CJ2K_HT_U_SHIFT    19
#define CJ2K_HT_CTX_SHIFT  22

/*
 * An entry of uvlc_first[] and uvlc_other[], for the next 10 bits of a quad pair. Bits:
 *
 *   5..0    number of bits used
 *   11..6   u of the second quad
 *   24..19  u of the first quad
 *
 * CJ2K_HT_UVLC_LONG: the code is longer than 10 bits.
 */
#define CJ2K_HT_UVLC_BITS     10
#define CJ2K_HT_UVLC_U1_SHIFT 6
#define CJ2K_HT_UVLC_LONG     0x80000000u

/* An entry of encode[]: codeword, its length, e_k. */
#define CJ2K_HT_ENC_CODEWORD(e) ((e)&127u)
#define CJ2K_HT_ENC_LENGTH(e)   (((e) >> 8) & 15u)
#define CJ2K_HT_ENC_EK(e)       ((e) >> 12)

#define CJ2K_HT_MAX_U 96 /* 5 + 31 + 4 * 15, the largest residual that has a code */

/* A code of up to 38 bits (the first bit of the stream is the lowest) and its length. */
#define CJ2K_HT_UVLC_CODE_BITS(e)   ((e)&UINT64_C(0xFFFFFFFFFF))
#define CJ2K_HT_UVLC_CODE_LENGTH(e) ((uint32_t)((e) >> 40))
#define CJ2K_HT_UVLC_PAIR           16 /* pairs of residuals below this have a table */

typedef struct {
  uint32_t vlc[2][8 << 7];                     /* [first row: 0][c_q << 7 | 7 bits]: quad records */
  uint32_t uvlc_first[5 << CJ2K_HT_UVLC_BITS]; /* [u_off of both | MEL event: 4][10 bits] */
  uint32_t uvlc_other[4 << CJ2K_HT_UVLC_BITS]; /* [u_off of both][10 bits] */
  uint16_t encode[2][8 << 8];                  /* [first row: 0][c_q << 8 | rho << 4 | eps] */
  uint64_t uvlc_pair[2][CJ2K_HT_UVLC_PAIR *
                        CJ2K_HT_UVLC_PAIR]; /* [first row: 0][u of first << 4 | u of second] */
} Cj2kHtTables;

/* The u-VLC code of the residuals u0 and u1 of a pair of quads (T.814 7.3.6); 0 means no residual.
 * first_row: the joint code, whose MEL event is min(u0, u1) > 2. */
uint64_t cj2k_ht_uvlc_code(uint32_t u0, uint32_t u1, bool first_row);

/* Reads the prefixes of a pair of quads (T.814 7.3.6, table 3) from the lowest bits. mode: u_off of
 * both as in uvlc_first; 4: both, and the MEL event is one. Returns their bits; base: the residuals
 * that they stand for; suffix_length: bits of the suffixes that follow, and are added. */
uint32_t cj2k_ht_uvlc_prefixes(uint32_t mode, uint32_t bits, bool first_row, uint32_t base[2],
                               uint32_t suffix_length[2]);

/* The tables. The first call computes them; thread-safe; they are never freed. */
const Cj2kHtTables *cj2k_ht_tables(void);

/* MEL run-length exponents (T.814 7.3.3, table 2). */
#define CJ2K_HT_MEL_STATES 13
extern const uint8_t cj2k_ht_mel_exponent[CJ2K_HT_MEL_STATES];

#endif
