/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slices of a frame. With one frame in flight a picture in host memory is made in slices of rows,
 * from the top: while one is downloaded, the next is made. The bus takes longest, so that it should
 * begin early and then not wait.
 *
 *   blocks of slice 0 -> levels -> last level -> blocks of the others are there -> slice 1 -> ...
 *   blocks of all other slices  |                                               |
 *                               +-> download of slice 0 ----------------------- +-> of slice 1 ...
 *
 * HT blocks take as long as the longest MEL and VLC segment, however many they are, but the few of
 * the first slice have warps of their own and wait less for each other, and their MagSgn segments
 * are decoded beside them. The host lists them first, and the others while the GPU decodes these.
 */
#include "decode.h"

#define HALO 4 /* rows of a level on which its rows depend, upwards and downwards (T.800 F.3.8) */

/* Bytes of a picture for a further slice: a slice costs some calls and copies. */
#define SLICE_BYTES ((uint64_t)4 << 20)
#define MOST_SLICES 3

/* The rows above the end of each slice, in 64ths of the picture, by the number of slices. The first
 * one is small, because nothing is downloaded while it is made, and its download lasts as long as
 * the next one takes. */
static const uint8_t ends[][4] = {{0}, {64}, {16, 64}, {12, 32, 64}, {4, 16, 32, 64}};

/* The rows that slices need up to their ends, absolute, by resolution of a tile-component. */
typedef struct {
  uint32_t image[CJ2K_MAX_LEVELS + 1]; /* of its image */
  uint32_t bands[CJ2K_MAX_LEVELS + 1]; /* of its bands */
} Needs;

/* ------------------------------------------------------------------------------ tables --- */

/* Rows of component c above the end of slice k. */
static uint32_t component_end(const Cj2kDecodeSlot *slot, uint32_t c, uint32_t k)
{
  const Cj2kRect *out = &slot->tables.plan->component_out[c];
  uint64_t rows = out->y1 - out->y0;
  return (uint32_t)(rows * slot->shares.ends[k] / 64);
}

uint32_t cj2k_cuda_decode_slice_end(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc,
                                    uint32_t k)
{
  uint64_t end = (uint64_t)slot->tables.plan->component_out[tc->component].y0 +
                 component_end(slot, tc->component, k);
  return (uint32_t)CLAMP(end, tc->out.y0, tc->out.y1);
}

static void find_needs(const Cj2kDecodeSlot *slot, const Cj2kPlanTileComp *tc, uint32_t k,
                       Needs *needs)
{
  uint32_t end = cj2k_cuda_decode_slice_end(slot, tc, k);

  for (uint32_t r = tc->reduced_levels;; r--) {
    const Cj2kPlanResolution *res = &slot->tables.plan->resolutions[tc->first_resolution + r];
    const Cj2kRect *rect = &res->rect;
    uint32_t next = end <= rect->y0   ? 0
                    : end >= rect->y1 ? UINT32_MAX
                                      : (uint32_t)(((uint64_t)end + HALO + 1) / 2);
    needs->image[r] = CLAMP(end, rect->y0, rect->y1);
    needs->bands[r] = r ? next : end;
    if (r == 0)
      return;
    end = next;
  }
}

/* Does the first slice need a code-block? */
static bool is_first(const Cj2kDecodeSlot *slot, const Needs *needs, uint32_t b)
{
  const Cj2kPlan *plan = slot->tables.plan;
  const Cj2kPlanBlock *block = &plan->blocks[b];
  const Cj2kPlanBand *band = &plan->bands[block->band];
  const Needs *first = &needs[(size_t)band->tile_comp * slot->shares.count];

  return slot->tables.facts[b].has_place &&
         band->rect.y0 + block->y < first->bands[band->resolution];
}

/* Lists the code-blocks of the first slice, then those of the others; MQ blocks stay together. */
static void list_blocks(Cj2kDecodeSlot *slot, const Needs *needs)
{
  uint32_t count = slot->tables.plan->num_blocks;
  uint8_t *group = g_new0(uint8_t, (size_t)count + 1);

  for (uint32_t b = 0; b < count && !slot->shares.has_mq; b++)
    group[b] = !is_first(slot, needs, b);
  cj2k_cuda_decode_list_groups(slot, group);
  g_free(group);
}

