/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BLOCK CODER for HT: coding; with one frame in flight, and steps that do not depend on an
 * estimate, it begins while the rest of the picture is still being uploaded. */
#include "encode.h"

#include "streams.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------- stage --- */

void cj2k_cuda_ht_stage_init(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  uint64_t blocks = slot->encoder->plan->num_blocks, bands = slot->encoder->plan->num_bands;

  cj2k_cuda_queue_reserve_pair(queue, &slot->ht.choices, blocks * sizeof(Cj2kHtChoice));
  cj2k_cuda_queue_reserve_pair(queue, &slot->ht.again, blocks * sizeof(uint32_t));
  cj2k_cuda_queue_reserve_pair(queue, &slot->ht.rules, bands * sizeof(Cj2kStepRule));
  cj2k_cuda_queue_reserve(queue, &slot->ht.weights, bands * sizeof(double));
  CJ2K_CUDA_DO(queue,
               cudaEventCreateWithFlags(&slot->ht.coded, cj2k_cuda_encode_event_flags(slot)));
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&slot->ht.forked, cudaEventDisableTiming));
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&slot->ht.joined, cudaEventDisableTiming));
  if (slot->encoder->best)
    cj2k_cuda_queue_reserve(queue, &slot->ht.indices,
                            slot->encoder->plan->num_coefficients * sizeof(int32_t));
}

void cj2k_cuda_ht_stage_free(Cj2kEncodeSlot *slot)
{
  cj2k_cuda_destroy_event(slot->ht.coded);
  cj2k_cuda_destroy_event(slot->ht.forked);
  cj2k_cuda_destroy_event(slot->ht.joined);
  for (guint i = 0; i < G_N_ELEMENTS(slot->ht.steps); i++)
    cj2k_cuda_graph_free(&slot->ht.steps[i]);
  cj2k_cuda_release_pair(&slot->ht.choices);
  cj2k_cuda_release_pair(&slot->ht.again);
  cj2k_cuda_release_pair(&slot->ht.rules);
  cj2k_cuda_release(&slot->ht.weights);
  cj2k_cuda_release_pair(&slot->ht.measured);
  cj2k_cuda_release(&slot->ht.scratch);
  cj2k_cuda_release(&slot->ht.indices);
}

void cj2k_cuda_ht_begin(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers, uint32_t stride,
                        const Cj2kCudaQueue *queue)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  Cj2kCudaBlockStage *stage = &slot->blocks;
  size_t size = encoder->plan->num_bands * sizeof *quantisers;

  slot->ht.listed = slot->ht.left_out = false;
  slot->ht.estimate = (Cj2kCudaEstimate){0};
  slot->ht.job = (Cj2kCudaEncodeBlocks){.blocks = cj2k_cuda_table_data(encoder->lists.blocks),
                                        .tables = cj2k_cuda_table_data(encoder->lists.tables),
                                        .coefficients = slot->transform.coefficients.data,
                                        .indices = slot->ht.indices.data,
                                        .quantisers = slot->blocks.quantisers.device.data,
                                        .num_blocks = encoder->plan->num_blocks,
                                        .stride = stride};
  cj2k_cuda_blocks_start(slot, queue);
  if (cj2k_cuda_blocks_has_quantisers(slot, quantisers))
    return;
  slot->ht.all_coded = stage->quantisers_sent = false;
  memcpy(stage->quantisers.host.data, quantisers, size);
}

void cj2k_cuda_ht_prepare(Cj2kEncodeSlot *slot, void *counters, size_t size,
                          const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPair *quantisers = &slot->blocks.quantisers;
  size_t sent = cj2k_cuda_quantisers_size(slot);

  if (slot->blocks.quantisers_sent)
    sent = 0;
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_and_clear(quantisers->device.data, quantisers->host.data, sent,
                                               counters, size, queue->stream));
  slot->blocks.quantisers_sent |= cj2k_cuda_queue_ok(queue);
}

/* ------------------------------------------------------------ code, one frame in flight --- */

