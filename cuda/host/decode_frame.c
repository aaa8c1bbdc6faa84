/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode.h"

#include <string.h>

/* ------------------------------------------------------------------------------ launch --- */

typedef struct {
  cudaError_t (*launch)(const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream);
  const char *stage;
} Kernel;

static cudaError_t launch_kernels(Cj2kDecodeSlot *slot, const Kernel *kernels, size_t count,
                                  const Cj2kCudaDecodeBlocks *frame, cudaStream_t stream)
{
  cudaError_t result = cudaSuccess;

  for (size_t i = 0; i < count && result == cudaSuccess; i++) {
    result = kernels[i].launch(frame, stream);
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, kernels[i].stage, stream));
  }
  return result;
}

cudaError_t cj2k_cuda_decode_blocks(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frame,
                                    cudaStream_t stream)
{
  /* MagSgn also zeroes blocks without data. */
  static const Kernel joint[] = {{cj2k_cuda_ht_decode_joint, "cleanup"}};
  static const Kernel apart[] = {{cj2k_cuda_ht_decode_quads, "quads"},
                                 {cj2k_cuda_ht_decode_magsgn, "magsgn"}};
  static const Kernel rest[] = {{cj2k_cuda_ht_decode_refine, "refine"},
                                {cj2k_cuda_mq_decode, "mq"}};
  cudaError_t result = cj2k_cuda_ht_is_joint(frame)
                           ? launch_kernels(slot, joint, G_N_ELEMENTS(joint), frame, stream)
                           : launch_kernels(slot, apart, G_N_ELEMENTS(apart), frame, stream);

  CJ2K_CUDA_TRY(result, launch_kernels(slot, rest, G_N_ELEMENTS(rest), frame, stream));
  return result;
}

/* MQ blocks are decoded after HT blocks, so that both may have the same memory. */
void *cj2k_cuda_decode_workspace(const Cj2kDecodeSlot *slot, uint64_t size)
{
  const Cj2kCudaMemory *later[] = {&slot->tables.lowpass, &slot->output.sample_planes};
  for (size_t i = 0; i < G_N_ELEMENTS(later) && slot->frame.blocks_first; i++)
    if (later[i]->data && size <= later[i]->size)
      return later[i]->data;
  return NULL;
}

static Cj2kStatus place_quads(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  cudaError_t result = cudaSuccess;
  slot->frame.quads = cj2k_cuda_decode_workspace(slot, slot->tables.quads_size);
  if (!slot->frame.quads) {
    result =
        cj2k_cuda_reserve(&slot->backend->device, &slot->tables.quads, slot->tables.quads_size);
    slot->frame.quads = slot->tables.quads.data;
  }
  return cj2k_cuda_check(&slot->backend->device, result, "memory for quad records", error);
}

/* The last level: of all rows, or of the slices of a picture that lies over coefficients. */
static cudaError_t finish(Cj2kDecodeSlot *slot)
{
  uint32_t sets = cj2k_cuda_decode_num_sets(slot);
  cudaError_t result = cudaSuccess;
  if (sets == 1)
    return cj2k_cuda_decode_finish(slot, NULL, slot->stream);
  for (uint32_t k = 0; k < sets; k++) {
    const Cj2kCudaRanges ranges = cj2k_cuda_decode_share_ranges(slot, k);
    CJ2K_CUDA_TRY(result, cj2k_cuda_decode_finish(slot, &ranges, slot->stream));
  }
  return result;
}

/* Kernels from the coefficients to the picture. */
cudaError_t cj2k_cuda_decode_transform(void *ctx)
{
  Cj2kDecodeSlot *slot = ctx;
  cudaError_t result = cj2k_cuda_decode_levels(slot, NULL, slot->stream);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "idwt", slot->stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_fill_padding(slot, NULL));
  CJ2K_CUDA_TRY(result, finish(slot));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_packs(slot, NULL, slot->stream));
  return result;
}

