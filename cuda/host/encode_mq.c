/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * BLOCK CODER for MQ: context modelling, coding, and the downloads. How many symbols, bytes and
 * passes a frame has is known only afterwards: if the room did not suffice, it is made larger and
 * the step is done again.
 *
 * If place() is going to make the packets, their headers are made behind the blocks, and the host
 * gets the sizes of packets in place of records. If passes have to be selected before, that may be
 * done here as well (encode_ahead_mq.c).
 *
 * Of a list of blocks, which are those of a slice or of a few, kernels read the numbers from host
 * memory and write records, passes, hulls and bytes there, so that no downloads follow but that of
 * counts.
 */
#include "encode.h"

#include <string.h>

#define FIRST_SYMBOLS 4  /* initial room: symbols per sample */
#define FIRST_PASSES  24 /* initial room: passes per block */
#define SYMBOL_ROOM   3  /* initial room: bytes per 16 symbols */
#define MAX_ATTEMPTS  8
#define READ_AHEAD    64 /* bytes that kernels may read behind the last symbol */
#define ALIGNMENT     16

/* Lengths of passes and bits of packet headers are words of the same array. */
G_STATIC_ASSERT(sizeof(Cj2kPassLength) == sizeof(uint32_t));
/* What follows the counts is copied by kernels. */
G_STATIC_ASSERT(sizeof(Cj2kCudaMqFrameCounts) % ALIGNMENT == 0);

/* ---------------------------------------------------------------------------------- room --- */

static uint64_t align(uint64_t size)
{
  return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Offsets of the arrays in mq.work. */
typedef struct {
  uint64_t marks, distortions, blocks, rooms, order, size;
} WorkLayout;

static WorkLayout lay_out_work(uint64_t blocks, uint32_t max_planes)
{
  uint64_t passes = blocks * CJ2K_CUDA_MQ_PASSES(max_planes);
  WorkLayout layout = {0};

  layout.distortions = layout.marks + align(passes * sizeof(Cj2kCudaMqMark));
  layout.blocks = layout.distortions + align(passes * sizeof(uint64_t));
  layout.rooms = layout.blocks + align(blocks * sizeof(Cj2kCudaMqBlock));
  layout.order = layout.rooms + align(blocks * sizeof(uint64_t));
  layout.size = layout.order + align(blocks * sizeof(uint32_t));
  return layout;
}

/* The size of what kernels add up: counts, and with hulls the bytes per slope class. */
static size_t sums_size(const Cj2kEncodeSlot *slot)
{
  return sizeof(Cj2kCudaMqFrameCounts) +
         (slot->mq.job.weights ? CJ2K_SLOPE_CLASSES * sizeof(uint64_t) : 0);
}

Cj2kPacketSize *cj2k_cuda_mq_packet_sizes(const Cj2kEncodeSlot *slot, void *counts)
{
  return (Cj2kPacketSize *)(void *)((char *)counts + sums_size(slot));
}

/* The same with the sizes of packets, if they may be made; the blocks' records follow. */
static size_t records_offset(const Cj2kEncodeSlot *slot)
{
  return sums_size(slot) +
         (slot->packets.kept ? slot->encoder->plan->num_precincts * sizeof(Cj2kPacketSize) : 0);
}

/* The same with the blocks' records. */
static size_t coded_size(const Cj2kEncodeSlot *slot)
{
  return records_offset(slot) + slot->encoder->plan->num_blocks * sizeof(Cj2kEncodedBlock);
}

/* The blocks' records behind the counts, on the host or on the device. */
static Cj2kEncodedBlock *records_behind(const Cj2kEncodeSlot *slot, void *counts)
{
  return (Cj2kEncodedBlock *)(void *)((char *)counts + records_offset(slot));
}

static Cj2kEncodedBlock *host_blocks(const Cj2kEncodeSlot *slot)
{
  return records_behind(slot, slot->blocks.coded.host.data);
}

uint64_t cj2k_cuda_mq_first_symbols(const Cj2kEncodeSlot *slot)
{
  return slot->encoder->plan->num_coefficients * FIRST_SYMBOLS + READ_AHEAD;
}

/* The number of bytes that all blocks together may need. */
static uint64_t room_size(const Cj2kEncodeSlot *slot, uint64_t symbols)
{
  const Cj2kCudaMqCode *mq = &slot->mq.job;
  uint32_t segments =
      slot->encoder->lists.many_segments ? CJ2K_CUDA_MQ_PASSES(mq->contexts.max_planes) : 1;
  return cj2k_cuda_mq_whole_room(symbols, mq->symbol_room, mq->contexts.num_blocks, segments);
}

/* Reserves `size` bytes. Before memory is freed, downloads from it or to it must be complete. */
static void grow(const Cj2kCudaQueue *queue, Cj2kCudaMemory *memory, uint64_t size)
{
  if (!memory->data || size > memory->size)
    CJ2K_CUDA_DO(queue, cudaStreamSynchronize(queue->stream));
  cj2k_cuda_queue_reserve(queue, memory, size);
}

/* Reserves room for a number of symbols, bytes and passes. */
static void make_room(Cj2kEncodeSlot *slot, uint64_t symbols, uint64_t bytes, uint64_t passes)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaMqStage *mq = &slot->mq;
  bool hulls = mq->job.weights != NULL, to_host = mq->listed || !(hulls || slot->blocks.placed);
  uint64_t passes_size = passes * sizeof(Cj2kPassLength);
  uint64_t points_size = hulls ? passes * sizeof(Cj2kHullPoint) : 0;
  const struct {
    Cj2kCudaMemory *memory;
    uint64_t size;
  } sizes[] = {
      {&mq->symbols, symbols + READ_AHEAD},
      {&slot->blocks.bytes.device, bytes},
      {&slot->blocks.bytes.host, to_host ? MAX(bytes, slot->blocks.bytes.device.size) : 0},
      {&mq->passes.device, passes_size},
      {&mq->passes.host, mq->pass_lengths ? passes_size : 0},
      {&mq->points.device, points_size},
      {&mq->points.host, points_size},
      {&slot->blocks.coded.device, coded_size(slot)},
      {&slot->blocks.coded.host, coded_size(slot)},
  };

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    grow(queue, sizes[i].memory, sizes[i].size);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  mq->job.contexts.capacity =
      (mq->symbols.size - READ_AHEAD) & ~(uint64_t)(CJ2K_CUDA_MQ_ALIGNMENT - 1);
  cj2k_cuda_queue_reserve(queue, &mq->room, room_size(slot, mq->job.contexts.capacity));
}

