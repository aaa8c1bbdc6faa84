/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include "common/runtime/error.h"

#include <string.h>

/* Desired number of warps of a launch: more warps hide more latency, but their strips are shorter
 * and repeat more rows of their neighbours. */
#define WARPS_WANTED  2048
#define STRIP_COLUMNS 120

uint32_t cj2k_cuda_decode_rows(uint32_t width, uint32_t height, uint32_t count)
{
  uint64_t strips = ((uint64_t)width + STRIP_COLUMNS - 1) / STRIP_COLUMNS * MAX(count, 1);
  uint64_t rows = ((uint64_t)height * strips + WARPS_WANTED - 1) / WARPS_WANTED;
  return ((uint32_t)CLAMP(rows, 8, 64) + 1) & ~1u;
}

Cj2kStatus cj2k_cuda_decode_table(const Cj2kDecodeSlot *slot, Cj2kCudaMemory *memory,
                                  const void *table, size_t size, Cj2kError *error)
{
  cudaError_t result = cj2k_cuda_reserve(&slot->backend->device, memory, size);
  if (size)
    CJ2K_CUDA_TRY(result, cj2k_cuda_send(memory->data, table, size));
  return cj2k_cuda_check(&slot->backend->device, result, "uploading the tables of a plan", error);
}

/* ------------------------------------------------------------------------- code-blocks --- */

/* In samples of the band's size. */
static uint64_t block_offset(const Cj2kDecodeSlot *slot, const Cj2kPlanBlock *block)
{
  const Cj2kCudaBandPlace *place = &slot->tables.places[block->band];

  if (place->offset == UINT64_MAX)
    return UINT64_MAX;
  return place->offset / (place->narrow ? 2 : 4) +
         (uint64_t)block->y * slot->tables.plan->bands[block->band].stride + block->x;
}

static Cj2kStatus set_blocks(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  const Cj2kPlan *plan = slot->tables.plan;
  Cj2kCudaBlock *blocks = g_new0(Cj2kCudaBlock, MAX(plan->num_blocks, 1));
  uint64_t quads = 0;
  slot->tables.max_width = slot->tables.width_bits = slot->tables.mq_octets = 0;
  slot->tables.mq_window = 0;
  slot->tables.facts = g_renew(Cj2kCudaBlockFacts, slot->tables.facts, plan->num_blocks);
  slot->tables.classes = g_renew(uint16_t, slot->tables.classes, plan->num_blocks);
  slot->tables.words = g_renew(uint32_t, slot->tables.words, plan->num_blocks);
  for (uint32_t i = 0; i < plan->num_blocks; i++) {
    const Cj2kPlanBlock *block = &plan->blocks[i];
    const Cj2kPlanBand *band = &plan->bands[block->band];
    blocks[i] = (Cj2kCudaBlock){.offset = block_offset(slot, block),
                                .quads = quads,
                                .band = block->band,
                                .stride = band->stride,
                                .width = block->width,
                                .height = block->height,
                                .roi_shift = band->roi_shift,
                                .reversible = band->reversible,
                                .narrow = slot->tables.places[block->band].narrow,
                                .orientation = band->orientation,
                                .style = band->block_style};
    if ((band->block_style & CJ2K_STYLE_HT) && band->offset != UINT64_MAX)
      quads += (uint64_t)CJ2K_CUDA_QUAD_STRIDE(block->width) * ((block->height + 1u) / 2);
    slot->tables.max_width = MAX(slot->tables.max_width, block->width);
    slot->tables.width_bits |= block->width;
    uint16_t octets = (uint16_t)CJ2K_CUDA_MQ_OCTETS(block->width, block->height);
    slot->tables.facts[i] = (Cj2kCudaBlockFacts){octets, band->offset != UINT64_MAX,
                                                 band->block_style & CJ2K_STYLE_BYPASS};
    slot->tables.mq_octets = MAX(slot->tables.mq_octets, octets);
    uint32_t held = MIN(block->height, 4 * CJ2K_CUDA_MQ_WINDOW);
    slot->tables.mq_window = MAX(slot->tables.mq_window, CJ2K_CUDA_MQ_OCTETS(block->width, held));
  }
  Cj2kStatus status =
      cj2k_cuda_check(&slot->backend->device,
                      cj2k_cuda_table_set(&slot->backend->device, &slot->tables.blocks, blocks,
                                          plan->num_blocks * sizeof *blocks),
                      "uploading the code-blocks of a plan", error);
  g_free(blocks);
  if (status != CJ2K_OK)
    return status;
  slot->tables.quads_size = quads * sizeof(uint32_t);
  slot->tables.zeros_valid = false;
  cudaError_t result =
      cj2k_cuda_reserve(&slot->backend->device, &slot->tables.zeros, plan->num_blocks);
  return cj2k_cuda_check(&slot->backend->device, result, "memory for code-blocks", error);
}

