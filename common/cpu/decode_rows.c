/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/samples/fill.h"
#include "common/samples/pack.h"

/* ------------------------------------------------------------------- samples in memory --- */

static Cj2kSamples band_samples(const Cj2kDecodeSlot *slot, uint32_t index)
{
  const Cj2kPlanBand *band = &slot->plan->bands[index];
  return (Cj2kSamples){.data = (uint32_t *)slot->memory.coefficients + band->offset,
                       .stride = band->stride,
                       .rect = band->rect};
}

/* The image of resolution r: the LL band at r = 0, else an output of the inverse DWT. */
static Cj2kSamples lowpass(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kPlanResolution *res = &slot->plan->resolutions[tc->first_resolution + r];
  if (r == 0)
    return band_samples(slot, res->first_band);
  return (Cj2kSamples){.data = (uint32_t *)slot->memory.lowpass + res->offset,
                       .stride = res->stride,
                       .rect = res->rect};
}

/* The four bands from which resolution r >= 1 is synthesised. */
static Cj2kBands bands_of(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  uint32_t first = slot->plan->resolutions[tc->first_resolution + r].first_band;
  Cj2kBands bands;
  bands.band[CJ2K_LL] = lowpass(slot, tc, r - 1);
  for (uint32_t b = 0; b < 3; b++)
    bands.band[CJ2K_HL + b] = band_samples(slot, first + b);
  return bands;
}

/* ------------------------------------------------------- every level but the last --- */

typedef struct {
  Cj2kDecodeSlot *slot;
  const Cj2kPicture *picture;
  const GArray *strips; /* Cj2kDecodeStrip, or Cj2kFinishStrip in the last level */
  uint32_t first;       /* index of the level's first strip */
} RowStage;

static void level_strip(void *ctx, uint32_t index, uint32_t lane_index)
{
  RowStage *stage = ctx;
  Cj2kDecodeSlot *slot = stage->slot;
  const Cj2kDecodeStrip *strip =
      &g_array_index(stage->strips, Cj2kDecodeStrip, stage->first + index);
  const Cj2kPlanTileComp *tc = &slot->plan->tile_comps[strip->tile_comp];
  Cj2kDecodeLane *lane = cj2k_decode_lane(slot, lane_index);
  if (!lane)
    return;
  Cj2kBands bands = bands_of(slot, tc, strip->r);
  Cj2kSamples out = lowpass(slot, tc, strip->r);
  cj2k_idwt_level(tc->reversible, &bands, &out, strip->row0, strip->row1, lane->rows);
}

/* ------------------------------------- last level, component transform, packing --- */

/* Finds the rows of component c in the strip and starts its inverse DWT. */
static void begin_component(const Cj2kDecodeSlot *slot, const Cj2kFinishStrip *strip, uint32_t c,
                            Cj2kFinishRows *rows, void *scratch)
{
  const Cj2kPlan *plan = slot->plan;
  const Cj2kPlanTileComp *tc = &plan->tile_comps[plan->tiles[strip->tile].first_tile_comp + c];
  const Cj2kRect *all = &plan->component_out[c];
  rows->tc = tc;
  rows->layout = c < slot->finish.layout.num_components ? &slot->finish.layout.samples[c] : NULL;
  rows->row0 = MAX(strip->row0, tc->out.y0 - all->y0);
  rows->row1 = MIN(strip->row1, tc->out.y1 - all->y0);
  rows->x = tc->out.x0 - all->x0;
  rows->width = tc->out.x1 - tc->out.x0;
  if (rows->row0 >= rows->row1 || !rows->width) {
    rows->row0 = rows->row1 = 0;
    return;
  }
  uint32_t y0 = rows->row0 + all->y0, y1 = rows->row1 + all->y0;
  if (tc->reduced_levels == 0) {
    Cj2kSamples plane = lowpass(slot, tc, 0);
    cj2k_idwt_rows_init_plane(&rows->idwt, tc->reversible, &plane, y0, y1, scratch);
  } else {
    Cj2kBands bands = bands_of(slot, tc, tc->reduced_levels);
    cj2k_idwt_rows_init(&rows->idwt, tc->reversible, &bands, &tc->out, y0, y1, scratch);
  }
}

/* Whether this tile has an RCT or ICT (G.2, G.3) of the group's first three components. */
static bool has_mct(const Cj2kFinishRows *rows, const Cj2kPlanTile *tile,
                    const uint32_t *components, uint32_t count)
{
  if (!tile->mct || count < 3 || components[0] != 0 || components[1] != 1 || components[2] != 2)
    return false;
  for (uint32_t i = 1; i < 3; i++) {
    if (rows[i].row0 != rows[0].row0 || rows[i].row1 != rows[0].row1 ||
        rows[i].width != rows[0].width || rows[i].tc->reversible != rows[0].tc->reversible)
      return false;
  }
  return true;
}

