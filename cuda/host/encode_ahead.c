/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What place() is likely to be asked for, done behind code() without the host in between: a kernel
 * decides as rate control does in the usual case, blocks are coded again, packets made, put to
 * their places and downloaded. So the host waits once for a frame, and a GPU that several processes
 * share need not come back to this one for the rest. If place() is then asked for something else,
 * it is done like without; blocks that were coded again in vain are coded once more. Rate control
 * takes a cut as it is: it asks for something else only if the codestream was not made, or is not
 * to be where it was foreseen. This is for HT; for MQ see encode_ahead_mq.c.
 *
 * With several frames in flight the host waits twice. One that is to be coded may wait for what
 * this one teaches, which the host learns from the sizes of packets before the frame is cut, by an
 * event amid the frame's graph. It knows then whether it is going to be, asks place() for that,
 * which downloads the codestream behind the graph, and waits for the end.
 */
#include "encode.h"

#include <string.h>

/* What the host gets, and what it tells; sizes of packets and the list follow. */
typedef struct {
  Cj2kCudaAheadReport head;
  Cj2kCudaCutResult cut;
  Cj2kCudaCutLimits limits;
} Report;

/* The parts of stage->host. */
typedef struct {
  Report *report;
  Cj2kPacketSize *sizes;
  Cj2kCudaAgain *list;
} HostParts;

/* The parts of stage->own. */
typedef struct {
  Cj2kCudaCutResult *cut;
  Cj2kCudaAgain *list;
} OwnParts;

static HostParts host_parts(const Cj2kEncodeSlot *slot)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  HostParts parts = {.report = slot->ahead.host.data};

  parts.sizes = (Cj2kPacketSize *)(void *)(parts.report + 1);
  parts.list = (Cj2kCudaAgain *)(void *)(parts.sizes + plan->num_precincts);
  return parts;
}

static OwnParts own_parts(const Cj2kEncodeSlot *slot)
{
  Cj2kCudaCutResult *cut = slot->ahead.own.data;

  return (OwnParts){cut, (Cj2kCudaAgain *)(void *)(cut + 1)};
}

void cj2k_cuda_ahead_init(Cj2kEncodeSlot *slot)
{
  if (slot->encoder->blocking)
    CJ2K_CUDA_DO(&slot->queue, cudaEventCreateWithFlags(&slot->ahead.decided,
                                                        cj2k_cuda_encode_event_flags(slot)));
}

void cj2k_cuda_ahead_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_release(&slot->ahead.own);
  cj2k_cuda_release(&slot->ahead.host);
  cj2k_cuda_destroy_event(slot->ahead.decided);
}

/* -------------------------------------------------------------------------------- launch --- */

/* Blocks that are measured for a cut. */
static uint32_t num_measured(const Cj2kEncodeSlot *slot, const Cj2kMeasureJob *likely)
{
  return likely ? (slot->encoder->plan->num_blocks + likely->stride - 1) / likely->stride : 0;
}

bool cj2k_cuda_ahead_may(const Cj2kEncodeSlot *slot, const Cj2kAheadJob *job)
{
  return job && job->place.pinned && slot->encoder->device.maps_pinned &&
         !((uintptr_t)job->place.out & 15);
}

void cj2k_cuda_ahead_reserve(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *place, size_t own,
                             size_t host)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaAheadStage *stage = &slot->ahead;

  stage->host.host = true;
  cj2k_cuda_queue_reserve(queue, &stage->own, own);
  cj2k_cuda_queue_reserve(queue, &stage->host, host);
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve_bytes(queue->device, &slot->place.codestream, place->size,
                                              slot->encoder->likely_bytes));
  cj2k_cuda_packets_send_steps(slot, place->packets, queue);
}

/* Does a kernel know how to cut by what is measured? The weights of bands are there if the GPU
 * chooses the steps by an estimate. */
static bool is_cut(const Cj2kEncodeSlot *slot, const Cj2kMeasureJob *likely)
{
  return slot->ht.estimate.rules && likely->distortions && !likely->first_plane &&
         likely->num_planes == CJ2K_CUDA_CUT_PLANES &&
         num_measured(slot, likely) <= CJ2K_CUDA_CUT_BLOCKS;
}

/* Can a kernel decide about this job? With several frames in flight there is nothing to gain where
 * nothing is to be decided: the host takes such a frame while kernels code others. */
static bool is_usual(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  bool decides = job->likely ? is_cut(slot, job->likely) : !slot->encoder->blocking;

  return decides && cj2k_cuda_ahead_may(slot, job->ahead) && slot->packets.sized &&
         slot->blocks.placed;
}

