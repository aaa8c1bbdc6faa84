/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "row.h"
#include "rows.h"

static const void *band_row(const Cj2kSamples *band, int64_t y)
{
  if (band->rect.x0 == band->rect.x1)
    return NULL;
  /* Row y of the image is row floor(y / 2) of its band, for either parity (B-15). */
  size_t row = (size_t)((y >> 1) - band->rect.y0);
  return (const char *)band->data + row * band->stride * 4;
}

/* Horizontal synthesis (F.3.4) of row y of the interleaved bands. */
static void fill_row(Cj2kIdwtRows *state, int64_t y)
{
  Cj2kDwtRows *rows = &state->rows;
  const Cj2kSamples *pair = &state->bands.band[y & 1 ? CJ2K_LH : CJ2K_LL];
  cj2k_dwt_row_synthesise(rows->reversible, rows->width, rows->odd_x, band_row(&pair[0], y),
                          band_row(&pair[1], y), cj2k_dwt_rows_at(rows, y), rows->temp);
}

/* The only row (F.3.6). */
static void finish_single(Cj2kDwtRows *rows)
{
  if (rows->reversible && (rows->row0 & 1)) {
    int32_t *row = (int32_t *)cj2k_dwt_rows_at(rows, rows->row0);
    for (uint32_t i = 0; i < rows->width; i++)
      row[i] >>= 1;
  }
  rows->lifted = rows->hi;
}

/* Feeds and lifts rows until row y is final. */
static void advance(Cj2kIdwtRows *state, int64_t y)
{
  Cj2kDwtRows *rows = &state->rows;
  while (rows->lifted <= y) {
    while (rows->next < rows->hi && rows->next <= rows->trigger)
      fill_row(state, rows->next++);
    if (cj2k_dwt_rows_is_single(rows))
      finish_single(rows);
    else
      cj2k_dwt_rows_lift(rows);
  }
}

void cj2k_idwt_rows_init(Cj2kIdwtRows *state, bool reversible, const Cj2kBands *bands,
                         const Cj2kRect *out, uint32_t row0, uint32_t row1, void *scratch)
{
  cj2k_dwt_rows_init(&state->rows, reversible, true, out, row0, row1, scratch);
  state->bands = *bands;
  state->plane = false;
}

void cj2k_idwt_rows_init_plane(Cj2kIdwtRows *state, bool reversible, const Cj2kSamples *plane,
                               uint32_t row0, uint32_t row1, void *scratch)
{
  cj2k_dwt_rows_init(&state->rows, reversible, true, &plane->rect, row0, row1, scratch);
  state->bands.band[CJ2K_LL] = *plane;
  state->plane = true;
}

void *cj2k_idwt_rows_next(Cj2kIdwtRows *state)
{
  Cj2kDwtRows *rows = &state->rows;
  int64_t y = rows->emitted++;
  if (state->plane) {
    const Cj2kSamples *plane = &state->bands.band[CJ2K_LL];
    const char *row = (const char *)plane->data + (size_t)(y - plane->rect.y0) * plane->stride * 4;
    return memcpy(rows->ring, row, (size_t)rows->width * 4);
  }
  advance(state, y);
  return cj2k_dwt_rows_at(rows, y);
}

void cj2k_idwt_level(bool reversible, const Cj2kBands *bands, const Cj2kSamples *out, uint32_t row0,
                     uint32_t row1, void *scratch)
{
  Cj2kIdwtRows state;
  if (row0 >= row1 || out->rect.x0 == out->rect.x1)
    return;
  cj2k_idwt_rows_init(&state, reversible, bands, &out->rect, row0, row1, scratch);
  state.rows.direct = (char *)out->data + (size_t)(row0 - out->rect.y0) * out->stride * 4;
  state.rows.direct_pitch = out->stride * 4;
  advance(&state, (int64_t)row1 - 1);
}
