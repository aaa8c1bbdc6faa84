/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The vertical filter as a pipeline (T.800 F.3.5, F.4.5). Rows come in one after the other; the
 * lifting steps follow a few rows behind, on whole rows that are still in the cache.
 */
#ifndef CJ2K_CPU_DWT_ROWS_H
#define CJ2K_CPU_DWT_ROWS_H

#include "transform.h"

void cj2k_dwt_rows_init(Cj2kDwtRows *rows, bool reversible, bool inverse, const Cj2kRect *image,
                        uint32_t row0, uint32_t row1, void *scratch);

/* Whether there is only one row. The vertical filter then copies it; 5/3 doubles or halves it at an
 * odd position. */
bool cj2k_dwt_rows_is_single(const Cj2kDwtRows *rows);

/* The place of row y from its first lifting step on; without `source` it is filled there, too. */
char *cj2k_dwt_rows_at(const Cj2kDwtRows *rows, int64_t y);

/* Does the next round of lifting steps; to be called while cj2k_dwt_rows_due(). */
void cj2k_dwt_rows_lift(Cj2kDwtRows *rows);

static inline bool cj2k_dwt_rows_due(const Cj2kDwtRows *rows)
{
  return rows->lifted < rows->hi && (rows->next > rows->trigger || rows->next == rows->hi);
}

#endif