/* What the launches depend on, beside the tables. */
static void follow_picture(Cj2kDecodeSlot *slot, Cj2kCudaGraph *graph)
{
  uint64_t records = (uintptr_t)slot->upload.records.data;
  GArray *key = g_array_new(FALSE, FALSE, sizeof records);
  g_array_append_val(key, records);
  cj2k_cuda_decode_add_outputs(slot, key);
  cj2k_cuda_graph_follow(graph, (const uint64_t *)(const void *)key->data, key->len);
  g_array_unref(key);
}

/* A picture on the device mostly has another place in each frame. A timeline has marks between the
 * kernels. */
cudaError_t cj2k_cuda_decode_run(Cj2kDecodeSlot *slot, Cj2kCudaGraph *graph,
                                 Cj2kCudaLaunches launches)
{
  if (slot->frame.target->memory == CJ2K_MEMORY_CUDA || slot->backend->timeline.trace)
    return launches(slot);
  follow_picture(slot, graph);
  return cj2k_cuda_graph_run(graph, slot->stream, launches, slot);
}

/* From the block decoders to the download, for all rows at once. */
static cudaError_t decode_whole(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frame)
{
  cudaStream_t stream = slot->stream;
  cudaError_t result = cj2k_cuda_decode_blocks(slot, frame, stream);
  if (slot->frame.timed || slot->frame.target->cuda_stream)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.decoded, stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_follow_picture(slot));
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_decode_run(slot, &slot->frame.transform, cj2k_cuda_decode_transform));
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "finish", stream));
  if (result == cudaSuccess && slot->frame.target->memory != CJ2K_MEMORY_CUDA) {
    result = cj2k_cuda_decode_download(slot);
    CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, "download", stream));
  }
  return result;
}

/* Launches stage by stage what a frame needs whose blocks are filled in before: that of a whole
 * frame, or of components. */
static cudaError_t launch_stages(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *frames,
                                 bool in_shares)
{
  cudaStream_t stream = slot->stream;
  cudaError_t result = cj2k_cuda_decode_upload(slot);
  CJ2K_CUDA_TRY(result, cj2k_cuda_mark(&slot->marks, NULL, stream));
  if (slot->frame.timed)
    CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.uploaded, stream));
  CJ2K_CUDA_TRY(result,
                in_shares ? cj2k_cuda_decode_components(slot, frames) : decode_whole(slot, frames));
  return result;
}

static cudaError_t enqueue(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *frames, bool in_shares)
{
  cudaError_t result = slot->frame.is_once ? cj2k_cuda_decode_once(slot, frames)
                                           : launch_stages(slot, frames, in_shares);
  cudaStream_t stream = slot->stream;

  CJ2K_CUDA_TRY(result, cudaEventRecord(slot->frame.done, stream));
  if (slot->frame.target->cuda_stream)
    CJ2K_CUDA_TRY(result,
                  cudaStreamWaitEvent(slot->frame.target->cuda_stream, slot->frame.done, 0));
  return result;
}

/* Starts a frame as a whole, or in components. */
static Cj2kStatus start_at_once(Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded, bool in_shares,
                                Cj2kError *error)
{
  Cj2kCudaDecodeBlocks frames[CJ2K_CUDA_DECODE_SHARES] = {{0}};
  Cj2kCudaDecodePart shares = {0}, *part = NULL;
  if (in_shares) {
    shares = cj2k_cuda_decode_all_shares(slot);
    part = &shares;
  }
  Cj2kStatus status = cj2k_cuda_decode_begin_upload(slot, coded, part, error);
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_fill(slot, coded, part, frames, error);
  if (status != CJ2K_OK)
    return status;
  slot->frame.is_once = cj2k_cuda_decode_is_once(slot, coded, frames);
  return cj2k_cuda_check(&slot->backend->device, enqueue(slot, frames, in_shares),
                         "decoding a frame", error);
}

