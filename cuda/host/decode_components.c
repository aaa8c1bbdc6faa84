/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * component-streams=on: each component has a stream, on which its code-blocks are decoded, its
 * levels made and its plane downloaded. The streams join where a component transform or a plane
 * needs several components: the last of these waits for the others and does the rest. From the
 * fourth component on they share a stream.
 */
#include "decode.h"

/* The share of a component. */
static uint32_t share_of(const Cj2kDecodeSlot *slot, uint32_t c)
{
  return MIN(c, slot->shares.count - 1);
}

uint32_t cj2k_cuda_decode_count_components(const Cj2kDecodeSlot *slot)
{
  return MIN(slot->tables.plan->num_components, CJ2K_CUDA_DECODE_SHARES);
}

/* ------------------------------------------------------------------------------ tables --- */

static void list_blocks(Cj2kDecodeSlot *slot)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint8_t *group = g_new(uint8_t, (size_t)plan->num_blocks + 1);

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kPlanBand *band = &plan->bands[plan->blocks[b].band];
    group[b] = (uint8_t)share_of(slot, plan->tile_comps[band->tile_comp].component);
  }
  cj2k_cuda_decode_list_groups(slot, group);
  g_free(group);
}

/* Gives all rows of an entry, an image of resolution r, to a share. */
static void give_entry(Cj2kDecodeSlot *slot, uint32_t entry, uint32_t tile_comp, uint32_t r,
                       uint32_t share)
{
  const Cj2kPlanTileComp *tc = &slot->tables.plan->tile_comps[tile_comp];
  const Cj2kRect *rect = &slot->tables.plan->resolutions[tc->first_resolution + r].rect;

  for (uint32_t k = 0; k < slot->shares.count; k++)
    slot->shares.ranges[(size_t)k * slot->shares.num_ranges + entry] =
        k == share ? cj2k_cuda_decode_count_rows(tc, rect, rect->y0, rect->y1)
                   : (Cj2kCudaRows){0, 0};
}

/* Finds the share of each entry of the tables; *joined: there is a component transform. */
static void find_ranges(Cj2kDecodeSlot *slot, bool *joined)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t levels = slot->tables.level_of->len;

  for (uint32_t i = 0; i < levels; i++) {
    const Cj2kCudaLevelOf *of = &g_array_index(slot->tables.level_of, Cj2kCudaLevelOf, i);
    give_entry(slot, i, of->tile_comp, of->r,
               share_of(slot, plan->tile_comps[of->tile_comp].component));
  }
  *joined = false;
  for (uint32_t i = 0; i < slot->output.finishes->len; i++) {
    const Cj2kCudaLaunch *l = &g_array_index(slot->output.finishes, Cj2kCudaLaunch, i);
    for (uint32_t n = l->first; n < l->first + l->count; n++) {
      uint32_t of = g_array_index(slot->output.finish_of, uint32_t, n);
      const Cj2kPlanTileComp *tc = &plan->tile_comps[of];
      give_entry(slot, levels + n, of, tc->reduced_levels,
                 share_of(slot, tc->component + (l->kind.three ? 2 : 0)));
    }
    *joined |= l->kind.three;
  }
}

/* Finds the share that stores each plane, and for which ones it waits. */
static void find_planes(Cj2kDecodeSlot *slot, bool joined)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  uint32_t planes = slot->output.layout.num_planes, put_out = cj2k_cuda_decode_num_put_out(slot);

  for (uint32_t k = 0; k < shares->count; k++)
    shares->waits[k] = joined && k == share_of(slot, 2) ? (1u << k) - 1 : 0;
  for (uint32_t p = 0; p < planes; p++) {
    uint32_t last = 0, needed = 0;
    for (uint32_t c = 0; c < put_out; c++)
      if (slot->output.layout.samples[c].plane == p) {
        uint32_t share = share_of(slot, joined && c < 3 ? 2 : c);
        needed |= 1u << share;
        last = MAX(last, share);
      }
    shares->waits[last] |= needed & ~(1u << last);
    for (uint32_t k = 0; k < shares->count; k++)
      shares->planes[(size_t)k * planes + p] =
          (Cj2kCudaRows){0, k == last ? slot->output.plane_rows[p] : 0};
  }
}

void cj2k_cuda_decode_find_components(Cj2kDecodeSlot *slot)
{
  bool joined;

  list_blocks(slot);
  find_ranges(slot, &joined);
  find_planes(slot, joined);
}

/* ----------------------------------------------------------------------------- launches --- */

/* The last level of share k, packing and download. */
static cudaError_t store(Cj2kDecodeSlot *slot, uint32_t k)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  cudaStream_t stream = shares->streams[k];
  const Cj2kCudaRanges ranges = cj2k_cuda_decode_share_ranges(slot, k);
  const Cj2kCudaRows *planes = cj2k_cuda_decode_share_planes(slot, k);
  cudaError_t result = cudaStreamWaitEvent(stream, shares->writable, 0);

  for (uint32_t j = 0; j < k; j++)
    if (shares->waits[k] & 1u << j)
      CJ2K_CUDA_TRY(result, cudaStreamWaitEvent(stream, shares->made[j], 0));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_finish(slot, &ranges, stream));
  CJ2K_CUDA_TRY(result, cudaEventRecord(shares->made[k], stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_packs(slot, planes, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "finish", stream));
  if (result == cudaSuccess && slot->frame.target->memory != CJ2K_MEMORY_CUDA) {
    result = cj2k_cuda_decode_download_rows(slot, planes, 0, stream);
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "download", stream));
  }
  CJ2K_CUDA_TRY(result, cudaEventRecord(shares->ended[k], stream));
  return result;
}

/* Makes the slot's stream wait for one event of each share. */
static cudaError_t join(Cj2kDecodeSlot *slot, const cudaEvent_t *events)
{
  cudaError_t result = cudaSuccess;
  for (uint32_t k = 0; k < slot->shares.count; k++)
    CJ2K_CUDA_TRY(result, cudaStreamWaitEvent(slot->stream, events[k], 0));
  return result;
}

cudaError_t cj2k_cuda_decode_components(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frames)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  cudaError_t result = cudaEventRecord(shares->uploaded, slot->stream);

  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_follow_picture(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_fill_padding(slot, NULL));
  CJ2K_CUDA_TRY(result, cudaEventRecord(shares->writable, slot->stream));
  for (uint32_t k = 0; k < shares->count && result == cudaSuccess; k++) {
    cudaStream_t stream = shares->streams[k];
    const Cj2kCudaRanges ranges = cj2k_cuda_decode_share_ranges(slot, k);
    result = cudaStreamWaitEvent(stream, shares->uploaded, 0);
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_blocks(slot, &frames[k], stream));
    CJ2K_CUDA_TRY(result, cudaEventRecord(shares->decoded[k], stream));
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_levels(slot, &ranges, stream));
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "idwt", stream));
    CJ2K_CUDA_TRY(result, store(slot, k));
  }
  if (slot->frame.timed || slot->frame.target->cuda_stream) {
    CJ2K_CUDA_TRY(result, join(slot, shares->decoded));
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.decoded, slot->stream));
  }
  CJ2K_CUDA_TRY(result, join(slot, shares->ended));
  return result;
}
