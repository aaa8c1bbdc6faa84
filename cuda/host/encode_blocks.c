/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode.h"

#include <string.h>

/* ------------------------------------------------------------------------------- tables --- */

/* The single-residual code out of that of a pair whose second quad has none. */
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

/* First bit of the stream lowest. */
static uint32_t mel_run(uint32_t state, uint32_t zeros)
{
  uint32_t bits = 0, length = 0;

  while (zeros >= 1u << cj2k_ht_mel_exponent[state]) {
    zeros -= 1u << cj2k_ht_mel_exponent[state];
    bits |= 1u << length++;
    state += state < CJ2K_HT_MEL_STATES - 1;
  }
  length++; /* a zero bit, then the rest, its highest bit first */
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

static cudaError_t upload(Cj2kCudaMemory *memory, const void *data, size_t size)
{
  cudaError_t result = cj2k_cuda_reserve(memory, size);

  if (result == cudaSuccess)
    result = cudaMemcpy(memory->data, data, size, cudaMemcpyHostToDevice);
  return result;
}

cudaError_t cj2k_cuda_encode_list_blocks(Cj2kCudaEncoder *encoder)
{
  const Cj2kPlan *plan = encoder->plan;
  Cj2kCudaEncodeTables tables;
  Cj2kCudaEncodeBlock *blocks = g_new0(Cj2kCudaEncodeBlock, (size_t)plan->num_blocks + 1);

  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    const Cj2kPlanBand *band = &plan->bands[block->band];
    blocks[b] =
        (Cj2kCudaEncodeBlock){.offset = band->offset + (uint64_t)block->y * band->stride + block->x,
                              .area = encoder->area,
                              .stride = band->stride,
                              .band = block->band,
                              .width = block->width,
                              .height = block->height,
                              .reversible = band->reversible,
                              .orientation = band->orientation,
                              .style = band->block_style};
    encoder->area += CJ2K_CUDA_BLOCK_AREA(block->width, block->height);
    encoder->max_width = MAX(encoder->max_width, block->width);
    encoder->max_height = MAX(encoder->max_height, block->height);
    encoder->many_segments |= band->block_style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL);
  }
  cudaError_t result = upload(&encoder->blocks, blocks, (size_t)plan->num_blocks * sizeof *blocks);
  g_free(blocks);
  make_tables(&tables);
  return result == cudaSuccess ? upload(&encoder->tables, &tables, sizeof tables) : result;
}

/* -------------------------------------------------------------------------------- steps --- */

/* A small array of the job to the device, by way of page-locked memory of the slot, unless it is
 * there already: *sent. */
static cudaError_t send(Cj2kCudaMemory *device, Cj2kCudaMemory *host, const void *data, size_t size,
                        bool *sent, cudaStream_t stream)
{
  if (*sent && !memcmp(host->data, data, size))
    return cudaSuccess;
  memcpy(host->data, data, size);
  cudaError_t result = cj2k_cuda_copy_small(device->data, host->data, size, stream);
  *sent = result == cudaSuccess;
  return result;
}

/* The quantisers are those of the last step. */
static bool has_quantisers(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  return slot->quantisers_sent && !memcmp(slot->host_quantisers.data, job->quantisers,
                                          slot->encoder->plan->num_bands * sizeof *job->quantisers);
}

cudaError_t cj2k_cuda_encode_begin(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job,
                                   cudaStream_t stream)
{
  const Cj2kCudaEncoder *encoder = slot->encoder;

  slot->job = (Cj2kCudaEncodeBlocks){.blocks = encoder->blocks.data,
                                     .tables = encoder->tables.data,
                                     .coefficients = slot->coefficients.data,
                                     .quantisers = slot->quantisers.data,
                                     .num_blocks = encoder->plan->num_blocks,
                                     .stride = job->stride};
  cudaError_t result = cudaEventRecord(slot->started, stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, NULL, stream);
  slot->all_coded = slot->all_coded && has_quantisers(slot, job);
  if (result == cudaSuccess)
    result =
        send(&slot->quantisers, &slot->host_quantisers, job->quantisers,
             encoder->plan->num_bands * sizeof *job->quantisers, &slot->quantisers_sent, stream);
  return result;
}

/* Sizes of the parts of what measure brings back: counts, band errors, distortions, lengths. */
static size_t band_errors_size(const Cj2kEncodeSlot *slot)
{
  return slot->encoder->plan->num_bands * sizeof(uint64_t);
}