/* Waits for a frame that was handed out unfinished: its kernels may still read tables and records.
 */
static Cj2kStatus finish_last(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  if (!slot->frame.unfinished)
    return CJ2K_OK;
  slot->frame.unfinished = false;
  return cj2k_cuda_check(&slot->backend->device,
                         cj2k_cuda_wait(&slot->backend->device, slot->frame.done,
                                        slot->backend->device.one_in_flight, NULL),
                         "finishing the frame before", error);
}

/* Decides how the frame is made. MQ blocks of slices are one group, before the first slice. */
static void choose_way(Cj2kDecodeSlot *slot)
{
  const Cj2kCudaDecodeShares *shares = &slot->shares;
  slot->frame.in_shares = !slot->parts.active && cj2k_cuda_decode_has_shares(slot);
  slot->frame.blocks_first =
      !slot->parts.active &&
      (!slot->frame.in_shares || (shares->kind != CJ2K_CUDA_COMPONENTS && shares->has_mq));
}

/* Which blocks are zeros is not known while pictures lie over coefficients. */
static Cj2kStatus know_zeros(Cj2kDecodeSlot *slot, Cj2kError *error)
{
  Cj2kCudaDecodeTables *tables = &slot->tables;
  cudaError_t result = cudaSuccess;
  if (!tables->zeros_valid && !slot->frame.is_over)
    result = cudaMemsetAsync(tables->zeros.data, 0, tables->zeros.size, slot->stream);
  tables->zeros_valid = result == cudaSuccess && !slot->frame.is_over;
  return cj2k_cuda_check(&slot->backend->device, result, "clearing a table", error);
}

Cj2kStatus cj2k_cuda_decode_prepare(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                    Cj2kError *error)
{
  bool is_new = false;
  slot->frame.target = job->picture;
  slot->frame.is_once = false;
  Cj2kStatus status = finish_last(slot, error);
  if (status == CJ2K_OK && slot->tables.plan != job->plan)
    status = cj2k_cuda_decode_set_plan(slot, job->plan, &is_new, error);
  if (status == CJ2K_OK && (is_new || !slot->output.layout.samples ||
                            !cj2k_layout_equal(&slot->output.layout, job->layout))) {
    slot->frame.is_placed = false;
    cj2k_cuda_graph_forget(&slot->frame.transform);
    for (uint32_t i = 0; i < G_N_ELEMENTS(slot->frame.once); i++)
      cj2k_cuda_graph_forget(&slot->frame.once[i]);
    status = cj2k_cuda_decode_set_layout(slot, job->layout, error);
  }
  if (status == CJ2K_OK)
    status = cj2k_cuda_decode_place_picture(slot, job->picture, error);
  if (status == CJ2K_OK) {
    choose_way(slot);
    slot->frame.may_once = cj2k_cuda_decode_may_once(slot);
    status = place_quads(slot, error);
  }
  if (status == CJ2K_OK)
    status = know_zeros(slot, error);
  *(uint32_t *)slot->frame.h_corrupt.data = 0; /* kernels of the frame before have finished */
  return status;
}

bool cj2k_cuda_decode_synchronize(Cj2kDecodeSlot *slot)
{
  bool all = true;
  if (slot->stream)
    all = cudaStreamSynchronize(slot->stream) == cudaSuccess;
  for (uint32_t k = 0; k < CJ2K_CUDA_DECODE_SHARES; k++)
    if (slot->shares.streams[k])
      all &= cudaStreamSynchronize(slot->shares.streams[k]) == cudaSuccess;
  return all;
}

