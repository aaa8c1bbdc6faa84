/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan.h"

#include "common/runtime/deadline.h"
#include "plan_internal.h"
#include "tagtree.h"

#include <glib.h>
#include <string.h>

/* A Plan under construction. Its arrays grow; `used` counts all memory that a frame of it needs. */
typedef struct {
  Cj2kPlan *plan;
  const Cj2kHeader *header;
  uint64_t used, limit;
  uint32_t tile_comps_capacity, resolutions_capacity, bands_capacity, precincts_capacity,
      blocks_capacity;
  Cj2kError *error;
} Builder;

static uint32_t ceil_shift(uint64_t value, uint32_t shift)
{
  return (uint32_t)((value + ((uint64_t)1 << shift) - 1) >> shift);
}

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
  return (uint32_t)((a + b - 1) / b);
}

static uint32_t clamp(uint64_t value, uint32_t low, uint32_t high)
{
  return value < low ? low : value > high ? high : (uint32_t)value;
}

static Cj2kRect reduce_rect(Cj2kRect rect, uint32_t shift)
{
  return (Cj2kRect){ceil_shift(rect.x0, shift), ceil_shift(rect.y0, shift),
                    ceil_shift(rect.x1, shift), ceil_shift(rect.y1, shift)};
}

static uint64_t padded_stride(Cj2kRect rect)
{
  return ((uint64_t)rect.x1 - rect.x0 + 31) & ~(uint64_t)31;
}

/* --- memory --- */

static Cj2kStatus over_limit(Builder *builder, uint64_t needed, const char *what)
{
  return cj2k_error_set(builder->error, CJ2K_ERROR_LIMIT,
                        "the image needs %llu MiB or more (%s), max-memory is %llu MiB",
                        (unsigned long long)(needed >> 20), what,
                        (unsigned long long)(builder->limit >> 20));
}

/* Makes room for `added` more elements after `count`. Their memory is counted before it is
 * allocated. */
static Cj2kStatus reserve(Builder *builder, void *array, uint32_t *capacity, uint32_t count,
                          uint64_t added, size_t element_size, const char *what)
{
  uint64_t needed = count + added, grown;
  void *memory;

  if (added > UINT32_MAX || needed > UINT32_MAX)
    return over_limit(builder, UINT32_MAX * (uint64_t)element_size, what);
  builder->used += added * element_size;
  if (builder->used > builder->limit)
    return over_limit(builder, builder->used, what);
  if (needed <= *capacity)
    return CJ2K_OK;
  grown = MIN(MAX(needed, (uint64_t)*capacity * 3 / 2), UINT32_MAX);
  memcpy(&memory, array, sizeof memory);
  memory = g_try_realloc(memory, grown * element_size);
  if (!memory)
    return cj2k_error_set(builder->error, CJ2K_ERROR_MEMORY, "no memory for %s", what);
  memcpy(array, &memory, sizeof memory);
  *capacity = (uint32_t)grown;
  return CJ2K_OK;
}

