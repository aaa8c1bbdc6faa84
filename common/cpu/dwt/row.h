/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The horizontal filter: one row between interleaved samples and its low-pass and high-pass halves.
 */
#ifndef CJ2K_CPU_DWT_ROW_H
#define CJ2K_CPU_DWT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of low-pass samples in a row of `width` samples whose first column has parity odd_x.
 */
static inline uint32_t cj2k_dwt_num_low(uint32_t width, uint32_t odd_x)
{
  return width / 2 + (width & 1 & ~odd_x);
}

/* Bytes of `temp` below, a multiple of 64. */
size_t cj2k_dwt_row_temp_size(uint32_t width);

/* 1D_SR (F.3.6): synthesises `width` samples at out from both halves. */
void cj2k_dwt_row_synthesise(bool reversible, uint32_t width, uint32_t odd_x, const void *low,
                             const void *high, void *out, void *temp);

/* 1D_SD (F.4.6): analyses `width` samples at in into both halves. */
void cj2k_dwt_row_analyse(bool reversible, uint32_t width, uint32_t odd_x, const void *in,
                          void *low, void *high, void *temp);

#endif
