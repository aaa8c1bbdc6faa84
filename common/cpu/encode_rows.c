/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include "common/samples/pack.h"

/* Smaller strips cost much: each one filters rows of its neighbours again. */
#define MIN_STRIP_ROWS 32
/* The same where few rows are there, and threads would have nothing to do. */
#define MIN_PART_ROWS 16

/* ------------------------------------------------------------------- samples in memory --- */

static Cj2kSamples band_samples(const Cj2kEncodeSlot *slot, uint32_t index)
{
  const Cj2kPlanBand *band = &slot->encoder->plan->bands[index];
  return (Cj2kSamples){
      .data = slot->coefficients + band->offset, .stride = band->stride, .rect = band->rect};
}

/* The image of resolution r: the LL band at r = 0, else an output of the DWT. */
static Cj2kSamples lowpass(const Cj2kEncodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kPlanResolution *res = &slot->encoder->plan->resolutions[tc->first_resolution + r];
  if (r == 0)
    return band_samples(slot, res->first_band);
  return (Cj2kSamples){
      .data = slot->lowpass + res->offset, .stride = res->stride, .rect = res->rect};
}

/* The four bands that resolution r >= 1 is analysed into. */
static Cj2kBands bands_of(const Cj2kEncodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  uint32_t first = slot->encoder->plan->resolutions[tc->first_resolution + r].first_band;
  Cj2kBands bands;

  bands.band[CJ2K_LL] = lowpass(slot, tc, r - 1);
  for (uint32_t b = 0; b < 3; b++)
    bands.band[CJ2K_HL + b] = band_samples(slot, first + b);
  return bands;
}

/* --------------------------------------------------------------------------- strips --- */

/* How many components from c on are transformed together: 3 where component 0 begins a colour
 * transform, else 1. */
static uint32_t group_size(const Cj2kCpuEncoder *encoder, const Cj2kPlanTile *tile, uint32_t c)
{
  bool together = tile->mct || encoder->rgb_to_xyz;
  return together && encoder->plan->num_components >= 3 && c == 0 ? 3 : 1;
}

/* Which rows of the picture are transformed (common/codestream/plan_rows.h). */
typedef struct {
  uint32_t done, rows; /* from and to, on the reference grid */
  bool all;
} RowRange;

/* Rows of a strip, of a resolution of which so many are made. */
static uint32_t strip_rows(const Cj2kCpuEncoder *encoder, const RowRange *range, uint32_t rows)
{
  uint32_t threads = cj2k_threads_count(encoder->threads);

  if (threads == 1)
    return MAX(rows, 1);
  return range->all ? MAX(rows / (4 * threads), MIN_STRIP_ROWS)
                    : MAX((rows + threads - 1) / threads, MIN_PART_ROWS);
}

static void list_strips(const Cj2kCpuEncoder *encoder, const RowRange *range, GArray *strips,
                        uint32_t tile_comp, uint32_t count, uint32_t r)
{
  const Cj2kPlan *plan = encoder->plan;
  const Cj2kPlanTileComp *tc = &plan->tile_comps[tile_comp];
  const Cj2kRect *rect = &plan->resolutions[tc->first_resolution + r].rect;
  uint32_t first = cj2k_plan_rows_made(plan, tc, r, range->done);
  uint32_t end = cj2k_plan_rows_made(plan, tc, r, range->rows);
  uint32_t step = strip_rows(encoder, range, end - first);

  if (rect->x0 == rect->x1)
    return;
  for (uint32_t y = first; y < end; y += MIN(step, end - y)) {
    Cj2kEncodeStrip strip = {tile_comp, count, r, y, y + MIN(step, end - y)};
    g_array_append_val(strips, strip);
  }
}