/* ---------------------------------------------------------------------------------- step --- */

/* Sets the capacities for bytes and passes: the smallest of all arrays that take them. */
static void set_capacities(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaMqStage *mq = &slot->mq;
  const Cj2kCudaPair *bytes = &slot->blocks.bytes;
  Cj2kCudaMqCode *job = &slot->mq.job;

  job->capacity = mq->listed ? bytes->host.size : bytes->device.size;
  job->pass_capacity = mq->passes.device.size / sizeof(Cj2kPassLength);
  if (mq->pass_lengths)
    job->pass_capacity = MIN(job->pass_capacity, mq->passes.host.size / sizeof(Cj2kPassLength));
  if (job->weights)
    job->pass_capacity = MIN(job->pass_capacity, MIN(mq->points.device.size, mq->points.host.size) /
                                                     sizeof(Cj2kHullPoint));
  else if (!slot->blocks.placed)
    job->capacity = MIN(job->capacity, bytes->host.size);
}

static void *memory_of(const Cj2kCudaPair *pair, bool host)
{
  return host ? pair->host.data : pair->device.data;
}

/* Sets the kernels' pointers to input, workspace and output. */
static void set_pointers(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaMqStage *mq = &slot->mq;
  Cj2kCudaMqCode *job = &slot->mq.job;
  WorkLayout layout = lay_out_work(slot->encoder->plan->num_blocks, job->contexts.max_planes);
  char *work = mq->work.data;

  job->counts = slot->blocks.coded.device.data;
  job->coded = mq->listed ? host_blocks(slot) : records_behind(slot, job->counts);
  job->order = (uint32_t *)(void *)(work + layout.order);
  job->rooms = (uint64_t *)(void *)(work + layout.rooms);
  job->marks = (Cj2kCudaMqMark *)(void *)(work + layout.marks);
  job->room = mq->room.data;
  job->bytes = memory_of(&slot->blocks.bytes, mq->listed);
  job->passes = mq->header_bits ? NULL : memory_of(&mq->passes, mq->listed);
  job->header_bits = mq->header_bits ? memory_of(&mq->passes, false) : NULL;
  job->points = memory_of(&mq->points, mq->listed);
  job->slope_bytes = (uint64_t *)(job->counts + 1);
  set_capacities(slot);
  job->contexts.counts = &job->counts->modelled;
  job->contexts.symbols = mq->symbols.data;
  job->contexts.mq_blocks = (Cj2kCudaMqBlock *)(void *)(work + layout.blocks);
  job->contexts.distortions = (uint64_t *)(void *)(work + layout.distortions);
}

