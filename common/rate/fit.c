/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fit.h"

#include "headers.h"

#include <glib.h>

/* Numbers of layouts in a search. Up to FIT_ROUNDS it continues until less than 1/LEAST_ROOM of the
 * budget is unused, then, up to MOST_ROUNDS, until less than 1/MUCH_ROOM is. For HT blocks, of
 * whose planes few are measured, less than 1/HT_ROOM will do, so that the first layout mostly does.
 */
#define FIT_ROUNDS  8
#define MOST_ROUNDS 48
#define LEAST_ROOM  4096
#define HT_ROOM     2048
#define MUCH_ROOM   512
/* A budget of which so many bytes may be left is mostly used by the first layout. */
#define FIRST_ROOM 48
/* Layouts for the floor of a component, after one with which it fits. */
#define FLOOR_ROUNDS 16
/* Each round may make one more component exceed its ceiling. With layers the floor of one changes
 * the headers of others a little, for which a few rounds more leave room. */
#define MORE_ROUNDS 4
/* Iterations of the estimate of the bytes that are left for blocks. */
#define HEADER_ROUNDS 6
/* The first layout leaves so many bytes, and this part of the budget, but at most a third of what
 * may remain unused: the size of its headers is an estimate, and a layout that fits is mostly the
 * last.
 */
#define MARGIN_BYTES 64
#define MARGIN_PART  16384
/* Bytes added to blocks increase the headers by at most 1/HEADER_PART of that. */
#define HEADER_PART 32

/* A selection for a number of bytes, the bytes of its blocks, and the size of its codestream. */
typedef struct {
  uint64_t bytes, bodies, total;
  uint32_t slope; /* slope of the cut */
} Try;

static Cj2kStatus try_bytes(const Cj2kFitTask *task, const Cj2kHulls *hulls,
                            Cj2kSelection *selection, uint64_t bytes, Cj2kCodestreamSize *size,
                            Try *result)
{
  result->bytes = bytes;
  result->slope = cj2k_hulls_take(hulls, bytes, selection, &result->bodies);
  Cj2kStatus status = task->lay_out(task->ctx, selection, size);
  if (status == CJ2K_OK)
    result->total = size->total;
  return status;
}

static Cj2kStatus try_cut(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                          uint32_t slope, Cj2kCodestreamSize *size)
{
  cj2k_hulls_apply(hulls, slope, selection);
  return task->lay_out(task->ctx, selection, size);
}

/* --- the ceiling of the frame --- */

static uint64_t margin_of(uint64_t budget)
{
  return MIN(MARGIN_BYTES + budget / MARGIN_PART, budget / LEAST_ROOM / 3);
}

/* Bytes for blocks that leave room for headers: from the headers of another layout of this or an
 * earlier frame, of which a first cut follows, else from an estimate for the passes of the cut.
 * *header_bytes: of the other layout, 0: unknown; then those for which there is room. */
static uint64_t first_bytes(const Cj2kFitTask *task, const Cj2kHulls *hulls,
                            Cj2kSelection *selection, uint64_t *header_bytes)
{
  uint64_t budget = task->ceilings->frame, low = 0, high = budget - task->least_bytes;
  uint64_t margin = margin_of(budget);

  if (*header_bytes && task->count_headers) {
    uint64_t bodies;
    cj2k_hulls_take(hulls, budget - MIN(*header_bytes + margin, budget), selection, &bodies);
    *header_bytes = task->count_headers(task->ctx, selection);
  }
  if (*header_bytes)
    return budget - MIN(*header_bytes + margin, budget);
  for (uint32_t round = 0; round < HEADER_ROUNDS && low < high; round++) {
    uint64_t bytes = low + (high - low + 1) / 2, bodies;
    cj2k_hulls_take(hulls, bytes, selection, &bodies);
    uint64_t headers =
        cj2k_headers_estimate(task->least_bytes, task->ht ? NULL : selection->options,
                              selection->lengths, hulls->plan->num_blocks, 1)
            .expected;
    if (bodies + headers > budget) {
      high = bytes - 1;
    } else {
      low = bytes;
      high = MIN(high, budget - headers); /* more bytes never need smaller headers */
    }
  }
  *header_bytes = budget - low;
  return low;
}

/* Bytes for blocks in the next round, between `low`, which fit, and `high`, which do not. */
static uint64_t next_bytes(uint64_t budget, const Try *last, uint64_t low, uint64_t high)
{
  uint64_t bytes;

  if (last->total <= budget) { /* added bytes need headers, too */
    uint64_t room = budget - last->total;
    bytes = last->bodies + room - room / HEADER_PART;
  } else {
    uint64_t over = last->total - budget;
    over += over / HEADER_PART + 1;
    bytes = last->bodies > over ? last->bodies - over : 0;
  }
  if (bytes <= low || bytes >= high)
    bytes = low + (high - low) / 2;
  return bytes;
}

