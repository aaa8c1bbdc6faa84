/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-up tables of the HT cleanup pass, made once from the code tables of tables/ht_vlc.h (T.814
 * annex C) and the u-VLC code (T.814 7.3.6, table 3). Plain data: a GPU gets a copy of the whole
 * struct.
 */
#ifndef CJ2K_CPU_HT_TABLES_H
#define CJ2K_CPU_HT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A quad record: what MEL and VLC say about one quad. The entries of vlc[] have the same layout
 * with u = 0. 5..0    codeword length (only in vlc[]) 9..6    rho, significance of samples 0..3
 * (top left, bottom left, top right, bottom right) 13..10  e_k, samples whose exponent bound is
 * known to be met or not met 17..14  e_1, those that meet it 18      u_off 25..19  u, the unsigned
 * residual 31..29  what the quad adds to the context of its right neighbour, as a table index after
 * >> 22
 */
#define CJ2K_HT_RHO_SHIFT  6
#define CJ2K_HT_EK_SHIFT   10
#define CJ2K_HT_E1_SHIFT   14
#define CJ2K_HT_UOFF_SHIFT 18
#define CJ2K_HT_U_SHIFT    19
#define CJ2K_HT_CTX_SHIFT  22

/*
 * An entry of uvlc_first[] and uvlc_other[], for the 10 next bits of a quad pair:
 *   5..0 bits used; 11..6 u of the second quad; 24..19 u of the first; CJ2K_HT_UVLC_LONG: the code
 * is longer.
 */
#define CJ2K_HT_UVLC_BITS     10
#define CJ2K_HT_UVLC_U1_SHIFT 6
#define CJ2K_HT_UVLC_LONG     0x80000000u

/* An entry of encode[]: codeword, its length, e_k. */
#define CJ2K_HT_ENC_CODEWORD(e) ((e)&127u)
#define CJ2K_HT_ENC_LENGTH(e)   (((e) >> 8) & 15u)
#define CJ2K_HT_ENC_EK(e)       ((e) >> 12)

#define CJ2K_HT_MAX_U 96 /* 5 + 31 + 4 * 15, the largest residual that has a code */

/* A code of up to 38 bits, first bit of the stream lowest, and its length. */
#define CJ2K_HT_UVLC_CODE_BITS(e)   ((e)&UINT64_C(0xFFFFFFFFFF))
#define CJ2K_HT_UVLC_CODE_LENGTH(e) ((uint32_t)((e) >> 40))
#define CJ2K_HT_UVLC_PAIR           16 /* residuals below this have the code of their pair in a table */

typedef struct {
  uint32_t vlc[2][8 << 7];                     /* [first row: 0][c_q << 7 | 7 bits]: quad records */
  uint32_t uvlc_first[5 << CJ2K_HT_UVLC_BITS]; /* [u_off of both | MEL event: 4][10 bits] */
  uint32_t uvlc_other[4 << CJ2K_HT_UVLC_BITS]; /* [u_off of both][10 bits] */
  uint16_t encode[2][8 << 8];                  /* [first row: 0][c_q << 8 | rho << 4 | eps] */
  uint64_t uvlc_pair[2][CJ2K_HT_UVLC_PAIR *
                        CJ2K_HT_UVLC_PAIR]; /* [first row: 0][u of first << 4 | u of second] */
} Cj2kHtTables;

/* The u-VLC code of a pair of quads (T.814 7.3.6), 0 for a quad without a residual. first_row: with
 * the joint code; its MEL event is min (u0, u1) > 2. */
uint64_t cj2k_ht_uvlc_code(uint32_t u0, uint32_t u1, bool first_row);

/* The tables; made at the first call, thread-safe, never freed. */
const Cj2kHtTables *cj2k_ht_tables(void);

/* MEL run-length exponents (T.814 7.3.3, table 2). */
#define CJ2K_HT_MEL_STATES 13
extern const uint8_t cj2k_ht_mel_exponent[CJ2K_HT_MEL_STATES];

#endif