/* Starts a speculative download of the first *size bytes of an array, the size that the last frame
 * had. If the array is not wanted, *size becomes 0. */
static void download_expected(const Cj2kCudaQueue *queue, const Cj2kCudaPair *array, bool wanted,
                              uint64_t *size)
{
  *size = wanted ? MIN(*size, MIN(array->device.size, array->host.size)) : 0;
  if (*size)
    cj2k_cuda_queue_download(queue, &array->host, &array->device, 0, *size);
}

/* Downloads the counts of a list of blocks, or all that comes before records. */
static void download_counts(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(slot->blocks.coded.host.data, slot->mq.job.counts,
                                           records_offset(slot), queue->stream));
}

/* Starts the download of records; the number of passes and points is speculative. */
static void download_records(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaMqStage *mq = &slot->mq;
  uint64_t all = coded_size(slot);

  download_expected(queue, &slot->blocks.coded, true, &all);
  download_expected(queue, &mq->passes, mq->pass_lengths, &mq->fetched_passes);
  download_expected(queue, &mq->points, mq->job.weights != NULL, &mq->fetched_points);
}

static void launch_kernels(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaMqCode *job = &slot->mq.job;

  CJ2K_CUDA_DO(queue, cudaMemsetAsync(slot->blocks.coded.device.data, 0,
                                      job->contexts.stride > 1 ? coded_size(slot) : sums_size(slot),
                                      queue->stream));
  CJ2K_CUDA_DO(queue, cj2k_cuda_mq_contexts(&job->contexts, queue->stream));
  cj2k_cuda_queue_mark(queue, "contexts");
  CJ2K_CUDA_DO(queue, cj2k_cuda_mq_code(job, queue->stream));
  cj2k_cuda_queue_mark(queue, "code");
  if (slot->mq.coded)
    cj2k_cuda_queue_record(queue, slot->mq.coded);
  if (slot->packets.sized)
    cj2k_cuda_packets_code(slot, queue);
  if (job->weights) {
    CJ2K_CUDA_DO(queue, cj2k_cuda_mq_hulls(job, queue->stream));
    cj2k_cuda_queue_mark(queue, "hulls");
  }
}

static void launch(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool all_bytes = !slot->mq.job.weights && !slot->blocks.placed;

  if (!cj2k_cuda_queue_ok(queue))
    return;
  set_pointers(slot);
  launch_kernels(slot);
  if (slot->ahead.wanted) {
    cj2k_cuda_ahead_mq_launch(slot);
    return;
  }
  if (slot->mq.listed) {
    download_counts(slot);
    cj2k_cuda_queue_record(queue, slot->blocks.done);
    cj2k_cuda_queue_record(queue, slot->mq.arrived);
    return;
  }
  if (slot->packets.sized)
    download_counts(slot);
  else
    download_records(slot);
  cj2k_cuda_queue_mark(queue, "download");
  cj2k_cuda_queue_record(queue, slot->blocks.done);
  /* If all bytes are retained, they are downloaded while the host works on the records. A download
   * that is enqueued later would wait for other frames' kernels, and so would its event. */
  download_expected(queue, &slot->blocks.bytes, all_bytes, &slot->blocks.fetched);
  if (all_bytes) {
    cj2k_cuda_queue_mark(queue, "download");
    cj2k_cuda_queue_record(queue, slot->mq.arrived);
  }
}

/* Sends the weights of bands to the device. */
static void send_weights(Cj2kEncodeSlot *slot, const double *weights)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaPair *array = &slot->mq.weights;
  size_t size = slot->encoder->plan->num_bands * sizeof *weights;
  bool sent = false;

  cj2k_cuda_queue_reserve_pair(queue, array, size);
  cj2k_cuda_blocks_send(queue, array, weights, size, &sent);
  slot->mq.job.weights = array->device.data;
}

