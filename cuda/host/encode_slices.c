/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slices of a frame. With one frame in flight the picture is uploaded in slices of rows. The two
 * top levels of the DWT follow slice by slice, and the blocks of their bands, which are most of all
 * blocks, may be coded as soon as their rows are complete, while the levels below are transformed.
 */
#include "encode.h"

#define MIN_SLICE_PAIRS 32 /* pairs of rows of a slice */
#define REACH           3  /* rows that the filter needs beyond the pairs that it makes */

/* Can all components be divided at the same rows? */
static bool is_uniform(const Cj2kPlan *plan)
{
  const Cj2kRect *first = &plan->tile_comps[0].rect;

  if (plan->num_tiles != 1)
    return false;
  for (uint32_t i = 0; i < plan->num_tile_comps; i++) {
    const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
    if (tc->num_levels == 0 || tc->rect.y0 != first->y0 || tc->rect.y1 != first->y1 ||
        tc->rect.x0 >= tc->rect.x1)
      return false;
  }
  return first->y0 < first->y1;
}

/* Does every component have the two top levels? */
static bool has_second(const Cj2kPlan *plan)
{
  for (uint32_t i = 0; i < plan->num_tile_comps; i++)
    if (plan->tile_comps[i].num_levels < 2)
      return false;
  return true;
}

/* Divides the rows into slices. Each slice is half of the remaining rows: this needs few copies,
 * and little work is left after the last one. */
static void divide_rows(Cj2kCudaEncoder *encoder)
{
  const Cj2kRect *rect = &encoder->plan->tile_comps[0].rect;
  Cj2kCudaSlices *slices = &encoder->slices;
  uint32_t end = 0, odd = rect->y0 & 1, pairs = (rect->y1 - rect->y0 + odd + 1) / 2;

  slices->count = 0;
  slices->levels = 1;
  while (!encoder->blocking && is_uniform(encoder->plan) &&
         slices->count < CJ2K_CUDA_MAX_SLICES - 1 && (pairs - end) / 2 >= MIN_SLICE_PAIRS) {
    end += (pairs - end) / 2;
    slices->end_pair[0][slices->count] = end;
    slices->end_pair[1][slices->count++] = (end - odd - REACH) / 2; /* pairs of low-pass rows */
  }
  slices->end_pair[0][slices->count] = slices->end_pair[1][slices->count] = UINT32_MAX;
  slices->count++;
  if (slices->count > 1 && has_second(encoder->plan))
    slices->levels = 2;
}

uint32_t cj2k_cuda_slice_rows(const Cj2kCudaSlices *slices, uint32_t slice, uint32_t rows)
{
  uint32_t end = slices->end_pair[0][slice];
  return end < rows / 2 ? MIN(2 * end + REACH, rows) : rows;
}

/* The slice after which a block can be coded; slices->count: only after all levels. */
static uint32_t slice_of(const Cj2kCudaEncoder *encoder, uint32_t b)
{
  const Cj2kPlan *plan = encoder->plan;
  const Cj2kPlanBlock *block = &plan->blocks[b];
  const Cj2kPlanBand *band = &plan->bands[block->band];
  const Cj2kPlanTileComp *tc = &plan->tile_comps[band->tile_comp];
  const Cj2kRect *rect = &plan->resolutions[tc->first_resolution + band->resolution].rect;
  uint32_t level = tc->num_levels - band->resolution, slice = 0;

  if (band->orientation == CJ2K_LL || level >= encoder->slices.levels)
    return encoder->slices.count;
  while (encoder->slices.end_pair[level][slice] < block->y + block->height + (rect->y0 & 1))
    slice++;
  return slice;
}

cudaError_t cj2k_cuda_encode_list_slices(Cj2kCudaEncoder *encoder)
{
  Cj2kCudaSlices *slices = &encoder->slices;
  uint32_t n = encoder->plan->num_blocks, next[CJ2K_CUDA_MAX_SLICES + 1];

  divide_rows(encoder);
  if (encoder->blocking)
    return cudaSuccess;
  for (uint32_t b = 0; b < n; b++)
    slices->first_block[slice_of(encoder, b) + 1]++;
  for (uint32_t i = 0; i <= slices->count; i++) {
    next[i] = slices->first_block[i];
    slices->first_block[i + 1] += slices->first_block[i];
  }
  uint32_t *order = g_new(uint32_t, (size_t)n + 1);
  for (uint32_t b = 0; b < n; b++)
    order[next[slice_of(encoder, b)]++] = b;
  cudaError_t result =
      cj2k_cuda_table_set(&encoder->device, &encoder->lists.order, order, n * sizeof *order);
  g_free(order);
  return result;
}