/* Bytes that may be unused after a round. */
static uint64_t room_after(const Cj2kFitTask *task, uint32_t round)
{
  uint64_t budget = task->ceilings->frame;
  return budget / (round >= FIT_ROUNDS ? MUCH_ROOM : task->ht ? HT_ROOM : LEAST_ROOM);
}

Cj2kStatus cj2k_fit_frame(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                          Cj2kFit *fit)
{
  uint64_t budget = task->ceilings->frame, low = 0, high = UINT64_MAX;
  Try best = {.slope = CJ2K_SLOPE_CLASSES - 1, .total = task->least_bytes}, last;
  bool is_best = false; /* the last try */
  Cj2kStatus status;

  fit->slope = fit->first_slope = 0;
  fit->first_header_bytes = fit->header_bytes;
  if (budget == UINT64_MAX)
    return try_cut(task, hulls, selection, 0, &fit->size);
  uint64_t bytes = first_bytes(task, hulls, selection, &fit->first_header_bytes);
  /* Each round uses the size of the headers in the round before, which changes little from cut to
   * cut. */
  for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
    if ((status = try_bytes(task, hulls, selection, bytes, &fit->size, &last)) != CJ2K_OK)
      return status;
    if (!round)
      fit->first_slope = last.slope;
    is_best = last.total <= budget && last.bodies >= best.bodies;
    if (is_best)
      best = last;
    if (last.total <= budget)
      low = MAX(low, bytes);
    else
      high = MIN(high, last.bodies);
    if (!best.slope || high <= low + 1 || budget - best.total <= room_after(task, round))
      break;
    bytes = next_bytes(budget, &last, low, high);
  }
  fit->header_bytes = best.total - best.bodies;
  status = is_best ? CJ2K_OK : try_bytes(task, hulls, selection, best.bytes, &fit->size, &best);
  fit->slope = best.slope;
  return status;
}

bool cj2k_fit_margin(const Cj2kFitTask *task, uint64_t *margin)
{
  uint64_t budget = task->ceilings->frame;

  *margin = margin_of(budget);
  return budget != UINT64_MAX && room_after(task, 0) >= FIRST_ROOM;
}

uint64_t cj2k_fit_least(const Cj2kFitTask *task)
{
  return task->ceilings->frame - room_after(task, 0);
}

bool cj2k_fit_first(const Cj2kFitTask *task, const Cj2kHulls *hulls, Cj2kSelection *selection,
                    Cj2kFit *fit, uint64_t *least)
{
  uint64_t margin, bytes, bodies;

  if (!cj2k_fit_margin(task, &margin))
    return false;
  *least = cj2k_fit_least(task);
  fit->first_header_bytes = fit->header_bytes;
  bytes = first_bytes(task, hulls, selection, &fit->first_header_bytes);
  fit->first_slope = cj2k_hulls_take(hulls, bytes, selection, &bodies);
  /* Of few blocks the passes may be too large for what is left: that is not enough for sure. */
  bool enough = !task->count_headers || bodies + fit->first_header_bytes >= *least;
  return enough && fit->first_slope > 0;
}

/* --- the ceilings of components --- */

/* A component above its ceiling, and two floors for it. */
typedef struct {
  const Cj2kFitTask *task;
  Cj2kHulls *hulls;
  Cj2kSelection *selection;
  Cj2kFit *fit;
  uint32_t c;
  uint32_t fails, fits; /* floors: with this one, and the lowest known with which it fits */
  uint64_t fails_size, fits_size; /* its bytes with each */
} Floors;

static bool floor_fits(const Floors *floors)
{
  return floors->fits_size <= floors->task->ceilings->component;
}

/* Cuts with a floor between the two, which replaces one of them. */
static Cj2kStatus try_floor(Floors *floors, uint32_t floor)
{
  const Cj2kCeilings *ceilings = floors->task->ceilings;
  Cj2kFit *fit = floors->fit;

  cj2k_hulls_set_floor(floors->hulls, floors->c, floor);
  Cj2kStatus status =
      try_cut(floors->task, floors->hulls, floors->selection, fit->slope, &fit->size);
  if (status != CJ2K_OK)
    return status;
  uint64_t size = cj2k_ceilings_counted(ceilings, &fit->size, floors->c);
  if (size <= ceilings->component) {
    floors->fits = floor;
    floors->fits_size = size;
  } else {
    floors->fails = floor;
    floors->fails_size = size;
  }
  return CJ2K_OK;
}

/* The lowest floor above the one that fails with which the component's blocks have at most
 * `bytes`; `fits` if there is none below that. */