void cj2k_cuda_latency_init(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaLatencyStage *stage = &slot->latency;
  cudaEvent_t *events[] = {&stage->sent, &stage->tops_coded};
  unsigned flags = cudaEventDisableTiming;
  cudaStream_t coder = NULL, copier = NULL;

  CJ2K_CUDA_DO(queue, cj2k_cuda_take_stream(queue->device->engine, 0, &coder));
  stage->coder = cj2k_cuda_encode_queue(slot, coder);
  CJ2K_CUDA_DO(queue, cj2k_cuda_take_stream(queue->device->engine, 0, &copier));
  stage->copier = cj2k_cuda_encode_queue(slot, copier);
  stage->host_parts.host = true;
  cj2k_cuda_queue_reserve(queue, &stage->host_parts,
                          CJ2K_CUDA_MAX_SLICES * sizeof(Cj2kCudaEncodeCounts));
  for (guint i = 0; i < G_N_ELEMENTS(events); i++)
    CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(events[i], flags));
  for (guint i = 0; i < slot->encoder->slices.count; i++)
    CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&stage->tops_done[i], flags));
  for (guint i = 0; i < slot->encoder->slices.count; i++)
    CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&stage->part_coded[i], flags));
}

const Cj2kCudaQueue *cj2k_cuda_encode_coder(const Cj2kEncodeSlot *slot)
{
  const Cj2kCudaLatencyStage *latency = &slot->latency;

  return latency->coder.stream && !latency->quiet && !latency->behind ? &latency->coder : NULL;
}

void cj2k_cuda_latency_free(Cj2kEncodeSlot *slot)
{
  Cj2kCudaLatencyStage *stage = &slot->latency;

  cj2k_cuda_release(&stage->host_parts);
  cj2k_cuda_destroy_event(stage->sent);
  cj2k_cuda_destroy_event(stage->tops_coded);
  for (guint i = 0; i < CJ2K_CUDA_MAX_SLICES; i++) {
    cj2k_cuda_destroy_event(stage->tops_done[i]);
    cj2k_cuda_destroy_event(stage->part_coded[i]);
  }
  cj2k_cuda_give_stream(slot->encoder->device.engine, stage->coder.stream);
  cj2k_cuda_give_stream(slot->encoder->device.engine, stage->copier.stream);
}

/* Returns how many of the first slices are downloaded by the copy engine, never the last two. For
 * the others kernels write bytes directly into host memory: that is fastest for small outputs, but
 * large ones slow concurrent uploads more than the copy engine does. */
static uint32_t count_parts(const Cj2kEncodeSlot *slot)
{
  uint32_t count = slot->encoder->slices.count;
  bool is_large = slot->ht.expected > slot->upload.picture_size / 4;

  return slot->latency.in_slices && is_large && count > 2 ? count - 2 : 0;
}

static Cj2kCudaEncodeCounts *part_counts(const Cj2kEncodeSlot *slot, uint32_t slice)
{
  return (Cj2kCudaEncodeCounts *)slot->latency.host_parts.data + slice;
}

/* Codes the blocks that can be coded after slices [first, end), on the coder's stream. */
static void code_tops(Cj2kEncodeSlot *slot, uint32_t first, uint32_t end)
{
  const Cj2kCudaQueue *coder = &slot->latency.coder;
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  bool is_part = first < slot->latency.num_parts;
  Cj2kCudaEncodeBlocks part = slot->ht.job;

  if (is_part)
    part.bytes = slot->blocks.bytes.device.data;
  part.order = (const uint32_t *)cj2k_cuda_table_data(slot->encoder->lists.order) +
               slices->first_block[first];
  part.num_blocks = slices->first_block[end] - slices->first_block[first];
  cj2k_cuda_queue_wait(coder, slot->latency.tops_done[end - 1]);
  cj2k_cuda_queue_mark(coder, CJ2K_CUDA_BEGIN);
  if (part.num_blocks)
    CJ2K_CUDA_DO(coder, cj2k_cuda_ht_encode(&part, coder->stream));
  cj2k_cuda_queue_mark(coder, "code");
  if (is_part) {
    CJ2K_CUDA_DO(coder, cj2k_cuda_copy_small(part_counts(slot, first), part.counts,
                                             sizeof *part.counts, coder->stream));
    cj2k_cuda_queue_record(coder, slot->latency.part_coded[first]);
  }
}

/* Codes all blocks. Those of the slices are coded on the coder's stream, except for the last slice:
 * its blocks are coded together with those of the levels below, which are ready soon after. */
