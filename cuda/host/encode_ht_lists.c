/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * BLOCK CODER for HT, some code-blocks of a frame: those of a slice. They are few, so that calls
 * and copies would take longer than the kernels: these read the list from host memory and write
 * records, bytes and measurements there; only the counters, to which all blocks add, are copied.
 */
#include "encode.h"

#include <string.h>

/* Copies the list to where kernels can read it. */
static void set_list(Cj2kEncodeSlot *slot, const uint32_t *numbers, uint32_t count)
{
  uint32_t *list = slot->ht.again.host.data;

  memcpy(list, numbers, count * sizeof *list);
  slot->ht.job.order = list;
  slot->ht.job.num_blocks = count;
  slot->ht.listed = true;
}

/* ----------------------------------------------------------------------------- measure --- */

void cj2k_cuda_encode_measure_list(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaPair *measured = &slot->ht.measured;
  Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;

  set_list(slot, job->blocks, job->num_blocks);
  blocks->counts = measured->device.data;
  blocks->measure =
      cj2k_cuda_ht_measured(slot, measured->host.data, job->num_planes, job->distortions);
  blocks->measure.first_plane = job->first_plane;
  cj2k_cuda_ht_prepare(slot, blocks->counts, sizeof *blocks->counts, queue);
  if (job->num_planes && job->num_blocks)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_measure(blocks, queue->stream));
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(measured->host.data, blocks->counts,
                                           sizeof *blocks->counts, queue->stream));
  cj2k_cuda_queue_mark(queue, "measure");
}

/* -------------------------------------------------------------------------------- code --- */

/* Sets the kernel's pointers to its output. */
static void set_output(Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;
  const Cj2kCudaPair *coded = &slot->blocks.coded, *bytes = &slot->blocks.bytes;

  blocks->counts = coded->device.data;
  blocks->coded = (Cj2kEncodedBlock *)(void *)((char *)coded->host.data + sizeof *blocks->counts);
  blocks->passes = (Cj2kPassLength *)(void *)(blocks->coded + slot->encoder->plan->num_blocks);
  blocks->lengths = (uint32_t *)(void *)(blocks->passes + slot->encoder->plan->num_blocks);
  cj2k_cuda_queue_reserve(&slot->queue, &slot->blocks.bytes.host, bytes->device.size);
  blocks->bytes = bytes->host.data;
  blocks->capacity = bytes->host.size;
}

void cj2k_cuda_encode_list_again(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;

  set_output(slot);
  cj2k_cuda_ht_prepare(slot, blocks->counts, sizeof *blocks->counts, queue);
  if (blocks->num_blocks)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(blocks, queue->stream));
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(slot->blocks.coded.host.data, blocks->counts,
                                           sizeof *blocks->counts, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
  cj2k_cuda_queue_record(queue, slot->blocks.done);
}

void cj2k_cuda_encode_code_list(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaHtStage *ht = &slot->ht;
  uint32_t bits =
      cj2k_cuda_ht_reserve_scratch(slot, cj2k_cuda_blocks_max_bitplanes(slot, job->quantisers));

  ht->num_again = slot->latency.num_parts = 0;
  slot->ahead.launched = false;
  slot->blocks.placed = slot->packets.sized = false;
  ht->all_coded = false;
  ht->ahead = (Cj2kMeasureJob){0};
  cj2k_cuda_ht_begin(slot, job->quantisers, job->stride, queue);
  if (job->choices)
    cj2k_cuda_blocks_send(queue, &ht->choices, job->choices,
                          slot->encoder->plan->num_blocks * sizeof *job->choices,
                          &ht->choices_sent);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  set_list(slot, job->blocks, job->num_blocks);
  ht->job.choices = job->choices ? ht->choices.device.data : NULL;
  ht->job.scratch = ht->scratch.data;
  ht->job.scratch_bits = bits;
  cj2k_cuda_encode_list_again(slot);
}