/* Copies the job's list of blocks, if it has one, to where kernels can read it. */
static void set_list(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaMqStage *mq = &slot->mq;
  Cj2kCudaMqContexts *contexts = &mq->job.contexts;

  mq->listed = job->blocks != NULL;
  contexts->num_blocks = mq->listed ? job->num_blocks : slot->encoder->plan->num_blocks;
  if (!mq->listed)
    return;
  cj2k_cuda_queue_reserve(queue, &mq->numbers,
                          slot->encoder->plan->num_blocks * sizeof *job->blocks);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  contexts->numbers = memcpy(mq->numbers.data, job->blocks, job->num_blocks * sizeof *job->blocks);
}

void cj2k_cuda_encode_mq_code(Cj2kEncodeSlot *slot, const Cj2kCodeJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaEncoder *encoder = slot->encoder;
  const Cj2kPlan *plan = encoder->plan;
  uint32_t max_planes = MAX(cj2k_cuda_blocks_max_bitplanes(slot, job->quantisers), 1);
  uint32_t symbol_room = MAX(slot->mq.job.symbol_room, SYMBOL_ROOM);

  cj2k_cuda_blocks_begin(slot, job->quantisers, queue);
  slot->mq.job =
      (Cj2kCudaMqCode){.contexts = {.blocks = cj2k_cuda_table_data(encoder->lists.blocks),
                                    .coefficients = slot->transform.coefficients.data,
                                    .quantisers = slot->blocks.quantisers.device.data,
                                    .stride = job->stride,
                                    .lowest_plane = job->lowest_plane,
                                    .max_width = encoder->lists.max_width,
                                    .max_height = encoder->lists.max_height,
                                    .max_planes = max_planes},
                       .symbol_room = symbol_room};
  slot->blocks.placed = cj2k_cuda_encode_leaves_bytes(slot, job);
  slot->mq.pass_lengths = job->pass_lengths || job->blocks;
  slot->mq.header_bits = job->header_bits && !job->blocks;
  slot->packets.kept =
      job->packet_sizes && slot->blocks.placed && encoder->packets.made && plan->num_blocks;
  slot->packets.sized = slot->packets.current = slot->packets.kept && !job->weights;
  if (slot->packets.kept)
    cj2k_cuda_packets_reserve(slot);
  set_list(slot, job);
  if (job->weights)
    send_weights(slot, job->weights);
  cj2k_cuda_queue_reserve(queue, &slot->mq.work, lay_out_work(plan->num_blocks, max_planes).size);
  make_room(slot, plan->num_coefficients * FIRST_SYMBOLS, 0,
            (uint64_t)plan->num_blocks * FIRST_PASSES);
  cj2k_cuda_ahead_mq_prepare(slot, job);
  if (slot->mq.job.contexts.num_blocks)
    launch(slot);
}

/* ------------------------------------------------------------------------------- results --- */

static bool has_room(const Cj2kEncodeSlot *slot, const Cj2kCudaMqFrameCounts *counts)
{
  const Cj2kCudaMqCode *job = &slot->mq.job;
  return counts->modelled.symbols <= job->contexts.capacity && !counts->coded.failed &&
         counts->coded.bytes <= job->capacity && counts->passes <= job->pass_capacity;
}

static uint64_t and_some(uint64_t wanted)
{
  return wanted + wanted / 4;
}

static void code_with_room(Cj2kEncodeSlot *slot, const Cj2kCudaMqFrameCounts *counts)
{
  if (counts->coded.failed)
    slot->mq.job.symbol_room *= 2;
  make_room(slot, and_some(counts->modelled.symbols), and_some(counts->coded.bytes),
            and_some(counts->passes));
  launch(slot);
  CJ2K_CUDA_DO(&slot->queue, cj2k_cuda_encode_wait(slot, slot->blocks.done));
}

void cj2k_cuda_encode_mq_wait(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool prefetched = slot->step == CJ2K_CUDA_STEP_GATHER && slot->mq.prefetched;
  bool quiet = cj2k_cuda_is_quiet(&slot->encoder->device);

  if (slot->step == CJ2K_CUDA_STEP_CODE && cj2k_cuda_ahead_wait(slot))
    return;
  /* With one frame in flight threads are woken early, so that the host's next work begins without
   * delay; if the bytes are left to place(), there is not much of it. */
  if (slot->mq.coded && slot->step == CJ2K_CUDA_STEP_CODE && !quiet && !slot->blocks.placed) {
    CJ2K_CUDA_DO(queue, cj2k_cuda_encode_wait(slot, slot->mq.coded));
    cj2k_threads_wake(slot->encoder->threads, slot->encoder->helpers);
  }
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_encode_wait(slot, prefetched ? slot->mq.arrived : slot->blocks.done));
}