/* Lists the strips of the levels that are `depth` levels below the highest resolution. */
static void list_depth(const Cj2kCpuEncoder *encoder, const RowRange *range, uint32_t depth,
                       GArray *strips)
{
  const Cj2kPlan *plan = encoder->plan;

  for (uint32_t t = 0; t < plan->num_tiles; t++) {
    const Cj2kPlanTile *tile = &plan->tiles[t];
    uint32_t count = 1;
    for (uint32_t c = 0; c < plan->num_components; c += count) {
      uint32_t tc = tile->first_tile_comp + c, levels = plan->tile_comps[tc].num_levels;
      count = depth ? 1 : group_size(encoder, tile, c);
      if (depth < levels || depth == 0) /* r = 0 of a decomposed component is its LL band */
        list_strips(encoder, range, strips, tc, count, levels - depth);
    }
  }
}

void cj2k_encode_list_strips(Cj2kCpuEncoder *encoder)
{
  const RowRange range = {0, cj2k_plan_rows_all(encoder->plan), true};

  for (uint32_t depth = 0; depth <= CJ2K_MAX_LEVELS; depth++) {
    list_depth(encoder, &range, depth, encoder->strips);
    encoder->strips_end[depth] = encoder->strips->len;
  }
}

/* ------------------------------------------------- unpacking, component transform, level 1 --- */

typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kTransformJob *job;
  const Cj2kXyzTables *xyz;
  const GArray *strips; /* Cj2kEncodeStrip */
  guint first;          /* index of the level's first strip */
} RowStage;

/* Starts the DWT of one component of the strip; without levels its rows are copied. */
static void begin_rows(const Cj2kEncodeSlot *slot, const Cj2kEncodeStrip *strip, uint32_t i,
                       Cj2kFdwtRows *rows, char *scratch, uint32_t *first, uint32_t *end)
{
  const Cj2kPlanTileComp *tc = &slot->encoder->plan->tile_comps[strip->tile_comp + i];
  void *memory = scratch + i * slot->encoder->row_scratch;

  if (strip->resolution == 0) {
    Cj2kSamples plane = lowpass(slot, tc, 0);
    cj2k_fdwt_rows_init_plane(rows, tc->reversible, &plane, NULL, strip->row0, strip->row1, memory,
                              first, end);
  } else {
    Cj2kBands bands = bands_of(slot, tc, strip->resolution);
    cj2k_fdwt_rows_init(rows, tc->reversible, &tc->rect, &bands, NULL, strip->row0, strip->row1,
                        memory, first, end);
  }
}

/* Reads row y of a tile-component from the picture. */
static void unpack(const RowStage *stage, const Cj2kPlanTileComp *tc, uint32_t y, int32_t *out)
{
  const Cj2kTransformJob *job = stage->job;
  const Cj2kSampleLayout *layout = &job->layout->samples[tc->component];
  const Cj2kRect *all = &stage->slot->encoder->plan->component_out[tc->component];
  const Cj2kPlane *plane = &job->picture->planes[layout->plane];
  const uint8_t *row = (const uint8_t *)plane->data + (size_t)(y - all->y0) * plane->pitch;
  uint8_t depth = stage->xyz ? stage->xyz->depth : tc->depth;

  cj2k_unpack_row(layout, depth, row, tc->rect.x0 - all->x0, tc->rect.x1 - tc->rect.x0, out);
}

