/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * BLOCK CODER for MQ: context modelling, coding, and what crosses to the host. How many symbols,
 * bytes and passes a frame has is known afterwards only: where there is not room enough, more is
 * made and the step done again.
 */
#include "encode.h"

#define FIRST_SYMBOLS 4  /* of a sample */
#define FIRST_PASSES  24 /* of a block */
#define SYMBOL_ROOM   3  /* bytes for 16 symbols */
#define TRIALS        8
#define READ_AHEAD    64 /* behind the last symbol */
#define ALIGNMENT     16

/* ---------------------------------------------------------------------------------- room --- */

static uint64_t align(uint64_t size)
{
  return (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Places in slot->work. */
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

/* What kernels add up: counts, and bytes per class of slopes where there are hulls. */
static size_t sums_size(const Cj2kEncodeSlot *slot)
{
  return sizeof(Cj2kCudaMqFrameCounts) +
         (slot->mq.weights ? CJ2K_SLOPE_CLASSES * sizeof(uint64_t) : 0);
}

/* The same, and the blocks. */
static size_t coded_size(const Cj2kEncodeSlot *slot)
{
  return sums_size(slot) + slot->encoder->plan->num_blocks * sizeof(Cj2kEncodedBlock);
}

static Cj2kEncodedBlock *host_blocks(const Cj2kEncodeSlot *slot)
{
  return (Cj2kEncodedBlock *)(void *)((char *)slot->host_coded.data + sums_size(slot));
}

/* Bytes of room that all blocks together may need. */
static uint64_t room_size(const Cj2kEncodeSlot *slot, uint64_t symbols)
{
  const Cj2kCudaMqCode *mq = &slot->mq;
  uint32_t segments =
      slot->encoder->many_segments ? CJ2K_CUDA_MQ_PASSES(mq->contexts.max_planes) : 1;
  /* Each block's room is rounded up by itself. */
  return CJ2K_CUDA_MQ_ROOM(symbols, mq->symbol_room, 0) +
         mq->contexts.num_blocks * (CJ2K_CUDA_MQ_ROOM(0, mq->symbol_room, segments) + ALIGNMENT);
}

/* Room for `size` bytes; nothing of what is there may be on its way any more when it is given back.
 */
static cudaError_t grow(Cj2kEncodeSlot *slot, Cj2kCudaMemory *memory, uint64_t size)
{
  bool there = memory->data && size <= memory->size;
  cudaError_t result = there ? cudaSuccess : cudaStreamSynchronize(slot->stream);

  return result == cudaSuccess ? cj2k_cuda_reserve(memory, size) : result;
}

/* Room for so many symbols, bytes and passes; nothing happens where there is. */
static cudaError_t make_room(Cj2kEncodeSlot *slot, uint64_t symbols, uint64_t bytes,
                             uint64_t passes)
{
  bool hulls = slot->mq.weights != NULL;
  const struct {
    Cj2kCudaMemory *memory;
    uint64_t size;
  } sizes[] = {
      {&slot->symbols, symbols + READ_AHEAD},
      {&slot->bytes, bytes},
      {&slot->host_bytes, hulls ? 0 : bytes},
      {&slot->passes, passes * sizeof(Cj2kPassLength)},
      {&slot->host_passes, slot->pass_lengths ? passes * sizeof(Cj2kPassLength) : 0},
      {&slot->points, hulls ? passes * sizeof(Cj2kHullPoint) : 0},
      {&slot->host_points, hulls ? passes * sizeof(Cj2kHullPoint) : 0},
      {&slot->coded, coded_size(slot)},
      {&slot->host_coded, coded_size(slot)},
  };
  cudaError_t result = cudaSuccess;

  for (guint i = 0; i < G_N_ELEMENTS(sizes) && result == cudaSuccess; i++)
    result = grow(slot, sizes[i].memory, sizes[i].size);
  if (result == cudaSuccess) {
    slot->mq.contexts.capacity =
        (slot->symbols.size - READ_AHEAD) & ~(uint64_t)(CJ2K_CUDA_MQ_ALIGNMENT - 1);
    result = cj2k_cuda_reserve(&slot->room, room_size(slot, slot->mq.contexts.capacity));
  }
  return result;
}

/* ---------------------------------------------------------------------------------- step --- */

/* How many bytes and passes there is room for wherever they have to go. */
static void set_capacities(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqCode *mq = &slot->mq;

  mq->capacity = slot->bytes.size;
  mq->pass_capacity = slot->passes.size / sizeof(Cj2kPassLength);
  if (slot->pass_lengths)
    mq->pass_capacity = MIN(mq->pass_capacity, slot->host_passes.size / sizeof(Cj2kPassLength));
  if (mq->weights)
    mq->pass_capacity = MIN(mq->pass_capacity,
                            MIN(slot->points.size, slot->host_points.size) / sizeof(Cj2kHullPoint));
  else
    mq->capacity = MIN(mq->capacity, slot->host_bytes.size);
}

/* Where everything is. */
static void set_pointers(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqCode *mq = &slot->mq;
  WorkLayout layout = lay_out_work(mq->contexts.num_blocks, mq->contexts.max_planes);
  char *work = slot->work.data;

  mq->counts = slot->coded.data;
  mq->coded = (Cj2kEncodedBlock *)(void *)((char *)slot->coded.data + sums_size(slot));
  mq->order = (uint32_t *)(void *)(work + layout.order);
  mq->rooms = (uint64_t *)(void *)(work + layout.rooms);
  mq->marks = (Cj2kCudaMqMark *)(void *)(work + layout.marks);
  mq->room = slot->room.data;
  mq->bytes = slot->bytes.data;
  mq->passes = slot->passes.data;
  mq->points = slot->points.data;
  mq->slope_bytes = (uint64_t *)(mq->counts + 1);
  set_capacities(slot);
  mq->contexts.counts = &mq->counts->modelled;
  mq->contexts.symbols = slot->symbols.data;
  mq->contexts.mq_blocks = (Cj2kCudaMqBlock *)(void *)(work + layout.blocks);
  mq->contexts.distortions = (uint64_t *)(void *)(work + layout.distortions);
}

/* Tells what is expected of an array to come; nothing where it is not wanted. */
static cudaError_t expect(Cj2kEncodeSlot *slot, Cj2kCudaMemory *host, const Cj2kCudaMemory *device,
                          bool wanted, uint64_t *size)
{
  *size = wanted ? MIN(*size, MIN(device->size, host->size)) : 0;
  if (!*size)
    return cudaSuccess;
  return cudaMemcpyAsync(host->data, device->data, *size, cudaMemcpyDeviceToHost, slot->stream);
}

/* Records, as far as their number is known or guessed. */
static cudaError_t download(Cj2kEncodeSlot *slot)
{
  bool hulls = slot->mq.weights != NULL;
  uint64_t all = coded_size(slot);
  cudaError_t result = expect(slot, &slot->host_coded, &slot->coded, true, &all);

  if (result == cudaSuccess)
    result =
        expect(slot, &slot->host_passes, &slot->passes, slot->pass_lengths, &slot->fetched_passes);
  if (result == cudaSuccess)
    result = expect(slot, &slot->host_points, &slot->points, hulls, &slot->fetched_points);
  return result;
}

static cudaError_t launch(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqCode *mq = &slot->mq;

  set_pointers(slot);
  cudaError_t result =
      cudaMemsetAsync(slot->coded.data, 0,
                      mq->contexts.stride > 1 ? coded_size(slot) : sums_size(slot), slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_contexts(&mq->contexts, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "contexts", slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_code(mq, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "code", slot->stream);
  if (result == cudaSuccess && slot->mq_coded)
    result = cudaEventRecord(slot->mq_coded, slot->stream);
  if (result == cudaSuccess && mq->weights)
    result = cj2k_cuda_mq_hulls(mq, slot->stream);
  if (result == cudaSuccess && mq->weights)
    result = cj2k_cuda_mark(&slot->marks, "hulls", slot->stream);
  if (result == cudaSuccess)
    result = download(slot);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->done, slot->stream);
  /* Bytes that are all wanted come while the host is busy with the records. Told later they would
   * come behind other frames' kernels, and so would the event. */
  if (result == cudaSuccess)
    result = expect(slot, &slot->host_bytes, &slot->bytes, !mq->weights, &slot->fetched);
  if (result == cudaSuccess && !mq->weights)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  return result == cudaSuccess && !mq->weights ? cudaEventRecord(slot->arrived, slot->stream)
                                               : result;
}

/* Weights of bands to the device. */
static cudaError_t send_weights(Cj2kEncodeSlot *slot, const double *weights)
{
  size_t size = slot->encoder->plan->num_bands * sizeof *weights;
  cudaError_t result = cj2k_cuda_reserve(&slot->weights, size);

  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->host_weights, size);
  if (result != cudaSuccess)
    return result;
  memcpy(slot->host_weights.data, weights, size);
  slot->mq.weights = slot->weights.data;
  return cj2k_cuda_copy_small(slot->weights.data, slot->host_weights.data, size, slot->stream);
}

cudaError_t cj2k_cuda_encode_mq_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;
  const Cj2kPlan *plan = encoder->plan;
  uint32_t max_planes = MAX(cj2k_cuda_encode_max_bitplanes(slot, job), 1);
  uint32_t symbol_room = MAX(slot->mq.symbol_room, SYMBOL_ROOM);
  cudaError_t result = cj2k_cuda_encode_begin(slot, job, slot->stream);

  slot->mq = (Cj2kCudaMqCode){.contexts = {.blocks = encoder->blocks.data,
                                           .coefficients = slot->coefficients.data,
                                           .quantisers = slot->quantisers.data,
                                           .num_blocks = plan->num_blocks,
                                           .stride = job->stride,
                                           .lowest_plane = job->lowest_plane,
                                           .max_width = encoder->max_width,
                                           .max_height = encoder->max_height,
                                           .max_planes = max_planes},
                              .alone = !encoder->blocking,
                              .symbol_room = symbol_room};
  slot->pass_lengths = job->pass_lengths;
  if (result == cudaSuccess && job->weights)
    result = send_weights(slot, job->weights);
  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->work, lay_out_work(plan->num_blocks, max_planes).size);
  if (result == cudaSuccess)
    result = make_room(slot, plan->num_coefficients * FIRST_SYMBOLS, 0,
                       (uint64_t)plan->num_blocks * FIRST_PASSES);
  return result == cudaSuccess && plan->num_blocks ? launch(slot) : result;
}