#define RESERVE(builder, field, added)                                                             \
  reserve((builder), &(builder)->plan->field, &(builder)->field##_capacity,                        \
          (builder)->plan->num_##field, (added), sizeof *(builder)->plan->field, #field)

/* Reserves `samples` samples of 32 bits; *offset is a multiple of 32 samples. */
static Cj2kStatus allocate_range(Builder *builder, uint64_t *total, uint64_t samples,
                                 uint64_t *offset, const char *what)
{
  *offset = *total;
  if (samples > builder->limit / 4 || builder->used + 4 * samples > builder->limit)
    return over_limit(builder, builder->used + 4 * MIN(samples, UINT64_MAX / 8), what);
  builder->used += 4 * samples;
  *total += samples;
  return CJ2K_OK;
}

/* --- code-blocks --- */

/* The part of a band that precinct number p of one direction covers, and its code-blocks. */
typedef struct {
  uint32_t start, end; /* absolute, empty when equal */
  uint32_t first, count;
} Extent;

static Extent precinct_extent(uint32_t p, uint32_t log2_precinct, uint32_t log2_block,
                              uint32_t band_start, uint32_t band_end)
{
  Extent extent;

  extent.start = clamp((uint64_t)p << log2_precinct, band_start, band_end);
  extent.end = clamp(((uint64_t)p + 1) << log2_precinct, band_start, band_end);
  extent.first = extent.start >> log2_block;
  extent.count = extent.end > extent.start ? ceil_shift(extent.end, log2_block) - extent.first : 0;
  return extent;
}

static void append_blocks(Cj2kPlan *plan, uint32_t band_index, Extent x, Extent y)
{
  const Cj2kPlanBand *band = &plan->bands[band_index];
  uint32_t w = band->log2_block_width, h = band->log2_block_height;

  for (uint32_t j = y.first; j < y.first + y.count; j++) {
    uint32_t y0 = clamp((uint64_t)j << h, y.start, y.end);
    uint32_t y1 = clamp(((uint64_t)j + 1) << h, y.start, y.end);

    for (uint32_t i = x.first; i < x.first + x.count; i++) {
      uint32_t x0 = clamp((uint64_t)i << w, x.start, x.end);
      uint32_t x1 = clamp(((uint64_t)i + 1) << w, x.start, x.end);

      plan->blocks[plan->num_blocks++] =
          (Cj2kPlanBlock){band_index, x0 - band->rect.x0, y0 - band->rect.y0, (uint16_t)(x1 - x0),
                          (uint16_t)(y1 - y0)};
    }
  }
}

/* Memory that a code-block needs outside of the plan while packets are read: coded block, state,
 * tag-tree nodes, a piece and one or two segments (coded.h, tile_reader.h). */
#define READER_BYTES_PER_BLOCK 80

/* Appends the blocks that precinct (px, py) of a resolution holds of one of its bands. */
static Cj2kStatus append_precinct_band(Builder *builder, const Cj2kPlanResolution *resolution,
                                       uint32_t px, uint32_t py, uint32_t band_index,
                                       Cj2kPlanPrecinctBand *out)
{
  Cj2kPlan *plan = builder->plan;
  Cj2kPlanBand *band = &plan->bands[band_index];
  uint32_t half = band->resolution > 0; /* bands of r > 0 have half the resolution's extent */
  uint32_t log2_width = resolution->log2_precinct_width;
  uint32_t log2_height = resolution->log2_precinct_height;
  Extent x = precinct_extent((resolution->rect.x0 >> log2_width) + px, log2_width - half,
                             band->log2_block_width, band->rect.x0, band->rect.x1);
  Extent y = precinct_extent((resolution->rect.y0 >> log2_height) + py, log2_height - half,
                             band->log2_block_height, band->rect.y0, band->rect.y1);
  Cj2kStatus status;

  *out = (Cj2kPlanPrecinctBand){plan->num_blocks, x.count, y.count, (uint32_t)plan->num_nodes};
  if (x.count == 0 || y.count == 0) {
    out->blocks_x = out->blocks_y = 0;
    return CJ2K_OK;
  }
  builder->used += (uint64_t)x.count * y.count * READER_BYTES_PER_BLOCK;
  status = cj2k_deadline_count_items((uint64_t)x.count * y.count, builder->error);
  if (status == CJ2K_OK)
    status = RESERVE(builder, blocks, (uint64_t)x.count * y.count);
  if (status != CJ2K_OK)
    return status;
  append_blocks(plan, band_index, x, y);
  if (band->num_blocks == 0)
    band->first_block = out->first_block;
  band->num_blocks += x.count * y.count;
  plan->num_nodes += cj2k_tag_tree_num_nodes(x.count, y.count);
  if (plan->num_nodes > UINT32_MAX)
    return over_limit(builder, plan->num_nodes * sizeof(Cj2kTagNode), "tag trees");
  return CJ2K_OK;
}

static Cj2kStatus append_precincts(Builder *builder, uint32_t resolution_index)
{
  Cj2kPlan *plan = builder->plan;
  Cj2kPlanResolution *resolution = &plan->resolutions[resolution_index];
  uint64_t count = (uint64_t)resolution->precincts_x * resolution->precincts_y;
  Cj2kStatus status = cj2k_deadline_count_items(count, builder->error);

  if (status == CJ2K_OK)
    status = RESERVE(builder, precincts, count);
  resolution->first_precinct = plan->num_precincts;
  for (uint32_t py = 0; status == CJ2K_OK && py < resolution->precincts_y; py++) {
    for (uint32_t px = 0; status == CJ2K_OK && px < resolution->precincts_x; px++) {
      Cj2kPlanPrecinct *precinct = &plan->precincts[plan->num_precincts++];

      /* RESERVE made room. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
      memset(precinct, 0, sizeof *precinct);
      for (uint32_t b = 0; status == CJ2K_OK && b < resolution->num_bands; b++)
        status = append_precinct_band(builder, resolution, px, py, resolution->first_band + b,
                                      &precinct->band[b]);
    }
  }
  return status;
}

/* --- bands and resolutions --- */

/* Start or end of a band in one direction (B-15): ceil((value - 2^(level-1) * high) / 2^level). */
static uint32_t band_bound(uint32_t value, uint32_t level, bool high)
{
  uint64_t offset = high ? (uint64_t)1 << (level - 1) : 0;

  return value <= offset ? 0 : ceil_shift(value - offset, level);
}

static Cj2kStatus append_band(Builder *builder, uint32_t tile_comp_index, uint32_t r,
                              Cj2kOrientation orientation)
{
  Cj2kPlan *plan = builder->plan;
  const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[tile_comp_index];
  const Cj2kTileCoding *tile = cj2k_header_tile(builder->header, tile_comp->tile);
  const Cj2kCoding *coding = &tile->coding[tile_comp->component];
  const Cj2kPlanResolution *resolutions = &plan->resolutions[tile_comp->first_resolution];
  uint32_t level = r > 0 ? tile_comp->num_levels - r + 1 : tile_comp->num_levels;
  bool high_x = orientation == CJ2K_HL || orientation == CJ2K_HH;
  bool high_y = orientation == CJ2K_LH || orientation == CJ2K_HH;
  Cj2kPlanBand *band = &plan->bands[plan->num_bands++];

  /* RESERVE made room. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
  memset(band, 0, sizeof *band);
  band->rect = (Cj2kRect){
      band_bound(tile_comp->rect.x0, level, high_x), band_bound(tile_comp->rect.y0, level, high_y),
      band_bound(tile_comp->rect.x1, level, high_x), band_bound(tile_comp->rect.y1, level, high_y)};
  band->tile_comp = tile_comp_index;
  band->orientation = (uint8_t)orientation;
  band->resolution = (uint8_t)r;
  band->roi_shift = tile->roi_shift[tile_comp->component];
  band->block_style = coding->block_style;
  band->reversible = coding->reversible;
  band->log2_block_width = MIN(coding->log2_block_width, coding->log2_precinct_width[r] - (r > 0));
  band->log2_block_height =
      MIN(coding->log2_block_height, coding->log2_precinct_height[r] - (r > 0));
  cj2k_plan_quantiser(&tile->quantisation[tile_comp->component], tile_comp, resolutions, band);
  if (r > tile_comp->reduced_levels) {
    band->offset = UINT64_MAX;
    return CJ2K_OK;
  }
  band->stride = (uint32_t)padded_stride(band->rect);
  return allocate_range(builder, &plan->num_coefficients,
                        padded_stride(band->rect) * (band->rect.y1 - band->rect.y0), &band->offset,
                        "coefficients");
}

/* Appends the geometry of all resolutions before any band, because the scales of a band depend on
 * the resolutions above it. */
static Cj2kStatus append_resolutions(Builder *builder, const Cj2kCoding *coding,
                                     Cj2kPlanTileComp *tile_comp)
{
  Cj2kPlan *plan = builder->plan;
  Cj2kStatus status = RESERVE(builder, resolutions, tile_comp->num_levels + 1u);

  if (status != CJ2K_OK)
    return status;
  tile_comp->first_resolution = plan->num_resolutions;
  for (uint32_t r = 0; r <= tile_comp->num_levels && status == CJ2K_OK; r++) {
    Cj2kPlanResolution *resolution = &plan->resolutions[plan->num_resolutions++];
    Cj2kRect rect = reduce_rect(tile_comp->rect, tile_comp->num_levels - r);
    uint32_t log2_width = coding->log2_precinct_width[r];
    uint32_t log2_height = coding->log2_precinct_height[r];

    /* RESERVE made room. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    memset(resolution, 0, sizeof *resolution);
    resolution->rect = rect;
    resolution->log2_precinct_width = (uint8_t)log2_width;
    resolution->log2_precinct_height = (uint8_t)log2_height;
    resolution->num_bands = r > 0 ? 3 : 1;
    /* Both are 0 if either is, so that loops over rows of precincts end at once: the other
     * direction may have millions, which no limit of memory sees. */
    if (rect.x1 > rect.x0 && rect.y1 > rect.y0) {
      resolution->precincts_x = ceil_shift(rect.x1, log2_width) - (rect.x0 >> log2_width);
      resolution->precincts_y = ceil_shift(rect.y1, log2_height) - (rect.y0 >> log2_height);
    }
    resolution->offset = UINT64_MAX;
    if (r > 0 && r < tile_comp->reduced_levels) {
      resolution->stride = (uint32_t)padded_stride(rect);
      status =
          allocate_range(builder, &plan->num_lowpass, padded_stride(rect) * (rect.y1 - rect.y0),
                         &resolution->offset, "low-pass workspace");
    }
  }
  return status;
}

/* --- tile-components and tiles --- */

static Cj2kStatus check_tile_comp(Builder *builder, const Cj2kTileCoding *tile, uint32_t t,
                                  uint32_t c)
{
  const Cj2kCoding *coding = &tile->coding[c];

  if (builder->plan->reduce > coding->num_levels)
    return cj2k_error_set(builder->error, CJ2K_ERROR_ARGUMENT,
                          "reduce is %u, but component %u of tile %u has %u decomposition levels",
                          builder->plan->reduce, c, t, coding->num_levels);
  return cj2k_plan_check_steps(tile, t, c, builder->error);
}

static Cj2kStatus append_tile_comp(Builder *builder, const Cj2kTileCoding *coding, uint32_t t,
                                   uint32_t c)
{
  Cj2kPlan *plan = builder->plan;
  const Cj2kComponent *component = &builder->header->components[c];
  const Cj2kPlanTile *tile = &plan->tiles[t];
  uint32_t index = plan->num_tile_comps;
  Cj2kPlanTileComp *tile_comp = &plan->tile_comps[index];
  Cj2kStatus status = check_tile_comp(builder, coding, t, c);

  if (status != CJ2K_OK)
    return status;
  /* RESERVE made room. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
  memset(tile_comp, 0, sizeof *tile_comp);
  plan->num_tile_comps++;
  tile_comp->rect =
      (Cj2kRect){ceil_div(tile->rect.x0, component->dx), ceil_div(tile->rect.y0, component->dy),
                 ceil_div(tile->rect.x1, component->dx), ceil_div(tile->rect.y1, component->dy)};
  tile_comp->tile = t;
  tile_comp->component = c;
  tile_comp->num_levels = coding->coding[c].num_levels;
  tile_comp->reduced_levels = tile_comp->num_levels - plan->reduce;
  tile_comp->reversible = coding->coding[c].reversible;
  tile_comp->mct = tile->mct && c < 3;
  tile_comp->is_signed = component->is_signed;
  tile_comp->depth = component->depth;
  tile_comp->out = reduce_rect(tile_comp->rect, plan->reduce);

  status = append_resolutions(builder, &coding->coding[c], tile_comp);
  if (status == CJ2K_OK)
    status = RESERVE(builder, bands, 3u * tile_comp->num_levels + 1);
  for (uint32_t r = 0; status == CJ2K_OK && r <= tile_comp->num_levels; r++) {
    Cj2kPlanResolution *resolution = &plan->resolutions[tile_comp->first_resolution + r];

    resolution->first_band = plan->num_bands;
    for (uint32_t b = 0; status == CJ2K_OK && b < resolution->num_bands; b++)
      status = append_band(builder, index, r, (Cj2kOrientation)(r > 0 ? b + 1 : CJ2K_LL));
    if (status == CJ2K_OK)
      status = append_precincts(builder, tile_comp->first_resolution + r);
  }
  return status;
}

/* Decides whether the component transform is applied (G.1). It needs three components of equal size
 * and filter. */
static Cj2kStatus check_mct(Builder *builder, const Cj2kTileCoding *coding, uint32_t t,
                            uint8_t *mct)
{
  const Cj2kComponent *c = builder->header->components;

  *mct = coding->mct && builder->header->num_components >= 3;
  if (!*mct)
    return CJ2K_OK;
  for (int i = 1; i < 3; i++)
    if (c[i].dx != c[0].dx || c[i].dy != c[0].dy ||
        coding->coding[i].reversible != coding->coding[0].reversible)
      return cj2k_error_set(builder->error, CJ2K_ERROR_CODESTREAM,
                            "tile %u has a component transform over components of different "
                            "sub-sampling or filter",
                            t);
  return CJ2K_OK;
}

static Cj2kStatus append_tile(Builder *builder, uint32_t t)
{
  const Cj2kHeader *header = builder->header;
  Cj2kPlan *plan = builder->plan;
  const Cj2kTileCoding *coding = cj2k_header_tile(header, t);
  Cj2kPlanTile *tile = &plan->tiles[t];
  uint64_t x = header->tx0 + (uint64_t)(t % header->num_tiles_x) * header->tdx;
  uint64_t y = header->ty0 + (uint64_t)(t / header->num_tiles_x) * header->tdy;
  Cj2kStatus status;

  tile->rect = (Cj2kRect){clamp(x, header->x0, header->x1), clamp(y, header->y0, header->y1),
                          clamp(x + header->tdx, header->x0, header->x1),
                          clamp(y + header->tdy, header->y0, header->y1)};
  tile->first_tile_comp = plan->num_tile_comps;
  tile->num_layers = coding->num_layers;
  status = check_mct(builder, coding, t, &tile->mct);
  if (status == CJ2K_OK)
    status = RESERVE(builder, tile_comps, header->num_components);
  for (uint32_t c = 0; status == CJ2K_OK && c < header->num_components; c++) {
    status = append_tile_comp(builder, coding, t, c);
    if (status == CJ2K_OK)
      status = cj2k_deadline_check(16, builder->error);
  }
  return status;
}

/* Checks the least memory that coefficients and tile-components can take, before anything is built.
 */
static Cj2kStatus check_size(Builder *builder)
{
  const Cj2kHeader *header = builder->header;
  uint64_t tile_comps = (uint64_t)builder->plan->num_tiles * header->num_components;
  uint64_t bytes =
      tile_comps * (sizeof(Cj2kPlanTileComp) + sizeof(Cj2kPlanResolution) + sizeof(Cj2kPlanBand));

  for (uint32_t c = 0; c < header->num_components; c++) {
    const Cj2kRect *out = &builder->plan->component_out[c];
    uint64_t samples = (uint64_t)(out->x1 - out->x0) * (out->y1 - out->y0);

    if (samples > (UINT64_MAX - bytes) / 4)
      return over_limit(builder, UINT64_MAX, "coefficients");
    bytes += 4 * samples;
  }
  return bytes > builder->limit ? over_limit(builder, bytes, "coefficients") : CJ2K_OK;
}

static void free_plan(Cj2kPlan *plan)
{
  cj2k_header_unref(plan->header);
  g_free(plan->bands);
  if (plan->geometry != plan) {
    cj2k_plan_unref(plan->geometry);
    g_free(plan);
    return;
  }
  g_free(plan->component_out);
  g_free(plan->tiles);
  g_free(plan->tile_comps);
  g_free(plan->resolutions);
  g_free(plan->precincts);
  g_free(plan->blocks);
  g_free(plan);
}

Cj2kStatus cj2k_plan_new(Cj2kHeader *header, uint8_t reduce, uint64_t max_memory, Cj2kPlan **out,
                         Cj2kError *error)
{
  Cj2kPlan *plan = g_new0(Cj2kPlan, 1);
  Builder builder = {.plan = plan,
                     .header = header,
                     .limit = max_memory ? max_memory : UINT64_MAX / 16,
                     .error = error};
  Cj2kStatus status = CJ2K_OK;

  plan->ref_count = 1;
  plan->geometry = plan;
  plan->header = cj2k_header_ref(header);
  plan->reduce = reduce;
  plan->num_components = header->num_components;
  plan->num_tiles = header->num_tiles_x * header->num_tiles_y;
  plan->component_out = g_new(Cj2kRect, plan->num_components);
  plan->tiles = g_new0(Cj2kPlanTile, plan->num_tiles);
  if (reduce > CJ2K_MAX_LEVELS)
    status =
        cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "reduce is %u, at most 32 is possible", reduce);
  for (uint32_t c = 0; status == CJ2K_OK && c < plan->num_components; c++) {
    const Cj2kComponent *component = &header->components[c];
    plan->component_out[c] =
        reduce_rect((Cj2kRect){component->x0, component->y0, component->x1, component->y1}, reduce);
  }
  if (status == CJ2K_OK)
    status = check_size(&builder);
  for (uint32_t t = 0; status == CJ2K_OK && t < plan->num_tiles; t++)
    status = append_tile(&builder, t);
  if (status != CJ2K_OK) {
    free_plan(plan);
    return status;
  }
  *out = plan;
  return CJ2K_OK;
}

uint64_t cj2k_plan_likely_bytes(const Cj2kPlan *plan)
{
  uint64_t bits = 0;

  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kRect *rect = &plan->tile_comps[i].rect;
    bits += (uint64_t)(rect->x1 - rect->x0) * (rect->y1 - rect->y0) * plan->tile_comps[i].depth;
  }
  return bits / 8 / 6;
}

Cj2kPlan *cj2k_plan_ref(Cj2kPlan *plan)
{
  g_atomic_int_inc(&plan->ref_count);
  return plan;
}

void cj2k_plan_unref(Cj2kPlan *plan)
{
  if (plan && g_atomic_int_dec_and_test(&plan->ref_count))
    free_plan(plan);
}
