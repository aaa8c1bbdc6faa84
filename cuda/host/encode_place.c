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

#define LEAST_LISTED 64 /* blocks for which a graph is made */
#define FEW_FRAMES   32 /* with less than a quarter of the blocks, before it is made for half */

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

/* The number of listed blocks, behind the list. */
static uint32_t *num_listed(const Cj2kEncodeSlot *slot)
{
  Cj2kCudaAgain *list = slot->place.list.data;

  return (uint32_t *)(void *)(list + slot->encoder->plan->num_blocks);
}

/* Follows the number of listed blocks by powers of two, downwards after some frames only, so that
 * launches mostly stay the same. */
static void follow_listed(Cj2kCudaPlaceStage *stage, uint32_t count)
{
  while (stage->most_listed < count)
    stage->most_listed = MAX(2 * stage->most_listed, LEAST_LISTED);
  stage->few_listed = count < stage->most_listed / 4 ? stage->few_listed + 1 : 0;
  if (stage->few_listed < FEW_FRAMES || stage->most_listed == LEAST_LISTED)
    return;
  stage->most_listed /= 2;
  stage->few_listed = 0;
}

/* Lists the blocks that are coded again, and those that must be because they were coded for another
 * place(). */
static void list_again(Cj2kEncodeSlot *slot, const Cj2kAgainJob *job, const Cj2kCudaQueue *queue)
{
  Cj2kCudaMemory *memory = &slot->place.list;
  uint32_t num_blocks = slot->encoder->plan->num_blocks;

  memory->host = true;
  cj2k_cuda_queue_reserve(queue, memory, num_blocks * sizeof(Cj2kCudaAgain) + sizeof(uint32_t));
  if (!cj2k_cuda_queue_ok(queue))
    return;
  Cj2kCudaAgain *list = memory->data;
  uint32_t count = cj2k_cuda_ahead_restore(slot, job, list);
  for (uint32_t b = 0; job && b < num_blocks; b++)
    if (job->choices[b].plane || !job->choices[b].passes)
      list[count++] =
          (Cj2kCudaAgain){.block = b, .length = job->lengths[b], .choice = job->choices[b]};
  *num_listed(slot) = count;
  follow_listed(&slot->place, count);
  slot->ht.all_coded = false;
}

/* Codes the listed blocks again, `most` at most. The kernel reads the list from host memory. */
static void code_again(const Cj2kEncodeSlot *slot, uint32_t most, const Cj2kCudaQueue *queue)
{
  Cj2kCudaEncodeBlocks blocks = slot->place.coded;

  blocks.num_blocks = most;
  blocks.list = slot->place.list.data;
  blocks.num_listed = num_listed(slot);
  blocks.again = 1;
  if (blocks.num_blocks)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&blocks, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
}

/* The same where no packets are made, which would tell the host what has been counted. */
static void code_for_runs(const Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPair *coded = &slot->blocks.coded;

  code_again(slot, *num_listed(slot), queue);
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(coded->host.data, coded->device.data,
                                           sizeof(Cj2kCudaEncodeCounts), queue->stream));
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

/* What is launched for a frame of which blocks are coded again. */
typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kPacketSteps *packets;
  const Cj2kCudaQueue *queue;
} Again;

static cudaError_t launch_again(void *ctx)
{
  const Again *again = ctx;

  again->slot->status = cudaSuccess;
  code_again(again->slot, again->slot->place.most_listed, again->queue);
  cj2k_cuda_packets_place(again->slot, again->packets, true, again->queue);
  return again->slot->status;
}

/* Codes the listed blocks again and makes the packets, with one call. What is not in the key is the
 * same as long as the slot lives. */
static void run_again(Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets,
                      const Cj2kCudaQueue *queue)
{
  Cj2kCudaPlaceStage *stage = &slot->place;
  const Cj2kCudaEncodeBlocks *blocks = &stage->coded;
  Again again = {slot, packets, queue};
  const uint64_t key[] = {(uintptr_t)blocks->scratch,
                          blocks->scratch_bits,
                          (uintptr_t)blocks->bytes,
                          blocks->capacity,
                          (uintptr_t)stage->list.data,
                          stage->most_listed,
                          (uintptr_t)slot->packets.work.data,
                          (uintptr_t)slot->packets.steps.data,
                          packets->count,
                          packets->behind_header,
                          packets->behind_all,
                          (uintptr_t)stage->codestream.data,
                          stage->codestream.size};

  cj2k_cuda_graph_follow(&stage->again, key, G_N_ELEMENTS(key));
  slot->status = cj2k_cuda_graph_run(&stage->again, queue->stream, launch_again, &again);
}

/* Makes packets, of which blocks may have been coded again or be listed for it. */
static void make_packets(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, bool again,
                         const Cj2kCudaQueue *queue)
{
  bool headers = job->again || job->retain || !slot->packets.current;

  cj2k_cuda_packets_prepare(slot, job, queue);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  if (again && headers && *num_listed(slot) && !slot->marks.timeline->trace) {
    run_again(slot, job->packets, queue);
  } else {
    if (again)
      code_again(slot, *num_listed(slot), queue);
    cj2k_cuda_packets_place(slot, job->packets, headers, queue);
  }
  slot->packets.current = !job->again;
}

/* Makes the codestream, without what is outside of packets or runs, and downloads it. again: blocks
 * are listed. */
static void place_all(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job, bool again,
                      const Cj2kCudaQueue *queue)
{
  if (job->packets) {
    make_packets(slot, job, again, queue);
  } else {
    if (again)
      code_for_runs(slot, queue);
    place_runs(slot, job, queue);
  }
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
  bool again = job->again || (slot->encoder->ht && slot->ahead.launched);
  if (job->out)
    prepare(stage, job, slot->encoder->likely_bytes, &queue);
  if (!cj2k_cuda_queue_ok(&queue))
    return;
  if (slot->timed)
    cj2k_cuda_queue_record(&queue, slot->blocks.started);
  cj2k_cuda_queue_mark(&queue, NULL);
  if (again)
    list_again(slot, job->again, &queue);
  if (!cj2k_cuda_queue_ok(&queue))
    return;
  if (job->out)
    place_all(slot, job, again, &queue);
  else if (again)
    code_for_runs(slot, &queue);
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
  cj2k_cuda_graph_free(&slot->place.again);
  cj2k_cuda_release(&slot->place.list);
  cj2k_cuda_release(&slot->place.runs);
  cj2k_cuda_release(&slot->place.codestream);
}