/* ------------------------------------------------------------------------------- results --- */

static bool has_room(const Cj2kEncodeSlot *slot, const Cj2kCudaMqFrameCounts *counts)
{
  const Cj2kCudaMqCode *mq = &slot->mq;
  return counts->modelled.symbols <= mq->contexts.capacity && !counts->coded.failed &&
         counts->coded.bytes <= mq->capacity && counts->passes <= mq->pass_capacity;
}

static uint64_t and_some(uint64_t wanted)
{
  return wanted + wanted / 4;
}

static cudaError_t code_again(Cj2kEncodeSlot *slot, const Cj2kCudaMqFrameCounts *counts)
{
  if (counts->coded.failed)
    slot->mq.symbol_room *= 2;
  cudaError_t result = make_room(slot, and_some(counts->modelled.symbols),
                                 and_some(counts->coded.bytes), and_some(counts->passes));
  if (result == cudaSuccess)
    result = launch(slot);
  return result == cudaSuccess ? cudaEventSynchronize(slot->done) : result;
}

cudaError_t cj2k_cuda_encode_mq_wait(Cj2kEncodeSlot *slot)
{
  bool arriving = slot->step == CJ2K_CUDA_STEP_GATHER && slot->arriving;
  cudaError_t status = cudaSuccess;

  /* With one frame in flight what the host does next begins without delay. */
  if (slot->mq_coded && slot->step == CJ2K_CUDA_STEP_CODE) {
    status = cudaEventSynchronize(slot->mq_coded);
    cj2k_threads_wake(slot->encoder->threads, slot->encoder->helpers);
  }
  return status == cudaSuccess ? cudaEventSynchronize(arriving ? slot->arrived : slot->done)
                               : status;
}