static size_t distortions_size(const Cj2kEncodeSlot *slot, uint32_t planes)
{
  return (size_t)slot->encoder->plan->num_blocks * planes * sizeof(uint64_t);
}

static size_t measured_size(const Cj2kEncodeSlot *slot, uint32_t planes)
{
  return sizeof(Cj2kCudaEncodeCounts) + band_errors_size(slot) + distortions_size(slot, planes) +
         (size_t)slot->encoder->plan->num_blocks * planes * sizeof(uint32_t);
}

cudaError_t cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  size_t size = measured_size(slot, job->num_planes);
  cudaError_t result = cj2k_cuda_reserve(&slot->measured, size);

  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->host_measured, size);
  if (result == cudaSuccess)
    result = cj2k_cuda_encode_begin(slot, job, slot->stream);
  if (result == cudaSuccess) /* blocks between the measured ones have zeros */
    result = cudaMemsetAsync(slot->measured.data, 0, size, slot->stream);
  if (result != cudaSuccess)
    return result;
  Cj2kCudaEncodeBlocks *blocks = &slot->job;
  blocks->first_plane = job->first_plane;
  blocks->num_planes = job->num_planes;
  blocks->counts = slot->measured.data;
  blocks->band_errors = (uint64_t *)(blocks->counts + 1);
  uint64_t *distortions = blocks->band_errors + slot->encoder->plan->num_bands;
  blocks->distortions = job->distortions ? distortions : NULL;
  blocks->lengths = (uint32_t *)((char *)distortions + distortions_size(slot, job->num_planes));
  if (job->num_planes)
    result = cj2k_cuda_ht_measure(blocks, slot->stream);
  if (result == cudaSuccess && (job->band_errors || !job->num_planes))
    result = cj2k_cuda_band_errors(blocks, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "measure", slot->stream);
  if (result == cudaSuccess)
    result =
        cj2k_cuda_copy_small(slot->host_measured.data, slot->measured.data, size, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  return result == cudaSuccess ? cudaEventRecord(slot->done, slot->stream) : result;
}

uint32_t cj2k_cuda_encode_max_bitplanes(const Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  uint32_t most = 0;
  for (uint32_t b = 0; b < slot->encoder->plan->num_bands; b++)
    most = MAX(most, job->quantisers[b].num_bitplanes);
  return most;
}

static size_t coded_size(const Cj2kEncodeSlot *slot)
{
  return sizeof(Cj2kCudaEncodeCounts) +
         slot->encoder->plan->num_blocks * (sizeof(Cj2kEncodedBlock) + sizeof(Cj2kPassLength));
}

/* Kernels write bytes into host memory themselves, which is soonest for a few, but much takes more
 * from uploads at the same time than the copy engine would. Returns how many slices are better
 * brought by that one: none of the last two. */
static uint32_t num_parts(const Cj2kEncodeSlot *slot)
{
  uint32_t count = slot->encoder->slices.count;
  bool much = slot->expected > slot->picture.size / 4;

  return slot->in_slices && much && count > 2 ? count - 2 : 0;
}

static Cj2kCudaPartCounts *part_counts(const Cj2kEncodeSlot *slot, uint32_t slice)
{
  return (Cj2kCudaPartCounts *)slot->host_parts.data + slice;
}

/* The blocks that can be coded behind slices [first, end) of the top level, beside the others. */
static cudaError_t launch_tops(Cj2kEncodeSlot *slot, uint32_t first, uint32_t end)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  bool is_part = first < slot->num_parts;
  Cj2kCudaEncodeBlocks part = slot->job;

  if (is_part)
    part.bytes = slot->bytes.data;
  part.order = (const uint32_t *)slot->encoder->order.data + slices->first_block[first];
  part.num_blocks = slices->first_block[end] - slices->first_block[first];
  cudaError_t result = cudaStreamWaitEvent(slot->coder, slot->tops_done[end - 1], 0);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, CJ2K_CUDA_BEGIN, slot->coder);
  if (result == cudaSuccess && part.num_blocks)
    result = cj2k_cuda_ht_encode(&part, slot->coder);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "code", slot->coder);
  if (result == cudaSuccess && is_part)
    result = cj2k_cuda_copy_small(part_counts(slot, first), part.counts, sizeof *part.counts,
                                  slot->coder);
  if (result == cudaSuccess && is_part)
    result = cudaEventRecord(slot->part_coded[first], slot->coder);
  return result;
}