static void code_in_slices(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  Cj2kCudaLatencyStage *latency = &slot->latency;
  bool divided = latency->in_slices && slices->count > 1;
  uint32_t step = divided ? 1 : slices->count, end = divided ? slices->count - 1 : slices->count;
  Cj2kCudaEncodeBlocks part = slot->ht.job;

  latency->num_parts = count_parts(slot);
  cj2k_cuda_queue_record(&latency->coder, latency->sent);
  for (uint32_t i = 0; i < end; i += step)
    code_tops(slot, i, i + step);
  cj2k_cuda_queue_record(&latency->coder, latency->tops_coded);
  cj2k_cuda_queue_wait(queue, latency->sent);
  if (latency->num_parts) /* the bytes of parts must come before all others */
    cj2k_cuda_queue_wait(queue, latency->part_coded[latency->num_parts - 1]);
  cj2k_cuda_queue_mark(queue, NULL);
  part.order =
      (const uint32_t *)cj2k_cuda_table_data(slot->encoder->lists.order) + slices->first_block[end];
  part.num_blocks = slices->first_block[slices->count + 1] - slices->first_block[end];
  if (part.num_blocks)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&part, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
  cj2k_cuda_queue_wait(queue, latency->tops_coded);
  cj2k_cuda_queue_mark(queue, CJ2K_CUDA_BEGIN);
}

/* Downloads the bytes of each part as soon as it is coded. */
static void copy_parts(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *copier = &slot->latency.copier;
  uint64_t from = 0;

  for (uint32_t i = 0; i < slot->latency.num_parts; i++) {
    CJ2K_CUDA_DO(copier, cj2k_cuda_encode_wait(slot, slot->latency.part_coded[i]));
    uint64_t end = MIN(part_counts(slot, i)->bytes, slot->ht.job.capacity);
    if (end == from)
      continue;
    cj2k_cuda_queue_mark(copier, CJ2K_CUDA_BEGIN);
    cj2k_cuda_queue_download(copier, &slot->blocks.bytes.host, &slot->blocks.bytes.device, from,
                             end);
    cj2k_cuda_queue_mark(copier, "download");
    from = end;
  }
}

/* -------------------------------------------------------------------------------- code --- */

/* Bytes before the sizes of packets. */
static size_t records_size(const Cj2kEncodeSlot *slot)
{
  size_t blocks = slot->encoder->plan->num_blocks;
  size_t size = sizeof(Cj2kCudaEncodeCounts) +
                blocks * (sizeof(Cj2kEncodedBlock) + sizeof(Cj2kPassLength) + sizeof(uint32_t));

  return (size + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

size_t cj2k_cuda_ht_coded_size(const Cj2kEncodeSlot *slot)
{
  return records_size(slot) + slot->encoder->plan->num_precincts * sizeof(Cj2kPacketSize);
}

uint32_t *cj2k_cuda_ht_lengths(const Cj2kEncodeSlot *slot, void *counts)
{
  uint32_t num_blocks = slot->encoder->plan->num_blocks;
  Cj2kEncodedBlock *coded = (Cj2kEncodedBlock *)(void *)((Cj2kCudaEncodeCounts *)counts + 1);
  Cj2kPassLength *passes = (Cj2kPassLength *)(void *)(coded + num_blocks);

  return (uint32_t *)(void *)(passes + num_blocks);
}

Cj2kPacketSize *cj2k_cuda_ht_packet_sizes(const Cj2kEncodeSlot *slot, void *counts)
{
  return (Cj2kPacketSize *)(void *)((char *)counts + records_size(slot));
}

/* Codes the listed blocks again, whose choice differs from the one they were coded with. */
static void code_some_again(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaPair *again = &slot->ht.again;
  Cj2kCudaEncodeBlocks part = slot->ht.job;

  part.order = again->device.data;
  part.num_blocks = slot->ht.num_again;
  part.again = 1;
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(again->device.data, again->host.data,
                                           part.num_blocks * sizeof(uint32_t), queue->stream));
  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&part, queue->stream));
}

/* Makes room for the bytes on the host as well, unless it does not get them. */
static void reserve_bytes(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaPair *bytes = &slot->blocks.bytes;

  slot->ht.job.capacity = bytes->device.size;
  if (slot->blocks.placed)
    return;
  cj2k_cuda_queue_reserve(&slot->queue, &slot->blocks.bytes.host, bytes->device.size);
  slot->ht.job.capacity = MIN(bytes->device.size, bytes->host.size);
}