/* The rest of an array of `size` bytes, where it is wanted; the next frame has about as much, which
 * is told to come before its size is known. */
static cudaError_t fetch(Cj2kEncodeSlot *slot, const Cj2kCudaMemory *host,
                         const Cj2kCudaMemory *device, bool wanted, uint64_t size,
                         uint64_t *fetched)
{
  uint64_t already = *fetched;

  *fetched = wanted ? size + size / 32 : already;
  return wanted ? cj2k_cuda_encode_fetch_rest(slot, host, device, already, size) : cudaSuccess;
}

cudaError_t cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaMqFrameCounts *counts = slot->host_coded.data;
  bool hulls = slot->mq.weights != NULL;
  cudaError_t status = cudaSuccess;

  for (uint32_t i = 0; i < TRIALS && status == cudaSuccess && !has_room(slot, counts); i++)
    status = code_again(slot, counts);
  if (status == cudaSuccess && !has_room(slot, counts))
    status = cudaErrorMemoryAllocation;
  if (status == cudaSuccess)
    status = fetch(slot, &slot->host_passes, &slot->passes, slot->pass_lengths,
                   counts->passes * sizeof(Cj2kPassLength), &slot->fetched_passes);
  if (status == cudaSuccess)
    status = fetch(slot, &slot->host_points, &slot->points, hulls,
                   counts->points * sizeof(Cj2kHullPoint), &slot->fetched_points);
  cj2k_cuda_encode_mq_result(slot, result);
  return status;
}

