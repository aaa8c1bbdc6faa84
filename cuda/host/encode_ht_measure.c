/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* BLOCK CODER for HT: measuring of all blocks, or of those of a stride. */
#include "encode.h"

#include <string.h>

/* Bit-planes of which a slot has room for lengths from its first measurement on, and which are
 * measured at most without distortions (SEARCH in rate/control_ht.c): otherwise each slot would
 * grow in some frame whose size jumps, perhaps after hours. With distortions that is room for a
 * third as many; regions, slices, ceilings of components and the 5/3 filter may need more, mostly
 * from their first frame on. */
#define ROOM_PLANES 24

/* Sizes of the parts of the result of measuring: counts, band errors, lengths (an even number of
 * them), distortions. */
static size_t sums_size(const Cj2kEncodeSlot *slot)
{
  return sizeof(Cj2kCudaEncodeCounts) + slot->encoder->plan->num_bands * sizeof(uint64_t);
}

static size_t lengths_size(const Cj2kEncodeSlot *slot, uint32_t planes)
{
  size_t count = (size_t)slot->encoder->plan->num_blocks * planes;

  return (count + count % 2) * sizeof(uint32_t);
}

static size_t measured_size(const Cj2kEncodeSlot *slot, uint32_t planes, bool distortions)
{
  size_t each = distortions ? (size_t)slot->encoder->plan->num_blocks * sizeof(uint64_t) : 0;

  return sums_size(slot) + lengths_size(slot, planes) + planes * each;
}

Cj2kCudaMeasure cj2k_cuda_ht_measured(const Cj2kEncodeSlot *slot, void *counts, uint32_t num_planes,
                                      bool distortions)
{
  char *lengths = (char *)counts + sums_size(slot);
  void *behind = lengths + lengths_size(slot, num_planes);

  return (Cj2kCudaMeasure){.num_planes = num_planes,
                           .lengths = (uint32_t *)(void *)lengths,
                           .distortions = distortions ? behind : NULL,
                           .band_errors =
                               (uint64_t *)(void *)((char *)counts + sizeof(Cj2kCudaEncodeCounts))};
}

/* Makes room for the results of a measurement. */
static void reserve_measured(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  size_t size = measured_size(slot, job->num_planes, job->distortions);

  slot->ht.num_planes = job->num_planes;
  slot->ht.distortions = job->distortions;
  cj2k_cuda_queue_reserve_pair(&slot->queue, &slot->ht.measured,
                               MAX(size, measured_size(slot, ROOM_PLANES, false)));
}

/* ------------------------------------------------------------------------------ measure --- */

/* Measures all blocks of *blocks, or those of the stride, and downloads the results. */
static void measure_all(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;
  const Cj2kCudaPair *measured = &slot->ht.measured;
  Cj2kCudaEncodeBlocks *blocks = &slot->ht.job;
  size_t size = measured_size(slot, job->num_planes, job->distortions);

  blocks->counts = measured->device.data;
  blocks->measure = cj2k_cuda_ht_measured(slot, blocks->counts, job->num_planes, job->distortions);
  blocks->measure.first_plane = job->first_plane;
  /* Blocks that the stride skips have zeros. */
  cj2k_cuda_ht_prepare(slot, measured->device.data, job->stride > 1 ? size : sums_size(slot),
                       queue);
  if (job->num_planes)
    CJ2K_CUDA_DO(queue, cj2k_cuda_ht_measure(blocks, queue->stream));
  if (job->quad_rows)
    CJ2K_CUDA_DO(queue,
                 cj2k_cuda_ht_estimate(blocks, &(Cj2kCudaEstimate){.quad_rows = job->quad_rows},
                                       queue->stream));
  else if (job->band_errors || !job->num_planes)
    CJ2K_CUDA_DO(queue, cj2k_cuda_band_errors(blocks, queue->stream));
  cj2k_cuda_queue_mark(queue, "measure");
  CJ2K_CUDA_DO(
      queue, cj2k_cuda_copy_small(measured->host.data, measured->device.data, size, queue->stream));
  cj2k_cuda_queue_mark(queue, "download");
}