/* Puts what is different from frame to frame to where kernels read it. */
static void tell(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kAheadJob *ahead = job->ahead;
  HostParts host = host_parts(slot);

  host.report->limits =
      (Cj2kCudaCutLimits){ahead->least, ahead->budget, ahead->most, ahead->margin};
  host.report->head.target = (Cj2kCudaCopyTarget){ahead->place.out, ahead->place.size};
}

/* Of the blocks of an HT frame, as long as the host does not have its records. */
#define NOT_TOLD UINT64_MAX

static void expect_records(Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncodeCounts *counts = slot->blocks.coded.host.data;

  counts->bytes = NOT_TOLD;
}

/* Have the records that the host waits for begun to come? CUDA does not promise that an event of a
 * graph is pending again as soon as the graph has been launched. Here it always was; if not, the
 * host would take the records of the frame before. The event of an MQ frame is of no graph. */
static bool is_told(const Cj2kEncodeSlot *slot)
{
  const Cj2kCudaEncodeCounts *counts = slot->blocks.coded.host.data;

  return !slot->encoder->ht || counts->bytes != NOT_TOLD;
}

void cj2k_cuda_ahead_prepare(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;

  slot->ahead.wanted = is_usual(slot, job);
  if (!slot->ahead.wanted)
    return;
  size_t list = num_measured(slot, job->likely) * sizeof(Cj2kCudaAgain);
  cj2k_cuda_ahead_reserve(slot, &job->ahead->place, sizeof(Cj2kCudaCutResult) + list,
                          sizeof(Report) + plan->num_precincts * sizeof(Cj2kPacketSize) + list);
  slot->place.coded = slot->ht.job;
  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  tell(slot, job);
  if (cj2k_cuda_ahead_goes_on(slot))
    expect_records(slot);
}

static void cut(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, const Cj2kCudaQueue *queue)
{
  const Cj2kPacketSteps *packets = job->ahead->place.packets;
  const Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;
  Cj2kCudaMeasure on_device = {0}, on_host = {0};
  HostParts host = host_parts(slot);
  OwnParts own = own_parts(slot);

  if (job->likely) {
    const Cj2kCudaPair *measured = &slot->ht.measured;
    on_device = cj2k_cuda_ht_measured(slot, measured->device.data, CJ2K_CUDA_CUT_PLANES, true);
    on_host = cj2k_cuda_ht_measured(slot, measured->host.data, CJ2K_CUDA_CUT_PLANES, true);
  }
  const Cj2kCudaCut cut = {
      .blocks = blocks->blocks,
      .num_blocks = slot->encoder->plan->num_blocks,
      .stride = job->likely ? job->likely->stride : 1,
      .counts = blocks->counts,
      .capacity = blocks->capacity,
      .coded = blocks->lengths,
      .lengths = on_device.lengths,
      .distortions = on_device.distortions,
      .sizes = cj2k_cuda_ht_packet_sizes(slot, slot->blocks.coded.device.data),
      .weights = slot->ht.estimate.weights,
      .steps = slot->packets.steps.data,
      .num_steps = packets->count,
      .behind_header = packets->behind_header,
      .behind_all = packets->behind_all,
      .sop = packets->sop,
      .plt = packets->plt,
      .limits = &host.report->limits,
      .records = blocks->coded,
      .result = own.cut,
      .host_result = &host.report->cut,
      .list = own.list,
      .host_list = host.list,
      .host_lengths = on_host.lengths,
      .host_distortions = on_host.distortions,
  };

  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_cut(&cut, queue->stream));
  cj2k_cuda_queue_mark(queue, "cut");
}

/* Codes the blocks that the kernel has listed: few, so that it takes as long as one of them. */
static void code_listed(const Cj2kEncodeSlot *slot, uint32_t most, const Cj2kCudaQueue *queue)
{
  OwnParts own = own_parts(slot);
  Cj2kCudaEncodeBlocks blocks = slot->ht.job;

  blocks.num_blocks = most;
  blocks.list = own.list;
  blocks.num_listed = &own.cut->count;
  blocks.again = 1;
  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&blocks, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
}

void cj2k_cuda_ahead_download(Cj2kEncodeSlot *slot, const Cj2kCudaCopyTarget *target)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaMemory *codestream = &slot->place.codestream;

  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_known(target, codestream->data, slot->packets.arrays.end,
                                           codestream->size, queue->stream));
  cj2k_cuda_queue_mark(queue, "download");
}