void cj2k_cuda_encode_mq_result(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaMqFrameCounts *counts = slot->host_coded.data;

  result->blocks = host_blocks(slot);
  result->passes = slot->pass_lengths ? slot->host_passes.data : NULL;
  result->saturated = counts->modelled.saturated;
  if (slot->step == CJ2K_CUDA_STEP_GATHER)
    result->bytes = slot->host_bytes.data;
  if (slot->mq.weights) {
    result->points = slot->host_points.data;
    result->slopes = (Cj2kSlopeSums){.bytes = (const uint64_t *)(counts + 1),
                                     .lowest = CJ2K_SLOPE_CLASSES - counts->lowest_slope_below,
                                     .highest = counts->highest_slope};
  }
}

/* -------------------------------------------------------------------------------- gather --- */

/* Where the blocks' bytes go: one after the other, as packets mostly have them. Returns all. */
static uint64_t place_kept(Cj2kEncodeSlot *slot, const uint32_t *lengths)
{
  uint32_t num_blocks = slot->encoder->plan->num_blocks;
  Cj2kEncodedBlock *blocks = host_blocks(slot);
  Cj2kCudaMqKept *kept = slot->host_kept.data;
  uint64_t sum = 0;

  for (uint32_t b = 0; b < num_blocks; b++) {
    kept[b] = (Cj2kCudaMqKept){.to = sum, .length = lengths[b]};
    blocks[b].offset = sum;
    sum += lengths[b];
  }
  return sum;
}

/* Puts what is kept of blocks together; its bytes begin to come. */
static cudaError_t gather_kept(Cj2kEncodeSlot *slot, const uint32_t *lengths)
{
  cudaStream_t stream = slot->encoder->gather;
  uint32_t num_blocks = slot->encoder->plan->num_blocks;
  size_t size = num_blocks * sizeof(Cj2kCudaMqKept);
  cudaError_t result = cj2k_cuda_reserve(&slot->kept, size);

  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->host_kept, size);
  if (result != cudaSuccess)
    return result;
  uint64_t bytes = place_kept(slot, lengths);
  if ((result = cj2k_cuda_reserve_more(&slot->gathered, bytes)) == cudaSuccess)
    result = cj2k_cuda_reserve_more(&slot->host_bytes, bytes);
  Cj2kCudaMqGather gather = {.blocks = slot->mq.coded,
                             .kept = slot->kept.data,
                             .num_blocks = num_blocks,
                             .bytes = slot->bytes.data,
                             .out = slot->gathered.data};
  if (result == cudaSuccess)
    result = cj2k_cuda_copy_small(slot->kept.data, slot->host_kept.data, size, stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_gather(&gather, stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "gather", stream);
  if (result == cudaSuccess && bytes)
    result = cudaMemcpyAsync(slot->host_bytes.data, slot->gathered.data, bytes,
                             cudaMemcpyDeviceToHost, stream);
  return result;
}

/* The bytes behind those that launch() has told to come. */
static cudaError_t gather_rest(Cj2kEncodeSlot *slot, uint64_t already, uint64_t bytes)
{
  cudaStream_t stream = slot->encoder->gather;
  cudaError_t result = cudaStreamWaitEvent(stream, slot->arrived, 0);

  if (result == cudaSuccess)
    result = cudaMemcpyAsync((char *)slot->host_bytes.data + already,
                             (const char *)slot->bytes.data + already, bytes - already,
                             cudaMemcpyDeviceToHost, stream);
  return result;
}

cudaError_t cj2k_cuda_encode_mq_gather(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  const Cj2kCudaMqFrameCounts *counts = slot->host_coded.data;
  uint64_t bytes = counts->coded.bytes, already = slot->fetched;
  cudaStream_t stream = slot->encoder->gather;

  slot->arriving = !job->kept_lengths && bytes <= already;
  if (!job->kept_lengths)
    slot->fetched = bytes + bytes / 32; /* the next frame has about as many */
  if (slot->arriving)
    return cudaSuccess;
  cudaError_t result = cudaEventRecord(slot->started, stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, NULL, stream);
  if (result == cudaSuccess)
    result = job->kept_lengths ? gather_kept(slot, job->kept_lengths)
                               : gather_rest(slot, already, bytes);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", stream);
  return result == cudaSuccess ? cudaEventRecord(slot->done, stream) : result;
}
