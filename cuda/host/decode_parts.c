/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames of one tile whose packets come in parts. Of each part the code-blocks are uploaded and
 * decoded, and the rows of each level, of the last one and of the picture that have become possible
 * are made by the kernels of whole frames, all on the slot's stream. The thread waits for them if
 * the rows are handed on at once; else the next part does. Calls cost more than rows, so that all
 * precincts of a part share the launches, which take a range of rows for each entry of their
 * tables.
 */
#include "decode.h"

#include <string.h>

/* ------------------------------------------------------------------------------- begin --- */

/* Sets how far the frame has come: nothing is there. */
static void forget_rows(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeParts *parts = &slot->parts;
  uint32_t planes = slot->output.layout.num_planes, components = slot->tables.plan->num_components;

  cj2k_plan_parts_begin(&parts->rows, slot->tables.plan);
  g_array_set_size(parts->ranges, slot->tables.level_of->len + slot->output.finish_of->len);
  parts->stored = g_renew(uint32_t, parts->stored, components + 1);
  memset(parts->stored, 0, components * sizeof *parts->stored);
  parts->planes = g_renew(Cj2kCudaRows, parts->planes, planes + 1);
  memset(parts->planes, 0, planes * sizeof *parts->planes);
}

/* Waits for the event `done`, after all went well that was enqueued before it (`result`). After a
 * failure no work uses the slot or the picture any more. */
static cudaError_t wait_for_done(Cj2kDecodeSlot *slot, cudaError_t result)
{
  CJ2K_CUDA_TRY(result, cj2k_cuda_wait_briefly(&slot->backend->device, slot->frame.done));
  if (result != cudaSuccess)
    cudaStreamSynchronize(slot->stream);
  return result;
}

Cj2kStatus cj2k_cuda_decode_begin_parts(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                        Cj2kError *error)
{
  bool fills = false;

  slot->parts.active = true;
  slot->parts.unfinished = false;
  Cj2kStatus status = cj2k_cuda_decode_prepare(slot, job, error);
  if (status != CJ2K_OK)
    return status;
  forget_rows(slot);
  slot->parts.timed = cj2k_cuda_times_next(&slot->backend->timeline, false, &slot->frame.frames);
  slot->parts.result.corrupt_blocks = 0;
  if (slot->parts.timed) /* else the times are those of the last frame that was timed */
    slot->parts.result = (Cj2kDecodeResult){0};
  slot->marks.count = 0;
  cudaError_t result =
      cj2k_cuda_follow_picture(slot->stream, job->picture, slot->frame.picture_free);
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_fill_padding(slot, &fills));
  if (fills)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.done, slot->stream));
  if (fills || result != cudaSuccess)
    result = wait_for_done(slot, result);
  return cj2k_cuda_check(&slot->backend->device, result, "beginning a frame in parts", error);
}

/* ------------------------------------------------------------------- what has become possible ---
 */

/* Lists the code-blocks of the precincts, of resolutions that are decoded. */
static void list_blocks(Cj2kDecodeSlot *slot, const Cj2kPacketId *precincts, uint32_t count)
{
  GArray *blocks = slot->parts.blocks;
  uint32_t kept = 0;

  g_array_set_size(blocks, 0);
  for (uint32_t i = 0; i < count; i++)
    cj2k_plan_parts_add(&slot->parts.rows, &precincts[i], blocks);
  for (uint32_t i = 0; i < blocks->len; i++) {
    uint32_t block = g_array_index(blocks, uint32_t, i);
    if (slot->tables.facts[block].has_place)
      g_array_index(blocks, uint32_t, kept++) = block;
  }
  g_array_set_size(blocks, kept);
}

Cj2kCudaRows cj2k_cuda_decode_count_rows(const Cj2kPlanTileComp *tc, const Cj2kRect *rect,
                                         uint32_t first, uint32_t end)
{
  uint32_t odd = tc->reduced_levels ? rect->y0 & 1 : 0;
  return (Cj2kCudaRows){first - rect->y0 + odd, end - rect->y0 + odd};
}

/* Finds the rows of each level but the last. */
static void find_levels(Cj2kDecodeSlot *slot)
{
  const Cj2kPlan *plan = slot->tables.plan;
  Cj2kCudaRows *ranges = (Cj2kCudaRows *)(void *)slot->parts.ranges->data;

  for (uint32_t i = 0; i < slot->tables.level_of->len; i++) {
    const Cj2kCudaLevelOf *of = &g_array_index(slot->tables.level_of, Cj2kCudaLevelOf, i);
    const Cj2kPlanTileComp *tc = &plan->tile_comps[of->tile_comp];
    uint32_t first, end;
    ranges[i] = (Cj2kCudaRows){0, 0};
    if (cj2k_plan_parts_take(&slot->parts.rows, tc, of->r, &first, &end))
      ranges[i] = cj2k_cuda_decode_count_rows(
          tc, &plan->resolutions[tc->first_resolution + of->r].rect, first, end);
  }
}

