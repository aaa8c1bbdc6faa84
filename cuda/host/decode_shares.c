/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables of frames that are made in shares: the code-blocks, the rows of each level and the rows of
 * each plane that belong to each share. Kernels take them as those of frames in parts.
 */
#include "decode.h"

#include "common/runtime/spin.h"
#include "streams.h"

/* Is there a band whose code-blocks may be MQ blocks? */
static bool has_mq(const Cj2kPlan *plan)
{
  for (uint32_t b = 0; b < plan->num_bands; b++)
    if ((plan->bands[b].block_style & (CJ2K_STYLE_HT | CJ2K_STYLE_HT_MIXED)) != CJ2K_STYLE_HT)
      return true;
  return false;
}

static Cj2kStatus send_tables(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  size_t ranges = (size_t)shares->count * shares->num_ranges;
  const Cj2kCudaDevice *device = &slot->backend->device;
  cudaError_t result = cudaSuccess;

  if (shares->kind != CJ2K_CUDA_OVERLAY)
    result = cj2k_cuda_table_set(device, &shares->number_table, shares->numbers,
                                 slot->tables.plan->num_blocks * sizeof *shares->numbers);
  CJ2K_CUDA_TRY(result, cj2k_cuda_table_set(device, &shares->range_table, shares->ranges,
                                            ranges * sizeof *shares->ranges));
  return cj2k_cuda_check(device, result, "uploading the tables of shares", error);
}

uint64_t cj2k_cuda_decode_picture_bytes(const Cj2kDecodeSlot *slot)
{
  uint64_t bytes = 0;

  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++)
    bytes += (uint64_t)slot->output.plane_bytes[p] * slot->output.plane_rows[p];
  return bytes;
}

/* Chooses what the shares are and how many. */
static void choose(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;

  shares->count = 1;
  shares->kind = CJ2K_CUDA_SLICES;
  if (slot->backend->component_streams && slot->tables.plan->num_components > 1) {
    shares->kind = CJ2K_CUDA_COMPONENTS;
    shares->count = cj2k_cuda_decode_count_components(slot);
  } else if (slot->backend->device.one_in_flight) {
    cj2k_cuda_decode_choose_slices(slot);
  } else if (cj2k_cuda_decode_may_overlay(slot)) {
    shares->kind = CJ2K_CUDA_OVERLAY;
    cj2k_cuda_decode_choose_overlay(slot);
  }
}

Cj2kStatus cj2k_cuda_decode_set_shares(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  const Cj2kPlan *plan = slot->tables.plan;
  Cj2kCudaDecodeShares *shares = &slot->shares;
  uint32_t planes = slot->output.layout.num_planes;

  for (uint32_t k = 0; k < CJ2K_CUDA_DECODE_SHARES; k++)
    cj2k_cuda_graph_forget(&shares->transforms[k]);
  choose(slot);
  if (shares->count == 1)
    return CJ2K_OK;
  shares->has_mq = has_mq(plan);
  shares->num_ranges = slot->tables.level_of->len + slot->output.finish_of->len;
  if (shares->kind != CJ2K_CUDA_OVERLAY)
    shares->numbers = g_renew(uint32_t, shares->numbers, (size_t)plan->num_blocks + 1);
  shares->ranges =
      g_renew(Cj2kCudaRows, shares->ranges, (size_t)shares->count * shares->num_ranges + 1);
  shares->planes = g_renew(Cj2kCudaRows, shares->planes, (size_t)shares->count * planes + 1);
  if (shares->kind == CJ2K_CUDA_COMPONENTS)
    cj2k_cuda_decode_find_components(slot);
  else
    cj2k_cuda_decode_find_slices(slot);
  return send_tables(slot, error);
}

void cj2k_cuda_decode_list_groups(Cj2kDecodeSlot *slot, const uint8_t *group)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  uint32_t count = slot->tables.plan->num_blocks, next[CJ2K_CUDA_DECODE_SHARES + 1] = {0};

  for (uint32_t b = 0; b < count; b++)
    next[group[b] + 1]++;
  for (uint32_t g = 0; g < CJ2K_CUDA_DECODE_SHARES; g++) {
    next[g + 1] += next[g];
    shares->group_ends[g] = next[g + 1];
  }
  for (uint32_t b = 0; b < count; b++)
    shares->numbers[next[group[b]]++] = b;
}

