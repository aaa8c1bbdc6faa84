/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of code-blocks go to their places in the codestream on the GPU, and all together to the
 * host, whose cores then write headers only: copying four megabytes of a 4K frame took a core a
 * millisecond. HT codecs that code uploaded pictures for low latency, with steps that are known
 * before, do without: their kernels write bytes into host memory while the frame is still being
 * uploaded and coded. MQ blocks take
 * much longer than the upload, and begin after it, so that nothing is to be gained by that.
 */
#include "encode.h"

#include "cuda/shared/place.h"
#include "streams.h"

#include <string.h>

bool cj2k_cuda_encode_leaves_bytes(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;

  return job->may_place && !job->blocks &&
         (!encoder->ht || encoder->blocking || slot->latency.quiet || slot->latency.behind);
}

void cj2k_cuda_place_init(Cj2kEncodeSlot *slot)
{
  cudaStream_t stream = NULL;

  if (!slot->encoder->blocking)
    return;
  CJ2K_CUDA_DO(&slot->queue, cj2k_cuda_take_stream(slot->encoder->device.engine, -1, &stream));
  slot->place.queue = cj2k_cuda_encode_queue(slot, stream);
}

/* Lists the blocks that are coded again, and those that must be because they were coded for another
 * place(). Returns how many they are. */
static uint32_t list_again(Cj2kEncodeSlot *slot, const Cj2kAgainJob *job)
{
  Cj2kCudaAgain *list = slot->place.list.data;
  uint32_t count = cj2k_cuda_ahead_restore(slot, job, list);

  for (uint32_t b = 0; job && b < slot->encoder->plan->num_blocks; b++)
    if (job->choices[b].plane || !job->choices[b].passes)
      list[count++] =
          (Cj2kCudaAgain){.block = b, .length = job->lengths[b], .choice = job->choices[b]};
  return count;
}

/* Codes blocks again. The kernel reads the list from host memory, and of the results
 * only the counters are copied; where packets are made, with the sizes of these. */
static void code_again(Cj2kEncodeSlot *slot, const Cj2kAgainJob *job, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPair *coded = &slot->blocks.coded;
  Cj2kCudaMemory *list = &slot->place.list;
  Cj2kCudaEncodeBlocks blocks = slot->place.coded;

  list->host = true;
  cj2k_cuda_queue_reserve(queue, list, slot->encoder->plan->num_blocks * sizeof(Cj2kCudaAgain));
  if (!cj2k_cuda_queue_ok(queue))
    return;
  slot->ht.all_coded = false;
  blocks.num_blocks = list_again(slot, job);
  blocks.list = list->data;
  blocks.again = 1;
  if (blocks.num_blocks)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&blocks, queue->stream));
  if (!slot->place.packets)
    CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(coded->host.data, coded->device.data,
                                             sizeof *blocks.counts, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
}

/* Copies the list of runs to where the kernel reads it, and makes room for the codestream. */
static void prepare(Cj2kCudaPlaceStage *stage, const Cj2kPlaceJob *job, size_t likely,
                    const Cj2kCudaQueue *queue)
{
  size_t size = job->num_runs * sizeof *job->runs;

  stage->runs.host = true;
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve_more(queue->device, &stage->runs, size));
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_reserve_bytes(queue->device, &stage->codestream, job->size, likely));
  if (size && cj2k_cuda_queue_ok(queue))
    memcpy(stage->runs.data, job->runs, size);
}

/* Puts the bytes of blocks to their places. */
static void place_runs(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPlaceStage *stage = &slot->place;
  const Cj2kCudaPlace place = {.runs = stage->runs.data,
                               .num_runs = job->num_runs,
                               .bytes = slot->blocks.bytes.device.data,
                               .out = stage->codestream.data};

  CJ2K_CUDA_DO(queue, cj2k_cuda_place(&place, queue->stream));
  cj2k_cuda_queue_mark(queue, "place");
}

static void download(const Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job,
                     const Cj2kCudaQueue *queue)
{
  const Cj2kCudaMemory *codestream = &slot->place.codestream;
  size_t size = MIN(job->size, codestream->size);

  if (job->pinned)
    CJ2K_CUDA_DO(queue, cj2k_cuda_copy_against(&slot->encoder->device, job->out, codestream->data,
                                               size, queue->stream));
  else
    CJ2K_CUDA_DO(queue, cudaMemcpyAsync(job->out, codestream->data, size, cudaMemcpyDeviceToHost,
                                        queue->stream));
  cj2k_cuda_queue_mark(queue, "download");
}

/* Makes the codestream, without what is outside of packets or runs, and downloads it. */
static void place_all(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, const Cj2kCudaQueue *queue)
{
  if (job->packets)
    cj2k_cuda_packets_place(slot, job, queue);
  else
    place_runs(slot, job, queue);
  download(slot, job, queue);
}

/* What code() has done ahead. With several frames in flight the codestream is downloaded when it is
 * known that it is wanted, by the copy engine, as much as it may have: a kernel would take
 * multiprocessors from other frames for as long as the bus needs. */
static void take_ahead(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job)
{
  if (!slot->ahead.pending || !slot->encoder->ht)
    return;
  download(slot, job, &slot->queue);
  cj2k_cuda_queue_record(&slot->queue, slot->blocks.done);
}

void cj2k_cuda_encode_place(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job)
{
  Cj2kCudaPlaceStage *stage = &slot->place;
  const Cj2kCudaQueue queue = stage->queue.stream ? stage->queue : slot->queue;

  stage->packets = job->packets != NULL;
  if (cj2k_cuda_ahead_find(slot, job)) {
    take_ahead(slot, job);
    return;
  }
  cj2k_cuda_ahead_end(slot);
  if (job->out)
    prepare(stage, job, slot->encoder->likely_bytes, &queue);
  if (!cj2k_cuda_queue_ok(&queue))
    return;
  if (slot->timed)
    cj2k_cuda_queue_record(&queue, slot->blocks.started);
  cj2k_cuda_queue_mark(&queue, NULL);
  if (job->again || (slot->encoder->ht && slot->ahead.launched))
    code_again(slot, job->again, &queue);
  if (job->out)
    place_all(slot, job, &queue);
  cj2k_cuda_queue_record(&queue, slot->blocks.done);
}

void cj2k_cuda_encode_place_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaEncodeCounts *counts = slot->blocks.coded.host.data;

  if (slot->ahead.found) {
    if (slot->encoder->ht)
      cj2k_cuda_ahead_result(slot, result);
    else
      cj2k_cuda_ahead_mq_result(slot, result);
    return;
  }
  result->unlike = slot->encoder->ht ? counts->unlike : 0;
  result->packet_sizes = slot->place.packets ? cj2k_cuda_packets_sizes(slot) : NULL;
}

void cj2k_cuda_place_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_give_stream(slot->encoder->device.engine, slot->place.queue.stream);
  cj2k_cuda_release(&slot->place.list);
  cj2k_cuda_release(&slot->place.runs);
  cj2k_cuda_release(&slot->place.codestream);
}