/* Do kernels write the bytes into host memory? */
static bool writes_to_host(const Cj2kEncodeSlot *slot)
{
  return slot->latency.coder.stream && !slot->blocks.placed;
}

void cj2k_cuda_ht_tell_host(const Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPair *coded = &slot->blocks.coded;

  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(coded->host.data, coded->device.data,
                                           cj2k_cuda_ht_coded_size(slot), queue->stream));
}

/* Downloads records, and bytes [from, fetched). With one frame in flight kernels or the copier
 * bring the bytes, unless place() does. */
static void download(Cj2kEncodeSlot *slot, uint64_t from, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaPair *coded = &slot->blocks.coded, *bytes = &slot->blocks.bytes;

  if (slot->latency.coder.stream)
    cj2k_cuda_ht_tell_host(slot, queue);
  else
    cj2k_cuda_queue_download(queue, &coded->host, &coded->device, 0, cj2k_cuda_ht_coded_size(slot));
  if (!slot->latency.coder.stream && slot->blocks.fetched > from && !slot->blocks.placed)
    cj2k_cuda_queue_download(queue, &bytes->host, &bytes->device, from, slot->blocks.fetched);
  cj2k_cuda_queue_mark(queue, "download");
}

/* Sends the quantisers, and makes the estimate for a range. */
static void begin_all(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  const Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;
  size_t cleared = blocks->stride > 1 ? cj2k_cuda_ht_coded_size(slot) : sizeof *blocks->counts;

  cj2k_cuda_ht_prepare(slot, slot->blocks.coded.device.data, cleared, queue);
  if (!slot->ht.estimate.quad_rows)
    return;
  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_estimate(blocks, &slot->ht.estimate, queue->stream));
  cj2k_cuda_queue_mark(queue, "estimate");
}

static void encode(const Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_encode(&slot->ht.job, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
}

/* Codes all blocks, or those of a stride. */
static void code_all(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaQueue *coder = cj2k_cuda_encode_coder(slot);

  begin_all(slot, coder ? coder : queue);
  if (coder) {
    code_in_slices(slot);
    return;
  }
  encode(slot, queue);
}

/* Sets where bytes go. */
static void set_bytes(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaPair *bytes = &slot->blocks.bytes;

  reserve_bytes(slot);
  slot->ht.job.bytes = writes_to_host(slot) ? bytes->host.data : bytes->device.data;
  slot->blocks.fetched = MIN(slot->blocks.fetched, bytes->device.size);
}

bool cj2k_cuda_ht_waits_once(const Cj2kEncodeSlot *slot)
{
  return slot->encoder->blocking || slot->blocks.placed;
}

/* Codes the listed blocks, or all. */
static void code_chosen(Cj2kEncodeSlot *slot)
{
  if (!slot->ht.num_again) {
    code_all(slot);
    return;
  }
  code_some_again(slot);
  cj2k_cuda_queue_mark(&slot->queue, "code");
}

/* Codes all blocks and makes packet headers, and at the same time measures what is likely to be
 * asked for. Measuring needs the steps, but not coded blocks; it takes few warps a long time, and
 * with one frame in flight has the stream with the higher priority. With several the GPU has other
 * work, and it is only beside packet headers, which are few threads' work. */
static void code_beside_measuring(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *likely)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool several = slot->encoder->blocking;
  const Cj2kCudaQueue *side = several ? &slot->place.queue : &slot->latency.coder;

  begin_all(slot, queue);
  if (several)
    encode(slot, queue);
  cj2k_cuda_queue_fork(queue, side, slot->ht.forked);
  cj2k_cuda_ht_measure_ahead(slot, likely, queue);
  if (!several)
    encode(slot, side);
  if (slot->packets.sized)
    cj2k_cuda_packets_code(slot, side);
  cj2k_cuda_queue_join(queue, side, slot->ht.joined);
}

/* Where indices are chosen, coding chooses those that are measured. */
static bool may_measure_beside(const Cj2kEncodeSlot *slot)
{
  bool any_beside = !slot->encoder->blocking || slot->packets.sized;

  return any_beside && !slot->ht.num_again && !slot->ht.indices.data;
}

/* Codes, measures what is likely to be asked for (NULL: nothing), and starts the download of
 * records and of the first `fetched` bytes; the first `from` bytes are already on the host. Where
 * the host waits once for all, the download comes last: it may have to wait for those of other
 * frames, and the measuring kernel would wait with it. */