/* ------------------------------------------------------------------------------ levels --- */

static Cj2kCudaPlane band_plane(const Cj2kDecodeSlot *slot, uint32_t index)
{
  return (Cj2kCudaPlane){(uint8_t *)slot->tables.coefficients.data +
                             slot->tables.places[index].offset,
                         slot->tables.plan->bands[index].stride};
}

/* The image at resolution r; at r = 0 it is the LL band. */
static Cj2kCudaPlane lowpass(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r)
{
  const Cj2kPlanResolution *res = &slot->tables.plan->resolutions[tc->first_resolution + r];
  if (r == 0)
    return band_plane(slot, res->first_band);
  return (Cj2kCudaPlane){(uint32_t *)slot->tables.lowpass.data + res->offset, res->stride};
}

void cj2k_cuda_decode_level(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t r,
                            Cj2kCudaLevel *level)
{
  const Cj2kPlanResolution *res = &slot->tables.plan->resolutions[tc->first_resolution + r];
  memset(level, 0, sizeof *level);
  level->width = res->rect.x1 - res->rect.x0;
  level->height = res->rect.y1 - res->rect.y0;
  level->odd_x = res->rect.x0 & 1;
  level->odd_y = res->rect.y0 & 1;
  level->reversible = tc->reversible;
  level->is_plane = r == 0;
  if (r == 0) {
    level->band[CJ2K_LL] = lowpass(slot, tc, 0);
    return;
  }
  level->first_step = res->first_band;
  level->narrow = slot->tables.places[res->first_band].narrow;
  level->band[CJ2K_LL] = lowpass(slot, tc, r - 1);
  for (uint32_t b = 0; b < 3; b++)
    level->band[CJ2K_HL + b] = band_plane(slot, res->first_band + b);
  if (r < tc->reduced_levels)
    level->out = lowpass(slot, tc, r);
}

/* Adds a launch for the levels of this kind that make resolution r. */
static void add_launch(Cj2kDecodeSlot *slot, GArray *table, uint32_t r, Cj2kCudaKind kind)
{
  Cj2kCudaLaunch launch = {.first = table->len, .kind = kind};
  Cj2kCudaStrips *strips = &launch.strips;
  for (uint32_t i = 0; i < slot->tables.plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &slot->tables.plan->tile_comps[i];
    if (r >= tc->reduced_levels || tc->reversible != kind.reversible)
      continue;
    Cj2kCudaLevel level;
    cj2k_cuda_decode_level(slot, tc, r, &level);
    if (!level.width || !level.height || level.narrow != kind.narrow)
      continue;
    Cj2kCudaLevelOf of = {i, r};
    g_array_append_val(table, level);
    g_array_append_val(slot->tables.level_of, of);
    launch.count++;
    strips->width = MAX(strips->width, level.width);
    strips->height = MAX(strips->height, level.height);
  }
  strips->rows = cj2k_cuda_decode_rows(strips->width, strips->height, launch.count);
  if (launch.count)
    g_array_append_val(slot->tables.levels, launch);
}