/* The rows of an entry of the last level, of `count` components from c on. */
static Cj2kCudaRows find_entry(Cj2kDecodeSlot *slot, uint32_t c, uint32_t count)
{
  const Cj2kPlanTileComp *tc = &slot->tables.plan->tile_comps[c];
  uint32_t first = slot->parts.stored[c] + tc->out.y0, end = tc->out.y1;

  for (uint32_t k = 0; k < count; k++)
    end = MIN(end, cj2k_plan_parts_ready(&slot->parts.rows, &tc[k], tc[k].reduced_levels));
  if (first >= end)
    return (Cj2kCudaRows){0, 0};
  for (uint32_t k = 0; k < count; k++)
    slot->parts.stored[c + k] = end - tc->out.y0;
  return cj2k_cuda_decode_count_rows(tc, &tc->out, first, end);
}

/* Finds the rows of the last level. */
static void find_finishes(Cj2kDecodeSlot *slot)
{
  Cj2kCudaRows *ranges = (Cj2kCudaRows *)(void *)slot->parts.ranges->data;
  uint32_t offset = slot->tables.level_of->len;

  for (uint32_t i = 0; i < slot->output.finishes->len; i++) {
    const Cj2kCudaLaunch *l = &g_array_index(slot->output.finishes, Cj2kCudaLaunch, i);
    for (uint32_t n = l->first; n < l->first + l->count; n++)
      ranges[offset + n] = find_entry(slot, g_array_index(slot->output.finish_of, uint32_t, n),
                                      l->kind.three ? 3 : 1);
  }
}

/* Finds the rows of each plane of the picture of which all components are stored. */
static void find_planes(Cj2kDecodeSlot *slot)
{
  Cj2kCudaRows *planes = slot->parts.planes;
  uint32_t put_out = cj2k_cuda_decode_num_put_out(slot);

  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++)
    planes[p] = (Cj2kCudaRows){planes[p].end, slot->output.plane_rows[p]};
  for (uint32_t c = 0; c < put_out; c++) {
    const Cj2kRect *out = &slot->tables.plan->component_out[c];
    Cj2kCudaRows *plane = &planes[slot->output.layout.samples[c].plane];
    if (out->x0 < out->x1 && slot->parts.stored[c] < out->y1 - out->y0)
      plane->end = MIN(plane->end, slot->parts.stored[c]);
  }
}

/* Whether any kernel has to make rows, or any plane gets some. */
static bool any_rows(const Cj2kDecodeSlot *slot)
{
  bool any = false;
  for (uint32_t i = 0; i < slot->parts.ranges->len; i++) {
    const Cj2kCudaRows *range = &g_array_index(slot->parts.ranges, Cj2kCudaRows, i);
    any |= range->first < range->end;
  }
  for (uint32_t p = 0; p < slot->output.layout.num_planes; p++)
    any |= slot->parts.planes[p].first < slot->parts.planes[p].end;
  return any;
}

/* Rows of the reference grid for which all planes are complete. */
static uint32_t complete_rows(const Cj2kDecodeSlot *slot)
{
  uint32_t rows = UINT32_MAX, put_out = cj2k_cuda_decode_num_put_out(slot);

  for (uint32_t c = 0; c < put_out; c++) {
    uint32_t done = slot->parts.planes[slot->output.layout.samples[c].plane].end;
    rows = MIN(rows, cj2k_plan_parts_rows(slot->tables.plan, c, done));
  }
  return rows;
}

/* ------------------------------------------------------------------------------- parts --- */

static cudaError_t enqueue(Cj2kDecodeSlot *slot, const Cj2kCudaDecodePart *part,
                           const Cj2kCudaDecodeBlocks *frame)
{
  cudaStream_t stream = slot->stream;
  const Cj2kCudaRanges ranges = {part->ranges,
                                 (const Cj2kCudaRows *)((const uint8_t *)slot->upload.records.data +
                                                        slot->upload.parts.ranges)};
  cudaError_t result = cj2k_cuda_mark(&slot->marks, NULL, stream);

  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_upload_part(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "upload", stream));
  if (slot->parts.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.uploaded, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_blocks(slot, frame, stream));
  if (slot->parts.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.decoded, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_levels(slot, &ranges, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "idwt", stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_finish(slot, &ranges, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_packs(slot, slot->parts.planes, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "finish", stream));
  if (slot->frame.target->memory != CJ2K_MEMORY_CUDA) {
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_download_rows(slot, slot->parts.planes, 0, stream));
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "download", stream));
  }
  return result;
}