static void launch(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *likely, uint64_t from)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool measures = likely && cj2k_cuda_ht_waits_once(slot);

  if (measures && may_measure_beside(slot)) {
    code_beside_measuring(slot, likely);
  } else {
    code_chosen(slot);
    if (measures)
      cj2k_cuda_ht_measure_ahead(slot, likely, queue);
    if (slot->packets.sized)
      cj2k_cuda_packets_code(slot, queue);
  }
  download(slot, from, queue);
}

/* Codes with one frame in flight where bytes go to the host and one call cannot do it (layers, a
 * timeline), whose host goes on when records are there: headers are made and records downloaded on
 * another stream, while blocks are measured. */
static void launch_and_measure(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *likely, uint64_t from)
{
  const Cj2kCudaQueue *queue = &slot->queue, *side = &slot->latency.coder;

  code_chosen(slot);
  cj2k_cuda_queue_follow(side, queue, slot->packets.coded);
  if (slot->packets.sized)
    cj2k_cuda_packets_code(slot, side);
  download(slot, from, side);
  cj2k_cuda_queue_record(side, slot->ht.coded);
  cj2k_cuda_ht_measure_ahead(slot, likely, queue);
  cj2k_cuda_queue_wait(queue, slot->ht.coded);
}

/* ----------------------------------------------------------------- code, with one call --- */

/* What is launched for a frame by itself. */
typedef struct {
  Cj2kEncodeSlot *slot;
  const Cj2kCodeJob *job;
  const Cj2kMeasureJob *likely; /* is measured as well; NULL: nothing is */
} Step;

/* Launches a frame and what is done ahead. */
static void launch_frame(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, const Cj2kMeasureJob *likely,
                         uint64_t from)
{
  if (cj2k_cuda_ahead_goes_on(slot)) {
    code_all(slot);
    cj2k_cuda_ahead_go_on(slot, job);
    return;
  }
  launch(slot, likely, from);
  if (slot->ahead.wanted)
    cj2k_cuda_ahead_launch(slot, job);
}

/* The quantisers are mostly others in each frame, if there is a budget: they are always sent. */
static cudaError_t launch_step(void *ctx)
{
  const Step *step = ctx;
  Cj2kEncodeSlot *slot = step->slot;

  slot->status = cudaSuccess;
  slot->blocks.quantisers_sent = false;
  launch_frame(slot, step->job, step->likely, 0);
  return slot->status;
}

/* Is it the same that is launched for the next frame? */
static bool is_regular(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  bool no_bytes = slot->blocks.placed || slot->latency.coder.stream || !slot->blocks.fetched;

  return no_bytes && !job->choices && job->stride == 1 && !cj2k_cuda_encode_coder(slot) &&
         !slot->marks.timeline->trace;
}

/* launch() of a frame that is_regular(), and what is done ahead. */
static void launch_graph(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kMeasureJob *likely = cj2k_cuda_ht_waits_once(slot) ? job->likely : NULL;
  const Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;
  Cj2kCudaGraph *graph = &slot->ht.steps[2 * slot->ahead.wanted + (likely != NULL)];
  Step step = {slot, job, likely};
  uint64_t key[12 + CJ2K_CUDA_AHEAD_KEY] = {
      (uintptr_t)blocks->scratch,
      blocks->scratch_bits,
      (uintptr_t)blocks->bytes,
      blocks->capacity,
      slot->packets.sized ? (uintptr_t)slot->packets.work.data : 0,
      likely ? (uintptr_t)cj2k_cuda_ht_measured_ahead(slot) : 0,
      likely ? likely->stride : 0,
      likely ? likely->first_plane : 0,
      likely ? likely->num_planes : 0,
      likely ? likely->distortions : 0,
      slot->ht.estimate.quad_rows,
      (uintptr_t)slot->ht.estimate.rules};

  if (slot->ahead.wanted)
    cj2k_cuda_ahead_key(slot, job, key + 12);
  cj2k_cuda_graph_follow(graph, key, G_N_ELEMENTS(key));
  slot->status = cj2k_cuda_graph_run(graph, slot->queue.stream, launch_step, &step);
  slot->blocks.quantisers_sent = cj2k_cuda_queue_ok(&slot->queue);
}

/* Lists the blocks whose choice differs from the one they were coded with, unless they are half of
 * all or more. Returns how many bytes they took. */