/* The rows that a slice adds to an image that had rows up to `before`, as kernels count them. */
static Cj2kCudaRows rows_between(const Cj2kPlanTileComp *tc, uint32_t r, const Cj2kRect *rect,
                                 const Needs *before, const Needs *needs)
{
  uint32_t first = before ? before->image[r] : rect->y0, end = needs->image[r];
  return first < end ? cj2k_cuda_decode_count_rows(tc, rect, first, end) : (Cj2kCudaRows){0, 0};
}

/* Finds the rows of each entry of the tables of levels and of the last level. */
static void find_ranges(Cj2kDecodeSlot *slot, const Needs *needs)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t count = slot->shares.count, levels = slot->tables.level_of->len, n = 0;
  uint32_t entries = slot->shares.num_ranges;

  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < entries; i++) {
      Cj2kCudaLevelOf of =
          i < levels
              ? g_array_index(slot->tables.level_of, Cj2kCudaLevelOf, i)
              : (Cj2kCudaLevelOf){g_array_index(slot->output.finish_of, uint32_t, i - levels), 0};
      const Cj2kPlanTileComp *tc = &plan->tile_comps[of.tile_comp];
      const Needs *own = &needs[(size_t)of.tile_comp * count + k];
      uint32_t r = i < levels ? of.r : tc->reduced_levels;
      slot->shares.ranges[n++] = rows_between(
          tc, r, &plan->resolutions[tc->first_resolution + r].rect, k ? own - 1 : NULL, own);
    }
}

/* Finds the rows of each plane of which all components are stored with a slice. */
static void find_planes(Cj2kDecodeSlot *slot)
{
  uint32_t planes = slot->output.layout.num_planes, put_out = cj2k_cuda_decode_num_put_out(slot);

  for (uint32_t k = 0; k < slot->shares.count; k++) {
    Cj2kCudaRows *rows = &slot->shares.planes[(size_t)k * planes];
    for (uint32_t p = 0; p < planes; p++)
      rows[p] = (Cj2kCudaRows){k ? rows[(int64_t)p - planes].end : 0, slot->output.plane_rows[p]};
    for (uint32_t c = 0; c < put_out && k + 1 < slot->shares.count; c++) {
      uint32_t p = slot->output.layout.samples[c].plane;
      rows[p].end = MIN(rows[p].end, component_end(slot, c, k));
    }
  }
}

void cj2k_cuda_decode_choose_slices(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;

  if (cj2k_backend_test.slices)
    shares->count = MIN(cj2k_backend_test.slices, G_N_ELEMENTS(ends) - 1);
  else
    shares->count =
        (uint32_t)CLAMP(cj2k_cuda_decode_picture_bytes(slot) / SLICE_BYTES, 1, MOST_SLICES);
  shares->ends = ends[shares->count];
}

void cj2k_cuda_decode_find_slices(Cj2kDecodeSlot *slot)
{
  const Cj2kPlan *plan = slot->tables.plan;
  uint32_t count = slot->shares.count;
  Needs *needs = g_new(Needs, (size_t)plan->num_tile_comps * count + 1);

  for (uint32_t i = 0; i < plan->num_tile_comps; i++)
    for (uint32_t k = 0; k < count; k++)
      find_needs(slot, &plan->tile_comps[i], k, &needs[(size_t)i * count + k]);
  if (slot->shares.kind == CJ2K_CUDA_SLICES)
    list_blocks(slot, needs);
  find_ranges(slot, needs);
  find_planes(slot);
  g_free(needs);
}

/* ----------------------------------------------------------------------------- launches --- */

/* Kernels from the coefficients to the picture, of the current slice. */
static cudaError_t launch_transform(void *ctx)
{
  Cj2kDecodeSlot *slot = ctx;
  cudaStream_t stream = slot->stream;
  uint32_t k = slot->shares.current;
  const Cj2kCudaRanges ranges = cj2k_cuda_decode_share_ranges(slot, k);
  cudaError_t result = cj2k_cuda_decode_levels(slot, &ranges, stream);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "idwt", stream));
  if (k == 0)
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_fill_padding(slot, NULL));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_finish(slot, &ranges, stream));
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_decode_packs(slot, cj2k_cuda_decode_share_planes(slot, k), stream));
  return result;
}