static void add_times(Cj2kDecodeSlot *slot)
{
  float blocks = 0, rest = 0;

  cj2k_cuda_marks_report(&slot->marks);
  if (slot->parts.timed) {
    cudaEventElapsedTime(&blocks, slot->frame.uploaded, slot->frame.decoded);
    cudaEventElapsedTime(&rest, slot->frame.decoded, slot->frame.done);
    slot->parts.result.ms_block_coder += blocks;
    slot->parts.result.ms_transform += rest;
  }
}

bool cj2k_cuda_decode_is_busy(Cj2kDecodeSlot *slot)
{
  if (!slot->parts.unfinished || cudaEventQuery(slot->frame.done) != cudaErrorNotReady)
    return false;
  (void)cudaGetLastError();
  return true;
}

/* Waits for the last part. */
static Cj2kStatus finish_part(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  if (!slot->parts.unfinished)
    return CJ2K_OK;
  slot->parts.unfinished = false;
  Cj2kStatus status = cj2k_cuda_check(&slot->backend->device, wait_for_done(slot, cudaSuccess),
                                      "decoding a part of a frame", error);
  if (status != CJ2K_OK)
    return status;
  add_times(slot);
  cj2k_cuda_decode_copy_out_rows(slot, slot->parts.planes);
  return CJ2K_OK;
}

/* Starts to decode code-blocks and to make rows. */
static Cj2kStatus decode_part(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              const Cj2kCudaDecodePart *part, Cj2kError *error)
{
  Cj2kCudaDecodeBlocks frame = {0};
  Cj2kStatus status = cj2k_cuda_decode_begin_upload(slot, coded, part, error);

  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_fill(slot, coded, part, &frame, error);
  if (status != CJ2K_OK)
    return status;
  cudaError_t result = enqueue(slot, part, &frame);
  CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.done, slot->stream));
  if (result != cudaSuccess)
    cudaStreamSynchronize(slot->stream);
  slot->parts.unfinished = result == cudaSuccess;
  return cj2k_cuda_check(&slot->backend->device, result, "decoding a part of a frame", error);
}

Cj2kStatus cj2k_cuda_decode_add_parts(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                      const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                                      Cj2kError *error)
{
  Cj2kCudaDecodeParts *parts = &slot->parts;
  Cj2kStatus status = finish_part(slot, error);

  if (status != CJ2K_OK)
    return status;
  list_blocks(slot, precincts, count);
  find_levels(slot);
  find_finishes(slot);
  find_planes(slot);
  const Cj2kCudaDecodePart part = {.numbers = (const uint32_t *)(void *)parts->blocks->data,
                                   .count = parts->blocks->len,
                                   .ranges = (const Cj2kCudaRows *)(void *)parts->ranges->data,
                                   .num_ranges = parts->ranges->len};
  if (part.count || any_rows(slot))
    status = decode_part(slot, job->coded, &part, error);
  if (status == CJ2K_OK && rows)
    status = finish_part(slot, error);
  if (status != CJ2K_OK || !rows)
    return status;
  parts->result.corrupt_blocks =
      job->coded->corrupt_blocks + *(const uint32_t *)slot->frame.h_corrupt.data;
  *rows = complete_rows(slot);
  return CJ2K_OK;
}

Cj2kStatus cj2k_cuda_decode_wait_parts(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result,
                                       Cj2kError *error)
{
  Cj2kStatus status = finish_part(slot, error);
  *result = slot->parts.result;
  return status;
}

void cj2k_cuda_decode_parts_init(Cj2kDecodeSlot *slot)
{
  slot->parts.blocks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  slot->parts.ranges = g_array_new(FALSE, FALSE, sizeof(Cj2kCudaRows));
}

void cj2k_cuda_decode_parts_free(Cj2kDecodeSlot *slot)
{
  cj2k_plan_parts_clear(&slot->parts.rows);
  g_array_unref(slot->parts.blocks);
  g_array_unref(slot->parts.ranges);
  g_free(slot->parts.stored);
  g_free(slot->parts.planes);
}