static uint64_t list_again(Cj2kEncodeSlot *slot, const Cj2kHtChoice *choices)
{
  const Cj2kCudaEncodeCounts *counts = slot->blocks.coded.host.data;
  const Cj2kEncodedBlock *coded = (const Cj2kEncodedBlock *)(counts + 1);
  uint32_t n = slot->encoder->plan->num_blocks, count = 0, *again = slot->ht.again.host.data;
  uint64_t bytes = 0;

  for (uint32_t b = 0; b < n; b++)
    if (choices[b].plane || !choices[b].passes) {
      again[count++] = b;
      bytes += (coded[b].length + CJ2K_CUDA_BLOCK_ALIGNMENT - 1) & ~(CJ2K_CUDA_BLOCK_ALIGNMENT - 1);
    }
  slot->ht.num_again = count < n / 2 ? count : 0;
  return bytes;
}

/* Sets the kernels' pointers to input and output. */
static void set_pointers(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, uint32_t bits)
{
  Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;

  blocks->choices = job->choices ? slot->ht.choices.device.data : NULL;
  blocks->scratch = slot->ht.scratch.data;
  blocks->scratch_bits = bits;
  blocks->counts = slot->blocks.coded.device.data;
  blocks->coded = (Cj2kEncodedBlock *)(blocks->counts + 1);
  blocks->passes = (Cj2kPassLength *)(blocks->coded + slot->encoder->plan->num_blocks);
  blocks->lengths = cj2k_cuda_ht_lengths(slot, blocks->counts);
}

/* Notes the range, which goes to the device with the quantisers, and sends the rules for its bases.
 */
static void prepare_estimate(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                             const Cj2kCudaQueue *queue)
{
  uint32_t num_bands = slot->encoder->plan->num_bands;
  const Cj2kCudaPair *quantisers = &slot->blocks.quantisers;
  Cj2kCudaHtStage *ht = &slot->ht;

  if (!job->range)
    return;
  *cj2k_cuda_range_behind(slot, &quantisers->host) = *job->range;
  slot->blocks.quantisers_sent = false;
  ht->estimate = (Cj2kCudaEstimate){.quad_rows = job->range->quad_rows,
                                    .num_bands = num_bands,
                                    .range = cj2k_cuda_range_behind(slot, &quantisers->device),
                                    .quantisers = quantisers->device.data,
                                    .weights = ht->weights.data};
  if (!job->range->near.count)
    return;
  cj2k_cuda_blocks_send(queue, &ht->rules, job->rules, num_bands * sizeof *job->rules,
                        &ht->rules_sent);
  ht->estimate.rules = ht->rules.device.data;
}

/* The largest number of bit-planes that indices may have, with any base of a range, whose own is
 * that of the job's quantisers: one more for each octave by which bases are finer, or part of one.
 */
static uint32_t max_bitplanes(const Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kEstimateRange *range = job->range;
  uint32_t bitplanes = cj2k_cuda_blocks_max_bitplanes(slot, job->quantisers);

  if (!range || range->near.count < 2)
    return bitplanes;
  uint32_t more = (uint32_t)ceil(log2(range->base / range->least_base));
  return MIN(bitplanes + more, CJ2K_STEP_MAX_BITPLANES);
}

uint32_t cj2k_cuda_ht_reserve_scratch(Cj2kEncodeSlot *slot, uint32_t num_bitplanes)
{
  uint32_t needed = CJ2K_CUDA_SCRATCH_BITS(num_bitplanes);
  uint32_t bits = MAX(needed, slot->ht.scratch_bits);
  uint64_t size =
      CJ2K_CUDA_SCRATCH_OFFSET(slot->encoder->lists.area, bits, slot->encoder->plan->num_blocks);

  /* More do no harm, and launches stay the same if frames need more in turn. */
  slot->ht.scratch_bits = bits;
  if (size > slot->ht.scratch.size) /* the transform may still use it */
    CJ2K_CUDA_DO(&slot->queue, cudaStreamSynchronize(slot->queue.stream));
  cj2k_cuda_queue_reserve(&slot->queue, &slot->ht.scratch, size);
  return bits;
}

/* Launches all of a step. With one frame in flight, whose bytes go to the host, the host need not
 * wait for what is measured. */