/* Downloads the rest of an array of `size` bytes, if it is wanted, and sets *fetched to the size of
 * the next frame's speculative download. */
static void fetch(Cj2kEncodeSlot *slot, const Cj2kCudaPair *array, bool wanted, uint64_t size,
                  uint64_t *fetched)
{
  if (!wanted)
    return;
  cj2k_cuda_blocks_fetch_rest(slot, array, *fetched, size);
  *fetched = size + size / 32;
}

/* Ensures that all records are on the host, of which not even the blocks' have been downloaded if
 * the headers of packets had room, or if the frame should have been cut. */
static void fetch_records(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqStage *mq = &slot->mq;
  const Cj2kCudaMqFrameCounts *counts = slot->blocks.coded.host.data;

  if (slot->packets.sized || slot->ahead.wanted) {
    uint64_t fetched = slot->packets.sized ? records_offset(slot) : sizeof *counts;
    cj2k_cuda_blocks_fetch_rest(slot, &slot->blocks.coded, fetched, coded_size(slot));
    mq->fetched_passes = mq->fetched_points = 0;
  }
  fetch(slot, &mq->passes, mq->pass_lengths && !mq->listed, counts->passes * sizeof(Cj2kPassLength),
        &mq->fetched_passes);
  fetch(slot, &mq->points, mq->job.weights && !mq->listed, counts->points * sizeof(Cj2kHullPoint),
        &mq->fetched_points);
}

void cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  for (uint32_t i = 0; i < MAX_ATTEMPTS && cj2k_cuda_queue_ok(queue); i++) {
    const Cj2kCudaMqFrameCounts *counts = slot->blocks.coded.host.data;
    if (has_room(slot, counts))
      break;
    cj2k_cuda_ahead_end(slot);
    code_with_room(slot, counts);
  }
  if (!cj2k_cuda_queue_ok(queue))
    return;
  const Cj2kCudaMqFrameCounts *counts = slot->blocks.coded.host.data;
  if (!has_room(slot, counts))
    CJ2K_CUDA_DO(queue, cudaErrorMemoryAllocation);
  slot->place.coded.coded = slot->mq.job.coded;
  cj2k_cuda_packets_coded(slot, result);
  if (!cj2k_cuda_ahead_mq_cut(slot)) {
    cj2k_cuda_ahead_end(slot);
    if (!result->packet_sizes)
      fetch_records(slot);
  }
  cj2k_cuda_encode_mq_result(slot, result);
  result->makes_packets |= slot->packets.kept && slot->mq.job.weights;
}

void cj2k_cuda_encode_mq_result(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaMqStage *mq = &slot->mq;
  const Cj2kCudaMqFrameCounts *counts = slot->blocks.coded.host.data;
  bool cut = slot->ahead.launched;

  result->cut = cut ? &slot->ahead.cut : NULL;
  if (!result->packet_sizes && !cut) {
    result->blocks = host_blocks(slot);
    result->passes = mq->pass_lengths && !mq->header_bits ? mq->passes.host.data : NULL;
    result->header_bits = mq->header_bits ? mq->passes.host.data : NULL;
  }
  result->saturated = counts->modelled.saturated;
  result->placed = slot->blocks.placed;
  if (slot->step == CJ2K_CUDA_STEP_GATHER)
    result->bytes = slot->blocks.bytes.host.data;
  if (slot->mq.job.weights && !cut) {
    result->points = slot->mq.points.host.data;
    result->slopes = (Cj2kSlopeSums){.bytes = (const uint64_t *)(counts + 1),
                                     .lowest = CJ2K_SLOPE_CLASSES - counts->lowest_slope_below,
                                     .highest = counts->highest_slope};
  }
}

/* -------------------------------------------------------------------------------- gather --- */

/* Places the retained bytes of all blocks one after the other, the order that packets mostly have.
 * Returns their number. */
static uint64_t place_retained(Cj2kEncodeSlot *slot, const uint32_t *lengths)
{
  uint32_t num_blocks = slot->encoder->plan->num_blocks;
  Cj2kEncodedBlock *blocks = host_blocks(slot);
  Cj2kCudaMqRetained *retained = slot->mq.retained.host.data;
  uint64_t sum = 0;

  for (uint32_t b = 0; b < num_blocks; b++) {
    retained[b] = (Cj2kCudaMqRetained){.to = sum, .length = lengths[b]};
    blocks[b].offset = sum;
    sum += lengths[b];
  }
  return sum;
}

