/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A frame as one launch. A small frame takes the GPU less time than its launches take the host: the
 * driver does the calls of all threads one after the other, so that they bound how many streams a
 * process can have. So all work of a frame is one CUDA graph, from the upload of its records to the
 * last store. Nothing of a graph may differ from frame to frame but the contents of memory:
 *
 *   - records, lists and the codestream, if it is small, are one run of memory, of which only the
 *     length differs; the kernel that copies it reads the length from pinned memory;
 *   - the lists have their places for any number of code-blocks, and the list of HT blocks is as
 *     long for each frame: CJ2K_CUDA_NO_BLOCK stands behind the blocks that are decoded;
 *   - kernels find the planes of a picture on the device in the records.
 *
 * Frames with MQ blocks, refinement passes or bytes that are not contiguous in the codestream, and
 * those whose stages are timed, take a launch for each stage. So do large pictures, which would
 * gain little, those that are packed into device memory, where packing is told the place by the
 * host, and those with a stream of their own: their code-blocks are decoded before the picture may
 * be written.
 */
#include "decode.h"

#include "cuda/shared/copy_small.h"

#define MAX_BYTES ((size_t)16 << 20) /* of a picture */

static bool is_on_device(const Cj2kDecodeSlot *slot)
{
  return slot->frame.target->memory == CJ2K_MEMORY_CUDA;
}

bool cj2k_cuda_decode_may_once(const Cj2kDecodeSlot *slot)
{
  const Cj2kCudaDecodeFrame *frame = &slot->frame;
  const Cj2kCudaDecoder *backend = slot->backend;
  bool packs_there = is_on_device(slot) && slot->output.packs->len;

  return frame->size <= MAX_BYTES && !slot->parts.active && !frame->in_shares &&
         !frame->target->cuda_stream && !packs_there && !backend->timeline.trace &&
         backend->device.maps_pinned;
}

bool cj2k_cuda_decode_is_once(const Cj2kDecodeSlot *slot, const Cj2kCodedFrame *coded,
                              const Cj2kCudaDecodeBlocks *blocks)
{
  return slot->frame.may_once && !slot->frame.timed && !blocks->mq.count &&
         !blocks->ht.num_refined && !coded->side_size && coded->num_segments <= blocks->num_blocks;
}

/* Makes the description of the blocks the same for each frame. */
static void level_blocks(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *blocks)
{
  uint32_t *order = cj2k_cuda_decode_host_record(slot, blocks->ht.order);

  for (uint32_t i = blocks->ht.count; i < blocks->num_blocks; i++)
    order[i] = CJ2K_CUDA_NO_BLOCK;
  blocks->ht.count = blocks->num_blocks;
  blocks->mq = (Cj2kCudaMqBlocks){0};
}

/* ------------------------------------------------------------------------------ the graph --- */

typedef struct {
  Cj2kDecodeSlot *slot;
  const Cj2kCudaDecodeBlocks *blocks;
} Once;

static cudaError_t launch(void *ctx)
{
  const Once *once = ctx;
  Cj2kDecodeSlot *slot = once->slot;
  const Cj2kCudaDecodeUpload *upload = &slot->upload;
  const uint8_t *records = upload->h_records.data;
  const uint64_t *length = (const uint64_t *)(const void *)(records + upload->parts.length);
  cudaError_t result =
      cj2k_cuda_copy_told(upload->records.data, records, length,
                          MIN(upload->records.size, upload->h_records.size), slot->stream);

  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_blocks(slot, once->blocks, slot->stream));
  CJ2K_CUDA_TRY(result, cj2k_cuda_decode_transform(slot));
  return result;
}

/* What the launches depend on, beside the tables. */
static void follow(Cj2kDecodeSlot *slot, const Cj2kCudaDecodeBlocks *blocks, Cj2kCudaGraph *graph)
{
  const Cj2kCudaDecodeUpload *upload = &slot->upload;
  const uint64_t places[] = {(uintptr_t)upload->records.data,
                             (uintptr_t)upload->h_records.data,
                             MIN(upload->records.size, upload->h_records.size),
                             (uintptr_t)blocks->data,
                             (uintptr_t)blocks->steps,
                             (uintptr_t)blocks->segments,
                             (uintptr_t)blocks->coded,
                             (uintptr_t)blocks->corrupt_flags,
                             (uintptr_t)blocks->ht.order,
                             (uintptr_t)blocks->ht.quads,
                             (uintptr_t)blocks->blocks,
                             (uintptr_t)blocks->coefficients,
                             (uintptr_t)blocks->zeros,
                             blocks->aim};
  GArray *key = g_array_new(FALSE, FALSE, sizeof(uint64_t));

  g_array_append_vals(key, places, G_N_ELEMENTS(places));
  cj2k_cuda_decode_add_outputs(slot, key);
  cj2k_cuda_graph_follow(graph, (const uint64_t *)(const void *)key->data, key->len);
  g_array_unref(key);
}

cudaError_t cj2k_cuda_decode_once(Cj2kDecodeSlot *slot, Cj2kCudaDecodeBlocks *blocks)
{
  Cj2kCudaGraph *graph = &slot->frame.once[slot->upload.in_records];
  Once once = {slot, blocks};
  cudaError_t result = cj2k_cuda_decode_wait_upload(slot);

  level_blocks(slot, blocks);
  cj2k_cuda_decode_end_records(slot);
  follow(slot, blocks, graph);
  CJ2K_CUDA_TRY(result, cj2k_cuda_graph_run(graph, slot->stream, launch, &once));
  if (result == cudaSuccess && !is_on_device(slot))
    result = cj2k_cuda_decode_download(slot);
  return result;
}
