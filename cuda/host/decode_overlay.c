/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pictures that lie over coefficients. With several frames in flight a picture that is downloaded
 * needs no memory of its own, or little: when the last level begins, the bands and images of all
 * levels before it are free, and the last level frees what it reads, from the top. So it is made in
 * slices of rows, one after the other, each of which is stored where nothing is read any more:
 *
 *   slice 0                 over the bands of the levels before
 *   slice 1                 over the images of these, and the rows of the last of them that slice 0
 *                           has read
 *   slices 2, 3, ...        over rows of the bands of the last level, and of that image, that the
 *                           slices before have read
 *
 * Then all of it is downloaded. Planes whose samples are packed come when the last level is
 * complete, so that they may lie anywhere. Of several tiles those that are complete leave all that
 * they had. What has no other place, because pitches are large, tiles are high, or planes hold
 * several components, has memory of the slot's own.
 */
#include "decode.h"

/* A small picture has memory of its own, because that is little. A larger one, up to LARGE_BYTES,
 * has memory of its own with few frames in flight: each slice costs some microseconds, which the
 * bus hides only if frames are many or large. In slices pictures of 5 and 12 MB had 13 % fewer
 * frames a second with two in flight, and 2 % more with 16. */
#define LEAST_BYTES ((uint64_t)4 << 20)
#define LARGE_BYTES ((uint64_t)16 << 20)
#define MANY_FRAMES 7

/* The last level makes a pair of rows from rows of the bands up to three before its own. */
#define ROWS_BEFORE 4

/* Rows above the end of each slice, in 64ths of the picture. With 16-bit words and coefficients
 * these slices, and no fewer, find all their places over coefficients. */
static const uint8_t ends[CJ2K_CUDA_OVERLAY_SLICES] = {16, 34, 43, 53, 64};
/* A picture with planes that are packed is made at once. */
static const uint8_t whole[] = {64};

/* Components of which areas are used, one for the images and three for bands. */
#define MOST_COMPONENTS 4
#define MOST_AREAS      (1 + 4 * MOST_COMPONENTS)

/* Memory that becomes free: `before` bytes before the last level, then row after row of a band or
 * an image with which a component is made, or tile after tile. */
typedef struct {
  uint8_t *data;
  size_t before, used;
  size_t row;                 /* bytes; 0: there are none */
  const Cj2kPlanTileComp *of; /* of the rows */
  /* Bytes of all tiles before this one; NULL: there are none. */
  size_t (*of_tiles)(const Cj2kDecodeSlot *slot, uint32_t tile);
} Area;

typedef struct {
  Area areas[MOST_AREAS];
  uint32_t count;
  uint8_t *own;
  size_t own_used;
} Places;

/* ------------------------------------------------------------------------------- areas --- */

static void add_area(Places *places, Area area)
{
  if (area.before || area.row || area.of_tiles)
    places->areas[places->count++] = area;
}

/* The images of a component follow each other; the last level reads the last one. */
static void add_images(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, Places *places)
{
  const Cj2kPlanResolution *resolutions = &slot->tables.plan->resolutions[tc->first_resolution];
  uint32_t last = tc->reduced_levels - 1;

  if (tc->reduced_levels < 2)
    return;
  add_area(places, (Area){.data = (uint8_t *)slot->tables.lowpass.data + resolutions[1].offset * 4,
                          .before = (resolutions[last].offset - resolutions[1].offset) * 4,
                          .row = (size_t)resolutions[last].stride * 4,
                          .of = tc});
}

static void add_bands(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, Places *places)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t first = plan->resolutions[tc->first_resolution + tc->reduced_levels].first_band;

  if (!tc->reduced_levels)
    return;
  for (uint32_t b = first; b < first + 3; b++) {
    const Cj2kCudaBandPlace *place = &slot->tables.places[b];
    if (place->offset != UINT64_MAX)
      add_area(places, (Area){.data = (uint8_t *)slot->tables.coefficients.data + place->offset,
                              .row = (size_t)plan->bands[b].stride * (place->narrow ? 2 : 4),
                              .of = tc});
  }
}

/* Memory of images and of bands of the last level follows tile after tile. */
static size_t images_before(const Cj2kDecodeSlot *slot, uint32_t tile)
{
  const Cj2kPlan *plan = slot->tables.plan;

  for (uint32_t i = plan->tiles[tile].first_tile_comp; i < plan->num_tile_comps; i++)
    if (plan->tile_comps[i].reduced_levels >= 2)
      return plan->resolutions[plan->tile_comps[i].first_resolution + 1].offset * 4;
  return plan->num_lowpass * 4;
}

