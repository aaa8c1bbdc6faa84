/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "row.h"
#include "rows.h"

static char *band_row(const Cj2kSamples *band, int64_t y)
{
  if (band->rect.x0 == band->rect.x1)
    return NULL;
  /* Row y of the image goes to row floor(y / 2) of its band, for either parity (B-15). */
  size_t row = (size_t)((y >> 1) - band->rect.y0);
  return (char *)band->data + row * band->stride * 4;
}

/* Horizontal analysis (F.4.4) of row y, which is final, into its bands. */
static void store_row(Cj2kFdwtRows *state, int64_t y, const void *row)
{
  Cj2kDwtRows *rows = &state->rows;
  unsigned first = y & 1 ? CJ2K_LH : CJ2K_LL;
  uint32_t n[2] = {cj2k_dwt_num_low(rows->width, rows->odd_x), 0};
  n[1] = rows->width - n[0];
  void *half[2];
  for (unsigned i = 0; i < 2; i++)
    half[i] = band_row(&state->bands.band[first + i], y);
  cj2k_dwt_row_analyse(rows->reversible, rows->width, rows->odd_x, row, half[0], half[1],
                       rows->temp);
  for (unsigned i = 0; i < 2; i++) {
    bool quantise = first + i == CJ2K_LL ? state->quantiser.low : state->quantiser.high;
    if (quantise && n[i])
      cj2k_quantise(half[i], 0, n[i], 1, rows->reversible, state->quantiser.inv_scale[first + i],
                    half[i], 0);
  }
}

/* The only row (F.4.6). */
static void store_single(Cj2kFdwtRows *state, const void *in)
{
  Cj2kDwtRows *rows = &state->rows;
  char *row = cj2k_dwt_rows_at(rows, rows->row0);
  if (row != in)
    memcpy(row, in, (size_t)rows->width * 4);
  if (rows->reversible && (rows->row0 & 1)) {
    uint32_t *samples = (uint32_t *)row;
    for (uint32_t i = 0; i < rows->width; i++)
      samples[i] <<= 1;
  }
  store_row(state, rows->row0, row);
}

/* Lifts and stores as many rows as the rows so far, those below rows->next, allow. */
static void advance(Cj2kFdwtRows *state)
{
  Cj2kDwtRows *rows = &state->rows;
  while (cj2k_dwt_rows_due(rows)) {
    cj2k_dwt_rows_lift(rows);
    int64_t end = rows->lifted < rows->row1 ? rows->lifted : rows->row1;
    for (; rows->emitted < end; rows->emitted++)
      store_row(state, rows->emitted, cj2k_dwt_rows_at(rows, rows->emitted));
  }
}

static void set_quantiser(Cj2kFdwtRows *state, const Cj2kBandQuantiser *quantiser)
{
  static const Cj2kBandQuantiser none;
  state->quantiser = quantiser ? *quantiser : none;
}

void cj2k_fdwt_rows_init(Cj2kFdwtRows *state, bool reversible, const Cj2kRect *in,
                         const Cj2kBands *bands, const Cj2kBandQuantiser *quantiser, uint32_t row0,
                         uint32_t row1, void *scratch, uint32_t *first_row, uint32_t *end_row)
{
  cj2k_dwt_rows_init(&state->rows, reversible, false, in, row0, row1, scratch);
  state->bands = *bands;
  state->plane = false;
  set_quantiser(state, quantiser);
  *first_row = (uint32_t)state->rows.lo;
  *end_row = (uint32_t)state->rows.hi;
}

void cj2k_fdwt_rows_init_plane(Cj2kFdwtRows *state, bool reversible, const Cj2kSamples *plane,
                               const Cj2kBandQuantiser *quantiser, uint32_t row0, uint32_t row1,
                               void *scratch, uint32_t *first_row, uint32_t *end_row)
{
  cj2k_dwt_rows_init(&state->rows, reversible, false, &plane->rect, row0, row1, scratch);
  state->bands.band[CJ2K_LL] = *plane;
  state->plane = true;
  set_quantiser(state, quantiser);
  state->rows.next = row0;
  *first_row = row0;
  *end_row = row1;
}

/* The place of row y of a plane. */
static char *plane_row(const Cj2kSamples *plane, int64_t y)
{
  return (char *)plane->data + (size_t)(y - plane->rect.y0) * plane->stride * 4;
}

void *cj2k_fdwt_rows_slot(Cj2kFdwtRows *state)
{
  if (state->plane)
    return plane_row(&state->bands.band[CJ2K_LL], state->rows.next);
  return cj2k_dwt_rows_at(&state->rows, state->rows.next);
}

void cj2k_fdwt_rows_push(Cj2kFdwtRows *state)
{
  Cj2kDwtRows *rows = &state->rows;
  int64_t y = rows->next++;
  if (state->plane) {
    char *row = plane_row(&state->bands.band[CJ2K_LL], y);
    if (state->quantiser.low)
      cj2k_quantise(row, 0, rows->width, 1, rows->reversible, state->quantiser.inv_scale[CJ2K_LL],
                    (uint32_t *)row, 0);
  } else if (cj2k_dwt_rows_is_single(rows)) {
    store_single(state, cj2k_dwt_rows_at(rows, y));
  } else {
    advance(state);
  }
}

void cj2k_fdwt_level(bool reversible, const Cj2kSamples *in, const Cj2kBands *bands,
                     const Cj2kBandQuantiser *quantiser, uint32_t row0, uint32_t row1,
                     void *scratch)
{
  Cj2kFdwtRows state;
  uint32_t first, end;
  if (row0 >= row1 || in->rect.x0 == in->rect.x1)
    return;
  cj2k_fdwt_rows_init(&state, reversible, &in->rect, bands, quantiser, row0, row1, scratch, &first,
                      &end);
  Cj2kDwtRows *rows = &state.rows;
  const char *source = (const char *)in->data + (size_t)(first - in->rect.y0) * in->stride * 4;
  if (cj2k_dwt_rows_is_single(rows)) {
    store_single(&state, source);
    return;
  }
  rows->source = source;
  rows->source_pitch = in->stride * 4;
  /* Round by round, since the ring holds only the rows that one round needs. */
  while (rows->next < rows->hi) {
    rows->next = rows->trigger + 1 < rows->hi ? rows->trigger + 1 : rows->hi;
    advance(&state);
  }
}
