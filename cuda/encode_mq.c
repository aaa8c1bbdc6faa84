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

static size_t coded_size(const Cj2kEncodeSlot *slot)
{
  return sizeof(Cj2kCudaMqFrameCounts) + slot->encoder->plan->num_blocks * sizeof(Cj2kEncodedBlock);
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

/* Room for so many, in bytes; nothing happens where there is. */
static cudaError_t make_room(Cj2kEncodeSlot *slot, uint64_t symbols, uint64_t bytes,
                             uint64_t passes)
{
  const struct {
    Cj2kCudaMemory *memory;
    uint64_t size;
  } sizes[] = {
      {&slot->symbols, symbols + READ_AHEAD},
      {&slot->bytes, bytes},
      {&slot->host_bytes, bytes},
      {&slot->passes, passes},
      {&slot->host_passes, passes},
      {&slot->coded, coded_size(slot)},
      {&slot->host_coded, coded_size(slot)},
  };
  cudaError_t result = cudaSuccess;

  for (guint i = 0; i < G_N_ELEMENTS(sizes) && result == cudaSuccess; i++)
    result = cj2k_cuda_reserve(sizes[i].memory, sizes[i].size);
  if (result == cudaSuccess) {
    slot->mq.contexts.capacity =
        (slot->symbols.size - READ_AHEAD) & ~(uint64_t)(CJ2K_CUDA_MQ_ALIGNMENT - 1);
    result = cj2k_cuda_reserve(&slot->room, room_size(slot, slot->mq.contexts.capacity));
  }
  return result;
}

/* ---------------------------------------------------------------------------------- step --- */

/* Where everything is. */
static void set_pointers(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqCode *mq = &slot->mq;
  WorkLayout layout = lay_out_work(mq->contexts.num_blocks, mq->contexts.max_planes);
  char *work = slot->work.data;

  mq->counts = slot->coded.data;
  mq->coded = (Cj2kEncodedBlock *)(mq->counts + 1);
  mq->order = (uint32_t *)(void *)(work + layout.order);
  mq->rooms = (uint64_t *)(void *)(work + layout.rooms);
  mq->marks = (Cj2kCudaMqMark *)(void *)(work + layout.marks);
  mq->room = slot->room.data;
  mq->bytes = slot->bytes.data;
  mq->capacity = slot->bytes.size;
  mq->passes = slot->passes.data;
  mq->pass_capacity = slot->passes.size / sizeof(Cj2kPassEnd);
  mq->contexts.counts = &mq->counts->modelled;
  mq->contexts.symbols = slot->symbols.data;
  mq->contexts.mq_blocks = (Cj2kCudaMqBlock *)(void *)(work + layout.blocks);
  mq->contexts.distortions = (uint64_t *)(void *)(work + layout.distortions);
}

/* Tells what is expected of an array to come. */
static cudaError_t expect(Cj2kEncodeSlot *slot, Cj2kCudaMemory *host, const Cj2kCudaMemory *device,
                          uint64_t *size)
{
  *size = MIN(*size, device->size);
  if (!*size)
    return cudaSuccess;
  return cudaMemcpyAsync(host->data, device->data, *size, cudaMemcpyDeviceToHost, slot->stream);
}

static cudaError_t launch(Cj2kEncodeSlot *slot)
{
  Cj2kCudaMqCode *mq = &slot->mq;
  uint64_t all = coded_size(slot);

  set_pointers(slot);
  cudaError_t result = cudaMemsetAsync(
      slot->coded.data, 0, mq->contexts.stride > 1 ? all : sizeof *mq->counts, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_contexts(&mq->contexts, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "contexts", slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mq_code(mq, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "code", slot->stream);
  if (result == cudaSuccess)
    result = expect(slot, &slot->host_coded, &slot->coded, &all);
  if (result == cudaSuccess)
    result = expect(slot, &slot->host_passes, &slot->passes, &slot->fetched_passes);
  if (result == cudaSuccess)
    result = expect(slot, &slot->host_bytes, &slot->bytes, &slot->fetched);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  return result == cudaSuccess ? cudaEventRecord(slot->done, slot->stream) : result;
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
  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->work, lay_out_work(plan->num_blocks, max_planes).size);
  if (result == cudaSuccess)
    result = make_room(slot, plan->num_coefficients * FIRST_SYMBOLS, 0,
                       plan->num_blocks * FIRST_PASSES * sizeof(Cj2kPassEnd));
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
  cudaError_t result =
      make_room(slot, and_some(counts->modelled.symbols), and_some(counts->coded.bytes),
                and_some(counts->passes * sizeof(Cj2kPassEnd)));
  if (result == cudaSuccess)
    result = launch(slot);
  return result == cudaSuccess ? cudaEventSynchronize(slot->done) : result;
}

cudaError_t cj2k_cuda_encode_mq_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaMqFrameCounts *counts = slot->host_coded.data;
  cudaError_t status = cudaSuccess;

  for (uint32_t i = 0; i < TRIALS && status == cudaSuccess && !has_room(slot, counts); i++)
    status = code_again(slot, counts);
  if (status == cudaSuccess && !has_room(slot, counts))
    status = cudaErrorMemoryAllocation;
  uint64_t passes = counts->passes * sizeof(Cj2kPassEnd), bytes = counts->coded.bytes;
  if (status == cudaSuccess)
    status = cj2k_cuda_encode_fetch_rest(slot, &slot->host_passes, &slot->passes,
                                         slot->fetched_passes, passes);
  if (status == cudaSuccess)
    status =
        cj2k_cuda_encode_fetch_rest(slot, &slot->host_bytes, &slot->bytes, slot->fetched, bytes);
  /* The next frame is about as long: what it has is told to come before its size is known. */
  slot->fetched = bytes + bytes / 32;
  slot->fetched_passes = passes + passes / 32;
  result->blocks = (Cj2kEncodedBlock *)((char *)slot->host_coded.data + sizeof *counts);
  result->passes = slot->host_passes.data;
  result->bytes = slot->host_bytes.data;
  result->saturated = counts->modelled.saturated;
  return status;
}