/* Makes what follows a cut. side: for blocks, beside packet headers. */
static void make_packets(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, const Cj2kCudaQueue *queue,
                         const Cj2kCudaQueue *side)
{
  HostParts host = host_parts(slot);
  const Cj2kCudaPacketReport report = {&host.report->head.end, host.sizes,
                                       &host.report->head.counts};

  if (job->likely) {
    cj2k_cuda_queue_fork(queue, side, slot->ht.forked);
    cj2k_cuda_packets_cut_headers(slot, own_parts(slot).cut, queue);
    code_listed(slot, num_measured(slot, job->likely), side);
    cj2k_cuda_queue_join(queue, side, slot->ht.joined);
  }
  cj2k_cuda_packets_cut(slot, job->ahead->place.packets, own_parts(slot).cut, &report, queue);
}

void cj2k_cuda_ahead_launch(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  cut(slot, job, &slot->queue);
  make_packets(slot, job, &slot->queue, &slot->latency.coder);
  cj2k_cuda_ahead_download(slot, &host_parts(slot).report->head.target);
}

bool cj2k_cuda_ahead_goes_on(const Cj2kEncodeSlot *slot)
{
  return slot->ahead.wanted && slot->encoder->blocking;
}

/* With many frames in flight all is done one after the other: others fill the GPU, and graphs with
 * branches were measured to be slower. */
void cj2k_cuda_ahead_go_on(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaQueue *side = slot->encoder->many ? queue : &slot->place.queue;

  cj2k_cuda_queue_fork(queue, side, slot->packets.coded);
  cj2k_cuda_packets_code(slot, side);
  cj2k_cuda_ht_tell_host(slot, side);
  cj2k_cuda_queue_mark(side, "download");
  CJ2K_CUDA_DO(side, cj2k_cuda_graph_record(slot->ahead.decided, side->stream));
  cj2k_cuda_ht_measure_ahead(slot, job->likely, queue);
  cj2k_cuda_queue_join(side, queue, slot->ht.forked);
  cut(slot, job, side);
  make_packets(slot, job, side, queue);
  cj2k_cuda_queue_join(queue, side, slot->packets.coded);
}

void cj2k_cuda_ahead_launched(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  slot->ahead.out = job->ahead->place.out;
  slot->ahead.packets = *job->ahead->place.packets;
  slot->ahead.launched = true;
}

void cj2k_cuda_ahead_key(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, uint64_t *key)
{
  const Cj2kPacketSteps *packets = job->ahead->place.packets;
  const uint64_t values[CJ2K_CUDA_AHEAD_KEY] = {(uintptr_t)slot->ahead.own.data,
                                                (uintptr_t)slot->ahead.host.data,
                                                (uintptr_t)slot->place.codestream.data,
                                                slot->place.codestream.size,
                                                (uintptr_t)slot->packets.steps.data,
                                                packets->count,
                                                packets->behind_header,
                                                packets->behind_all,
                                                (uintptr_t)slot->ht.measured.host.data};

  memcpy(key, values, sizeof values);
}

/* ------------------------------------------------------------------------------- results --- */

bool cj2k_cuda_ahead_wait(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaAheadStage *stage = &slot->ahead;

  stage->pending = stage->launched && stage->decided;
  if (!stage->pending)
    return false;
  CJ2K_CUDA_DO(queue, cj2k_cuda_encode_wait(slot, stage->decided));
  if (!is_told(slot))
    CJ2K_CUDA_DO(queue, cudaStreamSynchronize(queue->stream));
  if (!is_told(slot))
    CJ2K_CUDA_DO(queue, cudaErrorUnknown);
  return true;
}

void cj2k_cuda_ahead_coded(Cj2kEncodeSlot *slot)
{
  if (!slot->ahead.launched || slot->ahead.pending ||
      host_parts(slot).report->cut.state != CJ2K_CUDA_CUT_SOME)
    return;
  slot->ht.all_coded = slot->packets.current = false;
}

void cj2k_cuda_ahead_end(Cj2kEncodeSlot *slot)
{
  if (!slot->ahead.pending)
    return;
  CJ2K_CUDA_DO(&slot->queue, cj2k_cuda_encode_wait(slot, slot->blocks.done));
  slot->ahead.pending = false;
  if (slot->encoder->ht)
    cj2k_cuda_ahead_coded(slot);
}

/* Is a block that was coded at plane 0 to be coded again? Without bytes it need not be. */
static bool changes(const Cj2kAgainJob *again, const uint32_t *coded, uint32_t b)
{
  return coded[b] && (again->choices[b].plane || !again->choices[b].passes);
}