static uint32_t floor_of_bytes(const Floors *floors, uint64_t bytes)
{
  uint32_t low = floors->fails, high = floors->fits;

  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (cj2k_hulls_component_bytes(floors->hulls, floors->c, middle) <= bytes)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Raises the floor until the component fits. Its blocks lose all bytes that are too many, although
 * its headers become smaller as well. */
static Cj2kStatus raise_floor(Floors *floors)
{
  const uint64_t ceiling = floors->task->ceilings->component;
  Cj2kStatus status = CJ2K_OK;

  floors->fits = CJ2K_SLOPE_CLASSES - 1;
  floors->fits_size = UINT64_MAX;
  for (uint64_t slack = 0;
       status == CJ2K_OK && !floor_fits(floors) && floors->fails < CJ2K_SLOPE_CLASSES - 1;
       slack = slack * 2 + 1) {
    uint64_t bodies = cj2k_hulls_component_bytes(floors->hulls, floors->c, floors->fails),
             less = floors->fails_size - ceiling + slack;
    status = try_floor(floors, floor_of_bytes(floors, bodies > less ? bodies - less : 0));
  }
  return status;
}

/* The next floor to try between the two, in turn where a line through both sizes meets the ceiling
 * and in the middle; `fits` if no option's slope lies between them. */
static uint32_t next_floor(const Floors *floors, uint32_t round)
{
  uint64_t least = cj2k_hulls_component_bytes(floors->hulls, floors->c, floors->fits),
           most = cj2k_hulls_component_bytes(floors->hulls, floors->c, floors->fails);
  double part = round % 2 ? 0.5
                          : (double)(floors->task->ceilings->component - floors->fits_size) /
                                (double)(floors->fails_size - floors->fits_size);

  if (most <= least)
    return floors->fits;
  uint32_t floor = floor_of_bytes(floors, least + (uint64_t)(part * (double)(most - least)));
  return floor < floors->fits ? floor : floor_of_bytes(floors, most - 1);
}

/* Lowers a floor that went too far. */
static Cj2kStatus lower_floor(Floors *floors)
{
  const uint64_t ceiling = floors->task->ceilings->component;
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t round = 0; round < FLOOR_ROUNDS && status == CJ2K_OK &&
                           ceiling - floors->fits_size > ceiling / MUCH_ROOM;
       round++) {
    cj2k_hulls_set_floor(floors->hulls, floors->c, floors->fails); /* has all options above it */
    uint32_t floor = next_floor(floors, round);
    if (floor == floors->fits)
      break;
    status = try_floor(floors, floor);
  }
  return status != CJ2K_OK || floors->hulls->floors[floors->c] == floors->fits
             ? status
             : try_floor(floors, floors->fits);
}

/* Raises the slope that component c's options must exceed until the component is within its
 * ceiling. `exact`: but not much more than that needs. */
static Cj2kStatus set_floor(const Cj2kFitTask *task, Cj2kHulls *hulls, Cj2kSelection *selection,
                            uint32_t c, bool exact, Cj2kFit *fit)
{
  /* Options of the cut's own class, which only fill it up, may be what is too much. */
  Floors floors = {.task = task,
                   .hulls = hulls,
                   .selection = selection,
                   .fit = fit,
                   .c = c,
                   .fails = MAX(MAX(fit->slope, 1) - 1, hulls->floors[c]),
                   .fails_size = cj2k_ceilings_counted(task->ceilings, &fit->size, c)};
  Cj2kStatus status = raise_floor(&floors);

  return status == CJ2K_OK && exact && floor_fits(&floors) ? lower_floor(&floors) : status;
}

Cj2kStatus cj2k_fit_components(const Cj2kFitTask *task, Cj2kHulls *hulls, Cj2kSelection *selection,
                               Cj2kFit *fit, Cj2kError *error)
{
  const Cj2kCeilings *ceilings = task->ceilings;
  uint32_t n = ceilings->num_components;
  Cj2kStatus status = CJ2K_OK;

  for (uint32_t round = 0; round < n + MORE_ROUNDS && !cj2k_ceilings_fit(ceilings, &fit->size);
       round++) {
    for (uint32_t c = 0; c < n && status == CJ2K_OK; c++)
      if (cj2k_ceilings_counted(ceilings, &fit->size, c) > ceilings->component)
        status = set_floor(task, hulls, selection, c, round < n, fit);
    if (status == CJ2K_OK) /* other components may use the bytes that were freed */
      status = cj2k_fit_frame(task, hulls, selection, fit);
    if (status != CJ2K_OK)
      return status;
  }
  if (fit->size.total > ceilings->frame)
    return cj2k_ceilings_refuse_frame(ceilings, fit->size.total, error);
  uint32_t c = cj2k_ceilings_first_above(ceilings, &fit->size);
  if (c < n)
    return cj2k_ceilings_refuse_component(ceilings, c,
                                          cj2k_ceilings_counted(ceilings, &fit->size, c), error);
  return CJ2K_OK;
}
