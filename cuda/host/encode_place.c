/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of code-blocks go to their places in the codestream on the GPU, and all together to the
 * host, whose cores then write headers only: copying four megabytes of a 4K frame took a core a
 * millisecond. Codecs that code for low latency do without: their kernels write bytes into host
 * memory while the frame is still being coded.
 */
#include "encode.h"

#include "cuda/shared/place.h"

#include <string.h>

bool cj2k_cuda_encode_places(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  bool quiet = encoder->ht ? slot->latency.quiet : cj2k_cuda_is_quiet(&encoder->device);

  return job->may_place && !job->blocks && (encoder->blocking || quiet);
}

/* With several frames in flight a stream whose work does not wait for other frames' kernels. */
static Cj2kCudaQueue queue_of(Cj2kEncodeSlot *slot)
{
  return slot->encoder->blocking ? cj2k_cuda_encode_queue(slot, slot->encoder->gather)
                                 : slot->queue;
}

void cj2k_cuda_encode_place(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job)
{
  const Cj2kCudaQueue queue = queue_of(slot);
  Cj2kCudaPlaceStage *stage = &slot->place;
  size_t size = job->num_runs * sizeof *job->runs;

  stage->runs.host = true;
  CJ2K_CUDA_DO(&queue, cj2k_cuda_reserve_more(&stage->runs, size));
  CJ2K_CUDA_DO(&queue, cj2k_cuda_reserve_more(&stage->codestream, job->size));
  if (!cj2k_cuda_queue_ok(&queue))
    return;
  if (size)
    memcpy(stage->runs.data, job->runs, size);
  const Cj2kCudaPlace place = {.runs = stage->runs.data,
                               .num_runs = job->num_runs,
                               .bytes = slot->blocks.bytes.device.data,
                               .out = stage->codestream.data};
  if (slot->timed)
    cj2k_cuda_queue_record(&queue, slot->blocks.started);
  cj2k_cuda_queue_mark(&queue, NULL);
  CJ2K_CUDA_DO(&queue, cj2k_cuda_place(&place, queue.stream));
  cj2k_cuda_queue_mark(&queue, "place");
  CJ2K_CUDA_DO(&queue, cudaMemcpyAsync(job->out, stage->codestream.data, job->size,
                                       cudaMemcpyDeviceToHost, queue.stream));
  cj2k_cuda_queue_mark(&queue, "download");
  cj2k_cuda_queue_record(&queue, slot->blocks.done);
}

void cj2k_cuda_place_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_release(&slot->place.runs);
  cj2k_cuda_release(&slot->place.codestream);
}
