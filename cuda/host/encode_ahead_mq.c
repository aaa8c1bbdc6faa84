/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same as encode_ahead.c for MQ: kernels select passes behind their hulls, as rate control does
 * in the usual case, and the rest follows. The host then gets neither hulls nor records of blocks,
 * which would take most of its time for a frame, but what later frames learn from the cut. If the
 * kernels leave it to the host, nothing has changed, and all of that is downloaded.
 *
 * With several frames in flight one that is to be coded may wait for what this one teaches. The
 * host learns that as soon as the frame is cut, and waits for its packets in place().
 */
#include "encode.h"

/* What the host gets; sizes of packets and bytes per band follow. */
typedef struct {
  Cj2kCudaAheadReport head;
  Cj2kCudaMqCutState state;
} Report;

/* The parts of stage->host. */
typedef struct {
  Report *report;
  Cj2kPacketSize *sizes;
  uint64_t *bands;
} HostParts;

/* The parts of stage->own. */
typedef struct {
  Cj2kCudaMqCutState *state;
  uint64_t *bands;
  Cj2kCudaMqTaken *taken;
} OwnParts;

static HostParts host_parts(const Cj2kEncodeSlot *slot)
{
  HostParts parts = {.report = slot->ahead.host.data};

  parts.sizes = (Cj2kPacketSize *)(void *)(parts.report + 1);
  parts.bands = (uint64_t *)(void *)(parts.sizes + slot->encoder->plan->num_precincts);
  return parts;
}

static OwnParts own_parts(const Cj2kEncodeSlot *slot)
{
  OwnParts parts = {.state = slot->ahead.own.data};

  parts.bands = (uint64_t *)(void *)(parts.state + 1);
  parts.taken = (Cj2kCudaMqTaken *)(void *)(parts.bands + slot->encoder->plan->num_bands);
  return parts;
}

/* -------------------------------------------------------------------------------- launch --- */

void cj2k_cuda_ahead_mq_prepare(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  Cj2kCudaAheadStage *stage = &slot->ahead;

  stage->launched = false;
  stage->wanted = cj2k_cuda_ahead_may(slot, job->ahead) && job->weights && job->stride == 1 &&
                  slot->packets.kept;
  if (!stage->wanted)
    return;
  size_t bands = plan->num_bands * sizeof(uint64_t);
  stage->job = *job->ahead;
  stage->packets = *job->ahead->place.packets;
  stage->job.place.packets = &stage->packets;
  cj2k_cuda_ahead_reserve(slot, &stage->job.place,
                          sizeof(Cj2kCudaMqCutState) + bands +
                              plan->num_blocks * sizeof(Cj2kCudaMqTaken),
                          sizeof(Report) + plan->num_precincts * sizeof(Cj2kPacketSize) + bands);
}

static void cut(const Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kAheadJob *job = &slot->ahead.job;
  const Cj2kCudaMqCode *frame = &slot->mq.job;
  HostParts host = host_parts(slot);
  OwnParts own = own_parts(slot);
  const Cj2kCudaMqCut cut = {.frame = *frame,
                             .packets = cj2k_cuda_packets_headers(slot, frame->coded, NULL),
                             .num_bands = slot->encoder->plan->num_bands,
                             .least = job->least,
                             .budget = job->budget,
                             .margin = job->margin,
                             .header_bytes = job->header_bytes,
                             .empty_bytes = job->empty_bytes,
                             .taken = own.taken,
                             .plt = job->place.packets->plt,
                             .markers = job->place.packets->sop + job->place.packets->behind_header,
                             .state = own.state,
                             .host_state = &host.report->state,
                             .bands = own.bands,
                             .host_bands = host.bands,
                             .host_counts = slot->blocks.coded.host.data};

  CJ2K_CUDA_DO(queue, cj2k_cuda_mq_cut(&cut, queue->stream));
  cj2k_cuda_queue_mark(queue, "cut");
}

/* The stream for the end of a frame. With several frames in flight that is one that does not wait
 * for other frames' kernels. */
static const Cj2kCudaQueue *end_queue(const Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->place.queue;

  if (!queue->stream)
    return &slot->queue;
  cj2k_cuda_queue_follow(queue, &slot->queue, slot->packets.coded);
  cj2k_cuda_queue_mark(queue, NULL);
  return queue;
}

/* With several frames in flight the copy engine downloads as much as the budget; what is behind the
 * codestream, zeros or the end of an earlier one, is not used. A kernel would take multiprocessors
 * from other frames for as long as the bus needs. */
static void download(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kPlaceJob *place = &slot->ahead.job.place;

  if (!slot->encoder->blocking) {
    cj2k_cuda_ahead_download(slot, &host_parts(slot).report->head.target);
    return;
  }
  CJ2K_CUDA_DO(queue, cudaMemcpyAsync(place->out, slot->place.codestream.data, place->size,
                                      cudaMemcpyDeviceToHost, queue->stream));
  cj2k_cuda_queue_mark(queue, "download");
}

void cj2k_cuda_ahead_mq_launch(Cj2kEncodeSlot *slot)
{
  const Cj2kPlaceJob *place = &slot->ahead.job.place;
  const Cj2kCudaQueue *queue = end_queue(slot);
  HostParts host = host_parts(slot);
  const Cj2kCudaPacketReport report = {&host.report->head.end, host.sizes,
                                       &host.report->head.counts};

  const Cj2kCudaCutResult *result = &own_parts(slot).state->result;

  slot->place.coded.coded = slot->mq.job.coded;
  host.report->head.target = (Cj2kCudaCopyTarget){place->out, place->size};
  cut(slot, queue);
  if (slot->ahead.decided)
    cj2k_cuda_queue_record(queue, slot->ahead.decided);
  cj2k_cuda_packets_cut_headers(slot, result, queue);
  cj2k_cuda_packets_cut(slot, place->packets, result, &report, queue);
  download(slot, queue);
  cj2k_cuda_queue_record(queue, slot->blocks.done);
  slot->ahead.out = place->out;
  slot->ahead.launched = true;
}

/* ------------------------------------------------------------------------------- results --- */

bool cj2k_cuda_ahead_mq_cut(Cj2kEncodeSlot *slot)
{
  Cj2kCudaAheadStage *stage = &slot->ahead;

  if (!stage->launched)
    return false;
  HostParts host = host_parts(slot);
  const Cj2kCudaMqCutState *state = &host.report->state;
  stage->launched = state->result.state == CJ2K_CUDA_CUT_SOME;
  stage->cut = (Cj2kPassCut){.slope = state->slope,
                             .header_bytes = stage->job.empty_bytes + state->headers,
                             .all = state->all,
                             .bands = host.bands};
  return stage->launched;
}

void cj2k_cuda_ahead_mq_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaAheadStage *stage = &slot->ahead;
  HostParts host = host_parts(slot);
  bool fits = stage->launched && stage->out && host.report->head.end <= stage->job.place.size;

  result->packet_sizes = fits ? host.sizes : NULL;
}