/* Have the blocks that were coded again been those of a job? again NULL: it has none. */
static bool same_list(const Cj2kEncodeSlot *slot, const Cj2kAgainJob *again)
{
  HostParts host = host_parts(slot);
  const uint32_t *coded = cj2k_cuda_ht_lengths(slot, slot->blocks.coded.host.data);
  uint32_t count = host.report->cut.count, num_blocks = slot->encoder->plan->num_blocks, n = 0;

  for (uint32_t b = 0; again && b < num_blocks; b++)
    n += changes(again, coded, b);
  for (uint32_t i = 0; again && n == count && i < count; i++) {
    const Cj2kCudaAgain *own = &host.list[i];
    Cj2kHtChoice choice = again->choices[own->block];
    if (choice.plane != own->choice.plane || choice.passes != own->choice.passes ||
        again->lengths[own->block] != own->length)
      return false;
  }
  return n == count;
}

/* Are packets where they were foreseen? The main header, and so what is before them, follows from
 * the steps, which an estimate may have chosen. */
static bool same_packets(const Cj2kEncodeSlot *slot, const Cj2kPacketSteps *packets)
{
  const Cj2kPacketSteps *sent = &slot->ahead.packets;

  return packets && packets->count == sent->count &&
         packets->behind_header == sent->behind_header && packets->behind_all == sent->behind_all &&
         packets->sop == sent->sop && packets->plt == sent->plt &&
         !memcmp(packets->steps, slot->packets.steps.data, packets->count * sizeof *packets->steps);
}

/* Has a codestream been made? */
static bool is_made(const Report *report)
{
  return report->cut.state != CJ2K_CUDA_CUT_NONE && !report->head.counts.failed &&
         report->head.end <= report->head.target.most;
}

bool cj2k_cuda_ahead_has_cut(const Cj2kEncodeSlot *slot)
{
  if (!slot->ahead.launched || slot->ahead.pending)
    return slot->ahead.pending;
  const Report *report = host_parts(slot).report;
  return report->cut.state == CJ2K_CUDA_CUT_SOME && is_made(report) && !report->head.counts.unlike;
}

/* Is the codestream that was made what a job asks for? With several frames in flight it has not
 * been downloaded, but for one that is being made (take_ahead in encode_place.c). */
static bool is_as_asked(const Cj2kEncodeSlot *slot, const Report *report, const Cj2kPlaceJob *job)
{
  return !slot->encoder->blocking && is_made(report) && job->out == slot->ahead.out &&
         report->head.end <= job->size && (job->cut || same_list(slot, job->again));
}

/* Is the one that is being made likely to be it? */
static bool will_be_as_asked(const Report *report, const Cj2kPlaceJob *job)
{
  const Cj2kCudaCutLimits *limits = &report->limits;

  return !job->again && job->size >= limits->least && job->size <= limits->budget;
}

bool cj2k_cuda_ahead_find(Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job)
{
  Cj2kCudaAheadStage *stage = &slot->ahead;

  stage->found = job->cut; /* MQ: rate control has no other choice */
  if (job->cut && job->out != stage->out)
    stage->out = NULL; /* but to have it done anew */
  if (!stage->launched || !slot->encoder->ht)
    return stage->found;
  const Report *report = host_parts(slot).report;
  stage->cuts = stage->pending ? job->cut : report->cut.state == CJ2K_CUDA_CUT_SOME;
  stage->found = same_packets(slot, job->packets) && !job->retain &&
                 (stage->pending ? will_be_as_asked(report, job) : is_as_asked(slot, report, job));
  return stage->found;
}

/* Is the codestream that was made the one that place() was asked for? That is known before, unless
 * place() came before kernels had decided. */
static bool is_right(const Cj2kEncodeSlot *slot)
{
  const Report *report = host_parts(slot).report;

  return is_made(report) && slot->ahead.cuts == (report->cut.state == CJ2K_CUDA_CUT_SOME);
}

void cj2k_cuda_ahead_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  HostParts host = host_parts(slot);

  result->unlike = host.report->head.counts.unlike;
  result->packet_sizes = is_right(slot) ? host.sizes : NULL;
}

uint32_t cj2k_cuda_ahead_restore(Cj2kEncodeSlot *slot, const Cj2kAgainJob *again,
                                 Cj2kCudaAgain *list)
{
  uint32_t count = 0;

  if (!slot->ahead.launched)
    return 0;
  HostParts host = host_parts(slot);
  const uint32_t *coded = cj2k_cuda_ht_lengths(slot, slot->blocks.coded.host.data);
  for (uint32_t i = 0; i < host.report->cut.count; i++) {
    uint32_t b = host.list[i].block;
    if (!again || !changes(again, coded, b))
      list[count++] = (Cj2kCudaAgain){.block = b, .length = coded[b], .choice = {0, 1}};
  }
  slot->ahead.launched = false;
  return count;
}