Cj2kStatus cj2k_cuda_decode_start(Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job, Cj2kError *error)
{
  slot->parts.active = false;
  slot->frame.corrupt_before = job->coded->corrupt_blocks;
  Cj2kStatus status = cj2k_cuda_decode_prepare(slot, job, error);
  if (status != CJ2K_OK) {
    cj2k_cuda_decode_abandon(slot);
    return status;
  }
  bool in_shares = slot->frame.in_shares;
  slot->frame.timed =
      cj2k_cuda_times_next(&slot->backend->timeline, slot->frame.may_once, &slot->frame.frames);
  status = in_shares && slot->shares.kind == CJ2K_CUDA_SLICES
               ? cj2k_cuda_decode_slices(slot, job->coded, error)
               : start_at_once(slot, job->coded, in_shares, error);
  if (status != CJ2K_OK) { /* enqueued work may still use the slot */
    cj2k_cuda_decode_abandon(slot);
    (void)cj2k_cuda_decode_synchronize(slot);
  }
  return status;
}

Cj2kStatus cj2k_cuda_decode_wait(Cj2kDecodeSlot *slot, Cj2kDecodeResult *result, Cj2kError *error)
{
  memset(result, 0, sizeof *result);
  /* After the code-blocks are decoded the result is known, and samples are used on the picture's
   * stream, which waits for them. But a trace needs the times of the rest. */
  slot->frame.unfinished = slot->frame.target->cuda_stream && !slot->backend->timeline.trace;
  cudaEvent_t known = slot->frame.unfinished ? slot->frame.decoded : slot->frame.done;
  Cj2kStatus status =
      cj2k_cuda_check(&slot->backend->device,
                      cj2k_cuda_wait(&slot->backend->device, known,
                                     slot->backend->device.one_in_flight, &slot->frame.patience),
                      "waiting for a frame", error);
  if (status != CJ2K_OK) { /* the picture is the caller's again: no work may still write to it */
    slot->frame.unfinished = false;
    (void)cj2k_cuda_decode_synchronize(slot);
    return status;
  }
  cj2k_cuda_marks_report(&slot->marks);
  cj2k_cuda_decode_copy_out(slot);
  if (slot->frame.timed)
    cudaEventElapsedTime(&slot->frame.ms_blocks, slot->frame.uploaded, slot->frame.decoded);
  if (slot->frame.timed && !slot->frame.unfinished)
    cudaEventElapsedTime(&slot->frame.ms_rest, slot->frame.decoded, slot->frame.done);
  result->ms_block_coder = slot->frame.ms_blocks;
  result->ms_transform = slot->frame.unfinished ? 0 : slot->frame.ms_rest;
  result->corrupt_blocks =
      slot->frame.corrupt_before + *(const uint32_t *)slot->frame.h_corrupt.data;
  return CJ2K_OK;
}

cudaError_t cj2k_cuda_decode_frame_init(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeFrame *frame = &slot->frame;
  unsigned flags = slot->backend->device.one_in_flight ? cudaEventDefault : cudaEventBlockingSync;
  cudaError_t result = cudaEventCreateWithFlags(&frame->uploaded, flags);

  frame->h_picture.host = frame->h_corrupt.host = true;
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->decoded, flags));
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->done, flags));
  CJ2K_CUDA_TRY(result, cudaEventCreateWithFlags(&frame->picture_free, cudaEventDisableTiming));
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_reserve(&slot->backend->device, &frame->h_corrupt, sizeof(uint32_t)));
  return result;
}

void cj2k_cuda_decode_frame_free(Cj2kDecodeSlot *slot)
{
  Cj2kCudaDecodeFrame *frame = &slot->frame;

  cj2k_cuda_graph_free(&frame->transform);
  for (uint32_t i = 0; i < G_N_ELEMENTS(frame->once); i++)
    cj2k_cuda_graph_free(&frame->once[i]);
  cj2k_cuda_release(&frame->picture);
  cj2k_cuda_release(&frame->h_picture);
  cj2k_cuda_release(&frame->h_corrupt);
  cj2k_cuda_destroy_event(frame->uploaded);
  cj2k_cuda_destroy_event(frame->decoded);
  cj2k_cuda_destroy_event(frame->done);
  cj2k_cuda_destroy_event(frame->picture_free);
}
