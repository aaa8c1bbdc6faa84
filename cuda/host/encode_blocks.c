/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BLOCK CODER: the parts that HT and MQ share. */
#include "encode.h"

#include <string.h>

/* ------------------------------------------------------------------------------- tables --- */

/* Derives the code of a single residual from that of a pair whose second residual is 0. */
static uint32_t uvlc_parts(uint32_t u)
{
  uint64_t pair = cj2k_ht_uvlc_code(u, 0, false);
  uint32_t code = (uint32_t)CJ2K_HT_UVLC_CODE_BITS(pair), length = CJ2K_HT_UVLC_CODE_LENGTH(pair);
  uint32_t prefix = MIN(length, 3), suffix = length > 8 ? 5 : length - prefix;

  if (u <= 2)
    prefix = length;
  return (code & 7 & ((1u << prefix) - 1)) | prefix << 3 |
         (code >> prefix & ((1u << suffix) - 1)) << 5 | suffix << 10 |
         code >> (prefix + suffix) << 13 | (length - prefix - suffix) << 17;
}

/* An entry of the MEL table; the first bit of the stream is lowest. */
static uint32_t mel_run(uint32_t state, uint32_t zeros)
{
  uint32_t bits = 0, length = 0;

  while (zeros >= 1u << cj2k_ht_mel_exponent[state]) {
    zeros -= 1u << cj2k_ht_mel_exponent[state];
    bits |= 1u << length++;
    state += state < CJ2K_HT_MEL_STATES - 1;
  }
  length++; /* a zero bit, then the rest of the run, highest bit first */
  for (uint32_t i = cj2k_ht_mel_exponent[state]; i-- > 0;)
    bits |= (zeros >> i & 1) << length++;
  return bits | length << 16 | (state - (state > 0)) << 24;
}

static void make_tables(Cj2kCudaEncodeTables *tables)
{
  memcpy(tables->encode, cj2k_ht_tables()->encode, sizeof tables->encode);
  for (uint32_t u = 0; u < CJ2K_CUDA_UVLC_CODES; u++)
    tables->uvlc[u] = uvlc_parts(MIN(u, CJ2K_HT_MAX_U));
  for (uint32_t u = 0; u < G_N_ELEMENTS(tables->pairs); u++) {
    uint64_t code = cj2k_ht_uvlc_code(u >> 4, u & 15, false);
    tables->pairs[u] = (uint32_t)CJ2K_HT_UVLC_CODE_BITS(code) | CJ2K_HT_UVLC_CODE_LENGTH(code)
                                                                    << 16;
  }
  for (uint32_t i = 0; i < G_N_ELEMENTS(tables->mel); i++)
    tables->mel[i] = mel_run(i / CJ2K_CUDA_MEL_ZEROS, i % CJ2K_CUDA_MEL_ZEROS);
}

cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder)
{
  const Cj2kPlan *plan = encoder->plan;
  Cj2kCudaEncodeLists *lists = &encoder->lists;
  Cj2kCudaEncodeTables tables;
  Cj2kCudaEncodeBlock *blocks = g_new0(Cj2kCudaEncodeBlock, (size_t)plan->num_blocks + 1);

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    const Cj2kPlanBand *band = &plan->bands[block->band];
    blocks[b] =
        (Cj2kCudaEncodeBlock){.offset = band->offset + (uint64_t)block->y * band->stride + block->x,
                              .area = lists->area,
                              .stride = band->stride,
                              .band = block->band,
                              .width = block->width,
                              .height = block->height,
                              .reversible = band->reversible,
                              .orientation = band->orientation,
                              .style = band->block_style};
    lists->area += CJ2K_CUDA_BLOCK_AREA(block->width, block->height);
    lists->max_width = MAX(lists->max_width, block->width);
    lists->max_height = MAX(lists->max_height, block->height);
    lists->many_segments |= band->block_style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL);
    lists->all_terminated |= band->block_style & CJ2K_STYLE_TERMALL;
  }
  cudaError_t result = cj2k_cuda_table_set(&encoder->device, &lists->blocks, blocks,
                                           (size_t)plan->num_blocks * sizeof *blocks);
  g_free(blocks);
  make_tables(&tables);
  CJ2K_CUDA_TRY(result,
                cj2k_cuda_table_set(&encoder->device, &lists->tables, &tables, sizeof tables));
  return result;
}

/* ------------------------------------------------------------------------------- stage --- */