/* Has code() measured what is asked for? */
static bool is_measured(const Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  const Cj2kMeasureJob *ahead = &slot->ht.ahead;

  return ahead->num_planes && !slot->ht.left_out && ahead->stride == job->stride && !job->blocks &&
         ahead->first_plane == job->first_plane && ahead->num_planes == job->num_planes &&
         ahead->distortions == job->distortions && !job->band_errors &&
         cj2k_cuda_blocks_has_quantisers(slot, job->quantisers);
}

void cj2k_cuda_encode_measure(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  const Cj2kCudaQueue *queue = &slot->queue;

  slot->ht.found = is_measured(slot, job);
  if (slot->ht.found)
    return;
  slot->ht.ahead = (Cj2kMeasureJob){0};
  reserve_measured(slot, job);
  cj2k_cuda_ht_begin(slot, job->quantisers, job->stride, queue);
  if (!cj2k_cuda_queue_ok(queue))
    return;
  if (job->blocks)
    cj2k_cuda_encode_measure_list(slot, job);
  else
    measure_all(slot, job);
  cj2k_cuda_queue_record(queue, slot->blocks.done);
}

/* Does code() give the lengths at the first of the planes that are measured ahead? */
static bool first_is_coded(const Cj2kMeasureJob *job)
{
  return job->distortions && !job->first_plane;
}

/* Adds the lengths that code() has found to those that were measured ahead. */
static void add_coded(const Cj2kEncodeSlot *slot, uint32_t *lengths)
{
  const Cj2kMeasureJob *ahead = &slot->ht.ahead;
  const uint32_t *coded = cj2k_cuda_ht_lengths(slot, slot->blocks.coded.host.data);

  for (uint32_t b = 0; b < slot->encoder->plan->num_blocks; b += ahead->stride)
    lengths[(size_t)b * ahead->num_planes] = coded[b];
}

void cj2k_cuda_encode_measure_result(const Cj2kEncodeSlot *slot, Cj2kEncodeResult *result)
{
  Cj2kCudaEncodeCounts *counts = slot->ht.measured.host.data;
  Cj2kCudaMeasure measured =
      cj2k_cuda_ht_measured(slot, counts, slot->ht.num_planes, slot->ht.distortions);

  if (slot->ht.found && first_is_coded(&slot->ht.ahead))
    add_coded(slot, measured.lengths);
  result->saturated = counts->saturated;
  result->estimates[0] = counts->estimates[0];
  result->band_errors = measured.band_errors;
  result->ht_distortions = measured.distortions;
  result->ht_lengths = measured.lengths;
}

/* ---------------------------------------------------------------------- measure ahead --- */

void cj2k_cuda_ht_prepare_ahead(Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job)
{
  slot->ht.ahead = (Cj2kMeasureJob){0};
  if (!job)
    return;
  reserve_measured(slot, job);
  if (!cj2k_cuda_queue_ok(&slot->queue))
    return;
  memset(slot->ht.measured.host.data, 0, sizeof(Cj2kCudaEncodeCounts));
  slot->ht.ahead = *job;
}

void *cj2k_cuda_ht_measured_ahead(const Cj2kEncodeSlot *slot)
{
  const Cj2kCudaPair *measured = &slot->ht.measured;

  return slot->ahead.wanted ? measured->device.data : measured->host.data;
}

/* Blocks are mostly those of a large stride, and then few: the kernel writes to the host what it
 * finds, so that nothing has to be set to 0 before and nothing downloaded; or another kernel reads
 * it first. Code() has counted saturated samples. */
void cj2k_cuda_ht_measure_ahead(const Cj2kEncodeSlot *slot, const Cj2kMeasureJob *job,
                                const Cj2kCudaQueue *queue)
{
  Cj2kCudaEncodeBlocks blocks = slot->ht.job;

  blocks.stride = job->stride;
  blocks.again = 1;
  blocks.measure = cj2k_cuda_ht_measured(slot, cj2k_cuda_ht_measured_ahead(slot), job->num_planes,
                                         job->distortions);
  blocks.measure.first_plane = job->first_plane;
  blocks.measure.first_is_coded = first_is_coded(job);
  CJ2K_CUDA_DO(queue, cj2k_cuda_ht_measure(&blocks, queue->stream));
  cj2k_cuda_queue_mark(queue, "measure");
}
