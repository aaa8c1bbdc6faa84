/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The vertical filter as a pipeline (T.800 F.3.5, F.4.5): rows come in one after the other, all
 * lifting steps follow a few rows behind, over whole rows that are still in cache.
 */
#ifndef CJ2K_CPU_DWT_ROWS_H
#define CJ2K_CPU_DWT_ROWS_H

#include "transform.h"

void cj2k_dwt_rows_init(Cj2kDwtRows *rows, bool reversible, bool inverse, const Cj2kRect *image,
                        uint32_t row0, uint32_t row1, void *scratch);

/* One row in all: the vertical filter is a copy, doubled or halved by 5/3 at odd positions. */
bool cj2k_dwt_rows_is_single(const Cj2kDwtRows *rows);

/* Where row y lies once it was lifted, and where it is to be filled (without `source`). */
char *cj2k_dwt_rows_at(const Cj2kDwtRows *rows, int64_t y);

/* To be called while rows->next > rows->trigger or rows->next == rows->hi: does the round of
 * lifting steps that is due. */
void cj2k_dwt_rows_lift(Cj2kDwtRows *rows);

static inline bool cj2k_dwt_rows_due(const Cj2kDwtRows *rows)
{
  return rows->lifted < rows->hi && (rows->next > rows->trigger || rows->next == rows->hi);
}

#endif
