/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows.h"

#include <string.h>

#include "lift.h"
#include "row.h"

/* The fused steps reach from row p to row p - 5, and a row that was returned must stay until the
 * next two rows come in. */
#define RING_ROWS 6

static size_t ring_pitch(uint32_t width)
{
  /* An odd number of cache lines: with a power of two all rows would share the same cache sets. */
  return ((size_t)width * 4 + 63) / 64 * 64 | 64;
}

size_t cj2k_dwt_scratch_size(uint32_t width)
{
  return RING_ROWS * ring_pitch(width) + cj2k_dwt_row_temp_size(width);
}

/* How far from row y the rows lie on which it depends: as many steps, but for rows that the last
 * step does not change. */
static int64_t reach(bool reversible, bool inverse, int64_t y)
{
  const Cj2kLift *lift = cj2k_lift_get(reversible, inverse);
  bool in_last_step = (y & 1) != lift->first_parity; /* an even number of steps, which alternate */
  return in_last_step ? lift->num_steps : lift->num_steps - 1;
}

void cj2k_dwt_rows_init(Cj2kDwtRows *rows, bool reversible, bool inverse, const Cj2kRect *image,
                        uint32_t row0, uint32_t row1, void *scratch)
{
  int64_t y0 = image->y0, y1 = image->y1;
  memset(rows, 0, sizeof *rows);
  rows->reversible = reversible;
  rows->inverse = inverse;
  rows->width = image->x1 - image->x0;
  rows->odd_x = image->x0 & 1;
  rows->row0 = row0;
  rows->row1 = row1;
  if (row0 < row1) {
    int64_t above = rows->row0 - reach(reversible, inverse, rows->row0);
    int64_t below = rows->row1 + reach(reversible, inverse, rows->row1 - 1);
    rows->lo = above > y0 ? above : y0;
    rows->hi = below < y1 ? below : y1;
  }
  rows->next = rows->lifted = rows->lo;
  /* The first step can change a row when the row below it is there. */
  int parity = !cj2k_lift_get(reversible, inverse)->first_parity;
  rows->trigger = rows->lo + ((rows->lo & 1) != parity);
  rows->emitted = row0;
  rows->ring = scratch;
  rows->ring_pitch = ring_pitch(rows->width);
  rows->temp = rows->ring + RING_ROWS * rows->ring_pitch;
}

bool cj2k_dwt_rows_is_single(const Cj2kDwtRows *rows)
{
  /* A halo of at least one row exists wherever the image has more than one. */
  return rows->hi - rows->lo == 1;
}

char *cj2k_dwt_rows_at(const Cj2kDwtRows *rows, int64_t y)
{
  if (rows->direct && y >= rows->row0 && y < rows->row1)
    return rows->direct + (size_t)(y - rows->row0) * rows->direct_pitch;
  return rows->ring + (size_t)(y % RING_ROWS) * rows->ring_pitch;
}

/* Row y before its first step. */
static const char *raw_at(const Cj2kDwtRows *rows, int64_t y)
{
  if (rows->source)
    return rows->source + (size_t)(y - rows->lo) * rows->source_pitch;
  return cj2k_dwt_rows_at(rows, y);
}

/* Step `step` on row t, with neighbours mirrored at lo and hi. At an end of the image that is the
 * symmetric extension (F.3.7); elsewhere it affects only rows of the halo on which no requested row
 * depends. */
static void lift_row(const Cj2kDwtRows *rows, const Cj2kLift *lift, unsigned step, int64_t t)
{
  int64_t above = t - 1 < rows->lo ? t + 1 : t - 1;
  int64_t below = t + 1 >= rows->hi ? t - 1 : t + 1;
  const void *src = step < 2 ? raw_at(rows, t) : cj2k_dwt_rows_at(rows, t);
  const void *a = step == 0 ? raw_at(rows, above) : cj2k_dwt_rows_at(rows, above);
  const void *b = step == 0 ? raw_at(rows, below) : cj2k_dwt_rows_at(rows, below);
  cj2k_lift_step(lift, step, cj2k_dwt_rows_at(rows, t), src, a, b, rows->width);
}

void cj2k_dwt_rows_lift(Cj2kDwtRows *rows)
{
  const Cj2kLift *lift = cj2k_lift_get(rows->reversible, rows->inverse);
  int64_t p = rows->trigger;
  if (p - lift->num_steps - 1 >= rows->lo && p < rows->hi) {
    const void *raw[3];
    void *row[6] = {NULL};
    for (int k = 0; k < 3; k++)
      raw[k] = raw_at(rows, p - k);
    for (int k = 1; k <= lift->num_steps + 1; k++)
      row[k] = cj2k_dwt_rows_at(rows, p - k);
    cj2k_lift_rows(lift, raw, row, rows->width);
  } else {
    for (int k = 0; k < lift->num_steps; k++) {
      int64_t t = p - 1 - k;
      if (t >= rows->lo && t < rows->hi)
        lift_row(rows, lift, (unsigned)k, t);
    }
  }
  rows->lifted = p - lift->num_steps + 1;
  rows->trigger += 2;
}