static Cj2kStatus set_levels(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  GArray *table = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLevel));
  g_array_set_size(slot->tables.levels, 0);
  g_array_set_size(slot->tables.level_of, 0);
  for (uint32_t r = 1; r < CJ2K_MAX_LEVELS; r++) {
    for (int kind = 0; kind < 4; kind++)
      add_launch(slot, table, r, (Cj2kCudaKind){.reversible = kind & 1, .narrow = kind & 2});
  }
  Cj2kStatus status = cj2k_cuda_decode_table(slot, &slot->tables.level_table, table->data,
                                             table->len * sizeof(Cj2kCudaLevel), error);
  g_array_unref(table);
  return status;
}

/* -------------------------------------------------------------------------------- plan --- */

#define MAX_DEPTH  24        /* samples are rounded in fp32 */
#define MAX_EXTENT (1 << 30) /* positions are int32_t */

static Cj2kStatus check_plan(const Cj2kPlan *plan, Cj2kError *error)
{
  if (plan->num_coefficients > UINT32_MAX) /* positions in a band are uint32_t */
    return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED, "CUDA: more than 2^32 coefficients");
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
    if (tc->depth > MAX_DEPTH)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "CUDA: component %u has %u bits, more than %d", tc->component,
                            tc->depth, MAX_DEPTH);
    if (tc->out.x1 - tc->out.x0 > MAX_EXTENT || tc->out.y1 - tc->out.y0 > MAX_EXTENT)
      return cj2k_error_set(error, CJ2K_ERROR_UNSUPPORTED,
                            "CUDA: a tile wider or higher than 2^30 samples");
  }
  return CJ2K_OK;
}

/* Are there no tables yet for a plan? Notes the levels that are wide. */
static bool is_new_plan(Cj2kDecodeSlot *slot, const Cj2kPlan *plan)
{
  uint32_t before = slot->tables.wide_levels, wide = cj2k_cuda_decode_wide_levels(plan);
  bool same = cj2k_plan_same_geometry(slot->tables.plan, plan);

  slot->tables.wide_levels = same ? before | wide : wide;
  return !same || slot->tables.wide_levels != before;
}

Cj2kStatus cj2k_cuda_decode_set_plan(Cj2kDecodeSlot *slot, const Cj2kPlan *plan, bool *is_new,
                                     Cj2kError *error)
{
  *is_new = is_new_plan(slot, plan);
  Cj2kStatus status = *is_new ? check_plan(plan, error) : CJ2K_OK;
  g_clear_pointer(&slot->tables.plan, cj2k_plan_unref);
  if (status != CJ2K_OK)
    return status;
  slot->tables.plan = cj2k_plan_ref((Cj2kPlan *)plan);
  if (!*is_new)
    return CJ2K_OK;
  cudaError_t result = cj2k_cuda_reserve(&slot->backend->device, &slot->tables.coefficients,
                                         cj2k_cuda_decode_place_bands(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_reserve(&slot->backend->device, &slot->tables.lowpass,
                                          plan->num_lowpass * 4));
  status = cj2k_cuda_check(&slot->backend->device, result, "memory for coefficients", error);
  if (status == CJ2K_OK)
    status = set_blocks(slot, error);
  if (status == CJ2K_OK)
    status = set_levels(slot, error);
  if (status != CJ2K_OK)
    g_clear_pointer(&slot->tables.plan, cj2k_plan_unref);
  return status;
}

void cj2k_cuda_decode_tables_init(Cj2kDecodeSlot *slot)
{
  slot->tables.levels = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLaunch));
  slot->tables.level_of = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaLevelOf));
}

void cj2k_cuda_decode_tables_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeTables *tables = &slot->tables;
  Cj2kCudaMemory *memory[] = {&tables->level_table, &tables->zeros, &tables->quads,
                              &tables->coefficients, &tables->lowpass};

  for (size_t i = 0; i < G_N_ELEMENTS(memory); i++)
    cj2k_cuda_release(memory[i]);
  cj2k_cuda_table_clear(&tables->blocks);
  g_clear_pointer(&tables->plan, cj2k_plan_unref);
  g_array_unref(tables->levels);
  g_array_unref(tables->level_of);
  g_free(tables->places);
  g_free(tables->facts);
  g_free(tables->classes);
  g_free(tables->words);
}