/* Gathers the retained bytes of all blocks and starts their download. */
static void gather_retained(Cj2kEncodeSlot *slot, const uint32_t *lengths)
{
  const Cj2kCudaQueue *queue = &slot->mq.gather;
  Cj2kCudaMqStage *mq = &slot->mq;
  uint32_t num_blocks = slot->encoder->plan->num_blocks;
  size_t size = num_blocks * sizeof(Cj2kCudaMqRetained);

  cj2k_cuda_queue_reserve_pair(queue, &mq->retained, size);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  uint64_t bytes = place_retained(slot, lengths);
  size_t likely = slot->encoder->likely_bytes;
  CJ2K_CUDA_DO(queue, cj2k_cuda_reserve_bytes(queue->device, &mq->gathered, bytes, likely));
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_reserve_bytes(queue->device, &slot->blocks.bytes.host, bytes, likely));
  Cj2kCudaMqGather gather = {.blocks = mq->job.coded,
                             .retained = mq->retained.device.data,
                             .num_blocks = num_blocks,
                             .bytes = slot->blocks.bytes.device.data,
                             .out = mq->gathered.data};
  CJ2K_CUDA_DO(queue, cj2k_cuda_copy_small(mq->retained.device.data, mq->retained.host.data, size,
                                           queue->stream));
  CJ2K_CUDA_DO(queue, cj2k_cuda_mq_gather(&gather, queue->stream));
  cj2k_cuda_queue_mark(queue, "gather");
  if (bytes)
    cj2k_cuda_queue_download(queue, &slot->blocks.bytes.host, &mq->gathered, 0, bytes);
}

void cj2k_cuda_encode_mq_gather(Cj2kEncodeSlot *slot, const Cj2kGatherJob *job)
{
  const Cj2kCudaQueue *queue = &slot->mq.gather;
  const Cj2kCudaMqFrameCounts *counts = slot->blocks.coded.host.data;
  const Cj2kCudaPair *array = &slot->blocks.bytes;
  uint64_t bytes = counts->coded.bytes, fetched = slot->blocks.fetched;

  slot->mq.prefetched = !job->retained_lengths && (slot->mq.listed || bytes <= fetched);
  if (!job->retained_lengths && !slot->mq.listed)
    slot->blocks.fetched = bytes + bytes / 32; /* for the next frame's speculative download */
  if (slot->mq.prefetched)
    return;
  if (slot->timed)
    cj2k_cuda_queue_record(queue, slot->blocks.started);
  cj2k_cuda_queue_mark(queue, NULL);
  if (job->retained_lengths) {
    gather_retained(slot, job->retained_lengths);
  } else { /* the speculative download was too short: the rest */
    cj2k_cuda_queue_wait(queue, slot->mq.arrived);
    cj2k_cuda_queue_download(queue, &array->host, &array->device, fetched, bytes);
  }
  cj2k_cuda_queue_mark(queue, "download");
  cj2k_cuda_queue_record(queue, slot->blocks.done);
}

/* -------------------------------------------------------------------------------- stage --- */

void cj2k_cuda_mq_stage_init(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaMqStage *mq = &slot->mq;

  mq->gather = cj2k_cuda_encode_queue(slot, slot->encoder->gather);
  mq->passes.host.host = mq->points.host.host = mq->numbers.host = true;
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&mq->arrived, cj2k_cuda_encode_event_flags(slot) |
                                                                 cudaEventDisableTiming));
  if (!slot->encoder->blocking)
    CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&mq->coded, cudaEventDisableTiming));
}

void cj2k_cuda_mq_stage_free(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqStage *mq = &slot->mq;
  Cj2kCudaMemory *memories[] = {&mq->symbols, &mq->work, &mq->room, &mq->gathered, &mq->numbers};
  Cj2kCudaPair *pairs[] = {&mq->passes, &mq->points, &mq->weights, &mq->retained};

  for (guint i = 0; i < G_N_ELEMENTS(memories); i++)
    cj2k_cuda_release(memories[i]);
  for (guint i = 0; i < G_N_ELEMENTS(pairs); i++)
    cj2k_cuda_release_pair(pairs[i]);
  cj2k_cuda_destroy_event(mq->coded);
  cj2k_cuda_destroy_event(mq->arrived);
}
