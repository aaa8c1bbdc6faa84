/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Context labels of the coding passes (T.800 tables D.1, D.3, D.4, D.7). They are written as the
 * standard's rules; the compiler folds them to constant tables. Data only, the same for gcc and
 * nvcc.
 *
 * The neighbourhood of a sample is a 9-bit window, rows from the top, left to right:
 *
 *     0 1 2        NW N NE
 *     3 4 5   =    W  .  E
 *     6 7 8        SW S SE
 */
#ifndef CJ2K_SHARED_TABLES_MQ_CONTEXTS_H
#define CJ2K_SHARED_TABLES_MQ_CONTEXTS_H

enum {
  CJ2K_CX_ZERO = 0, /* zero coding, 9 labels */
  CJ2K_CX_SIGN = 9, /* sign coding, 5 labels */
  CJ2K_CX_MAG = 14, /* magnitude refinement, 3 labels */
  CJ2K_CX_RUN = 17, /* run-length */
  CJ2K_CX_UNI = 18, /* UNIFORM */
  CJ2K_CX_COUNT = 19,
};

#define CJ2K_CX_BIT(w, n) (((w) >> (n)) & 1)
#define CJ2K_CX_H(w)      (CJ2K_CX_BIT(w, 3) + CJ2K_CX_BIT(w, 5))
#define CJ2K_CX_V(w)      (CJ2K_CX_BIT(w, 1) + CJ2K_CX_BIT(w, 7))
#define CJ2K_CX_D(w)      (CJ2K_CX_BIT(w, 0) + CJ2K_CX_BIT(w, 2) + CJ2K_CX_BIT(w, 6) + CJ2K_CX_BIT(w, 8))

/* Table D.1: h and v change places between LL, LH and HL; HH counts the diagonals first. */
#define CJ2K_CX_ZERO_HV(h, v, d)                                                                   \
  ((h) == 2   ? 8                                                                                  \
   : (h) == 1 ? ((v) >= 1   ? 7                                                                    \
                 : (d) >= 1 ? 6                                                                    \
                            : 5)                                                                   \
   : (v) == 2 ? 4                                                                                  \
   : (v) == 1 ? 3                                                                                  \
   : (d) >= 2 ? 2                                                                                  \
              : (d))
#define CJ2K_CX_ZERO_DIAGONAL(hv, d)                                                               \
  ((d) >= 3    ? 8                                                                                 \
   : (d) == 2  ? ((hv) >= 1 ? 7 : 6)                                                               \
   : (d) == 1  ? ((hv) >= 2   ? 5                                                                  \
                  : (hv) == 1 ? 4                                                                  \
                              : 3)                                                                 \
   : (hv) >= 2 ? 2                                                                                 \
               : (hv))
#define CJ2K_CX_ZERO_LH(w) CJ2K_CX_ZERO_HV(CJ2K_CX_H(w), CJ2K_CX_V(w), CJ2K_CX_D(w))
#define CJ2K_CX_ZERO_HL(w) CJ2K_CX_ZERO_HV(CJ2K_CX_V(w), CJ2K_CX_H(w), CJ2K_CX_D(w))
#define CJ2K_CX_ZERO_HH(w) CJ2K_CX_ZERO_DIAGONAL(CJ2K_CX_H(w) + CJ2K_CX_V(w), CJ2K_CX_D(w))

/*
 * Sign coding. The index has the significance of N W E S in bits 1 3 5 7, as the window has them,
 * and whether each is negative in the bit below. Tables D.2, D.3: a contribution is the sum of the
 * two neighbours' signs, limited to -1..1. The label is in bits 3..0, the XOR bit in bit 7.
 */
#define CJ2K_CX_SIGN_OF(i, n) (CJ2K_CX_BIT(i, n) * (1 - 2 * CJ2K_CX_BIT(i, (n)-1)))
#define CJ2K_CX_LIMIT(s)      ((s) > 0 ? 1 : (s) < 0 ? -1 : 0)
#define CJ2K_CX_SIGN_H(i)     CJ2K_CX_LIMIT(CJ2K_CX_SIGN_OF(i, 3) + CJ2K_CX_SIGN_OF(i, 5))
#define CJ2K_CX_SIGN_V(i)     CJ2K_CX_LIMIT(CJ2K_CX_SIGN_OF(i, 1) + CJ2K_CX_SIGN_OF(i, 7))
#define CJ2K_CX_SIGN_HV(h, v)                                                                      \
  (((h) < 0 || ((h) == 0 && (v) < 0) ? 0x80 : 0) |                                                 \
   (CJ2K_CX_SIGN + ((h) == 0 ? ((v) != 0 ? 1 : 0) : 3 + (h) * (v))))
#define CJ2K_CX_SIGN_ENTRY(i) CJ2K_CX_SIGN_HV(CJ2K_CX_SIGN_H(i), CJ2K_CX_SIGN_V(i))

/* 256 and 512 entries X (0), X (1) ... of a table. */
#define CJ2K_TABLE_4(X, i) X(i), X((i) + 1), X((i) + 2), X((i) + 3)
#define CJ2K_TABLE_16(X, i)                                                                        \
  CJ2K_TABLE_4(X, i), CJ2K_TABLE_4(X, (i) + 4), CJ2K_TABLE_4(X, (i) + 8), CJ2K_TABLE_4(X, (i) + 12)
#define CJ2K_TABLE_64(X, i)                                                                        \
  CJ2K_TABLE_16(X, i), CJ2K_TABLE_16(X, (i) + 16), CJ2K_TABLE_16(X, (i) + 32),                     \
      CJ2K_TABLE_16(X, (i) + 48)
#define CJ2K_TABLE_256(X, i)                                                                       \
  CJ2K_TABLE_64(X, i), CJ2K_TABLE_64(X, (i) + 64), CJ2K_TABLE_64(X, (i) + 128),                    \
      CJ2K_TABLE_64(X, (i) + 192)
#define CJ2K_TABLE_512(X) CJ2K_TABLE_256(X, 0), CJ2K_TABLE_256(X, 256)

#endif