static size_t bands_before(const Cj2kDecodeSlot *slot, uint32_t tile)
{
  const Cj2kPlan *plan = slot->tables.plan;
  const Cj2kPlanTileComp *tc = &plan->tile_comps[plan->tiles[tile].first_tile_comp];
  uint32_t first = tc->reduced_levels > 1 ? tc->reduced_levels : 0;

  return slot->tables.places[plan->resolutions[tc->first_resolution + first].first_band].offset -
         slot->tables.early;
}

static bool is_stored_in(const Cj2kDecodeSlot *slot, uint32_t c, uint32_t p)
{
  return c < cj2k_cuda_decode_num_put_out(slot) && slot->output.layout.samples[c].plane == p;
}

/* Are there planes that are packed? */
static bool has_packed(const Cj2kDecodeSlot *slot)
{
  for (uint32_t i = 0; i < slot->output.packs->len; i++)
    if (g_array_index(slot->output.packs, Cj2kCudaPack, i).count)
      return true;
  return false;
}

/* For planes that are packed all is free. */
static void list_areas(const Cj2kDecodeSlot *slot, Places *places)
{
  const Cj2kCudaDecodeTables *tables = &slot->tables;
  const Cj2kPlan *plan = tables->plan;

  if (has_packed(slot)) {
    add_area(places,
             (Area){.data = tables->coefficients.data, .before = tables->coefficients.size});
    add_area(places, (Area){.data = tables->lowpass.data, .before = tables->lowpass.size});
    return;
  }
  add_area(places, (Area){.data = tables->coefficients.data, .before = tables->early});
  if (plan->num_tiles > 1) {
    uint8_t *bands = (uint8_t *)tables->coefficients.data + tables->early;
    if (plan->num_lowpass)
      add_area(places, (Area){.data = tables->lowpass.data, .of_tiles = images_before});
    add_area(places, (Area){.data = bands, .of_tiles = bands_before});
    return;
  }
  for (uint32_t c = 0; c < MIN(plan->num_components, MOST_COMPONENTS); c++) {
    add_images(slot, &plan->tile_comps[c], places);
    add_bands(slot, &plan->tile_comps[c], places);
  }
}

/* Rows of its bands that a component does not need any more when slice k is made. */
static uint32_t rows_free(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t k)
{
  const Cj2kRect *rect =
      &slot->tables.plan->resolutions[tc->first_resolution + tc->reduced_levels].rect;

  if (!k)
    return 0;
  uint32_t end = cj2k_cuda_decode_slice_end(slot, tc, k - 1);
  uint32_t rows = cj2k_cuda_decode_count_rows(tc, rect, rect->y0, end).end / 2;
  return rows > ROWS_BEFORE ? rows - ROWS_BEFORE : 0;
}

/* ------------------------------------------------------------------------------ places --- */

/* Takes `size` bytes of an area, if as many are free before slice k is made. */
static uint8_t *take_of(const Cj2kDecodeSlot *slot, Area *area, uint32_t k, size_t size)
{
  size_t free = area->before;

  if (area->row)
    free += area->row * rows_free(slot, area->of, k);
  if (area->of_tiles)
    free += area->of_tiles(slot, slot->shares.tiles_made[k]);
  if (area->used + size > free)
    return NULL;
  area->used += size;
  return area->data + area->used - size;
}

/* Finds a place for `size` bytes of plane p, slice k. What a component leaves is as large as it
 * needs itself, so that others come after it. */
static uint8_t *take(const Cj2kDecodeSlot *slot, Places *places, uint32_t k, uint32_t p,
                     size_t size)
{
  uint8_t *place = NULL;

  for (uint32_t i = 0; i < 2 * places->count && !place; i++) {
    Area *area = &places->areas[i % places->count];
    bool is_others = area->of && !is_stored_in(slot, area->of->component, p);
    if (is_others == (i >= places->count))
      place = take_of(slot, area, k, size);
  }
  return place;
}

static uint8_t *take_own(Places *places, size_t size)
{
  uint8_t *place = places->own ? places->own + places->own_used : NULL;

  places->own_used += size;
  return place;
}

/* Do samples leave bytes of a row as they are, because the last unit is not full? */
static bool leaves_bytes(const Cj2kDecodeSlot *slot, uint32_t p)
{
  for (uint32_t c = 0; c < cj2k_cuda_decode_num_put_out(slot); c++) {
    const Cj2kSampleLayout *s = &slot->output.layout.samples[c];
    const Cj2kRect *out = &slot->tables.plan->component_out[c];
    if (s->plane == p && (uint64_t)(out->x1 - out->x0) * s->unit_bytes !=
                             (uint64_t)slot->output.plane_bytes[p] * s->unit_samples)
      return true;
  }
  return false;
}