/* Slices are not used in a crowded process, where each call into the driver holds up others, nor
 * for a picture with a stream of its own, which is handed out before it is complete. */
bool cj2k_cuda_decode_has_shares(const Cj2kDecodeSlot *slot)
{
  const Cj2kPicture *target = slot->frame.target;

  if (slot->shares.count == 1 || slot->shares.kind == CJ2K_CUDA_OVERLAY)
    return false;
  if (slot->shares.kind == CJ2K_CUDA_COMPONENTS)
    return true;
  return target->memory != CJ2K_MEMORY_CUDA && !target->cuda_stream &&
         (cj2k_backend_test.slices || !cj2k_spin_crowded());
}

/* Components are groups. Of slices the blocks of the first one are a group, and all others, which
 * take as long as their longest block. MQ blocks stay together: they take longer than all else. */
Cj2kCudaDecodePart cj2k_cuda_decode_all_shares(const Cj2kDecodeSlot *slot)
{
  const Cj2kCudaDecodeShares *shares = &slot->shares;
  return (Cj2kCudaDecodePart){.numbers = shares->numbers,
                              .d_numbers = cj2k_cuda_table_data(shares->number_table),
                              .count = slot->tables.plan->num_blocks,
                              .group_ends = shares->group_ends,
                              .num_groups = shares->kind == CJ2K_CUDA_COMPONENTS ? shares->count
                                            : shares->has_mq                     ? 1
                                                                                 : 2,
                              .in_codestream = true};
}

Cj2kCudaRanges cj2k_cuda_decode_share_ranges(const Cj2kDecodeSlot *slot, uint32_t share)
{
  size_t first = (size_t)share * slot->shares.num_ranges;
  return (Cj2kCudaRanges){
      .host = slot->shares.ranges + first,
      .device = (const Cj2kCudaRows *)cj2k_cuda_table_data(slot->shares.range_table) + first,
      .set = slot->shares.kind == CJ2K_CUDA_OVERLAY ? share : 0};
}

const Cj2kCudaRows *cj2k_cuda_decode_share_planes(const Cj2kDecodeSlot *slot, uint32_t share)
{
  return slot->shares.planes + (size_t)share * slot->output.layout.num_planes;
}

cudaError_t cj2k_cuda_decode_shares_init(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  Cj2kCudaEngine *engine = slot->backend->device.engine;
  cudaError_t result = cudaSuccess;

  bool components = slot->backend->component_streams;

  shares->count = 1;
  if (!slot->backend->device.one_in_flight && !components)
    return cudaSuccess;
  for (uint32_t k = 0; k < CJ2K_CUDA_DECODE_SHARES; k++) {
    if (k < 2 || components)
      CJ2K_CUDA_TRY(result, cj2k_cuda_take_stream(engine, 0, &shares->streams[k]));
    CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&shares->made[k], cudaEventDisableTiming));
    CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&shares->decoded[k], cudaEventDisableTiming));
    CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&shares->ended[k], cudaEventDisableTiming));
  }
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&shares->uploaded, cudaEventDisableTiming));
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&shares->writable, cudaEventDisableTiming));
  return result;
}

void cj2k_cuda_decode_shares_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;

  for (uint32_t k = 0; k < CJ2K_CUDA_DECODE_SHARES; k++) {
    cj2k_cuda_graph_free(&shares->transforms[k]);
    cj2k_cuda_destroy_event(shares->made[k]);
    cj2k_cuda_destroy_event(shares->decoded[k]);
    cj2k_cuda_destroy_event(shares->ended[k]);
    cj2k_cuda_give_stream(slot->backend->device.engine, shares->streams[k]);
  }
  cj2k_cuda_destroy_event(shares->uploaded);
  cj2k_cuda_destroy_event(shares->writable);
  cj2k_cuda_table_clear(&shares->number_table);
  cj2k_cuda_table_clear(&shares->range_table);
  g_free(shares->numbers);
  g_free(shares->ranges);
  g_free(shares->planes);
}