/* Fills in the blocks of the first group, or of all, and enqueues their upload. */
static Cj2kStatus send_first(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                             const Cj2kCudaDecodePart *all, Cj2kCudaDecodeBlocks *first,
                             Cj2kError *error)
{
  Cj2kStatus status = cj2k_cuda_decode_begin_upload(slot, coded, all, error);

  if (status == CJ2K_OK && slot->shares.has_mq)
    status = cj2k_cuda_decode_fill(slot, coded, all, first, error);
  else if (status == CJ2K_OK)
    cj2k_cuda_decode_fill_group(slot, coded, all, 0, first);
  if (status != CJ2K_OK)
    return status;
  cudaError_t result = cj2k_cuda_decode_upload(slot);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, NULL, slot->stream));
  CJ2K_CUDA_TRY(result, cudaEventRecord(slot->shares.uploaded, slot->stream));
  if (slot->frame.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.uploaded, slot->stream));
  return cj2k_cuda_check(&slot->backend->device, result, "uploading a frame", error);
}

/* The blocks of all slices but the first, on their stream. Their records need not wait for the
 * codestream. */
static cudaError_t decode_others(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                 const Cj2kCudaDecodePart *all)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  cudaStream_t stream = shares->streams[1];
  Cj2kCudaDecodeBlocks beside = {0};

  cj2k_cuda_decode_fill_group(slot, coded, all, 1, &beside);
  beside.aim = CJ2K_CUDA_AIM_LEAVE_ROOM;
  cudaError_t result = cj2k_cuda_decode_send(slot, SIZE_MAX, stream);
  CJ2K_CUDA_TRY(result, cudaStreamWaitEvent(stream, shares->uploaded, 0));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, NULL, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_blocks(slot, &beside, stream));
  CJ2K_CUDA_TRY(result, cudaEventRecord(shares->decoded[1], stream));
  return result;
}

/* All blocks have been decoded, for which the second slice waits. */
static cudaError_t join_blocks(Cj2kDecodeSlot *slot)
{
  cudaError_t result = cudaSuccess;

  if (!slot->shares.has_mq)
    result = cudaStreamWaitEvent(slot->stream, slot->shares.decoded[1], 0);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, CJ2K_CUDA_BEGIN, slot->stream));
  if (slot->frame.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.decoded, slot->stream));
  return result;
}

/* Enqueues the download of slice k, when it has been made. */
static cudaError_t download(Cj2kDecodeSlot *slot, uint32_t k)
{
  cudaStream_t stream = slot->shares.streams[0];
  cudaError_t result = cudaEventRecord(slot->shares.made[k], slot->stream);
  CJ2K_CUDA_TRY(result, cudaStreamWaitEvent(stream, slot->shares.made[k], 0));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, CJ2K_CUDA_BEGIN, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_download_rows(slot, cj2k_cuda_decode_share_planes(slot, k),
                                                       0, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "download", stream));
  return result;
}

Cj2kStatus cj2k_cuda_decode_slices(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                                   Cj2kError *error)
{
  Cj2kCudaDecodeShares *shares = &slot->shares;
  const Cj2kCudaDecodePart all = cj2k_cuda_decode_all_shares(slot);
  Cj2kCudaDecodeBlocks first = {0};
  Cj2kStatus status = send_first(slot, coded, &all, &first, error);

  if (status != CJ2K_OK)
    return status;
  cudaError_t result = cj2k_cuda_decode_blocks(slot, &first, slot->stream);
  if (!shares->has_mq)
    CJ2K_CUDA_TRY(result, decode_others(slot, coded, &all));
  for (uint32_t k = 0; k < shares->count && result == cudaSuccess; k++) {
    if (k == 1)
      result = join_blocks(slot);
    shares->current = k;
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_run(slot, &shares->transforms[k], launch_transform));
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "finish", slot->stream));
    CJ2K_CUDA_TRY(result, download(slot, k));
  }
  CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.done, shares->streams[0]));
  return cj2k_cuda_check(&slot->backend->device, result, "decoding a frame", error);
}