/* Is a plane, or part of it, written before the last level is made or complete, or not at all? Then
 * it has memory of its own. */
static bool has_own(const Cj2kDecodeSlot *slot, uint32_t p)
{
  for (uint32_t i = 0; i < slot->output.packs->len; i++)
    if (g_array_index(slot->output.plane_of_pack, uint32_t, i) == p)
      return !g_array_index(slot->output.packs, Cj2kCudaPack, i).count;
  return has_packed(slot) || leaves_bytes(slot, p);
}

/* Places the rows of plane p that slice k makes. */
static void place_rows(const Cj2kDecodeSlot *slot, Places *places, uint32_t k, uint32_t p,
                       Cj2kCudaOutput *output)
{
  size_t pitch = slot->frame.target->planes[p].pitch;
  Cj2kCudaRows rows = {0, slot->output.plane_rows[p]};

  *output = (Cj2kCudaOutput){.pitch = pitch};
  if (has_own(slot, p)) {
    output->data = k ? slot->output.outputs[p].data
                     : take_own(places, cj2k_cuda_decode_plane_size(slot, p, rows.end, pitch));
    return;
  }
  if (slot->shares.count > 1)
    rows = cj2k_cuda_decode_share_planes(slot, k)[p];
  size_t size = cj2k_cuda_decode_plane_size(slot, p, rows.end - rows.first, pitch);
  uint8_t *place = take(slot, places, k, p, size);
  if (!place)
    place = take_own(places, size);
  if (place) /* of row 0, were it there */
    output->data = (uint8_t *)((uintptr_t)place - rows.first * pitch);
}

size_t cj2k_cuda_decode_place_overlay(Cj2kDecodeSlot *slot, uint8_t *own)
{
  Places places = {.own = own};
  uint32_t planes = slot->output.layout.num_planes;

  list_areas(slot, &places);
  for (uint32_t k = 0; k < slot->shares.count; k++) {
    Cj2kCudaOutput *set = slot->output.outputs + (size_t)k * slot->output.num_outputs;
    for (uint32_t p = 0; p < planes; p++)
      place_rows(slot, &places, k, p, &set[p]);
    for (uint32_t p = planes; p < slot->output.num_outputs; p++)
      set[p] = slot->output.samples[p - planes];
  }
  return places.own_used;
}

/* ------------------------------------------------------------------------------ choice --- */

/* Do all components that are stored in a plane have its rows? Then those of a slice are the same
 * for all. */
static bool rows_agree(const Cj2kDecodeSlot *slot)
{
  for (uint32_t c = 0; c < cj2k_cuda_decode_num_put_out(slot); c++) {
    const Cj2kRect *out = &slot->tables.plan->component_out[c];
    if (slot->output.plane_rows[slot->output.layout.samples[c].plane] != out->y1 - out->y0)
      return false;
  }
  return true;
}

static bool is_large(const Cj2kDecodeSlot *slot)
{
  bool many = slot->backend->frames_in_flight >= MANY_FRAMES;
  return cj2k_cuda_decode_picture_bytes(slot) > (many ? LEAST_BYTES : LARGE_BYTES);
}

bool cj2k_cuda_decode_may_overlay(const Cj2kDecodeSlot *slot)
{
  return (cj2k_backend_test.overlay || is_large(slot)) && (has_packed(slot) || rows_agree(slot));
}

/* How many tiles, from the first one on, are complete before slice k. */
static uint32_t count_made(const Cj2kDecodeSlot *slot, uint32_t k)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t i = 0;

  while (k && i < plan->num_tile_comps &&
         cj2k_cuda_decode_slice_end(slot, &plan->tile_comps[i], k - 1) ==
             plan->tile_comps[i].out.y1)
    i++;
  return MIN(i / MAX(plan->num_components, 1), plan->num_tiles - 1);
}

void cj2k_cuda_decode_choose_overlay(Cj2kDecodeSlot *slot)
{
  bool packed = has_packed(slot);

  slot->shares.ends = packed ? whole : ends;
  slot->shares.count = packed ? G_N_ELEMENTS(whole) : G_N_ELEMENTS(ends);
  for (uint32_t k = 0; k < slot->shares.count; k++)
    slot->shares.tiles_made[k] = count_made(slot, k);
}