static void launch_job(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job, uint64_t from)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  set_bytes(slot);
  cj2k_cuda_ht_prepare_ahead(slot, job->likely);
  if (slot->packets.sized)
    cj2k_cuda_packets_reserve(slot);
  cj2k_cuda_ahead_prepare(slot, job);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  bool late = job->likely && !cj2k_cuda_ht_waits_once(slot), regular = is_regular(slot, job);
  if (late && !regular) {
    launch_and_measure(slot, job->likely, from);
    return;
  }
  if (regular)
    launch_graph(slot, job);
  else
    launch_frame(slot, job, job->likely, from);
  if (slot->ahead.wanted)
    cj2k_cuda_ahead_launched(slot, job);
  if (!late)
    return;
  cj2k_cuda_queue_record(queue, slot->ht.coded);
  cj2k_cuda_ht_measure_ahead(slot, job->likely, queue);
}

void cj2k_cuda_encode_ht_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  Cj2kCudaHtStage *ht = &slot->ht;
  uint32_t bits = cj2k_cuda_ht_reserve_scratch(slot, max_bitplanes(slot, job));
  uint64_t from = 0, more = 0;

  slot->latency.behind |= job->range != NULL;
  ht->num_again = slot->latency.num_parts = 0;
  slot->ahead.launched = false;
  slot->blocks.placed = cj2k_cuda_encode_leaves_bytes(slot, job);
  slot->blocks.fetched = ht->expected;
  if (ht->all_coded && job->choices && cj2k_cuda_blocks_has_quantisers(slot, job->quantisers))
    more = list_again(slot, job->choices);
  const Cj2kCudaQueue *coder = cj2k_cuda_encode_coder(slot);
  const Cj2kCudaQueue *queue = coder && !ht->num_again ? coder : &slot->queue;
  /* What an earlier code() is still measuring reads quantisers and writes indices. */
  if (queue != &slot->queue)
    cj2k_cuda_queue_wait(queue, slot->blocks.done);
  cj2k_cuda_ht_begin(slot, job->quantisers, job->stride, queue);
  if (ht->num_again) {
    from = ((const Cj2kCudaEncodeCounts *)slot->blocks.coded.host.data)->bytes;
    slot->blocks.fetched = from + more;
  }
  if (job->choices)
    cj2k_cuda_blocks_send(queue, &ht->choices, job->choices,
                          plan->num_blocks * sizeof *job->choices, &ht->choices_sent);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  set_pointers(slot, job, bits);
  prepare_estimate(slot, job, queue);
  ht->all_coded = !job->choices && job->stride == 1;
  slot->packets.sized = job->packet_sizes && ht->all_coded && slot->encoder->packets.made;
  slot->packets.current = slot->packets.sized;
  launch_job(slot, job, from);
  /* If kernels choose the steps, the device has others than the host, until that knows them. */
  slot->blocks.quantisers_sent &= !ht->estimate.rules;
  cj2k_cuda_queue_record(&slot->queue, slot->blocks.done);
}

/* ------------------------------------------------------------------------------- results --- */

/* With one frame in flight the host may go on with coded blocks while they are measured; else a
 * further wait would cost more than it gains. */
cudaEvent_t cj2k_cuda_encode_ht_end(const Cj2kEncodeSlot *slot)
{
  bool ahead = slot->step == CJ2K_CUDA_STEP_CODE && slot->ht.ahead.num_planes;

  return ahead && !cj2k_cuda_ht_waits_once(slot) ? slot->ht.coded : slot->blocks.done;
}

/* With one frame in flight other threads are woken when the upload is done, while the GPU does the
 * rest, so that the host's next work begins without delay. */
void cj2k_cuda_encode_ht_wait(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool parts = slot->latency.num_parts > 0;

  if (slot->step == CJ2K_CUDA_STEP_CODE && cj2k_cuda_ahead_wait(slot))
    return;
  copy_parts(slot);
  slot->latency.num_parts = 0;
  if (cj2k_cuda_encode_coder(slot)) {
    if (slot->latency.in_slices)
      CJ2K_CUDA_DO(queue, cj2k_cuda_encode_wait(slot, slot->upload.uploaded));
    cj2k_threads_wake(slot->encoder->threads, slot->encoder->helpers);
  }
  CJ2K_CUDA_DO(queue, slot->ht.listed
                          ? cj2k_cuda_wait_briefly(&slot->encoder->device, slot->blocks.done)
                          : cj2k_cuda_encode_wait(slot, cj2k_cuda_encode_ht_end(slot)));
  if (parts)
    CJ2K_CUDA_DO(queue, cudaStreamSynchronize(slot->latency.copier.stream));
}