void cj2k_cuda_blocks_init(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  Cj2kCudaBlockStage *stage = &slot->blocks;
  const Cj2kPlan *plan = slot->encoder->plan;
  unsigned flags = cj2k_cuda_encode_event_flags(slot);
  uint64_t bytes = plan->num_coefficients / 2 + 4096; /* grows when frames need more */

  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&stage->started, flags));
  CJ2K_CUDA_DO(queue, cudaEventCreateWithFlags(&stage->done, flags));
  cj2k_cuda_queue_reserve_pair(queue, &stage->quantisers, cj2k_cuda_quantisers_size(slot));
  stage->bytes.host.host = stage->coded.host.host = true; /* made when they are first needed */
  cj2k_cuda_queue_reserve(queue, &stage->bytes.device, bytes);
  if (slot->encoder->ht)
    cj2k_cuda_queue_reserve_pair(queue, &stage->coded, cj2k_cuda_ht_coded_size(slot));
}

void cj2k_cuda_blocks_free(Cj2kEncodeSlot *slot)
{
  Cj2kCudaBlockStage *stage = &slot->blocks;

  cj2k_cuda_release_pair(&stage->quantisers);
  cj2k_cuda_release_pair(&stage->bytes);
  cj2k_cuda_release_pair(&stage->coded);
  cj2k_cuda_destroy_event(stage->started);
  cj2k_cuda_destroy_event(stage->done);
}

/* -------------------------------------------------------------------------------- steps --- */

size_t cj2k_cuda_quantisers_size(const Cj2kEncodeSlot *slot)
{
  return slot->encoder->plan->num_bands * sizeof(Cj2kFrameQuantiser) + sizeof(Cj2kEstimateRange);
}

Cj2kEstimateRange *cj2k_cuda_range_behind(const Cj2kEncodeSlot *slot, const Cj2kCudaMemory *memory)
{
  Cj2kFrameQuantiser *quantisers = memory->data;

  return (Cj2kEstimateRange *)(void *)(quantisers + slot->encoder->plan->num_bands);
}

void cj2k_cuda_blocks_send(const Cj2kCudaQueue *queue, Cj2kCudaPair *array, const void *data,
                           size_t size, bool *sent)
{
  if (!cj2k_cuda_queue_ok(queue) || (*sent && !memcmp(array->host.data, data, size)))
    return;
  memcpy(array->host.data, data, size);
  CJ2K_CUDA_DO(queue,
               cj2k_cuda_copy_small(array->device.data, array->host.data, size, queue->stream));
  *sent = cj2k_cuda_queue_ok(queue);
}

bool cj2k_cuda_blocks_has_quantisers(const Cj2kEncodeSlot *slot,
                                     const Cj2kFrameQuantiser *quantisers)
{
  return slot->blocks.quantisers_sent &&
         !memcmp(slot->blocks.quantisers.host.data, quantisers,
                 slot->encoder->plan->num_bands * sizeof *quantisers);
}

void cj2k_cuda_blocks_start(Cj2kEncodeSlot *slot, const Cj2kCudaQueue *queue)
{
  if (slot->timed)
    cj2k_cuda_queue_record(queue, slot->blocks.started);
  cj2k_cuda_queue_mark(queue, NULL);
}

void cj2k_cuda_blocks_begin(Cj2kEncodeSlot *slot, const Cj2kFrameQuantiser *quantisers,
                            const Cj2kCudaQueue *queue)
{
  cj2k_cuda_blocks_start(slot, queue);
  cj2k_cuda_blocks_send(queue, &slot->blocks.quantisers, quantisers,
                        slot->encoder->plan->num_bands * sizeof *quantisers,
                        &slot->blocks.quantisers_sent);
}

uint32_t cj2k_cuda_blocks_max_bitplanes(const Cj2kEncodeSlot *slot,
                                        const Cj2kFrameQuantiser *quantisers)
{
  uint32_t max_bitplanes = 0;
  for (uint32_t b = 0; b < slot->encoder->plan->num_bands; b++)
    max_bitplanes = MAX(max_bitplanes, quantisers[b].num_bitplanes);
  return max_bitplanes;
}

/* ------------------------------------------------------------------------------- results --- */