/* All blocks: those of slices on a stream of their own, but the last slice's together with those
 * below, which can be coded soon behind it. */
static cudaError_t launch_slices(Cj2kEncodeSlot *slot)
{
  const Cj2kCudaSlices *slices = &slot->encoder->slices;
  bool cut = slot->in_slices && slices->count > 1;
  uint32_t step = cut ? 1 : slices->count, end = cut ? slices->count - 1 : slices->count;
  Cj2kCudaEncodeBlocks part = slot->job;
  cudaError_t result = cudaEventRecord(slot->sent, slot->coder);

  slot->num_parts = num_parts(slot);
  for (uint32_t i = 0; i < end && result == cudaSuccess; i += step)
    result = launch_tops(slot, i, i + step);
  if (result == cudaSuccess)
    result = cudaEventRecord(slot->tops_coded, slot->coder);
  if (result == cudaSuccess)
    result = cudaStreamWaitEvent(slot->stream, slot->sent, 0);
  /* Bytes of parts lie before all others. */
  if (result == cudaSuccess && slot->num_parts)
    result = cudaStreamWaitEvent(slot->stream, slot->part_coded[slot->num_parts - 1], 0);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, NULL, slot->stream);
  part.order = (const uint32_t *)slot->encoder->order.data + slices->first_block[end];
  part.num_blocks = slices->first_block[slices->count + 1] - slices->first_block[end];
  if (result == cudaSuccess && part.num_blocks)
    result = cj2k_cuda_ht_encode(&part, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "code", slot->stream);
  if (result == cudaSuccess)
    result = cudaStreamWaitEvent(slot->stream, slot->tops_coded, 0);
  return result == cudaSuccess ? cj2k_cuda_mark(&slot->marks, CJ2K_CUDA_BEGIN, slot->stream)
                               : result;
}

/* The blocks whose choice is another than that they were coded with. */
static cudaError_t launch_again(Cj2kEncodeSlot *slot)
{
  Cj2kCudaEncodeBlocks part = slot->job;
  cudaError_t result = cj2k_cuda_copy_small(slot->again.data, slot->host_again.data,
                                            slot->num_again * sizeof(uint32_t), slot->stream);

  part.order = slot->again.data;
  part.num_blocks = slot->num_again;
  part.again = 1;
  return result == cudaSuccess ? cj2k_cuda_ht_encode(&part, slot->stream) : result;
}

/* Records, and bytes from `from` on, to the host; with one frame in flight bytes come otherwise. */
static cudaError_t download(Cj2kEncodeSlot *slot, uint64_t from)
{
  if (slot->coder)
    return cj2k_cuda_copy_small(slot->host_coded.data, slot->coded.data, coded_size(slot),
                                slot->stream);
  cudaError_t result = cudaMemcpyAsync(slot->host_coded.data, slot->coded.data, coded_size(slot),
                                       cudaMemcpyDeviceToHost, slot->stream);
  if (result == cudaSuccess && slot->fetched > from)
    result = cudaMemcpyAsync((char *)slot->host_bytes.data + from, (char *)slot->bytes.data + from,
                             slot->fetched - from, cudaMemcpyDeviceToHost, slot->stream);
  return result;
}

/* Codes, and tells records and the first `fetched` bytes to come, of which the first `from` are
 * there. */
static cudaError_t launch_code(Cj2kEncodeSlot *slot, uint64_t from)
{
  Cj2kCudaEncodeBlocks *blocks = &slot->job;
  cudaError_t result = cudaSuccess;

  blocks->bytes = slot->coder ? slot->host_bytes.data : slot->bytes.data;
  blocks->capacity = MIN(slot->bytes.size, slot->host_bytes.size);
  slot->fetched = MIN(slot->fetched, slot->bytes.size);
  if (!slot->num_again)
    result = cudaMemsetAsync(slot->coded.data, 0,
                             blocks->stride > 1 ? coded_size(slot) : sizeof *blocks->counts,
                             slot->coder ? slot->coder : slot->stream);
  if (result == cudaSuccess && slot->num_again)
    result = launch_again(slot);
  else if (result == cudaSuccess)
    result = slot->coder ? launch_slices(slot) : cj2k_cuda_ht_encode(blocks, slot->stream);
  if (result == cudaSuccess && !slot->coder)
    result = cj2k_cuda_mark(&slot->marks, "code", slot->stream);
  if (result == cudaSuccess)
    result = download(slot, from);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  return result == cudaSuccess ? cudaEventRecord(slot->done, slot->stream) : result;
}