/* Codes all blocks once more. */
static void launch_all_again(Cj2kEncodeSlot *slot)
{
  set_bytes(slot);
  if (cj2k_cuda_queue_ok(&slot->queue))
    launch(slot, NULL, 0);
}

/* Makes more room after the bytes did not fit, and codes again. */
static void code_with_room(Cj2kEncodeSlot *slot, uint64_t bytes)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  uint64_t room = bytes + bytes / 4;

  if (!slot->blocks.placed)
    cj2k_cuda_queue_reserve(queue, &slot->blocks.bytes.host, room);
  cj2k_cuda_queue_reserve(queue, &slot->blocks.bytes.device, room);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  slot->ht.num_again = 0;
  slot->ahead.launched = false;
  slot->blocks.fetched = bytes;
  if (slot->ht.listed)
    cj2k_cuda_encode_list_again(slot);
  else
    launch_all_again(slot);
  cj2k_cuda_queue_record(queue, slot->blocks.done);
  slot->ht.ahead = (Cj2kMeasureJob){0}; /* so that the wait is for this event */
  cj2k_cuda_encode_ht_wait(slot);
}

/* Comes to the same as the kernels that made the estimates: false: blocks are left out; else the
 * quantisers on the host become those that it has chosen. */
static bool follow_estimates(Cj2kEncodeSlot *slot, const uint64_t *estimates)
{
  Cj2kFrameQuantiser *quantisers = slot->blocks.quantisers.host.data;
  const Cj2kEstimateRange *range = cj2k_cuda_range_behind(slot, &slot->blocks.quantisers.host);
  const Cj2kStepRule *rules = slot->ht.rules.host.data;
  bool chooses = slot->ht.estimate.rules != NULL;
  Cj2kEstimateOutcome outcome = {CJ2K_ESTIMATE_IN};

  if (slot->ht.estimate.quad_rows)
    outcome = cj2k_estimate_follow(range, estimates);
  if (outcome.verdict == CJ2K_ESTIMATE_OUT)
    return false;
  slot->ht.estimate = (Cj2kCudaEstimate){0}; /* blocks may have to be coded again */
  if (!chooses)
    return true;
  cj2k_step_choose_quantisers(rules, slot->encoder->plan->num_bands, outcome.base, quantisers);
  slot->blocks.quantisers_sent = true;
  return true;
}

void cj2k_cuda_encode_ht_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaEncodeCounts *counts = slot->blocks.coded.host.data;

  memcpy(result->estimates, counts->estimates, sizeof result->estimates);
  slot->ht.left_out = !follow_estimates(slot, counts->estimates);
  if (slot->ht.left_out) {
    slot->ht.all_coded = slot->ahead.launched = false;
    return;
  }
  if (counts->bytes > slot->ht.job.capacity) {
    cj2k_cuda_ahead_end(slot);
    code_with_room(slot, counts->bytes);
  }
  if (!slot->latency.coder.stream && !slot->ht.listed && !slot->blocks.placed)
    cj2k_cuda_blocks_fetch_rest(slot, &slot->blocks.bytes, slot->blocks.fetched, counts->bytes);
  /* Speculative download: the next frame takes about as many bytes. */
  if (!slot->ht.num_again && !slot->ht.listed)
    slot->ht.expected = counts->bytes + counts->bytes / 32;
  result->blocks = (Cj2kEncodedBlock *)((char *)slot->blocks.coded.host.data + sizeof *counts);
  result->passes = (Cj2kPassLength *)(result->blocks + slot->encoder->plan->num_blocks);
  result->lengths = cj2k_cuda_ht_lengths(slot, slot->blocks.coded.host.data);
  result->bytes = slot->blocks.placed ? NULL : slot->blocks.bytes.host.data;
  result->placed = slot->blocks.placed;
  result->keeps_room = slot->blocks.placed || writes_to_host(slot);
  cj2k_cuda_packets_coded(slot, result);
  slot->place.coded = slot->ht.job;
  cj2k_cuda_ahead_coded(slot);
  result->cut_ahead = cj2k_cuda_ahead_has_cut(slot);
  result->saturated = counts->saturated;
}