void cj2k_cuda_blocks_fetch_rest(Cj2kEncodeSlot *slot, const Cj2kCudaPair *array, uint64_t fetched,
                                 uint64_t size)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  bool late = slot->encoder->blocking && slot->ahead.wanted;

  if (size <= fetched)
    return;
  cj2k_cuda_queue_mark(queue, NULL);
  /* The frame should have been cut ahead, and others probably are: their downloads are enqueued,
   * and the copy engine would do this one after those, and after what they wait for. A kernel does
   * not wait. */
  if (late)
    CJ2K_CUDA_DO(queue, cj2k_cuda_copy_up_to(queue->device, (char *)array->host.data + fetched,
                                             (const char *)array->device.data + fetched,
                                             size - fetched, SIZE_MAX, queue->stream));
  else
    cj2k_cuda_queue_download(queue, &array->host, &array->device, fetched, size);
  cj2k_cuda_queue_mark(queue, "download");
  CJ2K_CUDA_DO(queue, cudaStreamSynchronize(queue->stream));
}

/* The time of a step, or of the last one of its kind if this frame is not timed. */
static double elapsed(Cj2kEncodeSlot *slot, Cj2kCudaStep step, cudaEvent_t from, cudaEvent_t to)
{
  float milliseconds = 0;
  if (slot->timed)
    slot->ms[step] =
        cudaEventElapsedTime(&milliseconds, from, to) == cudaSuccess ? milliseconds : 0;
  return slot->ms[step];
}

static void fetch_results(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  switch (slot->step) {
  case CJ2K_CUDA_STEP_MEASURE: cj2k_cuda_encode_measure_result(slot, result); break;
  case CJ2K_CUDA_STEP_GATHER: cj2k_cuda_encode_mq_result(slot, result); break;
  case CJ2K_CUDA_STEP_PLACE: cj2k_cuda_encode_place_result(slot, result); break;
  default:
    if (slot->encoder->ht)
      cj2k_cuda_encode_ht_fetch(slot, result);
    else
      cj2k_cuda_encode_mq_fetch(slot, result);
  }
}

/* Has code() done the last step as well, so that it was waited for then? */
static bool is_done(const Cj2kEncodeSlot *slot)
{
  if (slot->step == CJ2K_CUDA_STEP_PLACE)
    return slot->ahead.found && !slot->ahead.pending;
  return slot->step == CJ2K_CUDA_STEP_MEASURE && slot->ht.found && cj2k_cuda_ht_waits_once(slot);
}

/* Waits for the last step. */
static void wait_for_step(Cj2kEncodeSlot *slot)
{
  bool found = slot->step == CJ2K_CUDA_STEP_MEASURE && slot->ht.found;

  if (slot->ahead.pending)
    cj2k_cuda_ahead_end(slot);
  else if (slot->step == CJ2K_CUDA_STEP_PLACE || found)
    CJ2K_CUDA_DO(&slot->queue, cj2k_cuda_encode_wait(slot, slot->blocks.done));
  else if (slot->encoder->ht)
    cj2k_cuda_encode_ht_wait(slot);
  else
    cj2k_cuda_encode_mq_wait(slot);
}

void cj2k_cuda_encode_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  bool ht = slot->encoder->ht, done = is_done(slot);
  cudaEvent_t from = slot->ahead.pending ? slot->ahead.decided : slot->blocks.started;

  if (!done)
    wait_for_step(slot);
  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  if (done || (slot->step == CJ2K_CUDA_STEP_MEASURE && slot->ht.found)) {
    fetch_results(slot, result);
    return;
  }
  cudaEvent_t to = slot->ahead.pending ? slot->ahead.decided
                   : ht                ? cj2k_cuda_encode_ht_end(slot)
                                       : slot->blocks.done;
  if (slot->transform.timed)
    result->ms_transform =
        elapsed(slot, CJ2K_CUDA_STEP_TRANSFORM, slot->transform.begin, slot->transform.done);
  slot->transform.timed = false;
  if (slot->step != CJ2K_CUDA_STEP_GATHER || !slot->mq.prefetched)
    result->ms_block_coder = elapsed(slot, slot->step, from, to);
  fetch_results(slot, result);
  /* After code() a frame's packets may still be made, or an HT frame be measured. */
  bool ends = ht ? cj2k_cuda_encode_ht_end(slot) == slot->blocks.done : slot->ahead.launched;
  ends &= !slot->ahead.pending;
  if (slot->step != CJ2K_CUDA_STEP_CODE || ends)
    cj2k_cuda_marks_report(&slot->marks);
}