/* Lists the blocks whose choice is another than that they were coded with, unless they are most.
 * Returns how many bytes they had. */
static uint64_t list_again(Cj2kEncodeSlot *slot, const Cj2kHtChoice *choices)
{
  const Cj2kCudaEncodeCounts *counts = slot->host_coded.data;
  const Cj2kEncodedBlock *coded = (const Cj2kEncodedBlock *)(counts + 1);
  uint32_t n = slot->encoder->plan->num_blocks, count = 0, *again = slot->host_again.data;
  uint64_t bytes = 0;

  for (uint32_t b = 0; b < n; b++)
    if (choices[b].plane || !choices[b].passes) {
      again[count++] = b;
      bytes += (coded[b].length + CJ2K_CUDA_BLOCK_ALIGNMENT - 1) & ~(CJ2K_CUDA_BLOCK_ALIGNMENT - 1);
    }
  slot->num_again = count < n / 2 ? count : 0;
  return bytes;
}

cudaError_t cj2k_cuda_encode_code(Cj2kEncodeSlot *slot, const Cj2kEncodeJob *job)
{
  const Cj2kPlan *plan = slot->encoder->plan;
  uint32_t bits = CJ2K_CUDA_SCRATCH_BITS(cj2k_cuda_encode_max_bitplanes(slot, job));
  uint64_t scratch = CJ2K_CUDA_SCRATCH_OFFSET(slot->encoder->area, bits, plan->num_blocks);
  uint64_t from = 0, more = 0;
  cudaError_t result = cj2k_cuda_reserve(&slot->scratch, scratch);

  slot->num_again = slot->num_parts = 0;
  slot->fetched = slot->expected;
  if (slot->all_coded && job->choices && has_quantisers(slot, job))
    more = list_again(slot, job->choices);
  cudaStream_t stream = slot->coder && !slot->num_again ? slot->coder : slot->stream;
  if (result == cudaSuccess)
    result = cj2k_cuda_encode_begin(slot, job, stream);
  if (slot->num_again) {
    from = ((const Cj2kCudaEncodeCounts *)slot->host_coded.data)->bytes;
    slot->fetched = from + more;
  }
  if (result == cudaSuccess && job->choices)
    result = send(&slot->choices, &slot->host_choices, job->choices,
                  plan->num_blocks * sizeof *job->choices, &slot->choices_sent, stream);
  if (result != cudaSuccess)
    return result;
  Cj2kCudaEncodeBlocks *blocks = &slot->job;
  blocks->choices = job->choices ? slot->choices.data : NULL;
  blocks->scratch = slot->scratch.data;
  blocks->scratch_bits = bits;
  blocks->counts = slot->coded.data;
  blocks->coded = (Cj2kEncodedBlock *)(blocks->counts + 1);
  blocks->passes = (Cj2kPassLength *)(blocks->coded + plan->num_blocks);
  slot->all_coded = !job->choices && job->stride == 1;
  return launch_code(slot, from);
}

/* ------------------------------------------------------------------------------- results --- */

/* Brings the bytes of each part as soon as it is coded. */
static cudaError_t copy_parts(Cj2kEncodeSlot *slot)
{
  uint64_t from = 0;
  cudaError_t status = cudaSuccess;

  for (uint32_t i = 0; i < slot->num_parts && status == cudaSuccess; i++) {
    status = cudaEventSynchronize(slot->part_coded[i]);
    uint64_t end = MIN(part_counts(slot, i)->counts.bytes, slot->job.capacity);
    if (status != cudaSuccess || end == from)
      continue;
    status = cj2k_cuda_mark(&slot->marks, CJ2K_CUDA_BEGIN, slot->copier);
    if (status == cudaSuccess)
      status = cudaMemcpyAsync((char *)slot->host_bytes.data + from,
                               (const char *)slot->bytes.data + from, end - from,
                               cudaMemcpyDeviceToHost, slot->copier);
    if (status == cudaSuccess)
      status = cj2k_cuda_mark(&slot->marks, "download", slot->copier);
    from = end;
  }
  return status;
}

/* With one frame in flight what the host does next begins without delay: others wake up while the
 * GPU does what is left after the upload. */