static void top_strip(void *ctx, uint32_t index, uint32_t lane_index)
{
  const RowStage *stage = ctx;
  Cj2kEncodeSlot *slot = stage->slot;
  const Cj2kEncodeStrip *strip = &g_array_index(stage->strips, Cj2kEncodeStrip, index);
  const Cj2kPlanTileComp *tcs = &slot->encoder->plan->tile_comps[strip->tile_comp];
  uint32_t width = tcs->rect.x1 - tcs->rect.x0, first = 0, end = 0;
  Cj2kEncodeLane *lane = cj2k_encode_lane(slot, lane_index);
  int32_t *samples[3];
  Cj2kFdwtRows rows[3];
  void *out[3] = {NULL};

  if (!lane)
    return;
  for (uint32_t i = 0; i < strip->count; i++) {
    samples[i] = lane->unpacked + (size_t)i * slot->encoder->max_width;
    begin_rows(slot, strip, i, &rows[i], lane->rows, &first, &end);
  }
  for (uint32_t y = first; y < end; y++) {
    for (uint32_t i = 0; i < strip->count; i++)
      unpack(stage, &tcs[i], y, samples[i]);
    if (stage->xyz)
      /* XYZ has three components. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
      cj2k_rgb_to_xyz(stage->xyz, samples[0], samples[1], samples[2], width);
    for (uint32_t i = 0; i < strip->count; i++) {
      out[i] = cj2k_fdwt_rows_slot(&rows[i]);
      cj2k_start_row(tcs[i].reversible, tcs[i].depth, tcs[i].is_signed, samples[i], out[i], width);
    }
    if (tcs->mct)
      cj2k_forward_mct(tcs->reversible, out[0], out[1], out[2], width);
    for (uint32_t i = 0; i < strip->count; i++)
      cj2k_fdwt_rows_push(&rows[i]);
  }
}

static void level_strip(void *ctx, uint32_t index, uint32_t lane_index)
{
  const RowStage *stage = ctx;
  Cj2kEncodeSlot *slot = stage->slot;
  const Cj2kEncodeStrip *strip =
      &g_array_index(stage->strips, Cj2kEncodeStrip, stage->first + index);
  const Cj2kPlanTileComp *tc = &slot->encoder->plan->tile_comps[strip->tile_comp];
  Cj2kEncodeLane *lane = cj2k_encode_lane(slot, lane_index);

  if (!lane)
    return;
  Cj2kSamples in = lowpass(slot, tc, strip->resolution);
  Cj2kBands bands = bands_of(slot, tc, strip->resolution);
  cj2k_fdwt_level(tc->reversible, &in, &bands, NULL, strip->row0, strip->row1, lane->rows);
}

/* The X'Y'Z' tables for the depth of the pictures; NULL: no conversion. */
static const Cj2kXyzTables *xyz_tables(Cj2kCpuEncoder *encoder, const Cj2kTransformJob *job)
{
  if (!job->rgb_to_xyz)
    return NULL;
  g_mutex_lock(&encoder->lock);
  if (!encoder->xyz) {
    encoder->xyz = g_new(Cj2kXyzTables, 1);
    uint8_t depth = MIN(job->layout->samples[0].depth, CJ2K_XYZ_MAX_DEPTH);
    cj2k_xyz_tables_init(encoder->xyz, depth, job->xyz_transfer, job->xyz_primaries);
    if (job->xyz_transfer == CJ2K_TRANSFER_HLG)
      cj2k_xyz_tables_init_hlg(encoder->xyz, job->hlg_peak);
  }
  g_mutex_unlock(&encoder->lock);
  return encoder->xyz;
}

void cj2k_encode_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job)
{
  Cj2kCpuEncoder *encoder = slot->encoder;
  RowStage stage = {
      .slot = slot, .job = job, .xyz = xyz_tables(encoder, job), .strips = encoder->strips};

  cj2k_parallel_for(encoder->threads, encoder->strips_end[0], top_strip, &stage);
  for (uint32_t depth = 1; depth <= CJ2K_MAX_LEVELS; depth++) {
    stage.first = encoder->strips_end[depth - 1];
    cj2k_parallel_for(encoder->threads, encoder->strips_end[depth] - stage.first, level_strip,
                      &stage);
  }
}

void cj2k_encode_some_rows(Cj2kEncodeSlot *slot, const Cj2kTransformJob *job, uint32_t done,
                           uint32_t rows)
{
  Cj2kCpuEncoder *encoder = slot->encoder;
  const RowRange range = {done, rows, false};
  RowStage stage = {
      .slot = slot, .job = job, .xyz = xyz_tables(encoder, job), .strips = slot->strips};

  for (uint32_t depth = 0; depth <= CJ2K_MAX_LEVELS; depth++) {
    g_array_set_size(slot->strips, 0);
    list_depth(encoder, &range, depth, slot->strips);
    if (!slot->strips->len)
      break; /* no level below has rows either */
    cj2k_parallel_for(encoder->threads, slot->strips->len, depth ? level_strip : top_strip, &stage);
  }
}