/* Writes a row of samples to the picture. */
static void pack(RowStage *stage, const Cj2kFinishRows *rows, const int32_t *samples, uint32_t y)
{
  Cj2kDecodeSlot *slot = stage->slot;
  const Cj2kPlane *plane = &stage->picture->planes[rows->layout->plane];
  if (slot->finish.serial_packing)
    g_mutex_lock(&slot->finish.packing);
  uint8_t *to = (uint8_t *)plane->data + y * plane->pitch;
  if (slot->finish.planes[rows->layout->plane].covered)
    cj2k_pack_row_whole(rows->layout, rows->tc->depth, rows->tc->is_signed, samples, rows->x,
                        rows->width, to);
  else
    cj2k_pack_row(rows->layout, rows->tc->depth, rows->tc->is_signed, samples, rows->x, rows->width,
                  to);
  if (slot->finish.serial_packing)
    g_mutex_unlock(&slot->finish.packing);
}

/* Row y of the group: inverse DWT, component transform, picture. */
static void finish_row(RowStage *stage, Cj2kFinishRows *rows, uint32_t count, bool mct, uint32_t y)
{
  void *transformed[3] = {NULL};
  if (mct && y >= rows[0].row0 && y < rows[0].row1) {
    for (uint32_t i = 0; i < 3; i++)
      transformed[i] = cj2k_idwt_rows_next(&rows[i].idwt);
    cj2k_inverse_mct(rows[0].tc->reversible, transformed[0], transformed[1], transformed[2],
                     rows[0].width);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (y < rows[i].row0 || y >= rows[i].row1 || !rows[i].layout)
      continue;
    const Cj2kPlanTileComp *tc = rows[i].tc;
    void *row = mct && i < 3 ? transformed[i] : cj2k_idwt_rows_next(&rows[i].idwt);
    cj2k_finish_row(tc->reversible, tc->depth, tc->is_signed, row, row, rows[i].width);
    pack(stage, &rows[i], row, y);
  }
}

static void finish_strip(void *ctx, uint32_t index, uint32_t lane_index)
{
  RowStage *stage = ctx;
  Cj2kDecodeSlot *slot = stage->slot;
  const Cj2kFinishStrip *strip = &g_array_index(stage->strips, Cj2kFinishStrip, index);
  const Cj2kComponentGroup *group = &slot->finish.groups[strip->group];
  const uint32_t *components = slot->finish.group_components + group->first;
  Cj2kDecodeLane *lane = cj2k_decode_lane(slot, lane_index);
  if (!lane)
    return;
  for (uint32_t i = 0; i < group->count; i++)
    begin_component(slot, strip, components[i], &lane->finish[i],
                    lane->rows + i * slot->lanes.row_scratch);
  bool mct = has_mct(lane->finish, &slot->plan->tiles[strip->tile], components, group->count);
  for (uint32_t y = strip->row0; y < strip->row1; y++)
    finish_row(stage, lane->finish, group->count, mct, y);
}

/* ------------------------------ samples that no component of the image has --- */

static void fill_plane(void *ctx, uint32_t p, uint32_t lane_index)
{
  RowStage *stage = ctx;
  Cj2kDecodeSlot *slot = stage->slot;
  (void)lane_index;
  cj2k_fill_plane(&slot->finish.layout, p, &slot->finish.planes[p], stage->picture,
                  slot->finish.components, slot->plan->num_components);
}

void cj2k_decode_fill(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  RowStage stage = {.slot = slot, .picture = picture};
  cj2k_parallel_for(slot->threads, slot->finish.layout.num_planes, fill_plane, &stage);
}

void cj2k_decode_level_strips(Cj2kDecodeSlot *slot, const GArray *strips)
{
  RowStage stage = {.slot = slot, .strips = strips};
  cj2k_parallel_for(slot->threads, strips->len, level_strip, &stage);
}

void cj2k_decode_finish_strips(Cj2kDecodeSlot *slot, const Cj2kPicture *picture,
                               const GArray *strips)
{
  RowStage stage = {.slot = slot, .picture = picture, .strips = strips};
  cj2k_parallel_for(slot->threads, strips->len, finish_strip, &stage);
}

void cj2k_decode_rows(Cj2kDecodeSlot *slot, const Cj2kPicture *picture)
{
  RowStage stage = {.slot = slot, .strips = slot->levels.strips};
  for (uint32_t r = 1; r <= CJ2K_MAX_LEVELS; r++) {
    stage.first = slot->levels.ends[r - 1];
    cj2k_parallel_for(slot->threads, slot->levels.ends[r] - stage.first, level_strip, &stage);
  }
  cj2k_decode_fill(slot, picture);
  cj2k_decode_finish_strips(slot, picture, slot->finish.strips);
}