static cudaError_t wait_done(Cj2kEncodeSlot *slot)
{
  bool parts = slot->num_parts > 0;
  cudaError_t status = copy_parts(slot);

  slot->num_parts = 0;
  if (slot->coder) {
    if (status == cudaSuccess && slot->in_slices)
      status = cudaEventSynchronize(slot->uploaded);
    cj2k_threads_wake(slot->encoder->threads, slot->encoder->helpers);
  }
  if (status == cudaSuccess)
    status = cudaEventSynchronize(slot->done);
  return status == cudaSuccess && parts ? cudaStreamSynchronize(slot->copier) : status;
}

/* The bytes did not fit: makes more room and codes again. */
static cudaError_t code_again(Cj2kEncodeSlot *slot, uint64_t bytes)
{
  uint64_t room = bytes + bytes / 4;
  cudaError_t result = cj2k_cuda_reserve(&slot->host_bytes, room);

  if (result == cudaSuccess)
    result = cj2k_cuda_reserve(&slot->bytes, room);
  if (result == cudaSuccess) {
    slot->num_again = 0;
    slot->fetched = bytes;
    result = launch_code(slot, 0);
  }
  return result == cudaSuccess ? wait_done(slot) : result;
}

cudaError_t cj2k_cuda_encode_fetch_rest(Cj2kEncodeSlot *slot, const Cj2kCudaMemory *host,
                                        const Cj2kCudaMemory *device, uint64_t fetched,
                                        uint64_t size)
{
  if (size <= fetched)
    return cudaSuccess;
  cudaError_t result = cj2k_cuda_mark(&slot->marks, NULL, slot->stream);
  if (result == cudaSuccess)
    result = cudaMemcpyAsync((char *)host->data + fetched, (const char *)device->data + fetched,
                             size - fetched, cudaMemcpyDeviceToHost, slot->stream);
  if (result == cudaSuccess)
    result = cj2k_cuda_mark(&slot->marks, "download", slot->stream);
  return result == cudaSuccess ? cudaStreamSynchronize(slot->stream) : result;
}

static cudaError_t fetch_code(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  const Cj2kCudaEncodeCounts *counts = slot->host_coded.data;
  cudaError_t status = cudaSuccess;

  if (counts->bytes > slot->job.capacity)
    status = code_again(slot, counts->bytes);
  if (status == cudaSuccess && !slot->coder)
    status = cj2k_cuda_encode_fetch_rest(slot, &slot->host_bytes, &slot->bytes, slot->fetched,
                                         counts->bytes);
  /* The next frame is about as long: its bytes are told to come before their number is known. */
  if (!slot->num_again)
    slot->expected = counts->bytes + counts->bytes / 32;
  result->blocks = (Cj2kEncodedBlock *)((char *)slot->host_coded.data + sizeof *counts);
  result->passes = (Cj2kPassLength *)(result->blocks + slot->encoder->plan->num_blocks);
  result->bytes = slot->host_bytes.data;
  result->saturated = counts->saturated;
  return status;
}

static void fetch_measure(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  Cj2kCudaEncodeCounts *counts = slot->host_measured.data;

  result->saturated = counts->saturated;
  result->band_errors = (uint64_t *)(counts + 1);
  result->ht_distortions = result->band_errors + slot->encoder->plan->num_bands;
  result->ht_lengths =
      (uint32_t *)((char *)result->ht_distortions + distortions_size(slot, slot->job.num_planes));
}

static double elapsed(cudaEvent_t from, cudaEvent_t to)
{
  float milliseconds = 0;
  return cudaEventElapsedTime(&milliseconds, from, to) == cudaSuccess ? milliseconds : 0;
}

cudaError_t cj2k_cuda_encode_fetch(Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  cudaError_t status = slot->encoder->ht ? wait_done(slot) : cj2k_cuda_encode_mq_wait(slot);

  if (status != cudaSuccess)
    return status;
  if (slot->transform_timed)
    result->ms_transform = elapsed(slot->begin, slot->transformed);
  slot->transform_timed = false;
  if (slot->step != CJ2K_CUDA_STEP_GATHER || !slot->arriving)
    result->ms_block_coder = elapsed(slot->started, slot->done);
  if (slot->step == CJ2K_CUDA_STEP_CODE)
    status = slot->encoder->ht ? fetch_code(slot, result) : cj2k_cuda_encode_mq_fetch(slot, result);
  else if (slot->step == CJ2K_CUDA_STEP_GATHER)
    cj2k_cuda_encode_mq_result(slot, result);
  else
    fetch_measure(slot, result);
  if (slot->encoder->ht || slot->step != CJ2K_CUDA_STEP_CODE) /* bytes may be on their way */
    cj2k_cuda_marks_report(&slot->marks);
  return status;
}
